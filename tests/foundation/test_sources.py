"""Bytes from files, pipes and compressed data, and what is refused with the remedy."""

import gzip
import io
import os
import pickle
import threading
import zlib
from pathlib import Path

import polars as pl
import pytest

from dcglearn.foundation.inputs import expand_paths, read_bytes, refuse_beyond_memory
from dcglearn.foundation.sources import content, decompressed, parquet_rows, suffix_of, zstd
from tests.makers import refused
from tests.tables import table

TEXT = b"".join(b"line %d of a text\n" % i for i in range(20_000))


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, lambda data: data])
def test_data_are_inflated(pack):
    assert (
        decompressed("log", pack(TEXT))
        == decompressed("log", pack(TEXT[:100]) + pack(TEXT[100:]))
        == TEXT
    )


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_damaged_data_are_refused(pack):
    packed = pack(TEXT)
    for damaged in (
        packed[:-5],
        packed[: len(packed) // 2],
        packed + b"more",
        packed[:20] + b"\xff\xfe" + packed[22:],
    ):
        refused("cannot be decompressed", decompressed, "log", damaged)


@table("inner", [gzip.compress, zlib.compress, zstd.compress])
def test_data_compressed_twice_are_refused(inner):
    refused("compressed twice, or by zlib", decompressed, "log", gzip.compress(inner(TEXT)))


def test_frames_of_zstd_without_data_are_skipped():
    skipped = b"\x5e\x2a\x4d\x18\x03\x00\x00\x00abc"
    assert decompressed("log", zstd.compress(TEXT) + skipped + zstd.compress(TEXT)) == 2 * TEXT


def test_parquet_in_zstd_is_read(tmp_path):
    import polars as pl

    frame = pl.DataFrame({"a": [[1, 0]] * 50, "b": [[0, 1]] * 50, "winner": ["a"] * 50})
    inside = io.BytesIO()
    frame.write_parquet(inside)
    path = tmp_path / "log.parquet.zst"
    path.write_bytes(zstd.compress(inside.getvalue()))
    assert parquet_rows(*content(path)).equals(frame)


@pytest.mark.posix
@table("device", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(device):
    refused("is a device; name a file, or - for standard input", read_bytes, device)


@pytest.mark.posix
def test_a_named_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(TEXT))
    writer.start()
    assert read_bytes(pipe) == TEXT
    writer.join()


def test_more_memory_than_is_free_is_refused():
    refused(
        "a table needs .* GB of memory, and .* GB are free; cut it",
        refuse_beyond_memory,
        1e18,
        "a table",
        "cut it",
    )
    refuse_beyond_memory(1.0, "a table", "cut it")


def test_the_suffix_of_a_compressed_file_is_that_of_its_content():
    assert suffix_of("Run.CSV.gz") == suffix_of("run.csv.zst") == ".csv"


NAMES = ("b.parquet", "a.parquet", "deep/c.parquet", "notes.txt")


@pytest.fixture
def folder(here):
    for name in NAMES:
        path = here / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return Path("logs")


@table(
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


@table(
    ("given", "message"),
    [
        ([], r"name files, or a folder with files \*\*/\*\.parquet"),
        (
            "logs/none",
            "logs/none does not exist, and no file matches it as a pattern; check the name",
        ),
        ("none/*.parquet", "does not exist, and no file matches it"),
        (["logs", ""], "does not exist, and no file matches it"),
        ("a" * 5000, "does not exist, and no file matches it"),
        ("logs\0", "does not exist, and no file matches it"),
        ("empty", r"empty is a folder, and no file in it matches \*\*/\*\.parquet; check the name"),
    ],
)
def test_paths_that_name_no_file_are_refused(folder, given, message):
    Path("empty").mkdir(exist_ok=True)
    refused(message, expand_paths, given, "**/*.parquet")


@table(
    ("begin", "words"),
    [
        (b"ARROW1\0\0", "is an Arrow or Feather file; save it as Parquet"),
        (b"\xff\xff\xff\xff\x98\0\0\0", "is an Arrow or Feather file"),
        (b"FEA1\0\0\0\0", "is an Arrow or Feather file"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), r"is an old Excel workbook \(.xls\); save it as .xlsx"),
        (b"SQLite format 3\0", "is an SQLite database; save the table as Parquet or CSV"),
        (b"\x93NUMPY\x01\0", r"is a NumPy array \(.npy\); load it"),
        (pickle.dumps({"a": 1}), "is a pickle, which is not read since it can run code"),
        (b"ORC\x0a\x0c\0 ORC\x17", "is an ORC file"),
        (b"Obj\x01\x04", "is an Avro file"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (b"%PDF-1.7\n", "is a PDF document"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path, begin, words):
    path = tmp_path / "log.csv"
    path.write_bytes(begin)
    refused(f"log.csv {words}", content, path)
    path.write_bytes(gzip.compress(begin))
    refused(f"log.csv {words}", content, path)


def test_arrow_files_that_polars_writes_are_named(tmp_path):
    frame = pl.DataFrame({"a": ["3 2"], "b": ["1 0"]})
    for write in (frame.write_ipc, frame.write_ipc_stream):
        write(tmp_path / "log.arrow")
        refused("log.arrow is an Arrow or Feather file", content, tmp_path / "log.arrow")


def test_text_that_begins_like_another_kind_is_text(tmp_path):
    path = tmp_path / "log.csv"
    for text in (
        b"ORC,b,winner\n",
        b"Obj,b\n",
        b"BZh,b\n",
        b"%PDF,b\n",
        b"FEAR,b\n",
        b"ARROW1,b\n",
    ):
        path.write_bytes(text)
        assert content(path)[1] == text
