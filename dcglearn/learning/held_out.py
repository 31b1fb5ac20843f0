"""Is the learned DCG better than what people use? Measured on pairs that no metric has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.learning.dcg_learner import DCGLearner
from dcglearn.learning.resampling import natural_unit, resampled_weights
from dcglearn.learning.utility_learner import UtilityLearner, choose_C
from dcglearn.metric.dcg import DCG, textbook_dcgs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dcglearn.foundation.arrays import Grades
    from dcglearn.logs.counting import Metric
    from dcglearn.logs.preferences import Preferences


HABIT = "exponential-log2"
LEARNED = "learned DCG"
LEVEL = 0.9
MANY = 50_000
BEST = "{} (best textbook DCG in training)"


@dataclass(frozen=True)
class Row:
    """One metric on held-out pairs.

    Attributes
    ----------
    name : str
        What it is.
    share, precision : float
        Share of preferences respected, ties of the metric counted half, or not at all.
    difference, low, high : float
        Share of the learned DCG minus this one, and its 90% bootstrap interval.
    """

    name: str
    share: float
    precision: float
    difference: float
    low: float
    high: float

    def __str__(self) -> str:
        interval = "" if self.name == LEARNED else f"{self.difference:+.4f}  ({self.low:+.4f} to {self.high:+.4f})"
        return f"  {self.share:.4f}  {self.name:<56}{interval}".rstrip()


@dataclass(frozen=True)
class Comparison:
    """How metrics order pairs that none of them saw; prints as a table with a verdict.

    Attributes
    ----------
    rows : tuple of Row
        The learned DCG first.
    current : str
        The row of the metric used now.
    n_train, n_held_out : int
        Decided pairs.
    by : str
        What the bootstrap drew.
    """

    rows: tuple[Row, ...]
    current: str
    n_train: int
    n_held_out: int
    by: str

    def __getitem__(self, name: str) -> Row:
        """Return the row of that name (or whose name begins so)."""
        for row in self.rows:
            if row.name.startswith(name):
                return row
        raise KeyError(name)

    @property
    def verdict(self) -> str:
        """Whether the learned DCG is better than the one used now, in words."""
        row = self[self.current]
        if row.low > 0:
            how = f"the learned DCG orders unseen pairs better than {self.current}"
        elif row.high < 0:
            how = f"the learned DCG orders unseen pairs worse than {self.current}: keep that, or get more judgements"
        else:
            how = f"these pairs cannot tell whether the learned DCG is better than {self.current}"
        return f"{how} (by {row.difference:+.4f}, {LEVEL:.0%} interval {row.low:+.4f} to {row.high:+.4f})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values."""
        return {**vars(self), "rows": [vars(row) for row in self.rows], "verdict": self.verdict}

    def __str__(self) -> str:
        head = f"share of {self.n_held_out} held-out pairs respected, learned from {self.n_train} others"
        ahead = f"(right: how far the learned DCG is ahead, {LEVEL:.0%} bootstrap interval by {self.by})"
        return "\n".join([head, ahead, *map(str, self.rows), self.verdict])


def compare_learners(
    train: Preferences,
    held_out: Preferences,
    learner: DCGLearner | None = None,
    *,
    current: DCG | str = HABIT,
    C: float | str = "auto",
    by: str | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Learn from one log and measure every learner, and the textbooks, on another.

    Parameters
    ----------
    train, held_out : Preferences
        Two logs, such as the two parts of `Preferences.split`.
    learner : DCGLearner, optional
        Fitted again on `train`; default settings by default.
    current : DCG or str
        The metric used now, or the name of a textbook DCG.
    C : float or "auto"
        Of the paper's QP; "auto" chooses it by cross-validation on the training part.
    by : {"pair", "rater", "query", "list"}, optional
        What the bootstrap draws from `held_out`; by default what is independent (see `natural_unit`).
    n_resamples : int, optional
        Of the bootstrap; by default 1,000, for more than 50,000 pairs 200.
    seed : int
        Of folds and bootstrap.

    Returns
    -------
    Comparison
        Rows for the learned DCG, the QP's utility, its factors, the textbook DCG best on the training part,
        and the metric used now.

    Raises
    ------
    InputError
        If the logs differ in shape, or one of them cannot be learned from or measured on.

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> log = preference_pairs(ground_truth("D2"), 600, n_flips=60, seed=0)
    >>> found = compare_learners(*log.split(0.5, seed=0))
    >>> found["learned DCG"].share > found["QP utility"].share
    True
    """
    _matched(train, held_out)
    model = DCGLearner() if learner is None else learner
    model = DCGLearner(**model.get_params()).fit(train)
    return measured(model.dcg_, train, held_out, current=current, C=C, by=by, n_resamples=n_resamples, seed=seed)


def measured(
    learned: DCG,
    train: Preferences,
    held_out: Preferences,
    *,
    current: DCG | str = HABIT,
    C: float | str = "auto",
    by: str | None = None,
    n_resamples: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Measure a DCG that was learned from `train`; see `compare_learners`."""
    held_out = held_out.decided
    unit = natural_unit(held_out) if by is None else by
    textbook = textbook_dcgs(train.n_grades, train.depth)
    name, now = _current(current, train)
    best = max(textbook, key=lambda key: train.agreement(textbook[key]).share)
    qp = UtilityLearner(C=_chosen(train, seed) if C == "auto" else float(C)).fit(train)
    factored = qp.factor().dcg
    metrics: dict[str, Metric] = {
        LEARNED: learned,
        "QP + SVD": factored,
        "QP utility": qp.utility_,
        (BEST.format(best) if name != best else best): textbook[best],
    }
    metrics.setdefault(name, now)
    if factored == learned:
        del metrics["QP + SVD"]
    verdicts = {key: held_out.verdicts(metric) for key, metric in metrics.items()}
    intervals = _intervals(held_out, verdicts, unit, n_resamples, seed)
    shares = {key: held_out.agreement(metric) for key, metric in metrics.items()}
    rows = tuple(
        Row(key, found.share, found.precision, shares[LEARNED].share - found.share, *interval)
        for (key, found), interval in zip(shares.items(), intervals, strict=True)
    )
    return Comparison(rows, name, len(train.decided), len(held_out), unit)


def _matched(train: Preferences, held_out: Preferences) -> None:
    left, right = ((log.n_grades, log.depth) for log in (train, held_out))
    if left != right:
        raise InputError(
            f"the training log has {left[0]} grades and {left[1]} positions, the held-out log {right[0]} and "
            f"{right[1]}: read both with the same n_grades= and depth="
        )


def _current(current: DCG | str, log: Preferences) -> tuple[str, DCG]:
    if isinstance(current, str):
        return current, DCG.from_name(current, log.n_grades, log.depth)
    if current.n_grades < log.n_grades:
        raise InputError(f"the metric used now has {current.n_grades} grades, the log {log.n_grades}")
    return "the metric used now", current


def _chosen(train: Preferences, seed: int) -> float:
    """Return C by cross-validation; 1 where there are too few pairs to validate on."""
    return choose_C(train, seed=seed).C if len(train.merged()) >= 2 * 5 else 1.0


def _intervals(
    log: Preferences, verdicts: Mapping[str, Grades], unit: str, n_resamples: int | None, seed: int
) -> list[tuple[float, float]]:
    """Return the bootstrap intervals of the first metric's share minus each one's."""
    worth = np.stack([(verdict + 1) / 2 for verdict in verdicts.values()])
    gaps = []
    n_resamples = n_resamples or (1000 if len(log) <= MANY else 200)
    for weight in resampled_weights(log, unit, n_resamples, seed):
        total = weight.sum()
        if total > 0:
            shares = worth @ weight / total
            gaps.append(shares[0] - shares)
    tails = (50 * (1 - LEVEL), 50 * (1 + LEVEL))
    low, high = np.percentile(gaps, tails, axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))
