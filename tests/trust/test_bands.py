"""Bootstrap bands: coverage, processes, bad settings."""

import numpy as np
import pytest

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.readers.preferences import Preferences
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.bands import bootstrap_bands
from tests.makers import random_log, refused


def test_bands_do_not_depend_on_processes_and_shrink_with_the_log():
    log = random_log(120, "free", seed=1, noise=0.1)
    one, two = (bootstrap_bands(log, n_resamples=12, seed=3, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.gains, two.gains)
    many = bootstrap_bands(random_log(2000, "free", seed=1, noise=0.1), n_resamples=12, seed=3)
    assert np.ptp(many.discount_band, axis=0).sum() < 0.6 * np.ptp(one.discount_band, axis=0).sum()
    rows = many.table()
    assert len(rows) == 15
    assert rows[1]["parameter"] == "gain of grade 1" and rows[5]["parameter"] == "discount at 1"
    assert rows[3]["low"] <= rows[3]["estimate"] <= rows[3]["high"]
    assert "12 bootstrap samples by pair, of 2000)" in str(many)
    raters = Preferences(log.preferred, log.other, rater=list("abcd") * 30)
    assert "by rater, of 4; too few" in str(bootstrap_bands(raters, n_resamples=4))


def test_bands_cover_the_truth():
    truth = ground_truth("D1").normalised()
    hits, widths = [], []
    for seed in range(5):
        log = preference_pairs(truth, 300, lists="free", n_flips=30, seed=seed)
        bands = bootstrap_bands(log, DCGLearner(n_starts=1), n_resamples=30, seed=seed)
        for band, values in ((bands.gain_band, truth.gains[1:-1]), (bands.discount_band, truth.discounts[1:])):
            inner = band[:, 1:-1] if len(values) == 3 else band[:, 1:]
            hits.append(((inner[0] <= values) & (values <= inner[1])).mean())
            widths.append((inner[1] - inner[0]).mean())
    assert np.mean(hits) >= 0.5 and np.mean(widths) < 0.2  # study k measures it; here only that it is not absurd


@pytest.mark.parametrize(
    ("settings", "words"), [({"n_resamples": 1}, "n_resamples"), ({"level": 1.0}, "level"), ({"by": "day"}, "by=")]
)
def test_impossible_bands(settings, words):
    refused(words, bootstrap_bands, random_log(60), **settings)
