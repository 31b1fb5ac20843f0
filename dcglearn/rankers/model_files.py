"""Fitted rankers as files: parameters, metric and numbers as strict JSON, with a checksum."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from typing import Any

import numpy as np

from dcglearn.foundation.sources import read_json_object
from dcglearn.foundation.validation import Fields, InputError, PathLike, errors_in
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric

FORMAT = "dcglearn.ranker"
"""The field ``format`` of a saved model."""

VERSION = 2
"""Version of the format."""

KINDS = ("LinearRanker", "RidgeRanker", "RankSVMRanker", "BoostedRanker")
"""Classes whose models have a file."""


def saved_fields(ranker: Any) -> Fields:
    """Return the fields of the file of a fitted ranker."""
    parameters = ranker.get_params(deep=False)
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(ranker).__name__,
        "parameters": {name: encoded(value) for name, value in parameters.items()},
        "metric": ranker.metric_.to_dict(),
        "n_features": ranker.n_features_in_,
        "columns": ranker.columns_,
        "numbers": ranker._numbers(),
    }
    return fields | {"sha256": checksum(fields)}


def checksum(fields: Fields) -> str:
    """Return the SHA-256 of a model's other fields."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def load_ranker(path: PathLike, metric: MetricLike | None = None) -> Any:
    """Read a fitted ranker that `Ranker.save` wrote.

    Raises InputError if the file is not a model, is damaged, of another version, or was trained
    for other gains or discounts than those of a `metric` that is given.

    See Also
    --------
    read_queries : Read what is to be ranked.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> queries = dl.simulate.letor_queries(10, random_state=0)
    >>> ranker = dl.rankers.RidgeRanker().fit(queries)
    >>> with TemporaryDirectory() as folder:
    ...     ranker.save(f"{folder}/model.json")
    ...     again = dl.load_ranker(f"{folder}/model.json")
    >>> bool((again.predict(queries) == ranker.predict(queries)).all())
    True
    """
    fields = read_json_object(path)
    with errors_in(path):
        try:
            ranker = _from_fields(fields)
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the model is damaged, or not of this version ({error})") from error

        trained = ranker.metric_
        if metric is not None:
            wanted = read_metric(metric, trained.n_grades, trained.depth, accept=ONLY_DCG)
            if not same_numbers(wanted, trained):
                raise InputError(
                    f"the model was trained for other gains or discounts, {trained!r}; train for "
                    "this metric, or load the model without naming one"
                )
    return ranker


def _from_fields(fields: Fields) -> Any:
    """Return the ranker of the fields of a file."""
    from dcglearn import rankers

    # whether it is a whole model
    form, version = fields.get("format"), fields.get("version")
    if form != FORMAT:
        raise InputError(f'"format" is {form!r}, expected "{FORMAT}"')
    if version != VERSION:
        raise InputError(f"written by another version ({version!r}; this one reads {VERSION})")
    if fields.pop("sha256", None) != checksum(fields):
        raise InputError(
            "the model is damaged or was changed: it has another SHA-256; use a copy, or train "
            "again"
        )
    if fields["kind"] not in KINDS:
        raise InputError(f"holds a {fields['kind']}; models are {', '.join(KINDS)}")

    # parameters, metric, features and numbers
    parameters = {name: _decoded(value) for name, value in fields["parameters"].items()}
    ranker = getattr(rankers, fields["kind"])(**parameters)
    ranker.metric_ = DCG.from_dict(fields["metric"])
    ranker.n_features_in_ = fields["n_features"]
    ranker.columns_ = fields["columns"] and tuple(fields["columns"])
    ranker._set_numbers(fields["numbers"])
    return ranker


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
