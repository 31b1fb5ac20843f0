"""Time of a fit in parts, from disk and over two processes, compared with a fit in memory.

python benchmarks/out_of_core.py [--quick] [--pairs N]
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
    """Return the seconds of a fit and the learner."""
    began = time.perf_counter()
    learner = dl.UtilityLearner().fit(log)
    return time.perf_counter() - began, learner


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small logs, to check that it runs")
    parser.add_argument("--pairs", type=int, default=20_000_000)
    options = parser.parse_args()
    truth = dl.simulate.ground_truth("D1")
    dl.UtilityLearner().fit(
        dl.simulate.preference_pairs(truth, 2000, lists="free", random_state=0)
    )  # compile
    small, large = (20_000, 100_000) if options.quick else (1_000_000, options.pairs)
    with tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for n in (small, large):
            path = Path(folder) / f"{n}.parquet"
            dl.simulate.write_log(path, truth, n, lists="free", flip_rate=0.1, random_state=n)
            for kind, memory in (("memory", "64GB"), ("disk", 1)):
                with dl.io.ParquetLog(path, memory=memory) as log:
                    seconds[n, kind], learner = timed(log)
        in_memory = seconds[large, "memory"]
        report = {
            "question": "out of core",
            "pairs": large,
            "seconds_in_memory": round(in_memory, 3),
            "time_per_pair_against_few": round(
                in_memory / large / (seconds[small, "memory"] / small), 3
            ),
            "disk_against_memory": round(seconds[large, "disk"] / in_memory, 3),
        }
        with dl.io.DaskLog(path, engine=2) as log:
            timed(log)
            in_processes, distributed = timed(log)
        report |= {
            "two_processes_against_threads": round(in_processes / in_memory, 3),
            "objective_difference": abs(distributed.objective_ / learner.objective_ - 1),
            "versions": {"dcglearn": dl.__version__, "python": platform.python_version()},
            "machine": platform.processor() or platform.machine(),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    sys.exit(main())
