"""Figures 5 and 6: both measures fall as more of 200 pairs are flipped, C chosen on an independent validation set."""

import sys

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "figure_05_06", 50, 3, (9.5, 3.0)
FLIPS = (0, 5, 10, 15, 20, 25, 30, 35, 40)


def one(rng, truth, n, n_flips, n_test):
    """Learn from n pairs of which some are flipped; the validation set, as large, has as many flips."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    train = dl.simulate.preference_pairs(true, n, n_flips=n_flips, seed=rng)
    validation = dl.simulate.preference_pairs(true, n, n_flips=n_flips, seed=rng)
    learner = validated(train, validation)
    return {"C": learner.C, **recovery(learner, true, test)}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, number of flips and repeat."""
    flips, n_test = ((0, 40), 1000) if quick else (FLIPS, 5000)
    settings = [{"truth": t, "n": 200, "n_flips": flip, "n_test": n_test} for t in TRUTHS for flip in flips]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the paper's two measures, and the similarity of what the pairs can see."""
    names = ("precision", "similarity", "gauge_free")
    labels = ("precision on unseen clean pairs", "similarity (the paper's)", "similarity of the visible part")
    for ax, name, label in zip(axes, names, labels, strict=True):
        curves(table, ax, "n_flips", name)
        ax.set(xlabel="flipped pairs of 200", ylabel=label)
    legend(axes[0], "truth")


def claims(table):
    """Return what the table says of the paper's claims."""
    for figure, name in (("5", "precision"), ("6", "similarity")):
        numbers, falls, always = [], True, True
        for truth in TRUTHS:
            course = [at(table, name, truth=truth, n_flips=flips) for flips in sorted(table["n_flips"].unique())]
            least = min(course)
            numbers.append(
                f"{truth}: {shown(course[0])} clean, at least {shown(least)}, {shown(course[-1])} with 40 flips"
            )
            falls &= course[0][0] - course[-1][0] > 2 * np.hypot(course[0][1], course[-1][1])
            always &= course[-1][0] - least[0] <= least[1]
        yield Claim(
            figure,
            f"{name} falls as more pairs are flipped",
            "; ".join(numbers),
            "does not hold" if not falls else "holds" if always else "holds with a condition",
            "C from 1e-5 to 1e5, chosen on 200 other pairs with as many flips; measured on clean pairs."
            + ("" if always else " Not all the way: past some 30 flips it stays or rises."),
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
