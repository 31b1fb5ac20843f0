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
from dcglearn.evaluation.paired_tests import plain_tests
from tests.makers import refused, unpacked, write_trec
from tests.tables import table

ROOT = Path(__file__).parents[2]
MARGIN, LEVEL, TOPICS, SPREAD = -0.005, 0.9, 53, 0.1


def decided(differences, margin=0.0, rule="harm", level=LEVEL, **facts):
    """Return the gate's decision on differences of topics."""
    differences = np.asarray(differences, dtype=float)
    n = len(differences)
    row = {"run": "new", "baseline": "old", "measure": "nDCG@10"}
    tests = plain_tests(np.stack([differences, differences]), level, 999, 0)
    counts = dict.fromkeys(("n_topics", "n_shared", "n_run", "n_baseline", "n_measured"), n)
    return gated([row | tests | counts | facts], [differences], level, margin, rule)


def with_mean(mean, n=TOPICS):
    """Return differences of this mean whose spread is `SPREAD`."""
    values = np.random.default_rng(0).normal(size=n)
    return mean + SPREAD * (values - values.mean()) / values.std(ddof=1)


REACH = 1.6747 * SPREAD / TOPICS**0.5
"""Half the 90% interval of `with_mean`: Student's t with 52 degrees of freedom."""


@table(
    ("mean", "harm", "non_inferior"),
    [
        (MARGIN - 1.1 * REACH, "fail", "fail"),
        (MARGIN - 0.9 * REACH, "pass", "unknown"),
        (MARGIN, "pass", "unknown"),
        (MARGIN + 0.9 * REACH, "pass", "unknown"),
        (MARGIN + 1.1 * REACH, "pass", "pass"),
    ],
)
def test_decisions_by_hand(mean, harm, non_inferior):
    for rule, answer in (("harm", harm), ("non-inferior", non_inferior)):
        gate = decided(with_mean(mean), MARGIN, rule)
        assert (gate.answer, gate.passed) == (answer, answer == "pass")
        assert gate.status == {"pass": 0, "fail": 1, "unknown": 3}[answer]
        assert gate.sentence.startswith(f"{answer}: ")
        assert "a probability of at most 0.05" in gate.notes[0]
        assert gate.table["low"][0] == pytest.approx(mean - REACH, abs=1e-5)


KINDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "half zeros": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.5),
    "signs": lambda rng, n: rng.choice([-1.0, 0.0, 0.0, 0.0, 1.0], n),
    "outlier": lambda rng, n: rng.normal(size=n) * np.where(np.arange(n) == 0, 10, 1),
}


def shares(kind, n, n_gates, shift=0.0, level=0.95):
    """Return how often gates on n topics fail, and pass as non-inferior, at a true difference."""
    rng = np.random.default_rng([n, n_gates, len(kind)])
    answers = []
    for _ in range(n_gates):
        differences = KINDS[kind](rng, n) + shift
        gates = (decided(differences, 0.0, rule, level) for rule in ("harm", "non-inferior"))
        answers.append([gate.answer for gate in gates])
    harm, non_inferior = zip(*answers, strict=True)
    return harm.count("fail") / n_gates, non_inferior.count("pass") / n_gates


@table("kind", KINDS)
@table("n", [2, 5, 6, 10])
def test_a_system_beside_itself_fails_no_more_often_than_printed(kind, n):
    for share in shares(kind, n, 200):
        assert share <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 200)
        assert n >= 6 or share == 0


@pytest.mark.long
@table("kind", KINDS)
@table("n", [2, 6, 10, 16, 50])
def test_a_thousand_systems_beside_themselves_fail_no_more_often_than_printed(kind, n):
    for share in shares(kind, n, 1000):
        assert share <= 0.025 + 2.5 * np.sqrt(0.025 * 0.975 / 1000)


def test_the_detectable_difference_is_detected_four_times_in_five():
    delta = detectable_difference(1.0, TOPICS, LEVEL)
    assert abs(shares("normal", TOPICS, 120, -delta, LEVEL)[0] - 0.8) < 3 * np.sqrt(0.16 / 120)
    assert abs(shares("normal", TOPICS, 120, delta, LEVEL)[1] - 0.8) < 3 * np.sqrt(0.16 / 120)
    assert detectable_difference(0.0, TOPICS, LEVEL) is None
    assert detectable_difference(SPREAD, 2, LEVEL) is None


def test_few_topics_decide_nothing():
    for level, fewest in ((0.9, 5), (0.95, 6), (0.99, 8), (0.5, 2)):
        losses = -np.linspace(1, 1.01, fewest)
        for rule in ("harm", "non-inferior"):
            assert decided(losses, 0.0, rule, level).answer == "fail"
            gate = decided(losses[1:], 0.0, rule, level)
            assert gate.status == 3 and f"it takes {fewest}" in gate.sentence
            counted = decided(losses, 0.0, rule, level, n_measured=fewest - 1)
            assert counted.answer == "unknown"


def test_differences_without_spread_have_no_t_but_signs():
    gate = decided(np.full(4, -0.3691), level=0.95)
    row = gate.table.row(0, named=True)
    assert gate.answer == "unknown" and "no interval" in gate.sentence
    assert (row["low"], row["high"], row["detectable"]) == (None, None, None)
    assert row["p_worse"] == 2**-4 and row["p_better"] == 1
    assert decided(np.full(6, -0.3691), level=0.95).answer == "fail"
    equal = decided(np.zeros(30))
    assert equal.answer == "pass" and "nobody can say how large a loss may go unseen" in str(equal)
    assert decided(np.zeros(30), -0.01, "non-inferior").answer == "pass"


def test_words_say_what_may_go_unseen_and_the_rule():
    harm = decided(with_mean(0.0, 25), level=0.95)
    reach = detectable_difference(SPREAD, 25, 0.95)
    unseen = re.match(
        r"pass: no harm shown: with 25 topics a loss below ([\d.]+) may go unseen; about "
        r"([\d,]+) topics would show ([\d.]+) \(new against old under nDCG@10: difference",
        harm.sentence,
    )
    loss, n, smaller = (float(word.replace(",", "")) for word in unseen.groups())
    assert loss == pytest.approx(reach, abs=0.005)
    assert n == pytest.approx(25 * (reach / smaller) ** 2, rel=0.05)
    assert "one-sided" in str(harm) and "with a probability of at most 0.025" in str(harm)

    lenient = decided(with_mean(0.0), MARGIN).sentence
    assert lenient.startswith("pass: no harm beyond a loss of 0.005 shown: with 53 topics a loss")
    better = decided(with_mean(0.1)).sentence
    assert better.startswith("pass: new is shown not to be worse than old (new against old under")
    strict = decided(with_mean(0.0), 0.01).sentence
    assert strict.startswith("pass: new is not shown to be less than 0.01 better than old (")
    open_answer = decided(with_mean(0.0), MARGIN, "non-inferior")
    assert open_answer.sentence.startswith(
        "unknown: new is neither shown to be worse than old by more than 0.005 nor shown not to be"
    )
    other = decided(with_mean(0.1), MARGIN, "non-inferior", n_shared=50)
    assert other.sentence.startswith(
        "pass: new is shown not to be worse than old by more than 0.005 (new against old under"
    )
    assert "opics that are not in both runs count as 0" in str(other)


def test_an_unknown_rule_and_a_missing_margin_are_refused():
    words = "rule='superior': give one of harm, non-inferior"
    refused(words, decided, with_mean(0.0), MARGIN, "superior")
    refused("non-inferior needs a margin", decided, with_mean(0.0), None, "non-inferior")


def test_several_verdicts_give_the_worst_answer():
    judged = {f"q{i}": {"a": 1, "b": 0} for i in range(30)}
    right, wrong = ({q: {"a": s, "b": -s} for q in judged} for s in (1.0, -1.0))
    half = {q: run[q] for q, run in zip(judged, [right, wrong] * 15, strict=True)}
    runs = {"old": half, "better": right, "worse": wrong, "same": half}
    gate = dl.compare_systems(judged, runs, "nDCG@2").gate()
    assert gate.table["verdict"].to_list() == ["pass", "fail", "pass"]
    assert gate.answer == "fail"
    assert gate.sentence.startswith(
        "fail: 1 of 3 comparisons; at the lowest difference, worse is shown to be worse than old"
    )
    release = dl.compare_systems(judged, runs, "nDCG@2").gate(-0.1, "non-inferior")
    assert release.table["verdict"].to_list() == ["pass", "fail", "pass"]


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
    return ("gate", "qrels.txt", "old.txt"), ("--min-difference", "-0.005", "--level", ".9")


def test_exit_status(dcglearn, files):
    gate, options = files
    margins = {"harm": "-0.005", "non-inferior": "-0.02"}
    for (run, wanted), (rule, margin) in product((("new", 0), ("bad", 1)), margins.items()):
        words = (f"{run}.txt", *options[2:], "--rule", rule, "--min-difference", margin)
        status, out, err = dcglearn(*gate, *words)
        assert (status, err) == (wanted, "") and out.startswith("Fail: " if wanted else "Pass: ")
    assert "Fail: " not in dcglearn("compare", *gate[1:], "bad.txt")[1]
    few = dcglearn(*gate, "new.txt", *options[:2], "--rule", "non-inferior", "--level", ".99")
    assert few[0] == 3 and few[1].startswith("Unknown: ")


def test_the_metric_that_nobody_names_is_that_of_learn_and_audit(dcglearn, files):
    gate, options = files
    usual = dcglearn(*gate, "new.txt", *options)[1]
    assert " under exponential-log2@10, the usual nDCG: difference " in usual
    assert usual == dcglearn(*gate, "new.txt", *options, "--metric", "exponential-log2@10")[1]


def test_a_run_without_a_judged_topic_is_bad_input(misuse, files, tmp_path):
    gate, options = files
    text = (tmp_path / "old.txt").read_text().replace("q", "x").replace(" old\n", " other\n")
    (tmp_path / "other.txt").write_text(text)
    message = "run other has no query of the 30 that are judged: do the names"
    misuse(message, *gate, "other.txt", *options)
    misuse(message, "compare", *gate[1:], "other.txt")


def test_runs_that_share_no_topic_decide_nothing(dcglearn, files):
    _, options = files
    for rule in ("harm", "non-inferior"):
        words = ("gate", "qrels.txt", "first.txt", "last.txt", "--rule", rule, *options)
        status, out, _ = dcglearn(*words)
        assert status == 3 and "Unknown: last and first share no judged topic; check" in out


@table(
    ("words", "message"),
    [
        (("few.txt",), "few has 14 of the 30 judged topics: it did not run"),
        (("new.txt", "--min-difference", "nan"), "min_difference=nan must be a finite number"),
        (("new.txt", "--rule", "superior"), "--rule"),
        (("new.txt", "--rule", "non-inferior"), "non-inferior needs a margin"),
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
        (zeros, dl.DCG([0, 1, 3], [1, 0.5])),
        (judged, dl.DCG([1, 1, 1, 1], [1, 0.5])),
        (judged, dl.DCG([0, 1, 2, 3], [0, 0])),
        (judged, "binary5-log2@3"),
        ({q: {"other": 3} for q in judged}, "nDCG@10"),
        (
            {q: {f"d{j}": 3 * (j > 5) for j in (2, 6, 7)} for q in judged},
            "nDCG@2",
        ),  # ranked below the depth
    ]


JUDGED = {f"q{i}": {f"d{j}": j % 4 for j in range(8)} for i in range(10)}
BELOW = {q: {f"d{j}": float(j in (0, 1)) for j in range(8)} for q in JUDGED}


@pytest.mark.filterwarnings("ignore::dcglearn.evaluation.ScaleWarning")
@table("case", range(8))
def test_a_gate_that_measured_nothing_is_unknown(case):
    judged, metric = unmeasured(JUDGED)[case]
    for metrics in (metric, {"m": metric}):
        comparison = dl.compare_systems(
            judged, {"old": BELOW, "new": BELOW}, metrics, n_resamples=100
        )
        gate = comparison.gate()
        assert gate.status == 3
        assert "measures nothing of new and old in 10 topics: every judged" in gate.sentence
        assert comparison.sentence.startswith("nothing was compared, since no query counts: check")
        assert "queries that count: 0 of 10" in " ".join(comparison.notes)


def test_the_gate_says_how_many_topics_count():
    runs = {"old": BELOW, "new": BELOW}
    whole = dl.compare_systems(JUDGED, runs, ["nDCG@10", "ERR@10"], n_resamples=100)
    assert whole.gate().passed and ", 10 of 10 topics count)" in whole.gate().sentence
    assert whole.gate().table["n_measured"].to_list() == [10, 10]
    assert "ueries that count" not in str(whole)
    part = {**JUDGED, "q0": {"d0": 0}, "q1": {"other": 3}}
    for words in ("nDCG@10", "ERR@10"):
        comparison = dl.compare_systems(part, runs, words, n_resamples=100)
        gate = comparison.gate()
        assert gate.passed and gate.table["n_measured"][0] == 8
        assert (
            ", 8 of 10 topics count)" in str(gate)
            and "In topics that do not count, every judged document" in gate.to_markdown()
        )
        assert "ueries that count: 8 of 10; in the others every judged" in str(comparison)
    assert gate.to_dict()["table"][0]["n_measured"] == 8 and gate.to_dict()["passed"]
    one = {
        **runs,
        "new": {q: {"other": 1.0} for q in JUDGED},
    }  # only the old run has judged documents
    assert not dl.compare_systems(JUDGED, one, n_resamples=100).gate(-0.001).passed
    harm = dl.compare_systems(JUDGED, runs, dl.DCG([-1, 0, 0, 0], [1, 0.5]), n_resamples=100)
    assert harm.gate().table["n_measured"][0] == 10


def test_measures_of_ir_measures_count_topics_too():
    pytest.importorskip("ir_measures")
    runs = {"old": BELOW, "new": BELOW}
    deep = dl.compare_systems(JUDGED | {"q0": {"d0": 0}}, runs, ["nDCG@1", "AP"], n_resamples=100)
    assert deep.gate().table["n_measured"].to_list() == [9, 9]
    zeros = {q: dict.fromkeys(part, 0) for q, part in JUDGED.items()}
    nothing = dl.compare_systems(zeros, runs, "AP", n_resamples=100).gate()
    assert nothing.status == 3 and "AP measures nothing" in nothing.sentence


def test_the_command_stops_where_nothing_is_measured(dcglearn, files, tmp_path):
    gate, options = files
    lines = (tmp_path / "qrels.txt").read_text().splitlines()
    (tmp_path / "qrels.txt").write_text("".join(f"{line.rsplit(' ', 1)[0]} 0\n" for line in lines))
    status, out, err = dcglearn(*gate, "new.txt", *options)
    assert (status, err) == (3, "")
    assert "in 30 topics: every judged document is worth" in out
    assert dcglearn("compare", *gate[1:], "new.txt")[0] == 0


def test_equal_runs_pass_on_good_judgements(dcglearn, files, tmp_path):
    (tmp_path / "same.txt").write_text(
        (tmp_path / "old.txt").read_text().replace(" old\n", " same\n")
    )
    status, out, _ = dcglearn(*files[0], "same.txt", *files[1])
    assert status == 0 and ", 30 of 30 topics count)" in out


def test_only_topics_that_the_other_run_has_stop_the_gate(dcglearn, misuse, files):
    gate, options = files
    assert dcglearn(*gate, "first.txt", *options)[0] == 1  # half of them is not most
    for name, n in (("few", 16), ("first", 15)):
        note = f"- Judged queries that a run lacks count as 0: {n} of {name}.\n"
        assert note in dcglearn("compare", *gate[1:], f"{name}.txt")[1]
    assert dcglearn("gate", "qrels.txt", "few.txt", "first.txt", *options)[0] == 0
    misuse("few has 14 of the 30 judged topics", "gate", "qrels.txt", "few.txt", "old.txt")

    # unless queries that a run lacks are left out, which is said
    kept = [
        dl.compare_systems("qrels.txt", ["old.txt", f"{name}.txt"], missing="skip")
        for name in ("few", "first")
    ]
    assert kept[0].gate(-0.005).passed
    assert "queries that a run lacks are left out: 15 of first." in str(kept[1])


def test_a_junit_report(dcglearn, files, tmp_path):
    gate, options = files
    metrics = ("--metric", "nDCG@5", "--metric", "exponential-log2@5")
    report = ("--junit", "report.xml")
    status, _, err = dcglearn(*gate, "new.txt", "bad.txt", *options, *metrics, *report)
    assert (status, err) == (1, "wrote: report.xml\n")
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()
    counts = [suite.get(name) for name in ("tests", "failures", "errors")]
    assert (suite.tag, counts) == ("testsuite", ["4", "2", "0"])
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == [
        "bad against old: nDCG@5",
        "bad against old: exponential-log2@5",
    ]
    failure = cases["bad against old: nDCG@5"].find("failure")
    assert failure.get("type") == "fail" and "bad is shown to be worse than old" in failure.get(
        "message"
    )
    assert (
        "pass: no harm beyond a loss of 0.005 shown"
        in cases["n<e>w| against old: nDCG@5"].find("system-out").text
    )


def test_forms_of_the_decision(dcglearn, files, tmp_path):
    gate, options = files
    status, out, err = dcglearn(*gate, "new.txt", *options, "-o", "new.md")
    assert (status, out) == (0, "") and "Pass: no harm" in err and "wrote: new.md" in err
    text = (tmp_path / "new.md").read_text()
    assert "| --- |" in text and r"n\<e\>w\| against old" in text
    status, out, err = dcglearn(*gate, "bad.txt", *options, "-o", "bad.json")
    assert (status, out) == (1, "") and "Fail: bad is" in err
    found = json.loads((tmp_path / "bad.json").read_text())
    assert [*found] == ["title", "decision", "comparison"]
    assert found["decision"]["table"][0]["verdict"] == "fail" and not found["decision"]["passed"]
    assert "verdict" not in found["comparison"]["table"][0]


HOSTILE = "<img_src=x_onerror=alert(1)>[x](javascript:alert(1))|&lt;~"


def test_names_are_no_markup_in_markdown(dcglearn, files, tmp_path):
    (tmp_path / "evil.txt").write_text(
        (tmp_path / "new.txt").read_text().replace(" n<e>w|\n", f" {HOSTILE}\n")
    )
    for command in ("compare", "gate"):
        path = tmp_path / f"{command}.md"
        assert dcglearn(command, *files[0][1:], "evil.txt", "-o", path)[0] == 0
        text = path.read_text()
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert len(rows) == 6
        for part in (rows[:3], rows[3:]):
            assert len({len(re.split(r"(?<!\\)\|", row)) for row in part}) == 1
        assert not re.search(r"(?<!\\)[<>\[\]&~]", text)
    frame = pl.DataFrame({"query": ["q", "q"], "document": ["a", "b"], "score": [1.0, 0.5]})
    judged = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    both = [dl.evaluation.Run(frame, "two\nlines | `of`"), dl.evaluation.Run(frame, "b")]
    assert (
        r"| two\\nlines \| \`of\` |" in dl.compare_systems(judged, both, baseline="b").to_markdown()
    )


def test_both_outcomes_on_the_runs_of_trec_deep_learning(shared, tmp_path):
    folder, names = shared / "trec_dl2021_passage", ("pash_f1", "pash_f2", "watpfp")
    judged = dl.read_judgements(folder / "qrels-pass.txt")
    runs = [
        run
        for run in dl.read_runs(unpacked(folder / "runs_judged53.txt.xz", tmp_path))
        if run.name in names
    ]
    settings = {"baseline": "pash_f1", "level": LEVEL, "n_resamples": 2000}
    comparison = dl.compare_systems(judged, runs, "nDCG@10", **settings)
    verdicts = comparison.gate(MARGIN).table.rows_by_key("run", named=True, unique=True)
    assert (verdicts["watpfp"]["verdict"], verdicts["pash_f2"]["verdict"]) == ("fail", "pass")
    assert verdicts["watpfp"]["n_topics"] == verdicts["watpfp"]["n_shared"] == 53
    assert comparison.gate(-0.5, "non-inferior").passed


def test_the_example_workflow_runs_the_gate(dcglearn, files):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / "examples" / "gate.yml").read_text())
    steps = workflow["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if step.get("run", "").startswith("dcglearn gate")]
    words = shlex.split(command.replace("\\\n", " "))[1:]
    status, _, err = dcglearn(*words)
    assert status == 0 and "Pass: no harm" in err
    assert dcglearn(*[word.replace("new.txt", "bad.txt") for word in words], "--force")[0] == 1
    assert "## Decision\n\nFail: bad is shown" in Path("decision.md").read_text()


def test_a_list_utility_is_compared_and_gated_as_its_dcg():
    judged = {f"q{i}": {f"d{j}": (i + j) % 3 for j in range(5)} for i in range(10)}
    worst_first = {q: {d: -float(g) for d, g in docs.items()} for q, docs in judged.items()}
    runs = {"old": judged, "new": worst_first}
    dcg = dl.DCG([0.0, 0.4, 1.0], [1.0, 0.5, 0.25])
    how = {"n_resamples": 200, "normalise": False}
    gates = [
        dl.compare_systems(judged, runs, metric, **how).gate()
        for metric in (dcg, dl.evaluation.ListUtility(dcg.gains, dcg.discounts))
    ]
    assert [gate.table["verdict"][0] for gate in gates] == ["fail", "fail"]
    assert gates[0].table["difference"][0] == pytest.approx(
        gates[1].table["difference"][0], abs=1e-12
    )
