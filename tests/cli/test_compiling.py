"""The line that says that numba compiles: once, on a terminal, and only if something is compiled."""

import io
import sys

from numba import njit

from dcglearn.cli.terminal import LINE, told_on_a_terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


def compiled():
    """Compile two functions."""
    for factor in (2, 3):
        njit(lambda x, factor=factor: factor * x)(1)


def test_a_terminal_is_told_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with told_on_a_terminal():
        assert sys.stderr.getvalue() == ""
        compiled()
    assert sys.stderr.getvalue() == LINE + "\n"
    compiled()
    assert sys.stderr.getvalue() == LINE + "\n"


def test_a_pipe_is_not_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with told_on_a_terminal():
        compiled()
    assert sys.stderr.getvalue() == ""
