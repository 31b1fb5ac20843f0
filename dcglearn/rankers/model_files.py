"""Fitted rankers as folders: parameters as strict JSON, arrays as npz read without pickle."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from zipfile import BadZipFile

import numpy as np

from dcglearn.foundation.files import read_json_object, write_json
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from collections.abc import Mapping


FORMAT, VERSION = "dcglearn.ranker", 1

CHECKPOINT, OLD_CHECKPOINTS = "training.checkpoint", ("checkpoint.npz", "checkpoint.json")
"""Name of the checkpoint that `dcglearn train` keeps in the model's folder, and its names in format 1."""


class Model(Protocol):
    """A ranker as its file sees it."""

    metric_: DCG
    n_features_in_: int

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def _write(self, folder: Path) -> dict[str, Any]: ...
    def _read(self, folder: Path, fields: dict[str, Any]) -> None: ...


M = TypeVar("M", bound=Model)


def save_model(ranker: Model, path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a fitted ranker into the folder `path`: ``model.json``, and its numbers in a file beside it."""
    kind = type(ranker).__name__
    if not hasattr(ranker, "metric_"):
        raise InputError(f"this {kind} is not fitted; fit it before saving")
    target = Path(path)
    refuse_folder(target, force=force)
    fields: dict[str, Any] = {"format": FORMAT, "version": VERSION, "kind": kind}
    fields["parameters"] = {name: _encoded(value) for name, value in ranker.get_params(deep=False).items()}
    fields["metric"] = ranker.metric_.to_dict()
    fields["n_features"] = ranker.n_features_in_
    try:
        beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(f"{target}: cannot write there ({error.strerror})") from error
    try:
        fields |= ranker._write(beside)
        write_json(beside / "model.json", fields)
        beside.chmod(0o755)
        if target.exists():
            for file in beside.iterdir():
                file.replace(target / file.name)
        else:
            beside.replace(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def refuse_folder(target: Path, *, force: bool) -> None:
    """Raise InputError if a model cannot be written to `target`, or (unless `force`) one is there already."""
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file; a model is a folder, name another")
    if target.is_dir():
        names = {file.name for file in target.iterdir()} - {CHECKPOINT, *OLD_CHECKPOINTS}
        if names - {"model.json", "weights.npz", "trees.txt"}:
            raise InputError(f"{target} holds other files ({min(names)}); name a new folder for the model")
        if names and not force:
            raise InputError(f"{target} holds a model; choose another name, or --force to replace it")


def read_model(path: str | os.PathLike[str], kinds: Mapping[str, type[M]], metric: DCG | None = None) -> M:
    """Read a model of one of `kinds`, classes by the names of kinds; see `load_ranker`."""
    file = Path(path) / "model.json"
    fields = read_json_object(file)
    if fields.get("format") != FORMAT:
        raise InputError(f'{file}: "format" is {fields.get("format")!r}, expected "{FORMAT}"')
    if fields.get("version") != VERSION:
        raise InputError(f"{file}: written by another version ({fields.get('version')!r}; this one reads {VERSION})")
    if fields.get("kind") not in kinds:
        raise InputError(
            f"{path} holds a {fields.get('kind')}, not a {' or '.join(kinds)}; load_ranker reads every kind of model "
            "that this version knows"
        )
    try:
        parameters = {name: _decoded(value) for name, value in fields["parameters"].items()}
        ranker = kinds[fields["kind"]](**parameters)
        ranker.metric_ = DCG.from_dict(fields["metric"])
        ranker.n_features_in_ = int(fields["n_features"])
        ranker._read(Path(path), fields)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    except (KeyError, TypeError, ValueError, OSError, AttributeError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: the model is damaged, or not of this version ({error})") from error
    if metric is not None and not same_numbers(metric, ranker.metric_):
        raise InputError(
            f"{path} was trained for other gains or discounts, {ranker.metric_!r}; train for this metric, or load the "
            "model without naming one"
        )
    return ranker


def same_numbers(first: DCG, second: DCG) -> bool:
    """Return whether two DCGs have the same gains and discounts; names of grades and notes may differ."""
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
    from dcglearn import losses

    if isinstance(value, dict) and "dcg" in value:
        return DCG.from_dict(value["dcg"])
    if isinstance(value, dict):
        if value["loss"] not in losses.__all__:
            raise InputError(f"{value['loss']!r} is no loss that this version knows")
        return getattr(losses, value["loss"])(**{name: _decoded(item) for name, item in value["fields"].items()})
    return value
