"""The least and the most that values can be once unjudged documents are judged."""

import itertools
import json

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.evaluation.unjudged import OpenQuery
from dcglearn.metrics.dcg import DCG, largest_sums, normalised_values
from tests.makers import refused
from tests.tables import table

LOG2 = 1 / np.log2(np.arange(2, 12))


def ideals_of(metric, counts, filler=0.0):
    """Return the largest DCG of documents by grade, where positions that stay empty may gain."""
    found = []
    for row in np.atleast_2d(counts):
        gains = np.repeat(metric.gains, row)
        empty = max(metric.depth - len(gains), 0)
        found.append(largest_sums(np.append(gains, np.full(empty, filler)), metric.discounts))
    return np.array(found)


def every_value(query, empty):
    """Return the values and the ratios of a query, with every grade of the unjudged documents."""
    metric, values, ratios = query.metric, [], []
    for grades in itertools.product(range(metric.n_grades), repeat=len(query.weights)):
        own = np.array(grades, int)
        counts = query.counts + np.bincount(own, minlength=metric.n_grades)
        ideal = ideals_of(metric, counts, max(metric.gains.min(), 0.0))
        values.append(query.known + query.weights @ metric.gains[own])
        ratios.append(normalised_values(np.array(values[-1:]), ideal, empty)[0])
    return values, ratios


def random_query(rng):
    """Return a query of a ranking or of the difference of two, harmful and equal gains included."""
    n_grades, depth, n = rng.integers(2, 5), rng.integers(1, 6), rng.integers(0, 5)
    kinds = rng.normal(size=n_grades), np.arange(n_grades), rng.integers(0, 3, n_grades)
    metric = DCG(kinds[rng.integers(3)].astype(float), -np.sort(-rng.random(depth)))
    weights = np.zeros(n)
    shown = min(n, depth)
    weights[:shown] = rng.choice(metric.discounts, shown, replace=False)
    if rng.random() < 0.5:
        weights -= rng.permutation(weights)
    counts = rng.integers(0, 3, n_grades) * rng.integers(0, 2)
    return OpenQuery(metric, float(rng.normal()), weights, counts)


@table("seed", range(10))
def test_both_ends_are_those_of_all_grades(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        query, empty = random_query(rng), float(rng.choice([0.0, 1.0]))
        values, ratios = every_value(query, empty)
        np.testing.assert_allclose(query.sums(), (min(values), max(values)), atol=1e-12)
        np.testing.assert_allclose(
            query.ratios(empty), (min(ratios), max(ratios)), rtol=1e-10, atol=1e-12
        )


@table(
    ("gains", "run", "others", "ends"),
    [
        ([0, 1, 2, 3], [1, None], [], (0.796708, 1)),
        ([0, 1, 3, 7], [1, None], [], (0.7098097, 1)),
        ([0, 1, 2, 3], [3, None, 1, 0, None, 2, None, 0, 1, None], [3, 2, 2], (0.549255, 0.779493)),
    ],
)
def test_published_check_values(gains, run, others, ends):
    metric = DCG(gains, LOG2[: len(run)])
    places = [k for k, grade in enumerate(run) if grade is None]
    judged = {k: grade for k, grade in enumerate(run) if grade is not None}
    known = sum(metric.discounts[k] * metric.gains[grade] for k, grade in judged.items())
    counts = np.bincount([*judged.values(), *others], minlength=4)
    query = OpenQuery(metric, float(known), metric.discounts[places], counts)
    np.testing.assert_allclose(query.ratios(), ends, atol=1e-6)


def partly_judged(rng, n_queries=3, n_documents=6):
    """Return judgements without some documents, two runs that show all, and what is left open."""
    judged, left, runs = {}, [], {"old": {}, "new": {}}
    for q in map(str, range(n_queries)):
        names = [f"d{i}" for i in range(n_documents)]
        known = rng.random(n_documents) < 0.7
        known[0] = True
        judged[q] = {
            d: int(rng.integers(0, 3)) for d, is_known in zip(names, known, strict=True) if is_known
        }
        left += [(q, d) for d in names if d not in judged[q]]
        for run in runs.values():
            run[q] = dict(zip(names, rng.permutation(n_documents).astype(float), strict=True))
    return judged, runs, left


@table("normalise", [True, False])
def test_no_completion_of_the_judgements_leaves_them_and_some_reach_them(normalise):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        judged, runs, left = partly_judged(rng, n_queries=1)
        metric = {"mine": DCG([0, 0.4, 1], [1, 0.6, 0.3, 0.1])}
        settings = {"normalise": normalise}
        judgements = dl.evaluation.read_judgements(judged, n_grades=3)
        found = dl.evaluate(judgements, runs, metric, bounds=True, **settings)
        least, most = found.open.ends(0, 1, 0)[0]
        values = []
        for grades in itertools.product(range(3), repeat=len(left)):
            whole = {q: dict(of) for q, of in judged.items()}
            for (q, d), grade in zip(left, grades, strict=True):
                whole[q][d] = grade
            complete = dl.evaluation.read_judgements(whole, n_grades=3)
            values.append(dl.evaluate(complete, runs, metric, **settings).values[:, 0, 0])
        values = np.array(values)
        np.testing.assert_allclose(found.bounds[:, 0, 0, 0], values.min(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.bounds[:, 0, 0, 1], values.max(axis=0), atol=1e-12)
        differences = values[:, 1] - values[:, 0]
        np.testing.assert_allclose(
            (least, most), (differences.min(), differences.max()), atol=1e-12
        )


@table("seed", range(5))
def test_none_of_ten_thousand_completions_leaves_the_bounds(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        query = random_query(rng)
        n_grades, u = query.metric.n_grades, len(query.weights)
        grades = rng.integers(0, n_grades, (100, u))
        counts = query.counts + (grades[:, :, None] == np.arange(n_grades)).sum(axis=1)
        values = query.known + query.metric.gains[grades] @ query.weights
        ideals = ideals_of(query.metric, counts, max(query.metric.gains.min(), 0.0))
        ratios = normalised_values(values, ideals, 0.0)
        for (least, most), found in ((query.sums(), values), (query.ratios(0.0), ratios)):
            assert least - 1e-9 <= found.min() and found.max() <= most + 1e-9


def test_documents_at_the_end_of_a_run_widen_the_bounds():
    rng = np.random.default_rng(3)
    judged, runs, _ = partly_judged(rng, n_queries=4)
    settings = {"metrics": "nDCG@4", "bounds": True}
    found = dl.evaluate(judged, runs, **settings)

    # two more documents, below what the metric looks at, can only raise the ideal
    longer = {
        name: {q: {**of, "y": -1.0, "z": -2.0} for q, of in run.items()}
        for name, run in runs.items()
    }
    shown = dl.evaluate(judged, longer, **settings)
    np.testing.assert_array_equal(shown.values, found.values)
    assert (shown.bounds[..., 0] <= found.bounds[..., 0] + 1e-12).all()
    assert (shown.bounds[..., 0] < found.bounds[..., 0]).any()


def test_the_share_that_is_judged_stands_beside_each_mean():
    judged = {"q": {"a": 2, "c": 1}}
    runs = {"old": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "new": {"q": {"x": 2.0, "a": 1.0}}}
    found = dl.evaluate(judged, runs, ["nDCG@1", "nDCG@3"], bounds=True)
    np.testing.assert_allclose(found.unjudged, [[0, 1 / 3], [1, 1 / 2]])
    assert found.table["judged of nDCG@3"].to_list() == pytest.approx([2 / 3, 1 / 2])
    assert "not judged: up to 100.0%" in str(found).lower()


def test_unjudged_documents_may_have_every_grade_of_the_metric():
    metric = DCG([0, 1, 2, 3], [1, 0.5])
    run = {"mine": {"q": {"a": 2.0, "x": 1.0}}}
    with pytest.warns(UserWarning, match="gains for 4 grades"):
        found = dl.evaluate({"q": {"a": 1}}, run, {"m": metric}, bounds=True)
    assert found.bounds[0, 0, 0, 0] == pytest.approx((1 + 1.5) / (3 + 0.5))


def test_runs_without_a_judged_document_can_be_anything():
    judged = {"q": {"a": 1, "b": 1}, "r": {"a": 0}}
    runs = {name: {q: {f"{name}": 1.0} for q in "qr"} for name in ("x", "y")}
    found = dl.evaluate(judged, runs, "nDCG@1", bounds=True)
    np.testing.assert_array_equal(found.bounds[:, 0], [[[0, 1], [0, 1]]] * 2)
    comparison = dl.compare_systems(judged, runs, "nDCG@1", bounds=True, n_resamples=100)
    assert comparison.table.select("least", "most", "judged").row(0) == (-1, 1, 0)
    assert "measures nothing" in comparison.gate().sentence


def test_means_are_within_the_means_of_the_ends_and_queries_that_a_run_lacks_stay_zero():
    judged, runs, _ = partly_judged(np.random.default_rng(0))
    del runs["new"]["1"]
    for missing, rest in (("zero", 0.0), ("skip", np.nan)):
        found = dl.evaluate(judged, runs, ["nDCG@4", "P@2"], bounds=True, missing=missing)
        np.testing.assert_array_equal(found.bounds[1, 0, 1], [rest, rest])
        low, high = found.mean_bounds[:, 0].T
        assert (low <= found.means[:, 0] + 1e-12).all() and (
            found.means[:, 0] <= high + 1e-12
        ).all()
        np.testing.assert_allclose(low, np.nanmean(found.bounds[:, 0, :, 0], axis=1))
        assert np.isnan(found.mean_bounds[:, 1]).all()  # P@2 is not ours
        assert found.table["least of P@2"].null_count() == 2
        frame = found.by_query()
        assert {"least", "most"} <= set(frame.columns)


def test_a_hundred_unjudged_of_a_thousand_documents_are_bounded_exactly_by_all_completions():
    rng = np.random.default_rng(0)
    metric = DCG(2.0 ** np.arange(5) - 1, 1 / np.log2(np.arange(2, 1002)))
    query = OpenQuery(
        metric, 20.0, rng.choice(metric.discounts, 100, replace=False), rng.integers(0, 50, 5)
    )
    low, high = query.ratios()
    for _ in range(1000):
        grades = rng.choice(5, 100, p=rng.dirichlet(np.ones(5)))
        ideal = ideals_of(metric, query.counts + np.bincount(grades, minlength=5))[0]
        assert low <= (query.known + query.weights @ metric.gains[grades]) / ideal <= high


def test_what_has_no_bounds_is_refused():
    judged, runs, _ = partly_judged(np.random.default_rng(0))
    for settings in ({"unjudged": "best"}, {"ideal": "list"}, {"ties": "average"}):
        refused("bounds go with", dl.evaluate, judged, runs, bounds=True, **settings)
    refused(
        "ERR@3 is not a DCG, and only a DCG has bounds",
        dl.evaluate,
        judged,
        runs,
        "ERR@3",
        bounds=True,
    )


def test_the_command_shows_both_ends(dcglearn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged, runs, _ = partly_judged(np.random.default_rng(0))
    (tmp_path / "qrels.json").write_text(json.dumps(judged))
    (tmp_path / "run.json").write_text(json.dumps(runs["old"]))
    command = ("evaluate", "qrels.json", "run.json", "--metric", "nDCG@4", "--unjudged", "bounds")
    status, out, _ = dcglearn(*command)
    assert status == 0 and "least of nDCG@4" in out and "whatever their grades" in out
    assert dcglearn(*command, "-q", "-o", "values.jsonl")[0] == 0
    rows = pl.read_ndjson("values.jsonl").to_dicts()
    assert all(row["least"] <= row["value"] + 1e-12 <= row["most"] + 2e-12 for row in rows)


# Comparisons and the gate.


def a_comparison(seed, n_queries=8, **settings):
    """Return judgements, runs, what is left open, and the comparison of both with bounds."""
    judged, runs, left = partly_judged(np.random.default_rng(seed), n_queries)
    comparison = dl.compare_systems(
        judged, runs, "nDCG@4", n_resamples=200, level=0.9, bounds=True, **settings
    )
    return judged, runs, left, comparison


@table("seed", range(4))
def test_no_completion_moves_a_difference_beyond_the_bounds(seed):
    rng = np.random.default_rng(seed)
    judged, runs, left, comparison = a_comparison(seed)
    row = comparison.table.row(0, named=True)
    assert row["least"] < row["difference"] < row["most"]
    for _ in range(20):
        whole = {q: dict(of) for q, of in judged.items()}
        for q, d in left:
            whole[q][d] = int(rng.integers(0, 3))
        complete = dl.evaluation.read_judgements(whole, n_grades=3)
        after = dl.compare_systems(complete, runs, "nDCG@4", n_resamples=200, level=0.9)
        [found] = after.table.rows(named=True)
        assert row["least"] - 1e-12 <= found["difference"] <= row["most"] + 1e-12


def test_bounds_of_documents_that_are_all_judged_are_the_values():
    judged, runs, left, _ = a_comparison(0)
    for q, d in left:
        judged[q][d] = 1
    comparison = dl.compare_systems(judged, runs, ["nDCG@4", "P@2"], bounds=True, n_resamples=200)
    ours, other = comparison.table.rows(named=True)
    for name in ("least", "most"):
        assert ours[name] == pytest.approx(ours["difference"]) and other[name] is None


def test_the_picture_has_a_second_bar_for_what_is_open():
    _, _, _, comparison = a_comparison(0)
    [picture] = comparison.pictures
    row = comparison.table.row(0, named=True)
    ends = [row[name] for name in ("difference", "low", "high", "least", "most")]
    assert picture["rows"] == [("new, nDCG@4", *ends)]
    assert "every grade of the documents not judged" in comparison.to_html()
    assert "every grade" not in dl.compare_systems(*a_comparison(0)[:2], "nDCG@4").to_html()


def test_bounds_do_not_go_with_a_machine():
    judged, runs, _ = partly_judged(np.random.default_rng(0))
    refused("bounds are of people", dl.compare_systems, judged, runs, bounds=True, llm=judged)
