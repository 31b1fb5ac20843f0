"""Why does the paper's similarity stall near .89 where the utility is learned ever better?"""

import sys

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.run import TRUTHS, Claim, at, curves, legend, main, recovery, repeated, shown

STEM, REPEATS, PANELS, FIGSIZE = "study_f_two_similarities", 20, 2, (7.5, 3.2)
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
LISTS = ("permutations", "free")


def one(rng, truth, lists, n, n_test):
    """Learn from n clean pairs with a large C, so that only what the pairs cannot show is left open."""
    true = dl.simulate.ground_truth(truth)
    test = dl.simulate.preference_pairs(true, n_test, lists=lists, seed=rng)
    train = dl.simulate.preference_pairs(true, n, lists=lists, seed=rng)
    return recovery(dl.UtilityLearner(C=100.0).fit(train), true, test)


def simulate(seed, repeats, quick, jobs, progress):
    """Yield a record a truth, kind of lists, number of pairs and repeat."""
    sizes, n_test = ((100, 1000, 5000), 1000) if quick else (SIZES, 5000)
    settings = [{"truth": t, "lists": kind, "n": n, "n_test": n_test} for t in TRUTHS for kind in LISTS for n in sizes]
    yield from repeated(one, settings, repeats=repeats, seed=seed, jobs=jobs, progress=progress)


def level(truth):
    """Return where the paper's similarity ends on permutations: the cosine of the discounts and the same less the last.

    Of all utilities that order permutations alike, the QP returns the one of least norm that is still monotone at
    every position. That lowers all discounts until the last is 0, and leaves the gains alone.
    """
    discounts = dl.simulate.ground_truth(truth).discounts
    lowered = discounts - discounts.min()
    return float(discounts @ lowered / np.linalg.norm(discounts) / np.linalg.norm(lowered))


def plot(table, axes):
    """Draw both similarities against the number of pairs, a panel a kind of lists."""
    long = pl.concat(
        table.select("lists", "n", value=name, line=pl.col("truth") + label)
        for name, label in (("similarity", ", the paper's"), ("gauge_free", ", visible part"))
    )
    titles = {"permutations": "permutations of one list", "free": "free lists"}
    for ax, kind in zip(axes, LISTS, strict=True):
        curves(long.filter(pl.col("lists") == kind), ax, "n", "value", lines="line")
        ax.set(
            xlabel="training pairs (logarithmic)",
            ylabel="similarity",
            xscale="log",
            title=titles[kind],
            ylim=(0.83, 1.01),
        )
    # D1 and D2 have the same discounts, hence the same level.
    axes[0].axhline(level(TRUTHS[0]), color="black", lw=0.8, ls=(0, (6, 3)))
    axes[0].text(100, level(TRUTHS[0]) - 0.003, "discounts lowered until the last is 0", va="top", fontsize=7)
    legend(axes[1], fontsize=7, loc="lower right")


def claims(table):
    """Return what the table says."""
    last = table["n"].max()
    for kind in LISTS:
        paper = {t: at(table, "similarity", truth=t, lists=kind, n=last) for t in TRUTHS}
        visible = {t: at(table, "gauge_free", truth=t, lists=kind, n=1000) for t in TRUTHS}
        stalls = all(value[0] < 0.92 for value in paper.values())
        reaches = all(value[0] > 0.99 for value in visible.values())
        permutations = kind == "permutations"
        yield Claim(
            "f",
            "on permutations of one list the paper's similarity stalls while the visible part is learned"
            if permutations
            else "on free lists both similarities reach 1",
            "; ".join(
                f"{t}: the paper's {shown(paper[t])} at {last:,} pairs, the visible part's {shown(visible[t])} at 1,000"
                for t in TRUTHS
            ),
            "holds" if reaches and stalls == permutations else "does not hold",
            "Permutations do not show the level of discounts. The least-norm monotone solution lowers them until the "
            f"last is 0, and the cosine between those and the true ones is {level(TRUTHS[0]):.4f}, whatever the gains."
            if permutations
            else "Free lists differ in their mix of grades, which shows the level of the discounts.",
        )


if __name__ == "__main__":
    main(sys.modules[__name__])
