"""The direct fit of gains, discounts and judges to a log: a description in, a frozen fit out.

The DCG is fitted first, whatever the form; a form beyond it is then fitted to the same judgements,
from around it.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import EMPTY, UNKNOWN, Floats, InputError, pointer
from dcglearn.learning.checkpoint import NOWHERE, Keeping
from dcglearn.learning.direct_fit import Model, empty_gain, log_curves
from dcglearn.learning.direct_search import Fit, fit, fit_from
from dcglearn.learning.fit_qp import identity
from dcglearn.learning.fits import FORMS, LOSSES, DirectDescription, DirectFit
from dcglearn.learning.list_utility_fit import bases_near, fit_form
from dcglearn.learning.pair_loss import JudgedPairs, JudgementSource
from dcglearn.learning.starts import WarmStart, cold_starts, known_starts, log_sharpness
from dcglearn.learning.verdicts import SMALL, Verdicts, verdicts_in_memory, verdicts_in_parts
from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.unique_rows import may_repeat
from dcglearn.logs.visibility import Visibility
from dcglearn.metric.dcg import DCG
from dcglearn.parts.parts import OpenLog, PartedLog, with_grades

_LOG = logging.getLogger(__name__)

REFITS = ("never", "if_worse")
"""When a warm fit is done again from all starts."""


@dataclass(frozen=True, eq=False)
class FittedDCG:
    """A DCG fitted to judgements by `direct_search.fit`, from which other forms are fitted.

    `pairs` are the log's pairs that the fit used, row by row those of `judgements`: without pairs
    of equal lists and raters who always name one side. None for a log in parts, and for simulated
    judgements.
    """

    model: Model
    judgements: Any
    pairs: PreferencePairs | None
    share: float
    theta: Floats
    objective: float
    starts: Sequence[Floats]
    n_starts: int
    max_iter: int

    def with_form(self, form: str, start: Floats | None = None) -> Fit:
        """Return the fit of a form to the same judgements; `start` is as in `fit_form`."""
        model, bases = replace(self.model, form=form), bases_near(self.model, self.theta)
        return fit_form(
            model, self.judgements, self.share, bases, start=start, max_iter=self.max_iter
        )

    def on(self, judgements: JudgementSource, share: float) -> Self:
        """Return the DCG fitted to other judgements, from this one and from the starts."""
        starts = [np.vstack([self.theta, self.starts[0]]), *self.starts[1:]]
        again = fit(
            self.model, judgements, share, starts, n_starts=self.n_starts, max_iter=self.max_iter
        )
        return replace(
            self,
            judgements=judgements,
            pairs=None,
            share=share,
            theta=again.theta,
            objective=again.objective,
        )


def fit_direct(
    log: OpenLog,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    keeping: Keeping = NOWHERE,
) -> DirectFit:
    """Return the fit of gains, discounts and judges, in the form that the description names.

    `start` is as in `WarmStart.of`; the other parameters and the errors are those of
    `DCGLearner.fit`.
    """
    if description.form not in FORMS:
        raise InputError(f"form={description.form!r} is not one of {', '.join(FORMS)}, auto")
    warm = None if start is None else WarmStart.of(start).of_loss(description.loss_used)
    log = with_grades(log, description.n_grades)
    if description.form != "dcg":
        whole(description, log, keeping)
    with one_blas_thread():
        plain = partial(
            identity, replace(description, form="dcg"), log
        )  # a checkpoint is that of a DCG
        with keeping.kept(lambda: plain(start=str(warm), refit=refit)) as kept:
            fitted, dcg = fit_dcg(log, description, warm, refit=refit, kept=kept)
        if description.form == "dcg":
            return fitted
        near = (
            None if warm is None else warm.in_its_form(description.form, dcg.model, fitted.raters)
        )
        return in_form(
            fitted, description.form, dcg.with_form(description.form, near), warm=near is not None
        )


def whole(description: DirectDescription, log: OpenLog, keeping: Keeping) -> PreferencePairs:
    """Return the log; raise InputError if it is in parts, or a checkpoint is asked for: a form
    needs it in memory.
    """
    if isinstance(log, PartedLog) or keeping.checkpoint is not None:
        problem = f'form="{description.form}" needs the log in memory, without checkpoint=; form="dcg" does not'
        raise InputError(problem, see="whole-log")
    return log


def fit_dcg(
    log: OpenLog,
    description: DirectDescription,
    warm: WarmStart | None = None,
    *,
    refit: str = "never",
    kept: Callable[[Any], Any] = lambda source: source,
    independent: bool = False,
) -> tuple[DirectFit, FittedDCG]:
    """Return the fit of the DCG to an opened log, and what other forms are fitted from; `kept`: see
    `Keeping.kept`.

    Judgements that are `independent` all count, however few their lists.
    """
    if refit not in REFITS:
        raise InputError(f"refit={refit!r} is not one of {', '.join(REFITS)}")
    description.check(log.n_grades, log.depth, graded=log.graded)
    loss = description.loss_used
    if warm is not None:
        warm.check_fit((log.n_grades, log.depth), loss)
    kind = LOSSES[loss]
    verdicts = (
        verdicts_in_parts(log, kind)
        if isinstance(log, PartedLog)
        else verdicts_in_memory(log, kind)
    )
    n_raters = len(verdicts.raters) if loss == "robust" else 1
    zero, notes = zero_of(log, description.zero)
    judgements = verdicts.judgements(one_rater=n_raters == 1, empty=zero or UNKNOWN)
    prior = description.prior_of(log.n_grades, log.depth)
    model = _model(log, description, verdicts, prior, n_raters, zero)
    total = judgements.total_weight
    if total < 0.01:
        raise InputError(
            f"the weights of the log sum to {total:g}, far less than one judgement: multiply all of them by a "
            "common factor, so that they count judgements"
        )
    n_effective = total if independent else min(total, float(verdicts.n_lists()))
    raters = tuple(map(str, verdicts.raters)) if n_raters > 1 else ()
    near = None if warm is None else warm.parameters(model, raters)
    search: dict[str, Any] = {"n_starts": description.n_starts, "max_iter": description.max_iter}
    cold, share = partial(cold_starts, model, verdicts, prior), n_effective / total
    source = kept(distinct(judgements))
    result, is_warm = fit_from(
        near, cold, model, source, share, if_worse=refit == "if_worse", **search
    )
    more: dict[str, Any] = {"dropped": verdicts.dropped, "warm": is_warm, "weighed_on": total}
    fitted = _fitted(log, description, result, raters, n_effective, notes, **more)
    level = logging.INFO if warm is None else logging.DEBUG  # a bootstrap has hundreds of warm fits
    message = "%s loss: objective %.6g after %d iterations, the log counts as %.0f judgements"
    _LOG.log(level, message, loss, result.objective, result.n_iter, n_effective)
    pairs = None if isinstance(verdicts.log, PartedLog) else verdicts.log
    dcg = FittedDCG(
        model,
        judgements,
        pairs,
        share,
        result.theta,
        result.objective,
        known_starts(model),
        **search,
    )
    return fitted, dcg


def distinct(judgements: JudgementSource) -> JudgementSource:
    """Return judgements with identical ones merged, so that the search does not depend on how many
    lines say the same.

    So many judgements that samples of them are alike are left as they are.
    """
    if not isinstance(judgements, JudgedPairs) or len(judgements) > SMALL:
        return judgements
    first, second, level, rater, _, way = judgements.arrays
    return (
        judgements.merged(in_order=True)
        if may_repeat(first, second, level, rater, way)
        else judgements
    )


def zero_of(log: OpenLog, zero: int | str) -> tuple[int, tuple[str, ...]]:
    """Return the grade that is worth nothing, or L if the log tells what an empty place is worth;
    and a note on it.
    """
    if zero == 0:
        return 0, ()
    with_empty, telling = (
        log.parts.total(_empty_places) if isinstance(log, PartedLog) else _empty_places(log)
    )
    names = log.grade_names or [f"grade {grade}" for grade in range(log.n_grades)]
    if isinstance(zero, int):
        why = (
            "by convention: the lists are full, so any grade could be"
            if not with_empty
            else "as an empty place is"
        )
        return zero, (f"{names[zero]} is worth nothing, {why}",)
    if telling:
        return log.n_grades, ()
    why = "no pair has a result in one list only" if with_empty else "the lists are full"
    return 0, (
        f"{why}, so the log cannot tell what no result is worth: by convention as much as {names[0]}",
    )


def _empty_places(log: PreferencePairs) -> NDArray[np.intp]:
    """Return the numbers of pairs with an empty place, and of those where only one of two lists is
    empty there.
    """
    empty = log.preferred == EMPTY, log.other == EMPTY
    both = empty[0] | empty[1], empty[0] ^ empty[1]
    return np.array([places.any(axis=1).sum() for places in both])


def _model(
    log: OpenLog,
    description: DirectDescription,
    verdicts: Verdicts,
    prior: DCG | None,
    n_raters: int,
    zero: int,
) -> Model:
    falling = description.discounts == "falling"
    return Model(
        depth=log.depth,
        n_grades=log.n_grades,
        kind=verdicts.kind,
        with_errors=description.loss_used == "robust",
        n_raters=n_raters,
        n_levels=verdicts.n_levels,
        ties=verdicts.has_ties,
        sided=verdicts.sided,
        ridge=float(description.ridge),
        centre=log_sharpness(verdicts.sample(4096), prior),
        target=None if prior is None else log_curves(prior.gains, prior.discounts, falling=falling),
        margins=verdicts.margins,
        zero=zero,
        empty=0.0 if prior is None else empty_gain(prior.gains),
        falling=falling,
    )


def _fitted(
    log: OpenLog,
    description: DirectDescription,
    result: Fit,
    raters: tuple[str, ...],
    n_effective: float,
    notes: tuple[str, ...],
    **more: Any,
) -> DirectFit:
    """Return the fit of the DCG with its cautions; `notes` are further ones, `more` fields of its
    own.
    """
    visible, curves = log.visible(), result.curves
    gains, discounts = curves.gains / curves.gains[-1], curves.discounts / curves.discounts[0]
    fitted = DirectFit(
        description=description,
        loss=description.loss_used,
        dcg=DCG(gains, discounts, log.grade_names, (*_notes(visible), *notes)),
        curves=curves,
        raters=raters,
        ties=result.model.ties,
        objective=result.objective,
        n_effective=n_effective,
        n_iter=result.n_iter,
        visible=visible,
        unconverged="" if result.converged else _unconverged(result.n_iter),
        **more,
    )
    cautions = _cautions(
        n_effective, result.model.n_grades - 2 + result.model.depth, fitted.rater_error
    )
    return replace(fitted, cautions=cautions)


def in_form(dcg: DirectFit, form: str, result: Fit, *, warm: bool) -> DirectFit:
    """Return the fit with the metric and the judges of a form beyond its DCG."""
    return replace(
        dcg,
        form=form,
        curves=result.curves,
        objective=result.objective,
        n_iter=result.n_iter,
        warm=warm,
        list_utility=result.utility(dcg.dcg.grade_names, dcg.dcg.notes),
        unconverged=dcg.unconverged if result.converged else _unconverged(result.n_iter),
    )


def _notes(visible: Visibility) -> tuple[str, ...]:
    """Return notes on the parts of the curves that pairs of such lists cannot show."""
    notes = []
    if visible.unseen_grades:
        names = ", ".join(str(grade) for grade in visible.unseen_grades)
        notes.append(
            f"grade {names} never occurs in the log; its gain continues the curve of the others"
        )
    if visible.free_columns:
        notes.append(
            "both lists of every pair hold the same grades in another order, so only the steps between discounts are "
            "learned; how high all of them lie is that of the smoothest curve"
        )
    return tuple(notes)


def _cautions(n_effective: float, n_free: int, rater_error: Mapping[str, float]) -> tuple[str, ...]:
    """Return the cautions of fewer judgements than gains and discounts, and of raters who
    contradict the others.
    """
    cautions = []
    if n_effective < n_free:
        cautions.append(
            f"the log tells as much as {n_effective:g} independent judgements, fewer than the {n_free} gains and "
            f"discounts to learn: what it does not show is set by the prior, smooth curves {pointer('too-few')}"
        )
    if names := ", ".join(name for name, error in rater_error.items() if error > 0.5):
        cautions.append(
            f"raters who contradict the others more often than not: {names}; their verdicts are counted reversed: "
            f"check whether they mistook the sides {pointer('contrary-raters')}"
        )
    return tuple(cautions)


def _unconverged(n_iter: int) -> str:
    return f"stopped after {n_iter} iterations, not yet stationary: raise max_iter {pointer('convergence-warning')}"
