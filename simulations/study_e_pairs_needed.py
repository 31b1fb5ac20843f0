"""How many pairs does a precision of 95% take, against K and L?"""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_e_pairs_needed", 20, 2, (7.5, 3.2)
DEPTHS = (3, 5, 10, 20)
GRADES = (2, 3, 4, 5, 6, 7)
SIZES = tuple(round(25 * 2 ** (step / 2)) for step in range(13))
GOAL = 0.95


def one(rng, truth, depth, n_grades, n_test):
    """Learn from the first n of one sequence of pairs, n growing until the goal is reached; interpolate in log n.

    The last size is recorded where the goal is not reached, and `censored` says so.
    """
    true = dl.simulate.ground_truth(truth, n_grades, depth)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", seed=rng)
    pairs = dl.simulate.preference_pairs(true, SIZES[-1], lists="free", seed=rng)
    before = (0.0, 0.5)
    for n in SIZES:
        learner = dl.UtilityLearner(C=1.0).fit(pairs[:n])
        now = (np.log2(n), test.agreement(learner.utility_).precision)
        if now[1] >= GOAL:
            share = (GOAL - before[1]) / (now[1] - before[1])
            return {"log2_pairs": before[0] + share * (now[0] - before[0]), "censored": 0}
        before = now
    return {"log2_pairs": before[0], "censored": 1}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, depth or number of grades, and repeat."""
    depths, grades, n_test = ((3, 10), (2, 5), 1000) if quick else (DEPTHS, GRADES, 4000)
    shapes = {(depth, 5) for depth in depths} | {(10, n_grades) for n_grades in grades}
    settings = [
        {"truth": t, "depth": depth, "n_grades": n_grades, "n_test": n_test}
        for t in TRUTHS
        for depth, n_grades in sorted(shapes)
    ]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the pairs needed against depth, and against the number of grades."""
    needed = table.with_columns(pairs=2 ** pl.col("log2_pairs"))
    curves(needed.filter(pl.col("n_grades") == 5), axes[0], "depth", "pairs")
    curves(needed.filter(pl.col("depth") == 10), axes[1], "n_grades", "pairs")
    axes[0].set(xlabel="depth K (five grades)", ylabel="pairs for a precision of 95%")
    axes[1].set(xlabel="number of grades L (depth 10)", ylabel="pairs for a precision of 95%")
    for ax in axes:
        ax.set_ylim(bottom=0)
    legend(axes[0], "truth")


def claims(table):
    """Return what the table says."""
    needed = table.with_columns(pairs=2 ** pl.col("log2_pairs"), directions=pl.col("depth") * (pl.col("n_grades") - 1))
    ten = {t: at(needed, "pairs", truth=t, depth=10, n_grades=5) for t in TRUTHS}
    means = needed.group_by("directions").agg(pl.mean("pairs"))
    power = np.polyfit(np.log(means["directions"]), np.log(means["pairs"]), 1)[0]
    censored = int(table["censored"].sum())
    yield Claim(
        "e",
        "the pairs needed for 95% grow with the number of directions K (L - 1)",
        "; ".join(f"{t}: {mean:.0f} ± {error:.0f} pairs at K = 10, L = 5" for t, (mean, error) in ten.items())
        + f"; pairs grow as directions to the power {power:.2f}",
        "holds" if power > 0 else "does not hold",
        f"Free lists, C = 1; {censored} of {len(table)} runs did not reach 95% with {SIZES[-1]:,} pairs, and count so.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
