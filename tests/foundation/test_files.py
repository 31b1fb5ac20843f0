"""Paths of files, folders and patterns."""

from pathlib import Path

import pytest

from dcglearn.foundation.inputs import expand_paths
from tests.makers import refused

NAMES = ("b.parquet", "a.parquet", "deep/c.parquet", "notes.txt")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return Path("logs")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("logs", ["a.parquet", "b.parquet", "deep/c.parquet"]),
        (Path("logs"), ["a.parquet", "b.parquet", "deep/c.parquet"]),
        ("logs/notes.txt", ["notes.txt"]),
        ("logs/*.parquet", ["a.parquet", "b.parquet"]),
        ("logs/**/*.parquet", ["a.parquet", "b.parquet", "deep/c.parquet"]),
        (["logs/b.parquet", "logs"], ["b.parquet", "a.parquet", "deep/c.parquet"]),
        (("logs/deep", "logs/?.parquet"), ["deep/c.parquet", "a.parquet", "b.parquet"]),
    ],
)
def test_paths_come_in_order_and_once(folder, given, names):
    assert expand_paths(given, "**/*.parquet") == [f"logs/{name}" for name in names]
    assert expand_paths(folder, "*") == ["logs/a.parquet", "logs/b.parquet", "logs/notes.txt"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], r"name files, or a folder with files \*\*/\*\.parquet"),
        ("logs/none", "logs/none does not exist, and no file matches it as a pattern; check the name"),
        ("none/*.parquet", "does not exist, and no file matches it"),
        (["logs", ""], "does not exist, and no file matches it"),
        ("a" * 5000, "does not exist, and no file matches it"),
        ("logs\0", "does not exist, and no file matches it"),
        ("empty", r"empty is a folder, and no file in it matches \*\*/\*\.parquet; check the name"),
    ],
)
def test_paths_that_name_no_file_are_refused(folder, given, message):
    Path("empty").mkdir()
    refused(message, expand_paths, given, "**/*.parquet")
