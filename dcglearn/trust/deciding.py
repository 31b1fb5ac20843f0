"""Verdicts that decide a conclusion: the few without which it no longer holds."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, comb
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Cells, Finding, cells_of, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import stage
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    Indices,
    InputError,
    PolarsFrame,
    one_of,
)
from dcglearn.learning.descriptions import DirectDescription, DirectLearner, fit_of
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.runs import RunsLike
from dcglearn.trust.conclusions import Conclusion, OfPeople, conclusion_in, conclusion_of
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.next_pairs import list_text

UNITS = {None: "verdicts", "pair": "pairs of lists", "rater": "raters", "query": "queries"}
"""What is left out whole, by the word for it."""

MOST_SETS = 32
"""All smaller sets are tried where they are at most this many."""

SHOWN = 20
"""Rows of the table that are printed."""


@dataclass(frozen=True, eq=False)
class Deciding(Finding):
    """The verdicts that decide a conclusion.

    `claim` is the conclusion, and `holds` tells whether it holds now; `value` and `without` are the
    number that it is about, in words, with all verdicts and without some. Without `n` of `n_total`
    verdicts (pairs of lists, raters or queries, as `by` says), which have the `share` of the
    weight, it no longer holds; `n` is None where no set of up to half of them was found. `without`
    is of a fit that starts from that of the whole log, and keeps the weights of a blend; `afresh`
    of one that starts from nothing, empty where both are one. These `n` decide where it is
    `confirmed`: the conclusion does not hold afresh either. `smallest` tells whether no smaller
    set does. `rows`, shape (m,), are the rows of the log that are left out.
    """

    claim: str
    by: str | None
    holds: bool
    value: str
    without: str
    n: int | None
    n_total: int
    share: float
    afresh: str
    confirmed: bool
    smallest: bool
    rows: Indices = field(repr=False)
    units: PolarsFrame = field(repr=False)

    _formats: ClassVar = {"influence": "+.2g", "row": "d"}

    @property
    def sentence(self) -> str:
        """How many verdicts decide, in words."""
        units = UNITS[self.by]
        claim = f"that {self.claim} (now {self.value})"
        if not self.holds:
            return f"it does not hold {claim}"
        none = f"no {units} were found that decide {claim}"
        if self.n is None:
            most = f"{self.n_total // 2:,} of {self.n_total:,}"
            still = f"; without those that speak most for it, {self.without}" * bool(self.without)
            return f"{none}: it held in every trial without up to {most}{still}"

        # where a fit from nothing disagrees, these do not decide
        of_all = f"{self.n:,} of {self.n_total:,}"
        if not self.confirmed:
            afresh = self.afresh or "nothing"
            return (
                f"{none}: without {of_all}, {self.without}, but {afresh} where all is learned "
                "afresh"
            )
        at_most = "" if self.smallest else "at most "
        decide, them = ("decides", "it") if self.n == 1 else ("decide", "them")
        return f"{at_most}{of_all} {units} {decide} {claim}: without {them}, {self.without}"

    @property
    def caption(self) -> str:
        """What the table holds."""
        return f"The {UNITS[self.by]}" if len(self.units) else ""

    @property
    def table(self) -> PolarsFrame:
        """What decides, the most influential first."""
        return self.units

    @property
    def cells(self) -> Cells:
        """The first rows of the table as text."""
        return cells_of(self.table.head(SHOWN), self._formats, self._labels)

    @property
    def notes(self) -> list[str]:
        """What the columns mean, and how sure the number is."""
        if self.n is None:
            return []
        notes = [
            "influence is by how much the number changes without it alone, to first order "
            "(for a test, in standard errors), with a blend's weights held"
        ]

        # how sure the number is
        if self.confirmed and not self.smallest:
            notes.append("there may be a smaller set: not all were tried")
        if self.afresh:
            notes.append(
                f"learned afresh without these, from all starts and with new weights of a "
                f"blend, the number is {self.afresh}"
            )

        # what is left out of print
        if len(self.table) > SHOWN:
            notes.append(f"{SHOWN} of {len(self.table):,} rows are shown")
        return notes


def what_if(
    log: Preferences | ArrayLike,
    learner: DirectLearner | None,
    conclusion: str,
    *,
    by: str | None = None,
    judgements: JudgementsLike | None = None,
    runs: RunsLike | None = None,
    random_state: int = 0,
) -> Deciding:
    """Find the few verdicts without which a conclusion no longer holds.

    Verdicts are taken away by their influence, the change to first order without each, until a fit
    to the others turns the conclusion, more of them while it does not, up to half. These fits start
    from that of the whole log, and keep the weights of a blend unless it loses a tenth of its log;
    a last one is made afresh. Raises InputError if the words are no conclusion, the learner fits no
    DCG, or the log has fewer than two of what is left out.

    Parameters
    ----------
    log : Preferences, or array_like of int, shape (n, 2, K)
        The judgements.
    learner : DCGLearner, optional
        Learner, fitted to the log or not; by default ``DCGLearner()``.
    conclusion : str
        "gain of 2 > 0.5", with the number or the name of a grade, where the best gain is 1;
        "discount at 3 < 0.4", where the first is 1; "followed rather than exponential-log2", that
        people follow the learned DCG where it and the other, a name or a file, choose different
        lists, by the test of `audit`; "NEW better than OLD", names of runs, by the means of nDCG
        with the learned DCG.
    by : {"pair", "rater", "query"}, optional
        What is left out whole: all verdicts on the same two lists, of a rater or of a query; by
        default each verdict.
    judgements, runs : optional
        Those of `evaluate`, for a conclusion about runs.
    random_state : int
        Seed of the folds that are held out.

    See Also
    --------
    bands : What the log allows.
    audit : Names the verdicts that decide its own conclusions.

    References
    ----------
    Broderick, Giordano and Meager 2020, An automatic finite-sample robustness metric.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
    >>> how = {"lists": "free", "temperature": 1.0, "random_state": 0}
    >>> log = dl.simulate.preference_pairs(truth, 60, **how)
    >>> found = what_if(log, dl.DCGLearner(loss="logistic"), "gain of 1 < 0.6")
    >>> found.n < 10 and found.confirmed
    True
    """
    # what is asked
    log = as_preferences(log)
    conclusion_in(conclusion, log)
    fit = fit_of(learner)
    if fit is None:
        with stage("learning"):
            fit = fit_learner(log, DirectDescription.of(learner))
    asked = conclusion_of(
        conclusion, log, fit, judgements=judgements, runs=runs, random_state=random_state
    )
    return deciding(asked, by)


def deciding(conclusion: Conclusion, by: str | None = None, n_fits: int = 10) -> Deciding:
    """Return what decides a conclusion, in at most `n_fits` fits beside those by influence."""
    # what is left out whole
    log = conclusion.log
    if by not in UNITS:
        one_of(by, "by", [unit for unit in UNITS if unit], ", or None")
    unit = log.clusters(by)[0]
    search = _Search(conclusion, unit, int(unit.max(initial=-1)) + 1)
    if search.n_total < 2:
        raise InputError(f"the log has {number_of(search.n_total, UNITS[by])}: leave out others")

    # of a conclusion that does not hold, nothing decides
    count: int | None = None
    order = np.zeros(0, np.int64)
    smallest = False
    turned = []
    margin = afresh = None
    if conclusion.margin > 0:
        with stage("what if"):
            # by influence with all else held, then by whole fits
            order, count, smallest = search.ordered()
            margins = search.tried(order, count, max(n_fits // conclusion.cost, 1))
            turned = [tried for tried, found in margins.items() if found <= 0]

            # whole fits bear it out: of the sets that were tried, the smallest
            if turned:
                smallest = min(turned) == 1 or (smallest and min(turned) == count)
                count = min(turned)
                margin = margins[count]
                afresh = np.inf
                with contextlib.suppress(InputError):
                    afresh = conclusion.afresh(search.left_out(order[:count]))
            # it turns with all else held, and no whole fit bears that out
            elif count:
                margin = conclusion.without(search.left_out(order[:count])).margin
                afresh = margins[count]
            # no set was found: how far it gets without all that speak for it
            else:
                margin = margins.get(len(order))

    # the units, and their share of the log
    taken = order[: count or 0]
    left_out = search.left_out(taken)
    weight = log.weights
    return Deciding(
        claim=conclusion.claim,
        by=by,
        holds=conclusion.margin > 0,
        value=conclusion.shown(conclusion.margin),
        # without them
        without=_said(conclusion, margin),
        n=count,
        n_total=search.n_total,
        share=float(weight[left_out].sum() / weight.sum()),
        afresh=_said(conclusion, afresh),
        confirmed=bool(turned) and (afresh is None or afresh <= 0),
        smallest=smallest,
        rows=np.flatnonzero(left_out),
        units=_table(log, by, search, taken),
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """A search for the fewest units, numbered by verdict in `unit`, that decide a conclusion."""

    conclusion: Conclusion
    unit: Indices
    n_total: int

    def left_out(self, units: ArrayLike) -> Flags:
        """Return which verdicts are those of some units, shape (n,)."""
        return np.isin(self.unit, units)

    def changes(self, conclusion: Conclusion) -> Floats:
        """Return the change of the margin, to first order, without each unit."""
        changes = np.bincount(self.unit, conclusion.influence(), self.n_total)
        return changes.astype(np.float64)

    @property
    def few(self) -> bool:
        """Whether so few that each can be left out in turn; p-values do not tell them apart."""
        return self.n_total <= MOST_SETS and not isinstance(self.conclusion, OfPeople)

    def holds_without(self, units: ArrayLike) -> bool:
        """Return whether the conclusion holds without some units, with all else held."""
        return self.conclusion.without(self.left_out(units)).margin > 0

    def ordered(self) -> tuple[Indices, int | None, bool]:
        """Return up to half of the units in the order to leave them out, and how many do.

        That number is None if all of them are too few; last, whether no fewer units do.
        """
        # take away what should be enough, and go on from there while it is not
        state = self.conclusion
        taken = np.zeros(0, np.int64)
        before = 0
        while state.margin > 0:
            more, changes = self._next(state, taken)
            if not len(more):
                break
            # at least a quarter more than before, so that steps are few; of few units, the first
            # three are taken one by one
            ends = state.margin + np.cumsum(changes[more])
            enough = max(int((ends > 0).sum()) + 1, len(taken) // 4)
            enough = 1 if self.few and len(taken) < 3 else enough
            before, taken = len(taken), np.concatenate([taken, more[:enough]])
            state = state.without(self.left_out(taken))

        # fewer of them may do
        order = np.concatenate([taken, self._next(self.conclusion, taken)[0]])
        low, high = before, len(taken)
        while state.margin <= 0 and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.holds_without(taken[:middle]) else (low, middle)
        n = high if state.margin <= 0 else None

        # and any others, of which all small sets are tried while these are few
        tried = 0
        for size in range(1, n or self.n_total // 2 + 1):
            tried += comb(self.n_total, size)
            if tried > MOST_SETS:
                return order, n, False
            for units in combinations(range(self.n_total), size):
                if not self.holds_without(units):
                    rest = order[~np.isin(order, units)]
                    return np.concatenate([units, rest]), size, True
        return order, n, n is not None

    def _next(self, state: Conclusion, taken: Indices) -> tuple[Indices, Floats]:
        """Return further units without which the margin falls, most first, and all changes.

        These are to first order, unless units are few.
        """
        # without each in turn, or by influence
        if self.few:
            rest = np.setdiff1d(np.arange(self.n_total), taken)
            sets = [np.append(taken, unit) for unit in rest]
            changes = np.zeros(self.n_total)
            changes[rest] = [state.without(self.left_out(units)).margin for units in sets]
            changes[rest] -= state.margin
        else:
            changes = self.changes(state)
            changes[taken] = 0.0

        # those that matter, up to half of all
        order = np.argsort(changes, kind="stable")[: self.n_total // 2 - len(taken)]
        return order[changes[order] < 0], changes

    def tried(self, order: Indices, n: int | None, n_fits: int) -> dict[int, float]:
        """Return the margins by whole fits without the first units, by how many these are.

        The first is without n, or without all; then more, or fewer, until one fewer is too few.
        """
        low, high = 0 if n is None else n - 1, 0
        count = len(order) if n is None else n
        margins = {}
        while n_fits and low < count <= len(order) and (not high or count < high):
            # fit to the others, if they teach anything
            margins[count] = np.inf
            with contextlib.suppress(InputError):
                margins[count] = self.conclusion.refitted(self.left_out(order[:count]))
            n_fits -= 1

            # fewer if they decide, else more
            if margins[count] <= 0:
                high = count
            else:
                low = count
            count = (low + high) // 2 if high else min(ceil(1.5 * low), len(order))
        return margins


def _said(conclusion: Conclusion, margin: float | None) -> str:
    """Return the number of a margin, empty where nothing was learned."""
    return "" if margin is None or not np.isfinite(margin) else conclusion.shown(margin)


def _table(log: Preferences, by: str | None, search: _Search, taken: Indices) -> PolarsFrame:
    """Return what each unit is, and its influence on the number that the conclusion is about."""
    if not len(taken):
        return table_of([])
    changes = search.conclusion.sign * search.changes(search.conclusion)
    rows = []
    for unit in taken.tolist():
        # who judged what
        at = np.flatnonzero(search.unit == unit)
        row: Fields = {"row": int(at[0])} if by is None else {}
        for name in ("rater", "query"):
            labels = getattr(log, name)
            if labels is not None and by in (None, name):
                row[name] = str(labels[at[0]])

        # the lists, and how it counts
        if by in (None, "pair"):
            sides = log.preferred[at[0]], log.other[at[0]]
            row |= dict(zip(("preferred", "other"), map(list_text, sides), strict=True))
        if by is not None:
            row["verdicts"] = len(at)
        elif log.tie is not None:
            row["tie"] = bool(log.tie[at[0]])
        rows.append({**row, "influence": float(changes[unit])})
    return table_of(rows)
