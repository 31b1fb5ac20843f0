"""What an audit says to do next: systems that swap, pairs to ask, exports; both ways."""

import json
from dataclasses import replace
from urllib.parse import unquote

import numpy as np
import pytest

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.of_decisions import deciding_parts, next_section, systems_parts, tools_section
from dcglearn.audits.of_log import log_parts
from dcglearn.audits.of_metric import curves_section, verdict_section
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.preferences import Preferences
from dcglearn.trust import band_draws
from tests.audits.makers import STEEP, judged, known_of
from tests.makers import noisy_runs

SIDES = judged(120).preferred, judged(120).other
COINS = np.random.default_rng(0).random(120) < 0.5


@pytest.fixture(scope="module")
def steep():
    known = known_of(judged(120))
    return replace(known, bands=band_draws.bands(known.log, known.fit, n_resamples=20), no_bands="")


QRELS = {f"q{i}": {"best": 3, "good": 2, "fair": 1, "x": 0} for i in range(12)}
ONE_BEST = {q: {"best": 4.0, "x": 3.0} for q in QRELS}
MANY_FAIR = {q: {"fair": 4.0, "good": 3.0, "x": 1.0} for q in QRELS}


def test_systems_that_swap_and_systems_that_do_not(steep):
    parts = systems_parts(steep, QRELS, {"one": ONE_BEST, "many": MANY_FAIR})
    assert parts["systems"].sentence == (
        "the order depends on the metric: 1 of 1 pair of systems change places beyond chance"
    )
    survival = parts["survival"]
    assert survival.sentence.startswith("0 of the 1 conclusions under flat survive")
    assert "1 are overturned by every one, and 0 are possible" in survival.sentence
    (swap,) = survival.rows
    assert survival.cells[1][:3] == ["many", "one", "yes"]
    assert (swap["better_in_use"], swap["beyond_chance"]) == ("many", True)
    assert swap["difference_in_use"] < 0 < swap["difference_when_learned"]
    assert swap["difference_in_use_high"] is None  # all queries are alike
    same = systems_parts(replace(steep, metric=STEEP), QRELS, {"one": ONE_BEST, "many": MANY_FAIR})
    assert same["systems"].sentence == "the order is the same under these metrics"
    assert same["survival"].sentence.startswith("1 of the 1 conclusions under flat survive")


def test_verdicts_that_decide_what_the_audit_says(steep):
    curves = curves_section(steep)
    (found,) = deciding_parts(steep, curves).values()
    furthest = curves["furthest"]
    assert found.claim == f"the {furthest['parameter']} is below {furthest['in_use']:g}"
    assert found.holds and found.n_total == 120 and found.value == furthest["estimate"]


def test_nothing_decides_where_nothing_is_concluded(steep):
    same = replace(steep, metric=STEEP, baseline=STEEP)
    assert deciding_parts(same, curves_section(same)) == {}
    coins = Preferences(
        *(np.where(COINS[:, None], b, a) for a, b in (SIDES, SIDES[::-1])), n_grades=4
    )
    known = known_of(coins)
    assert known.tells_nothing
    assert deciding_parts(known, curves_section(steep)) == {}


def test_means_of_systems_are_those_of_evaluate(steep):
    judgements, runs = noisy_runs({"a": 0.5, "b": 2.0}, 8, 6)
    parts = systems_parts(replace(steep, bands=None), judgements, runs)
    assert parts["systems"].evaluation.runs[0] == "a"
    assert parts["survival"]["survive"] is None and "no bands" in parts["survival"].sentence


def test_without_runs_it_says_what_to_give(steep):
    parts = systems_parts(steep, None, None)
    finding = parts["systems"]
    assert [*parts] == ["systems"]
    assert finding.sentence == "" and "--runs RUN... --qrels QRELS" in finding.asks[0]


def test_what_to_judge_next(steep):
    finding = next_section(steep)
    n = steep.bands.n_units
    assert finding.sentence.startswith(
        f"to halve the width of the bands, collect judgements of about {3 * n} more"
    )
    assert f"{steep.bands.by}s; this log has {n}" in finding.sentence
    lines = unquote(finding.files["questions.jsonl"].partition(",")[2]).splitlines()
    assert [json.loads(line)["winner"] for line in lines] == ["open"] * 20
    assert [[json.loads(line)[side] for side in "ab"] for line in lines] == finding["questions"]
    alike = Preferences([[3, 3, 3, 3]] * 3, [[3, 3, 3, 3]] * 3, n_grades=4)
    none = next_section(replace(steep, log=alike, bands=None, no_bands="no bands: too few"))
    assert none.sentence == "no bands: too few" and "no pair is left" in none.notes[0]


def test_where_few_lists_can_exist_no_more_are_asked_for():
    few = DCG([0, 1], [1, 0.6, 0.4, 0.3, 0.2])
    log = judged(120, few)
    bands = band_draws.bands(log, n_resamples=20, by="list")
    finding = next_section(known_of(log, few, bands=bands))
    limit = "no more than {} lists can exist of 2 grades at {}; {} raters or queries"
    assert finding.sentence.startswith(limit.format(32, "5 positions", 20))

    # two lists are too few for everything, but what is learned agrees with the metric in use
    known = Inputs.of(judged(120, DCG([0, 1], [1])), "exponential-log2", 0)
    assert limit.format(2, "1 position", 20) in known.no_bands
    assert limit.format(2, "1 position", 10) in known.comparison
    verdict = verdict_section(known)
    assert verdict.sentence == "keep exponential-log2@1"
    assert verdict.notes[0].startswith("it orders all lists as the learned DCG does")


def test_times_are_counted_by_day_or_by_month():
    days = [f"2026-0{1 + i % 3}-{1 + i // 3:02}" for i in range(60)]
    by_month = log_parts(known_of(judged(60, time=days)))["log"]
    assert by_month["over_time"] == {
        "days": ["2026-01", "2026-02", "2026-03"],
        "judgements": [20, 20, 20],
    }
    assert "verdicts were given from 2026-01 to 2026-03" in by_month.notes
    assert log_parts(known_of(judged(20)))["log"]["over_time"] is None


def test_what_is_pasted_is_the_learned_dcg(steep):
    tools = tools_section(steep)
    assert not any(
        line.startswith("lost: ") for line in "\n".join(tools.texts.values()).split("\n")
    )
    paste = tools["paste"]
    assert (
        DCG.from_dict(json.loads(unquote(tools.files["dcg.json"].partition(",")[2])))
        == steep.fit.dcg
    )
    assert {*paste} == {"lightgbm", "sql", "ir-measures"}
    assert "WITH ranking AS" in paste["sql"]
    usual = DCG.standard(4, 4)
    judged_so = DCG(usual.gains, usual.discounts, judges=steep.fit.dcg.judges)
    log2 = replace(steep, fit=replace(steep.fit, dcg=judged_so))
    assert tools_section(log2)["paste"]["lightgbm"]["params"]["label_gain"] == [0, 1, 3, 7]
