"""Fractional grades in logs and judgements: cut at points or into levels of equal counts."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import dcglearn as dl
from dcglearn.readers.cutoffs import cut_points, level_names, level_of
from dcglearn.readers.mapping import LogMapping
from tests.makers import refused, write, write_lines, write_trec

LINES = [
    {"query": "q", "a": [0.9, 0.2, 0], "b": [0.19, 1, None], "winner": "a", "rater": "m"},
    {"query": "q", "a": [0.5, 0.49, -1], "b": [0.8, 1.0, 0.1], "winner": "b", "rater": "m"},
]


def test_fractions_become_levels_with_names(tmp_path):
    log = dl.read_preferences(write_lines(tmp_path / "log.jsonl", LINES), cutoffs=".2,.5,.8")
    assert log.preferred.tolist() == [[3, 1, 0], [3, 3, 0]] and log.other.tolist() == [
        [0, 3, -1],
        [2, 1, -1],
    ]
    assert log.grade_names == ("0-0.2", "0.2-0.5", "0.5-0.8", "0.8-1") and log.n_grades == 4
    assert log.recognised.mapping.given == {"cutoffs": ".2,.5,.8"}
    table = write(tmp_path, "log.csv", "a,b,winner\n0.9 0.2 0,0.19 1 -1,a\n.5 .49 -1,.8 1 .1,b\n")
    wide = write(
        tmp_path,
        "wide.csv",
        "left_1,left_2,right_1,right_2,winner\n.9,.2,.19,1,left\n.5,.49,.8,1,right\n",
    )
    rows = ["query,side,position,grade,winner"]
    rows += [
        f"q,{side},{k + 1},{x},a"
        for side in "ab"
        for k, x in enumerate(LINES[0][side])
        if x is not None
    ]
    long = write(tmp_path, "long.csv", "\n".join(rows) + "\nq,b,3,-1,a\n")
    assert (
        dl.read_preferences(table, cutoffs=[0.2, 0.5, 0.8]).preferred.tolist()
        == log.preferred.tolist()
    )
    assert dl.read_preferences(wide, cutoffs=".2,.5,.8").preferred.tolist() == [[3, 1], [3, 3]]
    assert dl.read_preferences(long, cutoffs=".2,.5,.8").other.tolist() == [[0, 3, -1]]
    frame = dl.Preferences.from_frame(dl.read_preferences(LINES, cutoffs=".5").to_polars())
    assert frame.preferred.tolist() == [[1, 0, 0], [1, 1, 0]]
    rated = dl.read_ratings([([0.9, 0.1], 5), ([0.1, 0.9], 3)], cutoffs=".5")
    assert (rated.preferred.tolist(), rated.grade_names) == ([[1, 0]], ("0-0.5", "0.5-1"))
    assert dl.read_questions(LINES, cutoffs=".5").tolist() == [
        [[1, 0, 0], [0, 1, -1]],
        [[1, 0, -1], [1, 1, 0]],
    ]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=60), st.integers(2, 8))
def test_quantiles_make_levels_of_about_equally_many(grades, n_levels):
    points = cut_points(n_levels, grades)
    levels = np.array([level_of(grade, points, "a") for grade in grades])
    assert len(points) < n_levels and len(level_names(points)) == len(points) + 1
    order = np.argsort(grades, kind="stable")
    assert (np.diff(levels[order]) >= 0).all()
    most_equal = max(np.unique(grades, return_counts=True)[1])
    assert np.bincount(levels).max() <= -(-len(grades) // n_levels) + most_equal


def test_quantiles_are_cut_at_points_of_the_log(dcglearn, tmp_path):
    path, out = write_lines(tmp_path / "log.jsonl", LINES), tmp_path / "o.jsonl"
    status, _, err = dcglearn("convert", path, "--cutoffs", "3", "-o", out)
    known = sorted(x for line in LINES for side in "ab" for x in line[side] if x not in (None, -1))
    points = cut_points(3, known)
    assert (
        status == 0
        and "grades: 0 = 0-0.2, 1 = 0.2-0.8, 2 = 0.8-1\n" in err
        and points == (0.2, 0.8)
    )
    again = dl.read_preferences(path, cutoffs=points)
    assert (
        again.preferred.tolist()
        == dl.read_preferences(out).preferred.tolist()
        == [[2, 1, 0], [2, 2, 0]]
    )
    status, _, err = dcglearn("learn", path)
    assert status == 2 and "cutoffs= (--cutoffs .2,.5,.8) cuts fractions" in err


def test_judgements_are_cut_too(dcglearn, here):
    fractions = {"1": {"D1": 0.9, "D2": 0.1}, "2": {"D1": 0.5, "D2": 0.3}}
    wanted = {"1": {"D1": 2, "D2": 0}, "2": {"D1": 2, "D2": 1}}
    runs = {
        "new": {q: {"D1": 1.0, "D2": 2.0} for q in "12"},
        "old": {q: {"D1": 2.0, "D2": 1.0} for q in "12"},
    }
    write_trec(here, fractions, runs)
    (here / "qrels.json").write_text(json.dumps(fractions))
    for judgements in (fractions, "qrels.txt", "qrels.json"):
        read = dl.read_judgements(judgements, cutoffs=".2,.5,.8")
        assert read.n_grades == 4 and read.frame["grade"].to_list() == [3, 0, 2, 1]
        assert dl.read_judgements(judgements, cutoffs=3).n_grades == 3
        refused("cuts fractions", dl.read_judgements, judgements)
    expected = dl.evaluate(wanted, runs, "nDCG@10").means[0, 0]
    status, out, _ = dcglearn(
        "evaluate", "qrels.txt", "new.txt", "--cutoffs", ".2,.5", "--format", "jsonl"
    )
    assert status == 0 and json.loads(out)["value"] == pytest.approx(expected)
    log = write_lines(
        here / "log.jsonl", [{"query": "1", "a": ["D1", "D2"], "b": ["D2", "D1"], "winner": "a"}]
    )
    status, out, _ = dcglearn("convert", log, "--qrels", "qrels.txt", "--cutoffs", ".2,.5")
    assert status == 0 and json.loads(out)["a"] == [2, 0]
    people = {q: {"D1": int(q), "D2": 0} for q in "12"}
    machine = {str(q): {"D1": q / 9, "D2": 0.1} for q in range(1, 9)}
    runs = {
        name: {str(q): {"D1": 1.0 + s * (q % 2), "D2": 1.5} for q in range(1, 9)}
        for name, s in (("a", 0), ("b", 1))
    }
    write_trec(here, people, runs)
    (here / "machine.json").write_text(json.dumps(machine))
    files = ("qrels.txt", "a.txt", "b.txt", "--llm-qrels", "machine.json")
    assert dcglearn("compare", *files, "--cutoffs", "4")[0] == 0
    assert "cuts fractions" in dcglearn("compare", *files)[2]


@pytest.mark.parametrize(
    ("cutoffs", "words"),
    [
        *(
            (bad, "give numbers above 0 and up to 1, in order")
            for bad in (".5,.2", "0,.5", ".5,2", "low", "", "1.5", ".5,,")
        ),
        (".5", "a holds 3: grades that are cut"),
    ],
)
def test_what_is_no_cutoff_or_no_fraction_is_refused(cutoffs, words):
    refused(
        words, dl.read_preferences, [{"a": [3, 0], "b": [0, 0.5], "winner": "a"}], cutoffs=cutoffs
    )


def test_contradictions_are_refused():
    refused(
        "cutoffs= makes the scale", dl.read_preferences, LINES, cutoffs=".5", scale=["bad", "good"]
    )
    refused("scale names 2 grades, but n_grades=5", dl.read_preferences, LINES, 5, cutoffs=".5")
    refused("need the whole log", lambda: LogMapping(cutoffs=3).points)
    refused(
        "a holds 'x': grades that are cut",
        dl.read_preferences,
        [{"a": ["x"], "b": [0.5], "winner": "a"}],
        cutoffs=2,
    )


def test_gains_of_many_levels_are_a_curve_of_the_fraction():
    rng = np.random.default_rng(0)
    lists = rng.random((500, 2, 4))
    worth = (lists**2 / np.log2(np.arange(2, 6))).sum(axis=2)
    lines = [
        {"a": a.tolist(), "b": b.tolist(), "winner": "ab"[int(second > first)]}
        for (a, b), (first, second) in zip(lists, worth, strict=True)
    ]
    dcg = dl.DCGLearner(loss="robust").fit(dl.read_preferences(lines, cutoffs=10)).dcg_
    axes = dl.plots.plot_gains({"learned": dcg}, Figure().subplots())
    at, gains = axes.lines[0].get_data()
    assert len(at) == 10 and 0 < at[0] < 0.1 and 0.9 < at[-1] < 1
    assert gains == pytest.approx((at**2 - at[0] ** 2) / (at[-1] ** 2 - at[0] ** 2), abs=0.08)
    assert len(axes.get_xticks()) < 10
