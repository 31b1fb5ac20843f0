"""What a report of a bug should tell."""

import json
from pathlib import Path

from dcglearn.cli import doctor


def test_it_tells_versions_extras_threads_and_folders(dcglearn, here):
    status, out, err = dcglearn("doctor")
    assert (status, err) == (0, "")
    labels = [line.partition(":")[0] for line in out.splitlines()]
    extras = [f"extra {name}" for name in doctor.EXTRAS]
    folders = ["working folder", "temporary files", "compiled code"]
    assert labels == ["dcglearn", "python", "libraries", *extras, "threads", "memory", *folders]
    assert f"{here} (can be written)" in out
    found = json.loads(dcglearn("doctor", "--json")[1])
    assert found["libraries"]["numpy"] == __import__("numpy").__version__
    assert found["threads"] >= 1 and found["memory"] > 0
    assert Path(found["folder"]) == Path(doctor.__file__).parents[1]


def test_the_extras_are_those_of_the_package():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = project["optional-dependencies"]
    for name, libraries in doctor.EXTRAS.items():
        needed = {word.partition(">")[0].partition("[")[0] for word in declared[name]}
        assert {"distributed", *libraries} == {"distributed", *needed}, name


def test_it_names_what_is_missing_and_the_remedy(dcglearn, monkeypatch, tmp_path):
    gone = tmp_path / "gone"
    monkeypatch.setattr(doctor, "_version", lambda library: None if library == "lightgbm" else "1.0")
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(gone))
    monkeypatch.setattr("dcglearn.foundation.compiled.cache_folder", lambda: None)
    _, out, _ = dcglearn("doctor")
    assert "extra trees: missing lightgbm (pip install 'dcglearn[trees]')" in out
    assert f"temporary files: {gone} (cannot be written)" in out
    assert "compiled code: cannot be kept" in out and "NUMBA_CACHE_DIR" in out
