"""Judgements of documents: the grade of each judged document of each query."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dcglearn.foundation.inputs import expand_paths, is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, PolarsFrame, one_of, scale_size

if TYPE_CHECKING:
    from dcglearn.reading.columns import OwnNames
    from dcglearn.reading.scale import Scale
    from dcglearn.reading.tables import Table

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

    from dcglearn.reading.columns import own_columns
    from dcglearn.reading.contract import JUDGED
    from dcglearn.reading.documents import documents_of, opened, warn_of_twins
    from dcglearn.reading.scale import Scale
    from dcglearn.reading.tables import joined

    # the documents in files, or in one table
    own, levels = own_columns(columns), Scale.of(scale, n_grades)
    sources = [("judgements", judgements)]
    if is_path(judgements):
        sources = [opened(path, JUDGED, own) for path in expand_paths(judgements)]
    tables = [_graded(name, documents_of(name, one, JUDGED, own), levels) for name, one in sources]
    name = sources[0][0] if len(sources) == 1 else f"{len(sources):,} files"
    table = joined(tables)
    warn_of_twins(name, table.frame["query"])

    # a document has one grade
    frame = without_duplicates(table, duplicates)
    if levels.names is not None:
        return Judgements(frame, name, None, levels.names, _numbers_in(levels.names))
    _refuse_slip(table, n_grades)
    return Judgements(frame, name, n_grades)


def _graded(name: str, table: Table, levels: Scale) -> Table:
    """Return the documents that have a grade, a number or a place on a scale; warn of others."""
    import polars as pl

    from dcglearn.reading.documents import numbers
    from dcglearn.reading.scale import BAD
    from dcglearn.reading.tables import Refusals
    from dcglearn.reading.texts import text

    refusals = Refusals(table)
    if levels.names is None:
        remedy = (
            "scale= (--scale Bad,Fair,Good) gives names of grades, worst first, and "
            "columns={'grade': '...'} another column; "
        )
        grade = numbers("grade", table, refusals, remedy)

        # numbers that are too large
        refusals.add(grade.is_infinite().fill_null(False), "grade is", "", grade)
    else:
        texts = text(table.frame["grade"])
        codes = levels.codes(texts)
        first = texts[int((codes == BAD).argmax())]
        refusals.add(codes == BAD, f"grade holds {levels.problem(first)}")

        # numbers below 0 are worth nothing
        is_below = (texts.cast(pl.Float64, strict=False) < 0).fill_null(False)
        grade = pl.Series(codes, dtype=pl.Float64).replace(-1.0, None).set(is_below, 0.0)
    refusals.check()

    # grades below 0 are worth nothing, and documents without a grade not judged
    frame = table.frame.select("query", "document", grade.clip(0.0).alias("grade"))
    missing = grade.is_null().arg_true().to_list()
    if len(missing) == len(frame):
        raise InputError(f"{name} holds no grade; judge some documents first")
    table = replace(table, frame=frame)
    if missing:
        warnings.warn(
            f"{name}: {len(missing):,} of {len(frame):,} documents have no grade and count as not "
            f"judged; the first is in {table.place(missing[0])}",
            stacklevel=2,
        )
        table = table.without(missing)
    return table


def _numbers_in(names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the numbers that names are, None if one is none."""
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        return None


def _refuse_slip(table: Table, n_grades: int | None) -> None:
    """Raise InputError for a grade above the scale, or for one that is a slip, as 30 beside 3.

    A slip is the top one of few levels where it stands apart and is rare.
    """
    grades, few_levels, rare = table.frame["grade"], 10, 0.005
    levels = grades.unique().sort()
    top, is_top = levels[-1], grades == levels[-1]
    problem = off_scale(top, n_grades) if n_grades is not None and top >= n_grades else ""
    is_apart = 1 < len(levels) <= few_levels and top - levels[-2] > 1
    if n_grades is None and is_apart and is_top.sum() <= rare * len(grades):
        problem = (
            f"the grade {top:g} ({is_top.sum():,} of {len(grades):,}) stands far above the others, "
            f"up to {levels[-2]:g}; correct it, or n_grades={int(top) + 1} insists on it"
        )
    if problem:
        raise InputError(f"{table.place(int(is_top.arg_max() or 0))}: {problem}")


def off_scale(top: float, size: int) -> str:
    """Return the refusal of a grade above a scale."""
    return (
        f"grade {top:g} lies outside 0..{size - 1}; raise n_grades={size} (--grades) or correct it"
    )


def without_duplicates(
    table: Table, duplicates: Duplicates, keys: Sequence[str] = ("query", "document")
) -> PolarsFrame:
    """Return a frame with one row per key; raise InputError if a key recurs on "error"."""
    from dcglearn.reading.tables import Refusals

    one_of(duplicates, "duplicates", get_args(Duplicates))
    frame = table.frame
    if frame.select(keys).hash_rows().n_unique() == len(frame):
        return frame

    # the first of those that occur again
    if duplicates == "error":
        refusals = Refusals(table)
        twice = frame.select(keys).is_duplicated()
        problem = "occurs more than once for its query: the document"
        remedy = (
            'keep one by duplicates="first" or "last", or see the recipe '
            "'Grades of several raters'"
        )
        refusals.add(twice, problem, remedy, frame["document"])
        refusals.check()
    keep: Any = duplicates
    return frame.unique(keys, keep=keep, maintain_order=True)
