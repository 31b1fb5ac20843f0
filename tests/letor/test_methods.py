"""Methods and their grids: each learns, and labels tell candidates apart."""

from dataclasses import replace

import numpy as np
import pytest

from dcglearn.letor.methods import METHODS, Setting, method_named
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.synthetic import letor_queries
from tests.letor.makers import small
from tests.makers import refused


class TestMethods:
    @pytest.mark.parametrize("name", METHODS)
    def test_every_method_learns(self, name):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, seed=1)
        train, vali = data[:20], data[20:]
        for candidate in METHODS[name].candidates(Setting(train, DCG.standard(3, 10, "exponential", "letor"), "quick")):
            ranker = candidate.fit(train, vali)
            scores = np.random.default_rng(0).normal(size=vali.shape[0])
            assert ranker.score(vali) > vali.evaluate(scores, ranker.metric_).mean() + 0.1, candidate.label

    def test_labels_tell_candidates_apart(self):
        setting = Setting(small(), DCG.standard(3, 10))
        for method in METHODS.values():
            if method.model == "trees":
                pytest.importorskip("lightgbm")
            for grid in ("default", "quick", "papers"):
                labels = [candidate.label for candidate in method.candidates(replace(setting, grid=grid))]
                assert len(set(labels)) == len(labels) > 0, method.name

    @pytest.mark.parametrize("name", ["ApproxNDCG", "SmoothNDCG", "SHF-SDCG", "RSRank"])
    def test_the_papers_own_grids_learn(self, name):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, seed=1)
        setting = Setting(data[:20], DCG.standard(3, 10, "exponential", "letor"), "papers")
        candidate = next(METHODS[name].candidates(setting))
        guess = data[20:].evaluate(np.random.default_rng(0).normal(size=data[20:].shape[0]), setting.dcg).mean()
        assert candidate.fit(data[:20], data[20:]).score(data[20:]) > guess + 0.1

    def test_names(self):
        assert method_named("reg_shf_sdcg") is METHODS["REG-SHF-SDCG"]
        refused("'RankNet' is none of ApproxNDCG", method_named, "RankNet")
