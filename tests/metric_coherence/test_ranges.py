"""Ranges over all DCGs that respect a log."""

import numpy as np
import pytest

from dcglearn.metric.dcg import DCG
from dcglearn.metric_coherence.ranges import consistent_ranges
from dcglearn.readers.preferences import Preferences
from tests.makers import TRUTH, random_log, refused


def test_ranges_hold_the_truth_and_narrow():
    truth = TRUTH.normalised()
    widths = []
    for n in (30, 300):
        ranges = consistent_ranges(random_log(n, "free", seed=4))
        for ends, values in ((ranges.gains, truth.gains), (ranges.discounts, truth.discounts)):
            assert (ends[0] <= values + 1e-7).all() and (values <= ends[1] + 1e-7).all()
        assert ranges.violation == pytest.approx(0, abs=1e-9) and ranges.used == 1
        widths.append(np.ptp(ranges.gains, axis=0).sum() + np.ptp(ranges.discounts, axis=0).sum())
    assert widths[1] < 0.5 * widths[0]
    assert "open, over more than half" in str(consistent_ranges(random_log(8, "free")))


def test_ranges_agree_with_brute_force_over_dcgs():
    """No sampled DCG that respects the log lies outside; some come near the ends."""
    log = random_log(12, "free", seed=7)
    ranges = consistent_ranges(log, slack=0.0)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(20_000):
        gains = np.concatenate([[0], np.cumsum(rng.dirichlet(np.full(4, 0.5)))])
        discounts = np.cumsum(rng.dirichlet(np.full(10, 0.3)))[::-1]
        dcg = DCG(gains / gains[-1], discounts / discounts[0])
        if (dcg.score(log.preferred) >= dcg.score(log.other)).all():
            seen.append(dcg.gains)
    assert len(seen) > 20
    assert (np.min(seen, axis=0) >= ranges.gains[0] - 1e-7).all()
    assert (np.max(seen, axis=0) <= ranges.gains[1] + 1e-7).all()


def test_ranges_of_noisy_logs_know_the_least_violation():
    noisy = consistent_ranges(random_log(200, "free", seed=1, noise=0.2), max_pairs=150)
    assert noisy.violation > 1e-3
    assert noisy.used == pytest.approx(0.75)
    for bad in ({"slack": -1}, {"max_pairs": 0}):
        refused(next(iter(bad)), consistent_ranges, random_log(20), **bad)
    refused("no gains", consistent_ranges, Preferences.from_documents([["x", "y"]], [["y", "x"]]))
