"""Test of segments: a DCG for each against one for all, by `nested_test`.

The gain is by how much the objective, loss and prior, falls where each segment has a DCG and a
judge of its own, rather than one DCG for all and an error rate for each segment. Each is descended
to from the common DCG: a search from all starts would find gains by chance, curves on which a few
judgements are all right, with judges too sharp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError, PolarsFrame, one_of
from dcglearn.learning.fit import fit_log
from dcglearn.learning.objective import FitObjective
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Pairs
from dcglearn.learning.search import descend
from dcglearn.logs.thinning import joined
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    nested_test,
    on_independent,
    single_verdicts,
)
from dcglearn.trust.resampling import decided_pairs

FEWEST_LEARNED = 20
"""A segment of fewer decided pairs has no DCG of its own."""

MOST_SEGMENTS = 30
"""Only the largest segments, up to this many, have DCGs of their own."""


@dataclass(frozen=True)
class SegmentTest(Finding):
    """Whether segments need DCGs of their own.

    `gain` is by how much DCGs of their own lower the objective, and `p_value` the share of logs of
    one DCG, this one included, that gain as much. `segments` gives the number of decided pairs of
    each segment that was tested, the largest first, by the column `by`; `left_out` names the
    others.
    """

    gain: float
    p_value: float
    segments: dict[str, int]
    left_out: tuple[str, ...]
    by: str

    @property
    def found(self) -> bool:
        """Whether segments are shown to differ: the p-value is at most 5%."""
        return self.p_value <= FALSE_POSITIVE_RATE

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        verdict = "is not shown to fit better than one for all"
        if self.found:
            verdict = "fits better than one for all: learn one for each"
        return f"a DCG for each {self.by} {verdict} (p = {self.p_value:.3f})"

    @property
    def table(self) -> PolarsFrame:
        """A row for each segment that was tested: its number of decided pairs."""
        return table_of(
            {self.by: name or "(none)", "pairs": n} for name, n in self.segments.items()
        )

    @property
    def notes(self) -> list[str]:
        """What the p-value is, and which segments were left out."""
        notes = [
            "the p-value is how often DCGs of their own fit a log better by as much, where one DCG "
            f"made it; at most {FALSE_POSITIVE_RATE} shows that segments differ"
        ]
        if self.left_out:
            notes.append(
                f"left out: {len(self.left_out)} with fewer than {FEWEST_LEARNED} pairs, or beyond "
                f"the {MOST_SEGMENTS} largest"
            )
        return notes


def segment_test(
    log: Preferences | ArrayLike, *, by: str = "segment", random_state: int = 0
) -> SegmentTest:
    """Test whether segments of queries or raters need DCGs of their own.

    A DCG for each segment is fitted, and one for all with an error rate for each segment; the
    p-value tells how often logs of one DCG gain as much (at most 39 simulated logs), in which each
    segment decides for itself on pairs that others judged too. Segments of fewer than 20 pairs, or
    beyond the 30 largest, are left out. Fits use at most 4,000 judgements, drawn by weight. Raises
    InputError if the log lacks the column, or fewer than two segments have enough decided pairs.

    Parameters
    ----------
    log, random_state : Preferences, int
        The log, of which ties are left out; seed of the sample and of simulated logs.
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
    names, size = np.unique(labels, return_counts=True)
    order = np.argsort(-size, kind="stable")
    large = [s for s in order[:MOST_SEGMENTS] if size[s] >= FEWEST_LEARNED]

    # it takes two that have DCGs of their own
    if len(large) < 2:
        raise InputError(
            f"by={by!r}: {len(large)} of {len(names)} segment(s) have at least {FEWEST_LEARNED} "
            f"decided pairs (the largest, {str(names[order[0]])!r}, has {size[order[0]]}); it "
            "takes two: get more judgements, or merge segments"
        )

    # a segment is a judge with an error rate; sides are left out, since simulated logs have none
    judged = pairs.changed(rater=labels, swapped=None)
    rng = np.random.default_rng(random_state)
    parts = [single_verdicts(judged[labels == names[s]], rng, 4_000 // len(large)) for s in large]
    with stage("segments"), one_blas_thread():
        common, alike = on_independent(fit_log(joined(parts), DCGOptions()))
        alone = replace(common.model, own=np.zeros((2, 1)))

        def gain_of(pairs: Pairs) -> float:
            """Return by how much a DCG and a judge for each segment lower the objective."""
            fit = common.on(pairs)
            starts = alone.sharpened(fit.theta, (0.0, -0.7, 0.7))
            gain = fit.objective
            for s in range(len(common.raters)):
                own = pairs.at(np.flatnonzero(pairs.rater == s), rater=np.zeros(1, np.int32))
                gain -= descend(FitObjective(alone, own, 1.0), starts, alone.bounds).value
            return gain

        gain, p_value, _ = nested_test(common, alike, gain_of, random_state=random_state)

    # the segments by name
    sizes = {str(names[s]): int(size[s]) for s in order}
    tested = {str(names[s]): sizes.pop(str(names[s])) for s in large}
    return SegmentTest(gain, p_value, tested, tuple(sizes), by)


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
