"""One DCG for all? Whether a DCG for each segment of a log predicts held-out preferences better
than a common one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.intervals import LEVEL, normal_quantile
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.progress import counted, stage
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.learning.held_out_values import held_out_values
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.resampling import decided_pairs, folds_of, mean_and_error, sampled, unit_of

COLUMNS = ("segment", "rater", "query")
"""Columns whose values can be segments."""

FEWEST_LEARNED = 20
"""A segment of fewer decided pairs has no DCG of its own."""


@dataclass(frozen=True)
class Segment:
    """One segment: its name, its number of decided pairs, and held-out shares (None where it has no
    DCG of its own).

    `own` is the share of the segment's held-out preferences that its own DCG respects, `common`
    that of the DCG of all.
    """

    name: str
    n_pairs: int
    own: float | None = None
    common: float | None = None


@dataclass(frozen=True)
class SegmentTest:
    """The gain of a DCG for each segment over a common one, on held-out preferences; prints as a
    table with a sentence.

    `gain` is the share of preferences respected by the segments' DCGs minus that of the common DCG,
    `error` its standard error and `interval` its 90% interval; `likelihood_gain` and
    `likelihood_error` are the same for the mean log probability of a preference. `segments` come
    the largest first, by the column `by`; `unit` was held out, and standard errors are by it.
    `n_pairs` counts the held-out pairs of segments that have a DCG of their own.
    """

    gain: float
    error: float
    likelihood_gain: float
    likelihood_error: float
    interval: tuple[float, float]
    segments: tuple[Segment, ...]
    by: str
    unit: str
    n_pairs: int

    @property
    def found(self) -> bool:
        """Whether segments are shown to need DCGs of their own: the interval of the gain lies above
        0.
        """
        return self.interval[0] > 0

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        low, high = self.interval
        numbers = f"{self.gain:+.4f} of the held-out preferences, {LEVEL:.0%} interval {low:+.4f} to {high:+.4f}"
        n = sum(segment.own is not None for segment in self.segments)
        if self.found:
            return f"a DCG for each {self.by} is better than one for all ({numbers}; {n} of them): learn one for each"
        if high < 0:
            return (
                f"one DCG for all is better than a DCG for each {self.by} ({numbers}; {n} of them)"
            )
        return f"one DCG for all is enough: a DCG for each {self.by} is not shown to be better ({numbers}; {n} of them)"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        segments = [vars(segment) for segment in self.segments]
        return {**vars(self), "segments": segments, "found": self.found, "sentence": self.sentence}

    def __str__(self) -> str:
        lines = [f"  {'pairs':>8}  {'own':>6}  {'common':>6}  {self.by}"]
        for part in self.segments:
            shares = [
                " " * 6 if share is None else f"{share:.4f}" for share in (part.own, part.common)
            ]
            few = "" if part.own is not None else " (too few: the common DCG)"
            lines.append(
                f"  {part.n_pairs:>8,}  {shares[0]}  {shares[1]}  {one_line(part.name) or '(none)'}{few}"
            )
        return "\n".join([*lines, self.sentence])


def segment_test(
    log: Preferences | ArrayLike, by: str = "segment", *, seed: int = 0
) -> SegmentTest:
    """Test whether segments of queries or raters need DCGs of their own.

    In each fold, a common DCG is learned from the training pairs, and a DCG for each segment from
    its own, with the common one as the prior. A segment of fewer than 20 pairs, or beyond the 30
    largest, keeps the common DCG. Fits and standard errors are as in `lack_of_fit`. Raises
    InputError if the log lacks the column, or fewer than two segments have enough decided pairs.

    Parameters
    ----------
    log, seed : Preferences, int
        As in `lack_of_fit`; ties are left out.
    by : {"segment", "rater", "query"}
        The column whose values are the segments: "rater" asks whether judges differ in taste.

    See Also
    --------
    lack_of_fit : Whether one DCG fits the log.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 200, lists="free", seed=0)
    >>> halves = Preferences(log.preferred, log.other, segment=np.repeat(["new", "old"], 100))
    >>> segment_test(halves).found
    False
    """
    pairs = decided_pairs(log)
    names, number, size = np.unique(_labels(pairs, by), return_inverse=True, return_counts=True)
    order = np.argsort(-size, kind="stable")
    large = [int(s) for s in order[:30] if size[s] >= FEWEST_LEARNED]
    if len(large) < 2:
        raise InputError(
            f"by={by!r}: {len(large)} of {len(names)} segment(s) have at least {FEWEST_LEARNED} decided pairs (the "
            f"largest, {str(names[order[0]])!r}, has {size[order[0]]}); it takes two: get more "
            "judgements, or merge segments",
            see="too-few",
        )
    unit = unit_of(
        pairs, without=by, per_list=1 if by == "segment" else 2
    )  # the segments are not held out whole
    with stage("segments"):
        rows, values = _held_out(pairs, number, large, unit, seed)
    held_out, of = pairs[rows], number[rows]
    weight = np.ones(len(rows)) if held_out.weight is None else held_out.weight
    mean, error = mean_and_error(values[0] - values[1], weight, held_out.clusters(unit))
    reach = float(normal_quantile(LEVEL) * error[0])

    def segment(s: int) -> Segment:
        own = of == s
        shares = (values[:, 0, own] @ weight[own] / weight[own].sum()).tolist() if own.any() else ()
        return Segment(str(names[s]), int(size[s]), *shares)

    return SegmentTest(
        gain=float(mean[0]),
        error=float(error[0]),
        likelihood_gain=float(mean[1]),
        likelihood_error=float(error[1]),
        interval=(float(mean[0]) - reach, float(mean[0]) + reach),
        segments=tuple(segment(int(s)) for s in order),
        by=by,
        unit=unit,
        n_pairs=len(rows),
    )


def _labels(log: Preferences, by: str) -> NDArray[np.str_]:
    if by not in COLUMNS:
        raise InputError(f"by={by!r} is not one of {', '.join(COLUMNS)}")
    labels = getattr(log, by)
    if labels is None:
        raise InputError(
            f"the log has no column {by!r}: give it on each line, or test by another column"
        )
    if len(np.unique(labels)) == 1:
        raise InputError(
            f"by={by!r}: all pairs are of one segment, {str(labels[0])!r}: there is nothing to compare"
        )
    return labels


def _held_out(
    log: Preferences, number: NDArray[np.intp], large: list[int], unit: str, seed: int
) -> tuple[NDArray[np.intp], Floats]:
    """Return the held-out rows of large segments, and `held_out_values` of own and common DCG
    there, (2, 2, n).
    """
    rows, values, rng = [], [], np.random.default_rng(seed)
    folds = folds_of(log, unit, seed)
    whole = fit_direct(sampled(log, rng), DirectDescription())
    for train, test in counted(folds, len(folds), "folds"):
        common = fit_direct(sampled(log[train], rng), DirectDescription(), whole).dcg
        for s in large:
            own_train, own_test = train[number[train] == s], test[number[test] == s]
            if len(own_train) < FEWEST_LEARNED // 2 or not len(own_test):
                continue
            part, held_out = sampled(log[own_train], rng), log[own_test]
            own = fit_direct(part, DirectDescription(prior=common), common).dcg
            rows.append(own_test)
            values.append([held_out_values(metric, part, held_out) for metric in (own, common)])
    if not rows:
        raise InputError(
            f"no segment has pairs to learn from and others to hold out by {unit}: get more judgements"
        )
    return np.concatenate(rows), np.concatenate(values, axis=2)
