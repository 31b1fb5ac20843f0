"""Means of few outcomes by people and many of a machine.

PPI++: A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: efficient prediction-powered
inference", 2023.
"""

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.intervals import student_test
from dcglearn.foundation.validation import Fields, Floats


@dataclass(frozen=True)
class PoweredMean:
    """A mean of `n` outcomes by people, with its standard error.

    `share` is lambda, the weight of the LLM judge.

    `worth` is the number of further outcomes by people that would make the mean as precise without
    the machine.
    """

    mean: float
    error: float
    share: float
    n: int
    worth: float

    def tests(self, level: float) -> Fields:
        """Return mean, interval and two-sided p-value by Student's t, as for pairs of systems."""
        return {
            "difference": self.mean,
            **student_test(self.mean, self.error, self.n, level),
            "p_permutation": None,
            "lambda": self.share,
            "worth": self.worth,
        }


def powered_mean(
    people: Floats,
    machine: Floats,
    further: Floats,
    *,
    these: bool = False,
    cross_fitted: bool | None = None,
) -> PoweredMean:
    """Return the mean outcome by people, with an LLM judge's outcomes on these and N further cases.

    The estimate is mean(people) + lambda (mean(further) - mean(machine)): unbiased for any machine.
    Lambda has the smallest variance, as `ppi-python` computes it; with `cross_fitted`, by default
    up to 30 cases, the lambda of each case is computed from the others, since a lambda tuned on the
    case itself follows chance. With `these` the mean is that of people over these n + N cases, not
    over all that there could be: the machine's mean over them is known, and only people's outcomes
    on the N cases are not (regression estimator of a finite population).
    """
    n, n_further, everyone = len(people), len(further), np.arange(len(people))

    # lambda of each case, or of all
    one_by_one = n <= 30 if cross_fitted is None else cross_fitted
    rows = [everyone != i for i in everyone] if one_by_one else [everyone >= 0]
    share = np.array([_share(people[row], machine[row], further, these=these) for row in rows])

    # mean and variance of these cases, of which a part n / (n + N) is known
    if these:
        outcomes = people - share * (machine - np.append(machine, further).mean())
        unknown = n_further / (n + n_further)
        variance = outcomes.var(ddof=1) / n * unknown
        known = people.var(ddof=1) / (n + n_further)

    # or of all (Angelopoulos, Duchi and Zrnic 2023, section 2)
    else:
        outcomes = people - share * (machine - further.mean())
        variance = outcomes.var(ddof=1) / n + share.mean() ** 2 * further.var(ddof=1) / n_further
        known = 0.0

    # as many outcomes by people alone are as precise
    alike = people.var(ddof=1) / (variance + known) if variance > 0 else n
    worth = max(0.0, float(alike - n))
    return PoweredMean(float(outcomes.mean()), float(variance**0.5), float(share.mean()), n, worth)


def _share(people: Floats, machine: Floats, further: Floats, *, these: bool) -> float:
    """Return lambda within 0 and 1, 0 where the machine always says the same."""
    spread = np.append(machine, further).var(ddof=1)
    if not these:
        spread = (1 + len(people) / len(further)) * spread
    covariance = float(np.mean((people - people.mean()) * (machine - machine.mean())))
    return float(np.clip(covariance / spread, 0.0, 1.0)) if spread > 0 else 0.0
