"""Time of DCGLearner compared with the QP on the same log.

One JSON line per number of pairs; one for a log of ratings, whose pairs share few lists; then one
per use of a log of 500 pairs that grows: a fit after one more judgement, that from the fit before
it, bands, and questions.
"""

import argparse
import json
import resource
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


def rated_log(n_lists):
    """Return all pairs of free lists with different ratings.

    D1 rates the lists from 1 to 5, with some noise.
    """
    rng = np.random.default_rng(2)
    lists = rng.integers(0, 5, (n_lists, 10)).astype(np.int8)
    worth = dl.simulate.ground_truth("D1").score(lists)
    noisy = worth + rng.normal(0, 0.5 * worth.std(), n_lists)
    return dl.Preferences.from_ratings(
        lists, 1 + np.searchsorted(np.quantile(noisy, [0.2, 0.4, 0.6, 0.8]), noisy)
    )


def row_of(log, repeats):
    """Return the shortest times of the learners on a log and the memory that the fits add.

    The learners are measured in turn.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    learners = dl.DCGLearner(), dl.DCGLearner("robust"), dl.UtilityLearner(C=0.1)
    times = [
        [seconds(lambda learner=learner: learner.fit(log)) for learner in learners]
        for _ in range(repeats)
    ]
    direct, robust, qp = np.min(times, axis=0).tolist()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {
        "pairs": len(log),
        "direct_seconds": direct,
        "qp_seconds": qp,
        "times_the_qp": direct / qp,
    }
    record |= {"robust_seconds": robust, "times_its_robust_fit": direct / robust}
    return {**record, "extra_megabytes": (after - before) / 1024}


def growing_log_rows(n):
    """Yield a row for each use of a log of n pairs that grows by one."""
    log = log_of(n + 1)
    before = dl.DCGLearner().fit(log[:n])
    candidates = np.random.default_rng(1).integers(0, 5, (20_000, 2, 10)).astype(np.int8)
    uses = {
        "fit": (lambda: dl.DCGLearner().fit(log), 20),
        "fit from the fit before the last judgement": (
            lambda: dl.DCGLearner().fit(log, start=before),
            20,
        ),
        "bands": (lambda: dl.bands(log), 3),
        "suggest_pairs, fitted learner, 20,000 candidates": (
            lambda: dl.suggest_pairs(log, candidates, 5, before),
            10,
        ),
    }
    rivals = dl.UtilityLearner(C=0.1), dl.DCGLearner("robust")
    qp, robust = (best_seconds(lambda learner=learner: learner.fit(log), 20) for learner in rivals)
    for what, (use, repeats) in uses.items():
        direct = best_seconds(use, repeats)
        record = {"question": "a log that grows", "what": what, "pairs": n, "seconds": direct}
        yield {**record, "times_the_qp": direct / qp, "times_its_robust_fit": direct / robust}


def main():
    """Print one line per size, for a log of ratings, and per use of a log that grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[50, 500, 10_000, 100_000, 1_000_000]
    )
    options = parser.parse_args()
    small = log_of(500)
    dl.DCGLearner().fit(small)  # compiles
    dl.UtilityLearner().fit(small)
    warnings.simplefilter("ignore", UserWarning)  # 50 pairs are few for 14 gains and discounts
    for n in options.sizes:
        print(
            json.dumps(row_of(log_of(n), 20 if n <= 500 else 5 if n <= 10_000 else 2)), flush=True
        )
    what = {"question": "a log of ratings", "lists": min(340, max(options.sizes))}
    print(json.dumps({**what, **row_of(rated_log(what["lists"]), 3)}), flush=True)
    for row in growing_log_rows(min(500, max(options.sizes))):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
