"""Zhou et al., figure 9: more pairs with the optimal list do not raise precision.

Each pair holds the optimal list and a permutation of it.
"""

import polars as pl

import dcglearn as dl
from simulations.claims import CLOSE, Claim
from simulations.run import DASHED, MEASURES, TRUTHS, curves, grid, legend, logs, recovery

REPEATS, PANELS, FIGSIZE = 50, 1, (4.4, 3.4)
SIZES = tuple(range(20, 201, 20))


def trial(rng, truth, n, n_test):
    """Learn from n pairs with the optimal list; test on pairs of random permutations."""
    true = dl.simulate.ground_truth(truth)
    (test,) = logs(true, rng, n_test)
    (train,) = logs(true, rng, n, lists="optimal")
    return recovery(dl.UtilityLearner(C=1.0).fit(train), true, test)


def settings(quick):
    """Return a setting for each true DCG and number of pairs."""
    sizes, n_test = ((20, 60, 100, 140, 200), 1000) if quick else (SIZES, 5000)
    return grid(truth=TRUTHS, n=sizes, n_test=n_test)


def plot(table, axes, headline):
    """Draw precision against the number of pairs."""
    curves(table, axes, "n", "precision")
    axes.axhline(0.5, lw=0.8, **DASHED)
    axes.text(20, 0.505, "guessing", fontsize=8, color="0.3", va="bottom")
    axes.set(
        xlabel="training pairs, each with the optimal list",
        ylabel=MEASURES["precision"],
        ylim=(0.45, 1.0),
    )

    finding, neutral = (
        "Pairs with the optimal list teach\nnothing more",
        "Pairs with the optimal list\n",
    )
    words = headline(finding, neutral, "precision does not grow")
    axes.set_title(f"{words} (Zhou et al., figure 9)")
    legend(axes, "true DCG")


def slopes(table):
    """Return the slope of precision per 100 pairs, for each true DCG and repeat."""
    n, y = pl.col("n"), pl.col("precision")
    slope = 100 * pl.cov(n, y) / n.var()
    return table.group_by("truth", "repeat", maintain_order=True).agg(slope=slope)


def claims(table):
    """Yield the paper's claims, on both true DCGs together."""
    text = "precision does not grow: change per 100 pairs"
    yield Claim(slopes(table), "zhou", "figure 9", text, "slope", {}, low=-0.01, high=0.01)
    last, text = (
        table["n"].max(),
        "such pairs put no constraint on the utility: precision stays close to .5",
    )
    yield Claim(
        table, "zhou", "figure 9", text, "precision", {"n": last}, low=0.5 - CLOSE, high=0.5 + CLOSE
    )
