"""A test of DCG's product form: does the gain of a grade depend on its position? (Zhou et al. 2008,
section 5.2).

Both models are logistic, ``P = sigma(<W, d>)`` with ``W[k, l] = sum_(j >= k, m <= l) B[m, j]``, B
>= 0: increasing in the grade, decreasing in the position. The product form is ``B = a b^T``.
Parameters lie on the boundary, so the statistic has no chi-square distribution and is compared with
that of logs simulated from the fitted product form.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit

from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import EMPTY, UNKNOWN, Floats, InputError, filled, whole_number
from dcglearn.learning.pair_loss import JudgedPairs, pair_loss
from dcglearn.metric.dcg import DCG, Utility
from dcglearn.parts.telling_pairs import learnable
from dcglearn.readers.preferences import Preferences, as_preferences

SHRINK = 1e-3
"""Weight of the penalty ``|B|^2 / 2`` of both models, which keeps the scale finite where no pair is
violated.
"""


@dataclass(frozen=True)
class PositionTest:
    """The result of the test; prints as a sentence.

    `statistic` is the likelihood ratio (twice the log likelihood of free weights minus that of
    gains times discounts), `df` the number of extra parameters of the free weights, `null` the
    statistics of logs simulated from the product form, shape (B,), and `p_value` the share of these
    (the log itself included) that are at least as large. `product` and `free` are the two fits,
    `free` in units of the judges' noise.
    """

    statistic: float
    p_value: float
    df: int
    null: Floats
    product: DCG
    free: Utility

    def __str__(self) -> str:
        verdict = "the log does not speak against gains times discounts"
        if self.p_value < 0.05:
            verdict = (
                "the log speaks against one gain per grade: how much a grade is worth depends on its position by more "
                "than a common discount"
            )
        numbers = f"likelihood ratio {self.statistic:.1f}, {self.df} more parameters, p = {self.p_value:.3f}"
        return f"{verdict} ({numbers} from {len(self.null)} simulated logs)"


def position_dependence(
    log: Preferences | ArrayLike, *, n_resamples: int = 199, seed: int = 0
) -> PositionTest:
    """Test whether gains depend on the position.

    A likelihood ratio test against logs simulated from the fitted product form (Zhou et al. 2008,
    section 5.2). Where lists recur, the log likelihood is scaled to the number of distinct lists.
    Raises InputError if no log of this shape can show a dependence (two grades or one position).

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log; ties are left out.
    n_resamples, seed : int
        Number of logs simulated from the product form, of which 199 are enough at the 5% level, and
        their seed.

    See Also
    --------
    UtilityLearner : A learner without gains times discounts.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 300, lists="free", temperature=0.5, seed=0)
    >>> position_dependence(log, n_resamples=39).p_value > 0.05
    True
    """
    log = learnable(as_preferences(log))[0].decided
    whole_number(n_resamples, "n_resamples", 1)
    df, share, rng = _degrees_of_freedom(log), _effective_share(log), np.random.default_rng(seed)
    with one_blas_thread():
        statistic, product, free = _likelihood_ratio(_judgements(log, share), log.n_grades, None)
        utility = Utility(weights_of_increments(np.outer(*product)))
        p_preferred = expit(utility.score(log.preferred) - utility.score(log.other))
        null = [
            _likelihood_ratio(
                _judgements(log, share, rng.random(len(log)) > p_preferred), log.n_grades, product
            )[0]
            for _ in counted(range(n_resamples), n_resamples, "simulated logs")
        ]
    a, b = product
    return PositionTest(
        statistic=statistic,
        p_value=(1 + sum(value >= statistic for value in null)) / (1 + n_resamples),
        df=df,
        null=np.array(null),
        product=DCG(
            np.concatenate([[0.0], np.cumsum(a)]), np.cumsum(b[::-1])[::-1], log.grade_names
        ),
        free=Utility(weights_of_increments(free), log.grade_names),
    )


def free_utility(log: Preferences) -> Utility:
    """Return the logistic fit of weights that rise with the grade and fall with the position, in
    units of noise.
    """
    log = log[log.differing].decided
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        start = np.full((log.n_grades - 1, log.depth), 1e-2)
        free = _free_fit(_judgements(log, _effective_share(log)), start).x
    return Utility(weights_of_increments(free.reshape(start.shape)), log.grade_names)


def _degrees_of_freedom(log: Preferences) -> int:
    if not log.graded:
        raise InputError("a log of documents has no grades, so no gains to test")
    n_seen = len(
        np.setdiff1d(np.unique(np.concatenate([log.preferred, log.other])), [UNKNOWN, EMPTY])
    )
    df = (log.depth - (2 if log.visible().free_columns else 1)) * (n_seen - 2)
    if df < 1:
        shape = f"{n_seen} grades at {log.depth} positions"
        raise InputError(f"{shape}: gains times discounts fit any such log: nothing to test")
    return df


def _effective_share(log: Preferences) -> float:
    """Return how many independent judgements a unit of weight counts for, at most 1; warn if it is
    less.
    """
    share = min(log.total_weight, float(log.n_lists)) / log.total_weight
    if share < 1:
        warnings.warn(
            "lists recur, so their pairs are not independent: the log counts as "
            f"{share * log.total_weight:g} judgements, and the p-value is approximate",
            UserWarning,
            stacklevel=3,
        )
    return share


def _judgements(
    log: Preferences, share: float, swapped: NDArray[np.bool_] | None = None
) -> JudgedPairs:
    first, second = filled(log.preferred), filled(log.other)
    if swapped is not None:
        first, second = (
            np.where(swapped[:, None], second, first),
            np.where(swapped[:, None], first, second),
        )
    weight = np.full(1, share) if log.weight is None else share * log.weight
    return JudgedPairs(first, second, np.ones(1, np.int8), np.zeros(1, np.int32), weight)


def weights_of_increments(increments: Floats) -> Floats:
    """Return W, shape (K, L), of B, shape (L - 1, K): ``W[k, l] = sum_(j >= k, m <= l) B[m,
    j]``.
    """
    inner = np.cumsum(np.cumsum(increments[:, ::-1], axis=1)[:, ::-1], axis=0).T
    return np.hstack([np.zeros((len(inner), 1)), inner])


def _cost(judgements: JudgedPairs, increments: Floats) -> tuple[float, Floats]:
    """Return the negative log likelihood of B plus the penalty, and its slope, shape (L - 1, K)."""
    sums = pair_loss(
        judgements, weights_of_increments(increments), np.array([0.0, 0.0, np.inf]), np.zeros(1)
    )
    above = np.cumsum(sums.moment[:, :0:-1], axis=1)[:, ::-1]
    slope = np.cumsum(above, axis=0).T + SHRINK * increments
    return float(sums.loss) + 0.5 * SHRINK * float(np.vdot(increments, increments)), slope


def _free_fit(judgements: JudgedPairs, start: Floats) -> Any:
    """Return the minimum over B, from a start of shape (L - 1, K)."""

    def cost(flat: Floats) -> tuple[float, Floats]:
        value, slope = _cost(judgements, flat.reshape(start.shape))
        return value, slope.ravel()

    return _minimised(cost, start.ravel())


def _likelihood_ratio(
    judgements: JudgedPairs, n_grades: int, start: tuple[Floats, Floats] | None
) -> tuple[float, tuple[Floats, Floats], Floats]:
    """Return the likelihood ratio statistic, the product form (a, b) and the free B."""
    shape = (n_grades - 1, judgements.first.shape[1])

    def cost_of_product(both: Floats) -> tuple[float, Floats]:
        a, b = both[: shape[0]], both[shape[0] :]
        value, slope = _cost(judgements, np.outer(a, b))
        return value, np.concatenate([slope @ b, a @ slope])

    free = _free_fit(judgements, np.full(shape, 1e-2))
    left, size, right = np.linalg.svd(free.x.reshape(shape))
    root = np.sqrt(size[0])
    starts = [np.concatenate([root * np.abs(left[:, 0]), root * np.abs(right[0])])]
    if start is not None:
        starts.append(np.concatenate(start))
    product = min((_minimised(cost_of_product, x) for x in starts), key=lambda end: float(end.fun))
    a, b = product.x[: shape[0]], product.x[shape[0] :]
    if free.fun > product.fun - 1e-6 * abs(product.fun):  # the free model includes the product form
        again = _free_fit(judgements, np.outer(a, b))
        free = again if again.fun < free.fun else free
    return 2 * max(float(product.fun - free.fun), 0.0), (a, b), free.x.reshape(shape)


def _minimised(function: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Any:
    bounds = [(0.0, None)] * len(start)
    options = {"maxiter": 500, "ftol": 1e-9, "maxcor": 15}
    return minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
