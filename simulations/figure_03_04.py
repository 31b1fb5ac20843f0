"""Zhou et al., figures 3 and 4: estimated discounts and gains against the true ones."""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import (
    STYLES,
    TRUTHS,
    Claim,
    draw_means,
    legend,
    main,
    mean_and_error,
    paired,
    repeated,
    shown,
    signed,
    summary,
)

STEM, REPEATS, PANELS, FIGSIZE = "figure_03_04", 50, 2, (7.0, 3.2)


def aligned(estimate, true):
    """Return an estimate with the offset and factor, which such pairs do not identify, fitted to the truth."""
    slope, offset = np.polyfit(estimate, true, 1)
    return slope * estimate + offset


def trial(rng, truth, n):
    """Learn from n clean pairs and factor the utility; return one record per discount and gain."""
    true = dl.simulate.ground_truth(truth)
    train = dl.simulate.preference_pairs(true, n, seed=rng)
    learned = dl.UtilityLearner(C=1.0).fit(train).factor().dcg
    parts = (("discount", learned.discounts, true.discounts), ("gain", learned.gains, true.gains))
    return [
        {"part": part, "index": k, "true": float(value), "estimate": float(estimate)}
        for part, estimates, values in parts
        for k, (value, estimate) in enumerate(zip(values, aligned(estimates, values), strict=True))
    ]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, repeat, and gain or discount."""
    settings = [{"truth": truth, "n": 200} for truth in TRUTHS]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw estimated against true values, both scaled so that the true values run from 0 to 1."""
    means = summary(table, ["truth", "part", "index", "true"], ["estimate"])
    for ax, part in zip(axes, ("discount", "gain"), strict=True):
        ax.plot([0, 1], [0, 1], color="0.3", linewidth=1.0, linestyle=":", zorder=0, label="perfect estimate")
        for style, truth in zip(STYLES, TRUTHS, strict=False):
            rows = means.filter(part=part, truth=truth).sort("true")
            low, span = rows["true"].min(), rows["true"].max() - rows["true"].min()
            scaled = rows.with_columns((pl.col("true", "estimate") - low) / span, pl.col("estimate_error") / span)
            draw_means(ax, scaled, "true", "estimate", style, label=truth, lw=1.2)
        ax.set(xlabel=f"true {part}, scaled to [0, 1]", ylabel=f"estimated {part}, aligned linearly")
    legend(axes[0], "true DCG")


def correlation(table, part, truth):
    """Return the mean correlation of estimated and true values over repeats, and its standard error."""
    repeats = table.filter(part=part, truth=truth).partition_by("repeat")
    return mean_and_error(np.array([np.corrcoef(rows["true"], rows["estimate"])[0, 1] for rows in repeats]))


def claims(table):
    """Yield the paper's claims, with the table's numbers and verdicts."""
    for figure, part in (("3", "discount"), ("4", "gain")):
        correlations = {truth: correlation(table, part, truth) for truth in TRUTHS}
        yield Claim(
            figure,
            f"estimated {part}s are nearly linear in the true ones",
            "; ".join(f"{truth}: correlation {shown(value)}" for truth, value in correlations.items()),
            "holds with a condition" if min(mean for mean, _ in correlations.values()) > 0.95 else "does not hold",
            "Up to an offset and a factor: permutations of one list do not identify the level of discounts or gains.",
        )
    yield top_claim(table)


def top_claim(table):
    """Return the claim that discounts of the top positions are the most accurate, by relative and absolute error."""
    distance = (pl.col("estimate") - pl.col("true")).abs()
    errors = table.filter(part="discount").with_columns(relative=distance / pl.col("true"), absolute=distance)
    top, bottom = (errors.filter(where) for where in (pl.col("index") < 3, pl.col("index") >= 7))
    differences = {}
    for name in ("relative", "absolute"):
        by_repeat = (rows.group_by("truth", "repeat").agg(pl.mean(name)) for rows in (top, bottom))
        means = [rows.sort("truth", "repeat")[name] for rows in by_repeat]
        differences[name] = paired(*means)
    relative, absolute = (mean < -2 * error for mean, error in differences.values())
    return Claim(
        "3",
        "discounts of the top positions are estimated more accurately",
        "; ".join(f"{name} error at ranks 1-3 minus ranks 8-10: {signed(d)}" for name, d in differences.items()),
        "holds" if relative and absolute else "holds with a condition" if relative else "does not hold",
        "True of the error relative to the true discount. The absolute error is larger at the top, where discounts are "
        "larger.",
    )


if __name__ == "__main__":
    main(__name__)
