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
    words = "log.zip: a zip file or workbook that cannot be read .*; unpack it"
    refused(words, content, path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    refused(words, content, path)


def test_the_first_sheet_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    for row in (["a", "b", "winner"], ["2 0", "0 2", "a"]):
        workbook.active.append(row)
    workbook.create_sheet("Notes").append(["see the first sheet"])
    workbook.save(tmp_path / "book.xlsx")
    assert content(tmp_path / "book.xlsx")[1] == b"a\tb\twinner\n2 0\t0 2\ta\n"
