"""Columns at once agree with a referee that reads line by line, on every log, and name the same
line.
"""

import json
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcglearn.foundation.validation import InputError
from dcglearn.readers import cells, grade_scale, raw_cells
from dcglearn.readers.column_roles import PREFERENCE
from dcglearn.readers.line_formats import JsonLines, TextLines
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_log import read_preferences
from dcglearn.readers.read_table import columns_of
from tests.makers import columns, quick, write
from tests.readers import line_by_line


def outcome(read, path, **options):
    """What a reader returns or says, to compare passes by."""
    try:
        return columns(read(path, **options))
    except InputError as error:
        return str(error)


def both_passes(read, path, **options):
    fast = outcome(read, path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(raw_cells, "PARTS", (100, 1))
        assert outcome(read, path, **options) == fast
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "read_checked", line_by_line.read_carefully)
        patch.setattr(grade_scale, "_few_grades", line_by_line.few_grades)
        return fast, outcome(read, path, **options)


ODD_VALUES = """
null true 2.5 3.0 -0 -0.0 1e0 1e2 0.1 1e400 127 128 300 -1 -2 99999999999999999999 01 +1 .5 5. NaN
'a' "3" "" "u" "a" "tie" "é" ":" "A" [1] [] {} {"a":1} [[1]] ["a"] "\\ud800" "\\u0061" "x\\"a\\":1"
"""
HOSTILE = st.sampled_from([*ODD_VALUES.split(), '"a\x01"', '"\x7f"', '"b" '])
GRADES = st.lists(st.integers(-1, 4).map(str) | st.just("null"), min_size=2, max_size=2).map(
    lambda grades: "[" + ",".join(grades) + "]"
)
PLAIN = {
    "a": GRADES,
    "b": GRADES,
    "winner": st.sampled_from(['"a"', '"b"', '"tie"', '"LEFT"']),
    "weight": st.sampled_from(["1", "0.25", "1e3", "123456789.123456789e-5"]),
    "strength": st.sampled_from(["2", "0.3"]),
    "margin": st.sampled_from(["0", "-1.5"]),
    "query": st.sampled_from(['"q1"', '"true"', '""', '"x:y"']),
    "rater": st.sampled_from(["1", "-5", "12345678901234567890"]),
    "z": st.sampled_from(["1", '"k"', "[1, 2]"]),
}
KEYS = st.sampled_from([*PLAIN, "left", "A", "Weight", "user", r"\u0061", "a ", "z2"])


@st.composite
def json_logs(draw):
    keys = [
        "a",
        "b",
        "winner",
        *draw(st.lists(st.sampled_from(sorted(PLAIN)[2:8]), unique=True, max_size=4)),
    ]
    keys = list(dict.fromkeys(keys))
    lines = [[[key, draw(PLAIN[key])] for key in keys] for _ in range(draw(st.integers(1, 4)))]
    for _ in range(draw(st.integers(0, 2))):
        pairs = draw(st.sampled_from(lines))
        at = draw(st.integers(0, len(pairs) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                pairs[at][1] = draw(HOSTILE)
            case 1:
                pairs[at][1] = f"[{draw(HOSTILE)}, {draw(HOSTILE)}]"
            case 2:
                pairs[at][0] = draw(KEYS)
            case 3:
                pairs.insert(at, [draw(KEYS), draw(HOSTILE | GRADES)])
            case 4 if len(pairs) > 1:
                del pairs[at]
    colon = draw(st.sampled_from([":", ": ", ": ", " :", "\t:", ":  "]))
    texts = [
        "{" + ", ".join(f'"{key}"{colon}{value}' for key, value in pairs) + "}" for pairs in lines
    ]
    texts = [
        draw(
            st.sampled_from(
                [t, t, t, t, t, t, t + "\r", " " + t, t + "\n", t[:-1], t + t, "\x0c" + t]
            )
        )
        for t in texts
    ]
    data = "\n".join(texts).encode()
    return draw(
        st.sampled_from(
            [data, data, data, data + b"\n", b"\xef\xbb\xbf" + data, data.replace(b"k", b"\xe9")]
        )
    )


OPTIONAL = {
    "depth": st.integers(1, 3),
    "pad": st.booleans(),
    "n_grades": st.just(4),
    "scale": st.just(["x", "u", "3"]),
}
OPTIONS = st.fixed_dictionaries({}, optional=OPTIONAL).filter(
    lambda given: not {"n_grades", "scale"} <= set(given)
)


@quick
@given(json_logs(), OPTIONS)
def test_fast_json_agrees(tmp_path, data, options):
    fast, careful = both_passes(read_preferences, write(tmp_path, "x.jsonl", data), **options)
    assert fast == careful


TOKENS = st.lists(
    st.sampled_from(
        ["0", "1", "3", "4", "-1", "02", "+1", "3.0", "2.5", "u", "", "é", "٣", "127", "300", "1e0"]
    ),
    min_size=1,
    max_size=3,
)
TEXT_LISTS = st.tuples(
    st.sampled_from([" ", "|", ",", ", ", "  "]),
    TOKENS,
    st.sampled_from(["{}", "[{}]", "[{}", '"{}"']),
).map(lambda x: x[2].format(x[0].join(x[1])))
PLAIN_LISTS = st.tuples(st.integers(-1, 4), st.integers(0, 12)).map(lambda x: f"{x[0]} {x[1]}")
ODD_WORDS = 'a b tie x 1 0 -1 1.5 1e3 nan inf 1_0 "a" " .5 5. 00.10'
WORDS = [*ODD_WORDS.split(), "", " a", "A\x1f", "a\r", "\fa", "\x00"]


@quick
@given(st.data())
def test_fast_text_agrees(tmp_path, data):
    draw = data.draw
    delimiter = draw(st.sampled_from([",", "\t"]))
    names = [
        "a",
        "b",
        "winner",
        *draw(st.lists(st.sampled_from(["weight", "margin", "rater", "z", "z"]), max_size=3)),
    ]
    plain = {"a": PLAIN_LISTS, "b": PLAIN_LISTS, "winner": st.sampled_from(["a", "b", "tie"])}
    rows = [
        [draw(plain.get(name, st.sampled_from(["1", "2.5"]))) for name in names]
        for _ in range(draw(st.integers(0, 4)))
    ]
    for _ in range(draw(st.integers(0, 2)) if rows else 0):
        row = draw(st.sampled_from(rows))
        match draw(st.integers(0, 3)):
            case 0:
                row[draw(st.integers(0, len(row) - 1))] = draw(TEXT_LISTS)
            case 1:
                row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(WORDS))
            case 2 if len(row) > 1:
                row.pop()
            case 3:
                row.append(draw(st.sampled_from(WORDS)))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r"]))
    text = end.join(delimiter.join(row) for row in [names, *rows]) + draw(
        st.sampled_from(["", "\n"])
    )
    fast, careful = both_passes(read_preferences, write(tmp_path, "x.csv", text), **draw(OPTIONS))
    assert fast == careful


CELLS = st.sampled_from(
    ["0", "3", "-1", "12"] * 6 + ["3 2", "", " 4", "[1]", "u", "300", "2.0", "x", "1|2", "-2"]
)
NUMBERED = st.sampled_from(["1 2", "0 1 2", "1", "0 1", "1 2 open", "1 a", "1 2.0"]).map(str.split)


@settings(quick, max_examples=80)
@given(st.data())
def test_fast_wide_tables_and_numbers_agree(tmp_path, data):
    words, separator = data.draw(NUMBERED), data.draw(st.sampled_from(",;"))
    n = data.draw(st.integers(1, 4))
    rows = [[*(data.draw(CELLS) for _ in range(4)), words[i % len(words)]] for i in range(n)]
    text = "\n".join(separator.join(row) for row in [["a1", "a2", "b1", "b2", "winner"], *rows])
    options = data.draw(OPTIONS)
    fast, careful = both_passes(read_preferences, write(tmp_path, "x.csv", text), **options)
    assert fast == careful
    frame = pl.DataFrame(rows, schema=["a1", "a2", "b1", "b2", "winner"], orient="row")
    cells = frame.with_columns(pl.all().cast(pl.Int64, strict=False))
    for table in (frame, cells):
        fast, careful = both_passes(read_preferences, table, **options)
        assert fast == careful
    text = "\n".join(
        f'{{"a1": {a}, "b1": {b}, "winner": '
        + data.draw(st.sampled_from([w, w, w, f'"{w}"', "true", "1.5"]))
        + "}"
        for a, _, b, _, w in ([x if x.isdecimal() else "1" for x in row] for row in rows)
    )
    fast, careful = both_passes(read_preferences, write(tmp_path, "x.jsonl", text), **options)
    assert fast == careful


@settings(quick, max_examples=150)
@given(st.data())
def test_fast_parquet_agrees(tmp_path, data):
    numeric = [
        [[1, 2], [0, 3]],
        [[1, None], [0, -1]],
        [[1.0, 2.5], [0, 1]],
        [[1.0, 2.0]] * 2,
        [[1, 300], [0, 1]],
    ]
    ragged = [[None, [1, 2]], [[], [1, 2]], [[1], [1, 2]], [1, 2], [[[1]], [[2]]]]
    lists = st.sampled_from(
        [*numeric, *ragged, [["1", "u"]] * 2, ["1 2", "[0, 3]"], [[True, False]] * 2]
    )
    labels = st.sampled_from(
        [["x", None], [None, None], [1, 2], [True, False], [1.5, 2.0], ["", ""], ["x" * 300, "y"]]
    )
    numbers = st.sampled_from(
        [[1, 2], [0.5, None], [None, None], [True, True], ["2", "0.5"], [float("nan"), 1], [0, 1]]
    )
    winners = st.sampled_from([["a", "b"], ["tie", "Left"], ["a", None], [1, 2], ["c", "a"]])
    kinds = {
        "a": lists,
        "b": lists,
        "winner": winners,
        "rater": labels,
        "weight": numbers,
        "margin": numbers,
    }
    frame = pl.DataFrame({name: data.draw(kind) for name, kind in kinds.items()})
    frame.write_parquet(tmp_path / "x.parquet")
    fast, careful = both_passes(read_preferences, tmp_path / "x.parquet", **data.draw(OPTIONS))
    assert fast == careful


RNG = np.random.default_rng(0)
DAMAGE = [
    ("cut", lambda line: line[: len(line) // 2]),
    ("a comma more", lambda line: line + ","),
    ("another name", lambda line: line.replace("winner", "winer")),
    ("another winner", lambda line: line.replace('"b"', '"nobody"').replace(",b,", ",nobody,")),
    ("a large grade", lambda line: line.replace("4", "900")),
    ("a quote", lambda line: line.replace("4", '4"')),
    ("two quotes", lambda line: line.replace("4", '4"').replace("r1", 'r"1')),
    ("a cell in quotes, which is no fault", lambda line: line.replace(",r1", ',"r1"')),
    ("quotes inside and behind", lambda line: line.replace(",r1", ',"r""1"x')),
    ("a delimiter in quotes", lambda line: line.replace(",r1", '",r1"')),
    ("a list that is short", lambda line: line.replace("3, ", "").replace("3 ", "")),
    ("an empty line and a word", lambda line: "\n\nword"),
    ("no rater", lambda line: line.replace("r1", "").replace(', "rater": ""', "")),
    ("an escape, which is no fault", lambda line: line.replace("r1", "r\\u0031")),
]


def log(kind, n=200):
    rows = [
        ([*RNG.integers(0, 4, 3).tolist(), 4], [3, 4, 1, 0], "ab"[int(i)])
        for i in RNG.integers(0, 2, n)
    ]
    if kind is JsonLines:
        return [json.dumps({"a": a, "b": b, "winner": w, "rater": "r1"}) for a, b, w in rows]
    lists = [(" ".join(map(str, a)), " ".join(map(str, b)), w) for a, b, w in rows]
    return ["a,b,winner,rater", *(f"{a},{b},{w},r1" for a, b, w in lists)]


def message_of(kind, lines, mapping):
    try:
        columns_of("log", kind("\n".join(lines).encode(), PREFERENCE), mapping)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", [JsonLines, TextLines])
def test_the_same_line_is_named_in_the_same_words(kind, monkeypatch):
    faults = 0
    for _, damage in DAMAGE:
        for mapping in (LogMapping(), LogMapping(n_grades=5, depth=3, pad=True)):
            lines = log(kind)
            for place in RNG.integers(1, len(lines), 1):
                lines[place] = damage(lines[place])
            found = message_of(kind, lines, mapping)
            with monkeypatch.context() as patch:
                patch.setattr(cells, "read_checked", line_by_line.read_carefully)
                patch.setattr(grade_scale, "_few_grades", line_by_line.few_grades)
                expected = message_of(kind, lines, mapping)
            assert found == expected
            faults += expected is not None
    assert faults >= 12


def test_numbers_as_winners_are_counted_in_the_whole_log():
    lines = [json.dumps({"a": [1, 2], "b": [2, 1], "winner": i % 2}) for i in range(300)]
    assert 'winner_words="0=?,1=?"' in message_of(JsonLines, lines, LogMapping())
    lines.append(lines[0].replace('"winner": 0', '"winner": 2'))
    assert 'winner_words="0=?,1=?,2=?"' in message_of(JsonLines, lines, LogMapping())
    assert message_of(JsonLines, lines, LogMapping(winner_words="0=tie,1=a,2=b")) is None


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_many_blank_lines_within_a_log_are_no_lines(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(raw_cells, "PARTS", (100, 10))
    line = '{"a": [2, 0], "b": [0, 1], "winner": "a"}' if suffix == ".jsonl" else "2 0,0 1,a"
    head = "" if suffix == ".jsonl" else "a,b,winner\n"
    text = f"{head}{line}\n" + "  \n\n" * 200 + f"{line}\n" + "\n" * 300
    log = read_preferences(write(tmp_path, f"x{suffix}", text))
    assert log.preferred.tolist() == [[2, 0], [2, 0]]


def test_nothing_but_blank_lines_after_a_header():
    assert "nothing after the header" in message_of(
        TextLines, ["a,b,winner", *[" "] * 9], LogMapping()
    )


@pytest.mark.parametrize("blank", ["\t\t\t", "\t \t\t ", "  \t\t\t"])
def test_lines_of_nothing_but_tabs_do_not_shift_the_others(tmp_path, blank):
    lines = ["query\ta\tb\twinner", "q1\t2 0\t0 1\ta", blank, "q2\t1 0\t0 2\tb"]
    path = tmp_path / "x.tsv"
    path.write_text("\n".join([*lines, "q3\t1 0\t0 x\tb", "q4\t1 0\t0 2\tb"]))
    log = read_preferences(path, skip_bad=tmp_path / "bad.tsv")
    assert log.query.tolist() == ["q1", "q2", "q4"]
    assert (tmp_path / "bad.tsv").read_text().splitlines()[1:] == ["q3\t1 0\t0 x\tb"]


def test_cells_that_are_longer_than_csv_allows_are_refused_as_line_by_line():
    lines = log(TextLines)
    lines[7] = lines[7].replace("r1", "r" * 140_000)
    assert "line 8: not a line of CSV (field larger" in message_of(TextLines, lines, LogMapping())


def test_a_header_of_many_blanks_takes_no_longer_than_others():
    began = time.process_time()
    message_of(TextLines, [f"a{' ' * 200_000}b,b,winner", "2 0,0 1,a"], LogMapping())
    assert (
        time.process_time() - began < 5
    )  # minutes with a pattern that tries each blank as a beginning


LABELS = ["q1", "", "äß日𝄞", "identifier of 26 characters", "x" * 16, "x" * 17]


@pytest.mark.parametrize("longest", [2, 3, 4, 5, 6])
def test_short_and_long_labels_are_those_of_the_file(tmp_path, longest):
    lines = [
        {"a": [1, 0], "b": [0, 1], "winner": "a", "query": label} for label in LABELS[:longest]
    ]
    path = write(tmp_path, "x.jsonl", "\n".join(map(json.dumps, lines)))
    log = read_preferences(path)
    assert log.query.tolist() == LABELS[:longest]
    assert log.query.dtype == np.array(LABELS[:longest]).dtype


def test_a_log_keeps_its_labels_where_the_caller_changes_theirs():
    names = np.array(["q1", "q2"])
    log = Preferences([[1, 0], [0, 1]], [[0, 1], [1, 0]], query=names)
    names[0] = "q9"
    assert log.query.tolist() == ["q1", "q2"]


def test_unknown_grades_are_neither_names_nor_numbers():
    line = {"a": [-1, -1], "b": ["Good", "Bad"], "winner": "b"}
    for log in ([line], pl.DataFrame([line])):
        read = read_preferences(log, scale=["Bad", "Fair", "Good"])
        assert (read.preferred.tolist(), read.other.tolist()) == ([[2, 0]], [[-1, -1]])


FAULTS = {
    "a": [[200, 1], [1.5, 1], ["good", 1], ["x7", 1]],
    "winner": ["c", None],
    "weight": [0, "heavy"],
}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_for_a_bad_last_line_few_others_are_read_one_by_one(tmp_path, monkeypatch, suffix):
    def written(name, lines):
        path = tmp_path / (name + suffix)
        if suffix == ".jsonl":
            return write(tmp_path, path.name, "\n".join(map(json.dumps, lines)))
        texts = [x | {side: " ".join(map(str, x[side])) for side in "ab"} for x in lines]
        frame = pl.DataFrame(texts, strict=False, infer_schema_length=None)
        frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
        return path

    read_alone = []
    line_by_line = raw_cells._line_by_line

    def counted(source):
        found = line_by_line(source)
        read_alone.append(found.n)
        return found

    monkeypatch.setattr(raw_cells, "_line_by_line", counted)

    def line(i):
        return {"a": [i % 5, 1, 0], "b": [1, 2, i % 3], "winner": "ab"[i % 2], "weight": 1 + i % 7}

    n = 40_000
    for role, values in FAULTS.items():
        for value in values:
            bad = written("bad", [*map(line, range(n - 1)), line(n - 1) | {role: value}])
            read_alone.clear()
            message = outcome(read_preferences, bad)
            assert f" {n + (suffix == '.csv')}: " in str(message), (role, value)
            assert sum(read_alone) < n / 5, (role, value)


@pytest.mark.parametrize("role", ["winner", "strength"])
def test_a_column_of_other_words_is_refused_in_little_time(role):
    lines = [{"a": [1, 0], "b": [0, 1], "winner": "a", role: f"id {i}"} for i in range(20_000)]
    began = time.process_time()
    with pytest.raises(InputError, match=f"record 1: {role} is 'id 0'"):
        read_preferences(lines)
    assert time.process_time() - began < 10
