"""Judgements and runs from any input: which column counts, what is left out with a word, what is
refused with its place.
"""

import gzip
import json
import warnings

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn import read_judgements, read_runs
from dcglearn.foundation.sources import zstd
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import read_both
from tests.makers import refused


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def said(read, *args, **options):
    """What a function returns, and its warnings as one text."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = read(*args, **options)
    return result, " ".join(str(one.message) for one in found)


def graded(source, **options):
    """The grade of each document, and what was said."""
    judged, words = said(read_judgements, source, **options)
    return dict(judged.frame.sort("document").select("document", "grade").rows()), words


def frame_of(*grades):
    documents = [f"d{i}" for i in range(len(grades))]
    grade = pl.Series(grades, strict=False)
    return pl.DataFrame({"query": "q", "document": documents, "grade": grade})


# grades are any numbers


@pytest.mark.parametrize(
    ("grades", "read", "n_grades"),
    [
        ((2, 0), [2, 0], 3),
        ((2.0, -1.0, 1.0), [2, 0, 1], 3),
        ((0.5, 3.0), [0.5, 3], None),
        ((200, 0), [200, 0], None),
        ((100, 1), [100, 1], 101),
        ((None, 1), [1], 2),
        ((np.nan, 1.0), [1], 2),
    ],
)
def test_grades_are_any_numbers_and_levels_where_they_are_whole(grades, read, n_grades):
    judged = Judgements(frame_of(*grades))
    assert (judged.frame["grade"].to_list(), judged.n_grades) == (read, n_grades)
    assert judged.frame["grade"].dtype == pl.Float64


def test_a_grade_above_the_scale_is_refused_where_it_stands(tmp_path):
    assert Judgements(frame_of(0.5, 1.0), n_grades=3).n_grades is None
    refused("grade 3 lies outside 0..2", Judgements, frame_of(3, 1), n_grades=3)
    path = written(tmp_path, "q.txt", "# c\nq 0 a 1\n\nq 0 b 5\n")
    refused("q.txt, row 4: grade 5 lies outside 0..3", read_judgements, path, n_grades=4)


def test_a_slip_among_few_levels_is_refused_and_counts_of_clicks_are_not():
    slip = {"q": {f"d{i}": 9 if i == 700 else i % 4 for i in range(1_000)}}
    refused("judgements, row 701: the grade 9 .1 of 1,000.", read_judgements, slip)
    assert read_judgements(slip, n_grades=10).n_grades == 10
    clicks = {"q": {f"d{i}": 60 if i == 700 else i % 40 for i in range(1_000)}}
    assert read_judgements(clicks).n_grades == 61


# the column of the grade

HEADERS = {
    "query,docid,position,rating": "position",
    "query_id,doc_id,rating,clicks,confidence": "clicks, confidence",
    "qid,docno,relevance,weight,comment,page": "weight, comment, page",
    "topic;document;label;date;user_id": "date",
    "QUERY_ID,Doc ID,Rating,Title": "Title",
    "qid,iteration,docno,label": "",
    "query,query_id,product_id,esci_label": "",
    "query-id\tcorpus-id\tscore": "",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "frame", "pandas", "arrow"])
def test_a_named_grade_counts_alone_and_other_columns_are_named(tmp_path, header, ending):
    mark = next(mark for mark in ",;\t" if mark in header)
    names = header.split(mark)
    held = {"grade": (2, 0), "number": (7, 9)}
    frame = pl.DataFrame(dict.fromkeys(names, held["number"]))
    is_grade = [name for name in names if name.lower() in ("rating", "relevance", "label")]
    (grade,) = is_grade or [names[-1]]
    frame = frame.with_columns(pl.Series(grade, held["grade"]))
    document = [name for name in names if "doc" in name.lower() or name[:3] in ("pro", "cor")]
    frame = frame.with_columns(pl.Series(document[0], ["a", "b"]))

    source = {"frame": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}.get(ending)
    if ending == "csv":
        source = written(tmp_path, "q.csv", frame.write_csv(separator=mark))
    elif ending == "jsonl":
        source = written(tmp_path, "q.jsonl", frame.write_ndjson())
    others = HEADERS[header]
    grades, words = graded(source, duplicates="first")
    assert grades == {"a": 2, "b": 0}
    assert f"not used: {others}" in words if others else not words


def test_a_table_without_a_grade_is_refused_with_its_columns(tmp_path):
    text = "query,docid,name,r1,r2,final\nq,a,Lamp,2,3,3\nq,b,Shade,0,,0\n"
    path = written(tmp_path, "q.csv", text)
    refused(r"no 'grade' .*found query, docid, name, r1, r2, final; col", read_judgements, path)
    assert graded(path, columns="grade=final")[0] == {"a": 3, "b": 0}
    refused(
        "names r1, r2; give one; see .* 'Grades of several",
        read_judgements,
        path,
        columns="grade=r1..r2",
    )


@pytest.mark.parametrize("column", ["position", "rank", "score"])
def test_a_run_is_no_table_of_judgements(tmp_path, column):
    path = written(tmp_path, "run.csv", f"query,docid,{column}\nq,a,1\nq,b,2\n")
    refused("no 'grade'.*if the files are exchanged: judgements come first", read_judgements, path)
    path = written(tmp_path, "run.txt", "q Q0 a 1 2.5 r\n")
    refused("6 columns, expected 4.*judgements come first", read_judgements, path)
    path = written(tmp_path, "ranks.tsv", "q\ta\t1\nq\tb\t2\nq\tc\t3\nr\ta\t1\n")
    refused("grades of every query are 1, 2, 3, ..., ranks; judgements", read_judgements, path)
    path = written(tmp_path, "qrels.txt", "q 0 a 1\n")
    refused("4 columns, expected 6.*judgements come first", read_runs, path)
    refused("judgements come first", read_runs, frame_of(1, 0))


def test_two_columns_that_may_be_the_grade_are_refused():
    frame = frame_of(1, 0).with_columns(relevance=pl.Series([3, 3]))
    refused("'grade' and 'relevance' both may be 'grade'", read_judgements, frame)
    assert graded(frame, columns={"grade": "relevance"})[0] == {"d0": 3, "d1": 3}


def test_raters_have_rows_of_their_own():
    rows = [("a", "ann", 3), ("a", "bob", -1), ("b", "ann", 2), ("b", "bob", 2), ("b", "eve", 0)]
    frame = pl.DataFrame(rows, ("doc", "rater", "rating"), orient="row")
    frame = frame.with_columns(query=pl.lit("q"))
    refused(
        "row 1: occurs more than once for its query: the document 'a'; in Python, dup.* keeps one",
        *(read_judgements, frame),
    )
    assert graded(frame, duplicates="last")[0] == {"a": 0, "b": 0}
    refused("give one of error, first, last", read_judgements, frame, duplicates="average")


# what is not judged, and what a grade may not be


@pytest.mark.parametrize("missing", [None, "", "N/A", "null", "NaN", "None", " - ", np.nan])
def test_a_missing_grade_is_not_judged_in_any_form(tmp_path, missing):
    rows = [
        {"query": "q", "doc": "a", "rating": "2.0"},
        {"query": "q", "doc": "b", "rating": missing},
    ]
    rows += [{"query": "q", "doc": "c", "rating": "-1"}]
    by_name = {"q": {row["doc"]: row["rating"] for row in rows}}
    sources = [rows, by_name, pl.DataFrame(rows, strict=False)]
    as_json = json.dumps(by_name)
    sources += [written(tmp_path, "q.json", as_json)]
    sources += [written(tmp_path, "q.jsonl", "\n".join(map(json.dumps, rows)))]
    if isinstance(missing, str) and missing:
        sources += [written(tmp_path, "q.txt", f"q 0 a 2.0\nq 0 b {missing}\nq 0 c -1\n")]
    if missing is None:
        sources += [written(tmp_path, "q.csv", "query,doc,rating\nq,a,2.0\nq,b,\nq,c,-1\n")]
        sources += [pl.DataFrame(rows).to_pandas(), pl.DataFrame(rows).to_arrow()]
    for source in sources:
        grades, words = graded(source)
        assert grades == {"a": 2, "c": 0}
        assert "no grade of 1 of 3 documents, which count" in words


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        ("good", "grade is 'good'.*--scale Bad,Fair,Good. gives names"),
        ("2,5", "grade is '2,5'.*Numbers with commas"),
        ("1_0", "grade is '1_0'"),
        ("١", "grade is '١'"),
        ("inf", "grade is inf"),
        ("9" * 400, "grade is inf"),
    ],
)
def test_other_texts_are_no_grade(tmp_path, grade, words):
    path = written(tmp_path, "q.txt", f"q 0 a 1\nq 0 b {grade}\n")
    refused(f"q.txt, row 2: {words}", read_judgements, path)
    refused(f"judgements, row 2: {words}", read_judgements, {"q": {"a": 1, "b": grade}})


@pytest.mark.parametrize("grade", [[[1], [2]], [{"a": 1}, {"a": 2}]])
def test_columns_of_other_types_are_refused(grade):
    frame = frame_of(1, 0).with_columns(grade=pl.Series(grade))
    refused("row 1: grade is", read_judgements, frame)
    frame = frame_of(1, 0).with_columns(document=pl.Series([["1"], ["2"]]))
    refused("row 1: document is .*use text", read_judgements, frame)
    assert graded(frame_of(True, False))[0] == {"d0": 1, "d1": 0}


def test_names_of_queries_and_documents_are_there(tmp_path):
    path = written(tmp_path, "q.csv", 'query,document,grade\n1,"D1,1\n1,D2,2\n1,D3",3\n')
    refused("row 1: document holds a line end", read_judgements, path)
    refused("document is missing", read_judgements, frame_of(1, 0).with_columns(document=None))
    refused("document is missing", read_judgements, {"q": {None: 1}})
    refused("use plain text", read_judgements, {"q": {"\ud800": 1}})
    refused("holds no grade", read_judgements, frame_of(None, None))
    refused("there is no document", read_judgements, {})


@pytest.mark.parametrize("form", ["txt", "csv", "json", "dict"])
@pytest.mark.parametrize(
    ("scale", "grades", "numbers"),
    [
        ("0,1,10,100", (0, 1.0, "10", 100), (0, 1, 10, 100)),
        ("Bad,Fair,Good,Best", ("bad", "Fair", "Good", "Best"), None),
    ],
)
def test_grades_on_a_scale_are_their_places(tmp_path, form, scale, grades, numbers):
    names = [f"d{i}" for i in range(4)]
    source = {"q": {**dict(zip(names, grades, strict=True)), "no": "N/A"}}
    if form == "txt":
        lines = "".join(f"q 0 {d} {g}\n" for d, g in source["q"].items())
        source = written(tmp_path, "q.txt", lines)
    elif form == "csv":
        lines = "".join(f"q,{d},{g}\n" for d, g in source["q"].items())
        source = written(tmp_path, "q.csv", "qid,docno,label\n" + lines)
    elif form == "json":
        source = written(tmp_path, "q.json", json.dumps(source))
    judged, words = said(read_judgements, source, scale=scale)
    assert judged.frame["grade"].to_list() == [0, 1, 2, 3]
    assert (judged.n_grades, judged.grade_names) == (4, tuple(scale.split(",")))
    assert judged.grade_numbers == numbers and "1 of 5 documents" in words
    refused(
        "holds 'Great', not a grade of the scale",
        read_judgements,
        {"q": {"a": "Great"}},
        scale=scale,
    )
    refused("scale= is for judgements that are not read", read_judgements, judged, scale=scale)


# dictionaries


RUN = [("q1", "d3", 3.0), ("q1", "d1", 2.0), ("q1", "d2", 1.0), ("q2", "d9", 1.0)]
BY_QUERY = {q: {d: s for other, d, s in RUN if other == q} for q in ("q1", "q2")}
RUN_FRAME = pl.DataFrame(RUN, ("qid", "docno", "score"), orient="row")
RUN_FORMS = {
    "scores": BY_QUERY,
    "texts": {q: {d: str(s) for d, s in its.items()} for q, its in BY_QUERY.items()},
    "frame": RUN_FRAME,
    "pandas": RUN_FRAME.to_pandas(),
    "Arrow": RUN_FRAME.to_arrow(),
    "records": RUN_FRAME.to_dicts(),
    "ranks": RUN_FRAME.with_columns(rank=4 - pl.col("score")).drop("score"),
    "ranks and blank scores": RUN_FRAME.with_columns(
        rank=4 - pl.col("score"), score=pl.lit(None, pl.Float64)
    ),
}


@pytest.mark.parametrize("form", RUN_FORMS)
def test_a_run_has_many_forms_alone_and_among_systems(form):
    source = RUN_FORMS[form]
    among = {"A": source, "B": RUN_FRAME, "C": BY_QUERY}
    (alone,), (first, *_) = read_runs(source), read_runs(among)
    assert (alone.name, first.name) == ("run 1", "A")
    for run in (alone, first):
        ordered = run.frame.sort("query", -pl.col("score"))
        assert ordered["document"].to_list() == [d for _, d, _ in RUN]


def test_a_missing_score_beside_a_rank_is_refused_by_the_way_out(tmp_path):
    path = written(tmp_path, "run.txt", "q Q0 a 1 2.5 r\nq Q0 b 2 NaN r\n")
    refused("row 2: score is missing; columns=.'score': ''. takes the ranks", read_runs, path)
    assert read_runs(path, columns={"score": ""})[0].frame["score"].to_list() == [-1, -2]
    frame = RUN_FORMS["ranks"].with_columns(rank=pl.lit(1))
    refused("row 1: is missing, or occurs twice in the query.*rank 1.0", read_runs, frame)
    refused("holds no score", read_runs, RUN_FORMS["frame"].with_columns(score=None))


def test_wrong_dictionaries_are_refused(tmp_path):
    for source in ({"q": 2}, {"q": {"d": {"e": 1}}}, {"q": [("a", 1)]}, {"q": {"a", "b"}}, 3):
        refused("expected .query|grade is|a int is no table", read_judgements, source)
    refused("a set is no table", read_runs, {"q": {"a", "b"}})
    for ranked in ({"q": ["a", "b"]}, {"m": {"q": ("a", "b")}}):
        refused("enumerate.documents.. keeps their order", read_runs, ranked)
    refused("dict.fromkeys", read_judgements, {"q": ["a", "b"]})
    refused(r"dict.fromkeys\(\[...\], 1\), with the names", read_judgements, {"q": "doc"})
    for text in ('{"q": {"d": 1, "d": 3}}', '{"q": {"d": 1}, "q": {"e": 3}}'):
        refused(
            "q.json: the key '.' occurs twice", read_judgements, written(tmp_path, "q.json", text)
        )
    for text in ('{"q":\n {"d": 1,\n}}', '{"q": ' * 100_000):
        refused("not valid JSON", read_judgements, written(tmp_path, "q.json", text))


# TREC's lines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 0 D1 1\n1 0 D2 0 1 0 D3 2\n", "row 2: 8 columns, expected 4"),
        ("1 0 D1 1\n1  D0 1\n", "row 2: 3 columns, expected 4"),
        ("1 D1 1\n1 0 D1 1\n", "row 2: 4 columns, expected 3"),
        ("1,0,D1,1\n", "1 column, expected 4: .*; a table with commas and a header is called .csv"),
        ("1\t0\tD1\t1\n1\t0\tD2\t1\textra\n", "row 2: 5 columns"),
        ("1\t0\tD 1\t1\n", "row 1: 5 columns"),
        ("# nothing\n", "holds no line"),
        ("3 qid:1 # a\n2 qid:1 b\n", "row 2: grade is 'b'"),
    ],
)
def test_lines_with_other_columns_are_refused(tmp_path, text, words):
    refused(words, read_judgements, written(tmp_path, "qrels.txt", text))


LINES = {
    "blanks": "1 0\tD1 1\n1 0 D2 2.0\n",
    "tabs": "1\t0\tD1\t1\n1\t0\tD2\t2\n",
    "comments": "#c\n\n1 0 D1 1\r\n1 0 D2 2\r\n",
    "other white space": "1\v0\fD1 1\n1 0 D2  2\n\n\n",
    "three columns": "1 D1 1\n1\tD2 2\n",
    "plugin": "# grade query\n1 qid:1 # D1 Rambo\n2\tqid:1 1:0.5 2:3 # docid = D2\n",
}


@pytest.mark.parametrize("form", LINES)
@pytest.mark.parametrize("name", ["qrels.txt", "qrels", "qrels.tsv", "qrels.dev.gz"])
def test_lines_of_judgements(tmp_path, form, name):
    data = LINES[form].encode()
    path = written(tmp_path, name, gzip.compress(data) if name.endswith("gz") else data)
    judged, words = said(read_judgements, path)
    assert judged.frame["query"].unique().to_list() == ["1"] and not words
    assert dict(judged.frame.select("document", "grade").rows()) == {"D1": 1, "D2": 2}


def test_words_are_no_scores_of_a_run(tmp_path):
    path = written(tmp_path, "r.txt", "1 Q0 D1 1 8.5 a\n1 Q0 D2 2 true a\n")
    refused("row 2: score is 'true'", read_runs, path)


def test_the_tag_of_a_run_behind_a_tab_ends_at_its_first_blank(tmp_path):
    lines = "1\tQ0\tD1\t1\t2.5\tfred first\n1\tQ0\tD2\tx\t1.5\tfred second words\n"
    (run,) = read_runs(written(tmp_path, "run.trec", lines))
    assert (run.name, run.frame["document"].to_list()) == ("fred", ["D1", "D2"])
    path = written(tmp_path, "run.txt", "1 Q0 D1 1 2.5 r\n1 5 Q0 D3 3 7 s\n")
    refused("row 2: 7 columns, expected 6", read_runs, path)


def test_comments_that_have_the_columns_of_a_line_are_remarked(tmp_path):
    qrels = written(tmp_path, "q.txt", "# 2 lines follow\n#tag 0 a 1\n#tag 0 b 0\nr 0 a 1\n")
    run = written(tmp_path, "r.txt", "#tag Q0 a 1 2 m\nr Q0 a 1 2 m\n")
    assert "2 lines with # at the beginning look like judgements" in graded(qrels)[1]
    assert "1 line with # at the beginning look like lines of the run" in said(read_runs, run)[1]


# files of all kinds


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    for name, text in (("q.csv", "query,docid,rating\nq,é,3\n"), ("q.txt", "q 0 a 1\nq 0 é 3\n")):
        path = written(tmp_path, name, text.encode("latin-1"))
        words = refused(
            "line 2: the byte 0xe9 is not UTF-8 text; save .* as UTF-8", read_judgements, path
        )
        assert "encoding" not in words


@pytest.mark.parametrize("name", ["q.txt", "q.csv"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_byte_order_mark_begins_a_file_alone(tmp_path, name, at):
    lines = {"q.txt": ["q 0 d 1\n", "q 0 e 0\n"], "q.csv": ["query,document,grade\n", "q,d,1\n"]}
    marked = "".join("\ufeff" * (n == at) + line for n, line in enumerate(lines[name], 1))
    words = f"line {at}: begins with a byte order"
    refused(words, read_judgements, written(tmp_path, name, "\ufeff" + marked))


OPENSEARCH = [
    {"query": "red", "ratings": [{"docId": "a", "rating": "0.000"}, {"docId": "b", "rating": 3}]},
    {"query": "red", "ratings": [{"docId": "c", "rating": "N/A"}], "failures": [{"docId": "d"}]},
]
RATED = {
    "list.json": json.dumps({"name": "x", "judgmentRatings": OPENSEARCH}, indent=2),
    "quepid.csv": "query,docid,rating\r\nunrated\r\nred,a,0\r\nred,b,3\r\nred,c,\r\nred,d,\r\n",
    "quepid;.csv": "query;docid;rating\nalone;;\nred;a;0\nred;b;3\nred;c;\nred;d;\n",
    "detailed.csv": (
        "Case Name,Query Text,Doc ID,Title,Rating\n"
        "Shop,red,a,Red,0\nShop,red,b,Tall,3\nShop,red,c,,\nShop,red,d,,\n"
    ),
}


@pytest.mark.parametrize("name", RATED)
def test_files_of_tools(tmp_path, name):
    grades, words = graded(written(tmp_path, name, RATED[name]))
    assert grades == {"a": 0, "b": 3} and "no grade of 2 of 4 documents" in words


def test_damaged_judgement_lists_are_refused(tmp_path):
    text = RATED["list.json"]
    path = written(tmp_path, "j.json", text.replace('"docId": "b"', '"doc": "b"'))
    refused(r"judgement list without 'docId'", read_judgements, path)
    path = written(tmp_path, "j.json", text.replace('"b"', "null"))
    refused("row 2: document is missing", read_judgements, path)

    # a query alone is a line of Quepid's files only
    path = written(tmp_path, "q.csv", "query,document,grade\nq,a,1\nq,,\n")
    refused("row 2: document is missing", read_judgements, path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_tables_of_runs(tmp_path, pack):
    tables = {
        "run.csv": RUN_FRAME.write_csv(),
        "run.TSV": RUN_FRAME.write_csv(separator="\t"),
        "run.jsonl": RUN_FRAME.write_ndjson(),
        "run.json": json.dumps(BY_QUERY),
        "snapshot.csv": "Snapshot Name,Query Text,Doc ID,Doc Position\r\n"
        + "".join(f"May,{q},{d},{4 - s:g}\r\n" for q, d, s in RUN),
    }
    for name, text in tables.items():
        (run,) = read_runs(written(tmp_path, name, pack(text.encode())))
        assert run.name == {"snapshot.csv": "May"}.get(name, name)
        ordered = run.frame.sort("query", -pl.col("score"))
        assert ordered["document"].to_list() == [d for _, d, _ in RUN]


@pytest.mark.parametrize("by", ["list", "folder", "pattern"])
def test_several_files_of_judgements_are_one(tmp_path, by):
    files = {
        "one.csv": "query,document,grade\nq,a,0\n",
        "two.txt": "#c\nq 0 b 1\n",
        "three.json": '{"q": {"c": 3}}',
    }
    paths = [written(tmp_path, name, text) for name, text in files.items()]
    source = {"list": paths, "folder": tmp_path, "pattern": f"{tmp_path}/*.*"}[by]
    assert graded(source)[0] == {"a": 0, "b": 1, "c": 3}
    paths.append(written(tmp_path, "four.txt", "q 0 d 1\n\nq 0 a 2\n"))
    words = "one.csv, row 1: occurs more than once.*next .*four.txt, row 3"
    refused(words, read_judgements, paths)


def test_runs_of_one_name_are_told_apart_by_files_or_folders(tmp_path):
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    old, new = (written(tmp_path, f"{x}/run.txt", "q Q0 d 1 1 tag\n") for x in ("old", "new"))
    assert [run.name for run in read_runs(tmp_path / "old")] == ["tag"]
    assert [run.name for run in read_runs([old, new])] == [f"{old} tag", f"{new} tag"]
    assert [run.name for run in read_runs({"A": old, "B": new})] == ["A", "B"]
    assert [run.name for run in read_runs({"A": read_runs(old), "B": new})] == ["A", "B"]
    refused("A: 2 runs under one name", read_runs, {"A": read_runs([old, new])})
    refused("several runs are called run.txt tag", read_runs, [old, old])


# ranks beside scores


def lines_of_run(tmp_path, rank, score):
    """The same run as TREC, CSV and data frame; rank and score are functions of the place."""
    rows = [(q, f"d{n}", rank(n), score(n)) for q in "abc" for n in range(1, 6)]
    frame = pl.DataFrame(rows, ["query", "document", "rank", "score"], orient="row")
    frame.write_csv(tmp_path / "run.csv")
    text = "".join(f"{query} Q0 {name} {r} {s} t\n" for query, name, r, s in rows)
    return written(tmp_path, "run.txt", text), tmp_path / "run.csv", frame


def test_ranks_that_contradict_scores(tmp_path):
    for run in lines_of_run(tmp_path, lambda n: 13.5 - n, lambda n: n):
        refused("rank and score seem exchanged: the rank 12.5 is none", read_runs, run)
    for run in lines_of_run(tmp_path, lambda n: n, lambda n: n / 4):
        assert (
            "the document of rank 1 has the lowest score in every query" in said(read_runs, run)[1]
        )
    honest = (lambda n: n, lambda n: 0, lambda n: "x", lambda n: 1 / n, lambda n: 3 * n - 7)
    for rank in honest:
        for run in lines_of_run(tmp_path, rank, lambda n: 1 / n):
            assert not said(read_runs, run)[1]


# both


def test_queries_that_differ_in_form_alone_are_remarked():
    judged, run = (
        {"caf\u00e9": {"a": 1}, "Lamp": {"a": 1}},
        {"cafe\u0301": {"a": 1.0}, "Lamp": {"a": 1}},
    )
    assert (
        "differ in form alone count as different: cafe\u0301, caf\u00e9"
        in said(read_both, judged, run)[1]
    )
    assert "different: LAMP, lamp" in said(read_judgements, {"LAMP": {"a": 1}, "lamp": {"a": 1}})[1]
    assert not said(read_both, judged, judged)[1]


def test_columns_are_named_for_judgements_and_runs_alike(tmp_path):
    qrels = written(tmp_path, "q.csv", "query,sku,stars\nq,a,2\nq,b,0\n")
    run = written(tmp_path, "r.csv", "query,sku,similarity\nq,a,2\nq,b,0\n")
    plain = written(tmp_path, "plain.txt", "q Q0 a 1 2 m\nq Q0 b 2 1 m\n")
    own = "document=sku,grade=stars,score=similarity"
    judged, (read,) = read_both(qrels, run, columns=own)
    assert judged.frame["document"].to_list() == read.frame["document"].to_list() == ["a", "b"]
    assert len(read_both(qrels, plain, columns="document=sku,grade=stars")[1]) == 1
    refused("'similarity'. names no column of the judgements", read_both, qrels, plain, columns=own)
    twice = "rating=stars," + own
    refused("names two columns for one role: grade", read_both, qrels, run, columns=twice)
    refused(
        "names no column", read_judgements, qrels, columns={"document": "doc", "grade": "stars"}
    )


def test_columns_of_lines_are_named_as_those_of_tables(tmp_path):
    qrels = written(tmp_path, "q.txt", "q 0 a 1\nq 0 b 2\n")
    run = written(tmp_path, "r.txt", "q Q0 a 1 9 m\nq Q0 b 2 8 m\n")
    refused("no 'grade' .*found query, document", read_judgements, qrels, columns={"grade": ""})
    scores = [read_runs(run, columns=c)[0].frame["score"].to_list() for c in ({}, "score=rank")]
    assert scores == [[9, 8], [1, 2]]


def test_logs_take_judgements_with_levels_and_leave_out_missing_grades():
    log = [{"query": "q", "a": ["d0", "d1"], "b": ["d1", "d0"], "winner": "a"}]
    means = read_judgements(frame_of(0.5, 2))
    refused("a log needs levels of grades.*scale=", dl.with_grades, log, means)
    levels = read_judgements(frame_of(0.5, 2), scale=[0, 0.5, 2])
    assert dl.read_preferences(dl.with_grades(log, levels)).preferred.tolist() == [[1, 2]]
    table = frame_of("2", "N/A")
    with pytest.warns(UserWarning, match="no judgement of 2 of 4 documents"):
        joined = dl.with_grades(log, table)
    assert dl.read_preferences(joined).preferred.tolist() == [[2, -1]]


def test_cells_of_pandas_may_be_numbers_and_texts():
    pandas = pytest.importorskip("pandas")
    cells = {"query": ["q", 7, "q"], "doc_id": ["a", 8, "b"], "rating": [2, None, "N/A"]}
    with pytest.warns(UserWarning, match="no grade of 2 of 3 documents"):
        judged = dl.read_judgements(pandas.DataFrame(cells))
    assert judged.frame.rows() == [("q", "a", 2.0)]
    mixed = pandas.DataFrame({"query": ["q", 7], "doc_id": ["a", "b"], "rating": [{"of": 1}, "2"]})
    refused("the data frame cannot be read|grade is", read_judgements, mixed)


def test_judgements_that_judge_no_document_of_a_log_are_named(here):
    (here / "other.txt").write_text("q 0 x1 1\nq 0 x2 0\n")
    log = [{"query": "q", "a": ["d1"], "b": ["d2"], "winner": "a"}]
    refused("none of its 2 documents is judged in other.txt", dl.with_grades, log, "other.txt")
