"""Zhou et al., figures 1 and 2: precision and similarity against the number of training pairs."""

from functools import partial

import numpy as np

import dcglearn as dl
from simulations.claims import CLOSE, CONSTRUCTED, FAILS, Claim
from simulations.run import DASHED, TRUTHS, draw_measures, grid, logs, recovery

REPEATS, PANELS, FIGSIZE = 100, 3, (9.5, 3.2)
SIZES = tuple(range(20, 201, 20))


def trial(rng, truth, n, n_test):
    """Learn from n clean pairs of permutations of the paper's list, with C = 1."""
    true = dl.simulate.ground_truth(truth)
    test, train = logs(true, rng, n_test, n)
    learner = dl.UtilityLearner(C=1.0).fit(train)
    return {
        **recovery(learner, true, test),
        "offset": offset_similarity(learner.utility_, true.utility),
    }


def offset_similarity(learned, true, offset=10.0):
    """Return the similarity of two utilities after adding an offset to both.

    The offset is in units of each utility's largest worth. The paper subtracts each position's
    worst grade before it compares; here the offset is added after that.
    """
    a, b = ((w - w[:, :1]).ravel() for w in (learned.weights, true.weights))
    a, b = (w / np.abs(w).max() + offset for w in (a, b))
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def settings(quick):
    """Return a setting for each true DCG and number of pairs."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    return grid(truth=TRUTHS, n=sizes, n_test=n_test)


def plot(table, axes, headline):
    """Draw the paper's two measures and the identifiable similarity."""
    stalls = headline("Similarity stalls", "Similarity", "still grows", verdicts=(FAILS,))
    titles = (
        headline("Precision nears .95", "Precision", "close to .95") + " (figure 1)",
        f"{stalls} (figure 2)",
        "Identifiable similarity (ours)",
    )
    draw_measures(table, axes, "n", "number of training pairs", titles)
    axes[0].axhline(0.95, lw=0.8, **DASHED)
    axes[0].text(20, 0.955, ".95", fontsize=8, color="0.3", va="bottom")


def claims(table):
    """Yield the paper's claims, on both true DCGs together unless one is named."""
    first, last = table["n"].min(), table["n"].max()
    claim = partial(Claim, table, "zhou")
    for place, measure in (("figure 1", "precision"), ("figure 2", "similarity")):
        yield claim(
            place,
            f"{measure} grows from {first} to {last} pairs",
            measure,
            {"n": last},
            {"n": first},
            low=0.0,
        )
    near = {"low": 0.95 - CLOSE, "high": 0.95 + CLOSE}
    yield claim(
        "figure 1", f"precision is close to .95 at {last} pairs", "precision", {"n": last}, **near
    )
    D1, D2 = ({"n": last, "truth": truth} for truth in TRUTHS)
    yield claim(
        "section 6.3",
        f"precision is higher for D1 than for D2, {last} pairs",
        "precision",
        D1,
        D2,
        low=0.0,
    )
    yield claim(
        "section 6.3",
        f"similarity is higher for D2 than for D1, {last} pairs",
        "similarity",
        D2,
        D1,
        low=0.0,
    )
    text = f"large offsets push similarity to 1, {first} pairs"
    yield claim("section 6.3", text, "offset", {"n": first}, low=0.99, cannot_fail=CONSTRUCTED)
    yield claim(
        "figure 2",
        f"similarity still grows from 100 to {last} pairs",
        "similarity",
        {"n": last},
        {"n": 100},
        low=0.0,
    )
