"""Kernels on long lists: blocks, windows and chunks against the full matrix; the squared hinge over
pairs.
"""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.special import erfc

import dcglearn as dl
from dcglearn.kernels.library import function
from dcglearn.losses import rank_kernel, soft_ranks
from dcglearn.losses.pair_kernel import count_pairs, hinge_curvature, hinge_sums
from dcglearn.losses.rank_kernel import SoftRanks, sorted_queries
from dcglearn.metrics.dcg import DCG
from tests.losses import twins
from tests.tables import table

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "few values": lambda rng, n: rng.integers(0, 7, n) / 3,
    "two clusters": lambda rng, n: np.r_[
        rng.normal(size=n // 2) * 1e-3, 5 + rng.normal(size=n - n // 2) * 1e-3
    ],
    "far from 0": lambda rng, n: 1e6 + rng.normal(size=n),
}


@table("shape", SHAPES)
@table("alpha", [1e-3, 1.0, 20.0, 1e3])
def test_long_lists_equal_the_full_matrix(shape, alpha):
    rng = np.random.default_rng(0)
    f = np.sort(SHAPES[shape](rng, 1200))[::-1].copy()
    soft = SoftRanks(f, np.array([0, 1200]), alpha, 1)
    np.testing.assert_allclose(soft.ranks(), twins.soft_ranks(f, alpha), rtol=0, atol=2e-14 * 1200)
    w = rng.normal(size=1200)
    wanted = twins.soft_ranks_vjp(f, alpha, w)
    np.testing.assert_allclose(soft.vjp(w), wanted, rtol=0, atol=1e-12 * alpha * 1200)


@table("shape", SHAPES)
@table("alpha", [0.1, 8.0])
def test_boxes_of_many_documents_are_as_exact_as_the_sums_over_documents(shape, alpha):
    f = np.sort(SHAPES[shape](np.random.default_rng(1), 3000))[::-1].copy()
    w = np.random.default_rng(2).normal(size=3000)
    w[2000:] = 0.0
    ends = np.array([0, 0, 2500, 3000])
    boxed = SoftRanks(f, ends, alpha, 3)
    direct = SoftRanks(f, ends, alpha, 1, points_pay=3001)
    assert len(boxed.points) < 0.6 * len(direct.points) == 1800
    np.testing.assert_allclose(boxed.ranks(), direct.ranks(), rtol=0, atol=2e-14 * 3000)
    pulled = direct.vjp(w)
    np.testing.assert_allclose(boxed.vjp(w), pulled, rtol=0, atol=1e-13 * np.abs(pulled).max())
    assert (pulled[2500:] == 0).all()


@table(("n", "alpha", "most"), [(1500, 30.0, 1000), (150, 1.0, 100)])
def test_boxes_of_some_documents_count_as_points_where_that_saves_time(n, alpha, most):
    f = np.sort(np.random.default_rng(4).normal(size=n))[::-1].copy()
    w = np.random.default_rng(5).normal(size=n)
    soft = SoftRanks(f, np.array([0, n]), alpha, 1)
    assert len(soft.points) < most
    np.testing.assert_allclose(soft.ranks(), twins.soft_ranks(f, alpha), rtol=1e-13)
    wanted = twins.soft_ranks_vjp(f, alpha, w)
    np.testing.assert_allclose(soft.vjp(w), wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())


def test_a_box_of_some_documents_stays_where_points_save_little():
    f = -np.concatenate([np.linspace(0, 1, 60), 10.0 * np.arange(1, 341)])
    assert len(SoftRanks(f, np.array([0, 400]), 1.0, 1).points) == 400


def test_weights_that_only_huge_numbers_hold():
    rng = np.random.default_rng(6)
    f, w = np.sort(rng.normal(size=900))[::-1].copy(), rng.normal(size=900)
    for alpha in (1.0, 40.0):
        soft = SoftRanks(f, np.array([0, 900]), alpha, 1)
        np.testing.assert_allclose(soft.vjp(1e200 * w), 1e200 * soft.vjp(w), rtol=1e-9)


def test_a_million_documents_take_a_few_hundred_points():
    f = np.sort(np.random.default_rng(3).normal(size=1_000_000))[::-1].copy()
    soft = SoftRanks(f, np.array([0, len(f)]), 10.0, 16)
    assert len(soft.points) < 1000
    some = np.arange(0, len(f), 99_999)
    exact = [0.5 + (1 / (1 + np.exp(10.0 * (f[i] - f)))).sum() for i in some]
    np.testing.assert_allclose(soft.ranks()[some], exact, rtol=1e-12)


@table("beta", [4.0, 200.0])
def test_documents_whose_truncation_is_zero_are_left_out_exactly(beta):
    rng = np.random.default_rng(5)
    f, y = rng.normal(size=2500), rng.integers(0, 4, 2500)
    loss = dl.losses.ApproxNDCG(DCG.standard(4, 10), alpha=5.0, beta=beta)
    value, gradient = loss(f, y)
    wanted, slopes = twins.approx_ndcg(loss, f, y)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-12 * np.abs(slopes).max())


@table("digits", [0, 1, 9])
@table("n_chunks", [1, 3])
def test_documents_are_sorted_as_numpy_does(digits, n_chunks):
    f, offsets = (
        np.random.default_rng(6).normal(size=1300).round(digits),
        np.array([0, 7, 7, 200, 300, 301, 1300]),
    )
    f[3], f[5] = 0.0, -0.0  # a tie
    order, falling = rank_kernel.sorted_queries(f, offsets, n_chunks)
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):  # noqa: RUF007
        np.testing.assert_array_equal(
            order[start:stop], start + np.argsort(-f[start:stop], kind="stable")
        )
    np.testing.assert_array_equal(falling, f[order])


@table("alpha", [0.5, 30.0])
def test_long_lists_of_hinge_ranks_equal_the_full_matrix(alpha):
    rng = np.random.default_rng(3)
    f, y = rng.normal(size=900), rng.integers(0, 4, 900)
    loss = dl.losses.SHFSDCG(DCG.standard(4, 20), alpha=alpha, beta=0.05)
    value, gradient, ranks = twins.shf(loss, f, y)
    np.testing.assert_allclose(loss.ranks(f, y), ranks, rtol=1e-12)
    assert loss(f, y)[0] == pytest.approx(value, rel=1e-11)
    np.testing.assert_allclose(loss(f, y)[1], gradient, atol=1e-11 * np.abs(gradient).max())


@table("shape", SHAPES)
@table("sigma", [1e-5, 0.3, 1e4])
def test_long_lists_of_soft_positions_equal_the_full_matrix(shape, sigma):
    rng = np.random.default_rng(7)
    f, y = SHAPES[shape](rng, 301), rng.integers(0, 4, 301)
    for loss, twin in (
        (dl.losses.SmoothNDCG(DCG.standard(4, 10), sigma), twins.smooth_ndcg),
        (dl.losses.SmoothNDCG(DCG.standard(4, 10), sigma, depth=None), twins.smooth_ndcg),
        (dl.losses.SmoothAP(sigma), twins.smooth_ap),
    ):
        (value, gradient), (wanted, slopes) = loss(f, y), twin(loss, f, y)
        assert value == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(
            gradient, slopes, rtol=0, atol=1e-12 * np.abs(slopes).max() + 1e-16 * sigma**-0.5
        )


@table("shape", SHAPES)
@table("kind", [dl.losses.LambdaRank, dl.losses.RSRank])
def test_long_lists_of_weighted_pairs_equal_the_full_matrix(shape, kind):
    rng = np.random.default_rng(8)
    f, y = SHAPES[shape](rng, 150), rng.integers(0, 4, 150)
    phi = twins.logistic if kind is dl.losses.LambdaRank else twins.modified_huber
    for depth in ("dcg", None):
        loss = kind(DCG.standard(4, 10), depth=depth)
        (value, gradient), (wanted, slopes) = loss(f, y), twins.weighted_pairs(loss, f, y, phi)
        assert value == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-12 * np.abs(slopes).max())


@table("shape", SHAPES)
@table("depth", [3, 40])
def test_ranks_of_many_noisy_scores_equal_one_distribution_at_a_time(shape, depth):
    rng = np.random.default_rng(9)
    f, y = SHAPES[shape](rng, 21), rng.integers(0, 4, 21)
    loss = dl.losses.SoftRankNDCG(DCG.standard(4, depth), sigma=0.4)
    (value, gradient), (wanted, slopes) = loss(f, y), twins.soft_rank_ndcg(loss, f, y)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-11 * np.abs(slopes).max())


@table(
    "loss",
    [
        dl.losses.ApproxNDCG(DCG.standard(3, 10), 100.0),
        dl.losses.SHFSDCG(DCG.standard(3, 10), alpha=100.0),
    ],
)
def test_memory_is_linear_in_the_documents(loss):
    rng = np.random.default_rng(4)
    f, y = rng.normal(size=20_000), rng.integers(0, 3, 20_000)
    loss(f[:100], y[:100])
    tracemalloc.start()
    loss(f, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * f.nbytes  # a full matrix would take 20,000 times f.nbytes


def test_scores_that_overflow_when_sharpened():
    ranks = soft_ranks([1e308, -1e308, 0.0, 5e-324], alpha=1e300)
    np.testing.assert_allclose(ranks, [1, 4, 2.5, 2.5], atol=1e-9)


@table(
    "loss",
    [
        dl.losses.SmoothNDCG(DCG.standard(4, 3)),
        dl.losses.SmoothAP(),
        dl.losses.SoftRankNDCG(DCG.standard(4, 3)),
    ],
)
def test_documents_an_infinite_distance_apart_are_out_of_reach(loss):
    y = np.array([0, 3, 1, 2])
    near, far = (loss(scale * np.array([1, -1, 0.8, -0.8]), y) for scale in (1e6, 1.7e308))
    assert far[0] == near[0]
    np.testing.assert_array_equal(far[1], 0)


class TestErfc:
    def values(self, x):
        x = np.ascontiguousarray(x, dtype=np.float64)
        y = np.empty(len(x))
        function("complementary_errors n f[n] f[n]")(len(x), x, y)
        return y

    def test_against_scipy_wherever_noise_reaches(self):
        x = np.r_[
            np.linspace(-6.5, 6.5, 200_001), np.random.default_rng(0).normal(size=1000) * 1e-8
        ]
        np.testing.assert_allclose(self.values(x), erfc(x), rtol=1e-14)

    def test_against_the_platform_down_to_the_smallest_number(self):
        x = np.linspace(0, 26.5, 5001)
        np.testing.assert_allclose(self.values(x), [math.erfc(each) for each in x], rtol=2e-15)

    def test_in_the_limits(self):
        x = [0.0, -0.0, 5e-324, -1e-20, 30, 1e300, np.inf, -30, -1e300, -np.inf]
        np.testing.assert_array_equal(self.values(x), [1, 1, 1, 1, 0, 0, 0, 2, 2, 2])


def hinge_twin(scores, grades, offsets):
    """Return the squared hinge over pairs, one pair at a time."""
    total, slope = 0.0, np.zeros_like(scores)
    for start, stop in zip(offsets[:-1], offsets[1:], strict=True):  # noqa: RUF007
        for i in range(start, stop):
            for j in range(start, stop):
                lack = 1.0 - scores[i] + scores[j]
                if grades[i] > grades[j] and lack > 0:
                    total += lack**2
                    slope[i] -= 2 * lack
                    slope[j] += 2 * lack
    return total, slope


class TestPairSums:
    @table("scale", [0.01, 1.0, 1e8])
    @table("digits", [1, 12])
    def test_as_one_pair_at_a_time(self, scale, digits):
        rng = np.random.default_rng(0)
        offsets = np.array([0, 1, 20, 20, 60])
        scores = scale * rng.normal(size=60).round(digits)
        grades = rng.integers(0, 4, 60).astype(np.int8)
        order, _ = sorted_queries(-scores, offsets, 1)
        value, slope = hinge_sums(scores, grades, offsets, order)
        wanted, slopes = hinge_twin(scores, grades, offsets)
        assert value == pytest.approx(wanted, rel=1e-9)
        assert slope == pytest.approx(slopes, rel=1e-9, abs=1e-9 * np.abs(slopes).max())
        assert count_pairs(grades, offsets) == sum(
            (grades[a:b, None] > grades[None, a:b]).sum()
            for a, b in zip(offsets[:-1], offsets[1:], strict=True)  # noqa: RUF007
        )

    def test_curvature_is_the_slope_of_the_slope(self):
        rng = np.random.default_rng(1)
        offsets = np.array([0, 30, 80])
        scores, along = rng.normal(size=(2, 80))
        grades = rng.integers(0, 3, 80).astype(np.int8)
        order, _ = sorted_queries(-scores, offsets, 1)
        product = hinge_curvature(along, scores, grades, offsets, order)
        ahead, behind = (hinge_twin(scores + t * along, grades, offsets)[1] for t in (1e-7, -1e-7))
        assert product == pytest.approx((ahead - behind) / 2e-7, rel=1e-5, abs=1e-4)
