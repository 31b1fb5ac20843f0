"""Inputs shared by the audit's sections: the log, the metric in use, and the DCG learned."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dcglearn.coherence.verdict import Coherence, coherence
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import InputError
from dcglearn.learning.fit import Fit, warn_of
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.usable_pairs import usable_pairs
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, metric_or_name, read_metric
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.band_draws import Bands, bands_or_why, drawn_judges
from dcglearn.trust.calibration import shrunk
from dcglearn.trust.coins import check_log, tells_nothing
from dcglearn.trust.comparison import Comparison
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted

LEARNED = "the learned DCG"


@dataclass(frozen=True, eq=False)
class Inputs:
    """A log, the metric in use as given, its name, and the fit with bands, or why there are none.

    `baseline` is the metric in use on the grades and positions of the log, with gains from 0 to 1.
    """

    log: Preferences
    metric: Any  # a DCG, or a checked name
    name: str
    baseline: DCG
    fit: Fit
    bands: Bands | None
    no_bands: str
    random_state: int

    @cached_property
    def pairs(self) -> Preferences:
        """Pairs to learn from: of different lists, without raters who always name one side."""
        return usable_pairs(self.log)

    @cached_property
    def learned(self) -> DCG:
        """The DCG learned, with judges as `learn` has them: draws of them, and their slope."""
        with stage("judges"):
            judges = drawn_judges(self.log, self.fit, self.random_state)
        held_out = None if isinstance(self.comparison, str) else self.comparison.calibration
        return replace(self.fit.dcg, judges=shrunk(judges, held_out))

    @cached_property
    def tells_nothing(self) -> bool:
        """Whether no metric orders the pairs better than a coin."""
        return tells_nothing(self.log)

    @cached_property
    def comparison(self) -> Comparison | str:
        """Held-out comparison of the learned DCG with the metric in use, or why there is none.

        It is that of `learn`. All sentences on whom people follow are made of it.
        """
        seed = self.random_state
        try:
            with stage("held out"):
                return cross_fitted(self.log, self.fit, baseline=self.metric, random_state=seed)
        except InputError as error:
            return str(error)

    @cached_property
    def proof(self) -> Coherence:
        """Whether the learned DCG and the metric in use can disagree, searched for 20 seconds."""
        with stage("coherence"):
            names = (LEARNED, self.name)
            return coherence(self.fit.dcg, self.baseline, time_limit=20.0, names=names)

    @property
    def followed(self) -> str:
        """The metric that people follow where both differ: "learned", "in use", or "" for none."""
        return "" if isinstance(self.comparison, str) else self.comparison.followed

    @classmethod
    def of(
        cls, log: Preferences, metric: MetricLike, random_state: int, *, strict: bool = False
    ) -> Self:
        """Learn from a log; for errors see `audit`."""
        # the metric in use, on the grades and positions of the log
        in_use = metric_or_name(metric, accept=ONLY_DCG)
        name = in_use.at(log.depth) if isinstance(in_use, MetricName) else "the metric used now"
        baseline: DCG = read_metric(in_use, log.n_grades, log.depth)
        if baseline.n_grades < log.n_grades:
            raise InputError(
                f"{name} has {baseline.n_grades} grades, the log {log.n_grades}: "
                "map them (DCG.map_grades)"
            )

        # positions that it does not reach count nothing
        unseen = np.zeros(max(log.depth - baseline.depth, 0))
        discounts = np.append(baseline.discounts[: log.depth], unseen)
        baseline = DCG(baseline.gains[: log.n_grades], discounts).normalised()

        # the DCG learned
        check_log(log, strict=strict)
        with stage("learning"):
            fit = fit_learner(log, DCGOptions(n_grades=log.n_grades, random_state=random_state))
        warn_of(fit)

        # its bands, as `learn` has them
        with stage("bands"):
            bands, no_bands = bands_or_why(log, fit, random_state=random_state)
        return cls(log, in_use, name, baseline, fit, bands, no_bands, random_state)
