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
    claim, most = partial(Claim, table, "zhou"), {"n": last}
    for place, measure in (("figure 1", "precision"), ("figure 2", "similarity")):
        text = f"{measure} grows from {first} to {last} pairs"
        yield claim(place, text, measure, most, {"n": first}, low=0.0)
    text, near = f"precision is close to .95 at {last} pairs", (0.95 - CLOSE, 0.95 + CLOSE)
    yield claim("figure 1", text, "precision", most, low=near[0], high=near[1])

    # the two true DCGs
    for measure, truths in (("precision", TRUTHS), ("similarity", TRUTHS[::-1])):
        rows, minus = ({**most, "truth": truth} for truth in truths)
        text = f"{measure} is higher for {truths[0]} than for {truths[1]}, {last} pairs"
        yield claim("section 6.3", text, measure, rows, minus, low=0.0)

    # offsets, and late growth
    text, few = f"large offsets push similarity to 1, {first} pairs", {"n": first}
    yield claim("section 6.3", text, "offset", few, low=0.99, cannot_fail=CONSTRUCTED)
    text = f"similarity still grows from 100 to {last} pairs"
    yield claim("figure 2", text, "similarity", most, {"n": 100}, low=0.0)
