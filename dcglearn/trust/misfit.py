"""Lack of fit: the share of held-out preferences that a DCG cannot express, in parts.

The parts are weights free at each grade and position, list utilities, and any function of the
grades at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import starmap
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, student_interval
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, Floats, PolarsFrame
from dcglearn.learning.descriptions import DirectDescription, DirectFit, DirectLearner
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.logs.preference_pairs import Metric
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.ceiling import NoiseCeiling, ceiling_of
from dcglearn.trust.held_out_frame import HeldOut, Rows, held_out_frame, held_out_values
from dcglearn.trust.product_form import free_utility
from dcglearn.trust.resampling import decided_pairs, folds_of, sampled, unit_of

DCG_NAME = "gains times discounts (DCG)"
FORM_NAMES = {"best": "share of the best result", "saturation": "saturation"}

N_PARTITIONS = 3
"""How often the log is divided into folds; a pair's values are means over them."""


@dataclass(frozen=True)
class Part:
    """One utility on held-out preferences; its `name` says what is free in it.

    `share` is the share of the preferences respected (ties of the utility count half),
    `log_likelihood` the mean log probability of a preference; `ahead` and `likelihood_ahead` are
    those minus the DCG's, with their standard errors `ahead_error` and `likelihood_error` by
    `n_units`. `covered_share`, the share where lists recur, compares with the noise ceiling.
    """

    name: str
    share: float
    log_likelihood: float
    ahead: float
    ahead_error: float
    likelihood_ahead: float
    likelihood_error: float
    n_units: int
    covered_share: float | None = None

    @property
    def shown(self) -> bool:
        """Whether the utility is shown to fit better than the DCG.

        It then respects more preferences, beyond error, and makes them more likely.
        """
        return self._interval()[0] > 0 and self.more_likely

    @property
    def more_likely(self) -> bool:
        """Whether preferences are more likely under it than under the DCG, beyond error."""
        return self._interval("likelihood_")[0] > 0

    @property
    def points(self) -> str:
        """How many percentage points the share is ahead of the DCG's, with its interval."""
        lead, low, high = (100 * x for x in (self.ahead, *self._interval()))
        return f"{lead:.1f} points more ({LEVEL:.0%} interval {low:.1f} to {high:.1f})"

    @property
    def cells(self) -> Fields:
        """The row of a table; the DCG has no lead over itself."""
        shown: Fields = {"learned_without_the_pair": self.name, "share": self.share}
        shown |= {"lead": None, "low": None, "high": None, "recurring": self.covered_share}
        shown |= {"log_likelihood": self.log_likelihood}
        ahead: Fields = dict.fromkeys(("likelihood_lead", "likelihood_low", "likelihood_high"))
        if self.name != DCG_NAME:
            low, high = self._interval()
            shown |= {"lead": self.ahead, "low": low, "high": high}
            low, high = self._interval("likelihood_")
            ahead = dict(zip(ahead, (self.likelihood_ahead, low, high), strict=True))
        return shown | ahead

    def _interval(self, kind: str = "") -> tuple[float, float]:
        """Return the ends of the interval of a lead."""
        error = self.likelihood_error if kind else self.ahead_error
        lead = self.likelihood_ahead if kind else self.ahead
        low, high = student_interval(lead, error, int(self.n_units))
        return float(low), float(high)


@dataclass(frozen=True)
class LackOfFit(Finding):
    """What a DCG cannot express of a log.

    `parts` are the DCG, weights free at each grade and position, and the list utilities. `form` is
    the form of `DCGLearner` that closes part of the gap, and `utility` its fit to the whole log;
    None where none is shown to. `ceiling` is the noise ceiling of the held-out pairs; where too few
    lists recur, it is None, and `no_ceiling` says so. `n_pairs` counts the held-out pairs, and `by`
    is the unit that was held out and that standard errors are by.
    """

    parts: tuple[Part, ...]
    form: str | None
    utility: ListUtility | None
    ceiling: NoiseCeiling | None
    n_pairs: int
    by: str
    no_ceiling: str = ""

    _formats: ClassVar = dict.fromkeys(
        ("lead", "low", "high", "likelihood_lead", "likelihood_low", "likelihood_high"), "+.4f"
    )
    _labels: ClassVar = {
        "lead": "ahead of the DCG",
        "low": f"{LEVEL:.0%} interval",
        "recurring": "share where lists recur",
        "likelihood_lead": "ahead of the DCG",
        "likelihood_low": f"{LEVEL:.0%} interval",
    }

    def __getitem__(self, name: str) -> Part:
        """Return the part whose name begins so."""
        return next(part for part in self.parts if part.name.startswith(name))

    @property
    def closing(self) -> Part | None:
        """The part whose form closes some of the gap; None without one."""
        return None if self.form is None else self[FORM_NAMES[self.form]]

    @property
    def sentence(self) -> str:
        """What orders more pairs rightly than a DCG, or that nothing is shown to."""
        # a form of `DCGLearner` comes first, since it can be learned
        if self.closing is not None and self.utility is not None:
            return (
                f"{meaning(self.utility)}: a DCG cannot express this, and a metric with "
                f'form="{self.form}", which can, orders {self.closing.points} of '
                "the held-out preferences rightly"
            )

        # else weights without any form
        _, free, *_ = self.parts
        if free.shown:
            return (
                f"weights free at each grade and position order {free.points} of the held-out "
                "preferences rightly than a DCG: what a grade is worth depends on its position by "
                "more than a common discount"
            )
        return "nothing better than a DCG is shown: no form beyond it orders more pairs rightly"

    @property
    def table(self) -> PolarsFrame:
        """A row for each utility, and one for the noise ceiling."""
        rows = [part.cells for part in self.parts]
        if self.ceiling is not None:
            name = "any function of the grades, at most"
            rows.append({"learned_without_the_pair": name, "recurring": self.ceiling.share})
        return table_of(rows)

    @property
    def notes(self) -> list[str]:
        """What else the parts mean, and what they are measured on."""
        dcg, free, *forms = self.parts
        notes = []

        # the form to learn with
        part = self.closing
        more = ""
        if part is not None:
            if part.covered_share is not None and dcg.covered_share is not None:
                points = 100 * (part.covered_share - dcg.covered_share)
                more = f": where lists recur, it orders {points:+.1f} points more rightly"
            notes.append(f'learn with form="{self.form}" (--form {self.form}){more}')

            # what free weights add, which no form has
            if free.shown:
                notes.append(
                    f"weights free at each grade and position order {free.points} rightly than "
                    "the DCG"
                )

        # forms that tell better how sure an order is
        likely = [part for part in forms if part.more_likely]
        if self.form is None and likely:
            name = max(likely, key=lambda part: part.log_likelihood).name
            notes.append(
                f"preferences are more likely under {name}, which is not shown to order more of "
                "them rightly: it tells better how sure an order is"
            )

        # what is left to the ceiling
        ceiling = self.ceiling
        if ceiling is not None and dcg.covered_share is not None:
            gap = "no gap beyond error"
            if ceiling.interval[0] > dcg.covered_share:
                gap = f"{100 * (ceiling.share - dcg.covered_share):.1f} points are left"
            notes.append(
                f"where lists recur, the learned DCG orders {dcg.covered_share:.1%} of pairs "
                f"rightly, and any function of the grades at most about {ceiling.share:.1%}: {gap}"
            )
            notes.append(f"the noise ceiling holds for {ceiling.about}")
        notes += [self.no_ceiling] if self.no_ceiling else []
        notes.append(
            f"measured on {self.n_pairs:,} pairs, each held out, by {self.by}, from what was "
            "learned: the share ordered rightly, and the mean log probability of a preference"
        )
        return notes


def lack_of_fit(
    log: Preferences | ArrayLike,
    *,
    by: str | None = None,
    learner: DirectLearner | None = None,
    random_state: int = 0,
) -> LackOfFit:
    """Say how much of a log's preferences a DCG cannot express, and which form expresses it.

    Raises InputError if the log lacks the column, or is too small to hold anything out.

    Every utility is learned from four fifths of the units and predicts the pairs of the last fifth,
    five times; of lists, which are in many pairs, two quarters at a time are held out. A pair's
    values are means over three random divisions. Fits start from that to the whole log, and use at
    most 4,000 judgements, drawn by weight. The probability of a preference is ``e + (1 - 2 e)
    sigma(b d)``; e and b are fitted to the training pairs.

    Standard errors allow for any dependence of pairs that share a unit; for lists, they are those
    of the jackknife (see docs/bands.md for what intervals cover).

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log; ties are left out.
    by : {"pair", "rater", "query", "list"}, optional
        Unit that is held out, and that standard errors are by; by default the independent one (see
        `unit_of`).
    learner, random_state : DCGLearner, int, optional
        Learner whose settings are used, by default ``DCGLearner()``; seed of folds and samples.

    See Also
    --------
    trust.position_dependence : A test of gains times discounts.
    trust.segment_test : Whether segments need metrics of their own.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", temperature=0.3, random_state=0)
    >>> lack_of_fit(log).form is None
    True
    """
    pairs = decided_pairs(log)
    unit = unit_of(pairs) if by is None else by
    description = DirectDescription.of(learner)
    with stage("lack of fit"):
        # compare utilities on held-out pairs
        frame, whole = _held_out(pairs, unit, description, random_state)
        ceiling, no_ceiling = ceiling_of(pairs[frame.rows], random_state)
        parts = _parts(frame, ceiling)

        # of the forms that are shown to fit better, the furthest ahead
        form, utility = None, None
        _, _, *of_forms = parts
        leads = {
            name: part.ahead for name, part in zip(FORM_NAMES, of_forms, strict=True) if part.shown
        }
        if leads:
            form = max(leads, key=leads.__getitem__)
            utility = fit_direct(pairs, replace(description, form=form), whole[form]).list_utility

        # fitted to all pairs, its further parameters may be zero: then it is a DCG
        if utility is not None and utility.form == "dcg":
            form = utility = None
    n_pairs = len(frame.rows)
    return LackOfFit(tuple(parts), form, utility, ceiling, n_pairs, unit, no_ceiling)


def _held_out(
    log: Preferences, unit: str, description: DirectDescription, random_state: int
) -> tuple[HeldOut, dict[str, DirectFit]]:
    """Return the held-out values of the utilities, the DCG first, and the whole log's fits."""
    # divide the log at random, several times
    rng = np.random.default_rng(random_state)
    folds = []
    for i in range(N_PARTITIONS):
        folds += folds_of(log, unit, N_PARTITIONS * random_state + i)
    whole = _fits(sampled(log, rng), description)

    def values_of(train: Rows, test: Rows) -> Floats:
        """Return the values of utilities that are learned from a fold on the rest."""
        sample, held_out = sampled(log[train], rng), log[test]
        metrics: list[Metric] = [fit.metric for fit in _fits(sample, description, whole).values()]
        metrics.insert(1, free_utility(sample))  # the second, see `_parts`
        return np.stack([held_out_values(x, sample, held_out) for x in metrics], axis=1)

    frame = held_out_frame(log, unit, folds, starmap(values_of, folds), "folds")
    assert frame is not None
    return frame, whole


def _fits(
    log: Preferences, description: DirectDescription, start: dict[str, DirectFit] | None = None
) -> dict[str, DirectFit]:
    """Return the fits of all forms.

    Each starts from the fit of the same form in `start`, or without it from the DCG's fit.
    """
    fits: dict[str, DirectFit] = {}
    for form in ("dcg", *FORM_NAMES):
        near = start[form] if start is not None else fits.get("dcg")
        fits[form] = fit_direct(log, replace(description, form=form), near)
    return fits


def _parts(frame: HeldOut, ceiling: NoiseCeiling | None) -> list[Part]:
    """Return the parts; the first utility is the DCG."""
    leads, errors, n_units = frame.leads()
    numbers = [*frame.means(), leads[0], errors[0], leads[1], errors[1]]
    numbers.append(np.full(len(leads[0]), n_units))
    if ceiling is not None:
        numbers.append(frame.shares(ceiling.rows))
    names = [DCG_NAME, "weights free at each grade and position", *FORM_NAMES.values()]
    rows = np.transpose(numbers).tolist()
    return [Part(name, *row) for name, row in zip(names, rows, strict=True)]


def meaning(utility: ListUtility) -> str:
    """Return what a list utility says beyond a DCG, in words."""
    if utility.form == "best":
        return f"the best result alone counts for {utility.best:.0%} of what a list is worth"
    stop = float(utility.stops[-1])
    if stop >= 0.8:
        return "two good results are rated hardly better than one"
    return f"after a result of the top grade, what follows counts {stop:.0%} less"
