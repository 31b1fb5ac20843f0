"""Fixtures of the judging page's tests: background learning only in the tests that are about it."""

import pytest

from dcglearn.judge import learned


@pytest.fixture
def learning(monkeypatch):
    """Learn in the background, as the server does, with few bootstrap samples."""
    monkeypatch.setattr(learned.Learned, "n_resamples", 3)


@pytest.fixture(autouse=True)
def quick(request, monkeypatch):
    if "learning" not in request.fixturenames:
        monkeypatch.setattr(learned.Learned, "give", lambda *_: None)
