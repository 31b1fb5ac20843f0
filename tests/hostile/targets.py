"""What is attacked: every reader of files with good files and a referee, and commands that read
several files.
"""

import contextlib
import gzip
import io
import json
import sys
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dcglearn.cli.app import main
from dcglearn.foundation.plain_text import escaped
from dcglearn.foundation.sources import zstd
from dcglearn.io import read_judgements, read_runs
from dcglearn.judge.candidates import read_candidates
from dcglearn.judge.pages import asked_by_page, page_of
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.model_files import load_ranker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.svmlight import read_queries
from dcglearn.rankers.trees import BoostedRanker
from dcglearn.reading.read import read_preferences, read_ratings
from tests.hostile import referees
from tests.hostile.referees import Refused
from tests.makers import forget_command


@dataclass(frozen=True)
class Target:
    """A reader: `good` files by name, `read` of a path, and what a `referee` says the bytes hold,
    if there is one.
    """

    good: dict[str, bytes]
    read: Callable[[Path], Any]
    referee: Callable[[bytes], Any] | None = None


def _judgements(path: Path) -> list:
    return sorted(read_judgements(path).frame.select("query", "document", "grade").rows())


def _runs(path: Path) -> list:
    return sorted((run.name, *row) for run in read_runs(path) for row in run.frame.rows())


def _sorted(referee: Callable[[bytes], list]) -> Callable[[bytes], list]:
    return lambda data: sorted(referee(data))


def _queries(path: Path) -> list:
    read = read_queries(path)
    starts = [q for q, n in zip(read.names.tolist(), read.sizes, strict=True) for _ in range(n)]
    rows = [{i + 1: x for i, x in enumerate(row.tolist()) if x} for row in read.features]
    return list(zip(read.grades.tolist(), starts, rows, strict=True))


def _metric(path: Path) -> tuple:
    dcg = DCG.load(path)
    return tuple(dcg.gains.tolist()), tuple(dcg.discounts.tolist())


def _inflated(magic: bytes, member_of: Callable[[], Any]) -> Callable[[bytes], list]:
    """Return the referee of a compressed file of judgements, whose members begin with `magic`."""

    def read(data: bytes) -> list:
        try:
            inside = referees.inflated(data, magic, member_of)
        except (EOFError, OSError, ValueError, zlib.error) as error:
            raise Refused from error
        return sorted(referees.qrels(inside))

    return read


FEATURES = np.random.default_rng(0).normal(size=(12, 3))
GRADED = np.arange(12) % 3, np.arange(12) // 4


def _model(path: Path) -> None:
    assert np.isfinite(load_ranker(path).predict(FEATURES)).all(), "a score is not finite"


def _visible(path: Path) -> int:
    return read_preferences(path, pad=True, as_is=True).visible().rank


def _candidates(path: Path) -> bytes:
    """Write a page about candidates, as ``dcglearn ask`` does."""
    pairs = read_candidates(path)
    (asked,) = asked_by_page(pairs, np.arange(len(pairs)), [1] * len(pairs))
    return page_of(pairs, asked, "page")


def _parquet(frame: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    frame.write_parquet(written)
    return written.getvalue()


QRELS = "".join(f"{q} 0 D{d} {(q * d) % 4}\n" for q in range(1, 4) for d in range(1, 6)).encode()
RUN = "".join(
    f"{q} Q0 D{d} {d} {9.5 - d} {t}\n" for t in "ab" for q in range(1, 4) for d in range(1, 6)
).encode()
ROWS = [line.split() for line in QRELS.decode().splitlines()]
CSV = ("query,document,grade\n" + "".join(f"{q},{d},{g}\n" for q, _, d, g in ROWS)).encode()
QUOTED = (
    'qid,"docno",label,note\n' + "".join(f'{q},"{d}",{g},"x, y"\n' for q, _, d, g in ROWS)
).encode()
JSONL = "".join(
    json.dumps({"query": q, "document": d, "grade": int(g)}) + "\n" for q, _, d, g in ROWS
).encode()
NESTED = json.dumps(
    {str(q): {f"D{d}": (q * d) % 4 for d in range(1, 6)} for q in range(1, 4)}, indent=1
).encode()
LOG_ROWS = [(f"q{i % 3}", [i % 3, 2, 0], [1, i % 4, 1], "ab"[i % 2], 1 + i / 2) for i in range(12)]
LOG_KEYS = ("query", "a", "b", "winner", "weight")
LOG = "".join(json.dumps(dict(zip(LOG_KEYS, row, strict=True))) + "\n" for row in LOG_ROWS).encode()
LOG_CSV = (
    "a,b,winner,rater\n"
    + "".join(f"{i % 3} 2 0,1 {i % 4} 1,{'ab'[i % 2]},ann\n" for i in range(12))
).encode()
LOG_WIDE = (
    "left_1;left_2;right_1;right_2;winner\n"
    + "".join(f"{i % 3};2;1;{i % 4};{i % 2 + 1}\n" for i in range(12))
).encode()
LOG_ARRAY = b"[" + LOG.strip().replace(b"\n", b",\n") + b"]"
QUEPID = b"query,docid,rating\nbeer,d1,3\nbeer,d2,0\nwine\nwine,d3,1\n"
RATINGS = "".join(
    json.dumps({"list": [i % 3, 1], "rating": i % 5, "group": f"u{i % 2}"}) + "\n"
    for i in range(12)
).encode()
SVM = "".join(
    f"{i % 3} qid:{i // 4} 1:{i / 7:.3f} 2:{i % 5} 3:0.5 # docid = D{i}\n" for i in range(12)
).encode()
METRIC = json.dumps(
    DCG([0, 1, 3.5], [1, 0.6, 0.5], ("bad", "fair", "good"), ("a note",)).to_dict()
).encode()
CANDIDATES = "".join(
    json.dumps(
        {
            **{"query": f"q{i}", "intent": "why", "a": [i % 3, 2], "b": [1, i % 4]},
            **{"items_a": [{"title": "One", "url": "https://example.org/1"}, None]},
            **{"items_b": ["Two", {"title": "Three", "snippet": "s"}]},
        }
    )
    + "\n"
    for i in range(6)
).encode()
PAIRS = pl.DataFrame(
    {"a": [[1, 0], [2, 1]] * 8, "b": [[0, 1], [1, 2]] * 8, "winner": ["a", "b"] * 8}
)


TABLES = {
    # runs and judgements
    "qrels": Target(
        {"q.txt": QRELS, "t.txt": QRELS.replace(b" ", b"\t")}, _judgements, _sorted(referees.qrels)
    ),
    "runs": Target({"r.txt": RUN, "t.txt": RUN.replace(b" ", b"\t")}, _runs, _sorted(referees.run)),
    "judgements in CSV": Target(
        {"q.csv": CSV, "q.tsv": QUOTED}, _judgements, _sorted(referees.csv_table)
    ),
    "judgements in JSON lines": Target(
        {"q.jsonl": JSONL}, _judgements, _sorted(referees.json_table)
    ),
    "judgements in nested JSON": Target(
        {"q.json": NESTED}, _judgements, _sorted(referees.nested_json)
    ),
    "judgements of Quepid": Target({"q.csv": QUEPID}, _judgements),
    # compressed
    "judgements in Parquet": Target({"q.parquet": _parquet(pl.read_csv(CSV))}, _judgements),
    "judgements in gzip": Target(
        {"q.gz": gzip.compress(QRELS, mtime=0)},
        _judgements,
        _inflated(b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    ),
    "judgements in zstd": Target({"q.zst": zstd.compress(QRELS)}, _judgements),
}
LOGS = {
    "preferences": Target({"l.jsonl": LOG, "l.csv": LOG_CSV}, read_preferences),
    "preferences in other forms": Target(
        {"w.csv": LOG_WIDE, "a.json": LOG_ARRAY}, read_preferences
    ),
    "preferences in zstd": Target(
        {"l.jsonl.zst": zstd.compress(LOG), "l.csv.zst": zstd.compress(LOG_CSV)}, read_preferences
    ),
    "visible directions": Target({"l.jsonl": LOG, "l.csv": LOG_CSV}, _visible),
    "candidates": Target({"c.jsonl": CANDIDATES}, _candidates),
    "preferences in Parquet": Target({"l.parquet": _parquet(PAIRS)}, read_preferences),
    "ratings": Target({"r.jsonl": RATINGS}, read_ratings),
}
FILES = {
    "svmlight": Target({"s.svm": SVM}, _queries, referees.svmlight),
    "metrics": Target({"m.json": METRIC}, _metric, referees.metric),
}


def targets(folder: Path) -> dict[str, Target]:
    """Return the readers; what is too large for a constant is made in `folder`."""
    # models
    queries, made = Queries(FEATURES, *GRADED), {}
    trees = BoostedRanker(n_trees=3, min_data_in_leaf=1)
    for name, ranker in (("models", RidgeRanker()), ("trees", trees)):
        file = folder / f"{name}.json"
        ranker.fit(queries).save(file)
        made[name] = Target({file.name: file.read_bytes()}, _model)
    return TABLES | LOGS | FILES | made


COMMANDS: dict[str, tuple[list[str], dict[str, bytes]]] = {
    "evaluate": (["evaluate", "qrels.txt", "run.txt", "-q"], {"qrels.txt": QRELS, "run.txt": RUN}),
    "compare": (["compare", "q.csv", "run.txt"], {"q.csv": CSV, "run.txt": RUN}),
    "show": (["show", "m.json"], {"m.json": METRIC}),
    "export": (["export", "m.json", "--to", "lightgbm", "--lossy"], {"m.json": METRIC}),
    "coherence": (
        ["coherence", "m.json", "linear-log2@3", "--documents", "2,1,0"],
        {"m.json": METRIC},
    ),
    "convert": (["convert", "log.jsonl"], {"log.jsonl": LOG}),
    "convert ratings": (["convert", "r.jsonl", "--ratings"], {"r.jsonl": RATINGS}),
    "convert columns": (["convert", "w.csv", "--winner-words", "1=a,2=b"], {"w.csv": LOG_WIDE}),
    "ask": (["ask", "c.jsonl", "-n", "2"], {"c.jsonl": LOG}),
    "train": (["train", "s.svm", "-o", "m", "--objective", "ridge", "--force"], {"s.svm": SVM}),
}
"""Commands, and the good files that they read from the working folder."""


def run_command(words: list[str]) -> str:
    """Run a command in this process; return "accepted" or "refused", and raise AssertionError for
    anything else.
    """
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["dcglearn", *words]
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    finally:
        sys.argv = before
        forget_command()
    assert status in (0, 2), f"status {status}: {err.getvalue()[-500:]}"
    for text in (out.getvalue(), err.getvalue()):
        assert escaped(text) == text, "a control character was printed"
        assert "Traceback" not in text, text
    return "accepted" if status == 0 else "refused"
