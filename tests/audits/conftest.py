"""Audits with few draws, which take less time."""

import pytest

from dcglearn.trust.band_draws import bootstrap_bands


def few_bands(log, fit, **options):
    return bootstrap_bands(log, fit, **{**options, "n_resamples": 10})


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.audits.inputs.bootstrap_bands", few_bands)
        yield
