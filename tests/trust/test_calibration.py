"""The slope of judges: the prior by the number of judgements, with what is held out."""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation.finding import table_of
from dcglearn.trust.calibration import OVERFIT, SPREAD, STEEPEST, Calibration, shrunk

JUDGES = dl.evaluation.Judges(3.0, n_judgements=100)
EXPECTED = 100 / (100 + OVERFIT)


def measured(slope, error, n_units=100):
    return Calibration(table_of([]), 100, 0.2, slope, error, n_units)


@pytest.mark.parametrize(("slope", "error"), [(0.5, 0.1), (0.8, 0.3), (1.4, 0.05), (0.0, 0.2)])
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
    for held_out in (measured(0.7, 1e12), None, measured(STEEPEST, 0.01), few):
        prior = shrunk(JUDGES, held_out)
        assert (prior.slope, prior.slope_error) == pytest.approx((EXPECTED, SPREAD))


def test_verdicts_that_are_all_foretold_do_not_make_judges_certain():
    pairs = np.arange(50)
    found = Calibration.of(np.full(50, 0.9), np.ones(50), (pairs, pairs))
    assert found.slope == STEEPEST
    assert shrunk(JUDGES, found).slope < 1
