"""Preferences between two runs without gains: check values, brute force, the command."""

import itertools

import numpy as np
import pytest

from dcglearn import compare_systems, evaluate
from dcglearn.evaluation import lexi_precision, lexi_recall, recall_paired_preference
from tests.makers import refused, write_trec

X, Y = (1, 5, None), (2, 3, 10)


def test_check_values():
    found = [recall_paired_preference(X, Y, weight) for weight in ("uniform", "reciprocal", "log2")]
    np.testing.assert_allclose(found, [-1 / 3, (1 - 1 / 2 - 1 / 3) / (11 / 6), -0.0614], atol=5e-5)
    assert (lexi_precision(X, Y), lexi_precision(X, Y, "reciprocal"), lexi_recall(X, Y)) == (
        1,
        0.5,
        -1,
    )
    assert lexi_recall(X, Y, "reciprocal") == -0.1
    assert lexi_precision(X, X) == lexi_recall(X, X) == recall_paired_preference(X, X) == 0
    assert recall_paired_preference([], []) == 0


def test_preferences_are_opposite_for_exchanged_rankings_and_blind_to_order():
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = (rng.choice(8, 4, replace=False) + 1.0 for _ in range(2))
        for call in (recall_paired_preference, lexi_precision, lexi_recall):
            assert call(x, y) == -call(y, x) == call(x[::-1], y)
        assert abs(recall_paired_preference(x, y)) <= 1


def test_lexicographic_orders_are_those_of_sorted_ranks():
    ranks = list(itertools.combinations(range(1, 6), 3))
    for x, y in itertools.product(ranks, ranks):
        assert lexi_precision(x, y) == (x < y) - (x > y)
        assert lexi_recall(x, y) == (x[::-1] < y[::-1]) - (x[::-1] > y[::-1])


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ((1, 2), (1,), "x has 2 relevant documents and y has 1"),
        ((0, 2), (1, 2), "ranks are numbers from 1"),
        ((float("nan"), 2), (1, 2), "ranks are numbers from 1"),
        ((2, 2), (1, 2), "two documents have one rank"),
    ],
)
def test_bad_ranks(x, y, words):
    for call in (recall_paired_preference, lexi_precision, lexi_recall):
        refused(words, call, x, y)
        refused("give one of", call, (1,), (2,), "other")


def by_definition(judged, ours, theirs):
    """RPP of one query, averaged over grades, by the words of its definition."""
    total = weights = 0.0
    order = {
        name: sorted(run, key=lambda d: -run[d])
        for name, run in (("ours", ours), ("theirs", theirs))
    }
    for level in sorted({grade for grade in judged.values() if grade > 0}):
        relevant = [d for d, grade in judged.items() if grade >= level]
        ranks = [
            [order[name].index(d) + 1 if d in order[name] else None for d in relevant]
            for name in ("ours", "theirs")
        ]
        total += len(relevant) * recall_paired_preference(*ranks)
        weights += len(relevant)
    return total / weights if weights else 0.0


def random_case(n_queries=12, seed=0):
    rng = np.random.default_rng(seed)
    judged, one, two = {}, {}, {}
    for q in range(n_queries):
        documents = [f"d{i}" for i in range(12)]
        judged[f"q{q:02}"] = {d: int(rng.integers(0, 4)) for d in documents[: rng.integers(1, 12)]}
        for run in (one, two):
            run[f"q{q:02}"] = {
                d: float(s) for d, s in zip(documents, rng.permutation(12), strict=True) if s > 2
            }
    judged["q00"] = dict.fromkeys(judged["q00"], 0)  # nothing is relevant
    return judged, one, two


def test_runs_are_compared_by_the_definition():
    judged, one, two = random_case()
    found = compare_systems(
        judged, {"one": one, "two": two}, ["RPP", "lexi_precision", "nDCG@5", "dcgRPP"]
    )
    rows = {row["measure"]: row for row in found.table.iter_rows(named=True)}
    assert list(rows) == ["nDCG@5", "RPP", "lexi-precision", "dcgRPP"]
    expected = np.mean([by_definition(judged[q], two[q], one[q]) for q in judged])
    assert rows["RPP"]["difference"] == pytest.approx(expected) and rows["RPP"]["mean"] is None
    assert rows["RPP"]["low"] < expected < rows["RPP"]["high"] and rows["nDCG@5"]["mean"] > 0
    turned = compare_systems(judged, {"one": one, "two": two}, {"RPP": "RPP"}, baseline="two")
    assert turned.table["difference"][0] == pytest.approx(-expected)
    assert "RPP" in str(turned) and "None" not in str(found)


def test_queries_that_a_run_lacks():
    judged, one, two = random_case()
    del two["q03"]
    zero = compare_systems(judged, {"one": one, "two": two}, "RPP")
    skip = compare_systems(judged, {"one": one, "two": two}, "RPP", missing="skip")
    lost = by_definition(judged["q03"], {}, one["q03"])
    assert zero.table["difference"][0] * 12 == pytest.approx(
        skip.table["difference"][0] * 11 + lost
    )


def test_what_does_not_go_together():
    judged, one, two = random_case()
    runs = {"one": one, "two": two}
    refused("compares two runs", evaluate, judged, runs, "lexi-precision")
    refused("compares ranks", compare_systems, judged, runs, "RPP", ties="average")
    refused("relevant documents alone", compare_systems, judged, runs, "RPP", unjudged="drop")


def test_the_command(dcglearn, misuse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    judged, one, two = random_case()
    write_trec(tmp_path, judged, {"one": one, "two": two})
    both = ("qrels.txt", "one.txt", "two.txt", "--metric", "RPP", "--metric", "lexi-recall")
    status, out, _ = dcglearn("compare", *both, "--resamples", 200, "--plot", "forest.png")
    assert status == 0 and [line.split()[1] for line in out.splitlines()[3:5]] == [
        "RPP",
        "lexi-recall",
    ]
    misuse("RPP compares two runs", "evaluate", *both)
