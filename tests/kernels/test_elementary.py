"""The kernels' own exp, expm1, log and log1p, against decimal arithmetic of 60 digits."""

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest

from dcglearn.kernels.library import function
from tests.tables import table

EXP, EXPM1, LOG, LOG1P = range(4)

_elementary = function("elementary which n f[n] f[n]")

LEAST = 2.0**-1022
"""The least positive normal number."""

LEAST_EXP, MOST_EXP = -708.0, 709.7
"""Arguments between which exp is promised: below it is 0, above it is infinite."""

HALF_LN2 = 0.5 * math.log(2)


def elementary(which, x):
    """Return a function of the kernels at an array of numbers."""
    x = np.ascontiguousarray(x, np.float64)
    y = np.full(len(x), np.nan)
    _elementary(which, len(x), x, y)
    return y


def exact(which, x):
    """Return a function at a finite float, to 60 digits or nearly so."""
    with decimal.localcontext() as context:
        context.prec = 120
        x = Decimal(x)
        if which == EXP:
            return x.exp()
        if which == LOG:
            return x.ln()
        if abs(x) < Decimal("1e-25"):  # the next terms are of x^4: beyond 60 digits
            return x + (1 if which == EXPM1 else -1) * x * x / 2 + x**3 / (6, 3)[which == LOG1P]
        return x.exp() - 1 if which == EXPM1 else (1 + x).ln()


def largest_error(which, x):
    """Return the largest error in units in the last place where the result is a normal number."""
    errors = [0.0]
    for argument, value in zip(x.tolist(), elementary(which, x).tolist(), strict=True):
        truth = exact(which, argument)
        nearest = float(truth)
        if LEAST <= abs(nearest) < math.inf:
            assert math.isfinite(value), f"{argument!r} gives {value!r}, not {nearest!r}"
            errors.append(float(abs(Decimal(value) - truth) / Decimal(math.ulp(nearest))))
    return max(errors)


def around(x, n=4):
    """Return each number with its n neighbours on both sides."""
    x = np.atleast_1d(np.asarray(x, np.float64))
    words = x.view(np.int64)[:, None] + np.arange(-n, n + 1)
    return words.ravel().view(np.float64)


def both_signs(x):
    return np.concatenate([x, -x])


RNG = np.random.default_rng(0)

TINY = 10.0 ** RNG.uniform(-300, -1, 500)

TURNS = (np.arange(-1020, 1024, 8) + 0.5) * math.log(2)
"""Where the power of two that exp splits off changes."""

EXP_CASES = {
    "wide": RNG.uniform(LEAST_EXP, MOST_EXP, 1500),
    "near zero": RNG.uniform(-2, 2, 1500),
    "tiny": both_signs(TINY),
    "turns": around(TURNS[(TURNS > LEAST_EXP) & (TURNS < MOST_EXP)], 2),
    "whole": np.arange(-708.0, 710.0),
    "ends": np.concatenate([LEAST_EXP + np.arange(500) * 1e-4, MOST_EXP - np.arange(500) * 1e-4]),
}

EXPM1_CASES = {
    **EXP_CASES,
    "first turns": around(both_signs(np.array([HALF_LN2, 3 * HALF_LN2, 5 * HALF_LN2])), 200),
    "middle": RNG.uniform(-60, 60, 1500),
    "last digits of -1": RNG.uniform(-52, -30, 500),
}

LOG_CASES = {
    "wide": 10.0 ** RNG.uniform(-307, 308, 1500),
    "near one": RNG.uniform(0.5, 2, 1500),
    "nearest to one": around(np.array([1.0]), 500),
    "near one by powers": 1 + both_signs(2.0 ** -RNG.uniform(2, 52, 300)),
    "roots of two": around(np.ldexp(math.sqrt(2), np.arange(-1021, 1023, 64)), 20),
    "powers of two": around(2.0 ** np.arange(-1021, 1024), 1),
    "subnormal": np.append(LEAST * RNG.random(500), 5e-324 * np.arange(1, 200)),
    "end": np.nextafter(np.inf, 0) * (1 - RNG.random(300) / 8),
}

LOG1P_CASES = {
    "tiny": np.concatenate([TINY, 10.0 ** RNG.uniform(-18, 0, 1500)]),
    "rounding of the sum": around(2.0 ** -np.arange(1.0, 60), 5),
    "unit": RNG.random(1500),
    "roots of two": around(np.array([math.sqrt(2) - 1, 2 * math.sqrt(2) - 1]), 300),
    "wide": 10.0 ** RNG.uniform(0, 308, 1500),
    "whole": np.arange(1.0, 600),
}

CASES = [
    *((EXP, name, x) for name, x in EXP_CASES.items()),
    *((EXPM1, name, x) for name, x in EXPM1_CASES.items()),
    *((LOG, name, x) for name, x in LOG_CASES.items()),
    *((LOG1P, name, x) for name, x in LOG1P_CASES.items()),
]


@table(("which", "x"), [(which, x) for which, _, x in CASES])
def test_errors_are_below_two_units_in_the_last_place(which, x):
    assert largest_error(which, x) < 2


def test_the_referee_is_right_where_the_values_are_known():
    assert float(exact(EXP, 1.0)) == math.e and float(exact(LOG, 2.0)) == math.log(2)
    for x in (1e-24, 1e-26, 1e-100, 0.3, -0.3):
        assert float(exact(EXPM1, x)) == pytest.approx(math.expm1(x), rel=1e-15)
        assert float(exact(LOG1P, x)) == pytest.approx(math.log1p(x), rel=1e-15)
        assert float(exact(LOG1P, x).exp() - 1) == pytest.approx(x, rel=1e-3)


def test_subnormal_arguments_are_taken_for_what_they_are():
    tiny = np.append(LEAST * np.random.default_rng(1).random(200), 5e-324)
    np.testing.assert_array_equal(elementary(EXP, both_signs(tiny)), 1.0)
    np.testing.assert_array_equal(elementary(EXPM1, both_signs(tiny)), both_signs(tiny))
    np.testing.assert_array_equal(elementary(LOG1P, tiny), tiny)


EDGES = [
    (EXP, 0.0, 1.0),
    (EXP, -0.0, 1.0),
    (EXP, math.inf, math.inf),
    (EXP, -math.inf, 0.0),
    (EXP, 709.79, math.inf),
    (EXP, 1e308, math.inf),
    (EXP, -708.5, 0.0),
    (EXP, -746.0, 0.0),
    (EXP, -1e308, 0.0),
    (EXPM1, 0.0, 0.0),
    (EXPM1, -0.0, 0.0),
    (EXPM1, math.inf, math.inf),
    (EXPM1, -math.inf, -1.0),
    (EXPM1, 709.79, math.inf),
    (EXPM1, 1e308, math.inf),
    (EXPM1, -50.0, -1.0),
    (EXPM1, -1e308, -1.0),
    (LOG, 0.0, -math.inf),
    (LOG, -0.0, -math.inf),
    (LOG, math.inf, math.inf),
    (LOG, 1.0, 0.0),
    (LOG, -1.0, math.nan),
    (LOG, -5e-324, math.nan),
    (LOG, -math.inf, math.nan),
    (LOG1P, 0.0, 0.0),
    *((which, math.nan, math.nan) for which in (EXP, EXPM1, LOG, LOG1P)),
]


@table(("which", "x", "value"), EDGES)
def test_edges(which, x, value):
    np.testing.assert_array_equal(elementary(which, [x]), [value])


@table("which", [EXP, EXPM1])
def test_near_the_largest_number_a_result_is_right_or_infinite(which):
    x = np.linspace(MOST_EXP, 709.79, 200)
    given = elementary(which, x)
    nearest = np.array([float(exact(which, number)) for number in x.tolist()])
    finite = np.isfinite(given)
    np.testing.assert_allclose(given[finite], nearest[finite], rtol=5e-16)
    assert (np.diff(given[finite]) > 0).all() and not (np.diff(finite.astype(int)) > 0).any()


def test_near_the_least_normal_number_exp_is_right_or_zero():
    x = np.linspace(-708.4, LEAST_EXP, 200)
    given = elementary(EXP, x)
    nearest = np.array([float(exact(EXP, number)) for number in x.tolist()])
    np.testing.assert_allclose(given[given > 0], nearest[given > 0], rtol=5e-16)
    assert given[-1] > 0 and (np.diff(given) >= 0).all()


def test_exp_and_log_never_fall():
    for which, ends in ((EXP, (-709, 710)), (EXPM1, (-51, 710)), (LOG, (0, 4)), (LOG1P, (0, 4))):
        y = elementary(which, np.linspace(*ends, 100_001))
        assert (y[1:] >= y[:-1]).all()


@table("which", [EXP, EXPM1, LOG, LOG1P])
def test_a_result_does_not_depend_on_the_place_in_the_array(which):
    x = np.abs(np.concatenate([case for kind, _, case in CASES if kind == which]))[:2000]
    x = np.append(x, [0.0, math.nan, 1e308, 800.0])
    whole = elementary(which, x)
    for width in (1, 2, 3, 5, 7):
        starts = range(0, len(x), width)
        parts = np.concatenate([elementary(which, x[start : start + width]) for start in starts])
        assert parts.tobytes() == whole.tobytes()
