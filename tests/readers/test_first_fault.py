"""The first bad line of a long log is the one that the careful pass names, in the same words."""

import json

import numpy as np
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.readers import careful_pass
from dcglearn.readers.line_formats import JsonLines, TextLines
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_table import columns_of
from dcglearn.readers.roles import PREFERENCE

RNG = np.random.default_rng(0)
DAMAGE = [
    ("cut", lambda line: line[: len(line) // 2]),
    ("a comma more", lambda line: line + ","),
    ("another name", lambda line: line.replace("winner", "winer")),
    ("another winner", lambda line: line.replace('"b"', '"nobody"').replace(",b,", ",nobody,")),
    ("a large grade", lambda line: line.replace("4", "900")),
    ("a quote", lambda line: line.replace("4", '4"')),
    ("a list that is short", lambda line: line.replace("3, ", "").replace("3 ", "")),
    ("an empty line and a word", lambda line: "\n\nword"),
    ("no rater", lambda line: line.replace("r1", "").replace(', "rater": ""', "")),
    ("an escape, which is no fault", lambda line: line.replace("r1", "r\\u0031")),
]


def log(kind, n=200):
    rows = [([*RNG.integers(0, 4, 3).tolist(), 4], [3, 4, 1, 0], "ab"[int(i)]) for i in RNG.integers(0, 2, n)]
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
            monkeypatch.setattr(careful_pass, "LEAST_BYTES", 10**9)
            expected = message_of(kind, lines, mapping)
            monkeypatch.setattr(careful_pass, "LEAST_BYTES", 0)
            assert message_of(kind, lines, mapping) == expected
            faults += expected is not None
    assert faults >= 12


def test_winners_that_only_the_whole_log_explains_are_no_fault(monkeypatch):
    monkeypatch.setattr(careful_pass, "LEAST_BYTES", 0)
    lines = [json.dumps({"a": [1, 2], "b": [2, 1], "winner": i % 2}) for i in range(300)]
    assert "say which, such as winner_words=" in message_of(JsonLines, lines, LogMapping())
    assert message_of(JsonLines, [*lines, lines[0].replace('"winner": 0', '"winner": 2')], LogMapping()) is None


def test_nothing_but_blank_lines_after_a_header(monkeypatch):
    monkeypatch.setattr(careful_pass, "LEAST_BYTES", 0)
    assert "nothing after the header" in message_of(TextLines, ["a,b,winner", *[" "] * 9], LogMapping())


def test_few_lines_are_read_carefully(monkeypatch):
    monkeypatch.setattr(careful_pass, "LEAST_BYTES", 0)
    read = []
    record = JsonLines.record
    monkeypatch.setattr(JsonLines, "record", lambda self, item: read.append(item) or record(self, item))
    lines = log(JsonLines, 2000)
    lines[1500] = lines[1500].replace("winner", "winer")
    assert "line 1501: no 'winner'" in message_of(JsonLines, lines, LogMapping())
    assert len(read) < 400
