"""What an audit says to do next: systems that swap, pairs to ask; both ways."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dcglearn.audits.inputs import Inputs
from dcglearn.audits.questions import next_step, people, survival, verdict_on
from dcglearn.evaluation.people import drawn_metrics
from dcglearn.evaluation.run_values import evaluate
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.runs import read_both
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


def beside_runs(known, judgements, runs, **changes):
    """Return what is known, with systems."""
    return replace(known, systems=read_both(judgements, runs), **changes)


def test_systems_that_swap_and_systems_that_do_not(steep):
    known = beside_runs(steep, QRELS, {"one": ONE_BEST, "many": MANY_FAIR})
    assert known.order.sentence == (
        "the order depends on the metric, which swaps 1 of 1 pair of systems beyond chance"
    )
    found = survival(known)
    assert found.sentence == (
        "of 1 pair of systems every DCG that these verdicts allow orders 0 as flat and 1 "
        "the other way; left open: 0"
    )
    assert found.rows == [{"pairs": 1, "survive": 0, "overturned": 1}]

    # people are asked of the best under the learned DCG beside the best in use
    row = people(known).table.row(0, named=True)
    assert (row["run"], row["baseline"]) == ("one", "many")
    same = replace(known, metric=STEEP)
    assert same.order.sentence == "the order is the same under these metrics"
    assert "allow orders 1 as flat and 0 the other way" in survival(same).sentence
    row = people(same).table.row(0, named=True)
    assert (row["run"], row["baseline"]) == ("one", "many")


def test_survival_counts_the_draws_that_agree(steep):
    judgements, runs = noisy_runs({"a": 0.5, "b": 2.0, "c": 2.1}, 8, 6)
    known = beside_runs(steep, judgements, runs)
    names = known.order.evaluation.runs
    assert names[0] == "a"
    means = [evaluate(judgements, runs, dcg) for dcg in drawn_metrics(known.dcg, 100)]
    ahead = [
        np.mean([one.means[one.runs.index(a)] > one.means[one.runs.index(b)] for one in means])
        for a, b in combinations(names, 2)
    ]
    counts = {"survive": ahead.count(1), "overturned": ahead.count(0)}
    assert survival(known).rows == [{"pairs": 3} | counts]


def test_without_runs_nothing_is_said_of_systems(steep):
    assert steep.order is None and survival(steep) is None and people(steep) is None


def test_what_to_judge_next(steep):
    finding = next_step(steep)
    n = steep.bands.n_units
    assert finding.sentence.startswith(
        f"to halve the width of the bands, collect judgements of about {3 * n} more"
    )
    assert f"{steep.bands.by}s; this log has {n}" in finding.sentence
    asks = [ask.split(",")[0] for ask in finding.notes]
    assert "add the column swapped" in asks

    none = replace(steep, bands=None, no_bands="no bands: too few")
    assert next_step(none).sentence == "no bands: too few"


def test_where_few_lists_can_exist_no_more_are_asked_for():
    few = DCG([0, 1], [1, 0.6, 0.4, 0.3, 0.2])
    log = judged(120, few)
    bands = band_draws.bands(log, n_resamples=20, by="list")
    finding = next_step(known_of(log, few, bands=bands))
    limit = "no more than {} lists can exist of 2 grades at {}; {} raters or queries"
    assert finding.sentence.startswith(limit.format(32, "5 positions", 20))

    # two lists are too few for everything, but what is learned agrees with the metric in use
    known = Inputs.of(judged(120, DCG([0, 1], [1])), "exponential-log2", 0)
    assert limit.format(2, "1 position", 20) in known.no_bands
    assert limit.format(2, "1 position", 10) in known.comparison.sentence
    verdict = verdict_on(known)
    assert verdict.sentence == "keep exponential-log2@1: how far people follow it is not known"
    assert verdict.notes[0].startswith("it orders all lists as the learned DCG does")
