"""Share of pairs of rankings that two metrics order differently, exact or sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.coherence.rankings import (
    MAX_ENUMERATED,
    Rankings,
    caveats,
    common_rankings,
    two_named,
)
from dcglearn.coherence.regret import TIE
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import wilson
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import (
    Floats,
    Grades,
    InputError,
    Integers,
    PolarsFrame,
    whole_number,
)
from dcglearn.kernels.library import function
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.reading import (
    AnyMetric,
    MetricLike,
    MetricsLike,
    labelled,
    largest_value,
    resolved,
)

ValuesOfLists: TypeAlias = Callable[[Grades], Floats]
"""The function from lists, shape (n, K), to their values, shape (n,)."""

_inversions = function("inversions .n l[n] f[n] l[n]~ f[n]~ -> #")
"""Sorts keys and sizes by key, in place; the inversions, weighted by products of sizes."""


@dataclass(frozen=True)
class Disagreement(Finding):
    """How two metrics order pairs of different rankings.

    `share` of the pairs are ordered differently by a and b (neither ties them), `agree` are ordered
    alike by both; `tie_a`, `tie_b` and `tie_both` are tied by only a, only b, and both. `interval`
    is the 95% Wilson interval of `share` if pairs were sampled, else `share` itself. `n_pairs`
    pairs were compared, all if `exact`.
    """

    share: float
    agree: float
    tie_a: float
    tie_b: float
    tie_both: float
    interval: tuple[float, float]
    n_pairs: int
    exact: bool
    rankings: Rankings
    names: tuple[str, str]
    caveats: list[str]

    @property
    def sentence(self) -> str:
        """The share of pairs that the metrics order differently."""
        a, b = self.names
        pairs = "pairs of the same grades" if self.rankings.reordered else "all pairs"
        about = ""

        # a sample has an interval
        if not self.exact:
            low, high = self.interval
            about = f" (95% interval {low:.3%} to {high:.3%})"
        return f"{a} and {b} order {self.share:.3%} of {pairs} differently{about}"

    @property
    def table(self) -> PolarsFrame:
        """Shares of pairs by how the metrics order them."""
        a, b = self.names
        ties = f"tied by {a} only", f"tied by {b} only", "tied by both"
        shares = self.share, self.agree, self.tie_a, self.tie_b, self.tie_both
        return table_of({"pairs": ("ordered differently", "ordered alike", *ties), "share": shares})

    @property
    def notes(self) -> list[str]:
        """Which pairs were compared."""
        how = "exact: all" if self.exact else "a random sample of"
        return [f"{how} pairs of {self.rankings} ({self.n_pairs:,})", *self.caveats]


def disagreement(
    a: MetricLike | ArrayLike,
    b: MetricLike | ArrayLike,
    documents: ArrayLike | None = None,
    *,
    n_pairs: int = 1_000_000,
    random_state: int = 0,
    names: tuple[str, str] | None = None,
) -> Disagreement:
    """Return the share of pairs of rankings that two metrics order differently.

    The number of pairs ordered differently is Kendall's distance, counted by merge sort, O(n log
    n). Values closer than 1e-12 of a metric's range are tied. Two rankings are different if the
    sequences of grades of all documents differ; if there are more documents than positions,
    rankings with the same top K are tied by both. Of a metric that was learned from lists of the
    same documents in several orders, whose notes say that only the steps between discounts are
    learned, a random list is compared with a random order of its own grades. Raises InputError if
    the metrics cannot be compared (see `coherence`), or `n_pairs` is not a positive integer.

    Parameters
    ----------
    a, b, documents, names
        As in `coherence`.
    n_pairs, random_state : int
        Number and seed of the random pairs compared if there are more than 20 million rankings;
        otherwise all are, unless only orders of the same grades are compared. A million give the
        share to about 0.001.

    See Also
    --------
    coherence.disagreement_matrix : Many metrics.
    coherence : Whether they disagree at all, with a witness.

    Examples
    --------
    >>> a, b = dl.DCG.standard(5, 10, "linear"), dl.DCG.standard(5, 10, "exponential")
    >>> round(disagreement(a, b, documents=[4, 4, 3, 3, 2, 2, 1, 1, 0, 0]).share, 5)
    0.09989
    """
    whole_number(n_pairs, "n_pairs", 1)
    metrics, names = two_named(a, b, names, documents)
    rankings = common_rankings(metrics, names, documents)

    # compare all pairs, or a sample
    exact = rankings.n_lists <= MAX_ENUMERATED and not rankings.reordered
    sampled = None if exact else n_pairs
    counts = _pair_counts(rankings, metrics, names, sampled, random_state)[0, 1]

    # shares of these pairs
    compared = round(counts.sum())
    share, agree, tie_a, tie_b, tie_both = (counts / compared).tolist()

    # an interval where pairs were sampled
    return Disagreement(
        share,
        agree,
        tie_a,
        tie_b,
        tie_both,
        interval=(share, share) if exact else wilson(round(counts[0]), compared, 0.95),
        n_pairs=compared,
        exact=exact,
        rankings=rankings,
        names=names,
        caveats=caveats(metrics, names, rankings),
    )


def _pair_counts(
    rankings: Rankings,
    metrics: Sequence[AnyMetric],
    names: Sequence[str],
    n_pairs: int | None,
    random_state: int,
) -> Floats:
    """Return `pair_counts` of every two metrics, shape (M, M, 5), of random pairs, or of all."""
    of_lists = [_values_of(*named, rankings) for named in zip(metrics, names, strict=True)]
    if rankings.n_lists < 2:
        raise InputError(f"{rankings}: there is no pair to compare")
    if n_pairs is not None:
        return _sampled_counts(rankings, of_lists, n_pairs, np.random.default_rng(random_state))

    # values of all rankings
    blocks = rankings.lists()
    lists, weight = np.concatenate([*blocks.values()]), rankings.multiplicity(blocks)
    values = [values_of(lists) for values_of in of_lists]

    # compare every two metrics
    counts = np.zeros((len(metrics), len(metrics), 5))
    pairs = [*combinations(range(len(metrics)), 2)]
    for i, j in counted(pairs, "comparing"):
        counts[i, j] = counts[j, i] = pair_counts(values[i], values[j], weight)
    return counts


def _values_of(metric: AnyMetric, name: str, rankings: Rankings) -> ValuesOfLists:
    """Return the function from lists to values on a span of 1, or below it for list utilities."""
    if not isinstance(metric, ListUtility):
        return rankings.scaled(metric, name).score
    size = largest_value(metric) or 1.0
    return lambda lists: metric.score(lists) / size


def _sampled_counts(
    rankings: Rankings, metrics: Sequence[ValuesOfLists], n: int, rng: np.random.Generator
) -> Floats:
    """Return `pair_counts` of every two metrics over n random pairs, without equal rankings."""
    # two lists, or a list and an order of its grades
    first, second = rankings.sample(2 * n, rng).reshape(2, n, -1)
    if rankings.reordered:
        second = rng.permuted(first, axis=1)

    # without pairs of equal lists
    differ = (first != second).any(axis=1)
    first, second = first[differ], second[differ]

    # the list that each metric prefers, 1 or -1, or 0
    leads = np.array([value(first) - value(second) for value in metrics])
    preferred = np.where(np.abs(leads) <= TIE, 0.0, np.sign(leads))

    # pairs that both order, and those that either does
    by_one = np.abs(preferred)
    by_both, alike_less_different = by_one @ by_one.T, preferred @ preferred.T
    n_ordered = by_one.sum(axis=1)
    by_second_only, by_first_only = n_ordered - by_both, n_ordered[:, None] - by_both
    tied = len(first) - by_second_only - by_first_only - by_both
    different = (by_both - alike_less_different) / 2
    alike = by_both - different
    return np.stack([different, alike, by_second_only, by_first_only, tied], axis=2)


@dataclass(frozen=True, eq=False)
class DisagreementMatrix(Finding):
    """Shares of disagreement between several metrics.

    `share`, shape (M, M), is by pair of metrics, over `n_pairs` pairs of rankings: all if `exact`,
    else a random sample.
    """

    names: tuple[str, ...]
    share: Floats
    n_pairs: int
    exact: bool

    @property
    def sentence(self) -> str:
        """The two metrics that disagree most often."""
        a, b, most = self.table.row(0)
        return (
            f"{a} and {b} order {most:.1%} of pairs differently"
            f"{f', the most of {len(self.names)} metrics' if len(self.names) > 2 else ''}"
        )

    @property
    def table(self) -> PolarsFrame:
        """A row for each two metrics, those that disagree most often first."""
        rows = [
            {"metric": metric, "other": other, "share": self.share[i, j]}
            for (i, metric), (j, other) in combinations(enumerate(self.names), 2)
        ]
        return table_of(rows).sort("share", descending=True, maintain_order=True)

    @property
    def notes(self) -> list[str]:
        """What was compared."""
        how = "all" if self.exact else "a random sample of"
        return [f"share ordered differently of {how} pairs of rankings ({self.n_pairs:,})"]


def disagreement_matrix(
    metrics: MetricsLike,
    documents: ArrayLike | None = None,
    *,
    max_lists: int = 200_000,
    random_state: int = 0,
) -> DisagreementMatrix:
    """Return the share of pairs of rankings that any two of several metrics order differently.

    `metrics` maps names to metrics, for example `textbook_dcgs(5, 10)`, or lists them; `documents`
    are as in `coherence`. All pairs are compared if there are at most `max_lists` rankings, else
    200,000 random ones, with the seed `random_state`. Raises InputError if there are fewer than two
    metrics, or they cannot be compared (see `coherence`), such as one that ties all rankings.

    See Also
    --------
    disagreement : Two metrics, with counts of ties.
    plots.disagreement_figure : Draw it.

    Examples
    --------
    >>> matrix = disagreement_matrix(dl.textbook_dcgs(3, 4))
    >>> matrix.share.shape, bool(matrix.share.max() < 0.5)
    ((42, 42), True)
    """
    by_name = labelled(metrics)
    if len(by_name) < 2:
        raise InputError(f"a matrix needs two metrics or more; there are {len(by_name)}")
    names = tuple(by_name)
    read, _ = resolved([*by_name.values()], names, documents)
    rankings = common_rankings(read, names, documents)
    exact = rankings.n_lists <= whole_number(max_lists, "max_lists", 2) and not rankings.reordered
    counts = _pair_counts(rankings, read, names, None if exact else 200_000, random_state)
    n_pairs = counts[0, 1].sum()
    return DisagreementMatrix(names, counts[..., 0] / n_pairs, round(n_pairs), exact)


def pair_counts(first: Floats, second: Floats, weight: Floats | None = None) -> Floats:
    """Return the numbers of pairs by how two metrics order them, shape (5,).

    They are ordered differently, alike, tied by the first only, by the second only, by both. The
    values of the rankings, shape (n,), are on a span of 1; each stands for `weight` rankings that
    both tie.
    """
    # rankings by rank under the first metric, then the second
    ranks = _ranks(second)
    n_second = ranks.max() + 1
    key = _ranks(first) * n_second + ranks
    size = np.ones(len(key)) if weight is None else weight[np.argsort(key, kind="stable")]
    key.sort()

    # pairs that are tied, and inversions
    pairs = _pairs_of(size.sum())
    tied_both = _pairs_in_runs(key, size)
    key, ranks = np.divmod(key, n_second)
    tied_first = _pairs_in_runs(key, size)
    different = _inversions(ranks, size)  # sorts ranks, and size with them
    tied_second = _pairs_in_runs(ranks, size)
    alike = pairs - different - tied_first - tied_second + tied_both
    return np.array([different, alike, tied_first - tied_both, tied_second - tied_both, tied_both])


def _ranks(values: Floats) -> Integers:
    """Return the ranks of values, which are different if they are more than `TIE` apart."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.cumsum(np.diff(ordered, prepend=ordered[0]) > TIE)
    return ranks


def _pairs_of(weight: Floats | float) -> float:
    """Return the number of pairs within groups of `weight` rankings each."""
    return float(np.sum(weight * (weight - 1) / 2))


def _pairs_in_runs(keys: Integers, size: Floats) -> float:
    starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
    return _pairs_of(np.add.reduceat(size, starts))
