"""Time of the first fit and of later ones, in a process each, and of the imports.

One JSON line per step, in seconds of processor time: the first call has an empty home. Of the
import of a learner, most is that of scikit-learn's base class, which its contract needs.

    python benchmarks/first_call.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import dcglearn as dl

LEARN = "import sys; from dcglearn.cli.app import main; main()"


def seconds_of(code: str, *arguments: str, home: str) -> float:
    environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        log, dcg = str(Path(folder) / "log.jsonl"), str(Path(folder) / "dcg.json")
        truth = dl.simulate.ground_truth("D1")
        dl.simulate.preference_pairs(truth, 10_000, flip_rate=0.1, random_state=0).save(log)
        learn = ("learn", log, "-o", dcg, "--force")
        rows = {"learn 10,000 pairs, first call": seconds_of(LEARN, *learn, home=home)}

        def least(code: str, *arguments: str) -> float:
            return min(seconds_of(code, *arguments, home=home) for _ in range(5))

        bare = least("pass")
        rows["learn 10,000 pairs"] = least(LEARN, *learn)
        rows["learn 10,000 pairs, --method qp"] = least(LEARN, *learn, "--method", "qp")
        rows["import dcglearn"] = least("import dcglearn") - bare
        rows["import of DCGLearner"] = least("import dcglearn; dcglearn.DCGLearner") - bare
        rows["of this, sklearn.base"] = least("import sklearn.base") - least("import numpy")
    for name, seconds in rows.items():
        print(
            json.dumps({"question": "first_call", "what": name, "seconds": round(seconds, 3)}),
            flush=True,
        )


if __name__ == "__main__":
    main()
