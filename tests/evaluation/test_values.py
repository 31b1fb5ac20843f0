"""Runs evaluated by list utilities and by textbook metrics of lists: values by hand, ideals, what is refused."""

import json

import numpy as np
import pytest

from dcglearn import DCG, ListUtility, evaluate, system_order
from tests.makers import refused, write_trec

JUDGED = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}, "r": {"a": 1, "b": 0}}
RUN = {"q": {"a": 9.0, "b": 8.0, "x": 7.0, "c": 6.0}, "r": {"b": 2.0, "a": 1.0}}
ENOUGH = ListUtility([0, 0.4, 0.9, 1], DCG.standard(4, 3).discounts, stops=[0, 0, 1, 1])


def values(metric, **settings):
    return evaluate({"mine": RUN}, JUDGED, {"m": metric}, **settings).values[0, 0]


def test_a_list_utility_is_divided_by_its_exact_ideal():
    best = ENOUGH.score([1, 1, 3])
    np.testing.assert_allclose(values(ENOUGH), [1 / best, ENOUGH.score([0, 1]) / 0.4], rtol=1e-12)
    np.testing.assert_allclose(values(ENOUGH, normalise=False), [1, ENOUGH.score([0, 1])], rtol=1e-12)
    own = values(ENOUGH, ideal="list")
    assert own[0] == pytest.approx(1 / best)


def test_without_stops_the_values_are_those_of_the_dcg():
    dcg = DCG.standard(4, 3)
    for settings in ({}, {"unjudged": "best"}, {"unjudged": "drop"}, {"ideal": "list"}, {"normalise": False}):
        np.testing.assert_allclose(values(ListUtility.of_dcg(dcg), **settings), values(dcg, **settings), rtol=1e-12)
    above = DCG([0.5, 1, 3, 7], [1, 0.5, 0.2])
    for settings in ({}, {"ideal": "list"}):
        np.testing.assert_allclose(values(ListUtility.of_dcg(above), **settings), values(above, **settings), rtol=1e-12)


def test_unjudged_documents_have_the_grade_that_is_asked():
    lists = {"worst": [3, 1, 0], "best": [3, 1, 3], "drop": [3, 1, 1]}
    best = ListUtility([0, 1, 2, 3], [1, 0.9, 0.8], best=0.5)
    for unjudged, grades in lists.items():
        assert values(best, unjudged=unjudged, normalise=False)[0] == best.score(grades)


def test_textbook_metrics_of_lists_are_plain():
    found = evaluate({"mine": RUN}, JUDGED, ["ERR@3", "RBP(p=0.5)@2", "BestGrade@2"])
    assert found.metrics == ("ERR@3", "RBP(p=0.5)@2", "BestGrade@2")
    first = found.values[0, :, 0]
    np.testing.assert_allclose(first, [7 / 8 + 1 / 8 * 1 / 8 / 2, 0.5 * (1 + 0.5 / 3), 3], rtol=1e-12)
    assert evaluate({"mine": RUN}, JUDGED, "INST").metrics == ("INST(T=1)@4",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"ties": "average"}, "share gains"), ({"unjudged": 0.5}, "worst or best"), ({"residuals": True}, "no residual")],
)
def test_what_is_only_defined_for_sums_is_refused(settings, message):
    refused(message, values, ENOUGH, **settings)


def test_systems_are_ordered_by_a_list_utility():
    other = {query: {name: -score for name, score in documents.items()} for query, documents in RUN.items()}
    order = system_order({"mine": RUN, "other": other}, JUDGED, {"m": ENOUGH, "ERR": "ERR@3"}, n_resamples=10)
    assert order.evaluation.means.shape == (2, 2)


def test_commands_read_the_file_of_a_list_utility(dcglearn, misuse, tmp_path):
    write_trec(tmp_path, JUDGED, {"mine": RUN})
    files, path = (tmp_path / "qrels.txt", tmp_path / "mine.txt"), tmp_path / "utility.json"
    ENOUGH.save(path)
    status, out, _ = dcglearn("evaluate", *files, "--metric", path, "--metric", "ERR@3")
    assert status == 0 and f"{values(ENOUGH).mean():.4f}" in out and "ERR@3" in out
    status, out, err = dcglearn("coherence", path, "exponential-log2", "--json")
    assert status == 0 and "only true of a DCG" in err
    assert json.loads(out)["disagreement_exact"] is False
    misuse("can hold only a DCG", "export", path, "--to", "sql")
