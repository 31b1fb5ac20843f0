"""Study e: how many pairs does a precision of 95% need, by depth K and number of grades L?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, curves, legend, main, repeated

STEM, REPEATS, PANELS, FIGSIZE = "study_e_pairs_needed", 20, 2, (7.5, 3.2)
DEPTHS = (3, 5, 10, 20)
GRADES = (2, 3, 4, 5, 6, 7)
SIZES = tuple(round(25 * 2 ** (step / 2)) for step in range(13))
GOAL = 0.95


def trial(rng, truth, depth, n_grades, n_test):
    """Learn from growing parts of one sequence of pairs until the goal is reached, and interpolate in log n.

    If the goal is not reached, record the last size and set `censored`.
    """
    true = dl.simulate.ground_truth(truth, n_grades, depth)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", seed=rng)
    pairs = dl.simulate.preference_pairs(true, SIZES[-1], lists="free", seed=rng)
    last = (0.0, 0.5)
    for n in SIZES:
        learner = dl.UtilityLearner(C=1.0).fit(pairs[:n])
        point = (np.log2(n), test.agreement(learner.utility_).precision)
        if point[1] >= GOAL:
            share = (GOAL - last[1]) / (point[1] - last[1])
            return {"log2_pairs": last[0] + share * (point[0] - last[0]), "censored": 0}
        last = point
    return {"log2_pairs": last[0], "censored": 1}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, depth, number of grades and repeat."""
    depths, grades, n_test = ((3, 10), (2, 5), 1000) if quick else (DEPTHS, GRADES, 4000)
    shapes = {(depth, 5) for depth in depths} | {(10, n_grades) for n_grades in grades}
    settings = [
        {"truth": t, "depth": depth, "n_grades": n_grades, "n_test": n_test}
        for t in TRUTHS
        for depth, n_grades in sorted(shapes)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the number of pairs needed against depth, and against the number of grades."""
    needed = table.with_columns(pairs=2 ** pl.col("log2_pairs"))
    curves(needed.filter(pl.col("n_grades") == 5), axes[0], "depth", "pairs")
    curves(needed.filter(pl.col("depth") == 10), axes[1], "n_grades", "pairs")
    axes[0].set(xlabel="depth K (five grades)", ylabel="pairs needed for 95% precision")
    axes[1].set(xlabel="number of grades L (depth 10)", ylabel="pairs needed for 95% precision")
    for ax in axes:
        ax.set_ylim(bottom=0)
    legend(axes[0], "true DCG")


def exponents(table):
    """Return the exponent of the parameters' number K (L - 1) in the pairs needed, for each true DCG and repeat."""
    x = (pl.col("depth") * (pl.col("n_grades") - 1)).log(2)
    exponent = pl.cov(x, pl.col("log2_pairs")) / x.var()
    return table.group_by("truth", "repeat", maintain_order=True).agg(exponent=exponent)


def claims(table):
    """Yield our claim, on both true DCGs together."""
    text = "pairs needed for .95 are nearly proportional to K(L - 1): exponent"
    yield Claim(exponents(table), "ours", "study e", text, "exponent", {}, low=0.8, high=1.2)


if __name__ == "__main__":
    main(__name__)
