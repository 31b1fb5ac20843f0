"""Time and memory of smooth metrics, for value and gradient together.

One JSON line per measurement. ApproxNDCG is compared with rax (JAX, compiled) and allRank's formula
(PyTorch) at the same alpha on the same lists, with exponential gains and log2 on all ranks, each in
its usual precision (float64 for dcglearn, float32 for the others) and in its own process: median
seconds, extra peak memory of one call, and the time divided by dcglearn's. Tools that are not
installed (`pip install rax 'jax<0.7' torch`) are left out with a message. Then: the time of one
query of 1,000,000 documents, divided by the time of one `np.argsort` of its scores. Last, Qin et
al.'s table 6: one pass over training queries of OHSUMED's size by SoftRank,
SmoothNDCG and ApproxNDCG, divided by the time of ApproxNDCG.

    python benchmarks/losses.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZES = [(1, 100), (1, 1_000), (1, 5_000), (100, 100)]
ALPHAS = (1.0, 100.0)
N_GRADES = 5
Call = Callable[[], tuple[float, np.ndarray]]


def lists(n_queries: int, length: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return normal scores and grades, shapes (n_queries, length)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_queries, length)), rng.integers(0, N_GRADES, (n_queries, length))


def with_dcglearn(scores: np.ndarray, grades: np.ndarray, alpha: float) -> Call:
    import dcglearn as dl

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


def with_allrank(scores: np.ndarray, grades: np.ndarray, alpha: float) -> Call:
    """Return a call of allRank's approxNDCGLoss, without padding.

    The loss is reimplemented from the formula of release 1.4.3.
    """
    import torch

    y = torch.tensor(grades, dtype=torch.float32)

    def call() -> tuple[float, np.ndarray]:
        f = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
        sorted_f, order = f.sort(descending=True, dim=-1)
        true = torch.gather(y, 1, order)
        ideal_order = y.sort(descending=True, dim=-1)[0]
        discount = torch.log2(1.0 + torch.arange(1, y.shape[1] + 1).float())[None, :]
        ideal = ((2.0**ideal_order - 1) / discount).sum(dim=-1).clamp(min=1e-10)
        gains = (2.0**true - 1) / ideal[:, None]
        others = torch.ones(len(y), y.shape[1], y.shape[1], dtype=torch.bool)
        others.diagonal(dim1=-2, dim2=-1).zero_()
        difference = sorted_f[:, :, None] - sorted_f[:, None, :]
        position = 1.0 + (others.float() * torch.sigmoid(-alpha * difference).clamp(min=1e-10)).sum(
            dim=-1
        )
        value = (gains / torch.log2(1.0 + position)).sum(dim=-1).mean()
        value.backward()
        return float(value.detach()), f.grad.numpy().ravel()

    return call


PEERS = {"rax": "rax", "allRank": "torch"}
MAKERS = {"dcglearn": with_dcglearn, "rax": with_rax, "allRank": with_allrank}


def resident(field: str) -> int:
    """Return a memory field of this process in bytes: VmRSS (current) or VmHWM (peak)."""
    return int(re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def extra_peak(call: Call) -> float:
    """Return the peak memory of one call above the memory before it, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = resident("VmRSS")
    call()
    return (resident("VmHWM") - before) / 2**20


def seconds(call: Call, budget: float = 1.0) -> float:
    """Return the median seconds of 5 to 200 calls."""
    taken: list[float] = []
    while len(taken) < 5 or (sum(taken) < budget and len(taken) < 200):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure(name: str, n_queries: int, length: int, alpha: float) -> None:
    """Print one row with the value, largest gradient, times and peak memory of a tool.

    The memory belongs to the first full call, after calls on fewer documents that compile.
    """
    for few in (10, 300):
        MAKERS[name](*lists(1, few), 1.0)()
    call = MAKERS[name](*lists(n_queries, length), alpha)
    began = time.perf_counter()
    peak = extra_peak(call)
    first = time.perf_counter() - began
    value, gradient = call()
    row = {
        "value": value,
        "gradient_size": float(np.abs(gradient).max()),
        "first_call_seconds": first,
    }
    print(json.dumps({"seconds": seconds(call), "extra_peak_mib": peak, **row}))


def measured(name: str, n_queries: int, length: int, alpha: float) -> dict[str, float]:
    """Measure in a separate process."""
    arguments = [sys.executable, __file__, "--one", name, str(n_queries), str(length), str(alpha)]
    return json.loads(
        subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()[
            -1
        ]
    )


def beside_peers(sizes: list[tuple[int, int]]) -> None:
    peers = []
    for name, module in PEERS.items():
        trial = subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True, text=True, check=False
        )
        if trial.returncode == 0:
            peers.append(name)
        else:
            print(f"{name} is left out: {trial.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    for n_queries, length in sizes:
        for alpha in ALPHAS:
            rows = {name: measured(name, n_queries, length, alpha) for name in ["dcglearn", *peers]}
            ours = rows["dcglearn"]["seconds"]
            for name, row in rows.items():
                shape = {
                    "queries": n_queries,
                    "documents": length,
                    "alpha": alpha,
                    "loss": f"ApproxNDCG, {name}",
                }
                print(
                    json.dumps(
                        {"question": "losses", **shape, **row, "times_ours": row["seconds"] / ours}
                    ),
                    flush=True,
                )


def beside_argsort(length: int) -> None:
    """Print the seconds of losses on one list, also divided by the seconds of `np.argsort`.

    Losses have their default parameters; ApproxNDCG is measured on the DCG's ranks and on all.
    """
    import dcglearn as dl

    dcg = dl.DCG.standard(N_GRADES, 10)
    scores, grades = (values[0] for values in lists(1, length))
    argsort = seconds(lambda: np.argsort(scores), 0.0)
    for loss in (
        dl.losses.ApproxNDCG(dcg),
        dl.losses.ApproxNDCG(dcg, depth=None),
        dl.losses.SmoothNDCG(dcg),
    ):
        loss(scores[:100], grades[:100])
        took = seconds(lambda loss=loss: loss(scores, grades), 0.0)
        row = {
            "loss": type(loss).__name__,
            "documents": length,
            "ranks": "all" if loss.depth is None else dcg.depth,
        }
        print(
            json.dumps(
                {"question": "one sort", **row, "seconds": took, "times_argsort": took / argsort}
            ),
            flush=True,
        )


def one_pass(n_queries: int, sizes: tuple[int, int]) -> None:
    """Print the seconds of one pass over all training queries, also divided by ApproxNDCG's.

    A pass computes a loss's value and gradient.
    """
    import dcglearn as dl

    queries = dl.simulate.letor_queries(n_queries, sizes=sizes, random_state=0)
    scores = np.random.default_rng(0).normal(size=queries.shape[0])
    dcg = dl.DCG.standard(3, 10)
    losses = [
        dl.losses.ApproxNDCG(dcg, alpha=10.0, depth=None),
        dl.losses.SmoothNDCG(dcg, sigma=0.01, depth=None),
    ]
    losses += [dl.losses.SoftRankNDCG(dcg, sigma=sigma, depth=None) for sigma in (0.1, 1.0)]
    approx = None
    for loss in losses:
        loss(scores[:10], queries.grades[:10])
        took = seconds(lambda loss=loss: loss(scores, queries.grades, queries.offsets), 0.5)
        approx = took if approx is None else approx
        row = {
            "loss": type(loss).__name__,
            loss.sharpness: getattr(loss, loss.sharpness),
            "queries": n_queries,
        }
        row |= {"documents": queries.shape[0], "seconds": took, "times_approx": took / approx}
        print(json.dumps({"question": "one pass", **row}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small lists only")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, n_queries, length, alpha = options.one
        measure(name, int(n_queries), int(length), float(alpha))
        return
    beside_peers(SIZES[:1] if options.quick else SIZES)
    beside_argsort(2_000 if options.quick else 1_000_000)
    one_pass(*((5, (10, 30)) if options.quick else (63, (35, 320))))


if __name__ == "__main__":
    main()
