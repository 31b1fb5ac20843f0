"""Bars of long work."""

import sys
from threading import Thread

import pytest

from dcglearn.estimators.learners import DCGLearner
from dcglearn.foundation.progress import counted, stage
from tests.makers import Terminal, random_log


@pytest.fixture
def written(monkeypatch):
    """Return a function that puts a terminal in place of standard error, and returns what was
    written to the last.
    """

    def of_new_terminal():
        last = sys.stderr
        monkeypatch.setattr(sys, "stderr", Terminal())
        return last.getvalue() if isinstance(last, Terminal) else ""

    return of_new_terminal


def test_bars_are_shown_on_a_terminal_with_the_name_of_the_stage(written):
    written()  # a terminal from here on
    assert list(counted("ab", "letters")) == ["a", "b"]
    err = written()
    assert "letters" in err and ": letters" not in err and "0/2" in err
    with stage("learning"):
        assert list(counted("ab", "letters")) == ["a", "b"]
    assert "learning: letters" in written()


def test_other_threads_and_pipes_have_no_bars(written, monkeypatch):
    written()  # a terminal from here on
    thread = Thread(target=lambda: list(counted("ab", "letters")))
    thread.start()
    thread.join()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert list(counted("ab", "letters")) == ["a", "b"]
    assert written() == ""


def test_a_fit_of_a_long_log_counts_its_samples(written):
    written()  # a terminal from here on
    with stage("held out"):
        DCGLearner().fit(random_log(80, seed=1))
        assert written() == ""
        DCGLearner().fit(random_log(8200, seed=1))
    assert "held out: larger samples" in written()
