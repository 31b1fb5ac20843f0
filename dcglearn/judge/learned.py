"""What the verdicts teach so far, learned in threads beside the server, and which pair to ask next."""

import contextlib
import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from scipy.special import bdtrc

from dcglearn.foundation.validation import Grades, InputError, Integers
from dcglearn.learning.descriptions import DirectDescription, DirectFit
from dcglearn.metric.dcg import DCG
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.bands import FEWEST_DRAWN, Bands, bootstrap_bands
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.next_pairs import MOST_PAIRS, values_of
from dcglearn.trust.resampling import unit_of

ROUNDING = 1e-5
"""Values that differ by less than this share are equal, since pairs are compared in single
precision.
"""

FEWEST_VERDICTS, FEWEST_A_PARAMETER = 20, 3
"""Verdicts, and verdicts per gain and discount, before there are bands: from fewer, all samples
follow the prior.
"""

RESAMPLES = 30
"""Bootstrap samples of the bands that are shown while judging: they take about a second."""

COIN_LEVEL, LOST_LEVEL = 3e-4, 0.05
"""Levels of the test of whether verdicts tell more than a coin, and still do once they did. The
page tests after each verdict, and folds are not independent: of 400 logs of coins, each tested
once, 0.25% pass the first."""

A_PARAMETER = 8.0
"""Verdicts per gain and discount that bring the widest band of chosen pairs to 0.1: 5 to 13 in
simulations.
"""

STEP, SPREAD = 1.05, 2.5
"""The expected number of verdicts changes by at most this factor from one fit to the next, and is
shown as a range of this many times fewer to this many times more."""

Work = TypeVar("Work")


class Newest(Generic[Work]):
    """Calls a function with the newest input, in a thread; `trouble` is the message of the last
    call if it failed.
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


@dataclass(frozen=True, eq=False)
class LatestFit:
    """What was learned from a log of `n` verdicts, with bands if these are enough.

    `expected` is the number of verdicts in all at which every band is expected to be narrow enough.
    `beats_coin` tells whether a member of the blend orders verdicts that it was not learned from
    better than a coin.
    """

    dcg: DCG
    n: int = 0
    fit: DirectFit | None = None
    log: Preferences | None = None
    bands: Bands | None = None
    expected: float | None = None
    beats_coin: bool = False

    @property
    def widest(self) -> float | None:
        """Width of the widest 90% band of a gain or discount; None before there are bands."""
        if self.bands is None:
            return None
        return float(
            max(
                np.ptp(self.bands.gain_band, axis=0).max(),
                np.ptp(self.bands.discount_band, axis=0).max(),
            )
        )

    def enough(self, width: float) -> bool:
        """Whether every band is narrower than `width`, and the expected number of verdicts has come
        down to theirs.
        """
        if not self.beats_coin or self.widest is None or self.expected is None:
            return False
        return self.widest < width and self.expected <= self.n * STEP

    def wanted(self, n: int) -> tuple[int, int] | None:
        """Return about how many verdicts are wanted in all, from and to, where n are there; None if
        nobody can tell.
        """
        if not self.beats_coin or self.expected is None:
            return None
        low, high = (math.ceil(self.expected * factor / 10) * 10 for factor in (1 / SPREAD, SPREAD))
        return max(low, n), max(high, n)


def beats_coin(fit: DirectFit, n: int, level: float) -> bool:
    """Return whether a member of a blend orders more of n preferences, learned without them, than a
    coin may.
    """
    right = np.array([member.share * n for member in fit.members])
    return bool((bdtrc(np.round(right[np.isfinite(right)]) - 1, n, 0.5) < level).any())


def expected_verdicts(
    n: int, widest: float, width: float, n_parameters: int, before: float | None = None
) -> float:
    """Return at how many verdicts the widest band is expected to be `width` wide, where it is
    `widest` after n.

    The wide bands of a short log follow the prior, and get narrow within a few verdicts: from them
    nobody can tell. So the estimate begins as that of simulations, and follows the measured width,
    which shrinks by the root of the number of verdicts, as far as this is near the wanted one. It
    stays within a factor of the estimate `before`.
    """
    # what simulations say, and what the measured width says
    simulated = A_PARAMETER * n_parameters * math.sqrt(0.1 / width)
    measured = n * (widest / width) ** 2
    trust = min(width / max(widest, 1e-9), 1.0)

    # never less than what is there
    expected = max(simulated ** (1 - trust) * max(measured, 1e-9) ** trust, float(n))
    return expected if before is None else min(max(expected, before / STEP), before * STEP)


class Chooser:
    """Chooses among candidate pairs, int8 of shape (m, 2, K): the most telling one if `active`,
    else one at random.
    """

    def __init__(self, lists: Grades, *, active: bool = True, seed: int | None = None) -> None:
        self._lists, self._active, self._rng = lists, active, np.random.default_rng(seed)

    def choose(self, allowed: Integers, latest: LatestFit, asked: Grades) -> int:
        """Return one of the allowed candidates, given by number, for a log of the pairs asked so
        far, (n, 2, K).
        """
        if self._active:
            if len(allowed) > MOST_PAIRS:
                allowed = self._rng.choice(allowed, MOST_PAIRS, replace=False)
            value = values_of(self._lists[allowed], asked, latest.dcg, latest.fit)
            allowed = allowed[value >= value.max() * (1 - ROUNDING)]
        return int(self._rng.choice(allowed))

    def chance(self, share: float = 0.5) -> bool:
        """Draw whether something happens that does in this share of the cases, such as that list
        `a` stands left.
        """
        return share > 0 and bool(self._rng.random() < share)


class Learned(Newest["Preferences | None"]):
    """Learns from the newest log in a thread: the DCG that chooses pairs and, from `bands_from`
    verdicts, bands.
    """

    def __init__(
        self, n_grades: int, depth: int, proxy: DCG | None = None, width: float = 0.1
    ) -> None:
        self._proxy, self._width, self._n_parameters = proxy, width, n_grades - 2 + depth
        self._first = LatestFit(DCG.standard(n_grades, depth).normalised())
        self.bands_from = max(FEWEST_VERDICTS, FEWEST_A_PARAMETER * self._n_parameters)
        self.latest = self._first
        super().__init__("learner", self._learn)

    def newest(self) -> DirectFit:
        """Return the fit of the newest log, waiting for it; raise InputError if nothing can be
        learned from that.
        """
        if not self.wait():
            raise InputError(
                "the newest verdicts are still being learned from; try again in a minute"
            )
        if self.latest.fit is None or self.trouble:
            raise InputError(self.trouble or "nothing is learned yet; judge a few pairs first")
        return self.latest.fit

    def _learn(self, log: Preferences | None) -> None:
        if log is None or not len(log.decided):
            self.latest = self._first
            return
        # Cold: a fit from the last one may end in another minimum than that of ``dcglearn learn``.
        fit = fit_in_form(log, DirectDescription(n_grades=log.n_grades), proxy=self._proxy)
        bands = None
        if len(log) >= self.bands_from:
            unit = unit_of(
                log, fewest=FEWEST_DRAWN, per_list=math.inf
            )  # raters or queries only if there are enough
            with contextlib.suppress(InputError):  # the samples may hold too little to learn from
                bands = bootstrap_bands(log, fit, by=unit, n_resamples=RESAMPLES)
        told = beats_coin(
            fit, len(log.decided), LOST_LEVEL if self.latest.beats_coin else COIN_LEVEL
        )
        latest = LatestFit(fit.dcg, len(log), fit, log, bands, self.latest.expected, told)
        if latest.widest is not None:
            of = latest.n, latest.widest, self._width, self._n_parameters
            latest = replace(latest, expected=expected_verdicts(*of, latest.expected))
        self.latest = latest
