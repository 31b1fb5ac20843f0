"""Methods and their grids: each learns, and labels tell candidates apart."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from dcglearn.letor.methods import METHODS, Setting, method_named
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.synthetic import letor_queries
from tests.makers import refused
from tests.rankers.makers import letor_like

OWN_GRIDS = ["ApproxNDCG", "SmoothNDCG", "SHF-SDCG", "RSRank"]
"""Methods of which the first candidate of their paper's grid is trained too."""


class TestMethods:
    @pytest.mark.parametrize(
        ("name", "grid", "most"),
        [*((name, "quick", None) for name in METHODS), *((name, "papers", 1) for name in OWN_GRIDS)],
    )
    def test_every_method_learns(self, name, grid, most):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, seed=1)
        train, vali = data[:20], data[20:]
        setting = Setting(train, DCG.standard(3, 10, "exponential", "letor"), grid)
        for candidate in islice(METHODS[name].candidates(setting), most):
            ranker = candidate.fit(train, vali)
            scores = np.random.default_rng(0).normal(size=vali.shape[0])
            assert ranker.score(vali) > vali.evaluate(scores, ranker.metric_).mean() + 0.1, candidate.label

    def test_labels_tell_candidates_apart(self):
        setting = Setting(letor_like(), DCG.standard(3, 10))
        for method in METHODS.values():
            if method.model == "trees":
                pytest.importorskip("lightgbm")
            for grid in ("default", "quick", "papers"):
                labels = [candidate.label for candidate in method.candidates(replace(setting, grid=grid))]
                assert len(set(labels)) == len(labels) > 0, method.name

    def test_names(self):
        assert method_named("reg_shf_sdcg") is METHODS["REG-SHF-SDCG"]
        refused("'RankNet' is none of ApproxNDCG", method_named, "RankNet")
