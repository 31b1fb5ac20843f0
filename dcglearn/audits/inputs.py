"""Inputs shared by the audit's sections: the log, the metric in use, and the DCG learned."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dcglearn.coherence.order_of_systems import SystemOrder, system_order
from dcglearn.coherence.verdict import Coherence, coherence
from dcglearn.foundation.finding import Finding, Section
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.learning.factoring import Factoring
from dcglearn.learning.fit import AnyFit, fit_of, warn_of
from dcglearn.learning.fit_qp import QPFit, fit_qp
from dcglearn.learning.options import DCGOptions, QPOptions
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, metric_in_use, read_metric
from dcglearn.raters.rater_agreement import RaterAgreement, rater_agreement
from dcglearn.reading.in_memory import Log
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.runs import Run
from dcglearn.trust.band_draws import N_RESAMPLES, Bands, bands_or_why, drawn_judges
from dcglearn.trust.calibration import Calibration, shrunk
from dcglearn.trust.coins import ASSUMED, NO_SIGNAL, check_log, tells_nothing
from dcglearn.trust.comparison import Comparison
from dcglearn.trust.cross_validation import choose_C
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted
from dcglearn.trust.llm import LLMReport, llm_report

LEARNED = "the learned DCG"

MARGINS: Fields = {"qp": "unit", "qp-hamming": "hamming", "qp-log": "log"}
"""The margin of the paper's QP, by the name of the method."""

MEASURED = 5_000
"""Pairs that stand for a log of twice as many, or more, where held-out pairs are measured."""

MOST_ERRORS = 200_000
"""Pairs of the longest log whose raters' errors are fitted, which takes seconds."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """A log, the metric in use as given, its name, and the fit with bands, or why there are none.

    `baseline` is the metric in use on the grades and positions of the log, with gains from 0 to 1.
    `systems` are judgements and runs, if given.
    """

    log: Preferences
    metric: MetricLike
    name: str
    baseline: DCG
    fit: AnyFit
    bands: Bands | None
    no_bands: str
    random_state: int
    systems: tuple[Judgements, list[Run]] | None = None

    @cached_property
    def factoring(self) -> Factoring | None:
        """The DCG nearest to the weights of the QP; None of a direct fit."""
        return self.fit.factor(normalise_gains=True) if isinstance(self.fit, QPFit) else None

    @cached_property
    def dcg(self) -> DCG:
        """The DCG learned, with judges: draws of them, and their slope by held-out pairs."""
        # the QP has no judges
        fit, held_out = fit_of(self.fit), self.held_out
        if fit is None:
            assert self.factoring is not None
            return self.factoring.dcg
        with stage("judges"):
            if self.bands is None:
                judges = drawn_judges(self.log, fit, self.random_state)
            else:
                judges = self.bands.judges

        # what they leave unexplained, and how sure they are, by held-out pairs
        unexplained = ""
        if self.tells_nothing:
            unexplained = NO_SIGNAL
        elif held_out is not None and held_out.below_ceiling:
            unexplained = f"grades do not explain all: {held_out.room}"
        judges = replace(shrunk(judges, self.calibration), unexplained=unexplained)
        return replace(fit.dcg, judges=judges)

    @property
    def metrics(self) -> dict[str, DCG]:
        """The learned DCG and the metric in use, by name."""
        return {LEARNED: self.dcg, self.name: self.baseline}

    @cached_property
    def tells_nothing(self) -> bool:
        """Whether no metric orders the pairs better than a coin."""
        return tells_nothing(self.log)

    @cached_property
    def agreement(self) -> RaterAgreement:
        """Agreement of the raters, and their errors where these can be told."""
        # errors are told beside a DCG that was learned from verdicts
        log, fit = self.log, None if self.tells_nothing else fit_of(self.fit)
        errors = fit is not None and log.ratings is None and len(log) <= MOST_ERRORS
        with stage("raters"):
            return rater_agreement(log, fit, errors=errors)

    @cached_property
    def comparison(self) -> Finding:
        """Held-out comparison of the learned DCG with the metric in use, or why there is none.

        All sentences on whom people follow are made of it.
        """
        log, seed = self.log.thinned(MEASURED), self.random_state
        try:
            with stage("held out"):
                return cross_fitted(log, self.fit, baseline=self.metric, random_state=seed)
        except InputError as error:
            return Section(str(error))

    @cached_property
    def proof(self) -> Coherence:
        """Whether the learned DCG and the metric in use can disagree, searched for 20 seconds."""
        names = LEARNED, self.name
        with stage("coherence"):
            return coherence(self.dcg, self.baseline, time_limit=20.0, names=names)

    @cached_property
    def llm(self) -> LLMReport | None:
        """How far the LLM judge can be trusted, where its verdicts were followed too."""
        fit = fit_of(self.fit)
        if fit is None or fit.llm is None:
            return None
        return llm_report(self.log, fit, random_state=self.random_state)

    @cached_property
    def order(self) -> SystemOrder | None:
        """The systems under the metric in use and under the learned DCG, if runs are given."""
        if self.systems is None:
            return None

        # the metric in use on the grades of the judgements
        judged, runs = self.systems
        in_use = read_metric(self.metric, max(judged.n_grades or 0, 2), self.log.depth)
        with stage("systems"):
            return system_order(judged, runs, {self.name: in_use, LEARNED: self.dcg})

    @property
    def counted(self) -> str:
        """The number of judgements, or ratings."""
        log = self.log
        return number_of(log.n_judgements, "judgements" if log.ratings is None else "ratings", ",")

    @property
    def held_out(self) -> Comparison | None:
        """The held-out comparison, if there is one."""
        return self.comparison if isinstance(self.comparison, Comparison) else None

    @property
    def calibration(self) -> Calibration | None:
        """Whether people are as sure as the learned DCG says, if verdicts are held out."""
        return None if self.held_out is None else self.held_out.calibration

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
        # the metric in use, which has the grades of the log
        name, in_use = metric_in_use(
            metric, log.n_grades, log.depth, accept=ONLY_DCG, name="metric"
        )

        # the fit
        check_log(log)
        with stage("learning"):
            fit = _fitted(log, llm, method, C, random_state)
        warn_of(fit)

        # positions that the metric in use does not reach count nothing
        discounts = np.append(in_use.discounts, np.zeros(log.depth))[: log.depth]
        gains = in_use.gains[: log.n_grades]
        baseline = DCG(gains, discounts, power=in_use.power).normalised()

        # its bands, where a log tells something
        bands = None
        no_bands = (
            "not measured: --method dcg and --bands 200 give those of all gains and discounts"
        )

        # no bands of coins, and none that nobody asks for
        if tells_nothing(log):
            no_bands = f"not at all: bands are those of {ASSUMED}"
        elif method == "dcg" and n_draws:
            with stage("bands"):
                bands, no_bands = bands_or_why(
                    log, fit_of(fit), n_resamples=n_draws, random_state=random_state
                )
        return cls(log, metric, name, baseline, fit, bands, no_bands, random_state)


def _fitted(
    log: Preferences, llm: Log | None, method: str, C: float | str, random_state: int
) -> AnyFit:
    """Return the fit of a method to a log."""
    # gains and discounts, with an LLM judge's followed as far as people agree
    if method == "dcg":
        options = DCGOptions(n_grades=log.n_grades, llm=llm, random_state=random_state)
        return fit_learner(log, options)

    # the paper's QP
    qp = QPOptions(margin=MARGINS[method])
    if C == "auto":
        by = "pair" if log.rater is None else "rater"
        C = choose_C(log, qp, by=by, random_state=random_state).C
    return fit_qp(log, replace(qp, C=float(C)))
