"""Nothing that lies in the working folder runs: no library of kernels, no settings of libraries, no
module.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tables import table

ROOT = Path(__file__).parents[2]

RAN = "ran.txt"
"""What a tripwire makes."""

TRAP = f"open({RAN!r}, 'a').write(__name__)\n"

LEARN = ("learn", "log.jsonl", "--plot", "dcg.svg", "-o", "dcg.json", "--bands", "0")
"""A command that uses kernels and draws."""


def ran(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dcglearn", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def hostile(tmp_path):
    """Return a folder with a log, and with traps of all kinds."""
    shutil.copy(ROOT / "examples" / "side_by_side.jsonl", tmp_path / "log.jsonl")
    (tmp_path / ".numba_config.yaml").write_text(
        "cache_dir: cache\ncache_locator_classes: evil.Locator\n"
    )
    (tmp_path / "matplotlibrc").write_text(
        "backend: module://evil\ntext.usetex: True\nlines.linewidth: 30\n"
    )
    (tmp_path / "evil.py").write_text(TRAP)
    for name in (
        "numpy",
        "polars",
        "typer",
        "ziglang",
        "matplotlib",
        "sitecustomize",
        "usercustomize",
    ):
        (tmp_path / f"{name}.py").write_text(TRAP)
    for name in ("kernels.lib", "kernels.avx2.lib", "libc.so.6"):
        (tmp_path / name).write_bytes(b"no library")
    return tmp_path


@pytest.mark.posix
def test_nothing_in_the_working_folder_runs(hostile):
    before = {path for path in hostile.rglob("*") if path.is_file()}
    done = ran(hostile, *LEARN)
    assert done.returncode == 0, done.stderr
    made = {path.name for path in hostile.rglob("*") if path.is_file() and path not in before}
    assert made == {"dcg.json", "dcg.svg"}
    assert "stroke-width: 30" not in (hostile / "dcg.svg").read_text()


def test_the_traps_would_be_noticed(hostile):
    subprocess.run([sys.executable, "-c", "import evil"], cwd=hostile, check=True)
    assert (hostile / RAN).read_text() == "evil"


SETTINGS = """
import sys
import matplotlib
before = matplotlib.rcParams["lines.linewidth"]
import dcglearn.plots
print(before, dcglearn.plots.dcg_figure(dcglearn.DCG.standard(3, 3)).__class__.__name__)
print(matplotlib.rcParams["lines.linewidth"])
"""


def test_settings_of_a_program_that_imported_matplotlib_itself_are_left(hostile):
    for name in ("numpy", "matplotlib", "polars"):
        (hostile / f"{name}.py").unlink()
    (hostile / "matplotlibrc").write_text("lines.linewidth: 30\n")
    said = subprocess.run(
        [sys.executable, "-c", SETTINGS],
        cwd=hostile,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["30.0", "Figure", "30.0"]


@table("variable", ["MATPLOTLIBRC", "MPLCONFIGDIR"])
def test_the_users_own_settings_of_matplotlib_are_read(hostile, tmp_path_factory, variable):
    own = tmp_path_factory.mktemp("own")
    (own / "matplotlibrc").write_text("lines.solid_capstyle: butt\nsvg.hashsalt: mine\n")
    code = (
        "from dcglearn.foundation.figure_style import import_matplotlib as m; "
        "print(m().rcParams['svg.hashsalt'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", variable: str(own)}
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=hostile, env=environment, capture_output=True, check=True
    )
    assert said.stdout.split() == [b"mine"]
