"""Boosted trees trained on a metric: test NDCG@5 after all trees (Wu et al., figure 2).

Every method grows equally many trees of equal size, once on its gradient with constant curvature,
as in the paper, and once on lambdas, the default. The synthetic queries have a known truth that
needs trees.
"""

from functools import partial

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import HOLDS, NEGLIGIBLE, Claim
from simulations.run import forest, grid, same_width

REPEATS, PANELS, FIGSIZE = 6, 2, (9.0, 3.6)
SHAPES = {
    "exponential gains, log2": (lambda g: 2.0**g - 1, 1 / np.log2(np.arange(2, 7))),
    "steep gains, flat discounts": (
        lambda g: np.where(g > 0, 5.0**g, 0) / 5,
        (1.0, 0.95, 0.9, 0.85, 0.8),
    ),
    "flat gains, steep discounts": (
        lambda g: np.where(g > 0, 0.9 + 0.1 * g, 0),
        (1.0, 0.4, 0.2, 0.1, 0.05),
    ),
}
LEADS = (
    ("REG-SHF-SDCG", "SHF-SDCG"),
    ("SHF-SDCG", "SDCG"),
    ("REG-SHF-SDCG", "GBRank"),
    ("REG-SHF-SDCG", "regression"),
    ("regression", "SDCG"),
)
"""Pairs of methods of which Wu et al. find the first better."""
PAIRED = ("REG-SHF-SDCG", "SHF-SDCG", "SDCG")
WAYS = {"gradient": ("gradient", "constant"), "exchange": ("lambdas", "diagonal")}
"""Parameters `follow` and `curvature` of boosted trees, by their name in tables."""
SHAPE = {"num_leaves": 15, "learning_rate": 0.1, "min_data_in_leaf": 20}
TREES, QUICK_TREES = 300, 20


def metric_of(shape, n_grades):
    """Return a metric of depth 5."""
    gains, discounts = SHAPES[shape]
    return dl.DCG(gains(np.arange(n_grades, dtype=float)), discounts)


def losses(dcg):
    """Return the methods of the paper, and LambdaRank on the same metric, by name."""
    return {
        "REG-SHF-SDCG": dl.losses.RegSHFSDCG(dcg),
        "SHF-SDCG": dl.losses.SHFSDCG(dcg),
        "SDCG": dl.losses.SDCG(dcg),
        "GBRank": dl.losses.GBRank(),
        "regression": dl.losses.Regression(dcg),
        "LambdaRank": dl.losses.LambdaRank(dcg),
    }


def queries(rng, quick):
    """Return training and test queries that need trees."""
    synthetic = dl.simulate.nonlinear_queries(
        *((40, 15) if quick else (1600, 30)), random_state=rng
    )
    n_train = 20 if quick else 600
    return synthetic[:n_train], synthetic[n_train:]


def trial(rng, shape, quick):
    """Grow the trees of every method, and evaluate them by their training metric."""
    train, test = queries(rng, quick)
    dcg, n_trees = metric_of(shape, train.n_grades), QUICK_TREES if quick else TREES
    records = []
    for name, loss in losses(dcg).items():
        for way, (follow, curvature) in WAYS.items():
            ranker = dl.BoostedRanker(
                loss,
                n_trees=n_trees,
                metric=dcg,
                follow=follow,
                curvature=curvature,
                num_threads=1,
                **SHAPE,
            ).fit(train)

            ndcg = test.evaluate(ranker.predict(test), dcg).mean()
            records.append({"method": name, "follow": way, "ndcg": float(ndcg)})
    return records


def settings(quick):
    """Return a setting for each metric."""
    return grid(shape=tuple(SHAPES), quick=quick)


def plot(table, axes, headline):
    """Draw the differences between methods, on gradients and on lambdas."""
    means = table.group_by("method", "follow", "repeat").agg(pl.mean("ndcg")).sort("repeat")
    titles = {"gradient": "Gradients (figure 2)", "exchange": "Lambdas (ours)"}
    for ax, (follow, title) in zip(axes, titles.items(), strict=True):
        values = {
            name: rows["ndcg"].to_numpy()
            for (name,), rows in means.filter(follow=follow).group_by("method")
        }
        leads = [values[better] - values[worse] for better, worse in LEADS]
        forest(ax, [f"{better}\nminus {worse}" for better, worse in LEADS], leads)
        ax.locator_params(axis="x", nbins=5)
        ax.set(xlabel=f"NDCG@5 after {TREES} trees", title=title)
    held = [claim.verdict == HOLDS for claim in claims(table) if ", gradients" in claim.text]
    axes[0].set_title(f"Nonlinear queries, gradients: {sum(held)} of {len(held)} leads hold")
    same_width(axes)


def claims(table):
    """Yield the claims, on the three metrics together."""
    claim = partial(Claim, table, value="ndcg", low=0.0)
    for better, worse in LEADS:
        rows, minus = ({"method": name, "follow": "gradient"} for name in (better, worse))
        text = f"Nonlinear queries: {better} beats {worse}, gradients"
        yield claim("wu", "figure 2", text, rows=rows, minus=minus)
    for one, other in LEADS[:2]:
        rows, minus = ({"method": name, "follow": "exchange"} for name in (one, other))
        text, near = f"{one} ends level with {other}, lambdas", NEGLIGIBLE
        yield claim("ours", "trees", text, rows=rows, minus=minus, low=-near, high=near)
    lambdas, gradients = (
        {"method": (*PAIRED, "LambdaRank"), "follow": way} for way in ("exchange", "gradient")
    )
    text = f"lambdas beat gradients, {TREES} trees"
    yield claim("ours", "trees", text, rows=lambdas, minus=gradients)
