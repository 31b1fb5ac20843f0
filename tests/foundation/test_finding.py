"""The base of results: forms of one small finding, and names that would be markup."""

import json
import math
from dataclasses import dataclass, field

import polars as pl

from dcglearn.foundation.finding import Finding, cells_of, plain, table_of
from tests.tables import table

TAG = "<b>|`x`\x1b[31m"


@dataclass(frozen=True)
class Small(Finding):
    n_topics: int = 1200

    @property
    def sentence(self):
        return f"one run leads: {TAG}"

    @property
    def table(self):
        return table_of(
            [
                {"run": TAG, "difference": 0.12345, "low": -0.5, "high": 1.0, "topics": 1200},
                {"run": "none", "difference": math.nan, "low": None, "high": None, "topics": None},
            ]
        )

    @property
    def notes(self):
        return ["levels are 90%."]


def test_text_has_the_sentence_the_table_and_the_notes():
    lines = str(Small()).splitlines()
    assert lines[0] == r"One run leads: <b>|`x`\x1b[31m."
    assert lines[2].split("  ")[0] == "run"
    assert lines[3].split()[-5:] == ["0.1235", "-0.5000", "to", "1.0000", "1,200"]
    assert lines[4] == "none"
    assert lines[-1] == "- Levels are 90%."


def test_names_cannot_become_markup():
    html = Small().to_html()
    assert "<b>" not in html and "&lt;b&gt;" in html and "\x1b" not in html
    text = Small().to_markdown()
    assert r"\<b\>\|\`x\`" in text and "\x1b" not in text
    assert text.count("\n| ") == 4


def test_json_has_no_numbers_that_json_lacks():
    values = Small().to_dict()
    assert json.loads(json.dumps(values, allow_nan=False))["table"][1]["difference"] is None
    assert plain({1: (math.inf, 2)}) == {"1": [None, 2]}


def test_intervals_are_drawn_by_default():
    (picture,) = Small().pictures
    assert picture["title"] == "difference" and len(picture["rows"]) == 1


@table(("value", "text"), [(True, "yes"), ([1, 2], "1 2"), (1234, "1,234"), (None, "")])
def test_cells(value, text):
    assert cells_of(table_of([{"a": value}]))[1] == [text]


def test_a_format_and_a_title_belong_to_a_column():
    rows = [{"name": "a", "x": 0.5, "hidden": 3, "all_low": 0.1, "all_high": 0.2}]
    cells = cells_of(table_of(rows), {"x": ".0%", "all_low": ".1f"}, {"hidden": "", "x": "share"})
    assert cells == [["name", "share", "all interval"], ["a", "50%", "0.1 to 0.2"]]


@dataclass(frozen=True, eq=False)
class Given(Finding):
    table: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...]
    sentence = "two runs"


def test_table_and_notes_may_be_fields():
    ends = {"value": 0.5, "low": 0.1, "high": 0.9}
    rows = [{"run": "a", "measure": name, **ends, "empty": None} for name in ("P", "R")]
    result = Given(table_of(rows), ("one note",))
    assert result.cells[0] == ["run", "measure", "value", "interval"]
    assert [row[0] for row in result.pictures[0]["rows"]] == ["a, P", "a, R"]
    assert result.to_dict()["notes"] == ["one note"] and len(result.to_dict()["table"]) == 2


def test_names_that_end_like_an_interval_are_columns():
    assert cells_of(table_of([{"run": "a", "yellow": 0.5}]))[0] == ["run", "yellow"]
