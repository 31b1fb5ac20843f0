"""Test of falling discounts: whether a position counts for more than one above it.

The statistic is by how much the objective, loss and prior, falls where discounts are free. It is
compared with that on logs of falling discounts: draws from the posterior of free discounts, made
falling (`nested_test`). Of answers, it is that of the comparisons within questions, and simulated
are which of a question's answers are right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Fields, Floats, InputError, PolarsFrame
from dcglearn.learning.dcg_model import delta_of
from dcglearn.learning.descriptions import DISCOUNTS, DirectDescription, DirectLearner
from dcglearn.learning.fit_dcg import fit_dcg
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.answers import Answers
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.answer_logs import LogsOfAnswers
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    N_SIMULATED,
    LogsOfDCG,
    blunter_draws,
    nested_test,
)
from dcglearn.trust.resampling import check_enough, decided_pairs


@dataclass(frozen=True)
class DiscountTest(Finding):
    """The result of the test.

    `statistic` is by how much free discounts lower the objective, `falling` and `free` are the two
    fits.
    """

    statistic: float
    p_value: float
    falling: DCG
    free: DCG

    @property
    def sentence(self) -> str:
        """Whether the log speaks against falling discounts."""
        verdict = "the log does not speak against falling discounts"
        if self.p_value <= FALSE_POSITIVE_RATE:
            verdict = (
                "the log speaks against falling discounts: a position counts for more than one "
                "above it"
            )
        return f"{verdict} (p = {self.p_value:.3f})"

    @property
    def table(self) -> PolarsFrame:
        """The discount of each position, under both fits."""
        both = zip(self.falling.discounts.tolist(), self.free.discounts.tolist(), strict=True)
        return table_of(
            {"position": k, "falling": falling, "free": free}
            for k, (falling, free) in enumerate(both, start=1)
        )

    @property
    def notes(self) -> list[str]:
        """What the numbers are, and what to do."""
        notes = [
            f"free discounts lower what the fit minimises, loss and prior, by {self.statistic:.2f}",
            "the p-value is how often they do so by as much, in logs simulated with falling "
            f"discounts; at most {FALSE_POSITIVE_RATE} speaks against these",
        ]
        if self.p_value <= FALSE_POSITIVE_RATE:
            notes.append('learn with discounts="free"')
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """Both curves of discounts."""
        table = self.table
        lines = {name: table[name].to_list() for name in ("falling", "free")}
        ticks = [str(k) for k in table["position"]]
        return [{"title": "discount by position", "ticks": ticks, "lines": lines}]


def rising_discounts(
    log: Preferences | Answers | ArrayLike, learner: DirectLearner | None = None
) -> DiscountTest:
    """Test whether a log, or answers, need ``DCGLearner(discounts="free")``.

    The log is in memory, the learner one whose `ridge`, `prior` and `zero` are used, with the loss
    "robust", or "logistic" for answers, of which the comparisons within questions are used. The
    p-value comes from 39 simulated logs; it was at most .05 in 15 of 600 logs of the falling
    discounts D1 and D2, of 100 to 500 judgements. Raises InputError if lists have a single
    position, or as in `DCGLearner.fit`.

    See Also
    --------
    trust.position_dependence : A test of gains times discounts.

    Examples
    --------
    >>> truth = dl.DCG([0, 0.3, 1], [1, 0.4, 0.9])
    >>> log = dl.simulate.preference_pairs(truth, 200, lists="free", random_state=0)
    >>> rising_discounts(log).p_value
    0.025
    """
    # the pairs of lists, and their loss
    answers = log if isinstance(log, Answers) else None
    pairs = as_preferences(log) if answers is None else answers.preferences()
    if pairs.depth < 2:
        raise InputError("lists of a single position have one discount: nothing to test")
    check_enough(decided_pairs(pairs))
    loss = "robust" if answers is None else "logistic"
    description = replace(
        DirectDescription.of(learner), loss=loss, form="dcg", n_grades=pairs.n_grades
    )

    with one_blas_thread():
        # fit both models; free discounts lower what a fit minimises
        fits = [
            fit_dcg(pairs, replace(description, discounts=shape), independent=answers is not None)
            for shape in DISCOUNTS
        ]
        (falling, smaller), (free, wider) = fits
        gain = smaller.objective - wider.objective
        logs = LogsOfDCG.like(smaller) if answers is None else LogsOfAnswers.like(answers, smaller)

        # draw discounts and judges, and make each draw fall: draws of the smaller model would keep
        # off flat stretches, where the test has to hold as well
        thetas = blunter_draws(wider, logs, N_SIMULATED)
        delta = wider.model.places.delta
        thetas[:, delta] = np.apply_along_axis(_made_falling, 1, thetas[:, delta])

        def gain_of(judgements: JudgedPairs, share: float) -> float:
            """Return the gain of free discounts on a simulated log, whose loss is times `share`."""
            of_falling, of_free = smaller.on(judgements, share), wider.on(judgements, share)
            return of_falling.objective - of_free.objective

        p_value, _ = nested_test(gain, gain_of, logs, thetas)
    return DiscountTest(gain, p_value, falling.dcg, free.dcg)


def _made_falling(delta: Floats) -> Floats:
    """Return the delta, shape (K - 1,), of the nearest falling discounts to free ones."""
    from scipy.optimize import isotonic_regression

    nearest = isotonic_regression(np.exp(-np.append(0.0, np.cumsum(delta))), increasing=False).x
    return delta_of(np.maximum(nearest, np.finfo(float).tiny), falling=True)
