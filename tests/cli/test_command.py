"""Every command speaks with one voice: its help page, -h and -o, warnings in a line."""

import re
import sys
import warnings
from pathlib import Path

import pytest
from dcglearn.cli.command import PANELS

from dcglearn.cli.commands import app

FUNCTIONS = [command.callback.__name__ for command in app.registered_commands]
COMMANDS = sorted(name.replace("_", "-") for name in FUNCTIONS)


@pytest.fixture
def helped(dcglearn, monkeypatch):
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    return lambda *words: dcglearn(*words)[1]


def test_the_program_names_every_command(helped):
    page = helped("-h")
    assert page == helped("--help")
    assert [
        name for name in COMMANDS if not re.search(rf"^  {name} ", page, flags=re.MULTILINE)
    ] == []
    assert "--install-completion" in page and "..." not in page.partition("Learn a DCG")[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_panels_and_an_example_a_line(helped, command):
    page = helped(command, "-h")
    assert page == helped(command, "--help")
    titles = [line[:-1] for line in page.splitlines() if re.fullmatch(r"[A-Z][a-z ]+:", line)]
    assert titles == [title for title in [*PANELS, "Examples"] if title in titles]
    examples = page.partition("Examples:\n")[2].splitlines()
    assert examples and all(
        re.match(rf"  (zcat \S+ \| )?dcglearn {command}\b", line) for line in examples
    )
    assert ("-o, --output" in page) == ("--output" in page)
    assert "-o, --format" not in page
    assert re.findall("<[a-z]|x[<>]=", page) == []
    assert command == "convert" or len(re.findall("^  -", page, flags=re.MULTILINE)) <= 36


def test_a_terminal_sees_panels(helped, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    page = re.sub(r"\x1b\[[0-9;]*m", "", helped("learn", "-h"))
    assert "─ Most used ─" in page and "dcglearn learn side_by_side.jsonl" in page


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("dcglearn le", ["learn", "learn-answers"]),
        ("dcglearn gate --rule ", ["harm", "non-inferior"]),
    ],
)
def test_a_shell_completes_commands_and_options(dcglearn, monkeypatch, words, completed):
    monkeypatch.setenv("_DCGLEARN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert dcglearn()[1].split() == completed


def test_a_terminal_that_installs_completion_sees_no_escapes(dcglearn, monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    status, out, _ = dcglearn("--install-completion")
    assert status == 0 and "completion installed" in out and "x1b" not in out
    assert "dcglearn" in (tmp_path / ".bash_completions" / "dcglearn.sh").read_text()


@pytest.mark.parametrize(("command", "word"), [("evaluate", "jsonl"), ("compare", "markdown")])
def test_o_is_the_output_file_whatever_its_name(dcglearn, inputs, command, word):
    words = (command, "qrels.txt", "a.txt", "b.txt", "--format", word)
    wanted = dcglearn(*words)[1]
    assert dcglearn(*words, "-o", word) == (0, "", f"wrote: {word}\n")
    assert (inputs / word).read_text() == wanted


def test_a_warning_is_one_line_without_a_path(dcglearn, inputs, monkeypatch):
    def warned(*_):
        shown.append(warnings.formatwarning(UserWarning("two\nlines"), UserWarning, "code.py", 1))
        return {}

    shown = []
    monkeypatch.setattr("dcglearn.cli.saved.load_metrics", warned)
    assert dcglearn("show", "linear-log2@5")[0] == 0
    assert shown == ["warning: two\\nlines\n"]


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("ask c.jsonl --model m --for foo", "'--for': 'foo' is not one of"),
        ("learn log.jsonl --holdout half", "'--holdout': 'half' is not a "),
        ("learn log.jsonl --bands many", "'--bands': 'many' is not a "),
        ("ask c.jsonl -n 0", "'-n': 0 is "),
        ("ask log.jsonl -o page.html --checks 0.9", "'--checks': 0.9 is "),
    ],
)
def test_a_value_of_another_kind_is_named_in_a_plain_sentence(misuse, words, refusal):
    err = misuse(f"Error: Invalid value for {refusal}", *words.split())
    assert "Value error" not in err and "Input should" not in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("learn log.jsonl --holdot 0.3", "No such option: --holdot; the nearest is --holdout\n"),
        ("convert log.jsonl --colums a=b", "No such option: --colums; the nearest is --columns\n"),
        ("learn log.jsonl --somehow", "No such option: --somehow\n"),
        ("learn log.csv --middle 4", "No such option: --middle; dcglearn convert has it\n"),
        ("learn log.csv --llm a --llm b", "--llm is given twice, and takes one value\n"),
        ("audit log.jsonl --metric nDCG@10", "No such option: --metric\n"),
        ("learn log.jsonl --loss robus", "'logistic'; the nearest is robust.\n"),
        ("train a.svm -o m.json --objective approxndcg", "'ridge'; the nearest is approx-ndcg.\n"),
        ("learn log.jsonl --loss something", "'logistic'.\n"),
    ],
)
def test_an_unknown_option_or_choice_is_answered_with_the_nearest(misuse, words, hint):
    assert misuse("Error: ", *words.split()).endswith(hint)


def test_help_says_values_in_words(helped):
    page = " ".join((helped("ask", "-h") + helped("learn", "-h")).split())
    for row in (
        "--pages N ",
        "0.05; 0 to 0.5]",
        "--ridge NUMBER ",
        "--plot FILE ",
        "--checks SHARE ",
    ):
        assert row in page
