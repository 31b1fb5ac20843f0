"""Choice of the form of a list's value: a DCG, saturation, or a share of the best result.

The gain of a form is by how much its objective, loss and prior, is lower than that of the DCG. The
gain of the form that fits best must be larger than on nearly all logs of DCGs (`nested_test`). And
its log likelihood on held-out judgements must not be lower than that of the DCG by more than a
standard error, since a real log may contradict both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, student_interval
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, PolarsFrame
from dcglearn.learning.checkpoint import NO_CHECKPOINT, Checkpointing
from dcglearn.learning.descriptions import (
    FORMS,
    LIKELIHOOD,
    LOSSES,
    DirectDescription,
    DirectFit,
    FormScore,
)
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg, fit_direct, whole, with_form
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.preference_pairs import PreferencePairs, divided
from dcglearn.metrics.dcg import DCG
from dcglearn.parts.parted_log import OpenLog, with_grades
from dcglearn.trust.blend import fit_blend
from dcglearn.trust.held_out_frame import Rows, held_out_frame, respected
from dcglearn.trust.judge_draws import with_judges
from dcglearn.trust.nested_test import (
    FALSE_POSITIVE_RATE,
    N_SIMULATED,
    LogsOfDCG,
    draws_for,
    nested_test,
)
from dcglearn.trust.resampling import FEWEST_HELD_OUT, FOLDS, unit_of

OF_FORMS = {
    "dcg": "a DCG",
    "saturation": "a DCG whose user stops at a result with a probability, by grade (saturation)",
    "best": "a DCG mixed with the gain of the best result (best)",
}
"""What the forms are, for people to read."""


def fit_in_form(
    log: OpenLog,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    checkpointing: Checkpointing = NO_CHECKPOINT,
    llm: DCG | None = None,
) -> DirectFit:
    """Return a learner's fit, in its form or in the form chosen for the log.

    It is a blend where the loss is "auto" and the form a DCG, and its metric knows its judges.
    Raise InputError for `llm` or a loss that the form does not allow.
    """
    fit = _without_judges(log, description, start, refit, checkpointing, llm)
    return with_judges(fit, log)


def _without_judges(
    log: OpenLog,
    description: DirectDescription,
    start: Any,
    refit: str,
    checkpointing: Checkpointing,
    llm: DCG | None,
) -> DirectFit:
    """Return the fit of `fit_in_form`, whose metric does not know its judges."""
    loss, form = description.loss, description.form
    if llm is not None and (loss, form) != ("auto", "dcg"):
        raise InputError(
            'llm= goes with loss="auto" and form="dcg": the LLM judge is a member of the blend'
        )
    if description.candidates and (loss, form) != ("auto", "dcg"):
        raise InputError(
            'candidates= goes with loss="auto" and form="dcg": a candidate is a member of the blend'
        )

    # a form that is given
    if form != "auto" and (loss, form) != ("auto", "dcg"):
        return fit_direct(log, description, start, refit=refit, checkpointing=checkpointing)
    blend = partial(fit_blend, log, description, start, refit=refit, llm=llm)
    if form != "auto":
        return blend(checkpointing=checkpointing)

    # the form that is chosen
    if LOSSES.get(description.loss_used) not in (LIKELIHOOD, None):
        raise InputError(
            f'form="auto" compares likelihoods, and loss="{loss}" is none: '
            'give form="dcg", "saturation" or "best", or loss="robust"'
        )
    warm = None if start is None else WarmStart.of(start).of_loss(description.loss_used)
    in_memory = whole(description, with_grades(log, description.n_grades), checkpointing)

    # fit all, and test the best
    with one_blas_thread():
        fitted, dcg = fit_dcg(in_memory, description, warm, refit=refit)
        fits = {form: dcg.search_form(form) for form in FORMS[1:]}
        gains = {form: dcg.objective - result.objective for form, result in fits.items()}
        scores = _tested(dcg, gains, cross_validated_forms(description, in_memory))

    # the blend is that of a DCG
    chosen = form_of(scores)
    if chosen != "dcg":
        found = with_form(fitted, chosen, fits[chosen], dcg.judgements, warm=False)
        return replace(found, form_scores=scores)
    plain = blend() if loss == "auto" else fitted
    return replace(plain, description=description, form_scores=scores)


def _tested(
    dcg: FittedDCG, gains: Mapping[str, float], scores: Mapping[str, FormScore]
) -> dict[str, FormScore]:
    """Return the scores with the gains, and the p-value of the form that may be chosen."""
    scores = {form: replace(score, gain=gains.get(form, 0.0)) for form, score in scores.items()}
    best = candidate(scores)
    if best == "dcg":
        return scores

    def gain_of(judgements: JudgedPairs, share: float) -> float:
        """Return the gain of the form that fits best on a simulated log."""
        again = dcg.on(judgements, share)
        return again.objective - min(again.search_form(form).objective for form in FORMS[1:])

    logs = LogsOfDCG.like(dcg)
    thetas = draws_for(logs, dcg, N_SIMULATED)
    p_value, _ = nested_test(gains[best], gain_of, logs, thetas)
    return {**scores, best: replace(scores[best], p_value=p_value)}


def candidate(scores: Mapping[str, FormScore]) -> str:
    """Return the form with the largest gain, unless held-out judgements speak against it.

    Then, and if no form has a gain, the DCG is the candidate.
    """
    best = max(FORMS, key=lambda form: scores[form].gain)
    return best if scores[best].ahead >= -scores[best].ahead_error else "dcg"


def form_of(scores: Mapping[str, FormScore]) -> str:
    """Return the candidate if its gain is significant, else the DCG."""
    best = candidate(scores)
    p_value = scores[best].p_value
    return best if p_value is not None and p_value <= FALSE_POSITIVE_RATE else "dcg"


@dataclass(frozen=True)
class FormChoice(Finding):
    """Why a form was chosen: `scores` of all forms by name, and the one `chosen`."""

    scores: Mapping[str, FormScore]
    chosen: str

    _formats: ClassVar = {
        **dict.fromkeys(("minus_the_DCGs", "low", "high"), "+.4f"),
        **{"ordered_rightly": ".1%", "better_fit": ".2f", "p": ".3f"},
    }
    _labels: ClassVar = {"minus_the_DCGs": "minus the DCG's", "low": f"{LEVEL:.0%} interval"}

    @property
    def sentence(self) -> str:
        """Which form the log needs."""
        p_value = self.scores[self.chosen].p_value
        if self.chosen == "dcg":
            return "a DCG: no other value of a list is shown to fit these judgements better"
        shown = "" if p_value is None else f" (p = {p_value:.3f})"
        return f"the value of a list is {OF_FORMS[self.chosen]}: it fits better than a DCG{shown}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each form."""
        rows = []
        for form, score in self.scores.items():
            row: dict[str, Any] = {"value_of_a_list": OF_FORMS[form], "chosen": form == self.chosen}
            row |= {"ordered_rightly": score.share, "log_probability": score.log_likelihood}
            row |= {"minus_the_DCGs": None, "low": None, "high": None}
            if form != "dcg":
                # ten units at least were held out
                interval = student_interval(score.ahead, score.ahead_error, FEWEST_HELD_OUT)
                ends = score.ahead, *interval
                row |= dict(zip(("minus_the_DCGs", "low", "high"), ends, strict=True))
            rows.append(row | {"better_fit": score.gain, "p": score.p_value})
        return table_of(rows)

    @property
    def notes(self) -> list[str]:
        """What the columns mean."""
        notes = [
            "ordered rightly, log probability: of held-out judgements, the mean of each one",
            "better fit: log probability of the whole log, with the prior on the curves, minus the "
            "DCG's",
        ]
        if any(score.p_value is not None for score in self.scores.values()):
            notes.append(
                "the p-value is how often another form fits a log better by as much, where the log "
                "is simulated from the DCG"
            )
        return notes


def cross_validated_forms(
    description: DirectDescription, log: PreferencePairs
) -> dict[str, FormScore]:
    """Return the score of every form.

    Raters or queries are held out whole where the log has enough of them; else lists, where each is
    in many judgements, in three random halvings; else pairs of lists. Raise InputError if there are
    too few judgements to hold any out.
    """
    unit = unit_of(log, fewest=FEWEST_HELD_OUT, per_list=2)
    clusters = log.clusters(unit)
    if len(np.unique(clusters[0])) < FEWEST_HELD_OUT:
        raise InputError(
            'form="auto" holds out judgements to choose the form, and the log has fewer than '
            f'{FEWEST_HELD_OUT} distinct pairs of lists: give form="dcg", or more judgements',
            see="too-few",
        )

    # divide the log
    rng = np.random.default_rng(0)
    n_folds, repeats = (2, 3) if unit == "list" else (FOLDS, 1)
    folds = []
    for _ in range(repeats):
        folds += divided(clusters, n_folds, rng, across=False)

    def values_of(train: Rows, test: Rows) -> Floats:
        """Return the values of the forms on the judgements that a fold holds out."""
        part, held_out = log[train], log[test]
        dcg = fit_direct(part, replace(description, form="dcg", n_grades=log.n_grades))
        fits = [dcg]
        fits += [fit_direct(part, replace(dcg.description, form=x), dcg) for x in FORMS[1:]]
        right = [respected(held_out, fit.metric) for fit in fits]
        return np.array([right, [_log_likelihoods(fit, held_out) for fit in fits]])

    frame = held_out_frame(log, unit, folds, starmap(values_of, folds), "forms")
    assert frame is not None

    # ties have a probability, but no order
    decided = frame.weight if log.tie is None else frame.weight * ~log.tie[frame.rows]
    shares = frame.right @ decided / max(float(decided.sum()), 1e-300)
    (_, means), (_, errors), _ = frame.means_and_errors()
    (_, leads), (_, lead_errors), _ = frame.leads()
    numbers = np.transpose([means, errors, shares, leads, lead_errors]).tolist()
    return {form: FormScore(*row) for form, row in zip(FORMS, numbers, strict=True)}


def _log_likelihoods(fit: DirectFit, log: PreferencePairs) -> Floats:
    """Return the log probability of each verdict, preference or tie, shape (n,).

    The strength of a preference does not count.
    """
    chances = fit.probabilities(log)
    chance = chances[:, 0] if log.tie is None else np.where(log.tie, chances[:, 1], chances[:, 0])
    return np.log(np.maximum(chance, 1e-9))
