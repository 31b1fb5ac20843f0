"""The choice of a form: what a list is worth as a DCG, with saturation, or with a share of its best result.

The form that fits best is compared with the DCG in two ways. Its gain must be larger than on nearly all logs simulated
from the fitted DCG, see `form_test`, which finds other forms in fewer judgements than held-out likelihoods do. And its
log likelihood on held-out judgements must not be lower than that of the DCG by more than a standard error, since a real
log may contradict both.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import InputError
from dcglearn.readers.preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats


FORMS = ("dcg", "saturation", "best")
"""Forms, the simplest first."""

N_FOLDS, N_HALVINGS = 5, 3
"""Number of folds of judgements; how often lists are halved instead, where each is in many judgements."""

FALSE_POSITIVE_RATE = 0.05
"""False-positive rate of the test of the gain."""

FEWEST_UNITS = 10
"""With fewer raters, queries or pairs than this, no form is chosen by them."""

OFTEN = 4.0
"""Lists are split rather than judgements where a list is in at least this many judgements, on average."""

LEAST_CHANCE = 1e-9
"""Smaller probabilities of held-out verdicts count as this."""


@dataclass(frozen=True)
class FormScore:
    """How well a form predicts held-out judgements, and how well it fits the whole log.

    Attributes
    ----------
    log_likelihood, error : float
        Mean log likelihood of a held-out judgement, and its standard error.
    share : float
        Share of the held-out preferences respected.
    ahead, ahead_error : float
        The mean log likelihood less that of the DCG, and the standard error of this difference.
    gain : float
        By how much the objective of the fit to the whole log is lower than that of the DCG.
    p_value : float or None
        How often the gain is at least as large on logs simulated from the fitted DCG; None where this was not asked.
    """

    log_likelihood: float
    error: float
    share: float
    ahead: float
    ahead_error: float
    gain: float = 0.0
    p_value: float | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> FormScore:
        """Build a score from its fields; raise InputError unless all are numbers, but for a `p_value` of None."""
        p_value = values.get("p_value")
        numbers = {name: float(value) for name, value in values.items() if name != "p_value"}
        return cls(**numbers, p_value=None if p_value is None else float(p_value))


def with_gains(scores: Mapping[str, FormScore], gains: Mapping[str, float]) -> dict[str, FormScore]:
    """Return the scores with the gains of the forms."""
    return {form: replace(score, gain=gains.get(form, 0.0)) for form, score in scores.items()}


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


def cross_validated_forms(learner: Any, log: Preferences, seed: int = 0) -> dict[str, FormScore]:
    """Return the score of every form.

    Raters or queries are held out whole where the log has enough of them; else lists, where each is in many judgements;
    else pairs of lists. Standard errors are robust to the dependence of judgements that share one of these.

    Raises
    ------
    InputError
        If there are too few judgements to hold any out.
    """
    unit = _unit(log)
    first, second = log.clusters(unit)
    log_likelihood, share, times = (
        np.zeros((len(FORMS), len(log))),
        np.zeros((len(FORMS), len(log))),
        np.zeros(len(log)),
    )
    folds = _folds(first, second, seed)
    for train, test in counted(folds, len(folds), "forms"):
        for i, model in enumerate(_fitted(learner, log[train])):
            log_likelihood[i, test] += _log_likelihoods(model, log[test])
            share[i, test] += 0.5 * (1 + log[test].verdicts(model.metric_))
        times[test] += 1
    at = np.flatnonzero(times)
    weight = np.ones(len(at)) if log.weight is None else log.weight[at]
    decided = weight if log.tie is None else weight * ~log.tie[at]
    means = log_likelihood[:, at] / times[at]
    shares = share[:, at] / times[at] @ decided / max(float(decided.sum()), 1e-300)
    clusters = first[at], second[at]
    return {
        form: FormScore(*_mean(mean, weight, clusters), float(of_form), *_mean(mean - means[0], weight, clusters))
        for form, mean, of_form in zip(FORMS, means, shares, strict=True)
    }


def _fitted(learner: Any, train: Preferences) -> list[Any]:
    """Return learners of all forms, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on the whole log warns
        dcg = clone(learner).set_params(form="dcg", n_grades=train.n_grades).fit(train)
        further = [clone(dcg).set_params(form=form) for form in FORMS[1:]]
        return [dcg, *(model.fit(train, start=dcg) for model in further)]


def _unit(log: Preferences) -> str:
    """Return what is held out whole."""
    for unit in ("rater", "query"):
        labels = getattr(log, unit)
        if labels is not None and len(np.unique(labels)) >= FEWEST_UNITS:
            return unit
    unit = "list" if 2 * len(log) >= OFTEN * log.n_lists else "pair"
    if len(np.unique(log.clusters(unit)[0])) < FEWEST_UNITS:
        raise InputError(
            f'form="auto" holds out judgements to choose the form, and the log has fewer than {FEWEST_UNITS} distinct '
            'pairs of lists: give form="dcg", or more judgements',
            see="too-few",
        )
    return unit


def _folds(first: NDArray[np.intp], second: NDArray[np.intp], seed: int) -> list[tuple[Any, Any]]:
    """Return the indices of the pairs to train on and to hold out, of each fold.

    A pair is held out if the clusters of both its lists are, and trained on if neither is: one in K^2 of the pairs of
    lists, so lists are halved, and several times.
    """
    n, rng = int(max(first.max(), second.max())) + 1, np.random.default_rng(seed)
    n_folds, repeats = (N_FOLDS, 1) if np.array_equal(first, second) else (2, N_HALVINGS)
    folds = []
    for _ in range(repeats):
        fold = rng.permutation(n) % n_folds
        one, two = fold[first], fold[second]
        for i in range(n_folds):
            folds.append((np.flatnonzero((one != i) & (two != i)), np.flatnonzero((one == i) & (two == i))))
    return folds


def _log_likelihoods(learner: Any, log: Preferences) -> Floats:
    """Return the log probability of each verdict, preference or tie, whatever its strength, shape (n,)."""
    chances = learner.predict_proba(log)
    chance = chances[:, 0] if log.tie is None else np.where(log.tie, chances[:, 1], chances[:, 0])
    return np.log(np.maximum(chance, LEAST_CHANCE))


def _mean(values: Floats, weight: Floats, clusters: tuple[NDArray[np.intp], NDArray[np.intp]]) -> tuple[float, float]:
    """Return the weighted mean, and its standard error where pairs with a cluster in common depend on each other.

    For clusters of lists this is the variance of dyadic data (Aronow, Samii and Assenova 2015).
    """
    mean = float(weight @ values / weight.sum())
    off = weight * (values - mean) / weight.sum()
    first, second = clusters
    if np.array_equal(first, second):
        return mean, float(np.sqrt((np.bincount(first, off) ** 2).sum()))
    n = int(max(first.max(), second.max())) + 1
    of_lists = np.bincount(first, off, n) + np.bincount(second, off, n)
    return mean, float(np.sqrt(max((of_lists**2).sum() - (off**2).sum(), (off**2).sum())))
