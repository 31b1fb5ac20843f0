"""The files around the package agree with it: version, citation, workflows, release."""

import re
import tomllib
from pathlib import Path

import pytest

import dcglearn

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
