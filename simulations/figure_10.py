"""Zhou et al., figure 10: pairs with the optimal list raise precision slowly.

Each pair holds the optimal list and a list of other grades.
"""

import polars as pl

import dcglearn as dl
from simulations.claims import CONDITION, Claim, headline
from simulations.run import MEASURES, TRUTHS, curves, legend, repeated, share_scale

STEM, REPEATS, PANELS, FIGSIZE = "figure_10", 50, 2, (8.0, 3.4)
SIZES = tuple(range(20, 201, 20))
TRAINED = {"optimal-free": "one list optimal", "permutations": "random permutations"}
TESTED = {"precision": "permutations, as in figure 1", "precision_free": "free lists"}


def trial(rng, truth, n, n_test, lists):
    """Learn from n pairs of one kind of lists; test on permutations and on free lists."""
    true = dl.simulate.ground_truth(truth)
    tests = (
        dl.simulate.preference_pairs(true, n_test, lists=kind, random_state=rng)
        for kind in ("permutations", "free")
    )
    tests = dict(zip(TESTED, tests, strict=True))
    train = dl.simulate.preference_pairs(true, n, lists=lists, random_state=rng)
    utility = dl.UtilityLearner(C=1.0).fit(train).utility_
    return {name: test.agreement(utility).precision for name, test in tests.items()}


def simulate(seed, repeats, quick, jobs):
    """Yield one record per true DCG, kind of training lists, number of pairs and repeat."""
    sizes, n_test = ((20, 200), 1000) if quick else (SIZES, 5000)
    settings = [
        {"truth": t, "n": n, "n_test": n_test, "lists": kind}
        for t in TRUTHS
        for kind in TRAINED
        for n in sizes
    ]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw precision against the number of pairs, one panel per kind of test pairs."""
    claimed, part = list(claims(table)), "with the optimal list teach less"
    titles = (
        headline(claimed, "Permutations: it teaches less", "Permutations", part) + " (figure 10)",
        headline(claimed, "Free lists: it teaches more", "Free lists", part, verdicts=(CONDITION,))
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
