"""Zhou et al., figure 9: precision does not grow with pairs of the optimal list and a permutation of it."""

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, mean_and_error, recovery, repeated, shown, signed

STEM, REPEATS, PANELS, FIGSIZE = "figure_09", 50, 1, (4.2, 3.2)
SIZES = tuple(range(20, 201, 20))


def trial(rng, truth, n, n_test):
    """Learn from n pairs that each contain the optimal list; test on pairs of random permutations."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    train = dl.simulate.preference_pairs(true, n, lists="optimal", seed=rng)
    return recovery(dl.UtilityLearner(C=1.0).fit(train), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, number of pairs and repeat."""
    sizes, n_test = ((20, 60, 100, 140, 200), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "n": n, "n_test": n_test} for t in TRUTHS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.set(xlabel="training pairs, each with the optimal list", ylabel="precision on test pairs", ylim=(0.45, 1.0))
    legend(axes, "true DCG")


def slope(table, truth):
    """Return the mean slope of precision per 100 pairs over repeats, and its standard error."""
    repeats = table.filter(truth=truth).partition_by("repeat")
    return mean_and_error(np.array([100 * np.polyfit(rows["n"], rows["precision"], 1)[0] for rows in repeats]))


def claims(table):
    """Yield the paper's claim, with the table's numbers and verdict."""
    slopes = {truth: slope(table, truth) for truth in TRUTHS}
    last = table["n"].max()
    level = {truth: at(table, "precision", truth=truth, n=last) for truth in TRUTHS}
    numbers = "; ".join(f"{t}: {signed(slopes[t])} per 100 pairs, {shown(level[t])} at {last} pairs" for t in TRUTHS)
    flat = all(abs(mean) <= 2 * error for mean, error in slopes.values())
    slight = all(abs(mean) < 0.02 for mean, _ in slopes.values())
    yield Claim(
        "9",
        "pairs with the optimal list of the same grades carry no information: precision does not grow",
        numbers,
        "holds" if flat else "holds with a condition" if slight else "does not hold",
        "Precision is above one half because these pairs show that better grades belong higher. They show nothing "
        "else, since every DCG with increasing gains agrees with them.",
    )


if __name__ == "__main__":
    main(__name__)
