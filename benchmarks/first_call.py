"""Time of the import, of the first fit with its compilation, and of later fits.

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

LEARN = "import sys; from dcglearn.cli import main; main()"


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
        rows = {
            "import dcglearn": min(seconds_of("import dcglearn", cache=folder) for _ in range(3)) - bare,
            "learn 10,000 pairs, first call": seconds_of(LEARN, *learn, cache=folder),
            "learn 10,000 pairs, afterwards": min(seconds_of(LEARN, *learn, cache=folder) for _ in range(3)),
        }
    for name, seconds in rows.items():
        print(json.dumps({"question": "first_call", "what": name, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
