"""Bytes from files, pipes and compressed data, and what is refused with the remedy."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import threading
from pathlib import Path

import polars as pl
import pytest

from dcglearn.foundation.sources import (
    content,
    decompressed,
    expand_paths,
    parquet_rows,
    read_bytes,
    refuse_beyond_memory,
    suffix_of,
    zstd,
)
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


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_a_few_bytes_that_hold_gigabytes_of_blanks_are_refused(pack):
    refused("inflates to more than 200 times", decompressed, "log", pack(b" " * (1 << 27)))
    assert len(decompressed("log", pack(b" " * (1 << 22)))) == 1 << 22


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
    refused("is a folder or a device; name a file, or - for standard", read_bytes, device)


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
        ("logs", ["a.parquet", "b.parquet", "deep/c.parquet", "notes.txt"]),
        (Path("logs/deep"), ["deep/c.parquet"]),
        ("logs/notes.txt", ["notes.txt"]),
        ("logs/*.parquet", ["a.parquet", "b.parquet"]),
        ("logs/**/*.parquet", ["a.parquet", "b.parquet", "deep/c.parquet"]),
        (["logs/b.parquet", "logs"], ["b.parquet", "a.parquet", "deep/c.parquet", "notes.txt"]),
        (("logs/deep", "logs/?.parquet"), ["deep/c.parquet", "a.parquet", "b.parquet"]),
        (["logs/deep/../a.parquet", "logs/a.parquet"], ["deep/../a.parquet"]),
    ],
)
def test_paths_come_in_order_and_once(folder, given, names):
    Path("logs/.hidden").touch()
    assert expand_paths("logs/.hidden") == ["logs/.hidden"]
    assert expand_paths(given) == [f"logs/{name}" for name in names]


def test_standard_input_is_no_file_to_look_for():
    assert expand_paths("-") == expand_paths(["-"]) == ["-"]


@table("given", ["logs/none", "none/*.parquet", ["logs", ""], "a" * 5000, "logs\0", "empty"])
def test_paths_that_name_no_file_are_refused(folder, given):
    Path("empty").mkdir(exist_ok=True)
    refused("does not exist, is a folder without files, or a pattern", expand_paths, given)


@table(
    "data",
    [
        pickle.dumps({"a": 1}),
        gzip.compress(gzip.compress(TEXT)),
        zstd.compress(TEXT),
        bz2.compress(TEXT),
        lzma.compress(TEXT),
        b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20\0\0\0",
        b"\x93NUMPY\x01\0",
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, data):
    path = tmp_path / "log.csv"
    path.write_bytes(gzip.compress(data))
    refused("log.csv is no text, Parquet file or .xlsx workbook, but begins", content, path)


def test_arrow_files_that_polars_writes_are_refused(tmp_path):
    frame = pl.DataFrame({"a": ["3 2"], "b": ["1 0"]})
    for write in (frame.write_ipc, frame.write_ipc_stream):
        write(tmp_path / "log.arrow")
        refused("log.arrow is no text", content, tmp_path / "log.arrow")


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
