"""Does a fit in parts cost more than one in memory? Time per pair on disk, in chunks and over two processes, as ratios.

Usage: python benchmarks/out_of_core.py [--quick] [--pairs N]
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

import dcglearn as dl


def timed(log):
    """Return the seconds of a fit, after one on a little log that compiles what is to be compiled."""
    began = time.perf_counter()
    learner = dl.UtilityLearner().fit(log)
    return time.perf_counter() - began, learner


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs, to see that it runs")
    parser.add_argument("--pairs", type=int, default=20_000_000)
    asked = parser.parse_args()
    truth = dl.simulate.ground_truth("D1")
    dl.UtilityLearner().fit(dl.simulate.preference_pairs(truth, 2000, lists="free", seed=0))
    few, many = (20_000, 100_000) if asked.quick else (1_000_000, asked.pairs)
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for n in (few, many):
            path = Path(folder) / f"{n}.parquet"
            dl.simulate.write_log(path, truth, n, lists="free", flip_rate=0.1, seed=n)
            for kind, options in (("memory", {"memory": "64GB"}), ("disk", {"memory": 1})):
                with dl.ParquetLog(path, **options) as log:
                    found[n, kind], learner = timed(log)
        report = {
            "question": "out of core",
            "pairs": many,
            "seconds_in_memory": round(found[many, "memory"], 3),
            "time_per_pair_against_few": round(found[many, "memory"] / many / (found[few, "memory"] / few), 3),
            "disk_against_memory": round(found[many, "disk"] / found[many, "memory"], 3),
        }
        with dl.DaskLog(path, engine=2) as log:
            timed(log)
            seconds, far = timed(log)
        report |= {
            "two_processes_against_threads": round(seconds / found[many, "memory"], 3),
            "objective_difference": abs(far.objective_ / learner.objective_ - 1),
            "versions": {"dcglearn": dl.__version__, "python": platform.python_version()},
            "machine": platform.processor() or platform.machine(),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    sys.exit(main())
