"""Judgements of documents: the grade of each judged document of each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, PolarsFrame, scale_size

Duplicates = Literal["error", "first", "last", "mean", "median", "majority"]


@dataclass(frozen=True, eq=False)
class Judgements:
    """Grades of documents.

    `frame` has the columns ``query``, ``document`` (text) and ``grade`` (float64, at least 0), a
    row per judged document: rows without a grade are left out, and grades below 0 count as 0. A
    grade is any number; read on a scale, it is its place there, 0 = worst. `name` is the file, or
    what else to call them in messages.

    `n_grades` is L, by default the largest grade plus 1; None where grades are no levels, since
    one is a fraction or too large for a scale. `grade_names` are the names of the grades, worst
    first, where they were read on a scale, and `grade_numbers` the numbers that these are, if all
    of them are numbers. Raises InputError if a grade is not below `n_grades`.

    See Also
    --------
    read_judgements : Read them from any supported form.

    Examples
    --------
    >>> judged = dl.read_judgements({"q1": {"a": 2, "b": 0}})
    >>> judged.frame["grade"].to_list(), judged.n_grades
    ([2.0, 0.0], 3)
    """

    frame: PolarsFrame
    name: str = "judgements"
    n_grades: int | None = None
    grade_names: tuple[str, ...] | None = None
    grade_numbers: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        import polars as pl

        # grades as they count
        grade = self.frame["grade"].cast(pl.Float64).fill_nan(None).clip(0.0)
        frame = self.frame.with_columns(grade.alias("grade")).drop_nulls("grade")
        object.__setattr__(self, "frame", frame)

        # the size of their scale, if they are levels
        top = float(frame["grade"].max() or 0.0)  # type: ignore[arg-type]
        is_whole = bool((frame["grade"] == frame["grade"].floor()).all())
        size = None
        if self.n_grades is not None or (is_whole and top < MAX_GRADES):
            size = scale_size(self.n_grades, int(top))
        if size is not None and top >= size:
            raise InputError(f"{self.name}: {off_scale(top, size)}")
        object.__setattr__(self, "n_grades", size if is_whole else None)

    def __repr__(self) -> str:
        documents = number_of(len(self.frame), "documents", ",")
        queries = number_of(self.frame["query"].n_unique(), "queries", ",")
        grades = "no levels" if self.n_grades is None else number_of(self.n_grades, "grades")
        return f"Judgements({documents}, {queries}, {grades})"


def off_scale(top: float, size: int) -> str:
    """Return the refusal of a grade above a scale."""
    return (
        f"grade {top:g} lies outside 0..{size - 1}; raise n_grades={size} (--grades) or correct it"
    )
