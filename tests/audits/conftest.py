"""Audits with few draws, which take less time."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcglearn.audits.known.DRAWS", 10)
        yield
