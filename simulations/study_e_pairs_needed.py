"""Study e: how many pairs does a precision of 95% need, by depth K and number of grades L?"""

import numpy as np
import polars as pl
from matplotlib.ticker import NullLocator

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import DASHED, TRUTHS, curves, legend, logs

REPEATS, PANELS, FIGSIZE = 20, 1, (4.6, 3.8)
DEPTHS = (3, 5, 10, 20)
GRADES = (2, 3, 4, 5, 6, 7)
SIZES = tuple(round(25 * 2 ** (step / 2)) for step in range(13))
GOAL = 0.95


def trial(rng, truth, depth, n_grades, n_test):
    """Learn from growing parts of one sequence of pairs until the goal is reached.

    The number of pairs at the goal is interpolated in log n. If the goal is not reached, record the
    last size and set `censored`.
    """
    true = dl.simulate.ground_truth(truth, n_grades, depth)
    test, pairs = logs(true, rng, n_test, SIZES[-1], lists="free")
    last = (0.0, 0.5)
    for n in SIZES:
        learner = dl.UtilityLearner(C=1.0).fit(pairs[:n])
        point = (np.log2(n), test.agreement(learner.utility_).precision)
        if point[1] >= GOAL:
            share = (GOAL - last[1]) / (point[1] - last[1])
            return {"log2_pairs": last[0] + share * (point[0] - last[0]), "censored": 0}
        last = point
    return {"log2_pairs": last[0], "censored": 1}


def settings(quick):
    """Return a setting for each true DCG, depth and number of grades."""
    depths, grades, n_test = ((3, 10), (2, 5), 1000) if quick else (DEPTHS, GRADES, 4000)
    shapes = {(depth, 5) for depth in depths} | {(10, n_grades) for n_grades in grades}
    return [
        {"truth": truth, "depth": depth, "n_grades": n_grades, "n_test": n_test}
        for truth in TRUTHS
        for depth, n_grades in sorted(shapes)
    ]


def plot(table, axes, headline):
    """Draw the number of pairs needed against the number of parameters.

    A further line shows proportional growth.
    """
    n_grades = pl.col("n_grades")
    shaped = table.with_columns(
        pairs=2 ** pl.col("log2_pairs"),
        parameters=pl.col("depth") * (n_grades - 1),
        varied=pl.when(n_grades == 5).then(pl.lit("K varies")).otherwise(pl.lit("L varies")),
    )
    curves(shaped, axes, "parameters", "pairs", dashes="varied")
    ends = np.array([shaped["parameters"].min(), shaped["parameters"].max()])
    middle = shaped.filter(depth=10, n_grades=5)["pairs"].mean()
    axes.plot(ends, middle * ends / 40, lw=0.9, label="proportional to K(L - 1)", **DASHED)

    # both axes are logarithmic
    axes.set(xscale="log", xlabel="parameters K(L - 1)")
    axes.set(yscale="log", ylabel="pairs needed for a precision of .95")
    for axis, ticks in ((axes.xaxis, (10, 20, 40, 80)), (axes.yaxis, (100, 200, 400, 800))):
        axis.set_ticks(ticks, [str(tick) for tick in ticks])
        axis.set_minor_locator(NullLocator())
    finding = "Pairs needed grow almost\nin proportion to the parameters"
    axes.set_title(headline(finding, "Pairs needed", "nearly proportional"))
    legend(axes, fontsize=7)


def exponents(table):
    """Return the exponent of the number of parameters, K (L - 1), in the pairs needed.

    Each true DCG and repeat has its own exponent.
    """
    x = (pl.col("depth") * (pl.col("n_grades") - 1)).log(2)
    exponent = pl.cov(x, pl.col("log2_pairs")) / x.var()
    return table.group_by("truth", "repeat", maintain_order=True).agg(exponent=exponent)


def claims(table):
    """Yield our claim, on both true DCGs together."""
    text = "pairs needed for .95 are nearly proportional to K(L - 1): exponent"
    yield Claim(exponents(table), "ours", "study e", text, "exponent", {}, low=0.8, high=1.2)
