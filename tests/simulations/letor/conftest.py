"""A folder of five folds."""

import pytest

from simulations.letor.folds import letor_folds, write_folds
from tests.rankers.makers import letor_like


@pytest.fixture
def folder(tmp_path):
    write_folds(letor_folds(letor_like()), tmp_path / "data")
    return tmp_path / "data"
