"""A direct fit as strict JSON: parameters, metric, judges, and what the fit said of itself."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from dcglearn.foundation.files import write_json
from dcglearn.foundation.inputs import read_json_object
from dcglearn.foundation.validation import InputError, finite_array
from dcglearn.learning.direct_fit import Curves
from dcglearn.learning.fits import FORMS, DirectDescription, DirectFit, FormScore
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.saved_metric import check_format, check_numbers

KIND, VERSION = "dcg_learner", 1
"""Kind and version of the file format; files of other versions are refused."""

TYPES: dict[str, type] = {
    "description": dict,
    "loss": str,
    "dcg": dict,
    "curves": dict,
    "raters": list,
    "ties": bool,
    "objective": float,
    "n_effective": float,
    "n_iter": int,
    "dropped": dict,
    "warm": bool,
    "form": str,
    "form_scores": dict,
    "list_utility": object,
}
"""The keys of a file, which are fields of `DirectFit`, each with the type of its value."""

OF_CURVES = ("gains", "discounts", "sharpness", "errors", "thresholds")
"""The keys of "curves"; "thresholds" holds those of the strengths, without the infinite one at the end."""


def save_fit(fit: DirectFit, path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a fit, apart from what its log can tell, as `DCGLearner.save` says."""
    prior = fit.description.prior_of(fit.dcg.n_grades, fit.dcg.depth)
    curves = {key: np.asarray(getattr(fit.curves, key)).tolist() for key in OF_CURVES}
    values: dict[str, Any] = {"format": f"dcglearn.{KIND}", "version": VERSION}
    values |= {key: getattr(fit, key) for key in TYPES}
    values["description"] = {**vars(fit.description), "prior": None if prior is None else prior.to_dict()}
    values["dcg"], values["raters"] = fit.dcg.to_dict(), list(fit.raters)
    values["curves"] = {**curves, "thresholds": curves["thresholds"][1:-1]}
    values["form_scores"] = {form: asdict(score) for form, score in fit.form_scores.items()}
    values["list_utility"] = None if fit.list_utility is None else fit.list_utility.to_dict()
    write_json(path, values, force=force)


def load_fit(path: str | os.PathLike[str]) -> DirectFit:
    """Read what `save_fit` wrote; raise InputError, with the file's name, as `DCGLearner.load` says."""
    values = read_json_object(path)
    try:
        check_format(values, [KIND], VERSION)
        return _fit_of({key: value for key, value in values.items() if key not in ("format", "version")})
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _fit_of(values: dict[str, Any]) -> DirectFit:
    """Return the fit of a file's fields; raise InputError if one is damaged, or they do not belong together."""
    _check(values)
    dcg, curves, raters = DCG.from_dict(values["dcg"]), _curves(values["curves"]), tuple(values["raters"])
    prior = values["description"].get("prior")
    description = {**values["description"], "prior": None if prior is None else DCG.from_dict(prior)}
    numbers = {"objective": float(values["objective"]), "n_effective": float(values["n_effective"])}
    utility = values["list_utility"]
    try:
        values |= {
            "description": DirectDescription(**description),
            "form_scores": {form: FormScore(**score) for form, score in values["form_scores"].items()},
            "list_utility": None if utility is None else ListUtility.from_dict(utility),
        }
    except (TypeError, AttributeError) as error:
        problem = f"the parameters are not those of a DCGLearner, or the scores none of forms ({error})"
        raise InputError(problem) from error
    if values["form"] not in FORMS or (utility is None) != (values["form"] == "dcg"):
        raise InputError(f"the form is {values['form']!r}, {'without' if utility is None else 'with'} a list utility")
    if dcg.n_grades != len(curves.gains) or dcg.depth != len(curves.discounts):
        raise InputError('"dcg" and "curves" have different numbers of grades or positions')
    if len(raters) not in (0, len(curves.errors)):
        raise InputError(f"{len(raters)} raters for {len(curves.errors)} error rates")
    return DirectFit(**{**values, **numbers, "dcg": dcg, "curves": curves, "raters": raters})


def _check(fields: dict[str, Any]) -> None:
    """Raise InputError if a key is missing or unknown, or a value of another type."""
    missing, unknown = [key for key in TYPES if key not in fields], sorted(set(fields) - set(TYPES))
    if missing or unknown:
        problem = f'"{missing[0]}" is missing' if missing else f'unknown key "{unknown[0]}"'
        raise InputError(f"{problem}; a saved learner holds {', '.join(TYPES)}")
    for key, kind in TYPES.items():
        value = fields[key]
        if kind is float:
            check_numbers(value, key)
        if not isinstance(value, (int, float) if kind is float else kind) or (kind is int and isinstance(value, bool)):
            raise InputError(f'"{key}" holds {value!r}, expected {kind.__name__}')
    if not all(isinstance(name, str) for name in fields["raters"]):
        raise InputError('"raters" must be a list of texts')
    check_numbers([*fields["dropped"].values()], "dropped")
    scores = [score for score in fields["form_scores"].values() if isinstance(score, dict)]
    check_numbers([x for score in scores for x in score.values() if x is not None], "form_scores")


def _curves(values: dict[str, Any]) -> Curves:
    if sorted(values) != sorted(OF_CURVES):
        raise InputError(f'"curves" holds {", ".join(values) or "nothing"}, expected {", ".join(OF_CURVES)}')
    for key in OF_CURVES:
        check_numbers(values[key], key)
    thresholds = values["thresholds"]
    inner = finite_array(thresholds, "thresholds", 1) if thresholds != [] else np.zeros(0)
    return Curves(
        gains=finite_array(values["gains"], "gains", 1),
        discounts=finite_array(values["discounts"], "discounts", 1),
        sharpness=float(finite_array(values["sharpness"], "sharpness", 0)),
        errors=finite_array(values["errors"], "errors", 1),
        thresholds=np.concatenate([[0.0], inner, [np.inf]]),
    )
