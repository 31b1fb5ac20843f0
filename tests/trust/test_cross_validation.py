"""Cross-validation of C and of the prior's strength."""

import numpy as np

from dcglearn.trust.cross_validation import C_GRID, choose_C, ridge_path
from tests.makers import random_log, refused


def test_the_chosen_c_is_small_under_noise_and_repeats():
    noisy = random_log(300, noise=0.35)
    chosen = choose_C(noisy, seed=0)
    assert chosen.C == choose_C(noisy, seed=0).C
    assert chosen.C < 1
    assert len(chosen.mean) == len(C_GRID) == 11
    assert chosen.mean.max() == chosen.mean[np.flatnonzero(chosen.grid == chosen.C)[0]]
    refused("folds", choose_C, noisy[:3])


def test_the_ridge_path_goes_from_the_data_to_straight_curves():
    path = ridge_path(random_log(200, "free", seed=2, noise=0.1), grid=(1e-2, 1.0, 1e4), seed=0)
    assert path.gains.shape == (3, 5) and path.discounts.shape == (3, 10)
    bends = np.abs(np.diff(np.log(np.diff(path.gains, axis=1)), 2, axis=1)).sum(axis=1)
    assert bends[2] < 1e-2 < bends[0]
    assert path.best in path.ridge and (path.mean > 0.6).all()
    assert "held-out share" in str(path)
