"""Shares of people: formula, invariances, what is left out, and the commands."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import dcglearn as dl
from dcglearn.evaluation.people import People
from dcglearn.learning.pairs import chances
from dcglearn.metrics.judges import JudgeDraws
from tests.makers import random_log, refused
from tests.tables import table

Judges = dl.evaluation.Judges
PARTS = ("take", "no_difference", "keep")


def lists(n=40, n_documents=12, seed=0, n_grades=4):
    """Return judgements of n queries, and an old and a new run."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, n_grades, (n, n_documents))
    grades[:, 0] = n_grades - 1
    scores = [grades + noise * rng.normal(size=grades.shape) for noise in (3.0, 1.5)]

    def table(values):
        return {
            f"q{i:02}": {f"d{j:02}": x for j, x in enumerate(row)}
            for i, row in enumerate(values.tolist())
        }

    return table(grades), dict(zip(("old", "new"), map(table, scores), strict=True))


def metric(judges, n_grades=4, depth=5):
    return replace(dl.DCG.standard(n_grades, depth, "linear").normalised(), judges=judges)


def shares(judges, judged, runs, **settings):
    """Return the shares of 100 people for the new run."""
    settings = {"n_resamples": 100, "baseline": "old", **settings}
    people = dl.compare_systems(judged, runs, {"m": metric(judges)}, **settings).people
    assert isinstance(people, People)
    return people


def test_judges_have_the_chances_of_the_fit():
    z = np.linspace(-4, 4, 33)

    def expected_chances(z):
        return chances(z, 0.7, np.full_like(z, 0.1))

    mine = Judges(1.5, 0.7, 0.1).chances(z)
    np.testing.assert_allclose(mine, expected_chances(1.5 * z), atol=1e-12)
    np.testing.assert_allclose(mine.sum(axis=1), 1)

    # each list is first as often; the slope is that of the log-odds of those who decide
    sided = Judges(1.5, 0.7, 0.1, bias=2.0).chances(z)
    both = [expected_chances(1.5 * z + side) for side in (2.0, -2.0)]
    np.testing.assert_allclose(sided, np.mean(both, axis=0), atol=1e-12)
    flat = Judges(1.5, 0.7, 0.1, slope=0.5).chances(z)
    np.testing.assert_allclose(flat[:, 1], mine[:, 1])
    odds = [np.log(one[:, 0] / one[:, 2]) for one in (flat, mine)]
    np.testing.assert_allclose(odds[0], 0.5 * odds[1], atol=1e-9)


def test_shares_are_means_of_the_chances_of_each_query():
    judged, runs = lists()
    judges = Judges(3.0, 0.4, 0.05, largest=9, grades=(0, 1, 2, 3))
    people = shares(judges, judged, runs)
    dcg = metric(None)
    values = {
        name: np.array(
            [
                dcg.score([judged[q][d] for d in sorted(run, key=run.get, reverse=True)])
                for q, run in sorted(runs[name].items())
            ]
        )
        for name in runs
    }
    gap = 3.0 * (values["new"] - values["old"])
    take = 0.95 * expit(gap - 0.4) + 0.05 * expit(-gap - 0.4)
    keep = 0.95 * expit(-gap - 0.4) + 0.05 * expit(gap - 0.4)
    row = people.table.row(0, named=True)
    assert row["take"] == pytest.approx(100 * take.mean())
    assert row["keep"] == pytest.approx(100 * keep.mean())
    assert row["decided"] == pytest.approx(100 * take.sum() / (take + keep).sum())
    agree = take**2 + keep**2 + (1 - take - keep) ** 2
    assert row["agree"] == pytest.approx(100 * agree.mean())
    np.testing.assert_allclose(people.by_query["take"], 100 * take)
    assert row["take_low"] < row["take"] < row["take_high"] and row["beyond"] == 0


def test_what_a_constant_cannot_pass():
    judged, runs = lists()
    judges = Judges(3.0, 0.4, 0.05, largest=9, grades=(0, 1, 2, 3))
    row = shares(judges, judged, runs).table.row(0, named=True)

    # old and new exchanged
    other = shares(judges, judged, runs, baseline="new").table.row(0, named=True)
    assert [other[part] for part in PARTS] == pytest.approx([row[part] for part in PARTS[::-1]])

    # a run against itself: nobody can tell, and without ties halves
    twins = {"old": runs["old"], "new": runs["old"]}
    same = shares(replace(judges, tie_threshold=50.0), judged, twins).table.row(0, named=True)
    assert [same[part] for part in PARTS] == pytest.approx([0, 100, 0], abs=1e-9)
    halves = shares(replace(judges, tie_threshold=0.0), judged, twins).table.row(0, named=True)
    assert [halves[part] for part in PARTS] == pytest.approx([50, 0, 50])

    # sharper judges split wider, and agree more often
    sharper = shares(replace(judges, scale=9.0), judged, runs).table.row(0, named=True)
    assert sharper["take"] > row["take"] and sharper["agree"] > row["agree"]


def test_wider_bands_give_wider_intervals():
    truth = dl.simulate.ground_truth("D1", n_grades=4, depth=5)
    judged, runs = lists(400)
    widths = []
    for n in (40, 800):
        log = dl.simulate.preference_pairs(truth, n, lists="free", flip_rate=0.2, random_state=0)
        learned = dl.bands(log, n_resamples=50).metric
        assert len(learned.judges.draws) == 500
        row = dl.compare_systems(judged, runs, {"m": learned}, n_resamples=100).people.table
        ends = row.row(0, named=True)
        assert ends["take_low"] <= ends["take"] <= ends["take_high"]
        widths.append(ends["take_high"] - ends["take_low"])
    assert widths[0] > 1.3 * widths[1]


def test_shares_hold_on_verdicts_that_the_log_never_saw():
    """Ties, and who of the decided wins, by how sure the judges are said to be."""
    rng = np.random.default_rng(5)
    truth, true = metric(None), Judges(4.0, 0.6, 0.04)
    pairs = rng.integers(0, 4, (3000, 2, 5))
    gap = truth.score(pairs[:, 0]) - truth.score(pairs[:, 1])
    drawn = (rng.random((3000, 1)) > np.cumsum(true.chances(gap), axis=1)[:, :2]).sum(axis=1)
    lists_of = np.where((drawn == 2)[:, None, None], pairs[:, ::-1], pairs)
    log = dl.Preferences(lists_of[:, 0], lists_of[:, 1], tie=drawn == 1, n_grades=4)
    fit = dl.DCGLearner().fit(log[:1500])
    said = fit.dcg_.judges.chances(
        fit.dcg_.score(pairs[1500:, 0]) - fit.dcg_.score(pairs[1500:, 1])
    )
    assert said[:, 1].mean() == pytest.approx((drawn[1500:] == 1).mean(), abs=0.03)
    clear = np.abs(gap[1500:]) > 0.5
    sign = gap[1500:][clear] > 0
    right = np.where(sign, said[clear, 0], said[clear, 2]).mean()
    assert right == pytest.approx(
        np.where(sign, drawn[1500:][clear] == 0, drawn[1500:][clear] == 2).mean(), abs=0.03
    )


def random_draws(n):
    """Return n draws of metrics of 4 grades and 5 positions and of their judges."""
    rng = np.random.default_rng(0)
    gains = np.sort(np.hstack([rng.random((n, 2)), np.zeros((n, 1)), np.ones((n, 1))]))
    discounts = np.sort(np.hstack([rng.random((n, 4)), np.ones((n, 1))]))[:, ::-1]
    judges = rng.random((4, n)) * np.array([[4], [1], [0.1], [0.2]])
    return JudgeDraws(gains, discounts, *judges, np.zeros(n))


@table("n", [200, 1000])
def test_rounded_draws_have_the_same_intervals(n):
    """Files of 200 draws, as they were, take five samples of the queries under each."""
    judged, runs = lists()
    draws = random_draws(n)
    judges = Judges(3.0, 0.4, 0.05, largest=9, grades=(0, 1, 2, 3), slope=0.9, slope_error=0.1)
    rounded, exact = (
        shares(replace(judges, draws=one), judged, runs).table.row(0, named=True)
        for one in (draws.few(), draws)
    )
    for end in ("take_low", "take_high", "decided_low", "no_difference_high"):
        assert rounded[end] == pytest.approx(exact[end], abs=0.05)


def test_a_thousand_draws_are_kept():
    draws = random_draws(2500)
    kept = draws.few()
    assert len(kept) == 1000
    assert len(np.unique(kept.gains, axis=0)) > 990
    assert len(random_draws(10).few()) == 10
    assert [len(draws.rows(n)) for n in (10, 5000)] == [10, 2500]


def test_what_lies_beyond_the_log_is_marked():
    judged, runs = lists()
    seen = Judges(3.0, largest=9, grades=(0, 1, 2, 3))
    assert not shares(seen, judged, runs).by_query["beyond"].any()
    grades = shares(replace(seen, grades=(0, 1, 2)), judged, runs)
    assert grades.by_query["beyond"].any() and "extrapolated" in " ".join(grades.notes)
    gaps = shares(replace(seen, largest=0.0), judged, runs).by_query
    assert gaps["beyond"].sum() == gaps.filter(pl.col("take") != 50).height

    # ratings, calibration and what grades do not explain are said
    told = replace(seen, chose=False, slope_error=0.1, unexplained="grades do not explain all")
    rated = shares(told, judged, runs)
    notes = " ".join(rated.notes)
    assert "nobody chose between two lists" in notes and "calibrated" in notes
    for people, n in ((rated, 1), (shares(seen, judged, runs), 0)):
        assert people.sentence.count("from ratings, which make shares too sure") == n
    assert "grades do not explain all" in notes and "by queries alone" in notes


def test_long_names_hide_no_number():
    judged, runs = lists(8)
    long = {f"{name} {'x' * 90}": run for name, run in runs.items()}
    judges = Judges(3.0, 0.4, 0.05, largest=9, grades=(0, 1, 2, 3))
    people = dl.compare_systems(judged, long, {"m": metric(judges)}, n_resamples=100).people
    row = people.table.row(0, named=True)
    for part in ("take", "keep", "no_difference", "decided"):
        assert f"({row[f'{part}_low']:.0f} to {row[f'{part}_high']:.0f})" in people.sentence


def test_coins_tell_nothing_of_people(dcglearn, tmp_path):
    rng = np.random.default_rng(0)
    log, out = tmp_path / "coins.jsonl", tmp_path / "dcg.json"
    dl.Preferences(rng.integers(0, 4, (300, 2, 5)), n_grades=4).save(log)
    with pytest.warns(UserWarning, match="better than a coin"):
        status, words, _ = dcglearn("learn", log, "-o", out, "--as-is")
    assert status == 0 and "as sure as said" not in words

    # the metric's file says it to whoever compares with it
    judged, runs = lists()
    comparison = dl.compare_systems(judged, runs, {"m": dl.DCG.load(out)}, n_resamples=100)
    assert "no metric orders new pairs" in " ".join(comparison.notes)
    row = comparison.people.table.row(0, named=True)
    assert row["take_low"] <= 53 and row["agree"] < 55


def test_nothing_is_made_up():
    judged, runs = lists()
    plain = dl.compare_systems(judged, runs, {"m": metric(None)}, n_resamples=100)
    assert plain.to_dict()["people"] is None
    refused("knows its judges", lambda: plain.people)
    refused("knows its judges", lambda: plain.gate(at_least=52))

    # another scale of grades, and queries without a judged document
    few = {q: {d: min(g, 2) for d, g in row.items()} for q, row in judged.items()}
    with pytest.warns(dl.evaluation.ScaleWarning):
        other = dl.compare_systems(few, runs, {"m": metric(Judges(1.0))}, n_resamples=100)
    refused("its judges know 4 grades", lambda: other.people)
    assert "no shares of people under m" in str(other).lower()
    lost = {q: {f"x{d}": g for d, g in row.items()} for q, row in judged.items()}
    lost["q00"] = judged["q00"]
    people = shares(Judges(1.0, largest=9), lost, runs)
    assert people.by_query["query_id"].to_list() == ["q00"]
    nowhere = {q: {f"x{d}": g for d, g in row.items()} for q, row in judged.items()}
    nothing = dl.compare_systems(nowhere, runs, {"m": metric(Judges(1.0))}, n_resamples=100)
    refused("a judged document", lambda: nothing.people)


def test_a_gate_asks_for_people_by_their_interval():
    judged, runs = lists()
    known = metric(Judges(3.0, largest=9, grades=(0, 1, 2, 3)))
    comparison = dl.compare_systems(judged, runs, {"m": known}, n_resamples=100)
    low, high = comparison.people.table.select("decided_low", "decided_high").row(0)
    assert comparison.gate(at_least=low - 0.1).passed
    unknown, failed = (comparison.gate(at_least=end + 0.1) for end in (low, high))
    assert unknown.status == 3 and "unknown: nobody can say whether" in unknown.sentence
    assert f"at least {low:.1f}" in unknown.sentence
    assert failed.status == 1 and f"fail: fewer than {high + 0.1:g} of 100" in failed.sentence
    refused("at_least", comparison.gate, at_least=101)

    # metrics that know no judges are not asked; of few queries there is no interval
    both = dl.compare_systems(judged, runs, {"m": known, "n": metric(None)}, n_resamples=100)
    assert both.gate(at_least=low - 0.1).table["verdict"].to_list() == ["pass", "pass"]
    few = dict([*judged.items()][:2])
    of_few = dl.compare_systems(few, runs, {"m": known}, level=0.3, n_resamples=100)
    assert of_few.people.table["decided_low"][0] is None and of_few.gate(-1).passed
    assert of_few.gate(-1, at_least=1).status == 3


def test_a_file_keeps_the_judges(tmp_path):
    log = random_log(120, noise=0.2)
    learned = dl.bands(log, n_resamples=20).metric
    path = tmp_path / "dcg.json"
    learned.save(path)
    read = dl.DCG.load(path)
    assert read.to_dict() == learned.to_dict() and read.to_dict()["version"] == 2
    assert read.judges.draws.gains.shape == (200, log.n_grades)

    # a file without judges is the one of before
    plain = replace(learned, judges=None)
    assert plain.to_dict()["version"] == 1 and plain == learned
    mapped = learned.map_grades([0, log.n_grades - 1])
    np.testing.assert_array_equal(mapped.judges.draws.gains, read.judges.draws.gains[:, [0, -1]])

    # damaged ones are refused
    values = json.loads(path.read_text())
    for key, wrong in (
        ("scale", -1),
        ("scale", "1"),
        ("error_rate", 1.5),
        ("chose", 1),
        ("grades", [99]),
        ("draws", {}),
        ("draws", {**values["judges"]["draws"], "gains": [[1.0]]}),
        ("draws", {**values["judges"]["draws"], "scale": [None]}),
        ("draws", {**values["judges"]["draws"], "scale": 3}),
    ):
        damaged = {**values, "judges": {**values["judges"], key: wrong}}
        path.write_text(json.dumps(damaged))
        refused(key if key != "draws" else "draws", dl.DCG.load, path)
    path.write_text(json.dumps({**values, "judges": {}}))
    refused("judges", dl.DCG.load, path)
    path.write_text(json.dumps({**values, "gains": [[0], [1, 2]]}))
    refused("gains", dl.DCG.load, path)
