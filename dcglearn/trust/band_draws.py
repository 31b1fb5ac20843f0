"""Bands of gains and discounts: draws of what a log allows, pointwise and simultaneous."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import percentile_interval
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import (
    Flags,
    Floats,
    InputError,
    PolarsFrame,
    whole_number,
    within,
)
from dcglearn.learning.fit import Fit, fit_of, warn_of
from dcglearn.learning.options import DCGOptions, Learner
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.metrics.dcg import DCG, POWER, as_curves, parameter_names
from dcglearn.metrics.judges import N_DRAWS, Judges
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.judge_draws import posterior_of
from dcglearn.trust.resampling import FEWEST_TESTED, no_more_lists, unit_of

N_RESAMPLES = 200
"""Draws of the bands, a tenth of them, unless told otherwise."""

FEWEST_DRAWN = 20
"""From fewer raters or queries than this, nobody can tell how they differ."""

SMALL_STEP = 0.05
"""Grades are nearly alike if their gains differ by less than this share of the gains' range."""


@dataclass(frozen=True, eq=False)
class Bands(Finding):
    """Bands of gains and discounts.

    `dcg` is learned from the whole log (best gain 1, first discount 1), `gains`, shape (B, L), and
    `discounts`, shape (B, K), are draws, and `powers`, shape (B,), where the power is free. `level`
    is the share of logs in which a band is to hold the truth: of each parameter by itself, or of
    all at once in `simultaneous` bands. A band that what was learned lies beyond ends there
    instead. `by` is the independent unit, and `n_units` their number in the log. `metric` is the
    learned DCG with its judges, and with draws of both for intervals of shares of people.
    """

    dcg: DCG
    gains: Floats = field(repr=False)
    discounts: Floats = field(repr=False)
    level: float
    by: str
    n_units: int
    kind: str = "pointwise"
    metric: DCG | None = field(default=None, repr=False)
    powers: Floats | None = field(default=None, repr=False)

    _labels: ClassVar = {"low": "band of each", "all_low": "band of all at once"}

    @property
    def simultaneous(self) -> Self:
        """The bands that hold all parameters at once, in a share `level` of the logs or more."""
        return replace(self, kind="simultaneous")

    @property
    def gain_band(self) -> Floats:
        """Lower and upper ends for every grade, shape (2, L)."""
        return self._ends[:, : self.gains.shape[1]]

    @property
    def discount_band(self) -> Floats:
        """Lower and upper ends for every position, shape (2, K)."""
        n_gains = self.gains.shape[1]
        return self._ends[:, n_gains : n_gains + self.dcg.depth]

    @property
    def judges(self) -> Judges:
        """The judges of the learned DCG, with those of the draws."""
        assert self.metric is not None and self.metric.judges is not None, "as `bands` returns them"
        return self.metric.judges

    @property
    def power_band(self) -> tuple[float, float] | None:
        """Lower and upper end of the power of the number of results, where it is free."""
        return None if self.powers is None else tuple(self._ends[:, -1].tolist())

    @property
    def _ends(self) -> Floats:
        """Ends for all parameters, shape (2, p): `drawn`, or the estimate where it lies beyond."""
        low, high = self.drawn
        return np.array([np.minimum(low, self._estimates), np.maximum(high, self._estimates)])

    @property
    def drawn(self) -> Floats:
        """Ends from the draws alone, shape (2, p): gains and discounts."""
        return self._holding(self.share)

    @property
    def share(self) -> float:
        """The share of the draws within the band of each parameter.

        Bands of all p parameters at once have the p-th root of their level, as if parameters were
        independent (Sidak 1967). Draws depend on each other, since the prior takes curves to be
        smooth; those of a rougher truth may all be off by themselves.
        """
        level = self.level
        if self.kind == "simultaneous":
            n_free = int(np.count_nonzero(np.ptp(self._draws, axis=0)))
            level **= 1 / max(n_free, 1)
        return level

    def _holding(self, share: float) -> Floats:
        """Return the ends that hold a share of the draws of each parameter, shape (2, p).

        They are percentiles. Those of draws that pile up at a limit, 0 or 1, go on to it: it is
        never drawn, and may be true, as where discounts do not fall.
        """
        return np.where(self._piled, self._limits, percentile_interval(self._draws, share))

    @cached_property
    def _piled(self) -> Flags:
        """Whether draws pile up at the least and the most that a parameter can be, shape (2, p).

        The shortest stretch that holds nine in ten then reaches nearly the outermost draw, and this
        nearly the limit.
        """
        draws = np.sort(self._draws, axis=0)
        n = len(draws)
        held = max(9 * n // 10, 1)
        widths = draws[held - 1 :] - draws[: n - held + 1]
        first, width = widths.argmin(axis=0), widths.min(axis=0)
        # draws pile up if at most 1% lie between a limit and where most of them are, and the
        # outermost is as near to the limit as a tenth of their range
        outermost = np.array([first, n - held - first]) <= 0.01 * n
        return outermost & (np.abs(draws[[0, -1]] - self._limits) <= 0.1 * width)

    @property
    def _limits(self) -> Floats:
        """The least and the most that parameters can be, shape (2, p); those fixed stay so."""
        draws = self._draws
        low, high = np.zeros(draws.shape[1]), np.ones(draws.shape[1])

        # gains of harmful grades, and discounts that rise, have none
        n_gains = self.gains.shape[1]
        low[:n_gains] = 0.0 if (self.gains >= 0).all() else -np.inf
        if (np.diff(self.discounts) > 0).any():
            high[n_gains : n_gains + self.dcg.depth] = np.inf
        fixed = np.ptp(draws, axis=0) == 0
        return np.where(fixed, draws[0], np.array([low, high]))

    @property
    def _draws(self) -> Floats:
        """Draws of all parameters, shape (B, p)."""
        powers = [] if self.powers is None else [self.powers[:, None]]
        return np.hstack([self.gains, self.discounts, *powers])

    @property
    def _estimates(self) -> Floats:
        """What was learned, shape (p,)."""
        power = [] if self.powers is None else [self.dcg.power]
        return np.concatenate([self.dcg.gains, self.dcg.discounts, power])

    @property
    def sentence(self) -> str:
        """How wide the bands are on average, the widest, and grades that may be alike."""
        free = np.flatnonzero(np.ptp(self._draws, axis=0) > 0).tolist()
        if not free:
            return "every gain and discount is fixed: there is nothing to learn"
        rows = [self.table.row(i, named=True) for i in free]
        widths = [row["high"] - row["low"] for row in rows]
        widest = rows[int(np.argmax(widths))]
        names = self.dcg.grade_names or range(self.dcg.n_grades)
        pairs = ", ".join(f"{names[grade]} and {names[grade + 1]}" for grade in self._alike)
        alike = f"; grades {pairs} may be worth nearly the same" if pairs else ""
        return (
            f"a gain or discount is uncertain by ±{np.mean(widths) / 2:.2f} on average, half the "
            f"width of its {percent(self.level)} band; the least sure is the "
            f"{widest['parameter']}, between {widest['low']:.2f} and {widest['high']:.2f}{alike}"
        )

    @property
    def _alike(self) -> list[int]:
        """The grades that may be worth nearly as much as the next.

        The ends of the scale are fixed, so that their bands never overlap with a neighbour's; the
        steps between gains tell.
        """
        if len(self.dcg.gains) < 3:
            return []
        steps = np.diff(self.gains, axis=1) / np.ptp(self.gains, axis=1)[:, None]
        return np.flatnonzero(
            np.quantile(steps, (1 - self.share) / 2, axis=0) < SMALL_STEP
        ).tolist()

    @property
    def table(self) -> PolarsFrame:
        """A row for each parameter, with its estimate, standard error and bands.

        `low` and `high` are the ends of the pointwise band, `all_low` and `all_high` of the
        simultaneous one.
        """
        names = parameter_names(self.dcg.n_grades, self.dcg.depth, self.dcg.grade_names)
        names += [] if self.powers is None else [POWER]
        errors = self._draws.std(axis=0, ddof=1)
        pointwise = replace(self, kind="pointwise")._ends
        columns = names, self._estimates, errors, *pointwise, *self.simultaneous._ends
        keys = ("parameter", "estimate", "standard_error", "low", "high", "all_low", "all_high")
        return table_of(dict(zip(keys, columns, strict=True)))

    @property
    def pictures(self) -> list[dict[str, Any]]:
        """Gains and discounts as curves, with their bands."""
        return as_curves({"learned": self.dcg}, self)

    @property
    def notes(self) -> list[str]:
        """What the bands mean, and what they are drawn from."""
        units = number_of(self.n_units, "queries" if self.by == "query" else f"{self.by}s", ",")
        together = "" if self.by == "pair" else f", the verdicts of one {self.by} not"

        # what they mean
        notes = [
            f"the band of each holds the true number in {percent(self.level)} of such logs, the "
            "band of all at once all of them together",
            f"from {len(self.gains):,} draws of what the log allows: {units} to learn from are "
            f"taken as independent{together}",
        ]

        # what cannot be told apart
        if len(self.dcg.gains) > 2:
            small = f"{SMALL_STEP:.0%} of the step from the worst gain to the best"
            notes.append(
                f"grades may be worth nearly the same if the step between them may be below {small}"
                if self._alike
                else f"every step between neighbouring gains is above {small}, by its own band"
            )
        return notes


def bands(
    log: Preferences,
    learner: Learner | None = None,
    *,
    by: str | None = None,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.9,
    random_state: int = 0,
) -> Bands:
    """Return bands of gains and discounts, pointwise and simultaneous.

    Raises InputError if a setting is impossible, the log cannot be learned from, or it is too short
    for bands.

    Draws of the posterior: judgements with a rate of errors and a smooth prior on the two curves,
    from a population that goes from the prior to the log in steps. Where units hold several
    judgements, the likelihood counts less by as much as these depend on each other; weights that
    are no whole numbers count as many judgements as Kish's effective number (1965). The bands are
    those of the free curves: a textbook DCG has none. So they say what the log tells by itself,
    also where a judge was followed. The learned DCG can lie beyond them, since it follows a
    textbook DCG or a judge too: there a band ends at what was learned.

    Parameters
    ----------
    log, learner : Preferences, DCGLearner, optional
        The log, and the learner whose settings are used, by default ``DCGLearner()``.
    by : {"pair", "rater", "query", "list"}, optional
        The independent unit; by default raters, else queries (20 at least), else lists that recur,
        else pairs.
    n_resamples : int
        A tenth of the number of draws. More make the ends of the bands steadier. Take 1,000 for a
        level of 0.99.
    level : float
        The share of logs in which a band is to hold the truth: docs/bands.md has what was found in
        simulations.
    random_state : int
        Seed of the draws.

    See Also
    --------
    plots.banded_figure : Draw them.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 200, lists="free", n_flips=20, random_state=0)
    >>> drawn = bands(log)
    >>> bool(np.all(drawn.simultaneous.gain_band[0] <= drawn.gain_band[0]))
    True
    """
    # check the settings and the log
    whole_number(n_resamples, "n_resamples", 2)
    within(level, "level", 1, exclusive=True)
    options = DCGOptions.of(learner)
    log = usable_pairs(as_preferences(log, None, options.depth))
    unit = by or unit_of(log, fewest=FEWEST_DRAWN)
    if problem := why_no_bands(log, unit):
        raise InputError(problem)

    # fit the whole log, unless this has been done
    whole = fit_of(learner)
    if whole is None or whole.facts.log is not log:
        whole = fit_learner(log, replace(options, n_grades=log.n_grades))
    if fit_of(learner) is None:
        warn_of(whole)

    # draw from the posterior
    draws = posterior_of(log, whole, unit, 10 * n_resamples, random_state)

    dcg = whole.dcg
    assert dcg.judges is not None, "a learner's fit knows its judges"
    judges = replace(dcg.judges, draws=draws.few())
    return Bands(
        dcg=DCG(dcg.gains, dcg.discounts, dcg.grade_names, dcg.notes, power=dcg.power),
        gains=draws.gains,
        discounts=draws.discounts,
        level=level,
        by=unit,
        n_units=_n_units(log, unit),
        metric=replace(dcg, judges=judges),
        powers=draws.powers if whole.model.power is None else None,
    )


def drawn_judges(log: Preferences, fit: Fit, random_state: int) -> Judges:
    """Return the judges of a fit, with draws by the log's independent unit if it is long enough."""
    judges = fit.dcg.judges
    assert judges is not None, "a learner's fit knows its judges"
    if why_no_bands(log):
        return judges
    log = usable_pairs(log)
    unit = unit_of(log, fewest=FEWEST_DRAWN)
    # from about 1,500 judgements, which is faster
    draws = posterior_of(log, fit, unit, N_DRAWS, random_state, 1_500)
    return replace(judges, draws=draws.few())


def why_no_bands(log: Preferences, by: str | None = None) -> str:
    """Return why a log is too short for bands by a unit; empty if it is not."""
    # too few preferences
    log = usable_pairs(log)
    by = by or unit_of(log, fewest=FEWEST_DRAWN)
    n_decided = len(log.decided)
    if n_decided < FEWEST_TESTED:
        return (
            f"no bands: the log holds {number_of(n_decided, 'preferences')} between different "
            f"lists, fewer than {FEWEST_TESTED}"
        )

    # too few units
    n = 0 if by == "pair" else _n_units(log, by)
    if 0 < n < FEWEST_DRAWN:
        remedy = "" if by == "list" else ", or give by=pair and speak of these alone"
        no_more = no_more_lists(log, by, FEWEST_DRAWN, FEWEST_DRAWN)
        remedy = no_more or f"get judgements of more{remedy}"
        return f"no bands by {by}: it takes {FEWEST_DRAWN}, the log has {n}: {remedy}"
    return ""


def bands_or_why(
    log: Preferences, learner: Learner | None = None, **how: Any
) -> tuple[Bands | None, str]:
    """Return the bands of a log, or why it has none."""
    reason = why_no_bands(log)
    return (None if reason else bands(log, learner, **how)), reason


def _n_units(log: Preferences, by: str) -> int:
    return len(np.unique(np.concatenate(log.clusters(by))))
