"""``learn`` and ``audit`` tell the same of one log."""

import json
from pathlib import Path

import polars as pl
import pytest

import dcglearn as dl
from dcglearn.audits.inputs import Inputs
from dcglearn.cli import learn_report
from tests.makers import simulated_log
from tests.test_matrix import LOGS

EXAMPLE = Path(__file__).parents[2] / "examples" / "side_by_side.jsonl"


def test_one_log_has_the_same_bands_and_sentences_in_both(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    simulated_log(80).save(log)
    learned = json.loads(dcglearn("learn", log, "--bands", 200, "--json")[1])
    audited = json.loads(dcglearn("audit", log, "--json")[1])

    assert audited["curves"]["bands"]["table"] == learned["bands"]["table"]
    assert learned["sentences"]["how sure"] == learned["bands"]["sentence"]
    assert learned["bands"]["sentence"] in audited["curves"]["notes"]

    # what was learned, and what the log cannot tell
    for name in ("learned", "left open"):
        assert audited[name]["sentence"] == learned["sentences"][name]
    assert {"gain", "discount"} < {*audited["learned"]["table"][0]}
    (mixed,) = [note for note in audited["learned"]["notes"] if "it is a mean" in note]
    largest = max(learned["members"], key=lambda member: member["weight"])
    assert f"{largest['weight']:.0%}" in mixed and largest["weight"] < 0.99


def test_verdicts_are_wrong_at_least_as_often_as_where_one_list_is_far_better(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    truth = dl.simulate.ground_truth("D1")
    dl.simulate.preference_pairs(truth, 40, lists="free", n_flips=6, random_state=1).save(log)
    learned = json.loads(dcglearn("learn", log, "--json")[1])
    assert learned["members"][0]["weight"] < 0.9
    assert learned["wrong_share"] > learned["error_rate"] > 0


def test_the_seed_is_also_that_of_the_weights(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    dl.read_preferences(EXAMPLE)[:40].save(log)
    weights = []
    for seed in (0, 1):
        learned = json.loads(dcglearn("learn", log, "--seed", seed, "--json")[1])
        weights.append(learned["members"][0]["weight"])
        fitted = dl.DCGLearner(random_state=seed).fit(dl.read_preferences(log))
        assert fitted.members_[0].weight == pytest.approx(weights[-1], rel=1e-9)
        audited = Inputs.of(dl.read_preferences(log), "exponential-log2", seed)
        assert audited.fit.members[0].weight == pytest.approx(weights[-1], rel=1e-9)
    assert abs(weights[0] - weights[1]) > 1e-3


KINDS = ("plain", "ties", "weights", "one rater", "segments and times", "rated lists", "six pairs")


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_held_out_judgements_are_told_of_in_both(dcglearn, tmp_path, kind):
    path, log = tmp_path / "log.jsonl", LOGS[kind]()
    ratings = log.ratings is not None
    if ratings:
        counts = {name: getattr(log.ratings, name) for name in ("group", "rating", "weight")}
        pl.DataFrame({"list": log.ratings.lists[log.ratings.list], **counts}).write_ndjson(path)
    else:
        log.save(path)
    options = (path, *["--ratings"] * ratings, "--baseline", "linear-log2", "--grades", 4)
    options += ("--seed", 1, "--json")
    learned = json.loads(dcglearn("learn", *options)[1])
    audited = json.loads(dcglearn("audit", *options)[1])

    # the audit takes calibration apart
    held_out = audited["held_out"]
    assert learned["sentences"]["new judgements"] == held_out["sentence"]
    if kind == "six pairs":
        assert "held_out" not in learned and "too few" in held_out["sentence"]
        return
    apart = {"calibration", "notes"}
    assert {name for name in held_out if learned["held_out"][name] != held_out[name]} <= apart
    assert learned["held_out"]["calibration"] == audited["as sure as said?"]
    assert set(held_out["notes"]) < set(learned["held_out"]["notes"])


@pytest.mark.parametrize("kind", ["example", "six pairs"])
def test_shares_of_people_are_by_the_same_judges_in_both(dcglearn, tmp_path, kind):
    log = EXAMPLE
    n_drawn = 1000
    if kind == "six pairs":
        # too few to hold any out: the prior, and no draws
        log, n_drawn = tmp_path / "log.jsonl", 0
        LOGS[kind]().save(log)
    audited = Inputs.of(dl.read_preferences(log), "exponential-log2", 0).learned.judges.to_dict()
    assert 0 < audited["slope"] < 1 and 0 < audited["slope_error"] <= 0.15
    assert len((audited["draws"] or {"scale": []})["scale"]) == n_drawn
    for options in (), ("--bands", 20):
        learned = json.loads(dcglearn("learn", log, *options, "--json")[1])
        assert learned["dcg"]["judges"] == audited


def test_a_sample_stands_for_a_long_log_unless_calibration_is_asked_for(
    dcglearn, tmp_path, monkeypatch
):
    log = tmp_path / "log.jsonl"
    simulated_log(120).save(log)
    monkeypatch.setattr(learn_report, "MEASURED", 60)
    for options, n in ((), 60), (("--calibrate",), 120):
        learned = json.loads(dcglearn("learn", log, *options, "--json")[1])
        assert learned["held_out"]["n_held_out"] == n
        assert f"of {n:,} held-out pairs" in learned["sentences"]["new judgements"]


def test_what_was_not_measured_is_told_with_options_that_are_taken(dcglearn, tmp_path, inputs):
    for options, method in ((), ()), (("--method", "qp"), ("--method", "dcg")):
        learned = json.loads(dcglearn("learn", "log.jsonl", *options, "--json")[1])
        remedy = learned["sentences"]["how sure"].partition("; ")[2].partition(" gives")[0]
        assert remedy.split() == [*method, "--bands", "200"]
        assert dcglearn("learn", "log.jsonl", *remedy.split())[0] == 0


def test_what_the_quadratic_programme_learned_is_told_on_the_scale_of_other_gains(dcglearn, here):
    simulated_log(60, "permutations").save("log.jsonl")
    options = ("learn", "log.jsonl", "--method", "qp", "--holdout", "0.3")
    learned = json.loads(dcglearn(*options, "--json")[1])
    gains = learned["dcg"]["gains"]
    assert gains[0] == 0 and gains[-1] == 1
    assert "(gain): grade 4: 1.00, " in learned["sentences"]["learned"]
    assert "gains are divided by " in str(learned["dcg"]["notes"])

    # its factors are the first row, so no other row of them is explained
    assert "QP utility: the paper's weights" in str(learned["held_out"]["notes"])
    assert "QP + SVD" not in str(learned["held_out"])


def test_numbers_bear_the_names_of_grades_everywhere(dcglearn, here):
    log = dl.simulate.preference_pairs(
        dl.DCG([0, 0.3, 1], [1, 0.6, 0.4]), 60, lists="free", random_state=0
    )
    log.changed(grade_names=("Bad", "So so", "Good")).save("log.jsonl")
    asked = ("--bands", 20, "--what-if", "gain of grade 1 < 0.9", "-o", "dcg.json")
    texts = [dcglearn("learn", "log.jsonl", *asked, "-v")[1]]
    texts += [dcglearn("audit", "log.jsonl", "-o", "audit.md")[1], (here / "audit.md").read_text()]
    assert not any("gain of grade" in text for text in texts)
    assert "gain of So so" in texts[0] and "gain of So so" in texts[2]
    assert "that the gain of So so is below 0.9" in texts[0]


def test_of_fewer_judgements_than_numbers_no_share_is_told(dcglearn, here):
    texts = []
    for n in (5, 60):
        simulated_log(n, "permutations").save("log.jsonl", force=True)
        texts.append(dcglearn("learn", "log.jsonl", "-o", "dcg.json", "--force", "-v")[1])
    for words in ("% of the verdicts name the worse list", "It is a mean"):
        assert [words in text for text in texts] == [False, True]


def test_ratings_are_counted_as_ratings(dcglearn, here):
    lines = ["list,user,rating"]
    lines += [f"{a} {b},u{user},{2 * a + b}" for user in range(4) for a in (0, 1) for b in (0, 1)]
    (here / "ratings.csv").write_text("\n".join(lines))
    options = ("--ratings", "-o", "dcg.json", "--report-out", "report.txt")
    assert (
        "read: 16 ratings as 24 pairs, 4 raters; " in dcglearn("learn", "ratings.csv", *options)[1]
    )
    assert (here / "report.txt").read_text().startswith("What 16 ratings say of gains")


def test_what_is_contradicted_or_left_out_is_told_in_both(dcglearn, here):
    lists = [([2, 0, 1], [0, 1, 0]), ([2, 2, 0], [1, 0, 2]), ([0, 1, 2], [2, 1, 0])]
    pairs = [pair for pair in lists for _ in range(12)] + [(b, a) for a, b in lists]
    dl.Preferences(*zip(*pairs, ([1, 1, 1], [1, 1, 1]), strict=True)).save("log.jsonl")
    learned = dcglearn("learn", "log.jsonl", "-v", "-o", "dcg.json")[1]
    assert dcglearn("audit", "log.jsonl", "-o", "audit.md")[0] == 0
    for text in (learned, (here / "audit.md").read_text()):
        assert "ontradicted: 3 pairs, 7.5% of those with a winner, say the opposite" in text
        assert "eft out: 1 pair of equal lists" in text
