"""Any input as tables: formats, files joined, places of rows, and bytes that are refused."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile

import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.sources import zstd
from dcglearn.reading.tables import BadRowsError, Refusals, table_of

ROWS = [{"a": [2, 0], "b": [0, 1], "winner": "a"}, {"a": [1, 0], "b": [0, 2], "winner": "b"}]
LINES = "\n".join(map(json.dumps, ROWS)).encode()
CSV = b"a,b,winner\n2 0,0 1,a\n1 0,0 2,b\n"


def parquet() -> bytes:
    data = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(data)
    return data.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        json.dumps(ROWS).encode(),
        json.dumps(ROWS, indent=1).encode(),
        CSV,
        CSV.replace(b",", b";"),
        CSV.replace(b",", b"\t"),
        b"\xef\xbb\xbf" + CSV.replace(b"\n", b"\r\n"),
        b"sep=,\r\n" + CSV,
        CSV + b",,\n , ,\n",
        parquet(),
        gzip.compress(CSV, mtime=0),
        zstd.compress(LINES),
    ],
)
def test_the_first_bytes_tell_the_format(data, tmp_path):
    (tmp_path / "log.any").write_bytes(data)
    frame = table_of(tmp_path / "log.any").frame
    assert frame.columns == ["a", "b", "winner"]
    assert frame["winner"].to_list() == ["a", "b"]


def zipped() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(zipfile.ZipInfo("log.csv"), CSV)
    return data.getvalue()


def tarred() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        about = tarfile.TarInfo("log.csv")
        about.size = len(CSV)
        archive.addfile(about, io.BytesIO(CSV))
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "empty"),
        (b"a,b,winner\n", "no row"),
        (b"a,b,winner\n2 0,0 1\n", "line 2: 2 fields"),
        (b"a,b,winner\n2 0,0 1,a,x\n", "cannot be read"),
        (b"a,b\n\xe4,1\n", "another encoding"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b'{"a": [1], "a": [2]}\n', "'a' occurs twice"),
        (b'{"a": [1]}\n{"a": [1}\n', "line 2: not valid JSON"),
        (b'{"a": [1]}\n[1]\n', "line 2"),
        (b'[{"a": 1}, 2]', "row 2"),
        (b"[{}]", "no row"),
        (b'[{"a": 1, "a": 2}]', "'a' occurs twice"),
        (zipped(), "zip"),
        (tarred(), "unpack it"),
        (gzip.compress(gzip.compress(CSV, mtime=0), mtime=0), "gzip and zstd, once"),
        (gzip.compress(b"", mtime=0), "empty"),
        (bz2.compress(CSV), "unpack it"),
        (lzma.compress(CSV), "unpack it"),
    ],
)
def test_what_cannot_be_read_is_refused(data, told, tmp_path):
    (tmp_path / "log.csv").write_bytes(data)
    with pytest.raises(dl.InputError, match=r"log\.csv") as refusal:
        table_of(tmp_path / "log.csv")
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    "frame",
    [pl.DataFrame(ROWS), pl.LazyFrame(ROWS), ROWS, "pandas"],
    ids=["polars", "lazy", "records", "pandas"],
)
def test_frames_and_records(frame):
    if isinstance(frame, str):
        frame = pytest.importorskip("pandas").DataFrame(ROWS)
    assert table_of(frame).frame["winner"].to_list() == ["a", "b"]


def test_files_are_tables_and_one_table(tmp_path):
    (tmp_path / "1.csv").write_bytes(CSV + b",,\n")
    (tmp_path / "2.jsonl").write_bytes(LINES)
    (tmp_path / "3.parquet").write_bytes(parquet())
    (tmp_path / ".hidden").write_bytes(b"x")
    table = table_of(tmp_path)
    assert table.places["row"].to_list() == [1, 2] * 3
    assert table.frame["a"].to_list() == ["2 0", "1 0", "[2, 0]", "[1, 0]", "[2,0]", "[1,0]"]
    assert [table.place(row).removeprefix(f"{tmp_path}/") for row in (1, 2, 5)] == [
        "1.csv, row 2",
        "2.jsonl, row 1",
        "3.parquet, row 2",
    ]
    assert table.without([0, 1]).place(0).endswith("2.jsonl, row 1")


def test_truth_values_are_the_same_text_in_all_formats(tmp_path):
    rows = [{"a": [1], "b": [0], "winner": "a", "tie": True, "segment": True}] * 2
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pl.DataFrame(rows).write_parquet(tmp_path / "x.parquet")
    for data in (rows, pl.DataFrame(rows), tmp_path / "x.jsonl", tmp_path / "x.parquet"):
        log = dl.read_preferences(data)
        assert log.segment.tolist() == ["true", "true"] and log.tie_kind is None


def test_keys_that_occur_late_or_hold_marks_are_kept(tmp_path):
    rows = [{"a": 1, "said": 'x": y'}] * 200 + [{"a": 2, "late": {"b": None}}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    frame = table_of(tmp_path / "log.jsonl").frame
    assert frame.columns == ["a", "said", "late"]
    assert frame["late"].drop_nulls().to_list() == ['{"b":null}'] or frame["late"].len() == 201


@pytest.mark.parametrize(
    "cells", [(-1, ["x"]), (True, ["x"]), ({"z": 1}, ["x"]), ([1], [["x"]]), ([{"z": 1}], [1])]
)
@pytest.mark.parametrize("form", ["records", "lines", "array"])
def test_cells_of_two_kinds_are_read_as_text_or_refused(form, cells, tmp_path):
    rows = [row | {"comment": cell} for row, cell in zip(ROWS, cells, strict=True)]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(rows) if form == "array" else "\n".join(map(json.dumps, rows)))
    log = dl.read_preferences(rows if form == "records" else path)
    assert log.preferred.tolist() == [[2, 0], [0, 2]]

    # in columns that hold no labels
    for role in ("a", "docs_a", "weight", "winner", "scale"):
        with pytest.raises(dl.InputError):
            dl.read_preferences([row | {role: cell} for row, cell in zip(ROWS, cells, strict=True)])


def test_refusals_name_the_first_row_of_each_kind_and_count_the_others():
    refusals = Refusals(table_of([{"x": f"v{n}"} for n in range(5)]))
    refusals.check()
    refusals.add([False] * 5, "never")
    refusals.add([False, True, False, True, True], "x is", "write 1", pl.Series(list("abcde")))
    refusals.add([True, False, False, False, False], "y is missing")
    with pytest.raises(BadRowsError) as refusal:
        refusals.check()
    assert str(refusal.value) == (
        "the records, row 1: y is missing. Also the records, row 2: x is 'b'; write 1 (3 rows, "
        "next the records, row 4)"
    )
    assert refusal.value.rows == [0, 1, 3, 4]


def test_a_line_of_very_many_cells_is_no_header(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("a,b,winner" + ",0" * 20_000 + "\n1,0,a\n")
    with pytest.raises(dl.InputError, match="more than 10,000 columns"):
        dl.read_preferences(path)


def test_texts_within_objects_keep_quotes_backslashes_and_line_ends():
    items = [[{"title": 'what "it" is', "url": r"C:\new"}], [{"title": "one\ntwo\\", "url": None}]]
    rows = [{"items": each, "plain": each[0]["title"]} for each in items]
    frame = table_of(rows).frame
    assert [json.loads(cell) for cell in frame["items"]] == items
    assert frame["plain"].to_list() == [each[0]["title"] for each in items]
