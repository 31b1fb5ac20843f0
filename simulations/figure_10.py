"""Figure 10: the optimal list against lists with other grades: precision grows, slower than in figure 1."""

import sys

import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, paired, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_10", 50, 2, (8.0, 3.4)
SIZES = tuple(range(20, 201, 20))
TRAINED = {"optimal-free": "one list optimal", "permutations": "random permutations"}
TESTED = {"precision": "permutations, as in figure 1", "precision_free": "free lists"}


def one(rng, truth, n, n_test, lists):
    """Learn from n pairs of a kind; test on pairs of permutations and on pairs of free lists."""
    true = dl.simulate.ground_truth(truth)
    tests = (dl.simulate.preference_pairs(true, n_test, lists=kind, seed=rng) for kind in ("permutations", "free"))
    tests = dict(zip(TESTED, tests, strict=True))
    train = dl.simulate.preference_pairs(true, n, lists=lists, seed=rng)
    utility = dl.UtilityLearner(C=1.0).fit(train).utility_
    return {name: test.agreement(utility).precision for name, test in tests.items()}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, kind of training lists, number of pairs and repeat."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "n_test": n_test, "lists": kind} for t in TRUTHS for kind in TRAINED for n in sizes
    ]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs, a panel a kind of test pairs."""
    lines = table.with_columns(line=pl.col("truth") + ", " + pl.col("lists").replace_strict(TRAINED))
    for ax, (name, tested) in zip(axes, TESTED.items(), strict=True):
        curves(lines, ax, "n", name, lines="line")
        ax.set(xlabel="training pairs", ylabel="precision on unseen pairs", title=f"tested on {tested}")
    legend(axes[0], fontsize=7)


def growth(table, name, truth, lists):
    """Return the growth of a precision from the fewest to the most pairs, and its standard error over repeats."""
    rows = table.filter(truth=truth, lists=lists).sort("n", "repeat")
    first, last = (rows.filter(n=rows["n"][i])[name] for i in (0, -1))
    return paired(last, first)


def claims(table):
    """Return what the table says of the paper's claim."""
    last = table["n"].max()
    grown = {(name, t, kind): growth(table, name, t, kind) for name in TESTED for t in TRUTHS for kind in TRAINED}
    ends = {(t, kind): at(table, "precision", truth=t, lists=kind, n=last) for t in TRUTHS for kind in TRAINED}
    number = "; ".join(
        f"{t}, {TRAINED[kind]}: grows by {shown(grown['precision', t, kind])} to {shown(ends[t, kind])}"
        for t in TRUTHS
        for kind in TRAINED
    )
    grows = all(grown["precision", t, "optimal-free"][0] > 0 for t in TRUTHS)
    slower = {
        name: all(grown[name, t, "optimal-free"][0] < grown[name, t, "permutations"][0] for t in TRUTHS)
        for name in TESTED
    }
    holds = "holds" if all(slower.values()) else "holds with a condition"
    free = {t: at(table, "precision_free", truth=t, lists="optimal-free", n=last) for t in TRUTHS}
    yield Claim(
        "10",
        "pairs of the optimal list and lists with other grades teach, but less than random pairs",
        number,
        holds if grows and slower["precision"] else "does not hold",
        "Tested on pairs of permutations. Tested on pairs of free lists the order turns round ("
        + "; ".join(f"{t}: {shown(value)}" for t, value in free.items())
        + "), since only lists that differ in their mix of grades show the level of gains and discounts.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
