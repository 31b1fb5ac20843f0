"""Zhou et al., figures 5 and 6: precision and similarity fall as more of 200 pairs are flipped."""

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, draw_falls, grid, logs, recovery, validated

REPEATS, PANELS, FIGSIZE = 50, 3, (9.5, 3.2)
FLIPS = (0, 5, 10, 15, 20, 25, 30, 35, 40)


def trial(rng, truth, n, n_flips, n_test):
    """Learn from n pairs with flips; choose C on as many validation pairs with as many flips."""
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)
    train, validation = logs(true, rng, n, n, n_flips=n_flips)
    learner = validated(train, validation)
    return {"C": learner.C, **recovery(learner, true, test)}


def settings(quick):
    """Return a setting for each true DCG and number of flips."""
    flips, n_test = ((0, 40), 1000) if quick else (FLIPS, 5000)
    return grid(truth=TRUTHS, n=200, n_flips=flips, n_test=n_test)


def plot(table, axes, headline):
    """Draw the paper's two measures and the identifiable similarity."""
    draw_falls(table, axes, "n_flips", "flipped pairs among 200", headline, 5)


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    most = table["n_flips"].max()
    for figure, measure in (("figure 5", "precision"), ("figure 6", "similarity")):
        for start, falls in ((0, "falls"), (30, "still falls")):
            text = f"{measure} {falls} from {start} to {most} flipped pairs"
            rows, minus = ({"n_flips": flips} for flips in (start, most))
            yield Claim(table, "zhou", figure, text, measure, rows, minus, low=0.0)
