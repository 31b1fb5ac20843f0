"""Do 90% bands of gains and discounts hold the truth nine times in ten?"""

import sys

import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, legend, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "study_k_bands", 25, 1, (6.5, 3.4)
NOISES = ("clean", "10% flipped", "logistic")
RESAMPLES = 100


def one(rng, truth, noise, n, n_resamples):
    """Return for every parameter whether its band holds the truth; free lists, where all of them are visible."""
    true = dl.simulate.ground_truth(truth).normalised()
    how = {"clean": {}, "10% flipped": {"n_flips": n // 10}, "logistic": {"temperature": 0.2}}[noise]
    log = dl.simulate.preference_pairs(true, n, lists="free", seed=rng, **how)
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
    """Yield a record a truth, noise, parameter and repeat."""
    n, n_resamples = (100, 10) if quick else (300, RESAMPLES)
    settings = [{"truth": t, "noise": noise, "n": n, "n_resamples": n_resamples} for t in TRUTHS for noise in NOISES]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the share of bands that hold the truth, parameter by parameter."""
    from simulations.run import STYLES

    means = summary(table, ["noise", "order", "parameter"], ["covered"])
    for style, noise in zip(STYLES, NOISES, strict=False):
        part = means.filter(pl.col("noise") == noise)
        axes.errorbar(
            range(len(part)),
            part["covered"],
            part["covered_error"],
            label=noise,
            capsize=2,
            markersize=4,
            lw=1,
            **style,
        )
    axes.axhspan(0.85, 0.95, color="0.5", alpha=0.15, lw=0)
    names = [
        name.replace("gain of grade ", "g").replace("discount at ", "c")
        for name in means.filter(pl.col("noise") == NOISES[0])["parameter"]
    ]
    axes.set_xticks(range(len(names)), names)
    axes.set(
        xlabel="gain of grade, discount at position", ylabel="share of 90% bands\nthat hold the truth", ylim=(0.4, 1.02)
    )
    legend(axes, "judges")


def claims(table):
    """Return what the table says."""
    share = table["covered"].mean()
    by_noise = {noise: table.filter(noise=noise)["covered"].mean() for noise in NOISES}
    within = [0.85 <= value <= 0.95 for value in by_noise.values()]
    yield Claim(
        "k",
        "90% bands hold the truth in 85% to 95% of the logs",
        f"{share:.3f} of all; " + ", ".join(f"{value:.3f} {noise}" for noise, value in by_noise.items()),
        "holds" if all(within) else "holds with a condition" if 0.85 <= share <= 0.95 else "does not hold",
        f"Free lists, {table['n'][0]} pairs, bootstrap by pair; gains from 0 to 1, first discount 1; D1 and D2.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
