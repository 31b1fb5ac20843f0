"""Time and memory of a fit by number of pairs.

One JSON line per size, each in its own process: seconds of the fit, seconds per million pairs, and
the peak memory above that of the process after its imports, beside the 2K bytes per pair of the
log's codes.

    python benchmarks/scaling.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from dcglearn import Preferences, UtilityLearner, simulate


def peak_mb() -> float:
    """Return the peak memory of this process in MB.

    `getrusage` would include the parent's memory at the fork.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def fit(folder: Path, n: int) -> None:
    """Fit the log in the folder and print the row.

    A fit of two pairs comes first and pays the one-time costs, such as loading the kernels.
    """
    UtilityLearner().fit(Preferences(np.eye(3, dtype=int)[:2], np.eye(3, dtype=int)[1:]))
    before = peak_mb()
    lists = [np.load(folder / f"{side}.npy") for side in ("preferred", "other")]
    for side in lists:
        side.flags.writeable = False  # a log does not copy read-only arrays
    log = Preferences(*lists, n_grades=5)
    began = time.perf_counter()
    learner = UtilityLearner().fit(log)
    seconds = time.perf_counter() - began
    row = {
        "question": "scaling",
        "n": n,
        "seconds": seconds,
        "seconds_per_million": seconds / n * 1e6,
        "gap": learner.gap_,
        "codes_mb": 2 * log.depth * n / 1e6,
        "peak_above_imports_mb": peak_mb() - before,
    }
    row["allowed_mb"] = 1.2 * row["codes_mb"] + 100
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="up to 100,000 pairs only")
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        fit(Path(options.one[0]), int(options.one[1]))
        return
    for n in (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000, 10_000_000):
        with tempfile.TemporaryDirectory() as folder:
            log = simulate.preference_pairs(
                simulate.ground_truth("D1"), n, flip_rate=0.1, random_state=0
            )
            np.save(Path(folder) / "preferred.npy", log.preferred)
            np.save(Path(folder) / "other.npy", log.other)
            del log
            subprocess.run([sys.executable, __file__, "--one", folder, str(n)], check=True)


if __name__ == "__main__":
    main()
