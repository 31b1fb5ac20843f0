"""Qin et al., section 5.5: restarts at alpha 50, 100 and 300, and SoftRank.

The settings are those of table 5, on queries of twenty documents, where SoftRank's cubic time is
small. Both methods start equally often at random, climb by L-BFGS, and keep the best objective.
"""

from functools import partial

import polars as pl

import dcglearn as dl
from simulations.claims import NEGLIGIBLE, Claim
from simulations.run import curves, forest, legend, ticks

REPEATS, PANELS, FIGSIZE = 20, 2, (9.0, 3.6)
ALPHAS, SHARPNESS = (50.0, 100.0, 300.0), (1.0, 3.0, 10.0)
"""Sharpness of ApproxNDCG's ranks, and of SoftRank: one over its standard deviation."""

STARTS, LENGTH, N_TRAIN, N_TEST, DEPTH = (1, 3, 10, 30, 100), 20, 15, 100, 5


def trial(rng, method, sharpness, quick):
    """Train from random starts; return one record per number of starts."""
    queries = dl.simulate.letor_queries(N_TRAIN + N_TEST, sizes=(LENGTH, LENGTH), random_state=rng)
    train, test = queries[:N_TRAIN], queries[N_TRAIN:]
    dcg, kept = dl.DCG.standard(train.n_grades, DEPTH), STARTS[:2] if quick else STARTS
    loss = dl.losses.SoftRankNDCG(dcg)
    if method == "ApproxNDCG":
        loss = dl.losses.ApproxNDCG(dcg, beta=10.0)

    # many starts, of which the best are kept
    ranker = dl.LinearRanker(
        loss=loss,
        start="random",
        n_restarts=kept[-1],
        annealing=[sharpness],
        solver="lbfgs",
        l2=0.0,
        max_iter=40,
        random_state=int(rng.integers(2**31)),
    )
    history, records = ranker.fit(train, eval_set=test).history_, []
    for k in kept:
        best = max(history[:k], key=lambda run: run["objective"])
        records.append({"restarts": k, "train": best["train"], "test": best["valid"]})
    return records


def settings(quick):
    """Return a setting for each method and sharpness."""
    methods = {"ApproxNDCG": ALPHAS, "SoftRank": SHARPNESS}
    return [
        {"method": method, "sharpness": sharpness, "quick": quick}
        for method, each in methods.items()
        for sharpness in each
    ]


def best(table):
    """Return each method's NDCG with most starts, at the sharpness that trains best."""
    last = table.filter(restarts=table["restarts"].max()).sort("train")
    return last.group_by("method", "repeat", maintain_order=True).agg(pl.last("train", "test"))


def plot(table, axes, headline):
    """Draw training NDCG against starts, and ApproxNDCG's lead over SoftRank."""
    starts, leads = axes
    part = table.filter(method="ApproxNDCG").with_columns(
        line=pl.format("α = {}", pl.col("sharpness").cast(pl.Int64))
    )
    curves(part, starts, "restarts", "train", lines="line")
    starts.set(xscale="log", xlabel="number of random starts (best objective kept)")
    starts.set_ylabel(f"training NDCG@{DEPTH}")
    ticks(starts, sorted(table["restarts"].unique()))
    finding = "With many starts sharper trains better"
    words = headline(finding, "ApproxNDCG", "starts: alpha =")
    starts.set_title(f"{words} (table 5)")
    legend(starts, loc="lower right")

    # against SoftRank
    approx, soft = (best(table).filter(method=name) for name in ("ApproxNDCG", "SoftRank"))
    names = {"train": "training queries", "test": "test queries"}
    values = [approx.sort("repeat")[name] - soft.sort("repeat")[name] for name in names]
    forest(leads, list(names.values()), values)
    leads.locator_params(axis="x", nbins=4)
    leads.set_xlabel(f"NDCG@{DEPTH}: ApproxNDCG minus SoftRank")
    words = headline("ApproxNDCG beats SoftRank", "Against SoftRank", "beats SoftRank")
    leads.set_title(f"{words} (section 5.5.2)")


def claims(table):
    """Yield the paper's claims."""
    most = table["restarts"].max()
    claim = partial(Claim, table, "qin", "table 5", value="train")

    def starts(alpha, k):
        return {"method": "ApproxNDCG", "sharpness": alpha, "restarts": k}

    text = "20 documents, one start: alpha = 300 trains no better than 50 and 100"
    yield claim(text, rows=starts(300.0, 1), minus=starts((50.0, 100.0), 1), high=NEGLIGIBLE)
    for sharp, blunt in ((300, 100), (100, 50)):
        text = f"20 documents, {most} starts: alpha = {sharp} trains better than {blunt}"
        sides = (starts(float(alpha), most) for alpha in (sharp, blunt))
        yield claim(text, rows=next(sides), minus=next(sides), low=0.0)
    for part, name in (("train", "training"), ("test", "test")):
        text = f"20 documents: ApproxNDCG beats SoftRank, {name} NDCG@{DEPTH}"
        sides = ({"method": method} for method in ("ApproxNDCG", "SoftRank"))
        yield Claim(best(table), "qin", "section 5.5.2", text, part, *sides, low=0.0)
