"""Zhou et al., figures 5 and 6: precision and similarity fall as more of 200 training pairs are flipped."""

import numpy as np

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, draw_measures, main, recovery, repeated, shown, validated

STEM, REPEATS, PANELS, FIGSIZE = "figure_05_06", 50, 3, (9.5, 3.0)
FLIPS = (0, 5, 10, 15, 20, 25, 30, 35, 40)


def trial(rng, truth, n, n_flips, n_test):
    """Learn from n pairs with flips, C chosen on a validation set with the same numbers of pairs and flips."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, seed=rng)
    train = dl.simulate.preference_pairs(true, n, n_flips=n_flips, seed=rng)
    validation = dl.simulate.preference_pairs(true, n, n_flips=n_flips, seed=rng)
    learner = validated(train, validation)
    return {"C": learner.C, **recovery(learner, true, test)}


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, number of flips and repeat."""
    flips, n_test = ((0, 40), 1000) if quick else (FLIPS, 5000)
    settings = [{"truth": t, "n": 200, "n_flips": flip, "n_test": n_test} for t in TRUTHS for flip in flips]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def plot(table, axes):
    """Draw the paper's two measures and the identifiable similarity."""
    draw_measures(table, axes, "n_flips", "flipped pairs among 200")


def claims(table):
    """Yield the paper's claims, with the table's numbers and verdicts."""
    for figure, name in (("5", "precision"), ("6", "similarity")):
        numbers, falls, always = [], True, True
        for truth in TRUTHS:
            curve = [at(table, name, truth=truth, n_flips=flips) for flips in sorted(table["n_flips"].unique())]
            least = min(curve)
            numbers.append(
                f"{truth}: {shown(curve[0])} without flips, minimum {shown(least)}, {shown(curve[-1])} with 40 flips"
            )
            falls &= curve[0][0] - curve[-1][0] > 2 * np.hypot(curve[0][1], curve[-1][1])
            always &= curve[-1][0] - least[0] <= least[1]
        yield Claim(
            figure,
            f"{name} falls as more pairs are flipped",
            "; ".join(numbers),
            "does not hold" if not falls else "holds" if always else "holds with a condition",
            "C between 1e-5 and 1e5 is chosen on 200 validation pairs with as many flips. Test pairs are clean."
            + ("" if always else " Beyond about 30 flips the curve levels off or rises."),
        )


if __name__ == "__main__":
    main(__name__)
