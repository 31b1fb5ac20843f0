"""How a log is built from what is in memory: rated lists, data frames, records, rankings of the same documents."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.logs.columns import checked_columns
from dcglearn.readers.careful_pass import Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from dcglearn.logs.columns import Columns
    from dcglearn.readers.read_table import Recognised


class Constructors:
    """The constructors of `dcglearn.Preferences` beside arrays of pairs."""

    @classmethod
    @abstractmethod
    def of_columns(cls, columns: Columns, dropped: dict[str, int], recognised: Recognised | None = None) -> Self:
        """Return a log of checked columns, with what their reader left out and recognised."""

    @classmethod
    def from_documents(cls, preferred: ArrayLike, other: ArrayLike, **columns: Any) -> Self:
        """Build from ungraded lists: rankings of the same K documents (Zhou et al. 2008, section 8).

        The log's "grades" are document numbers, in the order of `documents`; learners drop monotonicity.

        Parameters
        ----------
        preferred, other : array_like, shape (n, K)
            Document identifiers by position. Every list ranks the same K documents.
        **columns
            `weight`, `tie`, `strength`, `margin`, `rater`, `query`, `segment` as in the constructor.

        Raises
        ------
        InputError
            If two lists do not hold the same documents.

        Examples
        --------
        >>> import dcglearn as dl
        >>> log = dl.Preferences.from_documents([["d3", "d1", "d2"]], [["d1", "d2", "d3"]])
        >>> log.documents, log.preferred.tolist()
        (('d1', 'd2', 'd3'), [[2, 0, 1]])
        """
        first, second = np.asarray(preferred), np.asarray(other)
        if first.ndim != 2 or first.shape != second.shape:
            raise InputError(f"preferred {first.shape} and other {second.shape} must both have the shape (n, K)")
        documents, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
        codes = codes.reshape(2, *first.shape)
        wrong = (np.sort(codes, axis=-1) != np.arange(first.shape[1])).any(axis=-1)
        if wrong.any():
            side, row = np.argwhere(wrong)[0]
            shown = ", ".join(str(x) for x in (first, second)[side][row])
            raise InputError(
                f"{('preferred', 'other')[side]}[{row}] = [{shown}]: every list must rank the same "
                f"{first.shape[1]} documents once each, and the log names {len(documents)}; learn a log of "
                "one set of documents at a time, or give the documents' grades"
            )
        checked = checked_columns(codes[0], codes[1], n_grades=len(documents), **columns)
        return cls.of_columns(replace(checked, documents=tuple(str(document) for document in documents)), {})

    @classmethod
    def from_ratings(
        cls,
        lists: ArrayLike,
        ratings: ArrayLike,
        group: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        n_grades: int | None = None,
        *,
        segment: ArrayLike | None = None,
        depth: int | None = None,
        pad: bool = False,
        scale: Sequence[str] | None = None,
        equal_groups: bool = False,
    ) -> Self:
        """Build from rated lists: of every two lists with different ratings, the higher rated is preferred.

        Parameters
        ----------
        lists : array_like, shape (n, K), or n sequences
            Grades by position; names of grades with `scale`, lists of different lengths with `pad` or `depth`.
        ratings : array_like, shape (n,)
            How good each list is, in any unit.
        group : array_like, shape (n,), optional
            Lists are compared within their group, such as a user or a query; by default all with all.
        segment : array_like, shape (n,), optional
            Kind of the query or of the rater; lists are compared within it too.
        weight : array_like, shape (n,), optional
            How many lines each line stands for.
        n_grades, depth, pad, scale, equal_groups
            As in `read_ratings`.

        Raises
        ------
        InputError
            As `read_ratings`; rows are counted from 1.

        Examples
        --------
        >>> import dcglearn as dl
        >>> log = dl.Preferences.from_ratings([[2, 1, 0], [0, 1, 2], [1, 1, 0]], [5, 2, 3])
        >>> len(log), log.preferred[0].tolist()
        (3, [1, 1, 0])
        """
        from dcglearn.readers.frames import from_arrays
        from dcglearn.readers.rated_lists import rated_columns

        columns = from_arrays({"list": lists, "rating": ratings, "group": group, "weight": weight, "segment": segment})
        rules = Rules(n_grades, depth, pad, scale)
        return cls.of_columns(*rated_columns(columns, rules, equal_groups=equal_groups))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        n_grades: int | None = None,
        *,
        depth: int | None = None,
        pad: bool = False,
        scale: Sequence[str] | None = None,
        winner_words: Mapping[Any, str] | str | None = None,
        positive: str | None = None,
    ) -> Self:
        """Build from a table of polars, pandas or any library with Arrow's interchange, a row a judgement.

        Columns, and the other parameters, are those of `read_preferences`.

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"left_1": [2, 0], "left_2": [1, 2], "right_1": [0, 1], "right_2": [1, 1],
        ...                       "preferred": ["left", "same"]})
        >>> import dcglearn as dl
        >>> log = dl.Preferences.from_frame(frame)
        >>> log, log.preferred.tolist()
        (Preferences(2 pairs, 1 tie, depth 2, 3 grades), [[2, 1], [0, 2]])
        """
        rules = Rules(n_grades, depth, pad, scale, winner_words, positive)
        return cls.of_columns(*read_pair_columns(frame, rules))

    @classmethod
    def from_records(
        cls,
        records: Iterable[Any],
        columns: Sequence[str] = ("a", "b", "winner"),
        n_grades: int | None = None,
        *,
        depth: int | None = None,
        pad: bool = False,
        scale: Sequence[str] | None = None,
        winner_words: Mapping[Any, str] | str | None = None,
        positive: str | None = None,
    ) -> Self:
        """Build from dictionaries, whose keys are the columns of `read_preferences`, or from tuples.

        Parameters
        ----------
        records : iterable of dict or tuple
            The judgements. A tuple of two lists is a preferred list and another.
        columns : sequence of str
            Names of the values of a tuple.
        n_grades, depth, pad, scale, winner_words, positive
            As in `read_preferences`.

        Raises
        ------
        InputError
            As `read_preferences`; records are counted from 1.

        Examples
        --------
        >>> judged = [(["Good", "Bad"], ["Bad", "Fair"], "a"), (["Fair"], ["Good", "Fair"], "b")]
        >>> import dcglearn as dl
        >>> log = dl.Preferences.from_records(judged, scale=["Bad", "Fair", "Good"], pad=True)
        >>> log.preferred.tolist(), log.other.tolist()
        ([[2, 0], [2, 1]], [[0, 1], [1, -1]])
        """
        from dcglearn.readers.frames import named

        rules = Rules(n_grades, depth, pad, scale, winner_words, positive)
        return cls.of_columns(*read_pair_columns(named(records, columns), rules))


def read_pair_columns(log: Any, rules: Rules) -> tuple[Columns, dict[str, int], Recognised]:
    """Return the columns of a log of preferences, the counts of what was left out, and what was recognised."""
    from dcglearn.readers.read_table import pair_columns, read_pairs

    table, dropped, recognised = read_pairs(log, rules)
    return *pair_columns(table, dropped, rules), recognised
