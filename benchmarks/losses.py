"""Time and memory of smooth metrics, for value and gradient together.

One JSON line per measurement. ApproxNDCG is compared with rax (JAX, compiled) at the same alpha on
the same lists, with exponential gains and log2 on all ranks, each in its usual precision (float64
for dcglearn, float32 for rax) and in its own process: median seconds, extra peak memory of one
call, and the time divided by dcglearn's. If rax is not installed (`pip install rax 'jax<0.7'`), it
is left out with a message. Then: the time of one
query of 1,000,000 documents, divided by the time of one `np.argsort` of its scores. Last, Qin et
al.'s table 6: one pass over training queries of OHSUMED's size by SoftRank,
SmoothNDCG and ApproxNDCG, divided by the time of ApproxNDCG.

    python benchmarks/losses.py [--quick]
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from measuring import QUICK, show

import dcglearn as dl

SIZES = [(1, 100), (1, 1_000), (1, 5_000), (100, 100)]
ALPHAS = (1.0, 100.0)
N_GRADES = 5
Call = Callable[[], tuple[float, np.ndarray]]


def lists(n_queries: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal scores and grades, shapes (n_queries, length)."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_queries, length)), rng.integers(0, N_GRADES, (n_queries, length))


def with_dcglearn(scores: np.ndarray, grades: np.ndarray, alpha: float) -> Call:
    loss = dl.losses.ApproxNDCG(dl.DCG.standard(N_GRADES, 10), alpha=alpha, depth=None)
    offsets = np.arange(len(scores) + 1) * scores.shape[1]
    f, y = scores.ravel(), grades.ravel()
    weight = np.full(len(scores), 1 / len(scores))
    return lambda: loss(f, y, offsets, weight)


def with_rax(scores: np.ndarray, grades: np.ndarray, alpha: float) -> Call:
    import jax
    import jax.numpy as jnp
    import rax

    approximate = rax.approx_t12n(rax.ndcg_metric, temperature=1 / alpha)
    both = jax.jit(jax.value_and_grad(lambda f, y: -approximate(f, y)))
    f, y = jnp.asarray(scores, jnp.float32), jnp.asarray(grades, jnp.float32)

    def call() -> tuple[float, np.ndarray]:
        value, gradient = both(f, y)
        return float(value), np.asarray(gradient.block_until_ready()).ravel()

    return call


TOOLS = {"dcglearn": ("dcglearn", with_dcglearn), "rax": ("rax", with_rax)}
"""The package and the call of each tool."""


def resident(field: str) -> int:
    """Return a memory field of this process in bytes: VmRSS (current) or VmHWM (peak)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{field}:\s+(\d+) kB", status)[1])


def median_seconds(call: Callable[[], Any], budget: float = 1.0) -> float:
    """Return the median seconds of 5 to 200 calls."""
    taken: list[float] = []
    while len(taken) < 5 or (sum(taken) < budget and len(taken) < 200):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure(name: str, n_queries: int, length: int, alpha: float) -> None:
    """Print value, largest gradient, time and peak memory of a tool.

    The memory belongs to the first full call, after calls on fewer documents that compile.
    """
    _, made = TOOLS[name]
    for few in (10, 300):
        made(*lists(1, few), 1.0)()
    call = made(*lists(n_queries, length), alpha)

    # the peak of one call, in MiB
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    value, gradient = call()
    peak = (resident("VmHWM") - before) / 2**20
    largest = float(np.abs(gradient).max())
    row = {"extra_peak_mib": peak, "value": value, "gradient_size": largest}
    print(json.dumps({"seconds": median_seconds(call), **row}))


def beside_peers(sizes: list[tuple[int, int]]) -> None:
    """Print a row for each size, alpha and tool that is installed, each in its own process."""
    missing = [name for name, (package, _) in TOOLS.items() if find_spec(package) is None]
    if missing:
        print(f"not installed, and left out: {', '.join(missing)}", file=sys.stderr)
    for (n_queries, length), alpha in product(sizes, ALPHAS):
        ours = None
        for name in (name for name in TOOLS if name not in missing):
            command = [sys.executable, __file__, "--one", name, n_queries, length, alpha]
            done = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True)
            row = json.loads(done.stdout.splitlines()[-1])
            ours = ours or row["seconds"]
            shape = {"queries": n_queries, "documents": length, "alpha": alpha}
            shape["loss"] = f"ApproxNDCG, {name}"
            show("losses", **shape, **row, times_ours=row["seconds"] / ours)


def beside_argsort(length: int) -> None:
    """Print the seconds of losses on one list, also divided by the seconds of `np.argsort`.

    Losses have their default parameters; ApproxNDCG is measured on the DCG's ranks and on all.
    """
    dcg = dl.DCG.standard(N_GRADES, 10)
    scores, grades = (values[0] for values in lists(1, length))
    argsort = median_seconds(lambda: np.argsort(scores), 0.0)
    kinds = dl.losses.ApproxNDCG(dcg), dl.losses.ApproxNDCG(dcg, depth=None)
    for loss in (*kinds, dl.losses.SmoothNDCG(dcg)):
        took = median_seconds(lambda loss=loss: loss(scores, grades), 0.0)
        ranks = "all" if loss.depth is None else dcg.depth
        row = {"loss": type(loss).__name__, "documents": length, "ranks": ranks}
        show("one sort", **row, seconds=took, times_argsort=took / argsort)


def one_pass(n_queries: int, sizes: tuple[int, int]) -> None:
    """Print the seconds of one pass over all training queries, also divided by ApproxNDCG's.

    A pass computes a loss's value and gradient.
    """
    queries = dl.simulate.letor_queries(n_queries, sizes=sizes, random_state=0)
    scores = np.random.default_rng(0).normal(size=queries.shape[0])
    dcg, approx = dl.DCG.standard(3, 10), None
    for loss in (
        dl.losses.ApproxNDCG(dcg, alpha=10.0, depth=None),
        dl.losses.SmoothNDCG(dcg, sigma=0.01, depth=None),
        dl.losses.SoftRankNDCG(dcg, sigma=0.1, depth=None),
        dl.losses.SoftRankNDCG(dcg, sigma=1.0, depth=None),
    ):
        took = median_seconds(lambda loss=loss: loss(scores, queries.grades, queries.offsets), 0.5)
        approx = approx or took
        row = {"loss": type(loss).__name__, loss.sharpness: getattr(loss, loss.sharpness)}
        row |= {"queries": n_queries, "documents": queries.shape[0]}
        show("one pass", **row, seconds=took, times_approx=took / approx)


def main() -> None:
    if "--one" in sys.argv:
        name, n_queries, length, alpha = sys.argv[-4:]
        measure(name, int(n_queries), int(length), float(alpha))
        return
    beside_peers(SIZES[:1] if QUICK else SIZES)
    beside_argsort(2_000 if QUICK else 1_000_000)
    one_pass(*((5, (10, 30)) if QUICK else (63, (35, 320))))


if __name__ == "__main__":
    main()
