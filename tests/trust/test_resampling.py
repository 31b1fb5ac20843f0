"""Bootstrap weights, and the unit that is drawn."""

import numpy as np
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.readers.preferences import Preferences
from dcglearn.trust.resampling import natural_unit, resampled_weights
from tests.makers import random_log


def test_resampled_weights_are_products_of_the_lists_draws():
    lists = np.array([[0, 1], [1, 0], [1, 1]])
    log = Preferences(lists[[1, 2, 2]], lists[[0, 0, 1]], weight=[1.0, 2.0, 5.0])
    for weight in resampled_weights(log, "list", 50, seed=0):
        drawn = weight / log.weight
        counts = [
            n for n in range(4) for m in range(4 - n) if np.allclose(drawn, [n * m, m * (3 - n - m), n * (3 - n - m)])
        ]
        assert counts
    total = np.mean(list(resampled_weights(log, "pair", 3000, seed=1)), axis=0)
    np.testing.assert_allclose(total, log.weight, rtol=0.06)


def test_the_unit_of_the_bootstrap_is_what_is_independent():
    log = random_log(30)
    assert natural_unit(log) == "pair"
    assert natural_unit(Preferences(log.preferred, log.other, rater=["a", "b"] * 15)) == "rater"
    assert natural_unit(Preferences(log.preferred, log.other, rater=["a"] * 30, query=list("xyz") * 10)) == "query"
    lists = np.eye(3, dtype=int)
    pairs = np.array([[i, j] for i in range(3) for j in range(i)] * 4)
    assert natural_unit(Preferences(lists[pairs[:, 0]], lists[pairs[:, 1]])) == "list"
    with pytest.raises(InputError, match="at least two"):
        next(resampled_weights(Preferences(log.preferred, log.other, rater=["a"] * 30), "rater", 2, 0))
