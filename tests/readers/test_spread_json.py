"""JSON as it is printed for reading: an array or several objects over many lines."""

import json
from pathlib import Path

import pytest

import dcglearn as dl
from dcglearn.readers import openers
from tests.makers import refused

LINES = [{"query": f"q{i}", "a": [2, i % 3], "b": [0, 2], "winner": "ab"[i % 2]} for i in range(5)]


def indented(lines, **options):
    return "\n".join(json.dumps(line, indent=2, **options) for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LINES, indent=4),
        indented(LINES),
        indented(LINES).replace("\n", "\r\n"),
        "\ufeff\n\n" + indented(LINES) + "\n\n",
        indented(LINES).replace("}\n{", "}{"),
        indented(LINES).replace('{\n  "query"', '{"query"'),
        indented(LINES[:1]) + "\n" + "\n".join(map(json.dumps, LINES[1:])),
    ],
)
@pytest.mark.parametrize("name", ["log.json", "log.jsonl", "log"])
def test_objects_over_several_lines_are_read(here, name, text):
    Path(name).write_text(text, encoding="utf-8")
    log = dl.read_preferences(name)
    assert log.preferred.tolist() == dl.read_preferences(LINES).preferred.tolist()
    assert log.query.tolist() == [line["query"] for line in LINES]
    assert log.recognised.form in ("a JSON array", "JSON objects")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            indented([*LINES[:2], {**LINES[2], "winner": "Links"}]),
            "log.json, record 3: winner is 'Links'",
        ),
        (indented([*LINES[:2], {**LINES[2], "a": 3}]), "log.json, record 3: a is 3, not a list"),
        (indented(LINES)[:-40], "log.json: not valid JSON .*; expected an array of objects"),
        (
            indented(LINES).replace("}\n{", "},\n{"),
            r"log.json: not valid JSON \(Expecting value: line 12",
        ),
        (indented(LINES) + "\nnull", "log.json, record 6: None is not an object"),
        (indented([{**LINES[0], "winner": float("nan")}]), "NaN is not a number that JSON allows"),
        ('{\n"a": [1],\n"a": [1], "b": [0], "winner": "a"}', "the key 'a' occurs twice"),
        ('{\n"a": ' + "[" * 100_000, "log.json: not valid JSON"),
        # lines of which the first is damaged
        ('{"a": [2, 0], "b": [0,\n' + json.dumps(LINES[1]), "log.json, line 1: not valid JSON"),
        ('{"a": [2, 0]} x\n' + json.dumps(LINES[1]), "log.json, line 1: not valid JSON"),
        ("3\n" + json.dumps(LINES[1]), "log.json, line 1: a JSON int, expected an object"),
        ('{"a":' * 50_000 + "\n" + json.dumps(LINES[1]), "log.json, line 1: not valid JSON"),
    ],
)
def test_a_bad_object_is_named(here, text, message):
    Path("log.json").write_text(text, encoding="utf-8")
    refused(message, dl.read_preferences, "log.json")


def test_bad_objects_are_set_aside_as_lines(here):
    Path("log.json").write_text(indented([LINES[0], {"a": [1]}, LINES[1]]), encoding="utf-8")
    log = dl.read_preferences("log.json", skip_bad="bad.jsonl")
    assert (
        log.dropped["bad lines"] == 1
        and Path("bad.jsonl").read_text(encoding="utf-8") == '{"a": [1]}\n'
    )


def test_the_memory_of_objects_is_counted_before_they_are_read(here, monkeypatch):
    Path("log.json").write_text(indented(LINES * 1000), encoding="utf-8")
    monkeypatch.setattr(openers, "PARSED", {"json": 1.0, "array": 1e9})
    refused("log.json: reading its .* bytes needs", dl.read_preferences, "log.json")
