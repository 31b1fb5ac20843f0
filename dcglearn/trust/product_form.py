"""Test of gains times discounts: whether a grade's gain depends on its position.

Source: Zhou et al. 2008, section 5.2.

Both models are logistic, ``P = sigma(<W, d>)`` with ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``, B
>= 0: increasing in the grade, decreasing in the position. A DCG is ``B = a b^T``, the steps between
gains times the falls of discounts. Free weights are those near the fitted DCG that fit the log
best: B is normal around the DCG's, since without a prior free weights separate a short log.
Parameters lie on the boundary, so the statistic has no chi-square distribution and is compared with
that of logs simulated from DCGs (`nested_test`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Floats,
    InputError,
    PolarsFrame,
    whole_number,
)
from dcglearn.learning.fit import Fit, fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.learning.pairs import Pairs
from dcglearn.learning.usable_pairs import learnable
from dcglearn.logs.visibility import encode
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    nested_test,
    on_independent,
    single_verdicts,
)
from dcglearn.trust.resampling import check_enough

PENALTY = 1.0
"""Precision of the normal prior of the increments B around the DCG's.

Its standard deviation is a unit of the judges' noise.
"""


@dataclass(frozen=True)
class PositionTest(Finding):
    """The result of the test.

    `statistic` is the likelihood ratio (twice the penalised log likelihood of free weights minus
    that of the fitted DCG), `df` the number of extra parameters of the free weights, `null` the
    statistics of logs simulated from DCGs, shape (B,), and `p_value` the share of these (the log
    itself included) that are at least as large. The simulation ends as soon as the statistic cannot
    be significant any more. `product` and `free` are the two fits, `free` in units of the judges'
    noise.
    """

    statistic: float
    p_value: float
    df: int
    null: Floats
    product: DCG
    free: Utility

    _formats: ClassVar = {"likelihood_ratio": ".1f", "p": ".3f"}

    @property
    def sentence(self) -> str:
        """Whether the log speaks against gains times discounts."""
        verdict = "the log does not speak against gains times discounts"
        if self.p_value <= FALSE_POSITIVE_RATE:
            verdict = (
                "the log speaks against one gain per grade: how much a grade is worth depends on "
                "its position by more than a common discount"
            )
        return f"{verdict} (p = {self.p_value:.3f})"

    @property
    def table(self) -> PolarsFrame:
        """The one test."""
        row = {"weights": "free at each grade and position", "likelihood_ratio": self.statistic}
        row |= {"more_parameters": self.df, "p": self.p_value, "simulated_logs": len(self.null)}
        return table_of([row])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the p-value is, and what it does not say."""
        notes = (
            "the p-value is how often free weights fit a log better by as much, where it is "
            f"simulated from gains times discounts; at most {FALSE_POSITIVE_RATE} speaks against "
            "these",
        )
        if self.p_value <= FALSE_POSITIVE_RATE:
            return (*notes, "UtilityLearner learns a weight for each grade at each position")
        return (*notes, "more judgements can show what these do not")


def position_dependence(
    log: Preferences | ArrayLike, *, n_resamples: int = 199, random_state: int = 0
) -> PositionTest:
    """Test whether gains depend on the position.

    A likelihood ratio test (Zhou et al. 2008, section 5.2) against logs simulated from DCGs, drawn
    from the posterior of the fitted one and its judges. Weights are kept near the DCG's by a normal
    prior, which the paper does not have: without it, free weights fit short logs nearly without
    error. Fits use at most 4,000 judgements, drawn by weight. Where lists recur, the log likelihood
    is scaled to the number of distinct lists. Raises InputError if no log of this shape can show a
    dependence (two grades or one position).

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log; ties and sides are left out.
    n_resamples, random_state : int
        Largest number of simulated logs, of which 199 are enough at the 5% level, and the seed.

    See Also
    --------
    UtilityLearner : A learner without gains times discounts.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> noise = {"temperature": 0.5, "random_state": 0}
    >>> log = dl.simulate.preference_pairs(truth, 300, lists="free", **noise)
    >>> position_dependence(log, n_resamples=39).p_value > 0.05
    True
    """
    whole_number(n_resamples, "n_resamples", 1)
    log = learnable(as_preferences(log))[0].decided
    check_enough(log)
    df = _degrees_of_freedom(log)
    _warn_of_recurring(log)

    log = single_verdicts(log.changed(swapped=None), np.random.default_rng(random_state))
    with one_blas_thread():
        product, alike = on_independent(fit_log(log, DCGOptions(loss="logistic")))
        _, free = _free_weights(product, product.pairs)

        def ratio_of(pairs: Pairs) -> float:
            """Return the likelihood ratio of free weights to a DCG that is fitted to pairs."""
            return _free_weights(product.on(pairs), pairs)[0]

        ratio, p_value, null = nested_test(product, alike, ratio_of, n_resamples, random_state)
    return PositionTest(
        statistic=ratio,
        p_value=p_value,
        df=df,
        null=null,
        product=product.free,
        free=Utility(free, log.grade_names),
    )


def _degrees_of_freedom(log: Preferences) -> int:
    """Return how many parameters free weights have beyond a DCG; raise InputError without any."""
    if not log.graded:
        raise InputError("a log of documents has no grades, so no gains to test")
    grades = np.unique(np.concatenate([log.preferred, log.other]))
    n_seen = len(np.setdiff1d(grades, [UNKNOWN, EMPTY]))
    df = (log.depth - (2 if log.visible().free_columns else 1)) * (n_seen - 2)
    if df < 1:
        shape = f"{n_seen} grades at {log.depth} positions"
        raise InputError(f"{shape}: gains times discounts fit any such log: nothing to test")
    return df


def _warn_of_recurring(log: Preferences) -> None:
    """Warn if judgements count for less than their weight, since lists recur."""
    total, n_lists = log.total_weight, log.n_lists
    if total > n_lists:
        warnings.warn(
            f"the log weighs as much as {total:g} judgements and has {n_lists} distinct lists, so "
            f"not all judgements are independent: it counts as {n_lists} of them, and the p-value "
            "is approximate",
            UserWarning,
            stacklevel=3,
        )


def weights_of_increments(increments: Floats) -> Floats:
    """Return the weights W, shape (K, L), of the increments B, shape (L - 1, K).

    ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``.
    """
    inner = np.cumsum(np.cumsum(increments[:, ::-1], axis=1)[:, ::-1], axis=0).T
    return np.hstack([np.zeros((len(inner), 1)), inner])


def increments_of(pairs: Pairs, n_grades: int) -> Floats:
    """Return how often each increment counts in the difference of pairs, shape (n, (L - 1) K).

    An increment counts for the grades from its own on, at the positions down to its own.
    """
    ahead, behind = (encode(lists, n_grades) for lists in (pairs.first, pairs.second))
    from_grade = np.cumsum((ahead - behind)[:, :, :0:-1], axis=2)[:, :, ::-1]
    to_place = np.cumsum(from_grade, axis=1)
    return to_place.transpose(0, 2, 1).reshape(len(pairs), -1).astype(np.float64)


def _free_weights(fit: Fit, pairs: Pairs) -> tuple[float, Floats]:
    """Return the likelihood ratio of free weights to a fitted DCG, and the weights, shape (K, L).

    The weights of pairs count independent judgements.
    """
    from scipy.optimize import minimize  # which takes long to import
    from scipy.special import expit

    # the increments of the DCG, in units of the judges' noise
    points = fit.model.points(fit.theta[None])
    steps, falls = np.diff(points.gains[0]), -np.diff(points.discounts[0], append=0.0)
    product = np.outer(steps, falls)
    counts = increments_of(pairs, points.gains.shape[1])

    def cost(increments: Floats) -> tuple[float, Floats]:
        """Return the negative log likelihood of B, flat, plus the penalty, and its slope."""
        z = counts @ increments
        away = increments - product.ravel()
        loss = float(pairs.weights @ np.logaddexp(0.0, -z)) + 0.5 * PENALTY * float(away @ away)
        return loss, PENALTY * away - (pairs.weights * expit(-z)) @ counts

    # the objective is convex, so one descent finds its minimum
    bounds = [(0.0, None)] * product.size
    limits = {"maxiter": 500, "maxcor": 15, "ftol": 1e-9, "gtol": 1e-5}
    start = product.ravel()
    free = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    ratio = 2 * (cost(start)[0] - float(free.fun))
    return ratio, weights_of_increments(free.x.reshape(product.shape))
