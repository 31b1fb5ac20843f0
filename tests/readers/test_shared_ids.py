"""Judgements of two files under one id are of the same lists, or the files are refused."""

import json
from pathlib import Path

import pytest

from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_table import refuse_other_lists
from tests.makers import refused

PEOPLE = [
    {"id": f"q{i}", "query": f"about {i}", "a": [i, 0], "b": [0, 2], "winner": "a"} for i in (3, 4)
]


def written(name, *records, **changes):
    Path(name).write_text("".join(json.dumps({**record, **changes}) + "\n" for record in records))
    return name


def test_the_same_judgement_may_be_turned_or_judged_otherwise(here):
    people = written("people.jsonl", *PEOPLE)
    turned = [{**line, "a": line["b"], "b": line["a"]} for line in PEOPLE]
    unnamed = [{name: line[name] for name in ("id", "a", "b", "winner")} for line in PEOPLE]
    others = [{**line, "id": f"other {i}", "a": [1, 1]} for i, line in enumerate(PEOPLE)]
    without = [{name: line[name] for name in ("a", "b", "winner")} for line in others]
    for lines in (PEOPLE, turned, unnamed, others, without, [*PEOPLE, *turned, *others]):
        refuse_other_lists(people, written("machine.jsonl", *lines), LogMapping())
        refuse_other_lists("machine.jsonl", people, LogMapping())
    refused("holds people's verdicts: give", refuse_other_lists, people, people, LogMapping())
    refuse_other_lists("-", people, LogMapping())


DOCS = {"docs_a": ["d1", "d2"], "docs_b": ["d5", "d6"]}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"b": [1, 2]},
            r"the lists \[\[1, 2\], \[3, 0\]\], and in people.jsonl of \[\[0, 2\], \[3, 0\]\]",
        ),
        ({"query": "x"}, "the query 'x', and in people.jsonl of 'about 3'"),
        (
            {"docs_b": ["d1", "d3"]},
            r"the documents \['d1, d2', 'd1, d3'\], and in people.jsonl of .*'d5, d6'\]",
        ),
    ],
)
def test_other_lists_queries_or_documents_under_one_id_are_refused(here, changes, problem):
    people = written("people.jsonl", *PEOPLE, **DOCS)
    machine = written(
        "machine.jsonl", {**DOCS, **PEOPLE[1], "id": "new"}, {**DOCS, **PEOPLE[0], **changes}
    )
    message = (
        f"machine.jsonl, line 2: the judgement with id 'q3' is of {problem}"
        ".*: correct one of the two"
    )
    refused(message, refuse_other_lists, people, machine, LogMapping())


def test_ids_are_compared_as_text_in_every_form(here):
    people = written(
        "people.jsonl", *({**line, "id": i, "query": "x"} for i, line in enumerate(PEOPLE))
    )
    Path("machine.csv").write_text("id,a,b,winner\n0,0 2,3 0,a\n1,4 1,0 2,b\n")
    message = (
        r"machine.csv, line 3: the judgement with id '1' is of the lists \[\[0, 2\], \[4, 1\]\]"
    )
    refused(message, refuse_other_lists, people, "machine.csv", LogMapping())


def test_the_commands_refuse_and_convert_leaves_ids_out(here, misuse, dcglearn):
    written("people.jsonl", *PEOPLE)
    written("machine.jsonl", *PEOPLE, query="another")
    for words in (("learn", "people.jsonl"), ("ask", "--log", "people.jsonl")):
        misuse(
            "leave them out (dcglearn convert machine.jsonl --columns id= -o FILE does)",
            *words,
            "--llm",
            "machine.jsonl",
        )
    assert dcglearn("convert", "machine.jsonl", "--columns", "id=", "-o", "plain.jsonl")[0] == 0
    assert dcglearn("learn", "people.jsonl", "--llm", "plain.jsonl", "--dry-run")[0] == 0
