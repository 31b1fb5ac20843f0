"""Judgements of documents: the grade of each judged document of each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, PolarsFrame, scale_size

if TYPE_CHECKING:
    from dcglearn.reading.columns import OwnNames

Duplicates = Literal["error", "first", "last"]

JudgementsLike: TypeAlias = Any
"""`Judgements`, paths, a data frame, or a dictionary ``{query: {document: grade}}``."""


@dataclass(frozen=True, eq=False)
class Judgements:
    """Grades of documents.

    `frame` has the columns ``query``, ``document`` (text) and ``grade`` (float64, at least 0), a
    row per judged document: rows without a grade are left out, and grades below 0 count as 0. A
    grade is any number; read on a scale, it is its place there, 0 = worst. `name` is the file, or
    what else to call them in messages.

    `n_grades` is L, by default the largest grade plus 1; None where grades are no levels, since
    one is a fraction or too large for a scale. `grade_names` are the names of the grades, worst
    first, where they were read on a scale. Raises InputError if a grade is not below `n_grades`.

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

    def __post_init__(self) -> None:
        import polars as pl

        from dcglearn.reading.documents import off_scale

        # grades as they count
        grade = pl.col("grade").cast(pl.Float64).fill_nan(None).clip(0.0)
        frame = self.frame.with_columns(grade).drop_nulls("grade")
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

    @property
    def grade_numbers(self) -> tuple[float, ...] | None:
        """The numbers that the names of the grades are, if all of them are numbers."""
        try:
            return None if self.grade_names is None else tuple(map(float, self.grade_names))
        except ValueError:
            return None

    def __repr__(self) -> str:
        documents = number_of(len(self.frame), "documents", ",")
        queries = number_of(self.frame["query"].n_unique(), "queries", ",")
        grades = "no levels" if self.n_grades is None else number_of(self.n_grades, "grades")
        return f"Judgements({documents}, {queries}, {grades})"


def read_judgements(
    judgements: JudgementsLike,
    *,
    duplicates: Duplicates = "error",
    n_grades: int | None = None,
    scale: Sequence[Any] | str | None = None,
    columns: Mapping[str, str] | str | OwnNames | None = None,
) -> Judgements:
    """Return judgements, reading them if a path is given.

    A grade is any number; one below 0 counts as 0: judged, and worth nothing. Documents without a
    grade (null, NaN, None, a blank, "N/A") are not judged: they are left out, and a warning counts
    them. Warnings also name columns that are not used, comments that look like judgements, and
    queries whose names differ in capitals or Unicode's form alone. Raises InputError if a column is
    missing, a grade is no number, a grade is off the scale, the top one of few levels is rare and
    stands apart from the others (`n_grades` insists on it), or a file is bad.

    Parameters
    ----------
    judgements : Judgements, path, several paths, data frame or dict
        Tables have columns for query, document and grade, under any of the usual names (``query_id,
        doc_id, relevance``; ``qid, docno, label``; ...), in any format that `read_preferences`
        reads; other files hold TREC's lines, ``query iteration document grade`` or ``query document
        grade``, or those of the LTR plugin, ``grade qid:query # document``. Dictionaries are
        ``{query: {document: grade}}``, as in pytrec_eval, also in JSON. OpenSearch's judgement
        lists are recognised. A list of paths, a folder or a pattern may hold several files, which
        are read as one.
    duplicates : {"error", "first", "last"}
        What to do with a document judged twice for one query. Take "last" where later lines correct
        earlier ones. Grades of several raters are combined by a recipe of the documentation.
    n_grades : int, optional
        Number of grades of their scale; by default the largest grade plus 1. Give it if the top
        grade may not occur, or to insist on one that stands apart.
    scale : sequence or str, optional
        Their grades, worst first, as in `read_preferences`: ``"Bad,Fair,Good"`` or ``[0, 1, 10,
        100]``.
    columns : mapping or str, optional
        The table's own columns by the usual name, ``{"grade": "final rating"}``.

    See Also
    --------
    read_runs : Read what systems ranked.

    Examples
    --------
    >>> dl.read_judgements({"q1": {"a": 2, "b": 0}}, n_grades=5).n_grades
    5
    >>> judged = dl.read_judgements({"q1": {"a": 100, "b": 0}}, scale=[0, 1, 10, 100])
    >>> judged.frame["grade"].to_list(), judged.grade_numbers
    ([3.0, 0.0], (0.0, 1.0, 10.0, 100.0))
    """
    if isinstance(judgements, Judgements):
        if scale is not None:
            raise InputError(f"{judgements.name}: scale= is for judgements that are not read yet")
        return judgements if n_grades is None else replace(judgements, n_grades=n_grades)

    from dcglearn.reading.documents import judged_documents

    name, frame, names = judged_documents(judgements, duplicates, n_grades, scale, columns)
    return Judgements(frame, name, n_grades if names is None else None, names)
