"""Test of gains times discounts: whether a grade's gain depends on its position.

Source: Zhou et al. 2008, section 5.2.

Both models are logistic, ``P = sigma(<W, d>)`` with ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``, B
>= 0: increasing in the grade, decreasing in the position. The product form is ``B = a b^T``.
Parameters lie on the boundary, so the statistic has no chi-square distribution and is compared with
that of logs simulated from DCGs (`nested_test`). Both likelihoods are penalised: where weights
separate a short log, its likelihood hardly tells the models apart, and says little about how sharp
its judges are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Fields,
    Floats,
    InputError,
    PolarsFrame,
    filled,
    whole_number,
)
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_dcg
from dcglearn.learning.minimise import Minimum, minimised
from dcglearn.learning.pair_loss import JudgedPairs, pair_loss
from dcglearn.learning.usable_pairs import learnable
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.nested_test import FALSE_POSITIVE_RATE, LogsOfDCG, blunter_draws, nested_test
from dcglearn.trust.resampling import check_enough

PENALTY = 1.0
"""Precision of the normal prior of the increments B, whose standard deviation is a unit of noise.

With nearly none (1e-3), 8.5% of logs of 100 judgements by D1 and D2 were rejected at 5%, with this
one 4%; and of logs of 200 judgements with half the gain from rank 4 on 80% instead of 63%.
"""


@dataclass(frozen=True)
class PositionTest(Finding):
    """The result of the test.

    `statistic` is the likelihood ratio (twice the penalised log likelihood of free weights minus
    that of gains times discounts), `df` the number of extra parameters of the free weights, `null`
    the statistics of logs simulated from DCGs, shape (B,), and `p_value` the share of these (the
    log itself included) that are at least as large. The simulation ends as soon as the statistic
    cannot be significant any more. `product` and `free` are the two fits, `free` in units of the
    judges' noise.
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

    @property
    def pictures(self) -> list[Fields]:
        """The worth of the best grade and of a middle one, by position, under both fits."""
        pictures = []
        ticks = [str(k + 1) for k in range(self.product.depth)]
        top = self.product.n_grades - 1
        for grade in dict.fromkeys((top, top // 2)):
            fits = {"gains times discounts": self.product.utility, "free weights": self.free}
            lines = {}
            for name, fit in fits.items():
                # the fits have units of their own
                lines[name] = (fit.weights[:, grade] / (fit.weights.max() or 1.0)).tolist()
            title = f"worth of grade {grade}, by position"
            pictures.append({"title": title, "ticks": ticks, "lines": lines})
        return pictures


def position_dependence(
    log: Preferences | ArrayLike, *, n_resamples: int = 199, random_state: int = 0
) -> PositionTest:
    """Test whether gains depend on the position.

    A likelihood ratio test (Zhou et al. 2008, section 5.2) against logs simulated from DCGs, drawn
    from the posterior of the fitted one and its judges. Weights are kept small by a normal prior,
    which the paper does not have: without it, free weights fit short logs nearly without error.
    Where lists recur, the log likelihood is scaled to the number of distinct lists. Raises
    InputError if no log of this shape can show a dependence (two grades or one position).

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log; ties are left out.
    n_resamples, random_state : int
        Largest number of simulated logs, of which 199 are enough at the 5% level, and their seed.

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
    judgements = _judgements(log)
    with one_blas_thread():
        # fit a DCG with logistic judges, near which all product forms start
        description = DirectDescription(loss="logistic", n_grades=log.n_grades)
        _, smaller = fit_dcg(log, description)
        curves = smaller.model.curves(smaller.theta)
        falls = -np.diff(curves.discounts, append=0.0)
        near = np.diff(curves.gains), curves.sharpness * falls

        # compare the product form with free weights
        ratio, product, free = _likelihood_ratio(judgements, log.n_grades, near)

        def ratio_of(judgements: JudgedPairs, share: float) -> float:
            """Return the likelihood ratio of a simulated log."""
            weight = share * judgements.weight
            simulated = JudgedPairs.plain(judgements.first, judgements.second, weight)
            return _likelihood_ratio(simulated, log.n_grades, near)[0]

        # the same on logs of DCGs
        logs = LogsOfDCG.like(smaller)
        thetas = blunter_draws(smaller, logs, n_resamples, random_state)
        p_value, null = nested_test(ratio, ratio_of, logs, thetas, random_state=random_state)

    # the product form as a DCG
    a, b = product
    gains, discounts = np.concatenate([[0.0], np.cumsum(a)]), np.cumsum(b[::-1])[::-1]
    return PositionTest(
        statistic=ratio,
        p_value=p_value,
        df=df,
        null=null,
        product=DCG(gains, discounts, log.grade_names),
        free=Utility(weights_of_increments(free), log.grade_names),
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


def _judgements(log: Preferences) -> JudgedPairs:
    """Return the preferences, which count as at most as many judgements as there are lists.

    Warn if they count for less than their weight.
    """
    total, n_lists = log.total_weight, log.n_lists
    if total > n_lists:
        warnings.warn(
            f"the log weighs as much as {total:g} judgements and has {n_lists} distinct lists, so "
            f"not all judgements are independent: it counts as {n_lists} of them, and the p-value "
            "is approximate",
            UserWarning,
            stacklevel=3,
        )
    weight = min(1.0, n_lists / total) * log.weights
    return JudgedPairs.plain(filled(log.preferred), filled(log.other), weight)


def weights_of_increments(increments: Floats) -> Floats:
    """Return the weights W, shape (K, L), of the increments B, shape (L - 1, K).

    ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``.
    """
    inner = np.cumsum(np.cumsum(increments[:, ::-1], axis=1)[:, ::-1], axis=0).T
    return np.hstack([np.zeros((len(inner), 1)), inner])


def _cost(judgements: JudgedPairs, increments: Floats) -> tuple[float, Floats]:
    """Return the negative log likelihood of B plus the penalty, and its slope, shape (L - 1, K)."""
    # the loss and its slope in W
    weights = weights_of_increments(increments)
    thresholds = np.array([0.0, 0.0, np.inf])
    sums = pair_loss(judgements, weights, thresholds, np.zeros(1))

    # the slope in B, and the penalty
    above = np.cumsum(sums.moment[:, :0:-1], axis=1)[:, ::-1]
    slope = np.cumsum(above, axis=0).T + PENALTY * increments
    return float(sums.loss) + 0.5 * PENALTY * float(np.vdot(increments, increments)), slope


def _free_fit(judgements: JudgedPairs, start: Floats) -> Minimum:
    """Return the minimum over B, flat, from a start of shape (L - 1, K)."""

    def cost(flat: Floats) -> tuple[float, Floats]:
        value, slope = _cost(judgements, flat.reshape(start.shape))
        return value, slope.ravel()

    return _minimised(cost, start.ravel())


def _product_fit(judgements: JudgedPairs, start: tuple[Floats, Floats]) -> Minimum:
    """Return the minimum over the product form: a and b, one after the other."""
    n = len(start[0])

    def cost(both: Floats) -> tuple[float, Floats]:
        a, b = both[:n], both[n:]
        value, slope = _cost(judgements, np.outer(a, b))
        return value, np.concatenate([slope @ b, a @ slope])

    return _minimised(cost, np.concatenate(start))


_minimised = partial(minimised, bounds=(0.0, np.inf), max_iter=500, tol=1e-9, memory=15)
"""The minimum over numbers of at least 0."""


def _likelihood_ratio(
    judgements: JudgedPairs, n_grades: int, near: tuple[Floats, Floats]
) -> tuple[float, tuple[Floats, Floats], Floats]:
    """Return the likelihood ratio statistic, the product form (a, b) and the free B."""
    # fit free weights
    shape = (n_grades - 1, judgements.first.shape[1])
    free = _free_fit(judgements, np.full(shape, 1e-2))

    # fit the product form from the one nearest to these, and from the one given
    left, size, right = np.linalg.svd(free.x.reshape(shape))
    root = np.sqrt(size[0])
    starts = (root * np.abs(left[:, 0]), root * np.abs(right[0])), near
    product = min((_product_fit(judgements, x) for x in starts), key=lambda end: end.value)
    a, b = product.x[: shape[0]], product.x[shape[0] :]

    # the free model includes the product form
    if free.value > product.value - 1e-6 * abs(product.value):
        again = _free_fit(judgements, np.outer(a, b))
        free = min(free, again, key=lambda end: end.value)
    return 2 * max(product.value - free.value, 0.0), (a, b), free.x.reshape(shape)
