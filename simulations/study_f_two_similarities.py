"""Study f: why does the paper's similarity stall near 0.89 while the learned utility improves?"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.run import TRUTHS, curves, grid, legend, logs, recovery

REPEATS, PANELS, FIGSIZE = 20, 2, (7.5, 3.2)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
LISTS = ("permutations", "free")


def trial(rng, truth, lists, n, n_test):
    """Learn from n clean pairs with a large C.

    Only the part that pairs do not identify then stays open.
    """
    true = dl.simulate.ground_truth(truth)
    test, train = logs(true, rng, n_test, n, lists=lists)
    return recovery(dl.UtilityLearner(C=100.0).fit(train), true, test)


def settings(quick):
    """Return a setting for each true DCG, kind of lists and number of pairs."""
    sizes, n_test = ((100, 1000, 5000), 1000) if quick else (SIZES, 5000)
    return grid(truth=TRUTHS, lists=LISTS, n=sizes, n_test=n_test)


def similarity_limit(truth):
    """Return the limit of the paper's similarity on permutations.

    Of all utilities with the same order of permutations, the QP returns the monotone one of least
    norm. That subtracts the last discount from all discounts and keeps the gains, so the limit is
    the cosine of discounts before and after.
    """
    discounts = dl.simulate.ground_truth(truth).discounts
    lowered = discounts - discounts.min()
    return float(discounts @ lowered / np.linalg.norm(discounts) / np.linalg.norm(lowered))


def plot(table, axes, headline):
    """Draw both similarities against the number of pairs, one panel per kind of lists."""
    long = pl.concat(
        table.select("truth", "lists", "n", value=name, similarity=pl.lit(label), repeat="repeat")
        for name, label in (("similarity", "Zhou et al."), ("gauge_free", "identifiable"))
    )
    finding = "Free lists: the paper's exceeds .99"
    stalls = headline("Permutations: the paper's stalls", "Permutations", "stalls")
    titles = {
        "permutations": stalls,
        "free": headline(finding, "Free lists", "on free lists the paper's"),
    }

    for ax, kind in zip(axes, LISTS, strict=True):
        curves(long.filter(pl.col("lists") == kind), ax, "n", "value", dashes="similarity")
        ax.set(
            xlabel="number of training pairs", ylabel="similarity", xscale="log", title=titles[kind]
        )
        ax.set_ylim(0.83, 1.01)
    # D1 and D2 have the same discounts, hence the same limit.
    limit = similarity_limit(TRUTHS[0])
    axes[0].axhline(limit, color="0.2", lw=0.8, ls=(0, (6, 3)))
    axes[0].text(100, limit - 0.003, "limit: discounts minus the last one", va="top", fontsize=7)
    legend(axes[1], fontsize=7, loc="lower right")


def claims(table):
    """Yield our claims, on both true DCGs together."""
    last, limit = table["n"].max(), similarity_limit(TRUTHS[0])
    claim = partial(Claim, table, "ours", "study f")
    permutations, free = ({"lists": kind, "n": last} for kind in LISTS)
    text = (
        f"on permutations the paper's similarity stalls at its limit of {limit:.3f}, {last:,} pairs"
    )
    yield claim(text, "similarity", permutations, low=limit - NEGLIGIBLE, high=limit + NEGLIGIBLE)

    text = "on permutations the identifiable similarity is above .99 from 1,000 pairs on"
    yield claim(text, "gauge_free", {"lists": "permutations", "n": 1000}, low=0.99)
    yield claim(
        f"on free lists the paper's similarity is above .99, {last:,} pairs",
        "similarity",
        free,
        low=0.99,
    )
