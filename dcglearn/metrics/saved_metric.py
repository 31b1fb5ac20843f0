"""Base class of metrics: arrays, grade names and notes, saved as strict JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar, Self, TypeVar

import numpy as np

from dcglearn.foundation.files import write_json
from dcglearn.foundation.finding import cells_of, plain
from dcglearn.foundation.markup import Shown
from dcglearn.foundation.plain_text import aligned, names_in, number_of
from dcglearn.foundation.sources import read_json_object
from dcglearn.foundation.validation import (
    Fields,
    InputError,
    PathLike,
    PolarsFrame,
    errors_in,
    finite_array,
    one_of,
    whole_number,
)
from dcglearn.metrics.file_fields import check_numbers, fields_of
from dcglearn.metrics.judges import Judges, LearnedFrom
from dcglearn.metrics.textbook import READER

READERS = Path(__file__).with_name("readers")
"""The files of readers, whose notes say who reads, and from which log that is known."""

Kind = TypeVar("Kind", bound="SavedMetric")

VERSION = 3
"""The newest version of a metric's file: 2 knows its judges, 3 has a power."""


class SavedMetric(Shown):
    """A metric whose class names its kind, and its arrays with their numbers of axes.

    `_by_grade` are those whose last axis is the grade, `_by_position` is one whose first axis is
    the position.
    """

    _kind: ClassVar[str]
    _arrays: ClassVar[Mapping[str, int]]
    _by_grade: ClassVar[tuple[str, ...]] = ("gains",)
    _by_position: ClassVar[str] = "discounts"
    grade_names: tuple[str, ...] | None
    notes: tuple[str, ...]
    plain: bool = False
    judges: Judges | None = None
    learned_from: LearnedFrom | None = None

    @property
    def table(self) -> PolarsFrame:
        """The numbers of the metric."""
        raise NotImplementedError

    @property
    def n_grades(self) -> int:
        """L, the number of grades."""
        return int(getattr(self, self._by_grade[0]).shape[-1])

    @property
    def depth(self) -> int:
        """K, the number of positions that count."""
        return len(getattr(self, self._by_position))

    def map_grades(self, grades: Sequence[int]) -> Self:
        """Return the same metric for data on another scale.

        `grades` are those of this metric that the grades 0, 1, 2, ... of the data stand for. Raises
        InputError if there is none, or one is not on this metric's scale.

        Examples
        --------
        >>> dl.DCG([0, 1, 3, 7, 15], [1, 0.5]).map_grades([0, 2, 4])
        DCG(gains=[0, 3, 15], discounts=[1, 0.5])
        """
        scale, names = grades_of(self.n_grades), self.grade_names
        if not len(grades):
            raise InputError(f"map_grades: no grade is given; the metric has {scale}")
        for grade, other in enumerate(grades):
            whole_number(other, f"the map of grade {grade}", 0, self.n_grades - 1, scale)

        # no names where two grades of the data would have one
        values = {key: getattr(self, key)[..., grades] for key in self._by_grade}
        values["grade_names"] = None
        if names is not None and len(set(grades)) == len(grades):
            values["grade_names"] = tuple(names[grade] for grade in grades)
        if self.judges is not None:
            values["judges"] = self.judges.of_grades(np.asarray(grades))
        return replace(self, **values)  # type: ignore[type-var]

    def to_dict(self) -> Fields:
        """Return plain Python values, as `save` writes them."""
        power = getattr(self, "power", 0.0)
        version = 3 if power else 1 if self.judges is None else 2
        values: Fields = {"format": f"dcglearn.{self._kind}", "version": version}
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if one.name in self._arrays or value != one.default:
                values[one.name] = plain(value)
        if power:  # which makes it plain
            del values["plain"]
        return values

    @classmethod
    def from_dict(cls, values: Fields) -> Self:
        """Build a metric from exactly what `to_dict` returns.

        Raises InputError if a key is missing or unknown, a value has another type, or the format
        another version.
        """
        kind_in(values, [cls])
        own = {key: value for key, value in values.items() if key not in ("format", "version")}
        own = fields_of(own, cls, f"a {cls._kind}", cls._arrays)

        # types of the values
        for key in (*cls._arrays, "power"):
            check_numbers(own.get(key, 0.0), key)

        # the log, and judges of a metric of this size
        judges = own.pop("judges", None)
        if own.get("learned_from") is not None:
            log = fields_of(own["learned_from"], LearnedFrom, '"learned_from"')
            own["learned_from"] = LearnedFrom(**log)
        metric = cls(**own)
        if judges is None:
            return metric
        judges = Judges.from_dict(judges, (metric.n_grades, metric.depth))
        return replace(metric, judges=judges)  # type: ignore[type-var]

    def save(self, path: PathLike) -> None:
        """Write strict JSON, whole or not at all."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote; raise InputError for a damaged file, another kind or version."""
        return load_metric(path, (cls,))

    def __post_init__(self) -> None:
        """Check the arrays, `grade_names` and `notes`, and make the latter tuples."""
        for name, n_axes in self._arrays.items():
            object.__setattr__(self, name, finite_array(getattr(self, name), name, n_axes))

        # texts
        if isinstance(self.grade_names, str):
            object.__setattr__(self, "grade_names", tuple(names_in(self.grade_names)))
        for name in ("grade_names", "notes"):
            texts = getattr(self, name)
            if texts is None:
                continue
            listed = isinstance(texts, Iterable) and not isinstance(texts, str)
            if not listed or not all(isinstance(text, str) for text in texts):
                raise InputError(f"{name} must be a list of texts, not {texts!r}")
            object.__setattr__(self, name, tuple(texts))

        # a name for each grade
        if self.grade_names is not None and len(self.grade_names) != self.n_grades:
            raise InputError(
                f"{number_of(len(self.grade_names), 'grade names')} for "
                f"{number_of(self.n_grades, 'grades')}"
            )

    def __str__(self) -> str:
        return "\n".join(aligned(cells_of(self.table)))

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
    """Return the metric in a file, of one of several kinds; an InputError names the file.

    ``reader:NAME`` is a file of the package.
    """
    if str(path).startswith(READER):
        readers = {f"{READER}{file.stem}": file for file in sorted(READERS.glob("*.json"))}
        one_of(str(path), "metric", readers)
        path = readers[str(path)]
    values = read_json_object(path)
    with errors_in(path):
        return kind_in(values, kinds).from_dict(values)


def kind_in(values: Fields, kinds: Sequence[type[Kind]]) -> type[Kind]:
    """Return the kind of metric that a file's fields are; raise InputError for another."""
    by_name = {f"dcglearn.{kind._kind}": kind for kind in kinds}
    kind, version = values.get("format"), values.get("version")
    if str(kind) not in by_name:
        expected = " or ".join(f'"{name}"' for name in by_name)
        raise InputError(f'"format" is {kind!r}, expected {expected}')
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(
            f'"version" is {version!r}, expected 1 to {VERSION}; if it is of a later dcglearn, '
            "upgrade dcglearn"
        )
    return by_name[str(kind)]


# scales of grades


class ScaleWarning(UserWarning):
    """A metric has gains for more grades than the data have: the two scales may not be the same.

    See Also
    --------
    DCG.map_grades : Say which grade stands for which.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", dl.evaluation.ScaleWarning)
    ...     values = dl.evaluate({"q": {"a": 2}}, {"q": {"a": 1.0}}, dl.DCG.standard(5, 3))
    >>> [warning.category.__name__ for warning in caught]
    ['ScaleWarning']
    """


def grades_of(n_grades: int) -> str:
    """Return the grades of a scale in words, ``5 grades (0..4)``."""
    return f"{n_grades} grades (0..{n_grades - 1})" if n_grades > 1 else "one grade (0)"


def warn_of_scale(larger: Mapping[str, int], n_grades: int, data: str) -> None:
    """Warn once, by `ScaleWarning`, of metrics with gains for more grades than the data have.

    `larger` has the number of grades of each such metric, `n_grades` is the number in the data, and
    `data` their name. The warning is of the caller of the function that calls this one.
    """
    if larger:
        sizes = (f"{name} has gains for {grades_of(size)}" for name, size in larger.items())
        message = (
            f"{' and '.join(sizes)}, but {data} has {grades_of(n_grades)}; give DCG.map_grades the "
            "grade of the metric that each grade of the data stands for, or give the data its "
            "n_grades if the scale is the same and its top grade does not occur"
        )
        warnings.warn(message, ScaleWarning, stacklevel=3)
