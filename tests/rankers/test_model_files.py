"""Saved models: they come back the same; damaged and foreign ones are refused."""

import contextlib
import hashlib
import json
import shutil
from dataclasses import is_dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dcglearn import losses
from dcglearn.foundation import disk
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import RankSVMRanker, RidgeRanker
from dcglearn.rankers.loading import load_ranker
from dcglearn.rankers.model_files import _decoded, encoded
from dcglearn.rankers.reduction import PairwiseRanker
from dcglearn.rankers.sparse import SparseRanker
from tests.makers import refused
from tests.rankers.makers import MINE, TEXTBOOK, quick, small


class TestFiles:
    @pytest.mark.parametrize(
        "ranker",
        [
            quick(annealing=[2.5, 5.0]),
            RidgeRanker(MINE),
            RankSVMRanker(),
            SparseRanker(MINE, l1=1.0, max_iter=5),
        ],
        ids=lambda ranker: type(ranker).__name__,
    )
    def test_a_model_comes_back(self, tmp_path, ranker):
        queries = small()
        ranker.fit(queries).save(tmp_path / "model")
        again = load_ranker(tmp_path / "model")
        assert type(again) is type(ranker)
        assert np.array_equal(again.predict(queries), ranker.predict(queries))
        assert again.score(queries) == ranker.score(queries)
        assert repr(again.get_params()) == repr(ranker.get_params())
        refused("holds a model", ranker.save, tmp_path / "model", force=False)
        ranker.save(tmp_path / "model")

    def test_every_loss_comes_back(self):
        for name in losses.__all__:
            kind = getattr(losses, name)
            if is_dataclass(kind):
                loss = kind(MINE) if "dcg" in kind.__dataclass_fields__ else kind()
                assert _decoded(json.loads(json.dumps(encoded(loss)))) == loss

    def test_a_model_of_other_gains_is_refused(self, tmp_path):
        quick().fit(small()).save(tmp_path / "model")
        assert LinearRanker.load(tmp_path / "model", metric=MINE).metric_ == MINE
        refused(
            "trained for other gains or discounts",
            LinearRanker.load,
            tmp_path / "model",
            metric=TEXTBOOK,
        )
        refused("holds a LinearRanker, not a RidgeRanker", RidgeRanker.load, tmp_path / "model")

    def test_damage_is_told(self, tmp_path):
        good = tmp_path / "good"
        quick().fit(small()).save(good)
        fields = json.loads((good / "model.json").read_text())
        for change, message in (
            ({"format": "x"}, "\"format\" is 'x'"),
            ({"version": 2}, "written by another version"),
            ({"files": {}}, "damaged, or not of this version"),
            ({"files": {"../good/weights.npz": "0"}}, "is not the name of a data file"),
            (
                {"kind": "Pickle"},
                "holds a Pickle, not a LinearRanker or .*load_ranker reads every kind",
            ),
            ({"n_features": 3}, "does not belong to model.json"),
            (
                {"parameters": {**fields["parameters"], "loss": {"loss": "os", "fields": {}}}},
                "no loss that this version",
            ),
        ):
            bad = tmp_path / "bad"
            shutil.copytree(good, bad)
            (bad / "model.json").write_text(json.dumps(fields | change))
            refused(message, load_ranker, bad)
            shutil.rmtree(bad)
        (weights,) = good.glob("weights-*.npz")
        whole = weights.read_bytes()
        for data in (b"not a zip", whole[:100], b""):
            weights.write_bytes(data)
            refused("is damaged or was changed: it has another SHA-256", load_ranker, good)
            name = f"weights-{'0' * 16}.npz"
            (good / name).write_bytes(data)
            files = {"files": {name: hashlib.sha256(data).hexdigest()}}
            (good / "model.json").write_text(json.dumps(fields | files))
            refused("damaged", load_ranker, good)  # the checksum agrees, the content does not
            (good / "model.json").write_text(json.dumps(fields))
        refused(r"model\.json does not exist; check the name", load_ranker, tmp_path / "none")

    def test_what_cannot_be_saved(self, tmp_path):
        with pytest.raises(NotFittedError, match="not fitted"):
            quick().save(tmp_path / "model")
        refused("without pickle", PairwiseRanker(n_rounds=1).fit(small(5)).save, tmp_path / "model")
        fitted = RidgeRanker().fit(small())
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "thesis.txt").write_text("x")
        for path, message in (
            (tmp_path / "full", "holds other files"),
            (tmp_path / "a" / "b", "does not exist"),
        ):
            refused(message, fitted.save, path)
        assert [file.name for file in (tmp_path / "full").iterdir()] == ["thesis.txt"]

    def test_what_a_killed_process_leaves_does_not_lock_the_folder(self, tmp_path):
        model = tmp_path / "model"
        model.mkdir()
        for name in (
            ".dcglearn-x1.trees-0123456789abcdef.txt",
            ".dcglearn-y.model.json",
            "weights-0123456789abcdef.npz",
        ):
            (model / name).write_text("half")
        ranker = RidgeRanker().fit(small())
        ranker.save(model, force=False)
        assert sorted(path.name for path in model.iterdir())[0] == "model.json"
        assert len(list(model.iterdir())) == 2
        assert np.array_equal(load_ranker(model).coef_, ranker.coef_)

    @pytest.mark.parametrize("step", ["made", "synced", "renamed", "entered", "removed"])
    def test_a_stop_while_a_model_is_replaced_leaves_one_or_the_other(
        self, tmp_path, monkeypatch, step
    ):
        first, second = RidgeRanker().fit(small()), RidgeRanker(l2=10.0).fit(small())
        first.save(tmp_path / "model")
        whole, calls = getattr(disk, step), []

        class Killed(BaseException):
            pass

        def stops(*arguments):
            calls.append(arguments)
            if len(calls) == killed_at:
                raise Killed
            return whole(*arguments)

        # Read by `stops`.
        for killed_at in (1, 2, 3):  # noqa: B007
            calls.clear()
            with monkeypatch.context() as patch, contextlib.suppress(Killed):
                patch.setattr(disk, step, stops)
                second.save(tmp_path / "model")
            assert load_ranker(tmp_path / "model").coef_.tolist() in (
                first.coef_.tolist(),
                second.coef_.tolist(),
            )
            first.save(tmp_path / "model")
            assert np.array_equal(load_ranker(tmp_path / "model").coef_, first.coef_)
