"""Dependence of the order of systems on the metric, beyond chance."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, comb, log2
from typing import Unpack

import numpy as np
from scipy.special import stdtr

from dcglearn.coherence.theorems import surpasses
from dcglearn.evaluation.kernel import Lists
from dcglearn.evaluation.paired_tests import corrected
from dcglearn.evaluation.ranked import ranked_lists
from dcglearn.evaluation.run_values import LEVELS, EvaluateOptions, Evaluation, as_metrics, evaluate
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import Fields, Flags, Floats, Indices, InputError, PolarsFrame
from dcglearn.metrics.reading import MetricsLike
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.runs import RunsLike, read_both

ALL_DCGS = "every DCG with increasing gains and decreasing discounts"
"""The metrics under which one system beats another."""


@dataclass(frozen=True)
class Swap:
    """Two systems that a metric and another one order differently, beyond chance or within it."""

    metric: str
    other: str
    better_under_metric: str
    better_under_other: str
    beyond_chance: bool

    @property
    def systems(self) -> frozenset[str]:
        """The two systems."""
        return frozenset((self.better_under_metric, self.better_under_other))


@dataclass(frozen=True, eq=False)
class SystemOrder(Finding):
    """Systems under several metrics, and whether their order depends on the metric.

    `tau`, shape (M, M), is Kendall's tau (b) between the orders of the systems. `beats`, shape (R,
    R), tells whether the row's system is at least as good as the column's under every DCG with
    increasing gains and decreasing discounts, and better under some. `swaps` are by pair of
    metrics; `level` is the confidence that none of them is beyond chance by chance.
    """

    evaluation: Evaluation = field(repr=False)
    tau: Floats
    swaps: list[Swap]
    beats: Flags
    level: float

    @property
    def ranks(self) -> Indices:
        """Rank of every system under every metric, 1 = best, shape (R, M)."""
        from scipy.stats import rankdata  # takes long to import, and `learn` needs none

        return rankdata(-self.evaluation.means, "ordinal", axis=0)

    @property
    def _n_pairs(self) -> int:
        return comb(len(self.beats), 2)

    @property
    def share_decided(self) -> float:
        """Share of the pairs of systems of which one beats the other under every DCG."""
        return float(self.beats.sum() / self._n_pairs)

    @property
    def sentence(self) -> str:
        """Whether the order of the systems depends on the metric."""
        if len(self.evaluation.metrics) < 2:
            return self._decided

        # pairs of systems that any two metrics swap, and those beyond chance
        n = len({swap.systems for swap in self.swaps})
        n_solid = len({swap.systems for swap in self.swaps if swap.beyond_chance})
        pairs = f"of {number_of(self._n_pairs, 'pairs')} of systems"
        if n_solid:
            return f"the order depends on the metric, which swaps {n_solid} {pairs} beyond chance"
        if n:
            swaps = f"which swaps {n} {pairs} within chance alone"
            return f"the order is not shown to depend on the metric, {swaps}"
        return "the order is the same under these metrics"

    @property
    def _decided(self) -> str:
        """The share of pairs of systems that need no choice of a metric."""
        return f"{self.share_decided:.1%} of the pairs of systems are decided under {ALL_DCGS}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each system; `beats` counts the systems that it always beats."""
        columns: Fields = {"run": self.evaluation.runs}
        numbers = self.evaluation.metrics, self.evaluation.means.T, self.ranks.T
        for name, mean, rank in zip(*numbers, strict=True):
            columns |= {f"mean {name}": mean, f"rank {name}": rank}
        return table_of(columns | {"beats": self.beats.sum(axis=1)})

    @property
    def notes(self) -> list[str]:
        """How far metrics agree on the order, what all DCGs agree on, and what was evaluated."""
        notes = []
        metrics = self.evaluation.metrics

        # agreement of every two orders
        for (i, metric), (j, other) in combinations(enumerate(metrics), 2):
            swaps = [swap for swap in self.swaps if (swap.metric, swap.other) == (metric, other)]
            n_solid = sum(swap.beyond_chance for swap in swaps)
            tau = self.tau[i, j]
            notes.append(
                f"{metric} and {other} swap {len(swaps)} of "
                f"{number_of(self._n_pairs, 'pairs')} of systems, {n_solid} of them beyond chance; "
                + ("one ties all systems" if np.isnan(tau) else f"Kendall's tau is {tau:.3f}")
            )

        # what is chance, and what every DCG says
        if notes:
            n_tests = self._n_pairs * len(metrics)
            fewest = ceil(1 + log2(n_tests / (1 - self.level)))
            notes.append(
                "beyond chance: both differences are, by t tests corrected for all "
                f"{n_tests:,} differences (Holm) at a level of {1 - self.level:.2g}, which takes "
                f"at least {fewest} queries"
            )
            notes.append(self._decided)

        # what the columns are
        notes.append(f"beats: how many systems each beats under {ALL_DCGS}")
        notes.append(f"means are over {number_of(len(self.evaluation.queries), 'queries', ',')}")
        return [*notes, *self.evaluation.notes]


@spelled_out(EvaluateOptions, evaluate)
def system_order(
    judgements: JudgementsLike,
    runs: RunsLike,
    metrics: MetricsLike,
    *,
    level: float = 0.95,
    **settings: Unpack[EvaluateOptions],
) -> SystemOrder:
    """Order systems by several metrics, and test which differences of the orders are chance.

    A swap of two systems is beyond chance if their difference is under both metrics. The p-value of
    a difference is that of Student's t over n topics, ``t = sqrt(n) mean / sd``, with n - 1 degrees
    of freedom, and at least ``2^(1 - n)``, the smallest that flips of n signs can reach. The
    p-values of all pairs of systems under all metrics are corrected by Holm's method (Holm 1979, "A
    simple sequentially rejective multiple test procedure"). Where systems differ by chance alone,
    the probability of any swap beyond chance is at most 1 - level.

    One system beats another if its mean DCG (not NDCG) is larger under every DCG with increasing
    gains and decreasing discounts: for each grade and each position it has at least as many
    documents of at least that grade down to that position, unjudged ones counting as the worst. For
    every such DCG with a worst gain of 0 is a sum of these numbers, with weights of at least 0.

    Raises InputError as in `evaluate`, and if there are fewer than two systems.

    Parameters
    ----------
    judgements, runs, metrics, **settings
        See `evaluate`; two systems or more.
    level : float
        Confidence level of the tests.

    See Also
    --------
    compare_systems : Paired tests of two or more systems.

    Examples
    --------
    >>> judged = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "b": 2, "c": 1}}
    >>> old = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"b": 1.0}}
    >>> new = {"q1": {"a": 2.0, "c": 1.0}, "q2": {"c": 1.0}}
    >>> metrics = ["linear-log2", "exponential-log2"]
    >>> order = dl.system_order(judged, {"old": old, "new": new}, metrics)
    >>> order.tau.round(1).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    from scipy.stats import kendalltau  # takes long to import, and `learn` needs none

    if not 0.5 < level < 1:
        raise InputError(f"level={level!r} must lie between 0.5 and 1")
    judged, systems = read_both(judgements, runs, duplicates=settings.get("duplicates", "error"))
    if len(systems) < 2:
        raise InputError("an order needs two systems or more; give another run")
    if judged.n_grades is None:
        raise InputError(
            f"{judged.name}: an order under every DCG needs levels of grades: {LEVELS}"
        )

    # the systems, the best under the first metric first
    by_name = as_metrics(metrics, judged, systems)
    evaluation = evaluate(judged, systems, by_name, **settings).ordered()

    # mean counts of grades of each system, on the scale and the depth of all metrics
    n_grades = max(judged.n_grades, 2)
    depths = (metric.depth for metric in by_name.values() if not isinstance(metric, str))
    depth = max(depths, default=10)
    ties = settings.get("ties", "docno-desc")
    ranked = {run.name: ranked_lists(judged, run, depth, ties) for run in systems}
    counts = np.array([_mean_counts(ranked[run], n_grades, depth) for run in evaluation.runs])

    # the orders, and who beats whom
    columns = evaluation.means.T
    return SystemOrder(
        evaluation=evaluation,
        tau=np.array([[kendalltau(a, b).statistic for b in columns] for a in columns]),
        swaps=_swaps(evaluation, level),
        beats=surpasses(counts[:, None] - counts),
        level=level,
    )


def _swaps(evaluation: Evaluation, level: float) -> list[Swap]:
    """Return the swaps of every two metrics; a swap is beyond chance if both differences are."""
    # differences of all pairs, and of their means, (M, pairs)
    runs, names = evaluation.runs, evaluation.metrics
    first, second = np.tril_indices(len(runs), -1)
    gaps = (evaluation.means[first] - evaluation.means[second]).T
    values = evaluation.filled.swapaxes(0, 1)
    p = [_p_values(x[first] - x[second], gap) for x, gap in zip(values, gaps, strict=True)]
    clear = corrected(np.ravel(p), "holm").reshape(gaps.shape) <= 1 - level

    # pairs that two metrics order differently
    swaps = []
    for a, b in combinations(range(len(gaps)), 2):
        for pair in np.flatnonzero(gaps[a] * gaps[b] < 0):
            systems = runs[first[pair]], runs[second[pair]]
            better = systems if gaps[a, pair] > 0 else systems[::-1]
            swaps.append(Swap(names[a], names[b], *better, bool(clear[[a, b], pair].all())))
    return swaps


def _p_values(differences: Floats, gap: Floats) -> Floats:
    """Return the p-values of mean differences by topic, shape (pairs, Q); NaN for no topic.

    They are 1 where the mean does not have the sign of `gap`, shape (pairs,).
    """
    # mean and variance over the topics
    n = (~np.isnan(differences)).sum(axis=1)
    mean = np.nansum(differences, axis=1) / np.maximum(n, 1)
    squares = np.nansum((differences - mean[:, None]) ** 2, axis=1)

    # Student's t; without spread the smallest p is left
    t = mean * np.sqrt(n * (n - 1) / np.maximum(squares, 1e-24))
    p = 2 * stdtr(np.maximum(n - 1, 1), -t * np.sign(gap))
    return np.clip(p, 2.0 ** (1 - n), 1.0)


def _mean_counts(lists: Lists, n_grades: int, depth: int) -> Floats:
    """Return how many grades of at least m = 1..L-1 a list has on average down to each position.

    The shape is (L - 1, K).
    """
    rank, n_queries = lists.rank, len(lists.offsets) - 1
    at_least = [(lists.grades >= m) & (rank < depth) for m in range(1, n_grades)]
    at_rank = [np.bincount(rank[flags], minlength=depth) for flags in at_least]
    return np.cumsum(at_rank, axis=1) / n_queries
