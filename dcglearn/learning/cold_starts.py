"""Where fits of `DCGLearner` start from when no start is given: many metrics, and how sharp their judges are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.estimators.utility_learner import UtilityLearner
from dcglearn.foundation.validation import frozen
from dcglearn.learning.direct_fit import SHARPNESS, family, log_curves
from dcglearn.learning.warm_start import SOFTER
from dcglearn.metric.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.direct_fit import Model
    from dcglearn.learning.verdicts import Verdicts
    from dcglearn.readers.preferences import Preferences


HUGE_WEIGHT = 1e9
"""Sum of weights above which the QP of the start has a smaller C."""


def cold_starts(model: Model, verdicts: Verdicts, prior: DCG | None) -> list[Floats]:
    """Return the parameters of all starts, shape (S, p) for each softness of the judges.

    The metrics are a family of curves, the textbook DCGs, the prior, and the factored QP of a sample.
    """
    sample = verdicts.sample(20_000).decided
    C = 0.1 / max(1.0, sample.total_weight / HUGE_WEIGHT)
    factored = UtilityLearner(C, tol=1e-3).fit(sample).factor().dcg
    dcgs = [dcg for dcg in (prior, factored) if dcg is not None]
    of_log = [np.concatenate(log_curves(dcg.gains, dcg.discounts)) for dcg in dcgs]
    metrics = np.vstack([_known_curves(model.n_grades, model.depth), *of_log])
    return [model.starts(metrics, softer) for softer in SOFTER]


def known_starts(model: Model) -> list[Floats]:
    """Return the parameters of the starts that do not depend on the log, as `cold_starts` does."""
    known = _known_curves(model.n_grades, model.depth)
    return [model.starts(known, softer) for softer in SOFTER]


def log_sharpness(sample: Preferences, prior: DCG | None) -> float:
    """Return the log sharpness at which a typical pair differs by 100 times the judges' noise."""
    reference = prior if prior is not None else DCG.standard(sample.n_grades, sample.depth)
    size = float(reference.discounts.sum() * np.ptp(reference.gains))
    typical = np.sqrt(np.mean((reference.score(sample.preferred) - reference.score(sample.other)) ** 2)) / size
    return float(SHARPNESS - np.log(typical if typical > 0 else 0.1))


@cache
def _known_curves(n_grades: int, depth: int) -> Floats:
    """Return alpha and delta of a family of curves and of the textbook DCGs, shape (S, L + K - 2)."""
    dcgs = textbook_dcgs(n_grades, depth).values()
    metrics = family(n_grades, depth) + [(dcg.gains, dcg.discounts) for dcg in dcgs]
    return frozen(np.array([np.concatenate(log_curves(*metric)) for metric in metrics]))
