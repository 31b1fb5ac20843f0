"""The simulator: what it draws, how it errs, and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcglearn import DCG, Preferences, Utility
from dcglearn import simulate as sim
from tests.makers import refused
from tests.tables import table

D1, D2 = sim.ground_truth("D1"), sim.ground_truth("D2")
SEEDS = st.integers(0, 2**32 - 1)
QUICK = settings(max_examples=25, deadline=None)


def as_bytes(log: Preferences) -> tuple[bytes, ...]:
    columns = (log.preferred, log.other, log.tie, log.rater, log.query)
    return tuple(np.asarray(column).tobytes() for column in columns if column is not None)


def wins(log: Preferences, first: np.ndarray) -> np.ndarray:
    """Say of each decided pair of differing lists whether the first one won."""
    return (log.preferred == first).all(axis=1)


def as_sets(log: Preferences) -> np.ndarray:
    """Return both lists of each pair in an order that does not depend on the winner, shape (n, 2,
    K).
    """
    pairs = np.stack([log.preferred, log.other], axis=1).astype(np.int64)
    key = pairs @ 200 ** np.arange(pairs.shape[-1], dtype=np.float64)
    return np.take_along_axis(pairs, np.argsort(key, axis=1)[..., None], axis=1)


def test_ground_truths_are_those_of_equation_2():
    ranks = np.arange(1, 11)
    for truth, gains in ((D1, [1, 2, 3, 4, 5]), (D2, [1, 3, 7, 15, 31])):
        np.testing.assert_array_equal(truth.gains, gains)
        np.testing.assert_allclose(truth.discounts, 1 / np.log(ranks + 1), rtol=1e-15)
    assert sim.ground_truth("D2", n_grades=3, depth=4).utility.weights.shape == (4, 3)
    assert [grade + 1 for grade in sim.PAPER_LIST] == [5, 5, 4, 4, 3, 3, 2, 2, 1, 1]


@QUICK
@given(st.lists(st.integers(-1, 6), min_size=1, max_size=12), st.integers(1, 20), SEEDS)
def test_permutations_preserve_the_multiset(grades, n, seed):
    lists = sim.permutations(grades, n, random_state=seed)
    assert lists.dtype == np.int8
    np.testing.assert_array_equal(np.sort(lists, axis=1), np.tile(np.sort(grades), (n, 1)))
    np.testing.assert_array_equal(sim.permutations(grades, n, 1, seed), lists[:, :1])
    rankings = sim.permutations(np.arange(7), n, random_state=seed)
    assert (rankings.shape, rankings.dtype) == ((n, 7), np.int8)
    np.testing.assert_array_equal(np.sort(rankings, axis=1), np.tile(np.arange(7), (n, 1)))


def test_permutations_are_uniform():
    lists = sim.permutations([0, 1, 2], 60_000, random_state=0)
    counts = np.unique(lists @ [100, 10, 1], return_counts=True)[1]
    assert len(counts) == 6
    np.testing.assert_allclose(counts / 10_000, 1, atol=0.05)


def test_free_lists_have_all_grades_alike_at_every_position():
    lists = sim.free_lists(4, 3, 40_000, random_state=0)
    assert (lists.shape, lists.dtype) == ((40_000, 3), np.int8)
    share = (lists[..., None] == np.arange(4)).mean(axis=0)
    np.testing.assert_allclose(share, np.full((3, 4), 0.25), atol=0.012)
    assert abs(np.corrcoef(lists.T)[0, 1]) < 0.02


@table("truth", [sim.ground_truth("D1", 4, 5), sim.ground_truth("D2", 4, 5)])
def test_the_optimal_list_is_optimal_by_brute_force(truth):
    grades = [1, 3, 0, 3, 2]
    log = sim.preference_pairs(truth, 40, lists="optimal", documents=grades, random_state=0)
    best, other = log.preferred, log.other
    every = np.array(list(itertools.permutations(grades)))
    assert (best == best[0]).all()
    assert truth.score(best[0]) == truth.score(every).max()
    np.testing.assert_array_equal(np.sort(other, axis=1), np.sort(best, axis=1))


def test_other_grades_can_beat_the_optimal_list():
    log = sim.preference_pairs(D1, 400, lists="optimal-free", random_state=0)
    best = np.array(sim.PAPER_LIST, dtype=np.int8)
    won = (log.preferred == best).all(axis=1)
    assert (won | (log.other == best).all(axis=1)).all()
    assert 0.8 < won.mean() < 1
    log = sim.preference_pairs(D1, 400, lists="optimal", random_state=0)
    assert (log.preferred == best).all()
    assert log.differing.all()


@table("truth", [D1, D2, Utility(D1.utility.weights)])
@table("lists", sim.LIST_PAIRS)
def test_without_noise_the_judge_agrees_with_the_truth_on_all_pairs(truth, lists):
    log = sim.preference_pairs(truth, 500, lists=lists, random_state=1)
    assert (len(log), log.n_grades, log.depth) == (500, 5, 10)
    assert log.tie is None
    assert log.agreement(truth).precision == 1

    # the seed decides all
    again = sim.preference_pairs(truth, 500, lists=lists, random_state=1)
    np.testing.assert_array_equal(again.preferred, log.preferred)
    np.testing.assert_array_equal(again.other, log.other)


def test_the_judge_keeps_the_order_of_the_pairs():
    first, second = (
        sim.free_lists(5, 10, 200, random_state=0),
        sim.free_lists(5, 10, 200, random_state=1),
    )
    log = sim.judge(D1, first, second, n_flips=40, random_state=2)
    np.testing.assert_array_equal(
        as_sets(log), as_sets(Preferences(np.stack([first, second], axis=1)))
    )
    log = sim.judge(D1, [[0, -1]], [[4, -1]], n_grades=7)
    assert (log.preferred.tolist(), log.n_grades) == ([[4, -1]], 7)


@QUICK
@given(st.integers(0, 60), SEEDS)
def test_exactly_n_flips_are_flipped(n_flips, seed):
    clean = sim.preference_pairs(D1, 60, random_state=seed)
    noisy = sim.preference_pairs(D1, 60, random_state=seed, n_flips=n_flips)
    assert noisy.agreement(D1).violated == n_flips
    np.testing.assert_array_equal(as_sets(clean), as_sets(noisy))


def test_more_noise_contains_less_noise():
    first, second = (
        sim.free_lists(5, 10, 300, random_state=0),
        sim.free_lists(5, 10, 300, random_state=1),
    )
    for few, many in (({"n_flips": 20}, {"n_flips": 50}), ({"flip_rate": 0.1}, {"flip_rate": 0.3})):
        clean, *noisy = (
            wins(sim.judge(D1, first, second, random_state=9, **noise), first)
            for noise in ({}, few, many)
        )
        wrong = [clean != decided for decided in noisy]
        assert (wrong[0] <= wrong[1]).all()
        assert wrong[0].sum() < wrong[1].sum()


def test_flip_rate_is_a_rate():
    log = sim.preference_pairs(D1, 20_000, lists="free", random_state=0, flip_rate=0.2)
    assert log.agreement(D1).violated / 20_000 == pytest.approx(0.2, abs=0.01)


@QUICK
@given(SEEDS)
def test_the_limit_of_temperature_is_the_noise_free_judge(seed):
    cold = sim.preference_pairs(D2, 100, random_state=seed, temperature=1e-12)
    assert as_bytes(cold) == as_bytes(sim.preference_pairs(D2, 100, random_state=seed))


@table("temperature", [0.3, 2.0, 5.0])
def test_temperature_errs_as_the_logistic_function_of_the_difference_says(temperature):
    first, second = (
        sim.free_lists(5, 10, 60_000, random_state=0),
        sim.free_lists(5, 10, 60_000, random_state=1),
    )
    difference = D1.score(first) - D1.score(second)
    won = wins(sim.judge(D1, first, second, temperature=temperature, random_state=2), first)
    chance = 1 / (1 + np.exp(-difference / temperature))
    for part in np.array_split(np.argsort(difference), 10):
        assert won[part].mean() == pytest.approx(chance[part].mean(), abs=0.025)


def test_raters_err_at_their_own_rates():
    rates = {"careful": 0.0, "hasty": 0.3, "contrary": 1.0}
    rater = np.tile(list(rates), 10_000)
    first, second = (
        sim.free_lists(5, 10, 30_000, random_state=0),
        sim.free_lists(5, 10, 30_000, random_state=1),
    )
    log = sim.judge(D1, first, second, rater=rater, rater_error=rates, random_state=2)
    assert log.rater is not None
    for name, rate in rates.items():
        agreement = log.decided[log.decided.rater == name].agreement(D1)
        assert 1 - agreement.precision == pytest.approx(rate, abs=0.02 if rate == 0.3 else 0)
    both = sim.judge(
        D1, first, second, rater=rater, rater_error=rates, flip_rate=0.2, random_state=2
    ).decided
    assert 1 - both[both.rater == "hasty"].agreement(D1).precision == pytest.approx(
        0.3 * 0.8 + 0.7 * 0.2, abs=0.02
    )
    log = sim.judge(D1, [[4], [4]], [[0], [0]], rater=[1, 2], rater_error={1: 0, 2: 1, 3: 0.5})
    assert log.preferred.tolist() == [[4], [0]]


def test_pairs_within_tie_below_are_ties_and_never_flipped():
    first, second = (
        sim.free_lists(5, 10, 500, random_state=0),
        sim.free_lists(5, 10, 500, random_state=1),
    )
    near = np.abs(D1.score(first) - D1.score(second)) <= 1.0
    for noise in ({}, {"n_flips": int((~near).sum())}, {"temperature": 3.0}):
        log = sim.judge(D1, first, second, tie_below=1.0, random_state=0, **noise)
        np.testing.assert_array_equal(log.tie, near)
        np.testing.assert_array_equal(log.ties.preferred, first[near])
        np.testing.assert_array_equal(log.ties.other, second[near])
    assert 20 < near.sum() < 200


def test_exact_ties_are_ties_whatever_the_rounding():
    # 1/log 2 = 2/log 4: a step of grade at rank 1 is worth two at rank 3.
    first = [[2, 0, 0, 0, 0, 0, 0], [1, 0, 2, 0, 0, 0, 0], [4, 4, 4, 4, 4, 4, 4]]
    second = [[1, 0, 2, 0, 0, 0, 0], [0, 0, 4, 0, 0, 0, 0], [4, 4, 4, 4, 4, 4, 4]]
    for scale in (1.0, 1e-9, 0.1, 3e7):
        truth = DCG(scale * D1.gains, D1.discounts)
        log = sim.judge(truth, first, second, temperature=scale)
        assert log.tie is not None
        assert log.tie.all()
        np.testing.assert_array_equal(log.preferred, first)


@QUICK
@given(st.integers(0, 60), st.integers(1, 6) | st.none(), st.integers(2, 6), SEEDS)
def test_noisy_grades_changes_exactly_n_known_grades(n_documents, size, n_grades, seed):
    lists = sim.free_lists(n_grades, 5, 20, seed)
    lists[::2, -2:] = -1
    before = lists.copy()
    noisy = sim.noisy_grades(lists, n_documents, size=size, n_grades=n_grades, random_state=seed)
    np.testing.assert_array_equal(lists, before)
    changed = noisy != lists
    assert changed.sum() == n_documents
    assert not changed[lists < 0].any()
    assert noisy[lists >= 0].min() >= 0
    assert noisy.max() < n_grades
    assert (np.abs(noisy - lists) <= (size or n_grades)).all()


def test_a_changed_grade_is_any_other_within_the_size():
    for size, reached in ((None, {0, 1, 2, 4}), (1, {2, 4}), (2, {1, 2, 4})):
        noisy = sim.noisy_grades(np.full((9_000, 1), 3), rate=1.0, size=size, random_state=0)
        values, counts = np.unique(noisy, return_counts=True)
        assert set(values.tolist()) == reached
        np.testing.assert_allclose(counts * len(reached) / 9_000, 1, atol=0.08)


def test_the_rate_of_noisy_grades_and_its_shapes():
    lists = sim.free_lists(5, 10, 4_000, random_state=0)
    noisy = sim.noisy_grades(lists, rate=0.1, random_state=0)
    assert (noisy != lists).mean() == pytest.approx(0.1, abs=0.01)
    assert (noisy.dtype, noisy.shape) == (np.int8, lists.shape)
    pairs = sim.noisy_grades(lists.reshape(-1, 2, 10), rate=0.1, random_state=0)
    np.testing.assert_array_equal(pairs, noisy.reshape(-1, 2, 10))
    assert sim.noisy_grades([4, 0, -1], 2, random_state=0).shape == (3,)


def test_more_noisy_grades_contain_fewer():
    lists = sim.free_lists(5, 10, 50, random_state=0)
    few, many = (sim.noisy_grades(lists, n, size=1, random_state=4) for n in (30, 90))
    changed = few != lists
    np.testing.assert_array_equal(many[changed], few[changed])


@table("make", [sim.preference_pairs, sim.ungraded_pairs])
def test_same_seed_same_bytes_and_a_generator_moves_on(make):
    options = {
        "n_raters": 3,
        "n_queries": 4,
        "flip_rate": 0.1,
        "temperature": 0.5,
        "tie_below": 0.3,
        "n_flips": 3,
    }
    options["rater_error"] = {"rater 1": 0, "rater 2": 0.1, "rater 3": 0.2}
    one, two, other = (
        as_bytes(make(D2, 100, random_state=seed, **options))
        for seed in (5, np.random.default_rng(5), 6)
    )
    assert one == two
    assert one != other
    rng = np.random.default_rng(0)
    assert as_bytes(make(D1, 50, random_state=rng)) != as_bytes(make(D1, 50, random_state=rng))


@table("make", [sim.preference_pairs, sim.ungraded_pairs])
def test_the_lists_do_not_depend_on_the_noise(make):
    clean = make(D1, 200, random_state=7)
    noisy = make(D1, 200, random_state=7, n_flips=50, temperature=1.0, n_raters=2)
    np.testing.assert_array_equal(as_sets(clean), as_sets(noisy))


def test_synthetic_raters_and_queries():
    log = sim.preference_pairs(D1, 3_000, n_raters=3, n_queries=2, random_state=0)
    for labels, name, count in ((log.rater, "rater", 3), (log.query, "query", 2)):
        found, counts = np.unique(labels, return_counts=True)
        assert found.tolist() == [f"{name} {i + 1}" for i in range(count)]
        np.testing.assert_allclose(counts * count / 3_000, 1, atol=0.1)


def test_exact_ties_are_drawn_again_and_near_ones_kept():
    truth = sim.ground_truth("D1", n_grades=2, depth=3)
    log = sim.preference_pairs(truth, 300, documents=[1, 0, 0], random_state=0)
    assert (len(log), log.tie) == (300, None)
    assert log.differing.all()
    log = sim.preference_pairs(truth, 300, documents=[1, 0, 0], tie_below=0.3, random_state=0)
    assert 0 < len(log.ties) < 300
    assert log.differing.all()
    rare = sim.preference_pairs(
        sim.ground_truth("D1", depth=1), 20, documents=[1] + [0] * 99, random_state=0
    )
    assert (rare.preferred == 1).all() and (rare.other == 0).all()


@table(
    ("lists", "depth", "expected"),
    [
        ("permutations", 10, 10),
        ("permutations", 4, 4),
        ("permutations", 15, 10),
        ("free", 15, 15),
        ("optimal", 4, 4),
    ],
)
def test_lists_are_as_deep_as_the_truth_and_their_grades_allow(lists, depth, expected):
    assert (
        sim.preference_pairs(
            sim.ground_truth("D1", depth=depth), 5, lists=lists, random_state=0
        ).depth
        == expected
    )


@table(("lists", "rank"), [("permutations", 36), ("free", 40)])
def test_the_log_sees_what_the_theory_says(lists, rank):
    seen = sim.preference_pairs(D1, 2_000, lists=lists, random_state=0, n_flips=200).visible()
    assert (seen.rank, seen.structural_rank) == (rank, rank)


def test_ungraded_logs_are_judged_by_the_hidden_grades():
    grades = np.array([0, 3, 1, 4, 1, 2])
    truth = sim.ground_truth("D2", depth=6)
    log = sim.ungraded_pairs(truth, 400, grades, random_state=0)
    assert (log.graded, log.documents) == (False, ("d00", "d01", "d02", "d03", "d04", "d05"))
    assert (truth.score(grades[log.preferred]) > truth.score(grades[log.other])).all()
    assert log.agreement(Utility(truth.utility.weights[:, grades])).precision == 1
    assert log.visible().rank == 25
    many = sim.ungraded_pairs(
        sim.ground_truth("D1", depth=3), 5, np.arange(120) % 5, random_state=0
    )
    assert many.documents == tuple(f"d{i:03}" for i in range(120))


def test_ungraded_logs_take_the_judges_options():
    grades = np.array(sim.PAPER_LIST)
    log = sim.ungraded_pairs(D1, 300, random_state=0, n_flips=30, tie_below=0.2, n_raters=2)
    wrong = D1.score(grades[log.decided.preferred]) < D1.score(grades[log.decided.other])
    assert wrong.sum() == 30
    assert len(log.ties) > 0
    near = np.abs(D1.score(grades[log.preferred]) - D1.score(grades[log.other])) <= 0.2
    np.testing.assert_array_equal(log.tie, near)
    assert set(log.rater.tolist()) == {"rater 1", "rater 2"}


LISTS = np.array([[4, 0], [0, 4], [2, 2]])
REFUSED = [
    (lambda: sim.ground_truth("D3"), "'D3' is neither D1"),
    (lambda: sim.ground_truth("D1", depth=0), "depth=0: give 1 or more"),
    (lambda: sim.ground_truth("D1", n_grades=200), "n_grades=200: give 1 to 127"),
    (
        lambda: sim.permutations([1, 0], 3, depth=4),
        "depth=4: give 1 to 2; no list is longer than its documents",
    ),
    (lambda: sim.permutations([1, 0], 0), "n=0: give 1 or more"),
    (lambda: sim.permutations([1, 0], 2.5), "n=2.5 is not an integer"),
    (lambda: sim.permutations([[1, 0]], 2), "expected a grade each"),
    (
        lambda: sim.judge(D1, LISTS, LISTS[::-1], n_flips=3),
        "n_flips=3: give 0 to 2; 2 pairs are decided",
    ),
    (lambda: sim.judge(D1, LISTS, LISTS[::-1], n_flips=-1), "n_flips=-1"),
    (
        lambda: sim.judge(D1, LISTS, LISTS, flip_rate=0.6),
        "flip_rate=0.6 must be a finite number of at least 0 and at most 0.5",
    ),
    (lambda: sim.judge(D1, LISTS, LISTS, flip_rate=float("nan")), "flip_rate=nan"),
    (
        lambda: sim.judge(D1, LISTS, LISTS, temperature=-1),
        "temperature=-1 must be a finite number of at least 0",
    ),
    (lambda: sim.judge(D1, LISTS, LISTS, temperature=float("inf")), "temperature=inf"),
    (lambda: sim.judge(D1, LISTS, LISTS, tie_below=-0.1), "tie_below=-0.1"),
    (lambda: sim.judge(D1, LISTS, LISTS, rater_error={"a": 0.1}), "give rater, one label per pair"),
    (
        lambda: sim.judge(D1, LISTS, LISTS, rater=["a", "b", "a"], rater_error={"a": 0.1}),
        "lacks 'b'",
    ),
    (
        lambda: sim.judge(D1, LISTS, LISTS, rater=["a"], rater_error={"a": 0.1}),
        r"one label per pair, \(3,\)",
    ),
    (
        lambda: sim.judge(D1, LISTS, LISTS, rater=["a"] * 3, rater_error={"a": 1.1}),
        r"rater_error\['a'\]=1.1",
    ),
    (lambda: sim.judge(D1, LISTS, LISTS[:2]), "must both have the shape"),
    (lambda: sim.judge(D1, [[5]], [[0]]), r"first\[0, 0\]: grade 5 lies outside"),
    (lambda: sim.noisy_grades(LISTS), "give either n_documents"),
    (lambda: sim.noisy_grades(LISTS, 1, rate=0.1), "give either n_documents"),
    (
        lambda: sim.noisy_grades([[1, -1]], 2),
        "n_documents=2: give 0 to 1; the lists hold 1 known grades",
    ),
    (
        lambda: sim.noisy_grades(LISTS, rate=1.5),
        "rate=1.5 must be a finite number of at least 0 and at most 1",
    ),
    (
        lambda: sim.noisy_grades([[0]], 1, n_grades=1),
        "n_grades=1: give 2 to 127; a grade needs another",
    ),
    (lambda: sim.noisy_grades(LISTS, 1, size=0), "size=0: give 1 or more"),
    (
        lambda: sim.preference_pairs(D1, 5, lists="random"),
        "lists='random': give one of permutations, free",
    ),
    (
        lambda: sim.preference_pairs(D1, 5, documents=[2, 2, 2]),
        "exactly tied: the truth does not tell such lists apart",
    ),
    (lambda: sim.preference_pairs(D1, 10, n_flips=11), "n_flips=11: give 0 to 10"),
    (
        lambda: sim.preference_pairs(D1, 2, n_raters=2, rater=["a", "b"]),
        "give either rater, a label per pair, or n_r",
    ),
    (lambda: sim.preference_pairs(D1, 2, n_queries=0), "n_queries=0: give 1 or more"),
    (lambda: sim.ungraded_pairs(DCG([1, 1], [1, 1]), 5, [1, 0]), "exactly tied"),
]


@table(("call", "message"), REFUSED)
def test_impossible_settings_are_refused(call, message):
    refused(message, call)


def test_an_unknown_option_is_refused():
    refused("flips", sim.preference_pairs, D1, 5, flips=2)


@table(("error", "side", "consistency"), [(0, 0, 1), (0.2, 0, 1), (0.2, 0, 0), (0.1, 0.3, 0.5)])
def test_a_machine_errs_favours_a_side_and_contradicts_itself_as_often_as_it_is_told(
    error, side, consistency
):
    taste, n = D2, 6000
    log = sim.machine_verdicts(
        taste, n, error=error, side=side, consistency=consistency, random_state=3
    )
    right = (taste.score(log.preferred) > taste.score(log.other)).reshape(2, n)
    first = ~log.swapped.reshape(2, n)  # the list shown first is the preferred one
    shown_first = np.where(
        first[:, :, None], log.preferred.reshape(2, n, -1), log.other.reshape(2, n, -1)
    )
    shown_second = np.where(
        first[:, :, None], log.other.reshape(2, n, -1), log.preferred.reshape(2, n, -1)
    )
    assert (shown_first[0] == shown_second[1]).all() and (shown_second[0] == shown_first[1]).all()
    again = 1 - 2 * error * (1 - error) * (
        1 - consistency**2
    )  # the same opinion twice, where the side does not decide
    same = (1 - side) ** 2 * again + side * (
        1 - side
    )  # where it decides once, the other verdict is the same in half
    assert (right[0] == right[1]).mean() == pytest.approx(same, abs=0.02)
    assert right.mean() == pytest.approx((1 - side) * (1 - error) + side / 2, abs=0.02)
    assert first.mean() == pytest.approx((1 + side) / 2, abs=0.02)
    assert set(log.rater) == {"machine"} and log.tie is None


def test_a_machine_with_impossible_shares_is_refused():
    for name in ("error", "side", "consistency"):
        refused(
            f"{name}=1.5 must be a finite number of at least 0 and at most 1",
            sim.machine_verdicts,
            D1,
            5,
            **{name: 1.5},
        )
