"""Study f: why does the paper's similarity stall near 0.89 while the learned utility keeps improving?"""

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "study_f_two_similarities", 20, 2, (7.5, 3.2)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
LISTS = ("permutations", "free")


def trial(rng, truth, lists, n, n_test):
    """Learn from n clean pairs with a large C, so that only the part that pairs do not identify stays open."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, lists=lists, seed=rng)
    train = dl.simulate.preference_pairs(true, n, lists=lists, seed=rng)
    return recovery(dl.UtilityLearner(C=100.0).fit(train), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield one record per true DCG, kind of lists, number of pairs and repeat."""
    sizes, n_test = ((100, 1000, 5000), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "lists": kind, "n": n, "n_test": n_test} for t in TRUTHS for kind in LISTS for n in sizes]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def similarity_limit(truth):
    """Return the limit of the paper's similarity on permutations.

    Of all utilities with the same order of permutations, the QP returns the monotone one of least norm. That subtracts
    the last discount from all discounts and keeps the gains, so the limit is the cosine of discounts before and after.
    """
    discounts = dl.simulate.ground_truth(truth).discounts
    lowered = discounts - discounts.min()
    return float(discounts @ lowered / np.linalg.norm(discounts) / np.linalg.norm(lowered))


def plot(table, axes):
    """Draw both similarities against the number of pairs, one panel per kind of lists."""
    long = pl.concat(
        table.select("lists", "n", value=name, line=pl.col("truth") + label)
        for name, label in (("similarity", ", Zhou et al."), ("gauge_free", ", identifiable"))
    )
    titles = {"permutations": "Permutations of one list", "free": "Free lists"}
    for ax, kind in zip(axes, LISTS, strict=True):
        curves(long.filter(pl.col("lists") == kind), ax, "n", "value", lines="line")
        ax.set(
            xlabel="number of training pairs",
            ylabel="similarity",
            xscale="log",
            title=titles[kind],
            ylim=(0.83, 1.01),
        )
    # D1 and D2 have the same discounts, hence the same limit.
    axes[0].axhline(similarity_limit(TRUTHS[0]), color="black", lw=0.8, ls=(0, (6, 3)))
    axes[0].text(100, similarity_limit(TRUTHS[0]) - 0.003, "limit: discounts minus the last one", va="top", fontsize=7)
    legend(axes[1], fontsize=7, loc="lower right")


def claims(table):
    """Yield the claims, with the table's numbers and verdicts."""
    last = table["n"].max()
    for kind in LISTS:
        paper = {t: at(table, "similarity", truth=t, lists=kind, n=last) for t in TRUTHS}
        identifiable = {t: at(table, "gauge_free", truth=t, lists=kind, n=1000) for t in TRUTHS}
        stalls = all(value[0] < 0.92 for value in paper.values())
        reaches = all(value[0] > 0.99 for value in identifiable.values())
        permutations = kind == "permutations"
        yield Claim(
            "f",
            "on permutations of one list the paper's similarity stalls while the identifiable similarity approaches 1"
            if permutations
            else "on free lists both similarities reach 1",
            "; ".join(
                f"{t}: the paper's similarity {shown(paper[t])} at {last:,} pairs, "
                f"identifiable similarity {shown(identifiable[t])} at 1,000 pairs"
                for t in TRUTHS
            ),
            "holds" if reaches and stalls == permutations else "does not hold",
            "Permutations do not identify the level of discounts. The monotone solution of least norm subtracts the "
            "last discount from all; the cosine of the result and the true discounts is "
            f"{similarity_limit(TRUTHS[0]):.4f} for any gains."
            if permutations
            else "Free lists differ in their mix of grades, which identifies the level of discounts.",
        )


if __name__ == "__main__":
    main(__name__)
