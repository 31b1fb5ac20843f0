"""Losses and rankers whose metric is a name or a file."""

import numpy as np
import pytest

from dcglearn import DCG, evaluate_arrays, exports, losses
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.load_ranker import load_ranker
from dcglearn.rankers.synthetic import letor_queries
from tests.makers import refused

WITH_A_DCG = ["ApproxNDCG", "LambdaRank", "RSRank", "SHFSDCG", "RegSHFSDCG", "SmoothNDCG", "SoftRankNDCG", "ListNet",
              "Regression"]  # fmt: skip
SCORES, GRADES, OFFSETS = [0.3, 0.1, 0.2, 0.5, -0.4], [0, 2, 1, 0, 1], [0, 3, 5]


@pytest.mark.parametrize("name", WITH_A_DCG)
def test_a_loss_takes_a_name_and_a_file(name, tmp_path):
    kind, dcg = getattr(losses, name), DCG.standard(3, 3, "exponential")
    dcg.save(tmp_path / "dcg.json")
    value, gradient = kind(dcg)(SCORES, GRADES, OFFSETS)
    for named in ("exponential-log2@3", "exponential-log2", tmp_path / "dcg.json", str(tmp_path / "dcg.json")):
        loss = kind(named)
        found, slope = loss(SCORES, GRADES, OFFSETS)
        assert found == value and np.array_equal(slope, gradient)
        assert np.array_equal(loss.lambdas(SCORES, GRADES, OFFSETS), kind(dcg).lambdas(SCORES, GRADES, OFFSETS))
        assert loss.count_empty(GRADES, OFFSETS) == kind(dcg).count_empty(GRADES, OFFSETS)
    refused("neither a file nor", kind, "AP")


def test_a_ranker_takes_names(tmp_path):
    queries = letor_queries(20, seed=0)
    longest, n_grades = int(queries.sizes.max()), queries.n_grades
    for name, depth in (("linear-log2", longest), ("nDCG@5", 5)):
        dcg = DCG.standard(n_grades, depth, "linear")
        by_name = LinearRanker(losses.ApproxNDCG(name), max_iter=3).fit(queries)
        by_dcg = LinearRanker(losses.ApproxNDCG(dcg), max_iter=3).fit(queries)
        assert by_name.metric_ == dcg and np.array_equal(by_name.coef_, by_dcg.coef_)
        assert np.array_equal(RidgeRanker(name).fit(queries).coef_, RidgeRanker(dcg).fit(queries).coef_)
        assert np.array_equal(by_name.evaluate(queries, metric=name), by_dcg.evaluate(queries))
    by_name.save(tmp_path / "model")
    assert load_ranker(tmp_path / "model").loss.dcg == "nDCG@5"


def test_arrays_and_exports_take_files(tmp_path):
    dcg, grades, scores = DCG.standard(3, 3, "linear"), [[2, 0, 1]], [[0.1, 0.9, 0.3]]
    dcg.save(tmp_path / "dcg.json")
    for metric in (tmp_path / "dcg.json", "linear-log2", "nDCG@3"):
        assert evaluate_arrays(grades, scores, metric) == evaluate_arrays(grades, scores, dcg)
    several = evaluate_arrays(grades, scores, {"file": tmp_path / "dcg.json", "name": "linear-log2"})
    assert several["file"] == several["name"]
    for export in (exports.to_lightgbm, exports.to_trec_eval, exports.cwl_gains, exports.cwl_continuation):
        assert export(tmp_path / "dcg.json") == export(dcg)
        refused("how many grades", export, "linear-log2@3")
