"""Several files, or a folder of them, as one log: read as their lines in one file are."""

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest

import dcglearn as dl
from dcglearn.readers import openers as joined_files
from dcglearn.readers.line_formats import Source
from dcglearn.readers.openers import Joined
from tests.makers import refused

LINES = [
    {"a": [2, 0], "b": [0, 2], "winner": "a", "rater": "ann"},
    {"a": [1, 0, 1], "b": [0, 2, 0], "winner": "b", "rater": "bob"},
    {"a": [1, 1], "b": [1, 1], "winner": "tie", "rater": "ann"},
]


def json_lines(lines):
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def csv_lines(lines, header="a,b,winner,rater"):
    rows = [
        [
            " ".join(map(str, line["a"])),
            " ".join(map(str, line["b"])),
            line["winner"],
            line["rater"],
        ]
        for line in lines
    ]
    return "\n".join([header, *map(",".join, rows)]).encode()


def parquet(lines):
    packed = io.BytesIO()
    pl.DataFrame(lines).write_parquet(packed)
    return packed.getvalue()


@pytest.fixture
def logs(here):
    """A function that writes the files of a folder, by name."""

    def written(**files):
        for name, data in files.items():
            path = Path("logs", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return Path("logs")

    return written


def same(log, other):
    return all(
        getattr(log, name).tolist() == getattr(other, name).tolist()
        for name in ("preferred", "other", "rater", "tie")
    )


FORMS = {"json": json_lines, "csv": csv_lines, "parquet": parquet}


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_files_are_read_as_one_file_of_their_lines(logs, monkeypatch, first, second):
    files = {
        f"b.{first}": FORMS[first](LINES[:1]),
        f"in/c.{second}": FORMS[second](LINES[1:]),
        ".hidden": b"x",
    }
    folder, whole = logs(**files), dl.read_preferences(LINES)
    if first == second:  # one pass over all
        monkeypatch.setattr(Source, "readable", None)
        monkeypatch.setattr(Joined, "__iter__", None)
    for log in (
        folder,
        "logs/",
        [f"logs/b.{first}", Path(f"logs/in/c.{second}")],
        f"logs/**/*.{first}",
    ):
        if first == second or "*" not in str(log):
            read = dl.read_preferences(log)
            assert same(read, whole) and (read.depth, read.n_grades) == (3, 3)


def test_each_file_has_a_shape_of_its_own(logs):
    rows = (
        b"query,side,position,grade,winner\n"
        b"q,left,1,2,left\nq,left,2,0,\nq,right,1,0,\nq,right,2,2,\n"
    )
    wide = b"left_1;left_2;right_1;right_2;winner\n2;0;0;2;left\n"
    folder = logs(**{"a.csv": rows, "b.csv": rows, "c.csv": wide, "d.csv.gz": gzip.compress(wide)})
    log = dl.read_preferences(folder)
    assert log.preferred.tolist() == [[2, 0]] * 4 and log.query.tolist() == ["q", "q", "", ""]
    assert log.recognised.form.startswith(
        "4 files: text, columns separated by commas, a row for each document, text"
    )


def test_a_file_that_is_named_twice_is_read_once(logs):
    logs(**{"a.csv": csv_lines(LINES)})
    assert len(dl.read_preferences(["logs/a.csv", "./logs/a.csv", Path("logs")])) == 3


def test_ratings_are_compared_over_all_files(logs):
    folder = logs(
        **{"a.jsonl": b'{"list": [2, 0], "rating": 5}\n', "b.csv": b"list,rating\n0 2,3\n"}
    )
    assert dl.read_ratings(folder).preferred.tolist() == [[2, 0]]
    assert dl.read_ratings(["logs/b.csv", "logs/a.jsonl"]).preferred.tolist() == [[2, 0]]


def test_what_is_left_out_is_summed_and_repeats_are_those_of_all_files(logs):
    line = {**LINES[0], "id": "1", "status": "ok"}
    folder = logs(
        **{
            "a.jsonl": json_lines([line, {**line, "winner": "open"}]),
            "b.jsonl": json_lines([line, line]),
        }
    )
    assert dl.read_preferences(folder).dropped == {"open questions": 1}
    assert dl.read_preferences(folder, leave_out="duplicates").dropped == {
        "open questions": 1,
        "lines that repeat an earlier one": 2,
    }


def test_bad_lines_of_files_of_one_form_are_set_aside(logs):
    folder = logs(**{"a.jsonl": json_lines(LINES) + b"{}\n", "b.jsonl": b"3\n" + json_lines(LINES)})
    log = dl.read_preferences(folder, skip_bad="bad.jsonl")
    assert log.dropped["bad lines"] == 2 and Path("bad.jsonl").read_bytes() == b"{}\n3\n"
    assert any(reason.startswith("file logs/b.jsonl, line 1: ") for reason in log.dropped)
    refused(
        "the bad lines would replace the log itself",
        dl.read_preferences,
        folder,
        skip_bad="logs/b.jsonl",
    )
    logs(**{"c.csv": csv_lines(LINES)})
    refused(
        "the files have different headers, .*: read each alone",
        dl.read_preferences,
        folder,
        skip_bad="bad.jsonl",
    )


BAD = json_lines([LINES[0], {**LINES[1], "winner": "Links"}])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"b.jsonl": BAD}, "^logs, file logs/b.jsonl, line 2: winner is 'Links'"),
        (
            {"b.csv": csv_lines(LINES, "a,b,verdikt,rater")},
            "^logs: file logs/b.csv: line 1: no 'winner'",
        ),
        (
            {"b.json": b'[{"a": [1], "b": [0], "winner": "a"}, 3]'},
            "^logs, file logs/b.json, record 2: 3 is not an object",
        ),
        ({"b.csv": b""}, "logs/b.csv is empty"),
        (
            {"README.md": b"x", "b": b"x"},
            "^logs holds files of no known suffix: README.md, b; take them out, or name",
        ),
        ({"b.parquet": b"PAR1"}, "logs/b.parquet: not a Parquet file"),
        (
            {"b.jsonl": json_lines([{**LINES[0], "margin": 2}])},
            r"margin 2.0: give it on every line or on none \(file logs/a",
        ),
    ],
)
def test_a_bad_file_is_named_with_its_line(logs, files, message):
    folder = logs(**{"a.jsonl": json_lines(LINES), **files})
    refused(message, dl.read_preferences, folder)


def test_files_that_tell_the_order_in_other_ways_are_refused(logs):
    folder = logs(
        **{
            "a.csv": b"a,b,winner,swapped\n2 0,0 2,left,true\n",
            "b.csv": b"a,b,winner,position_of_a\n2 0,0 2,left,2\n",
        }
    )
    refused(
        "file logs/b.csv says in another way than the first file which list",
        dl.read_preferences,
        folder,
    )
    logs(**{"b.csv": b"left,right,winner,swapped\n2 0,0 2,left,true\n"})
    refused(
        "file logs/b.csv says in another way than the first file which list",
        dl.read_preferences,
        folder,
    )


@pytest.mark.posix
def test_links_and_folders_without_files(logs, monkeypatch):
    folder = logs(**{"a.jsonl": json_lines(LINES)})
    Path("other").mkdir()
    refused("other is a folder without a file", dl.read_preferences, "other")
    Path("other/b.jsonl").write_bytes(json_lines(LINES))
    (folder / "linked").symlink_to(Path("other").absolute())
    refused("logs holds files of no known suffix: linked", dl.read_preferences, folder)
    (folder / "linked").rename(folder / "linked.jsonl")
    refused("linked.jsonl is a folder", dl.read_preferences, folder)
    (folder / "linked.jsonl").unlink()
    (folder / "none.jsonl").symlink_to("nowhere")
    refused("none.jsonl does not exist", dl.read_preferences, folder)
    monkeypatch.setattr(joined_files, "MOST_FILES", 1)
    refused("logs holds more than 1 files; name a folder with fewer", dl.read_preferences, folder)


def test_the_memory_of_all_files_counts(logs, monkeypatch):
    folder = logs(**{f"{i}.jsonl": json_lines(LINES * 5_000) for i in range(4)})
    assert len(dl.read_preferences(folder)) == 60_000
    monkeypatch.setattr("dcglearn.foundation.inputs.available", lambda: 30_000_000)
    assert len(dl.read_preferences("logs/0.jsonl")) == 15_000
    refused("logs: reading 4 files needs .* GB of memory", dl.read_preferences, folder)
