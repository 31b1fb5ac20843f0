"""The public log of pairs: constructors from what is in memory, tables and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import Fields, Grades, InputError, PathLike, PolarsFrame, listed
from dcglearn.logs.columns import ColumnValues, ties_of
from dcglearn.logs.preference_pairs import Metric, PreferencePairs
from dcglearn.metrics.reading import MetricLike, read_metric
from dcglearn.reading.contract import JUDGEMENT, Contract

if TYPE_CHECKING:
    from dcglearn.reading.recognised import Recognised


class Preferences(PreferencePairs):
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
    ratings : RatingCounts or None
        For a log of rated lists, how often each list got each rating in each group; see
        `noise_ceiling`.
    recognised : Recognised or None
        What a reader took the columns and the winners' words to mean; prints as text.

    See Also
    --------
    read_preferences : Read a file or a data frame.
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

        # number the documents, and name the first list with others
        documents, codes = np.unique([first, second], return_inverse=True)
        wrong = np.argwhere((np.sort(codes) != np.arange(first.shape[1])).any(axis=2))
        if len(wrong):
            side, row = wrong[0]
            shown = listed(documents[codes[side, row]])
            raise InputError(
                f"{('preferred', 'other')[side]}[{row}] = [{shown}]: every list must rank the same "
                f"{first.shape[1]} documents once each, and the log names {len(documents)}; "
                "learn a log of one set of documents at a time, or give the documents' grades"
            )

        # the numbers stand for grades
        log = cls(codes[0], codes[1], n_grades=len(documents), **columns)
        return log.changed(documents=tuple(map(str, documents)))

    def verdicts(self, metric: MetricLike | Metric) -> Grades:
        """Return 1 where a metric scores a pair's first list higher, -1 the second, 0 a tie; (n,).

        A name has the scale and the depth of the log; see `metric`.
        """
        if isinstance(metric, (str, os.PathLike)):
            metric = read_metric(metric, self.n_grades, self.depth)
        return super().verdicts(metric)

    def to_polars(self) -> PolarsFrame:
        """Return the log as a table, a row a pair, with the columns that `read_preferences` reads.

        Raises InputError if the log is one of documents, which have no grades to write, or of
        rated lists, whose ratings tell more than their pairs.
        """
        if self.rated is not None:
            raise InputError(
                "pairs of rated lists say less than the ratings: keep these, which read_ratings "
                "reads (dcglearn learn --ratings)"
            )
        if not self.graded:
            raise InputError(
                "a log of ungraded documents has no file format; keep the rankings it came from"
            )

        # the preferred list is a
        winner = np.where(ties_of(self), "tie", "a")
        table: Fields = {**vars(self), "a": self.preferred, "b": self.other, "winner": winner}

        if self.docs is not None:
            table["docs_a"], table["docs_b"] = self.docs.T
        return log_frame(table, self.grade_names, self.n_grades)

    def save(self, path: PathLike) -> None:
        """Write the log beside `path` and rename it, as Parquet or as JSON lines.

        Parquet has the suffix ``.parquet``, JSON lines have ``.jsonl``, ``.ndjson``, ``.json`` or
        none; upper case counts as lower case. A column `scale` keeps the names of the grades, or
        their number where the best does not occur, so that `read_preferences` returns the same
        log. Raises InputError if the log is one of documents or of rated lists, the suffix is
        another, or the file cannot be written.
        """
        from dcglearn.reading.tables import write_frame

        write_frame(self.to_polars(), path)


def log_frame(
    table: Mapping[str, Any],
    names: Sequence[str] | None,
    n_grades: int | None,
    contract: Contract = JUDGEMENT,
) -> PolarsFrame:
    """Return the columns of a log by role as a table that the reader of a contract reads.

    `names` and `n_grades` are what is known of its scale; values of other names are left out.
    """
    import polars as pl

    from dcglearn.reading.scale import counts_of, stray_grade

    # columns by their first names
    named = {about.names.split()[0]: table.get(role) for role, about in contract.items()}
    frame = pl.DataFrame({name: values for name, values in named.items() if values is not None})
    lists = [role for role, about in contract.items() if about.kind == "grades"]
    frame = frame.with_columns(
        pl.col(lists).arr.to_list().cast(pl.List(pl.Int64)), pl.col("^docs_[ab]$").str.split("\t")
    )

    # the scale, where the lists do not show it
    counts = counts_of([table[role] for role in lists])
    shown = int(np.flatnonzero(counts).max(initial=0)) + 1
    if names is None and n_grades in (None, shown) and stray_grade(counts) is None:
        return frame
    return frame.with_columns(scale=pl.lit(n_grades if names is None else list(names)))
