"""The container of a log: pairs of graded lists, one preferred to the other, with columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import names_in, number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    EMPTY,
    Fields,
    Flags,
    Floats,
    Grades,
    Indices,
    InputError,
    Seed,
    at_depth,
    filled,
    frozen,
    known,
    one_of,
    within,
)
from dcglearn.logs.columns import (
    COLUMNS,
    Columns,
    ColumnValues,
    checked_column,
    checked_lists,
    ties_of,
)
from dcglearn.logs.thinning import Weighted
from dcglearn.logs.unique_rows import hashed, list_numbers, numbered, pair_numbers, size_of
from dcglearn.logs.visibility import Visibility, visibility_of

TIE_TOLERANCE = 1e-12
"""Two scores are equal if they differ by at most this share of the largest score."""


class Metric(Protocol):
    """Anything that scores graded lists: a `DCG`, a `Utility`."""

    def score(self, lists: ArrayLike) -> Floats:
        """Return one value per list; more is better."""


@dataclass(frozen=True, eq=False)
class RatingCounts:
    """How often each list got each rating, in each group.

    `lists`, shape (U, K), are the distinct lists, compared within groups. For each distinct group,
    list and rating, shape (m,), `group` is the number of the group, `list` the row of `lists`,
    `unit` the number of the list within its group, by which the log holds the lists of its pairs,
    `rating` the rating, and `weight` the number of lines that gave it.
    """

    lists: Grades
    group: Indices
    list: Indices
    unit: Indices
    rating: Floats
    weight: Floats

    def of(self, units: Indices) -> Self:
        """Return the counts of some units, such as those that occur in a subset of a log."""
        kept = np.isin(self.unit, units)
        lists, which = np.unique(self.list[kept], return_inverse=True)
        return type(self)(
            self.lists[lists],
            self.group[kept],
            which,
            self.unit[kept],
            self.rating[kept],
            self.weight[kept],
        )


@dataclass(frozen=True)
class Agreement:
    """Weights of the pairs that a metric violates, ties and respects.

    Raises InputError where a share is asked for and no pair has a winner.

    See Also
    --------
    Preferences.agreement : What returns it.

    Examples
    --------
    >>> log = dl.Preferences([[2, 0], [1, 1]], [[0, 2], [2, 0]])
    >>> log.agreement(dl.DCG.standard(3, 2))
    Agreement(violated=1.0, tied=0.0, respected=1.0)
    """

    violated: float
    tied: float
    respected: float

    @property
    def total(self) -> float:
        """Weight of all pairs."""
        weight = self.respected + self.tied + self.violated
        if not weight:
            raise InputError(
                "the log holds no pair with a winner, so there is nothing to agree with"
            )
        return weight

    @property
    def share(self) -> float:
        """Share of preferences respected; a tie of the metric counts half."""
        return (self.respected + 0.5 * self.tied) / self.total

    @property
    def precision(self) -> float:
        """Share of preferences respected; a tie of the metric counts 0.

        Source: Zhou et al. 2008, section 6.2.
        """
        return self.respected / self.total


class PreferencePairs(Columns, Weighted):
    """Pairs of graded lists, the first preferred to the second, and columns; see `Preferences`."""

    @spelled_out(ColumnValues)
    def __init__(
        self,
        preferred: ArrayLike,
        other: ArrayLike | None = None,
        n_grades: int | None = None,
        *,
        grade_names: Sequence[str] | None = None,
        **columns: Unpack[ColumnValues],
    ) -> None:
        known(columns, COLUMNS, "a log", "column")
        names = None if grade_names is None else tuple(names_in(grade_names))
        first, second, n_grades = checked_lists(preferred, other, n_grades, names)
        checked: Fields = {
            name: checked_column(name, values, len(first))
            for name, values in columns.items()
            if values is not None
        }
        super().__init__(first, second, n_grades, grade_names=names, **checked)

    @property
    def depth(self) -> int:
        """K, the number of positions."""
        return self.preferred.shape[1]

    @property
    def graded(self) -> bool:
        """Whether the columns are grades, with an order, rather than documents."""
        return self.documents is None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, 2, K), as an array of pairs would have it."""
        return (len(self), 2, self.depth)

    def __getitem__(self, index: Any) -> Self:
        """Return the pairs at an int, slice, mask or indices, as those of an array (n,)."""
        return self.at(np.atleast_1d(np.arange(len(self))[index]))

    @property
    def ties(self) -> Self:
        """The pairs judged equally good."""
        return self[ties_of(self)]

    @property
    def decided(self) -> Self:
        """The pairs with a winner."""
        return self if self.tie is None else self[~self.tie]

    @property
    def differing_pairs(self) -> Self:
        """The pairs whose lists differ."""
        return self if self.differing.all() else self[self.differing]

    @cached_property
    def ratings(self) -> RatingCounts | None:
        """How often each list got each rating in each group; None unless made of rated lists."""
        return None if self.rated is None else self.rated.of(self.units)

    @cached_property
    def differing(self) -> Flags:
        """Whether the two lists of a pair differ at all, shape (n,)."""
        return frozen((self.preferred != self.other).any(axis=1))

    @property
    def n_judgements(self) -> int:
        """Number of ratings, or of pairs where there are none."""
        return len(self) if self.ratings is None else round(self.ratings.weight.sum())

    @cached_property
    def n_lists(self) -> int:
        """Number of distinct lists."""
        return len(np.unique(hashed(np.concatenate([self.preferred, self.other]))))

    @property
    def contents(self) -> str:
        """The numbers of pairs, ties, raters, queries, positions and grades, in words."""
        # pairs, and what they weigh
        sizes = f"{number_of(self.depth, 'positions')}, {number_of(self.n_grades, 'grades')}"
        counts = [number_of(len(self), "pairs", ",")]
        if self.ratings is not None:
            counts[0] = f"{number_of(self.n_judgements, 'ratings', ',')} as {counts[0]}"
        if round(self.total_weight) != len(self):
            counts.append(f"total weight {self.total_weight:,.0f}")

        # what they carry
        counts += [] if self.tie is None else [number_of(self.tie.sum(), "ties", ",")]
        for name, values in (("raters", self.rater), ("queries", self.query)):
            if values is not None:
                counts.append(number_of(len(np.unique(values)), name, ","))

        # lists that are shorter than others
        short = (np.concatenate([self.preferred, self.other]) == EMPTY).any(axis=1).sum()
        if short:
            sizes += f"; {short:,} of {2 * len(self):,} lists are shorter"
        return f"{', '.join(counts)}; {sizes}"

    def split(
        self, fraction: float = 0.8, *, random_state: Seed = 0, by: str | None = None
    ) -> tuple[Self, Self]:
        """Split at random into two logs.

        `fraction` is the share of the pairs (or of raters, queries, lists) in the first part; same
        seed, same split. `by` keeps together the judgements of the same two lists ("pair"), or each
        "rater"'s or "query"'s; "list" splits the distinct lists and drops the pairs that have one
        on each side, so that no list of the second part was seen in the first. By default every
        judgement stands for itself. Raises InputError if the fraction is not within 0..1, the log
        lacks the column, or a part would be empty.
        """
        within(fraction, "fraction", 1, exclusive=True)

        # clusters of the first part
        clusters = self.clusters(by)
        n = size_of(*clusters)
        chosen = np.random.default_rng(random_state).permutation(n)[: round(fraction * n)]

        # pairs whose lists lie on one side
        inside = np.isin(clusters, chosen)
        parts = self[inside.all(axis=0)], self[~inside.any(axis=0)]
        if not all(map(len, parts)):
            raise InputError(
                f"a split by {by or 'judgement'}, of which there are {n}, leaves one part empty at "
                f"{fraction}: give more judgements, or another share"
            )
        return parts

    def clusters(self, by: str | None) -> tuple[Indices, Indices]:
        """Return the number of each pair's two clusters, shape (n,) each.

        Clusters are pairs of lists, raters, queries, lists or, without `by`, judgements. The two
        arrays differ for ``by="list"`` only. Raises InputError if `by` is unknown, or the log lacks
        the column.
        """
        if by is None:
            return (np.arange(len(self)),) * 2

        # lists, or pairs of them
        one_of(by, "by", ("pair", "rater", "query", "list"), ", or None")
        if by in ("list", "pair"):
            lists = list_numbers(self.preferred, self.other)
            return lists if by == "list" else (pair_numbers(*lists),) * 2

        # raters or queries
        labels = getattr(self, by)
        if labels is None:
            raise InputError(
                f"the log has no {by}; split it by pair, or read a log with that column"
            )
        return (numbered(labels),) * 2

    def rescaled(self, n_grades: int | None, depth: int | None = None) -> Self:
        """Return the log on a scale of `n_grades`, its arrays shared; as it is for None.

        Lists longer than `depth` are cut, shorter ones have empty places behind; then they are no
        longer those that were rated. Raises InputError if a grade lies above the scale, or the log
        is one of documents.
        """
        if depth not in (None, self.depth):
            preferred, other = at_depth(self.preferred, depth), at_depth(self.other, depth)
            changed = self.changed(preferred=preferred, other=other, rated=None, units=None)
            return changed.rescaled(n_grades)
        if n_grades in (None, self.n_grades):
            return self
        if not self.graded:
            raise InputError("n_grades has no meaning for a log of documents")
        *_, size = checked_lists(self.preferred, self.other, n_grades, None)
        return self.changed(n_grades=size)

    def filled(self) -> Self:
        """Return the log with an unknown grade in the empty places of its lists.

        Where there are any, the lists are no longer those that were rated.
        """
        preferred, other = filled(self.preferred), filled(self.other)
        if preferred is self.preferred and other is self.other:
            return self
        return self.changed(preferred=preferred, other=other, rated=None, units=None)

    def merged(self, *, in_order: bool = True) -> Self:
        """Return the distinct pairs in order of first appearance, with summed weights.

        Pairs are identical if lists, tie, strength and margin are; raters and queries are dropped.
        """
        none = dict.fromkeys({*COLUMNS, "rated", "units"} - {"tie", "strength", "margin", "weight"})
        return super(PreferencePairs, self.changed(**none)).merged(in_order=in_order)

    def n_contradicted(self) -> float:
        """Return the weight of contradicted pairs: the lighter side of each two opposed ones."""
        log = self.decided
        first, second = list_numbers(log.preferred, log.other)
        pair = pair_numbers(first, second)

        # weight of either side of each pair
        weight = log.weights
        ahead = np.bincount(pair, weight * (first < second))
        behind = np.bincount(pair, weight * (first > second))
        return float(np.minimum(ahead, behind).sum())

    def visible(self) -> Visibility:
        """Return which directions of a utility the log identifies; ties count as pairs."""
        return visibility_of(self)

    def gaps(self, metric: Metric) -> Floats:
        """Return by how much a metric scores a pair's first list higher than the second, (n,)."""
        return metric.score(self.preferred) - metric.score(self.other)

    def leads(self, metric: Metric) -> Floats:
        """Return `gaps`, shape (n,), with 0 for those that are no more than rounding.

        A metric of M scores for each list, as `textbook_scores`, has leads of shape (M, n).
        """
        first, second = metric.score(self.preferred), metric.score(self.other)
        difference = first - second
        largest = np.maximum(np.abs(first), np.abs(second)).max(axis=-1, initial=0, keepdims=True)
        return np.where(np.abs(difference) > TIE_TOLERANCE * largest, difference, 0.0)

    def verdicts(self, metric: Metric) -> Grades:
        """Return 1 where a metric scores a pair's first list higher, -1 the second, 0 a tie; (n,).

        Of M scores for each list, as `leads` takes them, they have shape (M, n).
        """
        return np.sign(self.leads(metric)).astype(np.int8)

    def agreement(self, metric: Metric) -> Agreement:
        """Return how far a metric orders the decided pairs as the log does."""
        log = self.decided
        weights = np.bincount(log.verdicts(metric) + 1, log.weights, minlength=3)
        return Agreement(*weights.tolist())

    def __repr__(self) -> str:
        scale = number_of(self.n_grades, "grades" if self.graded else "documents")
        size = number_of(len(self), "pairs")
        if self.weight is not None:
            size += f" of total weight {self.total_weight:.10g}"
        if ties_of(self).any():
            size += f", {number_of(ties_of(self).sum(), 'ties')}"
        return f"{type(self).__name__}({size}, depth {self.depth}, {scale})"


AnyLog = TypeVar("AnyLog", bound=PreferencePairs)
"""A kind of log, such as the public one."""
