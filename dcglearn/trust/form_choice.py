"""The choice of a form: what a list is worth as a DCG, with saturation, or with a share of its best
result.

The gain of a form is by how much its objective, loss and prior, is lower than that of the DCG.
Gains are positive on logs of a DCG too, since forms contain it. A parametric bootstrap (Efron and
Tibshirani 1993, section 16.4) tells how large they are: logs are drawn from the fitted DCG and its
judges, on the log's own pairs of lists, and fitted. The gain of the form that fits best must be
larger than on nearly all of them. And its log likelihood on held-out judgements must not be lower
than that of the DCG by more than a standard error, since a real log may contradict both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import aligned
from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, Grades, InputError
from dcglearn.learning.checkpoint import NOWHERE, Keeping
from dcglearn.learning.dcg_model import Model
from dcglearn.learning.descriptions import (
    FORMS,
    LIKELIHOOD,
    LOSSES,
    DirectDescription,
    DirectFit,
    FormScore,
)
from dcglearn.learning.fit_dcg import FittedDCG, fit_dcg, fit_direct, in_form, whole
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.starts import WarmStart
from dcglearn.logs.preference_pairs import PreferencePairs, divided
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import list_numbers, unique_rows
from dcglearn.metric.dcg import DCG
from dcglearn.parts.parts import OpenLog, with_grades
from dcglearn.trust.blend import fit_blend
from dcglearn.trust.resampling import FOLDS, mean_and_error, unit_of

OF_FORMS = {
    "dcg": "a DCG",
    "saturation": "a DCG whose user stops at a result with a probability, by grade (saturation)",
    "best": "a DCG mixed with the gain of the best result (best)",
}
"""What the forms are, for people to read."""

N_SIMULATED, ALLOWED = 39, 1
"""Number of simulated logs, and how many of them may show a larger gain: a false-positive rate of
2/40.
"""

LARGEST = 1 << 10
"""Simulated logs have at most about twice this many pairs: the gains of a true DCG hardly depend on
their number.
"""

MOST_RATINGS = 12
"""Ratings of one list beyond this number are not simulated, since their noise is nearly gone in the
mean.
"""

FALSE_POSITIVE_RATE = 0.05
"""False-positive rate of the test of the gain."""

FEWEST_HELD_OUT = 10
"""With fewer raters, queries or pairs than this, no form is chosen by them."""

LEAST_CHANCE = 1e-9
"""Smaller probabilities of held-out verdicts count as this."""


def fit_in_form(
    log: OpenLog,
    description: DirectDescription,
    start: Any = None,
    *,
    refit: str = "never",
    keeping: Keeping = NOWHERE,
    proxy: DCG | None = None,
) -> DirectFit:
    """Return the fit of a learner in its form, or a chosen one: a blend where the loss is "auto"
    and the form a DCG.
    """
    if proxy is not None and (description.loss, description.form) != ("auto", "dcg"):
        raise InputError(
            'a proxy goes with loss="auto" and form="dcg": it is a member of the blend'
        )
    blend = partial(fit_blend, log, description, start, refit=refit, proxy=proxy)
    if description.form != "auto":
        if (description.loss, description.form) == ("auto", "dcg"):
            return blend(keeping=keeping)
        return fit_direct(log, description, start, refit=refit, keeping=keeping)
    if LOSSES.get(description.loss_used) not in (LIKELIHOOD, None):
        raise InputError(
            f'form="auto" compares likelihoods, and loss="{description.loss}" is none: '
            'give form="dcg", "saturation" or "best", or loss="robust"'
        )
    warm = None if start is None else WarmStart.of(start).of_loss(description.loss_used)
    in_memory = whole(description, with_grades(log, description.n_grades), keeping)
    with one_blas_thread():
        fitted, dcg = fit_dcg(in_memory, description, warm, refit=refit)
        fits = {form: dcg.with_form(form) for form in FORMS[1:]}
        gains = {form: dcg.objective - result.objective for form, result in fits.items()}
        scores = cross_validated_forms(description, in_memory)
        scores = {form: replace(score, gain=gains.get(form, 0.0)) for form, score in scores.items()}
        best = candidate(scores)
        if best != "dcg":
            thetas = np.tile(dcg.theta, (N_SIMULATED, 1))
            p = p_value(
                gains[best],
                lambda it: min(it.with_form(x).objective for x in FORMS[1:]),
                dcg,
                thetas,
            )
            scores[best] = replace(scores[best], p_value=p)
    form = form_of(scores)
    if form != "dcg":
        return replace(in_form(fitted, form, fits[form], warm=False), form_scores=scores)
    return replace(
        blend() if description.loss == "auto" else fitted,
        description=description,
        form_scores=scores,
    )


def candidate(scores: Mapping[str, FormScore]) -> str:
    """Return the form with the largest gain, or the DCG if there is none or held-out judgements
    speak against it.
    """
    best = max(FORMS, key=lambda form: scores[form].gain)
    return best if scores[best].ahead >= -scores[best].ahead_error else "dcg"


def form_of(scores: Mapping[str, FormScore]) -> str:
    """Return the candidate if its gain is significant, else the DCG."""
    best = candidate(scores)
    p_value = scores[best].p_value
    return best if p_value is not None and p_value <= FALSE_POSITIVE_RATE else "dcg"


def scores_table(scores: Mapping[str, FormScore], chosen: str) -> str:
    """Return the scores of the forms as a text table."""
    # a row for each form
    rows = [
        [
            "value of a list",
            "ordered rightly",
            "log probability",
            "minus the DCG's",
            "better fit",
            "p",
        ]
    ]
    rows += [
        [
            OF_FORMS[form] + ", chosen" * (form == chosen),
            f"{score.share:.1%}",
            f"{score.log_likelihood:.4f}",
            f"{score.ahead:+.4f} ± {score.ahead_error:.4f}",
            f"{score.gain:.2f}",
            "" if score.p_value is None else f"{score.p_value:.3f}",
        ]
        for form, score in scores.items()
    ]

    # what the columns mean
    lines = aligned(rows)
    lines.append("(ordered rightly, log probability: of held-out judgements, the mean of each one)")
    lines.append(
        "(better fit: log probability of the whole log, with the prior on the curves, minus the DCG's)"
    )
    if any(score.p_value is not None for score in scores.values()):
        lines.append(
            "(p: how often another form fits a log better by as much, where the log is simulated from the DCG)"
        )
    return "\n".join(lines)


def cross_validated_forms(
    description: DirectDescription, log: PreferencePairs, seed: int = 0
) -> dict[str, FormScore]:
    """Return the score of every form.

    Raters or queries are held out whole where the log has enough of them; else lists, where each is
    in many judgements, in three random halvings; else pairs of lists. Raise InputError if there are
    too few judgements to hold any out.
    """
    unit = unit_of(log, fewest=FEWEST_HELD_OUT, per_list=2)
    first, second = log.clusters(unit)
    if len(np.unique(first)) < FEWEST_HELD_OUT:
        raise InputError(
            f'form="auto" holds out judgements to choose the form, and the log has fewer than {FEWEST_HELD_OUT} '
            'distinct pairs of lists: give form="dcg", or more judgements',
            see="too-few",
        )
    sums, times = np.zeros((2, len(FORMS), len(log))), np.zeros(len(log))
    rng, n_folds, repeats = np.random.default_rng(seed), *((2, 3) if unit == "list" else (FOLDS, 1))
    folds = [
        fold
        for _ in range(repeats)
        for fold in divided((first, second), n_folds, rng, across=False)
    ]
    for train, test in counted(folds, len(folds), "forms"):
        part, held_out = log[train], log[test]
        dcg = fit_direct(part, replace(description, form="dcg", n_grades=log.n_grades))
        fits = [
            dcg,
            *(fit_direct(part, replace(dcg.description, form=form), dcg) for form in FORMS[1:]),
        ]
        for i, fit in enumerate(fits):
            sums[0, i, test] += _log_likelihoods(fit, held_out)
            sums[1, i, test] += 0.5 * (1 + held_out.verdicts(fit.metric))
        times[test] += 1
    at = np.flatnonzero(times)
    log_likelihood, share = sums[..., at] / times[at]
    weight = np.ones(len(at)) if log.weight is None else log.weight[at]
    decided = weight if log.tie is None else weight * ~log.tie[at]
    shares = share @ decided / max(float(decided.sum()), 1e-300)
    clusters = first[at], second[at]
    means, errors = mean_and_error(log_likelihood, weight, clusters)
    leads, lead_errors = mean_and_error(log_likelihood - log_likelihood[0], weight, clusters)
    numbers = np.transpose([means, errors, shares, leads, lead_errors]).tolist()
    return {form: FormScore(*row) for form, row in zip(FORMS, numbers, strict=True)}


def _log_likelihoods(fit: DirectFit, log: PreferencePairs) -> Floats:
    """Return the log probability of each verdict, preference or tie, whatever its strength, shape
    (n,).
    """
    chances = fit.probabilities(log)
    chance = chances[:, 0] if log.tie is None else np.where(log.tie, chances[:, 1], chances[:, 0])
    return np.log(np.maximum(chance, LEAST_CHANCE))


@dataclass(frozen=True)
class LogsOfDCG:
    """Logs on the same pairs of lists as a log, as a fitted DCG and its judges would have them.

    A verdict on a list is its DCG plus Gumbel noise, so that differences have the logistic noise of
    the model; it is mistaken for its opposite as often as gives the fitted error rate of a pair.
    With the chance `shared` noise and mistake are the list's, the same wherever it recurs, so that
    pairs which share a list depend on each other.

    `model` and `theta` are the fitted DCG, `lists`, shape (m, K), the distinct lists. `row` and
    `ratings`, shape (r,), are the list of each rated list and its number of ratings; without
    ratings, the lists themselves, once each. `first`, `second`, `rater` and `weight`, shape (n,),
    are each distinct pair's rated lists, judge and weight.
    """

    model: Model
    theta: Floats
    lists: Grades
    row: NDArray[np.intp]
    ratings: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    rater: NDArray[np.int32]
    weight: Floats
    shared: float

    @classmethod
    def like(
        cls, log: PreferencePairs, judgements: JudgedPairs, model: Model, theta: Floats
    ) -> Self:
        """Return logs like that of these judgements, which are the pairs of `log`, or like a sample
        of them.
        """
        n, counts = len(log), log.ratings
        number = np.concatenate(list_numbers(log.preferred, log.other))
        if counts is None:
            rows, shared = number, 1.0
            size = np.ones(rows.max() + 1)
        else:
            better, worse, own = counts.rows_of(log)
            rows, shared = np.concatenate([better, worse]), share_of_lists(counts)
            size = np.bincount(own, counts.weight, rows.max() + 1).astype(np.float64)
        rater, weight = np.broadcast_to(judgements.rater, n), np.broadcast_to(judgements.weight, n)
        ends = np.sort(np.stack([rows[:n], rows[n:]]), axis=0)
        _, at, pair = unique_rows(np.column_stack([*ends, rater]).astype(np.int64))
        kept = slice(None, None, max(len(at) // LARGEST, 1))
        at, weight = at[kept], np.bincount(pair, weight)[kept].astype(np.float64)
        used, ends = np.unique(ends[:, at], return_inverse=True)
        of_row = np.zeros(rows.max() + 1, dtype=np.intp)
        of_row[rows] = np.arange(2 * n)
        lists, row = np.unique(number[of_row[used]], return_inverse=True)
        place = np.zeros(number.max() + 1, dtype=np.intp)
        place[number] = np.arange(2 * n)
        distinct = np.concatenate([judgements.first, judgements.second])[place[lists]]
        ratings = np.clip(np.rint(size[used]), 1, MOST_RATINGS).astype(np.intp)
        first, second = ends.reshape(2, -1)
        return cls(
            model, theta, distinct, row, ratings, first, second, rater[at].copy(), weight, shared
        )

    @property
    def share(self) -> float:
        """Factor of the loss, as in `fit`."""
        total = float(self.weight.sum())
        return min(total, float(len(self.lists))) / total

    def draw(self, rng: np.random.Generator) -> JudgedPairs:
        """Return the judgements of one log."""
        points = self.model.points(self.theta[None])
        thresholds, shape = points.thresholds[0], (len(self.row), int(self.ratings.max()))
        mean = (
            np.append(points.gains[0], 0.0)[self.lists] @ points.discounts[0]
        )  # the grade -1 is worth nothing
        of_list = rng.random(shape) < self.shared
        noise = np.where(
            of_list, rng.gumbel(size=len(mean))[self.row][:, None], rng.gumbel(size=shape)
        )
        chance = np.where(of_list, rng.random(len(mean))[self.row][:, None], rng.random(shape))
        often = 0.5 - 0.5 * np.sqrt(
            np.maximum(1 - 2 * points.errors[0], 0)
        )  # 2 often (1 - often) is the error rate
        mistaken = [chance[end] < often[self.rater][:, None] for end in (self.first, self.second)]
        value = mean[self.row][:, None] + noise
        lead = value[self.first][:, :, None] - value[self.second][:, None, :]
        ahead = (lead > 0) ^ mistaken[0][:, :, None] ^ mistaken[1][:, None, :]
        level = np.searchsorted(thresholds[1:-1], np.abs(lead))
        drawn = np.arange(shape[1]) < self.ratings[:, None]
        both = drawn[self.first][:, :, None] & drawn[self.second][:, None, :]
        verdict = 2 * level + ahead
        n, n_verdicts = len(self.first), 2 * (len(thresholds) - 1)
        cells = (np.arange(n)[:, None, None] * n_verdicts + verdict)[both]
        counts = np.bincount(cells, minlength=n * n_verdicts).reshape(n, n_verdicts)
        pair, verdict = np.nonzero(counts)
        weight = (self.weight / counts.sum(axis=1))[pair] * counts[pair, verdict]
        ends = self.lists[self.row[self.first[pair]]], self.lists[self.row[self.second[pair]]]
        better, worse = (np.where((verdict % 2 == side)[:, None], *ends) for side in (1, 0))
        return JudgedPairs(better, worse, (verdict // 2).astype(np.int8), self.rater[pair], weight)


def share_of_lists(counts: RatingCounts) -> float:
    """Return the share of the ratings' variance around a sum over grades that lies between lists,
    in 200 bins.
    """
    from dcglearn.trust.values_of_lists import RatedLists, indicators

    keys, row = np.unique(counts.group * len(counts.lists) + counts.list, return_inverse=True)
    score = np.unique(np.quantile(counts.rating, np.linspace(0, 1, 200), method="higher"))
    rank = np.searchsorted(score, counts.rating)
    table = np.zeros((len(keys), len(score)))
    np.add.at(table, (row, rank), counts.weight)
    group, number = np.divmod(keys, len(counts.lists))
    _, variances = RatedLists(group, number, score, indicators(counts.lists)).posterior(table)
    return variances.between / (variances.between + variances.within)


def p_value(
    gain: float, wider: Callable[[FittedDCG], float], dcg: FittedDCG, thetas: Floats
) -> float:
    """Return about how often a wider model's objective is lower by at least `gain` on logs of a
    DCG.

    The simulation ends as soon as too many gains are as large (Besag and Clifford 1991). `wider`
    returns the objective of the wider model fitted to the judgements of a DCG; `thetas`, shape (B,
    p), are the parameters of each simulated log, whose pairs are those of `dcg`.
    """
    assert dcg.pairs is not None, "a fit to a log in memory"
    logs = LogsOfDCG.like(dcg.pairs, dcg.judgements, dcg.model, dcg.theta)
    rng, as_large = np.random.default_rng(0), 0
    for n, theta in enumerate(counted(thetas, len(thetas), "logs of a DCG"), 1):
        again = dcg.on(replace(logs, theta=theta).draw(rng), logs.share)
        as_large += again.objective - wider(again) >= gain
        if as_large > ALLOWED:
            return as_large / n
    return (as_large + 1) / (len(thetas) + 1)
