"""Samples of rows by weight."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.logs.preference_pairs import PreferencePairs
from dcglearn.logs.thinning import Weighted, marks_of_parts


@dataclass
class Rows(Weighted):
    row: np.ndarray
    weight: np.ndarray

    def __len__(self):
        return len(self.row)


def marked_rows(weight, marks):
    """The rows that hold marks, and their weights."""
    found = Rows(np.arange(len(weight)), weight).marked(marks)
    return found.row, found.weight


def thinned_rows(n, weight):
    """The rows of a log in one part that stand for all, and their weights."""
    return marked_rows(weight, marks_of_parts(n, [len(weight)], [float(np.sum(weight))])[0])


def test_rows_of_one_weight_are_taken_at_even_steps():
    for weight in (1.0, 0.3):
        rows, weights = thinned_rows(30, np.full(100, weight))
        assert rows.tolist() == list(range(0, 100, 3))
        np.testing.assert_allclose(weights, weight)


@given(st.integers(1, 400), st.integers(1, 60), st.integers(0, 99))
def test_a_sample_has_the_weights_of_all_in_proportion(m, n, seed):
    weight = np.random.default_rng(seed).exponential(1, m) + 1e-3
    rows, weights = thinned_rows(n, weight)
    step = max(m // n, 1)
    assert len(rows) == len(set(rows.tolist())) == len(weights)
    assert np.isclose(weights.sum() * step, weight.sum(), atol=step * weight.mean())
    # every stretch of rows holds its share of the marks, within one
    if step > 1:
        sampled = np.zeros(m)
        sampled[rows] = weights / weight.mean()
        expected = np.cumsum(weight) / weight.mean() / step
        assert np.abs(np.cumsum(sampled) - expected).max() <= 1 + 1e-6


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(1, 20), st.booleans())
def test_parts_are_thinned_as_their_whole(sizes, n, equal):
    m = sum(sizes)
    weight = np.ones(m) if equal else np.random.default_rng(m).exponential(1, m)
    parts = np.split(weight, np.cumsum(sizes)[:-1])
    whole_rows, whole_weights = thinned_rows(n, weight)
    rows, weights, before = [], [], 0
    for part, marks in zip(parts, marks_of_parts(n, sizes, [x.sum() for x in parts]), strict=True):
        if len(part):
            own_rows, own_weights = marked_rows(part, marks)
            rows += (own_rows + before).tolist()
            weights += own_weights.tolist()
        before += len(part)
    if m:
        assert rows == whole_rows.tolist()
        np.testing.assert_allclose(weights, whole_weights)


def test_a_heavy_pair_stands_for_as_many_as_it_weighs():
    weight = np.ones(100)
    weight[7] = 101.0
    log = PreferencePairs(np.ones((100, 1), int), np.zeros((100, 1), int), weight=weight)
    few = log.thinned(10)
    assert few.weight.max() == pytest.approx(few.total_weight / 2, rel=0.11)
    assert few.total_weight == pytest.approx(20)
    assert log.thinned(60) is log
