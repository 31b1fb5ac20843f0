"""ListUtility and the textbook metrics of lists: values by definition, names, strict files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn import DCG
from dcglearn.evaluation import ListUtility
from dcglearn.metrics.names import metric_name
from dcglearn.metrics.reading import read_metric
from tests.makers import list_metrics, refused
from tests.tables import table

EXAMPLE = ListUtility([0, 0.4, 0.9, 1], DCG.standard(4, 3).discounts, stops=[0, 0, 1, 1])
"""One document that stops is enough, and better below others."""


def drawn(seed, *, longest=4):
    """Return a random list utility (some grades alike) and a generator."""
    rng = np.random.default_rng(seed)
    n_grades, depth = rng.integers(1, 5), rng.integers(1, longest + 1)
    gains, discounts = rng.integers(0, 4, n_grades) / 3, -np.sort(-rng.random(depth))
    stops = [rng.random(n_grades), rng.integers(0, 2, n_grades), np.zeros(n_grades)][seed % 3]
    return ListUtility(gains, discounts, stops, rng.random() * (seed % 2)), rng


def slow_score(utility, grades):
    """The definition, position by position."""
    parts, survival = [], 1.0
    for discount, grade in zip(utility.discounts, grades, strict=False):
        if grade >= 0:
            parts.append(discount * utility.gains[grade] * survival)
            survival *= 1 - utility.stops[grade]
    return (1 - utility.best) * sum(parts) + utility.best * max(parts, default=0)


@given(st.integers(0, 2**32))
def test_score_is_the_definition(seed):
    utility, rng = drawn(seed, longest=6)
    lists = rng.integers(-1, utility.n_grades, (4, rng.integers(1, 8)))
    np.testing.assert_allclose(
        utility.score(lists), [slow_score(utility, row) for row in lists], atol=1e-14
    )
    assert utility.score(lists[0]) == utility.score(lists)[0]


def test_without_stops_it_is_the_dcg():
    dcg, rng = DCG.standard(5, 10), np.random.default_rng(0)
    utility, lists = ListUtility(dcg.gains, dcg.discounts), rng.integers(-1, 5, (200, 12))
    np.testing.assert_allclose(utility.score(lists), dcg.score(lists), rtol=1e-12)


@table("stops", [np.zeros(5), np.array([0, 0.1, 0, 0.6, 1])])
def test_a_stop_common_to_all_grades_is_a_geometric_discount(stops):
    lists = np.random.default_rng(0).integers(0, 5, (200, 10))
    gains, discounts = np.arange(5) / 4, 1 / np.arange(1.0, 11)
    common = ListUtility(gains, discounts, stops=1 - 0.8 * (1 - stops))
    other = ListUtility(gains, discounts * 0.8 ** np.arange(10), stops=stops)
    np.testing.assert_allclose(common.score(lists), other.score(lists), rtol=1e-12)


@table(
    ("arguments", "message"),
    [
        (([0, 1], [1], [0.5]), "1 stop for 2 gains"),
        (([0, 1], [1], [0, 1.5]), "between 0 and 1"),
        (([0, 1], [1], None, -0.5), "between 0 and 1"),
        (([0, 1], [1], [0, np.nan]), "stops"),
    ],
)
def test_impossible_numbers_are_refused(arguments, message):
    refused(message, ListUtility, *arguments)


def test_files_are_read_back_and_other_readers_name_them(tmp_path):
    path = tmp_path / "utility.json"
    named = ListUtility([0, 1], [1, 0.5], best=0.25, grade_names=["no", "yes"], notes=["a note"])
    for utility in (EXAMPLE, named):
        utility.save(path)
        assert ListUtility.load(path) == utility
    refused("list_utility", DCG.load, path)
    path.write_text(json.dumps({**EXAMPLE.to_dict(), "version": 4}))
    refused("later dcglearn", ListUtility.load, path)
    path.write_text(json.dumps({**EXAMPLE.to_dict(), "stops": [0, "1", 0, 0]}))
    refused("stops", ListUtility.load, path)


def test_other_scales_of_the_same_utility():
    assert EXAMPLE.map_grades([0, 3]) == ListUtility([0, 1], EXAMPLE.discounts, stops=[0, 1])


def test_tables_show_what_is_not_in_a_dcg():
    rows = EXAMPLE.table.rows()
    assert rows[-5:-1] == [
        *zip([f"stop of grade {grade}" for grade in range(4)], [0.0, 0.0, 1.0, 1.0], strict=True)
    ]
    assert rows[-1] == ("share of the best", 0.0)
    assert str(EXAMPLE).splitlines()[1].split() == ["gain", "of", "grade", "0", "0.0000"]
    assert "stops=[0, 0, 1, 1], best=0" in repr(EXAMPLE)


LISTS = np.random.default_rng(0).integers(0, 5, (40, 10))


def metric(name, depth=10):
    return metric_name(name).metric(5, depth)


def test_err_is_its_definition():
    chances, expected = (2.0 ** np.arange(5) - 1) / 16, []
    for grades in LISTS:
        value, unsatisfied = 0.0, 1.0
        for rank, grade in enumerate(grades, 1):
            value += unsatisfied * chances[grade] / rank
            unsatisfied *= 1 - chances[grade]
        expected.append(value)
    np.testing.assert_allclose(metric("ERR").score(LISTS), expected, rtol=1e-12)


def test_rbp_is_that_of_cwl_eval():
    ruler = pytest.importorskip("cwl.ruler.cwl_ruler", reason="cwl-eval is not installed")
    referee, n, theirs = ruler.RBPCWLMetric(0.8), 1000, []
    for grades in LISTS[:6]:
        padded = np.append(grades / 4, np.zeros(n - 10)).tolist()
        theirs.append(referee.measure(ruler.Ranking("q", padded, [1.0] * n, max_n=n)))
    np.testing.assert_allclose(metric("RBP(p=0.8)").score(LISTS[:6]), theirs, rtol=1e-12)


def test_the_best_grade_and_then_its_position():
    lists = [[3, 4, 0], [4, 0, 0], [3, 3, 3], [0, 0, 3]]
    np.testing.assert_array_equal(metric("BestGrade").score(lists), [4, 4, 3, 3])
    best = metric("BestGradeRank").score(lists)
    assert best[1] > best[0] > best[2] > best[3]
    every = np.array(np.meshgrid(*[range(3)] * 5)).reshape(5, -1).T
    value = metric_name("BestGradeRank").metric(3, 5).score(every)
    key = every.max(axis=1) * 10 - (every == every.max(axis=1)[:, None]).argmax(axis=1)
    order = np.argsort(key, kind="stable")
    assert (np.sign(np.round(np.diff(value[order]), 9)) == np.sign(np.diff(key[order]))).all()


def test_shorter_and_deeper_lists_and_unknown_grades():
    for name in ("ERR", "RBP", "BestGradeRank"):
        whole = metric(name).score([[3, 0, 1, 0, 0, 0, 0, 0, 0, 0]])
        np.testing.assert_allclose(metric(name).score([[3, 0, 1]]), whole, rtol=1e-12)
        np.testing.assert_allclose(metric(name).score([[3, -1, 1]]), whole, rtol=1e-12)
        np.testing.assert_array_equal(
            metric(name, 3).score([[3, 0, 1, 4]]), metric(name, 3).score([[3, 0, 1]])
        )


def test_metrics_of_lists_by_name():
    metrics = list_metrics(5, 10)
    assert isinstance(metrics["ERR@10"], ListUtility)
    assert isinstance(metrics["RBP(p=0.8)@10"], DCG)
    for name, found in metrics.items():
        again = metric_name(name).metric(5)
        np.testing.assert_array_equal(found.score(LISTS), again.score(LISTS))


@table(
    ("word", "message"),
    [("RBP(p=1)", "between 0 and 1"), ("RBP(p=0)", "between 0 and 1"), ("ERR@0", "depth")],
)
def test_names_that_mean_nothing_are_refused(word, message):
    refused(message, metric_name, word)


@table("word", ["ERR(p=1)", "RBP(T=1)"])
def test_parameters_that_a_metric_has_not_are_refused(word):
    refused("neither a file nor GAIN-DISCOUNT", read_metric, word, 3, 3)


def test_a_name_without_a_depth_needs_one():
    assert metric_name("ERR").metric(5, 3).depth == 3
    refused("write ERR@10", metric_name("ERR").metric, 5)
