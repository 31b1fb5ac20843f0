"""The table of columns: every row is checked, cut, saved, read and documented."""

import inspect
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from dcglearn.logs.columns import COLUMNS, ColumnValues
from dcglearn.reading.contract import JUDGEMENT
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import read_preferences
from tests.makers import refused
from tests.tables import table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "file_formats.md"
VALUES = {
    "positive": [0.5, 2.0, 3.0],
    "number": [-1.0, 0.0, 2.5],
    "label": ["x", "y", "x"],
    "text": ["1", "", "3" * 300],
    "flag": [False, True, False],
    "documents": [[["d1", "d2"], ["d2", "d3"]]] * 2 + [[["d3", "d4"], ["d4", "d1"]]],
}


def log_with(name):
    return Preferences(
        [[2, 1], [1, 0], [0, 0]], [[0, 1], [2, 0], [1, 0]], **{name: VALUES[COLUMNS[name]["kind"]]}
    )


@table("name", COLUMNS)
def test_every_column_is_cut_saved_and_read(tmp_path, name):
    log = log_with(name)
    values = getattr(log, name)
    assert getattr(log[1:], name).tolist() == values[1:].tolist()
    for file in ("log.jsonl", "log.parquet"):
        log.save(tmp_path / file)
        assert getattr(read_preferences(tmp_path / file), name).tolist() == values.tolist()
    with pytest.raises(ValueError, match="read-only"):
        values[0] = values[1]
    with pytest.raises(FrozenInstanceError):
        setattr(log, name, None)


def test_a_line_that_lacks_a_number_counts_as_one(tmp_path):
    text = "a,b,winner,strength,weight\n2 0,0 1,a,,2\n2 0,0 1,a,3,\n"
    (tmp_path / "log.csv").write_text(text)
    log = read_preferences(tmp_path / "log.csv")
    assert log.strength.tolist() == [1, 3]
    assert log.weight.tolist() == [2, 1]


@table("name", COLUMNS)
def test_every_column_needs_a_value_a_pair(name):
    refused(
        name, Preferences, [[1, 0]], [[0, 1]], **{name: np.array(VALUES[COLUMNS[name]["kind"]])}
    )


def test_an_unknown_column_is_refused():
    message = r"no column 'wieght', but id, query, rater.*; the nearest is weight"
    refused(message, Preferences, [[1, 0]], [[0, 1]], wieght=[1])


def meanings():
    """Return what the docstring of a log says of each column."""
    described = re.findall(
        r"^    (\w+) : array_like of \w+, shape .*, optional\n        (.*)\.$",
        Preferences.__doc__,
        re.MULTILINE,
    )
    return dict(described)


@table("name", [name for name in COLUMNS if name != "tie"])
def test_the_page_of_formats_shows_every_column(name):
    ends = ("_a", "_b") if COLUMNS[name]["kind"] == "documents" else ("",)
    keys = [f"`{JUDGEMENT[f'{name}{end}'].names.split()[0]}`" for end in ends]
    meaning = meanings()[name]
    said = meaning[0].lower() + meaning[1:]
    assert f"| {', '.join(keys)} | {said}; optional |" in PAGE.read_text()


def test_the_docstring_of_a_log_is_written_out_and_has_every_column():
    assert meanings().keys() == COLUMNS.keys()
    assert list(ColumnValues.__annotations__) == list(COLUMNS)
    for function in (Preferences, Preferences.from_documents):
        parameters = inspect.signature(function).parameters
        assert [*parameters][-len(COLUMNS) :] == list(COLUMNS)
