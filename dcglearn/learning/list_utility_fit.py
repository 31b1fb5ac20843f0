"""List utilities fitted to judgements: the model of `direct_fit` with stop probabilities, or with a
share of the best.

The further parameters are those of `ListUtility`. The search starts near the fit of the DCG, and
goes by the slopes alone. What a list is worth is computed once for each distinct list.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.learning.direct_fit import DirectObjective, Model, log_curves
from dcglearn.learning.direct_search import Fit
from dcglearn.learning.listed_judgements import ListedJudgements
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility

TRIED, ROUGH_STEPS = 4, 40
"""So many of the best starts are descended from, so many steps at first."""

SAMPLE = 1 << 12
"""Starts are compared on at most twice this many judgements."""

SHARPER = (-0.7, 0.7)
"""Changes of the log sharpness that are tried with every start."""

NEARBY = (("linear", "log2"), ("exponential", "log2"), ("linear", "reciprocal"))
"""Textbook curves tried beside those of the DCG, which curves its own to make up for the form."""


def corners(form: str, n_grades: int) -> Floats:
    """Return the further parameters of starts, shape (S, L) or (S, 1): from none to all, by
    grade.
    """
    if form == "best":
        return np.array([[0.0], [0.5], [0.95]])
    grades = np.arange(n_grades) / max(n_grades - 1, 1)
    steps = [0.8 * (grades >= cut) for cut in grades[1:]]
    smooth = [
        np.clip(step + 0.4 * (np.append(step[1:], 0.8) > 0) * (step == 0), 0, 1) for step in steps
    ]
    return np.array([np.zeros(n_grades), *steps, *smooth, 0.5 * grades, grades, grades**2])


def fit_form(
    model: Model,
    judgements: JudgedPairs,
    share: float,
    bases: Sequence[Floats],
    *,
    start: Floats | None = None,
    max_iter: int = 2000,
) -> Fit:
    """Fit a model of a form other than the DCG to judgements.

    `share` is the factor of the loss, `bases` are parameters of the DCG's model near its fit, the
    first its own; each is combined with some corners of the form and some sharpnesses. `start`, all
    parameters of a fit to nearly the same log, is the only start where it is given. A long log is
    learned from a sample first.
    """
    objective = DirectObjective(model, ListedJudgements.of(judgements).merged(), share)
    if start is None:
        start = _best_start(objective, bases)
    end = _descended(objective, np.clip(start, *model.bounds), max_iter)
    return Fit(model, end.x, float(end.fun), int(end.nit), bool(end.success))


def _best_start(objective: DirectObjective, bases: Sequence[Floats]) -> Floats:
    """Return the lowest end of short descents from the lowest starts and from the DCG itself, over
    a few pairs.
    """
    model, judgements = objective.model, objective.judgements
    few = ListedJudgements.of(judgements.every(max(len(judgements) // SAMPLE, 1)))
    objective = DirectObjective(
        model, few, objective.share * judgements.total_weight / few.total_weight
    )
    further, sharp = corners(model.form, model.n_grades), model.places.sharpness
    starts = np.array([np.append(base, corner) for base in bases for corner in further])
    starts = np.tile(starts, (1 + len(SHARPER), 1))
    starts[:, sharp] += np.repeat([0.0, *SHARPER], len(starts) // (1 + len(SHARPER)))[:, None]
    starts = np.clip(starts, *model.bounds)
    chosen = {0, *np.argsort(objective.values(starts), kind="stable")[:TRIED].tolist()}
    ends = [_descended(objective, starts[i], ROUGH_STEPS) for i in sorted(chosen)]
    best: Floats = min(ends, key=lambda end: float(end.fun)).x
    return best


def bases_near(model: Model, theta: Floats) -> list[Floats]:
    """Return the parameters of a fitted DCG, and those with its judges and the curves of some
    textbook DCGs.
    """
    bases = [theta]
    for gain, discount in NEARBY:
        dcg = DCG.standard(model.n_grades, model.depth, gain, discount)
        if dcg.gains.any():
            other = theta.copy()
            other[: model.places.delta.stop] = np.concatenate(log_curves(dcg.gains, dcg.discounts))
            bases.append(np.clip(other, *model.bounds))
    return bases


def parameters_of(utility: ListUtility, form: str) -> Floats:
    """Return the further parameters of a list utility of a form, as they stand at the end of all
    parameters.
    """
    return np.array([float(utility.best)]) if form == "best" else utility.stops


def _descended(objective: DirectObjective, theta: Floats, steps: int) -> Any:
    from scipy.optimize import minimize

    return minimize(
        objective.with_gradient,
        theta,
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack(objective.model.bounds),
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-6},
    )
