"""Small logs of known kinds, files of tests, the command line run in this process, and clusters
that start fast.
"""

import contextlib
import io
import json
import logging
import lzma
import multiprocessing
import signal
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, settings

from dcglearn.cli.app import main
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import metric
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import read_ratings
from dcglearn.simulate import ground_truth, machine_verdicts, preference_pairs

SHARED = Path(__file__).parents[2] / "shared" / "data"
TRUTH = DCG(np.arange(1.0, 6), 1 / np.log(np.arange(10) + 2))
PAPER_LIST = np.repeat(np.arange(5), 2).astype(np.int8)


def random_lists(
    n: int, kind: str, rng: np.random.Generator, depth: int = 10, n_grades: int = 5
) -> np.ndarray:
    """Return n lists: permutations of the paper's list, free ones, or free ones with unknown
    grades."""
    if kind == "permutations":
        return rng.permuted(np.tile(PAPER_LIST, (n, 1)), axis=1)
    lowest = {"free": 0, "unknown": -1}[kind]
    return rng.integers(lowest, n_grades, (n, depth)).astype(np.int8)


def random_log(
    n: int, kind: str = "free", seed: int = 0, noise: float = 0.0, **columns: object
) -> Preferences:
    """Return n pairs judged by D1, a share of them flipped."""
    rng = np.random.default_rng(seed)
    first, second = random_lists(n, kind, rng), random_lists(n, kind, rng)
    swap = (TRUTH.score(first) < TRUTH.score(second)) ^ (rng.random(n) < noise)
    both = np.stack([first, second], axis=1)
    both[swap] = both[swap, ::-1]
    return Preferences(both, n_grades=5, **columns)


def simulated_log(
    n: int, lists: str = "free", *, machine: bool = False, **options: object
) -> Preferences:
    """Return n pairs that simulated people, or a simulated machine, judge by D1."""
    judge = machine_verdicts if machine else preference_pairs
    return judge(ground_truth("D1"), n, lists=lists, random_state=0, **options)


def rich_log(n: int, seed: int = 0) -> Preferences:
    """Return a noisy log with every column that counts."""
    rng = np.random.default_rng(seed)
    columns = {
        "weight": rng.exponential(1, n),
        "tie": rng.random(n) < 0.1,
        "rater": rng.choice(["ann", "bob", "cy"], n),
        "strength": rng.integers(1, 4, n),
    }
    return random_log(n, "unknown", seed=seed, noise=0.15, **columns)


COMMAND = [sys.executable, "-c", "from dcglearn.cli.app import main; main()"]
"""The command line in a process of its own."""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def write_lines(path: Path, records) -> Path:
    """Write records as JSON lines, and return the path."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def write_svmlight(path: Path, queries) -> Path:
    """Write queries in the format of SVMlight, and return the path."""
    rows = zip(queries.grades, queries.qid, queries.features, strict=True)
    lines = [
        f"{g} qid:{q} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(x.tolist(), 1) if v)
        for g, q, x in rows
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_trec(folder: Path, judged: dict, runs: dict) -> None:
    """Write judgements to qrels.txt, and runs to files of their names, in TREC's formats."""
    lines = [f"{q} 0 {d} {g}\n" for q, grades in judged.items() for d, g in grades.items()]
    (folder / "qrels.txt").write_text("".join(lines))
    for name, run in runs.items():
        lines = [
            f"{q} Q0 {d} 1 {s} {name}\n" for q, scores in run.items() for d, s in scores.items()
        ]
        (folder / f"{name}.txt").write_text("".join(lines))


def noisy_runs(
    names: dict[str, float], n_queries: int, n_documents: int, seed: int = 0
) -> tuple[dict, dict]:
    """Return random judgements of grades 0 to 3, and by name the runs whose scores are grades plus
    so much noise.
    """
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 4, (n_queries, n_documents))

    def by_query(values: np.ndarray) -> dict:
        return {
            f"q{i:02}": {f"d{j:02}": x for j, x in enumerate(row)}
            for i, row in enumerate(values.tolist())
        }

    return by_query(grades), {
        name: by_query(grades + x * rng.normal(size=grades.shape)) for name, x in names.items()
    }


def refused(message, function, /, *arguments, **named):
    """Assert that the call raises an InputError whose message matches, and return the message."""
    __tracebackhide__ = True
    with pytest.raises(InputError, match=message) as error:
        function(*arguments, **named)
    return str(error.value)


def forget_command():
    """Undo what lasts as long as a process of a command's own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    logging.getLogger("dcglearn").handlers.clear()
    logging.getLogger("dcglearn").setLevel(logging.NOTSET)


def call(monkeypatch, capsys, *arguments):
    """Run ``dcglearn`` in this process, which is faster; return status, output and words."""
    monkeypatch.setattr(sys, "argv", ["dcglearn", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    forget_command()
    return end.value.code or 0, out, err


quick = settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rated_pairs(lists, ratings, group=None, segment=None, weight=None, **options):
    """Return the pairs of rated lists in arrays."""
    table = {"list": lists, "rating": ratings, "group": group, "segment": segment, "weight": weight}
    given = {name: values for name, values in table.items() if values is not None}
    return read_ratings(pl.DataFrame(given), **options)


def columns(log):
    names = ("preferred", "other", "weight", "tie", "strength", "margin", "rater", "query")
    return {n: None if getattr(log, n) is None else getattr(log, n).tolist() for n in names} | {
        "n_grades": log.n_grades,
        "names": log.grade_names,
    }


def rows(log):
    return [
        (tuple(a), tuple(b))
        for a, b in zip(log.preferred.tolist(), log.other.tolist(), strict=True)
    ]


IMPORTED = "dcglearn.estimators.learners"
"""What the workers need of the package."""


@contextlib.contextmanager
def forked_workers():
    """Within it, workers that are started here are forks, which saves each its imports; Windows has
    no forks.
    """
    import dask
    from distributed.utils import get_mp_context

    if sys.platform == "win32":
        yield
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # sets Dask's own list of what is imported
        multiprocessing.set_forkserver_preload(
            ["distributed", "pandas", "lightgbm", "scipy.optimize", IMPORTED]
        )
        yield


def unpacked(path, folder):
    """Return the copy in a folder of a file that is compressed by xz."""
    copy = folder / path.stem
    copy.write_bytes(lzma.decompress(path.read_bytes()))
    return copy


@contextlib.contextmanager
def cluster_of(n_workers):
    distributed = pytest.importorskip("distributed")
    with (
        forked_workers(),
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=None,
            memory_limit=0,
            silence_logs=60,
        ) as cluster,
    ):
        yield cluster


def list_metrics(n_grades, depth):
    """Return ERR, RBP and the best grade by name, all with one depth."""
    words = (f"{word}@{depth}" for word in ("ERR", "RBP(p=0.8)", "BestGrade", "BestGradeRank"))
    return {word: metric(word, n_grades) for word in words}
