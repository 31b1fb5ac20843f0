"""What the verdicts teach so far, learned in a thread beside the server."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.judge.newest import Newest
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from dcglearn.learning.fits import DirectFit
    from dcglearn.readers.preferences import Preferences
    from dcglearn.trust.bands import Bands

FEWEST_VERDICTS, FEWEST_A_PARAMETER = 20, 3
"""Verdicts, and verdicts per gain and discount, before there are bands: from fewer, all samples follow the prior."""

RESAMPLES = 60
"""Bootstrap samples of the bands that are shown while judging."""


@dataclass(frozen=True, eq=False)
class LatestFit:
    """What was learned from a log: of `n` verdicts; `bands` may be of an earlier log, of `n_bands` verdicts."""

    dcg: DCG
    n: int = 0
    fit: DirectFit | None = None
    log: Preferences | None = None
    bands: Bands | None = None
    n_bands: int = 0

    @property
    def widest(self) -> float | None:
        """Width of the widest 90% band of a gain or discount; None before there are bands."""
        if self.bands is None:
            return None
        return float(max(np.ptp(self.bands.gain_band, axis=0).max(), np.ptp(self.bands.discount_band, axis=0).max()))

    def more(self, width: float, n: int) -> int | None:
        """Return about how many verdicts beyond n bring the widest band below `width`, as bands shrink by the root."""
        if self.widest is None:
            return None
        return max(math.ceil(self.n_bands * (self.widest / width) ** 2) - n, 0)


class Learned:
    """Learns from the newest log in two threads: the DCG, by which pairs are chosen, and its bands.

    `latest` holds the newest results; there are bands from `bands_from` verdicts on.
    """

    def __init__(self, n_grades: int, depth: int) -> None:
        self._first = LatestFit(DCG.standard(n_grades, depth).normalised())
        self.bands_from = max(FEWEST_VERDICTS, FEWEST_A_PARAMETER * (n_grades - 2 + depth))
        self.latest = self._first
        self._fits = Newest("learner", self._learn)
        self._bands = Newest("bands", self._band)

    @property
    def trouble(self) -> str:
        """Why the newest log could not be learned from; empty if it was."""
        return self._fits.trouble

    def update(self, log: Preferences | None) -> None:
        """Learn from a log, and return at once; logs that come while one is learned from replace each other."""
        self._fits.give(log)

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the newest log is learned from, bands included; return whether it is."""
        return self._fits.wait(seconds) and self._bands.wait(seconds)

    def close(self) -> None:
        """Learn no more."""
        self._fits.close()
        self._bands.close()

    def _learn(self, log: Preferences | None) -> None:
        from dcglearn.learning.fit_direct import fit_direct
        from dcglearn.learning.fits import DirectDescription

        if log is None or not len(log.decided):
            self.latest = self._first
            return
        fit = fit_direct(log, DirectDescription(n_grades=log.n_grades), self.latest.fit, refit="if_worse")
        self.latest = replace(self.latest, dcg=fit.dcg, n=len(log), fit=fit, log=log)
        if len(log) >= self.bands_from:
            self._bands.give(fit)

    def _band(self, fit: DirectFit) -> None:
        from dcglearn.trust.bands import bootstrap_bands

        log = self.latest.log
        if log is None:
            return
        bands = bootstrap_bands(log, fit, by=unit_of_bands(log), n_resamples=RESAMPLES)
        self.latest = replace(self.latest, bands=bands, n_bands=len(log))


def unit_of_bands(log: Preferences) -> str:
    """Return what bands are drawn by: raters or queries where there are enough of them, else pairs."""
    from dcglearn.trust.bands import FEWEST_DRAWN
    from dcglearn.trust.resampling import unit_of

    return unit_of(log, fewest=FEWEST_DRAWN, per_list=math.inf)
