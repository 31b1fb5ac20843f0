"""Values of runs under metrics that are no DCG: list utilities, and textbook metrics of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

if TYPE_CHECKING:
    from dcglearn.evaluation.ranked import RankedGrades
    from dcglearn.foundation.arrays import Floats, Grades, Integers
    from dcglearn.metric.list_utility import ListUtility
    from dcglearn.metric.textbook_lists import ListMetric


@dataclass(frozen=True)
class Plain:
    """A textbook metric of lists, such as ERR or RBP, whose values nobody divides by the best that is possible."""

    metric: ListMetric

    @property
    def n_grades(self) -> int:
        """L, the number of grades."""
        return self.metric.n_grades

    @property
    def depth(self) -> int:
        """K, the number of positions that count."""
        return self.metric.depth


def check_list_settings(
    name: str, metric: ListUtility | Plain, unjudged: str | float, ties: str, *, residuals: bool
) -> None:
    """Raise InputError if a setting is defined only where values are sums over positions."""
    if residuals and not (isinstance(metric, Plain) and isinstance(metric.metric, DCG)):
        raise InputError(f"{name} is not a DCG: a better document may make those below it worth less, so no residual")
    if not isinstance(unjudged, str):
        raise InputError(f"{name} is not a DCG: documents without a judgement count as worst or best, or are dropped")
    if ties == "average":
        raise InputError(
            f'{name} is not a DCG, so documents with equal scores cannot share gains: give ties="docno-desc"'
        )


def list_values(metric: ListMetric, ranked: RankedGrades, unjudged: str | float) -> Floats:
    """Return the value of every query, shape (Q,); a document without a judgement has the worst or best grade."""
    return np.atleast_1d(metric.score(_as_judged(ranked, metric.n_grades, unjudged)))


def judged_ideal(metric: ListUtility, counts: Integers, unjudged: str | float) -> Floats:
    """Return the largest value of the judged documents, followed by unjudged ones if these have a gain, shape (Q,)."""
    padded = np.pad(counts, ((0, 0), (0, metric.n_grades - counts.shape[1])))
    if unjudged == "worst" and metric.gains[0] > 0:
        padded[:, 0] += metric.depth
    return metric.ideal_of_counts(padded)


def own_ideal(metric: ListUtility, ranked: RankedGrades, unjudged: str | float) -> Floats:
    """Return the largest value of the documents in the run's own lists, shape (Q,)."""
    grades = _as_judged(ranked, metric.n_grades, unjudged)
    return metric.ideal_of_counts(np.stack([(grades == g).sum(axis=1) for g in range(metric.n_grades)], axis=1))


def _as_judged(ranked: RankedGrades, n_grades: int, unjudged: str | float) -> Grades:
    """Return the grades with one for documents without a judgement, -1 where there is no document."""
    if unjudged == "drop":
        judged_first = np.argsort(ranked.grades < 0, axis=1, kind="stable")
        return np.take_along_axis(ranked.grades, judged_first, axis=1)
    grade = 0 if unjudged == "worst" else n_grades - 1
    return np.where(ranked.ranked & (ranked.grades < 0), grade, ranked.grades).astype(np.int8)
