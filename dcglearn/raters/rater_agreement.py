"""Agreement of raters with each other, with themselves and with a learned DCG."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import fewest_of_one_sign, percentile_interval, wilson
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    Indices,
    InputError,
    Integers,
    PolarsFrame,
    within,
)
from dcglearn.learning.fit import DirectLearner, fit_log, fit_of
from dcglearn.learning.options import DCGOptions
from dcglearn.logs.columns import ties_of, ways_of
from dcglearn.logs.unique_rows import numbered, size_of, unique_rows
from dcglearn.raters.rater_likelihood import Observations, fitted_raters
from dcglearn.raters.repeats import shown_both_ways, units
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.resampling import bootstrap_counts


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its interval; NaN where the judgements do not tell."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan

    @classmethod
    def of_share(cls, successes: int, n: int, level: float) -> Self:
        """Return a share with Wilson's interval, which holds its level near 0 and 1, too."""
        return cls(successes / n, *wilson(successes, n, level)) if n else cls()

    @property
    def is_known(self) -> bool:
        """Whether the judgements tell the value."""
        return not np.isnan(self.value)

    def in_words(self, level: float) -> str:
        """Return the value with its interval."""
        interval = f"{percent(level)} interval {self.low:.3f} to {self.high:.3f}"
        if np.isnan(self.low):
            interval = "no interval of so few"
        return f"{self.value:.3f}, {interval}"


NOBODY = "all"
"""Name of the rater of a log that names none."""

OF_COLUMNS = {
    "error": "error: share of verdicts for the worse list where the other is far better",
    "wrong": "wrong: share of all the verdicts that is expected to be for the worse list",
    "bias": "position bias: log-odds for the list shown first, 0 without",
    "first": "names first: share of wins of the list shown first",
    "consistency": "consistent: share of the pairs shown both ways with the same verdict",
}
"""What the columns of a table of raters mean."""


@dataclass(frozen=True, eq=False)
class RaterAgreement(Finding):
    """How far the raters of a log agree.

    `nominal` and `ordinal` are Krippendorff's alpha between raters of the values first list, tie,
    second list, unordered and ordered (strengths of preference are further ordered values), each
    with an interval from bootstrap samples of units; at least two raters judged each of `n_units`.
    Which list is called the first changes nothing.
    One rater judged `both_ways` pairs both ways round, and on the share `consistency` of these the
    verdicts agree. `level` is that of all intervals.

    `table` has a row for each rater, by name, with the number of `verdicts` and of `ties` among
    them, and estimates with the ends of their intervals, as in ``error_low`` and ``error_high``.
    `error` says how often the rater names the worse list though the other is far better, `wrong`
    how often on the pairs of the log, close ones included, and `bias` by how much the log-odds
    favour the list shown first, whatever the pair. `first` is the share of the decided verdicts
    that name the list shown first; near 1/2 where sides were drawn, without bias. `consistency` is
    the rater's own. There is no column of what the judgements of no rater tell.
    """

    nominal: Estimate
    ordinal: Estimate
    n_units: int
    both_ways: int
    consistency: Estimate
    level: float
    table: PolarsFrame = field(repr=False)

    caption = "Raters"
    _labels: ClassVar = {
        **{name: meaning.partition(":")[0] for name, meaning in OF_COLUMNS.items()},
        **{f"{name}_low": "interval" for name in OF_COLUMNS},
    }

    @property
    def named(self) -> bool:
        """Whether the log names its raters."""
        return self.table["rater"].to_list() != [NOBODY]

    @property
    def sentence(self) -> str:
        """Whether raters agree beyond chance; what it takes to tell, where too few judged twice."""
        alpha = self.nominal
        pairs = f"{number_of(self.n_units, 'pairs', ',')} that two or more of them judged"
        if not self.n_units:
            remedy = "no pair was judged by two of them, so let raters judge the same pairs"
            if not self.named:
                remedy = (
                    "the log holds no pair twice, and does not say by the column rater who judged"
                )
            return f"nobody can say how far raters agree: {remedy}"
        if not alpha.is_known:
            return f"nobody can say how far raters agree: all verdicts on {pairs} are alike"
        agree = "agree beyond chance" if alpha.low > 0 else "are not shown to agree beyond chance"
        return f"raters {agree} on {pairs} (Krippendorff's alpha {alpha.in_words(self.level)})"

    @property
    def known(self) -> list[str]:
        """The columns that something is known of, by some rater."""
        return [name for name in OF_COLUMNS if name in self.table.columns]

    @property
    def favoured(self) -> list[str]:
        """The sides that raters favour, whose position bias leaves 0, with these raters."""
        if "bias" not in self.known:
            return []
        known = self.table.drop_nans(["bias"])
        sides = {"first": known["bias_low"] > 0, "second": known["bias_high"] < 0}
        return [
            f"favour the list shown {side}: {', '.join(known.filter(clear)['rater'])}"
            for side, clear in sides.items()
            if clear.any()
        ]

    @property
    def notes(self) -> list[str]:
        """Agreement of ordered verdicts, consistency, who favours a side, and the columns."""
        notes = []
        if self.nominal.is_known:
            notes.append(
                "alpha is 1 where all agree and 0 where they do by chance; where a tie is nearer "
                "to either list than these are to each other, it is "
                f"{self.ordinal.in_words(self.level)}"
            )
        if self.both_ways:
            notes.append(
                f"of {number_of(self.both_ways, 'pairs', ',')} that a rater saw both ways round, "
                f"the verdict is the same on a share of {self.consistency.in_words(self.level)}"
            )

        # who favours a side, and what the columns mean
        notes += self.favoured
        notes += [OF_COLUMNS[name] for name in self.known]
        if self.known:
            notes.append(f"intervals are {percent(self.level)} intervals")
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """What is known of the raters, with intervals; a picture for each column."""
        pictures = []
        for name in self.known:
            numbers = self.table.select("rater", name, f"{name}_low", f"{name}_high").drop_nans()
            pictures.append({"title": f"{self._labels[name]}, by rater", "rows": numbers.rows()})
        return pictures


def rater_agreement(
    log: Preferences,
    learner: DirectLearner | None = None,
    *,
    errors: bool = True,
    level: float = 0.95,
    random_state: int = 0,
) -> RaterAgreement:
    """Measure how far raters agree with each other, with themselves, and with a learned DCG.

    Error and position bias of each rater are those of the learner's model, but estimated for each
    rater alone, by maximum likelihood given the utility differences z that the learner has found:
    the list shown first is named with probability ``(1 - e) sigma(z + b) + e sigma(-z - b)``. The
    bias has a weak prior, normal around 0 with a standard deviation of 2. The share of wrong
    verdicts is the mean probability, over the rater's pairs, that the worse list is named.
    Intervals of the two come from the profile of the likelihood of e, those of the bias from its
    curvature, those of shares are Wilson's.

    Alpha is that of Krippendorff (2011), with margins pooled over the two lists of a unit: of n
    verdicts, t of them ties, the expected nominal disagreement is ``D_e = 1 - (2 h (h - 1) + t (t -
    1)) / (n (n - 1))`` with ``h = (n - t) / 2``, and ``alpha = 1 - D_o / D_e``. So names of
    documents, sides and the order of rows do not change it.

    Raises InputError if the log has no pair, or nothing can be learned from it.

    Parameters
    ----------
    log : Preferences
        The log. A unit of agreement is what was judged, in either order: the same query and
        documents (`docs`) or, where the log names none, the same query and two lists of grades. A
        rater who judged a unit several times counts once in alpha, each verdict with an equal
        share; without raters, each verdict counts as a rater's.
    learner : DCGLearner, optional
        A fitted learner, which gives the utility difference of each pair; by default one with the
        robust loss is fitted to the log.
    errors : bool
        Whether to estimate errors and position biases. False suits logs too small to learn from.
    level, random_state
        Level of the intervals; seed of the bootstrap.

    See Also
    --------
    trust.reconciled : Decide what contradictory verdicts count.

    Examples
    --------
    >>> lists = dl.simulate.free_lists(5, 10, 400, random_state=0)
    >>> pairs = np.tile(lists.reshape(2, 200, 10), (1, 2, 1))
    >>> raters = {"rater": np.repeat(["ann", "bob"], 200), "rater_error": {"ann": 0, "bob": 0.2}}
    >>> log = dl.simulate.judge(dl.simulate.ground_truth("D1"), *pairs, **raters, random_state=1)
    >>> agreement = rater_agreement(log, errors=False)
    >>> agreement.n_units, round(agreement.nominal.value, 2)
    (200, 0.49)
    """
    log = as_preferences(log)
    if not len(log):
        raise InputError("the log has no pair: agreement cannot be measured")
    within(level, "level", 1, above=True, below=True)

    # raters, and what they judged
    labels = np.full(len(log), NOBODY) if log.rater is None else log.rater
    names, rater = np.unique(labels, return_inverse=True)
    judged = units(log)
    who = np.arange(len(log)) if log.rater is None else rater
    answers = unique_rows(np.column_stack([judged.number, who]))[0]

    # each rater's error and position bias, and sides that are named whatever the pair
    tie, repeated = ties_of(log), shown_both_ways(log)
    columns = _errors(log, rater, len(names), learner, level) if errors else {}
    if log.swapped is not None:
        columns["first"] = _shares(rater[~tie], ~log.swapped[~tie], len(names), level)
    columns["consistency"] = _shares(repeated.rater, repeated.same, len(names), level)

    # a row for each rater
    table: Fields = {
        "rater": names,
        "verdicts": np.bincount(rater, minlength=len(names)),
        "ties": np.bincount(rater[tie], minlength=len(names)),
    }
    for name, ends in columns.items():
        if not np.isnan(ends).all():
            table |= {name: ends[:, 0], f"{name}_low": ends[:, 1], f"{name}_high": ends[:, 2]}

    # alpha as values, and as ordered ones
    alpha = partial(
        krippendorff_alpha,
        judged.number,
        rater=who,
        exchangeable=True,
        level=level,
        random_state=random_state,
    )
    return RaterAgreement(
        nominal=alpha(value=np.sign(judged.value)),
        ordinal=alpha(value=judged.value, ordinal=True),
        n_units=int((np.bincount(answers[:, 0]) > 1).sum()),
        both_ways=len(repeated.same),
        consistency=Estimate.of_share(int(repeated.same.sum()), len(repeated.same), level),
        level=level,
        table=table_of(table),
    )


def krippendorff_alpha(
    unit: ArrayLike,
    value: ArrayLike,
    rater: ArrayLike | None = None,
    *,
    ordinal: bool = False,
    exchangeable: bool = False,
    level: float = 0.95,
    random_state: int = 0,
) -> Estimate:
    """Return Krippendorff's alpha of the values that raters gave to units.

    With ``o_ck = sum_u (pairs of values c, k in unit u) / (m_u - 1)``, ``n_c = sum_k o_ck`` and ``n
    = sum_c n_c``, ``alpha = 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck`` (Krippendorff 2011,
    "Computing Krippendorff's Alpha-Reliability"). The distance d is 1 between two nominal values,
    and ``(n_c / 2 + n_g between + n_k / 2)^2`` between two ordinal ones. 1 is perfect agreement, 0
    the agreement of verdicts by chance. Alpha is NaN where no unit has two values, or all values
    are equal.

    Exchangeable values v and -v are the two lists of a unit, and which of them is v is a matter of
    names. Chance then names both equally often: both n_c and the distances are those of the pooled
    margins ``(n_v + n_-v) / 2``. Of nominal values, t of them ties, the expected disagreement is
    ``1 - (2 h (h - 1) + t (t - 1)) / (n (n - 1))`` with ``h = (n - t) / 2``. The value and the
    interval are the same if -v is written for v in all rows of some units.

    Parameters
    ----------
    unit, value : array_like, shape (n,)
        What was judged, and the value it was given, a row a judgement.
    rater : array_like, shape (n,), optional
        Who judged it; by default each row is another rater's. Where a rater judged a unit several
        times, each value has an equal share, so o is the mean over all ways of keeping one.
    ordinal : bool
        Whether the order of the values counts.
    exchangeable : bool
        Whether the sign of a value only says which of two lists it names.
    level, random_state
        Level of the interval, by 2,000 bootstrap samples of units, and their seed. Of fewer units
        than can show that raters agree (6 at .95: 2^-5 > .025) there is no interval.

    Examples
    --------
    >>> unit, value = [0, 0, 1, 1, 2, 2], [1, 1, -1, -1, 1, -1]
    >>> round(krippendorff_alpha(unit, value).value, 4)
    0.4444
    >>> renamed = [1, 1, 1, 1, 1, -1]
    >>> [round(krippendorff_alpha(unit, x, exchangeable=True).value, 4) for x in (value, renamed)]
    [0.4444, 0.4444]
    """
    # how often each rater gave each value to each unit
    values = np.unique(value)
    if exchangeable:
        values = np.union1d(values, -values)
    own = np.arange(np.size(value)) if rater is None else numbered(rater)
    answers, _, answer = unique_rows(np.column_stack([numbered(unit), own]))
    tally = np.zeros((len(answers), len(values)), dtype=np.int64)
    np.add.at(tally, (answer, np.searchsorted(values, value)), 1)

    # answers to units of several raters, as they are and with the other signs
    several = (np.bincount(answers[:, 0]) > 1)[answers[:, 0]]
    if not several.any():
        return Estimate()
    tallies = [tally[several]]
    if exchangeable:
        tallies.append(tally[several, ::-1])

    # how many raters answered each unit alike
    kinds, _, kind = unique_rows(np.concatenate(tallies))
    number = numbered(answers[several, 0])
    counts = np.zeros((len(tallies), size_of(number), len(kinds)), dtype=np.int64)
    for of_side, kind_of_answer in zip(counts, np.split(kind, len(tallies)), strict=True):
        np.add.at(of_side, (number, kind_of_answer), 1)

    # units of the same answers count alike, and are few
    patterns, _, pattern = unique_rows(counts.reshape(-1, len(kinds)))
    chosen, times = np.unique(pattern.reshape(len(tallies), -1).min(axis=0), return_counts=True)
    alpha = partial(_alpha, patterns[chosen], kinds, ordinal, exchangeable)
    estimate, *drawn = map(alpha, bootstrap_counts(times, 2000, random_state))
    if np.isnan(drawn).all() or times.sum() < fewest_of_one_sign(level):
        return Estimate(estimate)
    low, high = percentile_interval(np.array(drawn), level)
    return Estimate(estimate, float(low), float(high))


def _alpha(
    patterns: Integers, kinds: Integers, ordinal: bool, exchangeable: bool, times: Integers
) -> float:
    """Return alpha of units, counted by the pattern of their answers; NaN if all are equal.

    `patterns`, shape (P, K), holds how many raters answered each kind of unit in each way, `kinds`,
    shape (K, C), how often such a rater gave each value, and `times`, shape (P,), how many units
    have each pattern.
    """
    # coincidences of values of different raters within units
    shares = kinds / kinds.sum(axis=1, keepdims=True)
    given = patterns @ shares
    weight = times / (patterns.sum(axis=1) - 1)
    own = shares.T @ ((weight @ patterns)[:, None] * shares)
    coincidences = given.T @ (weight[:, None] * given) - own
    if exchangeable:
        coincidences = (coincidences + coincidences[::-1, ::-1]) / 2
    totals = coincidences.sum(axis=1)

    # distances between values
    distance = 1.0 - np.eye(len(totals))
    if ordinal:
        middle = np.cumsum(totals) - totals / 2
        distance = (middle[:, None] - middle) ** 2
    expected = float(totals @ distance @ totals)
    if expected <= 0:
        return float("nan")
    return 1 - float((totals.sum() - 1) * (coincidences * distance).sum()) / expected


def _errors(
    log: Preferences, rater: Indices, n_raters: int, learner: DirectLearner | None, level: float
) -> dict[str, Floats]:
    """Return each rater's error, share of wrong verdicts and position bias with intervals.

    Each has the shape (R, 3).
    """
    # the fit that tells how clear each pair is
    fit = fit_of(learner)
    if learner is None:
        fit = fit_log(log, DCGOptions(n_grades=log.n_grades))
    if fit is None:
        from sklearn.exceptions import NotFittedError

        raise NotFittedError("the learner is not fitted: fit it first, or leave it out")

    # the verdicts that it has a probability for
    tie = ties_of(log)
    kept = np.ones(len(log), bool) if fit.tie_threshold > 0 else ~tie

    # their errors and biases
    observed = Observations(
        z=fit.sureness(log)[kept],
        threshold=fit.tie_threshold,
        tie=tie[kept],
        way=ways_of(log)[kept].astype(float),
        weight=log.weights[kept],
        rater=rater[kept],
        n_raters=n_raters,
    )
    error, bias = fitted_raters(observed, level)
    wrong = np.column_stack([observed.wrong(end, bias[:, 0]) for end in error.T])
    columns = {"error": error, "wrong": wrong}

    # without sides there is no bias
    return columns if log.swapped is None else columns | {"bias": bias}


def _shares(rater: Indices, flags: Flags, n_raters: int, level: float) -> Floats:
    """Return the share of flags by rater, with its interval, shape (R, 3)."""
    counts = (np.bincount(rows, minlength=n_raters) for rows in (rater[flags], rater))
    shares = [Estimate.of_share(k, n, level) for k, n in zip(*counts, strict=True)]
    return np.array([(share.value, share.low, share.high) for share in shares])
