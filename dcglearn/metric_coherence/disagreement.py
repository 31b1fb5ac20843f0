"""How often two metrics disagree: the share of pairs of rankings that they order differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.metric_coherence.rankings import EXACT, Rankings, comparable, on_one_shape
from dcglearn.metric_coherence.regret import TIE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats, Grades, Integers
    from dcglearn.metric_coherence.rankings import Metric


Z95 = 1.959963984540054


@dataclass(frozen=True)
class Disagreement:
    """How two metrics order pairs of rankings; prints as a sentence and a table.

    Attributes
    ----------
    share : float
        Of the pairs of different rankings, those that a and b order differently (neither ties them).
    agree, tie_a, tie_b, tie_both : float
        Shares that both order alike, that only a ties, that only b ties, that both tie.
    interval : (float, float)
        The share itself if every ranking was looked at, else a 95% Wilson interval.
    n_pairs : int
        Pairs looked at.
    exact : bool
        Whether these are all there are.
    rankings : Rankings
        Where they come from.
    names : (str, str)
        What the metrics are called.
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

    def __str__(self) -> str:
        a, b = self.names
        how = (
            f"exact, {self.n_pairs:,} pairs of {self.rankings}"
            if self.exact
            else f"95% interval {self.interval[0]:.5f} to {self.interval[1]:.5f}, "
            f"from {self.n_pairs:,} random pairs of {self.rankings}"
        )
        rows = (
            ("ordered differently", self.share),
            ("ordered alike", self.agree),
            (f"tied by {a} only", self.tie_a),
            (f"tied by {b} only", self.tie_b),
            ("tied by both", self.tie_both),
        )
        width = max(len(words) for words, _ in rows)
        table = [f"  {words:<{width}}  {value:.6f}" for words, value in rows]
        return "\n".join([f"{a} and {b} order {self.share:.3%} of all pairs differently ({how})", *table])


def disagreement(
    a: Metric,
    b: Metric,
    grades: ArrayLike | None = None,
    *,
    n_pairs: int = 1_000_000,
    seed: int = 0,
    names: tuple[str, str] = ("a", "b"),
) -> Disagreement:
    """Return the share of pairs of rankings that two metrics order differently.

    Parameters
    ----------
    a, b : DCG, Utility, or array_like of shape (K, L)
        The metrics; the one with fewer positions counts nothing below them.
    grades : array_like of int, shape (N,), optional
        The documents that are ranked, by grade; without them every list of grades is a ranking.
    n_pairs : int
        How many random pairs to look at where there are more than 20 million rankings; up to that many, all are.
    seed : int
        Of the random pairs.
    names : (str, str)
        What to call the metrics in print.

    Returns
    -------
    Disagreement

    Raises
    ------
    InputError
        If the metrics cannot be compared (see `coherence`) or a setting is impossible.

    Notes
    -----
    The number of pairs that two orders disagree on is Kendall's distance, counted by merging, O(n log n). Values closer
    than 1e-12 of a metric's span are tied. Two rankings differ if the grades of all documents do, by position; where
    not all documents have a position, those with the same top K are tied by both.

    Examples
    --------
    >>> from dcglearn import DCG
    >>> linear, exponential = DCG.standard(5, 10, "linear"), DCG.standard(5, 10, "exponential")
    >>> round(disagreement(linear, exponential, grades=[4, 4, 3, 3, 2, 2, 1, 1, 0, 0]).share, 5)
    0.09989
    """
    whole_number(n_pairs, "n_pairs", 1)
    rankings, weights = comparable([a, b], names, grades)
    if rankings.n_lists < 2:
        raise InputError(f"{rankings}: there is no pair to compare")
    if rankings.n_lists <= EXACT:
        everything = rankings.everything(weights)
        first, second = everything.values
        counts = pair_counts(first, second, everything.weight)
        share = _shares(counts)
        return Disagreement(*share, (share[0], share[0]), round(float(counts.sum())), True, rankings, names)
    signs = _sampled_signs(rankings, weights, n_pairs, np.random.default_rng(seed))
    counts = np.array([((signs[0] * signs[1]) == -1).sum(), ((signs[0] * signs[1]) == 1).sum(), 0, 0, 0])
    zero = signs == 0
    counts[2:] = (zero[0] & ~zero[1]).sum(), (zero[1] & ~zero[0]).sum(), zero.all(axis=0).sum()
    share = _shares(counts.astype(np.float64))
    return Disagreement(*share, wilson(share[0], n_pairs), n_pairs, False, rankings, names)


def _shares(counts: Floats) -> tuple[float, float, float, float, float]:
    first, second, third, fourth, fifth = (float(x) for x in counts / counts.sum())
    return first, second, third, fourth, fifth


def _sampled_signs(rankings: Rankings, weights: Sequence[Floats], n: int, rng: np.random.Generator) -> Grades:
    """Return how each metric orders n random pairs of different rankings, shape (M, n)."""
    ranks = np.arange(rankings.depth)
    found, missing = [], n
    while missing:
        size = min(missing, 1 << 17)
        pairs = rankings.sample(2 * size, rng).reshape(2, size, -1)
        pairs = pairs[:, (pairs[0] != pairs[1]).any(axis=1)]
        gaps = np.stack([w[ranks, pairs[0]].sum(axis=1) - w[ranks, pairs[1]].sum(axis=1) for w in weights])
        found.append(np.where(np.abs(gaps) <= TIE, 0, np.sign(gaps)).astype(np.int8))
        missing -= pairs.shape[1]
    return np.concatenate(found, axis=1)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share seen in n trials."""
    centre = share + Z95**2 / (2 * n)
    half = Z95 * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return float(max((centre - half) / (1 + Z95**2 / n), 0.0)), float(min((centre + half) / (1 + Z95**2 / n), 1.0))


def pair_counts(first: Floats, second: Floats, weight: Floats | None = None) -> Floats:
    """Count pairs by how two metrics order them.

    Parameters
    ----------
    first, second : ndarray, shape (n,)
        What each ranking is worth, on a span of 1.
    weight : ndarray, shape (n,), optional
        How many rankings each stands for; those of one entry are tied by both.

    Returns
    -------
    ndarray, shape (5,)
        Ordered differently, ordered alike, tied by the first only, by the second only, by both.
    """
    n_second, ranks = _ranks(second)
    key = _ranks(first)[1] * n_second + ranks
    unit = np.ones(len(key)) if weight is None else weight[np.argsort(key, kind="stable")]
    key.sort()
    pairs = _pairs_of(unit.sum())
    tied_both = _pairs_in_runs(key, unit)
    key, ranks = np.divmod(key, n_second)
    tied_first = _pairs_in_runs(key, unit)
    different = _inversions(ranks, unit)  # sorts ranks, and unit with them
    tied_second = _pairs_in_runs(ranks, unit)
    alike = pairs - different - tied_first - tied_second + tied_both
    return np.array([different, alike, tied_first - tied_both, tied_second - tied_both, tied_both])


def _ranks(values: Floats) -> tuple[int, Integers]:
    """Return the number of different values, and the dense rank of each; what differs by rounding is the same."""
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > TIE
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order[0]] = 0
    ranks[order[1:]] = np.cumsum(steps)
    return int(steps.sum()) + 1, ranks


def _pairs_of(weight: Floats | float) -> float:
    """Return the number of pairs within groups that stand for `weight` rankings each."""
    return float(np.sum(np.asarray(weight) * (np.asarray(weight) - 1) / 2))


def _pairs_in_runs(keys: Integers, unit: Floats) -> float:
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
    return _pairs_of(np.add.reduceat(unit, starts))


@njit(cache=True, nogil=True)
def _inversions(keys: Integers, unit: Floats) -> float:
    """Sort both arrays by key, in place, and return the weight of pairs that stood in the wrong order."""
    n = len(keys)
    other, other_unit = np.empty_like(keys), np.empty_like(unit)
    found = 0.0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            left = 0.0
            for i in range(start, middle):
                left += unit[i]
            i, j = start, middle
            for out in range(start, stop):
                if i < middle and (j == stop or keys[i] <= keys[j]):
                    other[out], other_unit[out] = keys[i], unit[i]
                    left -= unit[i]
                    i += 1
                else:
                    other[out], other_unit[out] = keys[j], unit[j]
                    found += left * unit[j]
                    j += 1
        keys[:], unit[:] = other, other_unit
        width *= 2
    return found


@dataclass(frozen=True, eq=False)
class DisagreementMatrix:
    """How often each two of many metrics disagree.

    Attributes
    ----------
    names : tuple of str
        The metrics.
    share : ndarray, shape (M, M)
        Share of pairs of rankings ordered differently.
    n_lists : int
        Rankings compared, each with each.
    exact : bool
        Whether these are all there are; else they were drawn at random.
    constant : tuple of str
        Metrics left out since every ranking is worth the same to them.
    """

    names: tuple[str, ...]
    share: Floats
    n_lists: int
    exact: bool
    constant: tuple[str, ...] = ()

    def order(self) -> NDArray[np.intp]:
        """Return the metrics in an order that puts like beside like, shape (M,)."""
        from scipy.cluster.hierarchy import leaves_list

        if len(self.names) < 3:
            return np.arange(len(self.names))
        found: NDArray[np.intp] = leaves_list(self.tree())
        return found

    def tree(self) -> Floats:
        """Return SciPy's linkage matrix of the metrics (average shares), shape (M - 1, 4)."""
        from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering
        from scipy.spatial.distance import squareform

        condensed = squareform(self.share, checks=False)
        found: Floats = optimal_leaf_ordering(linkage(condensed, "average"), condensed)
        return found

    def __str__(self) -> str:
        width = max(len(name) for name in self.names)
        how = "all" if self.exact else "random"
        rows = [
            f"{name:<{width}}" + "".join(f"{x:8.4f}" for x in row)
            for name, row in zip(self.names, self.share, strict=True)
        ]
        constant = f"; left out, all rankings being worth the same to them: {', '.join(self.constant)}"
        words = f"(share of pairs ordered differently; {self.n_lists:,} rankings, {how}"
        return "\n".join([*rows, words + (constant if self.constant else "") + ")"])


def disagreement_matrix(
    metrics: Mapping[str, Metric],
    grades: ArrayLike | None = None,
    *,
    max_lists: int = 200_000,
    seed: int = 0,
    progress: bool = False,
) -> DisagreementMatrix:
    """Return how often each two of many metrics disagree.

    Parameters
    ----------
    metrics : mapping of str to metric
        Such as `textbook_dcgs(5, 10)`.
    grades : array_like of int, shape (N,), optional
        The documents that are ranked; without them every list of grades is a ranking.
    max_lists : int
        Where there are more rankings, 5,000 random ones are compared, each with each.
    seed : int
        Of the random rankings.
    progress : bool
        Show a bar.

    Returns
    -------
    DisagreementMatrix

    Raises
    ------
    InputError
        If there are fewer than two metrics, or they cannot be compared (see `coherence`).

    Examples
    --------
    >>> from dcglearn import textbook_dcgs
    >>> found = disagreement_matrix(textbook_dcgs(3, 4), grades=[2, 2, 1, 0])
    >>> found.share.shape, bool(found.share.max() < 0.5)
    ((30, 30), True)
    """
    from tqdm import tqdm

    rankings, weights = on_one_shape(list(metrics.values()), list(metrics), grades) if metrics else (None, [])
    scaled = {name: rankings.scaled(one) for name, one in zip(metrics, weights, strict=True)} if rankings else {}
    names = tuple(name for name, one in scaled.items() if one is not None)
    weights = [one for one in scaled.values() if one is not None]
    if rankings is None or len(names) < 2:
        raise InputError(
            f"{len(names)} of {len(metrics)} metrics order these rankings at all; a matrix needs two or more"
        )
    exact = rankings.n_lists <= whole_number(max_lists, "max_lists", 2)
    if exact:
        everything = rankings.everything(weights)
        values, unit = everything.values, everything.weight
    else:
        lists, unit = rankings.sample(5000, np.random.default_rng(seed)), None
        ranks = np.arange(rankings.depth)
        values = np.stack([w[ranks, lists].sum(axis=1) for w in weights])
    share = np.zeros((len(names), len(names)))
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    for i, j in tqdm(pairs, desc="comparing", disable=not progress):
        counts = pair_counts(values[i], values[j], unit)
        share[i, j] = share[j, i] = counts[0] / counts.sum()
    constant = tuple(name for name, one in scaled.items() if one is None)
    return DisagreementMatrix(names, share, values.shape[1], exact, constant)
