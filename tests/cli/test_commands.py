"""The command line as a person uses it: in a process of its own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.metrics.dcg import DCG
from tests.makers import random_log, refused, simulated_log, write_lines, write_trec

EXAMPLE = Path(__file__).parents[2] / "examples" / "side_by_side.jsonl"

GOOD = (
    '{"a": [2, 1, 0], "b": [0, 1, 2], "winner": "a"}\n'
    '{"a": [0, 0, 1], "b": [2, 0, 0], "winner": "b"}\n'
)
DCGLEARN = f"{sys.executable} -c 'from dcglearn.cli.app import main; main()'"


def run(command, **options):
    """Run a line of a shell."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(command, shell=True, text=True, check=False, **pipes)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    simulated_log(300, n_flips=15, n_raters=5).save(path)
    return path


QUICK = ("--bands", 10)
BY_QP = ("--method", "qp")
"""Learns in no time."""


def test_learn_writes_a_metric_that_loads_and_says_six_sentences(dcglearn, log, tmp_path):
    dcg, picture = tmp_path / "dcg.json", tmp_path / "dcg.png"
    options = ("-o", dcg, "--plot", picture, "--metric", "linear-log2", *QUICK)
    status, out, err = dcglearn("learn", log, *options)
    assert (status, err) == (0, f"winners: a (300)\nwrote: {dcg}\nwrote: {picture}\n")
    assert DCG.load(dcg).depth == 10 and picture.read_bytes().startswith(b"\x89PNG")
    title, *lines = out.splitlines()
    assert title == "What 300 judgements say of gains and discounts"
    names = [line.partition(":")[0] for line in lines if line.startswith("  ")]
    assert names == ["  log", "  new judgements", "  learned", "  how sure", "  left open"]
    for fact in ("300 pairs, 5 raters", "linear-log2@10, the metric in use", "90% band"):
        assert fact in out
    # all that is known, with the tables
    full = dcglearn("-v", "learn", log, "-o", dcg, "--force", *QUICK)[1]
    assert "name the worse" in full and "band of all at once" in full


@pytest.mark.parametrize("suffix", [".html", ".MD", ".csv", ".pdf", ".metric", ".json.gz"])
def test_a_metric_is_not_written_by_the_name_of_a_report(misuse, log, here, suffix):
    output = here / f"dcg{suffix}"
    misuse(f"{output}: metrics are not written as", "learn", log, "-o", output)


def test_a_log_that_tells_nothing_leaves_no_metric(dcglearn, tmp_path):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 3, (100, 2, 3)).tolist()
    rows = [{"a": a, "b": b, "winner": rng.choice(["a", "b"])} for a, b in pairs]
    log, dcg = write_lines(tmp_path / "coins.jsonl", rows), tmp_path / "dcg.json"
    for method in ("dcg", "qp"):
        words = ("learn", log, "-o", dcg, "--method", method)
        with pytest.warns(UserWarning, match="better than a coin"):
            status, out, err = dcglearn(*words)
        assert (status, out, dcg.exists()) == (2, "", False)
        assert "No metric is written; --as-is writes it all the same" in err
        assert "  learned: no gain or discount; these are chance and what was" in err
        assert "  left open: every gain and discount" in err and "; a coin, 50%" in err
    with pytest.warns(UserWarning, match="better than a coin"):
        assert dcglearn(*words, "--as-is")[0] == 0 and dcg.exists()


def test_the_qp_proves_itself(dcglearn, log, tmp_path):
    picture, dcg = tmp_path / "dcg.png", tmp_path / "dcg.json"
    options = ("--method", "qp-hamming", "--C", "auto", "--plot", picture, "-o", dcg)
    status, out, _ = dcglearn("-v", "learn", log, *options)
    facts = ("duality gap", "cannot tell", "held-out pairs", "ot measured")
    assert status == 0 and [fact for fact in facts if fact not in out] == []
    assert picture.read_bytes().startswith(b"\x89PNG")
    gains = DCG.load(dcg).gains
    dcglearn("learn", log, "--method", "qp", "-o", dcg, "--force")
    assert (DCG.load(dcg).gains != gains).any()


def test_show_prints_tables_json_and_pictures(dcglearn, log, tmp_path):
    dcg, values = tmp_path / "dcg.json", tmp_path / "shown.json"
    DCG.standard(5, 10).save(dcg)
    status, out, _ = dcglearn("show", dcg, "exponential-log2@3", "--plot", tmp_path / "both.pdf")
    assert status == 0 and "15.0000" in out and "position" in out
    assert (tmp_path / "both.pdf").read_bytes().startswith(b"%PDF")
    assert dcglearn("show", "linear-sqrt@2", "--grades", 3, "-o", values)[1] == ""
    assert json.loads(values.read_text())[0]["gains"] == [0, 1, 2]


BAD = {
    "learn": "Missing argument",
    "learn nothing.jsonl": "nothing.jsonl",
    "learn LOG --method qp --C 0": "C=0.0 must be a finite number above 0",
    "learn LOG --method qp --C much": "Invalid value for '--C': could not convert",
    "learn LOG --C 1": "--C goes with --method qp",
    "learn LOG --method qp --llm LOG": "--llm goes with --method dcg",
    "learn LOG --method qp-log": "margins or strengths",
    "learn LOG --bands 1": "give 2 or more",
    "learn LOG --metric best": "neither a file nor GAIN-DISCOUNT",
    "learn LOG --grades 2": "the grade 2, outside 0..1",
    "learn LOG -o /nowhere/dcg.json": "does not exist",
    "learn LOG --plot dcg.gif": "give .png, .pdf, .svg",
    "ask": "Missing argument 'CANDIDATES'",
    "ask nothing.jsonl": "nothing.jsonl",
    "ask LOG --log LOG": "every pair is judged already",
    "ask LOG --model m": "--model goes with -o prompts.jsonl",
    "ask LOG -o page.html --model m": "--model goes with -o prompts.jsonl",
    "ask LOG --pages 2": "go with -o page.html",
    "ask LOG -o page.html --redundancy 2": "a page holds each pair once",
    "show nothing.json": "nothing.json does not exist; check the name",
    "show exponential": "neither a file nor GAIN-DISCOUNT",
    "show linear-log2@3 -o x.csv": "give .txt, .json",
    "evaluate LOG LOG -q -o x.gif": "give .txt, .json, .md, .html, .csv, .tsv, .jsonl",
}


def test_bad_calls_end_with_status_2_and_say_why(misuse, log, here):
    for words, message in BAD.items():
        err = misuse(message, *words.replace("LOG", str(log)).split())
        assert err.splitlines()[-1].startswith("dcglearn: ")


def test_a_metric_is_json_with_or_without_a_suffix(dcglearn, log, here):
    for name in ("dcg", "dcg.JSON"):
        assert dcglearn("learn", log, "-o", name, *BY_QP)[0] == 0
        assert DCG.load(name).depth == 10


def test_without_output_the_metric_goes_to_standard_output(dcglearn, log):
    status, out, err = dcglearn("learn", log, *QUICK)
    assert status == 0
    assert DCG.from_dict(json.loads(out)).n_grades == 5
    assert re.search("new judgements: of [0-9]+ held-out pairs, the learned DCG orders", err)


def test_existing_files_are_kept(dcglearn, misuse, log, tmp_path):
    (tmp_path / "dcg.json").write_text("mine")
    misuse("--force", "learn", log, "-o", tmp_path / "dcg.json")
    assert (tmp_path / "dcg.json").read_text() == "mine"
    assert dcglearn("learn", log, "-o", tmp_path / "dcg.json", "--force", *BY_QP)[0] == 0


def test_questions_that_are_answered_become_part_of_the_log(dcglearn, misuse, log, tmp_path):
    asked, candidates = tmp_path / "asked.jsonl", tmp_path / "candidates.jsonl"
    random_log(40, seed=7).save(candidates)
    status, out, err = dcglearn("ask", candidates, "--log", log, "-n", 3, "-o", asked)
    assert (status, out) == (0, "")
    assert "3 questions" in err
    words = ("ask", candidates, "--log", log, "-n", 3, "-o", asked)
    assert dcglearn(*words)[0] == 2  # it may hold answers
    answers = asked.read_text().splitlines()
    answers[0] = answers[0].replace('"open"', '"a"')
    log.write_text(log.read_text() + "\n".join(answers) + "\n")
    status, out, err = dcglearn("learn", log, "-o", tmp_path / "dcg.json", "--bands", 0)
    assert status == 0 and "log: 301 pairs" in out
    assert err.startswith("winners: a (301), open (2)\nleft out: 2 open questions\nwrote: ")
    answers[1] = answers[1].replace('"open"', '"upper"')
    log.write_text("\n".join(answers) + "\n")
    assert "row 2" in misuse("--winner-words 'upper=?'", "learn", log)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        (GOOD + '{"a": [2, 1, 0], "b": [], "winner": "a"}\n', "row 3"),
        (GOOD + '{"a": [2, 1, 0], "b": [0, 1, 2], "winner": "c"}\n', "row 3"),
        (
            GOOD.replace('"winner": "a"', '"winner": "tie"').replace('"b"}', '"tie"}'),
            "nothing to learn from",
        ),
        ('{"a": [2, 1], "b": [2, 1], "winner": "a"}\n', "1 pair of equal lists"),
        (
            '{"a": [1, 0], "b": [0, 1], "winner": "a"}\n'
            '{"a": [1, 0], "b": [0, 1], "winner": "b"}\n',
            "contradicted as",
        ),
    ],
)
def test_bad_logs_end_with_status_2_and_nothing_written(misuse, tmp_path, text, words):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    misuse(words, "learn", path, "-o", tmp_path / "dcg.json")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bad.jsonl"]


def test_few_judgements_are_not_held_out(dcglearn, tmp_path):
    lines = ["a,b,winner", "3 0,0 0,a", "0 1,2 1,b", "1 0,2 0,b", "2 2,0 1,a", "3 1,1 1,a"]
    (tmp_path / "few.csv").write_text("\n".join(lines))
    command = ("learn", tmp_path / "few.csv", "-o", tmp_path / "few.json")
    assert "new judgements: 5 pairs can be held out, fewer than 30" in dcglearn(*command)[1]


class TestAsAProcess:
    """What only a process of its own shows."""

    def test_version_and_no_arguments(self):
        version = run(f"{sys.executable} -m dcglearn --version").stdout
        assert version.startswith("dcglearn 0.") and version.count("\n") == 1
        assert version == run(f"{DCGLEARN} --version").stdout
        alone = run(DCGLEARN)
        assert "Usage" in alone.stdout + alone.stderr

    def test_standard_input(self, log):
        done = run(f"{DCGLEARN} learn - --method qp", input=log.read_text())
        assert done.returncode == 0
        assert json.loads(done.stdout)["format"] == "dcglearn.dcg"

    @pytest.mark.posix
    def test_a_closed_pipe_is_no_error(self, tmp_path):
        simulated_log(20000).save(tmp_path / "log.jsonl")
        done = run(f"{DCGLEARN} convert {tmp_path / 'log.jsonl'} | head -n 1")
        assert (len(done.stdout.splitlines()), done.stderr) == (1, "winners: a (20,000)\n")

    @pytest.mark.posix
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_on_standard_output_is_said(self, log):
        done = run(f"{DCGLEARN} learn {log} --method qp > /dev/full")
        assert done.returncode != 0
        assert "No space left" in done.stderr and "Traceback" not in done.stderr


def test_a_disk_that_is_full_half_way_leaves_what_was_there(tmp_path, monkeypatch):
    from dcglearn.foundation import files

    path = tmp_path / "dcg.json"
    DCG.standard(5, 10).save(path)
    before = path.read_bytes()

    def full(self, text, **_):
        self.open("w").write(text[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "write_text", full)
    refused("No space left on device", DCG.standard(3, 2).save, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["dcg.json"]


class TestPicturesComeLast:
    def test_names_are_text_whatever_signs_they_hold(self, dcglearn, log, tmp_path):
        picture = tmp_path / "dcg.png"
        names, named = ("Bad", r"$\frac$", "x^{", "\\", "Good"), tmp_path / "named.jsonl"
        dl.read_preferences(log).changed(grade_names=names).save(named)
        words = ("learn", named, "-o", tmp_path / "dcg.json", "--plot", picture, *BY_QP)
        assert dcglearn(*words)[0] == 0
        assert picture.exists()
        assert dcglearn("show", tmp_path / "dcg.json", "--plot", picture, "--force")[0] == 0

    @pytest.mark.parametrize(
        "error", [ValueError("no glyph"), OSError(28, "No space left on device"), MemoryError()]
    )
    def test_a_picture_that_fails_loses_nothing(self, dcglearn, log, here, monkeypatch, error):
        from matplotlib.figure import Figure

        def fails(*_, **__):
            raise error

        monkeypatch.setattr(Figure, "savefig", fails)
        runs = {
            name: {q: {f"D{d}": d * n + q for d in range(6)} for q in range(5)}
            for name, n in (("a", 3), ("b", 4))
        }
        write_trec(here, {q: {f"D{d}": d % 3 for d in range(6)} for q in range(5)}, runs)
        files = ["qrels.txt", "a.txt", "b.txt"]
        for command, name in (
            (["learn", log, "-o", "dcg.json", *BY_QP], "dcg.json"),
            (["compare", *files, "--output", "compared.txt"], "compared.txt"),
            (["show", "linear-log2@10"], ""),
            (["coherence", "linear-log2@3", "exponential-log2@3", "--grades", 3], ""),
        ):
            status, out, err = dcglearn(*command, "--plot", "x.png")
            assert status == 2
            assert "dcglearn: no picture: " in err and "without it are complete" in err
            assert Path(name).exists() and (name or out)
        assert DCG.load("dcg.json")
        assert not [
            path for path in Path().iterdir() if path.name.startswith(".") or path.suffix == ".png"
        ]


def test_an_input_is_never_overwritten(misuse, log, here):
    qrels = here / "qrels.txt"
    qrels.write_text("1 0 D1 1\n")
    Path("link").symlink_to(log)
    kept = {path: path.read_bytes() for path in (log, qrels)}
    for command in (
        ["learn", log, "-o", "link"],
        ["audit", log, "--labels", "x=page.html", "-o", "page.html"],
        ["ask", log, "-o", log],
        ["evaluate", qrels, qrels, "--output", qrels],
        ["rank", "model", qrels, "-o", qrels],
    ):
        misuse("is named twice; give each output a file of its own", *command, "--force")
    same = ("gate", qrels, qrels, qrels, "-o", "same.json", "--junit", "same.json", "--force")
    misuse("same.json is named twice", *same)
    assert kept == {path: path.read_bytes() for path in kept}
