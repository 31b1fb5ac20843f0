"""The direct fit of gains, discounts and judges to a log: a description in, a frozen fit out."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import (
    EMPTY,
    UNKNOWN,
    Fields,
    Floats,
    Indices,
    InputError,
    one_of,
    pointer,
)
from dcglearn.learning.dcg_model import DirectObjective, Model, empty_gain, log_curves
from dcglearn.learning.descriptions import LOSSES, DirectDescription, DirectFit
from dcglearn.learning.direct_search import Optimum, search, search_from
from dcglearn.learning.judgement_kernel import LIKELIHOOD
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource
from dcglearn.learning.starts import WarmStart, cold_starts, known_starts, log_sharpness
from dcglearn.learning.verdicts import SMALL, Verdicts, verdicts_of
from dcglearn.learning.wrong_verdicts import contrary_raters, wrong_share
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.visibility import Visibility
from dcglearn.metrics.dcg import DCG, grade_labels
from dcglearn.parts.parted_log import SAMPLE, OpenLog, PartedLog, with_grades

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class FittedDCG(DirectObjective):
    """A DCG fitted to judgements, with the objective that it minimises.

    `pairs` are the log's pairs that the fit used, row by row those of `judgements`: without pairs
    of equal lists and raters who always name one side. None for a log in parts, and for simulated
    judgements.
    """

    judgements: Any
    pairs: PreferencePairs | None
    theta: Floats
    objective: float
    starts: Sequence[Floats]
    n_starts: int
    max_iter: int

    def on(self, judgements: JudgementSource, share: float) -> Self:
        """Return the DCG fitted to other judgements, from this one and from the starts."""
        starts = [np.vstack([self.theta, self.starts[0]]), *self.starts[1:]]
        of_others = replace(self, judgements=judgements, pairs=None, share=share)
        again = search(of_others, starts, n_starts=self.n_starts, max_iter=self.max_iter)
        return of_others.at_end(again)

    def at_end(self, end: Optimum) -> Self:
        """Return the fit with the parameters at which a search ended."""
        return replace(self, theta=end.theta, objective=end.objective)


def fit_direct(
    log: OpenLog, description: DirectDescription, start: Any = None, *, refit: str = "never"
) -> DirectFit:
    """Return the fit of gains, discounts and judges.

    `start` is as in `WarmStart.of`; the other parameters and the errors are those of
    `DCGLearner.fit`.
    """
    # what to fit, from where
    warm = None if start is None else WarmStart.of(start).of_loss(description.loss_used)
    log = with_grades(log, description.n_grades)

    with one_blas_thread():
        fitted, _ = fit_dcg(log, description, warm, refit=refit)
        return fitted


def fit_dcg(
    log: OpenLog,
    description: DirectDescription,
    warm: WarmStart | None = None,
    *,
    refit: str = "never",
    judged: Any = None,
    independent: bool = False,
) -> tuple[DirectFit, FittedDCG]:
    """Fit the DCG to an opened log, and keep the model and the judgements.

    `judged` has the `sums` of judgements that are fitted instead of the log's. Judgements that are
    `independent` all count, however few their lists.
    """
    # check what is asked for
    one_of(refit, "refit", ("never", "if_worse"))
    description.check(log.n_grades, log.depth, graded=log.graded)
    loss = description.loss_used
    if warm is not None:
        warm.check_fit((log.n_grades, log.depth), loss)

    # read the verdicts, by rater where raters have error rates
    kind = LOSSES[loss]
    verdicts = verdicts_of(log, kind)
    n_raters = len(verdicts.raters) if loss == "robust" else 1
    raters = tuple(map(str, verdicts.raters)) if n_raters > 1 else ()
    zero, notes = zero_of(log, description.zero)
    judgements = verdicts.judgements(one_rater=n_raters == 1, empty=zero or UNKNOWN)

    # repeated lists make judgements depend on each other
    total = judgements.total_weight
    if total < 0.01:
        raise InputError(
            f"the weights of the log sum to {total:g}, far less than one judgement: multiply all "
            "of them by a common factor, so that they count judgements"
        )
    n_effective = total if independent else min(total, float(verdicts.n_lists()))
    share = n_effective / total

    # search, from nearby or from all starts
    prior = description.prior_of(log.n_grades, log.depth)
    model = _model(log, description, verdicts, prior, n_raters, zero)
    near = None if warm is None else warm.parameters(model, raters)
    cold = partial(cold_starts, model, verdicts, prior)
    source = distinct(judgements) if judged is None else judged
    function = DirectObjective(model, source, share)
    n_starts, max_iter = description.n_starts, description.max_iter
    result, is_warm = search_from(
        near, cold, function, n_starts=n_starts, max_iter=max_iter, if_worse=refit == "if_worse"
    )

    level = logging.INFO if warm is None else logging.DEBUG  # folds have many warm fits
    message = "%s loss: objective %.6g after %d iterations, the log counts as %.0f judgements"
    _LOG.log(level, message, loss, result.objective, result.n_iter, n_effective)

    # the fit
    fitted = _direct_fit(
        log,
        description,
        result,
        judgements,
        # facts of the log and of the search
        raters=raters,
        n_effective=n_effective,
        notes=notes,
        dropped=verdicts.dropped,
        warm=is_warm,
        weighed_on=total,
    )

    # and what others are fitted from
    return fitted, FittedDCG(
        model,
        judgements,
        share,
        pairs=None if isinstance(verdicts.log, PartedLog) else verdicts.log,
        # where it ended
        theta=result.theta,
        objective=result.objective,
        starts=known_starts(model),
        n_starts=n_starts,
        max_iter=max_iter,
    )


def distinct(judgements: JudgementSource) -> JudgementSource:
    """Merge identical judgements, so that the search does not depend on how often they repeat.

    Many judgements are left as they are, since samples of them are alike.
    """
    if not isinstance(judgements, JudgedPairs) or len(judgements) > SMALL:
        return judgements
    merged = judgements.merged(in_order=True)
    return judgements if len(merged) == len(judgements) else merged


def zero_of(log: OpenLog, zero: int | str) -> tuple[int, tuple[str, ...]]:
    """Return the grade with gain 0, L for an empty place, and a note on it."""
    if zero == 0:
        return 0, ()
    names = grade_labels(log.n_grades, log.grade_names)

    # what the log can tell
    if isinstance(log, PartedLog):
        with_empty, in_one_only = log.parts.total(_empty_places)
    else:
        with_empty, in_one_only = _empty_places(log)

    # a grade that the user names
    if isinstance(zero, int):
        why = "as an empty place is"
        if not with_empty:
            why = "by convention: the lists are full, so any grade could be"
        return zero, (f"{names[zero]} is worth nothing, {why}",)

    # an empty place, if its value shows
    if in_one_only:
        return log.n_grades, ()
    why = "no pair has a result in one list only" if with_empty else "the lists are full"
    return 0, (
        f"{why}, so the log cannot tell what no result is worth: by convention as much as "
        f"{names[0]}",
    )


def _empty_places(log: PreferencePairs) -> Indices:
    """Return the numbers of pairs with an empty place, and with one in one list only."""
    first, second = log.preferred == EMPTY, log.other == EMPTY
    return np.array([places.any(axis=1).sum() for places in (first | second, first ^ second)])


def _model(
    log: OpenLog,
    description: DirectDescription,
    verdicts: Verdicts,
    prior: DCG | None,
    n_raters: int,
    zero: int,
) -> Model:
    """Return the model of a log."""
    falling = description.discounts == "falling"
    target = None
    empty = 0.0
    if prior is not None:
        target = log_curves(prior.gains, prior.discounts, falling=falling)
        empty = empty_gain(prior.gains)

    return Model(
        log.depth,
        log.n_grades,
        verdicts.kind,
        description.loss_used == "robust",
        n_raters,
        verdicts.n_levels,
        verdicts.has_ties,
        verdicts.sided,
        # the prior
        ridge=float(description.ridge),
        centre=log_sharpness(verdicts.thinned(4096), prior),
        target=target,
        empty=empty,
        # what is fixed
        zero=zero,
        falling=falling,
    )


def _direct_fit(
    log: OpenLog,
    description: DirectDescription,
    result: Optimum,
    judgements: JudgementSource,
    *,
    notes: tuple[str, ...],
    **facts: Any,
) -> DirectFit:
    """Return the fit of the DCG with its cautions; `facts` are fields of it."""
    # the DCG, with the best gain and the first discount 1
    visible = log.visible()
    curves = result.curves
    model = result.model
    dcg = DCG(*curves.scaled, log.grade_names, (*_notes(visible), *notes))

    fitted = DirectFit(
        description=description,
        loss=description.loss_used,
        dcg=dcg,
        curves=curves,
        ties=model.ties,
        visible=visible,
        # how the search ended, and what the log told
        **_facts_of_search(result, judgements),
        **facts,
    )

    # the best gain and the first discount are fixed
    n_free = model.n_grades - 2 + model.depth
    contrary = _contrary(fitted, judgements, result)
    return replace(fitted, contrary=contrary, cautions=_cautions(fitted.n_effective, n_free))


def _facts_of_search(result: Optimum, judgements: JudgementSource) -> Fields:
    """Return where a search ended, as fields of a fit."""
    # how often verdicts are wrong, which a likelihood tells
    wrong = 0.0
    if result.model.kind == LIKELIHOOD:
        wrong = wrong_share(judgements.thinned(SAMPLE), result.model.points(result.theta[None]))

    # whether it ended where the objective is stationary
    unconverged = ""
    if not result.converged:
        unconverged = (
            f"stopped after {result.n_iter} iterations, not yet stationary: raise max_iter "
            f"{pointer('convergence-warning')}"
        )

    # beside how low it ended
    return {
        "objective": result.objective,
        "n_iter": result.n_iter,
        "unconverged": unconverged,
        "wrong_share": wrong,
    }


def _notes(visible: Visibility) -> tuple[str, ...]:
    """Return notes on the parts of the curves that pairs of such lists cannot show."""
    notes = []
    if visible.unseen_grades:
        names = ", ".join(map(str, visible.unseen_grades))
        notes.append(
            f"grade {names} never occurs in the log; its gain continues the curve of the others"
        )
    if visible.free_columns:
        notes.append(
            "both lists of every pair hold the same grades in another order, so only the steps "
            "between discounts are learned; their common height is the smoothest curve's"
        )
    return tuple(notes)


def _contrary(fitted: DirectFit, judgements: JudgementSource, result: Optimum) -> tuple[str, ...]:
    """Return the raters who contradict the others beyond chance."""
    # an error rate above 1/2 is a rater who mistakes the sides, or chance
    errors = fitted.rater_error
    if not any(error > 0.5 for error in errors.values()):
        return ()
    points = result.model.points(result.theta[None])
    beyond = contrary_raters(judgements.thinned(SAMPLE).merged(), points)
    rows = zip(errors.items(), beyond, strict=True)
    return tuple(name for (name, error), is_contrary in rows if error > 0.5 and is_contrary)


def _cautions(n_effective: float, n_free: int) -> tuple[str, ...]:
    """Return the caution of too few judgements."""
    if n_effective >= n_free:
        return ()
    return (
        f"the log tells as much as {number_of(n_effective, 'independent judgements', 'g')}, "
        f"fewer than the {n_free} gains and discounts to learn: what it does not show is set "
        f"by the prior, smooth curves {pointer('too-few')}",
    )
