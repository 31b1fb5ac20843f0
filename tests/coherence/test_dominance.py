"""All metrics that respect a log: who beats whom under each of them, and the ranges of their
numbers.
"""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn import DCG, Preferences
from dcglearn.coherence import consistent_ranges, dominance
from dcglearn.coherence.cone import AllowedMetrics, Cone, counts, span
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.product_form import weights_of_increments
from tests.makers import TRUTH, random_log, refused

LISTS = st.lists(st.integers(0, 3), min_size=4, max_size=4)


def random_dcg(rng, n_grades=4, depth=4):
    steps = rng.exponential(size=n_grades - 1) * (rng.random(n_grades - 1) < 0.7)
    falls = rng.exponential(size=depth) * (rng.random(depth) < 0.7)
    return DCG(np.concatenate([[0.0], np.cumsum(steps)]), np.cumsum(falls[::-1])[::-1])


@given(LISTS, LISTS)
def test_without_a_log_it_is_the_counts(x, y):
    found = dominance(x, y, n_grades=4)
    ahead = [
        sum(g >= m for g in x[:k]) - sum(g >= m for g in y[:k])
        for m in (1, 2, 3)
        for k in (1, 2, 3, 4)
    ]
    better, worse = min(ahead) >= 0, max(ahead) <= 0
    assert found.verdict == (
        "equal" if better and worse else "x" if better else "y" if worse else "open"
    )
    rng = np.random.default_rng(0)
    for dcg in [random_dcg(rng) for _ in range(30)]:
        gap = float(np.diff(dcg.score([y, x]))[0])
        largest = dcg.discounts.sum() * dcg.gains[-1]
        assert found.low * largest - 1e-9 <= gap <= found.high * largest + 1e-9
    if found.verdict == "open":
        assert np.diff(found.for_x.score([y, x]))[0] > 0 > np.diff(found.for_y.score([y, x]))[0]


@given(st.integers(0, 10**6))
def test_b_and_w_say_the_same(seed):
    rng = np.random.default_rng(seed)
    steps, lists = rng.exponential(size=(3 * 5)), rng.integers(-1, 4, size=(6, 5)).astype(np.int8)
    weights = weights_of_increments(steps.reshape(3, 5))
    table = np.hstack([weights, np.zeros((5, 1))])
    worth = table[np.arange(5), lists].sum(axis=1)
    np.testing.assert_allclose(counts(lists, 4) @ steps, worth)
    assert span(4, 5) @ steps == pytest.approx(weights[:, -1].sum())
    assert (np.diff(weights, axis=1) >= 0).all() and (np.diff(weights, axis=0) <= 0).all()


@pytest.mark.parametrize(("n", "about"), [(20, 0.28), (60, 0.42), (200, 0.56)])
def test_a_noise_free_log_decides_and_is_never_wrong(n, about):
    truth = ground_truth("D1")
    decided = []
    for seed in range(3):
        allowed = AllowedMetrics.of(
            preference_pairs(truth, n, random_state=seed), 5, 10, None, 3000
        )
        held_out = preference_pairs(truth, 60, random_state=100 + seed)
        for gap in counts(held_out.preferred, 5) - counts(held_out.other, 5):
            low, high = allowed.range(gap)
            assert (
                high > 1e-6 or low >= -1e-6
            )  # the truth prefers the first, so it cannot lose under all
            decided.append(low >= -1e-6)
    assert abs(np.mean(decided) - about) < 0.09


def held_out_verdicts(name, n, seed):
    """Return a log of a ground truth, and an iterator of other pairs and their verdicts, the
    preferred list first.
    """
    truth = ground_truth(name)
    log, held_out = (
        preference_pairs(truth, n, random_state=seed),
        preference_pairs(truth, 40, random_state=seed + 1),
    )
    return log, (
        (x, y, dominance(x, y, log))
        for x, y in zip(held_out.preferred, held_out.other, strict=True)
    )


def test_the_judgements_that_decide():
    log, verdicts = held_out_verdicts("D2", 400, seed=1)
    decided = list(
        islice(
            (one for one in verdicts if one[2].verdict == "x" and one[2].deciding is not None), 5
        )
    )
    assert len(decided) == 5
    for x, y, found in decided:
        assert (np.diff(found.multipliers) <= 1e-12).all() and (found.multipliers > 0).all()
        alone = dominance(x, y, found.deciding, n_grades=5)  # they are enough
        assert alone.verdict == "x"
        turned = dominance(y, x, log)
        assert turned.verdict == "y" and turned.low == pytest.approx(-found.high, abs=1e-6)
        assert (
            "x beats y" in found.sentence
            and "decided by" in found.notes[0]
            and "y beats x" in turned.sentence
            and found.table["strength"].to_list() == found.multipliers.tolist()
        )


def test_open_verdicts_show_two_dcgs_that_respect_the_log():
    log, verdicts = held_out_verdicts("D1", 30, seed=3)
    open_ = ((x, y, found) for x, y, found in verdicts if found.verdict == "open")
    signed = (
        (x, y, dcg, sign)
        for x, y, found in open_
        for dcg, sign in ((found.for_x, 1), (found.for_y, -1))
        if dcg
    )
    shown = list(islice(signed, 10))
    assert len(shown) == 10
    for x, y, dcg, sign in shown:
        assert sign * np.diff(dcg.score([y, x]))[0] > 0
        gaps = dcg.score(log.preferred) - dcg.score(log.other)
        assert gaps.min() > -1e-5 * dcg.discounts.sum()
        assert (np.diff(dcg.gains) >= 0).all() and (np.diff(dcg.discounts) <= 0).all()
    assert dominance([2, 0, 0], [1, 1, 1], log=[[[2, 0, 1], [1, 2, 1]]]).for_y is not None


def test_contradictions_and_budgets():
    truth = ground_truth("D1")
    log = preference_pairs(truth, 100, n_flips=15, random_state=0)
    cone = Cone.of(log, 3000)
    least = cone.least_violation()
    assert least > 1e-3
    pair = preference_pairs(truth, 1, random_state=9)
    tight = dominance(pair.preferred, pair.other, log)
    wide = dominance(pair.preferred, pair.other, log, budget=10 * least)
    assert tight.budget == pytest.approx(1.1 * least)
    assert wide.low <= tight.low + 1e-7 and wide.high >= tight.high - 1e-7
    refused("every metric violates", dominance, pair.preferred, pair.other, log, budget=least / 2)
    turned = Preferences(np.zeros((2, 10), dtype=int), np.ones((2, 10), dtype=int), 5)
    refused("the other way round", dominance, pair.preferred, pair.other, turned)
    few = dominance(pair.preferred, pair.other, log, max_pairs=10)
    assert few.used < 0.2


def test_systems_are_means_of_lists_and_duplicates_change_nothing():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 5, size=(2, 30, 10))
    once, twice = dominance(x, y), dominance(np.vstack([x, x]), np.vstack([y, y]))
    assert once.low == pytest.approx(twice.low) and once.verdict == twice.verdict
    assert dominance(np.maximum(x, y), y).verdict == "x" and dominance(x, x).verdict == "equal"
    assert "same" in str(dominance(x, x))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2, 3], [1, 2]), "different depths"),
        (([[1, 2], [1]], [1, 2]), "different lengths"),
        (([1, 2.5], [1, 2]), "not an integer"),
        ((np.zeros((0, 2), dtype=int), [1, 2]), "no list"),
        (([1, 2], [2, 1], [[[1, 2, 0], [0, 1, 2]]]), "the log 3"),
        (([1, 2], [2, 1], None, 0.1), "log= too"),
        (([1, 2], [2, 1], [[[1, 2], [1, 2]]]), "equal"),
    ],
)
def test_bad_input(arguments, words):
    refused(words, dominance, *arguments)


def test_a_log_of_documents_says_nothing():
    log = Preferences.from_documents([["d", "e"]], [["e", "d"]])
    refused("no grades", dominance, [1, 0], [0, 1], log)


def test_ranges_hold_the_truth_and_narrow():
    truth = TRUTH.normalised()
    widths = []
    for n in (30, 300):
        ranges = consistent_ranges(random_log(n, "free", seed=4))
        for ends, values in ((ranges.gains, truth.gains), (ranges.discounts, truth.discounts)):
            assert (ends[0] <= values + 1e-7).all() and (values <= ends[1] + 1e-7).all()
        assert ranges.violation == pytest.approx(0, abs=1e-9) and ranges.used == 1
        widths.append(np.ptp(ranges.gains, axis=0).sum() + np.ptp(ranges.discounts, axis=0).sum())
    assert widths[1] < 0.5 * widths[0]
    ranges = consistent_ranges(random_log(8, "free"))
    assert "12 of 12 gains and discounts (ranges wider than .5)" in ranges.sentence
    assert "not pinned down: gain of grade 1" in ranges.notes[0]
    np.testing.assert_array_equal(ranges.table["low"][:5], ranges.gains[0])
    np.testing.assert_array_equal(ranges.table["high"][5:], ranges.discounts[1])


def test_ranges_agree_with_brute_force_over_dcgs():
    """No sampled DCG that respects the log lies outside; some come near the ends."""
    log = random_log(12, "free", seed=7)
    ranges = consistent_ranges(log, slack=0.0)
    rng = np.random.default_rng(0)
    gains = np.cumsum(rng.dirichlet(np.full(4, 0.5), 20_000), axis=1) @ np.eye(4, 5, k=1)
    discounts = np.cumsum(rng.dirichlet(np.full(10, 0.3), 20_000), axis=1)[:, ::-1]
    ahead = ((gains[:, log.preferred] - gains[:, log.other]) * discounts[:, None]).sum(axis=2)
    seen = gains[(ahead >= 0).all(axis=1)]
    assert len(seen) > 20
    assert (np.min(seen, axis=0) >= ranges.gains[0] - 1e-7).all()
    assert (np.max(seen, axis=0) <= ranges.gains[1] + 1e-7).all()


def test_ranges_of_noisy_logs_know_the_least_violation():
    noisy = consistent_ranges(random_log(200, "free", seed=1, noise=0.2), max_pairs=150)
    assert noisy.violation > 1e-3
    assert noisy.used == pytest.approx(0.75)
    for bad in ({"slack": -1}, {"max_pairs": 0}):
        refused(next(iter(bad)), consistent_ranges, random_log(20), **bad)
    refused("no gains", consistent_ranges, Preferences.from_documents([["x", "y"]], [["y", "x"]]))
