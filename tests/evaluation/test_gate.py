"""The gate: its decisions by hand, its error rates and power by simulation, its reports, and its
exit status.
"""

import json
import re
import shlex
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.evaluation.gate import detectable_difference, gated
from dcglearn.evaluation.paired_tests import interval_of_mean
from tests.makers import refused, write_trec

ROOT = Path(__file__).parents[2]
MARGIN, LEVEL, TOPICS, SPREAD = -0.005, 0.9, 53, 0.1


def table(*intervals, n_shared=TOPICS):
    """Return the table of a comparison whose intervals are these."""
    rows = [
        {
            "run": f"new{i}",
            "baseline": "old",
            "measure": "nDCG@10",
            "difference": (a + b) / 2,
            "low": a,
            "high": b,
        }
        for i, (a, b) in enumerate(intervals)
    ]
    sample = {
        "n_topics": TOPICS,
        "n_shared": n_shared,
        "n_run": n_shared,
        "n_baseline": TOPICS,
        "n_measured": TOPICS,
        "spread": SPREAD,
    }
    return pl.DataFrame([row | sample for row in rows])


@pytest.mark.parametrize(
    ("interval", "verdict", "harm", "non_inferior"),
    [
        ((-0.03, -0.006), "worse", False, False),
        ((-0.03, -0.005), "undecided", True, False),
        ((-0.03, 0.03), "undecided", True, False),
        ((-0.005, 0.03), "undecided", True, False),
        ((-0.004, 0.03), "not worse", True, True),
    ],
)
def test_decisions_by_hand(interval, verdict, harm, non_inferior):
    for rule, passed in (("harm", harm), ("non-inferior", non_inferior)):
        gate = gated(table(interval), LEVEL, MARGIN, rule)
        assert (gate.verdicts[0].verdict, gate.passed) == (verdict, passed)
        assert gate.error == pytest.approx(0.05)
    both = gated(table(interval, (0.0, 0.1)), LEVEL, MARGIN, "non-inferior")
    assert both.passed == non_inferior and both.verdicts[1].passed


@pytest.fixture(scope="module")
def intervals():
    """Intervals of 1,000 pairs of runs whose true difference is 0; a shift of the margin shifts the
    true difference.
    """
    rng = np.random.default_rng(0)
    return [
        interval_of_mean(SPREAD * rng.normal(size=TOPICS), LEVEL, 400, seed) for seed in range(1000)
    ]


def shares(intervals, margin):
    verdicts = [row.verdict for row in gated(table(*intervals), LEVEL, margin, "harm").verdicts]
    return {word: verdicts.count(word) / len(verdicts) for word in ("worse", "not worse")}


def test_each_rule_errs_as_often_as_it_says_at_the_margin(intervals):
    for share in shares(intervals, 0.0).values():
        assert abs(share - (1 - LEVEL) / 2) < 3.5 * np.sqrt(0.05 * 0.95 / 1000)


def test_the_detectable_difference_is_detected_four_times_in_five(intervals):
    delta = detectable_difference(SPREAD, TOPICS, LEVEL)
    assert abs(shares(intervals, delta)["worse"] - 0.8) < 0.045
    assert abs(shares(intervals, -delta)["not worse"] - 0.8) < 0.045
    assert detectable_difference(SPREAD, 4 * TOPICS, LEVEL) == pytest.approx(delta / 2)
    half = detectable_difference(SPREAD, TOPICS, LEVEL, power=0.5)
    assert half == pytest.approx(1.6449 * SPREAD / TOPICS**0.5, rel=1e-4)


def test_words_say_rule_and_power():
    harm = str(gated(table((-0.03, 0.03)), LEVEL, MARGIN, "harm"))
    assert harm.startswith("The gate passes: it is undecided whether new0 is worse than old under")
    assert "one-sided" in harm and "upper limit of its 90% interval is below -0.0050" in harm
    shown = MARGIN - detectable_difference(SPREAD, TOPICS, LEVEL)
    power = f"These 53 topics show a true difference of {shown:.4f} to be worse four times in five"
    assert power in harm
    other = str(gated(table((-0.03, 0.03), n_shared=50), LEVEL, MARGIN, "non-inferior"))
    assert other.startswith("The gate fails: ")
    assert "lower limit of its 90% interval is above -0.0050" in other
    shown = MARGIN + detectable_difference(SPREAD, TOPICS, LEVEL)
    assert f"a true difference of {shown:+.4f} to be not worse" in other
    assert "opics that are not in both runs count as 0" in other and " 53            50 " in other
    several = gated(table((-0.03, -0.02), (0.0, 0.1), (-0.02, -0.01)), LEVEL, MARGIN, "harm")
    assert several.sentence.startswith(
        "the gate fails in 2 of 3 comparisons; at the lowest difference, new0 is worse than old"
    )


def test_an_unknown_rule_is_refused():
    words = "rule='superior': give one of harm, non-inferior"
    refused(words, gated, table((0.0, 1.0)), LEVEL, MARGIN, "superior")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Judgements of 30 topics, and runs: old, the same but for one topic (new), the reverse (bad),
    other topics.
    """
    monkeypatch.chdir(tmp_path)
    topics = [f"q{i}" for i in range(30)]
    judged = {q: {f"d{j}": j % 4 for j in range(8)} for q in topics}
    old = {q: {f"d{j}": float((3 * j + i) % 8) for j in range(8)} for i, q in enumerate(topics)}
    runs = {
        "old": old,
        "new": {**old, "q0": judged["q0"]},
        "bad": {q: {d: -grade for d, grade in grades.items()} for q, grades in judged.items()},
        "first": {q: old[q] for q in topics[:15]},
        "last": {q: old[q] for q in topics[15:]},
        "few": {q: old[q] for q in topics[:14]},
    }
    write_trec(tmp_path, judged, runs)
    (tmp_path / "new.txt").write_text(
        (tmp_path / "new.txt").read_text().replace(" new\n", " n<e>w|\n")
    )
    return ("gate", "qrels.txt", "old.txt"), (
        "--min-difference",
        "-0.005",
        "--level",
        ".9",
        "--resamples",
        "500",
    )


def test_exit_status(dcglearn, files):
    gate, options = files
    for (run, wanted), rule in product((("new", 0), ("bad", 1)), ("harm", "non-inferior")):
        status, out, err = dcglearn(*gate, f"{run}.txt", *options, "--rule", rule)
        assert (status, err) == (wanted, "") and f"gate {'fails' if wanted else 'passes'}" in out
    assert "gate" not in dcglearn("compare", *gate[1:], "bad.txt")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("first.txt", "last.txt", "--baseline", "first"), "last and first share no judged topic"),
        (("few.txt",), "few has 14 of the 30 judged topics: it did not run"),
        (("few.txt", "--baseline", "few"), "few has 14 of the 30 judged topics"),
        (("new.txt", "--min-difference", "nan"), "min_difference=nan must be a finite number"),
        (("new.txt", "--rule", "superior"), "--rule"),
        (("new.txt", "--junit", "/nowhere/report.xml"), "does not exist"),
        (("nothing.txt",), "nothing.txt does not exist"),
        ((), "two systems"),
    ],
)
def test_bad_input_is_status_2(misuse, files, words, message):
    misuse(message, *files[0], *words)


def unmeasured(judged):
    """Return judgements and metrics by which nothing is measured, and a run that has no judged
    document.
    """
    zeros = {q: dict.fromkeys(part, 0) for q, part in judged.items()}
    return [
        (zeros, "nDCG@10"),
        (zeros, "ERR"),
        (zeros, "RPP"),
        (zeros, dl.DCG([0, 1, 3], [1, 0.5])),
        (judged, dl.DCG([1, 1, 1, 1], [1, 0.5])),
        (judged, dl.DCG([0, 1, 2, 3], [0, 0])),
        (judged, "binary5-log2@3"),
        ({q: {"other": 3} for q in judged}, "nDCG@10"),
        ({q: {"other": 3} for q in judged}, "RPP"),
        (
            {q: {f"d{j}": 3 * (j > 5) for j in (2, 6, 7)} for q in judged},
            "nDCG@2",
        ),  # ranked below the depth
    ]


JUDGED = {f"q{i}": {f"d{j}": j % 4 for j in range(8)} for i in range(5)}
BELOW = {q: {f"d{j}": float(j in (0, 1)) for j in range(8)} for q in JUDGED}


@pytest.mark.filterwarnings("ignore::dcglearn.ScaleWarning")
@pytest.mark.parametrize("case", range(10))
def test_a_gate_that_measured_nothing_stops(case):
    judged, metric = unmeasured(JUDGED)[case]
    for metrics in (metric, {"m": metric} if metric != "RPP" else [metric]):
        comparison = dl.compare_systems(
            judged, {"old": BELOW, "new": BELOW}, metrics, n_resamples=100
        )
        refused("measures nothing of new and old: in each of the 5 topics", comparison.gate)
        assert comparison.sentence.startswith("nothing was compared, since no query counts: check")
        assert "queries that count: 0 of 5" in " ".join(comparison.notes)


def test_the_gate_says_how_many_topics_count():
    runs = {"old": BELOW, "new": BELOW}
    whole = dl.compare_systems(JUDGED, runs, ["nDCG@10", "RPP"], n_resamples=100)
    assert whole.gate().passed and "; 5 of 5 topics count)" in whole.gate().sentence
    assert whole.gate().table["n_measured"].to_list() == [5, 5]
    assert "ueries that count" not in str(whole)
    part = {**JUDGED, "q0": {"d0": 0}, "q1": {"other": 3}}
    for words in ("nDCG@10", "ERR@10", "RPP"):
        comparison = dl.compare_systems(part, runs, words, n_resamples=100)
        gate = comparison.gate()
        assert gate.passed and gate.verdicts[0].n_measured == 3
        assert (
            "; 3 of 5 topics count)" in str(gate)
            and "In topics that do not count, every judged document" in gate.to_markdown()
        )
        assert "ueries that count: 3 of 5; in the others every judged" in str(comparison)
    assert gate.to_dict()["table"][0]["n_measured"] == 3 and gate.to_dict()["passed"]
    one = {
        **runs,
        "new": {q: {"other": 1.0} for q in JUDGED},
    }  # only the old run has judged documents
    assert not dl.compare_systems(JUDGED, one, n_resamples=100).gate(-0.001).passed
    harm = dl.compare_systems(JUDGED, runs, dl.DCG([-1, 0, 0, 0], [1, 0.5]), n_resamples=100)
    assert harm.gate().verdicts[0].n_measured == 5


def test_measures_of_ir_measures_count_topics_too():
    pytest.importorskip("ir_measures")
    runs = {"old": BELOW, "new": BELOW}
    deep = dl.compare_systems(JUDGED | {"q0": {"d0": 0}}, runs, ["nDCG@1", "AP"], n_resamples=100)
    assert [row.n_measured for row in deep.gate().verdicts] == [4, 4]
    zeros = {q: dict.fromkeys(part, 0) for q, part in JUDGED.items()}
    refused("AP measures nothing", dl.compare_systems(zeros, runs, "AP", n_resamples=100).gate)


def test_the_command_stops_where_nothing_is_measured(dcglearn, files, tmp_path):
    gate, options = files
    lines = (tmp_path / "qrels.txt").read_text().splitlines()
    (tmp_path / "qrels.txt").write_text("".join(f"{line.rsplit(' ', 1)[0]} 0\n" for line in lines))
    status, out, err = dcglearn(*gate, "new.txt", *options)
    assert (
        status == 2
        and "gate" not in out
        and "in each of the 30 topics every judged document is worth" in err
    )
    assert dcglearn("compare", *gate[1:], "new.txt")[0] == 0


def test_equal_runs_pass_on_good_judgements(dcglearn, files, tmp_path):
    (tmp_path / "same.txt").write_text(
        (tmp_path / "old.txt").read_text().replace(" old\n", " same\n")
    )
    status, out, _ = dcglearn(*files[0], "same.txt", *files[1])
    assert status == 0 and "; 30 of 30 topics count)" in out


def test_only_topics_that_the_other_run_has_stop_the_gate(dcglearn, files):
    gate, options = files
    assert dcglearn(*gate, "few.txt", *options, "--missing", "skip")[0] == 0
    assert dcglearn(*gate, "first.txt", *options)[0] == 1  # half of them is not most
    lines = dcglearn("compare", *gate[1:], "few.txt")[1].splitlines()
    assert lines[-1] == "- Judged queries that a run lacks count as 0: 16 of few."
    lines = dcglearn("compare", *gate[1:], "first.txt")[1].splitlines()
    assert lines[-1] == "- Judged queries that a run lacks count as 0: 15 of first."
    lines = dcglearn("compare", *gate[1:], "first.txt", "--missing", "skip")[1].splitlines()
    assert lines[-1] == "- Judged queries that a run lacks are left out: 15 of first."
    assert dcglearn("gate", "qrels.txt", "few.txt", "first.txt", *options)[0] == 0


def test_a_junit_report(dcglearn, files, tmp_path):
    gate, options = files
    metrics = ("--metric", "nDCG@5", "--metric", "exponential-log2@5")
    report = ("--junit", "report.xml")
    status, _, err = dcglearn(*gate, "new.txt", "bad.txt", *options, *metrics, *report)
    assert (status, err) == (1, "wrote: report.xml\n")
    suites = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert (suites.tag, suites.get("tests"), suites.get("failures")) == ("testsuites", "4", "2")
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == [
        "bad against old: nDCG@5",
        "bad against old: exponential-log2@5",
    ]
    failure = cases["bad against old: nDCG@5"].find("failure")
    assert failure.get("type") == "worse" and "bad is worse than old" in failure.get("message")
    assert (
        "n<e>w| is not worse than old"
        in cases["n<e>w| against old: nDCG@5"].find("system-out").text
    )
    assert {item.get("name") for item in suites.iter("property")} == {
        "rule",
        "min_difference",
        "level",
    }


def test_forms_of_the_decision(dcglearn, files):
    gate, options = files
    status, out, err = dcglearn(*gate, "new.txt", *options, "--format", "markdown")
    assert (status, err) == (0, "") and "| --- |" in out and "The gate passes: " in out
    assert r"n\<e\>w\| is not worse" in out
    status, out, err = dcglearn(*gate, "bad.txt", *options, "--format", "jsonl")
    assert json.loads(out)["verdict"] == "worse" and "The gate fails" in err
    status, out, err = dcglearn(*gate, "bad.txt", *options, "-o", "table.txt")
    assert out == "" and "The gate fails" in err and "wrote: table.txt" in err
    plain = dcglearn("compare", *gate[1:], "bad.txt", "--format", "csv")[1]
    assert "verdict" not in plain


HOSTILE = "<img_src=x_onerror=alert(1)>[x](javascript:alert(1))|&lt;~"


def test_names_are_no_markup_in_markdown(dcglearn, files, tmp_path):
    (tmp_path / "evil.txt").write_text(
        (tmp_path / "old.txt").read_text().replace(" old\n", f" {HOSTILE}\n")
    )
    for decided, command in enumerate(("compare", "gate")):
        words = (*files[0][1:], "evil.txt", "--format", "markdown")
        status, out, _ = dcglearn(command, *words)
        rows = [line for line in out.splitlines() if line.startswith("| ")]
        assert status == 0 and len(rows) == 3 * (1 + decided)
        assert {len(re.split(r"(?<!\\)\|", row)) for row in rows[:3]} == {10}
        assert not re.search(r"(?<!\\)[<>\[\]&~]", out)
    frame = pl.DataFrame({"query": ["q", "q"], "document": ["a", "b"], "score": [1.0, 0.5]})
    judged = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    both = [dl.evaluation.Run(frame, "two\nlines | `of`"), dl.evaluation.Run(frame, "b")]
    assert (
        r"| two\\nlines \| \`of\` |" in dl.compare_systems(judged, both, baseline="b").to_markdown()
    )


def test_both_outcomes_on_the_runs_of_trec_deep_learning(shared):
    folder, names = shared / "trec_dl2021_passage", ("pash_f1", "pash_f2", "watpfp")
    judged = dl.read_judgements(folder / "qrels-pass.txt")
    runs = [run for run in dl.read_runs(folder / "runs_judged53.txt.xz") if run.name in names]
    settings = {"baseline": "pash_f1", "level": LEVEL, "n_resamples": 2000}
    comparison = dl.compare_systems(judged, runs, "nDCG@10", **settings)
    verdicts = {row.run: row for row in comparison.gate(MARGIN).verdicts}
    assert (verdicts["watpfp"].verdict, verdicts["watpfp"].passed) == ("worse", False)
    assert (verdicts["pash_f2"].verdict, verdicts["pash_f2"].passed) == ("not worse", True)
    assert verdicts["watpfp"].n_topics == verdicts["watpfp"].n_shared == 53
    assert comparison.gate(-0.5, "non-inferior").passed


def test_the_example_workflow_runs_the_gate(dcglearn, files):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / "examples" / "gate.yml").read_text())
    steps = workflow["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if step.get("run", "").startswith("dcglearn gate")]
    words = shlex.split(command.replace("\\\n", " ").partition(">>")[0])[1:]
    status, out, _ = dcglearn(*words)
    assert status == 0 and "The gate passes: " in out
    assert dcglearn(*[word.replace("new.txt", "bad.txt") for word in words], "--force")[0] == 1


def test_a_list_utility_is_compared_and_gated_as_its_dcg():
    judged = {f"q{i}": {f"d{j}": (i + j) % 3 for j in range(5)} for i in range(10)}
    worst_first = {q: {d: -float(g) for d, g in docs.items()} for q, docs in judged.items()}
    runs = {"old": judged, "new": worst_first}
    dcg = dl.DCG([0.0, 0.4, 1.0], [1.0, 0.5, 0.25])
    metrics = (dcg, dl.ListUtility.of_dcg(dcg))
    gates = [dl.compare_systems(judged, runs, metric, n_resamples=200).gate() for metric in metrics]
    assert [gate.verdicts[0].verdict for gate in gates] == ["worse", "worse"]
    assert gates[0].verdicts[0].difference == pytest.approx(
        gates[1].verdicts[0].difference, abs=1e-12
    )
