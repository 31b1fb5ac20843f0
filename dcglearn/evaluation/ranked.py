"""Runs joined with judgements: grades in the order in which a run ranks, values of every query."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Flags,
    Floats,
    Grades,
    InputError,
    Integers,
    PolarsFrame,
    listed,
    one_of,
)
from dcglearn.logs.unique_rows import places
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.textbook_lists import ListMetric
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run

Ties = Literal["docno-desc", "stable", "average"]
TIES: tuple[str, ...] = get_args(Ties)

UNJUDGED = ("worst", "best", "drop")
"""How a document without a judgement counts: as the worst grade, as the best, or not at all."""


class NoOverlapError(InputError):
    """A run has no query that is judged."""


@dataclass(frozen=True, eq=False)
class RankedGrades:
    """The grades that a run puts at each position.

    `grades`, shape (Q, K), holds grades by judged query, in the order of their names, and position;
    -1 where no judged document is ranked. `lengths`, shape (Q,), counts the documents ranked, 0
    where the run does not have the query. `documents`, n names, stand at the queries and positions
    `places`, shape (n,) each. `tied`, shape (Q, K), tells where the document's name decides, since
    another one has its score. Positions with equal numbers in `groups`, shape (Q, K), hold equal
    scores; None where ties are broken.
    """

    grades: Grades
    lengths: Integers
    documents: Any
    places: tuple[Integers, Integers]
    tied: Flags
    groups: Integers | None = None

    @property
    def unjudged(self) -> PolarsFrame:
        """The unjudged documents: number of the ``query``, ``document``, and ``rank`` from 0."""
        import polars as pl

        rows = np.flatnonzero(self.grades[self.places] < 0)
        query, rank = (place[rows] for place in self.places)
        return pl.DataFrame({"query": query, "document": self.documents.gather(rows), "rank": rank})

    @property
    def ranked(self) -> Flags:
        """Whether a document is ranked at the position, shape (Q, K)."""
        return np.arange(self.grades.shape[1]) < self.lengths[:, None]

    def shares(self, depth: int | None) -> tuple[float, float]:
        """Return the shares of the documents down to a depth that are not judged, and tied."""
        n_shown = self.ranked[:, :depth].sum()
        n_judged, n_tied = (self.grades[:, :depth] >= 0).sum(), self.tied[:, :depth].sum()
        return 1 - float(n_judged / n_shown), float(n_tied / n_shown)

    def judged_as(self, n_grades: int, unjudged: str | float) -> Grades:
        """Return the grades with those of unjudged documents, shape (Q, K); see `as_judged`."""
        return as_judged(self.grades, self.ranked, n_grades, unjudged)

    def values(self, metric: ListMetric, unjudged: str | float) -> Floats:
        """Return the value of every query, shape (Q,)."""
        if not isinstance(metric, DCG):
            return np.atleast_1d(metric.score(self.judged_as(metric.n_grades, unjudged)))

        # gain at each position; -2 and -1 index the two gains at the end
        gain_of_grade = np.append(metric.gains, [0.0, _gain_of_unjudged(metric, unjudged)])
        if unjudged == "drop":
            gains = gain_of_grade[self.judged_as(metric.n_grades, "drop")]
        else:
            gains = np.where(self.ranked, gain_of_grade[self.grades], 0.0)
        if self.groups is not None:
            gains = averaged(gains, self.groups)

        # discounted sum
        width = min(metric.depth, gains.shape[1])
        return gains[:, :width] @ metric.discounts[:width]

    def own_ideal(self, metric: DCG | ListUtility, unjudged: str | float) -> Floats:
        """Return the largest value of the documents in the run's own lists, shape (Q,)."""
        grades = self.grades
        if not isinstance(metric, DCG):
            grades = self.judged_as(metric.n_grades, unjudged)
        counts = [(grades == grade).sum(axis=1) for grade in range(metric.n_grades)]
        if not isinstance(metric, DCG) or unjudged == "drop":
            return metric.ideal_of_counts(np.stack(counts, axis=1))

        # unjudged documents count as one more grade
        counts.append((self.ranked & (self.grades < 0)).sum(axis=1))
        wider = DCG(np.append(metric.gains, _gain_of_unjudged(metric, unjudged)), metric.discounts)
        return wider.ideal_of_counts(np.stack(counts, axis=1))


def judged_counts(judgements: Judgements, n_grades: int) -> tuple[tuple[str, ...], Integers]:
    """Return the judged queries, in order, and how many documents have each grade, (Q, L)."""
    queries = judgements.frame["query"].unique().sort()
    rows = _numbers(judgements.frame["query"], queries)
    grades = judgements.frame["grade"].to_numpy().astype(np.int64)
    counts = np.zeros((len(queries), n_grades), dtype=np.int64)
    np.add.at(counts, (rows, grades), 1)
    return tuple(queries), counts


def as_judged(grades: Grades, shown: Flags, n_grades: int, unjudged: str | float) -> Grades:
    """Return grades by position, unjudged documents filled in, -2 for no document; shape (n, K).

    `grades` holds -1 where no judged document is, and `shown` tells where there is a document.
    Unjudged ones have the "worst" or the "best" grade, an "unknown" one (-1) or a given one; "drop"
    moves up the documents below them.
    """
    grades = np.where(shown & ((grades >= 0) | (unjudged != "drop")), grades, np.int8(EMPTY))
    if unjudged == "drop":
        return np.take_along_axis(grades, np.argsort(grades < 0, axis=1, kind="stable"), axis=1)
    grade = {"worst": 0, "best": n_grades - 1, "unknown": UNKNOWN}.get(str(unjudged), unjudged)
    return np.where(grades == UNKNOWN, np.int8(grade), grades)


def averaged(gains: Floats, groups: Integers) -> Floats:
    """Return each gain's mean over the entries with the same number in `groups`, shape (Q, K)."""
    sizes = np.maximum(np.bincount(groups.ravel()), 1)
    return (np.bincount(groups.ravel(), gains.ravel()) / sizes)[groups]


def in_order(lines: PolarsFrame, ties: str = "docno-desc") -> PolarsFrame:
    """Return lines of ``query``, ``score``, ``document`` by query and rank; see `ranked_grades`."""
    query = lines["query"].rank("dense").to_numpy().astype(np.int64)
    score = lines["score"].to_numpy().astype(np.float32)
    return lines[_order(query, score, lines["document"], ties, np.arange(len(lines)))]


def ranked_grades(
    judgements: Judgements, run: Run, depth: int | None = None, ties: str = "docno-desc"
) -> RankedGrades:
    """Return the grades that a run puts at K positions, by default as many as its longest list.

    With `ties` "docno-desc", documents with equal scores (as float32, which is how trec_eval
    compares) are ranked in descending order of their names, as in trec_eval; with "stable" they
    keep the order of the file, with "average" they share their positions (see `groups`). Raises
    NoOverlapError if run and judgements have no query in common.
    """
    import polars as pl

    one_of(ties, "ties", TIES)

    # lines of judged queries
    queries = judgements.frame["query"].unique().sort()
    query = _numbers(run.frame["query"], queries)
    lines = np.flatnonzero(query >= 0)
    if not len(lines):
        raise NoOverlapError(
            f"run {run.name} has no query of the {len(queries)} that are judged: do the names "
            f"agree? {listed(run.frame['query'][:1])} is ranked, {listed(queries[:1])} judged"
        )
    score = run.frame["score"].cast(pl.Float32).to_numpy()
    if len(lines) < len(query):
        query, score = query[lines], score[lines]
    lengths = np.bincount(query, minlength=len(queries))

    # order those that may be in the first positions
    if depth is not None:
        top = _first_lines(query, score, depth)
        query, score, lines = query[top], score[top], lines[top]
    order = _order(query, score, run.frame["document"], ties, lines)
    query, score, lines = query[order], score[order], lines[order]
    ranks = places(np.diff(np.flatnonzero(np.diff(query, prepend=-1)), append=len(query)))

    # look up the grades of these documents only
    grades = np.full((len(queries), depth or int(ranks.max()) + 1), -1, dtype=np.int8)
    kept = ranks < grades.shape[1]
    documents = run.frame.select(pl.col("query", "document").gather(lines[kept]))
    at = query[kept], ranks[kept]
    grades[at] = grades_of_documents(documents, judgements)

    # where scores are equal
    tied = np.zeros(grades.shape, dtype=bool)
    if ties == "docno-desc":
        tied[at] = _with_neighbours((np.diff(query) == 0) & (score[1:] == score[:-1]))[kept]
    groups = _groups(query, score, ranks, grades.shape) if ties == "average" else None
    return RankedGrades(grades, lengths, documents["document"], at, tied, groups)


def grades_of_documents(documents: PolarsFrame, judgements: Judgements) -> Integers:
    """Return the documents' grades, shape (n,): -1 for an unjudged document."""
    keys = ["query", "document"]
    joined = documents.join(judgements.frame, on=keys, how="left", maintain_order="left")
    return joined["grade"].fill_null(-1).to_numpy().astype(np.int64)


def _numbers(names: Any, queries: Any) -> Integers:
    """Return the number of each line's query among `queries`, shape (n,), -1 if it is not there."""
    # a query's lines often adjoin, so look up the first of each run of lines
    runs = names.rle().struct
    numbers = runs.field("value").replace_strict(queries, np.arange(len(queries)), default=-1)
    return np.repeat(numbers.to_numpy(), runs.field("len").to_numpy())


def _first_lines(query: Integers, score: NDArray[np.float32], depth: int) -> Integers:
    """Return the lines that may rank among the first `depth`.

    These are all lines, unless a query's lines adjoin and its scores fall.
    """
    # compare, since a difference of infinities is not a number
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    rises = score[1:] > score[:-1]
    rises[starts[1:] - 1] = False
    if rises.any() or len(np.unique(query[starts])) < len(starts):
        return np.arange(len(query))

    # cut lists where no tie goes beyond the depth
    sizes = np.diff(starts, append=len(query))
    beyond = np.minimum(starts + depth, len(query) - 1)
    cut = (sizes > depth) & (score[beyond] < score[beyond - 1])
    taken = np.where(cut, depth, sizes)
    return np.repeat(starts, taken) + places(taken)


def _groups(
    query: Integers, score: NDArray[np.float32], ranks: Integers, shape: tuple[int, int]
) -> Integers:
    """Return a number for each run of equal scores, (Q, K); empty positions have their own."""
    # the first line of each run of equal scores
    new = (np.diff(query, prepend=-1) != 0) | np.append(True, score[1:] != score[:-1])
    first = np.flatnonzero(new)[np.cumsum(new) - 1]

    # all have the number of its position
    groups = np.arange(shape[0] * shape[1]).reshape(shape)
    kept = ranks < shape[1]
    of_first = groups[query[first], np.minimum(ranks[first], shape[1] - 1)]
    groups[query[kept], ranks[kept]] = of_first[kept]
    return groups


def _order(
    query: Integers, score: NDArray[np.float32], names: Any, ties: str, rows: Integers
) -> Integers:
    """Return the order of lines `rows` by query and falling score; ties by falling name or line."""
    # most files need no sorting within a query
    order = np.argsort(query, kind="stable")
    same_query = np.diff(query[order]) == 0
    if (same_query & (score[order[1:]] > score[order[:-1]])).any():
        order = np.lexsort((-score, query))
    same = same_query & (score[order[1:]] == score[order[:-1]])
    if ties != "docno-desc" or not same.any():
        return order

    # sort the tied ones by name; polars compares texts by bytes
    tied = np.flatnonzero(_with_neighbours(same))
    group = np.cumsum(np.insert(~same, 0, True))[tied]
    ranked = names.gather(rows[order[tied]]).rank("dense").to_numpy().astype(np.int64)
    order[tied] = order[tied][np.lexsort((-ranked, group))]
    return order


def _with_neighbours(same: Flags) -> Flags:
    """Return which of n lines are as one beside them; `same`, (n - 1,), as the line before."""
    either: Flags = np.append(same, False) | np.insert(same, 0, False)
    return either


def valued_grades(metric: ListMetric) -> Flags:
    """Return which grades a metric values differently from the worst grade, shape (L,)."""
    return (metric.gains != metric.gains[0]) & metric.discounts.any()


def check_list_settings(
    name: str,
    metric: ListMetric,
    unjudged: str | float,
    ties: str,
    *,
    residuals: bool,
    bounds: bool,
) -> None:
    """Raise InputError if a setting is defined only where values are sums over positions."""
    if isinstance(metric, DCG):
        return
    refusal = ""
    if ties == "average":
        refusal = ', so documents of equal score cannot share gains: give ties="docno-desc"'
    if not isinstance(unjudged, str):
        refusal = ": documents without a judgement count as worst or best, or are dropped"
    if residuals:
        refusal = ": a better document may lower the value of later ones, so no residual"
    if bounds:
        refusal = ", and only a DCG has bounds"
    if refusal:
        raise InputError(f"{name} is not a DCG{refusal}")


def judged_ideal(metric: DCG | ListUtility, counts: Integers, unjudged: str | float) -> Floats:
    """Return the best value of judged, then unjudged documents if these have a gain; shape (Q,)."""
    padded = np.pad(counts, ((0, 0), (0, metric.n_grades - counts.shape[1])))
    if isinstance(metric, DCG):
        filler = 0.0 if unjudged == "best" else max(_gain_of_unjudged(metric, unjudged), 0.0)
        return metric.ideal_of_counts(padded, filler)
    if unjudged == "worst" and metric.gains[0] > 0:
        padded[:, 0] += metric.depth
    return metric.ideal_of_counts(padded)


def _gain_of_unjudged(dcg: DCG, unjudged: str | float) -> float:
    own = {"worst": dcg.gains[0], "best": dcg.gains[-1], "drop": 0.0}
    return float(own[unjudged] if isinstance(unjudged, str) else unjudged)
