"""The DCG that the verdicts teach so far, learned beside the server, and the next pair to ask."""

import contextlib
import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.validation import Grades, InputError, Integers
from dcglearn.learning.descriptions import DirectDescription, DirectFit
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.preferences import Preferences
from dcglearn.trust import band_draws
from dcglearn.trust.band_draws import FEWEST_DRAWN, Bands
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.next_pairs import MOST_PAIRS, values_of
from dcglearn.trust.resampling import unit_of

MOST_CHANGE = 1.05
"""The expected number of verdicts changes by at most this factor from one fit to the next."""

Work = TypeVar("Work")


class Newest(Generic[Work]):
    """Calls a function with the newest input, in a thread.

    `trouble` is the message of the last call if it failed.
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

            # call the function and catch all errors
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a short log is no surprise while one judges
                try:
                    self._function(work)  # type: ignore[arg-type]
                    self.trouble = ""
                except Exception as error:  # the page shows it, and the next input is tried
                    self.trouble = f"{type(error).__name__}: {error}"

            # tell those who wait
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
        both = self.bands.gain_band, self.bands.discount_band
        return float(max(np.ptp(band, axis=0).max() for band in both))

    def enough(self, width: float) -> bool:
        """Whether every band is narrower than `width`, and no more verdicts are expected."""
        if not self.beats_coin or self.widest is None or self.expected is None:
            return False
        return self.widest < width and self.expected <= self.n * MOST_CHANGE

    def wanted(self, n: int) -> tuple[int, int] | None:
        """Return about how many verdicts are wanted in all, from and to, where n are there.

        None if nobody can tell.
        """
        if not self.beats_coin or self.expected is None:
            return None
        factors = 1 / 2.5, 2.5  # most studies end within this range
        low, high = (max(math.ceil(self.expected * x / 10) * 10, n) for x in factors)
        return low, high


def beats_coin(fit: DirectFit, n: int, *, before: bool) -> bool:
    """Return whether a member of a blend orders n preferences better than a coin may.

    Members have not learned from the preferences that they order. `before` tells whether they did
    so at the last fit; then the level is 0.05. Else it is 3e-4, since the page tests after each
    verdict, and folds are not independent: of 400 logs of coins, each tested once, 0.25% pass.
    """
    level = 0.05 if before else 3e-4
    right = np.array([member.share * n for member in fit.members])
    chance = binomial_tail(np.round(right[np.isfinite(right)]), n)
    return bool((chance < level).any())


def expected_verdicts(
    n: int, widest: float, width: float, n_parameters: int, before: float | None = None
) -> float:
    """Return the number of verdicts at which the widest band is expected to be `width` wide.

    After n verdicts it is `widest` wide. The wide bands of a short log follow the prior, and get
    narrow within a few verdicts, so they predict nothing. The estimate begins as in
    simulations, and follows the measured width, which shrinks by the root of the number of
    verdicts, as far as this is near the wanted one. It stays within a factor of the estimate
    `before`.
    """
    # in simulations, 5 to 13 verdicts per parameter bring the widest band to 0.1
    simulated = 8.0 * n_parameters * math.sqrt(0.1 / width)
    measured = n * (widest / width) ** 2
    trust = min(width / max(widest, 1e-9), 1.0)

    # never less than what is there
    expected = max(simulated ** (1 - trust) * max(measured, 1e-9) ** trust, float(n))
    if before is None:
        return expected
    return min(max(expected, before / MOST_CHANGE), before * MOST_CHANGE)


def most_informative(
    allowed: Integers, lists: Grades, latest: LatestFit, asked: Grades, rng: np.random.Generator
) -> Integers:
    """Return the allowed pairs that tell most, of `lists`, int8 of shape (m, 2, K), by number.

    `asked`, shape (n, 2, K), are the pairs that are judged or out. Of many, some are compared.
    """
    if len(allowed) > MOST_PAIRS:
        allowed = rng.choice(allowed, MOST_PAIRS, replace=False)
    value = values_of(lists[allowed], asked, latest.dcg, latest.fit)

    # pairs are compared in single precision, so smaller differences are rounding
    return allowed[value >= value.max() * (1 - 1e-5)]


class Learned(Newest["Preferences | None"]):
    """Learns from the newest log in a thread: the DCG that chooses pairs, and bands.

    Bands begin at `bands_from` verdicts: from fewer, all samples follow the prior.
    """

    n_resamples = 30
    """Bootstrap samples of the bands that are shown while judging: they take about a second."""

    def __init__(
        self, n_grades: int, depth: int, llm: DCG | None = None, width: float = 0.1
    ) -> None:
        self._llm, self._width, self._n_parameters = llm, width, n_grades - 2 + depth
        self._first = LatestFit(DCG.standard(n_grades, depth).normalised())
        self.bands_from = max(20, 3 * self._n_parameters)
        self.latest = self._first
        super().__init__("learner", self._learn)

    def newest(self) -> DirectFit:
        """Return the fit of the newest log, waiting for it; raise InputError if there is none."""
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

        # cold: from the last fit it may end in another minimum than ``dcglearn learn``
        fit = fit_in_form(log, DirectDescription(n_grades=log.n_grades), llm=self._llm)
        told = beats_coin(fit, len(log.decided), before=self.latest.beats_coin)
        latest = LatestFit(fit.dcg, len(log), fit, log, None, self.latest.expected, told)

        # bands, by raters or queries only if there are enough
        if len(log) >= self.bands_from:
            unit = unit_of(log, fewest=FEWEST_DRAWN, per_list=math.inf)
            with contextlib.suppress(InputError):  # the samples may hold too little to learn from
                bands = band_draws.bands(log, fit, by=unit, n_resamples=self.n_resamples)
                latest = replace(latest, bands=bands)

        # how many verdicts are wanted
        if latest.widest is not None:
            expected = expected_verdicts(
                latest.n, latest.widest, self._width, self._n_parameters, latest.expected
            )
            latest = replace(latest, expected=expected)
        self.latest = latest
