"""Figure 9: pairs of the optimal list and a permutation of it teach nothing: precision does not grow."""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "figure_09", 50, 1, (4.2, 3.2)
SIZES = tuple(range(20, 201, 20))


def one(rng, truth, n, n_test):
    """Learn from n pairs of which one list is the optimal one; test on pairs of random permutations."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    train = dl.simulate.preference_pairs(true, n, lists="optimal", seed=rng)
    return recovery(dl.UtilityLearner(C=1.0).fit(train), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of pairs and repeat."""
    sizes, n_test = ((20, 60, 100, 140, 200), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "n": n, "n_test": n_test} for t in TRUTHS for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.set(xlabel="training pairs, one list of each optimal", ylabel="precision on unseen pairs", ylim=(0.45, 1.0))
    legend(axes, "truth")


def slope(table, truth):
    """Return the rise of the precision per 100 pairs, and its standard error over repeats."""
    rows = table.filter(truth=truth).partition_by("repeat")
    found = [100 * np.polyfit(repeat["n"], repeat["precision"], 1)[0] for repeat in rows]
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))


def claims(table):
    """Return what the table says of the paper's claim."""
    slopes = {truth: slope(table, truth) for truth in TRUTHS}
    level = {truth: at(table, "precision", truth=truth, n=table["n"].max()) for truth in TRUTHS}
    number = "; ".join(
        f"{t}: rise per 100 pairs {rise:+.4f} ± {error:.4f}, {shown(level[t])} at the end"
        for t, (rise, error) in slopes.items()
    )
    flat = all(abs(mean) <= 2 * error for mean, error in slopes.values())
    slight = all(abs(mean) < 0.02 for mean, _ in slopes.values())
    yield Claim(
        "9",
        "pairs with the optimal list of the same grades teach nothing: precision does not grow",
        number,
        "holds" if flat else "holds with a condition" if slight else "does not hold",
        "The level is not one half: that better grades belong higher is all that such pairs say, and every DCG with "
        "increasing gains says it too.",
    )


if __name__ == "__main__":
    main(sys.modules[__name__])
