"""Time of later fits, of the first with its compilation, and of the import.

One JSON line per step; the cache of compiled code is empty at the first fit.

    python benchmarks/first_call.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEARN = "import sys; from dcglearn.cli.app import main; main()"


def seconds_of(code: str, *arguments: str, cache: str) -> float:
    began = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=environment, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log, dcg = str(Path(folder) / "log.jsonl"), str(Path(folder) / "dcg.json")
        seconds_of(LEARN, "simulate", "--pairs", "10000", "-o", log, cache=folder)
        learn = ("learn", log, "-o", dcg, "--force")
        bare = min(seconds_of("pass", cache=folder) for _ in range(3))
        first = seconds_of(LEARN, *learn, cache=folder)
        rows = {
            "learn 10,000 pairs": min(seconds_of(LEARN, *learn, cache=folder) for _ in range(3)),
            "learn 10,000 pairs, first call": first,
            "learn 10,000 pairs, --method qp": min(
                seconds_of(LEARN, *learn, "--method", "qp", cache=folder) for _ in range(3)
            ),
            "import dcglearn": min(seconds_of("import dcglearn", cache=folder) for _ in range(3)) - bare,
        }
    for name, seconds in rows.items():
        print(json.dumps({"question": "first_call", "what": name, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
