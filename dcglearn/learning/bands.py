"""How far gains and discounts can be trusted: bootstrap bands, standard errors, the path of the prior's strength."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.cluster import over_cluster
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.learning.dcg_learner import DCGLearner
from dcglearn.learning.resampling import natural_unit, resampled_weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dcglearn.foundation.arrays import Floats
    from dcglearn.learning.direct_fit import Curves
    from dcglearn.logs.preferences import Preferences
    from dcglearn.metric.dcg import DCG


RIDGES = tuple(10.0**power for power in (-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2))

FEW = 20
"""With fewer raters, queries or lists than this a bootstrap gives bands that are too narrow."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Bootstrap bands of gains and discounts; prints as a table of parameters.

    Attributes
    ----------
    dcg : DCG
        Learned from the whole log: gains from 0 to 1, first discount 1.
    gains, discounts : ndarray, shapes (B, L) and (B, K)
        Learned from each bootstrap sample, on the same scale.
    level : float
        Share of the samples within a band.
    by : str
        What was drawn with replacement.
    n_units : int
        How many of these the log holds.
    failed : int
        Samples that could not be learned from, left out.
    """

    dcg: DCG
    gains: Floats
    discounts: Floats
    level: float
    by: str
    n_units: int
    failed: int = 0

    @property
    def gain_band(self) -> Floats:
        """Lower and upper ends for every grade, shape (2, L)."""
        return self._band(self.gains)

    @property
    def discount_band(self) -> Floats:
        """Lower and upper ends for every position, shape (2, K)."""
        return self._band(self.discounts)

    def _band(self, samples: Floats) -> Floats:
        found: Floats = np.percentile(samples, (100 * self.tail, 100 - 100 * self.tail), axis=0)
        return found

    @property
    def tail(self) -> float:
        """Share of the samples beyond either end: smaller than half of 1 - level where there are few judgements."""
        from scipy.special import ndtr, ndtri

        spare = self.n_units - len(self.dcg.gains) - len(self.dcg.discounts) + 2
        if spare <= 0:
            return 0.0
        return float(ndtr(np.sqrt(self.n_units / spare) * ndtri((1 - self.level) / 2)))

    def table(self) -> list[dict[str, Any]]:
        """Return a row a parameter: name, estimate, standard error, ends of the band."""
        parts = (
            ("gain of grade", 0, self.dcg.gains, self.gains),
            ("discount at", 1, self.dcg.discounts, self.discounts),
        )
        return [
            {
                "parameter": f"{what} {i + first}",
                "estimate": float(values[i]),
                "standard_error": float(samples[:, i].std(ddof=1)),
                "low": float(self._band(samples)[0, i]),
                "high": float(self._band(samples)[1, i]),
            }
            for what, first, values, samples in parts
            for i in range(len(values))
        ]

    def __str__(self) -> str:
        head = f"{'parameter':<18}{'estimate':>10}{'std error':>11}{'':3}{self.level:.0%} band"
        rows = [
            f"{row['parameter']:<18}{row['estimate']:>10.4f}{row['standard_error']:>11.4f}"
            f"   {row['low']:.4f} to {row['high']:.4f}"
            for row in self.table()
        ]
        failed = f", {self.failed} could not be learned from" if self.failed else ""
        rough = "; too few for more than a rough idea" if self.n_units < FEW else ""
        drawn = f"({len(self.gains)} bootstrap samples by {self.by}, of {self.n_units}{rough}{failed})"
        return "\n".join([head, *rows, drawn])


def bootstrap_bands(
    log: Preferences,
    learner: DCGLearner | None = None,
    *,
    by: str | None = None,
    n_resamples: int = 200,
    level: float = 0.9,
    seed: int = 0,
    jobs: int = 1,
    engine: Any = None,
    progress: bool = False,
) -> Bands:
    """Return bands within which gains and discounts would fall if the log were collected again.

    Parameters
    ----------
    log : Preferences
        The log.
    learner : DCGLearner, optional
        Its settings are used; default settings by default.
    by : {"pair", "rater", "query", "list"}, optional
        What to draw with replacement; by default what is independent: raters, else queries, else
        lists where they recur, else pairs.
    n_resamples : int
        Number of samples, each of which descends from the solution on the whole log.
    level : float
        Share of the samples that a band holds.
    seed, jobs, progress
        Same seed, same bands, whatever the number of processes; a bar.
    engine : distributed.Client, str or int, optional
        Learn from the samples on a Dask cluster: a client, a scheduler's address, or so many processes.

    Returns
    -------
    Bands

    Raises
    ------
    InputError
        If a setting is impossible, or the log cannot be drawn from or learned from.

    Notes
    -----
    Percentile bands of the nonparametric bootstrap, each sample fitted as if judges erred and as if they were less
    sharp; the percentiles are moved outwards by ``sqrt(n / (n - p))`` for p parameters, since a sample of n varies less
    than its source (Hesterberg 2015, section 4.1.3, where p = 1). On permutations of one multiset the level of the
    discounts is not in the data (see the DCG's notes): there the band shows the prior's choice.

    Examples
    --------
    >>> from dcglearn.simulate import ground_truth, preference_pairs
    >>> log = preference_pairs(ground_truth("D1"), 200, lists="free", n_flips=20, seed=0)
    >>> bands = bootstrap_bands(log, n_resamples=20)
    >>> bool(np.all(bands.gain_band[0] <= bands.gain_band[1]))
    True
    """
    whole_number(n_resamples, "n_resamples", 2)
    if not 0 < level < 1:
        raise InputError(f"level={level!r} must lie between 0 and 1")
    model = DCGLearner() if learner is None else learner
    settings = {**model.get_params(), "n_grades": log.n_grades}
    whole = DCGLearner(**settings).fit(log)
    unit = natural_unit(log) if by is None else by
    one = partial(_resampled, log, settings, whole.curves_)
    samples = resampled_weights(log, unit, n_resamples, seed)
    found = list(_shown(_mapped(one, samples, jobs, engine), n_resamples, progress))
    learned = [dcg for dcg in found if dcg is not None]
    if len(learned) < 2:
        raise InputError(f"all but {len(learned)} of the {n_resamples} samples hold too little to learn from")
    return Bands(
        dcg=whole.dcg_,
        gains=np.stack([dcg.gains for dcg in learned]),
        discounts=np.stack([dcg.discounts for dcg in learned]),
        level=level,
        by=unit,
        n_units=len(np.unique(np.concatenate(log.clusters(unit)))),
        failed=len(found) - len(learned),
    )


def _resampled(log: Preferences, settings: dict[str, Any], start: Curves, weight: Floats) -> DCG | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit on the whole log has warned
        try:
            return DCGLearner(**settings).fit(log.reweighted(weight), start=start).dcg_
        except InputError:
            return None


def _mapped(one: Any, samples: Iterable[Floats], jobs: int, engine: Any) -> Iterator[DCG | None]:
    if engine is not None:
        yield from over_cluster(one, samples, engine)
        return
    if jobs == 1:
        yield from map(one, samples)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(one, samples, chunksize=4)


def _shown(results: Iterator[Any], total: int, progress: bool) -> Iterator[Any]:
    from tqdm import tqdm

    yield from tqdm(results, total=total, desc="bootstrap", disable=not progress, leave=False)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Gains and discounts at every strength of the prior, and how they order held-out pairs.

    Attributes
    ----------
    ridge : ndarray, shape (n,)
        The strengths, increasing.
    gains, discounts : ndarray, shapes (n, L) and (n, K)
        Learned from the whole log.
    mean, error : ndarray, shape (n,)
        Mean share of held-out preferences respected, and its standard error over the folds.
    best : float
        The ridge of the best mean (the largest of equals).
    """

    ridge: Floats
    gains: Floats
    discounts: Floats
    mean: Floats
    error: Floats

    @property
    def best(self) -> float:
        """The strength of the best mean, the largest of equals."""
        return float(self.ridge[np.flatnonzero(self.mean >= self.mean.max() - 1e-12)[-1]])

    def __str__(self) -> str:
        rows = zip(self.ridge, self.mean, self.error, strict=True)
        return "\n".join(["   ridge  held-out share", *(f"{r:8.3g}  {m:.4f} ± {e:.4f}" for r, m, e in rows)])


def ridge_path(
    log: Preferences,
    learner: DCGLearner | None = None,
    *,
    grid: Iterable[float] = RIDGES,
    folds: int = 5,
    by: str | None = "pair",
    seed: int = 0,
    progress: bool = False,
) -> RidgePath:
    """Learn at every strength of the prior, each from the last, and cross-validate.

    Parameters
    ----------
    log : Preferences
        The log.
    learner : DCGLearner, optional
        Its other settings are kept.
    grid : iterable of float
        Strengths; run from the largest.
    folds, by, seed, progress
        As in `choose_C`.

    Returns
    -------
    RidgePath

    Raises
    ------
    InputError
        If there are fewer pairs (or raters, queries) than folds.
    """
    model = DCGLearner() if learner is None else learner
    values = np.sort(np.array(list(grid), dtype=np.float64))
    if by == "pair":
        log = log.merged()
    parts = [(log, log), *log.folds(folds, seed=seed, by=by)]
    settings = {**model.get_params(), "n_grades": log.n_grades}
    paths = _shown((_path(train, settings, values) for train, _ in parts), len(parts), progress)
    learned = list(paths)
    shares = np.array(
        [[test.agreement(dcg).share for dcg in path] for path, (_, test) in zip(learned[1:], parts[1:], strict=True)]
    )
    return RidgePath(
        ridge=values,
        gains=np.stack([dcg.gains for dcg in learned[0]]),
        discounts=np.stack([dcg.discounts for dcg in learned[0]]),
        mean=shares.mean(axis=0),
        error=shares.std(axis=0, ddof=1) / np.sqrt(folds),
    )


def _path(train: Preferences, settings: dict[str, Any], values: Floats) -> list[DCG]:
    found: list[DCG] = []
    start = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for ridge in values[::-1]:
            model = DCGLearner(**{**settings, "ridge": float(ridge)}).fit(train, start=start)
            start = model.curves_
            found.append(model.dcg_)
    return found[::-1]
