"""Time of trees trained on a metric compared with LightGBM's lambdarank.

One JSON line per method and data set: median processor seconds of training with one thread and
equal numbers of trees and leaves, in alternating runs. lambdarank leaves out pairs of documents
that are both below rank 30, the losses here none, so that it is also run with all pairs. The data
have the shape of MQ2008 (470 queries, 46 features, 3 grades, 6 to 120 documents, mostly few); then
1,000,000 documents (10,000 queries, 30 features).

    python benchmarks/trees.py [--quick]
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
from in_turn import in_turn

import dcglearn as dl

METRIC = dl.DCG([0, 1, 4, 30, 100], [1, 0.95, 0.9, 0.85, 0.8])
LOSSES = {
    kind.__name__: kind(METRIC)
    for kind in (dl.losses.RegSHFSDCG, dl.losses.SHFSDCG, dl.losses.SDCG, dl.losses.LambdaRank)
}
SHAPE = {"num_leaves": 31, "learning_rate": 0.1, "num_threads": 1}


def mq2008(n_queries: int) -> dl.Queries:
    """Return queries of MQ2008's shape: nearly half have 8 documents, few have 120."""
    parts = [
        dl.simulate.letor_queries(
            max(round(share * n_queries), 1), n_features=46, sizes=sizes, random_state=0
        )
        for share, sizes in ((0.45, (6, 10)), (0.45, (12, 32)), (0.1, (60, 120)))
    ]
    features = np.vstack([part.features for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    return dl.Queries.from_groups(features, np.concatenate([part.grades for part in parts]), sizes)


def lambdarank(data: dl.Queries, n_trees: int, level: int = 30) -> Any:
    settings = {**SHAPE, "objective": "lambdarank", "label_gain": list(METRIC.gains), "verbose": -1}
    settings["lambdarank_truncation_level"] = level
    train = lightgbm.Dataset(data.features, data.grades, group=data.sizes)
    return lightgbm.train(settings, train, n_trees)


def measured(name: str, data: dl.Queries, n_trees: int, repeats: int) -> None:
    calls: dict[str, Callable[[], Any]] = {"lambdarank": lambda: lambdarank(data, n_trees)}
    longest = int(data.sizes.max())
    calls["lambdarank, all pairs"] = lambda: lambdarank(data, n_trees, longest)
    for loss_name, loss in LOSSES.items():
        ranker = dl.BoostedRanker(loss, n_trees=n_trees, **SHAPE)
        calls[loss_name] = lambda r=ranker: r.fit(data)  # type: ignore[misc]
    times = in_turn(calls, repeats)
    reference = statistics.median(times["lambdarank"])
    for method, seconds in times.items():
        median = statistics.median(seconds)
        row = {"question": name, "documents": data.shape[0], "trees": n_trees, "method": method}
        row |= {"seconds": round(median, 3), "times_lambdarank": round(median / reference, 2)}
        print(json.dumps(row), flush=True)


def main(quick: bool) -> None:
    measured(
        "shape of MQ2008", mq2008(60 if quick else 470), 10 if quick else 100, 2 if quick else 3
    )
    queries, size = (50, 20) if quick else (10_000, 100)
    million = dl.simulate.nonlinear_queries(queries, size, n_features=30, noise=0.8, random_state=0)
    measured(f"{queries:,} queries", million, 10 if quick else 20, 1 if quick else 2)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
