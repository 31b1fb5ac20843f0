"""Zhou et al., figure 10: with pairs of the optimal list and a list of other grades, precision grows slowly."""

import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, paired, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_10", 50, 2, (8.0, 3.4)
SIZES = tuple(range(20, 201, 20))
TRAINED = {"optimal-free": "one list optimal", "permutations": "random permutations"}
TESTED = {"precision": "permutations, as in figure 1", "precision_free": "free lists"}


def trial(rng, truth, n, n_test, lists):
    """Learn from n pairs of one kind of lists; test on pairs of permutations and on pairs of free lists."""
    true = dl.simulate.ground_truth(truth)
    tests = (dl.simulate.preference_pairs(true, n_test, lists=kind, seed=rng) for kind in ("permutations", "free"))
    tests = dict(zip(TESTED, tests, strict=True))
    train = dl.simulate.preference_pairs(true, n, lists=lists, seed=rng)
    utility = dl.UtilityLearner(C=1.0).fit(train).utility_
    return {name: test.agreement(utility).precision for name, test in tests.items()}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, kind of training lists, number of pairs and repeat."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "n_test": n_test, "lists": kind} for t in TRUTHS for kind in TRAINED for n in sizes
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs, one panel per kind of test pairs."""
    lines = table.with_columns(line=pl.col("truth") + ", " + pl.col("lists").replace_strict(TRAINED))
    for ax, (name, tested) in zip(axes, TESTED.items(), strict=True):
        curves(lines, ax, "n", name, lines="line")
        ax.set(xlabel="number of training pairs", ylabel="precision on test pairs", title=f"Tested on {tested}")
    legend(axes[0], fontsize=7)


def growth(table, name, truth, lists):
    """Return the mean growth of precision from the smallest to the largest number of pairs, and its standard error."""
    rows = table.filter(truth=truth, lists=lists).sort("n", "repeat")
    first, last = (rows.filter(n=rows["n"][i])[name] for i in (0, -1))
    return paired(last, first)


def claims(table):
    """Yield the paper's claim, with the table's numbers and verdict."""
    last = table["n"].max()
    grown = {(name, t, kind): growth(table, name, t, kind) for name in TESTED for t in TRUTHS for kind in TRAINED}
    ends = {(t, kind): at(table, "precision", truth=t, lists=kind, n=last) for t in TRUTHS for kind in TRAINED}
    numbers = "; ".join(
        f"{t}, {TRAINED[kind]}: grows by {shown(grown['precision', t, kind])} to {shown(ends[t, kind])}"
        for t in TRUTHS
        for kind in TRAINED
    )
    grows = all(grown["precision", t, "optimal-free"][0] > 0 for t in TRUTHS)
    slower = {
        name: all(grown[name, t, "optimal-free"][0] < grown[name, t, "permutations"][0] for t in TRUTHS)
        for name in TESTED
    }
    verdict = "holds" if all(slower.values()) else "holds with a condition"
    free = {t: at(table, "precision_free", truth=t, lists="optimal-free", n=last) for t in TRUTHS}
    yield Claim(
        "10",
        "pairs of the optimal list and a list of other grades are informative, but less than random pairs",
        numbers,
        "does not hold" if not grows or not slower["precision"] else verdict,
        "Tested on pairs of permutations. On pairs of free lists the order reverses ("
        + "; ".join(f"{t}: {shown(value)}" for t, value in free.items())
        + "), because only lists with different mixes of grades identify the level of gains and discounts.",
    )


if __name__ == "__main__":
    main(__name__)
