"""Time and memory of coherence proofs and disagreement shares.

One JSON line per task: seconds, extra peak memory and the result.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dcglearn as dl
from dcglearn.coherence.regret import quiet_solver

PAPER_LIST = np.repeat(np.arange(5), 2)


def measured(
    question: str, call: Callable[[], Any], columns: Callable[[Any], dict[str, Any]]
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    with quiet_solver():
        result = call()
    seconds = time.perf_counter() - start
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    row = {
        "question": question,
        "seconds": round(seconds, 3),
        "extra_mb": round(extra),
        **columns(result),
    }
    print(json.dumps(row), flush=True)


def verdict(coherence: Any) -> dict[str, Any]:
    return {
        "coherent": coherence.coherent,
        "regret": round(coherence.regret, 4),
        "proved": coherence.proved,
        "method": coherence.method,
    }


def share(disagreement: Any) -> dict[str, Any]:
    return {
        "share": round(disagreement.share, 5),
        "pairs": disagreement.n_pairs,
        "exact": disagreement.exact,
    }


def main(quick: bool) -> None:
    linear, exponential = dl.DCG.standard(5, 10, "linear"), dl.DCG.standard(5, 10, "exponential")
    dl.disagreement(linear, exponential, [4, 3, 2, 1, 0, 0, 0, 0, 0, 0])  # compiles
    measured(
        "paper's list, disagree", lambda: dl.coherence(linear, exponential, PAPER_LIST), verdict
    )
    measured("free lists, disagree", lambda: dl.coherence(linear, exponential), verdict)
    copy = dl.DCG(3 * linear.gains + 1, 2 * linear.discounts)
    measured("free lists, affine copy", lambda: dl.coherence(linear, copy), verdict)
    steep = [
        dl.DCG([0, 1, x, 3, 4], [y ** -float(k) for k in range(10)])
        for x, y in ((2.0, 9.0), (2.2, 8.0))
    ]
    measured(
        "paper's list, coherent but no copy",
        lambda: dl.coherence(*steep, documents=PAPER_LIST),
        verdict,
    )
    measured("free lists, coherent but no copy", lambda: dl.coherence(*steep), verdict)
    deep = [dl.DCG.standard(7, 50, gain) for gain in ("linear", "exponential")]
    measured("50 positions, 7 grades, free lists", lambda: dl.coherence(*deep), verdict)
    measured(
        "50 of 100 documents, 7 grades",
        lambda: dl.coherence(*deep, documents=np.arange(100) % 7),
        verdict,
    )
    measured(
        "share, 113,400 rankings", lambda: dl.disagreement(linear, exponential, PAPER_LIST), share
    )
    if not quick:
        measured("share, 9.8 million lists", lambda: dl.disagreement(linear, exponential), share)


if __name__ == "__main__":
    main("--quick" in sys.argv)
