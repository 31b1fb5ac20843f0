"""Bars of long work."""

import sys
from threading import Thread

import pytest

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.foundation.progress import counted, stage
from tests.makers import random_log


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Take standard error for a terminal, and return a function that returns what was written to it."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    return lambda: capsys.readouterr().err


def test_bars_are_shown_on_a_terminal_with_the_name_of_the_stage(terminal):
    assert list(counted("ab", 2, "letters")) == ["a", "b"]
    err = terminal()
    assert "letters" in err and ": letters" not in err and "0/2" in err
    with stage("learning"):
        assert list(counted("ab", 2, "letters")) == ["a", "b"]
        with stage(None):
            assert list(counted("ab", 2, "others")) == ["a", "b"]
    err = terminal()
    assert "learning: letters" in err and "others" not in err


def test_other_threads_and_pipes_have_no_bars(terminal, monkeypatch):
    thread = Thread(target=lambda: list(counted("ab", 2, "letters")))
    thread.start()
    thread.join()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert list(counted("ab", 2, "letters")) == ["a", "b"]
    assert terminal() == ""


def test_a_fit_of_a_long_log_counts_its_samples(terminal):
    with stage("held out"):
        DCGLearner().fit(random_log(80, seed=1))
        assert terminal() == ""
        DCGLearner().fit(random_log(8200, seed=1))
    assert "held out: larger samples" in terminal()
