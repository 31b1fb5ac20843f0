"""Zhou et al., section 4: compatible metrics agree on the best ranking.

On all other rankings they agree only if there are two grades.
"""

from functools import partial
from itertools import permutations

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import CONSTRUCTED, PROVED, Claim
from simulations.run import curves, legend

REPEATS, PANELS, FIGSIZE = 50, 1, (4.6, 3.4)
DEPTH = 5
SAME, DIFFERENT = "same discounts", "log2 and 1/rank"


def gains(rng, n_grades):
    """Return random gains that increase from 0 to 1."""
    return np.concatenate([[0.0], np.sort(rng.random(n_grades - 2)), [1.0]])


def trial(rng, n_grades, discounts):
    """Compare two metrics with random gains.

    They are compared on all pairs of free lists, and on their best rankings of some documents.
    """
    ranks = np.arange(1, DEPTH + 1)
    first = dl.DCG(gains(rng, n_grades), 1 / np.log2(ranks + 1))
    second = dl.DCG(gains(rng, n_grades), first.discounts if discounts == SAME else 1 / ranks)
    documents = rng.integers(0, n_grades, DEPTH + 3)
    rankings = np.unique(list(permutations(documents, DEPTH)), axis=0)
    values = [metric.score(rankings) for metric in (first, second)]
    best = [rankings[worth >= worth.max() - 1e-12] for worth in values]
    return {
        "different": dl.disagreement(first, second).share,
        "same_best": int(np.array_equal(*best)),
    }


def settings(quick):
    """Return the cells of numbers of grades and discounts."""
    n_grades = (2, 3, 4) if quick else (2, 3, 4, 5, 6)
    return [{"n_grades": n, "discounts": d} for d in (SAME, DIFFERENT) for n in n_grades]


def plot(table, axes, headline):
    """Draw the share of pairs that are ordered differently against the number of grades."""
    percent = table.with_columns(percent=100 * pl.col("different"))
    curves(
        percent,
        axes,
        "n_grades",
        "percent",
        lines="discounts",
        labels={DIFFERENT: "discounts log2 and 1/rank"},
    )
    axes.set(
        xlabel="number of grades L",
        ylabel="% of all pairs of lists ordered differently",
        ylim=(-0.5, None),
    )

    axes.set_xticks(sorted(table["n_grades"].unique()))
    finding = "Two metrics with random gains disagree from\nthree grades on"
    parts = "grades: compatible metrics order some", "two grades: compatible metrics"
    words = headline(finding, "How often two metrics with random gains\ndisagree", *parts)
    axes.set_title(f"{words} (Zhou et al., section 4)")
    legend(axes)


def claims(table):
    """Yield the paper's claims on two metrics whose gains increase with the grade."""
    more = tuple(n for n in sorted(table["n_grades"].unique()) if n > 2)
    claim = partial(Claim, table, "zhou")
    text = "two compatible metrics have the same best rankings: share of trials"
    yield claim("section 4.1", text, "same_best", {}, low=1.0, high=1.0, cannot_fail=PROVED)

    # two grades
    two, never = {"n_grades": 2}, {"low": 0.0, "high": 0.0, "cannot_fail": PROVED}
    same, different = ({**two, "discounts": discounts} for discounts in (SAME, DIFFERENT))
    branches = {"condition": "if both have the same discounts", "otherwise": (different, None)}
    text = "two grades: compatible metrics order all lists alike; share ordered differently"
    yield claim("section 4.1, theorem", text, "different", same, **never, **branches)

    # more grades
    words = "compatible metrics order some lists differently, same discounts; share"
    text, rows = f"{more[0]} to {more[-1]} grades: {words}", {"n_grades": more, "discounts": SAME}
    yield claim("section 4.2", text, "different", rows, low=0.0, cannot_fail=CONSTRUCTED)
