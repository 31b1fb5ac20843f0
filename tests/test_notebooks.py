"""Code of the site runs in a notebook of its own, from a clean kernel, and shows its picture."""

import os
import re
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks run with nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="notebooks run with nbclient and ipykernel")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
FRONT = ROOT / "docs" / "index.md"


def pictures(code, folder, monkeypatch):
    """Return the PNGs that a notebook with one cell shows, run in a clean kernel in `folder`."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}
    )
    outputs = client.execute().cells[0].outputs
    return [
        output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})
    ]


def test_the_first_page_ends_in_a_picture(monkeypatch):
    (code,) = re.findall(r"^```py\n(.*?)^```", FRONT.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 3
    assert len(pictures(code, ROOT, monkeypatch)) == 1


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_gallery_shows_one_picture(script, tmp_path, monkeypatch):
    if script.stem == "plot_trees":
        pytest.importorskip("lightgbm")
    assert len(pictures(script.read_text(), tmp_path, monkeypatch)) == 1
