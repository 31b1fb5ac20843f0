"""The files around the package agree with it: version, citation, workflows, release; runs under
other settings.
"""

import json
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
    archive = json.loads((ROOT / ".zenodo.json").read_text())
    assert (archive["version"], archive["title"]) == (citation["version"], citation["title"])
    assert [creator["name"] for creator in archive["creators"]] == [
        author["name"] for author in citation["authors"]
    ]


def test_nothing_installs_from_an_index_where_the_project_is_not_yet():
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.yml")]
    for page in (path for path in pages if not {"generated", "gallery"} & {*path.parts}):
        said = re.findall(
            r".*(?:pip|pipx|tool|conda|mamba) install (?:-\S+ )*['\"]?dcglearn.*", page.read_text()
        )
        assert all("release" in line for line in said), page


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_of_the_makefile(path):
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    listed = re.findall(r"command: \[(.*)\]", path.read_text())
    commands += [command.strip() for line in listed for command in line.split(",")]
    called = {name for command in commands for name in re.findall(r"^make ([a-z]+)", command)}
    assert called and called <= TARGETS


def test_every_supported_python_is_tested_and_named():
    yaml = pytest.importorskip("yaml")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["tests"][
        "strategy"
    ]["matrix"]
    named = {
        line.rsplit(" ", 1)[1] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)
    }
    assert named == {*tested["python"]}
    assert (
        project["requires-python"]
        == f">={min(named, key=lambda version: int(version.split('.')[1]))}"
    )


def test_targets_of_the_makefile_name_tests_that_exist():
    for file in ("Makefile", ".ci/weekly"):
        for name in re.findall(r"\btests/[\w./]+", (ROOT / file).read_text()):
            assert (ROOT / name).exists(), name


def test_each_day_of_the_week_has_a_run_that_there_is():
    daily = re.findall(r"^  (\d)\) (\S+) (\S+)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    weekly = re.findall(r"^  (\w+)\)", (ROOT / ".ci/weekly").read_text(), re.MULTILINE)
    assert [int(day) for day, *_ in daily] == [*range(1, 8)]
    assert {name for _, program, name in daily if program == ".ci/weekly"} == {*weekly}
    assert {name for _, program, name in daily if program == "make"} <= TARGETS


CHECK = """
import os
from pathlib import Path

def test_that_fails():
    Path(__file__).with_name("core").write_text(os.environ["OPENBLAS_CORETYPE"])
    raise AssertionError
"""


def test_a_setting_reaches_the_tests_and_a_failure_counts(tmp_path, monkeypatch):
    path = tmp_path / "test_check.py"
    path.write_text(CHECK)
    monkeypatch.setattr(sys, "argv", ["processors", "prescott", "--tests", str(path)])
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    assert processors.main() == 1
    assert path.with_name("core").read_text() == "Prescott"


def test_each_setting_has_its_turn(monkeypatch):
    tried = []
    monkeypatch.setattr(processors, "run", lambda setting, paths: tried.append(setting) or 0)
    possible = [
        setting for setting in processors.SETTINGS.values() if processors.why_not(setting) is None
    ]
    assert len(possible) >= 10
    for turn in range(len(possible)):
        monkeypatch.setattr(sys, "argv", ["processors", "--turn", str(turn)])
        assert processors.main() == 0
    assert tried == possible


def test_the_folders_that_are_tested_under_other_processors_are_there():
    assert [name for name in processors.COMPUTING if not (ROOT / "tests" / name).is_dir()] == []
