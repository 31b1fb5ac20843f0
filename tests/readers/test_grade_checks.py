"""A stray grade is refused with its line, and grades that are other numbers are proposed as a
scale.
"""

import numpy as np
import pytest

import dcglearn as dl
from tests.makers import refused, write, write_lines

DISCOUNTS = 1 / np.arange(1, 11)


def lines(levels, n=100, seed=0):
    """Return judgements of lists of 10 items of some levels, worst first."""
    lists = np.random.default_rng(seed).integers(0, len(levels), (n, 2, 10))
    scores = lists @ DISCOUNTS
    pairs = np.asarray(levels)[lists].tolist()
    return [
        {"a": a, "b": b, "winner": "a" if x >= y else "b"}
        for (a, b), (x, y) in zip(pairs, scores, strict=True)
    ]


def table(judged):
    """Return judgements as text."""
    rows = [
        f"{' '.join(map(str, x['a']))},{' '.join(map(str, x['b']))},{x['winner']}\n" for x in judged
    ]
    return "a,b,winner\n" + "".join(rows)


@pytest.mark.parametrize("grade", [6, 9])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_stray_grade_is_refused_with_its_line_unless_told(tmp_path, grade, suffix):
    judged = lines(range(5))
    judged[57]["a"][3] = grade
    path = tmp_path / f"log.{suffix}"
    if suffix == "csv":
        path.write_text(table(judged))
    else:
        write_lines(path, judged)
    line = 59 if suffix == "csv" else 58
    problem = refused(
        rf"^\S*log.{suffix}, line {line}: the grade {grade} \(1 of 2,000 items\)",
        dl.read_preferences,
        path,
    )
    assert (
        f"write -1 if it means no grade; if the grades are 0,1,2,3,4,{grade}: scale= (--scale"
        in problem
    )
    assert f"n_grades={grade + 1} (--grades {grade + 1}) takes them as they are" in problem
    assert dl.read_preferences(path, grade + 1).n_grades == grade + 1
    named = dl.read_preferences(path, scale=["0", "1", "2", "3", "4", str(grade)])
    assert named.n_grades == 6 and max(named.preferred.max(), named.other.max()) == 5


def test_what_was_insisted_on_stays(dcglearn, misuse, tmp_path):
    judged = lines(range(5))
    judged[57]["a"][3] = 9
    path, kept = write_lines(tmp_path / "log.jsonl", judged), tmp_path / "kept.jsonl"
    misuse("line 58: the grade 9", "convert", path, "-o", kept)
    assert dcglearn("convert", path, "--grades", 10, "-o", kept)[0] == 0
    assert dl.read_preferences(kept).n_grades == 10


@pytest.mark.parametrize(
    ("levels", "stray", "n"),
    [
        (range(5), 5, 100),  # next to the others
        (range(5), 9, 9),  # 1 of 180 items
        (range(1, 6), 7, 9),
    ],
)
def test_rare_grades_that_are_no_slips_are_read(levels, stray, n):
    judged = lines(levels, n)
    judged[5]["b"][2] = stray
    assert dl.read_preferences(judged, as_is=True).n_grades == stray + 1


def test_a_slip_where_small_grades_are_good_is_found(tmp_path):
    judged = lines([5, 4, 3, 2, 1])
    judged[57]["a"][3] = 9
    path = write_lines(tmp_path / "log.jsonl", judged)
    refused("line 58: the grade 9 .*n_grades=10", dl.read_preferences, path, best_grade=1)


def test_bad_lines_and_rated_lists_and_parts(tmp_path, parted):
    judged = lines(range(5))
    judged[57]["a"][3] = 9
    judged[3:3] = [{"a": [9, 9], "winner": "a"}, {"a": 9, "b": [1], "winner": "a"}]
    path = write_lines(tmp_path / "log.jsonl", judged)
    refused(
        "log.jsonl, line 60: the grade 9",
        dl.read_preferences,
        path,
        skip_bad=tmp_path / "bad.jsonl",
    )
    rated = [{"list": line["a"], "rating": line["a"][0]} for line in lines(range(5), 300)]
    rated[200]["list"][4] = 8
    refused("record 201: the grade 8 .1 of 3,000 items", dl.read_ratings, rated)
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = dl.Preferences.from_records(lines(range(5), 200)).to_polars()
    frame[:100].write_parquet(folder / "1.parquet")
    with parted(folder) as log:
        assert log.n_grades == 5
    later = lines(range(5))
    later[57]["b"][3] = 9
    dl.Preferences.from_records(later, n_grades=10).to_polars().drop("scale").write_parquet(
        folder / "2.parquet"
    )
    refused("2.parquet, row 58: the grade 9", parted, folder)
    with parted(folder, n_grades=10) as log:
        assert log.n_grades == 10


@pytest.mark.parametrize(
    "levels", [[0, 1, 10, 100], [0, 10, 100], [0, 10, 100, 1000], [0, 0.01, 0.1, 1]]
)
def test_other_numbers_are_grades_by_one_option_that_the_refusal_says(
    dcglearn, misuse, tmp_path, levels
):
    path = write(tmp_path, "esci.csv", table(lines(levels)))
    names = [f"{level:g}" for level in levels]
    refused(rf"scale= \(--scale {','.join(names)}\)", dl.read_preferences, path)
    log = dl.read_preferences(path, scale=names)
    assert (log.n_grades, log.grade_names) == (len(levels), tuple(names))
    assert (
        log.preferred.tolist()
        == dl.Preferences.from_records(lines(range(len(levels)))).preferred.tolist()
    )
    misuse(f"--scale {','.join(names)}", "learn", path)
    out = tmp_path / "log.jsonl"
    assert dcglearn("convert", path, "--scale", ",".join(names), "-o", out)[0] == 0
    assert dl.read_preferences(out).grade_names == tuple(names)
    if 0.1 not in levels:
        refused(
            "outside -2..2.*raise n_grades.*if the grades are",
            dl.read_preferences,
            path,
            n_grades=3,
        )


def test_a_code_for_no_grade_is_told_with_the_grades_that_occur():
    judged = [{"a": [0, 1, 2, 99], "b": [99, 2, 1, 0], "winner": "a"}]
    refused("far above the others.*if the grades are 0,1,2,99: scale=", dl.read_preferences, judged)
    documents = [{"a": [4711, 812], "b": [813, 814], "winner": "a"}]
    refused("outside.*give judgements .dl.io.join_judgements", dl.read_preferences, documents)


def test_stars_without_a_scale_are_remarked_on():
    log = dl.read_preferences(lines([1, 2, 3, 4, 5]))
    (remark,) = log.recognised.remarks
    assert remark == (
        "no result has the grade 0; if the worst grade is 1: scale= (--scale 1,2,3,4,5)"
    )
    rated = [{"list": [5, 3, 1], "rating": 4}, {"list": [1, 2, 3], "rating": 2}]
    assert "--scale 1,2,3,4,5" in dl.read_ratings(rated).recognised.remarks[0]

    # not where the scale is known, or counts from 0
    assert not dl.read_preferences(lines([1, 2, 3, 4, 5]), scale="1,2,3,4,5").recognised.remarks
    assert not dl.read_preferences(lines([1, 2, 3, 4, 5]), n_grades=6).recognised.remarks
    assert not dl.read_preferences(lines([0, 1, 2, 3])).recognised.remarks


def test_a_stray_grade_is_named_by_the_row_of_its_document(tmp_path):
    rows = [
        f"q{i},{side},{k},{9 if (i, side, k) == (300, 'b', 2) else (i + k) % 3},a\n"
        for i in range(400)
        for side in "ab"
        for k in (1, 2, 3)
    ]
    path = write(tmp_path, "rows.csv", "query,side,position,grade,winner\n" + "".join(rows))
    refused("line 1806: the grade 9", dl.read_preferences, path)


@pytest.mark.parametrize("scale", ["-2,-1,0,1,2", [-1.0, 0, 10]])
def test_a_scale_cannot_name_the_numbers_that_are_no_grades(scale):
    line = {"a": [-1, 0], "b": [0, -1], "winner": "a"}
    words = "which means (no result|an unknown grade) in a log: write other numbers"
    refused(words, dl.read_preferences, [line], scale=scale)
    assert dl.read_preferences([line], scale="-3,0", as_is=True).preferred.tolist() == [[-1, 1]]


def test_a_grade_better_than_the_best_is_a_bad_line(tmp_path):
    text = "a,b,winner\n2 1,1 2,a\n2 1,1 0,a\n"
    path, bad = write(tmp_path, "log.csv", text), tmp_path / "bad.csv"
    refused("log.csv, line 3: b holds the grade 0, better", dl.read_preferences, path, best_grade=1)
    log = dl.read_preferences(path, best_grade=1, skip_bad=bad, as_is=True)
    assert log.preferred.tolist() == [[0, 1]]
    assert bad.read_text() == "a,b,winner\n2 1,1 0,a\n"


def test_a_grade_off_a_scale_that_the_log_states_is_not_to_be_insisted_on(tmp_path):
    first = {"a": [2, 1], "b": [1, 2], "winner": "a", "scale": 3}
    write_lines(tmp_path / "1.jsonl", [first])
    write_lines(tmp_path / "2.jsonl", [{"a": [4, 1], "b": [1, 2], "winner": "a"}])
    message = refused("2.jsonl, line 1: a holds the grade 4", dl.read_preferences, tmp_path)
    assert "the log states a scale of 3 grades: correct its column scale, or the line" in message
    assert "n_grades" not in message


@pytest.mark.parametrize("names", ["E S I", "relevant irrelevant"])
def test_unknown_names_of_grades_are_proposed_as_they_are(names):
    first, *others = names.split()
    line = {"a": [first], "b": [others[-1]], "winner": "a"}
    message = refused(f"a holds the grade name '{first}'", dl.read_preferences, [line])
    assert f"(--scale {','.join(sorted([first.lower(), others[-1].lower()]))})" in message
    assert "Good" not in message


def test_names_with_numbers_and_blanks_are_proposed_as_a_scale():
    stars = ["1 star", "2 stars", "3 stars"]
    rows = [{"a": stars, "b": stars[::-1], "winner": "b"}]
    said = refused("put these in order: ", dl.read_preferences, rows)
    assert "(--scale '1 star,2 stars,3 stars')" in said
    assert dl.read_preferences(rows, scale=stars).n_grades == 3
    titles = [{**rows[0], "a": [f"doc {i}" for i in range(40)]}]
    assert "in order" not in refused("for names of documents", dl.read_preferences, titles)
