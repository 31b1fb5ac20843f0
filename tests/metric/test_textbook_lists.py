"""Textbook metrics of lists: against cwl_eval where it is installed, against the definitions, and by name."""

import numpy as np
import pytest

from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.textbook_lists import ListMetricName, textbook_list_metrics
from tests.makers import refused

LISTS = np.random.default_rng(0).integers(0, 5, (40, 10))


def metric(name, depth=10):
    return ListMetricName.of(name).metric(5, depth)


def test_err_is_its_definition():
    chances, expected = (2.0 ** np.arange(5) - 1) / 16, []
    for grades in LISTS:
        value, unsatisfied = 0.0, 1.0
        for rank, grade in enumerate(grades, 1):
            value += unsatisfied * chances[grade] / rank
            unsatisfied *= 1 - chances[grade]
        expected.append(value)
    np.testing.assert_allclose(metric("ERR").score(LISTS), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["RBP(p=0.8)", "INST(T=1)", "INST(T=2.5)", "BPM(T=1)", "BPM(T=2.5)"])
def test_values_are_those_of_cwl_eval(name):
    ruler = pytest.importorskip("cwl.ruler.cwl_ruler", reason="cwl-eval is not installed")
    parsed, n_positions = ListMetricName.of(name), 20_000 if name.startswith("INST") else 1000
    more = (10,) if parsed.kind == "BPM" else ()
    referee = getattr(ruler, f"{parsed.kind}CWLMetric")(parsed.parameter, *more)
    ours, theirs = metric(name).score(LISTS[:6]), []
    for grades in LISTS[:6]:
        padded = np.append(grades / 4, np.zeros(n_positions - 10)).tolist()
        theirs.append(referee.measure(ruler.Ranking("q", padded, [1.0] * n_positions, max_n=n_positions)))
    # cwl_eval cuts the infinite sum of INST at the last position; RBP differs by the ranks below 10, worth nothing here
    np.testing.assert_allclose(ours, theirs, rtol=3e-4 if parsed.kind == "INST" else 1e-12)


def test_inst_sums_over_all_ranks_below_the_list():
    n, target = 1_000_000, 2.0
    gains = np.append(LISTS[0] / 4, np.zeros(n - 10))
    place = np.arange(1.0, n + 1) + 2 * target - np.cumsum(gains)
    reached = np.append(1.0, np.cumprod(((place - 1) / place) ** 2)[:-1])
    last = reached[-1] * place[-1]
    assert metric("INST(T=2)").score(LISTS[0]) == pytest.approx((reached @ gains) / (reached.sum() + last), rel=1e-9)


def test_the_best_grade_and_then_its_position():
    lists = [[3, 4, 0], [4, 0, 0], [3, 3, 3], [0, 0, 3]]
    np.testing.assert_array_equal(metric("BestGrade").score(lists), [4, 4, 3, 3])
    best = metric("BestGradeRank").score(lists)
    assert best[1] > best[0] > best[2] > best[3]
    every = np.array(np.meshgrid(*[range(3)] * 5)).reshape(5, -1).T
    value = ListMetricName.of("BestGradeRank").metric(3, 5).score(every)
    key = every.max(axis=1) * 10 - (every == every.max(axis=1)[:, None]).argmax(axis=1)
    order = np.argsort(key, kind="stable")
    assert (np.sign(np.round(np.diff(value[order]), 9)) == np.sign(np.diff(key[order]))).all()


def test_shorter_and_deeper_lists_and_unknown_grades():
    for name in ("ERR", "RBP", "INST", "BPM(T=9)", "BestGradeRank"):
        whole = metric(name).score([[3, 0, 1, 0, 0, 0, 0, 0, 0, 0]])
        np.testing.assert_allclose(metric(name).score([[3, 0, 1]]), whole, rtol=1e-12)
        np.testing.assert_allclose(metric(name).score([[3, -1, 1]]), whole, rtol=1e-12)
        np.testing.assert_array_equal(metric(name, 3).score([[3, 0, 1, 4]]), metric(name, 3).score([[3, 0, 1]]))


def test_families_hold_their_metrics_by_name():
    families = textbook_list_metrics(5, 10)
    assert list(families) == ["ERR", "RBP", "INST", "BPM", "BestGrade", "BestGradeRank"]
    assert isinstance(families["ERR"]["ERR@10"], ListUtility)
    assert isinstance(families["RBP"]["RBP(p=0.8)@10"], DCG)
    for family in families.values():
        for name, found in family.items():
            again = ListMetricName.of(name).metric(5)
            np.testing.assert_array_equal(found.score(LISTS), again.score(LISTS))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("ERR(p=1)", "no parameter"),
        ("RBP(T=1)", "has the parameter p"),
        ("RBP(p=1)", "between 0 and 1"),
        ("RBP(p=0)", "between 0 and 1"),
        ("INST(T=0.2)", "between 0.5"),
        ("BPM(T=0)", "between 0"),
        ("ERR@0", "depth"),
        ("RBP@5(p=.5)@5", "is not one of"),
        ("err", "is not one of"),
    ],
)
def test_names_that_mean_nothing_are_refused(word, message):
    refused(message, ListMetricName.of, word)


def test_a_name_without_a_depth_needs_one():
    assert ListMetricName.of("ERR").metric(5, 3).depth == 3
    refused("write ERR@10", ListMetricName.of("ERR").metric, 5)
