"""Discounts at real-valued ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from dcglearn.metrics.smooth_discount import TILT, Curve, SmoothDiscount
from dcglearn.metrics.textbook import DISCOUNTS, textbook_discounts
from tests.makers import refused
from tests.tables import table

FORMULAS = {
    "log2": lambda r: 1 / np.log2(r + 1),
    "reciprocal": lambda r: 1 / r,
    "sqrt": lambda r: r**-0.5,
    "rbp0.8": lambda r: 0.8**r,
}
FINE = np.linspace(1, 40, 1951)


@table("name", FORMULAS)
@table("factor", [1.0, 10.0, 1 / 3])
def test_textbook_vectors_keep_their_closed_form(name, factor):
    smooth = SmoothDiscount.of(factor * textbook_discounts(name, 10))
    assert smooth.kind != Curve.TABLE
    np.testing.assert_allclose(smooth(FINE), factor * FORMULAS[name](FINE), rtol=1e-11)


def test_almost_a_textbook_vector_is_none():
    c = textbook_discounts("log2", 10).copy()
    c[4] *= 1 + 1e-9
    assert SmoothDiscount.of(c).kind == Curve.TABLE
    assert SmoothDiscount.of(textbook_discounts("log2", 10)).kind == Curve.LOG2


vectors = st.lists(st.floats(-1, 2).map(lambda x: round(x, 3)), min_size=1, max_size=12).filter(
    lambda c: max(c) > 1e-3
)


@given(vectors, st.floats(0.1, 100))
def test_it_is_positive_falls_by_its_slope_and_goes_through_its_knots_at_any_scale(c, factor):
    smooth = SmoothDiscount.of(c)
    value, slope = smooth.with_slope(FINE)
    assert (value > 0).all()
    assert (slope < 0).all()
    assert (np.diff(value) < 0).all()
    np.testing.assert_allclose(
        smooth(np.arange(1.0, len(c) + 1)), smooth.knots, rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        SmoothDiscount.of(factor * np.array(c))(FINE), factor * value, rtol=1e-9
    )
    inside = FINE[FINE % 1 > 1e-3]
    change = (smooth(inside + 1e-6) - smooth(inside - 1e-6)) / 2e-6
    np.testing.assert_allclose(smooth.with_slope(inside)[1], change, rtol=1e-5, atol=1e-8 * max(c))


@given(st.lists(st.floats(0.05, 1), min_size=3, max_size=12))
def test_pieces_are_those_of_pchip_between_the_ends(drops):
    c = np.cumsum(drops[::-1])[::-1]
    smooth = SmoothDiscount.of(c)
    if smooth.kind == Curve.TABLE:
        ranks = np.arange(1.0, len(c) + 1)
        slopes = smooth.with_slope(ranks)[1]
        np.testing.assert_allclose(
            slopes[1:-1], PchipInterpolator(ranks, c).derivative()(ranks)[1:-1], rtol=1e-12
        )
        slopes[-1] = max(slopes[-1], 3 * (c[-1] - c[-2]))
        pieces = CubicHermiteSpline(ranks, c, slopes).c[::-1].T
        np.testing.assert_allclose(
            smooth.numbers.reshape(-1, 4)[:-1], pieces, rtol=1e-12, atol=1e-12
        )


@given(vectors)
def test_pieces_meet_with_one_slope_but_where_the_tail_is_steeper_than_monotone_allows(c):
    smooth = SmoothDiscount.of(c)
    for rank in range(2, len(c)):
        before, after = smooth.with_slope(np.array([rank - 1e-9, rank]))[1]
        assert before == pytest.approx(after, rel=1e-5, abs=1e-7 * max(c))


@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=12))
def test_vectors_that_fall_are_left_alone(drops):
    c = np.cumsum(drops[::-1])[::-1]
    np.testing.assert_array_equal(SmoothDiscount.of(c).knots, c)


@given(vectors)
def test_others_are_changed_by_no_more_than_is_said(c):
    from scipy.optimize import isotonic_regression

    nearest = isotonic_regression(np.maximum(c, 0), increasing=False).x
    knots = SmoothDiscount.of(c).knots
    assert (knots >= nearest - 1e-12).all()
    assert (knots <= nearest + TILT * nearest[0] * (1 + 1e-9)).all()


def test_the_tail_is_that_of_log2():
    smooth = SmoothDiscount.of([1, 0.4, 0.3])
    ranks = np.array([3.0, 3.5, 7, 1000])
    np.testing.assert_allclose(smooth(ranks), 0.3 * np.log2(4) / np.log2(ranks + 1))


@table("name", DISCOUNTS)
def test_every_textbook_discount_is_met_at_whole_ranks(name):
    c = textbook_discounts(name, 10)
    np.testing.assert_allclose(
        SmoothDiscount.of(c)(np.arange(1.0, 11)), c, atol=TILT if name == "flat" else 1e-14
    )


@table("c", [[0.0, 0.0], [-1.0], [0, -1, -2]])
def test_no_positive_discount_is_refused(c):
    refused("no discount is positive", SmoothDiscount.of, c)


def test_one_position_and_scalars():
    smooth = SmoothDiscount.of([0.7])
    assert smooth(1.0) == pytest.approx(0.7)
    assert smooth(5.0) < smooth(4.0)
    assert smooth.kind == Curve.LOG2
    np.testing.assert_allclose(SmoothDiscount.of([1, 1]).knots, [1 + TILT / 2, 1])
    np.testing.assert_allclose(SmoothDiscount.of([1, -1]).knots, [1 + TILT / 2, TILT / 2])
    np.testing.assert_allclose(SmoothDiscount.of([1, 2]).knots, [1.5 * (1 + TILT / 2), 1.5])
