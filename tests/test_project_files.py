"""The files around the package agree with it: version, citation, workflows, release; runs under other settings."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import dcglearn
from tests import processors

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = {
    target
    for line in (ROOT / "Makefile").read_text().splitlines()
    if (targets := re.match(r"([a-z ]+):(?!=)", line))
    for target in targets[1].split()
}


def test_the_citation_names_this_version():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == dcglearn.__version__
    assert len(citation["references"]) == 5


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_of_the_makefile(path):
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    commands = [
        (step["run"], job["strategy"]["matrix"].get("target", []) if "strategy" in job else [])
        for job in jobs
        for step in job["steps"]
        if "run" in step
    ]
    assert commands
    called = set()
    for command, targets in commands:
        called |= {*targets} if "make ${{" in command else {*re.findall(r"^make ([a-z]+)", command)}
    assert called <= TARGETS


def test_every_supported_python_is_tested_and_named():
    yaml = pytest.importorskip("yaml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["tests"]["strategy"]["matrix"]
    named = {line.rsplit(" ", 1)[1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert named == {*tested["python"]}
    assert project["requires-python"] == f">={min(named, key=lambda version: int(version.split('.')[1]))}"


def test_targets_of_the_makefile_name_tests_that_exist():
    for name in re.findall(r"\btests/[\w./]+", (ROOT / "Makefile").read_text()):
        assert (ROOT / name).exists(), name


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
