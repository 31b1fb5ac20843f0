"""What a DCG cannot express of a log, in parts: from the learned DCG to the noise ceiling, on the same held-out pairs.

The parts are weights free at each grade and position (a sum still), list utilities in which the results of a list
interact, and any function of the grades at all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.progress import counted, stage
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.dcg_learner import DCGLearner
from dcglearn.learning.held_out_values import folds_of, held_out_values
from dcglearn.learning.noise_ceiling import NoiseCeiling, noise_ceiling
from dcglearn.learning.product_form import free_utility
from dcglearn.learning.resampling import natural_unit, resampled_weights
from dcglearn.logs.preferences import Preferences, as_preferences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Floats
    from dcglearn.logs.counting import Metric
    from dcglearn.metric.list_utility import ListUtility

DCG_NAME = "gains times discounts (DCG)"
FREE_NAME = "weights free at each grade and position"
FORM_NAMES = {"best": "share of the best result", "saturation": "saturation"}
CEILING_NAME = "any function of the grades"

STANDARD_ERRORS = 2.5
"""A part counts as shown where it is larger than this many standard errors; several parts are looked at."""

STOPS = 0.8
"""From this stop probability of the top grade on, two good results are called hardly better than one."""


@dataclass(frozen=True)
class Part:
    """One utility on held-out preferences.

    Attributes
    ----------
    name : str
        What is free in the utility.
    share, log_likelihood : float
        Share of the preferences respected (ties of the utility count half), and mean log probability of a preference.
    ahead, ahead_error : float
        The share minus that of the DCG, and its bootstrap standard error.
    likelihood_ahead, likelihood_error : float
        The same for the log likelihood.
    """

    name: str
    share: float
    log_likelihood: float
    ahead: float
    ahead_error: float
    likelihood_ahead: float
    likelihood_error: float

    @property
    def shown(self) -> bool:
        """Whether the part is ahead of the DCG by more than 2.5 standard errors, in share or in log likelihood."""
        by_share = self.ahead > STANDARD_ERRORS * self.ahead_error
        by_likelihood = self.likelihood_ahead > STANDARD_ERRORS * self.likelihood_error
        return by_share or (by_likelihood and self.ahead > -STANDARD_ERRORS * self.ahead_error)

    def __str__(self) -> str:
        lead = "" if self.name == DCG_NAME else f"{self.ahead:+.4f} ± {self.ahead_error:.4f}"
        likelihood = "" if self.name == DCG_NAME else f"{self.likelihood_ahead:+.4f} ± {self.likelihood_error:.4f}"
        return f"  {self.share:.4f}  {self.name:<42}{lead:<18}  {self.log_likelihood:.4f}  {likelihood}".rstrip()


@dataclass(frozen=True)
class LackOfFit:
    """What a DCG cannot express of a log; prints as a table with sentences.

    Attributes
    ----------
    parts : tuple of Part
        The DCG, weights free at each grade and position, the list utilities, and the noise ceiling, where there is one.
        The ceiling's log likelihood is that of the lists' own worth, estimated from other ratings.
    sentences : tuple of str
        What the parts mean.
    form : str or None
        The form of `DCGLearner` that closes part of the gap; None where none is shown to.
    utility : ListUtility or None
        The list utility of this form, learned from the whole log.
    ceiling : NoiseCeiling or None
        The noise ceiling of the held-out pairs; None where too few lists recur.
    n_pairs : int
        Number of held-out pairs that all parts are compared on.
    by : str
        Unit that was held out and drawn by the bootstrap.
    """

    parts: tuple[Part, ...]
    sentences: tuple[str, ...]
    form: str | None
    utility: ListUtility | None
    ceiling: NoiseCeiling | None
    n_pairs: int
    by: str

    def __getitem__(self, name: str) -> Part:
        """Return the part whose name begins so."""
        return next(part for part in self.parts if part.name.startswith(name))

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        return {
            "parts": [{**vars(part), "shown": part.shown} for part in self.parts],
            "sentences": list(self.sentences),
            "form": self.form,
            "utility": None if self.utility is None else self.utility.to_dict(),
            "ceiling": None if self.ceiling is None else self.ceiling.to_dict(),
            "n_pairs": self.n_pairs,
            "by": self.by,
        }

    def __str__(self) -> str:
        head = (
            f"share of {self.n_pairs:,} held-out pairs respected, and mean log likelihood (differences from the DCG ± "
            f"bootstrap standard error by {self.by})"
        )
        return "\n".join([head, *map(str, self.parts), *self.sentences])


def lack_of_fit(
    log: Preferences | ArrayLike,
    *,
    by: str | None = None,
    n_resamples: int = 200,
    seed: int = 0,
    progress: bool = False,
) -> LackOfFit:
    """Say how much of a log's preferences a DCG cannot express, and which form expresses it.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The log; ties are left out.
    by : {"pair", "rater", "query", "list"}, optional
        Unit that is held out and drawn by the bootstrap; by default the independent one of the log: raters, else
        queries, else lists where they recur, else pairs.
    n_resamples : int
        Number of bootstrap samples.
    seed : int
        Seed of folds and bootstrap.
    progress : bool
        Whether to show a bar.

    Returns
    -------
    LackOfFit
        The parts, with errors, and what they mean in words.

    Raises
    ------
    InputError
        If the log lacks the column, or is too small to hold anything out.

    See Also
    --------
    noise_ceiling : The share that any metric could reach.
    position_dependence : A test of gains times discounts.
    segment_test : Whether segments need metrics of their own.

    Notes
    -----
    Every utility is learned from four fifths of the units and predicts the pairs of the last fifth, five times. Of
    lists, which are in many pairs, two quarters at a time are held out, so that every pair is held out once. All
    utilities have the same link from utility to probability, ``e + (1 - 2 e) sigma(b d)``, whose two parameters are
    fitted to the training pairs. Where there is a ceiling, all are compared on the pairs that it speaks for.

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> log = preference_pairs(ground_truth("D1"), 60, lists="free", temperature=0.3, seed=0)
    >>> lack_of_fit(log, n_resamples=50).form is None
    True
    """
    given = as_preferences(log)
    given = given[given.differing].decided
    whole_number(n_resamples, "n_resamples", 2)
    if not len(given):
        raise InputError("the log holds no preference between two different lists")
    unit = natural_unit(given) if by is None else by
    with stage("lack of fit" if progress else None), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        held_out = _held_out(given, unit, seed)
        ceiling, no_ceiling = _ceiling(given[held_out.rows], seed)
        if ceiling is not None:
            kept = ceiling.rows
            held_out = _HeldOut(
                [*held_out.names, CEILING_NAME],
                np.vstack([held_out.right[:, kept], ceiling.right]),
                np.vstack([held_out.log_likelihood[:, kept], ceiling.log_likelihood]),
                held_out.rows[kept],
            )
        parts = _parts(held_out, resampled_weights(given[held_out.rows], unit, n_resamples, seed), given)
        if ceiling is not None:
            parts[-1] = _at_most(parts[-1], ceiling)
        form = _form(parts)
        utility = None if form is None else DCGLearner(form=form).fit(given).utility_
        if utility is not None and utility.form == "dcg":  # the whole log's fit uses nothing of the form
            form = utility = None
    sentences = [*_sentences(parts, form, utility), *([no_ceiling] if no_ceiling else [])]
    return LackOfFit(tuple(parts), tuple(sentences), form, utility, ceiling, len(held_out.rows), unit)


@dataclass(frozen=True, eq=False)
class _HeldOut:
    """M utilities on n held-out pairs: how far each respects them and the log probability that it gives to them.

    `right`, `log_likelihood` have the shape (M, n); `rows`, shape (n,), are the pairs' rows in the log.
    """

    names: list[str]
    right: Floats
    log_likelihood: Floats
    rows: NDArray[np.intp]


def _held_out(log: Preferences, unit: str, seed: int) -> _HeldOut:
    """Return the utilities learned without the units of the pairs that they are held out for."""
    values, rows = [], []
    folds = folds_of(log, unit, seed)
    names: list[str] = []
    for train, test in counted(folds, len(folds), "folds"):
        utilities = fitted_utilities(log[train])
        names = list(utilities)
        values.append(
            np.stack([held_out_values(metric, log[train], log[test]) for metric in utilities.values()], axis=1)
        )
        rows.append(test)
    right, log_likelihood = np.concatenate(values, axis=2)
    return _HeldOut(names, right, log_likelihood, np.concatenate(rows))


def fitted_utilities(log: Preferences) -> dict[str, Metric]:
    """Return the DCG, the free weights and the list utilities that fit a log, by name."""
    dcg = DCGLearner().fit(log)
    forms = {name: DCGLearner(form=form).fit(log, start=dcg).utility_ for form, name in FORM_NAMES.items()}
    return {DCG_NAME: dcg.dcg_, FREE_NAME: free_utility(log), **forms}


def _ceiling(log: Preferences, seed: int) -> tuple[NoiseCeiling | None, str]:
    try:
        return noise_ceiling(log, seed=seed), ""
    except InputError as error:
        return None, str(error)


def _parts(held_out: _HeldOut, samples: Iterable[Floats], log: Preferences) -> list[Part]:
    """Return the parts; the first utility is the DCG. `samples` are the weights of bootstrap samples."""
    weight = np.ones(len(held_out.rows)) if log.weight is None else log.weight[held_out.rows]
    values = np.stack([held_out.right, held_out.log_likelihood])  # (2, M, n)

    def leads_of(weight: Floats) -> Floats:
        means = values @ weight / weight.sum()
        return means - means[:, :1]

    leads, means = leads_of(weight), values @ weight / weight.sum()
    errors = np.std([leads_of(drawn) for drawn in samples if drawn.sum() > 0], axis=0, ddof=1)
    numbers = np.concatenate([means, leads[:1], errors[:1], leads[1:], errors[1:]]).T.tolist()
    return [Part(name, *row) for name, row in zip(held_out.names, numbers, strict=True)]


def _at_most(reached: Part, ceiling: NoiseCeiling) -> Part:
    """Return the ceiling's part: what its cross-fitted order reaches, and what that order still loses."""
    lost = ceiling.share - ceiling.lower
    values = {**vars(reached), "share": ceiling.share, "ahead": reached.ahead + lost}
    return Part(**values)


def _form(parts: list[Part]) -> str | None:
    """Return the form with the largest log likelihood among those shown to be ahead of the DCG."""
    shown = {form: part for form, name in FORM_NAMES.items() for part in parts if part.name == name and part.shown}
    return max(shown, key=lambda form: shown[form].log_likelihood, default=None)


def _sentences(parts: list[Part], form: str | None, utility: ListUtility | None) -> list[str]:
    """Return what the parts mean in words."""
    named = {part.name: part for part in parts}
    free, ceiling = named[FREE_NAME], named.get(CEILING_NAME)
    if ceiling is not None and ceiling.ahead <= STANDARD_ERRORS * ceiling.ahead_error and form is None:
        return ["a DCG is all one needs here: no function of the grades is shown to respect more of the preferences"]
    sentences = []
    if ceiling is not None:
        sentences.append(
            f"the learned DCG respects {named[DCG_NAME].share:.1%}, and any function of the grades at most about "
            f"{ceiling.share:.1%}: {100 * ceiling.ahead:.1f} points are left"
        )
    if free.shown:
        sentences.append(
            f"weights free at each grade and position close {100 * free.ahead:.1f} points: what a grade is worth "
            "depends on its position by more than a common discount"
        )
    if form is None or utility is None:
        return [*sentences, "neither saturation nor a share of the best result is shown to be better than a DCG"]
    part = named[FORM_NAMES[form]]
    sentences.append(f"{meaning(utility)}: a DCG cannot express this")
    closes = f"closes {100 * part.ahead:.1f} points" if part.ahead > 0 else "explains the preferences better"
    rest = "" if ceiling is None else f"; {100 * max(ceiling.ahead - part.ahead, 0):.1f} points are left to other forms"
    return [*sentences, f'form="{form}" (--form {form}) {closes} of what the sum of gains times discounts cannot{rest}']


def meaning(utility: ListUtility) -> str:
    """Return what a list utility says beyond a DCG, in words."""
    if utility.form == "best":
        return f"the best result alone counts for {utility.best:.0%} of what a list is worth"
    stop = float(utility.stops[-1])
    if stop >= STOPS:
        return "two good results are rated hardly better than one"
    return f"after a result of the top grade, what follows counts {stop:.0%} less"
