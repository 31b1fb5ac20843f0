"""A folder of five folds."""

import pytest

from dcglearn.letor.folds import letor_folds, write_folds
from tests.letor.makers import small


@pytest.fixture
def folder(tmp_path):
    write_folds(letor_folds(small()), tmp_path / "data")
    return tmp_path / "data"
