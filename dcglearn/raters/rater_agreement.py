"""Agreement of raters with each other, and their errors and position biases."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, InputError, PolarsFrame, within
from dcglearn.learning.fit import fit_log, fit_of
from dcglearn.learning.options import DCGOptions, Learner
from dcglearn.learning.pairs import coded
from dcglearn.logs.columns import ties_of
from dcglearn.raters.alpha import krippendorff_alpha
from dcglearn.raters.rater_errors import rater_errors
from dcglearn.raters.repeats import units
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences

NOBODY = "all"
"""Name of the rater of a log that names none."""

MEANINGS = {
    "error": "error: share of verdicts for the worse list where the other is far better",
    "bias": "position bias: log-odds for the list shown first, 0 without",
}
"""What the columns of a table of raters mean."""


@dataclass(frozen=True, eq=False)
class RaterAgreement(Finding):
    """How far the raters of a log agree, and how each of them judges.

    `alpha` is Krippendorff's alpha of the verdicts first list, tie, second list, and `low` and
    `high` are the ends of its interval from bootstrap samples of units; at least two raters judged
    each of `n_units`. Which list is called the first changes nothing. They are NaN where the
    judgements do not tell. `level` is that of all intervals.

    `table` has a row for each rater, by name, with the number of `verdicts` and of `ties` among
    them, and estimates with the ends of their intervals, as in ``error_low`` and ``error_high``.
    `error` says how often the rater names the worse list though the other is far better, and `bias`
    by how much the log-odds favour the list shown first, whatever the pair; `favours` is the side,
    "first" or "second", that a bias favours beyond chance, tested for all raters together.
    """

    alpha: float
    low: float
    high: float
    n_units: int
    level: float
    table: PolarsFrame = field(repr=False)

    caption = "Raters"
    _labels: ClassVar = {"bias": "position bias", "error_low": "interval", "bias_low": "interval"}

    @property
    def sentence(self) -> str:
        """Whether raters agree beyond chance; what it takes to tell, where too few judged twice.

        Where the log does not say who judged, verdicts agree.
        """
        who, each = "raters", "that two or more of them judged"
        remedy = "no pair was judged by two of them, so let raters judge the same pairs"
        if self.table["rater"].to_list() == [NOBODY]:
            who, each = "verdicts", "with two or more of them"
            remedy = "the log holds no pair twice, and does not say by the column rater who judged"
        if not self.n_units:
            return f"nobody can say how far {who} agree: {remedy}"

        pairs = f"{number_of(self.n_units, 'pairs', ',')} {each}"
        if np.isnan(self.alpha):
            return f"nobody can say how far {who} agree: all verdicts on {pairs} are alike"
        agree = "agree beyond chance" if self.low > 0 else "are not shown to agree beyond chance"
        interval = f"{percent(self.level)} interval {self.low:.3f} to {self.high:.3f}"
        if np.isnan(self.low):
            interval = "no interval of so few"
        return f"{who} {agree} on {pairs} (Krippendorff's alpha {self.alpha:.3f}, {interval})"

    @property
    def notes(self) -> list[str]:
        """What alpha and the columns mean."""
        notes = [meaning for name, meaning in MEANINGS.items() if name in self.table.columns]
        if notes:
            notes.append(f"intervals are {percent(self.level)} intervals")
        if not np.isnan(self.alpha):
            notes.insert(0, "alpha is 1 where all agree and 0 where they do by chance")
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """A picture of each estimate, with intervals."""
        return [
            {
                "title": f"{self._labels.get(name, name)}, by rater",
                "rows": self.table.select("rater", f"^{name}(_.*)?$").rows(),
            }
            for name in MEANINGS
            if name in self.table.columns
        ]


def rater_agreement(
    log: Preferences, learner: Learner | None = None, *, errors: bool = True, level: float = 0.95
) -> RaterAgreement:
    """Measure how far raters agree with each other, and with a learned DCG.

    Error and position bias of each rater are those of the learner's model, but estimated for each
    rater alone, by maximum likelihood given the utility differences z that the learner has found:
    the list shown first is named with probability ``(1 - e) sigma(z + b) + e sigma(-z - b)``. The
    bias has a weak prior, normal around 0 with a standard deviation of 2. Intervals of errors come
    from the profile of the likelihood, those of the bias from its curvature.

    Alpha is that of Krippendorff (2011), with margins pooled over the two lists of a unit: of n
    verdicts, t of them ties, the expected disagreement is ``D_e = 1 - (2 h (h - 1) + t (t - 1)) /
    (n (n - 1))`` with ``h = (n - t) / 2``, and ``alpha = 1 - D_o / D_e``. So names of documents,
    sides and the order of rows do not change it.

    Raises InputError if the log has no pair, or nothing can be learned from it.

    Parameters
    ----------
    log : Preferences
        The log. A unit of agreement is what was judged, in either order: the same query and
        documents (`docs`) or, where the log names none, the same query and two lists of grades. A
        rater who judged a unit several times counts once in alpha, with the verdict that prevails;
        without raters, each verdict counts as a rater's.
    learner : DCGLearner, optional
        It gives the utility difference of each pair, and is fitted to the log if it is not yet; by
        default one with the robust loss.
    errors : bool
        Whether to estimate errors and position biases. False suits logs too small to learn from.
    level : float
        Level of the intervals.

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
    >>> agreement.n_units, round(agreement.alpha, 2)
    (200, 0.49)
    """
    log = as_preferences(log)
    if not len(log):
        raise InputError("the log has no pair: agreement cannot be measured")
    within(level, "level", 1, exclusive=True)

    # raters, and what they judged; without names, each verdict is another's
    labels = np.full(len(log), NOBODY) if log.rater is None else log.rater
    names, rater = np.unique(labels, return_inverse=True)
    unit, verdict, _ = units(log)
    who = np.arange(len(log)) if log.rater is None else rater
    alpha = krippendorff_alpha(unit, verdict, who, level)

    # a row for each rater
    columns = {
        "rater": names,
        "verdicts": np.bincount(rater),
        "ties": np.bincount(rater, ties_of(log)).astype(int),
    }
    if errors:
        # the verdicts that a fit has a probability for, of any strength
        fit = fit_of(learner) or fit_log(log, DCGOptions.of(learner))
        told = log if fit.model.ties else log.decided
        facts = replace(fit.facts, raters=tuple(names), steps=np.zeros(0), ties=True)

        # judges without error and bias to begin with
        thresholds = np.array([[0.0, fit.tie_threshold, np.inf]])
        judges = np.zeros((1, len(names)))
        points = replace(fit.points, thresholds=thresholds, errors=judges, biases=judges)
        columns |= rater_errors(coded(told, facts), points, fit.sureness(told), level)
    return RaterAgreement(*alpha, level, table_of(columns))
