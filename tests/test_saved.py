"""Saved files of every kind are read as what was written, and files of other versions are refused
by name.
"""

import json
import re
import shutil

import numpy as np
import pytest

import dcglearn as dl
from tests.makers import refused
from tests.saved import kinds
from tests.tables import table

EXPECTED = json.loads((kinds.FOLDER / "expected.json").read_text(encoding="utf-8"))
LOAD = {
    "dcg.json": dl.DCG.load,
    "utility.json": dl.Utility.load,
    "list_utility.json": dl.evaluation.ListUtility.load,
    "linear.json": dl.load_ranker,
    "trees.json": dl.load_ranker,
}


@pytest.fixture
def copy(tmp_path):
    """Return a folder with copies of the saved files, of which a test may change some."""
    return shutil.copytree(kinds.FOLDER, tmp_path / "saved")


def same(found, expected):
    """Compare two values of JSON, numbers up to another order of sums on another processor."""
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for name in expected:
            same(found[name], expected[name])
    elif isinstance(expected, float) or (
        isinstance(expected, list) and np.asarray(expected).dtype.kind == "f"
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
    else:
        assert json.loads(json.dumps(found)) == expected


def test_every_saved_file_is_read_here():
    texts = {"README.md", "expected.json", "kinds.py", "train.txt", "test.txt", "__pycache__"}
    freezing = {"freeze.py", "frozen", *(path.name for path in kinds.FOLDER.glob("frozen_*.py"))}
    others = {path.name for path in kinds.FOLDER.iterdir()} - texts - freezing
    assert others == set(kinds.READ) == set(EXPECTED)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", kinds.READ)
def test_a_saved_file_says_what_was_written(name):
    if name == "trees.json":
        pytest.importorskip("lightgbm")
    same(kinds.READ[name](kinds.FOLDER / name), EXPECTED[name])


@table("name", LOAD)
def test_a_file_of_another_version_is_refused(copy, name):
    file = copy / name
    text, n = re.subn(r'"version": \d+', '"version": 9', file.read_text(encoding="utf-8"), count=1)
    assert n == 1
    file.write_text(text, encoding="utf-8")
    refused("9", LOAD[name], file)
