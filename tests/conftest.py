"""Fixtures of all tests, and hypothesis's settings."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.makers import SHARED, call

if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # OpenMP's threads spin while they wait for those of the other test process
    os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("dcglearn", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("dcglearn")


NO_SKIP = "DCGLEARN_NO_SKIP"
"""Variable of the environment that turns a skipped test into a failure, for runs that install all
they need.
"""


def _refused(report):
    """Return the report of a test or a file; a skipped one as failed where `NO_SKIP` is set."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get(NO_SKIP):
        report.outcome = "failed"
        report.longrepr = f"skipped, which {NO_SKIP} does not allow: {report.longrepr[-1]}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refused((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refused((yield))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("needs Linux or macOS")


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the real data is kept beside the project, not in it, and is not here")
    return SHARED


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Return an empty folder, which is the working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dcglearn(monkeypatch, capsys):
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


@pytest.fixture
def misuse(dcglearn):
    """Return a function that asserts that a command has status 2, no output and a message, and
    returns the messages.
    """

    def check(message, *arguments):
        status, out, err = dcglearn(*arguments)
        assert (status, out) == (2, "") and message in err and "Traceback" not in err, err
        return err

    return check
