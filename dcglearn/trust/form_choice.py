"""The choice of a form: what a list is worth as a DCG, with saturation, or with a share of its best result.

The gain of the form that fits best must be larger than on nearly all logs simulated from the fitted DCG, see
`form_test`. And its log likelihood on held-out judgements must not be lower than that of the DCG by more than a
standard error, since a real log may contradict both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.arrays import Floats
from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import InputError
from dcglearn.learning.checkpoint import ALONE, Resources
from dcglearn.learning.fit_direct import fit_dcg, fit_direct, in_form, whole
from dcglearn.learning.fits import FORMS, LIKELIHOOD, LOSSES, DirectDescription, DirectFit, FormScore
from dcglearn.learning.starts import WarmStart
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.form_test import p_value
from dcglearn.trust.resampling import FOLDS, divided, mean_and_error, unit_of

if TYPE_CHECKING:
    from dcglearn.parts.open_log import Log


HALVINGS = 3
"""How often lists are halved, where each is in many judgements."""

FALSE_POSITIVE_RATE = 0.05
"""False-positive rate of the test of the gain."""

FEWEST_HELD_OUT = 10
"""With fewer raters, queries or pairs than this, no form is chosen by them."""

LEAST_CHANCE = 1e-9
"""Smaller probabilities of held-out verdicts count as this."""


def fit_in_form(
    log: Log,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    resources: Resources = ALONE,
) -> DirectFit:
    """Return the fit of `fit_direct`, in the form chosen where the description says ``form="auto"``."""
    if description.form != "auto":
        return fit_direct(log, description, start, refit=refit, resources=resources)
    if LOSSES.get(description.loss_used) not in (LIKELIHOOD, None):
        raise InputError(
            f'form="auto" compares likelihoods, and loss="{description.loss}" is none: '
            'give form="dcg", "saturation" or "best", or loss="robust"'
        )
    warm = None if start is None else WarmStart.of(start)
    with resources.opened(log, description.n_grades) as opened, one_blas_thread():
        in_memory = whole(description, opened, resources)
        fitted, dcg = fit_dcg(in_memory, description, warm, refit=refit)
        fits = {form: dcg.with_form(form) for form in FORMS[1:]}
        gains = {form: dcg.objective - result.objective for form, result in fits.items()}
        scores = cross_validated_forms(description, in_memory)
        scores = {form: replace(score, gain=gains.get(form, 0.0)) for form, score in scores.items()}
        best = candidate(scores)
        if best != "dcg":
            p = p_value(gains[best], list(fits), dcg, in_memory[in_memory.differing])
            scores[best] = replace(scores[best], p_value=p)
    form = form_of(scores)
    chosen = fitted if form == "dcg" else in_form(fitted, form, fits[form], warm=False)
    return replace(chosen, form_scores=scores)


def candidate(scores: Mapping[str, FormScore]) -> str:
    """Return the form with the largest gain, or the DCG if there is none or held-out judgements speak against it."""
    best = max(FORMS, key=lambda form: scores[form].gain)
    return best if scores[best].ahead >= -scores[best].ahead_error else "dcg"


def form_of(scores: Mapping[str, FormScore]) -> str:
    """Return the candidate if its gain is significant, else the DCG."""
    best = candidate(scores)
    p_value = scores[best].p_value
    return best if p_value is not None and p_value <= FALSE_POSITIVE_RATE else "dcg"


def scores_table(scores: Mapping[str, FormScore], chosen: str) -> str:
    """Return the scores of the forms as a text table."""
    head = f"{'form':<12}{'gain':>8}{'p':>8}{'log likelihood':>16}{'over the DCG':>16}{'':>11}{'share':>8}   held out"
    rows = [
        f"{form:<12}{score.gain:>8.2f}{'' if score.p_value is None else f'{score.p_value:.3f}':>8}"
        f"{score.log_likelihood:>16.4f}{score.ahead:>+16.4f} ± {score.ahead_error:<8.4f}{score.share:>8.4f}"
        f"{'   chosen' if form == chosen else ''}"
        for form, score in scores.items()
    ]
    if any(score.p_value is not None for score in scores.values()):
        rows.append("p: share of the logs simulated from the DCG with such a gain")
    return "\n".join([head, *rows])


def cross_validated_forms(description: DirectDescription, log: Preferences, seed: int = 0) -> dict[str, FormScore]:
    """Return the score of every form.

    Raters or queries are held out whole where the log has enough of them; else lists, where each is in many judgements;
    else pairs of lists. Raise InputError if there are too few judgements to hold any out.
    """
    unit = unit_of(log, fewest=FEWEST_HELD_OUT, per_list=2)
    first, second = log.clusters(unit)
    if len(np.unique(first)) < FEWEST_HELD_OUT:
        raise InputError(
            f'form="auto" holds out judgements to choose the form, and the log has fewer than {FEWEST_HELD_OUT} '
            'distinct pairs of lists: give form="dcg", or more judgements',
            see="too-few",
        )
    sums, times = np.zeros((2, len(FORMS), len(log))), np.zeros(len(log))
    rng, n_folds, repeats = np.random.default_rng(seed), *((2, HALVINGS) if unit == "list" else (FOLDS, 1))
    folds = [fold for _ in range(repeats) for fold in divided((first, second), n_folds, rng, across=False)]
    for train, test in counted(folds, len(folds), "forms"):
        part, held_out = log[train], log[test]
        dcg = fit_direct(part, replace(description, form="dcg", n_grades=log.n_grades))
        fits = [dcg, *(fit_direct(part, replace(dcg.description, form=form), dcg) for form in FORMS[1:])]
        for i, fit in enumerate(fits):
            sums[0, i, test] += _log_likelihoods(fit, held_out)
            sums[1, i, test] += 0.5 * (1 + held_out.verdicts(fit.metric))
        times[test] += 1
    at = np.flatnonzero(times)
    log_likelihood, share = sums[..., at] / times[at]
    weight = np.ones(len(at)) if log.weight is None else log.weight[at]
    decided = weight if log.tie is None else weight * ~log.tie[at]
    shares = share @ decided / max(float(decided.sum()), 1e-300)
    clusters = first[at], second[at]
    means, errors = mean_and_error(log_likelihood, weight, clusters)
    leads, lead_errors = mean_and_error(log_likelihood - log_likelihood[0], weight, clusters)
    numbers = np.transpose([means, errors, shares, leads, lead_errors]).tolist()
    return {form: FormScore(*row) for form, row in zip(FORMS, numbers, strict=True)}


def _log_likelihoods(fit: DirectFit, log: Preferences) -> Floats:
    """Return the log probability of each verdict, preference or tie, whatever its strength, shape (n,)."""
    chances = fit.probabilities(log)
    chance = chances[:, 0] if log.tie is None else np.where(log.tie, chances[:, 1], chances[:, 0])
    return np.log(np.maximum(chance, LEAST_CHANCE))
