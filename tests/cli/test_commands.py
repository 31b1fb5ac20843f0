"""The command line as a person uses it: in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.cli.options import refuse_overwriting
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
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


def test_learn_writes_a_metric_that_loads_and_says_what_it_did_in_words_and_as_json(
    dcglearn, log, tmp_path
):
    dcg, picture, weights = (tmp_path / name for name in ("dcg.json", "dcg.png", "w.json"))
    trust = ("--holdout", 0.2, "--bands", 5, "--baseline", "linear-log2")
    status, out, words = dcglearn(
        "learn", log, "-o", dcg, "--plot", picture, "--utility-out", weights, *trust, "--json", "-v"
    )
    report = json.loads(out)
    assert status == 0
    facts = (
        "300 pairs",
        "5 raters",
        "name the worse",
        "standard error",
        "held-out pairs",
        "linear-log2@10",
        "wrote",
    )
    assert [fact for fact in facts if fact not in words] == []
    assert DCG.from_dict(report["dcg"]) == DCG.load(dcg) and DCG.load(dcg).depth == 10
    assert Utility.load(weights).weights.shape == (10, 5)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert report["method"] == "dcg" and 0 < report["error_rate"] < 0.3
    assert set(report["rater_error"]) == {f"rater {i + 1}" for i in range(5)}
    assert report["visible"]["rank"] == 40
    assert report["held_out"]["baseline"] == "linear-log2@10"
    assert {"learned DCG", "QP utility", "linear-log2@10"} <= {
        row["name"] for row in report["held_out"]["rows"]
    }
    assert len(report["bands"]["table"]) == 15


def test_a_terminal_sees_at_once_what_was_read(dcglearn, log, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    read = "read: 300 pairs, 5 raters; 10 positions, 5 grades\n"
    for command in (("-o", tmp_path / "dcg.json"), ()):
        status, out, err = dcglearn("learn", log, "--method", "qp", *command)
        assert status == 0 and err.startswith(read)
        assert (out + err).count(read) == (
            2 if command else 1
        )  # once more where the report goes to a file or a pipe


def test_the_whole_report_is_written_beside_the_metric(dcglearn, log, tmp_path):
    texts = {}
    for suffix in (".html", ".md", ".txt", ".json"):
        path = tmp_path / f"report{suffix}"
        words = ("learn", log, "-o", tmp_path / "dcg.json", "--force", "--report-out", path)
        status, out, _ = dcglearn(*words, "--bands", 20)
        assert status == 0 and f"wrote: {path}\n" in out
        texts[suffix] = path.read_text()

    # each holds all parts, with their tables
    report = json.loads(texts.pop(".json"))
    assert report["dcg"] == DCG.load(tmp_path / "dcg.json").to_dict()
    facts = (
        "What 300 judgements say",
        "300 pairs, 5 raters",
        "Left open",
        "discount at 10",
        "all at",
    )
    for text in texts.values():
        assert [fact for fact in facts if fact not in text] == []
        assert f"{report['bands']['table'][-1]['estimate']:.4f}" in text


def test_the_report_names_what_decides_a_conclusion(dcglearn, tmp_path):
    log, page = tmp_path / "log.jsonl", tmp_path / "report.md"
    random_log(120, noise=0.15, seed=2).changed(rater=np.tile(["ann", "bob", "cy"], 40)).save(log)
    learn = ("learn", log, "--loss", "logistic", "-o", tmp_path / "dcg.json", "--force")
    status, out, _ = dcglearn(*learn, "--what-if", "gain of 3 > 0.5", "--report-out", page)
    assert status == 0
    assert re.search(
        r"\nwhat if: .*\d of 120 verdicts .* that the gain of grade 3 is above 0.5", out
    )
    assert re.search(r"\nwhat if, by rater: .* of 3 raters ", out)
    assert "| row | rater | preferred |" in page.read_text()

    # as numbers, and where it is false
    report = json.loads(dcglearn(*learn, "--what-if", "gain of 3 > 0.5", "--json")[1])
    by = {part["by"]: part["n"] for part in report["what_if"]}
    assert [*by] == [None, "rater"] and by[None] >= 1
    assert report["sentences"]["what if"] == report["what_if"][0]["sentence"]
    out = dcglearn(*learn, "--what-if", "gain of 3 > 0.999")[1]
    assert "what if: it does not hold that" in out and "by rater" not in out


def test_the_report_says_the_level_of_its_bands(dcglearn, log, tmp_path):
    page, words = tmp_path / "report.md", ("learn", log, "--bands", 20, "--level", 0.8)
    report = json.loads(dcglearn(*words, "--json", "--report-out", page)[1])
    assert report["bands"]["level"] == 0.8
    for text in (report["sentences"]["how sure"], page.read_text()):
        assert "80% band" in text and "90% band" not in text
    assert "true number in 80% of such logs" in page.read_text()

    # a lower level has narrower bands
    usual = json.loads(dcglearn(*words[:-2], "--json")[1])["bands"]
    assert usual["level"] == 0.9
    widths = [
        [row["high"] - row["low"] for row in one["table"]] for one in (report["bands"], usual)
    ]
    assert (np.array(widths[0]) <= widths[1]).all() and sum(widths[0]) < sum(widths[1])


def test_a_report_says_that_a_log_has_no_signal(dcglearn, tmp_path):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 3, (100, 2, 3)).tolist()
    rows = [{"a": a, "b": b, "winner": rng.choice(["a", "b"])} for a, b in pairs]
    log, page = write_lines(tmp_path / "coins.jsonl", rows), tmp_path / "report.md"
    with pytest.warns(UserWarning, match="better than a coin"):
        status, _, err = dcglearn("learn", log, "--report-out", page)
    assert status == 0
    assert err.count("better than a coin") == page.read_text().count("better than a coin") == 1

    # no part speaks of what was learned from them
    for options in (["dcg"], ["qp", "--holdout", 0.4], ["dcg", "--bands", 20, "--holdout", 0.3]):
        with pytest.warns(UserWarning, match="better than a coin"):
            out = dcglearn("learn", log, "--json", "--method", *options)[1]
        values = json.loads(out)
        said = values["sentences"]
        assert values["bands"] == {"none": said["how sure"]}
        assert not any(map(values.get, ("error_rate", "wrong_share", "rater_error")))
        assert said["learned"].startswith("no gain or discount; these are chance and what was")
        assert said["left open"] == "every gain and discount"
        measured = said["new judgements"]
        assert "which is" not in measured and measured.endswith("; a coin, 50%")
        assert said["how sure"].startswith("not at all: bands are those of chance and what was")


def test_cautions_are_in_every_report_and_not_in_its_short_lines(dcglearn, tmp_path):
    log = random_log(240, "free", seed=1).changed(rater=np.tile(["ann", "bob", "cy"], 80))
    flip = (log.rater == "cy")[:, None]
    first, second = np.where(flip, (log.other, log.preferred), (log.preferred, log.other))
    log.changed(preferred=first, other=second).save(tmp_path / "log.jsonl")
    page = tmp_path / "page.html"
    with pytest.warns(UserWarning, match="contradict the others"):
        out = dcglearn("learn", tmp_path / "log.jsonl", "--report-out", page, "--json")[1]
    (caution,) = json.loads(out)["cautions"]
    assert "more often than not: cy (tested" in caution
    assert "contradict the others more often than not: cy" in page.read_text()
    with pytest.warns(UserWarning, match="contradict the others"):
        out = dcglearn("learn", tmp_path / "log.jsonl", "-o", tmp_path / "dcg.json")[1]
    assert "contradict" not in out


@pytest.mark.parametrize(
    "suffix", [".html", ".MD", ".txt", ".csv", ".pdf", ".png", ".xlsx", ".json.gz"]
)
def test_a_metric_is_not_written_by_the_name_of_a_report(misuse, log, here, suffix):
    output = here / f"dcg{suffix}"
    remedy = "-o holds the metric as JSON; --report-out page.html writes the report, --plot a"
    for command in ("learn", "learn-answers"):
        misuse(f"{output}: {remedy} picture", command, log, "-o", output, "--force")
        misuse("give .html, .md, .txt, .json", command, log, "--report-out", "report.csv")
        misuse("is an input of this command", command, log, "--report-out", log, "--force")
        output.write_text("mine")
        misuse("--force", command, log, "--report-out", output)
        output.unlink()


@pytest.mark.parametrize("name", ["dcg", "dcg.metric", "dcg.JSON"])
def test_a_metric_takes_any_other_name(dcglearn, log, here, name):
    assert dcglearn("learn", log, "-o", name)[0] == 0
    assert DCG.load(name).depth == 10


def test_the_qp_proves_itself(dcglearn, log, tmp_path):
    picture = tmp_path / "dcg.png"
    options = (
        "--method",
        "qp",
        "--C",
        "auto",
        "--holdout",
        0.2,
        "--plot",
        picture,
        "-o",
        tmp_path / "dcg.json",
    )
    status, out, _ = dcglearn("learn", log, *options, "-v")
    facts = ("duality gap", "cannot tell", "chosen by validation", "QP utility", "exponential-log2")
    assert status == 0 and [fact for fact in facts if fact not in out] == []
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_output_the_metric_goes_to_standard_output(dcglearn, log):
    status, out, err = dcglearn("learn", log)
    assert status == 0
    assert DCG.from_dict(json.loads(out)).n_grades == 5
    assert re.search("new judgements: of [0-9]+ held-out pairs, the learned DCG orders", err)


def test_options_of_the_learner_reach_it(dcglearn, log):
    def weights(*options):
        return json.loads(dcglearn("learn", log, "--method", "qp", "--json", *options)[1])[
            "utility"
        ]["weights"]

    plain = weights()
    assert all(row == sorted(row) for row in plain)

    assert weights("--margin", "hamming") != plain
    assert weights("--C", "0.01") != plain

    def gains(*options):
        return json.loads(dcglearn("learn", log, *options)[1])["gains"]

    assert gains("--ridge", "1000") != gains()
    assert gains("--loss", "logistic") != gains()

    # the nearer to a prior the stronger it is
    steep = DCG.standard(5, 10, "power5").normalised().gains
    ridges = ([], ["--prior", "power5-flat"], ["--prior", "power5-flat", "--ridge", "1e6"])
    off = [np.abs(np.subtract(gains(*options), steep)).max() for options in ridges]
    assert off[0] > off[1] > off[2]


def test_a_dry_run_writes_nothing(dcglearn, log, tmp_path):
    status, out, _ = dcglearn("learn", log, "-o", tmp_path / "dcg.json", "--dry-run")
    assert status == 0
    assert "would write" in out and "\nThe log cannot tell whether a result" in out
    assert not (tmp_path / "dcg.json").exists()


def test_existing_files_are_kept(dcglearn, misuse, log, tmp_path):
    (tmp_path / "dcg.json").write_text("mine")
    misuse("--force", "learn", log, "-o", tmp_path / "dcg.json")
    assert (tmp_path / "dcg.json").read_text() == "mine"
    assert dcglearn("learn", log, "-o", tmp_path / "dcg.json", "--force")[0] == 0


def test_ratings_are_held_out_by_list_or_rater(dcglearn, tmp_path):
    lines = [
        {"list": [i % 3, i // 3 % 3, i // 9 % 3], "rating": i % 3 * 3 + i // 3 % 3}
        for i in range(27)
    ]
    path = write_lines(tmp_path / "ratings.jsonl", lines)
    status, out, _ = dcglearn("learn", "--ratings", path, "--json", "--holdout", 0.3)
    assert (status, json.loads(out)["held_out"]["by"]) == (0, "list")
    write_lines(path, [{**line, "group": f"u{i % 5}"} for i, line in enumerate(lines)])
    rated = tmp_path / "rated.jsonl"
    assert dcglearn("convert", path, "--ratings", "-o", rated)[0] == 0
    status, out, _ = dcglearn("learn", "--ratings", rated, "--json", "--holdout", 0.3)
    assert (status, json.loads(out)["held_out"]["by"]) == (0, "rater")


def test_questions_that_are_answered_become_part_of_the_log(dcglearn, misuse, log, tmp_path):
    asked = tmp_path / "asked.jsonl"
    status, out, err = dcglearn("ask", "--log", log, "-n", 3, "-o", asked)
    assert (status, out) == (0, "")
    assert "3 questions" in err
    assert dcglearn("ask", "--log", log, "-n", 3, "-o", asked)[0] == 2  # it may hold answers
    answers = asked.read_text().splitlines()
    answers[0] = answers[0].replace('"open"', '"a"')
    log.write_text(log.read_text() + "\n".join(answers) + "\n")
    status, out, err = dcglearn("learn", log, "-o", tmp_path / "dcg.json")
    assert (status, err) == (0, "winners: a (301), open (2)\n")
    assert "read: 301 pairs" in out and "left out: 2 open questions" in out and "wrote" in out
    answers[1] = answers[1].replace('"open"', '"upper"')
    log.write_text("\n".join(answers) + "\n")
    assert "row 2" in misuse("--winner-words 'upper=?'", "learn", log)


def test_candidates_without_a_log(dcglearn, log):
    status, out, _ = dcglearn("ask", log, "-n", 4, "--grades", 5)
    questions = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [question["winner"] for question in questions] == ["open"] * 4


def test_show_prints_tables_json_and_pictures(dcglearn, log, tmp_path):
    dcg = tmp_path / "dcg.json"
    dcglearn("learn", log, "-o", dcg)
    status, out, _ = dcglearn("show", dcg, "exponential-log2@3", "--plot", tmp_path / "both.pdf")
    assert status == 0
    assert "15.0000" in out and "position" in out
    assert (tmp_path / "both.pdf").read_bytes().startswith(b"%PDF")
    rows = [
        json.loads(line)
        for line in dcglearn("show", "linear-sqrt@2", "--grades", 3, "--json")[1].splitlines()
    ]
    assert rows[0]["gains"] == [0, 1, 2]


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


OF_THE_LOG = (
    "prior has 5 grades and 3 positions",
    "no query",
    "margins or strengths",
    'write "gain of 2 > 0.5"',
    "with one of gain of grade 0, ",
    "nothing is left",
)
"""Refusals that need what was read, which a terminal sees before."""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["learn"], "Missing argument"),
        (["learn", "nothing.jsonl"], "nothing.jsonl"),
        (["learn", "LOG", "--method", "qp", "--C", "0"], "give a positive number, or auto"),
        (["learn", "LOG", "--method", "qp", "--C", "much"], "give a positive number, or auto"),
        (["learn", "LOG", "--C", "1"], "--C goes with --method qp"),
        (["learn", "LOG", "--margin", "log"], "--margin goes with --method qp"),
        (["learn", "LOG", "--what-if", "gian of 2 > 1"], 'write "gain of 2 > 0.5"'),
        (["learn", "LOG", "--what-if", "gain of 9 > 1"], "with one of gain of grade 0, "),
        (["learn", "LOG", "--what-if", "gain of 2 > 1", "--method", "qp"], "--what-if goes with"),
        (["learn", "LOG", "--method", "qp", "--ridge", "1"], "--ridge goes with --method dcg"),
        (["learn", "LOG", "--method", "qp", "--bands", "9"], "--method dcg"),
        (["learn", "LOG", "--bands", "1"], "--bands 1: give 2 or more"),
        (["learn", "LOG", "--level", "0.9"], "give --bands 200 too, or leave it out"),
        (["learn", "LOG", "--bands", "9", "--level", "95"], "--level 95.0: give a fraction"),
        (["learn", "LOG", "--bands", "9", "--level", "0"], "--level 0.0: give a fraction"),
        (["learn", "LOG", "--ridge", "-1"], "'--ridge': -1"),
        (
            ["learn", "LOG", "--prior", "nothing.json"],
            "nothing.json does not exist; check the name",
        ),
        (["learn", "LOG", "--prior", "linear-log2@3"], "prior has 5 grades and 3 positions"),
        (
            ["learn", "LOG", "--holdout", "0.2", "--baseline", "best"],
            "neither a file nor GAIN-DISCOUNT",
        ),
        (["ask"], "nothing to choose from"),
        (["ask", "nothing.jsonl"], "nothing.jsonl"),
        (["ask", "LOG", "--log", "LOG"], "nothing is left"),
        (["learn", "LOG", "--holdout", "1.5"], "fraction"),
        (["learn", "LOG", "--holdout-by", "query", "--holdout", "0.2"], "no query"),
        (["learn", "LOG", "--grades", "2"], "the grade 2, outside 0..1"),
        (["learn", "LOG", "-o", "/nowhere/dcg.json"], "does not exist"),
        (["learn", "LOG", "--plot", "dcg.gif"], "give .png, .pdf, .svg"),
        (["learn", "LOG", "--method", "qp", "--margin", "log"], "margins or strengths"),
        (["show", "nothing.json"], "nothing.json does not exist; check the name"),
        (["show", "exponential"], "neither a file nor GAIN-DISCOUNT"),
    ],
)
def test_bad_calls_end_with_status_2_and_a_terminal_sees_nothing_but_why(
    misuse, log, monkeypatch, arguments, words
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    err = misuse(words, *[log if argument == "LOG" else argument for argument in arguments])
    seen = ("read: ", "winners: ") if words in OF_THE_LOG else ("dcglearn: ", "Usage: ")
    assert err.startswith(seen) and (err.count("\n") == 1 or not err.startswith("dcglearn: ")), err


def test_few_judgements_are_not_held_out(dcglearn, tmp_path):
    lines = ["a,b,winner", "3 0,0 0,a", "0 1,2 1,b", "1 0,2 0,b", "2 2,0 1,a", "3 1,1 1,a"]
    (tmp_path / "few.csv").write_text("\n".join(lines))
    command = ("learn", tmp_path / "few.csv", "-o", tmp_path / "few.json")
    assert "new judgements: 5 pairs can be held out, fewer than 30" in dcglearn(*command)[1]


def test_skip_bad_sets_rows_aside(dcglearn, misuse, log, tmp_path):
    bad = '{"a": [2, 0], "b": [0, 1], "winner": "c"}\n'
    log.write_text(log.read_text() + bad)
    aside = tmp_path / "aside.jsonl"
    status, _, err = dcglearn("convert", log, "-o", tmp_path / "good.jsonl", "--skip-bad", aside)
    assert (
        status == 0
        and "left out: 1 bad row\n" in err
        and "row 301: winner is missing or unknown: 'c'" in err
    )
    assert json.loads(aside.read_text())["winner"] == "c"
    assert "read: 300 pairs" in dcglearn("learn", tmp_path / "good.jsonl", "--dry-run")[1]
    misuse("--force", "learn", log, "--skip-bad", aside)
    assert dcglearn("learn", log, "--skip-bad", aside, "--method", "qp", "--force")[0] == 0


class TestAsAProcess:
    """What only a process of its own shows."""

    def test_version_and_no_arguments(self):
        version = run(f"{sys.executable} -m dcglearn --version").stdout
        assert version.startswith("dcglearn 0.") and version.count("\n") == 5
        assert version == run(f"{DCGLEARN} --version").stdout
        alone = run(DCGLEARN)
        assert "Usage" in alone.stdout + alone.stderr

    def test_standard_input(self, log):
        done = run(f"{DCGLEARN} learn -", input=log.read_text())
        assert done.returncode == 0
        assert json.loads(done.stdout)["format"] == "dcglearn.dcg"

    @pytest.mark.posix
    def test_a_closed_pipe_is_no_error(self, tmp_path):
        simulated_log(20000).save(tmp_path / "log.jsonl")
        done = run(f"{DCGLEARN} convert {tmp_path / 'log.jsonl'} | head -n 1")
        assert (len(done.stdout.splitlines()), done.stderr) == (1, "winners: a (20,000)\n")

    @pytest.mark.posix
    def test_a_closed_standard_output_is_an_error(self):
        done = run(f"{DCGLEARN} show linear-log2@10 >&-")
        assert done.returncode == 1 and "standard output is closed; redirect it" in done.stderr

    @pytest.mark.posix
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_on_standard_output_is_said(self, log):
        done = run(f"{DCGLEARN} learn {log} > /dev/full")
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
        assert dcglearn("learn", named, "-o", tmp_path / "dcg.json", "--plot", picture)[0] == 0
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
            (["learn", log, "-o", "dcg.json", "--utility-out", "w.json"], "dcg.json"),
            (["compare", *files, "--output", "compared", "--resamples", 100], "compared"),
            (["show", "linear-log2@10"], ""),
            (["coherence", "linear-log2@3", "exponential-log2@3", "--grades", 3], ""),
        ):
            status, out, err = dcglearn(*command, "--plot", "x.png")
            assert status == 2
            assert "x.png: " in err and "complete" in err
            assert Path(name).exists() and (name or out)
        assert DCG.load("dcg.json") and Utility.load("w.json")
        assert not [
            path for path in Path().iterdir() if path.name.startswith(".") or path.suffix == ".png"
        ]


@pytest.mark.posix
def test_an_input_is_no_output(here):
    Path("logs").mkdir()
    for name in ("log.jsonl", "logs/part.parquet", "dcg.json"):
        Path(name).write_text("x")
    Path("link").symlink_to("log.jsonl")
    os.link("log.jsonl", "hard")
    for output, read in (
        ("log.jsonl", ["log.jsonl"]),
        ("link", ["none", "log.jsonl"]),
        ("hard", ["-", "log.jsonl"]),
        ("logs/part.parquet", ["logs"]),
        ("logs/part.parquet", ["logs/*.parquet"]),
    ):
        refused("is an input of this command; name another", refuse_overwriting, [output], read)
    refuse_overwriting(
        ["dcg.json", "none", "/dev/null"], ["log.jsonl", "logs", "exponential-log2", "-"]
    )


def test_an_input_is_never_overwritten(misuse, log, here):
    qrels = here / "qrels.txt"
    qrels.write_text("1 0 D1 1\n")
    kept = {path: path.read_bytes() for path in (log, qrels)}
    for command in (
        ["learn", log, "-o", "log.jsonl"],
        ["learn", log, "-o", "dcg.json", "--utility-out", "./log.jsonl"],
        ["ask", "--log", log, "-o", log],
        ["evaluate", qrels, qrels, "--output", qrels],
        ["rank", "model", qrels, "-o", qrels],
    ):
        misuse("is an input of this command", *command, "--force")
    misuse(
        "same.json is named for two outputs",
        "learn",
        log,
        "-o",
        "same.json",
        "--utility-out",
        "same.json",
    )
    assert kept == {path: path.read_bytes() for path in (log, qrels)}


@pytest.fixture
def ratings(tmp_path):
    """A file of 400 ratings of 32 lists, by users who stop at a good result."""
    rng = np.random.default_rng(0)
    pool, which = rng.integers(0, 3, (32, 5)), rng.choice(32, 400)
    truth = ListUtility([0, 0.5, 1], [1, 0.9, 0.8, 0.7, 0.6], stops=[0, 0.4, 0.95])
    worth = truth.score(pool)
    values = np.round(4 * worth[which] / worth.std() + 0.7 * rng.normal(size=400))
    rows = zip(pool[which].tolist(), values.tolist(), strict=True)
    return write_lines(
        tmp_path / "ratings.jsonl", [{"list": grades, "rating": value} for grades, value in rows]
    )


def test_learn_compares_the_dcg_with_the_noise_ceiling(dcglearn, ratings, tmp_path):
    options = (
        "--ratings",
        ratings,
        "--holdout",
        0.5,
        "-o",
        tmp_path / "dcg.json",
        "--plot",
        tmp_path / "dcg.png",
    )
    status, report, out = dcglearn("learn", *options, "--json", "-v")
    assert status == 0 and "oise ceiling, which people's disagreement sets: on the " in out
    assert (
        re.search(r"between the \d+ lists that recur, by \d+ ratings, the learned DCG orders", out)
        and "no function of the grades more than" in out
        and "respect" not in out
    )
    held_out = json.loads(report)["held_out"]
    ceiling, (learned, of_lists) = held_out["ceiling"], held_out["recurring"]
    assert 0.5 < ceiling["below"] == of_lists["share"] < ceiling["above"] < 1
    assert learned["share"] <= ceiling["above"]
    assert ceiling["unit"] == "rating" and not held_out["no_ceiling"]


JARGON = re.compile(
    r"objective|robust fit|sigmoid fit|independent judgements|clear pair|a little more|directions"
    r"|\bW\b|sigma|posterior|Newton|\bmachine\b|respect"
)
"""Words that a search engineer who has not read the papers does not know."""


@pytest.mark.parametrize(
    "options",
    [
        "--bands 5 --holdout 0.3",
        "--prior exponential-log2",
        "--llm llm.jsonl",
        "--loss logistic",
        "--method qp --holdout 0.3",
        "--dry-run",
    ],
)
def test_learn_reports_without_jargon(dcglearn, log, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    simulated_log(100, machine=True).save("llm.jsonl")
    dry = "--dry-run" in options
    full = [] if dry else ["-v"]
    status, out, _ = dcglearn("learn", log, "-o", "dcg.json", *options.split(), *full)
    assert status == 0 and JARGON.findall(out.replace(str(tmp_path), "")) == []
    if "--method" not in options and not dry:
        assert "\n- Gains and discounts are learned from 300 judgements" in out
    if "--llm" in options:
        assert "the LLM judge's DCG" in out.partition("It is a mean")[2].partition("\n")[0]


def test_learn_says_of_what_the_result_is_mixed_and_how_judges_err(dcglearn, tmp_path):
    log = tmp_path / "forty.jsonl"
    dl.read_preferences(EXAMPLE)[:40].save(log)
    status, out, _ = dcglearn("learn", log, "-o", tmp_path / "dcg.json", "--json")
    members = json.loads(out)["members"]
    text = dcglearn("learn", log, "-v")[2]
    assert status == 0 and json.loads(out)["objective"] > 0

    # the largest first, and the small ones together
    members.sort(key=lambda member: -member["weight"])
    (mixed,) = re.findall(r"^- It is a mean.*?: (.*); this log cannot", text, flags=re.MULTILINE)
    *named, others, _ = re.findall(r"(\d+)%", mixed)
    assert [f"{x}%" for x in named] == [f"{m['weight']:.0%}" for m in members[: len(named)]]
    assert members[len(named) - 1]["weight"] >= 0.05 > members[len(named)]["weight"]
    rest = sum(member["weight"] for member in members[len(named) :])
    assert mixed.endswith("others, each less than 5%") and f"{others}%" == f"{rest:.0%}"
    assert "% learned from the judgements;" in mixed and "% textbook " in mixed
    assert all(
        f"about {json.loads(out)[name]:.1%}" in text.lower()
        for name in ("wrong_share", "error_rate")
    )


def test_learn_says_how_much_repeated_lists_tell(dcglearn, ratings, tmp_path):
    status, out, err = dcglearn("learn", "--ratings", ratings, "--json", "-v")
    report = json.loads(out)
    total, fewer = f"{report['total_weight']:,.0f}", f"{report['n_effective']:,.0f}"
    line = (
        f"- Gains and discounts are learned from {total} judgements; "
        f"since lists recur, they tell as much as {fewer} "
    )
    assert status == 0 and line in err and fewer != total


def test_learn_says_how_often_the_list_shown_first_wins(dcglearn, tmp_path):
    simulated_log(100, machine=True, side=0.3).save(tmp_path / "sided.jsonl")
    out, report = (dcglearn("learn", tmp_path / "sided.jsonl", "--json", "-v")[i] for i in (2, 1))
    won = 1 / (1 + np.exp(-json.loads(report)["position_bias"]))
    assert (
        f"Position bias: of two equal lists, the one shown first wins {won:.0%} (50% is no" in out
    )
    assert "Names first: share of wins of the list shown first" in out and "Krippendorff" not in out


def test_learn_says_why_there_is_no_ceiling(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    simulated_log(100).save(log)
    status, out, _ = dcglearn("learn", log, "--holdout", 0.3, "-o", tmp_path / "dcg.json", "-v")
    assert status == 0 and "o noise ceiling: no list has several judgements" in out


def test_the_audit_and_learn_print_the_same_bands(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    simulated_log(40).save(log)
    words = ("learn", log, "-o", tmp_path / "dcg.json", "--bands", 200, "--json")
    learned = json.loads(dcglearn(*words)[1])["bands"]
    assert json.loads(dcglearn("audit", log, "--json")[1])["curves"]["bands"] == learned
