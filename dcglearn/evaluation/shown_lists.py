"""The lists that runs show, for shares of people under metrics that know their judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dcglearn.evaluation.kernel import Lists
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.judges import Judges
from dcglearn.metrics.scales import grades_of
from dcglearn.metrics.textbook_lists import ListMetric


@dataclass(frozen=True, eq=False)
class ShownLists:
    """What people would see: the lists of every run, and the metrics that know their judges.

    `metrics` are by their number in the evaluation. `ranked` has the lists of each run, `unjudged`
    says what a document without a judgement counts as, and `n_grades` is the number of grades of
    the judgements.
    """

    metrics: Mapping[int, DCG]
    ranked: Sequence[Lists]
    unjudged: str | float
    n_grades: int | None

    @classmethod
    def of(
        cls,
        metrics: Mapping[int, ListMetric],
        ranked: Sequence[Lists],
        n_grades: int | None,
        unjudged: str | float,
    ) -> ShownLists | None:
        """Return what is shown; None if no metric knows its judges."""
        known = {m: one for m, one in metrics.items() if isinstance(one, DCG) and one.judges}
        return cls(known, ranked, unjudged, n_grades) if known else None

    @property
    def usable(self) -> dict[int, DCG]:
        """The metrics that have the judgements' scale of grades."""
        return {m: one for m, one in self.metrics.items() if one.n_grades == self.n_grades}

    def silent(self, measures: Sequence[str]) -> tuple[str, ...]:
        """Return why nothing is said of people under some of the measures."""
        return tuple(
            f"no shares of people under {measures[m]}: its judges know {grades_of(one.n_grades)}, "
            f"the judgements have {grades_of(self.n_grades or 0)}; give --grades {one.n_grades} if "
            "the scale is the same, or map the metric (DCG.map_grades)"
            for m, one in self.metrics.items()
            if one.n_grades != self.n_grades
        )


def judges_of(metric: DCG) -> Judges:
    """Return the judges of a metric that knows them."""
    assert metric.judges is not None
    return metric.judges


def drawn_metrics(metric: DCG, most: int | None = None) -> list[DCG]:
    """Return the draws of a metric from what its log allows, or at most so many, evenly spaced."""
    draws = judges_of(metric).draws
    if draws is None:
        return []
    rows = np.unique(np.linspace(0, len(draws) - 1, most or len(draws)).round().astype(int))
    return [DCG(draws.gains[row], draws.discounts[row]) for row in rows]
