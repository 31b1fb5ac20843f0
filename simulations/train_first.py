"""Boosted trees by NDCG@1 (Wu et al., figure 2), where the other half of that figure stands.

The methods and queries are those of `train_trees`, with half as many trees, on gradients as in
the paper.
"""

import dcglearn as dl
from simulations.claims import Claim
from simulations.run import forest
from simulations.train_trees import LEADS, QUICK_TREES, SHAPE, losses, metric_of, queries

REPEATS, PANELS, FIGSIZE = 20, 1, (5.2, 3.6)
TREES = 150
METHODS = tuple(dict.fromkeys(name for pair in LEADS for name in pair))
"""The paper's methods; LambdaRank is not among them."""


def trial(rng, quick):
    """Grow the trees of every method; return test NDCG@1."""
    train, test = queries(rng, quick)
    dcg = metric_of("exponential gains, log2", train.n_grades)
    first, records = dl.DCG(dcg.gains, dcg.discounts[:1]), []
    for name in METHODS:
        ranker = dl.BoostedRanker(
            losses(dcg)[name],
            n_trees=QUICK_TREES if quick else TREES,
            metric=dcg,
            follow="gradient",
            curvature="constant",
            num_threads=1,
            **SHAPE,
        ).fit(train)
        ndcg = test.evaluate(ranker.predict(test), first).mean()
        records.append({"method": name, "ndcg": float(ndcg)})
    return records


def settings(quick):
    """Return the one setting."""
    return [{"quick": quick}]


def plot(table, axes):
    """Draw the differences between methods."""
    rows = table.sort("repeat")
    leads = [
        rows.filter(method=better)["ndcg"] - rows.filter(method=worse)["ndcg"]
        for better, worse in LEADS
    ]
    forest(axes, [f"{better}\nminus {worse}" for better, worse in LEADS], leads)
    axes.set_xlabel(f"NDCG@1 of test queries, {TREES} trees")
    axes.set_title("Nonlinear queries, gradients (Wu et al., figure 2)")


def claims(table):
    """Yield the paper's claims."""
    for better, worse in LEADS:
        rows, minus = ({"method": name} for name in (better, worse))
        text = f"Nonlinear queries, NDCG@1: {better} beats {worse}, gradients"
        yield Claim(table, "wu", "figure 2", text, "ndcg", rows, minus, low=0.0)
