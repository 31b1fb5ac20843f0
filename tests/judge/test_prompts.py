"""Prompts for a language model, its answers as providers return them, and the commands that write
and read them.
"""

import json
import re
from dataclasses import asdict

import pytest

import dcglearn as dl
from dcglearn.judge.candidates import read_candidates
from dcglearn.judge.prompts import verdict_of
from dcglearn.reading.winners import WORDS
from tests.judge.makers import TRUTH, candidates, lines
from tests.makers import refused, write_lines
from tests.tables import table


@pytest.fixture
def asked(dcglearn, tmp_path):
    """Candidates, and a function that writes their prompts and returns these."""
    pairs = [
        {
            **asdict(pair),
            "intent": "$first in braces",
            "items_a": pair.items_a,
            "items_b": pair.items_b,
        }
        for pair in candidates(12).pairs
    ]
    write_lines(tmp_path / "candidates.jsonl", pairs)

    def prompts(*options, model="m"):
        words = ("ask", tmp_path / "candidates.jsonl", "-o", tmp_path / "p.jsonl")
        status, out, err = dcglearn(*words, "--model", model, *options)
        assert (status, out) == (0, ""), err
        return lines(tmp_path / "p.jsonl")

    return prompts


def text_in(request):
    """Return the id and the prompt in a request of any form."""
    body = request.get("body") or request.get("params") or request.get("request") or request
    text = (
        body["contents"][0]["parts"][0]["text"]
        if "contents" in body
        else body["messages"][0]["content"]
    )
    return request.get("custom_id") or request["key"], text


PROVIDERS = {
    "openai": lambda key, text: {
        "id": "batch_req_1",
        "custom_id": key,
        "response": {
            "status_code": 200,
            "body": {"model": "m", "choices": [{"message": {"content": text}}]},
        },
        "error": None,
    },
    "anthropic": lambda key, text: {
        "custom_id": key,
        "result": {
            "type": "succeeded",
            "message": {
                "model": "m",
                "content": [{"type": "thinking", "thinking": "B"}, {"type": "text", "text": text}],
            },
        },
    },
    "gemini": lambda key, text: {
        "key": key,
        "response": {
            "modelVersion": "m",
            "candidates": [
                {"content": {"parts": [{"text": "B", "thought": True}, {"text": text}]}}
            ],
        },
    },
    "messages": lambda key, text: {"custom_id": key, "answer": text, "model": "m"},
}


def worth(lines_of_list):
    """Return the true DCG of a list as it stands in a prompt, where the snippets tell the
    grades."""
    grades = [int(grade) for grade in re.findall(r"Words of grade (\d)", lines_of_list)]
    return TRUTH.score([grades])[0]


def honest(text):
    first, second = text.split("List B:")
    return "A" if worth(first) > worth(second) else "B"


@pytest.mark.parametrize("shape", PROVIDERS)
def test_both_orders_are_asked_and_read_back_as_verdicts_on_lists(dcglearn, asked, tmp_path, shape):
    requests = asked(model=f"{shape}/m")
    assert len(requests) == 24 and len({text_in(request)[0] for request in requests}) == 24
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text_in(request)[0]) for request in requests)
    assert shape == "gemini" or all('"model": "m"' in json.dumps(request) for request in requests)
    key, text = text_in(requests[1])
    assert (
        key.endswith("-ba")
        and "Someone searched for: query 0\n$first in braces" in text
        and "grade" in text
    )
    answers = [
        PROVIDERS[shape](key, json.dumps({"winner": honest(text)}))
        for key, text in map(text_in, requests)
    ]
    write_lines(tmp_path / "answers.jsonl", answers[::-1])
    status, out, err = dcglearn(
        "convert", tmp_path / "answers.jsonl", "--prompts", tmp_path / "p.jsonl"
    )
    assert status == 0
    assert err.startswith(
        "answers: 24 verdicts to 24 prompts; 12 pairs in both orders, of which 0 changed the winner"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["rater"] for row in rows} == {"m"} and sum(row["swapped"] for row in rows) == 12
    log = dl.read_preferences(write_lines(tmp_path / "log.jsonl", rows))
    assert (TRUTH.score(log.preferred) > TRUTH.score(log.other)).all()


def test_what_cannot_be_read_is_counted_and_listed_and_a_one_sided_judge_is_named(
    dcglearn, asked, tmp_path
):
    keys = [text_in(request)[0] for request in asked()]
    unclear = ['{"winner": "A"} or {"winner": "B"}', "A good list, but B is better", None]
    answers = [{"custom_id": key, "answer": "A"} for key in keys[:-3]]
    answers += [
        {"custom_id": key, "answer": text} for key, text in zip(keys[-3:], unclear, strict=True)
    ]
    path, prompts = write_lines(tmp_path / "answers.jsonl", answers), tmp_path / "p.jsonl"
    status, out, err = dcglearn("convert", path, "--prompts", prompts)
    assert status == 0
    in_both_orders = "10 pairs in both orders, of which 10 changed the winner"
    assert f"answers: 21 verdicts to 24 prompts; {in_both_orders}" in err
    assert (
        f"left out: 3 answers that cannot be read\n  {path}, row 22: " in err
        and "row 24: no text\n" in err
    )
    assert len(out.splitlines()) == 21
    kept = dl.trust.reconciled(dl.read_preferences([*map(json.loads, out.splitlines())]), "tie")
    assert kept.tie.sum() == 20
    table = tmp_path / "answers.csv"
    table.write_text(f"custom_id,answer\n{keys[0]},la premiere\n{keys[1]},le même\n")
    words = ("--winner-words", "la premiere=left,le même=tie")
    status, out, err = dcglearn("convert", table, "--prompts", prompts, *words)
    assert [json.loads(line)["winner"] for line in out.splitlines()] == ["a", "tie"]
    assert json.loads(out.splitlines()[0])["rater"] == "two-lists"


@table(
    ("text", "verdict"),
    [
        *(
            (text, "a")
            for text in (
                "A",
                "**A**",
                "[[A]]",
                "List A",
                "Answer: A.",
                "A: since its first is better",
            )
        ),
        *(
            (text, "b")
            for text in (
                '```json\n{"winner": "B"}\n```',
                'So {"Verdict": "list b", "sure": 1} it is',
                "B.\n",
            )
        ),
        *(
            (text, "tie")
            for text in ("Tie", '{"answer": "TIE"}', "tie: both are good", "{not json} Tie"[11:])
        ),
        *(
            (text, None)
            for text in (
                "",
                "Neither",
                "A or B",
                "A is worse",
                "A-level results are in B",
                "a (or b)",
            )
        ),
        *((text, None) for text in ('{"winner": "C"}', '{"winner": null} A', "B, A", "Bad lists.")),
        *(
            (text, None)
            for text in (
                '{"winner": "A"} {"winner": "tie"}',
                "{" * 3000,
                "{" + "[" * 9000 + "}",
                "First: list A",
                '{"winner": {"name": "A"}}',
            )
        ),
    ],
)
def test_a_verdict_is_read_only_where_it_is_clear(text, verdict):
    code = verdict_of(text, {word: WORDS[word] for word in ("a", "b", "tie")})
    assert code == (None if verdict is None else WORDS[verdict])


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        # the outermost object's own keys, wherever they stand
        ('{"by_topic": {"price": {"winner": "A"}}, "winner": "B"}', "b"),
        ('{"answer": "B", "votes": [{"answer": "A"}, {"answer": "A"}]}', "b"),
        ('{"by_topic": {"price": {"winner": "A"}}}', None),
        ('[{"winner": "A"}]', "a"),
        ('{"winner": "A", "points": {"A": 3, "B": 2}, "why": "it lacks {size}"}', "a"),
        ('Of {size, price}: {"winner": "B"}', "b"),
        ('{"winner": "A", "winner": "B"}', None),
        # thoughts
        ("<think>A is fine.\nB?</think>\n\nB", "b"),
        ('<thinking>{"winner": "A"}</thinking> {"winner": "tie"}', "tie"),
        ("A at first, but no.</think>B", "b"),
        ("<think>one</think><think>A</think>\nB", "b"),
        ("<think>A is better, since", None),
        ('{"winner": "A"}<think>or is it', "a"),
        # cut off after the verdict, before it, and inside of it
        ('{"winner": "A", "why": "it has the exact product at', "a"),
        ('{"why": "first, \\"red\\"", "winner": "B", "sure": 0.', "b"),
        ('{"winner": "A"', "a"),
        ('{"winner": "A', None),
        ('{"why": "the first one", "winner', None),
        ('{"by_topic": {"price": {"winner": "A"}, "size": {"winner": "A"}', None),
        ('{"why": "B" or so, "by_topic": {"winner": "A"}, "winner": "B"}', None),
        ('{"winner": "A" or "B"}', None),
        ('{"why": 3 {"winner": "A"}}', None),
    ],
)
def test_of_json_the_outermost_object_counts_and_of_thoughts_none(text, verdict):
    meanings = {word: word for word in ("a", "b", "tie")}
    assert verdict_of(text, meanings) == verdict


TOO_LONG = {"message": "too many tokens", "type": "invalid", "code": None}
BUSY = {"type": "errored", "error": {"error": {"type": "busy", "message": "try again"}}}


@pytest.mark.parametrize(
    ("provider", "failed", "cause"),
    [
        (
            "openai",
            {"response": {"status_code": 400, "body": {"error": TOO_LONG}}, "error": None},
            "invalid: too many tokens",
        ),
        (
            "openai",
            {"response": None, "error": {"code": "late", "message": "not in 24 hours"}},
            "late: not in 24 hours",
        ),
        ("anthropic", {"result": BUSY}, "busy: try again"),
        ("anthropic", {"result": {"type": "expired"}}, "expired"),
        ("messages", {"error": "no such model"}, "no such model"),
        ("messages", {"answer": [], "error": [{"message": "wait", "code": 429}]}, "429: wait"),
    ],
)
def test_the_causes_of_failed_requests_are_said_and_counted(
    dcglearn, asked, tmp_path, provider, failed, cause
):
    keys = [text_in(request)[0] for request in asked()]
    answers = [PROVIDERS[provider](key, "A") for key in keys[:3]]
    answers += [{"custom_id": key, **failed} for key in keys[3:5]]
    path, prompts = write_lines(tmp_path / "answers.jsonl", answers), tmp_path / "p.jsonl"
    status, out, err = dcglearn("convert", path, "--prompts", prompts)
    assert status == 0 and len(out.splitlines()) == 3
    assert f"left out: 2 requests that failed, first {cause} ({path}, row 4)\n" in err

    path = write_lines(tmp_path / "none.jsonl", answers[3:])
    status, out, err = dcglearn("convert", path, "--prompts", prompts)
    assert (status, out) == (2, "")
    assert f"no answer can be read; {cause} ({path}, row 1)" in err


def test_documents_are_looked_up_for_candidates_that_name_them(tmp_path):
    documents = write_lines(
        tmp_path / "docs.jsonl", [{"docno": "d1", "title": "One", "text": "First"}, {"docno": "d2"}]
    )
    line = {"query": "q", "a": [2, 0], "b": [1, -1], "docs_a": ["d1", "d3"], "docs_b": ["d2", ""]}
    found = read_candidates(write_lines(tmp_path / "c.jsonl", [line]), documents=documents)
    (pair,) = found.pairs
    assert pair.items_a == ({"title": "One", "snippet": "First"}, {"title": "d3"})
    assert pair.items_b == ({"title": "d2"}, {}) and found.dropped == {
        "documents without a text": 1
    }
    short = write_lines(tmp_path / "short.jsonl", [{**line, "docs_b": ["d2"]}])
    refused("row 1: docs_b has 1 item for 2 grades", read_candidates, short, documents=documents)
    bare = write_lines(tmp_path / "bare.jsonl", [{"a": [1], "b": [0]}])
    refused("name no documents: give docs_a and docs_b", read_candidates, bare, documents=documents)


def test_answers_without_prompts_and_prompts_without_texts_are_refused_in_words(
    dcglearn, asked, tmp_path
):
    def words(*arguments):
        status, out, err = dcglearn(*arguments)
        assert (status, out) == (2, "") and err.count("\n") == 1
        return err

    first = text_in(asked()[0])[0]
    answers = write_lines(tmp_path / "answers.jsonl", [{"custom_id": first, "answer": "?"}])
    prompts = tmp_path / "p.jsonl"
    assert "read it with dcglearn convert --prompts FILE" in words("convert", answers)
    assert "no answer can be read" in words("convert", answers, "--prompts", prompts)
    assert "x.pairs.jsonl does not exist" in words(
        "convert", answers, "--prompts", tmp_path / "x.jsonl"
    )
    unanswered = write_lines(tmp_path / "unanswered.jsonl", [{"custom_id": first}])
    err = words("convert", unanswered, "--prompts", prompts)
    assert "no 'answer'" in err and "read with the prompts" not in err and "so: " not in err
    assert "--prompts goes with --winner-words, --as-is and -o alone" in words(
        "convert", answers, "--prompts", prompts, "--ratings"
    )
    other = write_lines(tmp_path / "other.jsonl", [{"custom_id": "two-lists-0-ab", "answer": "A"}])
    assert "row 1: this answers 'two-lists-0-ab', which is no prompt" in words(
        "convert", other, "--prompts", prompts
    )
    bare = write_lines(tmp_path / "bare.jsonl", [{"a": [1], "b": [0]}])
    out, model = tmp_path / "out.jsonl", ("--model", "m")
    assert "no texts that a model could read in 1 of 1 pair: give" in words(
        "ask", bare, "-o", out, *model
    )
    here = tmp_path / "candidates.jsonl"
    assert "p.jsonl exists" in words("ask", here, "-o", prompts, *model)
    assert not out.exists()


def test_the_pairs_that_tell_most_may_be_asked_alone(asked):
    everything = [text_in(request)[0] for request in asked()]
    few = [text_in(request)[0] for request in asked("-n", 3, "--force")]
    assert len(few) == 6 and {*few} < {*everything}
