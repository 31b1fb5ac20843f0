"""Logs from files: every format, and every bad line named."""

import csv
import gzip
import io
import json
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.sources import FORMATS, WRITTEN
from dcglearn.foundation.validation import InputError
from dcglearn.readers import cells, openers
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_log import read_preferences, read_ratings
from tests.makers import columns, refused, write

GOOD = '{"a": [3, 2, 0], "b": [2, 3, 0], "winner": "a"}\n'


def is_fast(monkeypatch, read, path, **options):
    raw_cells = cells.raw_cells

    def at_once(source):
        raw = raw_cells(source)
        assert raw.at_once
        return raw

    with monkeypatch.context() as patch:
        patch.setattr(cells, "raw_cells", at_once)
        return read(path, **options)


FULL = Preferences(
    [[3, 2, 0], [1, -1, 0], [0, 0, 0]],
    [[2, 3, 0], [1, 1, 1], [0, 0, 0]],
    n_grades=5,
    weight=[1.5, 2, 1e-3],
    tie=[False, True, False],
    strength=[1, 2, 3],
    margin=[0.5, -1, 0],
    rater=["ann", "b,ob", "7"],
    query=["q1", "é", "q 3"],
)


@pytest.mark.parametrize(
    "name", ["log.jsonl", "log.NDJSON", "log.json", "log.parquet", "log.PARQUET", "log"]
)
def test_saved_log_reads_back(tmp_path, monkeypatch, name):
    FULL.save(tmp_path / name)
    assert columns(is_fast(monkeypatch, read_preferences, tmp_path / name, n_grades=5)) == columns(
        FULL
    )


SUFFIXES = [*FORMATS, *WRITTEN, ".html", ".feather", ".bz2", ".data"]


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst", ".lz4"])
def test_a_log_is_written_so_that_it_can_be_read_or_not_at_all(tmp_path, case, packed):
    for suffix in SUFFIXES:
        path = tmp_path / f"log{case(suffix + packed)}"
        if suffix in WRITTEN and not packed:
            FULL.save(path)
            assert columns(read_preferences(path, n_grades=5)) == columns(FULL)
            assert (path.read_bytes()[:4] == b"PAR1") == (suffix == ".parquet")
        else:
            refused(r"give \.jsonl, \.ndjson, \.json, \.parquet", FULL.save, path)
            assert not path.exists()


def as_text(log, delimiter, mark):
    out = io.StringIO()
    table = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    table.writerow(
        [
            "Left",
            "RIGHT",
            "Preference",
            "qid",
            "judge",
            "count",
            "strength",
            "margin",
            "other",
            "other",
        ]
    )
    for i in range(len(log)):
        lists = [mark.format(*x) for x in (log.preferred[i].tolist(), log.other[i].tolist())]
        winner = "draw" if log.tie[i] else "LEFT"
        values = [x[i] for x in (log.query, log.rater, log.weight, log.strength, log.margin)]
        table.writerow([*lists, winner, *values, "x", ""])
    return out.getvalue()


@pytest.mark.parametrize("delimiter", [",", "\t"])
@pytest.mark.parametrize("mark", ["{} {} {}", "[{}, {}, {}]", "{}|{}|{}", "[{},{},{}]"])
def test_text_formats(tmp_path, delimiter, mark):
    path = write(
        tmp_path, "log.csv" if delimiter == "," else "log.tsv", as_text(FULL, delimiter, mark)
    )
    assert columns(read_preferences(path, 5)) == columns(FULL)


def test_plain_text_is_fast(tmp_path, monkeypatch):
    text = as_text(FULL[[0, 2]], "\t", "[{}, {}, {}]")
    path = write(tmp_path, "log.txt", text)
    assert columns(is_fast(monkeypatch, read_preferences, path, n_grades=5)) == columns(
        FULL[[0, 2]]
    ) | {"tie": None}


def test_parquet_of_text_lists(tmp_path):
    frame = pl.DataFrame(
        {"a": ["3 2 0"], "b": ["[2, u, 0]"], "winner": ["b"], "rater": [7], "weight": ["2"]}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    log = read_preferences(tmp_path / "x.parquet")
    assert (log.preferred.tolist(), log.other.tolist()) == ([[2, -1, 0]], [[3, 2, 0]])
    assert (log.rater.tolist(), log.weight.tolist(), log.preferred.dtype) == (["7"], [2.0], np.int8)


@pytest.mark.parametrize(
    "text", [GOOD * 3, "left\tright\twinner\n3 2 0\t2 3 0\ta\n" + "3|2|0\t2|3|0\tb\n" * 2]
)
def test_compression_standard_input_and_unknown_suffixes(tmp_path, monkeypatch, text):
    suffix = ".jsonl" if text[0] == "{" else ".tsv"
    expected = columns(read_preferences(write(tmp_path, "x" + suffix, text)))
    zipped = write(tmp_path, f"x{suffix}.gz", gzip.compress(text.encode(), mtime=0))
    assert columns(read_preferences(zipped)) == expected
    for name in ("x.log", "y" + suffix):
        assert (
            columns(read_preferences(write(tmp_path, name, "\ufeff" + text.replace("\n", "\r\n"))))
            == expected
        )
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\n " + text.encode())))
    assert columns(read_preferences("-")) == expected
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"{}")))
    refused("standard input, line 1", read_preferences, "-")


@pytest.mark.skipif(
    shutil.which("zstd") is None, reason="needs the zstd program to make a .zst file"
)
def test_zstd(tmp_path):
    text = GOOD + "\n" + GOOD.replace("3, 2", "1, 2") + "\r\n \n" + GOOD
    path = write(tmp_path, "x.jsonl", text)
    subprocess.run(["zstd", "-q", str(path)], check=True)
    packed = tmp_path / "x.jsonl.zst"
    assert columns(read_preferences(packed)) == columns(read_preferences(path))
    bad = write(tmp_path, "bad.jsonl", GOOD + "\n\n\n" + GOOD.replace('"a"}', '"c"}'))
    subprocess.run(["zstd", "-q", str(bad)], check=True)
    refused(r"bad.jsonl.zst, line 5: winner is 'c'", read_preferences, tmp_path / "bad.jsonl.zst")
    whole = packed.read_bytes()
    short = write(tmp_path, "short.jsonl.zst", whole[:-4])
    refused(r"short.jsonl.zst: cannot be decompressed .* truncated", read_preferences, short)


def line(**values):
    return json.dumps({"a": [3, 2, 0], "b": [2, 3, 0], "winner": "a"} | values)


BAD_LINES = {
    line(winner="c"): "winner is 'c'; use a, b or tie",
    line(winner=1): "winner is 1; use a, b or tie",
    line(winner=None): "winner is missing",
    line(a=[1, 2.5, 0]): r"a holds the grade 2.5, which is not an integer; use null or -1",
    '{"a": [NaN, 1, 0], "b": [1, 2, 3], "winner": "a"}': "not valid JSON .*NaN",
    '{"a": [1e400, 1, 0], "b": [1, 2, 3], "winner": "a"}': (
        "a holds the grade inf, which is not an integer"
    ),
    line(a=[True, 0, 0]): "a holds True, which is not a grade; grades are integers, 0 = worst",
    line(
        b=["Good", 0, 0]
    ): "b holds the grade name 'Good'; pass scale= with the names of all grades, worst first",
    line(b=["2.5", 0, 0]): "b holds the grade 2.5, which is not an integer",
    line(a=[-3, 0, 0]): r"a holds the grade -3, outside -2..4; raise n_grades=5 \(--grades\)",
    line(a=[5, 0, 0]): r"a holds the grade 5, outside -2..4; raise n_grades=5 \(--grades\)",
    line(a=[10**5000 // 10**900, 0, 0]): "outside -2..4|not valid JSON",
    line(a=[[1], 0, 0]): r"a holds \[1\], which is not a grade",
    line(a=[]): "a is an empty list; leave the line out",
    line(a=3): "a is 3, not a list of grades such as",
    line(a=None): "a is missing",
    line(weight=0): "weight is 0; it must be positive",
    line(weight=-1.5): "weight is -1.5; it must be positive",
    line(weight="2"): "weight is '2', which is not a number",
    line(strength=True): "strength is True, which is not a number",
    line(strength=0): "strength is 0; it must be positive",
    line(margin=1): "margin 1: give it on every line or on none",
    line(rater=1.5): "rater is 1.5; use text or an integer",
    line(query="x" * 300): "query .* is longer than 200 characters; use a short identifier",
    line(query="\ud800"): r"query is '\\ud800'; use plain text",
    line(left=[1, 1, 1]): "a and left both give the 'a' of a line; rename or drop one",
    line()[:-1] + ', "a": [1, 1, 1]}': "the key 'a' occurs twice; keep one",
    '{"a": [1, 2, 3], "b": [1, 2, 3]}': (
        r"no 'winner' \(accepted names: winner, preferred, .*\); found a, b"
    ),
    "[1, 2]": "a JSON list, expected an object",
    "null": "a JSON NoneType, expected an object",
    "[" * 100_000: "not valid JSON",
    '{"a": [3, 2, 0], "b": [2, 3': "not valid JSON .*one object a line",
    "\x00\x01\x02": "not valid JSON",
}


@pytest.mark.parametrize(("text", "message"), BAD_LINES.items(), ids=range(len(BAD_LINES)))
def test_bad_line_is_named(tmp_path, text, message):
    path = write(tmp_path, "x.jsonl", GOOD + "\n" + GOOD + text + "\n" + GOOD)
    refused(rf"x\.jsonl, line 4: .*({message})", read_preferences, path, n_grades=5)
    log = read_preferences(path, n_grades=5, skip_bad=tmp_path / "bad.jsonl")
    assert (tmp_path / "bad.jsonl").read_text() == text + "\n"
    assert (len(log), log.dropped["bad lines"]) == (3, 1)
    assert any(reason.startswith("line 4: ") for reason in log.dropped)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("3 2 0,2 3 0", "2 fields where the header has 4; write lists as 3 2 0"),
        ("[3, 2, 0],2 3 0,a,1", "6 fields where the header has 4"),
        ('"3 2 0,2 3 0,a,1', "not a line of CSV"),
        ('"3 2 0"x,2 3 0,a,1', "not a line of CSV"),
        ("3 2 0,2 3 0,A.,1", "winner is 'A.'; use a, b or tie"),
        ("3 2.5 0,2 3 0,a,1", "a holds the grade 2.5"),
        ("3 x 0,2 3 0,a,1", "a holds the grade name 'x'; pass scale="),
        ("3 nan 0,2 3 0,a,1", "a holds the grade name 'nan'"),
        ("3 127 0,2 3 0,a,1", "a holds the grade 127, outside -2..126; at most 127"),
        ("3 1_0 0,2 3 0,a,1", "a holds '1_0', which is no grade; separate the grades"),
        (",2 3 0,a,1", "a is missing"),
        ("[],2 3 0,a,1", "a is an empty list|a has 1 grade"),
        ("3 2 0,2 3 0,a,nan", "weight is 'nan', which is not a number"),
        ("3 2 0,2 3 0,a,1e999", "weight is inf, which is not a finite number"),
        ("3 2 0,2 3 0,a,-0", "weight is -0; it must be positive"),
    ],
)
def test_bad_row_of_text_is_named(tmp_path, row, message):
    header = "left,right,winner,weight\n"
    good = "3 2 0,2 3 0,b,1\n"
    path = write(tmp_path, "x.csv", header + good + row + "\n" + good)
    refused(rf"x\.csv, line 3: ({message})", read_preferences, path)
    side = tmp_path / "bad.csv"
    assert read_preferences(path, skip_bad=side).dropped["bad lines"] == 1
    assert side.read_text() == header + row + "\n"
    side.write_text(side.read_text().replace(row, "3 2 0,2 3 0,a,1"))
    assert len(read_preferences(side)) == 1


def test_latin_1_names_the_line(tmp_path):
    path = write(
        tmp_path, "x.csv", "a,b,winner,rater\n1 2,2 1,a,x\n1 2,2 1,a,René\n".encode("latin-1")
    )
    refused(
        r"x\.csv, line 3: byte 0xe9 is not UTF-8 text; save the file as UTF-8",
        read_preferences,
        path,
    )
    assert read_preferences(path, skip_bad=tmp_path / "bad").dropped["bad lines"] == 1
    assert (tmp_path / "bad").read_bytes().endswith(b"Ren\xe9\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b"", "x.jsonl is empty"),
        ("x.csv", b"\n \r\n\n", "x.csv is empty"),
        ("x.csv", b"a,b,winner\n", "x.csv: nothing after the header"),
        ("x.csv", b"a,b,winner\n\n\n", "x.csv: nothing after the header"),
        ("x.csv", b"left;right;winner\n", "x.csv: nothing after the header"),
        (
            "x.csv",
            b"left:right\n",
            r"no 'a' \(accepted names: a, left, .*\); found left:right; separate the columns",
        ),
        ("x.tsv", b"a\tleft\tb\twinner\n", "line 1: a and left both give the 'a'"),
        ("x.csv", b'a,"b,winner\n', "line 1: not a line of CSV"),
        ("x.jsonl", GOOD.encode("utf-16"), "x.jsonl is UTF-16 text; save it as UTF-8"),
        ("x.jsonl", GOOD.encode("utf-16-le"), "x.jsonl, line 1: not valid JSON"),
        ("x.bin", bytes(range(256)), "x.bin: line 1"),
        ("x.parquet", bytes(range(256)), "x.parquet: not a Parquet file"),
        (
            "x.parquet",
            b"PAR1" + bytes(range(256)),
            "x.parquet: not a Parquet file, or a truncated one",
        ),
        (
            "x.jsonl.gz",
            gzip.compress(GOOD.encode(), mtime=0)[:-5],
            "x.jsonl.gz: cannot be decompressed .* truncated",
        ),
        ("x.jsonl.gz", b"\x1f\x8bgarbage, not gzip", "x.jsonl.gz: cannot be decompressed"),
        ("x.json", b"[" + GOOD.encode(), "x.json: not valid JSON .*expected an array of objects"),
        ("x.json", b"[1]", "x.json, record 1: 1 is not an object with names and values"),
    ],
)
def test_bad_file_is_named(tmp_path, name, content, message):
    refused(message, read_preferences, write(tmp_path, name, content))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_missing_file_folder_and_empty_parquet(tmp_path):
    refused("nowhere does not exist; check the name", read_preferences, tmp_path / "nowhere")
    refused("is a folder without a file; check the name", read_ratings, tmp_path)
    pl.DataFrame({"a": [[1]], "b": [[1]], "winner": ["a"]}).clear().write_parquet(
        tmp_path / "x.parquet"
    )
    refused("is empty; expected one judgement a row", read_preferences, tmp_path / "x.parquet")
    pl.DataFrame({"a": [[1]], "x": [1]}).write_parquet(tmp_path / "y.parquet")
    refused(r"y.parquet: no 'b' .*found a, x", read_preferences, tmp_path / "y.parquet")


def test_one_bad_line_in_100_000(tmp_path):
    lines = [GOOD] * 100_000
    lines[76_542] = line(a=[3, 2, "Fair"]) + "\n"
    path = write(tmp_path, "x.jsonl", "".join(lines))
    refused(r"line 76543: a holds the grade name 'Fair'; pass scale=", read_preferences, path)


def test_skip_bad_leaves_nothing_half_written(tmp_path):
    path = write(tmp_path, "x.jsonl", "nonsense\n" + GOOD)
    only_bad = write(tmp_path, "y.jsonl", "nonsense\n" * 5)
    refused(
        r"y.jsonl: no good line; line 1: not valid JSON",
        read_preferences,
        only_bad,
        skip_bad=tmp_path / "bad",
    )
    refused("would replace the log itself", read_preferences, path, skip_bad=path)
    refused(
        "does not exist; make it first", read_preferences, path, skip_bad=tmp_path / "no" / "bad"
    )
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.jsonl", "y.jsonl"]
    good = write(tmp_path, "good.jsonl", GOOD)
    assert read_preferences(good, skip_bad=tmp_path / "bad").dropped == {}
    assert not (tmp_path / "bad").exists()
    log = read_preferences(write(tmp_path, "z.jsonl", "x\n" * 9 + GOOD), skip_bad=tmp_path / "bad")
    assert log.dropped["bad lines"] == 9
    assert len(log.dropped) == 4  # the count and the first three reasons


def test_skipped_parquet_rows_are_json_lines(tmp_path):
    frame = pl.DataFrame(
        {"left": [[1, 2], [1, 9]], "right": [[2, 1], [1, 0]], "label": ["a", "b"], "x": ["é", "y"]}
    )
    frame.write_parquet(tmp_path / "x.parquet")
    refused(r"x.parquet, row 2: a holds the grade 9", read_preferences, tmp_path / "x.parquet", 3)
    assert len(read_preferences(tmp_path / "x.parquet", 3, skip_bad=tmp_path / "bad.jsonl")) == 1
    assert read_preferences(tmp_path / "bad.jsonl", 10).other.tolist() == [[1, 9]]


def test_winner_swaps_and_equal_lists_stay(tmp_path):
    rows = [line(winner="b"), line(winner="Right"), line(winner="EQUAL"), line(b=[3, 2, 0])]
    log = read_preferences(write(tmp_path, "x.jsonl", "\n".join(rows)))
    assert log.preferred.tolist() == [[2, 3, 0], [2, 3, 0], [3, 2, 0], [3, 2, 0]]
    assert log.tie.tolist() == [False, False, True, False]
    assert read_preferences(write(tmp_path, "y.jsonl", GOOD)).tie is None


def test_unknown_grades_and_scale(tmp_path):
    rows = (
        line(a=["perfect", None, "u"], b=["-", ".", ""])
        + "\n"
        + line(a=["Excellent", "FAIR ", -1], b=["bad", "Fair", "perfect"])
    )
    scale = ["Bad", "Fair", "Good", "Excellent", "Perfect"]
    log = read_preferences(write(tmp_path, "x.jsonl", rows), scale=scale)
    assert log.preferred.tolist() == [[4, -1, -1], [3, 1, -1]]
    assert log.other.tolist() == [[-1, -1, -1], [0, 1, 4]]
    assert (log.n_grades, log.grade_names) == (5, tuple(scale))
    text = "a,b,winner\nGood|Bad|u,Good|bad|,a\nGood - Bad,Good null Bad,b\n"
    log = read_preferences(write(tmp_path, "x.csv", text), scale=scale)
    assert log.preferred.tolist() == [[2, 0, -1], [2, -1, 0]]
    refused(
        "line 2: b is .*by name and by number",
        read_preferences,
        write(tmp_path, "z.csv", "a,b,winner\nGood,1,a\n"),
        scale=scale,
    )
    with pytest.raises(
        InputError, match=r"line 1: a holds 'Poor', not a grade of the scale Bad, Fair"
    ):
        read_preferences(write(tmp_path, "y.jsonl", line(a=["Poor"])), scale=scale)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 3}, "scale is 3; expected Sequence"),
        ({"scale": ["Bad", "bad "]}, "each by a different name"),
        ({"scale": []}, "must name every grade"),
        ({"scale": ["Bad", "Good"], "n_grades": 3}, "names 2 grades, but n_grades=3"),
        ({"n_grades": 0}, "n_grades=0: give 1 to 127"),
        ({"depth": 0}, "depth=0: give 1 to 9999999"),
        ({"depth": 2.0}, "depth is 2.0; expected int"),
    ],
)
def test_bad_options(tmp_path, options, message):
    refused(message, read_preferences, write(tmp_path, "x.jsonl", GOOD), **options)


def test_shorter_lists_have_no_result_below_their_last(tmp_path):
    path = write(tmp_path, "x.jsonl", line(a=[1], b=[1, 2, 3]) + "\n" + line(a=[1, 2], b=[3]))
    assert read_preferences(path).preferred.tolist() == [[1, -2, -2], [1, 2, -2]]
    assert read_preferences(path).other.tolist() == [[1, 2, 3], [3, -2, -2]]
    assert read_preferences(path, depth=2).preferred.tolist() == [[1, -2], [1, 2]]
    assert read_preferences(path, depth=4).other.tolist() == [[1, 2, 3, -2], [3, -2, -2, -2]]
    coded = write(tmp_path, "y.csv", 'a,b,winner\n"1 -2 3","u -1 -2",a\n')
    assert read_preferences(coded).preferred.tolist() == [[1, -2, 3]]
    assert read_preferences(coded).other.tolist() == [[-1, -1, -2]]
    assert read_preferences(path, pad=True).preferred.tolist() == [[1, -1, -1], [1, 2, -1]]
    assert read_preferences(path, pad=True, depth=2).other.tolist() == [[1, 2], [3, -1]]
    assert read_preferences(path, pad=True, depth=5).depth == 5
    assert read_preferences(path, depth=1).other.tolist() == [[1], [3]]


def test_missing_values(tmp_path):
    rows = [
        line(weight=2, strength=None, rater=None, query=5),
        line(strength=3),
        line(margin=None, rater=""),
    ]
    log = read_preferences(write(tmp_path, "x.jsonl", "\n".join(rows)))
    assert (log.weight.tolist(), log.strength.tolist(), log.query.tolist()) == (
        [2, 1, 1],
        [1, 3, 1],
        ["5", "", ""],
    )
    assert log.rater is None
    assert log.margin is None


def test_the_kind_of_a_tie_stays_in_the_log(tmp_path):
    lines = [
        {"a": [1, 0], "b": [0, 1], "winner": "a"},
        {"a": [1, 1], "b": [1, 0], "winner": "tie", "tie": "both good"},
        {"a": [0, 0], "b": [0, 1], "winner": "tie", "tie": "both bad"},
    ]
    log = read_preferences(write(tmp_path, "log.jsonl", "\n".join(map(json.dumps, lines))))
    assert log.tie_kind.tolist() == ["", "both good", "both bad"] and log.tie.tolist() == [
        False,
        True,
        True,
    ]
    assert log[log.tie_kind == "both bad"].tie_kind.tolist() == ["both bad"]
    for name in ("again.jsonl", "again.parquet"):
        log.save(tmp_path / name)
        assert read_preferences(tmp_path / name).tie_kind.tolist() == log.tie_kind.tolist()
    assert log.merged().tie_kind is None
    yes_or_no = read_preferences([{**line, "tie": line["winner"] == "tie"} for line in lines])
    assert len(yes_or_no.ties) == 2 and yes_or_no.tie_kind is None


@pytest.mark.parametrize("name", ["wide.csv", "wide.jsonl", "array.json", "blanks.csv"])
def test_what_would_take_more_memory_to_parse_than_there_is_is_refused_before(
    name, tmp_path, monkeypatch
):
    wide = {
        "wide.csv": ",".join(f"c{i}" for i in range(600_000)) + "\n",
        "wide.jsonl": '{"a": [1, 0], "b": [0, 1], "winner": "a"}\n{"a": ['
        + "0," * (1 << 21)
        + "0]}\n",
        "array.json": "[" + "[]," * 100_000 + "{}]",
        "blanks.csv": " " * (1 << 23) + "a,b,winner\n",
    }
    monkeypatch.setattr(openers, "PARSED", {"json": 1.0, "text": 1.0, "array": 1e9})
    began = time.process_time()
    refused(
        "array.json: reading its 300,004 bytes needs|line [12]: more than 4 MB",
        read_preferences,
        write(tmp_path, name, wide[name]),
    )
    assert time.process_time() - began < 1


def test_thousands_of_columns_are_refused(tmp_path):
    header = ",".join(f"c{i}" for i in range(20_001)) + "\n"
    for text in (
        header,
        header.replace(",", ";"),
        '{"' + header.strip().replace(",", '": 1, "') + '": 1}\n',
    ):
        path = write(tmp_path, "log.jsonl" if text[0] == "{" else "log.csv", text)
        refused("20,001 columns, and at most 20,000 are read", read_preferences, path)


@pytest.mark.parametrize(
    "mark", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\xa0", "\u2003", "\u2028"]
)
@pytest.mark.parametrize("grades", ["3 2{}0", "3 {} 0", "3 2 0{}", "3|{}|0"])
def test_only_spaces_tabs_and_line_ends_are_blanks_of_a_list(tmp_path, mark, grades):
    path = tmp_path / "log.csv"
    path.write_text(f"a,b,winner\n{grades.format(mark)},2 2 0,a\n2 1 0,0 0 0,b\n", newline="")
    refused("line 2: a holds (the grade name|.*, which is no grade)", read_preferences, path)
    path.write_text('a,b,winner\n"3 \t2\n0 ",2 2 0,a\n2 1 0,0 0 0,b\n', newline="")
    assert read_preferences(path).preferred.tolist() == [[3, 2, 0], [0, 0, 0]]


@pytest.mark.parametrize("mark", ["\v", "\f"])
@pytest.mark.parametrize("column", ["query", "rater", "winner", "a", "weight"])
def test_a_page_break_at_the_end_of_a_cell_is_refused_in_every_form(tmp_path, mark, column):
    line = {"query": "q", "rater": "r", "winner": "a", "a": "2 0", "b": "0 1", "weight": "1"}
    lines = [line, {**line, column: line[column] + mark}]
    frame = pl.DataFrame(lines)
    (tmp_path / "x.csv").write_text(frame.write_csv())
    (tmp_path / "quoted.csv").write_text(frame.write_csv(quote_style="always"))
    frame.write_parquet(tmp_path / "x.parquet")
    ended = rf"{column} (is|holds) '.*\\x0[bc]'"
    for log in (*(tmp_path / name for name in ("x.csv", "quoted.csv", "x.parquet")), frame, lines):
        refused(f"(line 3|row 2|record 2): {ended}", read_preferences, log)
    if column != "weight":  # a text in JSON
        lines = [{**line, "weight": 1} for line in lines]
        (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        refused(f"line 2: {ended}", read_preferences, tmp_path / "x.jsonl")

    # inside a label it is text, in the header and alone on a line a blank
    if column != "query":
        inside = frame.with_columns(query=pl.lit(f"q{mark}1"), **{column: pl.lit(line[column])})
        text = inside.write_csv().replace("\n", f"{mark}\n{mark}\n", 1)
        (tmp_path / "x.csv").write_text(text)
        for log in (tmp_path / "x.csv", inside):
            assert read_preferences(log).query.tolist() == [f"q{mark}1"] * 2


def test_cells_in_quotes_are_read_at_once(tmp_path, monkeypatch):
    frame = pl.DataFrame({"query": ["", "q, 1", 'q "2"'], "rater": ["x", " y ", "z"]})
    frame = frame.with_columns(a=pl.lit("[2, 0]"), b=pl.lit("0,1"), winner=pl.lit("a"))
    expected = read_preferences(frame)
    for separator in ",;\t":
        text = frame.write_csv(separator=separator, quote_style="always")
        for end in ("\n", "\r\n"):
            path = write(tmp_path, "x.csv", text.replace("\n", end))
            assert columns(is_fast(monkeypatch, read_preferences, path)) == columns(expected)
    assert expected.query.tolist() == ["", "q, 1", 'q "2"']


def test_a_page_break_in_the_name_of_a_document_is_refused(tmp_path):
    judged = {"q": {"d1": 2, "d2": 0}}
    line = {"query": "q", "a": ["d1", "d2"], "b": ["d2", "d1\f"], "winner": "a"}
    text = 'query,a,b,winner\nq,d1 d2,"d2|d1\f",a\n'
    for log in ([line], pl.DataFrame([line]), write(tmp_path, "x.csv", text)):
        refused(r"b holds 'd1\\x0c'; name a document", dl.io.join_judgements, log, judged)
    table = "query,docid,rating\nq,d1\f,1\n"
    refused(r"document is 'd1\\x0c'", dl.read_judgements, write(tmp_path, "x.csv", table))
    refused(r"document is 'd1\\x0c'", dl.read_judgements, {"q": {"d1\f": 2}})
