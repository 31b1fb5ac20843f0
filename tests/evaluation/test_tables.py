"""Judgements and runs in files: of other tools, damaged, ragged or ambiguous; read right, or
refused with the place.
"""

import gzip
import json

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn import read_judgements, read_runs
from dcglearn.foundation.sources import zstd
from tests.makers import refused


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 0 D1 1\n1 0 D2 0 1 0 D3 2\n", "line 2: 8 columns, expected 4"),
        ("1 0 D1 1\n1  D0 1\n", "line 2: 3 columns, expected 4"),
        (
            "1,0,D1,1\n",
            "line 1: 1 column, expected 4: .*; name a table with commas and a header .csv",
        ),
        ("1 0 D1 1\n1 0 D2 1 extra\n", "line 2: 5 columns"),
        ("1\t0\tD1\t1\n1\t0\tD2\t1\textra\n", "line 2: 5 columns"),
        ("1\t0\tD 1\t1\n", "line 1: 5 columns"),
        ("1 0 D1\v 1\x1f2\n", "line 1: grade"),
        ("1 0 D1 " + "9" * 5000 + "\n", "line 1: grade"),
        ("1 0 D1 1_0\n", "line 1: grade '1_0' is not a number"),
        ("1 0 D1 ١\n", "line 1: grade '١' is not a number"),
        ("1 0 D1 1\n1 0 D2\n", "line 2: 3 columns"),
    ],
)
def test_judgements_with_other_columns_are_refused_by_line(tmp_path, text, words):
    refused(words, read_judgements, written(tmp_path, "qrels.txt", text))


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 D1 1 2.5 r\n1 5 Q0 D3 3 7 s\n",
        "1 Q0 D1 1 2.5 r\n1 Q0 D2 2 2 r words after the tag\n",
        "1\tQ0\tD1\t1\t2.5\tr\n1\tQ0\tD2\t2\t2.5\tr\tmore\n",
        "1 Q0 D1 1 2.5\tr\n1\tQ0\tD 2\t2\t2.5\tr\n",
    ],
)
def test_run_with_other_columns_is_refused_by_line(tmp_path, text):
    refused(r"line 2: .* columns, expected 6", read_runs, written(tmp_path, "run.txt", text))


def test_tag_of_a_run_with_tabs_ends_at_its_first_blank(tmp_path):
    text = (
        "1\tQ0\tD1\t1\t2.5\tfred first run\n"
        "1\tQ0\tD2\t2\t1.5\tfred second words\n"
        "2\tQ0\tD1\t1\t1\tfred\n"
    )
    (run,) = read_runs(written(tmp_path, "results.trunc", text))
    assert (run.name, run.frame["document"].to_list()) == ("fred", ["D1", "D2", "D1"])


@pytest.mark.parametrize(
    "first", ["1 0\tD1 1\n", "1\t0 D1\t1\n", " 1 0 D1 1 \n", "#c\n\n1 0 D1 1\r\n", "1\v0\fD1 1\n"]
)
def test_any_white_space_separates_columns(tmp_path, first):
    read = read_judgements(written(tmp_path, "qrels.txt", first + "1 0 D2\t2\n"))
    assert read.frame.rows() == [("1", "D1", 1), ("1", "D2", 2)]


ROWS = [("1", "D1", 2.0), ("1", "D2", 79.5), ("2", "D1", 1.0)]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["run.csv", "run.TSV", "run.jsonl", "run.json"])
def test_tables_are_read_by_their_name_compressed_too(tmp_path, kind, suffix):
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}[suffix]
    separator = "\t" if kind.endswith("TSV") else ","
    if kind.endswith("jsonl"):
        text = "".join(
            json.dumps(dict(zip(("qid", "docno", "score"), row, strict=True))) + "\n"
            for row in ROWS
        )
    elif kind.endswith("json"):
        text = '{"1": {"D1": 2, "D2": 79.5}, "2": {"D1": 1}}'
    else:
        text = "".join(
            separator.join(map(str, row)) + "\n" for row in [("qid", "docno", "score"), *ROWS]
        )
    (run,) = read_runs(written(tmp_path, kind + suffix, pack(text.encode())))
    assert run.frame.select("query", "document", "score").rows() == ROWS


def test_fraction_after_many_whole_scores_is_read(tmp_path):
    lines = [json.dumps({"query": "1", "document": f"D{i}", "score": 300 - i}) for i in range(200)]
    lines.append('{"query": "1", "document": "last", "score": 79.5}')
    (run,) = read_runs(written(tmp_path, "run.jsonl", "\n".join(lines)))
    assert run.frame["score"][-1] == 79.5


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "q.csv",
            'query,document,grade\n1,"D1,1\n1,D2,2\n1,D3",3\n',
            "row 1: document holds a line end",
        ),
        (
            "q.csv",
            "query,document,grade\n1,D1,1\n1,D2\n",
            "line 3: 2 fields where the header has 3",
        ),
        ("q.csv", "query,document,grade\n1,D1,1\n1,D2,x\n", "grade"),
        ("q.tsv", 'query\tdocument\tgrade\n1\tD1\t1\n1\t"D2"\t0\xa0\n', "row 2: grade"),
        (
            "q.jsonl",
            '{"query":"1","document":"D1","grade":1}\n{"query":"1","document":"D2","grade":true}\n',
            "row 2: grade",
        ),
        ("q.jsonl", '{"query":"1","document":"D1","grade":1,"grade":2}\n', "occurs twice"),
        ("q.json", '{"1": {"D1": 1, "D1": 3}}', "1 D1 occurs more than once"),
        ("q.json", '{"1": {"D1": 1}, "1": {"D1": 3}}', "1 D1 occurs more than once"),
        ("q.json", '{"1": {"D1": "x"}}', "query '1', document 'D1': grade is 'x'; write a number"),
        ("q.json", '{"1": {"D1": {"a": {"b": 1}}}}', "write a number"),
        ("q.json", '{"1": 2, "3": {"D1": 1}}', "expected {query"),
        (
            "q.json",
            '{"1": {"D1": ' + "9" * 400 + "}}",
            "query '1', document 'D1': grade inf is not a finite number",
        ),
        ("q.json", '{"1": {"\\ud800": 1}}', "use plain text"),
        ("q.json", '{"1": ' * 100_000, "not valid JSON"),
        ("q.jsonl", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n{}\n", "not valid JSON"),
        ("q.json", '{"1":\n {"D1": 1,\n}}', "line 3: not valid JSON"),
    ],
)
def test_damaged_table_is_refused_with_its_place(tmp_path, name, text, words):
    refused(words, read_judgements, written(tmp_path, name, text))


def test_nested_json_may_stand_on_one_line_of_any_length(tmp_path):
    nested = {f"q{i}": {f"document {j} of {i}": 1 for j in range(100)} for i in range(2500)}
    path = written(tmp_path, "q.json", json.dumps(nested))
    assert path.stat().st_size > 1 << 22
    assert len(read_judgements(path).frame) == 250_000


def test_repeated_keys_of_json_are_duplicates(tmp_path):
    path = written(tmp_path, "q.json", '{"1": {"D1": 1, "D1": 3}}')
    assert [
        read_judgements(path, duplicates=keep).frame["grade"].to_list()
        for keep in ("first", "last")
    ] == [[1], [3]]


@pytest.mark.parametrize(
    ("grade", "words"),
    [
        (pl.Series([[1], [2]]), "row 1: grade is of the type List"),
        (pl.Series([{"a": 1}, {"a": 2}]), "row 1: grade is of the type Struct"),
        (pl.Series([b"1", b"2"]), "row 1: grade is of the type Binary"),
        (pl.Series([True, False]), "row 1: grade is of the type Boolean; use text or a number"),
        (pl.Series([1.0, -np.inf]), "row 2: grade -inf is not a finite number"),
        (pl.Series([None, None]), "row 1: .* is missing"),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path, grade, words):
    frame = pl.DataFrame({"query": ["1", "1"], "document": ["D1", "D2"], "grade": grade})
    path = tmp_path / "qrels.parquet"
    frame.write_parquet(path)
    for table in (frame, path):
        refused(words, read_judgements, table)


@pytest.mark.parametrize("column", ["query", "document", "run"])
def test_lists_as_identifiers_are_refused(column):
    columns = {"query": ["1", "1"], "document": ["D1", "D2"], "score": [1, 2], "run": ["a", "b"]}
    frame = pl.DataFrame({**columns, column: [["1"], ["2"]]})
    refused(f"row 1: {column} is of the type List.*; use text", read_runs, frame)


def test_message_about_thousands_of_columns_is_short(tmp_path):
    path = written(
        tmp_path, "q.csv", ",".join(f"c{i}" for i in range(10_000)) + "\n1" + "," * 9_999
    )
    assert len(refused("and 9,980 more", read_judgements, path)) < 1000


OPENSEARCH = {
    "name": "Imported",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {
            "query": "red dress",
            "ratings": [{"docId": "B1", "rating": "0.000"}, {"docId": "B2", "rating": 3}],
        },
        {"query": "blue jeans", "ratings": [{"docId": "B1", "rating": "1"}]},
    ],
}
FILES = {
    "opensearch.json": json.dumps(OPENSEARCH, indent=2),
    "ratings.json": json.dumps(OPENSEARCH["judgmentRatings"]),
    "answer.json": json.dumps({"hits": {"hits": [{"_id": "x", "_source": OPENSEARCH}]}}),
    "quepid.csv": (
        "query,docid,rating\r\nunrated\r\nred dress,B1,0\r\nred dress,B2,3\r\nblue jeans,B1,1\r\n"
    ),
    "quoted.csv": (
        'query,docid,rating\n"red, un""rated"\nred dress,B1,0\nred dress,B2,3\nblue jeans,B1,1\n'
    ),
    "detailed.csv": (
        "Case Name,Query Text,Doc ID,Title,Rating\n"
        "Shop,red dress,B1,Red,0\nShop,red dress,B2,Tall,3\n"
        "Shop,red dress,B3,,\nShop,blue jeans,B1,Blue,1\n"
    ),
    "plain.csv": "query,docid,rating\nred dress,B1,0\nred dress,B2,3\nblue jeans,B1,1\n",
}
FILES |= {
    "semicolons.csv": FILES["quepid.csv"].replace(",", ";"),
    "tabs.csv": FILES["quepid.csv"].replace(",", "\t"),
    "bars.csv": FILES["plain.csv"].replace(",", "|"),
}
EXPECTED = [("blue jeans", "B1", 1), ("red dress", "B1", 0), ("red dress", "B2", 3)]


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools(tmp_path, name):
    assert sorted(read_judgements(written(tmp_path, name, FILES[name])).frame.rows()) == EXPECTED


def judged(tmp_path, name, content, **options):
    return sorted(read_judgements(written(tmp_path, name, content), **options).frame.rows())


SPLIT = {
    "one.csv": "query,document,grade\nred dress,B1,0\n",
    "two.txt": "#c\nblue_jeans 0 B1 1\n",
    "three.json": '{"red dress": {"B2": 3}}',
}


@pytest.mark.parametrize("by", ["list", "folder", "pattern"])
def test_several_files_of_judgements_are_one(tmp_path, by):
    paths = [written(tmp_path, name, text) for name, text in SPLIT.items()]
    sources = {"list": paths, "folder": tmp_path, "pattern": f"{tmp_path}/*.*"}
    read = read_judgements(sources[by])
    assert sorted(read.frame.rows()) == [(q.replace(" j", "_j"), d, g) for q, d, g in EXPECTED]


def test_a_fault_in_one_of_several_files_is_named_with_its_line(tmp_path):
    first = written(tmp_path, "first.csv", "query,document,grade\nq,a,1\nq,b,0\n")
    second = written(tmp_path, "second.txt", "#c\nq 0 c 1\n\nq 0 b 2\n")
    message = "2 files: q b occurs more than once, grade 0 in .*first.csv, row 2 and grade 2 in "
    refused(f"{message}.*second.txt, line 4", read_judgements, [first, second])
    assert read_judgements([first, second], duplicates="last").n_grades == 3
    many = "".join(f"q 0 d{i} {i % 3}\n" for i in range(400)) + "q 0 x 9\n"
    message = "^[^,]*many.txt, line 401: the grade 9"
    refused(message, read_judgements, [first, written(tmp_path, "many.txt", many)])


def test_labels_of_esci_in_several_files_are_one_scale(tmp_path):
    ratings = {"a": {"d": 100.0, "e": 0.0}, "b": {"d": 10.0, "e": 1.0}}
    paths = []
    for query, of_query in ratings.items():
        listed = [{"docId": name, "rating": str(rating)} for name, rating in of_query.items()]
        value = {"judgmentRatings": [{"query": query, "ratings": listed}]}
        paths.append(written(tmp_path, f"{query}.json", json.dumps(value)))
    assert read_judgements(paths).frame["grade"].to_list() == [3, 0, 2, 1]


def test_runs_of_several_files_are_told_apart_by_files_or_folders(tmp_path):
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
    old, new = (written(tmp_path, f"{x}/run.txt", "q Q0 d 1 1 tag\n") for x in ("old", "new"))
    assert [run.name for run in read_runs(tmp_path / "old")] == ["tag"]
    assert [run.name for run in read_runs([old, new])] == [f"{old} tag", f"{new} tag"]
    refused("several runs are called run.txt tag", read_runs, [old, old])


@pytest.mark.parametrize("name", ["q.txt", "q.csv"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_byte_order_mark_at_the_beginning_of_a_line_is_refused(tmp_path, name, at):
    lines = {"q.txt": ["q 0 d 1\n", "q 0 e 0\n"], "q.csv": ["query,document,grade\n", "q,d,1\n"]}
    marked = "\ufeff" + "".join(
        "\ufeff" * (n == at) + line for n, line in enumerate(lines[name], 1)
    )
    refused(
        f"line {at}: begins with a byte order", read_judgements, written(tmp_path, name, marked)
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("beir.tsv", "query-id\tcorpus-id\tscore\n1\tx\t2\n1\ty\t0\n"),
        (
            "beir.jsonl",
            '{"query_id":"1","corpus_id":"x","score":2}\n'
            '{"query_id":"1","corpus_id":"y","score":0}\n',
        ),
        ("qrels.dev.tsv", "1\t0\tx\t2\n1\t0\ty\t0\n"),
        ("esci.csv", "query,query_id,product_id,esci_label\npan,1,x,2\npan,1,y,0\n"),
        ("quepid.csv", "query,docid,rating\n1,x,2\n1,y,0\n1,z,\n"),
    ],
)
def test_judgements_as_benchmarks_and_tools_write_them(tmp_path, name, content):
    assert judged(tmp_path, name, content) == [("1", "x", 2), ("1", "y", 0)]


def test_a_document_without_a_name_in_a_judgement_list_is_refused(tmp_path):
    ratings = [{"docId": "d", "rating": "1"}, {"docId": None, "rating": "2"}]
    path = written(tmp_path, "j.json", json.dumps([{"query": "q", "ratings": ratings}]))
    refused("j.json, query 'q', document None: document is missing", read_judgements, path)
    path.write_text(path.read_text().replace("null", '"\\ud800"'))
    refused("j.json: a query or a document is", read_judgements, path)


def test_documents_of_a_ranking_are_a_list(tmp_path):
    path = written(tmp_path, "run.jsonl", '{"query_id": "q", "documents": "d1 d2"}\n')
    refused("line 1: not a ranking .*; expected query_id", read_runs, path)


def test_fractions_of_quepid_are_cut(tmp_path):
    text = "query;docid;rating\n1;x;0.9\n1;y;0\nunrated\n"
    assert judged(tmp_path, "q.csv", text, cutoffs=".2,.5") == [("1", "x", 2), ("1", "y", 0)]
    assert judged(tmp_path, "q.json", '{"1": {"x": "0.9"}}', cutoffs=".2,.5") == [("1", "x", 2)]


def test_the_ids_of_pyterrier_count_rather_than_its_texts_and_numbers():
    frame = pl.DataFrame(
        {"qid": ["1"], "query": ["pan"], "docno": ["x"], "docid": [7], "score": [1.5]}
    )
    (run,) = read_runs(frame)
    assert run.frame.rows() == [("1", "x", 1.5)]


def test_decimal_commas_are_refused_by_the_recipe(tmp_path):
    path = written(tmp_path, "run.csv", "query;document;score\n1;D1;2,5\n1;D2;1\n")
    refused("score is '2,5'.*the recipe 'Numbers with commas", read_runs, path)


def test_a_document_without_a_name_is_missing(tmp_path):
    lines = (
        '{"query": "1", "document": "D1", "grade": 1}\n{"query": "1", "document": "", "grade": 3}'
    )
    with pytest.raises(dl.InputError, match="row 2: document is missing"):
        read_judgements(written(tmp_path, "q.jsonl", lines))


def test_blanks_around_a_name_are_taken_away(tmp_path):
    path = written(tmp_path, "q.csv", "query,docid,rating\n -1 offers,D,2\n two,D,1\nalone\n")
    assert sorted(read_judgements(path).frame["query"]) == ["-1 offers", "two"]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "opensearch.json",
            '"docId": "B2"',
            '"doc": "B2"',
            r"another form \('docId'\); export it again",
        ),
        (
            "opensearch.json",
            '"0.000"',
            '"good"',
            "query 'red dress', document 'B1': grade is 'good'; .*scale=",
        ),
        ("quepid.csv", "B2,3", "B2,x", "row 3: grade is 'x'"),
        ("quepid.csv", "B2,3", "B2,3,3", "more fields than defined"),
        (
            "quepid.csv",
            "dress,B2,3",
            "dress,B1,3",
            "B1 occurs more than once, grade 0 in row 2 and grade 3 in row 3",
        ),
        ("detailed.csv", FILES["detailed.csv"].partition("\n")[2], "S,q,d,,\n", "holds no rating"),
    ],
)
def test_a_bad_rating_is_named(tmp_path, name, old, new, message):
    assert old in FILES[name]
    refused(
        f"{name}.*{message}",
        read_judgements,
        written(tmp_path, name, FILES[name].replace(old, new)),
    )


def test_a_document_judged_twice_is_named_with_both_grades(tmp_path):
    path = written(tmp_path, "qrels.txt", "q1 0 a 1\nq1 0 b 0\nq1 0 a 3\n")
    message = (
        "q1 a occurs more than once, grade 1 in line 1 and grade 3 in line 3 "
        '.*duplicates="first" or "last"'
    )
    refused(f"qrels.txt: {message}", read_judgements, path)
    assert sorted(read_judgements(path, duplicates="last").frame.rows()) == [
        ("q1", "a", 3),
        ("q1", "b", 0),
    ]


RUN_OF_TOOL = [("q1", "d3", 3), ("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d9", 1)]
"""Queries, documents and scores of one run, best first, as several tools write it down."""

NESTED = {
    query: {d: float(score) for q, d, score in RUN_OF_TOOL if q == query} for query in ("q1", "q2")
}
PREDICTIONS = [
    {
        "query_id": query,
        "query": "words",
        "results": [{"corpus_id": d, "score": score} for d, score in scores.items()],
    }
    for query, scores in NESTED.items()
]
FUSED = [
    {"query_id": query, "positive": ["d1"], "documents": list(scores)}
    for query, scores in NESTED.items()
]
SNAPSHOT = (
    "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position\r\n"
    'May,Mon,7,q1,d3,1\r\nMay,Mon,7,q1,d1,2\r\nMay,Mon,7,q1,"d2",3\r\nMay,Mon,7,q2,d9,1\r\n'
)


def packed_by_ranx(nested):
    return pytest.importorskip("lz4.frame").compress(json.dumps(nested).encode())


def documents_of(query):
    """Return the documents of a query, the best first."""
    of_query = [(-s, d) for q, d, s in RUN_OF_TOOL if q == query]
    return [d for _, d in sorted(of_query)]


RUNS_OF_TOOLS = {
    "Quepid's snapshot": ("snapshot.csv", lambda: SNAPSHOT),
    "ranks": (
        "run.csv",
        lambda: "qid,docid,position\n" + "".join(f"{q},{d},{4 - s}\n" for q, d, s in RUN_OF_TOOL),
    ),
    "sentence-transformers": ("predictions.jsonl", lambda: "\n".join(map(json.dumps, PREDICTIONS))),
    "sentence-transformers, fused": (
        "predictions.jsonl",
        lambda: "\n".join(map(json.dumps, FUSED)),
    ),
    "MS MARCO": ("run.tsv", lambda: "".join(f"{q}\t{d}\t{4 - s}\n" for q, d, s in RUN_OF_TOOL)),
    "ranx": ("run.json", lambda: json.dumps(NESTED)),
    "lists": ("lists.json", lambda: json.dumps({q: documents_of(q) for q, *_ in RUN_OF_TOOL})),
    "ranx, TREC": (
        "run.trec",
        lambda: "".join(f"{q} Q0 {d} {4 - s} {s}.0 bm25\n" for q, d, s in RUN_OF_TOOL),
    ),
    "ranx, lz4": ("run.lz4", lambda: packed_by_ranx(NESTED)),
    "ranx, Parquet": (
        "run.parquet",
        lambda: pl.DataFrame(RUN_OF_TOOL, ("q_id", "doc_id", "score"), orient="row"),
    ),
}


@pytest.mark.parametrize("tool", RUNS_OF_TOOLS)
def test_runs_of_tools_are_one_run(tmp_path, tool):
    name, content = RUNS_OF_TOOLS[tool]
    content = content()
    if isinstance(content, pl.DataFrame):
        content.write_parquet(tmp_path / name)
    else:
        written(tmp_path, name, content)
    (run,) = read_runs(tmp_path / name)
    assert run.name == {"snapshot.csv": "May", "run.trec": "bm25"}.get(name, name)
    assert run.frame.sort("query", -pl.col("score"))[["query", "document"]].rows() == [
        x[:2] for x in RUN_OF_TOOL
    ]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "s.csv",
            SNAPSHOT.replace(",d1,2", ",d1,1"),
            "rank 1 of the query 'q1' occurs twice; give scores too",
        ),
        ("s.csv", SNAPSHOT.replace(",d1,2", ",d1,x"), "row 2: rank is 'x'; write a number"),
        ("s.csv", SNAPSHOT.replace("Doc Position", "Place"), "no 'score'"),
        (
            "p.jsonl",
            "\n".join(map(json.dumps, PREDICTIONS)).replace('"score": 1.0', '"score": "x"'),
            "query 'q1', document 'd2': score is 'x'",
        ),
        (
            "p.jsonl",
            "\n".join(map(json.dumps, PREDICTIONS)).replace('corpus_id": "d9', 'id": "d9'),
            "line 2: .*corpus",
        ),
        (
            "p.jsonl",
            json.dumps(PREDICTIONS[0]) + '\n{"query_id": 3}',
            "line 2: not a ranking ..documents",
        ),
        (
            "p.jsonl",
            json.dumps(PREDICTIONS[0]).replace("d3", "\\ud800"),
            "line 1: not a ranking .*surrogates",
        ),
        ("r.lz4", b"\x04\x22\x4d\x18" + b"0" * 40, "cannot be decompressed|pip install lz4"),
    ],
)
def test_damaged_runs_of_tools_are_refused(tmp_path, name, content, words):
    refused(words, read_runs, written(tmp_path, name, content))


RATED = {"a": (3, 0, 0, 0), "b": (1, 2), "c": (0, 2, 3, 3), "d": (1,)}
RATED_TEXT = "query,docid,rating\n" + "".join(
    f"q,{document},{grade}\n" for document, grades in RATED.items() for grade in grades
)


@pytest.mark.parametrize(
    ("duplicates", "grades"),
    [
        ("mean", [0.75, 1.5, 2, 1]),
        ("median", [0, 1.5, 2.5, 1]),
        ("majority", [0, 1, 3, 1]),
        ("first", [3, 1, 0, 1]),
    ],
)
def test_raters_who_differ_are_combined(tmp_path, duplicates, grades):
    judged = read_judgements(written(tmp_path, "q.csv", RATED_TEXT), duplicates=duplicates)
    assert judged.frame.rows() == [
        ("q", document, grade) for document, grade in zip("abcd", grades, strict=True)
    ]


def test_ways_to_combine_raters_are_named_and_not_for_runs(tmp_path):
    rated = written(tmp_path, "q.csv", RATED_TEXT)
    refused('or combine them by "mean", "median" or "majority"', read_judgements, rated)
    refused(
        "duplicates='average': give one of error, first, last, mean",
        read_judgements,
        rated,
        duplicates="average",
    )
    run = written(tmp_path, "run.txt", "q Q0 a 1 2.0 r\nq Q0 a 2 1.0 r\n")
    refused("duplicates='mean' is for grades, not for runs", read_runs, run, duplicates="mean")


def opensearch_list(path, ratings):
    rated = [{"docId": f"d{i}", "rating": rating} for i, rating in enumerate(ratings)]
    path.write_text(json.dumps({"judgmentRatings": [{"query": "red dress", "ratings": rated}]}))
    return path


@pytest.mark.parametrize(
    ("ratings", "grades"),
    [
        (["100.000", "10.000", "1.000", "0.000"], [3, 2, 1, 0]),
        ([100, 0.0, "1"], [3, 0, 1]),
        (["10.000", "1.000"], [10, 1]),  # of another scale, perhaps
        ([100, 50], [100, 50]),
    ],
)
def test_ratings_of_esci_labels_in_opensearch_are_grades(tmp_path, ratings, grades):
    judged = read_judgements(opensearch_list(tmp_path / "judgments.json", ratings))
    assert judged.frame["grade"].to_list() == grades


def test_fractions_in_opensearch_are_cut(tmp_path):
    path = opensearch_list(tmp_path / "judgments.json", ["0.125", 0.5, 1])
    assert read_judgements(path, cutoffs=".2,.6").frame["grade"].to_list() == [0, 1, 2]
    assert read_judgements(path).n_grades is None
    path = opensearch_list(path, ["good"])
    refused(
        "query 'red dress', document 'd0': grade is 'good'", read_judgements, path, cutoffs=".5"
    )


def ranked(n_queries=3, depth=5):
    """A run with ranks and falling scores."""
    return [
        (f"q{query}", f"d{place}", place + 1, 12.5 - place - query / 8)
        for query in range(n_queries)
        for place in range(depth)
    ]


def run_files(tmp_path, lines):
    """The same run as TREC, CSV and data frame."""
    text = "".join(f"{query} Q0 {name} {rank} {score} t\n" for query, name, rank, score in lines)
    frame = pl.DataFrame(lines, schema=["query", "document", "rank", "score"], orient="row")
    frame.write_csv(tmp_path / "run.csv")
    return written(tmp_path, "run.txt", text), tmp_path / "run.csv", frame


def test_runs_whose_rank_and_score_are_exchanged_are_refused(tmp_path):
    exchanged = [(query, name, score, rank) for query, name, rank, score in ranked()]
    from_0 = [(query, name, score, rank - 1) for query, name, score, rank in exchanged]
    for lines in (exchanged, from_0):
        for run in run_files(tmp_path, lines):
            refused("rank and score seem exchanged: the rank 12.5 is none", dl.read_runs, run)

    # the remedy of a TREC file
    path, *_ = run_files(tmp_path, exchanged)
    words = [line.split() for line in path.read_text().splitlines()]
    fixed = "\n".join(" ".join(line[i] for i in (0, 1, 2, 4, 3, 5)) for line in words)
    [run] = dl.read_runs(written(tmp_path, "fixed.txt", fixed))
    assert run.frame["score"].to_list() == [score for *_, score in ranked()]


def test_scores_that_rise_with_the_ranks_are_warned_of(tmp_path):
    risen = [(query, name, rank, rank / 4) for query, name, rank, _ in ranked()]
    for lines in (risen, risen[::-1]):
        for run in run_files(tmp_path, lines):
            with pytest.warns(UserWarning, match="scores rise with the ranks in every query"):
                dl.read_runs(run)


@pytest.mark.parametrize(
    "rank",
    [
        lambda rank, score: rank,
        lambda rank, score: 0,
        lambda rank, score: score,
        lambda rank, score: "x",
        lambda rank, score: 3 * rank,
        lambda rank, score: -rank if rank > 2 else rank,
    ],
)
@pytest.mark.parametrize(
    "score", [lambda rank: 6.5 - rank, lambda rank: -rank, lambda rank: 1 / rank]
)
def test_honest_runs_are_read_without_a_word(tmp_path, recwarn, rank, score):
    lines = [(q, name, rank(place, score(place)), score(place)) for q, name, place, _ in ranked()]
    for run in run_files(tmp_path, lines):
        assert len(dl.read_runs(run)[0].frame) == 15
    assert not recwarn.list


SCALES = {
    "0,1,10,100": (0, 1, 10, 100),
    "Bad,Fair,Good,Very good": ("bad", "Fair", "Good", "Very good"),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("form", ["txt", "csv", "json", "jsonl", "quepid", "opensearch", "dict"])
def test_grades_are_read_on_a_scale_in_every_form(tmp_path, form, scale):
    grades = [grade for grade in SCALES[scale] if " " not in str(grade) or form != "txt"]
    names = [f"d{i}" for i in range(len(grades))]
    columns = {"query": ["q"] * len(grades), "docid": names, "rating": list(map(str, grades))}
    source = {"q": dict(zip(names, grades, strict=True))}
    if form == "txt":
        text = "".join(f"q 0 {d} {g}\n" for d, g in source["q"].items())
        source = written(tmp_path, "qrels.txt", text)
    elif form in ("csv", "quepid"):
        text = pl.DataFrame(columns).write_csv() + "alone\n" * (form == "quepid")
        source = written(tmp_path, "judged.csv", text)
    elif form == "json":
        source = written(tmp_path, "judged.json", json.dumps(source))
    elif form == "jsonl":
        source = written(tmp_path, "judged.jsonl", pl.DataFrame(columns).write_ndjson())
    elif form == "opensearch":
        source = opensearch_list(tmp_path / "judged.json", grades)
    judged = read_judgements(source, scale=scale)
    assert judged.frame["grade"].to_list() == list(range(len(grades)))
    assert judged.grade_names == tuple(scale.split(","))


@pytest.mark.parametrize(
    ("name", "first", "words"),
    [
        ("qrels.txt", "# judged in May\n", "qrels.txt, line 702: the grade 9 .1 of 1,000"),
        ("qrels.tsv", "query\ti\tdocid\tgrade\n", "qrels.tsv, row 701: the grade 9 .1 of"),
    ],
)
def test_a_stray_grade_is_refused_with_its_line(tmp_path, name, first, words):
    lines = [f"q{i % 50}\t0\td{i}\t{9 if i == 700 else i % 4}\n" for i in range(1_000)]
    path = written(tmp_path, name, first + "".join(lines))
    refused(words, read_judgements, path)
    refused("(line 702|row 701): grade 9 lies outside 0..3", read_judgements, path, n_grades=4)
    assert read_judgements(path, n_grades=10).n_grades == 10
    assert read_judgements(path, scale="0,1,2,3,9").n_grades == 5


def test_a_stray_grade_in_a_dictionary_is_named():
    judged = {"q": {f"d{i}": 9 if i == 700 else i % 4 for i in range(1_000)}}
    refused("judgements, query 'q', document 'd700': the grade 9 .1 of", read_judgements, judged)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("qrels.txt", "q 0 d0 Good\n\nq 0 d1 Great\n", "line 3: grade holds 'Great'"),
        ("judged.csv", "qid,docno,label\nq,d0,Good\nq,d1,Great\n", "row 2: grade holds 'Great'"),
        ("judged.json", '{"q": {"d1": "Great"}}', "query 'q', document 'd1': grade holds 'Great'"),
    ],
)
def test_grades_off_the_scale_and_names_without_one_are_refused(tmp_path, name, text, place):
    path = written(tmp_path, name, text)
    words = f"{place}, not a grade of the scale"
    refused(words, read_judgements, path, scale="Bad,Good")
    refused("--scale Bad,Fair,Good. gives names of grades", read_judgements, path)


def test_a_scale_is_for_grades_that_have_not_been_read():
    judged = read_judgements({"q": {"a": 1}})
    refused(
        "scale='Bad,Good' is for grades as they stand", read_judgements, judged, scale="Bad,Good"
    )


def test_a_scale_takes_whole_grades_with_a_fraction(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("1 0 D1 1.0\n1 0 D2 2.0\n")
    assert read_judgements(path, scale="0,1,2").frame["grade"].to_list() == [1, 2]
