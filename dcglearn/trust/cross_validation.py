"""Cross-validation of the learners' parameters: C of the QP, and the strength of the prior."""

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
from dcglearn.foundation.validation import Fields, Floats, Indices, PolarsFrame, Seed
from dcglearn.learning.descriptions import (
    DirectDescription,
    DirectFit,
    DirectLearner,
    QPDescription,
    QPLearner,
)
from dcglearn.learning.fit_dcg import fit_direct
from dcglearn.learning.fit_utility import fit_qp
from dcglearn.learning.form_search import parameters_of
from dcglearn.logs.columns import ties_of
from dcglearn.logs.preference_pairs import Metric, rows_of_folds
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.held_out_frame import HeldOut, Rows, held_out_frame, respected
from dcglearn.trust.resampling import check_enough, decided_pairs

_LOG = logging.getLogger(__name__)

C_GRID = tuple(float(f"1e{power}") for power in range(-5, 6))
"""Values of C that `choose_C` tries; under noise the best is small."""


class _Tried(Finding):
    """Base of results of cross-validation: the values tried, their shares, and the best one.

    `share` is what choosing reaches, and `interval` its 90% interval: each fold is ordered at the
    value that is best in the other folds, so that no pair takes part in the choice for itself.
    """

    mean: Floats
    error: Floats
    share: float
    interval: tuple[float, float]

    _of: ClassVar[str]
    """Name of the parameter whose values are tried."""

    _formats: ClassVar = {"value": ".3g"}

    @property
    def _values(self) -> tuple[Floats, float]:
        """The values tried, shape (n,), and the best of these."""
        raise NotImplementedError

    @property
    def sentence(self) -> str:
        """The best value, and the share that a value chosen in this way reaches."""
        values, best = self._values
        low, high = self.interval
        coin = "; a coin may order as many, so none is shown to be better" if low <= 0.5 else ""
        interval = f"{LEVEL:.0%} interval {low:.1%} to {high:.1%}"
        if np.isnan(low):
            interval = "no interval, since all folds are alike"
        return (
            f"{self._of}={best:g} is the best of {len(values)}; chosen without a fold, it orders "
            f"{self.share:.1%} of what the fold holds rightly ({interval}){coin}"
        )

    @property
    def table(self) -> PolarsFrame:
        """The share of each value, with its standard error."""
        values, _ = self._values
        return table_of(
            {"value": values, "held_out_share": self.mean, "standard_error": self.error}
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
                "title": f"share of held-out preferences by {self._of}",
                "ticks": [f"{value:.3g}" for value in self._values[0]],
                "lines": {"ordered rightly": self.mean.tolist()},
                "bands": {"± a standard error": ends},
                "start": 1.0,
            }
        ]


@dataclass(frozen=True)
class ChosenC(_Tried):
    """The C with the best mean (the smallest of equals), and the scores of all.

    For each C of `grid`, `mean` is the share of all held-out preferences respected, and `error` its
    standard error by unit: what a fold keeps together is dependent; shape (n_C,) each. `share` is
    what choosing reaches, and `interval` its 90% interval: each fold is ordered at the C that is
    best in the other folds.
    """

    C: float
    grid: Floats
    mean: Floats
    error: Floats
    share: float
    interval: tuple[float, float]

    _of: ClassVar = "C"

    @property
    def _values(self) -> tuple[Floats, float]:
        return self.grid, self.C


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

    Raises InputError if there are fewer than 20 decided pairs, or fewer pairs (or raters, queries)
    than folds.

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
    trust.ridge_path : The same for `DCGLearner`.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", flip_rate=0.1, random_state=0)
    >>> chosen = dl.trust.choose_C(log, grid=[0.01, 1.0], n_folds=3, random_state=0)
    >>> chosen.C in (0.01, 1.0)
    True
    """
    # learn at every C, fold by fold
    log, values, folds = _prepared(log, grid, n_folds, random_state, by)
    path_of = partial(_c_path, QPDescription.of(learner), values)
    frame = _held_out(log, by, folds, path_of, "choosing C", engine)

    # take the best share, at the smallest of equals
    (mean,), (error,), _ = frame.means_and_errors()
    C = float(values[_best(mean)[0]])
    _LOG.info("C=%g chosen of %d in %d folds by %s", C, len(values), n_folds, by)
    return ChosenC(C, values, mean, error, *_reached(frame, folds))


Folds = Sequence[tuple[Rows, Rows]]
"""Rows that each fold trains on and holds out."""

Path = Callable[[Preferences], Sequence[Metric]]
"""From a log to the metrics that are learned from it at each value of a parameter."""


def _prepared(
    log: Preferences, grid: Iterable[float], n_folds: int, random_state: Seed, by: str | None
) -> tuple[Preferences, Floats, Folds]:
    """Return the log, the values to try, ascending, and the rows of each fold.

    Like pairs are merged if folds are of pairs.
    """
    log = as_preferences(log)
    log = log.merged() if by == "pair" else log
    folds = rows_of_folds(log, n_folds, random_state, by)
    check_enough(decided_pairs(log))
    return log, np.sort(np.array(list(grid), dtype=np.float64)), folds


def _held_out(
    log: Preferences, by: str | None, folds: Folds, path_of: Path, title: str, engine: Any = None
) -> HeldOut:
    """Return how far the metrics of each value respect the preferences that folds hold out."""
    parts = ((log[train], log[test]) for train, test in folds)
    of_fold = partial(_right, path_of)
    rights = map(of_fold, parts) if engine is None else over_cluster(of_fold, parts, engine)
    frame = held_out_frame(log, by, folds, rights, title)
    assert frame is not None, "a log that can be learned from holds preferences"
    return frame


def _reached(frame: HeldOut, folds: Folds, equal: int = 0) -> tuple[float, tuple[float, float]]:
    """Return the share reached where each fold's value is the best of the others; its interval.

    `equal` is the place of the value taken among equals, the first or the last. What the k folds
    hold out also trains the others, which multiplies the variance by ``1 + k / (k - 1)`` (Nadeau
    and Bengio 2003, Inference for the generalization error, section 3).
    """
    # each fold at the value that is best without it
    right = np.full(len(frame.rows), np.nan)
    for _, test in folds:
        held = np.isin(frame.rows, test)
        if held.any() and not held.all():
            rest = frame.right[:, ~held] @ frame.weight[~held] / frame.weight[~held].sum()
            right[held] = frame.right[_best(rest)[equal], held]

    # the mean of these, with its interval
    (mean,), (error,), n_units = mean_and_error(right[None], frame.weight, frame.clusters)
    overlap = 1 + len(folds) / (len(folds) - 1)
    low, high = student_interval(mean, error * overlap**0.5, n_units)
    return float(mean), (max(float(low), 0.0), min(float(high), 1.0))


def _right(path_of: Path, fold: tuple[Preferences, Preferences]) -> Floats:
    """Return how far the metrics of a fold respect what it holds out, (1, M, n); NaN for ties."""
    train, held_out = fold
    right = np.array([[respected(held_out, metric) for metric in path_of(train)]])
    right[..., ties_of(held_out)] = np.nan
    return right


def _best(mean: Floats) -> Indices:
    """Return the places of the largest mean, up to rounding."""
    return np.flatnonzero(mean >= mean.max() - 1e-12)


def _c_path(description: QPDescription, values: Floats, train: Preferences) -> list[Utility]:
    """Return the utility at each C; each fit starts from the last."""
    utilities: list[Utility] = []
    for C in values:
        start = utilities[-1] if utilities else None
        utilities.append(fit_qp(train, replace(description, C=float(C)), start).utility)
    return utilities


@dataclass(frozen=True, eq=False)
class RidgePath(_Tried):
    """Gains, discounts and held-out shares at every strength of the prior.

    At each `ridge`, shape (n,), increasing, `gains`, shape (n, L), and `discounts`, shape (n, K),
    are learned from the whole log, as is `further` in a form beyond the DCG: stop probabilities,
    shape (n, L), or the share of the best result, shape (n, 1). `mean` is the share of held-out
    pairs that they order correctly, and `error`, `share` and `interval` are as in `ChosenC`.
    """

    ridge: Floats
    gains: Floats
    discounts: Floats
    mean: Floats
    error: Floats
    share: float
    interval: tuple[float, float]
    further: Floats | None = None

    _of: ClassVar = "ridge"

    @property
    def best(self) -> float:
        """The strength with the best mean (the largest of equals)."""
        return float(self.ridge[_best(self.mean)[-1]])

    @property
    def _values(self) -> tuple[Floats, float]:
        return self.ridge, self.best


def ridge_path(
    log: Preferences,
    learner: DirectLearner | None = None,
    *,
    grid: Iterable[float] = tuple(np.logspace(-2, 2, 9).tolist()),
    n_folds: int = 5,
    by: str | None = "pair",
    random_state: int = 0,
) -> RidgePath:
    """Learn at every strength of the prior, each fit starting from the last, and cross-validate.

    Raises InputError as `choose_C` does.

    Parameters
    ----------
    log, n_folds, by, random_state
        As in `choose_C`.
    learner : DCGLearner, optional
        Learner whose other settings are kept; with ``form="auto"`` the form is chosen once, at the
        learner's ridge.
    grid : iterable of float
        Strengths, tried from the largest down.

    See Also
    --------
    trust.choose_C : The same for `UtilityLearner`.

    Examples
    --------
    >>> truth = dl.simulate.ground_truth("D1")
    >>> log = dl.simulate.preference_pairs(truth, 60, lists="free", flip_rate=0.1, random_state=0)
    >>> path = dl.trust.ridge_path(log, grid=[0.1, 10.0], n_folds=2)
    >>> path.ridge.tolist(), path.mean.shape
    ([0.1, 10.0], (2,))
    """
    # choose the form once
    log, values, folds = _prepared(log, grid, n_folds, random_state, by)
    description = replace(DirectDescription.in_form_of(learner), n_grades=log.n_grades)
    if description.form == "auto":
        description = replace(description, form=fit_in_form(log, description).form)

    # learn at every ridge, from the whole log and fold by fold
    path_of = partial(_ridge_path, description, values)
    whole, frame = path_of(log), _held_out(log, by, folds, path_of, "ridges")
    (mean,), (error,), _ = frame.means_and_errors()
    share, interval = _reached(frame, folds, -1)

    # the curves of the whole log
    further = [parameters_of(x, description.form) for x in whole if isinstance(x, ListUtility)]
    return RidgePath(
        ridge=values,
        gains=np.stack([metric.gains for metric in whole]),
        discounts=np.stack([metric.discounts for metric in whole]),
        mean=mean,
        error=error,
        share=share,
        interval=interval,
        further=np.stack(further) if further else None,
    )


def _ridge_path(
    description: DirectDescription, values: Floats, train: Preferences
) -> list[DCG | ListUtility]:
    """Return the metric at each strength, ascending."""
    path: list[DCG | ListUtility] = []
    start: DirectFit | None = None
    for ridge in values[::-1]:
        start = fit_direct(train, replace(description, ridge=float(ridge)), start)
        path.append(start.metric)
    return path[::-1]
