"""The question the paper leaves open: would a margin nearer the true DCG difference help, where Hamming's does not?"""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, curves, legend, main, paired, recovery, repeated, validated

STEM, REPEATS, PANELS, FIGSIZE = "study_g_margins", 40, 2, (8.5, 3.4)
SIZES = (20, 40, 60, 100, 200)
WRONG = {"D1": "exponential", "D2": "linear"}


def blurred(truth, rng):
    """Return a DCG near the truth: its steps from grade to grade and rank to rank each off by about 30%."""
    gains = np.cumsum(np.diff(truth.gains, prepend=0) * np.exp(0.3 * rng.normal(size=truth.n_grades)))
    steps = -np.diff(truth.discounts, append=0) * np.exp(0.3 * rng.normal(size=truth.depth))
    return dl.DCG(gains, np.cumsum(steps[::-1])[::-1])


def one(rng, truth, n, flip_rate, n_test):
    """Learn from the same pairs with each margin, C chosen on a set as large and as noisy; a record each."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    flips = round(flip_rate * n)
    train, validation = (dl.simulate.preference_pairs(true, n, n_flips=flips, seed=rng) for _ in range(2))
    margins = {
        "unit": "unit",
        "Hamming": "hamming",
        "true DCG": true,
        "DCG off by 30%": blurred(true, rng),
        "wrong gains": dl.DCG.standard(5, 10, WRONG[truth], "log2"),
    }
    found = {name: validated(train, validation, margin=margin) for name, margin in margins.items()}
    return [
        {"margin": name, **recovery(learner, true, test), "alone": alone(margins[name], test)}
        for name, learner in found.items()
    ]


def alone(margin, test):
    """Return the precision of the margin's own DCG, which learned nothing; None where the margin is no DCG."""
    return test.agreement(margin).precision if isinstance(margin, dl.DCG) else None


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of pairs, share of flips, margin and repeat."""
    sizes, n_test = ((20, 100), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "flip_rate": rate, "n_test": n_test} for t in TRUTHS for rate in (0.0, 0.1) for n in sizes
    ]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs, a line a margin, both truths together."""
    for ax, rate, title in zip(axes, (0.0, 0.1), ("clean", "10% flipped"), strict=True):
        curves(table.filter(pl.col("flip_rate") == rate), ax, "n", "precision", lines="margin")
        ax.set(xlabel="training pairs", ylabel="precision on unseen clean pairs", title=f"{title}, D1 and D2")
    legend(axes[1], "margin")


def gain(table, margin, rate, n):
    """Return the gain in precision over the unit margin, with the standard error of the paired difference."""
    rows = table.filter(flip_rate=rate, n=n).sort("truth", "repeat")
    unit, other = (rows.filter(margin=name)["precision"] for name in ("unit", margin))
    return paired(other, unit)


def claims(table):
    """Return what the table says."""
    sizes, rates = sorted(table["n"].unique()), (0.0, 0.1)
    for margin in ("Hamming", "true DCG", "DCG off by 30%", "wrong gains"):
        gains = {(n, rate): gain(table, margin, rate, n) for n in (sizes[0], 100, sizes[-1]) for rate in rates}
        better = [mean > 2 * error for mean, error in gains.values()]
        number = "; ".join(
            f"{n} pairs: {gains[n, 0.0][0]:+.4f} ± {gains[n, 0.0][1]:.4f} clean, "
            f"{gains[n, 0.1][0]:+.4f} ± {gains[n, 0.1][1]:.4f} with 10% flips"
            for n in dict.fromkeys(n for n, _ in gains)
        )
        own = table.filter(margin=margin)["alone"].mean()
        yield Claim(
            "g",
            f"another margin than 1 gains precision: {margin}",
            number,
            "holds" if all(better) else "holds with a condition" if any(better) else "does not hold",
            "Gain over the unit margin on the same pairs, D1 and D2 together."
            + ("" if own is None else f" That DCG by itself, nothing learned, has a precision of {own:.3f}."),
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
