"""The public log of pairs: constructors from what is in memory, tables and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.markup import Shown
from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Fields,
    Grades,
    InputError,
    InputTypeError,
    PathLike,
    PolarsFrame,
    is_frame,
    is_records,
)
from dcglearn.logs.columns import COLUMNS, ColumnValues
from dcglearn.logs.preference_pairs import Metric, PreferencePairs
from dcglearn.metrics.reading import MetricLike, read_metric
from dcglearn.reading.contract import JUDGEMENT
from dcglearn.reading.ratings import texts_of_counts

if TYPE_CHECKING:
    import pandas as pd

    from dcglearn.reading.recognised import Recognised


class ListOptions(TypedDict, total=False):
    """Keywords of `read_ratings` for lists in memory, for type checkers and signatures."""

    depth: int | None
    pad: bool
    scale: Sequence[Any] | str | None
    as_is: bool
    skip_bad: PathLike | None


class ReadingOptions(ListOptions, total=False):
    """Keywords of `read_preferences` but for columns, for type checkers and signatures."""

    winner_words: Mapping[Any, str] | str | None
    sides: Literal["shown", "listed"] | None


class Preferences(PreferencePairs, Shown):
    """Pairs of graded lists, the first preferred to the second, with optional columns.

    Raises InputError if shapes differ, a grade is outside the scale, or a weight is not positive
    and finite.

    Parameters
    ----------
    preferred, other : array_like of int, shape (n, K)
        Grades by position, 0 = worst, -1 = no known grade. An (n, 2, K) array as `preferred` alone
        holds both.
    n_grades : int, optional
        L; the largest grade seen plus 1 by default. Give it where a log may lack the top grade.
    grade_names : sequence of str, optional
        Names of the L grades, worst first, a list or "Bad,Fair,Good".
    id : array_like of str, shape (n,), optional
        Which judgement it is, any text.
    query : array_like of str, shape (n,), optional
        For which query.
    rater : array_like of str, shape (n,), optional
        Who judged.
    weight : array_like of float, shape (n,), optional
        How often the pair counts, above 0.
    strength : array_like of float, shape (n,), optional
        How clearly the winner wins, above 0.
    margin : array_like of float, shape (n,), optional
        The difference of utility that the QP asks for with `margin="log"`.
    tie : array_like of bool, shape (n,), optional
        Whether the lists were judged equally good: their order means nothing.
    swapped : array_like of bool, shape (n,), optional
        Whether the pair was shown the other way round.
    docs : array_like of str, shape (n, 2, K), optional
        The names of the documents of both lists by position.
    segment : array_like of str, shape (n,), optional
        The kind of the query or of the rater, such as "navigational".
    time : array_like of str, shape (n,), optional
        When it was judged, such as 2026-03-01.
    tie_kind : array_like of str, shape (n,), optional
        The kind of a tie, such as "both good"; kept, not modelled.
    status : array_like of str, shape (n,), optional
        Whether it was accepted, such as "Approved".

    Attributes
    ----------
    dropped : dict of str to int
        What a reader left out, and how often.
    counted : dict of str to int
        What a reader counted without leaving it out, such as documents without a judgement.
    ratings : RatingCounts or None
        For a log of rated lists, how often each list got each rating in each group; see
        `noise_ceiling`.
    recognised : Recognised or None
        What a reader took the columns and the winners' words to mean; prints as text.

    See Also
    --------
    read_preferences : Read a file or a data frame.
    io.DaskLog : A log over a cluster.
    DCGLearner : Learn a DCG from it.

    Examples
    --------
    >>> log = Preferences([[2, 1, 0], [1, 0, 0]], [[0, 1, 2], [0, 0, 1]])
    >>> log
    Preferences(2 pairs, depth 3, 3 grades)
    >>> len(log[:1]), log.shape
    (1, (2, 2, 3))
    """

    recognised: Recognised | None

    @property
    def pictures(self) -> list[Fields]:
        """Mean grade at each position."""
        if not self.graded or not len(self):
            return []
        sides = {"preferred": self.preferred, "other": self.other}
        lines = {name: np.maximum(lists, 0).mean(axis=0).tolist() for name, lists in sides.items()}
        ticks = [str(k + 1) for k in range(self.depth)]
        return [{"title": "mean grade by position", "ticks": ticks, "lines": lines}]

    @classmethod
    @spelled_out(ColumnValues)
    def from_documents(
        cls, preferred: ArrayLike, other: ArrayLike, **columns: Unpack[ColumnValues]
    ) -> Self:
        """Build from ungraded lists: rankings of K documents (Zhou et al. 2008, section 8).

        `preferred` and `other`, shape (n, K), hold identifiers of documents by position; every list
        ranks the same K. The log's "grades" are their numbers, in the order of `documents`;
        learners drop monotonicity. The columns are those of the constructor. Raises InputError if
        two lists do not hold the same documents.

        Examples
        --------
        >>> log = dl.Preferences.from_documents([["d3", "d1", "d2"]], [["d1", "d2", "d3"]])
        >>> log.documents, log.preferred.tolist()
        (('d1', 'd2', 'd3'), [[2, 0, 1]])
        """
        first, second = np.asarray(preferred), np.asarray(other)
        if first.ndim != 2 or first.shape != second.shape:
            raise InputError(
                f"preferred {first.shape} and other {second.shape} must both have the shape (n, K)"
            )

        # number the documents, and look for a list with others
        documents, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
        codes = codes.reshape(2, *first.shape)
        wrong = (np.sort(codes, axis=-1) != np.arange(first.shape[1])).any(axis=-1)

        # name the first wrong one
        if wrong.any():
            side, row = np.argwhere(wrong)[0]
            shown = ", ".join(str(x) for x in (first, second)[side][row])
            raise InputError(
                f"{('preferred', 'other')[side]}[{row}] = [{shown}]: every list must rank the same "
                f"{first.shape[1]} documents once each, and the log names {len(documents)}; "
                "learn a log of one set of documents at a time, or give the documents' grades"
            )

        # the numbers stand for grades
        log = cls(codes[0], codes[1], n_grades=len(documents), **columns)
        return log.changed(documents=tuple(str(document) for document in documents))

    @classmethod
    @spelled_out(ListOptions)
    def from_ratings(
        cls,
        lists: ArrayLike,
        ratings: ArrayLike,
        group: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        n_grades: int | None = None,
        *,
        segment: ArrayLike | None = None,
        equal_groups: bool = False,
        **options: Unpack[ListOptions],
    ) -> Self:
        """Build from rated lists: of two with different ratings, the higher rated is preferred.

        `lists`, shape (n, K), or n sequences, hold grades by position; names of grades with
        `scale`, lists of different lengths with `pad` or `depth`. `ratings`, `group`, `weight` and
        `segment`, shape (n,), are the columns of `read_ratings`: how good each list is, in any
        unit; what it is compared within; its weight. Other options and errors are as there; rows
        are counted from 1.

        Examples
        --------
        >>> log = dl.Preferences.from_ratings([[2, 1, 0], [0, 1, 2], [1, 1, 0]], [5, 2, 3])
        >>> len(log), log.preferred[0].tolist()
        (3, [1, 1, 0])
        """
        from dcglearn.reading.pairs import read_rated

        given = {"list": lists, "rating": ratings, "group": group, "weight": weight}
        columns = {
            name: np.asarray(values, object).tolist()
            for name, values in {**given, "segment": segment}.items()
            if values is not None
        }
        lengths = {name: len(values) for name, values in columns.items()}
        if len({*lengths.values()}) > 1 or not all(lengths.values()):
            shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise InputError(f"{shown} entries; give one entry for each list")
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return read_rated(cls, rows, n_grades, equal_groups=equal_groups, **options)

    @classmethod
    @spelled_out(ReadingOptions)
    def from_frame(
        cls,
        frame: Any,
        n_grades: int | None = None,
        *,
        columns: Mapping[str, str] | str | None = None,
        **options: Unpack[ReadingOptions],
    ) -> Self:
        """Build from a table of polars, pandas or Arrow.

        Options and errors are those of `read_preferences`; rows are counted from 1.

        Examples
        --------
        >>> import polars as pl
        >>> left = {"left_1": [2, 0], "left_2": [1, 2]}
        >>> right = {"right_1": [0, 1], "right_2": [1, 1]}
        >>> frame = pl.DataFrame({**left, **right, "preferred": ["left", "same"]})
        >>> log = dl.Preferences.from_frame(frame)
        >>> log, log.preferred.tolist()
        (Preferences(2 pairs, 1 tie, depth 2, 3 grades), [[2, 1], [0, 2]])
        """
        from dcglearn.reading.pairs import read_pairs

        return read_pairs(cls, frame, n_grades, columns=columns, **options)

    @classmethod
    @spelled_out(ReadingOptions)
    def from_records(
        cls,
        records: Iterable[Any],
        columns: Sequence[str] = ("a", "b", "winner"),
        n_grades: int | None = None,
        **options: Unpack[ReadingOptions],
    ) -> Self:
        """Build from dictionaries with the columns of `read_preferences`, or from tuples.

        A tuple of two lists is a preferred list and another; `columns` names the values of other
        tuples. Options and errors are those of `read_preferences`; records are counted from 1.

        Examples
        --------
        >>> judged = [(["Good", "Bad"], ["Bad", "Fair"], "a"), (["Fair"], ["Good", "Fair"], "b")]
        >>> log = dl.Preferences.from_records(judged, scale=["Bad", "Fair", "Good"], pad=True)
        >>> log.preferred.tolist(), log.other.tolist()
        ([[2, 0], [2, 1]], [[0, 1], [1, -1]])
        """
        from dcglearn.reading.pairs import read_pairs

        names, rows = names_in(columns), []
        for number, record in enumerate(records, 1):
            values = record._asdict() if hasattr(record, "_asdict") else record
            if isinstance(values, list | tuple):
                if len(values) == 2 and names == ["a", "b", "winner"]:
                    values = (*values, "a")
                if len(values) != len(names):
                    raise InputError(
                        f"record {number}: {len(values)} values for {', '.join(names)}; name them "
                        "by columns="
                    )
                values = dict(zip(names, values, strict=True))
            rows.append(values)
        return read_pairs(cls, rows, n_grades, **options)

    def verdicts(self, metric: MetricLike | Metric) -> Grades:
        """Return 1 where a metric scores a pair's first list higher, -1 the second, 0 a tie; (n,).

        A name has the scale and the depth of the log; see `metric`.
        """
        if isinstance(metric, (str, os.PathLike)):
            metric = read_metric(metric, self.n_grades, self.depth)
        return super().verdicts(metric)

    def to_polars(self) -> PolarsFrame:
        """Return the log as a table, a row a pair, with the columns that `read_preferences` reads.

        Raises InputError if the log is one of documents, which have no grades to write.
        """
        if not self.graded:
            raise InputError(
                "a log of ungraded documents has no file format; keep the rankings it came from"
            )

        # columns, without those that files hold in another way
        names = [name for name in COLUMNS if name not in ("tie", "docs")]
        table: Fields = {name: getattr(self, name) for name in names}
        if self.docs is not None:
            table["docs_a"], table["docs_b"] = self.docs.T
        if self.ratings is not None:
            table["ratings_a"], table["ratings_b"] = texts_of_counts(self.ratings, self)

        # the preferred list is a
        winner = np.full(len(self), "a") if self.tie is None else np.where(self.tie, "tie", "a")
        lists = {"a": self.preferred, "b": self.other}
        return log_frame({**lists, "winner": winner, **table}, self.grade_names, self.n_grades)

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_polars` as a table of pandas, whose lists are Python's."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise InputError(
                "to_pandas needs pandas: pip install pandas; to_polars does not"
            ) from error
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write the log beside `path` and rename it, as Parquet or as JSON lines.

        Parquet has the suffix ``.parquet``, JSON lines have ``.jsonl``, ``.ndjson``, ``.json`` or
        none; upper case counts as lower case. A column `scale` keeps the names of the grades, or
        their number where the best does not occur, so that `read_preferences` returns the same
        log. Raises InputError if the log is one of documents, the suffix is another, or the file
        cannot be written.
        """
        from dcglearn.reading.tables import write_frame

        write_frame(self.to_polars(), path, force=force)


def as_preferences(log: Any, n_grades: int | None = None) -> Preferences:
    """Return a log, array (n, 2, K), table or records as a log on a scale of `n_grades`."""
    if isinstance(log, Preferences):
        if n_grades is None or n_grades == log.n_grades:
            return log
        return log.rescaled(n_grades)
    if is_frame(log) or is_records(log):
        read = Preferences.from_frame if is_frame(log) else Preferences.from_records
        return read(log, n_grades=n_grades)
    if is_path(log) or hasattr(log, "facts"):
        raise InputTypeError(
            "this needs the whole log in memory: give what read_preferences returns",
            see="whole-log",
        )
    return Preferences(log, n_grades=n_grades)


def log_frame(
    table: Mapping[str, Any], names: Sequence[str] | None, n_grades: int | None
) -> PolarsFrame:
    """Return the columns of a log by role as a table that `read_preferences` reads.

    `names` and `n_grades` are what is known of its scale.
    """
    import polars as pl

    from dcglearn.reading.scale import counts_of, stray_grade

    # columns by their first names
    columns: Fields = {}
    for role, about in JUDGEMENT.items():
        values = table.get(role)
        if values is None:
            continue
        if about.kind == "grades":
            values = pl.Series(values.astype(np.int64)).arr.to_list()
        elif about.kind == "documents":
            values = pl.Series(values.tolist(), dtype=pl.String).str.split("\t")
        columns[about.names.split()[0]] = values

    # the scale, where the lists do not show it
    frame = pl.DataFrame(columns)
    scale = n_grades if names is None else list(names)
    if names is None:
        lists = table["a"], table["b"]
        shows = max(int(grades.max(initial=0)) for grades in lists) + 1
        if stray_grade(counts_of(lists)) is None and n_grades in (None, shows):
            scale = None
    return frame if scale is None else frame.with_columns(pl.lit(scale).alias("scale"))
