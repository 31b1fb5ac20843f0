"""Choice of the QP's C by cross-validation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dcglearn.foundation.cluster import over_cluster
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import LEVEL, mean_and_error, student_interval
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    InputError,
    PolarsFrame,
    Seed,
    one_of,
    whole_number,
)
from dcglearn.learning.descriptions import QPDescription, QPLearner
from dcglearn.learning.fit_utility import fit_qp
from dcglearn.logs.columns import ties_of
from dcglearn.metrics.dcg import Utility
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences
from dcglearn.trust.held_out_frame import HeldOut, Rows, held_out_frame, respected
from dcglearn.trust.resampling import check_enough, decided_pairs, divided

_LOG = logging.getLogger(__name__)

C_GRID = tuple(float(f"1e{power}") for power in range(-5, 6))
"""Values of C that `choose_C` tries; under noise the best is small."""


Interval = tuple[float, float]

Path = Callable[[Preferences], Sequence[Utility]]
"""From a log to the utilities that are learned from it at each C."""


@dataclass(frozen=True)
class ChosenC(Finding):
    """The C with the best mean (the smallest of equals), and the scores of all.

    For each C of `grid`, `mean` is the share of all held-out preferences respected, and `error` its
    standard error by unit: what a fold keeps together is dependent; shape (n_C,) each. `share` is
    what choosing reaches, and `interval` its 90% interval: each fold is ordered at the C that is
    best in the other folds, so that no pair takes part in the choice for itself.
    """

    C: float
    grid: Floats
    mean: Floats
    error: Floats
    share: float
    interval: tuple[float, float]

    _formats: ClassVar = {"value": ".3g"}

    @property
    def sentence(self) -> str:
        """The best value, and the share that a value chosen in this way reaches."""
        low, high = self.interval
        coin = "; a coin may order as many, so none is shown to be better" if low <= 0.5 else ""
        interval = f"{LEVEL:.0%} interval {low:.1%} to {high:.1%}"
        if np.isnan(low):
            interval = "no interval, since all folds are alike"
        return (
            f"C={self.C:g} is the best of {len(self.grid)}; chosen without a fold, it orders "
            f"{self.share:.1%} of what the fold holds rightly ({interval}){coin}"
        )

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
    learner: QPLearner | None = None,
    *,
    grid: Iterable[float] = C_GRID,
    n_folds: int = 5,
    by: str | None = "pair",
    random_state: Seed = 0,
    engine: Any = None,
) -> ChosenC:
    """Choose C by cross-validation; in each fold, C increases with warm starts.

    There are no more folds than pairs (or raters, queries). Raises InputError if there are fewer
    than 20 decided pairs, or all are of one rater or query.

    Parameters
    ----------
    log, learner : Preferences, UtilityLearner, optional
        The log, and the learner whose other parameters are kept.
    grid, n_folds : iterable of float, int
        Values of C to try; number of folds. Take more for logs of a few dozen pairs.
    by : {"pair", "rater", "query"}, optional
        What to keep in one fold: judgements of the same two lists, or of a rater or query if the
        metric is for others.
    random_state, engine : optional
        Same seed, same folds; a Dask cluster to run the folds on, as in `UtilityLearner.fit`.

    See Also
    --------
    UtilityLearner : The quadratic programme whose constant C is.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", flip_rate=0.1, random_state=0)
    >>> chosen = dl.trust.choose_C(log, grid=[0.01, 1.0], n_folds=3, random_state=0)
    >>> chosen.C in (0.01, 1.0)
    True
    """
    # like pairs are one, and stay in one fold
    log = as_preferences(log)
    log = log.merged() if by == "pair" else log
    if by is not None:
        one_of(by, "by", ("pair", "rater", "query"), ", or None")
    whole_number(n_folds, "n_folds", 2)
    folds = divided(log.clusters(by), n_folds, np.random.default_rng(random_state))
    check_enough(decided_pairs(log))

    # learn at every C, fold by fold
    values = np.sort(np.array(list(grid), dtype=np.float64))
    of_fold = partial(_right, partial(_c_path, QPDescription.of(learner), values))
    parts = ((log[train], log[test]) for train, test in folds)
    rights = map(of_fold, parts) if engine is None else over_cluster(of_fold, parts, engine)
    frame = held_out_frame(log, by, folds, rights, "choosing C")
    if frame is None:
        raise InputError(f"no preferences to hold out by {by}: give a log of more, or another by=")

    # take the best share, at the smallest of equals
    (mean,), (error,), _ = frame.means_and_errors()
    C = float(values[_best(mean)])
    _LOG.info("C=%g chosen of %d in %d folds by %s", C, len(values), n_folds, by)
    return ChosenC(C, values, mean, error, *_reached(frame, folds))


def _reached(frame: HeldOut, folds: Sequence[tuple[Rows, Rows]]) -> tuple[float, Interval]:
    """Return the share reached where each fold's C is the best of the others; its interval.

    What the k folds hold out also trains the others, which multiplies the variance by ``1 + k / (k
    - 1)`` (Nadeau and Bengio 2003, Inference for the generalization error, section 3).
    """
    # each fold at the C that is best without it
    right = np.full(len(frame.rows), np.nan)
    for _, test in folds:
        held = np.isin(frame.rows, test)
        if held.any() and not held.all():
            rest = frame.right[:, ~held] @ frame.weight[~held] / frame.weight[~held].sum()
            right[held] = frame.right[_best(rest), held]

    # the mean of these, with its interval
    mean, error, n_units = mean_and_error(right, frame.weight, frame.clusters)
    overlap = 1 + len(folds) / (len(folds) - 1)
    low, high = student_interval(mean, error * overlap**0.5, n_units)
    return float(mean), (max(float(low), 0.0), min(float(high), 1.0))


def _right(path_of: Path, fold: tuple[Preferences, Preferences]) -> Floats:
    """Return how far the metrics of a fold respect what it holds out, (1, M, n); NaN for ties."""
    train, held_out = fold
    right = np.array([[respected(held_out, metric) for metric in path_of(train)]])
    right[..., ties_of(held_out)] = np.nan
    return right


def _best(mean: Floats) -> int:
    """Return the place of the largest mean, up to rounding, the first of equals."""
    return int(np.argmax(mean >= mean.max() - 1e-12))


def _c_path(description: QPDescription, values: Floats, train: Preferences) -> list[Utility]:
    """Return the utility at each C; each fit starts from the last."""
    utilities: list[Utility] = []
    for C in values:
        start = utilities[-1] if utilities else None
        utilities.append(fit_qp(train, replace(description, C=float(C)), start).utility)
    return utilities
