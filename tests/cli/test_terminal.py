"""Names from files reach the terminal escaped, numbers out of range are refused in words, nouns
agree.
"""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation.plain_text import escaped, number_of, one_line
from dcglearn.reading.read import REASONS
from tests.makers import COMMAND

ROOT = Path(__file__).parents[2]

EVIL = "good\x1b]0;owned\x07\x9b31m\u202e\x00."


def is_plain(text):
    return escaped(text) == text


def test_names_of_runs_queries_and_files_are_escaped(dcglearn, inputs):
    (inputs / "evil.txt").write_text(f"1 Q0 D1 1 2 {EVIL}\n1 Q0 D2 2 1 {EVIL}\n", newline="")
    status, out, err = dcglearn("evaluate", "qrels.txt", "a.txt", "evil.txt", "--by-query")
    assert (status, is_plain(out), is_plain(err)) == (0, True, True)
    assert r"good\x1b]0;owned\x07\x9b31m\u202e\x00." in out
    for words in (
        ["show", "no\x1b[2Jfile.json"],
        ["evaluate", "qrels.txt", "no\x1b[2Jfile"],
        ["show", "--\x1b[2J"],
    ):
        status, out, err = dcglearn(*words)
        assert (status, is_plain(out), is_plain(err)) == (2, True, True), words
        assert r"\x1b[2J" in err


@pytest.mark.filterwarnings("ignore:Glyph")
def test_grade_names_and_notes_of_a_metric_are_escaped(dcglearn, inputs):
    metric = {"format": "dcglearn.dcg", "version": 1, "gains": [0, 1], "discounts": [1, 0.5]}
    names = {"grade_names": ["bad\nforged  1.0000", EVIL], "notes": [EVIL]}
    (inputs / "dcg.json").write_text(json.dumps({**metric, **names}))
    status, out, err = dcglearn("show", "dcg.json", "--plot", "dcg.svg")
    assert status == 0, err
    assert is_plain(out) and "\nforged" not in out and is_plain((inputs / "dcg.svg").read_text())


def test_results_that_are_printed_in_python_escape_names(tmp_path):
    pairs = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 60, random_state=0)
    names = np.array([f"{EVIL}\nforged", "ann"] * 30)
    rated, parted = (
        dl.Preferences(pairs.preferred, pairs.other, **{role: names})
        for role in ("rater", "segment")
    )
    one, other = dl.DCG.standard(3, 4), dl.DCG.standard(3, 4, gain="linear", discount="flat")
    lines = [{"a": [1, 0], "b": [0, 1], "winner": side} for side in ("a", EVIL)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = dl.read_preferences(tmp_path / "log.jsonl", winner_words={EVIL: "b"})
    judged = {f"q{i}": {"a": 1, "b": 0} for i in range(9)}
    runs = {EVIL: {"q1": {"a": 1.0, "b": 2.0}}, "plain": {q: {"a": 2.0, "b": 1.0} for q in judged}}
    for result in (
        dl.rater_agreement(rated, errors=False),
        dl.trust.segment_test(parted),
        read.recognised,
        dl.evaluate(judged, runs),
        dl.system_order(judged, runs, {EVIL: one, "other": other}),
        dl.coherence.disagreement_matrix({EVIL: one, "other": other}),
        dl.disagreement(one, other, names=(EVIL, "other")),
        dl.coherence(one, other, names=(EVIL, "other")),
    ):
        text = str(result)
        assert (
            r"\x1b]0;owned\x07\x9b31m\u202e\x00" in text
            and is_plain(text)
            and "\nforged" not in text
        ), text


@pytest.mark.parametrize(("command", "expected"), [("evaluate", 0), ("gate", 3)])
def test_a_terminal_sees_what_a_pipe_does(dcglearn, inputs, monkeypatch, command, expected):
    words = command, "qrels.txt", "a.txt", "evil.txt"
    (inputs / "evil.txt").write_text(f"1 Q0 D1 1 2 {EVIL}\n1 Q0 D2 2 1 {EVIL}\n", newline="")
    status, piped, _ = dcglearn(*words)
    assert status == expected and is_plain(piped)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert dcglearn(*words)[:2] == (expected, piped)


def test_an_encoding_that_lacks_letters_escapes_them(inputs):
    run = (inputs / "a.txt").read_text().replace(" a\n", " größer№\n")
    (inputs / "größer.txt").write_text(run, encoding="utf-8")
    words = shlex.join([*COMMAND, "evaluate", "qrels.txt", "größer.txt", "-q"])
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(words, shell=True, env=environment, capture_output=True, check=False)
    assert done.returncode == 0 and b"gr\xf6\xdfer\\u2116" in done.stdout, done.stderr
    assert one_line("a\tb\nc\r") == r"a\tb\nc\r"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            "evaluate qrels.txt a.txt --unjudged nan",
            "unjudged=nan: give one of worst, best, drop, or a finite gain",
        ),
        (
            "evaluate qrels.txt a.txt --unjudged inf",
            "unjudged=inf: give one of worst, best, drop, or a finite gain",
        ),
        ("compare qrels.txt a.txt b.txt --level inf", "level=inf must be a finite number"),
        ("compare qrels.txt a.txt b.txt --level nan", "level=nan must be a finite number"),
        ("export exponential-log2@5 --to lightgbm --grades 0", "--grades"),
        ("coherence linear-log2 exponential-log2 --grades 0", "--grades"),
        ("coherence linear-log2 exponential-log2 --depth 0", "--depth"),
        ("convert log.jsonl --depth 1000000000", "--depth 1000000000: give 1 to 9999999"),
        ("learn log.jsonl --method qp --C 1e300", "too large together"),
        ("learn log.jsonl --bands 5 --seed -1", "--seed"),
        ("ask log.jsonl --seed -1", "--seed"),
        ("train train.svm -o m.json --seed -1", "--seed"),
    ],
)
def test_numbers_without_meaning_are_refused_in_words(misuse, inputs, arguments, words):
    misuse(words, *arguments.split())


def test_features_that_overflow_or_do_not_fit_are_refused(misuse, inputs):
    for feature, words in (
        ("2:1e308", "line 2: features[1, 1] = 1e+308"),
        ("900000000:1", "GB of memory"),
    ):
        (inputs / "bad.svm").write_text(
            f"1 qid:1 1:0.5\n0 qid:1 {feature}\n" + "0 qid:1 1:1\n" * 500
        )
        misuse(words, "train", "bad.svm", "-o", "m.json")


def test_memory_error_ends_with_a_remedy(misuse, inputs, monkeypatch):
    def no_memory(*_, **__):
        raise np._core._exceptions._ArrayMemoryError((1 << 40,), np.dtype(float))

    monkeypatch.setattr("dcglearn.cli.evaluate.read_both", no_memory)
    assert "give less data" in misuse(
        "not enough memory (Unable to allocate 8.00 TiB", "evaluate", "qrels.txt", "a.txt"
    )


@pytest.mark.posix
def test_an_interrupt_while_modules_are_imported_ends_quietly(inputs, tmp_path_factory):
    modules = tmp_path_factory.mktemp("modules")
    stop = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    for name in ("typer", "polars", "numpy"):
        (modules / f"{name}.py").write_text(stop)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(modules), str(ROOT)])}
        words = [sys.executable, "-m", "dcglearn", "learn", "log.jsonl"]
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", ""), name
        (modules / f"{name}.py").unlink()


@pytest.mark.posix
@pytest.mark.parametrize(
    ("words", "closed", "status", "said"),
    [
        (
            "learn -",
            "<&-",
            2,
            "dcglearn: standard input is closed; name a file, or redirect one to standard input\n",
        ),
        (
            "evaluate - a.txt",
            "<&-",
            2,
            "dcglearn: standard input is closed; name a file, or redirect",
        ),
        ("show no.json", "2>&-", 2, ""),
        ("show linear-log2@3", ">&-", 1, "dcglearn: standard output is closed; redirect it"),
    ],
)
def test_a_closed_stream_ends_in_a_sentence(inputs, words, closed, status, said):
    command = f"{shlex.join(COMMAND)} {words} {closed}"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (
        done.returncode == status and done.stderr.startswith(said) and done.stderr.count("\n") <= 1
    )


LONG = "x" * 300


@pytest.mark.posix
@pytest.mark.parametrize(
    "words",
    [
        "learn log.jsonl -o {}",
        "learn log.jsonl -o {} --force",
        "learn log.jsonl -o {}/dcg.json",
        "learn log.jsonl --plot {}.png",
        "convert log.jsonl -o {}",
        "audit log.jsonl -o {}",
        "export exponential-log2@3 --to lightgbm -o {}",
        "train train.svm -o {}",
        "learn {}",
        "evaluate {} a.txt",
        "evaluate qrels.txt {}",
        "show {}",
        "ask {}",
        "rank {} train.svm",
    ],
)
def test_circles_of_links_and_names_that_are_too_long_are_refused(dcglearn, inputs, words):
    (inputs / "here").symlink_to("there")
    (inputs / "there").symlink_to("here")
    (inputs / "here.png").symlink_to("here")
    before = sorted(inputs.iterdir())
    for name in ("here", LONG):
        status, _, err = dcglearn(*words.format(name).split())
        assert status == 2 and name[:40] in err and "Traceback" not in err, err
    assert sorted(inputs.iterdir()) == before and (inputs / "here").is_symlink()


@pytest.mark.parametrize(
    ("n", "things", "text"),
    [
        (1, "ties", "1 tie"),
        (2, "ties", "2 ties"),
        (0, "queries", "0 queries"),
        (1, "queries of one run only", "1 query of one run only"),
        (1, "pairs of equal lists", "1 pair of equal lists"),
        (1, "bad lines", "1 bad line"),
    ],
)
def test_a_noun_agrees_with_its_number(n, things, text):
    assert number_of(n, things) == text
    assert number_of(12345, "lists", ",") == "12,345 lists"


def test_reasons_to_leave_lines_out_agree():
    assert [number_of(1, reason) for reason in REASONS] == [
        "1 open question",
        "1 verdict already read under the same id",
        "1 superseded verdict",
        "1 line withdrawing a verdict",
    ]
