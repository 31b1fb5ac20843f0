"""Test of segments: a DCG for each against one for all.

The statistic is by how much the objective, loss and prior, falls where each segment has a DCG and a
judge of its own, rather than one DCG for all and an error rate for each segment. It is compared
with that on logs of the one DCG (`nested_test`). What own DCGs are good for is told by their gain
on held-out preferences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, student_interval
from dcglearn.foundation.progress import stage
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Fields, Floats, Indices, InputError, PolarsFrame, one_of
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.direct_search import search_near
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg, fit_direct
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.held_out_frame import HeldOut, Rows, held_out_frame, held_out_values
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    N_SIMULATED,
    LogsOfDCG,
    blunter_draws,
    nested_test,
)
from dcglearn.trust.resampling import (
    decided_pairs,
    folds_of,
    reweighted,
    sampled,
    speaks_of,
    unit_of,
)

FEWEST_LEARNED = 20
"""A segment of fewer decided pairs has no DCG of its own."""


@dataclass(frozen=True)
class Segment:
    """One segment: its name, its number of decided pairs, and held-out shares.

    `own` is the share of the segment's held-out preferences that its own DCG respects, `common` the
    share that the DCG of all respects. Both are None where the segment has no DCG of its own.
    """

    name: str
    n_pairs: int
    own: float | None = None
    common: float | None = None


@dataclass(frozen=True)
class SegmentTest(Finding):
    """Whether segments differ, and the gain of a DCG for each.

    `p_value` is the share of logs of one DCG, this one included, that fit as much better with a DCG
    for each segment. All else is of held-out preferences: `gain` is the share respected by the
    segments' DCGs minus that of the common DCG, `error` its standard error and `interval` its 90%
    interval; `likelihood_gain` and `likelihood_error` are the same for the mean log probability of
    a preference. `segments` come the largest first, by the column `by`; `unit` was held out, and
    standard errors are by it, so that they speak of `whom_of`. `n_pairs` counts the held-out pairs
    of segments that have a DCG of their own.
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
    p_value: float
    whom_of: str = "new pairs of lists"

    @property
    def found(self) -> bool:
        """Whether segments are shown to differ: the p-value is at most 5%."""
        return self.p_value <= FALSE_POSITIVE_RATE

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        gain, low, high = (100 * share for share in (self.gain, *self.interval))
        own = f"a DCG for each {self.by}"
        interval = f"{LEVEL:.0%} interval {low:+.1f} to {high:+.1f} for {self.whom_of}"
        if np.isnan(low):
            interval = f"too few were asked to know how that would be for {self.whom_of}"
        numbers = (
            f"the share of held-out preferences that DCGs order rightly changes by {gain:+.1f} "
            f"percentage points where each is learned apart ({interval})"
        )

        # the p-value is of the fit, the share of what was held out
        if not self.found:
            return (
                f"{own} is not shown to fit better than one for all (p = {self.p_value:.3f}); "
                f"{numbers}"
            )
        fits = f"{own} fits better than one for all (p = {self.p_value:.3f})"
        if high < 0:
            return f"{fits}, but there are too few judgements to learn it: {numbers}; get more"
        return f"{fits}: {numbers}; learn one for each"

    @property
    def table(self) -> PolarsFrame:
        """A row for each segment: its pairs, and the shares that both DCGs respect of these."""
        return table_of(
            {
                self.by: part.name or "(none)",
                "pairs": part.n_pairs,
                "with_its_own_DCG": part.own,
                "with_the_common_DCG": part.common,
            }
            for part in self.segments
        )

    @property
    def notes(self) -> list[str]:
        """What the numbers are, and which segments have no DCG of their own."""
        own = [part for part in self.segments if part.own is not None]
        notes = [
            "the p-value is how often DCGs of their own fit a log better by as much, where one DCG "
            f"made it; at most {FALSE_POSITIVE_RATE} shows that segments differ",
            f"shares of preferences ordered rightly are of {self.n_pairs:,} pairs of {len(own)} "
            f"segments, held out by {self.unit}",
        ]
        if len(own) < len(self.segments):
            few = len(self.segments) - len(own)
            notes.append(f"without shares: {few} with too few pairs, for which the common DCG does")
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """The gain of a DCG for each segment, with its interval."""
        row = ("held-out preferences ordered rightly", self.gain, *self.interval)
        rows = [] if np.isnan(row[-1]) else [row]
        return [{"title": f"gain of a DCG for each {self.by}", "rows": rows}]


def segment_test(
    log: Preferences | ArrayLike, *, by: str = "segment", random_state: int = 0
) -> SegmentTest:
    """Test whether segments of queries or raters need DCGs of their own.

    A DCG for each segment is fitted, and one for all with an error rate for each segment; the
    p-value tells how often logs of one DCG gain as much (at most 39 simulated logs), in which each
    segment decides for itself on pairs that others judged too. How much own DCGs gain is told by
    held-out preferences: in each fold, a common DCG is learned from the training pairs, and a DCG
    for each segment from its own, with the common one as the prior. A segment of fewer than 20
    pairs, or beyond the 30 largest, keeps the common DCG. Fits use at most 4,000 judgements, drawn
    by weight; standard errors allow for any dependence of pairs that share a unit. Raises
    InputError if the log lacks the column, or fewer than two segments have enough decided pairs.

    Parameters
    ----------
    log, random_state : Preferences, int
        The log, of which ties are left out; seed of folds, samples and simulated logs.
    by : {"segment", "rater", "query"}
        The column whose values are the segments: "rater" asks whether judges differ in taste.

    See Also
    --------
    noise_ceiling : What any function of the grades can reach.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 200, lists="free", random_state=0)
    >>> halves = Preferences(log.preferred, log.other, segment=np.repeat(["new", "old"], 100))
    >>> segment_test(halves).found
    False
    """
    # the segments, the largest first
    pairs = decided_pairs(log)
    labels = _labels(pairs, by)
    names, number, size = np.unique(labels, return_inverse=True, return_counts=True)
    order = np.argsort(-size, kind="stable")
    large = [int(s) for s in order[:30] if size[s] >= FEWEST_LEARNED]

    # it takes two that have DCGs of their own
    if len(large) < 2:
        raise InputError(
            f"by={by!r}: {len(large)} of {len(names)} segment(s) have at least {FEWEST_LEARNED} "
            f"decided pairs (the largest, {str(names[order[0]])!r}, has {size[order[0]]}); it "
            "takes two: get more judgements, or merge segments",
            see="too-few",
        )

    # the segments are not held out whole
    unit = unit_of(pairs, without=by, per_list=1 if by == "segment" else 2)
    tested = np.isin(number, large)
    with stage("segments"):
        frame = _held_out(pairs, number, large, unit, random_state)
        p_value = _p_value(pairs[tested], labels[tested], random_state)

    # what own DCGs gain
    gains, errors, n_units = frame.leads()
    gain, likelihood_gain = gains[:, 1].tolist()
    error, likelihood_error = errors[:, 1].tolist()

    # the shares of each segment
    of = number[frame.rows]
    segments = []
    for s in order.tolist():
        own = np.flatnonzero(of == s)
        shares = frame.shares(own)[::-1].tolist() if len(own) else []
        segments.append(Segment(str(names[s]), int(size[s]), *shares))

    # the gains with their errors, and the segments
    return SegmentTest(
        gain=gain,
        error=error,
        likelihood_gain=likelihood_gain,
        likelihood_error=likelihood_error,
        interval=student_interval(gain, error, n_units),
        whom_of=speaks_of(pairs, unit),
        segments=tuple(segments),
        by=by,
        unit=unit,
        n_pairs=len(frame.rows),
        p_value=p_value,
    )


def _labels(log: Preferences, by: str) -> NDArray[np.str_]:
    """Return the segment of each pair; raise InputError if there are not several."""
    one_of(by, "by", ("segment", "rater", "query"))
    labels = getattr(log, by)
    if labels is None:
        raise InputError(
            f"the log has no column {by!r}: give it on each line, or test by another column"
        )
    if len(np.unique(labels)) == 1:
        raise InputError(
            f"by={by!r}: all pairs are of one segment, {str(labels[0])!r}: there is nothing to "
            "compare"
        )
    return labels


def _held_out(
    log: Preferences, number: Indices, large: list[int], unit: str, random_state: int
) -> HeldOut:
    """Return the held-out values of the common DCG and the own ones, on pairs of large segments.

    Raise InputError if nothing can be held out.
    """
    rng = np.random.default_rng(random_state)
    folds = folds_of(log, unit, random_state)
    whole = fit_direct(sampled(log, rng), DirectDescription())

    def values_of(train: Rows, test: Rows) -> Floats:
        """Return the values of DCGs that are learned from a fold; NaN where a segment has none."""
        common = fit_direct(sampled(log[train], rng), DirectDescription(), whole).dcg
        values = np.full((2, 2, len(test)), np.nan)
        for s in large:
            own_train, own_test = train[number[train] == s], number[test] == s
            if len(own_train) < FEWEST_LEARNED // 2 or not own_test.any():
                continue

            # compare its own DCG with the common one
            part, held_out = sampled(log[own_train], rng), log[test[own_test]]
            own = fit_direct(part, DirectDescription(prior=common), common).dcg
            for i, metric in enumerate((common, own)):
                values[:, i, own_test] = held_out_values(metric, part, held_out)
        return values

    frame = held_out_frame(log, unit, folds, starmap(values_of, folds), "folds")
    if frame is None:
        raise InputError(
            "no segment has pairs to learn from and others to hold out by "
            f"{unit}: get more judgements"
        )
    return frame


def _p_value(log: Preferences, labels: NDArray[np.str_], random_state: int) -> float:
    """Return the p-value of a DCG for each segment against one for all.

    `labels`, shape (n,), name the segments.
    """
    # a segment is a judge with an error rate; sides are left out, since simulated logs have none
    log = _of_each(
        log.changed(rater=labels, swapped=None), labels, np.random.default_rng(random_state)
    )
    with one_blas_thread():
        _, smaller = fit_dcg(log, DirectDescription(loss="robust", n_starts=2))

        def gain_of(judgements: JudgedPairs, share: float) -> float:
            """Return the gain of own DCGs on a simulated log."""
            return _gain(smaller.on(judgements, share))

        # segments that judge the same pairs do so each for itself
        logs = LogsOfDCG.like(smaller, of_judge=True)
        thetas = blunter_draws(smaller, logs, N_SIMULATED, random_state)
        return nested_test(_gain(smaller), gain_of, logs, thetas, random_state=random_state)[0]


def _of_each(
    log: Preferences, labels: NDArray[np.str_], rng: np.random.Generator, *, most: int = 4_000
) -> Preferences:
    """Return a log of at most `most` judgements, of as many of each large segment."""
    if len(log) <= most:
        return log
    names, number = np.unique(labels, return_inverse=True)
    weight = log.weights.copy()
    for s in range(len(names)):
        # draw by weight
        own = np.flatnonzero(number == s)
        n_drawn = most // len(names)
        if len(own) > n_drawn:
            drawn = rng.choice(len(own), n_drawn, p=weight[own] / weight[own].sum())
            weight[own] = np.bincount(drawn, minlength=len(own))
    return reweighted(log, weight)


def _gain(smaller: FittedDCG) -> float:
    """Return by how much own DCGs of the judges lower the objective.

    Each is descended to from the common DCG. A search from all starts would find gains by chance:
    curves on which a few judgements are all right, with judges too sharp.
    """
    judgements = smaller.judgements
    common = smaller.theta[: smaller.model.places.own_errors.start]
    model = replace(smaller.model, n_raters=1)
    of_one = replace(smaller, model=model)
    starts = list(model.sharpened(common[None], (0.0, -0.7, 0.7)))
    gain = smaller.objective
    for judge in range(smaller.model.n_raters):
        # fit a DCG and its judge to the judgements of one segment
        own = judgements.at(np.flatnonzero(judgements.rater == judge))
        of_own = replace(of_one, judgements=replace(own, rater=np.zeros(1, np.int32)))
        gain -= search_near(of_own, starts, max_iter=smaller.max_iter).objective
    return gain
