"""Time and memory of the command line, beside the import of the libraries that every fit needs.

One JSON line per command: the best processor seconds (user and system) of several calls, divided by
those of ``import numpy, polars`` in turn with them; the first call ever, with an empty home,
divided by later ones; and the largest memory. Bytecode is compiled before, as installers do.

    python benchmarks/command_line.py [--quick]
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dcglearn as dl

OURS = Path(__file__).parents[1]
FLOOR = ["-c", "import numpy, polars"]
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

METER = """
import json, os, subprocess, sys
_, status, used = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A small process that measures another: Linux counts the memory of the one that started it as its
own.
"""


def inputs(folder: Path) -> None:
    """Write a run, judgements, and data with a linear ranker."""
    rng = np.random.default_rng(0)
    rows = [(q, d, rng.integers(4), rng.normal(size=5)) for q in range(50) for d in range(20)]
    (folder / "qrels.txt").write_text("".join(f"q{q} 0 d{d} {grade}\n" for q, d, grade, _ in rows))
    (folder / "run.txt").write_text(
        "".join(f"q{q} Q0 d{d} 0 {x[0]:.6f} a\n" for q, d, _, x in rows)
    )
    lines = (
        f"{g} qid:{q} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) + "\n"
        for q, _, g, x in rows
    )
    (folder / "data.svm").write_text("".join(lines))
    data = dl.Queries.from_groups(
        np.array([x for *_, x in rows]), np.array([row[2] for row in rows]), [20] * 50
    )
    dl.LinearRanker().fit(data).save(folder / "model")


def cost_of(arguments: list[str], folder: Path, home: Path) -> tuple[float, float]:
    """Return the processor seconds of a Python process, and its largest memory in MB."""
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "PYTHONPATH": str(OURS),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", METER, sys.executable, *arguments]
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    status, seconds, kilobytes = json.loads(run.stdout)
    assert status == 0, run.stderr
    return seconds, kilobytes / 1000


def main(repeats: int) -> None:
    compileall.compile_dir(OURS / "dcglearn", quiet=2)
    with tempfile.TemporaryDirectory() as name:
        folder, floor = Path(name), "import numpy, polars"
        inputs(folder)
        calls = {floor: FLOOR} | {
            command: ["-m", "dcglearn", *words.split()] for command, words in COMMANDS.items()
        }
        first = {}
        for i, (command, arguments) in enumerate(calls.items()):
            (home := folder / f"home{i}").mkdir()
            first[command], _ = cost_of(arguments, folder, home)
        turns = [
            {c: cost_of(words, folder, folder / "home0") for c, words in calls.items()}
            for _ in range(repeats)
        ]

    later = {command: min(turn[command][0] for turn in turns) for command in calls}
    for command, seconds in later.items():
        row = {"question": "command_line", "command": command, "seconds": round(seconds, 3)}
        row["times_import"] = round(seconds / later[floor], 2)
        row["first_against_later"] = round(first[command] / seconds, 2)
        row["peak_mb"] = round(max(turn[command][1] for turn in turns))
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(1 if "--quick" in sys.argv[1:] else 7)
