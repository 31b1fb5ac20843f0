"""Share of pairs of rankings that two metrics order differently, exact or sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.coherence.rankings import (
    MAX_ENUMERATED,
    Rankings,
    list_values,
    padded_weights,
    rankings_of,
    scaled_weights,
    two_named,
)
from dcglearn.coherence.regret import TIE
from dcglearn.foundation.finding import Cells, Finding, table_of
from dcglearn.foundation.intervals import wilson
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    Grades,
    Indices,
    InputError,
    Integers,
    PolarsFrame,
    whole_number,
)
from dcglearn.kernels.library import function
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.reading import AnyMetric, MetricLike, MetricsLike, labelled, largest_value

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

    _formats: ClassVar = {"share": ".6f"}

    @property
    def sentence(self) -> str:
        """The share of pairs that the metrics order differently."""
        a, b = self.names
        about = ""

        # a sample has an interval
        if not self.exact:
            low, high = self.interval
            about = f" (95% interval {low:.3%} to {high:.3%})"
        return f"the metrics {a} and {b} order {self.share:.3%} of all pairs differently{about}"

    @property
    def table(self) -> PolarsFrame:
        """Shares of pairs by how the metrics order them."""
        a, b = self.names
        shares = {
            "ordered differently": self.share,
            "ordered alike": self.agree,
            f"tied by {a} only": self.tie_a,
            f"tied by {b} only": self.tie_b,
            "tied by both": self.tie_both,
        }
        return table_of({"pairs": list(shares), "share": list(shares.values())})

    @property
    def pictures(self) -> list[Fields]:
        """The shares, that of pairs ordered differently with its interval."""
        rows = [(name, share, share, share) for name, share in self.table.rows()]

        # the others have no interval
        rows[0] = (*rows[0][:2], *self.interval)
        return [{"title": "share of all pairs", "rows": rows}]

    @property
    def notes(self) -> list[str]:
        """Which pairs were compared."""
        how = "exact: all" if self.exact else "a random sample:"
        return [f"{how} {self.n_pairs:,} pairs of {self.rankings}"]


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
    rankings with the same top K are tied by both. Raises InputError if the metrics cannot be
    compared (see `coherence`), or `n_pairs` is not a positive integer.

    Parameters
    ----------
    a, b, documents, names
        As in `coherence`.
    n_pairs, random_state : int
        Number and seed of the random pairs compared if there are more than 20 million rankings, or
        a metric is no sum over positions, such as a `ListUtility`; otherwise all are. A million
        give the share to about 0.001.

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
    named, names = two_named(a, b, names, documents)
    rankings, metrics = rankings_of(named, names, documents)
    additive = all(isinstance(metric, (DCG, Utility)) for metric in metrics)
    weights = scaled_weights(metrics, names, documents)[1] if additive else []
    if rankings.n_lists < 2:
        raise InputError(f"{rankings}: there is no pair to compare")

    # counts of pairs, exact or of a sample
    exact = additive and rankings.n_lists <= MAX_ENUMERATED
    if exact:
        lists = rankings.enumerated(weights)
        counts = pair_counts(lists.values[0], lists.values[1], lists.weight)
        n_pairs = round(float(counts.sum()))
    else:
        values: list[Callable[[Grades], Floats]] = [partial(list_values, w) for w in weights]
        values = values or [*map(_scaled, metrics, names)]
        counts = _sampled_counts(rankings, values, n_pairs, np.random.default_rng(random_state))

    share, agree, tie_a, tie_b, tie_both = (counts / counts.sum()).tolist()
    interval = (share, share) if exact else wilson(int(counts[0]), n_pairs, 0.95)
    return Disagreement(
        share, agree, tie_a, tie_b, tie_both, interval, n_pairs, exact, rankings, names
    )


def _scaled(metric: AnyMetric, name: str) -> Callable[[Grades], Floats]:
    """Return the values of lists under a metric, in units of the largest value of a list."""
    size = largest_value(metric)
    if not size:
        raise InputError(f"{name} orders no two lists: they are all worth the same")
    return lambda lists: np.asarray(metric.score(lists) / size)


def _sampled_counts(
    rankings: Rankings,
    values: Sequence[Callable[[Grades], Floats]],
    n: int,
    rng: np.random.Generator,
) -> Floats:
    """Return `pair_counts` of n random pairs of different rankings."""
    counts, missing = np.zeros(5), n
    while missing:
        # a block of pairs, without those of equal lists
        size = min(missing, 1 << 17)
        pairs = rankings.sample(2 * size, rng).reshape(2, size, -1)
        pairs = pairs[:, (pairs[0] != pairs[1]).any(axis=1)]
        missing -= pairs.shape[1]

        # how the metrics order them
        a, b = (value(pairs[0]) - value(pairs[1]) for value in values)
        tie_a, tie_b = np.abs(a) <= TIE, np.abs(b) <= TIE
        alike, strict = (a > 0) == (b > 0), ~tie_a & ~tie_b
        cases = strict & ~alike, strict & alike, tie_a & ~tie_b, tie_b & ~tie_a, tie_a & tie_b
        counts += [case.sum() for case in cases]
    return counts


@dataclass(frozen=True, eq=False)
class DisagreementMatrix(Finding):
    """Shares of disagreement between several metrics.

    `share`, shape (M, M), is by pair of metrics, over pairs of `n_lists` rankings: all rankings if
    `exact`, else a random sample. `constant` names the metrics left out because they tie all
    rankings.
    """

    names: tuple[str, ...]
    share: Floats
    n_lists: int
    exact: bool
    constant: tuple[str, ...] = ()

    def order(self) -> Indices:
        """Return the indices of the metrics in the order of the leaves of `tree`, shape (M,)."""
        from scipy.cluster.hierarchy import leaves_list

        if len(self.names) < 3:
            return np.arange(len(self.names))
        return leaves_list(self.tree())

    def tree(self) -> Floats:
        """Return SciPy's linkage matrix of the metrics, by average shares, shape (M - 1, 4)."""
        from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
        from scipy.spatial.distance import squareform

        condensed = squareform(self.share, checks=False)
        return optimal_leaf_ordering(linkage(condensed, "average"), condensed)

    @property
    def sentence(self) -> str:
        """The pairs of metrics that disagree most and least."""
        pairs = self.table.rows()
        (a, b, most), (c, d, least) = pairs[0], pairs[-1]
        about = "" if self.exact else "about "
        sentence = f"the metrics {a} and {b} order {about}{most:.1%} of all pairs differently"
        if len(pairs) == 1:
            return sentence

        # how far the others are apart
        return (
            f"{sentence}, the most of {len(self.names)} metrics, and {c} and {d} the least, "
            f"{least:.1%}"
        )

    @property
    def table(self) -> PolarsFrame:
        """A row for each two metrics, those that disagree most often first."""
        first, second = np.triu_indices(len(self.names), 1)
        names, shares = np.array(self.names), self.share[first, second]
        table = table_of({"metric": names[first], "other": names[second], "share": shares})
        return table.sort("share", descending=True, maintain_order=True)

    @property
    def cells(self) -> Cells:
        """The matrix as text."""
        rows = [["metric", *self.names]]
        for name, shares in zip(self.names, self.share, strict=True):
            rows.append([name, *(f"{share:.4f}" for share in shares)])
        return rows

    @property
    def pictures(self) -> list[Fields]:
        """The shares of the metrics that disagree most often."""
        rows = [(f"{a} and {b}", *[share] * 3) for a, b, share in self.table.rows()]
        return [{"title": "share of pairs ordered differently", "rows": rows}]

    @property
    def notes(self) -> list[str]:
        """What was compared, and which metrics were left out."""
        how = "all" if self.exact else "random"
        notes = [f"share of pairs ordered differently; {self.n_lists:,} rankings, {how}"]
        if self.constant:
            notes.append(
                "left out, since all rankings have the same value under them: "
                f"{', '.join(self.constant)}"
            )
        return notes


def disagreement_matrix(
    metrics: MetricsLike,
    documents: ArrayLike | None = None,
    *,
    max_lists: int = 200_000,
    random_state: int = 0,
) -> DisagreementMatrix:
    """Return the share of pairs of rankings that any two of several metrics order differently.

    `metrics` maps names to metrics, for example `textbook_dcgs(5, 10)`, or lists them; `documents`
    are as in `coherence`. If there are more than `max_lists` rankings, 5,000 are drawn at random,
    with replacement, and compared; `random_state` is the seed of these draws.
    Raises InputError if there are fewer than two metrics, or they cannot be compared (see
    `coherence`).

    See Also
    --------
    disagreement : Two metrics, with counts of ties.
    plots.disagreement_figure : Draw it.

    Examples
    --------
    >>> matrix = disagreement_matrix(dl.textbook_dcgs(3, 4), documents=[2, 2, 1, 0])
    >>> matrix.share.shape, bool(matrix.share.max() < 0.5)
    ((36, 36), True)
    """
    # leave out constant metrics, which are scaled to None
    scaled: dict[str, Floats | None] = {}
    by_name = labelled(metrics)
    if by_name:
        rankings, weights = padded_weights(list(by_name.values()), list(by_name), documents)
        scaled = dict(zip(by_name, map(rankings.scaled, weights), strict=True))
    kept = {name: table for name, table in scaled.items() if table is not None}
    if len(kept) < 2:
        raise InputError(
            f"{len(kept)} of {len(by_name)} metrics order these rankings at all; a matrix needs two"
        )

    # values of all rankings, or of a sample
    exact = rankings.n_lists <= whole_number(max_lists, "max_lists", 2)
    weight = None
    if exact:
        enumeration = rankings.enumerated(list(kept.values()))
        values, weight = enumeration.values, enumeration.weight
    else:
        lists = rankings.sample(5000, np.random.default_rng(random_state))
        values = np.stack([list_values(table, lists) for table in kept.values()])

    # compare every two metrics
    share = np.zeros((len(kept), len(kept)))
    pairs = [(i, j) for i in range(len(kept)) for j in range(i)]
    for i, j in counted(pairs, len(pairs), "comparing"):
        counts = pair_counts(values[i], values[j], weight)
        share[i, j] = share[j, i] = counts[0] / counts.sum()
    constant = tuple(name for name in scaled if name not in kept)
    return DisagreementMatrix(tuple(kept), share, values.shape[1], exact, constant)


def pair_counts(first: Floats, second: Floats, weight: Floats | None = None) -> Floats:
    """Return the numbers of pairs by how two metrics order them, shape (5,).

    They are ordered differently, alike, tied by the first only, by the second only, by both. The
    values of the rankings, shape (n,), are on a span of 1; each stands for `weight` rankings that
    both tie.
    """
    # rankings by rank under the first metric, then the second
    n_second, ranks = _ranks(second)
    key = _ranks(first)[1] * n_second + ranks
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


def _ranks(values: Floats) -> tuple[int, Integers]:
    """Return the number of different values, more than `TIE` apart, and the rank of each."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TIE
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order[0]] = 0
    ranks[order[1:]] = np.cumsum(steps)
    return int(steps.sum()) + 1, ranks


def _pairs_of(weight: Floats | float) -> float:
    """Return the number of pairs within groups of `weight` rankings each."""
    return float(np.sum(weight * (weight - 1) / 2))


def _pairs_in_runs(keys: Integers, size: Floats) -> float:
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    return _pairs_of(np.add.reduceat(size, starts))
