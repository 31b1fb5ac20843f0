"""Every command speaks with one voice: its help page, -h and -o, warnings in a line."""

import re
import warnings

import pytest
import typer

from dcglearn.cli.commands import COMMANDS, app
from dcglearn.cli.options import OUTPUTS
from dcglearn.metrics.dcg import DCG

NAMES = [command.__name__ for commands in COMMANDS.values() for command in commands]
OPTIONS = {
    "learn": "output metric llm method C bands ratings columns grades as-is plot seed force",
    "convert": "output columns winner-words scale sides middle depth qrels run-a run-b prompts "
    "ratings as-is force",
    "ask": "output log llm n pages redundancy checks qrels documents model seed force",
    "show": "output plot grades force",
    "audit": "output metric labels qrels run llm anonymous ratings columns grades as-is seed force",
    "evaluate": "metric raw ties unjudged by-query against columns scale grades output force",
    "compare": "metric baseline raw ties unjudged level llm-qrels columns grades plot output force",
    "gate": "metric rule min-difference at-least raw ties unjudged level llm-qrels columns junit "
    "grades output force",
    "coherence": "documents depth time-limit grades plot output force",
    "export": "to lossy grades output force",
    "train": "output metric valid model objective p grades seed force",
    "rank": "metric grades output force",
}
"""The options of each command, and no others."""


@pytest.fixture
def helped(dcglearn, monkeypatch):
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    return lambda *words: dcglearn(*words)[1]


def test_the_help_of_bands_says_what_they_are_and_cost(helped):
    words = " ".join(helped("learn", "-h").replace("│", " ").split())
    for said in ("how sure each gain and discount is", "a little longer", "0 leaves bands out"):
        assert said in words


def test_the_program_names_every_command(helped):
    page = helped("-h")
    assert page == helped("--help") and [*OPTIONS] == NAMES
    assert [name for name in NAMES if not re.search(rf"^. {name} ", page, flags=re.MULTILINE)] == []
    assert "--install-completion" in page


def test_help_has_the_options_and_an_example_a_line(helped):
    for name in NAMES:
        page = helped(name, "-h")
        listed = re.findall(r"^. \*? *--([\w-]+|C) ", page, flags=re.MULTILINE)
        listed += re.findall(r"^. \*? *-([np]) ", page, flags=re.MULTILINE)
        assert {*listed} - {"help"} == {*OPTIONS[name].split()}, name
        assert len(listed) <= 15
        assert re.search(rf"^ (zcat \S+ \| )?dcglearn {name}\b", page, flags=re.MULTILINE), name
        assert "\x1b" not in page


def test_files_that_a_command_writes_are_those_that_are_checked_before_it_runs():
    group = typer.main.get_command(app)
    written = {
        one.name
        for name in NAMES
        for one in group.commands[name].params
        if re.search("(?i)^(write|draw) |page.html|a trec run", getattr(one, "help", None) or "")
    }
    assert written == {*OUTPUTS, "model"}


@pytest.mark.parametrize(
    ("words", "completed"),
    [("dcglearn le", ["learn"]), ("dcglearn gate --rule ", ["harm", "non-inferior"])],
)
def test_a_shell_completes_commands_and_options(dcglearn, monkeypatch, words, completed):
    monkeypatch.setenv("_DCGLEARN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert dcglearn()[1].split() == completed


def test_results_are_written_in_the_form_of_the_suffix(dcglearn, inputs):
    runs = ("qrels.txt", "a.txt", "b.txt")
    for command in (("evaluate", *runs), ("compare", *runs), ("coherence", "linear-log2@2", "D@2")):
        words = [word.replace("D@2", "exponential-log2@2") for word in command]
        for suffix in (".txt", ".json", ".html", ".md", ".csv"):
            name = f"{command[0]}{suffix}"
            assert dcglearn(*words, "-o", name) == (0, "", f"wrote: {name}\n")
            assert (inputs / name).stat().st_size > 30


def test_a_warning_is_one_line_without_a_path(dcglearn, inputs, monkeypatch):
    def warned(*_, **__):
        shown.append(warnings.formatwarning(UserWarning("two\nlines"), UserWarning, "code.py", 1))
        return [DCG.standard(5, 5)], ["linear-log2@5"]

    shown = []
    monkeypatch.setattr("dcglearn.cli.evaluate.resolved", warned)
    assert dcglearn("show", "linear-log2@5")[0] == 0
    assert shown == ["warning: two\\nlines\n"]


WRONG = {
    "learn log.jsonl --bands many": "Invalid value for '--bands': ",
    "ask c.jsonl -n 0": "Invalid value for '-n': ",
    "ask log.jsonl -o page.html --checks 0.9": "Invalid value for '--checks': ",
    "lern log.jsonl": "No such command 'lern'. Did you mean 'learn'",
    "learn log.jsonl --method robus": "Invalid value for '--method': 'robus' is not one of 'dcg'",
    "learn log.csv --seed 1 --seed 2": "Invalid value: --seed is given twice, and takes one value",
    "train a.svm -o m.json --objective approx": "--objective='approx': give one of approx-ndcg, ",
    "train a.svm -o m.json -p n_trees": "-p n_trees: give NAME=VALUE",
}


def test_a_wrong_word_is_answered_in_a_line(misuse):
    for words, message in WRONG.items():
        err = misuse(f"dcglearn: {message}", *words.split())
        assert err.count("\n") == 1 and "Value error" not in err, err

    # in the words of whichever typer there is
    near = misuse("dcglearn: No such option", "convert", "log.jsonl", "--colums", "a=b")
    assert re.search(r"--colums'?[. ].*--columns", near) and near.count("\n") == 1
    far = misuse("dcglearn: No such option", "learn", "log.jsonl", "--somehow")
    assert "--somehow" in far and far.count("\n") == 1
