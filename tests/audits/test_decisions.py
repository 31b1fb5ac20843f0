"""What an audit says to do next: systems that swap, pairs to ask, exports; both ways."""

import json
from dataclasses import replace
from urllib.parse import unquote

import pytest

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.of_decisions import next_section, systems_parts
from dcglearn.audits.of_metric import verdict_section
from dcglearn.audits.section import Section
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.preferences import Preferences
from dcglearn.trust import band_draws
from tests.audits.makers import STEEP, judged, known_of
from tests.makers import noisy_runs


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
    assert survival.sentence == (
        "of 1 pair of systems, 0 are in the order of flat under every DCG that these verdicts "
        "allow, 1 in the other order; 0 depend on the DCG"
    )
    (swap,) = survival.rows
    assert survival.cells[1][:3] == ["many", "one", "yes"]
    assert (swap["better_in_use"], swap["beyond_chance"]) == ("many", True)
    assert swap["difference_in_use"] < 0 < swap["difference_when_learned"]
    assert swap["difference_in_use_high"] is None  # all queries are alike
    same = systems_parts(replace(steep, metric=STEEP), QRELS, {"one": ONE_BEST, "many": MANY_FAIR})
    assert same["systems"].sentence == "the order is the same under these metrics"
    assert "1 are in the order of flat under every DCG" in same["survival"].sentence


def test_means_of_systems_are_those_of_evaluate(steep):
    judgements, runs = noisy_runs({"a": 0.5, "b": 2.0}, 8, 6)
    parts = systems_parts(replace(steep, bands=None), judgements, runs)
    assert parts["systems"].evaluation.runs[0] == "a"
    assert parts["survival"]["survive"] is None and "no bands" in parts["survival"].sentence


def test_without_runs_it_says_what_to_give(steep):
    parts = systems_parts(steep, None, None)
    finding = parts["systems"]
    assert [*parts] == ["systems"]
    assert finding.sentence == "" and "--run RUN --qrels QRELS" in finding.asks[0]


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
    verdict = verdict_section(known, [], Section(""))
    assert verdict.sentence == "keep exponential-log2@1"
    assert verdict.notes[0].startswith("it orders all lists as the learned DCG does")


def test_the_page_holds_the_learned_dcg(steep):
    address = verdict_section(steep, [], Section("")).files["dcg.json"]
    learned = DCG.from_dict(json.loads(unquote(address.partition(",")[2])))
    assert learned == steep.fit.dcg and learned.judges is not None
