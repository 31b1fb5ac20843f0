"""How a metric predicts held-out preferences, by a link from differences to probabilities."""

import numpy as np
from scipy.special import expit

from dcglearn.foundation.validation import Floats
from dcglearn.learning.judgement_kernel import log_chances
from dcglearn.learning.minimise import minimised
from dcglearn.logs.columns import weights_of
from dcglearn.logs.preference_pairs import Metric, PreferencePairs


def held_out_values(metric: Metric, train: PreferencePairs, test: PreferencePairs) -> Floats:
    """Return how far a metric respects each held-out pair, and its log probability, (2, n)."""
    # differences of training pairs in units of their root mean square
    trained = train.gaps(metric)
    weight = weights_of(train)
    weight = weight / weight.sum()
    unit = max(float(np.sqrt(np.average(trained**2, weights=weight))), 1e-12)

    def loss(link: Floats) -> tuple[float, Floats]:
        log_chance, slopes = _predicted(link, trained / unit)
        return -float(weight @ log_chance), -slopes @ weight

    # the link of the training pairs, on the held-out ones
    link = minimised(loss, np.array([0.0, -2.0]), (-10.0, 10.0)).x
    right = (test.verdicts(metric) + 1) / 2
    return np.stack([right, _predicted(link, test.gaps(metric) / unit)[0]])


def _predicted(link: Floats, difference: Floats) -> tuple[Floats, Floats]:
    """Return log probabilities of preferences, (n,), and their slopes in the link, (2, n).

    The link is the log of the sharpness and the logit of the error rate, between 1%, so that no
    preference is certain, and 50%.
    """
    least = 0.01
    share = float(expit(link[1]))
    error = least + (0.5 - least) * share
    z = np.exp(link[0]) * difference
    log_chance, of_z, of_error = log_chances(z, error)
    of_logit = (error - least) * (1 - share) * of_error
    return log_chance, np.stack([of_z * z, of_logit])
