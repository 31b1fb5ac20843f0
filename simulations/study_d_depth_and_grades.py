"""Study d: how does precision after 200 pairs depend on the depth K and the number of grades L?"""

import polars as pl

import dcglearn as dl
from simulations.claims import Claim, headline
from simulations.run import MEASURES, TRUTHS, curves, legend, recovery, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "study_d_depth_and_grades", 40, 2, (7.5, 3.2)
DEPTHS = (3, 5, 10, 20)
GRADES = (2, 3, 4, 5, 6, 7)


def trial(rng, truth, n, depth, n_grades, n_test):
    """Learn from n pairs of free lists, and test on others.

    Free lists exist for all K and L, unlike permutations of one multiset.
    """
    true = dl.simulate.ground_truth(truth, n_grades, depth)
    test = dl.simulate.preference_pairs(true, n_test, lists="free", random_state=rng)
    train = dl.simulate.preference_pairs(true, n, lists="free", random_state=rng)
    return recovery(dl.UtilityLearner(C=1.0).fit(train), true, test)


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, depth, number of grades and repeat."""
    depths, grades, n_test = ((3, 20), (2, 7), 1000) if quick else (DEPTHS, GRADES, 5000)
    shapes = {(depth, 5) for depth in depths} | {(10, n_grades) for n_grades in grades}
    settings = [
        {"truth": t, "n": 200, "depth": depth, "n_grades": n_grades, "n_test": n_test}
        for t in TRUTHS
        for depth, n_grades in sorted(shapes)
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw precision against the number of parameters, for all depths and all numbers of grades."""
    shaped = table.with_columns(parameters=pl.col("depth") * (pl.col("n_grades") - 1))
    panels = ((5, "n_grades", "positions", "L = 5"), (10, "depth", "grades", "K = 10"))
    claimed = list(claims(table))
    for ax, (fixed, column, what, rest) in zip(axes, panels, strict=True):
        falls = "3 to 20 positions" if what == "positions" else "2 to 7 grades"
        words = headline(claimed, f"More {what} are harder", f"Number of {what}", falls)
        curves(shaped.filter(pl.col(column) == fixed), ax, "parameters", "precision")
        ax.set(xscale="log", xlabel="parameters K(L - 1)", ylabel=MEASURES["precision"])
        ax.set_title(f"{words} ({rest})")
        ticks = sorted(shaped.filter(pl.col(column) == fixed)["parameters"].unique())
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    share_scale(axes)
    legend(axes[0], "true DCG, 200 pairs")


def claims(table):
    """Yield our claims, on both true DCGs together."""
    for unit, low, high in (
        ("positions", {"depth": 3, "n_grades": 5}, {"depth": 20, "n_grades": 5}),
        ("grades", {"depth": 10, "n_grades": 2}, {"depth": 10, "n_grades": 7}),
    ):
        ends = "3 to 20" if unit == "positions" else "2 to 7"
        text = f"precision after 200 pairs falls from {ends} {unit}"
        yield Claim(table, "ours", "study d", text, "precision", low, high, low=0.0)
