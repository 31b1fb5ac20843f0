"""``dcglearn convert``."""

import json

import pytest

import dcglearn as dl
from tests.makers import columns, simulated_log, write, write_lines

ROWS = "q1;2;1;0;1;Left\nq2;0;0;1;2;Right\nq3;1;1;1;1;Both\nq4;1;0;0;0;open\n"
WIDE = f"query;left_1;left_2;right_1;right_2;verdict\n{ROWS}"
WORDS = "Left=a,Right=b,Both=tie"


def test_a_spreadsheet_becomes_a_native_log_with_its_sides(dcglearn, tmp_path):
    text = WIDE.replace("verdict", "winner")
    path, out = write(tmp_path, "sheet.csv", text), tmp_path / "log.jsonl"
    status, _, err = dcglearn("convert", path, "--winner-words", "both=tie", "-o", out)
    columns_read = "columns: a = left_1 .. left_2, b = right_1 .. right_2"
    winners = {"Both = tie (1)", "Left (1)", "Right (1)", "open (1)"}
    printed = err.splitlines()
    assert (status, printed[0]) == (0, columns_read)
    assert {*printed[1].removeprefix("winners: ").split(", ")} == winners
    assert printed[2:] == [f"wrote: {out} (4 lines, 2 positions)"]
    one = write(tmp_path, "one.jsonl", '{"a": [1], "b": [0], "winner": "a"}')
    assert "(1 line, 1 position)" in dcglearn("convert", one, "-o", tmp_path / "1.jsonl")[2]
    verdicts = write(tmp_path, "verdicts.csv", WIDE)
    err = dcglearn("convert", verdicts, "--winner-words", WORDS)[2]
    assert "winner = verdict" in err and "Left = a (1)" in err
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines[1] == {"query": "q2", "a": [0, 0], "b": [1, 2], "winner": "b"}
    assert [line["winner"] for line in lines] == ["a", "b", "tie", "open"]
    converted, read = (
        dl.read_preferences(out),
        dl.read_preferences(path, winner_words={"Both": "tie"}),
    )
    assert columns(converted) == columns(read)
    assert converted.dropped == read.dropped == {"open questions": 1}
    assert dcglearn("convert", path, "--winner-words", "both=tie", "-o", out)[0] == 2
    assert (
        dcglearn("convert", path, "--winner-words", "both=tie", "-o", tmp_path / "log.parquet")[0]
        == 0
    )
    assert columns(dl.read_preferences(tmp_path / "log.parquet")) == columns(read)


def test_ids_are_kept_by_which_lines_repeat_others(dcglearn, tmp_path):
    line = {"id": "j1", "rater": "ann", "a": [2, 0], "b": [0, 1], "winner": "a"}
    path = write_lines(tmp_path / "log.jsonl", [line, line])
    assert dcglearn("convert", path, "-o", tmp_path / "native.jsonl")[0] == 0
    read = dl.read_preferences(tmp_path / "native.jsonl")
    assert len(read) == 2
    assert read.recognised.notes == dl.read_preferences(path).recognised.notes != ()


@pytest.mark.parametrize("command", ["convert", "ask"])
@pytest.mark.parametrize("name", ["log.xlsx", "log.TXT", "log.csv", "log.jsonl.gz", "log.feather"])
def test_a_log_is_not_written_by_a_name_that_it_could_not_be_read_by(
    misuse, tmp_path, command, name
):
    words = (command, "missing.jsonl", "-o", tmp_path / name)
    misuse(".jsonl, .ndjson, .json, .parquet", *words)
    assert not (tmp_path / name).exists()


def test_the_suffix_of_an_output_may_be_in_upper_case(dcglearn, tmp_path):
    simulated_log(20).save(tmp_path / "LOG.PARQUET")
    dcglearn("convert", tmp_path / "LOG.PARQUET", "-o", tmp_path / "LOG.JSONL")
    first, second = (
        dl.read_preferences(tmp_path / f"LOG.{suffix}") for suffix in ("PARQUET", "JSONL")
    )
    assert (tmp_path / "LOG.PARQUET").read_bytes()[:4] == b"PAR1"
    assert first.preferred.tolist() == second.preferred.tolist() and len(first) == 20


def test_ratings_words_and_likert_scales_are_converted(dcglearn, tmp_path):
    rated = write(tmp_path, "rated.csv", "list,rating\nGood Bad,5\nBad Bad,3\n")
    status, out, err = dcglearn("convert", rated, "--ratings", "--scale", "Bad,Good")
    assert (status, err) == (0, "grades: 0 = Bad, 1 = Good\n")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["list"], line["rating"]) for line in lines] == [([1, 0], 5), ([0, 0], 3)]
    assert lines[0]["scale"] == ["Bad", "Good"]
    likert = write(tmp_path, "likert.csv", "a,b,label\n2 0,0 2,1\n1 0,0 1,4\n0 1,2 0,6\n")
    status, out, err = dcglearn("convert", likert, "--middle", 4)
    assert status == 0 and "columns: winner = label" in err
    assert {"1 = a:3 (1)", "4 = tie (1)", "6 = b:2 (1)"} == {
        *err.splitlines()[1].removeprefix("winners: ").split(", ")
    }
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["winner"], line["strength"]) for line in lines] == [
        ("a", 3),
        ("tie", 1),
        ("b", 2),
    ]


SHAPES = {
    "columns of its own": (
        "x.csv",
        "Query;Result A;Result B;Verdict\nq;2 0;0 1;Left\nq;0 0;0 2;right\n",
        ["--columns", "a=Result A,b=Result B,winner=Verdict"],
    ),
    "words of its own": (
        "x.jsonl",
        '{"a": ["Good", "Bad"], "b": ["Bad", "Good"], "winner": "Links"}\n',
        ["--winner-words", "Links=a,Rechts=b", "--scale", "Bad,Good"],
    ),
    "numbers as words": (
        "x.tsv",
        "a\tb\tlabel\n2 0\t0 1\t1\n0 1\t2 0\t2\n",
        ["--winner-words", "1=a,2=b,0=tie"],
    ),
    "a column for each position": (
        "x.csv",
        "first_1,first_2,other_1,other_2,verdict\n2,1,0,1,-2\n1,0,2,0,3\n",
        ["--columns", "a=first_{},b=other_{}", "--middle", 0, "--depth", 1],
    ),
    "columns by pattern": (
        "x.csv",
        "Links 1;Links 2;Rechts 1;Rechts 2;Urteil;Prüfer\n2;0;0;2;a;Jörg\n0;1;1;0;b;Zoë\n",
        ["--columns", "a=Links {},b=Rechts {},winner=Urteil,rater=Prüfer"],
    ),
    "rated lists": ("x.csv", "list,rating\n3 0,4\n0 3,1\n", ["--ratings"]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_options_read_becomes_a_log_that_needs_none(dcglearn, tmp_path, shape):
    name, text, options = SHAPES[shape]
    log, out = write(tmp_path, name, text), tmp_path / "log.jsonl"
    status, _, err = dcglearn("convert", log, *options, "-o", out)
    assert status == 0 and f"wrote: {out}" in err, err
    read = dl.read_ratings if "--ratings" in options else dl.read_preferences
    assert len(read(out)) > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("list,rating\n1 0,5\n0 0,3\n", "(--ratings)"),
        ("a,b,winner\n1 0,0 1,Links\n", "--winner-words 'Links=?' says what"),
        ("a,b,winner\n1 0,0 1,-2\n", "convert --middle, or the recipe 'Likert numbers'"),
        ("a,b,verdict of Ann\n1 0,0 1,a\n", "--columns winner=..."),
        ("a,b,winner\nGood Bad,Bad Good,a\n", "--scale takes the names of all grades"),
        ("query,left,right,winner\nq,A,B,A\n", "see the recipe 'Documents judged elsewhere'"),
        ("a,b,probability\n1 0,0 1,.8\n", "see the recipe 'Probabilities'"),
    ],
)
def test_refusals_name_the_option_or_the_recipe_that_would_help(misuse, tmp_path, text, words):
    log = write(tmp_path, "x.csv", text)
    for command in (("learn", log), ("ask", log, "--log", log), ("audit", log), ("convert", log)):
        misuse(words, *command)


def test_columns_that_are_not_used_are_named(dcglearn, tmp_path):
    log = write(tmp_path, "x.csv", "a,b,winner,rater_id,remark\n1 0,0 1,a,ann,nice\n")
    lines = "columns: rater = rater_id; not used: remark\nwinners: a (1)\n"
    assert dcglearn("convert", log)[2] == lines
    learned = dcglearn("learn", log, "--method", "qp", "-o", tmp_path / "dcg.json")
    assert learned[2].startswith(lines)


def test_thumbs_on_lists_of_documents_are_joined(dcglearn, tmp_path):
    lines = ["query,docs,rating", "q,d1 d2,up", "q,d2 d1,down"]
    thumbs = write(tmp_path, "thumbs.csv", "\n".join(lines))
    qrels = write(tmp_path, "qrels.txt", "q 0 d1 2\nq 0 d2 0\n")
    status, out, _ = dcglearn("convert", thumbs, "--ratings", "--qrels", qrels)
    assert status == 0
    assert [json.loads(line)["list"] for line in out.splitlines()] == [[2, 0], [0, 2]]


def test_refusals_name_the_option(misuse, tmp_path):
    sheet = write(tmp_path, "sheet.csv", WIDE.replace("verdict", "winner"))
    for arguments, words in {
        ("learn", sheet): "row 3: winner is missing or unknown: 'Both'; convert --winner-words",
        ("convert", sheet, "--ratings", "--sides", "shown"): "leave them out with --ratings",
        ("convert", sheet, "--ratings", "--middle", 4): "leave them out with --ratings",
        ("convert", sheet, "--winner-words", "x=a", "--middle", 4): "leave out --winner-words",
        ("convert", sheet, "--columns", "winner"): "give each usual name once",
        ("convert", sheet, "-o", sheet, "--force", "--winner-words", WORDS): "sheet.csv",
    }.items():
        misuse(words, *arguments)
