"""Conclusions of a learned metric, in words, and how far verdicts of the log carry them."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.foundation.intervals import Clusters, normal_quantile
from dcglearn.foundation.validation import Flags, Floats, InputError, InputTypeError
from dcglearn.learning.descriptions import DirectFit
from dcglearn.learning.usable_pairs import usable_rows
from dcglearn.logs.unique_rows import pair_numbers
from dcglearn.metrics.dcg import DCG, parameter_names
from dcglearn.metrics.reading import MetricLike, metric_in_use
from dcglearn.metrics.scales import ScaleWarning
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.comparison import FOLLOWED_LEVEL, Comparison
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted, half_test
from dcglearn.trust.left_out import LeftOut, Quantity
from dcglearn.trust.resampling import unit_of

EXAMPLES = (
    '"gain of 2 > 0.5", "discount at 3 < 0.4", "followed rather than exponential-log2" or, with '
    'judgements= and runs=, "NEW better than OLD"'
)
"""How conclusions are written."""


GAIN, DISCOUNT, FOLLOWED, ABOUT_RUNS = "gain of", "discount at", "followed", "better"
"""Kinds of conclusions."""


@dataclass(frozen=True, eq=False)
class OfDCG:
    """A conclusion on a number of the learned DCG: it is above, or below, a limit.

    `claim` is the statement, after "that"; `sign` is 1 where the number grows with the margin, else
    -1; `cost` is the number of whole fits behind a margin.
    """

    claim: str
    log: Preferences
    fit: DirectFit
    quantity: Quantity
    sign: float
    limit: float
    left: LeftOut

    cost = 1

    @cached_property
    def margin(self) -> float:
        """How far the number is on its side of the limit."""
        return float(self._margins([self.left.dcg])[0])

    def shown(self, margin: float) -> str:
        """Return the number."""
        return f"{self.limit + self.sign * margin:.4g}"

    def influence(self) -> Floats:
        """Return the change without each verdict, shape (n,)."""
        return self.left.influence(self._margins)

    def without(self, left_out: Flags) -> Self:
        """Return the conclusion of descents from here; a blend's weights are held."""
        return replace(self, left=self.left.without(left_out))

    def refitted(self, left_out: Flags) -> float:
        """Return the margin by a fit from this one; a blend of nearly the log keeps its weights."""
        return self._fitted(left_out, self.fit)

    def afresh(self, left_out: Flags) -> float:
        """Return the margin by a fit from all starts, with new weights of a blend."""
        return self._fitted(left_out, None)

    def _fitted(self, left_out: Flags, start: DirectFit | None) -> float:
        description = self.fit.description
        llm = self.fit.llm
        fit = fit_learner(self.log[~left_out], description, start, llm=llm)
        return float(self._margins([fit.dcg])[0])

    def _margins(self, dcgs: Sequence[DCG]) -> Floats:
        return self.sign * (self.quantity(dcgs) - self.limit)


@dataclass(frozen=True, eq=False)
class OfPeople:
    """The conclusion that people follow one of two metrics where held-out verdicts tell them apart.

    `signs`, shape (n,), are 1 for verdicts that are as the metric says, -1 for those that are as
    the other says, and else 0; `clusters` are the units whose signs the test exchanges.
    """

    claim: str
    log: Preferences
    fit: DirectFit
    other: Any
    followed: str
    random_state: int
    signs: Floats
    clusters: Clusters

    sign, cost = 1.0, 5

    @classmethod
    def of(
        cls,
        log: Preferences,
        fit: DirectFit,
        other: MetricLike,
        comparison: Comparison,
        random_state: int,
        followed: str = "learned",
    ) -> Self:
        """Return the conclusion that the learned DCG, or the other, is followed."""
        name = metric_in_use(other, log.n_grades, log.depth)[0]
        metrics = {"learned": "the learned DCG", "in use": name}
        one, another = sorted(metrics, key=lambda key: key != followed)
        claim = f"people follow {metrics[one]} rather than {metrics[another]}"

        # the signs of the pairs that were compared
        used = usable_rows(log, ties=False)
        signs = np.zeros(len(log))
        signs[used] = comparison.signs if followed == "learned" else -comparison.signs
        clusters = log.clusters(unit_of(log[used]))
        return cls(claim, log, fit, other, followed, random_state, signs, clusters)

    @cached_property
    def margin(self) -> float:
        """How far the test is beyond its level, in standard errors."""
        return _margin(*half_test(self.signs, self.log.weights, self.clusters))

    def shown(self, margin: float) -> str:
        """Return the p-value."""
        from scipy.special import ndtr

        p_value = 2 * float(ndtr(-abs(margin + normal_quantile(1 - FOLLOWED_LEVEL))))
        return "p < .001" if p_value < 0.001 else f"p = {p_value:.3f}"

    def influence(self) -> Floats:
        """Return the change of the sum of signs over its error without each verdict, shape (n,)."""
        signs = self.signs * self.log.weights
        unit = pair_numbers(*self.clusters)
        of_unit = np.bincount(unit, signs)[unit]
        total = signs.sum()
        variance = max(float(signs @ of_unit), 1e-300)
        drop = signs / np.sqrt(variance)
        return total / variance**1.5 * (signs * of_unit - signs**2 / 2) - drop

    def without(self, left_out: Flags) -> Self:
        """Return the conclusion from the same held-out predictions."""
        return replace(self, signs=np.where(left_out, 0.0, self.signs))

    def refitted(self, left_out: Flags) -> float:
        """Return the margin where the other verdicts are held out and predicted anew."""
        rest = self.log[~left_out]
        seed = self.random_state
        comparison = cross_fitted(rest, self.fit, baseline=self.other, random_state=seed)
        share = comparison.with_learned
        return _margin(comparison.p_value, share if self.followed == "learned" else 1 - share)

    def afresh(self, left_out: Flags) -> None:
        """Return None: every fit of a fold starts from nothing."""


def _margin(p_value: float, share: float) -> float:
    """Return how far a test of a half is beyond its level, in standard errors."""
    from scipy.special import ndtri

    size = -float(ndtri(max(p_value, 1e-300) / 2))
    return (size if share > 0.5 else -size) - normal_quantile(1 - FOLLOWED_LEVEL)


Conclusion: TypeAlias = OfDCG | OfPeople
"""A statement about what a log teaches, which holds where its margin is positive."""


def conclusion_in(words: str, log: Preferences | None = None) -> tuple[str, tuple[Any, ...]]:
    """Return which kind of conclusion words are, and what they name.

    Of a gain or discount of a log these are its place among all of them, the side and the limit.
    Raise InputError if the words are no conclusion, or not one of this log.
    """
    patterns = {
        GAIN: r"(?:the )?gain of (.+?) ?([<>]) ?(\S+)",
        DISCOUNT: r"(?:the )?discount at (?:position )?(\d+) ?([<>]) ?(\S+)",
        FOLLOWED: r"followed rather than (.+)",
        ABOUT_RUNS: r"(.+?) (?:is )?better than (.+)",
    }

    # the first kind whose pattern the words have
    if not isinstance(words, str):
        raise InputTypeError(f"{words!r} is no conclusion in words: write {EXAMPLES}")
    text = " ".join(words.split())
    for kind, pattern in patterns.items():
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if not found:
            continue
        if kind in (FOLLOWED, ABOUT_RUNS):
            return kind, found.groups()

        # a gain or discount of the log
        name, side, limit = found.groups()
        place = 0 if log is None else _place(words, name, kind, log)
        return kind, (place, side, _limit(words, limit))
    raise InputError(f"{words!r} is no conclusion that verdicts decide: write {EXAMPLES}")


def conclusion_of(
    words: str,
    log: Preferences,
    fit: DirectFit,
    *,
    judgements: Any = None,
    runs: Any = None,
    random_state: int = 0,
) -> Conclusion:
    """Return the conclusion that words name; raise InputError if they name none."""
    kind, (name, *rest) = conclusion_in(words, log)

    # whom people follow
    if kind == FOLLOWED:
        comparison = cross_fitted(log, fit, baseline=name, random_state=random_state)
        return OfPeople.of(log, fit, name, comparison, random_state)

    # means of two runs
    if kind == ABOUT_RUNS:
        if judgements is None or runs is None:
            raise InputError(f"{words!r}: give judgements= and runs= with the two runs")
        return of_runs(log, fit, name, rest[0], judgements, runs)

    side, limit = rest
    return of_number(name, side, limit, log, fit)


def of_number(place: int, side: str, limit: float, log: Preferences, fit: DirectFit) -> OfDCG:
    """Return the conclusion that a gain or discount, by its place, is above or below a limit."""
    name = parameter_names(log.n_grades, log.depth, log.grade_names)[place]
    claim = f"the {name} is {'above' if side == '>' else 'below'} {limit:g}"
    sign = 1.0 if side == ">" else -1.0
    return OfDCG(claim, log, fit, partial(_numbers, place), sign, limit, LeftOut.of(log, fit))


def of_runs(
    log: Preferences, fit: DirectFit, new: str, old: str, judgements: Any, runs: Any
) -> Conclusion:
    """Return the conclusion that the mean of a run is above that of another, by the learned DCG."""
    # reading takes long to import, and other conclusions need no runs
    from dcglearn.evaluation.run_values import evaluate
    from dcglearn.reading.judgements import read_judgements
    from dcglearn.reading.runs import read_runs

    # the two runs
    judged = read_judgements(judgements)
    by_name = {run.name: run for run in read_runs(runs)}
    for name in (new, old):
        if name not in by_name:
            raise InputError(f"no run is named {name!r}: the runs are {', '.join(by_name)}")
    pair = [by_name[new], by_name[old]]

    def lead(dcgs: Sequence[DCG]) -> Floats:
        """Return by how much the new run's mean is above the old one's, by each DCG."""
        # a warning of another scale of grades would come with every fit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)
            metrics = {str(i): dcg for i, dcg in enumerate(dcgs)}
            evaluation = evaluate(judged, pair, metrics)
        of_new, of_old = (evaluation.means[evaluation.runs.index(name)] for name in (new, old))
        ahead: Floats = of_new - of_old
        return ahead

    claim = f"{new} is better than {old} by the learned DCG"
    return OfDCG(claim, log, fit, lead, 1.0, 0.0, LeftOut.of(log, fit))


def _numbers(place: int, dcgs: Sequence[DCG]) -> Floats:
    """Return one gain or discount of each DCG, shape (D,)."""
    return np.array([np.concatenate([dcg.gains, dcg.discounts])[place] for dcg in dcgs])


def _place(words: str, name: str, kind: str, log: Preferences) -> int:
    """Return the place of a gain or discount among all; raise InputError if it has none.

    A grade is named, or numbered, with or without the word grade before it.
    """
    numbers = [str(grade) for grade in range(log.n_grades)]
    scales, first = [[one.lower() for one in log.grade_names or ()], numbers], 0
    if kind != GAIN:
        scales, first = [[str(k + 1) for k in range(log.depth)]], log.n_grades

    # names come before numbers
    for scale in scales:
        for text in (name.lower(), name.lower().removeprefix("grade ")):
            if text in scale:
                return first + scale.index(text)
    known = ", ".join(scales[0] or scales[-1])
    name = name.removeprefix("grade ")
    raise InputError(f"{words!r}: there is no {name!r} in the log, but {known}")


def _limit(words: str, limit: str) -> float:
    try:
        number = float(limit)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InputError(f"{words!r}: {limit!r} is no number; write {EXAMPLES}")
    return number
