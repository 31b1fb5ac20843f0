"""Judges of a learned metric, and draws of both from the posterior of a log."""

import logging
from dataclasses import replace

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import EMPTY
from dcglearn.learning.fit import Fit
from dcglearn.learning.posterior import JUDGED, Posterior, dispersion
from dcglearn.logs.thinning import SAMPLE
from dcglearn.metrics.judges import Judges
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.resampling import is_whole

_LOG = logging.getLogger(__name__)


def with_judges(fit: Fit, log: Preferences) -> Fit:
    """Return a fit whose metric knows its judges."""
    sample = log.thinned(SAMPLE)
    lists = np.concatenate([sample.preferred, sample.other])
    grades = np.unique(lists)
    gaps = np.abs(sample.gaps(fit.metric))
    judges = Judges(
        scale=fit.scale,
        tie_threshold=fit.tie_threshold,
        error_rate=fit.error_rate,
        bias=fit.position_bias,
        chose=log.ratings is None,
        # what the log holds
        n_judgements=round(fit.weighed_on),
        largest=float(gaps.max(initial=0.0)),
        grades=tuple(grades[grades >= 0].tolist()),
        depth=int(np.flatnonzero((lists > EMPTY).any(axis=0)).max(initial=-1)) + 1,
    )
    return replace(fit, dcg=replace(fit.dcg, judges=judges))


def posterior_of(
    log: Preferences, fit: Fit, unit: str, n: int, random_state: int, n_judged: int = JUDGED
) -> Posterior:
    """Return n draws from the posterior of a fit to a log, whose units are independent.

    They are from about `n_judged` judgements, see `Posterior.of`.
    """
    with one_blas_thread():
        # how much the judgements of a unit depend on each other
        used, apart = fit.facts.log, 1.0
        assert used is not None, "a fit to a log in memory"
        if unit not in ("pair", "list"):
            apart = dispersion(fit, used.clusters(unit)[0], random_state)

        # weights that are no counts: one judgement each, however much it weighs (Kish 1965)
        weight = np.ones(1) if log.weight is None else log.weight
        if log.ratings is None and not is_whole(weight):
            apart *= max(float(weight @ weight / weight.sum()), 1.0)

        _LOG.info(
            "%d draws of the posterior by %s, which count %.2f times less than alone",
            n,
            unit,
            apart,
        )
        return Posterior.of(fit, n, random_state, apart, n_judged)
