"""The runs under other settings: variables and orders reach the tests, a failure is a failure, turns go round."""

import sys

import pytest

from tests import processors

CHECK = """
import os

def test_the_variables_have_come():
    assert os.environ["OPENBLAS_CORETYPE"] == "Prescott"
"""


@pytest.mark.parametrize("name, status", [("prescott", 0), ("nehalem", 1)])
def test_a_setting_reaches_the_tests_and_a_failure_counts(tmp_path, monkeypatch, name, status):
    path = tmp_path / "test_check.py"
    path.write_text(CHECK)
    monkeypatch.setattr(sys, "argv", ["processors", name, "--tests", str(path)])
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert processors.main() == status


def test_each_setting_has_its_turn(monkeypatch):
    tried = []
    monkeypatch.setattr(processors, "run", lambda setting, paths: tried.append(setting) or 0)
    possible = [setting for setting in processors.SETTINGS.values() if processors.why_not(setting) is None]
    assert len(possible) >= 10
    for turn in range(len(possible)):
        monkeypatch.setattr(sys, "argv", ["processors", "--turn", str(turn)])
        assert processors.main() == 0
    assert tried == possible
