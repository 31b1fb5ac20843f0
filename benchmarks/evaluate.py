"""Time of evaluation and of reading logs compared with other libraries.

One JSON line per measurement. First, from files to NDCG@10 of every query, for 1,000 queries of
1,000 documents: dcglearn, pytrec_eval (which reads the same files), ir_measures' command line and
ranx with a warm cache, the least processor time of each in its own process, with its imports.
Libraries that are not installed are left out with a message. Then, in turn in one process: the
same files, and logs of 1,000,000 pairs of lists of ten documents in each form, compared with
Polars reading them; and arrays, compared with scikit-learn.

    python benchmarks/evaluate.py [--quick]
"""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measuring import QUICK, least, process_seconds, show
from sklearn.metrics import ndcg_score

import dcglearn as dl

REPEATS = 1 if QUICK else 5
PEERS = {
    "dcglearn": "import dcglearn as dl; dl.evaluate({qrels!r}, {run!r}, 'nDCG@10').by_query()",
    "pytrec_eval": (
        "import pytrec_eval as p; "
        "q = p.parse_qrel(open({qrels!r})); r = p.parse_run(open({run!r})); "
        "p.RelevanceEvaluator(q, {{'ndcg_cut.10'}}).evaluate(r)"
    ),
    "ir_measures": (
        "import sys; sys.argv = ['ir_measures', {qrels!r}, {run!r}, 'nDCG@10', '-q']; "
        "import runpy; runpy.run_module('ir_measures', run_name='__main__')"
    ),
    "ranx": (
        "import ranx; ranx.evaluate(ranx.Qrels.from_file({qrels!r}, kind='trec'), "
        "ranx.Run.from_file({run!r}, kind='trec'), 'ndcg@10', return_mean=False)"
    ),
}


def files(folder: Path, n_queries: int, n_documents: int) -> dict[str, str]:
    """Write a run, and judgements of a tenth of its documents; return their paths."""
    rng = np.random.default_rng(0)
    run, qrels = folder / "run.txt", folder / "qrels.txt"
    with run.open("w") as ranked, qrels.open("w") as judged:
        for q in range(n_queries):
            names = rng.choice(10**6, n_documents, replace=False)
            scores = np.sort(rng.normal(size=n_documents))[::-1]
            lines = enumerate(zip(names, scores, strict=True))
            ranked.writelines(f"q{q} Q0 d{d:07} {i + 1} {s:.6f} sys\n" for i, (d, s) in lines)
            some = names[: n_documents // 10]
            judged.writelines(f"q{q} 0 d{d:07} {rng.integers(4)}\n" for d in some)
    return {"run": str(run), "qrels": str(qrels)}


def from_files(paths: dict[str, str]) -> None:
    ours = 0.0
    for name, code in PEERS.items():
        if find_spec(name) is None:
            print(f"{name} is left out: it is not installed", file=sys.stderr)
            continue
        seconds = process_seconds(code.format(**paths), repeats=REPEATS)
        ours = ours or seconds
        show("files", peer=name, seconds=round(seconds, 3), times_ours=round(seconds / ours, 2))


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

    # its forms
    named = {"JSON lines": "log.jsonl", "CSV": "log.csv", "Parquet": "log.parquet"}
    paths = {form: folder / name for form, name in named.items()}
    native.write_ndjson(paths["JSON lines"])
    native.write_parquet(paths["Parquet"])
    text = native.with_columns(pl.col("a", "b").cast(pl.List(pl.String)).list.join(" "))
    text.write_csv(paths["CSV"])
    return paths


def csv_of_lists(path: Path) -> pl.DataFrame:
    """Read a log by Polars alone, its lists of grades as numbers."""
    lists = pl.col("a", "b").str.split(" ").cast(pl.List(pl.Int8))
    return pl.read_csv(path).with_columns(lists)


def beside_polars(paths: dict[str, str], folder: Path, n: int) -> None:
    """Print the time of an evaluation and of reading logs, divided by Polars' on the same files."""
    forms = logs(folder, n)
    readers = {"JSON lines": pl.read_ndjson, "CSV": csv_of_lists, "Parquet": pl.read_parquet}

    def evaluated() -> Any:
        return dl.evaluate(paths["qrels"], paths["run"], "nDCG@10").by_query()

    def read() -> Any:
        return [pl.read_csv(path, separator=" ", has_header=False) for path in paths.values()]

    both: dict[str, Any] = {"evaluation": (evaluated, read)}
    for form, path in forms.items():
        both[f"log of {n:,} pairs, {form}"] = (
            lambda path=path: dl.read_preferences(path),
            lambda path=path, form=form: readers[form](path),
        )
    for what, calls in both.items():
        ours, theirs = least(dict(zip(("ours", "theirs"), calls, strict=True)), REPEATS)
        show("beside Polars", what=what, seconds=ours, times_reading=ours / theirs)


def from_arrays(n_queries: int) -> None:
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 5, (n_queries, 1000)), rng.normal(size=(n_queries, 1000))
    for depth in (10, 1000):
        dcg = dl.DCG.standard(5, depth, "linear")
        both = {
            "ours": lambda dcg=dcg: dl.evaluate_arrays(grades, scores, metrics=dcg),
            "theirs": lambda depth=depth: ndcg_score(grades, scores, k=depth),
        }
        ours, theirs = least(both, REPEATS)
        show("arrays", peer="scikit-learn", depth=depth, seconds=ours, times_ours=theirs / ours)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = files(folder, *((20, 50) if QUICK else (1000, 1000)))
        from_files(paths)
        beside_polars(paths, folder, 1000 if QUICK else 1_000_000)
    from_arrays(50 if QUICK else 1000)


if __name__ == "__main__":
    main()
