"""Choice of the QP's C by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import starmap
from typing import ClassVar

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.validation import Fields, Floats, Indices, PolarsFrame, Seed, one_of
from dcglearn.learning.fit_qp import fit_qp
from dcglearn.learning.options import Learner, QPOptions
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.held_out_frame import held_out_frame, values_of
from dcglearn.trust.resampling import check_enough, decided_pairs, folds

C_GRID = tuple(float(f"1e{power}") for power in range(-5, 6))
"""Values of C that `choose_C` tries; under noise the best is small."""


@dataclass(frozen=True)
class ChosenC(Finding):
    """The C with the best mean (the smallest of equals), and the scores of all.

    For each C of `grid`, `mean` is the share of all held-out preferences respected, and `error` its
    standard error by unit: what a fold keeps together is dependent; shape (n_C,) each.
    """

    C: float
    grid: Floats
    mean: Floats
    error: Floats

    _formats: ClassVar = {"value": ".3g"}

    @property
    def sentence(self) -> str:
        """The best value, without its share, which is too high since it was chosen by it."""
        return f"C={self.C:g} orders most held-out preferences rightly, of {len(self.grid)} values"

    @property
    def table(self) -> PolarsFrame:
        """The share of each value, with its standard error."""
        return table_of(
            {"value": self.grid, "held_out_share": self.mean, "standard_error": self.error}
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the shares are."""
        return (
            "shares are of all held-out preferences, ± their standard error; what the folds keep "
            "together, such as the judgements of a rater, counts as dependent; the best of these "
            "shares is too high, since it was chosen by them",
        )

    @property
    def pictures(self) -> list[Fields]:
        """The shares, and one standard error on either side."""
        ends = [(self.mean + sign * self.error).tolist() for sign in (-1, 1)]
        return [
            {
                "title": "share of held-out preferences by C",
                "ticks": [f"{value:.3g}" for value in self.grid],
                "lines": {"ordered rightly": self.mean.tolist()},
                "bands": {"± a standard error": ends},
                "start": 1.0,
            }
        ]


# The parameter is called C.
def choose_C(  # noqa: N802
    log: Preferences,
    learner: Learner | None = None,
    *,
    grid: Iterable[float] = C_GRID,
    by: str | None = "pair",
    random_state: Seed = 0,
) -> ChosenC:
    """Choose C by cross-validation; in each fold, C increases with warm starts.

    The choice itself is not tested: what a chosen C reaches is told by `compare_learners`. Raises
    InputError if there are fewer than 20 decided pairs, or all are of one rater or query.

    Parameters
    ----------
    log, learner : Preferences, UtilityLearner, optional
        The log, and the learner whose other parameters are kept.
    grid : iterable of float
        Values of C to try.
    by : {"pair", "rater", "query"}, optional
        What to keep in one fold: judgements of the same two lists, or of a rater or query if the
        metric is for others.
    random_state : int or numpy.random.Generator
        Same seed, same folds.

    See Also
    --------
    UtilityLearner : The quadratic programme whose constant C is.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", flip_rate=0.1, random_state=0)
    >>> chosen = dl.trust.choose_C(log, grid=[0.01, 1.0], random_state=0)
    >>> chosen.C in (0.01, 1.0)
    True
    """
    # like pairs are one, and stay in one fold
    log = as_preferences(log)
    log = log.merged() if by == "pair" else log
    check_enough(decided_pairs(log))
    if by is not None:
        one_of(by, "by", ("pair", "rater", "query"), ", or None")
    parts = folds(log.clusters(by), random_state)
    options, values = QPOptions.of(learner), np.sort(np.array(list(grid), dtype=np.float64))

    def values_without(train: Indices, test: Indices) -> Floats:
        """Return the values of a fold's pairs at every C; each fit starts from the last."""
        utility, of_each = None, []
        for C in values:
            utility = fit_qp(log[train], replace(options, C=float(C)), utility).utility
            of_each.append(values_of(utility, log[test]))
        return np.stack(of_each, axis=1)

    # learn at every C, fold by fold
    units = log.clusters(by)
    frame = held_out_frame(log, units, parts, starmap(values_without, parts), "choosing C")

    # take the best share, at the smallest of equals up to rounding
    (mean, _), (error, _), _ = frame.means_and_errors()
    C = float(values[np.argmax(mean >= mean.max() - 1e-12)])
    return ChosenC(C, values, mean, error)
