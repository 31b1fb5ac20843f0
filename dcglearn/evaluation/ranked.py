"""Runs and judgements brought together: the grades of each query's documents in the order a system ranked them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dcglearn.evaluation.trec import Judgements, Run
    from dcglearn.foundation.arrays import Grades, Integers


Ties = Literal["docno-desc", "stable", "average"]
TIES: tuple[str, ...] = get_args(Ties)


@dataclass(frozen=True, eq=False)
class RankedGrades:
    """What a system put where.

    Attributes
    ----------
    run : str
        The system.
    queries : tuple of str
        The judged queries, in order of their names.
    grades : ndarray of int8, shape (Q, K)
        By position; -1 where the document is not judged or nothing was ranked.
    lengths : ndarray of int, shape (Q,)
        How many documents were ranked, 0 where the run does not have the query.
    groups : ndarray of int, shape (Q, K), or None
        Equal numbers stand where documents of one score do; None where each has its own place.
    """

    run: str
    queries: tuple[str, ...]
    grades: Grades
    lengths: Integers
    groups: Integers | None = None

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """Whether a document stands at the position, shape (Q, K)."""
        filled: NDArray[np.bool_] = np.arange(self.grades.shape[1]) < self.lengths[:, None]
        return filled


def judged_counts(judgements: Judgements, n_grades: int) -> tuple[tuple[str, ...], Integers]:
    """Return the judged queries, in order, and how many documents of each has each grade, shape (Q, L).

    Grades below 0 count as 0.
    """
    queries = judgements.frame["query"].unique().sort()
    places = judgements.frame["query"].replace_strict(queries, np.arange(len(queries))).to_numpy()
    grades = judgements.frame["grade"].clip(0).to_numpy()
    counts = np.zeros((len(queries), n_grades), dtype=np.int64)
    np.add.at(counts, (places, grades), 1)
    return tuple(queries), counts


def ranked_grades(run: Run, judgements: Judgements, depth: int | None = None, ties: str = "docno-desc") -> RankedGrades:
    """Return the grades that a run puts at each position.

    Parameters
    ----------
    run : Run
        The system.
    judgements : Judgements
        The grades.
    depth : int, optional
        K; by default the run's longest list.
    ties : {"docno-desc", "stable", "average"}
        Documents of equal score (as float32, which is how trec_eval compares) stand in descending order of their names,
        as in trec_eval, or as in the file, or share their positions, which then carry one number in `groups`. The
        column of ranks is not looked at.

    Returns
    -------
    RankedGrades

    Raises
    ------
    InputError
        If run and judgements have no query in common, or `ties` is unknown.
    """
    import polars as pl

    if ties not in TIES:
        raise InputError(f"ties={ties!r}: give one of {', '.join(TIES)}")
    queries = judgements.frame["query"].unique().sort()
    places = pl.DataFrame({"query": queries, "place": np.arange(len(queries))})
    found = run.frame.select("query").join(places, on="query", how="left", maintain_order="left")["place"]
    rows = np.flatnonzero(found.is_not_null().to_numpy())
    if not len(rows):
        raise InputError(f"run {run.name} has no query of the {len(queries)} that are judged; do the names agree?")
    place = found.gather(rows).to_numpy()
    score = run.frame["score"].gather(rows).cast(pl.Float32).to_numpy()
    order = _by_score(place, score)
    if ties == "docno-desc":
        order = _names_descending(order, place, score, rows, run.frame["document"])
    place, score, rows = place[order], score[order], rows[order]
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    ranks = np.arange(len(place)) - np.repeat(starts, np.diff(starts, append=len(place)))
    grades = np.full((len(queries), depth or int(ranks.max()) + 1), -1, dtype=np.int8)
    kept = ranks < grades.shape[1]  # only what counts is looked up in the judgements
    top = run.frame.select(pl.col("query", "document").gather(rows[kept]))
    known = top.join(judgements.frame, on=["query", "document"], how="left", maintain_order="left")["grade"]
    grades[place[kept], ranks[kept]] = known.clip(0).fill_null(-1).to_numpy()
    groups = _groups(place, score, ranks, grades.shape) if ties == "average" else None
    return RankedGrades(run.name, tuple(queries), grades, np.bincount(place, minlength=len(queries)), groups)


def _by_score(place: Integers, score: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return rows by query and falling score, equal ones as they stand; most files are in that order within a query."""
    order = np.argsort(place, kind="stable")
    sorted_place, sorted_score = place[order], score[order]
    rises = (sorted_score[1:] > sorted_score[:-1]) & (sorted_place[1:] == sorted_place[:-1])
    return np.lexsort((-score, place)) if rises.any() else order


def _groups(place: Integers, score: NDArray[np.float32], ranks: Integers, shape: tuple[int, int]) -> Integers:
    """Return a number for each run of equal scores; positions with nothing on them have numbers of their own."""
    found = np.arange(shape[0] * shape[1]).reshape(shape)
    new = (np.diff(place, prepend=-1) != 0) | (np.diff(score, prepend=np.nan) != 0)
    first = np.flatnonzero(new)[np.cumsum(new) - 1]
    kept = ranks < shape[1]
    found[place[kept], ranks[kept]] = found[place[first[kept]], np.minimum(ranks[first[kept]], shape[1] - 1)]
    return found


def _names_descending(
    order: NDArray[np.intp],
    place: Integers,
    score: NDArray[np.float32],
    rows: NDArray[np.intp],
    names: pl.Series,
) -> NDArray[np.intp]:
    """Put documents that a query's scores tie in descending order of their names, by bytes."""
    same = (np.diff(place[order]) == 0) & (np.diff(score[order]) == 0)
    if not same.any():
        return order
    tied = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    group = np.cumsum(np.insert(~same, 0, True))[tied]
    ranked = names.gather(rows[order[tied]]).rank("dense").to_numpy().astype(np.int64)  # polars compares texts by bytes
    order = order.copy()
    order[tied] = order[tied][np.lexsort((-ranked, group))]
    return order
