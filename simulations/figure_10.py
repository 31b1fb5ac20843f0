"""Zhou et al., figure 10: pairs with the optimal list raise precision slowly.

Each pair holds the optimal list and a list of other grades.
"""

import polars as pl

import dcglearn as dl
from simulations.claims import CONDITION, Claim
from simulations.run import MEASURES, TRUTHS, curves, legend, logs, share_scale

REPEATS, PANELS, FIGSIZE = 50, 2, (8.0, 3.4)
SIZES = tuple(range(20, 201, 20))
TRAINED = {"optimal-free": "one list optimal", "permutations": "random permutations"}
TESTED = {"precision": "permutations, as in figure 1", "precision_free": "free lists"}


def trial(rng, truth, n, n_test, lists):
    """Learn from n pairs of one kind of lists; test on permutations and on free lists."""
    true = dl.simulate.ground_truth(truth)
    (permutations,) = logs(true, rng, n_test)
    (free,) = logs(true, rng, n_test, lists="free")
    (train,) = logs(true, rng, n, lists=lists)
    utility = dl.UtilityLearner(C=1.0).fit(train).utility_
    tests = zip(TESTED, (permutations, free), strict=True)
    return {name: test.agreement(utility).precision for name, test in tests}


def settings(quick):
    """Return a setting for each true DCG, kind of training lists and number of pairs."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    return [
        {"truth": truth, "n": n, "n_test": n_test, "lists": kind}
        for truth in TRUTHS
        for kind in TRAINED
        for n in sizes
    ]


def plot(table, axes, headline):
    """Draw precision against the number of pairs, one panel per kind of test pairs."""
    part = "with the optimal list teach less"
    titles = (
        headline("Permutations: it teaches less", "Permutations", part) + " (figure 10)",
        headline("Free lists: it teaches more", "Free lists", part, verdicts=(CONDITION,))
        + " (ours)",
    )
    for ax, name, title in zip(axes, TESTED, titles, strict=True):
        curves(table, ax, "n", name, dashes="lists", labels=TRAINED)
        ax.set(xlabel="number of training pairs", ylabel=MEASURES["precision"], title=title)
    share_scale(axes)
    legend(axes[1], "true DCG, training pairs", fontsize=7, loc="lower right")


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    first, last = table["n"].min(), table["n"].max()
    optimal, random = ({"lists": kind, "n": last} for kind in TRAINED)
    both = pl.concat(
        table.with_columns(precision=pl.col(name), tested=pl.lit(name)) for name in TESTED
    )
    rows = {"tested": "precision", "lists": "optimal-free"}
    text = f"precision grows from {first} to {last} pairs with the optimal list"
    yield Claim(
        both,
        "zhou",
        "figure 10",
        text,
        "precision",
        {**rows, "n": last},
        {**rows, "n": first},
        low=0.0,
    )
    yield Claim(
        both,
        "zhou",
        "figure 10",
        f"{last} pairs with the optimal list teach less than {last} random pairs",
        "precision",
        *({**of, "tested": "precision"} for of in (optimal, random)),
        high=0.0,
        condition="if tested on permutations, not on free lists",
        otherwise=tuple({**of, "tested": "precision_free"} for of in (optimal, random)),
    )
