"""Sun et al., theorem 1: NDCG's regret against the weighted loss of pairs, by brute force.

All rankings of a few documents are compared, for certain labels and for random ones, and pairwise
classifiers that no ranking yields.
"""

from functools import partial
from itertools import permutations

import numpy as np

import dcglearn as dl
from simulations.claims import FAILS, PROVED, Claim
from simulations.findings import headline
from simulations.run import STYLES, draw_means, main, repeated, summary

STEM, REPEATS, PANELS, FIGSIZE = "theory_reduction", 100, 1, (6.4, 3.2)
LENGTH, N_GRADES, LAWS = 4, 3, 50
"""Documents, grades, and the laws of labels (or classifiers) that a repeat draws."""

DCG = dl.DCG.standard(N_GRADES, LENGTH)
RANKS = np.array([*permutations(range(LENGTH))])
BEATS = RANKS[:, :, None] < RANKS[:, None, :]
"""Of each ranking, the ranks of documents, and whether document i stands above j."""

KINDS = {
    "certain": "certain labels,\nrankings",
    "expected": "random labels,\nloss",
    "regret": "random labels,\nregret (printed)",
    "classifier": "certain labels,\nany classifier",
}


def pair_loss(labels, discounts, beats):
    """Return the weighted loss of pairs (equation 4 with absolute weights), shape (n,).

    `discounts`, shape (n, LENGTH), are those of documents; `beats`, shape (n, LENGTH, LENGTH), says
    which document of a pair is preferred.
    """
    gains = DCG.gains[labels]
    size = np.abs((gains[:, None] - gains) * (discounts[:, :, None] - discounts[:, None, :]))
    wrong = (labels[:, None] > labels) & np.swapaxes(beats, 1, 2)
    return (size * wrong).sum(axis=(1, 2)) / DCG.ideal(labels)


def regret(labels, discounts):
    """Return how far NDCG is below 1, shape (n,)."""
    return 1 - discounts @ DCG.gains[labels] / DCG.ideal(labels)


def labels_of(rng):
    """Return labels with at least one relevant document, shape (LENGTH,)."""
    labels = rng.integers(0, N_GRADES, LENGTH)
    labels[rng.integers(LENGTH)] = N_GRADES - 1
    return labels


def law(rng):
    """Return whether each of the four inequalities stands, for one law and one classifier."""
    discounts, p = DCG.discounts[RANKS], rng.dirichlet(np.ones(3))
    each = [labels_of(rng) for _ in p]
    regrets = np.array([regret(labels, discounts) for labels in each])
    losses = np.array([pair_loss(labels, discounts, BEATS) for labels in each])
    mean_regret, mean_loss = p @ regrets, p @ losses
    upper = np.triu(rng.random((LENGTH, LENGTH)) < 0.5, 1)
    beats = upper | np.tril(~upper.T, -1)
    place = beats.sum(axis=0)
    ranks = np.argsort(np.argsort(place, kind="stable"))
    loss = pair_loss(each[0], DCG.discounts[place][None], beats[None])[0]
    over = {
        "certain": (regrets[0] - losses[0]).max(),
        "expected": (mean_regret - mean_loss).max(),
        "regret": ((mean_regret - mean_regret.min()) - (mean_loss - mean_loss.min())).max(),
        "classifier": regret(each[0], DCG.discounts[ranks][None])[0] - loss,
    }
    return {kind: over[kind] <= 1e-9 for kind in KINDS}


def trial(rng, quick):
    """Return the share of laws, or classifiers, for which each inequality stands."""
    each = [law(rng) for _ in range(LAWS)]
    return [{"kind": kind, "share": float(np.mean([x[kind] for x in each]))} for kind in KINDS]


def simulate(seed, repeats, quick, jobs):
    """Yield one record per inequality and repeat."""
    yield from repeated(trial, [{"quick": quick}], repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw the share of laws for which each inequality stands."""
    means = summary(table, ["kind"], ["share"], outcomes=LAWS)
    places = means["kind"].replace_strict(list(KINDS), list(range(len(KINDS))))
    look = {**STYLES[0], "linestyle": "none"}
    draw_means(axes, means.with_columns(x=places), "x", "share", look)
    axes.set_xticks(range(len(KINDS)), KINDS.values(), fontsize=8)
    axes.set(ylabel="draws in which the bound is kept", ylim=(-0.03, 1.05))
    finding, part = "The bound fails as printed", "as printed"
    words = headline(claims(table), finding, "The bound of regret", part, verdicts=(FAILS,))
    axes.set_title(f"{words} (Sun et al., theorem 1)")


def claims(table):
    """Yield the theorem as printed, and what holds in its place."""
    claim = partial(Claim, table, "sun", "theorem 1", value="share", outcomes=LAWS)
    all_ = {"low": 1.0, "high": 1.0}
    text = "{}: NDCG's regret is within {}: share of draws"
    words = "certain labels, rankings", "the pairs' weighted loss"
    yield claim(text.format(*words), rows={"kind": "certain"}, cannot_fail=PROVED, **all_)
    words = "random labels, rankings", "the pairs' expected weighted loss"
    yield claim(text.format(*words), rows={"kind": "expected"}, cannot_fail=PROVED, **all_)
    words = "random labels, rankings, as printed", "the pairs' regret"
    yield claim(text.format(*words), rows={"kind": "regret"}, **all_)
    words = "certain labels, any pairwise classifier, as printed", "the pairs' weighted loss"
    yield claim(text.format(*words), rows={"kind": "classifier"}, **all_)


if __name__ == "__main__":
    main(__name__)
