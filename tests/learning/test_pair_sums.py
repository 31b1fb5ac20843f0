"""The kernel against a slow NumPy twin, and as mathematics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn.foundation import threads as chunks
from dcglearn.learning import pair_sums as kernel
from dcglearn.learning.pair_sums import QPPairs
from dcglearn.logs.visibility import encode

ONE = np.ones(1)


def pair_sums(first, second, margin, weight, weights, curvature=True):
    return QPPairs(first, second, margin, weight).evaluate(weights, curvature)


def twin(first, second, margin, weight, weights):
    """The same sums with explicit encodings."""
    n_grades = weights.shape[1]
    d = (encode(first, n_grades).astype(float) - encode(second, n_grades)).reshape(
        len(first), weights.size
    )
    margin, weight = np.broadcast_to(margin, len(first)), np.broadcast_to(weight, len(first))
    xi = np.maximum(0, margin - d @ weights.ravel())
    active = d[xi > 0] * np.sqrt(weight[xi > 0])[:, None]
    moment = ((weight * xi) @ d).reshape(weights.shape)
    return (weight * xi**2).sum(), (weight * xi * margin).sum(), moment, active.T @ active


@st.composite
def problems(draw):
    depth, n_grades = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(0, 40))
    lists = rng.integers(-1, n_grades, (2, n, depth)).astype(np.int8)
    each = draw(st.booleans())
    margin = rng.normal(1, 1, n) if each and n else ONE
    weight = rng.exponential(1, n) if each and n else ONE
    return lists[0], lists[1], margin, weight, rng.normal(0, 0.5, (depth, n_grades))


@given(problems(), st.booleans())
def test_equals_the_twin(problem, wide):
    kept = kernel.MAX_TABLE
    kernel.MAX_TABLE = 0 if wide else kept  # wide scales take the scattering path
    try:
        sums = pair_sums(*problem)
    finally:
        kernel.MAX_TABLE = kept
    loss, slope, moment, curvature = twin(*problem)
    np.testing.assert_allclose([sums.loss, sums.slope], [loss, slope], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.moment, moment, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums.curvature, curvature, rtol=1e-10, atol=1e-10)


@given(problems())
def test_without_curvature_the_rest_is_the_same(problem):
    with_it, without = pair_sums(*problem), pair_sums(*problem, curvature=False)
    assert without.curvature.size == 0
    assert (with_it.loss, with_it.slope) == (without.loss, without.slope)
    np.testing.assert_array_equal(with_it.moment, without.moment)


def random_problem(n, seed=0):
    rng = np.random.default_rng(seed)
    lists = rng.integers(0, 5, (2, n, 10)).astype(np.int8)
    return lists[0], lists[1], ONE, ONE, rng.normal(0, 0.2, (10, 5))


def test_parts_add_up():
    first, second, margin, weight, weights = random_problem(5000)
    whole = pair_sums(first, second, margin, weight, weights)
    halves = (slice(1234), slice(1234, None))
    one, other = (pair_sums(first[own], second[own], margin, weight, weights) for own in halves)
    parts = one + other
    assert parts.loss == pytest.approx(whole.loss, rel=1e-12)
    np.testing.assert_allclose(parts.curvature, whole.curvature)


@pytest.mark.parametrize("n", [100, 3 * chunks.CHUNK])
def test_bytes_do_not_depend_on_threads(n, monkeypatch):
    problem = random_problem(n)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(chunks, "threads", lambda threads=threads: threads)
        sums = pair_sums(*problem)
        results.append((sums.loss, sums.slope, sums.moment.tobytes(), sums.curvature.tobytes()))
    assert results[0] == results[1] == results[2]


def test_many_chunks_equal_the_twin():
    problem = random_problem(2 * chunks.CHUNK + 17)
    loss, slope, moment, curvature = twin(*problem)
    sums = pair_sums(*problem)
    np.testing.assert_allclose([sums.loss, sums.slope], [loss, slope], rtol=1e-11)
    np.testing.assert_allclose(sums.moment, moment, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(sums.curvature, curvature, rtol=1e-9)


def test_scales_as_wide_as_documents_need():
    rng = np.random.default_rng(0)
    lists = np.array([[rng.permutation(20) for _ in range(30)] for _ in range(2)]).astype(np.int8)
    weights = rng.normal(size=(20, 20)) * 0.1
    sums = pair_sums(lists[0], lists[1], ONE, ONE, weights)
    np.testing.assert_allclose(
        sums.curvature, twin(lists[0], lists[1], ONE, ONE, weights)[3], atol=1e-12
    )
