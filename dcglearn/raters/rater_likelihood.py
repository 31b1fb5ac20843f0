"""Error and position bias of raters by maximum likelihood, given how clear each pair is.

The judges are those of the fit (`pairs`): the position bias b of a rater is added to the
utility of the list shown first, and the verdicts have the probabilities of `judgement_kernel`.
"""

from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.intervals import normal_quantile
from dcglearn.foundation.validation import Flags, Floats, Indices
from dcglearn.learning.curves import BIAS_SPREAD
from dcglearn.learning.judgement_kernel import verdicts
from dcglearn.learning.wrong_verdicts import wrong_chances


@dataclass(frozen=True, eq=False)
class Observations:
    """Verdicts of R raters on pairs of lists, an entry for each judgement.

    `z` is the difference of the pair's utilities, in units of the judges' noise. `threshold` is the
    tie threshold and `tie` flags ties. `way` is 1 where the preferred list was shown first, -1
    where the other was, and 0 where this is not known.
    """

    z: Floats
    threshold: float
    tie: Flags
    way: Floats
    weight: Floats
    rater: Indices
    n_raters: int

    def verdicts(self, errors: Floats, biases: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the log probabilities of the verdicts, and the derivatives of their losses.

        Shapes are as in `judgement_kernel.verdicts`.
        """
        z = self.z + self.way * biases[self.rater]
        return verdicts(z, self.threshold, np.inf, self.tie, errors[self.rater])

    def likelihood(self, errors: Floats, biases: Floats) -> tuple[Floats, Floats, Floats]:
        """Return each rater's log likelihood, with its slope and curvature in the bias.

        The prior of the bias is included. Each has shape (R,).
        """
        logs, slopes, second = self.verdicts(errors, biases)
        slope = -self.summed(self.way * slopes[:, 0])
        curvature = -self.summed(self.way**2 * second[:, 0])

        # the prior of the bias
        log = self.summed(logs)
        prior = 1 / BIAS_SPREAD**2
        return log - prior * biases**2 / 2, slope - prior * biases, curvature - prior

    def best_biases(self, errors: Floats, start: Floats) -> tuple[Floats, Floats]:
        """Return the best biases at given error rates, and the log likelihoods; (R,) each."""
        biases, size = start, np.ones(len(start))
        here = np.array(self.likelihood(errors, biases))
        for _ in range(30 if self.way.any() else 0):
            # Newton's step, as if the likelihood curved down everywhere
            log, slope, curvature = here
            step = size * np.clip(slope / np.maximum(np.abs(curvature), 1e-9), -1, 1)
            if np.abs(step).max(initial=0.0) <= 1e-9:
                break

            # half of it next time for a rater whose likelihood falls, beyond rounding
            there = np.array(self.likelihood(errors, biases + step))
            rises = there[0] >= log - 1e-13 * np.abs(log)
            size = np.where(rises, 1.0, size / 2)
            biases = np.where(rises, biases + step, biases)
            here = np.where(rises, there, here)
        return biases, here[0]

    def wrong(self, errors: Floats, biases: Floats) -> Floats:
        """Return the share of each rater's decided verdicts that is expected to be wrong, (R,).

        It is NaN for a rater without any.
        """
        of_side = self.way * biases[self.rater]
        wrong = wrong_chances(self.z, of_side, self.threshold, errors[self.rater])
        decided = np.where(self.tie, 0.0, 1.0)
        with np.errstate(invalid="ignore"):
            return self.summed(np.where(self.tie, 0.0, wrong)) / self.summed(decided)

    def summed(self, values: Floats) -> Floats:
        """Return the weighted sum of values by rater, shape (R,)."""
        sums = np.bincount(self.rater, self.weight * values, minlength=self.n_raters)
        return sums.astype(np.float64)


def fitted_raters(observations: Observations, level: float) -> tuple[Floats, Floats]:
    """Return the error rates and biases of highest likelihood, with intervals; (R, 3) each.

    They are NaN for a rater without judgements.
    """
    from scipy.interpolate import PchipInterpolator
    from scipy.special import expit

    # profile the likelihood over logits of the error rate
    n = observations.n_raters
    quantile = normal_quantile(level)
    logits = np.linspace(-9.0, 9.0, 145)
    profile = np.empty((len(logits), n))
    biases = np.zeros(n)
    for i, logit in enumerate(logits):
        biases, profile[i] = observations.best_biases(np.full(n, expit(logit)), biases)

    # look it up, interpolated, between them
    fine = np.linspace(-9.0, 9.0, 3601)
    curve = PchipInterpolator(logits, profile)(fine)
    best = curve.argmax(axis=0)
    errors = expit(fine[best])

    # ends of the error rate: where the profile falls by half the squared quantile
    within = curve >= curve.max(axis=0) - quantile**2 / 2
    last = len(fine) - 1
    ends = np.stack([within.argmax(axis=0), last - within[::-1].argmax(axis=0)])
    rates = np.where(ends == 0, 0.0, np.where(ends == last, 1.0, expit(fine[ends])))

    # biases at the best error rate
    biases, _ = observations.best_biases(errors, np.zeros(n))
    half = quantile * _standard_errors(observations, errors, biases)
    error = np.column_stack([errors, *rates])
    bias = np.column_stack([biases, biases - half, biases + half])

    # raters without judgements
    silent = np.bincount(observations.rater, minlength=n) == 0
    error[silent], bias[silent] = np.nan, np.nan
    return error, bias


def _standard_errors(observations: Observations, errors: Floats, biases: Floats) -> Floats:
    """Return the standard error of every bias, the error rate unknown too, shape (R,)."""
    _, slopes, second = observations.verdicts(errors, biases)
    summed = observations.summed
    way = observations.way
    prior = 1 / BIAS_SPREAD**2

    # second derivatives of the loss in the bias and the logit of the error rate
    of_bias = summed(way**2 * second[:, 0]) + prior
    rise = errors * (1 - errors)
    mixed = rise * summed(way * second[:, 3])
    of_logit = rise**2 * summed(slopes[:, 3] ** 2) + rise * (1 - 2 * errors) * summed(slopes[:, 3])

    # information on the bias where the error rate is not known
    information = of_bias - np.where(of_logit > 1e-6, mixed**2 / np.maximum(of_logit, 1e-6), 0.0)
    return 1 / np.sqrt(np.maximum(information, prior))
