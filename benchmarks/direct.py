"""Time of DCGLearner compared with the QP on the same log.

One JSON line per number of pairs.
"""

import argparse
import json
import resource
import time

import numpy as np

import dcglearn as dl


def log_of(n):
    """Return n pairs of free lists, judged by D1, a tenth of them wrongly."""
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (2, n, 10)).astype(np.int8)
    truth = dl.simulate.ground_truth("D1")
    swap = ((truth.score(lists[0]) < truth.score(lists[1])) ^ (rng.random(n) < 0.1))[:, None]
    return dl.Preferences(np.where(swap, lists[1], lists[0]), np.where(swap, lists[0], lists[1]), n_grades=5)


def seconds(fit):
    """Return the time of one call."""
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def main():
    """Print one line per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    small = log_of(500)
    dl.DCGLearner().fit(small)  # compiles
    dl.UtilityLearner().fit(small)
    for n in options.sizes:
        log = log_of(n)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        direct = seconds(lambda log=log: dl.DCGLearner().fit(log))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        qp = seconds(lambda log=log: dl.UtilityLearner(C=0.1).fit(log))
        record = {"pairs": n, "direct_seconds": direct, "qp_seconds": qp, "times_the_qp": direct / qp}
        print(json.dumps({**record, "extra_megabytes": (after - before) / 1024}), flush=True)


if __name__ == "__main__":
    main()
