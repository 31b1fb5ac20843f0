"""Judgements of documents: the grade of each judged document of each query."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import MAX_GRADES, InputError, PolarsFrame, one_of, scale_size

if TYPE_CHECKING:
    from dcglearn.reading.document_rows import DocumentRows, OwnNames
    from dcglearn.reading.scale import Scale

Duplicates = Literal["error", "first", "last", "mean", "median", "majority"]

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
    columns: Mapping[str, str] | str | None = None,
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
        ``{query: {document: grade}}``, as in pytrec_eval, also in JSON; documents alone, ``{query:
        {"d1", "d2"}}``, have the grade 1. OpenSearch's judgement lists are recognised. A list of
        paths, a folder or a pattern may hold several files, which are read as one.
    duplicates : {"error", "first", "last", "mean", "median", "majority"}
        What to do with a document judged twice for one query. Take "last" where later lines correct
        earlier ones, and one of the others where raters differ: means and medians need be no
        levels, and of several most frequent grades the worst counts.
    n_grades : int, optional
        Number of grades of their scale; by default the largest grade plus 1. Give it if the top
        grade may not occur, or to insist on one that stands apart.
    scale : sequence or str, optional
        Their grades, worst first, as in `read_preferences`: ``"Bad,Fair,Good"`` or ``[0, 1, 10,
        100]``.
    columns : mapping or str, optional
        The table's own columns by the usual name, ``{"grade": "final rating"}``. A range,
        ``{"grade": "rater 1..rater 3"}``, names a column for each rater; `duplicates` says how
        their grades are combined.

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
    from dcglearn.reading.columns import own_names
    from dcglearn.reading.document_rows import OwnNames

    return judged_by(
        judgements,
        OwnNames(own_names(columns)),
        duplicates=duplicates,
        n_grades=n_grades,
        scale=scale,
    )


def judged_by(
    judgements: JudgementsLike,
    own: OwnNames,
    *,
    duplicates: Duplicates = "error",
    n_grades: int | None = None,
    scale: Sequence[Any] | str | None = None,
) -> Judgements:
    """Return judgements, whose columns may have names of their own; see `read_judgements`."""
    if isinstance(judgements, Judgements):
        if scale is not None or own.names:
            raise InputError(
                f"{judgements.name}: these judgements have been read; give scale= and columns= "
                "where they are"
            )
        frame = judgements.frame
        if duplicates != "error":
            from dcglearn.reading.document_rows import DocumentRows

            frame = without_duplicates(DocumentRows(judgements.name, frame, str), duplicates)
        size = judgements.n_grades if n_grades is None else n_grades
        return replace(judgements, frame=frame, n_grades=size)

    from dcglearn.reading.contract import JUDGED
    from dcglearn.reading.document_rows import joined, opened, rows_of, warn_of_twins
    from dcglearn.reading.scale import Scale
    from dcglearn.reading.tables import files_of

    # the rows of files, tables and dictionaries
    levels = Scale.of(scale, n_grades)
    sources = [("judgements", judgements)]
    if is_path(judgements):
        sources = [opened(path, JUDGED, own) for path in files_of(judgements)]
    parts = [_graded(rows_of(*source, JUDGED, own), levels) for source in sources]
    rows = joined(f"{len(parts):,} files", parts)

    # a document has one grade
    warn_of_twins(rows.name, rows.frame["query"])
    frame = without_duplicates(rows, duplicates)
    if levels.names is not None:
        names = levels.names
        return Judgements(frame, rows.name, len(names), names, _numbers_in(names))
    _refuse_slip(rows, n_grades)
    return Judgements(frame, rows.name, n_grades)


def _graded(rows: DocumentRows, levels: Scale) -> DocumentRows:
    """Return the rows that have a grade, a number or a place on a scale; warn of the others."""
    import polars as pl

    from dcglearn.reading.document_rows import numbers
    from dcglearn.reading.scale import BAD
    from dcglearn.reading.tables import Refusals
    from dcglearn.reading.texts import text

    # names of grades are places on their scale, and numbers below 0 worth nothing
    refusals = Refusals(rows)
    if levels.names is None:
        remedy = "scale= (--scale Bad,Fair,Good) gives names of grades, worst first; "
        grade = numbers("grade", rows, refusals, remedy)
        refusals.add(grade.is_infinite().fill_null(False), "grade is", "", grade)
    else:
        texts = text(rows.frame["grade"])
        codes = levels.codes(texts)
        if (codes == BAD).any():
            first = texts[int((codes == BAD).argmax())]
            refusals.add(codes == BAD, f"grade holds {levels.problem(first)}")
        is_below = texts.cast(pl.Float64, strict=False) < 0
        grade = pl.Series(codes).cast(pl.Float64).replace(-1.0, None)
        grade = grade.set(is_below.fill_null(False), 0.0)
    refusals.check()

    # documents without a grade are not judged
    frame = rows.frame.select("query", "document", grade.clip(0.0).alias("grade"))
    rows = replace(rows, frame=frame)
    is_missing = grade.is_null()
    if not is_missing.any():
        return rows
    if is_missing.all():
        raise InputError(f"{rows.name} holds no grade; judge some documents first")
    n, first = int(is_missing.sum()), rows.place(int(is_missing.arg_max() or 0))
    warnings.warn(
        f"{rows.name}: {n:,} of {len(frame):,} documents have no grade and count as not judged; "
        f"the first is {first}",
        stacklevel=2,
    )
    return rows.only(~is_missing)


def _numbers_in(names: Sequence[str]) -> tuple[float, ...] | None:
    """Return the numbers that names are, None if one is none."""
    try:
        return tuple(float(name) for name in names)
    except ValueError:
        return None


def _refuse_slip(rows: DocumentRows, n_grades: int | None) -> None:
    """Raise InputError for a grade above the scale, or for one that is a slip, as 30 beside 3.

    A slip is the top one of few levels where it stands apart and is rare.
    """
    counts = rows.frame["grade"].value_counts().sort("grade", descending=True).rows()
    top, n = counts[0]
    second = counts[1][0] if counts[1:] else top
    few_levels, rare = 10, 0.005
    is_apart = len(counts) <= few_levels and top - second > 1 and n <= rare * len(rows.frame)

    problem = ""
    if n_grades is None and is_apart:
        problem = (
            f"the grade {top:g} ({n:,} of {len(rows.frame):,}) stands far above the others, up to "
            f"{second:g}; correct it, or n_grades={int(top) + 1} insists on it"
        )
    elif n_grades is not None and top >= n_grades:
        problem = off_scale(top, n_grades)
    if problem:
        place = rows.place(int((rows.frame["grade"] == top).arg_max() or 0))
        raise InputError(f"{place}: {problem}")


def off_scale(top: float, size: int) -> str:
    """Return the refusal of a grade above a scale."""
    return (
        f"the grade {top:g} lies outside 0..{size - 1}; raise n_grades={size} (--grades) or "
        "correct it"
    )


def without_duplicates(
    rows: DocumentRows, duplicates: Duplicates, keys: Sequence[str] = ("query", "document")
) -> PolarsFrame:
    """Return the table with one row per key; raise InputError if a key recurs on "error"."""
    import polars as pl

    one_of(duplicates, "duplicates", get_args(Duplicates))
    frame = rows.frame
    if frame.select(keys).hash_rows().n_unique() == len(frame):
        return frame

    # combine grades
    grade = pl.col("grade")
    combined = {"mean": grade.mean(), "median": grade.median(), "majority": grade.mode().min()}
    if duplicates in combined:
        if "grade" not in frame.columns:
            raise InputError(
                f"{rows.name}: duplicates={duplicates!r} is for grades, not for runs; keep the "
                "first or the last"
            )
        return frame.group_by(keys, maintain_order=True).agg(combined[duplicates])

    # or keep one row
    keep: Any = "last" if duplicates == "last" else "first"
    once = frame.unique(keys, keep=keep, maintain_order=True)
    if duplicates == "error" and len(once) < len(frame):
        raise _refused_duplicates(rows, keys, len(frame) - len(once))
    return once


def _refused_duplicates(rows: DocumentRows, keys: Sequence[str], n: int) -> InputError:
    """Return the error of a key that recurs, with the first two rows that have it."""
    repeated = rows.frame.with_row_index().filter(rows.frame.select(keys).is_duplicated())
    first = repeated.join(repeated.head(1), on=keys, how="semi", maintain_order="left")
    places = [rows.place(row) for row in first["index"][:2]]
    remedy = 'keep one of them with duplicates="first" or "last" (--duplicates)'
    if "grade" in first.columns:
        places = [f"grade {g:g} in {at}" for g, at in zip(first["grade"][:2], places, strict=True)]
        remedy += ', or combine them, as those of raters, by "mean", "median" or "majority"'
    what = " ".join(str(first[key][0]) for key in keys)
    more = number_of(n, "lines too many", ",")
    return InputError(
        f"{what} occurs more than once: {' and '.join(places)} ({more}); {remedy}", see="duplicates"
    )
