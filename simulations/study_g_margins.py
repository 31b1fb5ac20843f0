"""Study g: does a margin close to the true DCG difference help, although the Hamming margin does not?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import (
    MEASURES,
    TRUTHS,
    Claim,
    curves,
    legend,
    main,
    paired,
    recovery,
    repeated,
    signed,
    validated,
    verdict,
)

STEM, REPEATS, PANELS, FIGSIZE = "study_g_margins", 40, 2, (8.5, 3.4)
SIZES = (20, 40, 60, 100, 200)
WRONG = {"D1": "exponential", "D2": "linear"}


def blurred(truth, rng):
    """Return a DCG whose steps between grades and between ranks each differ from the true ones by about 30%."""
    gains = np.cumsum(np.diff(truth.gains, prepend=0) * np.exp(0.3 * rng.normal(size=truth.n_grades)))
    steps = -np.diff(truth.discounts, append=0) * np.exp(0.3 * rng.normal(size=truth.depth))
    return dl.DCG(gains, np.cumsum(steps[::-1])[::-1])


def trial(rng, truth, n, flip_rate, n_test):
    """Learn from the same pairs with each margin, C chosen on an equally noisy set; return one record per margin."""
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
    learners = {name: validated(train, validation, margin=margin) for name, margin in margins.items()}
    return [
        {"margin": name, **recovery(learner, true, test), "alone": margin_precision(margins[name], test)}
        for name, learner in learners.items()
    ]


def margin_precision(margin, test):
    """Return the precision of the margin's own DCG, without learning, or None if the margin is not a DCG."""
    return test.agreement(margin).precision if isinstance(margin, dl.DCG) else None


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, number of pairs, share of flips, margin and repeat."""
    sizes, n_test = ((20, 100), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "flip_rate": rate, "n_test": n_test} for t in TRUTHS for rate in (0.0, 0.1) for n in sizes
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs, one line per margin, as means over both true DCGs."""
    for ax, rate, title in zip(axes, (0.0, 0.1), ("Clean pairs", "10% flipped pairs"), strict=True):
        curves(table.filter(pl.col("flip_rate") == rate), ax, "n", "precision", lines="margin")
        ax.set(xlabel="number of training pairs", ylabel=MEASURES["precision"], title=f"{title} (mean of D1 and D2)")
    legend(axes[1], "margin")


def gain(table, margin, rate, n):
    """Return the mean paired difference in precision from the unit margin, and its standard error."""
    rows = table.filter(flip_rate=rate, n=n).sort("truth", "repeat")
    unit, other = (rows.filter(margin=name)["precision"] for name in ("unit", margin))
    return paired(other, unit)


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    sizes, rates = sorted(table["n"].unique()), (0.0, 0.1)
    for margin in ("Hamming", "true DCG", "DCG off by 30%", "wrong gains"):
        gains = {(n, rate): gain(table, margin, rate, n) for n in (sizes[0], 100, sizes[-1]) for rate in rates}
        numbers = "; ".join(
            f"{n} pairs: {signed(gains[n, 0.0])} clean, {signed(gains[n, 0.1])} with 10% flips"
            for n in dict.fromkeys(n for n, _ in gains)
        )
        precision = table.filter(margin=margin)["alone"].mean()
        yield Claim(
            "g",
            f"a margin other than 1 improves precision: {margin}",
            numbers,
            verdict(gains.values()),
            "Differences from the unit margin on the same pairs, D1 and D2 together."
            + ("" if precision is None else f" Without learning, the margin's DCG has precision {precision:.3f}."),
        )


if __name__ == "__main__":
    main(__name__)
