"""Logs from tables: columns by names, winners, sides, scales, ratings, and what is refused."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dcglearn as dl
from dcglearn.reading import scale
from dcglearn.reading.columns import find
from dcglearn.reading.contract import JUDGEMENT, RUN
from dcglearn.reading.read import read_preferences, read_questions, read_ratings
from dcglearn.reading.scale import Scale, grades_of
from dcglearn.reading.shapes import from_long, with_grades
from dcglearn.reading.tables import Refusals, table_of
from tests.makers import columns, refused


def rows(*winners, **columns):
    lists = {"a": [2, 1, 0], "b": [0, 1, 2]}
    made = [{**lists, "winner": winner} for winner in winners]
    for name, values in columns.items():
        for row, value in zip(made, values, strict=True):
            row[name] = value
    return made


def won(log):
    """Return which list won each pair, a or b, or = for a tie."""
    sides = np.where(log.preferred[:, 0] == 2, "a", "b")
    return "".join(sides if log.tie is None else np.where(log.tie, "=", sides))


def read(*winners, columns=None, **options):
    return read_preferences(rows(*winners, **(columns or {})), as_is=True, **options)


# columns


@pytest.mark.parametrize(
    ("names", "own", "found"),
    [
        (["A", "B", "Winner"], {}, {"a": ["A"], "b": ["B"], "winner": ["Winner"]}),
        (
            ["left 1", "left 2", "right_0", "right_1", "choice", "rater_id", "topic"],
            {},
            {"a": ["left 1", "left 2"], "rater": ["rater_id"], "query": ["topic"]},
        ),
        (
            ["Links 1", "Links 2", "x", "y", "Urteil", "id"],
            {"a": "Links {}", "b": "x..y", "winner": "urteil", "id": ""},
            {"a": ["Links 1", "Links 2"], "b": ["x", "y"], "winner": ["Urteil"]},
        ),
    ],
)
def test_columns_are_found(names, own, found):
    result = find(names, JUDGEMENT, own)
    assert found.items() <= result.items()
    assert "id" not in result


def test_of_a_runs_names_the_first_counts():
    found = find(["qid", "query", "docno", "docid", "score"], RUN)
    assert found == {"query": ["qid"], "document": ["docno"], "score": ["score"]}


@pytest.mark.parametrize(
    ("names", "own", "told"),
    [
        (["a", "b"], {}, "no 'winner'"),
        (["a", "b", "winner", "query", "qid"], {}, "both may be 'query'"),
        (["a1", "a3", "b1", "b2", "winner"], {}, "count positions"),
        (["a1", "b1", "winner"], {}, "must be several"),
        (["a", "b", "winner", "winner_duplicated_0"], {}, "two columns are called 'winner'"),
        (["left", "", "right", "_duplicated_0", "winner"], {}, "'Two lines of names'"),
        (["a", "b", "winner"], {"nonsense": "a"}, "'nonsense'"),
        (["a", "b", "winner"], {"query": "frage"}, "names no column"),
        (["side", "position", "grade", "winner"], {}, "'A row for each document'"),
        (["list", "rating"], {}, "dl.read_ratings"),
    ],
)
def test_columns_that_are_missing_or_ambiguous_are_refused(names, own, told):
    with pytest.raises(dl.InputError) as refusal:
        find(names, JUDGEMENT, own)
    assert told in str(refusal.value)


def test_columns_that_are_not_used_are_named():
    log = read("a", "b", columns={"comment": ["x", "y"], "worker_id": ["ann", "bob"]})
    assert log.rater.tolist() == ["ann", "bob"]
    assert log.recognised.ignored == ["comment"]
    assert "not used: comment" in str(log.recognised)
    assert "rater" in str(log.recognised)


# winners


def test_words_for_winners():
    assert won(read("A", "right", "Same", "b", "tie (bothbad)")) == "ab=b="
    words = {"links": "a:2", "rechts": "b", "gleich": "tie"}
    log = read("Links", "Rechts", "Gleich", winner_words=words)
    assert won(log) == "ab="
    assert log.strength.tolist() == [2, 1, 1]
    assert won(read("1", "2.0", winner_words="1=a,2=b")) == "ab"


@pytest.mark.parametrize(
    ("winner", "told"),
    [("x", "winner_words="), (None, "missing"), ("", "missing"), (3, "'Likert numbers'")],
)
def test_other_winners_are_refused(winner, told):
    with pytest.raises(dl.InputError, match="row 2") as refusal:
        read("a", winner)
    assert told in str(refusal.value)


SYSTEMS = {"model_a": ["A", "B", "B"], "model_b": ["B", "A", "A"]}


def test_a_winner_that_names_a_system_is_that_systems_list():
    log = read("A", "A", "tie", columns=SYSTEMS)
    assert won(log) == "ab="
    assert "the system of that name" in str(log.recognised)


def test_a_blank_winner_names_no_blank_system():
    columns = {"model_a": ["", "new"], "model_b": ["new", "old"]}
    with pytest.raises(dl.InputError, match="row 1: winner is missing"):
        read("", "new", columns=columns)


def test_columns_that_hold_the_winners_are_used_or_refused():
    columns = {"System 1": SYSTEMS["model_a"], "System 2": SYSTEMS["model_b"]}
    with pytest.raises(dl.InputError, match="system_a"):
        read("A", "A", "tie", columns=columns)
    named = {"system_a": "System 1", "system_b": "System 2"}
    frame = rows("A", "A", "tie", **columns)
    assert won(read_preferences(frame, columns=named, as_is=True)) == "ab="
    ignored = {"system_a": ""}
    assert won(read_preferences(frame, columns=ignored, as_is=True)) == "aa="


@pytest.mark.parametrize(
    ("sides", "expected"), [(None, "baab"), ("listed", "abab"), ("shown", "baba")]
)
def test_sides_are_those_shown_where_a_column_tells(sides, expected):
    columns = {"swapped": [True, True, True, True]}
    log = read("left", "right", "a", "b", columns=columns, sides=sides)
    assert won(log) == expected


def test_a_column_that_may_tell_the_order_is_refused():
    with pytest.raises(dl.InputError, match="'swapped': 'order'"):
        read("a", "b", columns={"order": ["AB", "BA"]})


# cells


def test_scales_and_grades():
    frame = pl.DataFrame({"a": ["Good|Bad", "very good"], "b": ["Bad|Bad", "Bad"], "winner": "a"})
    frame = frame.with_columns(pl.col("b").str.replace("|", " ", literal=True))
    log = read_preferences(frame, scale="Bad,Good,Very good")
    assert log.preferred.tolist() == [[1, 0], [2, -2]]
    assert read_questions([{"a": ["NA", 2.0], "b": ["u", -2]}]).tolist() == [[[-1, 2], [-1, -2]]]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ([0.5, 1], "'Fractions'"),
        (["good"], "scale="),
        ([{"grade": 1}], "'Documents as objects'"),
        ([126], "far from a scale"),
        ([], "missing or empty"),
    ],
)
def test_other_grades_are_refused(cell, told):
    with pytest.raises(dl.InputError, match="row 2") as refusal:
        read_preferences([*rows("a"), {"a": cell, "b": [0, 1, 2], "winner": "b"}], as_is=True)
    assert told in str(refusal.value)


@pytest.mark.parametrize("form", ["{} {} {}", "{}|{}|{}", "{},{},{}", "[{}, {}, {}]", "({} {} {})"])
def test_texts_that_differ_in_digits_alone_are_read_as_others(form, monkeypatch):
    monkeypatch.setattr(scale, "BLOCK", 2)
    lists = [[2, 1, 0], [0, 1, 2], [1, 1, 1]]
    texts = [form.format(*grades) for grades in lists]
    assert read_questions(pl.DataFrame({"a": texts, "b": texts}))[:, 0].tolist() == lists

    # beside a text of another length, and with another separator
    texts[2] = form.format(-1, 1, 1)
    others = read_questions(pl.DataFrame({"a": texts, "b": texts}))[:, 1].tolist()
    assert others == [*lists[:2], [-1, 1, 1]]
    with pytest.raises(dl.InputError, match="row 3: a holds"):
        read_questions(pl.DataFrame({"a": [*texts[:2], "1;1;1"], "b": texts}))


def test_whole_numbers_by_position_are_read_as_texts_are():
    numbers = pl.DataFrame({"a1": [2, 0], "a2": [1, -1], "b1": [0, 2], "b2": [1, 1]})
    texts = numbers.cast(pl.String)
    assert read_questions(numbers).tolist() == [[[2, 1], [0, 1]], [[0, -1], [2, 1]]]
    assert read_questions(texts).tolist() == read_questions(numbers).tolist()
    shorter = read_questions(numbers.with_columns(a2=pl.Series([1, None])))
    assert shorter[1].tolist() == [[0, -2], [2, 1]]


def test_columns_of_objects_are_refused_by_their_recipe():
    objects = pl.DataFrame({"a": [{"grade": 1}], "b": [{"grade": 2}]})
    with pytest.raises(dl.InputError, match="Documents as objects"):
        read_questions(objects)


def test_merged_cells_are_refused_and_single_blanks_are_not():
    with pytest.raises(dl.InputError, match="Merged cells"):
        read("a", "b", "a", "b", columns={"query": ["one", None, "two", None]})
    assert read("a", "b", columns={"query": [None, "one"]}).query.tolist() == ["", "one"]


def test_bad_rows_are_set_aside(tmp_path):
    log = read_preferences(rows("a", "x", "b"), as_is=True, skip_bad=tmp_path / "bad.jsonl")
    assert won(log) == "ab"
    assert log.dropped["bad rows"] == 1
    assert json.loads((tmp_path / "bad.jsonl").read_text())["winner"] == "x"


def test_rejected_rows_and_names_in_two_forms_are_remarked():
    columns = {"status": ["Approved", "Rejected"], "rater": ["Ann", "ann"]}
    notes = " ".join(read("a", "b", columns=columns).recognised.notes)
    assert "Rejected" in notes
    assert "'ann'" in notes


def test_open_and_superseded_rows_are_left_out():
    columns = {"id": ["1", "2", "3"], "supersedes": ["", "1", ""]}
    log = read("a", "b", "open", columns=columns)
    assert won(log) == "b"
    assert log.dropped == {"open questions": 1, "superseded verdicts": 1}


# rated lists, other shapes


@pytest.mark.parametrize(
    "ratings",
    [("up", "down"), (True, False), ("👍", "👎"), ("★★★", "★"), ("5 stars", "1 star"), (2, 1)],
)
def test_ratings_are_numbers_thumbs_and_stars(ratings):
    lists = [{"list": x, "rating": y} for x, y in zip(([2, 0], [0, 2]), ratings, strict=True)]
    assert read_ratings(lists).preferred.tolist() == [[2, 0]]


def test_a_row_a_document():
    long = pl.DataFrame(
        {
            "query": "q",
            "system": ["prod", "prod", "new", "new"],
            "rank": [2, 1, 1, 2],
            "rel": [0, 2, 1, 0],
            "winner": ["prod", None, None, None],
        }
    )
    log = read_preferences(from_long(long), as_is=True)
    assert log.preferred.tolist() == [[2, 0]]
    for wrong in (
        {"rank": [1, 1, 1, 2]},
        {"rank": [None, 2, 1, 2]},
        {"rank": [3, 2, 2, 3]},
        {"winner": ["prod", "new", None, None]},
    ):
        with pytest.raises(dl.InputError):
            from_long(long.with_columns(**{name: pl.Series(x) for name, x in wrong.items()}))

    # a column that has the name of a role gives way to the one that is chosen
    with pytest.warns(UserWarning, match="columns that are not used: side"):
        beside = from_long(long.with_columns(side=pl.lit("left")), columns={"side": "system"})
    assert beside.select("a", "b", "system_a").rows() == [(["1", "0"], ["2", "0"], "new")]


JUDGED = pl.DataFrame({"query": "q", "doc": ["d1", "d2"], "grade": [2, 1]})


def test_documents_judged_elsewhere():
    log = [{"query": "q", "docs_a": ["d1", "d9"], "docs_b": "d2 d1", "winner": "a"}]
    log.append({"query": "q", "docs_a": ["d9"], "docs_b": "d2", "winner": "b"})
    with pytest.warns(UserWarning, match="2 of 6 documents"):
        frame = with_grades(log, JUDGED)
    read_log = read_preferences(frame, as_is=True)
    assert read_log.preferred.tolist() == [[2, -1], [1, -2]]
    assert read_log.docs[0].tolist() == ["d1\td9", "d2\td1"]

    # a list without a document is kept
    log[1]["docs_a"] = []
    with pytest.warns(UserWarning, match="1 of 5"):
        assert with_grades(log, JUDGED)["a"].to_list() == [["2", "-1"], ["-2"]]


def test_a_place_without_a_document_holds_no_result():
    log = [{"query": "q", "docs_a": ["d1", None, "d2"], "docs_b": [None, "d2", ""], "winner": "a"}]
    for unjudged in (-1, None):
        read_log = read_preferences(with_grades(log, JUDGED, unjudged=unjudged), as_is=True)
        assert read_log.preferred.tolist() == [[2, -2, 1]]
        assert read_log.other.tolist() == [[-2, 1, -2]]
        assert read_log.docs[0].tolist() == ["d1\t\td2", "\td2\t"]


@pytest.mark.parametrize("grade", [0, -1, -2, -2.0])
def test_a_judgement_below_0_counts_as_0(grade):
    judged = JUDGED.with_columns(grade=pl.Series([2, grade], strict=False))
    log = [{"query": "q", "docs_a": ["d1", "d2"], "docs_b": ["d2", "d1"], "winner": "a"}]
    assert read_preferences(with_grades(log, judged)).preferred.tolist() == [[2, 0]]


def test_rated_lists_of_documents_judged_elsewhere():
    log = [{"query": "q", "list": ["d1"], "rating": "up"}]
    log.append({"query": "q", "list": ["d2"], "rating": "down"})
    assert read_ratings(with_grades(log, JUDGED)).preferred.tolist() == [[2]]


def test_judgements_that_fit_no_document_or_twice_are_refused():
    log = [{"query": "q", "docs_a": ["x"], "docs_b": ["y"], "winner": "a"}]
    with pytest.raises(dl.InputError, match="none of its 2 documents"):
        with_grades(log, JUDGED)
    twice = pl.concat([JUDGED, JUDGED.with_columns(grade=pl.lit(0, pl.Int64))])
    with pytest.raises(dl.InputError, match="more than once"):
        with_grades(log, twice)


# upside down


@pytest.fixture
def log():
    truth = dl.DCG.standard(4, 3)
    lists = np.random.default_rng(0).integers(0, 4, (2, 60, 3))
    a_wins = truth.score(lists[0]) > truth.score(lists[1])
    pairs = zip(*lists.tolist(), np.where(a_wins, "a", "b").tolist(), strict=True)
    return [{"a": a, "b": b, "winner": winner} for a, b, winner in pairs]


def test_each_reversal_is_refused_and_its_remedy_reads_the_log(log):
    right = read_preferences(log)
    swapped = [row | {"winner": {"a": "b", "b": "a"}[row["winner"]]} for row in log]
    with pytest.raises(dl.io.UpsideDownError, match="winner_words"):
        read_preferences(swapped)
    words = {"a": "b", "b": "a"}
    assert (read_preferences(swapped, winner_words=words).preferred == right.preferred).all()

    reverse = [row | {side: [3 - x for x in row[side]] for side in "ab"} for row in log]
    with pytest.raises(dl.io.UpsideDownError, match="scale="):
        read_preferences(reverse)
    scale = ["3", "2", "1", "0"]
    assert (read_preferences(reverse, scale=scale).preferred == right.preferred).all()

    shown = [row | {"swapped": True, "winner": row["winner"]} for row in log]
    told = [row | {"winner": {"a": "left", "b": "right"}[row["winner"]]} for row in shown]
    with pytest.raises(dl.io.UpsideDownError, match="sides='listed'"):
        read_preferences(told)
    assert (read_preferences(told, sides="listed").preferred == right.preferred).all()


@pytest.mark.parametrize("texts", [["[2, 0]", "1", "", "2,1"], ["2 0", "1", "Bad", "2 1"]])
def test_blocks_of_rows_are_read_as_one(texts, monkeypatch):
    rows = [{"a": text, "b": "1", "winner": "a"} for text in texts]
    with pytest.raises(dl.InputError) as whole:
        read_preferences(rows)

    # a block a row, one of them without a comma
    monkeypatch.setattr("dcglearn.reading.scale.BLOCK", 1)
    with pytest.raises(dl.InputError) as blocks:
        read_preferences(rows)
    assert str(blocks.value) == str(whole.value)
    good = [row for row, text in zip(rows, texts, strict=True) if text not in ("", "Bad")]
    assert read_preferences(good, pad=True).preferred.tolist() == [[2, 0], [1, -1], [2, 1]]


def test_a_scale_that_the_log_states_may_be_given_too(tmp_path):
    log = dl.Preferences([[1, 0]], [[0, 1]], grade_names=["poor", "fair", "good"])
    log.save(tmp_path / "log.jsonl")
    again = dl.read_preferences(tmp_path / "log.jsonl", scale=["poor", "fair", "good"])
    assert again.preferred.tolist() == [[1, 0]] and again.grade_names == log.grade_names


def test_a_blank_winner_is_given_a_meaning_as_text_and_as_a_mapping():
    rows = [{"a": [2, 0], "b": [0, 1], "winner": "a"}, {"a": [1, 0], "b": [0, 2], "winner": ""}]
    for words in ("=open", {"": "open"}):
        log = dl.read_preferences(rows, winner_words=words)
        assert len(log) == 1 and log.dropped == {"open questions": 1}
        assert log.recognised.winners == "winners: a (1), blank = open (1)"


def test_a_log_without_any_answer_is_refused():
    tasks = [{"query": "q", "a": [2, 0], "b": [0, 1], "id": 1}]
    for own in (None, {"winner": "best"}):
        refused("where no task has an answer", dl.read_preferences, tasks, columns=own)
    lists = [{"list": [2, 0], "rating": None}, {"list": [0, 2], "rating": None}]
    refused("rating is missing; every row has one", dl.read_ratings, lists)


def test_names_of_grades_and_files_of_trec_are_judgements_of_documents(tmp_path):
    log = [{"query": "q", "a": ["d1", "d2"], "b": ["d2"], "winner": "a"}]
    judged = dl.read_judgements({"q": {"d1": "good", "d2": "poor"}}, scale="poor,fair,good")
    read_log = read_preferences(with_grades(log, judged), as_is=True)
    assert read_log.preferred.tolist() == [[2, 0]]
    assert read_log.grade_names == ("poor", "fair", "good")

    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q 0 d1 2\nq 0 d2 -1\n")
    assert read_preferences(with_grades(log, qrels), as_is=True).preferred.tolist() == [[2, 0]]


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=2, max_size=6),
    st.sampled_from([" ", "|", ","]),
)
def test_lists_of_digits_are_read_as_all_other_lists(lists, mark):
    plain = [mark.join(map(str, grades)) for grades in lists]
    refusals = Refusals(table_of([{"a": text} for text in plain]))
    read = [
        grades_of("a", [pl.Series(texts)], Scale(n_grades=5), refusals).tolist()
        for texts in (plain, [f"[{text}]" for text in plain])
    ]
    assert read == [lists, lists]

    # a grade that is none is refused in both forms
    for texts in ([*plain, mark.join("907")], [*plain, f"[{mark.join('907')}]"]):
        refusals = Refusals(table_of([{"a": text} for text in texts]))
        grades_of("a", [pl.Series(texts)], Scale(n_grades=5), refusals)
        refused("a holds the grade 9, outside 0..4", refusals.check)


def test_one_column_has_a_role_that_is_no_list():
    row = {"a": [1, 0], "b": [0, 1], "winner": "a", "r1": "ann", "r2": "bob"}
    for name in ("r1..r2", "r{}"):
        refused("names r1, r2; give one", read_preferences, [row], columns={"rater": name})


def test_systems_in_place_of_lists_are_not_read_as_grades():
    sides = [("A", "B", "A"), ("B", "A", "A"), ("A", "B", "B")]
    rows = [dict(zip(("left", "right", "winner"), row, strict=True)) for row in sides]
    words = "'left' and 'right' hold what winners are"
    refused(words, read_preferences, rows, scale=("B", "A"))


def test_a_role_is_named_by_any_name_of_its_column():
    rows = [{"list": [i % 2, 0], "mood": i % 2, "who": f"u{i // 4}"} for i in range(8)]
    usual = read_ratings(rows, columns={"rating": "mood", "group": "who"})
    found = read_ratings(rows, columns={"thumb": "mood", "user": "who"})
    assert columns(found) == columns(usual)
    twice = {"thumb": "mood", "user": "who", "group": "who"}
    refused("two columns for one role", read_ratings, rows, columns=twice)
