"""Time of a fit by numbers of pairs, partitions and workers.

One JSON line per setting: the better of two runs after one that compiles. The fit is
UtilityLearner's on a log in memory with a tenth of its pairs flipped; a part has a quarter of a
million pairs by default, and a worker one thread.

With --cost, what a log in Parquet parts costs instead: processor time, memory of the workers, and
bytes over the loopback interface, only this program's in a network of its own (Linux: unshare --net
sh -c "ip link set lo up; ...").

    python benchmarks/cluster.py [--quick] [--cost]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from distributed import Client, LocalCluster

import dcglearn as dl

TRUTH = dl.simulate.ground_truth("D1")


@contextmanager
def cluster(n_workers: int):
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as here,
        Client(here) as client,
    ):
        yield client


def best(call: Callable[[], Any], repeats: int = 2) -> float:
    """Return the seconds of the fastest repeat after a first call."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def fitted(log: dl.Preferences, client: Client, partitions: int | None = None) -> float:
    with dl.io.DaskLog(log, client, partitions=partitions) as parts:
        return best(lambda: dl.UtilityLearner().fit(parts))


def row(question: str, seconds: float, **setting: Any) -> None:
    print(json.dumps({"question": question, **setting, "seconds": round(seconds, 3)}), flush=True)


def fits(sizes: tuple[int, ...], workers: tuple[int, ...], partitions: tuple[int, ...]) -> None:
    logs = {
        n: dl.simulate.preference_pairs(TRUTH, n, lists="free", flip_rate=0.1, random_state=n)
        for n in sizes
    }
    middle = sizes[len(sizes) // 2]
    log = logs[middle]
    row(
        "workers", best(lambda: dl.UtilityLearner().fit(log)), workers="none: threads", pairs=middle
    )
    for n_workers in workers:
        with cluster(n_workers) as client:
            row("workers", fitted(log, client), workers=str(n_workers), pairs=middle)
    with cluster(2) as client:
        for n_parts in partitions:
            row("partitions", fitted(log, client, n_parts), partitions=n_parts, pairs=middle)
        per_pair = {n: fitted(log, client) / n for n, log in logs.items()}
    for n, seconds in per_pair.items():
        row(
            "pairs",
            seconds * n,
            pairs=n,
            times_first_per_pair=round(seconds / per_pair[sizes[0]], 3),
        )


def used(client: Client) -> tuple[float, float]:
    """Return the processor seconds of all workers and their largest resident memory in GB."""
    spent = client.run(lambda: sum(psutil.Process().cpu_times()[:2])).values()
    held = client.run(lambda: psutil.Process().memory_info().rss).values()
    return sum(spent), max(held) / 1e9


def moved() -> int:
    """Return the bytes that have been sent over the loopback interface."""
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent


def cost(sizes: tuple[int, ...], part: int) -> None:
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder, cluster(2) as client:
            for i in range(0, n, part):
                path = Path(folder) / f"{i:012}.parquet"
                dl.simulate.write_log(
                    path, TRUTH, min(part, n), lists="free", flip_rate=0.1, random_state=i
                )
            dl.UtilityLearner().fit(f"{folder}/{0:012}.parquet", engine=client)  # compile
            for what in ("reading", "fit"):
                start, spent, before = time.perf_counter(), used(client)[0], moved()
                if what == "reading":
                    log = dl.io.DaskLog(f"{folder}/*.parquet", client)
                else:
                    dl.UtilityLearner().fit(log)
                seconds, after, memory = time.perf_counter() - start, *used(client)
                setting = {"pairs": n, "of": what, "processor_seconds": round(after - spent, 2)}
                row(
                    "cost",
                    seconds,
                    **setting,
                    worker_GB=round(memory, 2),
                    bytes_moved=moved() - before,
                )
            log.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that it runs")
    parser.add_argument(
        "--cost", action="store_true", help="what a log in parts costs, and nothing else"
    )
    options = parser.parse_args()
    quick = options.quick
    if options.cost:
        cost(
            *(
                ((20_000, 40_000), 10_000)
                if quick
                else ((1_000_000, 4_000_000, 16_000_000), 1_000_000)
            )
        )
        return
    if quick:
        fits((2000, 4000), (1,), (1, 7))
    else:
        fits((1_000_000, 4_000_000, 16_000_000), (1, 2, 4), (1, 2, 7, 20, 100))


if __name__ == "__main__":
    main()
