"""Judges of a learned metric, and draws of both from the posterior of a log."""

import logging
from dataclasses import replace

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import EMPTY
from dcglearn.learning.descriptions import DirectFit
from dcglearn.learning.fit_dcg import fit_dcg
from dcglearn.learning.posterior import MOST_JUDGED, dispersion, posterior_draws
from dcglearn.learning.starts import WarmStart
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.judges import JudgeDraws, Judges
from dcglearn.parts.parted_log import SAMPLE, OpenLog
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.blend import LOSSES_OF_MEMBERS
from dcglearn.trust.resampling import is_whole

_LOG = logging.getLogger(__name__)


def with_judges(fit: DirectFit, log: OpenLog) -> DirectFit:
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
        chose=getattr(log, "ratings", None) is None,
        # what the log holds
        n_judgements=round(fit.weighed_on),
        largest=float(gaps.max(initial=0.0)),
        grades=tuple(grades[grades >= 0].tolist()),
        depth=int(np.flatnonzero((lists > EMPTY).any(axis=0)).max(initial=-1)) + 1,
    )
    return judged_by(fit, judges)


def judged_by(fit: DirectFit, judges: Judges) -> DirectFit:
    """Return a fit whose metric has these judges."""
    return replace(fit, dcg=replace(fit.dcg, judges=judges))


def with_draws(dcg: DCG, draws: JudgeDraws) -> DCG:
    """Return a learned DCG whose judges have a few of the draws."""
    assert dcg.judges is not None, "a learner's fit knows its judges"
    return replace(dcg, judges=replace(dcg.judges, draws=draws.few()))


def judge_draws(
    log: Preferences,
    whole: DirectFit,
    unit: str,
    n: int,
    random_state: int,
    most: int = MOST_JUDGED,
) -> JudgeDraws:
    """Return n draws of the posterior around the fit, of a blend around its robust fit.

    They are from at most `most` judgements, see `posterior_draws`.
    """
    loss = LOSSES_OF_MEMBERS[0] if whole.members else whole.loss
    warm = WarmStart.of(whole)
    with one_blas_thread():
        # fit the DCG, and how much the judgements of a unit depend on each other
        _, fitted = fit_dcg(log, replace(whole.description, loss=loss), warm.of_loss(loss))
        assert fitted.pairs is not None
        apart = 1.0
        if unit not in ("pair", "list"):
            apart = dispersion(fitted, fitted.pairs.clusters(unit)[0], random_state)

        # weights that are no counts: one judgement each, however much it weighs (Kish 1965)
        weight = np.ones(1) if log.weight is None else log.weight
        if log.ratings is None and not is_whole(weight):
            apart *= max(float(weight @ weight / weight.sum()), 1.0)

        thetas = posterior_draws(fitted, fitted.theta, n, random_state, apart, most)
    _LOG.info(
        "%d draws of the posterior by %s, which count %.2f times less than alone", n, unit, apart
    )

    # gains up to 1, discounts from 1, and what both were divided by
    points = fitted.model.points(thetas)
    gains, first = fitted.model.zeroed(points.gains), points.discounts[:, :1]
    return JudgeDraws(
        gains=gains / gains[:, -1:],
        discounts=points.discounts / first,
        scale=first[:, 0] * gains[:, -1],
        tie_threshold=points.thresholds[:, 1] if whole.ties else np.zeros(n),
        error_rate=points.errors.mean(axis=1),
        bias=np.zeros(n) if points.biases is None else points.biases.mean(axis=1),
    )
