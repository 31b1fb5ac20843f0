"""Inputs shared by the audit's sections: the log, the metric in use, and the DCG learned."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dcglearn.coherence.verdict import Coherence, coherence
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.learning.factoring import Factoring
from dcglearn.learning.fit import AnyFit, Fit, warn_of
from dcglearn.learning.fit_utility import QPFit, fit_qp
from dcglearn.learning.options import DCGOptions, QPOptions
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, metric_in_use
from dcglearn.reading.in_memory import Log
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.band_draws import N_RESAMPLES, Bands, bands_or_why, drawn_judges
from dcglearn.trust.calibration import shrunk
from dcglearn.trust.coins import NO_SIGNAL, check_log, tells_nothing
from dcglearn.trust.comparison import Comparison
from dcglearn.trust.cross_validation import ChosenC, choose_C
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted
from dcglearn.trust.llm import LLMReport, llm_report

LEARNED = "the learned DCG"

MARGINS: Fields = {"qp": "unit", "qp-hamming": "hamming", "qp-log": "log"}
"""The margin of the paper's QP, by the name of the method."""

MEASURED = 5_000
"""Pairs that stand for a log of twice as many, or more, where held-out pairs are measured."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """A log, the metric in use as given, its name, and the fit with bands, or why there are none.

    `baseline` is the metric in use on the grades and positions of the log, with gains from 0 to 1.
    `chosen` says how C was chosen, of the QP.
    """

    log: Preferences
    metric: MetricLike
    name: str
    baseline: DCG
    fit: AnyFit
    bands: Bands | None
    no_bands: str
    random_state: int
    chosen: ChosenC | None = None

    @cached_property
    def pairs(self) -> Preferences:
        """Pairs to learn from: of different lists, without raters who always name one side."""
        return usable_pairs(self.log)

    @cached_property
    def factoring(self) -> Factoring | None:
        """The DCG nearest to the weights of the QP; None of a direct fit."""
        return self.fit.factor(normalise_gains=True) if isinstance(self.fit, QPFit) else None

    @cached_property
    def dcg(self) -> DCG:
        """The DCG learned, with judges: draws of them, and their slope by held-out pairs."""
        if not isinstance(self.fit, Fit):
            assert self.factoring is not None
            return self.factoring.dcg
        with stage("judges"):
            if self.bands is None:
                judges = drawn_judges(self.log, self.fit, self.random_state)
            else:
                judges = self.bands.judges

        # how sure they are, and what they leave unexplained, by held-out pairs
        held_out = self.held_out
        judges = shrunk(judges, None if held_out is None else held_out.calibration)
        if self.tells_nothing:
            judges = replace(judges, unexplained=NO_SIGNAL)
        elif held_out is not None and held_out.below_ceiling:
            unexplained = f"grades do not explain all: {held_out.room}"
            judges = replace(judges, unexplained=unexplained)
        return replace(self.fit.dcg, judges=judges)

    @cached_property
    def tells_nothing(self) -> bool:
        """Whether no metric orders the pairs better than a coin."""
        return tells_nothing(self.log)

    @cached_property
    def comparison(self) -> Comparison | str:
        """Held-out comparison of the learned DCG with the metric in use, or why there is none.

        All sentences on whom people follow are made of it.
        """
        log, seed = self.log.thinned(MEASURED), self.random_state
        try:
            with stage("held out"):
                return cross_fitted(log, self.fit, baseline=self.metric, random_state=seed)
        except InputError as error:
            return str(error)

    @cached_property
    def proof(self) -> Coherence:
        """Whether the learned DCG and the metric in use can disagree, searched for 20 seconds."""
        with stage("coherence"):
            names = (LEARNED, self.name)
            return coherence(self.dcg, self.baseline, time_limit=20.0, names=names)

    @cached_property
    def llm(self) -> LLMReport | None:
        """How far the LLM judge can be trusted, where its verdicts were followed too."""
        if not isinstance(self.fit, Fit) or self.fit.llm is None:
            return None
        return llm_report(self.log, self.fit, random_state=self.random_state)

    @property
    def held_out(self) -> Comparison | None:
        """The held-out comparison, if there is one."""
        return None if isinstance(self.comparison, str) else self.comparison

    @property
    def followed(self) -> str:
        """The metric that people follow where both differ: "learned", "in use", or "" for none."""
        return "" if self.held_out is None else self.held_out.followed

    @property
    def alike(self) -> bool:
        """Whether the learned DCG is proven to order all lists as the metric in use does."""
        return not self.tells_nothing and self.proof.coherent is True

    @classmethod
    def of(
        cls,
        log: Preferences,
        metric: MetricLike,
        random_state: int,
        *,
        llm: Log | None = None,
        method: str = "dcg",
        C: float | str = 1.0,
        n_draws: int = N_RESAMPLES,
    ) -> Self:
        """Learn from a log; for errors see `audit`. Without draws there are no bands."""
        # the metric in use, on the grades and positions of the log
        shape = log.n_grades, log.depth
        name, baseline = metric_in_use(metric, *shape, accept=ONLY_DCG, name="metric")

        # positions that it does not reach count nothing
        discounts = np.append(baseline.discounts, np.zeros(log.depth))[: log.depth]
        gains = baseline.gains[: log.n_grades]
        baseline = DCG(gains, discounts, power=baseline.power).normalised()

        # the fit, and its bands
        check_log(log)
        fit, chosen = _fitted(log, llm, method, C, random_state)
        bands, no_bands = None, "not measured: --method dcg has bands of every gain and discount"
        if isinstance(fit, Fit):
            no_bands = "not measured: --bands 200 gives 90% bands of every gain and discount"
        if isinstance(fit, Fit) and n_draws:
            with stage("bands"):
                bands, no_bands = bands_or_why(
                    log, fit, n_resamples=n_draws, random_state=random_state
                )
        return cls(log, metric, name, baseline, fit, bands, no_bands, random_state, chosen)


def _fitted(
    log: Preferences, llm: Log | None, method: str, C: float | str, random_state: int
) -> tuple[AnyFit, ChosenC | None]:
    """Return the fit of a method to a log and, of the QP with C="auto", how C was chosen."""
    fit: AnyFit
    chosen = None

    # gains and discounts, with an LLM judge's followed as far as people agree
    if method == "dcg":
        asked = DCGOptions(n_grades=log.n_grades, llm=llm, random_state=random_state)
        with stage("learning"):
            fit = fit_learner(log, asked)

    # the paper's QP
    else:
        options = QPOptions(margin=MARGINS[method])
        if C == "auto":
            by = "pair" if log.rater is None else "rater"
            chosen = choose_C(log, options, by=by, random_state=random_state)
        with stage("learning"):
            fit = fit_qp(log, replace(options, C=float(C) if chosen is None else chosen.C))
    warn_of(fit)
    return fit, chosen
