"""Time to read a log of each form, with lists of ten documents.

One JSON line per form: the best seconds of several processes, and the time per pair divided by that
of JSON lines in the native form. With --against, also the time divided by that of another checkout
of dcglearn, whose processes alternate with ours; forms that it does not read are left out. Last,
processor time on a long log, divided by that in which Polars reads the same bytes into the same
columns, in turn with it.

    python benchmarks/reading.py [--quick] [--against FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from in_turn import in_turn

import dcglearn as dl

OURS = Path(__file__).parents[1]
READ = """
import json, sys, time
import dcglearn as dl
best = {}
for path in sys.argv[1:]:
    for _ in range(4):
        began = time.perf_counter()
        try:
            dl.read_preferences(path)
        except dl.InputError:
            break
        best[path] = min(best.get(path, 1e9), time.perf_counter() - began)
print(json.dumps(best))
"""


def logs(folder: Path, n: int) -> dict[str, tuple[Path, int]]:
    """Write a log in each form; return the paths and the numbers of pairs."""
    rng = np.random.default_rng(0)
    lists = {side: rng.integers(0, 5, (n, 10)) for side in "ab"}
    native = pl.DataFrame(
        {
            "query": [f"q{i}" for i in range(n)],
            **{side: grades.tolist() for side, grades in lists.items()},
            "winner": rng.choice(["a", "b", "tie"], n),
            "weight": rng.integers(1, 4000, n) / 1000,
        }
    )
    few = native[: n // 10]
    cells = {f"{side}{i + 1}": grades[:, i] for side, grades in lists.items() for i in range(10)}
    long = pl.concat(
        few.select(
            "query", pl.lit(side).alias("side"), pl.col(side).alias("grade"), "winner"
        ).explode("grade")
        for side in "ab"
    ).with_columns((pl.int_range(pl.len()) % 10 + 1).alias("position"))
    paths = {
        "JSON lines": (folder / "log.jsonl", n),
        "JSON lines, one of them unusual": (folder / "unusual.jsonl", n // 10 + 1),
        "CSV": (folder / "log.csv", n),
        "Parquet": (folder / "log.parquet", n),
        "JSON array": (folder / "array.json", n // 10),
        "CSV, a column for each position": (folder / "wide.csv", n),
        "CSV, a row for each document": (folder / "long.csv", n // 10),
    }
    native.write_ndjson(paths["JSON lines"][0])
    native.write_parquet(paths["Parquet"][0])
    text = native.with_columns(pl.col("a", "b").cast(pl.List(pl.String)).list.join(" "))
    text.write_csv(paths["CSV"][0])
    unusual = few.write_ndjson() + json.dumps({"a": [0] * 10, "b": [1] * 10, "winner": "b"}) + "\n"
    paths["JSON lines, one of them unusual"][0].write_text(unusual, encoding="utf-8")
    paths["JSON array"][0].write_text(json.dumps(few.to_dicts()), encoding="utf-8")
    native.select("query", "winner", "weight").with_columns(**cells).write_csv(
        paths["CSV, a column for each position"][0]
    )
    long.write_csv(paths["CSV, a row for each document"][0])
    return paths


def seconds(source: Path, paths: list[str]) -> dict[str, float]:
    """Return the best seconds of one process that reads the files with the package in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", READ, *paths]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=source
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def beside_polars(folder: Path, n: int, repeats: int) -> None:
    """Print the processor time of reading n pairs of three forms, divided by Polars'."""
    forms = logs(folder, n)
    calls: dict[str, Callable[[Path], pl.DataFrame]] = {
        "JSON lines": pl.read_ndjson,
        "CSV": lambda path: pl.read_csv(path).with_columns(
            pl.col("a", "b").str.split(" ").cast(pl.List(pl.Int8))
        ),
        "Parquet": pl.read_parquet,
    }
    for name, reading in calls.items():
        path = forms[name][0]
        both = {"ours": partial(dl.read_preferences, path), "theirs": partial(reading, path)}
        ours, theirs = (min(times) for times in in_turn(both, repeats).values())
        row = {
            "question": "beside Polars",
            "what": name,
            "n": n,
            "seconds": ours,
            "times_reading": ours / theirs,
        }
        print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--against", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    sources = [OURS, *([asked.against.resolve()] if asked.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        forms = logs(Path(folder), 1000 if asked.quick else 100_000)
        files = [str(path) for path, _ in forms.values()]
        best: dict[Path, dict[str, float]] = {source: {} for source in sources}
        for _ in range(1 if asked.quick else 4):
            for source in sources:
                for path, time in seconds(source, files).items():
                    best[source][path] = min(best[source].get(path, time), time)
    plain, n_plain = forms["JSON lines"]
    for name, (path, n) in forms.items():
        ours = best[OURS][str(path)]
        per_pair = ours / n / (best[OURS][str(plain)] / n_plain)
        row = {"question": "reading", "what": name, "n": n, "seconds": round(ours, 4)}
        row["times_json_lines_per_pair"] = round(per_pair, 2)
        if asked.against and str(path) in best[sources[1]]:
            row["times_other_version"] = round(ours / best[sources[1]][str(path)], 3)
        print(json.dumps(row), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        beside_polars(Path(folder), 1000 if asked.quick else 1_000_000, 1 if asked.quick else 5)


if __name__ == "__main__":
    main()
