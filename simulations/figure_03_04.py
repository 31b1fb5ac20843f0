"""Figures 3 and 4: estimated discounts and gains lie nearly on a line against the true ones, best at the top."""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import STYLES, TRUTHS, Claim, legend, main, paired, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "figure_03_04", 50, 2, (7.0, 3.2)


def aligned(estimate, true):
    """Return an estimate on the scale of the truth: offset and factor by least squares, the gauge of such pairs."""
    slope, offset = np.polyfit(estimate, true, 1)
    return slope * estimate + offset


def one(rng, truth, n):
    """Factor what n clean pairs teach; return a record a discount and a gain."""
    true = dl.simulate.ground_truth(truth)
    train = dl.simulate.preference_pairs(true, n, seed=rng)
    found = dl.UtilityLearner(C=1.0).fit(train).factor().dcg
    both = (("discount", found.discounts, true.discounts), ("gain", found.gains, true.gains))
    return [
        {"part": part, "index": k, "true": float(true_one), "estimate": float(value)}
        for part, estimate, values in both
        for k, (true_one, value) in enumerate(zip(values, aligned(estimate, values), strict=True))
    ]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, repeat, and gain or discount."""
    settings = [{"truth": truth, "n": 200} for truth in TRUTHS]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw estimated against true, each on the scale from the least to the largest true value."""
    means = summary(table, ["truth", "part", "index", "true"], ["estimate"])
    for ax, part in zip(axes, ("discount", "gain"), strict=True):
        ax.plot([0, 1], [0, 1], color="0.3", linewidth=1.0, linestyle=":", zorder=0, label="perfect")
        for style, truth in zip(STYLES, TRUTHS, strict=False):
            rows = means.filter(part=part, truth=truth).sort("true")
            low, span = rows["true"].min(), rows["true"].max() - rows["true"].min()
            x, y = ((rows[name] - low) / span for name in ("true", "estimate"))
            ax.errorbar(x, y, rows["estimate_error"] / span, label=truth, capsize=2, markersize=4, lw=1.2, **style)
        ax.set(xlabel=f"true {part} (least = 0, largest = 1)", ylabel=f"estimated {part} (best linear scale)")
    legend(axes[0], "truth")


def correlation(table, part, truth):
    """Return mean and standard error over repeats of the correlation of estimated and true values."""
    rows = table.filter(part=part, truth=truth).partition_by("repeat")
    found = [np.corrcoef(repeat["true"], repeat["estimate"])[0, 1] for repeat in rows]
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))


def claims(table):
    """Return what the table says of the paper's claims."""
    for figure, part in (("3", "discount"), ("4", "gain")):
        found = {truth: correlation(table, part, truth) for truth in TRUTHS}
        number = "; ".join(f"{t}: correlation {mean:.3f} ± {error:.3f}" for t, (mean, error) in found.items())
        yield Claim(
            figure,
            f"estimated {part}s against true ones are nearly a straight line",
            number,
            "holds with a condition" if min(mean for mean, _ in found.values()) > 0.95 else "does not hold",
            "Up to an offset and a factor: permutations of one list do not show the level of discounts or gains.",
        )
    yield top_claim(table)


def top_claim(table):
    """Return whether the top positions' discounts are the better estimated ones, by relative and by absolute error."""
    apart = (pl.col("estimate") - pl.col("true")).abs()
    errors = table.filter(part="discount").with_columns(relative=apart / pl.col("true"), absolute=apart)
    top, bottom = (errors.filter(where) for where in (pl.col("index") < 3, pl.col("index") >= 7))
    more = {}
    for name in ("relative", "absolute"):
        by_repeat = (rows.group_by("truth", "repeat").agg(pl.mean(name)) for rows in (top, bottom))
        means = [rows.sort("truth", "repeat")[name] for rows in by_repeat]
        more[name] = paired(*means)
    fine, coarse = (mean < -2 * error for mean, error in (more["relative"], more["absolute"]))
    return Claim(
        "3",
        "discounts of the top positions are estimated more accurately",
        "; ".join(f"{name} error at ranks 1-3 less that at 8-10: {m:+.4f} ± {e:.4f}" for name, (m, e) in more.items()),
        "holds" if fine and coarse else "holds with a condition" if fine else "does not hold",
        "Relative to the true discount; the plain distance from the straight line is larger at the top, where "
        "discounts are larger.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
