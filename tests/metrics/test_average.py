"""A DCG that averages: its values, files, evaluation and what refuses it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dcglearn as dl
from tests.makers import refused
from tests.tables import table

HALF = dl.DCG([-0.2, 0.5, 1], [1, 0.6, 0.4], power=0.5)


@given(
    arrays(np.int8, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(-2, 2))
)
def test_values_are_sums_over_a_power_of_the_results(lists):
    added = dl.DCG(HALF.gains, HALF.discounts).score(lists)
    n = [max(sum(grade > -2 for grade in row[:3]), 1) for row in lists]
    np.testing.assert_allclose(HALF.score(lists), added / np.sqrt(n))


def test_one_list_has_one_number_and_lists_of_one_length_the_order_of_a_sum():
    assert dl.DCG([0, 1], [1, 1], power=1.0).score([1, 0]) == 0.5
    lists = np.random.default_rng(0).integers(0, 3, (50, 3))
    ranks = [np.argsort(dcg.score(lists), kind="stable") for dcg in (HALF, HALF.utility)]
    np.testing.assert_array_equal(*ranks)


def test_ndcg_is_that_of_the_sum_among_lists_of_one_length_and_else_refused():
    lists = np.random.default_rng(1).integers(0, 3, (20, 3))
    added = dl.DCG(HALF.gains, HALF.discounts)
    np.testing.assert_array_equal(HALF.ndcg(lists), added.ndcg(lists))
    lists[0, 2] = -2
    refused("no ideal among lists of different lengths", HALF.ndcg, lists)


@table("power", [-0.1, 1.5, np.inf, None, True, "1"])
def test_another_power_is_refused(power):
    refused("power", dl.DCG, [0, 1], [1], power=power)


def test_files_have_a_version_of_their_own(tmp_path):
    path = tmp_path / "half.json"
    HALF.save(path)
    values = json.loads(path.read_text())
    assert values["version"] == 3 and values["power"] == 0.5 and "plain" not in values
    assert dl.metric(path) == HALF != dl.DCG(HALF.gains, HALF.discounts, plain=True)
    path.write_text(json.dumps({**values, "version": 4}))
    refused('"version" is 4, expected 1 to 3', dl.metric, path)
    path.write_text(json.dumps({**values, "power": "half"}))
    refused('"power" holds', dl.metric, path)


def test_it_says_how_lengths_count():
    assert HALF.sentence.endswith("divided by the number of results to the power 0.50")
    assert "power of the number of results  0.5000" in str(HALF)
    assert repr(HALF).endswith("power=0.5)")
    assert HALF.table.row(-1) == ("power of the number of results", 0.5)
    assert HALF.normalised().power == HALF.map_grades([0, 2]).power == 0.5


def test_evaluation_divides_by_the_results_that_are_there():
    judgements = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "b": 2}}
    runs = {"long": {"q1": {"a": 3.0, "b": 2.0, "x": 1.0, "c": 0.0}, "q2": {"b": 1.0}}}
    found = dl.evaluate(judgements, runs, {"half": HALF})
    wanted = HALF.score([[2, 0, 0], [2, -2, -2]])  # one that is not judged counts as the worst
    np.testing.assert_allclose(found.values[0, 0], wanted)
    dropped = dl.evaluate(judgements, runs, {"half": HALF}, unjudged="drop")
    np.testing.assert_allclose(dropped.values[0, 0], HALF.score([[2, 0, 1], [2, -2, -2]]))
    refused("averages", dl.evaluate, judgements, runs, {"half": HALF}, bounds=True)


@table("export", ["to_lightgbm", "to_python", "to_sql", "to_quepid", "lightgbm_callables"])
def test_tools_that_add_up_refuse_it(export):
    refused("divides by the number of results", getattr(dl.exports, export), HALF)


def test_ir_measures_evaluates_it():
    ir_measures = pytest.importorskip("ir_measures")
    qrels = [ir_measures.Qrel("q", "a", 2), ir_measures.Qrel("q", "b", 1)]
    run = [ir_measures.ScoredDoc("q", "b", 2.0), ir_measures.ScoredDoc("q", "a", 1.0)]
    measure = dl.exports.ir_measure(HALF)
    value = ir_measures.calc_aggregate([measure], qrels, run)[measure]
    assert value == pytest.approx(HALF.score([1, 2]))


def test_coherence_speaks_of_lists_of_one_length():
    added = dl.DCG(HALF.gains, HALF.discounts)
    verdict = dl.coherence(HALF, added)
    assert verdict.coherent and "lists of one length" in verdict.caveats[-1]
    assert dl.coherence.disagreement(HALF, added).share == 0
    notes = " ".join(dl.coherence.disagreement(HALF, added).notes)
    assert "lists of one length" in notes
