"""Audits with few draws, which take less time."""

from types import SimpleNamespace

import pytest

from dcglearn.trust import band_draws


def few_bands(log, fit, **options):
    return band_draws.bands(log, fit, **{**options, "n_resamples": 10})


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.audits.inputs.band_draws", SimpleNamespace(bands=few_bands))
        yield
