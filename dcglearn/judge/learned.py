"""What the verdicts teach so far, learned in threads beside the server, and which pair to ask next."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from dcglearn.foundation.validation import Grades, InputError, Integers
from dcglearn.learning.fits import DirectDescription, DirectFit
from dcglearn.metric.dcg import DCG
from dcglearn.trust.bands import FEWEST_DRAWN, Bands, bootstrap_bands
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.next_pairs import MOST_PAIRS, values_of
from dcglearn.trust.resampling import unit_of

if TYPE_CHECKING:
    from dcglearn.readers.preferences import Preferences

ROUNDING = 1e-5
"""Values that differ by less than this share are equal, since pairs are compared in single precision."""

FEWEST_VERDICTS, FEWEST_A_PARAMETER = 20, 3
"""Verdicts, and verdicts per gain and discount, before there are bands: from fewer, all samples follow the prior."""

RESAMPLES = 60
"""Bootstrap samples of the bands that are shown while judging."""

Work = TypeVar("Work")


class Newest(Generic[Work]):
    """Calls a function, in a thread, with the newest input; inputs that come while it works replace each other.

    `trouble` holds the message of the last call if it failed, else the empty text.
    """

    def __init__(self, name: str, function: Callable[[Work], None]) -> None:
        self._function = function
        self._changed = threading.Condition()
        self._work: Work | None = None
        self._given = self._done = 0
        self._open = True
        self.trouble = ""
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def give(self, work: Work) -> None:
        """Hand over an input, and return at once."""
        with self._changed:
            self._work = work
            self._given += 1
            self._changed.notify_all()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the newest input is done with; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._done == self._given, seconds)

    def close(self) -> None:
        """Take no more inputs; the call at work is not waited for."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._done != self._given or not self._open)
                if not self._open:
                    return
                work, number = self._work, self._given
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a short log is no surprise while one judges
                try:
                    self._function(work)  # type: ignore[arg-type]
                    self.trouble = ""
                except Exception as error:  # the page shows it, and the next input is tried
                    self.trouble = f"{type(error).__name__}: {error}"
            with self._changed:
                self._done = number
                self._changed.notify_all()


class Chooser:
    """Chooses among candidate pairs, int8 of shape (m, 2, K): the most telling one if `active`, else one at random."""

    def __init__(self, lists: Grades, *, active: bool = True, seed: int | None = None) -> None:
        self._lists, self._active, self._rng = lists, active, np.random.default_rng(seed)

    def choose(self, allowed: Integers, dcg: DCG, asked: Grades) -> int:
        """Return one of the allowed candidates, given by number, for a log of the pairs asked so far, (n, 2, K)."""
        if self._active:
            if len(allowed) > MOST_PAIRS:
                allowed = self._rng.choice(allowed, MOST_PAIRS, replace=False)
            value = values_of(self._lists[allowed], asked, dcg)
            allowed = allowed[value >= value.max() * (1 - ROUNDING)]
        return int(self._rng.choice(allowed))

    def left_is_a(self) -> bool:
        """Draw which list stands on the left."""
        return bool(self._rng.random() < 0.5)


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

    def newest(self) -> DirectFit:
        """Return the fit of the newest log, waiting for it; raise InputError if nothing can be learned from that."""
        if not self._fits.wait():
            raise InputError("the newest verdicts are still being learned from; try again in a minute")
        if self.latest.fit is None or self.trouble:
            raise InputError(self.trouble or "nothing is learned yet; judge a few pairs first")
        return self.latest.fit

    def close(self) -> None:
        """Learn no more."""
        self._fits.close()
        self._bands.close()

    def _learn(self, log: Preferences | None) -> None:
        if log is None or not len(log.decided):
            self.latest = self._first
            return
        # Cold: a fit from the last one may end in another minimum than that of ``dcglearn learn``.
        fit = fit_in_form(log, DirectDescription(n_grades=log.n_grades))
        self.latest = replace(self.latest, dcg=fit.dcg, n=len(log), fit=fit, log=log)
        if len(log) >= self.bands_from:
            self._bands.give(fit)

    def _band(self, fit: DirectFit) -> None:
        log = self.latest.log
        if log is None:
            return
        bands = bootstrap_bands(log, fit, by=unit_of_bands(log), n_resamples=RESAMPLES)
        self.latest = replace(self.latest, bands=bands, n_bands=len(log))


def unit_of_bands(log: Preferences) -> str:
    """Return what bands are drawn by: raters or queries where there are enough of them, else pairs."""
    return unit_of(log, fewest=FEWEST_DRAWN, per_list=math.inf)
