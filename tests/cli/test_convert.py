"""``dcglearn convert``, and what a dry run of ``dcglearn learn`` recognises."""

import json

import dcglearn as dl
from tests.readers.log_files import columns, write

WIDE = (
    "query;left_1;left_2;right_1;right_2;verdict\nq1;2;1;0;1;Left\nq2;0;0;1;2;Right\nq3;1;1;1;1;Both\nq4;1;0;0;0;open\n"
)
WORDS = "Left=a,Right=b,Both=tie"


def test_a_spreadsheet_becomes_a_native_log_with_its_sides(dcglearn, tmp_path):
    text = WIDE.replace("verdict", "winner")
    path, out = write(tmp_path, "sheet.csv", text), tmp_path / "log.jsonl"
    status, _, err = dcglearn("convert", path, "--winner-words", "both=tie", "-o", out)
    assert (status, err.splitlines()) == (
        0,
        [
            "winners: Both = tie (1), Left = a (1), Right = b (1), open (1)",
            f"wrote: {out} (4 lines, 2 positions)",
        ],
    )
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines[1] == {"query": "q2", "a": [0, 0], "b": [1, 2], "winner": "b"}
    assert [line["winner"] for line in lines] == ["a", "b", "tie", "open"]
    converted, read = dl.read_preferences(out), dl.read_preferences(path, winner_words={"Both": "tie"})
    assert columns(converted) == columns(read)
    assert converted.dropped == read.dropped == {"open questions": 1}
    assert dcglearn("convert", path, "--winner-words", "both=tie", "-o", out)[0] == 2
    assert dcglearn("convert", path, "--winner-words", "both=tie", "-o", tmp_path / "log.parquet")[0] == 0
    assert columns(dl.read_preferences(tmp_path / "log.parquet")) == columns(read)


def test_ratings_words_and_likert_scales_are_converted(dcglearn, tmp_path):
    rated = write(tmp_path, "rated.csv", "list,rating\nGood Bad,5\nBad Bad,3\n")
    status, out, err = dcglearn("convert", rated, "--ratings", "--scale", "Bad,Good")
    assert (status, err) == (0, "grades: 0 = Bad, 1 = Good\n")
    counts = {"ratings_a": "5:1", "ratings_b": "3:1"}
    assert json.loads(out) == {"a": [1, 0], "b": [0, 0], "winner": "a", "weight": 1.0, **counts}
    likert = write(tmp_path, "likert.csv", "a,b,label\n2 0,0 2,-3\n1 0,0 1,0\n")
    status, out, err = dcglearn("convert", likert, "--positive", "b")
    assert (status, err) == (0, "winners: -3 = a (1), 0 = tie (1)\n")
    assert json.loads(out.splitlines()[0]) == {"a": [2, 0], "b": [0, 2], "winner": "a", "strength": 3.0}


def test_a_dry_run_prints_what_was_recognised(dcglearn, tmp_path):
    path = write(tmp_path, "sheet.csv", WIDE.replace("verdict", "label").replace("query", "topic"))
    status, out, err = dcglearn("learn", path, "--winner-words", WORDS, "--dry-run")
    assert (status, err) == (0, "")
    assert "form: text, columns separated by semicolons\n" in out
    assert "columns: a = left_1 .. left_2, b = right_1 .. right_2, winner = label\nnot used: topic\n" in out
    assert "winners: Both = tie (1), Left = a (1), Right = b (1), open (1)\n" in out
    assert "grades: 0 (3), 1 (7), 2 (2)\npair 1:\n  preferred  2 1\n         to  0 1\npair 2:\n" in out
    assert "       tied  1 1\n        and  1 1\n" in out


def test_refusals_name_the_option(dcglearn, tmp_path):
    rated = write(tmp_path, "rated.csv", "list,rating\n1 0,5\n0 0,3\n")
    sheet = write(tmp_path, "sheet.csv", WIDE.replace("verdict", "winner"))
    for arguments, words in {
        ("learn", rated, "--dry-run"): "read them with --ratings",
        ("learn", sheet, "--dry-run"): "line 4: winner is 'Both'; use a, b or tie",
        ("learn", sheet, "--ratings", "--positive", "a"): "--winner-words and --positive are for pairs",
        ("learn", sheet, "--workers", 2, "--winner-words", WORDS): "dcglearn convert FILE --winner-words ... -o",
        ("convert", sheet, "--equal-groups"): "--equal-groups goes with --ratings",
        ("convert", sheet, "-o", sheet, "--force", "--winner-words", WORDS): "sheet.csv",
    }.items():
        status, out, err = dcglearn(*arguments)
        assert (status, out) == (2, ""), arguments
        assert words in err


def test_a_column_of_verdicts_is_the_winner(dcglearn, tmp_path):
    path = write(tmp_path, "sheet.csv", WIDE)
    status, _, err = dcglearn("convert", path, "--winner-words", WORDS)
    assert status == 0 and "winners: Both = tie (1), Left = a (1), Right = b (1), open (1)" in err
