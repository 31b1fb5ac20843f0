"""Zhou et al., figures 3 and 4: estimated discounts and gains against the true ones."""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, Claim
from simulations.run import TRUTHS, curves, grid, legend, logs

REPEATS, PANELS, FIGSIZE = 100, (2, 2), (7.5, 6.0)
LEVEL_GAINS = 0.05
"""Largest difference of errors that is called none, where grades are 1 apart."""


def aligned(estimate, true):
    """Return an estimate with its offset and factor fitted to the truth.

    The training pairs do not identify these two.
    """
    slope, offset = np.polyfit(estimate, true, 1)
    return slope * estimate + offset


def trial(rng, truth, n):
    """Learn from n clean pairs and factor the utility; return one record per discount and gain."""
    true = dl.simulate.ground_truth(truth)
    (train,) = logs(true, rng, n)
    learned = dl.UtilityLearner(C=1.0).fit(train).factor().dcg
    parts = (("discount", learned.discounts, true.discounts), ("gain", learned.gains, true.gains))
    return [
        {"part": part, "index": k, "true": float(value), "estimate": float(estimate)}
        for part, estimates, values in parts
        for k, (value, estimate) in enumerate(zip(values, aligned(estimates, values), strict=True))
    ]


def settings(quick):
    """Return a setting for each true DCG."""
    return grid(truth=TRUTHS, n=200)


def plot(table, axes, headline):
    """Draw estimated against true values, and their errors.

    All are scaled by the span of the true values.
    """
    unit = scaled(table)
    panels = (
        ("discount", "figure 3", "top three", "discounts lie closer"),
        ("gain", "figure 4", "best two", "the best two gains of D"),
    )
    for (left, right), (part, figure, best, closer) in zip(axes, panels, strict=True):
        look = {"color": "0.3", "lw": 1.0, "ls": ":", "zorder": 0}
        left.plot([0, 1], [0, 1], label="perfect estimate", **look)

        for ax, value in ((left, "estimate"), (right, "absolute")):
            curves(unit.filter(part=part), ax, "true", value, apart=0)
            ax.set(xlabel=f"true {part}, scaled to [0, 1]")

        # titles
        finding, rests_on = f"Estimated {part}s are nearly linear", f"estimated {part}s are nearly"
        linear = headline(finding, f"Estimated {part}s", rests_on)
        finding = f"The {best} do not err less"
        most = headline(finding, f"Errors of {part}s", closer, verdicts=(FAILS,))
        left.set(title=f"{linear} ({figure})", ylabel=f"estimated {part}")
        right.set(title=f"{most} (ours)", ylabel="mean absolute error", ylim=(0, None))
    legend(axes[0][0], "true DCG")


def scaled(table):
    """Return values and their errors in units of the span of the true values."""
    true = pl.col("true")
    low, high = (end.over("truth", "part") for end in (true.min(), true.max()))
    values = (pl.col("true", "estimate") - low) / (high - low)
    return errors(table).with_columns(values, pl.col("absolute") / (high - low))


def correlations(table):
    """Return the correlation of estimated and true values, for each true DCG, part and repeat."""
    return table.group_by("truth", "part", "repeat", maintain_order=True).agg(
        correlation=pl.corr("true", "estimate")
    )


def errors(table):
    """Return the table with the absolute error of each value, and its ratio to the true value."""
    absolute = (pl.col("estimate") - pl.col("true")).abs()
    return table.with_columns(absolute=absolute, relative=absolute / pl.col("true"))


def claims(table):
    """Yield the claims, on both true DCGs together unless one is named.

    The units of gains differ between the two, so each has its own test of the gains' errors.
    """
    correlated, distances = correlations(table), errors(table)
    parts = (
        ("figure 3", "discount", (0, 1, 2), (7, 8, 9), "the top three", (TRUTHS,)),
        ("figure 4", "gain", (3, 4), (0, 1), "the best two", TRUTHS),
    )
    for figure, part, first, last, words, truths in parts:
        text = f"estimated {part}s are nearly linear in the true ones: correlation above .95"
        yield Claim(correlated, "zhou", figure, text, "correlation", {"part": part}, low=0.95)

        # distances from the line, of all truths or of each
        rows, minus = ({"part": part, "index": index} for index in (first, last))
        for truth in truths:
            sides = ({**side, "truth": truth} for side in (rows, minus))
            named = f"{words} {part}s" + (f" of {truth}" if part == "gain" else "")
            paper, text = "zhou", "lie closer to the line than the last: absolute error"
            bounds = {"high": 0.0}
            if truth == "D1":  # level: to tell them apart would take thousands of repeats
                paper, text = "ours", "are level with the last: absolute error"
                bounds = {"low": -LEVEL_GAINS, "high": LEVEL_GAINS}
            yield Claim(distances, paper, figure, f"{named} {text}", "absolute", *sides, **bounds)

        text = f"{words} {part}s have a smaller relative error than the last"
        yield Claim(distances, "ours", figure, text, "relative", rows, minus, high=0.0)
