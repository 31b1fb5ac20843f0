"""Study b: how well is the true DCG recovered with up to 45% flipped pairs, and do more pairs compensate for flips?"""

import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import MEASURES, TRUTHS, curves, legend, main, recovery, repeated, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_b_flips_and_pairs", 20, 2, (7.5, 3.2)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45)
SIZES = (200, 1000, 10_000)


def trial(rng, truth, n, flip_rate, n_test):
    """Learn from n pairs with this share of flips; C is chosen on 1,000 equally noisy pairs."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    sets = (dl.simulate.preference_pairs(true, m, n_flips=round(flip_rate * m), seed=rng) for m in (n, 1000))
    return recovery(validated(*sets), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, number of pairs, share of flips and repeat."""
    rates, sizes, n_test = ((0.0, 0.4), SIZES[:2], 1000) if quick else (RATES, SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "flip_rate": rate, "n_test": n_test} for t in TRUTHS for n in sizes for rate in rates
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision and identifiable similarity against the share of flips, per true DCG and number of pairs."""
    sizes = {n: f", {n:,} pairs" for n in SIZES}
    named = table.with_columns(line=pl.col("truth") + pl.col("n").replace_strict(sizes, return_dtype=pl.String))
    for ax, measure in zip(axes, ("precision", "gauge_free"), strict=True):
        curves(named, ax, "flip_rate", measure, lines="line")
        ax.set(xlabel="share of flipped training pairs", ylabel=MEASURES[measure])
    legend(axes[1], fontsize=7)


def claims(table):
    """Yield our claims, on both true DCGs together."""
    sizes = sorted(table["n"].unique())
    clean = {"n": sizes[0], "flip_rate": 0.0}
    few, many, some = ({"n": n, "flip_rate": rate} for n, rate in ((sizes[0], 0.4), (sizes[-1], 0.4), (sizes[-1], 0.2)))
    text = f"{sizes[-1]:,} pairs teach more than {sizes[0]}, 40% flipped"
    yield Claim(table, "ours", "study b", text, "precision", many, few, low=0.0)
    yield Claim(
        table,
        "ours",
        "study b",
        f"{sizes[-1]:,} flipped pairs teach as much as {sizes[0]} clean ones",
        "precision",
        some,
        clean,
        low=0.0,
        condition="if 20% are flipped, not 40%",
        otherwise=(many, clean),
    )


if __name__ == "__main__":
    main(__name__)
