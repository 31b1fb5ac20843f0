"""Time of DCGLearner compared with the QP on the same log.

One JSON line per number of pairs; then one per use of a log of 500 pairs: a fit, bands, and
questions.
"""

import argparse
import json
import time
import warnings

import numpy as np

import dcglearn as dl


def log_of(n):
    """Return n pairs of free lists, judged by D1, a tenth of them wrongly."""
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (2, n, 10)).astype(np.int8)
    truth = dl.simulate.ground_truth("D1")
    swap = ((truth.score(lists[0]) < truth.score(lists[1])) ^ (rng.random(n) < 0.1))[:, None]
    return dl.Preferences(
        np.where(swap, lists[1], lists[0]), np.where(swap, lists[0], lists[1]), n_grades=5
    )


def seconds(fit):
    """Return the time of one call."""
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def best_seconds(fit, repeats):
    """Return the shortest time of several calls."""
    return min(seconds(fit) for _ in range(repeats))


def row_of(log, repeats):
    """Return the shortest times of the learner and the QP on a log, measured in turn."""
    learners = dl.DCGLearner(), dl.UtilityLearner(C=0.1)
    times = [
        [seconds(lambda learner=learner: learner.fit(log)) for learner in learners]
        for _ in range(repeats)
    ]
    direct, qp = np.min(times, axis=0).tolist()
    record = {"pairs": len(log), "direct_seconds": direct, "qp_seconds": qp}
    return {**record, "times_the_qp": direct / qp}


def rows_of_uses(n):
    """Yield a row for each use of a log of n pairs."""
    log = log_of(n)
    learner = dl.DCGLearner().fit(log)
    candidates = np.random.default_rng(1).integers(0, 5, (20_000, 2, 10)).astype(np.int8)
    uses = {
        "fit": (lambda: dl.DCGLearner().fit(log), 20),
        "bands": (lambda: dl.bands(log), 3),
        "suggest_pairs, fitted learner, 20,000 candidates": (
            lambda: dl.suggest_pairs(log, candidates, 5, learner),
            10,
        ),
    }
    qp = best_seconds(lambda: dl.UtilityLearner(C=0.1).fit(log), 20)
    for what, (use, repeats) in uses.items():
        direct = best_seconds(use, repeats)
        record = {"question": "uses of a log", "what": what, "pairs": n, "seconds": direct}
        yield {**record, "times_the_qp": direct / qp}


def main():
    """Print one line per size, and per use of a log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50, 500, 10_000, 100_000, 1_000_000]
    )
    options = parser.parse_args()
    small = log_of(500)
    dl.DCGLearner().fit(small)  # warms caches
    dl.UtilityLearner().fit(small)
    warnings.simplefilter("ignore", UserWarning)  # 50 pairs are few for 14 gains and discounts
    for n in options.sizes:
        print(
            json.dumps(row_of(log_of(n), 20 if n <= 500 else 5 if n <= 10_000 else 2)), flush=True
        )
    for row in rows_of_uses(min(500, max(options.sizes))):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
