"""Chapelle and Wu, table 3: the best depth of training for each depth of evaluation."""

import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.ranking_data import NO_CONFLICT, split
from simulations.run import curves, grid, legend, share_scale, ticks, zero_line

REPEATS, PANELS, FIGSIZE = 30, 2, (8.0, 3.6)
TRAINED, JUDGED = (1, 2, 3, 5, 10, 20, 50), (1, 3, 5, 10)
LOSSES = {"SmoothNDCG": dl.losses.SmoothNDCG, "ApproxNDCG": dl.losses.ApproxNDCG}


def trial(rng, loss, quick):
    """Train at each depth, and evaluate each ranker at every depth.

    Validation queries choose the stage of training, by NDCG at the depth of training.
    """
    train, valid, test = split(rng, NO_CONFLICT, quick)
    records = []
    for k in (*JUDGED, TRAINED[-1]) if quick else TRAINED:
        dcg = dl.DCG.standard(train.n_grades, k)
        ranker = dl.LinearRanker(loss=LOSSES[loss](dcg), max_iter=20).fit(train, eval_set=valid)
        for judged in JUDGED:
            judge = dl.DCG.standard(train.n_grades, judged)
            ndcg = float(ranker.evaluate(test, metric=judge).mean())
            records.append({"k": k, "judged": judged, "ndcg": ndcg})
    return records


def settings(quick):
    """Return a setting for each loss."""
    return grid(loss=tuple(LOSSES), quick=quick)


def plot(table, axes, headline):
    """Draw what training at each depth adds to training at the depth of evaluation."""
    own = table.filter(k=pl.col("judged")).select("loss", "judged", "repeat", own="ndcg")
    ahead = table.join(own, on=["loss", "judged", "repeat"]).with_columns(
        ahead=pl.col("ndcg") - pl.col("own")
    )
    labels = {str(depth): f"evaluated @{depth}" for depth in JUDGED}
    for ax, loss in zip(axes, LOSSES, strict=True):
        curves(ahead.filter(loss=loss), ax, "k", "ahead", lines="judged", labels=labels)
        zero_line(ax)
        ax.set(xscale="log", xlabel="depth of training", title=f"{loss} (table 3)")
        ticks(ax, TRAINED)
        ax.set_ylabel("NDCG minus that of training\nat the depth of evaluation")
    share_scale(axes)
    legend(axes[0], fontsize=7)


def claims(table):
    """Yield the claim for each objective."""
    deep = TRAINED[-1]
    own = table.with_columns(
        k=pl.when(pl.col("k") == pl.col("judged")).then(0).otherwise(pl.col("k"))
    )
    for loss in LOSSES:
        rows, minus = ({"loss": loss, "k": k} for k in (deep, 0))
        text = f"{loss}: training @{deep} beats training @k for NDCG@k"
        yield Claim(own, "chapelle-wu", "table 3", text, "ndcg", rows, minus, low=0.0)
