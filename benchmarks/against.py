"""Time of kernels compared with those of another commit, in turn in one run.

One JSON line per kernel: the median over turns of the processor time of this checkout divided by
that of the commit (the last tag, or else the parent of the last commit), and an interval that holds
the true median with 95% (its ends are two of the ratios, by the binomial distribution). Both see
the same inputs. What the other commit cannot do is left out. With --most, the exit status is 1 if
an interval lies above it.

    python benchmarks/against.py [COMMIT] [--quick] [--only WORD] [--turns 15] [--most 1.05]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dcglearn as dl

OURS = Path(__file__).parents[1]


def ordered(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (2, n, 10), np.int8)
    lead = ((2.0 ** lists[0] - 2.0 ** lists[1]) / np.log2(np.arange(2, 12))).sum(
        axis=1
    ) + rng.normal(0, 3, n)
    first = (lead > 0)[:, None]
    return np.where(first, *lists), np.where(first, *lists[::-1])


def fit(learner: Any, n: int) -> Callable[[], Any]:
    pairs = dl.Preferences(*ordered(n), 5)
    return lambda: learner.fit(pairs)


def smooth(kind: Any, n_queries: int, length: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    scores, grades = rng.normal(size=n_queries * length), rng.integers(0, 5, n_queries * length)
    loss, offsets = kind(dl.DCG.standard(5, 10), depth=None), np.arange(n_queries + 1) * length
    return lambda: loss(scores, grades, offsets, np.full(n_queries, 1 / n_queries))


def likelihood(n: int, n_levels: int = 0, n_raters: int = 1) -> Callable[[], Any]:
    """Return a function that sums the likelihood over n judgements.

    With `n_levels`, judgements have strengths and ties; several raters have position biases.
    """
    from dcglearn.learning.pairs import CURVATURE, Pairs, Points

    rng, one = np.random.default_rng(1), np.ones((1, 1))
    level = rng.integers(0, n_levels + 1, n).astype(np.int8) if n_levels else np.ones(1, np.int8)
    rater = rng.integers(0, n_raters, n).astype(np.int32) if n_raters > 1 else np.zeros(1, np.int32)
    way = rng.choice([-1, 1], n).astype(np.int8) if n_raters > 1 else np.zeros(1, np.int8)
    judged = Pairs(*ordered(n), level, rater, np.ones(1), way)

    thresholds = 0.3 * np.arange(n_levels + 1.0) if n_levels else np.zeros(2)
    errors = np.full((1, n_raters), 0.1)
    at = Points(
        np.arange(5.0)[None] / 4,
        1 / np.log2(np.arange(2, 12))[None],
        one * (*thresholds, np.inf),
        errors,
        biases=errors if n_raters > 1 else None,
    )
    return lambda: [judged.sums(at, CURVATURE) for _ in range(-(-100_000 // n))]


def pair_sums(n: int) -> Callable[[], Any]:
    from dcglearn.learning.pair_sums import QPPairs

    pairs = QPPairs(*ordered(n), np.ones(1), np.ones(1))
    weights = np.outer(1 / np.log2(np.arange(2, 12)), np.arange(5.0) / 20)
    return lambda: [pairs.evaluate(weights) for _ in range(-(-100_000 // n))]


def arrays(n_queries: int, length: int) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    grades, scores = (
        rng.integers(0, 5, (n_queries, length)),
        rng.normal(size=(n_queries, length)).round(2),
    )
    return lambda: dl.evaluate_arrays(grades, scores, metrics=dl.DCG.standard(5, 10))


def kernels(quick: bool) -> dict[str, tuple[int, Callable[[], Callable[[], Any]]]]:
    """Return, by name, the size of a kernel's input and a function that prepares one call."""
    many, documents = (20_000, 20_000) if quick else (1_000_000, 1_000_000)
    sizes = (500, 10_000) if quick else (500, 10_000, 1_000_000)
    hundreds = documents // 100
    return {
        "UtilityLearner.fit": (many, lambda: fit(dl.UtilityLearner(C=1.0), many)),
        "DCGLearner.fit": (500, lambda: fit(dl.DCGLearner(), 500)),
        **{f"likelihood, {n:,} pairs": (n, partial(likelihood, n)) for n in sizes},
        **{f"strengths and ties, {n:,} pairs": (n, partial(likelihood, n, 3)) for n in sizes},
        **{f"4 raters, {n:,} pairs": (n, partial(likelihood, n, 0, 4)) for n in sizes},
        **{f"sums of the QP, {n:,} pairs": (n, partial(pair_sums, n)) for n in sizes},
        "evaluate_arrays": (documents, lambda: arrays(documents // 1000, 1000)),
        "ApproxNDCG": (documents, lambda: smooth(dl.losses.ApproxNDCG, hundreds, 100)),
        "SHFSDCG": (documents, lambda: smooth(dl.losses.SHFSDCG, documents // 1000, 1000)),
        "SmoothNDCG": (4_000, lambda: smooth(dl.losses.SmoothNDCG, 1, 4_000)),
        "SoftRankNDCG": (2_000, lambda: smooth(dl.losses.SoftRankNDCG, 20, 100)),
        "LambdaRank": (documents, lambda: smooth(dl.losses.LambdaRank, hundreds, 100)),
    }


def serve(name: str, quick: bool) -> None:
    """Print the processor seconds of a call after each line of standard input.

    If the call fails, print its error to standard error and return.
    """
    try:
        call = kernels(quick)[name][1]()
        call()  # compile
    except Exception as error:  # another version may lack anything
        print(f"{name}: {error}", file=sys.stderr)
        return
    for _ in sys.stdin:
        began = time.process_time()
        call()
        print(time.process_time() - began, flush=True)


def ratios(name: str, theirs: Path, quick: bool, turns: int) -> list[float]:
    """Return our seconds divided by those of the checkout `theirs`, one per turn."""
    command = [sys.executable, __file__, "--serve", name, *(["--quick"] if quick else [])]
    pipe = subprocess.PIPE
    both = [
        subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )
        for folder in (OURS, theirs)
    ]
    found = []
    for turn in range(turns + 1):
        seconds = []
        for process in both:
            with contextlib.suppress(BrokenPipeError):
                print(file=process.stdin, flush=True)
            seconds.append(process.stdout.readline())
        if not all(seconds):
            break
        if turn:  # the first turn warms caches
            found.append(float(seconds[0]) / float(seconds[1]))
    for process in both:
        process.communicate()
    return found


def interval_of_median(ratios: list[float]) -> tuple[float, float, float]:
    """Return the median between the ends of its 95% interval, which are order statistics."""
    from scipy.stats import binom

    ordered = np.sort(ratios)
    outside = max(int(binom.ppf(0.025, len(ordered), 0.5)) - 1, 0)
    low, high = ordered[outside], ordered[len(ordered) - 1 - outside]
    return round(float(low), 3), round(float(np.median(ordered)), 3), round(float(high), 3)


def checkout(commit: str, folder: Path) -> None:
    """Write the package of a commit into a folder."""
    archive = subprocess.run(
        ["git", "-C", OURS, "archive", commit, "dcglearn"], check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    if (build := folder / "dcglearn" / "kernels" / "build.py").exists():
        subprocess.run([sys.executable, build], check=True, stdout=subprocess.DEVNULL)


def last_release() -> str:
    command = ["git", "-C", OURS, "describe", "--tags", "--abbrev=0"]
    tag = subprocess.run(command, check=False, capture_output=True, text=True)
    return tag.stdout.strip() or "HEAD~1"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="kernels whose names contain this")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--most", type=float, default=np.inf)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.quick)
        return
    commit, lows = options.commit or last_release(), []
    with tempfile.TemporaryDirectory() as folder:
        checkout(commit, Path(folder))
        for name, (size, _) in kernels(options.quick).items():
            found = (
                ratios(name, Path(folder), options.quick, options.turns)
                if options.only in name
                else []
            )
            if not found:
                continue
            low, median, high = interval_of_median(found)
            lows.append(low)
            row = {
                "question": "against",
                "kernel": name,
                "n": size,
                "commit": commit,
                "times_commit": median,
            }
            print(json.dumps(row | {"low": low, "high": high}), flush=True)
    sys.exit(max(lows, default=0.0) > options.most)


if __name__ == "__main__":
    main()
