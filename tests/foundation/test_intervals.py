import pytest
from scipy.stats import binomtest, norm

from dcglearn.foundation.intervals import normal_quantile, wilson


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (123_456, 1_000_000)])
def test_intervals_are_those_of_scipy(successes, n, level):
    assert wilson(successes, n, level) == tuple(binomtest(successes, n).proportion_ci(level, method="wilson"))
    assert normal_quantile(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-14)
