"""Nothing that lies in the working folder runs: no cache of compiled code, no settings of libraries, no module."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dcglearn.foundation.working_folder import inside

ROOT = Path(__file__).parents[2]

RAN = "ran.txt"
"""What a tripwire makes."""

TRAP = f"open({RAN!r}, 'a').write(__name__)\n"

LEARN = ("learn", "log.jsonl", "--plot", "dcg.svg", "-o", "dcg.json", "--force")
"""A command that compiles kernels and draws."""


class _Touches:
    """What makes a file when it is unpickled."""

    def __reduce__(self):
        return open, (RAN, "w")


def ran(folder, *words, **environment):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-m", "dcglearn", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Return a cache of numba's whose files do what a stranger wants, made for the kernels that `LEARN` uses."""
    folder, cache = tmp_path_factory.mktemp("planted"), tmp_path_factory.mktemp("cache")
    shutil.copy(ROOT / "examples" / "side_by_side.jsonl", folder / "log.jsonl")
    done = ran(folder, *LEARN, NUMBA_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    indices = list(cache.rglob("*.nbi"))
    assert len(indices) >= 3
    for index in indices:
        index.write_bytes(pickle.dumps(_Touches()))
    return cache


@pytest.fixture
def hostile(tmp_path, planted):
    """Return a folder with a log, and with traps of all kinds."""
    pytest.importorskip("yaml")
    shutil.copytree(planted, tmp_path / "cache")
    shutil.copy(ROOT / "examples" / "side_by_side.jsonl", tmp_path / "log.jsonl")
    (tmp_path / ".numba_config.yaml").write_text(
        "cache_dir: cache\ncache_locator_classes: evil.Locator\nchrome_trace: ran.txt\nthreading_layer: evil\n"
    )
    (tmp_path / "matplotlibrc").write_text("backend: module://evil\ntext.usetex: True\nlines.linewidth: 30\n")
    (tmp_path / "evil.py").write_text(TRAP)
    for name in ("numpy", "polars", "typer", "yaml", "numba", "matplotlib", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(TRAP)
    return tmp_path


@pytest.mark.posix
@pytest.mark.parametrize("cache", [None, "cache", "./cache", "{here}/cache"])
def test_nothing_in_the_working_folder_runs(hostile, cache):
    environment = {} if cache is None else {"NUMBA_CACHE_DIR": cache.format(here=hostile)}
    before = {path for path in hostile.rglob("*") if path.is_file()}
    done = ran(hostile, *LEARN, **environment)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in hostile.rglob("*") if path.is_file() and path not in before} == {
        "dcg.json",
        "dcg.svg",
    }
    assert ("lies in the working folder" in done.stderr) == (cache is not None)
    assert "stroke-width: 30" not in (hostile / "dcg.svg").read_text()


def test_the_traps_would_be_noticed(hostile):
    code = "import pickle, pathlib; pickle.loads(next(pathlib.Path('cache').rglob('*.nbi')).read_bytes()); import evil"
    subprocess.run([sys.executable, "-c", code], cwd=hostile, check=True)
    assert (hostile / RAN).read_text() == "evil"


SETTINGS = """
import sys
import matplotlib, numba
before = matplotlib.rcParams["lines.linewidth"], numba.config.CACHE_DIR
import dcglearn.plots, dcglearn.foundation.compiled
print(*before, dcglearn.plots.dcg_figure(dcglearn.DCG.standard(3, 3)).__class__.__name__)
print(matplotlib.rcParams["lines.linewidth"], numba.config.CACHE_DIR)
"""


def test_settings_of_a_program_that_imported_the_libraries_itself_are_left(hostile):
    for name in ("numpy", "numba", "matplotlib", "yaml", "polars"):
        (hostile / f"{name}.py").unlink()
    (hostile / ".numba_config.yaml").write_text("cache_dir: elsewhere\n")
    (hostile / "matplotlibrc").write_text("lines.linewidth: 30\n")
    said = subprocess.run(
        [sys.executable, "-c", SETTINGS],
        cwd=hostile,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["30.0", "elsewhere", "NotebookFigure", "30.0", "elsewhere"]


@pytest.mark.parametrize("variable", ["MATPLOTLIBRC", "MPLCONFIGDIR"])
def test_the_users_own_settings_of_matplotlib_are_read(hostile, tmp_path_factory, variable):
    own = tmp_path_factory.mktemp("own")
    (own / "matplotlibrc").write_text("lines.solid_capstyle: butt\nsvg.hashsalt: mine\n")
    code = "from dcglearn.foundation.working_folder import import_matplotlib as m; print(m().rcParams['svg.hashsalt'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", variable: str(own)}
    said = subprocess.run([sys.executable, "-c", code], cwd=hostile, env=environment, capture_output=True, check=True)
    assert said.stdout.split() == [b"mine"]


def test_a_folder_that_was_removed_is_none_to_work_in(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert inside(Path("cache")) and inside(gone / "cache") and not inside(tmp_path)
    (tmp_path / "link").symlink_to(gone)
    assert inside(tmp_path / "link" / "cache")
    gone.rmdir()
    assert not inside(tmp_path / "cache")
