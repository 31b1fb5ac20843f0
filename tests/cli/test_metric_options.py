"""Metrics on the command line: depth of a name, scale of a file beside that of the data."""

import sys
import warnings

import pytest

from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.saved_metric import ScaleWarning


@pytest.fixture
def files(here):
    """Judgements 0-2 of three documents, two runs, queries for rankers, and a DCG of five
    grades."""
    (here / "qrels.txt").write_text("q 0 a 2\nq 0 b 1\nq 0 c 0\n")
    for name, order in (("mine", "bac"), ("yours", "cab")):
        lines = [f"q Q0 {document} 0 {3 - i} {name}" for i, document in enumerate(order)]
        (here / f"{name}.txt").write_text("\n".join(lines))
    rows = [
        f"{(i + j) % 3} qid:{i} 1:{(i + j) % 3 + 0.1 * j} 2:{i * j % 4}"
        for i in range(6)
        for j in range(4)
    ]
    (here / "train.svm").write_text("\n".join(rows))
    DCG([0, 1, 3, 7, 15], [1, 0.5]).save(here / "five.json")
    DCG([0, 3, 15], [1, 0.5]).save(here / "three.json")
    return here


COMMANDS = [
    ("evaluate", "qrels.txt", "mine.txt", "--metric", "five.json"),
    ("compare", "qrels.txt", "mine.txt", "yours.txt", "--metric", "five.json"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_another_scale_is_one_warning_with_both_named(dcglearn, files, command):
    if command[0] == "compare":
        (files / "qrels.txt").write_text("q 0 a 2\nq 0 b 1\nr 0 a 1\n")
        for run in ("mine", "yours"):
            (files / f"{run}.txt").write_text(f"q Q0 a 0 1 {run}\nr Q0 a 0 1 {run}\n")
    with pytest.warns(ScaleWarning) as warned:
        status, out, _ = dcglearn(*command)
    mismatch = "five.json has gains for 5 grades (0..4), but qrels.txt has 3 grades (0..2); give"
    (message,) = {str(one.message) for one in warned if one.category is ScaleWarning}
    assert status == 0 and out and message.startswith(mismatch) and "DCG.map_grades" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        assert dcglearn(*command, "--grades", 5)[0] == 0


def test_a_top_grade_that_does_not_occur_is_named_by_grades(dcglearn, files):
    command = (
        "train",
        "train.svm",
        "--metric",
        "five.json",
        "--grades",
        5,
        "-o",
        "model.json",
        "--objective",
        "ridge",
    )
    status, out, err = dcglearn(*command)
    assert status == 0 and "note" not in out + err
    status, _, err = dcglearn("rank", "model.json", "train.svm")
    assert status == 0 and "warning" not in err


def test_the_depth_used_is_printed(dcglearn, files):
    runs = ("qrels.txt", "mine.txt", "yours.txt", "--metric", "exponential-log2")
    heads = [line.split() for line in dcglearn("evaluate", *runs)[1].splitlines()]
    assert ["run", "exponential-log2@3"] in heads
    for both in (("five.json", "exponential-log2"), ("exponential-log2", "nDCG@2")):
        out, err = dcglearn("coherence", *both)[1:]
        assert "exponential-log2@2" in out and err == ""
    assert "exponential-log2@2\n" in dcglearn("show", "five.json", "exponential-log2")[1]
    train = ("train", "train.svm", "--objective", "ridge", "-o", "model.json", "--metric")
    for name in ("linear-log2", "nDCG@4"):
        out = dcglearn(*train, name, "--force")[1]
        assert f"trained for {name}, " in out and "discounts=[1, 0.63093, 0.5, 0.43068])" in out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("show", "exponential-log2"), "write exponential-log2@10"),
        (("show", "nDCG"), "write nDCG@10"),
        (("export", "linear-log2", "--to", "lightgbm"), "write linear-log2@10"),
        (("coherence", "linear-log2", "nDCG"), "write linear-log2@10"),
        (("learn", "log.jsonl", "--metric", "MAP"), "; AP is a measure of ir_measures"),
        (("learn", "log.jsonl", "--metric", "ndcg_cut_10"), "; here it is nDCG@10"),
        (("evaluate", "qrels.txt", "mine.txt", "--metric", "nothing"), "'nothing'"),
    ],
)
def test_names_that_say_too_little_are_refused_before_any_output(
    misuse, files, monkeypatch, command, words
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert misuse(words, *command).count("\n") == 1
