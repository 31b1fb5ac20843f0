"""Time of the command line, compared with the import of the libraries that every fit needs.

One JSON line per command: the best processor seconds (user and system) of several calls, divided by those of ``import
numpy, numba, polars`` in turn with them; and the first call with an empty cache of compiled code, divided by later
ones. Bytecode is compiled before, as installers do. Last, ``doctor --compile``.

    python benchmarks/command_line.py [--quick]
"""

from __future__ import annotations

import compileall
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dcglearn as dl

OURS = Path(__file__).parents[1]
FLOOR = ["-c", "import numpy, numba, polars"]
LOG = str(OURS / "examples" / "side_by_side.jsonl")
COMMANDS = {
    "--help": "--help",
    "learn": f"learn {LOG} -o dcg.json --force",
    "learn --method qp": f"learn {LOG} -o dcg.json --force --method qp",
    "learn --holdout .3": f"learn {LOG} -o dcg.json --force --holdout .3",
    "evaluate": "evaluate qrels.txt run.txt --metric exponential-log2@10 --grades 4",
    "coherence": "coherence exponential-log2@5 linear-log2@5",
    "export": "export exponential-log2@5 --to quepid",
    "rank": "rank model data.svm -o scores.txt --force",
}


def inputs(folder: Path) -> None:
    """Write a run, judgements, and data with a linear ranker."""
    rng = np.random.default_rng(0)
    rows = [(q, d, rng.integers(4), rng.normal(size=5)) for q in range(50) for d in range(20)]
    (folder / "qrels.txt").write_text("".join(f"q{q} 0 d{d} {grade}\n" for q, d, grade, _ in rows))
    (folder / "run.txt").write_text("".join(f"q{q} Q0 d{d} 0 {x[0]:.6f} a\n" for q, d, _, x in rows))
    lines = (f"{g} qid:{q} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n" for q, _, g, x in rows)
    (folder / "data.svm").write_text("".join(lines))
    data = dl.Queries.from_groups(np.array([x for *_, x in rows]), np.array([row[2] for row in rows]), [20] * 50)
    dl.LinearRanker().fit(data).save(folder / "model")


def seconds_of(arguments: list[str], folder: Path, cache: Path) -> float:
    """Return the processor seconds of a Python process."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(OURS)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, cwd=folder, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(repeats: int) -> None:
    compileall.compile_dir(OURS / "dcglearn", quiet=2)
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name) / "cache"
        inputs(folder)
        calls = {"import numpy, numba, polars": FLOOR}
        calls |= {command: ["-m", "dcglearn", *words.split()] for command, words in COMMANDS.items()}
        first = {}
        for command, arguments in calls.items():
            shutil.rmtree(cache, ignore_errors=True)
            first[command] = seconds_of(arguments, folder, cache)
        calls |= {"doctor --compile": ["-m", "dcglearn", "doctor", "--compile"]}
        shutil.rmtree(cache)
        first["doctor --compile"] = seconds_of(calls["doctor --compile"], folder, cache)
        turns = [{c: seconds_of(words, folder, cache) for c, words in calls.items()} for _ in range(repeats)]
    later = {command: min(turn[command] for turn in turns) for command in calls}
    for command, seconds in later.items():
        row = {"question": "command_line", "command": command, "seconds": round(seconds, 3)}
        row["times_import"] = round(seconds / later["import numpy, numba, polars"], 2)
        print(json.dumps(row | {"first_against_later": round(first[command] / seconds, 2)}), flush=True)


if __name__ == "__main__":
    main(1 if "--quick" in sys.argv[1:] else 7)
