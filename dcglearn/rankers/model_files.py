"""Fitted rankers as folders: parameters as strict JSON, arrays as npz read without pickle."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from dcglearn.foundation.files import read_json_object, write_json
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from dcglearn.rankers.ranker import Ranker

FORMAT, VERSION = "dcglearn.ranker", 1
HOMES = {
    "LinearRanker": "linear",
    "SparseRanker": "sparse",
    "RidgeRanker": "baselines",
    "RankSVMRanker": "baselines",
    "BoostedRanker": "trees",
    "DaskBoostedRanker": "dask_trees",
    "AdaRankRanker": "adarank",
}


def save_model(ranker: Ranker, path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a fitted ranker into the folder `path`: ``model.json``, and its numbers in a file beside it.

    Raises
    ------
    InputError
        If the ranker is not fitted or is of a kind that has no file, or the folder cannot be written.
    """
    kind = type(ranker).__name__
    if kind not in HOMES:
        raise InputError(
            f"a {kind} holds another library's learner, which has no file without pickle; keep it yourself"
        )
    if not hasattr(ranker, "metric_"):
        raise InputError(f"this {kind} is not fitted; fit it before saving")
    target = Path(path)
    refuse_folder(target, force=force)
    words: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind}
    words["parameters"] = {name: _encoded(value) for name, value in ranker.get_params(deep=False).items()}
    words["metric"] = ranker.metric_.to_dict()
    words["n_features"] = ranker.n_features_in_
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(f"{target}: cannot write there ({error.strerror})") from error
    try:
        words |= ranker._write(beside)
        write_json(beside / "model.json", words)
        beside.chmod(0o755)
        if target.exists():
            for file in beside.iterdir():
                file.replace(target / file.name)
        else:
            beside.replace(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def refuse_folder(target: Path, *, force: bool) -> None:
    """Refuse a folder for a model that cannot be made, or holds something else, or a model already (unless `force`)."""
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; a model is a folder, name another")
    if target.is_dir():
        names = {file.name for file in target.iterdir()} - {"checkpoint.npz", "checkpoint.json"}
        if names - {"model.json", "weights.npz", "trees.txt"}:
            raise InputError(f"{target} holds other files ({min(names)}); name a new folder for the model")
        if names and not force:
            raise InputError(f"{target} holds a model; choose another name, or --force to replace it")


def load_ranker(path: str | os.PathLike[str], metric: DCG | None = None) -> Ranker:
    """Read a fitted ranker that `Ranker.save` wrote.

    Parameters
    ----------
    path : path
        The model's folder.
    metric : DCG, optional
        The metric that it must have been trained to be judged by; a model of other gains or discounts is refused.

    Raises
    ------
    InputError
        If the folder is not a model, is damaged, of a later version, or of another metric.
    """
    file = Path(path) / "model.json"
    words = read_json_object(file)
    if words.get("format") != FORMAT:
        raise InputError(f'{file}: "format" is {words.get("format")!r}, expected "{FORMAT}"')
    if words.get("version") != VERSION:
        raise InputError(f"{file}: written by another version ({words.get('version')!r}; this one reads {VERSION})")
    try:
        kind = getattr(import_module(f"dcglearn.rankers.{HOMES[words['kind']]}"), words["kind"])
        ranker = kind(**{name: _decoded(value) for name, value in words["parameters"].items()})
        ranker.metric_ = DCG.from_dict(words["metric"])
        ranker.n_features_in_ = int(words["n_features"])
        ranker._read(Path(path), words)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    except (KeyError, TypeError, ValueError, OSError, AttributeError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: the model is damaged, or not of this version ({error})") from error
    if metric is not None and not same_numbers(metric, ranker.metric_):
        raise InputError(
            f"{path} was trained for other gains or discounts, {ranker.metric_!r}; train for this metric, or say that "
            "the other is meant"
        )
    return ranker


def same_numbers(first: DCG, second: DCG) -> bool:
    """Return whether two DCGs have the same gains and discounts, whatever their words."""
    return np.array_equal(first.gains, second.gains) and np.array_equal(first.discounts, second.discounts)


def _encoded(value: Any) -> Any:
    """Return a parameter as JSON; a fitted ranker (a start) as its coefficients."""
    if isinstance(value, DCG):
        return {"dcg": value.to_dict()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _encoded(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
        return {"loss": type(value).__name__, "fields": fields}
    if hasattr(value, "coef_"):
        value = value.coef_
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(f"{value!r} cannot be written as JSON; use a loss of dcglearn.losses")


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and "dcg" in value:
        return DCG.from_dict(value["dcg"])
    if isinstance(value, dict):
        losses = import_module("dcglearn.losses")
        if value["loss"] not in losses.__all__:
            raise InputError(f"{value['loss']!r} is no loss that this version knows")
        return getattr(losses, value["loss"])(**{name: _decoded(item) for name, item in value["fields"].items()})
    return value
