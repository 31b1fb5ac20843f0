"""The choice of a form: what a list is worth as a DCG, with saturation, or with a share of its best result.

Each form is fitted to four fifths of the judgements and scored on the last fifth, five times, by the log likelihood.
The form with the best mean is left for a simpler one whose mean is lower by no more than one standard error of the
difference (Breiman et al. 1984, section 3.4.3); the simplest form is the DCG.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import InputError
from dcglearn.logs.preferences import Preferences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats


FORMS = ("dcg", "best", "saturation")
"""Forms, the simplest first."""

N_FOLDS = 5
"""Number of folds."""

FEWEST_UNITS = 10
"""With fewer raters, queries or pairs than this, no form is chosen by them."""

OFTEN = 4.0
"""Lists are split rather than judgements where a list is in at least this many judgements, on average."""

LEAST_CHANCE = 1e-9
"""Smaller probabilities of held-out verdicts count as this."""


@dataclass(frozen=True)
class FormScore:
    """How well a form predicts held-out judgements.

    Attributes
    ----------
    log_likelihood, error : float
        Mean log likelihood of a judgement, and its standard error.
    ahead, ahead_error : float
        The same less that of the DCG, and the standard error of this difference.
    share : float
        Share of the held-out preferences respected.
    leads : dict of str to (float, float)
        The mean less that of each other form, with the standard error of the difference.
    """

    log_likelihood: float
    error: float
    share: float
    leads: dict[str, tuple[float, float]]

    @property
    def ahead(self) -> float:
        """The mean less that of the DCG."""
        return self.leads["dcg"][0]

    @property
    def ahead_error(self) -> float:
        """Standard error of `ahead`."""
        return self.leads["dcg"][1]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> FormScore:
        """Build a score from its fields; raise InputError unless all are numbers."""
        numbers = {name: float(values[name]) for name in ("log_likelihood", "error", "share")}
        leads = {form: (float(lead), float(error)) for form, (lead, error) in values["leads"].items()}
        return cls(**numbers, leads=leads)


def form_of(scores: Mapping[str, FormScore]) -> str:
    """Return the simplest form within one standard error of the best."""
    best = max(FORMS, key=lambda form: scores[form].log_likelihood)
    return next(form for form in FORMS if np.less_equal(*scores[best].leads[form]))


def scores_table(scores: Mapping[str, FormScore], chosen: str) -> str:
    """Return the scores of the forms as a text table."""
    head = f"{'form':<12}{'log likelihood':>16}{'over the DCG':>16}{'':>11}{'share':>8}   of held-out judgements"
    rows = [
        f"{form:<12}{score.log_likelihood:>16.4f}{score.ahead:>+16.4f} ± {score.ahead_error:<8.4f}{score.share:>8.4f}"
        f"{'   chosen' if form == chosen else ''}"
        for form, score in scores.items()
    ]
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
    values, shares, places = [], [], []
    for train, test in counted(_folds(first, second, seed), N_FOLDS, "forms"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on the whole log warns
            dcg = clone(learner).set_params(form="dcg", n_grades=log.n_grades).fit(log[train])
            further = [clone(learner).set_params(form=form, n_grades=log.n_grades) for form in FORMS[1:]]
            fitted = [dcg, *(model.fit(log[train], start=dcg) for model in further)]
        values.append([_log_likelihoods(model, log[test]) for model in fitted])
        places.append(test)
        decided = log[test].decided
        shares.append([model.score(decided) * decided.total_weight if len(decided) else 0.0 for model in fitted])
    at = np.concatenate(places)
    held_out, weight = np.concatenate(values, axis=1), np.ones(len(at)) if log.weight is None else log.weight[at]
    clusters = (first[at], second[at])
    decided_weight = weight.sum() if log.tie is None else weight[~log.tie[at]].sum()
    return {
        form: FormScore(
            *_mean(value, weight, clusters),
            share=float(share / decided_weight),
            leads={other: _mean(value - held_out[i], weight, clusters) for i, other in enumerate(FORMS)},
        )
        for form, value, share in zip(FORMS, held_out, np.sum(shares, axis=0), strict=True)
    }


def refuse_beyond_dcg(learner: Any, what: str) -> None:
    """Raise InputError if a learner has another form than the DCG, for which `what` is not defined."""
    form = getattr(learner, "form_", learner.form)
    if form != "dcg":
        raise InputError(f'{what} only for a DCG; give a learner with form="dcg" (this one has form="{form}")')


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
            'pairs of lists: give form="dcg", or more judgements'
        )
    return unit


def _folds(first: NDArray[np.intp], second: NDArray[np.intp], seed: int) -> list[tuple[Any, Any]]:
    """Return the indices of the pairs to train on and to hold out, of each fold.

    A pair is held out if the clusters of both its lists are, and trained on if neither is.
    """
    n = int(max(first.max(), second.max())) + 1
    fold = np.random.default_rng(seed).permutation(n) % N_FOLDS
    return [
        (
            np.flatnonzero((fold[first] != i) & (fold[second] != i)),
            np.flatnonzero((fold[first] == i) & (fold[second] == i)),
        )
        for i in range(N_FOLDS)
    ]


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
