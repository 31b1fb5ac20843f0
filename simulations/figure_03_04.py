"""Zhou et al., figures 3 and 4: estimated discounts and gains against the true ones."""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import FAILS, Claim, headline
from simulations.run import TRUTH_STYLES, TRUTHS, draw_means, grid, legend, logs, summary

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


def plot(table, axes):
    """Draw estimated against true values, and their errors.

    All are scaled by the span of the true values.
    """
    means = summary(table, ["truth", "part", "index", "true"], ["estimate"])
    wrong = summary(errors(table), ["truth", "part", "index", "true"], ["absolute"])
    panels = (("discount", "figure 3", "top three"), ("gain", "figure 4", "best two"))
    claimed = list(claims(table))
    closer = {"discount": "discounts lie closer", "gain": "the best two gains of D"}
    for line, (part, figure, words) in zip(axes, panels, strict=True):
        line[0].plot(
            [0, 1],
            [0, 1],
            color="0.3",
            linewidth=1.0,
            linestyle=":",
            zorder=0,
            label="perfect estimate",
        )
        for truth, style in TRUTH_STYLES.items():
            rows, off = (
                part_of.filter(part=part, truth=truth).sort("true") for part_of in (means, wrong)
            )
            low, span = rows["true"].min(), rows["true"].max() - rows["true"].min()
            estimates = pl.col("true", "estimate", "estimate_low", "estimate_high")
            scaled = rows.with_columns((estimates - low) / span)
            draw_means(line[0], scaled, "true", "estimate", style, label=truth, lw=1.2)
            off = off.with_columns(
                (pl.col("true") - low) / span,
                pl.col("absolute", "absolute_low", "absolute_high") / span,
            )
            draw_means(line[1], off, "true", "absolute", style, label=truth, lw=1.2)
        label = f"true {part}, scaled to [0, 1]"
        line[0].set(xlabel=label, ylabel=f"estimated {part}")
        finding, rests_on = f"Estimated {part}s are nearly linear", f"estimated {part}s are nearly"
        linear = headline(claimed, finding, f"Estimated {part}s", rests_on)
        line[0].set_title(f"{linear} ({figure})")
        line[1].set(xlabel=label, ylabel="mean absolute error")
        finding, rests_on = f"The {words} do not err less", closer[part]
        wrong_most = headline(claimed, finding, f"Errors of {part}s", rests_on, verdicts=(FAILS,))
        line[1].set_title(f"{wrong_most} (ours)")
        line[1].set_ylim(bottom=0)
    legend(axes[0][0], "true DCG")


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
    ends = {
        "discount": ((0, 1, 2), (7, 8, 9), "the top three"),
        "gain": ((3, 4), (0, 1), "the best two"),
    }
    for figure, part in (("figure 3", "discount"), ("figure 4", "gain")):
        of, text = (
            {"part": part},
            f"estimated {part}s are nearly linear in the true ones: correlation above .95",
        )
        yield Claim(correlated, "zhou", figure, text, "correlation", of, low=0.95)
        first, last, words = ends[part]
        rows, minus = ({**of, "index": index} for index in (first, last))
        for truth in TRUTHS if part == "gain" else (TRUTHS,):
            sides = ({**side, "truth": truth} for side in (rows, minus))
            of_one = f" of {truth}" if part == "gain" else ""
            text = f"{words} {part}s{of_one} lie closer to the line than the last: absolute error"
            whose, ends_at = ("zhou", figure), {"high": 0.0}
            if truth == "D1":  # level: to tell them apart would take thousands of repeats
                text = f"{words} {part}s{of_one} are level with the last: absolute error"
                whose, ends_at = ("ours", figure), {"low": -LEVEL_GAINS, "high": LEVEL_GAINS}
            yield Claim(distances, *whose, text, "absolute", *sides, **ends_at)
        text = f"{words} {part}s have a smaller relative error than the last"
        yield Claim(distances, "ours", figure, text, "relative", rows, minus, high=0.0)
