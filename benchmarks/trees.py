"""Time of trees trained on a metric compared with LightGBM's lambdarank.

One JSON line per method and data set: median processor seconds of training with one thread and
equal numbers of trees and leaves, in alternating runs. lambdarank leaves out pairs of documents
that are both below rank 30, the losses here none, so that it is also run with all pairs. The data
have the shape of MQ2008 (470 queries, 46 features, 3 grades, 6 to 120 documents, mostly few); then
1,000,000 documents (10,000 queries, 30 features).

    python benchmarks/trees.py [--quick]
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
from measuring import QUICK, in_turn, show

import dcglearn as dl

METRIC = dl.DCG([0, 1, 4, 30, 100], [1, 0.95, 0.9, 0.85, 0.8])
LOSSES = (dl.losses.RegSHFSDCG, dl.losses.SHFSDCG, dl.losses.SDCG, dl.losses.LambdaRank)
SHAPE = {"num_leaves": 31, "learning_rate": 0.1, "num_threads": 1}
PARTS = ((0.45, (6, 10)), (0.45, (12, 32)), (0.1, (60, 120)))
"""Shares of MQ2008's queries, and their fewest and most documents."""


def mq2008(n_queries: int) -> dl.Queries:
    """Return queries of MQ2008's shape."""
    how = {"n_features": 46, "random_state": 0}
    parts = [
        dl.simulate.letor_queries(max(round(share * n_queries), 1), sizes=sizes, **how)
        for share, sizes in PARTS
    ]
    columns = ([getattr(part, name) for part in parts] for name in ("features", "grades", "sizes"))
    return dl.Queries.from_groups(*map(np.concatenate, columns))


def lambdarank(data: dl.Queries, n_trees: int, level: int) -> Any:
    settings = {**SHAPE, "objective": "lambdarank", "label_gain": list(METRIC.gains), "verbose": -1}
    settings["lambdarank_truncation_level"] = level
    train = lightgbm.Dataset(data.features, data.grades, group=data.sizes)
    return lightgbm.train(settings, train, n_trees)


def measured(name: str, data: dl.Queries, n_trees: int, repeats: int) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "lambdarank": partial(lambdarank, data, n_trees, 30),
        "lambdarank, all pairs": partial(lambdarank, data, n_trees, int(data.sizes.max())),
    }
    for kind in LOSSES:
        calls[kind.__name__] = partial(
            dl.BoostedRanker(kind(METRIC), n_trees=n_trees, **SHAPE).fit, data
        )

    medians = {method: statistics.median(x) for method, x in in_turn(calls, repeats).items()}
    for method, seconds in medians.items():
        row = {"documents": data.shape[0], "trees": n_trees, "method": method}
        row["times_lambdarank"] = round(seconds / medians["lambdarank"], 2)
        show(name, **row, seconds=round(seconds, 3))


def main() -> None:
    measured("shape of MQ2008", mq2008(60 if QUICK else 470), *((10, 2) if QUICK else (100, 3)))
    shape = (50, 20) if QUICK else (10_000, 100)
    many = dl.simulate.nonlinear_queries(*shape, n_features=30, noise=0.8, random_state=0)
    measured(f"{shape[0]:,} queries", many, *((10, 1) if QUICK else (20, 2)))


if __name__ == "__main__":
    main()
