"""Chapelle and Wu, table 3: the best depth of training for each depth of evaluation."""

from itertools import product

import numpy as np
import polars as pl

import dcglearn as dl
from simulations.claims import Claim
from simulations.ranking_data import (
    DATA,
    NO_CONFLICT,
    SPELLED,
    available,
    explain,
    leave_empty,
    overlap,
    split,
    whose,
)
from simulations.run import curves, legend, main, repeated, share_scale, zero_line

STEM, REPEATS, PANELS, FIGSIZE = "theory_truncation", 30, (2, 3), (11.0, 6.6)
TRAINED, JUDGED = (1, 2, 3, 5, 10, 20, 50), (1, 3, 5, 10)
LOSSES = {"SmoothNDCG": dl.losses.SmoothNDCG, "ApproxNDCG": dl.losses.ApproxNDCG}


def trial(rng, data, loss, quick):
    """Train at each depth, and evaluate each ranker at every depth.

    Validation queries choose the stage of training, by NDCG at the depth of training.
    """
    options = {"conflict": 0.0} if data == NO_CONFLICT else {}
    train, valid, test = split(rng, data.partition(",")[0], quick, **options)
    records = []
    for k in (*JUDGED, TRAINED[-1]) if quick else TRAINED:
        dcg = dl.DCG.standard(train.n_grades, k)
        ranker = dl.LinearRanker(loss=LOSSES[loss](dcg), max_iter=20).fit(train, eval_set=valid)
        for judged in JUDGED:
            judge = dl.DCG.standard(train.n_grades, judged)
            ndcg, fitted = (
                float(ranker.evaluate(queries, metric=judge).mean()) for queries in (test, train)
            )
            records.append({"k": k, "judged": judged, "ndcg": ndcg, "fitted": fitted})
    return records


def simulate(seed, repeats, quick, jobs):
    """Yield one record per data set, loss, depth of training, depth of evaluation and repeat."""
    names = [NO_CONFLICT, *available(quick)]
    settings = [{"data": data, "loss": loss, "quick": quick} for data in names for loss in LOSSES]
    yield from repeated(trial, settings, repeats=repeats, seed=seed, jobs=jobs)


def plot(table, axes):
    """Draw what training at each depth adds to training at the depth of evaluation."""
    own = table.filter(k=pl.col("judged")).select("data", "loss", "judged", "repeat", own="ndcg")
    ahead = table.join(own, on=["data", "loss", "judged", "repeat"]).with_columns(
        ahead=pl.col("ndcg") - pl.col("own")
    )
    labels = {str(depth): f"evaluated @{depth}" for depth in JUDGED}
    for (i, loss), (j, data) in product(enumerate(LOSSES), enumerate((NO_CONFLICT, *DATA))):
        ax, part = axes[i][j], ahead.filter(loss=loss, data=data)
        if not len(part):
            leave_empty(ax, data)
            continue
        curves(part, ax, "k", "ahead", lines="judged", labels=labels, overlap=overlap(data))
        zero_line(ax)
        ax.set(xscale="log", xlabel="depth of training", title=f"{loss}, {SPELLED[data]}")
        ax.set_xticks(TRAINED, [str(k) for k in TRAINED])
        ax.minorticks_off()
        ax.set_ylabel("NDCG minus that of training\nat the depth of evaluation" if j == 0 else "")
    share_scale([ax for ax in np.ravel(axes) if ax.axison])
    legend(axes[0][0], fontsize=7)
    title = "NDCG by depth of training and of evaluation (Chapelle and Wu, table 3)"
    axes[0][0].figure.suptitle(title, fontsize=10)
    explain(table["data"], axes)


def claims(table):
    """Yield the claims for each data set and objective."""
    deep = TRAINED[-1]
    for data in table["data"].unique(maintain_order=True):
        part = table.filter(data=data)
        paper, place = whose(data, "table 3")
        own = part.with_columns(
            k=pl.when(pl.col("k") == pl.col("judged")).then(0).otherwise(pl.col("k"))
        )
        for loss in LOSSES:
            rows, minus = ({"loss": loss, "k": k} for k in (deep, 0))
            text = f"{data}, {loss}: training @{deep} beats training @k for NDCG@k"
            yield Claim(
                own, paper, place, text, "ndcg", rows, minus, low=0.0, overlap=overlap(data)
            )


if __name__ == "__main__":
    main(__name__)
