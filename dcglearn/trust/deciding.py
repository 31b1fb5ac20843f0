"""Verdicts that decide a conclusion: the few without which it no longer holds."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Cells, Finding, cells_of, table_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import Fields, Flags, Indices, InputError, PolarsFrame, one_of
from dcglearn.learning.fit import fit_of
from dcglearn.learning.options import DCGOptions, Learner
from dcglearn.metrics.dcg import parameter_names
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.influence import influence, numbers_of, refitted
from dcglearn.trust.next_pairs import list_text

UNITS = {None: "verdicts", "pair": "pairs of lists", "rater": "raters", "query": "queries"}
"""What is left out whole, by the word for it."""

CONCLUSION = r"(.+?) *([<>]) *(-?\d*\.?\d+)"
"""A conclusion in words: the name of a gain or discount, the side, and the limit."""

SHOWN = 20
"""Rows of the table that are printed."""


@dataclass(frozen=True, eq=False)
class Deciding(Finding):
    """The verdicts that decide a conclusion.

    `claim` is the conclusion, and `holds` tells whether it holds for `value`, the learned number
    that it is about. A fit without `n` of `n_total` verdicts (pairs of lists, raters or queries, as
    `by` says) has the number `without`, by which it no longer holds; both are None where no set of
    up to half of them was found. `rows`, shape (m,), are the rows of the log that are left out.
    """

    claim: str
    by: str | None
    holds: bool
    value: float
    n: int | None
    n_total: int
    without: float | None
    rows: Indices = field(repr=False)
    units: PolarsFrame = field(repr=False)

    _formats: ClassVar = {"influence": "+.2g", "row": "d"}

    @property
    def sentence(self) -> str:
        """How many verdicts decide, in words."""
        claim = f"that {self.claim} (now {self.value:.4g})"
        of_all = f"of {self.n_total:,} {UNITS[self.by]}"
        if not self.holds:
            return f"it does not hold {claim}"
        if self.n is None:
            return f"no set of up to {self.n_total // 2:,} {of_all} was found that decides {claim}"
        if self.n == 1:
            return f"1 {of_all} decides {claim}: without it, {self.without:.4g}"
        return f"at most {self.n:,} {of_all} decide {claim}: without them, {self.without:.4g}"

    @property
    def caption(self) -> str:
        """What the table holds."""
        return f"The {len(self.cells) - 1} most influential {UNITS[self.by]}" if self.n else ""

    @property
    def table(self) -> PolarsFrame:
        """What decides, the most influential first."""
        return self.units

    @property
    def cells(self) -> Cells:
        """The first rows of the table as text."""
        return cells_of(self.table.head(SHOWN), self._formats)

    @property
    def notes(self) -> list[str]:
        """What influence is, and what is held."""
        if not self.holds:
            return []
        return [
            "the most influential are left out together, so other sets, also smaller ones, may "
            "decide; influence is by how much the number changes without one alone, to first order",
            "the weights of free curves and textbooks are those of the whole log",
        ]


def what_if(
    log: Preferences | ArrayLike, learner: Learner | None, conclusion: str, *, by: str | None = None
) -> Deciding:
    """Find the few verdicts without which a conclusion no longer holds.

    Verdicts are sorted by their influence, the change to first order without each. The first of
    them, twice as many each time and up to half of all, are left out of a fit until it turns the
    conclusion; then bisection finds how few are enough. These fits start from that of the whole log
    and keep its weights of free curves and textbooks. Raises InputError if the words are no
    conclusion, or the learner fits no DCG.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The judgements.
    learner : DCGLearner, optional
        Learner, fitted to the log or not; by default ``DCGLearner()``.
    conclusion : str
        "gain of 2 > 0.5", with the number or the name of a grade, where the best gain is 1, or
        "discount at 3 < 0.4", where the first is 1.
    by : {"pair", "rater", "query"}, optional
        What is left out whole: all verdicts on the same two lists, of a rater or of a query; by
        default each verdict.

    See Also
    --------
    bands : What the log allows.
    audit : Names the verdicts that decide its own conclusion.

    References
    ----------
    Broderick, Giordano and Meager 2020, An automatic finite-sample robustness metric.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
    >>> how = {"lists": "free", "temperature": 0.5, "random_state": 0}
    >>> log = dl.simulate.preference_pairs(truth, 200, **how)
    >>> found = what_if(log, dl.DCGLearner(loss="logistic"), "gain of 1 < 0.5")
    >>> found.n < 10, found.without < 0.5
    (True, False)
    """
    # what is asked, of which fit
    options = DCGOptions.of(learner)
    log = as_preferences(log, None, options.depth)
    name, place, sign, limit = conclusion_in(conclusion, log)
    if by not in UNITS:
        one_of(by, "by", [unit for unit in UNITS if unit], ", or None")
    fit = fit_of(learner)
    if fit is None:
        with stage("learning"):
            fit = fit_learner(log, options)
    value = float(numbers_of(fit.dcg)[place])
    holds = sign * (value - limit) > 0

    # the units that speak most for it come first
    unit = log.clusters(by)[0]
    changes = np.bincount(unit, influence(log, fit, place))
    order = np.argsort(sign * changes, kind="stable")

    def without(n: int) -> float:
        """Return the number without the first units, NaN if nothing is left to learn from."""
        try:
            rest = refitted(log[~np.isin(unit, order[:n])], fit)
        except InputError:
            return np.nan
        return float(numbers_of(rest.dcg)[place])

    def turned(n: int) -> bool:
        """Return whether the conclusion is false without the first units."""
        return sign * (without(n) - limit) <= 0

    # twice as many until it turns, then fewer by halves
    half = len(order) // 2
    sizes = [min(2**i, half) for i in range((half - 1).bit_length() + 1)]
    n = next(filter(turned, sizes), 0) if holds else 0
    if n:
        n = bisect_left(range(n), True, lo=n // 2 + 1, key=turned)
    return Deciding(
        claim=f"the {name} is {'above' if sign > 0 else 'below'} {limit:g}",
        by=by,
        holds=holds,
        value=value,
        n=n or None,
        n_total=len(order),
        without=without(n) if n else None,
        rows=np.flatnonzero(np.isin(unit, order[:n])),
        units=table_of([_row(log, by, unit == i, changes[i]) for i in order[:n]]),
    )


def conclusion_in(words: str, log: Preferences) -> tuple[str, int, int, float]:
    """Return the name of a gain or discount, its place among all, the sign of the side, the limit.

    Raise InputError if the words are no conclusion on the log.
    """
    # grades have numbers, and may have names
    numbered, named = (
        parameter_names(log.n_grades, log.depth, grades) for grades in (None, log.grade_names)
    )
    places = {_short(name): i for names in (numbered, named) for i, name in enumerate(names)}

    found = re.fullmatch(CONCLUSION, f"{words}".strip())
    if not found or _short(found[1]) not in places:
        raise InputError(
            f'{words!r} is no conclusion on the log: write "gain of 2 > 0.5" or "discount at 3 < '
            f'0.4", with one of {", ".join(named)}'
        )
    place = places[_short(found[1])]
    return named[place], place, 1 if found[2] == ">" else -1, float(found[3])


def _short(name: str) -> str:
    """Return the name of a gain or discount in small letters, without words that may be missing."""
    return re.sub(r"\b(the|grade|position) ", "", " ".join(name.lower().split()))


def _row(log: Preferences, by: str | None, chosen: Flags, change: float) -> Fields:
    """Return what a unit is, by its first verdict, and its influence."""
    first = int(np.flatnonzero(chosen)[0])
    row: Fields = {"row": first} if by is None else {}
    for name in ("rater", "query"):
        labels = getattr(log, name)
        if labels is not None and by in (None, name):
            row[name] = str(labels[first])

    # the lists, and how much it counts
    if by in (None, "pair"):
        row |= {name: list_text(getattr(log, name)[first]) for name in ("preferred", "other")}
    if by is not None:
        row["verdicts"] = int(chosen.sum())
    return {**row, "influence": float(change)}
