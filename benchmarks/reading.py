"""Time to read a log of each form, with lists of ten documents.

One JSON line per form: processor time on a long log, divided by that in which Polars reads the same
bytes into the same columns, in turn with it.

    python benchmarks/reading.py [--quick]
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from in_turn import in_turn

import dcglearn as dl


def logs(folder: Path, n: int) -> dict[str, Path]:
    """Write a log of n pairs in each form, and return the paths."""
    rng = np.random.default_rng(0)
    native = pl.DataFrame(
        {
            "query": [f"q{i}" for i in range(n)],
            **{side: rng.integers(0, 5, (n, 10)).tolist() for side in "ab"},
            "winner": rng.choice(["a", "b", "tie"], n),
            "weight": rng.integers(1, 4000, n) / 1000,
        }
    )
    named = {"JSON lines": "log.jsonl", "CSV": "log.csv", "Parquet": "log.parquet"}
    paths = {form: folder / name for form, name in named.items()}
    native.write_ndjson(paths["JSON lines"])
    native.write_parquet(paths["Parquet"])
    text = native.with_columns(pl.col("a", "b").cast(pl.List(pl.String)).list.join(" "))
    text.write_csv(paths["CSV"])
    return paths


def beside_polars(folder: Path, n: int, repeats: int) -> None:
    """Print the processor time of reading n pairs of each form, divided by Polars'."""
    forms = logs(folder, n)
    calls: dict[str, Callable[[Path], pl.DataFrame]] = {
        "JSON lines": pl.read_ndjson,
        "CSV": lambda path: pl.read_csv(path).with_columns(
            pl.col("a", "b").str.split(" ").cast(pl.List(pl.Int8))
        ),
        "Parquet": pl.read_parquet,
    }
    for name, reading in calls.items():
        path = forms[name]
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


def main(quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        beside_polars(Path(folder), 1000 if quick else 1_000_000, 1 if quick else 5)


if __name__ == "__main__":
    main("--quick" in sys.argv)
