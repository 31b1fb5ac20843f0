"""Digests of the raw results of every kernel: the bits are the same on every platform.

``python -m tests.kernels.bits`` prints a line for each kernel, ``... bits 20`` those of the first
20 cases. The inputs come from whole numbers and uniform ones of NumPy's generator, from the four
operations, sorting and cumulative sums: these, unlike NumPy's exp, log and normal numbers and
unlike BLAS, give the same bits everywhere.
"""

import hashlib
import sys
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dcglearn.coherence import disagreements
from dcglearn.kernels.library import function
from dcglearn.learning import model, objective, pair_sums, pairs, prior, search
from dcglearn.learning.pairs import CURVATURE, SLOPES, VALUE, Pairs
from dcglearn.losses import class_kernel, dcg_kernel, pair_kernel, rank_kernel, smooth
from dcglearn.losses.objective import Batch as ObjectiveBatch
from dcglearn.metrics.smooth_discount import SmoothDiscount

N_CASES = 200
"""Logs, each with its points, curves, pairs and rankings."""

RUN = 120
"""Judgements that a kernel takes at once; the edges of a run are tried."""

LENGTHS = (0, 1, 2, 3, 7, 8, 9, 17, *range(RUN - 1, RUN + 2), *range(2 * RUN - 1, 2 * RUN + 2), 700)

PAIR_BLOCKS = (1, 3, 64, pair_sums.BLOCK)
"""Pairs that the kernel of the QP gathers before it counts them; the last is the package's own."""

_elementary = function("elementary which n f[n] f[n]")
_complementary_errors = function("complementary_errors n f[n] f[n]")


class Digests:
    """A digest of all results of each kernel, by its name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Any] = {}

    def add(self, name: str, *results: np.ndarray) -> None:
        """Add results to a kernel's digest; one that is not a number has no bits to rely on."""
        digest = self._by_name.setdefault(name, hashlib.sha256())
        for result in results:
            array = np.ascontiguousarray(result)
            assert not np.isnan(array).any(), f"a result of {name} is not a number"
            digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())

    def digests(self) -> dict[str, str]:
        """Return 16 hexadecimal digits by the kernel's name."""
        return {name: digest.hexdigest()[:16] for name, digest in self._by_name.items()}


def pick(rng, values):
    """Return one of some values."""
    return values[int(rng.integers(len(values)))]


def between(rng, low, high, shape):
    """Return uniform numbers."""
    return low + (high - low) * rng.random(shape)


def grades(rng, shape, n_grades, lowest=-1):
    """Return grades; -1 is one that is not known."""
    return rng.integers(lowest, n_grades, shape).astype(np.int8)


# Judgements at points.


@dataclass
class Case:
    """A log, and the points at which its losses are summed."""

    lists: np.ndarray
    columns: tuple[np.ndarray, ...]  # levels, raters, weights and ways
    gains: np.ndarray
    discounts: np.ndarray
    judges: tuple[np.ndarray | None, ...]  # powers, thresholds, errors and biases


def case_of(rng, i):
    """Return a random log with its points; a few of them are edges of what there can be."""
    n, depth, n_grades = pick(rng, LENGTHS), int(rng.integers(1, 11)), int(rng.integers(2, 7))
    n_levels, n_raters = int(rng.integers(1, 5)), pick(rng, (1, 1, 1, 2, 3, 40))
    n_points, sided, ties = pick(rng, (1, 2, 5, 17)), bool(rng.integers(2)), bool(rng.integers(2))
    if i % 3 == 0:
        n_levels, ties = 1, False  # Bradley and Terry's plain preferences
    if i == 4:
        depth = n_grades = 1
    if i == 5:
        n_levels, ties, n = 127, True, 700
    if i == 6:
        n_grades, n, n_points = 128, 400, 1
    if i == 7:
        n_raters, n, sided = 300, 700, True
    if i == 8:
        n, n_points = 33_000, 1  # losses are added by blocks of 2^15
    if i == 9:
        depth, n = 64, RUN + 1

    # judgements: a column has one entry for all, or one each
    level = rng.integers(0 if ties else 1, n_levels + 1, pick(rng, (1, n))).astype(np.int8)
    rater = rng.integers(0, n_raters, pick(rng, (1, n))).astype(np.int32)
    weight = pick(rng, (between(rng, 0.1, 2, n), rng.integers(0, 4, n) / 2, np.array([0.75])))
    way = rng.integers(-1, 2, pick(rng, (1, n))).astype(np.int8)
    powers = pick(rng, (None, between(rng, 0, 1, n_points)))

    # points: utilities from within the judges' noise to far beyond it
    gains = np.cumsum(rng.random((n_points, n_grades)), axis=1)
    if rng.integers(2):
        gains = between(rng, -1, 1, (n_points, n_grades))
    scale = pick(rng, (0.1, 1.0, 5.0, 40.0, 500.0))
    discounts = between(rng, 0.1, 1, (n_points, depth)) * scale
    thresholds = np.zeros((n_points, n_levels + 2))
    steps = between(rng, 0.02, 1, (n_points, n_levels)) * pick(rng, (1.0, 1.0, 8.0, 300.0))
    thresholds[:, 1:-1] = np.cumsum(steps, axis=1)
    if not ties:
        thresholds[:, 1:-1] -= steps[:, :1]
    thresholds[:, -1] = np.inf

    # judges: error rates, in part none, and position biases
    errors = between(rng, 1e-6, 0.6, (n_points, n_raters)) * pick(rng, (0.0, 1e-9, 0.2, 1.0))
    biases = between(rng, -2, 2, (n_points, n_raters)) if sided else None
    columns, judges = (level, rater, weight, way), (powers, thresholds, errors, biases)
    return Case(grades(rng, (2, n, depth), n_grades), columns, gains, discounts, judges)


def add_judgements(digests, rng, case):
    """Add sums over the judgements of each order, whole and in part."""
    n = case.lists.shape[1]
    log = Pairs(*case.lists, *case.columns)
    columns = log.level, log.rater, log.weight, log.way
    varies = [int(len(column) > 1) for column in columns]
    for order in (VALUE, SLOPES, CURVATURE):
        for rows in ((0, n), (n // 3, n - n // 4)):
            given = log.first, log.second, *columns, case.gains, case.discounts, *case.judges
            *sums, _ = pairs.judgement_sums(*rows, *varies, order, *given)
            digests.add("add_judgements", *sums)


def add_verdicts(digests, rng):
    """Add probabilities of single verdicts of every kind, with derivatives."""
    n = pick(rng, LENGTHS)
    z = between(rng, -1, 1, n) * pick(rng, (0.01, 3.0, 50.0, 900.0))
    low = between(rng, 0.01, 2, n) * pick(rng, (1.0, 20.0, 400.0))
    high = low + between(rng, 0.01, 2, n) * pick(rng, (1.0, 20.0))
    high[rng.integers(0, 2, n) > 0] = np.inf
    error = between(rng, 0, 0.6, n) * pick(rng, (0.0, 1.0))
    tie = rng.integers(0, 2, n).astype(np.int8)
    plain = (rng.integers(0, 3, n) == 0) & (tie == 0)
    low[plain], high[plain] = 0.0, np.inf
    digests.add("verdicts", *pairs.verdicts(z, low, high, tie, error))

    for threshold in (0.0, 0.3, 5.0, 350.0):
        digests.add("chances", pairs.chances(z, threshold, error))


# Curves.


def add_curves(digests, rng):
    """Add points of curves, their prior, and derivatives in their parameters."""
    n_alpha, falls, n_levels = int(rng.integers(1, 6)), int(rng.integers(1, 12)), pick(rng, (1, 4))
    error, empty, power, bias, ties = (int(x) for x in rng.integers(0, 2, 5))
    n_raters, n = pick(rng, (1, 3)), pick(rng, (1, 2, 5))
    sizes = [n_alpha, falls, error, empty, power, bias, n_levels - 1 + ties]
    zero = n_alpha + 1 if empty else int(rng.integers(0, n_alpha))
    layout = np.array([*sizes, 1 if ties else 2, n_alpha % 2, zero], np.int64)
    p = sum(sizes)
    thetas = between(rng, -2, 2, (n, p)) * pick(rng, (0.3, 1.0, 4.0))

    # points
    n_gains, n_thresholds = n_alpha + 1, n_levels + 2
    powers, own = np.zeros(n), between(rng, -1, 1, (2, n_raters))
    points = model.fill_points(layout, n_gains, falls, n_thresholds, thetas, *own, powers)
    gains, discounts, thresholds, errors, biases = points
    thresholds[:, -1] = np.inf
    digests.add("fill_points", gains, discounts, powers, thresholds, errors, biases)

    # prior
    n_linear = int(rng.integers(1, 8))
    linear = between(rng, -1, 1, (n_linear, p)) * rng.integers(0, 2, (n_linear, p))
    centres, n_bends = between(rng, -1, 1, n_linear), int(rng.integers(0, n_linear + 1))
    bends = int(rng.integers(0, n_bends + 1)), n_bends
    numbers = *bends, 1, 1.7, 4.0, 0.3
    values, gradients, hessians = prior.add_prior(*numbers, linear, centres, thetas)
    digests.add("add_prior", values, gradients, hessians)

    # derivatives, without and with the second
    m = n_gains + falls + n_thresholds + 3
    slopes, joint = between(rng, -1, 1, (n, m)), between(rng, -1, 1, (n, m, m))
    joint = (joint + joint.transpose(0, 2, 1)) * rng.integers(0, 2, (n, m, m))
    for second in (None, joint):
        given = layout, 0.7, thetas, gains, discounts, slopes, second
        objective.add_in_parameters(*given, gradients, hessians)
        digests.add("add_in_parameters", gradients, hessians)


def add_steps(digests, rng):
    """Add steps of descents, free and between bounds, where functions curve up and down."""
    n, d = pick(rng, (1, 2, 5)), pick(rng, (1, 2, 5, 9, 30))
    hessians = between(rng, -1, 1, (n, d, d))
    hessians = (hessians + hessians.transpose(0, 2, 1)) * pick(rng, (1e-3, 1.0, 1e4))
    hessians[:, range(d), range(d)] += pick(rng, (0.0, 1.0, 20.0, 1e5))
    gradients = between(rng, -1, 1, (n, d)) * pick(rng, (0.1, 10.0, 1e4))
    rooms = []
    for side in (-1.0, 1.0):
        room = rng.random((n, d)) * rng.integers(0, 3, (n, d))  # 0: at the bound
        room[rng.integers(0, 3, (n, d)) == 0] = np.inf
        rooms.append(side * room)
    radii, dampings = between(rng, 1e-3, 2, n), rng.random(n) * rng.integers(0, 2, n)

    out = search.dense_steps(gradients, hessians, *rooms, radii, dampings)
    digests.add("dense_steps", out, dampings)


# Pairs, discounts and rankings.


def add_pairs(digests, rng, case):
    """Add sums of the QP over pairs, on scales that are counted and on those that are too wide."""
    first, second = case.lists
    n, depth = first.shape
    width, n_joint = case.gains.shape[1] + 1, depth * (depth - 1) // 2
    n_codes = width * width
    margins, weights = (pick(rng, (between(rng, 0.1, 2, n), np.array([1.0]))) for _ in range(2))
    varies = int(len(margins) > 1), int(len(weights) > 1)
    flat = between(rng, -1, 1, depth * width) * pick(rng, (0.1, 1.0))
    flat[::width] = 0.0
    given = first, second, margins, weights, flat

    for start, stop in ((0, n), (n // 3, n - n // 4)):
        for block in PAIR_BLOCKS:
            counted = depth if n_joint * n_codes**2 <= pair_sums.MAX_TABLE else 0
            sizes = start, stop, depth, width, counted, block
            digests.add("add_pairs", *pair_sums._add_pairs(*sizes, *varies, *given))

        sizes = start, stop, depth, width
        both = pair_sums._add_wide_pairs(*sizes, *varies, *given)
        digests.add("add_wide_pairs", both)


def add_discounts(digests, rng):
    """Add smooth discounts of all five kinds at real-valued ranks."""
    n, depth = pick(rng, LENGTHS), int(rng.integers(1, 12))
    pieces = between(rng, -1, 1, (depth, 4))
    numbers = (pieces.ravel(), [1.7], [0.3], [2.0], [1.1, -0.35])
    ranks = 1.0 + (depth + 3.0) * rng.random(n)
    ranks = np.append(ranks, np.arange(1.0, depth + 4))
    for kind, of_kind in enumerate(numbers):
        smooth = SmoothDiscount(kind, np.array(of_kind), np.zeros(depth))
        digests.add("fill_discounts", *smooth.with_slope(ranks))


def add_inversions(digests, rng):
    """Add inversions of weighted keys."""
    n = pick(rng, LENGTHS)
    keys, sizes = rng.integers(-5, pick(rng, (5, 10**9)), n), between(rng, 0, 3, n)
    total = disagreements._inversions(keys, sizes)
    digests.add("inversions", np.array([total]), keys, sizes)


def add_elementary(digests, rng):
    """Add the elementary functions, over the ranges that they are made for and at their ends."""
    x = between(rng, -1, 1, pick(rng, LENGTHS)) * pick(rng, (1e-9, 1.0, 50.0, 800.0))
    x = np.append(x, [0.0, -0.0, 5e-324, 709.7, -708.0, np.inf])
    y = np.empty(len(x))
    for which in range(4):
        given = np.abs(x[: -1 if which == 3 else None]) if which > 1 else x
        _elementary(which, len(given), given, y)
        digests.add("elementary", y[: len(given)])


# The losses of documents.


@dataclass
class Batch:
    """Queries of documents: in their own order, and sorted by query and falling score."""

    scores: np.ndarray
    grades: np.ndarray
    offsets: np.ndarray
    gains: np.ndarray
    weight: np.ndarray

    @property
    def order(self):
        """The documents by query and falling score."""
        query = np.repeat(np.arange(len(self.weight)), np.diff(self.offsets))
        return np.lexsort((-self.scores, query))

    def parts(self):
        """Return the ends of some parts of the documents."""
        n = len(self.scores)
        return pairwise(sorted({0, n // 3, n // 3 + 1, n}))


def batch_of(rng):
    """Return a random batch, in which queries are empty, or their scores tie or lie far apart."""
    sizes = rng.integers(0, pick(rng, (2, 9, 40, 90)), pick(rng, (1, 3, 6)))
    sizes[int(rng.integers(len(sizes)))] += 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n, n_grades = int(offsets[-1]), int(rng.integers(1, 7))
    scores = between(rng, -1, 1, n) * pick(rng, (1e-3, 1.0, 40.0, 1e4, 1e200, 1.7e308))
    if rng.integers(2):
        scores = rng.integers(-3, 4, n) / 4
    gains = np.cumsum(rng.random(n_grades)) - pick(rng, (0.0, 1.0))
    weight = rng.random(len(sizes)) * rng.integers(0, 4, len(sizes))
    return Batch(scores, rng.integers(0, n_grades, n), offsets, gains, weight)


def add_dcgs(digests, rng, batch):
    """Add DCGs at real-valued ranks, ideal values, and average precisions."""
    order, offsets, gains = batch.order, batch.offsets, batch.gains
    checked = ObjectiveBatch(batch.scores, batch.grades, offsets, batch.weight)
    by_gain = np.argsort(-gains, kind="stable")
    depth, n = int(rng.integers(1, 60)), len(order)
    longest = checked.longest

    numbers = (between(rng, -1, 1, 4 * depth), [1.7], [0.3], [2.0], [1.1, -0.35])
    ranks, edge, beta = (
        1.0 + 30.0 * rng.random(n),
        30.0 * rng.random(),
        pick(rng, (0.1, 5.0, 200.0)),
    )
    edges = [np.array([edge]), np.array([np.inf]), 30.0 * rng.random(len(batch.weight))]
    for kind, of_kind in enumerate(map(np.array, numbers)):
        for own in (edge, np.inf):
            sums = dcg_kernel.truncated_sums(kind, longest, own, beta, of_kind)
            digests.add("truncated_sums", sums)
        given = longest, batch.grades, offsets, gains, by_gain, sums, batch.weight
        ideals = dcg_kernel.over_soft_rank_ideals(*given)
        digests.add("over_soft_rank_ideals", ideals)
        for own in edges:
            documents = ranks, order, batch.grades, offsets
            curves = gains, of_kind, own, batch.weight
            value, slope = dcg_kernel.dcg_of_ranks(len(own), kind, beta, *documents, *curves)
            digests.add("dcg_of_ranks", np.array([value]), slope)

    falling = -np.sort(between(rng, -1, 0.5, depth))
    given = longest, batch.grades, offsets, gains, by_gain, falling, batch.weight
    digests.add("over_whole_rank_ideals", dcg_kernel.over_whole_rank_ideals(*given))

    relevant, ends = dcg_kernel.relevant_documents(order, checked, int(rng.integers(0, 4)))
    digests.add("find_relevant", relevant, ends)
    among = 1.0 + rng.random(len(relevant))
    value, *slopes = dcg_kernel.average_precision(ranks, relevant, among, ends, batch.weight)
    digests.add("average_precision", np.array([value]), *slopes)


def add_positions(digests, rng, batch):
    """Add soft positions, metrics of these, and ranks of noisy scores."""
    order, offsets, n = batch.order, batch.offsets, len(batch.scores)
    f, gain = batch.scores[order], batch.gains[batch.grades[order]]
    depth, s = pick(rng, (1, 3, 10, 100)), pick(rng, (1e-6, 0.01, 1.0, 1e6))
    discounts = between(rng, -0.2, 1, depth)
    mass, mean, turn, slopes = np.zeros(n), np.empty(n), np.empty(n), np.empty(n)
    documents = f, gain, offsets
    for part in batch.parts():
        smooth._soft_positions(*part, depth, s, *documents, mass, mean, turn)
    digests.add("soft_positions", mass, mean, turn)

    given = offsets, rng.random(n), batch.weight, rng.random(n)
    value, w = smooth.precision_of_means(*given)
    digests.add("precision_of_means", np.array([value]), w)
    value, w = smooth.dcg_of_means(offsets, discounts, batch.weight, mean)
    digests.add("dcg_of_means", np.array([value]), w)
    for part in batch.parts():
        given = *part, depth, s, *documents, w, mass, mean, turn, slopes
        smooth._soft_positions_vjp(*given)
    digests.add("soft_positions_vjp", slopes)

    for part in batch.parts():
        slopes, longest = np.zeros(n), int(np.diff(offsets).max())
        arrays = *documents, discounts, batch.weight, slopes
        sigma = pick(rng, (1e-3, 0.2, 5.0))
        value = smooth.expected_dcg(*part, longest, sigma, *arrays)
        digests.add("expected_dcg", np.array([value]), slopes)

    x = between(rng, -30, 30, pick(rng, LENGTHS)) * pick(rng, (0.0, 1e-9, 0.2, 1.0))
    y = np.empty(len(x))
    _complementary_errors(len(x), x, y)
    digests.add("complementary_errors", y)


def add_document_pairs(digests, rng, batch):
    """Add losses and lambdas of pairs of documents, and the sweep of RankSVM."""
    scores, grades, offsets, weight = batch.scores, batch.grades, batch.offsets, batch.weight
    if np.abs(scores).max() > 1e100:
        scores = scores / 1e200
    order, n, n_grades = batch.order, len(scores), len(batch.gains)
    f, gain = scores[order], batch.gains[grades[order]]
    for kind in pair_kernel.PairLoss:
        discounts, steepness = between(rng, -0.2, 1, pick(rng, (1, 5, 100))), pick(rng, (0.1, 30.0))
        for part in batch.parts():
            slopes = np.zeros(n)
            arrays = f, gain, offsets, discounts, weight, slopes
            value = pair_kernel.weighted_pairs(*part, kind, steepness, *arrays)
            digests.add("weighted_pairs", np.array([value]), slopes)

    # documents by query, class and falling score
    query = np.repeat(np.arange(len(weight)), np.diff(offsets))
    segment = query * n_grades + grades
    f = scores[np.lexsort((-scores, segment))]
    segments = np.searchsorted(np.sort(segment), np.arange(len(weight) * n_grades + 1))
    digests.add("over_pairs", pair_kernel.over_pairs(n_grades, segments, weight))
    tops, bottoms = np.zeros(len(segments) - 1), np.zeros(len(segments) - 1)
    down, squares, up = np.zeros((3, n + len(segments)))
    for s, (start, stop) in enumerate(pairwise(segments)):
        if start < stop:
            tops[s], bottoms[s] = f[start], f[stop - 1]
            down[s + start + 1 : s + stop + 1] = np.cumsum(f[start:stop] - tops[s])
            squares[s + start + 1 : s + stop + 1] = np.cumsum((f[start:stop] - tops[s]) ** 2)
            up[s + start : s + stop] = np.cumsum((f[start:stop] - bottoms[s])[::-1])[::-1]
    for squared in (False, True):
        for part in batch.parts():
            slopes = np.zeros(n)
            arrays = f, segments, tops, bottoms, down, squares, up, weight, slopes
            margin = pick(rng, (0.01, 1.0))
            value = pair_kernel._hinge(*part, n_grades, squared, margin, *arrays)
            digests.add("hinge", np.array([value]), slopes)

    # lambdas, from the widest scores too
    discounts = between(rng, -0.2, 1, int(np.diff(offsets).max()))
    for step in pair_kernel.PairStep:
        out, curvature = np.empty(n), np.empty(n)
        for part in pairwise((0, len(weight) // 2, len(weight))):
            longest = int(np.diff(offsets)[slice(*part)].max(initial=0))
            alpha, damped = pick(rng, (0.1, 1.0, 20.0)), bool(rng.integers(2))
            arrays = batch.scores, grades, batch.gains[grades], offsets, discounts, weight
            settings = *part, n_grades, longest, step, damped, alpha
            pair_kernel.lambdas(*settings, *arrays, out, curvature)
        digests.add("lambdas", out, curvature)

    ascending, y = np.lexsort((scores, query)), grades.astype(np.int8)
    value, slopes = pair_kernel.hinge_sums(scores, y, offsets, ascending)
    curved = pair_kernel.hinge_curvature(between(rng, -1, 1, n), scores, y, offsets, ascending)
    digests.add("sweep", np.array([value]), slopes, curved)


def add_ranks(digests, rng):
    """Add soft ranks, of boxes with few documents and with many, and hinge ranks of classes."""
    sizes = rng.integers(0, pick(rng, (3, 60, 400, 900)), pick(rng, (1, 2, 5)))
    sizes[0] += 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n, alpha = int(offsets[-1]), pick(rng, (0.1, 1.0, 10.0, 100.0))
    scores = between(rng, -1, 1, n) * pick(rng, (1e-3, 1.0, 30.0, 1e4)) / alpha
    if rng.integers(2):
        scores = rng.integers(-30, 31, n) / 4

    # soft ranks
    order, f = rank_kernel.sorted_queries(scores, offsets, 1)
    digests.add("sort_queries", order, f)
    digests.add("fill_cosines", rank_kernel._COSINES)
    *boxes, head, tail = rank_kernel.prepare(f, offsets, alpha, rank_kernel.POINTS_PAY)
    digests.add("prepare", *boxes, head, tail[head])  # the others are not set
    soft, w = rank_kernel.SoftRanks(f, offsets, alpha, pick(rng, (1, 3))), between(rng, -1, 1, n)
    w[pick(rng, (n, n // 2)) :] = 0.0
    digests.add("condense", soft._condensed(w))
    digests.add("soft_ranks", soft.ranks(), soft.ranks(5.0))
    digests.add("soft_ranks_vjp", soft.vjp(w))

    # hinge ranks of documents by class
    n_classes = int(rng.integers(1, 6))
    grades, classes = rng.integers(0, n_classes, n), np.arange(n_classes)
    segments, places = class_kernel.by_class(n_classes, order, offsets, grades, classes)
    digests.add("by_class", segments, places)
    g = np.empty(n)
    g[places] = f
    filled = np.diff(segments) > 0
    tops = np.where(filled, g[np.minimum(segments[:-1], n - 1)], 0.0)
    bottoms = np.where(filled, g[segments[1:] - 1], 0.0)
    documents = class_kernel.Classes(order, g, n_classes, segments, tops, bottoms)
    down = documents.from_top(documents.below_top())
    up = documents.from_bottom(documents.above_bottom())

    blocks = rank_kernel.prepare(g, segments, alpha, n + 1)[-3:]
    ranks, slopes = np.empty(n), np.empty(n)
    given = n_classes, alpha, g, segments
    for part in pairwise(sorted({0, n // 3, n})):
        arrays = tops, bottoms, down, up, *blocks, ranks
        class_kernel._hinge_ranks(*part, *given, *arrays)
    digests.add("hinge_ranks", ranks)
    digests.add("widest_ranks", documents.widest_ranks(ranks, offsets, 3, 0.0))

    down, up = documents.from_top(w), documents.from_bottom(w)
    at = np.arange(n) + np.repeat(np.arange(len(segments) - 1), np.diff(segments))
    digests.add("sums_from_top", down[at])
    digests.add("sums_from_bottom", up[at])
    for part in pairwise(sorted({0, n // 3, n})):
        arrays = w, down, up, *blocks, slopes
        class_kernel._hinge_ranks_vjp(*part, *given, *arrays)
    digests.add("hinge_ranks_vjp", slopes)


def add_losses(digests, rng):
    """Add the losses of a batch."""
    batch = batch_of(rng)
    add_dcgs(digests, rng, batch)
    add_positions(digests, rng, batch)
    add_document_pairs(digests, rng, batch)
    add_ranks(digests, rng)


OF_CASE = add_judgements, add_pairs
OTHERS = add_verdicts, add_curves, add_steps, add_discounts, add_inversions, add_elementary
OTHERS += (add_losses,)
"""What adds results of a log, and of other inputs, each with a generator of its own."""


def digests_of(n_cases: int = N_CASES) -> dict[str, str]:
    """Return the digest of each kernel over some random cases."""
    digests = Digests()
    for i in range(n_cases):
        case = case_of(np.random.default_rng(i), i)
        for number, add in enumerate(OF_CASE):
            add(digests, np.random.default_rng((number, i)), case)
        for number, add in enumerate(OTHERS, len(OF_CASE)):
            add(digests, np.random.default_rng((number, i)))

    return digests.digests()


def main() -> None:
    """Print a line for each kernel."""
    for name, digest in digests_of(*map(int, sys.argv[1:])).items():
        print(f'"{name}": "{digest}",')


if __name__ == "__main__":
    main()
