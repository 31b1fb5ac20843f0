"""Time of kernels compared with those of another commit, in turn in one run.

One JSON line per kernel: the median over fifteen turns of the processor time of this checkout
divided by that of the commit (by default the parent of the last commit), and an interval that holds
the true median with 95% (its ends are two of the ratios, by the binomial distribution). Both see
the same inputs. What the other commit cannot do is left out.

    python benchmarks/against.py [COMMIT] [--quick] [--only WORD]
"""

from __future__ import annotations

import argparse
import contextlib
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
from measuring import QUICK, show
from scipy.stats import binom

import dcglearn as dl

OURS, TURNS = Path(__file__).parents[1], 15
LOG2 = 1 / np.log2(np.arange(2, 12))


def ordered(n: int) -> tuple[Any, Any]:
    """Return preferred and other lists of n noisy pairs."""
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (2, n, 10), np.int8)
    lead = np.subtract(*2.0**lists) @ LOG2 + rng.normal(0, 3, n)
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

    # the judgements
    rng, level, thresholds = np.random.default_rng(1), np.ones(1, np.int8), np.zeros(2)
    if n_levels:
        level = rng.integers(0, n_levels + 1, n).astype(np.int8)
        thresholds = 0.3 * np.arange(n_levels + 1.0)
    rater, way = np.zeros(1, np.int32), np.zeros(1, np.int8)
    if n_raters > 1:
        rater = rng.integers(0, n_raters, n).astype(np.int32)
        way = rng.choice([-1, 1], n).astype(np.int8)
    judged = Pairs(*ordered(n), level, rater, np.ones(1), way)

    # where the likelihood is summed
    errors = np.full((1, n_raters), 0.1)
    curves = np.arange(5.0)[None] / 4, LOG2[None], np.array([[*thresholds, np.inf]])
    biases = errors if n_raters > 1 else np.zeros_like(errors)
    at = Points(*curves, errors, biases, powers=np.zeros(1))
    return lambda: [judged.sums(at, CURVATURE) for _ in range(-(-100_000 // n))]


def pair_sums(n: int) -> Callable[[], Any]:
    from dcglearn.learning.pair_sums import QPPairs

    pairs = QPPairs(*ordered(n), np.ones(1), np.ones(1))
    weights = np.outer(LOG2, np.arange(5.0) / 20)
    return lambda: [pairs.evaluate(weights) for _ in range(-(-100_000 // n))]


def arrays(n_queries: int) -> Callable[[], Any]:
    rng, shape = np.random.default_rng(0), (n_queries, 1000)
    grades, scores = rng.integers(0, 5, shape), rng.normal(size=shape).round(2)
    return lambda: dl.evaluate_arrays(grades, scores, metrics=dl.DCG.standard(5, 10))


def kernels() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return, by name, a function that prepares one call of a kernel."""
    many, losses = 20_000 if QUICK else 1_000_000, dl.losses
    by_size = {
        "likelihood": likelihood,
        "strengths and ties": partial(likelihood, n_levels=3),
        "4 raters": partial(likelihood, n_raters=4),
        "sums of the QP": pair_sums,
    }

    return {
        "UtilityLearner.fit": partial(fit, dl.UtilityLearner(C=1.0), many),
        "DCGLearner.fit": partial(fit, dl.DCGLearner(), 500),
        **{
            f"{name}, {n:,} pairs": partial(made, n)
            for name, made in by_size.items()
            for n in (500, 10_000, many)
        },
        "evaluate_arrays": partial(arrays, many // 1000),
        "ApproxNDCG": partial(smooth, losses.ApproxNDCG, many // 100, 100),
        "SHFSDCG": partial(smooth, losses.SHFSDCG, many // 1000, 1000),
        "SmoothNDCG": partial(smooth, losses.SmoothNDCG, 1, 4_000),
        "SoftRankNDCG": partial(smooth, losses.SoftRankNDCG, 20, 100),
        "LambdaRank": partial(smooth, losses.LambdaRank, many // 100, 100),
    }


def serve(name: str) -> None:
    """Print the processor seconds of a call after each line of standard input.

    If the call fails, print its error to standard error and return.
    """
    try:
        call = kernels()[name]()
        call()
    except Exception as error:  # another version may lack anything
        print(f"{name}: {error}", file=sys.stderr)
        return
    for _ in sys.stdin:
        began = time.process_time()
        call()
        print(time.process_time() - began, flush=True)


def ratios(name: str, theirs: Path) -> list[float]:
    """Return our seconds divided by those of the checkout `theirs`, one per turn."""
    command = [sys.executable, __file__, "--serve", name, *(["--quick"] if QUICK else [])]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [
        subprocess.Popen(command, **pipes, env={**os.environ, "PYTHONPATH": str(folder)})
        for folder in (OURS, theirs)
    ]

    # the first turn warms caches
    found: list[float] = []
    for turn in range(TURNS + 1):
        seconds = []
        for process in both:
            with contextlib.suppress(BrokenPipeError):
                print(file=process.stdin, flush=True)
            seconds.append(process.stdout.readline())

        if not all(seconds):
            break
        if turn:
            found.append(float(seconds[0]) / float(seconds[1]))

    for process in both:
        process.communicate()
    return found


def checkout(commit: str, folder: Path) -> None:
    """Write the package of a commit into a folder, and compile its kernels."""
    command = ["git", "-C", OURS, "archive", commit, "dcglearn"]
    archive = subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    build = folder / "dcglearn" / "kernels" / "build.py"
    if build.exists():
        subprocess.run([sys.executable, build], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="kernels whose names contain this")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return

    with tempfile.TemporaryDirectory() as folder:
        checkout(options.commit, Path(folder))
        for name in (name for name in kernels() if options.only in name):
            found = sorted(ratios(name, Path(folder)))
            if not found:
                continue

            # the median between the ends of its interval, which are order statistics
            outside = max(int(binom.ppf(0.025, len(found), 0.5)) - 1, 0)
            ends = {"low": found[outside], "high": found[-1 - outside]}
            row = {
                "kernel": name,
                "commit": options.commit,
                "times_commit": float(np.median(found)),
            }
            show("against", **row, **ends)


if __name__ == "__main__":
    main()
