"""Zip files: one file inside or several, bounded before they are inflated, and the sheets of
workbooks.
"""

import bz2
import gzip
import io
import struct
import zipfile

import pytest

from dcglearn.foundation import inputs, sources
from dcglearn.foundation.sources import content, contents
from tests.makers import refused

TEXT = b"a,b,winner\n2 0,0 2,a\n"


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """Return a zip file with these files, by name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.fixture
def read(tmp_path):
    """A function that reads the files in a zip file of these bytes."""

    def contents_of(data, **options):
        path = tmp_path / "log.zip"
        path.write_bytes(data)
        return [
            (name.removeprefix(f"{tmp_path}/"), inside)
            for name, inside in contents(path, **options)
        ]

    return contents_of


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_files_inside_are_read_in_order(read, method):
    files = {
        "__MACOSX/._x.csv": b"x",
        "in/": b"",
        "in/b.csv": b"\xef\xbb\xbf" + TEXT,
        "a.csv": TEXT,
        ".DS_Store": b"x",
    }
    assert read(zipped(files, method)) == [("log.zip/a.csv", TEXT), ("log.zip/in/b.csv", TEXT)]


def test_one_file_may_have_any_name_and_encoding(read, tmp_path):
    assert read(zipped({"log": TEXT})) == [("log.zip/log", TEXT)]
    assert read(zipped({"log": "é".encode("cp1252")}), encoding="cp1252") == [
        ("log.zip/log", "é".encode())
    ]
    assert content(tmp_path / "log.zip", encoding="cp1252")[1] == "é".encode()
    assert read(gzip.compress(zipped({"log": TEXT}))) == [("log.zip/log", TEXT)]


def test_several_files_are_refused_where_one_is_wanted(read, tmp_path):
    read(zipped({"a.csv": TEXT, "b.csv": TEXT}))
    refused(
        "log.zip holds several files: a.csv, b.csv; unpack it, and name one",
        content,
        tmp_path / "log.zip",
    )


def encrypted(data):
    """Return a zip file whose first entry is marked as encrypted."""
    changed = bytearray(data)
    changed[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


DATA = zipped({"log.csv": TEXT})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped({}), "log.zip holds no file; put the log into it"),
        (zipped({"__MACOSX/x": b"x"}), "log.zip holds no file"),
        (
            zipped({"a.csv": TEXT, "b.csv": TEXT}).replace(b"b.csv", b"a.csv"),
            "log.zip holds two files of one name",
        ),
        (zipped({"log.csv": b" \n"}), "log.zip/log.csv is empty; expected one judgement a line"),
        (
            zipped({"a.csv": TEXT, "README.md": b"#"}),
            "holds files of no known suffix: README.md; take them out",
        ),
        (zipped({"in.zip": DATA}), "log.zip/in.zip: a zip file inside a zip file; unpack it"),
        (zipped({"log.csv.gz": gzip.compress(TEXT)}), "log.zip/log.csv.gz: compressed twice"),
        (zipped({"log.npy": b"\x93NUMPY"}), "log.zip/log.npy is a NumPy array"),
        (encrypted(DATA), r"log.zip is encrypted \(log.csv\); unpack it with its password"),
        (
            zipped({"log.csv": TEXT}, zipfile.ZIP_BZIP2),
            r"log.csv is packed by .* \(number 12\); pack it by deflate",
        ),
        (
            zipped({"log.csv": TEXT}, zipfile.ZIP_LZMA),
            "log.csv is packed by a method other than deflate",
        ),
        (DATA[:-30], "log.zip: a zip file or workbook that is damaged .*; make or copy it again"),
        (
            DATA[:42] + b"\xff" * 8 + DATA[50:],
            "log.zip/log.csv: damaged .*; make or copy the zip file again",
        ),
    ],
)
def test_what_is_no_zip_file_of_logs_is_refused(read, data, message):
    refused(message, read, data)


def test_a_bomb_is_refused_before_it_is_inflated(read, monkeypatch):
    bomb = zipped({"log.csv": b" " * 30_000_000})
    assert len(bomb) < 100_000
    with monkeypatch.context() as patch:
        patch.setattr(inputs, "available", lambda: 1_000_000)
        refused("inflates from .* half of the memory that is free", read, bomb)
    monkeypatch.setattr(sources, "PLAIN", 1 << 20)
    refused("inflates from .* more than 200 times as much", read, bomb)
    refused(
        "inflates from .* more than 200 times as much",
        read,
        zipped({f"{i}.csv": b" " * 10**5 for i in range(99)}),
    )


def test_a_size_that_is_not_true_is_refused(read, monkeypatch):
    bomb = bytearray(zipped({"log.csv": b" " * 30_000_000}))
    sizes = [bomb.index(b"PK\x03\x04") + 22, bomb.index(b"PK\x01\x02") + 24]
    for at in sizes:
        bomb[at : at + 4] = struct.pack("<I", 1000)
    largest = []
    real = zipfile.ZipExtFile._read1
    monkeypatch.setattr(
        zipfile.ZipExtFile, "_read1", lambda file, n: largest.append(n) or real(file, n)
    )
    refused("log.zip/log.csv: damaged", read, bytes(bomb))
    assert max(largest) == 1000


def test_bytes_after_a_zip_file_of_bzip2_are_no_zip_file(read):
    assert read(bz2.compress(DATA)) == [("log.zip/log.csv", TEXT)]


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
def test_a_sheet_is_told_by_its_name_or_number(book, read, sheet, text):
    assert content(book, sheet=sheet)[1] == text
    assert read(zipped({"book.xlsx": book.read_bytes()}), sheet=sheet) == [
        ("log.zip/book.xlsx", text)
    ]


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
