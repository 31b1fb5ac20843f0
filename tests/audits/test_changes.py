"""What has changed since an earlier audit: said of logs that differ, and not of two like logs."""

import json

import numpy as np
import pytest

from dcglearn.audits.audit import audit
from dcglearn.audits.of_changes import Change, earlier_audit
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.preferences import Preferences
from tests.audits.makers import FLAT, judged
from tests.makers import refused


@pytest.fixture(scope="module")
def march():
    return audit(judged(120), "linear-log2")


def test_another_truth_is_a_change_beyond_chance(march):
    june = audit(judged(120, FLAT, seed=1), "linear-log2", before=march.to_dict())["changes"]
    assert june.sentence.startswith("since the audit of 20")
    assert "have changed beyond chance: " in june.sentence
    changed = {row["name"] for row in june["beyond"]}
    assert changed and changed < {row[0] for row in june.cells}
    assert len(june.pictures[0]["rows"]) == 2 * min(len(changed), 6)


def test_a_log_of_the_same_truth_has_not_changed(march):
    again = audit(judged(120, seed=2), "linear-log2", before=march.to_dict())["changes"]
    assert again.sentence.startswith("none of 6 numbers has changed beyond chance since the audit")
    assert again["beyond"] == [] and again.pictures == []


def test_the_agreement_of_raters_is_compared():
    lists, rater = judged(30), np.repeat(["ann", "bob"], 30)
    sides = [np.concatenate([side, side]) for side in (lists.preferred, lists.other)]
    log = Preferences(*sides, n_grades=4, rater=rater)
    march = audit(log, "linear-log2")
    changes = audit(log, "linear-log2", before=march.to_dict())["changes"]
    assert "agreement of raters (alpha)" in [row[0] for row in changes.cells]
    assert march["raters"].ordinal.value == 1


def test_what_cannot_be_compared_is_said(march):
    values = march.to_dict()
    other = audit(judged(120), "exponential-log2", before=values)["changes"]
    assert "the earlier audit is of another metric, so leads are not compared" in other.notes
    assert not any("lead" in row[0] for row in other.cells)
    none = {**values, "curves": {**values["curves"], "bands": None}}
    bare = audit(judged(120), "exponential-log2", before=none)["changes"]
    assert bare.sentence.startswith("nothing can be compared with the audit of")


def test_the_same_log_is_told_by_its_digest(march, tmp_path):
    march.save(tmp_path / "march.html")
    for before in (march, tmp_path / "march.html"):
        again = audit(judged(120), "linear-log2", before=before)["changes"]
        assert "both audits are of the same log" in again.notes
        assert not any("taken as independent" in note for note in again.notes)


def test_why_gains_and_discounts_cannot_be_compared_is_said(march):
    values = march.to_dict()
    few = audit(judged(12), "linear-log2", before=values)["changes"]
    assert few.sentence.endswith(
        ": this audit has no bands: the log holds 12 preferences between different lists, fewer "
        "than 20"
    )
    coins = {**values, "curves": {**values["curves"], "no_signal": True}}
    notes = audit(judged(120), "linear-log2", before=coins)["changes"].notes
    why = "by the earlier audit, no metric orders the judgements better than a coin"
    assert f"gains and discounts cannot be compared: {why}" in notes


def test_grades_with_names_are_compared_by_number_with_those_of_an_audit_without(march):
    named = judged(120).changed(grade_names=("Bad", "Fair", "Good", "Best"))
    june = audit(named, "linear-log2", before=march.to_dict())
    assert "gain of Fair" in [row[0] for row in june["changes"].cells]
    plain = audit(judged(120), "linear-log2", before=june)["changes"]
    assert "gain of Fair" in [row[0] for row in plain.cells]
    assert june["changes"]["beyond"] == plain["beyond"] == []

    # names that differ are other grades
    other = named.changed(grade_names=("Best", "Good", "Fair", "Bad"))
    note = "gains and discounts cannot be compared: the audits have other grades or another depth"
    assert note in audit(other, "linear-log2", before=june)["changes"].notes


def test_a_number_that_lies_furthest_out_is_found_by_odd_names_of_grades():
    names = ("3", "grade 2", "a < 0", "0")
    made = audit(judged(120, FLAT).changed(grade_names=names), "exponential-log2")
    assert "the gain of grade 2, a < 0" in made["curves"].sentence
    assert made["curves"]["furthest"]["parameter"] in made["deciding a number"].claim


@pytest.mark.parametrize("depth", [2, 3])
def test_audits_of_other_grades_are_not_compared(march, depth):
    steep = DCG([0, 0.1, 0.3, 0.6, 1], [1, 0.5, 0.3][:depth])
    changes = audit(judged(120, steep), "linear-log2", before=march)["changes"]
    assert "gain of grade 1" not in [row[0] for row in changes.cells]


@pytest.mark.parametrize("place", ["date", "judgements", "nan", "reversed", "outside", "large"])
def test_numbers_that_no_audit_has_are_refused(march, place):
    values = json.loads(json.dumps(march.to_dict()))
    row = values["curves"]["bands"]["table"][1]
    if place == "date":
        values["verdict"]["date"] = None
    elif place == "judgements":
        values["log"]["judgements"] = -3
    elif place == "nan":
        row["estimate"] = "nan"
    elif place == "outside":
        row["estimate"] = row["all_high"] + 0.1
    elif place == "large":
        row["estimate"], row["all_low"], row["all_high"] = 7, 6.5, 7.5
    else:
        row["all_low"], row["all_high"] = row["all_high"] + 1, row["all_low"]
    refused("the mapping: no numbers of an audit, or not all of them", earlier_audit, values)


def test_a_page_its_json_and_the_numbers_are_one(march, tmp_path):
    for name in ("march.html", "march.json"):
        march.save(tmp_path / name)
    page, saved = (earlier_audit(tmp_path / name) for name in ("march.html", "march.json"))
    assert page["curves"] == saved["curves"] == earlier_audit(march.to_dict())["curves"]
    assert page["verdict"] == saved["verdict"]


def test_of_a_log_of_coins_no_gain_or_discount_is_said_to_have_changed(march):
    coins = audit(judged(300, noise=0.5, seed=1000), "linear-log2", before=march.to_dict())
    assert coins["curves"]["no_signal"] and not coins["changes"]["same_shape"]
    assert not any("gain" in row[0] or "discount at" in row[0] for row in coins["changes"].cells)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"verdict": {}, "curves": {}, "log": {}}',
        "<html></html>",
        '{"verdict": 1}',
        "\xff",
    ],
)
def test_a_file_that_is_no_audit_is_refused(tmp_path, text):
    (tmp_path / "other.html").write_bytes(text.encode("latin-1"))
    refused(
        "no numbers of an audit, or not all of them; give a page",
        earlier_audit,
        tmp_path / "other.html",
    )


def test_the_command_takes_an_earlier_page(here, dcglearn):
    judged(60).save(here / "log.jsonl")
    assert dcglearn("audit", "log.jsonl", "-o", "march.html")[0] == 0
    status, out, _ = dcglearn("audit", "log.jsonl", "--before", "march.html", "--json")
    changes = json.loads(out)["changes"]
    assert status == 0 and changes["beyond"] == [] and "the verdict is the same" in changes["notes"]
    status, _, err = dcglearn("audit", "log.jsonl", "--before", "log.jsonl")
    assert status == 2 and "log.jsonl: no numbers of an audit" in err


def test_intervals_that_touch_are_no_change():
    assert not Change("x", (1, 0.5, 1.5), (2, 1.5, 2.5)).is_beyond
    assert Change("x", (2, 1.6, 2.5), (1, 0.5, 1.5)).is_beyond
