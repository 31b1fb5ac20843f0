"""The squared hinge over pairs, against a loop over pairs."""

import numpy as np
import pytest

from dcglearn.losses.pair_kernel import count_pairs, hinge_curvature, hinge_sums, sorted_by_score


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
    @pytest.mark.parametrize("scale", [0.01, 1.0, 1e8])
    @pytest.mark.parametrize("digits", [1, 12])
    def test_as_one_pair_at_a_time(self, scale, digits):
        rng = np.random.default_rng(0)
        offsets = np.array([0, 1, 20, 20, 60])
        scores = scale * rng.normal(size=60).round(digits)
        grades = rng.integers(0, 4, 60).astype(np.int8)
        order = sorted_by_score(scores, offsets)
        value, slope = hinge_sums(scores, grades, offsets, order)
        wanted, pull = hinge_twin(scores, grades, offsets)
        assert value == pytest.approx(wanted, rel=1e-9)
        assert slope == pytest.approx(pull, rel=1e-9, abs=1e-9 * np.abs(pull).max())
        assert count_pairs(grades, offsets) == sum(
            (grades[a:b, None] > grades[None, a:b]).sum()
            for a, b in zip(offsets[:-1], offsets[1:], strict=True)  # noqa: RUF007
        )

    def test_curvature_is_the_slope_of_the_slope(self):
        rng = np.random.default_rng(1)
        offsets = np.array([0, 30, 80])
        scores, along = rng.normal(size=(2, 80))
        grades = rng.integers(0, 3, 80).astype(np.int8)
        product = hinge_curvature(along, scores, grades, offsets, sorted_by_score(scores, offsets))
        ahead, behind = (hinge_twin(scores + t * along, grades, offsets)[1] for t in (1e-7, -1e-7))
        assert product == pytest.approx((ahead - behind) / 2e-7, rel=1e-5, abs=1e-4)
