"""What do processes cost and save: a fit by pairs, by partitions and by workers, and trees by workers?

One JSON line a setting, the better of two turns after one that compiles. The utility of a log cut from memory, with a
tenth of its verdicts flipped; parts are by default a quarter of a million pairs. A worker has one thread. The
trees stand beside `BoostedRanker` on one thread and on all, and so does their normalised DCG on unseen queries.

    python benchmarks/cluster.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import lightgbm  # noqa: F401 - before the workers are forked off, whose output it would mix with
from distributed import Client, LocalCluster

import dcglearn as dl

TRUTH = dl.simulate.ground_truth("D1")
MINE = dl.DCG([0, 1, 4, 30, 100], [1, 0.95, 0.9, 0.85, 0.8])


@contextmanager
def cluster(n_workers: int):
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as here,
        Client(here) as client,
    ):
        yield client


def best(call: Callable[[], Any], turns: int = 2) -> float:
    """Return the seconds of the fastest turn after a first one."""
    found = []
    for _ in range(turns + 1):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found[1:])


def fitted(log: dl.Preferences, client: Client, partitions: int | None = None) -> float:
    with dl.DaskLog(log, client, partitions=partitions) as parts:
        return best(lambda: dl.UtilityLearner().fit(parts))


def row(question: str, seconds: float, **marks: Any) -> None:
    print(json.dumps({"question": question, **marks, "seconds": round(seconds, 3)}), flush=True)


def fits(sizes: tuple[int, ...], workers: tuple[int, ...], cuts: tuple[int, ...]) -> None:
    logs = {n: dl.simulate.preference_pairs(TRUTH, n, lists="free", flip_rate=0.1, seed=n) for n in sizes}
    middle = sizes[len(sizes) // 2]
    log = logs[middle]
    row("workers", best(lambda: dl.UtilityLearner().fit(log)), workers="none: threads", pairs=middle)
    for n_workers in workers:
        with cluster(n_workers) as client:
            row("workers", fitted(log, client), workers=str(n_workers), pairs=middle)
    with cluster(2) as client:
        for partitions in cuts:
            row("partitions", fitted(log, client, partitions), partitions=partitions, pairs=middle)
        found = {n: fitted(one, client) / n for n, one in logs.items()}
    for n, rate in found.items():
        row("pairs", rate * n, pairs=n, times_first_per_pair=round(rate / found[sizes[0]], 3))


def trees(n_queries: int, n_trees: int) -> None:
    data = dl.simulate.nonlinear_queries(n_queries, 50, n_features=30, seed=0)
    shape: dict[str, Any] = {"n_trees": n_trees, "num_leaves": 31}
    for threads in sorted({1, os.cpu_count() or 1}):
        ranker = dl.BoostedRanker(dl.SHFSDCG(MINE), num_threads=threads, **shape)
        seconds = best(lambda r=ranker: r.fit(data, progress=False))  # type: ignore[misc]
        row("trees", seconds, workers=f"none: {threads} threads", documents=data.shape[0], trees=n_trees)
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            far = dl.DaskBoostedRanker(dl.SHFSDCG(MINE), **shape)
            seconds = best(lambda r=far, c=client: r.fit(data, engine=c, progress=False))  # type: ignore[misc]
        row("trees", seconds, workers=str(n_workers), documents=data.shape[0], trees=n_trees)


def likeness(n_queries: int, n_trees: int, repeats: int) -> None:
    with cluster(2) as client:
        for seed in range(repeats):
            data = dl.simulate.nonlinear_queries(n_queries, 30, seed=seed)
            train, test = data[: n_queries * 2 // 5], data[n_queries * 2 // 5 :]
            shape: dict[str, Any] = {"n_trees": n_trees, "num_leaves": 15}
            near = dl.BoostedRanker(dl.RegSHFSDCG(MINE), **shape).fit(train, progress=False)
            far = dl.DaskBoostedRanker(dl.RegSHFSDCG(MINE), **shape).fit(train, engine=client, progress=False)
            ahead = test.evaluate(far.predict(test), MINE) - test.evaluate(near.predict(test), MINE)
            error = ahead.std(ddof=1) / len(ahead) ** 0.5
            found = {"ndcg_ahead_of_local": round(ahead.mean(), 4), "error": round(error, 4)}
            print(json.dumps({"question": "unseen queries", "seed": seed, "trees": n_trees, **found}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    quick = parser.parse_args().quick
    if quick:
        fits((2000, 4000), (1,), (1, 7))
    else:
        fits((1_000_000, 4_000_000, 16_000_000), (1, 2, 4), (1, 2, 7, 20, 100))
    trees(*((60, 5) if quick else (10_000, 50)))
    likeness(*((50, 5, 1) if quick else (500, 100, 4)))


if __name__ == "__main__":
    main()
