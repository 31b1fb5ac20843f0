"""The numbers of today are the frozen ones: fits of logs, public calls, linear models.

A difference is intended only where an issue allows it: see ``tests/saved/README.md``.
"""

import pytest

from tests.saved import freeze, frozen_calls

FITS = freeze.read("fits")
FEW = [name for i, name in enumerate(FITS) if i % 10 == 3 * (i // 10) % 10]
"""The logs of the normal run: one of ten, in turn another one, so that all kinds occur."""

OTHER_OPTIMA = 2
"""Logs, of 200, whose fit may end in another optimum where sums have another order: on processors
with AVX-512 one log of coins does."""


SINGLE = {"suggest_pairs"}
"""Calls that sum in single precision, in an order that also depends on the processor's caches."""


def assert_frozen(file, new):
    """Compare new entries with those of a frozen file; list what differs, old -> new."""
    old, changed = freeze.read(file), []
    for name, entry in new.items():
        within = freeze.ELSEWHERE if name in SINGLE else freeze.tolerance()
        changed += freeze.differences({name: old[name]}, {name: entry}, within)
    assert not changed, f"{len(changed)} values differ from {file}.json:\n" + "\n".join(changed)


def test_everything_is_frozen():
    assert len(FITS) == 200 and len(FEW) == 20
    assert freeze.read("calls").keys() == frozen_calls.CALLS.keys()


def test_fits_of_20_logs():
    assert_frozen("fits", freeze.fits(FEW))


@pytest.mark.long
def test_fits_of_all_logs():
    changed = freeze.differences(FITS, freeze.fits(), freeze.tolerance())
    logs = {line.partition(",")[0] for line in changed}
    allowed = 0 if freeze.tolerance() == freeze.EXACT else OTHER_OPTIMA
    assert len(logs) <= allowed, "\n".join(changed)


def test_calls():
    names = [name for name in frozen_calls.CALLS if name not in frozen_calls.SLOW]
    assert_frozen("calls", freeze.calls(names))


@pytest.mark.long
def test_slow_calls():
    assert_frozen("calls", freeze.calls(sorted(frozen_calls.SLOW)))


def test_coefficients_of_linear_models():
    assert_frozen("models", freeze.models())
