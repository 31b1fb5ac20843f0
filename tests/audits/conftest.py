"""Audits with few draws, which take less time."""

import pytest

from dcglearn.trust import band_draws


def few_bands(log, fit, **options):
    return band_draws.bands_or_why(log, fit, **{**options, "n_resamples": 10})


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.audits.inputs.bands_or_why", few_bands)
        patch.setattr("dcglearn.trust.band_draws.N_DRAWS", 100)
        yield
