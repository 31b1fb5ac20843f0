"""Fixtures of all tests, and hypothesis's settings."""

from pathlib import Path

import pytest
from hypothesis import settings

from tests.makers import SHARED, call

settings.register_profile("dcglearn", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("dcglearn")


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the real data is kept beside the project, not in it, and is not here")
    return SHARED


@pytest.fixture
def dcglearn(monkeypatch, capsys):
    return lambda *arguments: call(monkeypatch, capsys, *arguments)
