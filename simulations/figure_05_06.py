"""Zhou et al., figures 5 and 6: precision and similarity fall as more of 200 pairs are flipped."""

from functools import partial

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import TRUTHS, draw_measures, grid, logs, recovery, validated

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
    titles = (
        headline("Precision falls", "Precision", "precision falls") + " (figure 5)",
        headline("Similarity falls", "Similarity", "similarity falls") + " (figure 6)",
        "Identifiable similarity (ours)",
    )
    draw_measures(table, axes, "n_flips", "flipped pairs among 200", titles)


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    most = table["n_flips"].max()
    claim = partial(Claim, table, "zhou")
    clean, half, all_ = ({"n_flips": flips} for flips in (0, 30, most))
    yield claim(
        "figure 5",
        f"precision falls from 0 to {most} flipped pairs",
        "precision",
        clean,
        all_,
        low=0.0,
    )
    yield claim(
        "figure 5",
        f"precision still falls from 30 to {most} flipped pairs",
        "precision",
        half,
        all_,
        low=0.0,
    )
    yield claim(
        "figure 6",
        f"similarity falls from 0 to {most} flipped pairs",
        "similarity",
        clean,
        all_,
        low=0.0,
    )
    text = f"similarity still falls from 30 to {most} flipped pairs"
    yield claim("figure 6", text, "similarity", half, all_, low=0.0)
