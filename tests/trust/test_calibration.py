"""The slope of judges: the prior by the number of judgements, with what is held out."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

import dcglearn as dl
from dcglearn.foundation.finding import table_of
from dcglearn.trust.calibration import OVERFIT, SPREAD, STEEPEST, Calibration, shrunk
from tests.tables import table

JUDGES = dl.evaluation.Judges(3.0, n_judgements=100)
EXPECTED = 100 / (100 + OVERFIT)


def measured(slope, error, n_units=100):
    return Calibration(table_of([]), 100, 0.2, slope, error, n_units)


@table(("slope", "error"), [(0.5, 0.1), (0.8, 0.3), (1.4, 0.05), (0.0, 0.2)])
def test_the_slope_is_the_posterior(slope, error):
    grid = np.linspace(-2, 4, 100_001)
    logs = -(((grid - EXPECTED) / SPREAD) ** 2) / 2 - ((grid - slope) / error) ** 2 / 2
    mass = np.exp(logs - logs.max())
    mean = np.average(grid, weights=mass)
    deviation = np.sqrt(np.average((grid - mean) ** 2, weights=mass))
    judges = shrunk(JUDGES, measured(slope, error))
    assert judges.slope == pytest.approx(mean, abs=1e-6)
    assert judges.slope_error == pytest.approx(deviation, abs=1e-6)


def test_the_slope_is_what_was_measured_or_the_prior():
    exact = shrunk(JUDGES, measured(0.7, 0.0))
    assert (exact.slope, exact.slope_error) == pytest.approx((0.7, 0))

    # nothing measured, nothing held out, every verdict foretold, or two raters
    few = measured(0.7, 0.01, n_units=2)
    for held_out in (measured(0.7, 1e12), None, measured(STEEPEST, np.inf), few):
        prior = shrunk(JUDGES, held_out)
        assert (prior.slope, prior.slope_error) == pytest.approx((EXPECTED, SPREAD))


def test_verdicts_that_are_all_foretold_do_not_make_judges_certain():
    pairs = np.arange(50)
    found = Calibration.of(np.full(50, 0.9), np.ones(50), (pairs, pairs))
    assert found.slope == STEEPEST
    assert shrunk(JUDGES, found).slope < 1
    assert "these cannot tell" in found.sentence and "do not limit" in found.sentence


def test_the_slope_is_that_of_a_logistic_regression_with_its_error_by_unit():
    rng = np.random.default_rng(0)
    unit = np.arange(400) // 8
    odds = rng.normal(0, 1.5, 400)
    odds *= np.sign(rng.random(400) - expit(-0.6 * odds))  # log-odds of the list preferred
    weight = rng.integers(1, 4, 400).astype(float)
    found = Calibration.of(expit(odds), weight, (unit, unit))

    def loss(slope, units=slice(None)):
        return np.sum((weight * np.log1p(np.exp(-slope * odds)))[units])

    best = minimize_scalar(loss, bounds=(0, 5), method="bounded", options={"xatol": 1e-10}).x
    assert found.slope == pytest.approx(best, abs=1e-6)

    # scores of the units over the curvature, by differences
    step = 1e-4
    scores = [
        (loss(best + step, unit == g) - loss(best - step, unit == g)) / (2 * step)
        for g in range(50)
    ]
    curvature = (loss(best + step) - 2 * loss(best) + loss(best - step)) / step**2
    error = np.sqrt(50 / 49 * np.sum(np.square(scores))) / curvature
    assert found.error == pytest.approx(error, rel=1e-4)

    # the table's shares, weighed, are those of all pairs
    chances = expit(odds)
    assert found.brier == pytest.approx(np.average((1 - chances) ** 2, weights=weight))
    assert found.table["n"].sum() == found.n == 400
    inside = (np.maximum(chances, 1 - chances) >= 0.6) & (np.maximum(chances, 1 - chances) < 0.7)
    row = found.table.row(1, named=True)
    assert row["chance"] == "0.6 to 0.7" and row["n"] == inside.sum()
    observed = np.average(chances[inside] > 0.5, weights=weight[inside])
    assert row["observed"] == pytest.approx(observed)


def test_chances_of_a_half_tell_no_slope():
    pairs = np.arange(50)
    found = Calibration.of(np.full(50, 0.5), np.ones(50), (pairs, pairs))
    prior = shrunk(JUDGES, found)
    assert (prior.slope, prior.slope_error) == pytest.approx((EXPECTED, SPREAD))
