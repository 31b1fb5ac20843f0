"""Nested Monte Carlo tests: whether a wider model fits a log better than it fits logs of a DCG.

The statistic is the gain of the wider model over the smaller one, a DCG. Gains are positive on logs
of a DCG too, since the wider model contains it. So logs are simulated from the DCG, on the log's
own pairs of lists, and both models are fitted to each (Efron and Tibshirani 1993, section 16.4).
The parameters of each simulated log are a draw from the posterior of the smaller model. Its best
fit would not do: its judges are too sharp, so that its logs vary too little. To the posterior a
verdict counts once, whatever its weight; weights that count verdicts, some of which disagree, are
as many verdicts as their disagreement tells.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Grades, Indices
from dcglearn.learning.dcg_model import Model
from dcglearn.learning.fit_dcg import FittedDCG
from dcglearn.learning.list_kernel import list_values
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.learning.posterior import posterior_draws
from dcglearn.learning.wrong_verdicts import wrong_chances
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.thinning import marked_rows, marks_of_parts
from dcglearn.logs.unique_rows import list_numbers, packed, pair_numbers, unique_rows
from dcglearn.trust.resampling import is_whole

FALSE_POSITIVE_RATE = 0.05
"""False-positive rate of the tests."""

N_SIMULATED = 39
"""Number of simulated logs: at a rate of 5%, one of them may show as large a gain."""


def nested_test(
    gain: float,
    gain_of: Callable[[JudgedPairs, float], float],
    logs: "LogsOfDCG",
    thetas: Floats,
    *,
    random_state: int = 0,
) -> tuple[float, Floats]:
    """Return the p-value of the gain of a wider model, and the gains on simulated logs.

    `gain_of` fits both models to simulated judgements, whose loss counts by a factor, and returns
    the gain. `logs` are those of the smaller model, `thetas`, shape (B, p), its parameters for each
    log. The simulation ends as soon as the gain cannot be significant any more (Besag and Clifford
    1991).
    """
    # how many simulated gains may be as large: of all gains 5%, one of which is the log's own
    allowed = max(int(FALSE_POSITIVE_RATE * (len(thetas) + 1) + 1e-9) - 1, 0)
    rng = np.random.default_rng(random_state)
    null = []
    as_large = 0
    for theta in counted(thetas, len(thetas), "logs of a DCG"):
        simulated = replace(logs, theta=theta).draw(rng)
        null.append(gain_of(simulated, logs.share))

        # too many are: the p-value is above the rate, however the rest come out
        as_large += null[-1] >= gain
        if as_large > allowed:
            return as_large / len(null), np.array(null)
    return (as_large + 1) / (len(thetas) + 1), np.array(null)


def blunter_draws(fitted: FittedDCG, logs: "LogsOfDCG", n: int, random_state: int = 0) -> Floats:
    """Return the parameters of n simulated logs, shape (n, p), with blunter judges than a fit's.

    A typical pair is expected to differ by 10 times the noise, not by 100 times as in a fit: judges
    that are too sharp make logs that vary too little.
    """
    blunter = replace(fitted.model, centre=fitted.model.centre - np.log(10.0))
    return draws_for(logs, replace(fitted, model=blunter), n, random_state)


def draws_for(logs: "LogsOfDCG", fitted: FittedDCG, n: int, random_state: int = 0) -> Floats:
    """Return the parameters of n simulated logs, shape (n, p): a posterior of verdicts alike."""
    if logs.told is not None:
        judgements = replace(fitted.judgements, weight=logs.told)
        fitted = replace(fitted, judgements=judgements, share=1.0)
    return posterior_draws(fitted, fitted.theta, n, random_state)


@dataclass(frozen=True)
class LogsOfDCG:
    """Logs on the same pairs of lists as a log, as a fitted DCG and its judges would have them.

    A verdict on a list is its DCG plus Gumbel noise, so that differences have the logistic noise of
    the model; it is mistaken for its opposite as often as gives the fitted error rate of a pair.
    With the chance `shared` noise and mistake are the list's, the same wherever it recurs, so that
    pairs which share a list depend on each other.

    `model` and `theta` are the fitted DCG, `lists`, shape (m, K), the distinct lists, or those of
    each judge. `row` and `ratings`, shape (r,), are the list of each rated list and its number of
    ratings; without ratings, the two lists of each pair, and its number of verdicts. `first`,
    `second`, `rater` and `weight`, shape (n,), are each distinct pair's rated lists, judge and
    weight. `told`, None with ratings, says how many independent verdicts each judgement of the log
    stands for, at most as many in all as there are lists.
    """

    model: Model
    theta: Floats
    lists: Grades
    row: Indices
    ratings: Indices
    first: Indices
    second: Indices
    rater: NDArray[np.int32]
    weight: Floats
    shared: float
    told: Floats | None

    @classmethod
    def like(cls, fitted: FittedDCG, *, of_judge: bool = False, most: int = 1 << 10) -> Self:
        """Return logs like the one in memory that a DCG was fitted to.

        Without ratings, the noise of a list is the same for all judges, who then agree on it, or
        `of_judge`, who decides for himself. Of a log with at least twice `most` distinct pairs,
        about `most` stand for all: the gains of a true DCG hardly depend on their number.
        """
        log, judgements = fitted.pairs, fitted.judgements
        assert log is not None, "a fit to a log in memory"
        n = len(log)
        counts = log.ratings
        rater = np.broadcast_to(judgements.rater, n)

        # number the lists, and where there are ratings each rated list
        number = np.concatenate(list_numbers(log.preferred, log.other))
        n_lists = number.max() + 1
        if counts is None:
            if of_judge:
                *_, number = unique_rows(np.column_stack([number, np.tile(rater, 2)]))
            rows = number
        # a list that was rated in several groups is one in each
        else:
            rows = np.ravel(np.transpose(log.units))
            shared = share_of_lists(counts)
            size = np.bincount(counts.unit, counts.weight).astype(np.float64)

        # merge the judgements of a rater on a pair to one verdict, unless lists are rated
        ends = np.sort(np.stack([rows[:n], rows[n:]]), axis=0)
        _, at, pair = unique_rows(np.column_stack([*ends, rater]).astype(np.int64))
        of_row = np.broadcast_to(judgements.weight, n)
        weight = np.bincount(pair, of_row).astype(np.float64)

        # whole weights may count verdicts: their disagreement tells how many are independent
        told = None
        if counts is None:
            votes, alike = np.ones(len(at)), 1.0
            if is_whole(weight):
                votes, alike = weight, _alike(fitted, rows[:n], rows[n:], of_row)
            told = of_row * (votes / weight / (1 + (votes - 1) * alike))[pair]
            told = told * min(1.0, n_lists / float(told.sum()))

            # verdicts have both lists' noise in common with a chance c^2, one list's with 2c(1 - c)
            shared = float((1 + 3 * alike) ** 0.5 - 1) ** 0.5

        # thin the pairs by weight
        marks, *_ = marks_of_parts(most, [len(at)], [float(weight.sum())])
        kept, weight = marked_rows(weight, *marks)
        at = at[kept]

        # number again what is left
        if counts is None:
            used, size = ends[:, at].ravel(), np.tile(votes[kept], 2)
            first, second = np.arange(len(used)).reshape(2, -1)
        else:
            used, places = np.unique(ends[:, at], return_inverse=True)
            first, second = places.reshape(2, -1)
            size = size[used]
        lists, row = np.unique(number[_last_place(rows)[used]], return_inverse=True)
        both = np.concatenate([judgements.first, judgements.second])
        return cls(
            model=fitted.model,
            theta=fitted.theta,
            lists=both[_last_place(number)[lists]],
            row=row,
            # the noise of more ratings or verdicts than twelve is nearly gone in the mean
            ratings=np.clip(np.rint(size), 1, 12).astype(np.intp),
            first=first,
            second=second,
            rater=rater[at].copy(),
            weight=weight,
            shared=shared,
            told=told,
        )

    @property
    def share(self) -> float:
        """Factor of the loss: how many independent judgements a unit of weight counts for."""
        total = float(self.weight.sum())
        _, distinct, _ = unique_rows(packed(self.lists))
        return min(total, float(len(distinct))) / total

    def draw(self, rng: np.random.Generator) -> JudgedPairs:
        """Return the judgements of one log."""
        points = self.model.points(self.theta[None])
        thresholds = points.thresholds[0]
        value, chance = self._ratings(points.gains[0], points.discounts[0], rng)

        # two mistakes cancel: 2 often (1 - often) is the error rate
        often = 0.5 - 0.5 * np.sqrt(np.maximum(1 - 2 * points.errors[0], 0))
        often = often[self.rater][:, None]
        mistaken = chance[self.first] < often, chance[self.second] < often

        # compare each rating of the first list with each of the second, or verdict by verdict
        lead = value[self.first][:, :, None] - value[self.second][:, None, :]
        ahead = (lead > 0) ^ mistaken[0][:, :, None] ^ mistaken[1][:, None, :]
        verdict = 2 * np.searchsorted(thresholds[1:-1], np.abs(lead)) + ahead
        drawn = np.arange(value.shape[1]) < self.ratings[:, None]
        both = drawn[self.first][:, :, None] & drawn[self.second][:, None, :]
        if self.told is not None:
            both &= np.eye(value.shape[1], dtype=bool)

        # count the verdicts of each pair
        n, n_verdicts = len(self.first), 2 * (len(thresholds) - 1)
        cells = (np.arange(n)[:, None, None] * n_verdicts + verdict)[both]
        counts = np.bincount(cells, minlength=n * n_verdicts).reshape(n, n_verdicts)
        pair, verdict = np.nonzero(counts)
        weight = (self.weight / counts.sum(axis=1))[pair] * counts[pair, verdict]

        # put the winner first
        won = (verdict % 2 == 1)[:, None]
        first, second = (self.lists[self.row[end[pair]]] for end in (self.first, self.second))
        better, worse = np.where(won, first, second), np.where(won, second, first)
        return JudgedPairs(better, worse, (verdict // 2).astype(np.int8), self.rater[pair], weight)

    def _ratings(
        self, gains: Floats, discounts: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return ratings of each rated list, and the uniform draws that decide their mistakes.

        Both have shape (r, most ratings).
        """
        # the grade -1, the last entry, is worth nothing
        mean = np.append(gains, 0.0)[self.lists] @ discounts
        shape = len(self.row), int(self.ratings.max())
        of_list = rng.random(shape) < self.shared

        def mixed(draw: Callable[..., Floats]) -> Floats:
            """Return the list's own draw, or one of each rating."""
            return np.where(of_list, draw(size=len(mean))[self.row][:, None], draw(size=shape))

        noise = mixed(rng.gumbel)
        return mean[self.row][:, None] + noise, mixed(rng.random)


def _alike(fitted: FittedDCG, first: Indices, second: Indices, votes: Floats) -> float:
    """Return the correlation of verdicts on a pair of lists, 1 unless some are seen to disagree.

    `first`, `second` and `votes`, shape (n,), are the numbers of the lists of each judgement, and
    how many verdicts it counts. Independent verdicts split as the fitted judges would.
    """
    # the chance that a decided verdict is wrong
    judgements = fitted.judgements
    points = fitted.model.points(fitted.theta[None])
    one, two = (list_values(x, *points.tables)[0] for x in (judgements.first, judgements.second))
    errors = points.errors[0][np.broadcast_to(judgements.rater, len(votes))]
    wrong = wrong_chances(one - two, 0.0, float(points.thresholds[0, 1]), errors)

    # how many verdicts on each pair are decided, and decided for one of its lists
    votes = votes * (np.broadcast_to(judgements.level, len(votes)) > 0)
    pair = pair_numbers(first, second)
    n, for_one, spread = (
        np.bincount(pair, x) for x in (votes, votes * (first < second), votes * wrong * (1 - wrong))
    )
    several = n > 1
    n, for_one, spread = n[several], for_one[several], spread[several]

    # compare splits with those expected, and with one more, so that a few show little
    splits = float((for_one * (n - for_one) / n).sum())
    return max(1 - splits / (1 + float((spread * (n - 1) / n).sum())), 0.0)


def _last_place(numbers: Indices) -> Indices:
    """Return where each number stands last."""
    places = np.zeros(numbers.max() + 1, dtype=np.intp)
    places[numbers] = np.arange(len(numbers))
    return places


def share_of_lists(counts: RatingCounts, *, n_bins: int = 200) -> float:
    """Return the share of ratings' variance around a sum over grades that lies between lists."""
    from dcglearn.trust.list_values import RatedLists, indicators  # takes long to import

    # count the ratings of each list in each bin
    keys, row = np.unique(counts.group * len(counts.lists) + counts.list, return_inverse=True)
    score = np.unique(np.quantile(counts.rating, np.linspace(0, 1, n_bins), method="higher"))
    table = np.zeros((len(keys), len(score)))
    np.add.at(table, (row, np.searchsorted(score, counts.rating)), counts.weight)

    # compare the variances between and within lists
    group, number = np.divmod(keys, len(counts.lists))
    _, variances = RatedLists(group, number, score, indicators(counts.lists)).posterior(table)
    return variances.between / (variances.between + variances.within)
