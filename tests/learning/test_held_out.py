"""Comparisons on held-out pairs."""

import numpy as np
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.learning.held_out import compare_learners
from dcglearn.logs.preferences import Preferences
from dcglearn.metric.dcg import DCG
from dcglearn.simulate import preference_pairs
from tests.makers import random_log


def test_a_better_metric_is_called_better_and_a_doubtful_one_doubtful():
    truth = DCG([0, 0.1, 1, 4, 4.2], 1 / np.arange(1.0, 11))
    log = preference_pairs(truth, 1500, lists="free", n_flips=100, seed=0)
    comparison = compare_learners(*log.split(0.6, seed=0), current="linear-log2")
    assert "orders held-out pairs better than linear-log2" in comparison.verdict
    assert comparison["learned DCG"].difference == 0
    row = comparison["linear-log2"]
    assert 0 < row.low < row.difference < row.high
    assert row.difference == pytest.approx(comparison["learned DCG"].share - row.share)
    same = compare_learners(*log.split(0.6, seed=0), current=truth)
    assert "cannot tell" in same.verdict or "worse" in same.verdict
    assert "QP + SVD" in str(comparison) and comparison.to_dict()["rows"][0]["name"] == "learned DCG"
    with pytest.raises(KeyError):
        comparison["nothing"]


def test_logs_of_other_shapes_are_not_compared():
    with pytest.raises(InputError, match="same n_grades= and depth="):
        compare_learners(random_log(50), Preferences([[1, 0]], [[0, 1]]))
    with pytest.raises(InputError, match="has 3 grades"):
        compare_learners(random_log(50), random_log(50, seed=1), current=DCG.standard(3, 10))
