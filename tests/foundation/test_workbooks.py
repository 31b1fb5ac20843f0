"""Sheets of workbooks, and zip files that are none."""

import gzip
import zipfile

import pytest

from dcglearn.foundation.sources import content
from tests.makers import refused

TEXT = b"a,b,winner\n2 0,0 2,a\n"


def test_another_zip_file_is_refused(tmp_path):
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("log.csv", TEXT)
    words = "log.zip is a zip file; unpack it, and name the files or their folder"
    refused(words, content, path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    refused(words, content, path)


@pytest.fixture
def book(tmp_path):
    """A workbook with three sheets, the second of which is the log."""
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.active.title = "Notes"
    workbook.active.append(["see"])
    workbook.active.append(["the next sheet"])
    for name, winner in (("Verdicts", "a"), ("1", "b")):
        sheet = workbook.create_sheet(name)
        for row in (["a", "b", "winner"], ["2 0", "0 2", winner]):
            sheet.append(row)
    path = tmp_path / "book.xlsx"
    workbook.save(path)
    return path


@pytest.mark.parametrize(
    ("sheet", "text"),
    [
        (None, b"see\nthe next sheet\n"),
        ("Verdicts", b"a\tb\twinner\n2 0\t0 2\ta\n"),
        (2, b"a\tb\twinner\n2 0\t0 2\ta\n"),
        ("3", b"a\tb\twinner\n2 0\t0 2\tb\n"),
        ("1", b"a\tb\twinner\n2 0\t0 2\tb\n"),
    ],
)
def test_a_sheet_is_told_by_its_name_or_number(book, sheet, text):
    assert content(book, sheet=sheet)[1] == text


@pytest.mark.parametrize("sheet", ["verdicts", 0, 4, "-1", "x" * 500, "²"])
def test_a_sheet_that_is_not_there_is_refused_with_those_that_are(book, sheet):
    refused(
        r"book.xlsx has no sheet .*; sheet= \(--sheet\) takes one of Notes, Verdicts, 1,",
        content,
        book,
        sheet=sheet,
    )


def test_a_sheet_of_another_file_is_refused(tmp_path):
    (tmp_path / "log.csv").write_bytes(TEXT)
    refused(
        r"log.csv is no workbook: leave out sheet=2 \(--sheet\)",
        content,
        tmp_path / "log.csv",
        sheet=2,
    )
