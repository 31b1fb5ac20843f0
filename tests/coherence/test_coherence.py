"""Coherence against brute force: verdict, regret, witness; theory."""

import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult

import dcglearn as dl
from dcglearn import DCG, Utility, coherence
from dcglearn.coherence import innate_order, is_compatible, regret
from dcglearn.coherence.rankings import Rankings
from dcglearn.coherence.regret import enumerated_regrets, solved_regret
from dcglearn.foundation.intervals import wilson
from dcglearn.logs.visibility import ONLY_STEPS
from dcglearn.simulate import preference_pairs
from tests.makers import PAPER_LIST, refused
from tests.tables import table

LINEAR, EXPONENTIAL = DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "exponential")


def every_list(documents, depth, n_grades):
    if documents is None:
        return np.array(list(itertools.product(range(n_grades), repeat=depth)))
    return np.array(sorted({one[:depth] for one in itertools.permutations(documents)}))


def brute_force(a, b, documents, margin):
    """Return the largest regret of b over all pairs that a orders by at least the margin."""
    depth, n_grades = a.shape
    lists = every_list(documents, depth, n_grades)
    worth = [w[np.arange(depth), lists].sum(axis=1) for w in (a, b)]
    one, two = (v / np.ptp(v) for v in worth)
    ahead, lost = one[:, None] - one[None, :], two[None, :] - two[:, None]
    told = ahead >= margin - 1e-12 if margin else ahead > 1e-12
    return max(0.0, lost[told].max(initial=0.0))


@st.composite
def two_metrics(draw):
    depth, n_grades = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    numbers = st.integers(-6, 12).map(float)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["free", "documents", "more documents"]))
    documents = None
    if kind != "free":
        documents = rng.integers(
            n_grades, size=depth + (kind == "more documents") * draw(st.integers(1, 2))
        ).tolist()
    rank_one = draw(st.booleans())
    metrics = []
    for _ in range(2):
        if rank_one:
            gains = draw(st.lists(numbers, min_size=n_grades, max_size=n_grades))
            discounts = draw(st.lists(numbers, min_size=depth, max_size=depth))
            metrics.append(np.outer(discounts, gains))
        else:
            metrics.append(rng.normal(size=(depth, n_grades)))
    return metrics, documents, draw(st.sampled_from([0.0, 0.0, 0.1, 0.3]))


def scaled(metrics, documents):
    """Return the rankings of documents, and the metrics on a span of 1, or None if one is 0."""
    counts = documents and tuple(np.bincount(documents, minlength=metrics[0].shape[1]).tolist())
    rankings = Rankings(*metrics[0].shape, counts)
    try:
        return rankings, [rankings.scaled(Utility(w), "it") for w in metrics]
    except dl.InputError:
        return None


@settings(max_examples=300)
@given(two_metrics())
def test_enumeration_agrees_with_brute_force(case):
    metrics, documents, margin = case
    if scaled(metrics, documents) is None:
        refused("all worth the same", coherence, *metrics, documents=documents)
        return
    found = coherence(*metrics, documents=documents, margin=margin)
    there = brute_force(*metrics, documents, margin)
    back = brute_force(*metrics[::-1], documents, margin)
    assert found.regret == pytest.approx(there, abs=1e-9)
    assert found.regret_reverse == pytest.approx(back, abs=1e-9)
    assert found.coherent == (max(there, back) <= 1e-5) and found.proved
    for witness, (first, second) in (
        (found.witness, metrics),
        (found.witness_reverse, metrics[::-1]),
    ):
        if witness is not None:
            values = [Utility(w).score(witness.lists) for w in (first, second)]
            np.testing.assert_allclose([witness.first, witness.second], values)
            assert values[0][0] > values[0][1] and values[1][0] < values[1][1]


@settings(max_examples=100)
@given(two_metrics())
def test_integer_programming_agrees_with_enumeration(case):
    metrics, documents, margin = case
    if scaled(metrics, documents) is None:
        return
    rankings, pair = scaled(metrics, documents)
    for tau in {margin, 0.05}:
        steps = tau + 4e-6, max(tau - 4e-6, 1e-12)
        exact = [enumerated_regrets(rankings, pair, step) for step in steps]
        for first in (0, 1):
            of_first = [both[first].regret for both in exact]
            ordered = pair[:: 1 - 2 * first]
            solved = solved_regret(rankings, ordered, tau, 20.0)
            assert min(of_first) - 1e-5 <= solved.regret <= max(of_first) + 1e-5
            assert solved.bound >= solved.regret
            if solved.pair is not None:
                gaps = [metric.score(solved.pair) for metric in ordered]
                assert gaps[0][0] - gaps[0][1] >= tau - 1e-6
                assert gaps[1][1] - gaps[1][0] == pytest.approx(solved.regret, abs=1e-9)


def test_published_values():
    found = coherence(LINEAR, EXPONENTIAL, PAPER_LIST)
    assert found.coherent is False
    assert round(found.regret, 4) == 0.3370 and round(found.regret_reverse, 4) == 0.3311
    assert found.sentence == (
        "a and b disagree: a list that a prefers can be worse under b by 33.7% of its "
        "range, and one that b prefers can be worse under a by 33.1%"
    )
    for witness, rows in ((found.witness, slice(0, 2)), (found.witness_reverse, slice(2, 4))):
        columns = found.table["grades", "value_to_chooser", "value_to_loser"][rows]
        lists = np.array([grades.split() for grades in columns["grades"]], dtype=int)
        np.testing.assert_array_equal(lists, witness.lists)
        np.testing.assert_array_equal(columns["value_to_chooser"], witness.first)
        np.testing.assert_array_equal(columns["value_to_loser"], witness.second)
    clear = [coherence(LINEAR, EXPONENTIAL, PAPER_LIST, margin) for margin in (0.05, 0.1, 0.2)]
    assert [round(one.regret, 4) for one in clear] == [0.2804, 0.2265, 0.1328]
    free = coherence(LINEAR, EXPONENTIAL)
    assert round(free.regret, 4) == 0.2990 and "all 9,765,625 lists" in free.method


def test_more_lists_than_can_be_looked_at():
    deep = DCG.standard(7, 50, "linear"), DCG.standard(7, 50, "exponential")
    for documents in (None, np.arange(70) % 7):
        found = coherence(*deep, documents=documents)
        assert found.coherent is False and found.proved and found.regret > 0.3
        first, second = (dcg.score(found.witness.lists) for dcg in deep)
        assert first[0] > first[1] and second[0] < second[1]
        if documents is not None:
            counts = [np.bincount(one, minlength=7) for one in found.witness.lists]
            assert (np.array(counts) <= 10).all()


@table("documents", [None, PAPER_LIST, [*PAPER_LIST, 4, 3, 0]])
def test_affine_copies_are_coherent_at_once(documents):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(10, 5))
    copy = (
        3 * weights
        + rng.normal(size=(10, 1))
        + (rng.normal(size=5) if documents is PAPER_LIST else 0.0)
    )
    found = coherence(weights, copy, documents)
    assert found.coherent and (found.regret, found.bound) == (0, 0) and "multiple" in found.method
    assert coherence(weights, -copy, documents).coherent is False
    shallow = DCG([0, 1, 3, 7, 15], [1, 0.5])
    padded = DCG([1, 3, 7, 15, 31], [2.0, 1.0, *np.zeros(8)])
    assert coherence(shallow, padded, documents).coherent
    falling = DCG([4, 2, 0, -1, -3], [0.2, 1.0, -0.5])
    assert coherence(falling, DCG(-falling.gains, -falling.discounts)).coherent


def test_other_coherent_pairs_are_proved():
    steep = [
        DCG([0, 1, top, 3, 4], [base**-k for k in range(8)])
        for top, base in ((2.0, 9.0), (2.2, 8.0))
    ]
    for documents in (None, [4, 4, 3, 2, 1, 1, 0, 0]):
        found = coherence(*steep, documents=documents)
        assert found.coherent and found.proved
        assert "never disagree" in found.sentence


@settings(max_examples=60)
@given(two_metrics(), st.floats(0.1, 50), st.floats(-5, 5), st.randoms(use_true_random=False))
def test_scale_shift_and_the_order_of_documents_change_no_verdict(case, factor, shift, random):
    (a, b), documents, margin = case
    if scaled([a, b], documents) is None:
        return
    plain = coherence(a, b, documents, margin)
    shuffled = None if documents is None else random.sample(documents, len(documents))
    moved = coherence(a * factor, b / factor + shift, shuffled, margin)
    assert moved.regret == pytest.approx(plain.regret, abs=1e-7)
    assert moved.coherent is plain.coherent


def test_a_search_that_hits_its_limit_proves_nothing(monkeypatch):
    stopped = OptimizeResult(status=1, x=None, mip_dual_bound=-0.25)
    monkeypatch.setattr(regret, "milp", lambda *_, **__: stopped)
    deep = DCG.standard(5, 30, "linear"), DCG.standard(5, 30, "exponential")
    found = coherence(*deep, documents=np.arange(40) % 5)
    assert found.coherent is None and not found.proved and (found.regret, found.bound) == (0, 0.25)
    assert "not proved" in found.sentence and "more time" in found.sentence
    assert "0.25" in found.sentence
    assert coherence(LINEAR, EXPONENTIAL, PAPER_LIST).proved  # sorted, not searched


@table(
    ("arguments", "words"),
    [
        ((LINEAR, DCG.standard(4, 10)), "5.*4"),
        ((LINEAR, EXPONENTIAL, [*PAPER_LIST[:-1], -1]), "known grade"),
        ((LINEAR, EXPONENTIAL, [*PAPER_LIST[:-1], 5]), "5"),
        ((LINEAR, DCG([1, 1, 1, 1, 1], [1, 0.5])), "all worth the same"),
        ((LINEAR, DCG.standard(5, 10, "linear", "flat"), PAPER_LIST), "all worth the same"),
        ((LINEAR, [[0, np.nan]]), "b: weights.* is not a finite number"),
        ((LINEAR, "exponential"), "neither a file nor GAIN-DISCOUNT"),
        (("linear-log2@4", "exponential-log2"), "how many grades"),
        ((LINEAR, EXPONENTIAL, None, -0.1), "margin"),
        ((LINEAR, EXPONENTIAL, None, np.nan), "margin"),
    ],
)
def test_bad_input(arguments, words):
    refused(words, coherence, *arguments)


def test_two_grades():
    a, b = DCG([0, 1], [1, 0.6, 0.3]), DCG([2, 9], [2, 1.2, 0.6])
    assert dl.coherence.two_grade_theorem(a, b) and coherence(a, b).coherent
    different = DCG.standard(2, 3, "linear", "log2"), DCG.standard(2, 3, "linear", "reciprocal")
    assert not dl.coherence.two_grade_theorem(*different)
    np.testing.assert_array_equal(different[0].score([[1, 0, 0], [0, 1, 1]]).round(2), [1, 1.13])
    np.testing.assert_array_equal(different[1].score([[1, 0, 0], [0, 1, 1]]).round(2), [1, 0.83])
    assert coherence(*different).coherent is False
    assert not dl.coherence.two_grade_theorem(LINEAR, EXPONENTIAL)
    assert "rise" in str(dl.coherence.two_grade_theorem(a, DCG([1, 0], [1, 0.6, 0.3])))
    refused("compared", is_compatible, a, LINEAR)


def test_the_papers_counter_example():
    for e, flip in ((0.3, 1.343), (0.5, 2.668), (0.9, 7.262)):
        powers = [
            DCG(np.array([0.5, 2, 3]) ** t, [1 + e, 1 - e]) for t in (1, flip - 0.01, flip + 0.01)
        ]
        assert is_compatible(powers[0], powers[2])
        verdicts = [bool(np.diff(dcg.score([[1, 0], [0, 2]]))[0] > 0) for dcg in powers]
        assert verdicts == [False, False, True]
        assert coherence(powers[0], powers[2], [0, 1, 2]).coherent is False


def test_negative_gains_are_compared_on_full_lists_and_the_verdict_says_so():
    harmful, harmless = dl.DCG([-0.4, 0.3, 1.0], [1.0, 0.6]), dl.DCG([0.0, 0.5, 1.0], [1.0, 0.6])
    verdict = dl.coherence(harmful, harmless)
    assert verdict.coherent and "full lists are compared" in str(
        verdict
    )  # of [0] and [], one prefers the second
    assert "full lists are compared" not in str(
        dl.coherence(harmless, dl.DCG([0.0, 0.2, 1.0], [1.0, 0.6]))
    )
    other = dl.DCG([-0.1, 0.3, 1.0], [1.0, 0.6])
    values = [
        metric.score(dl.coherence(harmful, other).witness.lists) for metric in (harmful, other)
    ]
    assert values[0][0] > values[0][1] and values[1][0] < values[1][1]


@table("documents", [[4, 3, 0], [2], [4, 4, 1, 0, 0]])
def test_fewer_documents_than_positions_are_ranked_by_the_first_positions(documents):
    n = len(documents)
    a, b = DCG([0, 1, 2, 3, 4], 0.9 ** np.arange(10)), DCG([0, 0, 1, 5, 6], 0.5 ** np.arange(8))
    cut = [DCG(metric.gains, metric.discounts[:n]) for metric in (a, b)]
    if n == 1:
        refused("all worth the same", coherence, a, b, documents)
        return
    deep, short = coherence(a, b, documents), coherence(*cut, documents)
    assert deep.to_dict() == {**short.to_dict()}
    share = dl.disagreement(a, b, documents).share
    assert share == pytest.approx(dl.disagreement(*cut, documents).share)


def test_the_solver_prints_nothing(monkeypatch, capfd):
    solve = regret.milp

    def talkative(*arguments, **options):
        os.write(1, b"debugging\n")
        return solve(*arguments, **options)

    monkeypatch.setattr(regret, "milp", talkative)
    deep = DCG.standard(3, 20, "linear"), DCG.standard(3, 20, "exponential")
    assert not dl.coherence(*deep, time_limit=0.1).coherent
    print("after")
    assert capfd.readouterr().out == "after\n"


def test_metrics_that_are_given_by_name_are_called_so():
    names = "exponential-log2@4", "linear-log2@4"
    for function in (dl.disagreement, coherence):
        assert function(*names, [2, 1, 1, 0]).names == names
    assert dl.disagreement(*names, [2, 1, 1, 0], names=("x", "y")).names == ("x", "y")


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 10**6))
def test_innate_orders_are_those_of_every_dcg_whose_gains_rise_and_discounts_fall(
    depth, n_grades, seed
):
    rng = np.random.default_rng(seed)
    lists = rng.integers(n_grades, size=(2, 30, depth))
    found = innate_order(*lists)

    # the corners of their cone: one step of the gains, one of the discounts
    steps = [DCG(g, d) for g in np.tri(n_grades, n_grades - 1, -1).T for d in np.tri(depth)]
    leads = np.array([dcg.score(lists[0]) - dcg.score(lists[1]) for dcg in steps])
    best, worst = leads.max(axis=0), leads.min(axis=0)
    expected = ((worst >= 0) & (best > 0)).astype(int) - ((best <= 0) & (worst < 0))
    np.testing.assert_array_equal(found, expected)
    for first, second, order in zip(*lists, found, strict=True):
        assert innate_order(first, second) == order == -innate_order(second, first)


def test_metrics_of_one_log_are_compared_by_what_it_can_know():
    truth = dl.simulate.ground_truth("D1")
    truth = replace(truth, discounts=truth.discounts[:8])
    log = preference_pairs(truth, 500, documents=[4, 3, 3, 2, 2, 1, 1, 0], random_state=0)
    factored = dl.UtilityLearner(margin="hamming").fit(log).factor().dcg
    learned = dl.DCGLearner().fit(log).dcg_

    # of lists of the same grades the log tells, of others a convention decides
    found = dl.disagreement(factored, learned)
    assert found.rankings.reordered and found.share < 0.05
    learned = replace(learned, notes=())
    everything = dl.disagreement(replace(factored, notes=()), learned)
    assert everything.exact and not everything.rankings.reordered and everything.share > 0.12
    assert "the other orders of its grades" in found.notes[0]

    # the level of the discounts changes nothing
    higher = replace(factored, discounts=factored.discounts + 0.3)
    assert dl.disagreement(factored, higher).share == 0
    assert coherence(factored, higher).coherent and coherence(higher, factored).regret == 0
    assert not coherence(replace(factored, notes=()), replace(higher, notes=())).coherent


ONLY_ORDERS = (f"{ONLY_STEPS}, and their level is a convention",)


@settings(max_examples=20)
@given(st.integers(2, 4), st.integers(2, 3), st.sampled_from([0.0, 0.1]), st.integers(0, 10**6))
def test_only_orders_of_the_same_grades_are_compared(depth, n_grades, margin, seed):
    rng = np.random.default_rng(seed)
    gains, discounts = rng.normal(size=(2, n_grades)).round(2), rng.normal(size=(2, depth)).round(2)
    if (np.ptp(gains, axis=1) < 0.1).any() or (np.ptp(discounts, axis=1) < 0.1).any():
        return
    a, b = (DCG(*both, notes=ONLY_ORDERS) for both in zip(gains, discounts, strict=True))

    # leads over all pairs of lists of the same grades, on a span of 1
    lists = every_list(None, depth, n_grades)
    ordered = np.sort(lists)
    first, second = np.nonzero((ordered[:, None] == ordered).all(axis=2))
    leads = np.array(
        [metric.score(lists[first]) - metric.score(lists[second]) for metric in (a, b)]
    )
    leads /= leads.max(axis=1, keepdims=True)
    preferred = leads[0] >= max(margin, 1e-9) - 1e-12
    expected = max(0.0, (-leads[1][preferred]).max(initial=0.0))

    verdict = coherence(a, b, margin=margin)
    assert verdict.regret == pytest.approx(expected, abs=1e-9)
    rankings = Rankings(depth, n_grades, None, reordered=True)
    scaled = [rankings.scaled(metric, "x") for metric in (a, b)]
    assert solved_regret(rankings, scaled, margin, 60.0).regret == pytest.approx(expected, abs=1e-5)
    if verdict.witness:
        best, other = verdict.witness.lists
        assert sorted(best) == sorted(other)

    # a random list, and a random order of it
    differ = (lists[first] != lists[second]).any(axis=1)
    weight = differ / np.bincount(first)[first]
    opposed = (leads[0] * leads[1] < -1e-9) & (np.abs(leads) > 1e-9).all(axis=0)
    found = dl.disagreement(a, b, n_pairs=20_000)
    low, high = wilson(found.share * found.n_pairs, found.n_pairs, 0.9999)
    assert not found.exact and low <= weight @ opposed / weight.sum() <= high
