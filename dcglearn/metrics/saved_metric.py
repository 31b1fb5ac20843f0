"""Base class of metrics: arrays, grade names and notes, saved as strict JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from dcglearn.foundation.files import write_json
from dcglearn.foundation.inputs import read_json_object
from dcglearn.foundation.markup import Shown
from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import Fields, InputError, InputTypeError, PathLike, errors_in
from dcglearn.metrics.judges import Judges
from dcglearn.metrics.learned_from import LearnedFrom
from dcglearn.metrics.scales import grade_map

Kind = TypeVar("Kind", bound="SavedMetric")


class SavedMetric(Shown):
    """A metric whose class names its kind, its arrays, and those whose last axis is the grade."""

    _kind: ClassVar[str]
    _arrays: ClassVar[tuple[str, ...]]
    _by_grade: ClassVar[tuple[str, ...]] = ("gains",)
    grade_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    plain: bool = False
    judges: Judges | None = None
    learned_from: LearnedFrom | None = None

    @property
    def n_grades(self) -> int:
        """L, the number of grades."""
        return int(getattr(self, self._by_grade[0]).shape[-1])

    def map_grades(self, mapping: Mapping[int, int]) -> Self:
        """Return the same metric for data on another scale.

        `mapping` gives the grade of this metric that each grade 0, 1, 2, ... of the data stands
        for. Raises InputError if the grades of the data have a gap, or a grade is not on this
        metric's scale.

        Examples
        --------
        >>> dl.DCG([0, 1, 3, 7, 15], [1, 0.5]).map_grades({0: 0, 1: 2, 2: 4})
        DCG(gains=[0, 3, 15], discounts=[1, 0.5])
        """
        grades, names = grade_map(mapping, self.n_grades), self.grade_names
        values = {key: getattr(self, key)[..., grades] for key in self._by_grade}
        # no names where two grades of the data would have one
        values["grade_names"] = None
        if names is not None and len(set(grades)) == len(grades):
            values["grade_names"] = tuple(names[grade] for grade in grades)
        if self.judges is not None:
            values["judges"] = self.judges.of_grades(np.asarray(grades))
        return replace(self, **values)  # type: ignore[type-var]

    def to_dict(self) -> Fields:
        """Return plain Python values, as `save` writes them."""
        judges = None if self.judges is None else self.judges.to_dict()
        values: Fields = {"format": f"dcglearn.{self._kind}"}
        values["version"] = version_of({"judges": judges})
        values |= {key: getattr(self, key).tolist() for key in self._arrays}
        if self.grade_names is not None:
            values["grade_names"] = list(self.grade_names)
        if self.notes:
            values["notes"] = list(self.notes)
        if self.plain:
            values["plain"] = True
        if judges is not None:
            values["judges"] = judges
        if self.learned_from is not None:
            values["learned_from"] = asdict(self.learned_from)
        return values

    @classmethod
    def from_dict(cls, values: Fields) -> Self:
        """Build a metric from exactly what `to_dict` returns.

        Raises InputError if a key is missing or unknown, a value has another type, or the format
        another version.
        """
        # format, version and fields
        check_format(values, [cls._kind], version_of(values))
        optional = [field.name for field in fields(cls) if field.name not in cls._arrays]  # type: ignore[arg-type]
        own = fields_of(values, cls._arrays, optional, f"a {cls._kind}")

        # types of the values
        for key in cls._arrays:
            check_numbers(own[key], key)
        for key in ("grade_names", "notes"):
            if key in own and not isinstance(own[key], list):
                raise InputError(f'"{key}" must be a list of texts')
        if not isinstance(own.get("plain", False), bool):
            raise InputError('"plain" must be true or false')

        # judges of a metric of this size
        if own.get("judges") is not None:
            shape = tuple(np.shape(own[cls._by_grade[0]])[-1:] + np.shape(own["discounts"]))
            own["judges"] = Judges.from_dict(own["judges"], shape)
        if own.get("learned_from") is not None:
            own["learned_from"] = LearnedFrom.from_dict(own["learned_from"])
        return cls(**own)

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write strict JSON, whole or not at all; ``force=False`` refuses an existing file."""
        write_json(path, self.to_dict(), force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; raise InputError for a damaged file, another kind or version."""
        return load_metric(path, (cls,))

    def _set_texts(self) -> None:
        """Check `grade_names` and `notes` and make them tuples."""
        if isinstance(self.grade_names, str):
            object.__setattr__(self, "grade_names", tuple(names_in(self.grade_names)))
        for name in ("grade_names", "notes"):
            texts = getattr(self, name)
            if texts is None:
                continue
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise InputTypeError(f"{name} must be a list of texts, not {texts!r}")
            object.__setattr__(self, name, tuple(texts))
        if self.grade_names is not None and len(self.grade_names) != self.n_grades:
            raise InputError(f"{len(self.grade_names)} grade names for {self.n_grades} grades")

    def __eq__(self, other: object) -> bool:
        # the log does not change a value
        if not isinstance(other, SavedMetric):
            return False
        of_log = {"judges": None, "learned_from": None, "version": 1}
        mine, theirs = ({**one.to_dict(), **of_log} for one in (self, other))
        return mine == theirs

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, key).tobytes() for key in self._arrays))


def load_metric(path: PathLike, kinds: Sequence[type[Kind]]) -> Kind:
    """Return the metric in a file, of one of several kinds; an InputError names the file."""
    values = read_json_object(path)
    with errors_in(path):
        by_name = {kind._kind: kind for kind in kinds}
        check_format(values, list(by_name), version_of(values))
        return by_name[values["format"].removeprefix("dcglearn.")].from_dict(values)


def fields_of(values: Fields, needed: Iterable[str], optional: Sequence[str], thing: str) -> Fields:
    """Return a file's fields without format and version; raise InputError for a wrong one."""
    needed = list(needed)
    fields = {key: value for key, value in values.items() if key not in ("format", "version")}
    missing = [key for key in needed if key not in fields]
    unknown = sorted(fields.keys() - {*needed, *optional})
    if missing or unknown:
        problem = f'"{missing[0]}" is missing' if missing else f'unknown key "{unknown[0]}"'
        more = f" and optionally {', '.join(optional)}" if optional else ""
        raise InputError(f"{problem}; {thing} holds {', '.join(needed)}{more}")
    return fields


def version_of(values: Fields) -> int:
    """Return the version of a metric's file with these fields: 2 if it knows its judges."""
    return 1 if values.get("judges") is None else 2


def check_format(values: Fields, kinds: Sequence[str], version: int) -> None:
    """Raise InputError unless a file's "format" is of one of the kinds, and of this "version"."""
    kind, written = values.get("format"), values.get("version")
    if kind not in [f"dcglearn.{name}" for name in kinds]:
        why = ""
        if kind == "dcglearn.list_utility":
            why = "; it is no sum of gains times discounts, as what is asked for needs"
        expected = " or ".join(f'"dcglearn.{name}"' for name in kinds)
        raise InputError(f'"format" is {kind!r}, expected {expected}{why}')

    if type(written) is not int or written != version:
        remedy = "no dcglearn writes it"
        if isinstance(written, int) and written > version:
            remedy = "written by a later dcglearn: upgrade dcglearn"
        raise InputError(f'"version" is {written!r}, expected {version}; {remedy}')


def check_numbers(value: Any, key: str) -> None:
    """Raise InputError unless `value` is a number or nested lists of numbers, no text or flag."""
    if isinstance(value, list):
        for item in value:
            check_numbers(item, key)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f'"{key}" holds {value!r}, which is not a number')
