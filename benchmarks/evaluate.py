"""Time of evaluation compared with other libraries.

One JSON line per measurement: median seconds, and the time divided by dcglearn's. First, from files
to NDCG@10 of every query, for 1,000 queries of 1,000 documents: dcglearn, pytrec_eval (which reads
the same files), ir_measures' command line and ranx with a warm cache, each in its own process, with
its imports; and in one process, the best processor time compared with that in which Polars reads
the same files. Then arrays, compared with scikit-learn.
Libraries that are not installed are left out with a message.

    python benchmarks/evaluate.py [--quick]
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from in_turn import in_turn

import dcglearn as dl

PEERS = {
    "dcglearn": "import dcglearn as dl; dl.evaluate({qrels!r}, {run!r}, 'nDCG@10').by_query()",
    "pytrec_eval": (
        "import pytrec_eval as p; "
        "q = p.parse_qrel(open({qrels!r})); r = p.parse_run(open({run!r})); "
        "p.RelevanceEvaluator(q, {{'ndcg_cut.10'}}).evaluate(r)"
    ),
    "ir_measures": "import sys; sys.argv = ['ir_measures', {qrels!r}, {run!r}, 'nDCG@10', '-q']; "
    "import runpy; runpy.run_module('ir_measures', run_name='__main__')",
    "ranx": "import ranx; ranx.evaluate(ranx.Qrels.from_file({qrels!r}, kind='trec'), "
    "ranx.Run.from_file({run!r}, kind='trec'), 'ndcg@10', return_mean=False)",
}


def files(folder: Path, n_queries: int, n_documents: int) -> dict[str, str]:
    rng = np.random.default_rng(0)
    run, qrels = folder / "run.txt", folder / "qrels.txt"
    with run.open("w") as ranked, qrels.open("w") as judged:
        for q in range(n_queries):
            names = rng.choice(10**6, n_documents, replace=False)
            scores = np.sort(rng.normal(size=n_documents))[::-1]
            lines = enumerate(zip(names, scores, strict=True))
            ranked.writelines(f"q{q} Q0 d{d:07} {i + 1} {s:.6f} sys\n" for i, (d, s) in lines)
            judged.writelines(
                f"q{q} 0 d{d:07} {rng.integers(4)}\n" for d in names[: n_documents // 10]
            )
    return {"run": str(run), "qrels": str(qrels)}


def seconds_of(call: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats + 1):  # the first call warms caches
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def from_files(paths: dict[str, str], repeats: int) -> None:
    ours = 0.0
    for name, code in PEERS.items():
        command = [sys.executable, "-c", code.format(**paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name} is left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            continue
        seconds = seconds_of(
            lambda c=command: subprocess.run(c, capture_output=True, check=True), repeats
        )
        ours = ours or seconds
        row = {
            "question": "files",
            "peer": name,
            "seconds": round(seconds, 3),
            "times_ours": round(seconds / ours, 2),
        }
        print(json.dumps(row), flush=True)


def beside_reading(paths: dict[str, str], repeats: int) -> None:
    """Print an evaluation's processor time divided by Polars' time to read the same files."""
    import polars as pl

    def ours() -> Any:
        return dl.evaluate(paths["qrels"], paths["run"], "nDCG@10").by_query()

    def reading() -> Any:
        return [pl.read_csv(path, separator=" ", has_header=False) for path in paths.values()]

    evaluated, read = (
        min(times) for times in in_turn({"ours": ours, "reading": reading}, repeats).values()
    )
    row = {
        "question": "reading",
        "peer": "dcglearn",
        "seconds": evaluated,
        "times_reading": evaluated / read,
    }
    print(json.dumps(row), flush=True)


def from_arrays(n_queries: int, repeats: int) -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 5, (n_queries, 1000)), rng.normal(size=(n_queries, 1000))
    for depth in (10, 1000):
        dcg = dl.DCG.standard(5, depth, "linear")
        ours = seconds_of(lambda d=dcg: dl.evaluate_arrays(grades, scores, metrics=d), repeats)
        theirs = seconds_of(lambda k=depth: ndcg_score(grades, scores, k=k), repeats)
        row = {
            "question": "arrays",
            "peer": "scikit-learn",
            "depth": depth,
            "seconds": ours,
            "scikit_learn": theirs,
            "times_ours": theirs / ours,
        }
        print(json.dumps(row), flush=True)


def main(quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = files(Path(folder), *((20, 50) if quick else (1000, 1000)))
        from_files(paths, 1 if quick else 5)
        beside_reading(paths, 3 if quick else 9)
    from_arrays(50 if quick else 1000, 1 if quick else 9)


if __name__ == "__main__":
    main("--quick" in sys.argv)
