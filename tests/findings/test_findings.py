"""Every result is a finding: a sentence, a table, pictures, in every form, with names escaped."""

import inspect
import json
import re
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from dcglearn.foundation.finding import Finding, Section
from dcglearn.foundation.validation import InputError
from tests.public_face import OBJECTS
from tests.tables import table

WINGS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if not path.stem.startswith(("_", "test"))
)
FORMS = (".txt", ".json", ".md", ".html", ".csv")


class Page(HTMLParser):
    """Elements that are open and all that occurred, with the text between them."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "link", "line", "circle", "rect", "polygon", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@cache
def all_results():
    """Return a result of each class, and some more."""
    return [one for wing in WINGS for one in import_module(f"tests.findings.{wing}").results()]


of_each_result = table("result", all_results)


@of_each_result
def test_a_result_has_a_sentence_a_table_and_pictures(result):
    assert isinstance(result, Finding)
    assert result.sentence
    assert isinstance(result.table, pl.DataFrame)
    assert isinstance(result.pictures, list)
    assert len({len(row) for row in result.cells}) <= 1


def test_control_characters_in_a_sentence_are_escaped():
    class Named(Finding):
        @property
        def sentence(self):
            """What a name does to a terminal."""
            return "\x1b[2J is\nbest"

    for finding in (Named(), Section("\x1b[2J is\nbest")):
        assert str(finding) == r"\x1b[2J is\nbest."
        assert "\x1b" not in repr(finding)


@of_each_result
def test_it_prints_its_sentence_first_and_every_note(result):
    first, *rest = str(result).splitlines()
    assert first.casefold().startswith(result.sentence[:20].casefold())
    assert len(rest) >= len(result.cells) - 1 + len(result.notes)


@of_each_result
def test_it_is_json_with_the_rows_of_its_table(result):
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert values["sentence"] == result.sentence
    assert len(values["table"]) == len(result.table)


@of_each_result
def test_its_page_is_whole_and_without_scripts(result):
    html = result.to_html()
    page = Page(html)
    assert " style=" not in html  # pages whose policy allows no inline style show the same pictures
    assert page.open == [] and "script" not in page.tags
    assert page.tags.count("tr") == len(result.cells) * (len(result.cells) > 1)
    cell = Page(result._repr_html_())
    assert cell.open == [] and not {"script", "style", "html"} & {*cell.tags}
    assert cell.tags.count("svg") == len(result.pictures)


@of_each_result
def test_ipython_shows_its_text_where_there_is_no_html(result):
    pretty = pytest.importorskip("IPython.lib.pretty")
    assert pretty.pretty(result) == str(result)


@table("suffix", FORMS)
@of_each_result
def test_it_is_saved_in_the_form_of_the_suffix(result, suffix, tmp_path):
    path = tmp_path / f"result{suffix}"
    path.unlink(missing_ok=True)
    result.save(path)
    assert path.stat().st_size > 0 or not result.table.width
    with pytest.raises(InputError, match=r"findings are not written as \.docx; give \.txt"):
        result.save(tmp_path / "result.docx")


DATA = {"Preferences", "Queries", "Ranker", "RankEval"}
DATA |= {"Judgements", "Run", "DCG", "ListUtility", "AnyLog"}
"""Classes of data and models, which are no findings."""


def returned(function):
    """Return the classes of the package that a public function's annotation names."""
    words = str(inspect.signature(function).return_annotation)
    names = {*re.findall(r"[A-Z]\w+", words)} - DATA
    values = [function.__globals__.get(name) for name in names]
    return {one for one in values if "dcglearn" in getattr(one, "__module__", "")}


def test_all_results_of_public_functions_are_findings_that_are_tested_here():
    functions = [value for value in OBJECTS.values() if inspect.isfunction(value)]
    classes = set().union(*(returned(one) for one in functions))
    assert len(classes) >= 20
    assert {one.__name__ for one in classes if not issubclass(one, Finding)} == set()
    tested = {type(result).__name__ for result in all_results()} | {"Report"}
    assert {one.__name__ for one in classes} - tested == set()
