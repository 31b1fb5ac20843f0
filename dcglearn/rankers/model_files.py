"""Fitted rankers as folders: parameters as strict JSON, numbers as npz or LightGBM's text."""

import contextlib
import dataclasses
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast
from zipfile import BadZipFile

import numpy as np

from dcglearn.foundation import disk
from dcglearn.foundation.files import try_to_write, write_json, written_beside
from dcglearn.foundation.inputs import read_bytes, read_json_object
from dcglearn.foundation.validation import Fields, InputError, PathLike, as_path
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric
from dcglearn.rankers.feature_columns import FeatureColumns

_MODEL = {"format": "dcglearn.ranker", "version": 1}
"""Format of ``model.json``, and its version."""

_DATA = re.compile(r"(weights|trees)-[0-9a-f]{16}\.(npz|txt)")
_LEFTOVER = re.compile(rf"{re.escape(disk.MARK)}.*")
"""Names of files that a kill left."""

R = TypeVar("R")


def save_model(ranker: Any, path: PathLike, *, force: bool = True) -> None:
    """Write a fitted ranker into a folder: numbers in a file named by their checksum, then JSON.

    A kill leaves the old model or the new one, since ``model.json`` names its data file, and is
    replaced by a rename.
    """
    target = as_path(path)
    refuse_folder(target, force=force)

    # parameters, metric and features
    parameters = ranker.get_params(deep=False)
    fields = {**_MODEL, "kind": type(ranker).__name__}
    fields["parameters"] = {name: encoded(value) for name, value in parameters.items()}
    fields["metric"] = ranker.metric_.to_dict()
    fields["n_features"] = ranker.n_features_in_
    if ranker.columns_ is not None:
        fields["columns"] = dataclasses.asdict(ranker.columns_)

    # numbers, with their checksum
    content, more = ranker._numbers()
    checksum = hashlib.sha256(content).hexdigest()
    stem, suffix = ranker._data_file.split(".")
    name = f"{stem}-{checksum[:16]}.{suffix}"
    fields |= more | {"files": {name: checksum}}

    # write the data file before what names it
    is_new = not target.exists()

    try:
        disk.made(target)
        with written_beside(target / name) as beside:
            beside.write_bytes(content)
        write_json(target / "model.json", fields)
    except (InputError, OSError) as error:
        if is_new:
            shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, OSError):
            raise InputError(f"{target}: cannot write there ({error.strerror})") from error
        raise

    # remove the former model and what a kill left
    disk.entered(target.parent)
    for file in target.iterdir():
        if _DATA.fullmatch(file.name) and file.name != name:
            disk.removed(file)
        elif _LEFTOVER.fullmatch(file.name):
            disk.remove_leftover(file)


def refuse_folder(target: Path, *, force: bool) -> None:
    """Raise InputError if no model can be written to `target`, or one is there (unless `force`)."""
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")

    # a folder, or nothing yet
    try:
        with contextlib.suppress(FileNotFoundError):
            target.stat()  # raises OSError for a circle of links, which does not exist to Path
        is_folder = target.is_dir()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise InputError(f"{target}: cannot write there ({reason})") from error
    if target.exists() and not is_folder:
        raise InputError(f"{target} is a file; a model is a folder, name another")

    # of a model only
    if is_folder:
        names = {file.name for file in target.iterdir()}
        others = {
            name for name in names if not (_DATA.fullmatch(name) or _LEFTOVER.fullmatch(name))
        }
        if others - {"model.json"}:
            raise InputError(
                f"{target} holds other files ({min(others)}); name a new folder for the model"
            )
        if "model.json" in names and not force:
            raise InputError(
                f"{target} holds a model; choose another name, or --force to replace it"
            )

    folder = target if is_folder else target.parent
    try_to_write(folder / "file", folder)


def read_model(path: PathLike, kinds: Mapping[str, type[R]], metric: MetricLike | None = None) -> R:
    """Read a model of one of `kinds`, classes by the names of kinds; see `load_ranker`."""
    folder = as_path(path)
    # Path raises OSError where the name is too long.
    if os.path.isfile(folder):  # noqa: PTH113
        raise InputError(
            f"{path} is a file; a model is a folder that `dcglearn train` or save() wrote: "
            "name that"
        )

    file = folder / "model.json"
    fields = read_json_object(file)
    _check_format(path, file, fields, kinds)
    try:
        ranker = _ranker_of(folder, fields, kinds)
    except InputError as error:
        raise error.at(file) from None
    except (LookupError, TypeError, ValueError, OSError, AttributeError, EOFError, BadZipFile) as e:
        raise InputError(f"{path}: the model is damaged, or not of this version ({e})") from e

    own = ranker.metric_
    asked = own if metric is None else metric
    if not same_numbers(read_metric(asked, own.n_grades, own.depth, accept=ONLY_DCG), own):
        raise InputError(
            f"{path} was trained for other gains or discounts, {own!r}; "
            "train for this metric, or load the model without naming one"
        )
    return cast("R", ranker)


def _check_format(path: PathLike, file: Path, fields: Any, kinds: Mapping[str, type[R]]) -> None:
    """Raise InputError unless the fields of ``model.json`` are of one of `kinds`."""
    form, version, kind = (fields.get(name) for name in ("format", "version", "kind"))
    if form != _MODEL["format"]:
        raise InputError(f'{file}: "format" is {form!r}, expected "{_MODEL["format"]}"')
    if version != _MODEL["version"]:
        raise InputError(
            f"{file}: written by another version ({version!r}; this one reads {_MODEL['version']})"
        )
    if kind not in kinds:
        raise InputError(
            f"{path} holds a {kind}, not a {' or '.join(kinds)}; "
            "load_ranker reads every kind of model that this version knows"
        )


def _ranker_of(folder: Path, fields: Fields, kinds: Mapping[str, type[R]]) -> Any:
    """Return the fitted ranker of the fields of ``model.json`` and the data file beside it."""
    parameters = {name: _decoded(value) for name, value in fields["parameters"].items()}
    ranker: Any = kinds[fields["kind"]](**parameters)
    ranker.metric_ = DCG.from_dict(fields["metric"])
    ranker.n_features_in_ = int(fields["n_features"])
    if "columns" in fields:
        ranker._set_columns(FeatureColumns.from_dict(fields["columns"], ranker.n_features_in_))
    ranker._set_numbers(_checked_content(folder, fields["files"]), fields)
    return ranker


def _checked_content(folder: Path, files: dict[str, str]) -> bytes:
    """Return the content of a model's data file; `files` is its name and checksum."""
    ((name, checksum),) = files.items()
    if not _DATA.fullmatch(name):
        raise InputError(f"{name!r} is not the name of a data file")
    content = read_bytes(folder / name)
    if hashlib.sha256(content).hexdigest() != checksum:
        raise InputError(
            f"{name} is damaged or was changed: it has another SHA-256; use a copy, or train again",
            see="damaged",
        )
    return content


def same_numbers(first: DCG, second: DCG) -> bool:
    """Return whether two DCGs have the same gains and discounts; names and notes may differ."""
    same_gains = np.array_equal(first.gains, second.gains)
    return same_gains and np.array_equal(first.discounts, second.discounts)


def encoded(value: Any) -> Any:
    """Return a parameter as JSON; a fitted ranker (a start) as its coefficients."""
    # metrics, starts and losses
    if isinstance(value, DCG):
        return {"dcg": value.to_dict()}
    if hasattr(value, "coef_"):
        value = value.coef_
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
        fields = {name: encoded(getattr(value, name)) for name in names}
        return {"loss": type(value).__name__, "fields": fields}

    # numbers, texts and lists
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [encoded(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise InputError(f"{value!r} cannot be written as JSON; use a loss of dcglearn.losses")


def _decoded(value: Any) -> Any:
    """Return the parameter that `encoded` wrote."""
    from dcglearn import losses

    if isinstance(value, dict) and "dcg" in value:
        return DCG.from_dict(value["dcg"])
    if isinstance(value, dict):
        if value["loss"] not in losses.__all__:
            raise InputError(f"{value['loss']!r} is no loss that this version knows")
        fields = {name: _decoded(item) for name, item in value["fields"].items()}
        return getattr(losses, value["loss"])(**fields)
    return value
