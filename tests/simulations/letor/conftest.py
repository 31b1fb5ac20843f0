"""A folder of five folds, and the program whose commands are tested."""

import sys

import pytest

from simulations.letor import commands
from simulations.letor.folds import letor_folds, write_folds
from tests.rankers.makers import letor_like


@pytest.fixture
def dcglearn(monkeypatch, capsys):
    """Return a function that runs ``python -m simulations`` in this process, also for `misuse`."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["simulations", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            commands.main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run


@pytest.fixture
def folder(tmp_path):
    write_folds(letor_folds(letor_like()), tmp_path / "data")
    return tmp_path / "data"
