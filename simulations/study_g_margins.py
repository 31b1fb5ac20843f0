"""Study g: does a margin near the true DCG difference help, although the Hamming one does not?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import (
    CHOICES,
    TRUTHS,
    against,
    curves,
    legend,
    logs,
    recovery,
    share_scale,
    validated,
    zero_line,
)

REPEATS, PANELS, FIGSIZE = 40, 2, (8.0, 3.4)
SIZES = (20, 40, 60, 100, 200)
WRONG = {"D1": "exponential", "D2": "linear"}


def blurred(truth, rng):
    """Return a DCG whose steps differ from the true ones by about 30%.

    Each step between grades or between ranks has its own random error.
    """
    gains = np.cumsum(
        np.diff(truth.gains, prepend=0) * np.exp(0.3 * rng.normal(size=truth.n_grades))
    )
    steps = -np.diff(truth.discounts, append=0) * np.exp(0.3 * rng.normal(size=truth.depth))
    return dl.DCG(gains, np.cumsum(steps[::-1])[::-1])


def trial(rng, truth, n, flip_rate, n_test, choices):
    """Learn from the same pairs with each margin, and return one record per margin.

    C is chosen on an equally noisy validation set.
    """
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)
    train, validation = logs(true, rng, n, n, n_flips=round(flip_rate * n))

    # a learner by each margin
    margins = {
        "unit": "unit",
        "Hamming": "hamming",
        "true DCG": true,
        "DCG off by 30%": blurred(true, rng),
        "wrong gains": dl.DCG.standard(5, 10, WRONG[truth], "log2"),
    }
    learners = {
        name: validated(train, validation, choices, margin=margin)
        for name, margin in margins.items()
    }
    return [{"margin": name, **recovery(learner, true, test)} for name, learner in learners.items()]


def settings(quick):
    """Return a setting for each true DCG, share of flips and number of pairs."""
    sizes, n_test = ((20, 100), 1000) if quick else (SIZES, 5000)
    choices = (0.01, 1.0, 100.0) if quick else CHOICES
    return [
        {"truth": truth, "n": n, "flip_rate": rate, "n_test": n_test, "choices": choices}
        for truth in TRUTHS
        for rate in (0.0, 0.1)
        for n in sizes
    ]


def plot(table, axes, headline):
    """Draw the difference in precision from the unit margin against the number of pairs.

    Each line is of one margin.
    """
    titles = "No pair flipped", "10% of pairs flipped"
    for ax, rate, title in zip(axes, (0.0, 0.1), titles, strict=True):
        part = table.filter(pl.col("flip_rate") == rate)
        curves(
            against(part, "precision", "margin", "unit", ["truth", "n"]),
            ax,
            "n",
            "difference",
            lines="margin",
        )
        zero_line(ax)
        ax.set(
            xlabel="number of training pairs",
            ylabel="precision: margin minus unit margin",
            title=title,
        )
    share_scale(axes)
    legend(axes[1], "margin (mean of D1 and D2)")


def claims(table):
    """Yield our claims, on both true DCGs, clean and with 10% flips together."""
    sizes = tuple(sorted(table["n"].unique()))

    def against_unit(margin, n):
        return tuple({"margin": name, "n": n} for name in (margin, "unit"))

    margins = {
        "Hamming": "by Hamming distance",
        "true DCG": "from the true DCG",
        "DCG off by 30%": "from a DCG off by 30%",
    }
    for margin, words in margins.items():
        text = f"margin {words} is better than 1, {sizes[0]} to {sizes[-1]} pairs"
        yield Claim(
            table, "ours", "study g", text, "precision", *against_unit(margin, sizes), low=0.0
        )

    words = f"if there are {sizes[0]} pairs, not {sizes[-1]}"
    few, many = (against_unit("wrong gains", n) for n in (sizes[0], sizes[-1]))
    text = "margin from a DCG with wrong gains is better than 1"
    yield Claim(
        table, "ours", "study g", text, "precision", *few, low=0.0, condition=words, otherwise=many
    )
