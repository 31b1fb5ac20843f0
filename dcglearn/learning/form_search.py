"""Fits of list utilities: the model of a DCG with stop probabilities, or with a share of the best.

The further parameters are those of `ListUtility`. The search starts near the fit of the DCG, and
uses slopes alone. The value of each distinct list is computed once.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.dcg_model import DirectObjective, Model, log_curves
from dcglearn.learning.direct_search import Optimum
from dcglearn.learning.listed_judgements import ListedJudgements
from dcglearn.learning.minimise import Minimum, minimised
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility


def search_form(
    objective: DirectObjective,
    bases: Sequence[Floats],
    *,
    start: Floats | None = None,
    max_iter: int = 2000,
) -> Optimum:
    """Fit a model of a form other than the DCG to judgements.

    `share` is the factor of the loss, `bases` are parameters of the DCG's model near its fit, the
    first its own; each is combined with some corners of the form and some sharpnesses. `start`, all
    parameters of a fit to nearly the same log, is the only start where it is given. A long log is
    learned from a sample first.
    """
    model, judgements = objective.model, objective.judgements
    assert isinstance(judgements, JudgedPairs)
    objective = replace(objective, judgements=ListedJudgements.of(judgements).merged())
    if start is None:
        start = _best_start(objective, bases)
    end = _descended(objective, np.clip(start, *model.bounds), max_iter)
    return Optimum(model, end.x, end.value, end.n_iter, end.converged)


def _best_start(objective: DirectObjective, bases: Sequence[Floats]) -> Floats:
    """Return the lowest end of short descents from the best starts and from the DCG itself."""
    model = objective.model

    # compare starts on 4096 to 8192 judgements of a long log
    few = objective.thinned(4096)
    assert isinstance(few.judgements, JudgedPairs)
    objective = replace(few, judgements=ListedJudgements.of(few.judgements))

    # every base at every corner, as sharp as it is, softer and sharper
    further = _corners(model.form, model.n_grades)
    cornered = np.array([np.append(base, corner) for base in bases for corner in further])
    starts = model.sharpened(cornered, (0.0, -0.7, 0.7))

    # descend a little from the lowest four, and from the DCG
    chosen = sorted({0, *objective.lowest(starts, 4)})
    ends = [_descended(objective, starts[i], 40) for i in chosen]
    return min(ends, key=lambda end: end.value).x


def _corners(form: str, n_grades: int) -> Floats:
    """Return further parameters to start from, (S, L) or (S, 1): from none to all, by grade."""
    if form == "best":
        return np.array([[0.0], [0.5], [0.95]])

    # users stop from some grade on, half as often at the grade below, or more often with the grade
    grades = np.arange(n_grades) / max(n_grades - 1, 1)
    steps = [0.8 * (grades >= lowest) for lowest in grades[1:]]
    smooth = []
    for step in steps:
        below = (np.append(step[1:], 0.8) > 0) & (step == 0)
        smooth.append(step + 0.4 * below)
    return np.array([np.zeros(n_grades), *steps, *smooth, 0.5 * grades, grades, grades**2])


def bases_near(model: Model, theta: Floats) -> list[Floats]:
    """Return the parameters of a fitted DCG, and those with curves of textbook DCGs."""
    bases = [theta]
    nearby = ("linear", "log2"), ("exponential", "log2"), ("linear", "reciprocal")
    for gain, discount in nearby:
        dcg = DCG.standard(model.n_grades, model.depth, gain, discount)
        if dcg.gains.any():
            other = theta.copy()
            curves = log_curves(dcg.gains, dcg.discounts, falling=model.falling)
            other[: model.places.delta.stop] = np.concatenate(curves)
            bases.append(np.clip(other, *model.bounds))
    return bases


def parameters_of(utility: ListUtility, form: str) -> Floats:
    """Return the further parameters of a list utility, which stand last in all parameters."""
    return np.array([float(utility.best)]) if form == "best" else utility.stops


def _descended(objective: DirectObjective, theta: Floats, steps: int) -> Minimum:
    return minimised(
        objective.with_gradient,
        theta,
        objective.model.bounds,
        max_iter=steps,
        tol=1e-10,
        slope_tol=1e-6,
        memory=20,
    )
