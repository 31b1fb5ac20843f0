"""Nested Monte Carlo tests: whether a wider model fits a log better than it fits logs of a DCG.

The statistic is the gain in log likelihood of the wider model over a DCG. It is positive on logs of
a DCG too, since the wider model contains it. So logs are simulated from the DCG on the log's own
pairs of lists, and both models are fitted to each (Efron and Tibshirani 1993, section 16.4). The
parameters of each simulated log are a draw from the posterior of the DCG and its judges. Its best
fit would not do: its judges are too sharp, so that its logs vary too little.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dcglearn.foundation.progress import counted
from dcglearn.foundation.validation import Floats, Indices
from dcglearn.learning.fit import Fit
from dcglearn.learning.pairs import Pairs, wrong_chances
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.unique_rows import list_numbers, pair_numbers, size_of
from dcglearn.trust.judge_draws import drawn
from dcglearn.trust.resampling import is_whole

FALSE_POSITIVE_RATE = 0.05
"""False-positive rate of the tests."""

MOST_COUNTED = 1e9
"""NumPy draws from fewer verdicts than this without replacement."""

N_SIMULATED = 39
"""Number of simulated logs: at a rate of 5%, one of them may show as large a gain."""


def nested_test(
    fit: Fit,
    alike: float,
    gain_of: Callable[[Pairs], float],
    n_simulated: int = N_SIMULATED,
    random_state: int = 0,
) -> tuple[float, float, Floats]:
    """Return the gain of a wider model than a fit's, its p-value, and gains on simulated logs.

    `on_independent` returns `fit` and `alike`, the correlation of verdicts on a pair of lists.
    `gain_of` fits both models to pairs, and returns the gain. The simulation ends as soon as the
    gain cannot be significant any more (Besag and Clifford 1991).
    """
    gain = gain_of(fit.pairs)
    thetas = blunter_draws(fit, n_simulated, random_state)

    # how many simulated gains may be as large: of all gains 5%, one of which is the log's own
    allowed = max(int(FALSE_POSITIVE_RATE * (n_simulated + 1) + 1e-9) - 1, 0)
    rng = np.random.default_rng(random_state)
    null = []
    as_large = 0
    for theta in counted(thetas, "logs of a DCG", n_simulated):
        null.append(gain_of(simulated(fit, alike, theta, rng)))

        # too many are: the p-value is above the rate, however the rest come out
        as_large += null[-1] >= gain
        if as_large > allowed:
            return gain, as_large / len(null), np.array(null)
    return gain, (as_large + 1) / (n_simulated + 1), np.array(null)


def on_independent(fit: Fit) -> tuple[Fit, float]:
    """Return the fit to independent verdicts, and the correlation of verdicts on a pair of lists.

    The verdicts on a pair count for as many as their correlation leaves, whatever they weigh, and
    all of them for at most as many as there are lists. With their weights, a few heavy pairs would
    decide how far a log speaks against a DCG.
    """
    alike = agreement(fit)
    pair = pair_numbers(*lists_of_judges(fit.pairs))
    verdicts = np.bincount(pair)
    independent = verdicts / (1 + (verdicts - 1) * alike)

    weight = fit.pairs.weights * (independent / np.bincount(pair, fit.pairs.weights))[pair]
    share = min(1.0, fit.facts.n_lists / float(independent.sum()))
    return fit.on(fit.pairs.changed(weight=share * weight)), alike


def lists_of_judges(pairs: Pairs) -> tuple[Indices, Indices]:
    """Return numbers of each pair's two lists, shape (n,) each, other ones for each judge."""
    first, second = list_numbers(pairs.first, pairs.second)
    n_judges = int(pairs.rater.max()) + 1
    return first * n_judges + pairs.rater, second * n_judges + pairs.rater


def single_verdicts(log: AnyLog, rng: np.random.Generator, most: int = 4_000) -> AnyLog:
    """Return a log of at most `most` judgements, a row each where whole weights count verdicts."""
    if not is_whole(log.weights) or log.total_weight >= MOST_COUNTED:
        return log.thinned(most // 2)
    counts = log.weights.astype(np.int64)
    if counts.sum() > most:
        counts = rng.multivariate_hypergeometric(counts, most, method="marginals")
    return log[np.repeat(np.arange(len(log)), counts)].changed(weight=np.ones(counts.sum()))


def agreement(fit: Fit) -> float:
    """Return the correlation of verdicts on a pair of lists, 1 unless some are seen to disagree.

    Independent verdicts split as the fitted judges would.
    """
    pairs = fit.pairs
    if not is_whole(pairs.weights):
        return 1.0
    points = fit.model.points(fit.theta[None])
    threshold = float(points.thresholds[0, 1])
    z, errors = pairs.differences(points), points.errors[0][pairs.rater]
    wrong = wrong_chances(np.abs(z), threshold, errors)

    # how many verdicts each pair has, and how many are for one of its lists
    first, second = lists_of_judges(pairs)
    pair = pair_numbers(first, second)
    n, spread = np.bincount(pair), np.bincount(pair, wrong * (1 - wrong))
    for_one = np.bincount(pair, first < second)

    # compare splits with those expected, and with one more, so that a few show little
    splits = float((for_one * (n - for_one) / n).sum())
    return max(1 - splits / (1 + float((spread * (n - 1) / n).sum())), 0.0)


def blunter_draws(fit: Fit, n: int, random_state: int) -> Floats:
    """Return parameters of n simulated logs, shape (n, p), with blunter judges than the fit's.

    They are drawn from the posterior in which a typical pair is expected to differ by 10 times the
    noise, not by 100 times as in a fit: judges that are too sharp make logs that vary too little.
    """
    model = replace(fit.model, centre=fit.model.centre - np.log(10.0))
    return drawn(replace(fit, function=replace(fit.function, model=model)), n, random_state)


def simulated(fit: Fit, alike: float, theta: Floats, rng: np.random.Generator) -> Pairs:
    """Return the pairs of a fit with verdicts of the DCG and judges at parameters, shape (p,).

    A verdict on a list is its DCG plus Gumbel noise, so that differences have the logistic noise of
    the model. Noise and mistakes mostly belong to a judge's list, so that pairs which share one
    depend on each other, or to a verdict, as often as the correlation `alike` of verdicts on a pair
    of lists leaves.
    """
    pairs: Pairs = fit.pairs
    points = fit.model.points(theta[None])
    lists = np.stack(lists_of_judges(pairs))

    # with the chance c, noise is the list's: both lists' with c^2, one list's with 2 c (1 - c)
    of_list = rng.random(lists.shape) < float((1 + 3 * alike) ** 0.5 - 1) ** 0.5
    noise, chance = (
        np.where(of_list, draw(size=size_of(lists))[lists], draw(size=lists.shape))
        for draw in (rng.gumbel, rng.random)
    )

    # which list is ahead, and by how much
    lead = pairs.differences(points) + noise[0] - noise[1]
    level = np.searchsorted(points.thresholds[0, 1:-1], np.abs(lead))

    # two mistakes cancel: 2 often (1 - often) is the error rate
    often = 0.5 - 0.5 * np.sqrt(np.maximum(1 - 2 * points.errors[0], 0))
    mistaken = chance < often[pairs.rater]

    # put the winner first
    lost = ((lead < 0) ^ mistaken[0] ^ mistaken[1])[:, None]
    better = np.where(lost, pairs.second, pairs.first)
    worse = np.where(lost, pairs.first, pairs.second)
    return pairs.changed(first=better, second=worse, level=level.astype(np.int8))
