"""Made-up logs for audits, and what an audit knows of them."""

import numpy as np

from dcglearn.audits.inputs import Inputs
from dcglearn.learning.options import DCGOptions
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.fit_learner import fit_learner

STEEP = DCG([0, 0.05, 0.2, 1], [1, 0.7, 0.45, 0.3])
FLAT = DCG([0, 0.8, 0.9, 1], [1, 0.9, 0.85, 0.8])


def judged(n, truth=STEEP, seed=0, noise=0.0, **columns):
    """Return n pairs of lists of four grades at four positions, judged by a metric, a share of them
    flipped.
    """
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, truth.n_grades, (n, 2, truth.depth)).astype(np.int8)
    flip = (truth.score(pairs[:, 0]) < truth.score(pairs[:, 1])) ^ (rng.random(n) < noise)
    pairs[flip] = pairs[flip, ::-1]
    return Preferences(pairs, n_grades=truth.n_grades, **columns)


def known_of(log, metric=FLAT, name="flat", bands=None):
    """Return what an audit knows, without the time that bands take."""
    fit = fit_learner(log, DCGOptions(n_grades=log.n_grades))
    return Inputs(
        log, metric, name, metric, fit, bands, "" if bands else "no bands: not asked for", 0
    )
