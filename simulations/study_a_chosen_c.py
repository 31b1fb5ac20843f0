"""Study a: which C does a validation set choose as noise grows, and what does C = 1 lose?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, curves, grid, legend, logs, validated, zero_line

REPEATS, PANELS, FIGSIZE = 20, 2, (7.5, 3.2)
RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.45)


def trial(rng, truth, n, flip_rate, n_test):
    """Choose C on an equally noisy validation set, and return it with two precisions.

    One is the precision with the chosen C, the other with C = 1.
    """
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)
    train, validation = logs(true, rng, n, n, n_flips=round(flip_rate * n))
    chosen = validated(train, validation)
    fixed = dl.UtilityLearner(C=1.0).fit(train)
    return {
        "log10_C": np.log10(chosen.C),
        "chosen": test.agreement(chosen.utility_).precision,
        "C_1": test.agreement(fixed.utility_).precision,
    }


def settings(quick):
    """Return a setting for each true DCG and share of flips."""
    rates, n_test = ((0.0, 0.3), 1000) if quick else (RATES, 5000)
    return grid(truth=TRUTHS, n=200, flip_rate=rates, n_test=n_test)


def plot(table, axes, headline):
    """Draw the chosen C, and what choosing it adds to precision."""
    curves(table, axes[0], "flip_rate", "log10_C")
    axes[0].set(ylabel="log10 of the chosen C", title="The chosen C, by share of flips")
    legend(axes[0], "true DCG")
    gain = table.with_columns(gain=pl.col("chosen") - pl.col("C_1"))
    curves(gain, axes[1], "flip_rate", "gain")
    zero_line(axes[1])
    finding, part = "Choosing C pays at 30% flipped", "choosing C is better than C = 1"
    axes[1].set(
        ylabel="precision: C chosen minus C = 1",
        title=headline(finding, "The chosen C against C = 1", part),
    )
    for ax in axes:
        ax.set(xlabel="flipped share of 200 training pairs")


def claims(table):
    """Yield our claims, on both true DCGs together."""
    most = table["flip_rate"].max()
    clean, noisy, noisiest = ({"flip_rate": rate} for rate in (0.0, 0.3, most))
    text = "validation chooses a smaller C as noise grows: log10 of C"
    words = f"if at most 30% are flipped, not from there to {most:.0%}"
    branches = {"condition": words, "otherwise": (noisiest, noisy)}
    yield Claim(table, "ours", "study a", text, "log10_C", noisy, clean, high=0.0, **branches)

    better = table.with_columns(gain=pl.col("chosen") - pl.col("C_1"))
    yield Claim(
        better,
        "ours",
        "study a",
        "choosing C is better than C = 1, 30% flipped",
        "gain",
        noisy,
        low=0.0,
    )
