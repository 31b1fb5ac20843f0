"""Zhou et al., figure 10: pairs with the optimal list raise precision slowly.

Each pair holds the optimal list and a list of other grades.
"""

from functools import partial

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
    both = pl.concat(
        table.with_columns(precision=pl.col(name), tested=pl.lit(name)) for name in TESTED
    )
    claim = partial(Claim, both, "zhou", "figure 10", value="precision")

    def sides(tested, kinds=tuple(TRAINED), sizes=(last, last)):
        pairs = zip(kinds, sizes, strict=True)
        return [{"tested": tested, "lists": kind, "n": n} for kind, n in pairs]

    rows, minus = sides("precision", 2 * ("optimal-free",), (last, first))
    text = f"precision grows from {first} to {last} pairs with the optimal list"
    yield claim(text, rows=rows, minus=minus, low=0.0)

    # against random lists, on both kinds of test pairs
    rows, minus = sides("precision")
    words = "if tested on permutations, not on free lists"
    branches = {"condition": words, "otherwise": tuple(sides("precision_free"))}
    text = f"{last} pairs with the optimal list teach less than {last} random pairs"
    yield claim(text, rows=rows, minus=minus, high=0.0, **branches)
