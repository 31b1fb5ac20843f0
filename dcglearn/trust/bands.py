"""Bootstrap bands and standard errors of gains and discounts."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dcglearn.foundation.cluster import over_cluster
from dcglearn.foundation.processes import in_processes
from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, InputError, whole_number
from dcglearn.learning.fit_direct import fit_direct
from dcglearn.learning.fits import DirectDescription, DirectFit, DirectLearner, warn_of
from dcglearn.learning.list_utility_fit import parameters_of
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility
from dcglearn.readers.preferences import Preferences, as_preferences
from dcglearn.trust.form_choice import fit_in_form
from dcglearn.trust.resampling import resampled_weights, unit_of

_LOG = logging.getLogger(__name__)

FEWEST_DRAWN = 20
"""With fewer raters, queries or lists than this, bootstrap bands are too narrow."""


@dataclass(frozen=True, eq=False)
class Bands:
    """Bootstrap bands of gains and discounts; prints as a table of parameters.

    `dcg` is learned from the whole log (gains from 0 to 1, first discount 1), `gains`, shape (B, L), and `discounts`,
    shape (B, K), from each bootstrap sample. In a form beyond the DCG, `utility` is learned from the whole log, `dcg`
    has its gains and discounts, and `further` holds the stop probabilities, shape (B, L), or the share of the best
    result, shape (B, 1). `level` is the share of the samples within a band, `by` the unit that was drawn, `n_units`
    their number in the log, and `failed` the number of samples from which nothing could be learned.
    """

    dcg: DCG
    gains: Floats
    discounts: Floats
    level: float
    by: str
    n_units: int
    failed: int = 0
    utility: ListUtility | None = None
    further: Floats | None = None

    @property
    def gain_band(self) -> Floats:
        """Lower and upper ends for every grade, shape (2, L)."""
        return self._band(self.gains)

    @property
    def discount_band(self) -> Floats:
        """Lower and upper ends for every position, shape (2, K)."""
        return self._band(self.discounts)

    @property
    def further_band(self) -> Floats:
        """Lower and upper ends for the stop probabilities, shape (2, L), or for the share of the best, shape (2, 1)."""
        return self._band(np.zeros((len(self.gains), 0)) if self.further is None else self.further)

    def _band(self, samples: Floats) -> Floats:
        return np.percentile(samples, (100 * self.tail, 100 - 100 * self.tail), axis=0)

    @property
    def tail(self) -> float:
        """Share of the samples beyond either end: less than (1 - level) / 2 on short logs; see `bootstrap_bands`."""
        from scipy.special import ndtr, ndtri

        spare = self.n_units - sum(map(len, self._estimates)) + 2
        if spare <= 0:
            return 0.0
        return float(ndtr(np.sqrt(self.n_units / spare) * ndtri((1 - self.level) / 2)))

    def table(self) -> list[dict[str, Any]]:
        """Return one row per parameter: name, estimate, standard error, ends of the band."""
        names = [f"gain of grade {g}" for g in range(len(self.dcg.gains))]
        names += [f"discount at {r}" for r in range(1, len(self.dcg.discounts) + 1)]
        samples, estimates = [self.gains, self.discounts], self._estimates
        if self.further is not None:
            n = self.further.shape[1]
            names += ["share of the best"] if n == 1 else [f"stop at grade {g}" for g in range(n)]
            samples.append(self.further)
        every = np.hstack(samples)
        errors = [column.std(ddof=1) for column in every.T]
        keys = ("parameter", "estimate", "standard_error", "low", "high")
        rows = zip(names, *np.array([np.concatenate(estimates), errors, *self._band(every)]).tolist(), strict=True)
        return [dict(zip(keys, row, strict=True)) for row in rows]

    @property
    def _estimates(self) -> list[Floats]:
        """The parameters learned from the whole log."""
        of_dcg = [self.dcg.gains, self.dcg.discounts]
        if self.utility is None or self.further is None:
            return of_dcg
        return [*of_dcg, parameters_of(self.utility, "best" if self.further.shape[1] == 1 else "saturation")]

    def __str__(self) -> str:
        head = f"{'parameter':<18}{'estimate':>10}{'std error':>11}{'':3}{self.level:.0%} band"
        rows = [
            f"{row['parameter']:<18}{row['estimate']:>10.4f}{row['standard_error']:>11.4f}"
            f"   {row['low']:.4f} to {row['high']:.4f}"
            for row in self.table()
        ]
        failed = f", {self.failed} could not be learned from" if self.failed else ""
        rough = "; too few for more than a rough idea" if self.n_units < FEWEST_DRAWN else ""
        drawn = f"({len(self.gains)} bootstrap samples by {self.by}, of {self.n_units}{rough}{failed})"
        return "\n".join([head, *rows, drawn])


def bootstrap_bands(
    log: Preferences,
    learner: DirectLearner | None = None,
    *,
    by: str | None = None,
    n_resamples: int = 200,
    level: float = 0.9,
    seed: int = 0,
    jobs: int = 1,
    engine: Any = None,
) -> Bands:
    """Return bands that gains and discounts would fall into if the log were collected again.

    Parameters
    ----------
    log : Preferences
        The log.
    learner : DCGLearner, optional
        Learner whose settings are used; by default ``DCGLearner()``. With ``form="auto"`` the form is chosen once.
    by : {"pair", "rater", "query", "list"}, optional
        Unit to draw with replacement; by default the independent one: raters, else queries, else lists where they
        recur, else pairs.
    n_resamples : int
        Number of samples; more make the ends of the bands steadier. Take 1,000 for a level of 0.99.
    level : float
        Share of the samples within a band. In simulations, 90% bands of a DCG covered the truth in 95% of noisy logs
        and 86% of clean ones; see Notes for saturation.
    seed, jobs, engine
        Seed; number of processes, and a Dask cluster as in `UtilityLearner.fit`, on which the bands do not depend.

    Raises
    ------
    InputError
        If a setting is impossible, or the log cannot be resampled or learned from.

    See Also
    --------
    consistent_ranges : What the log determines, without a model of noise.
    plots.banded_figure : Draw them.

    Notes
    -----
    Percentile bands of the nonparametric bootstrap. Bands of a blend are those of its fits, drawn by weight: a textbook
    DCG, which has none, is left out. The percentiles are moved outwards by ``sqrt(n / (n - p))`` for n
    units and p parameters, since a sample of n varies less than its source (Hesterberg 2015, section 4.1.3, where
    p = 1). On permutations of one multiset the band of the discounts' level shows the prior's choice.

    On logs of 1,000 judgements, 90% bands covered the truth in 87% with ``form="best"``, but in 57% with
    ``form="saturation"``, where discounts come out too flat and stop probabilities too high. In part the log cannot
    tell them apart: a stop probability common to all grades is a discount that falls by a constant factor.

    Examples
    --------
    >>> log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 200, lists="free", n_flips=20, seed=0)
    >>> bands = bootstrap_bands(log, n_resamples=20)
    >>> bool(np.all(bands.gain_band[0] <= bands.gain_band[1]))
    True
    """
    whole_number(n_resamples, "n_resamples", 2)
    if not 0 < level < 1:
        raise InputError(f"level={level!r} must lie between 0 and 1")
    log = as_preferences(log)
    whole = fit_in_form(log, replace(DirectDescription.in_form_of(learner), n_grades=log.n_grades))
    warn_of(whole)
    unit = unit_of(log) if by is None else by
    beyond = whole.form != "dcg"
    description = replace(whole.description, form=whole.form)
    starts = _starts(whole, n_resamples, seed)
    of_sample = partial(_resampled, log, description)
    samples = zip(resampled_weights(log, unit, n_resamples, seed), starts, strict=True)
    results: Any = (of_sample(weight) for weight in samples)
    if engine is not None or jobs != 1:
        results = in_processes(of_sample, samples, jobs) if engine is None else over_cluster(of_sample, samples, engine)
    with closing(results):
        learned = [metric for metric in counted(results, n_resamples, "bootstrap") if metric is not None]
    _LOG.info("%d bootstrap samples by %s, %d of them left out", n_resamples, unit, n_resamples - len(learned))
    if len(learned) < 2:
        raise InputError(f"all but {len(learned)} of the {n_resamples} samples hold too little to learn from")
    further = [parameters_of(metric, whole.form) for metric in learned if isinstance(metric, ListUtility)]
    return Bands(
        dcg=whole.utility.dcg if beyond else whole.dcg,
        gains=np.stack([metric.gains for metric in learned]),
        discounts=np.stack([metric.discounts for metric in learned]),
        level=level,
        by=unit,
        n_units=len(np.unique(np.concatenate(log.clusters(unit)))),
        failed=n_resamples - len(learned),
        utility=whole.list_utility,
        further=np.stack(further) if beyond else None,
    )


def _starts(whole: DirectFit, n: int, seed: int) -> list[tuple[str, DirectFit | DCG]]:
    """Return loss and start of each sample's fit: for a blend, those of its fits, as often as they weigh."""
    fits = [member for member in whole.members if member.fit is not None]
    if not fits:
        return [(whole.loss, whole if whole.form != "dcg" else whole.dcg)] * n
    weights = np.array([member.weight for member in fits])
    drawn = np.random.default_rng([seed, 1]).choice(len(fits), n, p=weights / weights.sum())
    return [(fits[i].name, fits[i].dcg) for i in drawn]


def _resampled(
    log: Preferences, description: DirectDescription, sample: tuple[Floats, tuple[str, DirectFit | DCG]]
) -> DCG | ListUtility | None:
    weight, (loss, start) = sample
    try:
        return fit_direct(log.reweighted(weight), replace(description, loss=loss), start).metric
    except InputError:
        return None
