"""Tables, records and frames: what is refused with what to do, rows of documents, bad rows,
ratings.
"""

import json
import re
from collections import namedtuple

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.parts.open_log import opened_log
from dcglearn.readers.column_roles import wide_columns
from tests.makers import columns, refused, write
from tests.readers.test_file_shapes import (
    OBJECTS,
    OTHER,
    PREFERRED,
    SCALE,
    WINNER,
    A,
    B,
    long,
    table,
    wide,
)

LOG = dl.Preferences(PREFERRED, OTHER, tie=[False, False, True])
"""A log of three judgements: a, b, tie."""

ROWS = list(zip(A, B, WINNER, strict=True))
LIKERT = table(["3", "-1", "0"])


def sorted_pairs(log):
    return sorted(zip(log.preferred.tolist(), log.other.tolist(), log.tie.tolist(), strict=True))


NUMBERS = "the sign of a number may mean either side: positive='a', or 'b'"
REFUSED = {
    "Likert numbers": (
        LIKERT,
        r"line 2: winner is '3'; .*seen: '3' \(1\), '-1' \(1\), '0' \(1\); " + NUMBERS,
    ),
    "0 and 1": (
        table("011"),
        r"line 2: winner is '0'; .*seen: '1' \(2\), '0' \(1\); say what .*0=[?],1=[?]",
    ),
    "1 alone": (table("111"), "line 2: winner is '1'; .*seen: '1' .*1=[?]"),
    "words": (
        table(["Left is better", "a", "Same"]),
        "line 2: winner is 'Left is better'; use a, b or tie "
        '.*understood: a, left.*winner_words="Left is bet',
    ),
    "words that are no guess": (
        table(["Links", "Right is better", "a tie"]),
        "line 2: winner is 'Links'; "
        '.*"Links=\\?,Right is better=right,a tie=\\?", with a, b or tie for each',
    ),
    "numbers and words": (table(["a", "1", "2"]), "line 3: winner is '1'"),
    "own words that lack one": (
        table(["x", "y", "z"]),
        "line 4: winner is 'z'; ",
        {"winner_words": {"x": "a", "y": "b"}},
    ),
    "positive of words": (
        table(["a", "b", "tie"]),
        "line 2: winner is 'a', which is not a num",
        {"positive": "a"},
    ),
    "positive and strength": (
        table(["3,1", "-1,1", "0,1"], "a,b,winner,strength"),
        "drop the column of strengths",
        {"positive": "a"},
    ),
    "both options": (LIKERT, "give one of the two", {"positive": "a", "winner_words": "x=a"}),
    "bad meaning": (
        LIKERT,
        "'y' means 'worse'; it can mean a, b, tie or open",
        {"winner_words": "x=left,y=worse"},
    ),
    "no meaning": (LIKERT, "'y' has no meaning", {"winner_words": "x=a,y"}),
    "two meanings": (LIKERT, "'X' has two meanings", {"winner_words": "x=a,X=b"}),
    "positive c": (LIKERT, "positive is 'c'; expected one of \\['a', 'b'\\]", {"positive": "c"}),
    "missing position of a wide table": (
        "left_1,left_3,right_1,right_2,winner\n1,2,1,2,a\n",
        "line 1: position 2 is missing among the columns left_1, left_3",
    ),
    "wide from 2": (
        "a2,a3,b1,b2,winner\n1,2,1,2,a\n",
        "position 1 is missing among the columns a2, a3",
    ),
    "a position twice": (
        "a1,A_1,b1,winner\n1,2,1,a\n",
        "a1 and A_1 both look like|give one position twice",
    ),
    "blank before a grade": (
        wide(["left_{}", "right_{}"]).replace("2,1,0,0", "2,,0,0", 1),
        "line 2: left_2 is blank and left_3 is not; write -1",
    ),
    "a position twice in a long table": (
        long() + "q1,left,2,0,right\n",
        "line 8: position 2 of a occurs on line 9 and line 20; .*number them in a column pair",
    ),
    "a position missing in a long table": (
        long().replace("q1,left,2,0,right\n", ""),
        "line 8: position 2 of a is missing, and position 3 is there",
    ),
    "two winners in a long table": (
        long().replace("q1,left,2,0,right", "q1,left,2,0,left"),
        "line 8: winner is 'right' on line 8 and 'left' on line 9",
    ),
    "one side of a long table": (
        "\n".join(line for line in long().split("\n") if "q2,right" not in line),
        "line 14: b has no row",
    ),
    "another side": (
        long().replace("q0,left,1", "q0,middle,1"),
        "side is 'middle' on line 2; use a or left",
    ),
    "a position that is no number": (
        long().replace("left,1,", "left,top,", 1),
        "line 2: position is 'top'",
    ),
    "ratings": ('{"list": [1, 2], "rating": 3}\n', r"these are rated lists: .*dl.read_ratings"),
    "answers": (
        '{"question": 1, "list": [1, 2], "right": true}\n',
        "these are answers: dcglearn learn-answers",
    ),
    "one column": ("a:b:winner\n1:2:a\n", "separate the columns by commas, semicolons or tabs"),
    "a key of a wide list twice": (
        '{"a1": 1, "a1": 2, "b1": 1, "winner": "a"}',
        "the key 'a1' occurs twice",
    ),
}
"""A text, the message that refuses it, and options."""


@pytest.mark.parametrize("shape", REFUSED)
def test_a_shape_is_refused(tmp_path, shape):
    text, message, *options = REFUSED[shape]
    name = "x.jsonl" if text[:1] == "{" else "x.csv"
    refused(message, dl.read_preferences, write(tmp_path, name, text), **dict(*options))


def test_bad_rows_of_a_long_table_are_set_aside_and_can_be_corrected(tmp_path):
    text = long().replace("q1,left,2,0,right", "q1,left,2,9,right")
    path, side = write(tmp_path, "x.csv", text), tmp_path / "bad.csv"
    log = dl.read_preferences(path, n_grades=3, skip_bad=side)
    assert (len(log), log.dropped["bad lines"]) == (2, 1)
    assert side.read_text().count("\n") == 7
    side.write_text(side.read_text().replace(",9,", ",0,"))
    assert dl.read_preferences(side, n_grades=3).preferred.tolist() == [B[1]]


def test_a_query_may_be_judged_by_several_raters_or_several_times(tmp_path):
    rows = [f"{line},{extra}" for extra in ("ann", "bob") for line in long().split("\n")[1:-1]]
    for column in ("rater", "pair"):
        text = "\n".join([f"query,side,position,grade,winner,{column}", *rows])
        assert len(dl.read_preferences(write(tmp_path, "x.csv", text))) == 6


def test_rated_lists_in_tables(tmp_path):
    texts = [
        "grade_1;grade_2;satisfaction\n2;1;5\n0;1;3\n",
        "list_id,position,grade,rating\nx,1,2,5\nx,2,1,5\ny,1,0,3\ny,2,1,3\n",
        json.dumps([{"list": [2, 1], "rating": 5}, {"list": [0, 1], "rating": 3}]),
    ]
    for name, text in zip(("x.csv", "y.csv", "z.json"), texts, strict=True):
        log = dl.read_ratings(write(tmp_path, name, text))
        assert (log.preferred.tolist(), log.other.tolist()) == ([[2, 1]], [[0, 1]])
    pairs = write(tmp_path, "p.csv", table(["a", "b", "tie"]))
    refused("these are pairs with a winner: leave --ratings out", dl.read_ratings, pairs)


@pytest.mark.parametrize(
    ("names", "marks", "expected"),
    [
        (["left_2", "left_1", "left_10", "x"], ["left"], None),
        ([f"left_{i}" for i in range(10, 0, -1)], ["left"], [f"left_{i}" for i in range(1, 11)]),
        (["List A 1", "List A 2", "List B 1"], ["a"], ["List A 1", "List A 2"]),
        (["1_left_grade", "2_left_grade"], ["left"], ["1_left_grade", "2_left_grade"]),
        (["right[0]", "right[1]"], ["right"], ["right[0]", "right[1]"]),
        (["Old list_1", "old_list 2"], ["old list {}"], ["Old list_1", "old_list 2"]),
        (["left_doc_1", "left_doc_2"], ["left"], []),
        (["a"], ["a"], []),
        (["grade_1", "grade_2", "left_1"], [""], ["grade_1", "grade_2"]),
    ],
)
def test_columns_of_a_wide_list(names, marks, expected):
    if expected is None:
        refused("position 3 is missing", wide_columns, names, marks)
    else:
        assert list(wide_columns(names, marks)) == expected


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("Our study,,,\nleft_1,right_1,winner", "some columns have no name: header= (--header)"),
        ("Production,,Candidate,,winner\n1,2,1,2,", "some columns have no name: header="),
        ("left_1,right_1,Which is better?,,", "columns= (--columns winner=NAME)"),
        ("grades 1,grades 2,winner,,", "columns= (--columns a=NAME,b=NAME)"),
    ],
)
def test_a_table_without_names_asks_for_the_line_of_the_header(tmp_path, header, named):
    path = write(tmp_path, "x.csv", f"{header}\n1,0,a,,\n0,1,b,,\n")
    refused(re.escape(named), dl.read_preferences, path)


Judged = namedtuple("Judged", ["left", "right", "preferred"])

RECORDS = {
    "dictionaries": OBJECTS,
    "tuples": [tuple(o.values()) for o in OBJECTS],
    "named tuples": [Judged(*o.values()) for o in OBJECTS],
    "arrays": [{**o, "a": np.array(o["a"]), "b": tuple(o["b"])} for o in OBJECTS],
    "wide": [
        dict(zip(["l0", "l1", "l2", "r0", "r1", "r2", "label"], [*a, *b, w], strict=True))
        for a, b, w in ROWS
    ],
}


@pytest.mark.parametrize("form", RECORDS)
def test_records_are_read(form):
    for log in (dl.Preferences.from_records(RECORDS[form]), dl.read_preferences(RECORDS[form])):
        assert columns(log) == columns(LOG)


class OnlyArrow:
    """A table of a library of which nothing is known but Arrow's interchange."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


def frames():
    pandas = pytest.importorskip("pandas")
    native = pl.DataFrame(OBJECTS)
    wide_rows = pl.DataFrame(RECORDS["wide"])
    missing = pandas.DataFrame(RECORDS["wide"]).assign(
        query=[None, "q", "r"], weight=[1, np.nan, 2]
    )
    return {
        "polars": native,
        "polars, lazy": native.lazy(),
        "Arrow's interchange": OnlyArrow(native),
        "pandas": pandas.DataFrame(OBJECTS),
        "pandas, wide": pandas.DataFrame(RECORDS["wide"]),
        "pandas, arrays and categories": pandas.DataFrame(OBJECTS).assign(
            a=[np.array(a) for a in A], winner=pandas.Categorical(["a", "b", "tie"])
        ),
        "pandas, missing values": missing,
        "polars, wide": wide_rows,
    }


def test_frames_are_read_everywhere():
    for form, frame in frames().items():
        for log in (dl.Preferences.from_frame(frame), dl.read_preferences(frame)):
            assert sorted_pairs(log) == sorted_pairs(LOG), form
            if "missing" in form:
                assert (log.query.tolist(), log.weight.tolist()) == (["", "q", "r"], [1, 1, 2])
    frame = frames()["pandas"]
    expected = dl.UtilityLearner().fit(LOG).utility_
    for source in (frame, frames()["polars, wide"], OBJECTS, RECORDS["tuples"]):
        np.testing.assert_array_equal(
            dl.UtilityLearner().fit(source).utility_.weights, expected.weights
        )
    with opened_log(frame) as log:  # as every learner opens it
        assert columns(log) == columns(LOG)


def test_frames_with_bad_rows_are_refused():
    pandas = pytest.importorskip("pandas")
    names = ["left_1", "left_2", "right_1", "right_2", "winner"]
    bad = pandas.DataFrame([[1, np.nan, 0, np.nan, "left"], [2, 1, 1, 1, "b"]], columns=names)
    assert dl.Preferences.from_frame(bad).preferred.tolist() == [[1, -2], [1, 1]]
    assert dl.Preferences.from_frame(bad, pad=True).preferred.tolist() == [[1, -1], [1, 1]]
    refused("data frame: no 'a'", dl.read_preferences, bad[["winner"]])
    refused("the data frame is empty", dl.read_preferences, bad[:0])
    refused(
        "two columns called left_1", dl.read_preferences, bad.rename(columns={"left_2": "left_1"})
    )
    refused("cannot be read", dl.read_preferences, bad.assign(winner=["a", 2]))
    refused(r"a value of type int is not a log: give a path, a data frame", dl.read_preferences, 3)
    refused(r"table or a list of records.*Preferences.from_frame", dl.Preferences, bad)
    from_records = dl.Preferences.from_records
    refused(
        "records, record 2: winner is 'x'",
        from_records,
        [OBJECTS[0], {**OBJECTS[1], "winner": "x"}],
    )
    message = "record 1: 4 values for a, b, winner; name them by columns="
    refused(message, from_records, [(*RECORDS["tuples"][0], 1)])
    refused(r"the lists have different lengths.*from_records", dl.Preferences, [([1, 2], [1])])


def test_tuples_may_be_named_and_words_be_grades():
    judged = [("q", ["Good", "Bad"], ["Fair"], 2.0, "b")]
    log = dl.Preferences.from_records(
        judged, ["query", "a", "b", "weight", "winner"], scale=SCALE, pad=True
    )
    assert (log.preferred.tolist(), log.other.tolist()) == ([[1, -1]], [[2, 0]])
    assert (log.query.tolist(), log.weight.tolist(), log.grade_names) == (
        ["q"],
        [2.0],
        tuple(SCALE),
    )
    two = dl.Preferences.from_records([([2, 1], [1]), ([2], [1])], pad=True)
    assert two.other.tolist() == [[1, -1], [1, -1]]


def test_rated_arrays(tmp_path):
    lists, ratings = np.array([[2, 1], [0, 1], [2, 2]]), np.array([4.5, 2, 4.5])
    rows = list(zip(lists.tolist(), ratings.tolist(), strict=True))
    text = "".join(json.dumps({"list": grades, "rating": rating}) + "\n" for grades, rating in rows)
    expected = dl.read_ratings(write(tmp_path, "x.jsonl", text))
    for log in (
        dl.Preferences.from_ratings(lists, ratings),
        dl.Preferences.from_ratings(lists.astype(float), ratings.tolist()),
        dl.Preferences.from_ratings([tuple(x) for x in lists], pl.Series(ratings)),
        dl.Preferences.from_ratings([[SCALE[g] for g in x] for x in lists], ratings, scale=SCALE),
        dl.read_ratings(rows),
        dl.read_ratings(pl.DataFrame({"list": lists.tolist(), "rating": ratings})),
    ):
        assert columns(log) | {"names": None} == columns(expected)
    grouped = dl.Preferences.from_ratings(
        [[2], [0, 1], [2, 2]], ratings, group=[1, 1, 2], weight=[2, 1, 1], pad=True
    )
    assert (grouped.preferred.tolist(), grouped.rater.tolist(), grouped.weight.tolist()) == (
        [[2, -1]],
        ["1"],
        [2.0],
    )
    refused(
        "list has 3, rating has 2 entries; give one",
        dl.Preferences.from_ratings,
        lists,
        ratings[:2],
    )
    refused("at least two lists", dl.Preferences.from_ratings, [], [])
    refused(
        "list holds the grade name 'Good'; pass sc",
        dl.Preferences.from_ratings,
        [["Good"], ["Poor"]],
        [1, 2],
    )
    refused(
        "every rating is 1, so no list is preferred", dl.Preferences.from_ratings, lists, [1, 1, 1]
    )


def test_there_and_back():
    pandas = pytest.importorskip("pandas")
    frame = LOG.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    for back in (dl.Preferences.from_frame(frame), dl.Preferences.from_frame(LOG.to_polars())):
        assert columns(back) == columns(LOG)


def test_real_judgements_are_the_same_in_every_shape(shared, tmp_path):
    raw = pl.read_ndjson(shared / "urbano_music" / "side_by_side.jsonl").select(
        "query", "a", "b", "winner"
    )
    expected = dl.Preferences.from_frame(raw)
    assert len(expected) == 4115
    sides, places = (("a", "Left"), ("b", "Right")), range(expected.depth)
    cells = [
        pl.col(side).list.get(i).alias(f"{name} {i + 1}") for side, name in sides for i in places
    ]
    words = {"a": "Left is better", "b": "Right is better", "tie": "Same"}
    raw.select("query", *cells, pl.col("winner").replace(words)).write_csv(
        tmp_path / "wide.csv", separator=";"
    )
    wide_log = dl.read_preferences(
        tmp_path / "wide.csv", winner_words={word: code for code, word in words.items()}
    )
    assert columns(wide_log) == columns(expected)
    pairs = raw.with_row_index("pair")
    sides = [
        pairs.select("pair", "query", "winner", side=pl.lit(side), grade=pl.col(side))
        for side in "ab"
    ]
    rows = pl.concat(sides).explode("grade")
    rows = rows.with_columns(rank=pl.int_range(pl.len()).over("pair", "side") + 1)
    rows.sample(fraction=1, shuffle=True, seed=0).write_csv(tmp_path / "long.csv")
    assert sorted_pairs(dl.read_preferences(tmp_path / "long.csv")) == sorted_pairs(expected)
