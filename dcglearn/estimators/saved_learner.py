"""A fitted `DCGLearner` as strict JSON: parameters, metric, judges, and what the fit said of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.files import read_json_object, write_json
from dcglearn.foundation.validation import InputError, finite_array
from dcglearn.learning.direct_fit import Curves
from dcglearn.learning.forms import FORMS, FormScore
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility
from dcglearn.metric.saved_metric import check_format, check_numbers

if TYPE_CHECKING:
    import os

KIND, VERSION = "dcg_learner", 1
"""Kind and version of the file format; files of later versions are refused."""

BEYOND = "list_utility_learner"
"""Kind of the files of learners with another form than "dcg", which hold one key more, "beyond"."""

TYPES: dict[str, type] = {
    "parameters": dict,
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
}
"""The keys of a file, each with the type of its value."""

OF_CURVES = ("gains", "discounts", "sharpness", "errors", "thresholds")
"""The keys of "curves"; "thresholds" holds those of the strengths, without the infinite one at the end."""


@dataclass(frozen=True)
class Beyond:
    """What a learner with a `form` other than "dcg" knows besides: the form chosen, its scores, and its metric."""

    form: str
    scores: dict[str, FormScore]
    utility: ListUtility | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        scores = {form: vars(score) for form, score in self.scores.items()}
        return {
            "form": self.form,
            "scores": scores,
            "utility": None if self.utility is None else self.utility.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Beyond:
        """Build it from exactly what `to_dict` returns; raise InputError otherwise."""
        try:
            scores = {form: FormScore.from_dict(score) for form, score in values["scores"].items()}
            utility = None if values["utility"] is None else ListUtility.from_dict(values["utility"])
            found = cls(values["form"], scores, utility)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f'"beyond" does not hold a form, its scores and its utility ({error})') from error
        if found.form not in FORMS or (utility is None) != (found.form == "dcg"):
            raise InputError(
                f'"beyond" holds the form {found.form!r} {"without" if utility is None else "with"} a utility'
            )
        return found


@dataclass(frozen=True)
class SavedLearner:
    """What a fitted `DCGLearner` knows, apart from what its log can tell (`visible_`).

    `parameters` are those of its constructor, `loss` the loss used, `raters` the judges of ``curves.errors`` by name
    (none where the log names a single one), and `ties` tells whether the log held ties.
    """

    parameters: dict[str, Any]
    loss: str
    dcg: DCG
    curves: Curves
    raters: tuple[str, ...]
    ties: bool
    objective: float
    n_effective: float
    n_iter: int
    dropped: dict[str, int]
    warm: bool
    beyond: Beyond | None = None

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write strict JSON beside `path` and rename it into place; ``force=False`` refuses an existing file."""
        prior = self.parameters["prior"]
        curves = {key: np.asarray(getattr(self.curves, key)).tolist() for key in OF_CURVES}
        values: dict[str, Any] = {"format": f"dcglearn.{KIND}", "version": VERSION, **vars(self)}
        values["parameters"] = {**self.parameters, "prior": None if prior is None else prior.to_dict()}
        if self.beyond is None:  # earlier versions of the package read these files
            del values["beyond"], values["parameters"]["form"]
        else:
            values |= {"format": f"dcglearn.{BEYOND}", "beyond": self.beyond.to_dict()}
        values["dcg"] = self.dcg.to_dict()
        values["curves"] = {**curves, "thresholds": curves["thresholds"][1:-1]}
        write_json(path, {**values, "raters": list(self.raters)}, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SavedLearner:
        """Read what `save` wrote.

        Raises
        ------
        InputError
            If the file is damaged, of another kind, or of a later version; it names the file.
        """
        values = read_json_object(path)
        try:
            further = values.get("format") == f"dcglearn.{BEYOND}"
            check_format(values, [BEYOND if further else KIND], VERSION)
            beyond = Beyond.from_dict(values.pop("beyond", {})) if further else None
            fields = _checked({key: value for key, value in values.items() if key not in ("format", "version")})
            fields["beyond"] = beyond
            prior = fields["parameters"].get("prior")
            fields["parameters"]["prior"] = None if prior is None else DCG.from_dict(prior)
            fields["dcg"] = DCG.from_dict(fields["dcg"])
            fields["curves"] = _curves(fields["curves"])
            fields["raters"] = tuple(fields["raters"])
            return cls(**fields)._consistent()
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def _consistent(self) -> SavedLearner:
        """Return the learner itself; raise InputError if its parts do not belong together."""
        if self.dcg.n_grades != len(self.curves.gains) or self.dcg.depth != len(self.curves.discounts):
            raise InputError('"dcg" and "curves" have different numbers of grades or positions')
        if len(self.raters) not in (0, len(self.curves.errors)):
            raise InputError(f"{len(self.raters)} raters for {len(self.curves.errors)} error rates")
        return self


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields; raise InputError if a key is missing or unknown, or a value of another type."""
    missing = [key for key in TYPES if key not in fields]
    unknown = sorted(set(fields) - set(TYPES))
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
    check_numbers(list(fields["dropped"].values()), "dropped")
    return fields


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
