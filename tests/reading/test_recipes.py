"""The recipes of docs/recipes.md: few statements each, titles that refusals name.

`test_docs.py` runs them, each on a file of its own, and compares what it reads.
"""

import ast
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dcglearn as dl

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text()
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
"""The text of each recipe by its title."""

LONGER = ("Team-draft clicks", "OpenSearch's events of an interleaved test (UBI)")
"""Recipes of up to seven statements instead of five, beside a function of both."""

OURS = r"^(read_\w+|from_long|with_grades|io)$"
"""Names of this package that a recipe may use."""


def blocks(section):
    """Return the blocks of code of a section: its file, the recipe, and what it reads."""
    found = re.findall(r"^```python\n(.*?)^```", section, flags=re.MULTILINE | re.DOTALL)
    return [re.sub("^(>>>|[.]{3}) ?", "", block, flags=re.MULTILINE) for block in found]


def test_there_are_twenty_shapes():
    assert len(SECTIONS) >= 20


@pytest.mark.parametrize("title", SECTIONS)
def test_a_recipe_is_short_and_of_polars(title):
    _file, recipe, read = blocks(SECTIONS[title])
    statements = [ast.unparse(statement) for statement in ast.parse(recipe).body]
    assert len(statements) <= (7 if title in LONGER else 5), statements
    assert [statement for statement in statements if len(statement) > 100] == []
    assert statements[-1].startswith("log")
    assert "log" in read

    ours = [
        node.attr
        for node in ast.walk(ast.parse(recipe))
        if isinstance(node, ast.Attribute) and re.fullmatch(r"dl(\.\w+)*", ast.unparse(node.value))
    ]
    assert [name for name in ours if not re.match(OURS, name)] == []


def named_recipes():
    """Return the titles of recipes that texts of the package name, with the file of each."""
    for path in sorted((ROOT / "dcglearn").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for title in re.findall(r"recipe '([^'{}]+)'", node.value):
                    yield title, path.name


def test_titles_that_refusals_name_are_those_of_recipes():
    titles = {title.lower() for title in SECTIONS}
    assert [(title, name) for title, name in named_recipes() if title.lower() not in titles] == []


def test_a_recipe_of_winners_is_not_named_where_there_is_a_winner():
    votes = {"links": [2, 0], "rechts": [0, 1], "votes_a": 3, "votes_b": 1}
    with pytest.raises(dl.InputError, match="see the recipe 'Votes'"):
        dl.read_preferences([votes])
    with pytest.raises(dl.InputError, match="name them by columns=") as refusal:
        dl.read_preferences([votes | {"winner": "a"}])
    assert "Votes" not in str(refusal.value)


def test_rows_of_a_sheet_and_another_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.active.append(["A study"])
    verdicts = workbook.create_sheet("Verdicts")
    for row in (["a", "b", "winner"], ["2 0", "0 1", "a"], ["0 1", "2 2", "b"]):
        workbook.active.append(row)
        verdicts.append(row)
    path = tmp_path / "log.xlsx"
    workbook.save(path)

    # as the table of arguments says
    rows = pl.read_excel(path, has_header=False, engine="openpyxl").rows()
    titled = pl.DataFrame(rows[2:], schema=rows[1], orient="row")
    other = pl.read_excel(path, sheet_name="Verdicts", engine="openpyxl")
    for frame in (titled, other):
        assert dl.read_preferences(frame).preferred.tolist() == [[2, 0], [2, 2]]


def test_arguments_of_the_readers_of_polars(tmp_path):
    text = "a;b;winner;weight\n2 0;0 1;a;1,5\n"
    for encoding in ("cp1252", "latin-1", "mac-roman", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(text.encode(encoding))
        frame = pl.read_csv(path, encoding=encoding, separator=";", decimal_comma=True)
        assert dl.read_preferences(frame).weight.tolist() == [1.5]

    objects = (
        '{\n "a": [2, 0], "b": [0, 1],\n "winner": "a"\n}\n{"a": [1], "b": [0], "winner": "a"}'
    )
    frame = pl.read_json(("[" + objects.replace("}\n{", "},{") + "]").encode())
    assert dl.read_preferences(frame).preferred.tolist() == [[2, 0], [1, -2]]


def test_answers_of_a_language_model_teach_how_it_reads(tmp_path, monkeypatch):
    # a distractor misleads this model, and questions differ in how hard they are
    rng = np.random.default_rng(36)
    gains, discounts = np.array([-1 / 3, 0.4, 1.0]), np.array([1.0, 0.6, 0.4, 0.3, 0.3])
    rows = []
    for question in range(400):
        difficulty = rng.normal(-1, 1)
        for longest in (3, 5, 0):
            grades = rng.choice(
                3, p=(0.5, 0.25, 0.25), size=rng.integers(min(longest, 1), longest + 1)
            )
            logit = 3 * (gains[grades] @ discounts[: len(grades)]) + difficulty
            right = bool(rng.random() < 1 / (1 + np.exp(-logit)))
            rows.append({"question": question, "list": grades.tolist(), "right": right})
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(rows).write_ndjson("answers.jsonl")

    # the recipe, and the learner that its section names
    section = SECTIONS["Answers of a language model"]
    names = {"dl": dl, "pl": pl}
    exec(blocks(section)[1], names)
    learner = eval(re.findall(r"`(dl\.DCGLearner\(.*?\))`", section)[0], names)
    dcg = learner.fit(names["log"]).dcg_
    assert dcg.gains == pytest.approx(gains, abs=0.2) and dcg.gains[0] < -0.1
    assert dcg.discounts == pytest.approx(discounts, abs=0.2)
