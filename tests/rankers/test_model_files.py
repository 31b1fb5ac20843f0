"""Saved models: they come back the same; damaged and foreign ones are refused."""

import json
from dataclasses import is_dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dcglearn import losses
from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
from dcglearn.rankers.model_files import _decoded, checksum, encoded, load_ranker
from dcglearn.rankers.pairwise import PairwiseRanker
from tests.makers import refused
from tests.rankers.makers import MINE, TEXTBOOK, quick, small


class TestFiles:
    @pytest.mark.parametrize(
        "ranker",
        [
            quick(annealing=[2.5, 5.0]),
            RidgeRanker(MINE),
            RankSVMRanker(),
            quick(l1="path", n_points=3),
        ],
        ids=lambda ranker: type(ranker).__name__,
    )
    def test_a_model_comes_back(self, tmp_path, ranker):
        queries = small()
        ranker.fit(queries).save(tmp_path / "model.json")
        again = load_ranker(tmp_path / "model.json")
        assert type(again) is type(ranker)
        assert np.array_equal(again.predict(queries), ranker.predict(queries))
        assert again.score(queries) == ranker.score(queries)
        assert repr(again.get_params()) == repr(ranker.get_params())
        ranker.save(tmp_path / "model.json")

    def test_every_loss_comes_back(self):
        for name in losses.__all__:
            kind = getattr(losses, name)
            if is_dataclass(kind):
                loss = kind(MINE) if "dcg" in kind.__dataclass_fields__ else kind()
                assert _decoded(json.loads(json.dumps(encoded(loss)))) == loss

    def test_models_that_are_refused(self, tmp_path):
        good, bad = tmp_path / "good.json", tmp_path / "bad.json"
        quick().fit(small()).save(good)
        assert load_ranker(good, metric=MINE).metric_ == MINE
        refused("trained for other gains or discounts", load_ranker, good, metric=TEXTBOOK)

        # fields that were changed, with the checksum of the change and without
        fields = json.loads(good.read_text())
        del fields["sha256"]
        parameters = {**fields["parameters"], "loss": {"loss": "os", "fields": {}}}
        for change, message in (
            ({"format": "x"}, "\"format\" is 'x'"),
            ({"version": 1}, "written by another version"),
            ({"kind": "Pickle"}, "holds a Pickle; models are LinearRanker"),
            ({"numbers": {}}, "damaged, or not of this version"),
            ({"n_features": 3}, "expected a coefficient a feature"),
            ({"parameters": parameters}, "no loss that this version"),
        ):
            changed = fields | change
            bad.write_text(json.dumps(changed | {"sha256": checksum(changed)}))
            refused(message, load_ranker, bad)
        bad.write_text(good.read_text().replace('"n_features": 1', '"n_features": 2'))
        refused("bad.json: .*damaged or was changed: it has another SHA-256", load_ranker, bad)
        bad.write_text(good.read_text()[:300])
        refused("not valid JSON", load_ranker, bad)
        refused(r"none\.json does not exist; check the name", load_ranker, tmp_path / "none.json")

    def test_what_cannot_be_saved(self, tmp_path):
        path = tmp_path / "model.json"
        with pytest.raises(NotFittedError, match="not fitted"):
            quick().save(path)
        refused("without pickle", PairwiseRanker(n_rounds=1).fit(small(5)).save, path)
        refused("does not exist", RidgeRanker().fit(small()).save, tmp_path / "a" / "b")
        assert not list(tmp_path.iterdir())
