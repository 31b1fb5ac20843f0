"""Study k: do 90% bands of gains and discounts cover the truth in 90% of the logs?"""

from functools import partial

import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import STYLES, TRUTHS, draw_means, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_k_bands", 25, 1, (7.0, 3.4)
NOISES = ("clean", "10% flipped", "logistic")
RESAMPLES = 100


def trial(rng, truth, noise, n, n_resamples):
    """Return for each parameter whether its band covers the truth; free lists identify all parameters."""
    true = dl.simulate.ground_truth(truth).normalised()
    options = {"clean": {}, "10% flipped": {"n_flips": n // 10}, "logistic": {"temperature": 0.2}}[noise]
    log = dl.simulate.preference_pairs(true, n, lists="free", seed=rng, **options)
    bands = dl.bootstrap_bands(log, n_resamples=n_resamples, seed=int(rng.integers(2**31)))
    values = [*true.gains, *true.discounts]
    fixed = (0, 4, 5)  # worst and best gain, first discount
    return [
        {
            "parameter": row["parameter"],
            "order": i,
            "covered": int(row["low"] <= value <= row["high"]),
            "width": row["high"] - row["low"],
        }
        for i, (row, value) in enumerate(zip(bands.table(), values, strict=True))
        if i not in fixed
    ]


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, noise, parameter and repeat."""
    n, n_resamples = (100, 10) if quick else (300, RESAMPLES)
    settings = [{"truth": t, "noise": noise, "n": n, "n_resamples": n_resamples} for t in TRUTHS for noise in NOISES]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the coverage of the bands of each parameter."""
    means = summary(table, ["noise", "order", "parameter"], ["covered"])
    axes.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    for i, (style, noise) in enumerate(zip(STYLES, NOISES, strict=False)):
        part = means.filter(pl.col("noise") == noise).with_row_index("x").with_columns(pl.col("x") + 0.15 * (i - 1))
        draw_means(axes, part, "x", "covered", style, label=noise, linestyle="none", elinewidth=1)
    names = [
        name.replace("gain of grade ", "g").replace("discount at ", "c")
        for name in means.filter(pl.col("noise") == NOISES[0])["parameter"]
    ]
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel="gain (g) of a grade, discount (c) at a position", ylabel="coverage of 90% bands", ylim=(0.4, 1.02))
    axes.set_title("Bands from noisy logs cover the truth; from clean logs some cover too rarely (grey: 85% to 95%)")
    legend(axes, "judgements", loc="lower right", ncols=3)


def claims(table):
    """Yield our claims, on both true DCGs together."""
    claim = partial(Claim, table, "ours", "study k", value="covered", low=0.85)
    for noise in NOISES:
        words = {"clean": "clean logs", "10% flipped": "logs with 10% flips", "logistic": "logs with logistic noise"}
        yield claim(f"90% bands cover over 85%: {words[noise]}", rows={"noise": noise})
    for parameter, words in (("discount at 2", "discount at rank 2"), ("gain of grade 1", "gain of grade 1")):
        text = f"90% bands cover over 85%: {words}, clean logs"
        yield claim(text, rows={"noise": "clean", "parameter": parameter})


if __name__ == "__main__":
    main(__name__)
