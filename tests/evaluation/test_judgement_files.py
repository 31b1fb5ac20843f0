"""Judgements in the files of Quepid and OpenSearch, and documents that are judged twice."""

import json

import pytest

from dcglearn.evaluation.tables import read_judgements
from tests.makers import refused

OPENSEARCH = {
    "name": "Imported",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {"query": "red dress", "ratings": [{"docId": "B1", "rating": "0.000"}, {"docId": "B2", "rating": 3}]},
        {"query": "blue jeans", "ratings": [{"docId": "B1", "rating": "1"}]},
    ],
}
RRE = {
    "id_field": "id",
    "queries": [
        {"placeholders": {"$query": "red dress"}, "relevant_documents": {"0": ["B1"], "3": ["B2"]}},
        {"placeholders": {"$query": "blue jeans"}, "relevant_documents": {"B1": {"gain": "1"}}},
    ],
}
FILES = {
    "opensearch.json": json.dumps(OPENSEARCH, indent=2),
    "ratings.json": json.dumps(OPENSEARCH["judgmentRatings"]),
    "answer.json": json.dumps({"hits": {"hits": [{"_id": "x", "_source": OPENSEARCH}]}}),
    "rre.json": json.dumps(RRE, indent=2),
    "quepid.csv": "query,docid,rating\r\nunrated\r\nred dress,B1,0\r\nred dress,B2,3\r\nblue jeans,B1,1\r\n",
    "book.csv": 'query,docid,"Ann, A.",Bob\nred dress,B1,0,0\nred dress,B2,,3\nblue jeans,B1,1.0,\n',
    "plain.csv": "query,docid,rating\nred dress,B1,0\nred dress,B2,3\nblue jeans,B1,1\n",
}
EXPECTED = [("blue jeans", "B1", 1), ("red dress", "B1", 0), ("red dress", "B2", 3)]


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_tools(tmp_path, name):
    path = tmp_path / name
    path.write_text(FILES[name])
    assert sorted(read_judgements(path).frame.rows()) == EXPECTED


def test_a_blank_before_a_formula_is_taken_away(tmp_path):
    path = tmp_path / "book.csv"
    path.write_text("query,docid,Ann\n -1 offers,D,2\n two,D,1\n")
    assert sorted(read_judgements(path).frame["query"]) == [" two", "-1 offers"]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("opensearch.json", '"0.000"', '"0.700"', "query 1: the rating '0.700' of document 'B1' .* 'red dress'"),
        ("opensearch.json", '"docId": "B2"', '"doc": "B2"', r"another form \('docId'\); export it again"),
        ("rre.json", '"0"', '"good"', "query 1: the rating 'good' of document 'B1'"),
        ("quepid.csv", "B2,3", "B2,1e308", "line 4: the rating '1e308' of document 'B2' .* is not a whole number"),
        ("book.csv", "B2,,3", "B2,x,3", "line 3: the rating 'x' of document 'B2'"),
        ("book.csv", "B2,,3", "B2,3", "line 3: 3 fields where the header has 4"),
        ("book.csv", "B1,0,0", "B1,0,2", "red dress B1 occurs more than once, grade 0 in row 1 and grade 2 in row 2"),
        ("quepid.csv", "dress,B2,3", "dress,B1,3", "dress B1 occurs more than once, grade 0 in row 1 and grade 3"),
        ("book.csv", "B1,0,0\nred dress,B2,,3\nblue jeans,B1,1.0,", "B1,,", "holds no rating"),
    ],
)
def test_a_bad_rating_is_named(tmp_path, name, old, new, message):
    path = tmp_path / name
    assert old in FILES[name]
    path.write_text(FILES[name].replace(old, new))
    refused(f"{name}.*{message}", read_judgements, path)


def test_a_document_judged_twice_is_named_with_both_grades(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 a 1\nq1 0 b 0\nq1 0 a 3\n")
    message = 'q1 a occurs more than once, grade 1 in row 1 and grade 3 in row 3 .*duplicates="first" or "last"'
    refused(f"qrels.txt: {message}", read_judgements, path)
    assert sorted(read_judgements(path, "last").frame.rows()) == [("q1", "a", 3), ("q1", "b", 0)]
