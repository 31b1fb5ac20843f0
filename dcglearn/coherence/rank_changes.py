"""Dependence of the order of systems on the metric, beyond chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations, permutations
from typing import Any, Unpack

import numpy as np
from scipy.special import stdtr
from scipy.stats import kendalltau

from dcglearn.evaluation.kernel import Lists
from dcglearn.evaluation.paired_tests import corrected
from dcglearn.evaluation.ranked import ranked_lists
from dcglearn.evaluation.run_values import LEVELS, EvaluateOptions, Evaluation, as_metrics, evaluate
from dcglearn.foundation.finding import Cells, Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    Indices,
    InputError,
    PolarsFrame,
    known,
)
from dcglearn.metrics.reading import MetricsLike
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.runs import RunsLike, read_both

ALL_DCGS = "every DCG with increasing gains and decreasing discounts"
"""The metrics under which one system beats another."""

ZERO = 1e-6
"""Advantages up to this share of the range count as none."""


@dataclass(frozen=True)
class Swaps(Finding):
    """Pairs of systems that two metrics order differently.

    Each of `pairs` names the system that is better under the first metric, then the one that is
    better under the second; it is `solid` if both differences are beyond chance, see
    `system_order`. `n_pairs` counts all pairs of systems.
    """

    metrics: tuple[str, str]
    pairs: list[tuple[str, str]]
    solid: list[bool]
    n_pairs: int

    @property
    def noise(self) -> float:
        """Share of the swaps that are within chance; NaN without swaps."""
        return 1 - float(np.mean(self.solid)) if self.pairs else float("nan")

    @property
    def sentence(self) -> str:
        """How many pairs of systems the metrics swap, and how many of them beyond chance."""
        beyond = f", {sum(self.solid)} of them beyond chance" if self.pairs else ""
        return (
            f"the metrics {' and '.join(self.metrics)} swap {len(self.pairs)} of "
            f"{number_of(self.n_pairs, 'pairs')} of systems{beyond}"
        )

    @property
    def table(self) -> PolarsFrame:
        """A row for each swap: the better system under the `first` and the `second` metric."""
        first, second = zip(*self.pairs, strict=True) if self.pairs else ((), ())
        return table_of(
            {
                "better_under_first": first,
                "better_under_second": second,
                "beyond_chance": self.solid,
            }
        )


@dataclass(frozen=True, eq=False)
class SystemOrder(Finding):
    """Systems under several metrics, and whether their order depends on the metric.

    `tau`, shape (M, M), is Kendall's tau (b) between the orders of the systems; `tau_ap` is tau_AP,
    which weights the top more, with the row's order as the reference. `beats`, shape (R, R), tells
    whether the row's system is at least as good as the column's under every DCG with increasing
    gains and decreasing discounts, and better under some. `swaps` are by pair of metrics; `level`
    is the confidence that none of them is called solid by chance.
    """

    evaluation: Evaluation = field(repr=False)
    tau: Floats
    tau_ap: Floats
    swaps: dict[tuple[str, str], Swaps] = field(repr=False)
    beats: Flags
    level: float

    @property
    def ranks(self) -> Indices:
        """Rank of every system under every metric, 1 = best, shape (R, M)."""
        return np.argsort(np.argsort(-self.evaluation.means, axis=0, kind="stable"), axis=0) + 1

    @property
    def _n_pairs(self) -> int:
        return len(self.beats) * (len(self.beats) - 1) // 2

    @property
    def share_decided(self) -> float:
        """Share of the pairs of systems of which one beats the other under every DCG."""
        return float(self.beats.sum() / self._n_pairs)

    @property
    def sentence(self) -> str:
        """Whether the order of the systems depends on the metric."""
        if not self.swaps:
            return self._decided

        # pairs that any two metrics swap, and those that they swap beyond chance
        solid: dict[frozenset[str], bool] = {}
        for swaps in self.swaps.values():
            for pair, sure in zip(map(frozenset, swaps.pairs), swaps.solid, strict=True):
                solid[pair] = sure or solid.get(pair, False)

        # how many change places
        pairs = f"of {number_of(self._n_pairs, 'pairs')} of systems change places"
        if any(solid.values()):
            n_solid = sum(solid.values())
            return f"the order depends on the metric: {n_solid} {pairs} beyond chance"
        if solid:
            return (
                "the order is not shown to depend on the metric: "
                f"{len(solid)} {pairs}, within chance"
            )
        return "the order is the same under these metrics"

    @property
    def _decided(self) -> str:
        """The share of pairs of systems that need no choice of a metric."""
        return f"{self.share_decided:.1%} of the pairs of systems are decided under {ALL_DCGS}"

    @property
    def caption(self) -> str:
        """What the table holds."""
        return "All systems"

    @property
    def table(self) -> PolarsFrame:
        """A row for each system and metric; `beats` counts the systems that it always beats."""
        runs, metrics = self.evaluation.runs, self.evaluation.metrics

        # systems outside, metrics within
        columns = {
            "run": np.repeat(runs, len(metrics)),
            "metric": np.tile(metrics, len(runs)),
            "mean": self.evaluation.means.ravel(),
            "rank": self.ranks.ravel(),
            "beats": np.repeat(self.beats.sum(axis=1), len(metrics)),
        }
        return table_of(columns)

    @property
    def cells(self) -> Cells:
        """A row for each system, with its mean and rank under each metric."""
        rows = [["run", *(f"{name} (rank)" for name in self.evaluation.metrics), "beats"]]
        columns = self.evaluation.runs, self.evaluation.means, self.ranks, self.beats.sum(axis=1)
        for run, means, ranks, beats in zip(*columns, strict=True):
            cells = (f"{mean:.4f} ({rank})" for mean, rank in zip(means, ranks, strict=True))
            rows.append([run, *cells, str(beats)])
        return rows

    @property
    def pictures(self) -> list[Fields]:
        """Means of the systems, a line for each metric."""
        names, means = self.evaluation.metrics, np.nan_to_num(self.evaluation.means)
        lines = dict(zip(names, means.T.tolist(), strict=True))
        return [{"title": "mean of each system", "ticks": [*self.evaluation.runs], "lines": lines}]

    @property
    def notes(self) -> list[str]:
        """How far metrics agree on the order, what all DCGs agree on, and what was evaluated."""
        notes = []
        metrics = self.evaluation.metrics

        # agreement of every two orders
        for i, j in combinations(range(len(metrics)), 2):
            swaps = self.swaps[metrics[i], metrics[j]].sentence
            if np.isnan(self.tau[i, j]):
                notes.append(f"{swaps}; to one of them all systems are equal")
                continue
            notes.append(
                f"{swaps}; Kendall's tau between their orders is {self.tau[i, j]:.3f} (tau_AP "
                f"{self.tau_ap[i, j]:.3f} with the order of {metrics[i]} taken for true, "
                f"{self.tau_ap[j, i]:.3f} with that of {metrics[j]})"
            )

        # what is chance, and what every DCG says
        if notes:
            n_tests = self._n_pairs * len(metrics)
            notes.append(
                "beyond chance: both differences are, by t tests corrected for all "
                f"{n_tests:,} differences (Holm) at a level of {1 - self.level:.2g}"
            )
            if n_tests * smallest_p(len(self.evaluation.queries)) > 1 - self.level:
                notes.append("too few queries for any difference to be beyond chance")
            notes.append(self._decided)
        notes.append(f"beats: how many systems each beats under {ALL_DCGS}")
        queries = number_of(len(self.evaluation.queries), "queries", ",")
        return [*notes, f"means are over {queries}", *self.evaluation.notes]

    @property
    def extra_values(self) -> Fields:
        """The metrics and their swaps, and the share of pairs decided."""
        values: Fields = {"metrics": self.evaluation.metrics, "swaps": self.swaps.values()}
        return values | {"decided": self.share_decided}


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
    documents of at least that grade down to that position, unjudged ones counting as the worst.

    Tau_AP: Yilmaz, Aslam and Robertson 2008; a pair counts one half if one order ties it, and one
    if both do. Raises InputError as in `evaluate`, and if there are fewer than two systems.

    Parameters
    ----------
    judgements, runs, metrics, **settings
        See `evaluate`; two systems or more.
    level : float
        Confidence level of the tests.

    See Also
    --------
    compare_systems : Paired tests of two or more systems.
    plots.slope_figure : Draw it.

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
    known(settings, signature(system_order).parameters, "system_order", "option")
    if not 0.5 < level < 1:
        raise InputError(f"level={level!r} must lie between 0.5 and 1")
    judged, systems = read_both(judgements, runs, duplicates=settings.get("duplicates", "error"))
    if len(systems) < 2:
        raise InputError("an order needs two systems or more; give another run")
    if judged.n_grades is None:
        raise InputError(
            f"{judged.name}: an order under every DCG needs levels of grades: {LEVELS}"
        )
    by_name = as_metrics(metrics, judged, systems)
    evaluation = evaluate(judged, systems, by_name, **settings).ordered()

    # mean counts of grades of each system, on the scale and the depth of all metrics
    n_grades = max(judged.n_grades, 2)
    depths = (metric.depth for metric in by_name.values() if not isinstance(metric, str))
    depth = max(depths, default=10)
    ties = settings.get("ties", "docno-desc")
    runs_by_name = {run.name: run for run in systems}
    ranked = (ranked_lists(judged, runs_by_name[name], depth, ties) for name in evaluation.runs)
    mean_counts = [_mean_counts(lists, n_grades, depth) for lists in ranked]

    return SystemOrder(
        evaluation=evaluation,
        tau=_between(evaluation.means, lambda a, b: float(kendalltau(a, b).statistic)),
        tau_ap=_between(evaluation.means, tau_ap),
        swaps=_swaps(evaluation, level),
        beats=_beats(mean_counts),
        level=level,
    )


def tau_ap(truth: Floats, other: Floats) -> float:
    """Return tau_AP of two arrays of means, shape (R,), by the order of the second."""
    order = np.argsort(-other, kind="stable")
    above = np.sign(truth[order][:, None] - truth[order][None, :])  # of the row over the column
    tied = (other[order][:, None] == other[order][None, :]) & (above == 0)
    right = np.where(tied, 1.0, 0.5 + 0.5 * above)

    # share of the systems above each that are there in truth (Yilmaz et al. 2008)
    shares = [right[:i, i].mean() for i in range(1, len(order))]
    return 2 * float(np.mean(shares)) - 1


def _between(means: Floats, measure: Callable[[Floats, Floats], float]) -> Floats:
    columns = means.T
    return np.array([[measure(a, b) for b in columns] for a in columns])


def smallest_p(n: Any) -> Any:
    """Return the smallest two-sided p-value that flips of the signs of n differences can reach."""
    return 2.0 ** (1 - n)


def _swaps(evaluation: Evaluation, level: float) -> dict[tuple[str, str], Swaps]:
    """Return the swaps of every two metrics; a swap is solid if both differences are."""
    # differences of all pairs, and of their means, (M, pairs)
    runs = evaluation.runs
    first, second = np.tril_indices(len(runs), -1)
    gaps = (evaluation.means[first] - evaluation.means[second]).T
    values = evaluation.filled.swapaxes(0, 1)
    p = [_p_values(x[first] - x[second], gap) for x, gap in zip(values, gaps, strict=True)]
    clear = corrected(np.ravel(p), "holm").reshape(gaps.shape) <= 1 - level

    # pairs that two metrics order differently
    swaps = {}
    for a, b in combinations(range(len(gaps)), 2):
        names = evaluation.metrics[a], evaluation.metrics[b]
        pairs, solid = [], []
        for pair in np.flatnonzero(gaps[a] * gaps[b] < 0):
            better, worse = runs[first[pair]], runs[second[pair]]
            pairs.append((better, worse) if gaps[a, pair] > 0 else (worse, better))
            solid.append(bool(clear[a, pair] and clear[b, pair]))
        swaps[names] = Swaps(names, pairs, solid, len(first))
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
    return np.clip(p, smallest_p(n), 1.0)


def _mean_counts(lists: Lists, n_grades: int, depth: int) -> Floats:
    """Return how many grades of at least m = 1..L-1 a list has on average down to each position.

    The shape is (L - 1, K).
    """
    rank, n_queries = lists.rank, len(lists.offsets) - 1
    at_least = [(lists.grades >= m) & (rank < depth) for m in range(1, n_grades)]
    at_rank = [np.bincount(rank[flags], minlength=depth) for flags in at_least]
    return np.cumsum(at_rank, axis=1) / n_queries


def _beats(mean_counts: list[Floats]) -> Flags:
    """Return whether the row's system beats the column's under every DCG.

    Every DCG with increasing gains from 0 and decreasing discounts is a sum of the mean counts with
    weights of at least 0.
    """
    n = len(mean_counts)
    beats = np.zeros((n, n), dtype=bool)
    for i, j in permutations(range(n), 2):
        leads = mean_counts[i] - mean_counts[j]
        shares = leads / np.arange(1, leads.shape[1] + 1)
        beats[i, j] = shares.min() >= -ZERO and shares.max() > ZERO
    return beats
