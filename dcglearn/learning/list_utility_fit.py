"""List utilities fitted to judgements: the model of `direct_fit` with stop probabilities, or with a share of the best.

Gains, discounts and judges keep their parameters and their prior. The further parameters, from 0 to 1, are those of
`ListUtility`; at 0 the model is that of the DCG. What a list is worth is computed once for each distinct list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from dcglearn.foundation.threads import over_chunks
from dcglearn.learning.direct_fit import log_curves
from dcglearn.learning.list_kernel import add_costs, fill_values, spread_slopes
from dcglearn.logs.unique_rows import list_numbers
from dcglearn.metric.dcg import DCG
from dcglearn.metric.list_utility import ListUtility

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dcglearn.foundation.arrays import Floats, Grades
    from dcglearn.learning.direct_fit import Curves, Model
    from dcglearn.learning.pair_loss import Judgements


EXTRA_SPREAD = 1.0
"""Prior standard deviation of the further parameters, around 0."""

LEAST_FALL, MOST = 0.02, 0.99
"""Least fall of the log discount from one position to the next, and largest stop probability or share of the best:
beyond them many lists would be tied for good, though the log only says that they are nearly level."""

TRIED, ROUGH_STEPS = 4, 40
"""So many of the best starts are descended from, so many steps at first."""

SAMPLE = 1 << 12
"""Starts are compared on at most twice this many judgements."""

SHARPER = (-0.7, 0.7)
"""Changes of the log sharpness that are tried with every start."""

NEARBY = (("linear", "log2"), ("exponential", "log2"), ("linear", "reciprocal"))
"""Textbook curves tried beside those of the DCG, which bends its own to make up for the form."""


@dataclass(frozen=True)
class ListPairs:
    """Distinct judgements by the numbers of their lists.

    `lists` are the distinct lists, shape (m, K); `first` and `second`, shape (n,), the numbers of the preferred and the
    other list; `level`, `rater` and `weight`, shape (n,), as in `Judgements`.
    """

    lists: Grades
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    level: Grades
    rater: NDArray[np.int32]
    weight: Floats

    @classmethod
    def of(cls, judgements: Judgements) -> ListPairs:
        """Return the judgements, the weights of identical ones added."""
        n = len(judgements)
        numbers = np.concatenate(list_numbers(judgements.first, judgements.second))
        distinct, at, number = np.unique(numbers, return_index=True, return_inverse=True)
        lists = np.concatenate([judgements.first, judgements.second])[at]
        level, rater = np.broadcast_to(judgements.level, n), np.broadcast_to(judgements.rater, n)
        weight = np.broadcast_to(judgements.weight, n)
        first, second = number[:n].astype(np.int64), number[n:].astype(np.int64)
        key = (first * len(distinct) + second) * (int(level.max()) + 1) + level
        key = key * (int(rater.max()) + 1) + rater
        _, at, same = np.unique(key, return_index=True, return_inverse=True)
        total = np.bincount(same, weight).astype(np.float64)
        return cls(np.ascontiguousarray(lists), first[at], second[at], level[at].copy(), rater[at].copy(), total)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    def __len__(self) -> int:
        return len(self.first)

    def every(self, step: int) -> ListPairs:
        """Return every `step`-th judgement."""
        columns: list[Any] = [self.first, self.second, self.level, self.rater, self.weight]
        return self if step == 1 else ListPairs(self.lists, *(column[::step].copy() for column in columns))


@dataclass(frozen=True)
class ListModel:
    """A form of list utility beside the model of gains, discounts and judges."""

    model: Model
    form: str

    @property
    def n_extra(self) -> int:
        """Number of further parameters."""
        return self.model.n_grades if self.form == "saturation" else 1

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper bounds of the parameters, shape (p,) each."""
        low, high = self.model.bounds
        low = low.copy()
        low[self.model.parts[1]] = LEAST_FALL
        return np.append(low, np.zeros(self.n_extra)), np.append(high, np.full(self.n_extra, MOST))

    def extra(self, theta: Floats) -> tuple[Floats, float]:
        """Return the stops, shape (L,), and the share of the best result at parameters."""
        further = theta[-self.n_extra :]
        if self.form == "saturation":
            return further, 0.0
        return np.zeros(self.model.n_grades), float(further[0])

    def curves(self, theta: Floats) -> Curves:
        """Return gains, discounts and judges at parameters."""
        return self.model.curves(theta[: -self.n_extra])

    def objective(self, theta: Floats, pairs: ListPairs, share: float) -> tuple[float, Floats]:
        """Return ``share * loss + prior`` and its gradient, shape (p,)."""
        model, (stops, best), curves = self.model, self.extra(theta), theta[: -self.n_extra]
        points = model.points(curves[None])
        gains, discounts = np.append(0.0, points.gains[0]), points.discounts[0]
        stops = np.append(0.0, stops)
        values = np.empty(len(pairs.lists))
        fill_values(pairs.lists, gains, discounts, stops, best, values)
        loss, steps, of_thresholds, of_errors = _losses(
            model.kind, pairs, values, points.thresholds[0], points.errors[0]
        )
        slopes = np.bincount(pairs.first, steps, len(values)) - np.bincount(pairs.second, steps, len(values))
        moment, of_stops = np.zeros((len(discounts), len(gains))), np.zeros(len(gains))
        of_best = spread_slopes(pairs.lists, slopes, gains, discounts, stops, best, moment, of_stops)
        prior, pull, _ = model.prior.at(curves[None])
        gradient = np.append(pull[0], theta[-self.n_extra :] / EXTRA_SPREAD**2)
        gradient[: len(curves)] += share * _of_parameters(model, curves, moment[:, 1:], of_thresholds, of_errors)
        gradient[-self.n_extra :] += share * (of_stops[1:] if self.form == "saturation" else of_best)
        further = theta[-self.n_extra :]
        return float(share * loss + prior[0] + 0.5 * (further**2).sum() / EXTRA_SPREAD**2), gradient


def _losses(
    kind: int, pairs: ListPairs, values: Floats, thresholds: Floats, errors: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return the loss, its slopes in each pair's difference, in the thresholds and in the errors."""
    steps = np.empty(len(pairs))
    arrays = pairs.first, pairs.second, pairs.level, pairs.rater, pairs.weight

    def part(start: int, stop: int) -> tuple[float, Floats, Floats]:
        sums = np.zeros(len(thresholds)), np.zeros(len(errors))
        loss = add_costs(arrays, values, thresholds, errors, kind, start, stop, steps, *sums)
        return loss, *sums

    losses, of_thresholds, of_errors = zip(*over_chunks(part, len(pairs)), strict=True)
    return sum(losses), steps, np.sum(of_thresholds, axis=0), np.sum(of_errors, axis=0)


def _of_parameters(model: Model, theta: Floats, moment: Floats, of_thresholds: Floats, of_errors: Floats) -> Floats:
    """Return the slope of the loss in the parameters of `Model`, shape (p,).

    Values are linear in the discounts and in the gains, so both slopes are sums of `moment`, shape (K, L).
    """
    points = model.points(theta[None])
    gains, discounts, errors = points.gains[0], points.discounts[0], points.errors[0]
    alpha, delta, sharp, error, thresholds, raters = model.parts
    slope = np.zeros(len(theta))
    steps = np.diff(gains)
    of_steps = _sums_beyond(discounts @ moment)
    slope[alpha] = steps * (of_steps - steps @ of_steps)
    of_logs = discounts * (moment @ gains)
    slope[sharp] = of_logs.sum()
    slope[delta] = -_sums_beyond(of_logs - discounts / discounts.sum() * of_logs.sum())
    if thresholds.stop > thresholds.start:
        slope[thresholds] = _sums_beyond(of_thresholds[:-1])[0 if model.ties else 1 :] * np.exp(theta[thresholds])
    if model.with_errors:
        of_logits = of_errors * errors * (1 - errors)
        slope[error] = of_logits.sum()
        slope[raters] = of_logits[: raters.stop - raters.start]
    return slope


def _sums_beyond(values: Floats) -> Floats:
    """Return for all entries but the last the sum of those after it."""
    sums: Floats = np.cumsum(values[:0:-1])[::-1]
    return sums


@dataclass(frozen=True)
class ListFit:
    """A fitted list utility: gains, discounts and judges, stops (L,), share of the best, and how the descent ended."""

    curves: Curves
    stops: Floats
    best: float
    objective: float
    n_iter: int
    converged: bool

    def utility(self, grade_names: tuple[str, ...] | None, notes: tuple[str, ...]) -> ListUtility:
        """Return the metric, with gains from 0 to 1 and discounts from 1."""
        gains, discounts = self.curves.gains / self.curves.gains[-1], self.curves.discounts / self.curves.discounts[0]
        return ListUtility(gains, discounts, self.stops, self.best, grade_names, notes)


def corners(form: str, n_grades: int) -> Floats:
    """Return the further parameters of starts, shape (S, L) or (S, 1): from none to all, by grade."""
    if form == "best":
        return np.array([[0.0], [0.5], [0.95]])
    grades = np.arange(n_grades) / max(n_grades - 1, 1)
    steps = [0.8 * (grades >= cut) for cut in grades[1:]]
    smooth = [np.clip(step + 0.4 * (np.append(step[1:], 0.8) > 0) * (step == 0), 0, 1) for step in steps]
    return np.array([np.zeros(n_grades), *steps, *smooth, 0.5 * grades, grades, grades**2])


def fit_form(
    form: str,
    model: Model,
    pairs: ListPairs,
    share: float,
    bases: Sequence[Floats],
    *,
    start: Floats | None = None,
    max_iter: int = 2000,
) -> ListFit:
    """Fit a form to judgements.

    `share` is the factor of the loss, `bases` are parameters of `model` near a fit of the DCG, the first its own; each
    is combined with some corners of the form and some sharpnesses. `start`, all parameters of a fit to nearly the same
    log, is the only start where it is given. A long log is learned from a sample first.
    """
    lists = ListModel(model, form)
    if start is None:
        few = pairs.every(max(len(pairs) // SAMPLE, 1))
        start = _best_start(lists, few, share * pairs.total_weight / few.total_weight, bases)
    end = _descended(lists, np.clip(start, *lists.bounds), pairs, share, max_iter)
    stops, best = lists.extra(end.x)
    return ListFit(lists.curves(end.x), stops.copy(), best, float(end.fun), int(end.nit), bool(end.success))


def _best_start(lists: ListModel, pairs: ListPairs, share: float, bases: Sequence[Floats]) -> Floats:
    """Return the lowest end of short descents from the lowest starts and from the DCG itself."""
    further, sharp = corners(lists.form, lists.model.n_grades), lists.model.parts[2]
    starts = np.array([np.append(base, corner) for base in bases for corner in further])
    starts = np.tile(starts, (1 + len(SHARPER), 1))
    starts[:, sharp] += np.repeat([0.0, *SHARPER], len(starts) // (1 + len(SHARPER)))[:, None]
    starts = np.clip(starts, *lists.bounds)
    values = [lists.objective(theta, pairs, share)[0] for theta in starts]
    chosen = {0, *np.argsort(values, kind="stable")[:TRIED].tolist()}
    ends = [_descended(lists, starts[i], pairs, share, ROUGH_STEPS) for i in sorted(chosen)]
    best: Floats = min(ends, key=lambda end: float(end.fun)).x
    return best


def bases_near(model: Model, theta: Floats) -> list[Floats]:
    """Return the parameters of a fitted DCG, and those with its judges and the curves of some textbook DCGs."""
    bases = [theta]
    for gain, discount in NEARBY:
        dcg = DCG.standard(model.n_grades, model.depth, gain, discount)
        if dcg.gains.any():
            other = theta.copy()
            other[: model.parts[1].stop] = np.concatenate(log_curves(dcg.gains, dcg.discounts))
            bases.append(np.clip(other, *model.bounds))
    return bases


def parameters_of(utility: ListUtility, form: str) -> Floats:
    """Return the further parameters of a list utility of a form, as they stand at the end of all parameters."""
    return np.array([float(utility.best)]) if form == "best" else utility.stops


def _descended(lists: ListModel, theta: Floats, pairs: ListPairs, share: float, steps: int) -> Any:
    return minimize(
        lists.objective,
        theta,
        (pairs, share),
        jac=True,
        method="L-BFGS-B",
        bounds=np.column_stack(lists.bounds),
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-6},
    )
