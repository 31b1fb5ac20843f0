"""A saved or converted log keeps its scale and all columns, and lines that state different scales
are refused.
"""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dcglearn as dl
from dcglearn.logs.columns import COLUMNS
from tests.makers import refused, write, write_lines

NAMES = ("Bad", "Fair", "Good", "Perfect")
LINE = {"a": [2, 0], "b": [0, 1], "winner": "a"}


def parts(log):
    """Everything that a file keeps of a log."""
    values = {name: getattr(log, name) for name in ("preferred", "other", *COLUMNS)}
    arrays = {name: None if array is None else array.tolist() for name, array in values.items()}
    arrays["tie"] = (
        arrays["tie"] if any(arrays["tie"] or ()) else None
    )  # winners alone have no ties
    return {**arrays, "n_grades": log.n_grades, "names": log.grade_names}


def random_columns(n, depth, seed):
    """Values of every column."""
    rng = np.random.default_rng(seed)
    labels = np.array(["x", "é 1", "7", "a, b"])
    values = {
        "positive": rng.exponential(1, n) + 0.01,
        "number": rng.normal(0, 1, n),
        "flag": rng.random(n) < 0.5,
        "side": rng.random(n) < 0.5,
        "documents": rng.integers(0, 99, (n, 2, depth)).astype(str),
    }
    return {name: values.get(about.kind, rng.choice(labels, n)) for name, about in COLUMNS.items()}


@given(
    st.integers(1, 8),
    st.integers(1, 4),
    st.integers(0, 99),
    st.sets(st.sampled_from(sorted(COLUMNS))),
    st.sampled_from([None, 4, 6, NAMES, ("0", "1", "10", "100")]),
    st.sampled_from(["log.jsonl", "log.parquet"]),
)
def test_a_saved_log_reads_back_as_it_was(tmp_path_factory, n, depth, seed, kept, scale, file):
    rng = np.random.default_rng(seed)
    lists = np.where(
        np.arange(depth) < rng.integers(1, depth + 1, (2, n, 1)),
        rng.integers(-1, 4, (2, n, depth)),
        -2,
    )
    columns = {
        name: values for name, values in random_columns(n, depth, seed).items() if name in kept
    }
    scale = {"grade_names": scale} if isinstance(scale, tuple) else {"n_grades": scale}
    log = dl.Preferences(*lists, **scale, **columns)
    path = tmp_path_factory.mktemp("saved") / file
    log.save(path)
    assert parts(dl.read_preferences(path, as_is=True)) == parts(log)
    assert parts(dl.read_preferences(log.to_polars(), as_is=True)) == parts(log)


@pytest.mark.parametrize("file", ["log.jsonl", "log.parquet"])
def test_pairs_of_rated_lists_keep_names_and_ratings(tmp_path, file):
    rated = [([0, 1], 1), ([2, 0], 4), ([1, 1], 4), ([0, 1], 1)]
    log = dl.read_ratings([(lists, rating) for lists, rating in rated], scale=NAMES)
    log.save(tmp_path / file)
    again = dl.read_preferences(tmp_path / file)
    assert parts(again) == parts(log)
    assert again.to_polars().equals(log.to_polars())


def test_only_a_scale_that_the_lists_do_not_show_is_written(tmp_path):
    def states(**scale):
        frame = dl.Preferences([[2, 0]], [[0, 1]], **scale).to_polars()
        return frame["scale"].to_list()[0] if "scale" in frame.columns else None

    assert [states(), states(n_grades=3), states(n_grades=5)] == [None, None, 5]
    assert states(grade_names=NAMES) == list(NAMES)
    # grades that a reader would refuse without being told
    assert dl.Preferences([[99, 0]], [[0, 1]]).to_polars()["scale"].to_list() == [100]


@pytest.mark.parametrize(
    "scale", [["Bad", "Fair", "Good"], "Bad, Fair,Good", "['Bad', 'Fair', 'Good']"]
)
@pytest.mark.parametrize("lists", [([2, 0], [0, 1]), (["Good", "Bad"], ["bad", "fair"])])
def test_grades_are_numbers_or_names_of_the_scale(tmp_path, scale, lists):
    line = {"a": lists[0], "b": lists[1], "winner": "a", "scale": scale}
    log = dl.read_preferences(write_lines(tmp_path / "log.jsonl", [line, line]))
    assert (log.preferred.tolist(), log.grade_names) == ([[2, 0]] * 2, NAMES[:3])
    assert dl.read_questions([line]).tolist() == [[[2, 0], [0, 1]]]


def test_text_and_frames_state_a_scale(tmp_path):
    text = write(tmp_path, "log.csv", 'a,b,winner,scale\nGood Bad,Bad Fair,a,"Bad,Fair,Good"\n')
    assert dl.read_preferences(text).grade_names == NAMES[:3]
    assert (
        dl.read_preferences(write(tmp_path, "n.csv", "a,b,winner,scale\n2 0,0 1,a,5\n")).n_grades
        == 5
    )
    assert dl.read_preferences(pl.DataFrame([{**LINE, "scale": 5}])).n_grades == 5


@pytest.mark.parametrize(
    ("scale", "later", "problem"),
    [
        (
            ["x", "y", "z"],
            ["x", "z", "y"],
            r"line 2: scale is \['x', 'z', 'y'\], and an earlier line says \['x', 'y',",
        ),
        (
            3,
            4,
            "line 2: scale is 4, and an earlier line says 3: logs on different scales were joined",
        ),
        (None, 2, "line 1: the grade 2 is outside the scale that the log states, 0 to 1"),
        (2, None, "line 1: a holds the grade 2, outside"),
        ("wide", None, r"line 1: scale is 'wide': give the names .*--columns scale="),
        (["x", "X", "y"], None, "line 1: scale=.* must name every grade, each by a different name"),
        (500, None, "line 1: n_grades"),
    ],
)
def test_lines_that_state_another_scale_are_refused(tmp_path, scale, later, problem):
    lines = [LINE if value is None else {**LINE, "scale": value} for value in (scale, later)]
    refused(problem, dl.read_preferences, write_lines(tmp_path / "log.jsonl", lines))


def test_a_line_may_lack_the_scale(tmp_path):
    path = tmp_path / "log.jsonl"
    for first, second in ((5, None), (None, 5)):
        write_lines(
            path, [LINE if value is None else {**LINE, "scale": value} for value in (first, second)]
        )
        assert dl.read_preferences(path).n_grades == 5
    write_lines(path, [{**LINE, "scale": 4}, {**LINE, "scale": list(NAMES)}])
    assert dl.read_preferences(path).grade_names == NAMES


def test_an_option_that_contradicts_the_scale_is_refused(tmp_path):
    path = write_lines(tmp_path / "log.jsonl", [{**LINE, "scale": list(NAMES)}])
    assert dl.read_preferences(path, n_grades=4).grade_names == NAMES
    assert dl.read_preferences(path, scale=["bad", "fair", "good", "perfect"]).grade_names == NAMES
    refused(
        r"line 1: scale is .*n_grades= .* says 5: leave the option out",
        dl.read_preferences,
        path,
        n_grades=5,
    )
    refused(r"says \['a', 'b', 'c', 'd'\]", dl.read_preferences, path, scale=list("abcd"))
    assert dl.read_preferences(path, n_grades=5, columns={"scale": ""}).n_grades == 5


def test_logs_in_parts_keep_the_scale(tmp_path, parted):
    log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 60, random_state=0).rescaled(
        6
    )
    named = log.changed(grade_names=tuple("uvwxyz"))
    named[:30].save(tmp_path / "1.parquet")
    named[30:].save(tmp_path / "2.parquet")
    with parted(tmp_path) as parts_of_it:
        assert (len(parts_of_it), parts_of_it.n_grades, parts_of_it.grade_names) == (
            60,
            6,
            tuple("uvwxyz"),
        )
    log[30:].save(tmp_path / "2.parquet")
    with parted(tmp_path) as parts_of_it:
        assert parts_of_it.n_grades == 6
    log[30:].changed(grade_names=tuple("zyxwvu")).save(tmp_path / "2.parquet")
    refused(r"2.parquet, row 1: scale is .*an earlier line says", parted, tmp_path)
    pl.concat([pl.read_parquet(tmp_path / f"{i}.parquet") for i in (1, 2)]).write_parquet(
        tmp_path / "1.parquet"
    )
    refused(r"1.parquet, row 31: scale is", parted, tmp_path / "1.parquet")


def test_convert_keeps_what_it_was_told_and_learn_prints_the_names(dcglearn, misuse, tmp_path):
    rows = "".join(
        f"{a} {b},{b} {a},{'a' if a > b else 'b'}\n"
        for a, b in [("Fair", "Bad"), ("Good", "Fair")] * 9
    )
    sheet = write(
        tmp_path,
        "sheet.csv",
        f"a,b,winner\n{rows.replace('Fair Bad,Bad Fair,b', 'Fair Bad,Bad Fair,a')}",
    )
    for name in ("log.jsonl", "log.parquet"):
        assert dcglearn("convert", sheet, "--scale", ",".join(NAMES), "-o", tmp_path / name)[0] == 0
        log = dl.read_preferences(tmp_path / name)
        assert (log.n_grades, log.grade_names) == (4, NAMES)
        status, out, err = dcglearn("learn", tmp_path / name, "-v")
        assert status == 0 and all(
            f"{grade} {name}" in out + err for grade, name in enumerate(NAMES)
        )
    plain = write_lines(tmp_path / "plain.jsonl", [LINE])
    out = dcglearn("convert", plain, "--grades", 5)[1]
    assert json.loads(out) == {**LINE, "scale": 5}
    assert json.loads(dcglearn("convert", plain)[1]) == LINE
    misuse(
        "x.csv: logs are not written as .csv; give .jsonl",
        "convert",
        plain,
        "-o",
        tmp_path / "x.csv",
    )
    refused("x.csv: logs are not written as .csv", log.save, tmp_path / "x.csv")
