"""How many grades fix the order of two runs: by hand, against the public bounds, on real runs."""

import re

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from simulations import next_grades
from simulations.results import first_line
from tests.makers import refused

ROOT = next_grades.Path(next_grades.__file__).parents[1]


def study_of(judged, runs, metric):
    return next_grades.NextGrades(dl.read_judgements(judged), dl.read_runs(runs), metric)


@pytest.fixture
def tiny():
    """Return two queries: of each, both runs show `s` first, and then one shows `b`, which is good.

    Two further good documents, which no run shows, keep the ideal where it is.
    """
    judged, left, right = {}, {}, {}
    for q in ("1", "2"):
        judged[q] = {"good": 1, "better": 1, f"s{q}": 0, f"a{q}": 0, f"b{q}": 1}
        left[q] = {f"s{q}": 2.0, f"a{q}": 1.0}
        right[q] = {f"s{q}": 2.0, f"b{q}": 1.0}
    return judged, {"left": left, "right": right, "same": left}


def test_grades_are_counted_as_by_hand(tiny):
    judged, runs = tiny
    rows = pl.DataFrame(next_grades.trial(study_of(judged, runs, "nDCG@2"), (0, 0, 0, 1)))
    second = (1 / np.log2(3)) / (1 + 1 / np.log2(3))
    assert rows["open"].to_list() == [6] * 4
    assert rows["difference"].to_list() == pytest.approx([second] * 4)
    found = {name: counts for name, *counts in rows.select("strategy", "needed", "sign").rows()}

    # three of a1, b1, a2, b2 fix the order, and the first good one gives the sign; narrowing begins
    # with the last name among equals, and the order by rank with s1, s2, a1, b1
    assert found["narrowing"] == [3, 1]
    assert found["by rank"] == [5, 4]
    # 20 at a time: all six, in the same order as one by one
    assert found["twenties"] == [3, 1]
    assert 3 <= found["random"][0] <= 5


def test_runs_without_a_difference_are_left_out(tiny):
    judged, runs = tiny
    study = study_of(judged, runs, "nDCG@2")
    table = pl.DataFrame(list(study.simulate(0, 3, quick=True, jobs=1)), infer_schema_length=None)
    equal = table.filter(pl.col("needed").is_null())
    assert equal.select("left", "right").unique().rows() == [("left", "same")]
    assert next_grades.by_strategy(table)["pairs"].to_list() == [2] * 4


@pytest.fixture
def drawn(tmp_path):
    """Return the paths of judgements and of three runs, by chance."""
    rng, judged, runs = np.random.default_rng(3), {}, {"good": {}, "middling": {}, "bad": {}}
    for q in range(6):
        grades = rng.integers(0, 4, 40)
        judged[f"q{q}"] = {f"d{i}": int(grade) for i, grade in enumerate(grades) if i % 7}
        for noise, scores_of in enumerate(runs.values()):
            scores = grades + rng.normal(size=40) * (0.5 + noise)
            scores_of[f"q{q}"] = {f"d{i}": float(score) for i, score in enumerate(scores)}
    lines = [f"{q} 0 {d} {grade}" for q, of in judged.items() for d, grade in of.items()]
    (tmp_path / "qrels").write_text("\n".join(lines))
    ranked = [
        f"{q} Q0 {d} 1 {score:.5f} {name}"
        for name, run in runs.items()
        for q, of in run.items()
        for d, score in of.items()
    ]
    (tmp_path / "runs").write_text("\n".join(ranked))
    return tmp_path


@pytest.mark.parametrize("metric", ["nDCG@10", "exponential-log2@5"])
def test_the_order_is_fixed_where_the_bounds_exclude_0(drawn, metric):
    judged, runs = dl.read_judgements(drawn / "qrels"), dl.read_runs(drawn / "runs")
    study = next_grades.NextGrades(judged, runs, metric)
    first = next_grades.open_documents(judged, runs[:2], dl.metric(metric, n_grades=4).depth)
    rows = pl.DataFrame(next_grades.trial(study, (0, 0, 0, 1)))
    needed = dict(rows.select("strategy", "needed").rows())["by rank"]
    names = {(row["query"], row["document"]) for row in first}

    def grades(frame, kept, column):
        """Return the lines of a frame as a dictionary by query, of documents that are kept."""
        found = {}
        for q, d, value in frame.select("query", "document", column).rows():
            if kept(q, d):
                found.setdefault(q, {})[d] = value
        return found

    tops = {run.name: grades(run.frame, lambda q, d: (q, d) in names, "score") for run in runs[:2]}

    def bounds(n):
        """Return the least and the most after n grades, by the public comparison."""
        rest = grades(judged.frame, lambda q, d: (q, d) not in names, "grade")
        for row in first[:n]:
            rest[row["query"]][row["document"]] = row["grade"]
        graded = dl.read_judgements(rest, n_grades=judged.n_grades)
        found = dl.compare_systems(graded, tops, metric, bounds=True, n_resamples=100)
        return found.table.select("least", "most").row(0)

    before, after = bounds(needed - 1), bounds(needed)
    assert before[0] <= 1e-9 and before[1] >= -1e-9
    assert after[0] > 0 or after[1] < 0
    assert bounds(len(first)) == pytest.approx([rows["difference"][0]] * 2)


def test_the_program_writes_its_table_and_picture(drawn, capsys):
    arguments = [str(drawn / "qrels"), str(drawn / "runs"), "--folder", str(drawn), "--jobs", "1"]
    next_grades.main([*arguments, "--quick"])
    printed = capsys.readouterr().out
    assert "left out, since all judgements leave no difference: 0" in printed
    assert "narrowing by rank: ratio of grades" in printed
    table = pl.read_csv(drawn / "next_grades.csv", comment_prefix="#")
    assert table["strategy"].unique().sort().to_list() == sorted(next_grades.STRATEGIES)
    assert len(table) == 12 and (table["sign"] <= table["needed"]).all()
    assert (table["needed"] <= table["open"]).all()
    assert (drawn / "next_grades.png").stat().st_size > 1000

    # other judgements of the same options replace the table
    lines = (drawn / "qrels").read_text().splitlines()
    (drawn / "qrels").write_text("\n".join(lines[:-5]))
    next_grades.main([*arguments, "--quick"])
    assert not table.equals(pl.read_csv(drawn / "next_grades.csv", comment_prefix="#"))
    refused("1 pairs of runs", next_grades.main, [*arguments, "--repeats", "1"])


def test_a_query_needs_judgements_of_further_documents(tiny):
    judged, runs = tiny
    judged["2"] = {"s2": 1, "a2": 0}
    study = study_of(judged, runs, "nDCG@2")
    refused("query 2 has no judgement but those", next_grades.trial, study, (0, 0, 0, 1))


def test_runs_without_any_difference_are_refused(tiny):
    judged, runs = tiny
    study = study_of(judged, {"left": runs["left"], "same": runs["left"]}, "nDCG@2")
    table = pl.DataFrame(next_grades.trial(study, (0, 0, 0, 1)), infer_schema_length=None)
    refused("no difference between the runs", study.plot, table, None)


TABLE = ROOT / "figures" / "next_grades.csv"


def committed():
    return pl.read_csv(TABLE, comment_prefix="#")


@pytest.mark.long
def test_the_committed_table_is_that_of_the_real_runs(shared):
    folder = shared / "trec_dl2021_passage"
    judged = dl.read_judgements(folder / "qrels-pass.txt")
    runs = dl.read_runs(folder / "runs_judged53.txt.xz")
    table, names = committed(), [run.name for run in runs]
    quickest = table.filter(strategy="random").sort("needed")["repeat"][0]
    rows = table.filter(repeat=quickest)
    left, right = (names.index(rows[side][0]) for side in ("left", "right"))
    study = next_grades.NextGrades(judged, runs)
    seed = int(re.search(r"seed=(\d+)", first_line(TABLE)).group(1))
    again = pl.DataFrame(next_grades.trial(study, (seed, quickest, left, right)))
    assert again.drop("difference").equals(rows.drop("difference"))
    assert again["difference"].to_list() == pytest.approx(rows["difference"].to_list(), rel=1e-5)


def test_the_documentation_shows_the_committed_table():
    text, table = (ROOT / "docs" / "evaluation.md").read_text(), committed()
    sizes = next_grades.by_strategy(table, ["size"])
    for row in next_grades.by_strategy(table).iter_rows(named=True):
        shares = [
            sizes.filter(size=size, strategy=row["strategy"])["share"][0]
            for size in next_grades.SIZES
        ]
        cells = [
            next_grades.STRATEGIES[row["strategy"]],
            f"{row['median']:g} ({row['lower']:.0f} to {row['upper']:.0f})",
            *(f"{share:.0%}" for share in (row["share"], *shares)),
            f"{row['sign']:g}",
        ]
        assert "| " + " | ".join(cells) + " |" in text
