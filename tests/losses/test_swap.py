"""The lambdas that trees follow: against a plain twin, and what must not change them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcglearn.losses import (
    SDCG,
    SHFSDCG,
    ApproxNDCG,
    GBRank,
    LambdaRank,
    ListNet,
    Regression,
    RegSHFSDCG,
    RSRank,
)
from dcglearn.losses.objective import check
from dcglearn.metrics.dcg import DCG
from tests.tables import table

STEEP = DCG([0, 1, 4, 30], [1, 0.95, 0.9, 0.85, 0.8])
PENALTY = DCG([-1.0, 0.5, 0.5, 2.0], [1, 0.4, 0.2])
KINDS = [SDCG, SHFSDCG, ApproxNDCG, LambdaRank]


def step(loss, x):
    """Return the slope of a pair's step at a signed, sharpened difference, 1 where the scores are
    equal.
    """
    s = 1 / (1 + math.exp(-abs(x)))
    if isinstance(loss, LambdaRank):
        return 2 * (1 - s) if x > 0 else 2 * s
    if isinstance(loss, SHFSDCG) and x <= 0:
        return 1.0
    return 4 * s * (1 - s)


def twin(loss, f, y, offsets):
    """Return lambdas and curvature pair by pair."""
    lambdas, bend = np.zeros(len(f)), np.zeros(len(f))
    gains = loss.dcg.gains[y]
    for q, (start, stop) in enumerate(pairwise(offsets)):
        order = sorted(range(start, stop), key=lambda i: (-f[i], gains[i]))
        own = (
            loss._with_tail(stop - start)
            if isinstance(loss, LambdaRank)
            else loss._discount(np.arange(1.0, stop - start + 1))
        )
        c = [d / 2 + max(own) / 2 / math.log2(r + 2) for r, d in enumerate(own)]
        factor = loss._factors(
            check(f, y, loss._top_grade, offsets, None), np.ones(len(offsets) - 1)
        )[q]
        total, sums, curve = 0.0, np.zeros(len(f)), np.zeros(len(f))
        for p, i in enumerate(order):
            for r, j in list(enumerate(order))[p + 1 :]:
                if gains[i] == gains[j] or factor == 0:
                    continue
                better, worse = (i, j) if gains[i] > gains[j] else (j, i)
                x = loss.alpha * (f[better] - f[worse])
                size = (
                    step(loss, x)
                    * (gains[better] - gains[worse])
                    * abs(c[p] - c[r])
                    / (abs(x) + 0.001)
                )
                sums[better] += size
                sums[worse] -= size
                curve[[i, j]] += size / (abs(x) + 1.5)
                total += 2 * size * factor
        damped = math.log2(1 + total) / total if loss.normalise and total > 0 else 1.0
        lambdas += factor * damped * loss.alpha * sums
        bend += factor * damped * loss.alpha**2 * curve
    return lambdas, bend


@st.composite
def batches(draw):
    sizes = draw(st.lists(st.integers(0, 8), min_size=1, max_size=4))
    n = sum(sizes)
    scores = st.sampled_from([0.0, 0.1, -0.3, 0.5, 2.0, -1.5, 1e-9])
    f = np.array(draw(st.lists(scores, min_size=n, max_size=n)), dtype=float)
    y = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=int)
    return f, y, np.concatenate([[0], np.cumsum(sizes)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dcg", [STEEP, PENALTY])
@settings(max_examples=40)
@given(batch=batches(), alpha=st.sampled_from([0.5, 10.0]))
def test_twin(kind, dcg, batch, alpha):
    f, y, offsets = batch
    # Documents of equal score and gain may be sorted in any order: sums over them are compared.
    for normalise in (True, False):
        loss = kind(dcg, alpha=alpha, normalise=normalise)
        actual, wanted = loss.lambdas(f, y, offsets), twin(loss, f, y, offsets)
        groups = {}
        for q in range(len(offsets) - 1):
            for i in range(offsets[q], offsets[q + 1]):
                groups.setdefault((q, f[i], dcg.gains[y[i]]), []).append(i)
        for sums, twins in zip(actual, wanted, strict=True):
            for members in groups.values():
                assert sums[members].sum() == pytest.approx(
                    twins[members].sum(), rel=1e-9, abs=1e-9
                )
            for q in range(len(offsets) - 1):
                assert actual[0][offsets[q] : offsets[q + 1]].sum() == pytest.approx(0, abs=1e-6)


def random_batch(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.integers(0, 4, n), np.array([0, n // 3, n // 3, n])


@table("kind", KINDS)
def test_what_must_not_matter(kind):
    f, y, offsets = random_batch()
    loss = kind(STEEP, alpha=3.0)
    direction, bend = loss.lambdas(f, y, offsets)
    assert (bend >= 0).all() and bend.max() > 0
    order = np.concatenate(
        [np.random.default_rng(1).permutation(20), 20 + np.random.default_rng(2).permutation(40)]
    )
    np.testing.assert_allclose(
        loss.lambdas(f[order], y[order], offsets), (direction[order], bend[order]), rtol=1e-9
    )
    np.testing.assert_allclose(loss.lambdas(f + 5, y, offsets), (direction, bend), rtol=1e-6)
    ten = kind(DCG(10 * STEEP.gains, STEEP.discounts), alpha=3.0)
    np.testing.assert_allclose(ten.lambdas(f, y, offsets), (direction, bend), rtol=1e-9, atol=1e-12)
    weight = np.array([2.0, 1.0, 0.5])
    each = np.repeat(weight, np.diff(offsets))
    np.testing.assert_allclose(
        loss.lambdas(f, y, offsets, weight), (each * direction, each * bend), rtol=1e-12
    )
    # Scores in another unit, seen with the sharpness in that unit: lambdas per unit of score.
    scaled = loss.for_scale(10.0).lambdas(10 * f, y, offsets)
    np.testing.assert_allclose(scaled, (direction / 10, bend / 100), rtol=1e-9)


@table("kind", KINDS)
def test_swaps_are_weighed_by_log2_too(kind):
    loss = kind(DCG([0, 1], [3.0, 0.3]))
    own = kind(loss.dcg)._with_tail(4)
    np.testing.assert_allclose(own[:2], [3.0, 0.3])
    np.testing.assert_allclose(loss.swap_discounts(4), own / 2 + 1.5 / np.log2([2, 3, 4, 5]))
    textbook = kind(DCG.standard(3, 10))
    np.testing.assert_allclose(textbook.swap_discounts(30), 1 / np.log2(np.arange(2, 32)))
    alone = type("Alone", (kind,), {"log2_share": 0.0})(loss.dcg)
    np.testing.assert_array_equal(alone.swap_discounts(4), own)


@table("kind", KINDS)
def test_scores_far_apart(kind):
    f, y, offsets = random_batch()
    near = kind(STEEP, alpha=10.0)
    wide = f.copy()
    wide[0] -= 1e4  # an outlier widens the range of scores past WIDE
    np.testing.assert_allclose(
        near.lambdas(wide, y, offsets), twin(near, wide, y, offsets), rtol=1e-9, atol=1e-12
    )
    for scores in (
        [1e307, -1e307, 0.0],
        [1e307, 1e-300, 0.0],
        [1.7e308, -1.7e308, 0.0],
        [1e308, -1.7e308, -1.7e308],
    ):
        extreme = near.lambdas(np.array(scores), [0, 3, 1], [0, 3])
        assert np.isfinite(extreme).all()


def test_parts_do_not_matter(monkeypatch):
    from dcglearn.losses import dcg_objective

    rng = np.random.default_rng(0)
    f, y = rng.normal(size=2000), rng.integers(0, 4, 2000)
    offsets = np.arange(0, 2001, 20)
    whole = SHFSDCG(STEEP).lambdas(f, y, offsets)
    monkeypatch.setattr(dcg_objective, "SWAP_COST", 1e9)
    np.testing.assert_array_equal(SHFSDCG(STEEP).lambdas(f, y, offsets), whole)


def test_bytes_do_not_depend_on_where_memory_lies():
    f, y, offsets = random_batch(400)
    wanted, taken, rng = SHFSDCG(STEEP).lambdas(f, y, offsets), [], np.random.default_rng(0)
    for _ in range(300):
        taken.append(np.empty(rng.integers(1, 200)))
        np.testing.assert_array_equal(SHFSDCG(STEEP).lambdas(f, y, offsets), wanted)


def test_two_documents_are_brought_in_order():
    """Newton's step of a pair in the wrong order is longer than its distance."""
    loss = SHFSDCG(DCG([0, 1], [1.0, 0.5]), alpha=4.0)
    direction, bend = loss.lambdas([1.0, 0.0], [0, 1], [0, 2])
    np.testing.assert_allclose(direction / bend, [-1.375, 1.375])


def test_mixtures_and_other_losses():
    f, y, offsets = random_batch()
    listwise, regression = (
        SHFSDCG(STEEP).lambdas(f, y, offsets),
        Regression(STEEP).lambdas(f, y, offsets),
    )
    mixed = RegSHFSDCG(STEEP, tau=0.99999)
    assert mixed.share == pytest.approx(0.5, abs=1e-4)
    rest = 1 - mixed.share
    for mixture, first, second in zip(
        mixed.lambdas(f, y, offsets), listwise, regression, strict=True
    ):
        np.testing.assert_allclose(mixture, rest * first + mixed.share * second)
    ends = [RegSHFSDCG(STEEP, tau=tau) for tau in (0.0, 1.0)]
    assert [end.share for end in ends] == [0, 1]
    shares = np.array([RegSHFSDCG(STEEP).at(m, 600).share for m in range(1, 601)])
    assert (np.diff(shares) < 0).all() and np.argmin(abs(shares - 0.5)) + 1 == pytest.approx(
        600 / 12, abs=2
    )
    targets = (STEEP.gains / 30)[y]  # where Newton's step of a square ends
    np.testing.assert_allclose(f + regression[0] / regression[1], targets, atol=1e-12)
    for loss in (GBRank(), ListNet(STEEP), RSRank(STEEP)):
        gradient = loss(f, y, offsets)[1]
        np.testing.assert_allclose(
            loss.lambdas(f, y, offsets), (gradient, loss.per_score * np.abs(gradient))
        )
    assert all(len(part) == 0 for part in SDCG(STEEP).lambdas([], [], [0]))
