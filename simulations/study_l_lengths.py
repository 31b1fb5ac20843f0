"""Study l: lists of different lengths: do people add up what they find, or average it?

The default learner against itself as a sum in which the worst grade is worth nothing.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import MEASURES, best_textbook, curves, grid, legend, ticks

REPEATS, PANELS, FIGSIZE = 40, 3, (11.0, 3.6)
N_GRADES, SHORTEST, DEPTH, WRONG = 5, 3, 10, 0.1
SIZES = (40, 150, 500)
FRESH = 5000
"""Added to the seed: smaller ones were used while the rule of choice was tried."""


def bent(worst=0.0, lowest=0.0, power=0.0, gain="exponential", discount="log2"):
    """Return a textbook DCG with another worst grade, from a lowest gain, or of another power."""
    textbook = dl.DCG.standard(N_GRADES, DEPTH, gain, discount).normalised()
    gains = lowest + (1 - lowest) * textbook.gains
    gains[0] += worst
    return dl.DCG(gains, textbook.discounts, power=power)


TRUTHS = {
    "sum, exponential-log2": bent(),
    "sum, linear-log2": bent(gain="linear"),
    "average, exponential-log2": bent(power=1.0),
    "average, linear-flat": bent(power=1.0, gain="linear", discount="flat"),
    "between, p = 0.5": bent(power=0.5),
    "worst grade -0.2": bent(worst=-0.2),
    "worst grade -0.6": bent(worst=-0.6),
    "gains from -0.2": bent(lowest=-0.2),
    "gains from -0.6": bent(lowest=-0.6),
}
"""True metrics, with exponential gains and log2 discounts unless they say else. In the last four
the worst grade costs: alone, or as the curve of all gains begins lower.
"""


def log_of(true, n, rng, n_flips=0):
    """Return preferences between lists of random grades and lengths."""
    lists = np.zeros((2, 0, DEPTH), int)
    while lists.shape[1] < n:
        drawn = rng.integers(0, N_GRADES, (2, n, DEPTH))
        drawn[rng.integers(SHORTEST, DEPTH + 1, (2, n, 1)) <= np.arange(DEPTH)] = -2
        decided = np.abs(true.score(drawn[0]) - true.score(drawn[1])) > 1e-9
        lists = np.concatenate([lists, drawn[:, decided]], axis=1)
    return dl.simulate.judge(true, *lists[:, :n], n_flips=n_flips, random_state=rng)


def trial(rng, truth, n, n_test):
    """Learn as the default does and as a sum, and return a record of each and of the textbook."""
    true = TRUTHS[truth]
    test = log_of(true, n_test, rng)
    train = log_of(true, n, rng, n_flips=round(WRONG * n))
    learned = {
        "default": dl.DCGLearner().fit(train).dcg_,
        "sum": dl.DCGLearner(power=0.0, zero=0).fit(train).dcg_,
        "best textbook": best_textbook(train),
    }
    return [
        {
            "learner": name,
            "precision": test.agreement(dcg).precision,
            "power": dcg.power,
            "worst": dcg.gains[0],
        }
        for name, dcg in learned.items()
    ]


def settings(quick):
    """Return a setting for each true metric and number of pairs."""
    sizes, n_test = (SIZES[:1], 500) if quick else (SIZES, 3000)
    return grid(truth=tuple(TRUTHS), n=sizes, n_test=n_test)


def plot(table, axes, headline):
    """Draw precision against the number of pairs by kind of truth, one line per learner."""
    labels = {"default": "default", "sum": "as a sum", "best textbook": "best textbook DCG"}
    kinds = {"sum,": "a sum", "average,": "an average", "0.6": "a worst grade of -0.6"}
    for ax, (word, title) in zip(axes, kinds.items(), strict=True):
        part = table.filter(pl.col("truth").str.contains(word, literal=True))
        curves(part, ax, "n", "precision", lines="learner", labels=labels)
        ax.set(xscale="log", xlabel="number of training pairs", ylabel=MEASURES["precision"])
        ax.set_title(title)
        ticks(ax, SIZES)
    legend(axes[0], "mean over true metrics")


def claims(table):
    """Yield our claims: what the choice costs where people add up, and wins where they do not."""
    claim = partial(Claim, table, "ours", "study l")

    def against_sum(text, truths, n, **ends):
        rows = {"truth": tuple(x for x in TRUTHS if truths in x), "n": n}
        default, plain = ({**rows, "learner": name} for name in ("default", "sum"))
        return claim(f"{text}, {n} pairs", "precision", default, plain, **ends)

    # ends are those that were set before the first run
    yield against_sum("people add up: the choice loses at most 0.007", "sum,", 40, low=-0.007)
    yield against_sum("people add up: the choice loses at most 0.003", "sum,", 150, low=-0.003)
    yield against_sum("people add up: the choice loses at most 0.003", "sum,", 500, low=-0.003)
    yield against_sum("people average: the choice wins 0.10", "average,", 40, low=0.10)
    yield against_sum("people average: the choice wins 0.15", "average,", 150, low=0.15)
    yield against_sum("a power of 0.5: the choice wins 0.03", "between,", 150, low=0.03)
    yield against_sum("a worst grade of -0.6: the choice wins 0.06", "-0.6", 150, low=0.06)
