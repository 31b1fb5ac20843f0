"""Small or plain files that would take memory or time without end are refused at once, in words."""

import io
import json
import time
import zipfile

import pytest

from dcglearn.io import read_judgements, read_runs
from dcglearn.reading.read import read_preferences
from tests.makers import refused
from tests.tables import table

SECONDS = 60.0
"""Processor time that a refusal may take on a slow machine; unbounded, each took minutes, or did
not end.
"""

WIDE = 200_000
"""Columns of a line."""

LINE = {"a": [1, 0], "b": [0, 1], "winner": "a"}


@pytest.fixture(autouse=True)
def in_time():
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


@pytest.fixture
def book(tmp_path):
    """Return a function that writes a workbook with some XML in its sheet, and returns the path."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(rows="", after="", shared="", name="xl/worksheets/sheet1.xml"):
        made = openpyxl.Workbook()
        for row in (["a", "b", "winner"], ["3 2", "1 0", "a"], ["1 0", "2 2", "b"]):
            made.active.append(row)
        made.save(whole := io.BytesIO())
        path = tmp_path / "log.xlsx"
        with (
            zipfile.ZipFile(whole) as source,
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            for part in source.namelist():
                text = source.read(part).decode()
                text = text.replace("</sheetData>", f"{rows}</sheetData>{after}")
                to = name if part == "xl/worksheets/sheet1.xml" else part
                target.writestr(to, text.replace("/xl/worksheets/sheet1.xml", f"/{name}"))
            if shared:
                target.writestr("xl/sharedStrings.xml", f"<sst><si><t>{shared}</t></si></sst>")
        return path

    return write


def test_a_workbook_is_read(book):
    log = read_preferences(
        book(rows='<row r="9"/>', after='<mergeCells><mergeCell ref="A5:XFD1048576"/></mergeCells>')
    )
    assert len(log) == 2


@table(
    "more",
    [
        {"rows": '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'},
        {"rows": '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', "name": "xl/any.bin"},
        {"rows": '<row r="1048576">' + "<c/>" * 16_384 + "</row>"},  # places need not be written
        {"rows": "<row/>" * 300_000 + "<row>" + "<c/>" * 999 + "</row>"},
    ],
)
def test_a_sheet_that_spans_far_more_than_it_holds_is_refused(book, more):
    path = book(**more)
    assert path.stat().st_size < 100_000
    refused(
        r"log.xlsx: a sheet spans [\d,]+ rows and [\d,]+ columns; delete those beyond the table",
        read_preferences,
        path,
    )


def test_one_far_cell_is_refused_by_the_command(misuse, book, here):
    book(rows='<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    misuse(
        "a sheet spans 1,048,576 rows and 16,384 columns; delete those beyond the table",
        "learn",
        "log.xlsx",
    )


@table("rows", ["<row", "<c " * 300_000, "<c r='" * 300_000])
def test_a_sheet_that_is_no_xml_is_refused(book, rows):
    refused(
        "cannot be read .*; unpack it, or save the sheet as CSV", read_preferences, book(rows=rows)
    )


@pytest.mark.parametrize(
    "separator",
    [" ", *(pytest.param(other, marks=pytest.mark.long) for other in ("y\t", "\t", "  "))],
)
def test_a_line_of_a_run_with_millions_of_columns_is_refused(tmp_path, separator):
    path = tmp_path / "run.txt"
    for first in ("", "1 Q0 D1 1 2 a\n", "1\tQ0\tD1\t1\t2\ta\n"):
        path.write_text(first + separator.join(["x"] * WIDE) + "\n")
        line = 1 + bool(first)
        refused(f"run.txt, row {line}: {WIDE} columns, expected 6: query Q0", read_runs, path)


@pytest.mark.parametrize("blank", [" ", "\t", " \t"])
def test_a_line_of_blanks_takes_no_longer_than_others(tmp_path, blank):
    path = tmp_path / "run.txt"
    path.write_text("1 Q0 D1 1 2 a\n1 Q0 D2 1 2 a" + blank * WIDE + "b\n")
    refused("row 2: 7 columns, expected 6", read_runs, path)
    path.write_text("1 Q0 D1 1 2 a" + blank * WIDE + "\n\n \n1 Q0 D2 1 1 a\n")
    [run] = read_runs(path)
    assert run.frame["document"].to_list() == ["D1", "D2"]


def test_wide_lines_of_other_forms_are_refused(tmp_path):
    cells = ",".join(["1"] * WIDE)
    keys = ",".join(f'"k{i}":1,"K{i}":2,"k{i}":3' for i in range(20_000))
    for name, text, words in (
        ("log.csv", f"a,b,winner\n3 2,1 0,a\n{cells}\n", "more fields than defined"),
        ("log.csv", f"{cells}\n3 2,1 0,a\n", "more than 10,000 columns"),
        ("log.jsonl", f"{json.dumps(LINE)}\n{{{keys}}}\n", "line 2: .*the key .k0. occurs twice"),
    ):
        (tmp_path / name).write_text(text)
        refused(words, read_preferences, tmp_path / name)
    (tmp_path / "judged.tsv").write_text(
        "query\tdocument\tgrade\n1\tD1\t1\n" + cells.replace(",", "\t") + "\n"
    )
    refused("more fields than defined", read_judgements, tmp_path / "judged.tsv")


def test_logs_with_thousands_of_keys_are_read(tmp_path):
    more = {f"k{i}": 1 for i in range(15_000)}
    text = "".join(json.dumps({**LINE, "winner": "ab"[i % 2], **more}) + "\n" for i in range(12))
    (tmp_path / "log.jsonl").write_text(text)
    assert len(read_preferences(tmp_path / "log.jsonl")) == 12


def test_a_file_of_many_runs_is_read(tmp_path):
    (tmp_path / "runs.txt").write_text("".join(f"1 Q0 D1 1 2 t{i}\n" for i in range(10_000)))
    assert len(read_runs(tmp_path / "runs.txt")) == 10_000
