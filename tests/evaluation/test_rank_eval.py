"""Saved responses of _rank_eval, from Elasticsearch and OpenSearch, under a learned metric."""

import gzip
import json

import numpy as np
import pytest

from dcglearn import DCG, evaluate, read_judgements
from dcglearn.evaluation.tool_files import judgements_of_hits
from dcglearn.io import read_rank_eval
from tests.makers import refused

MINE = DCG([0, 0.2, 0.5, 0.9], [1, 0.9, 0.3])


def item(document, rating, index="products"):
    return {"hit": {"_index": index, "_id": document, "_score": 1.0}, "rating": rating}


def detail(*hits):
    unrated = [{"_index": "products", "_id": d} for d, rating in hits if rating is None]
    return {
        "metric_score": 0.5,
        "unrated_docs": unrated,
        "hits": [item(*hit) for hit in hits],
        "metric_details": {},
    }


RESPONSE = {
    "metric_score": 0.5,
    "details": {
        "shoes": detail(("a", 1), ("x", None), ("b", 3)),
        "red dress": detail(("x", None), ("y", None)),
        "nothing": detail(),
    },
    "failures": {},
}
REQUEST = {
    "requests": [
        {
            "id": "shoes",
            "request": {"query": {"match": {"name": "running shoes"}}},
            "ratings": [
                {"_index": "products", "_id": d, "rating": r}
                for d, r in (("a", 1), ("b", 3), ("c", 2))
            ],
        },
        {"id": "red dress", "ratings": [{"_index": "products", "_id": "z", "rating": 1}]},
        {"id": "nothing", "ratings": [{"_index": "products", "_id": "z", "rating": 2}]},
    ],
    "metric": {"dcg": {"k": 10, "normalize": True}},
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, value in (
        ("response", RESPONSE),
        ("request", REQUEST),
        ("older", {"rank_eval": RESPONSE}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps(RESPONSE).encode()))
    MINE.save(tmp_path / "dcg.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_response_holds_a_run_and_the_ratings_of_its_hits(files):
    for name in ("response.json", "older.json", "packed.json.gz"):
        response = read_rank_eval(name)
        assert response.run.frame["document"].to_list() == ["a", "x", "b", "x", "y"]
        assert response.rated.rows() == [("shoes", "a", 1), ("shoes", "b", 3)]
        assert (response.run.name, response.longest) == (name, 3)
    found = evaluate(judgements_of_hits([response]), response.run, MINE, normalise=False)
    by_query = dict(zip(found.queries, found.filled[0, 0], strict=True))
    assert by_query == pytest.approx({"shoes": 0.2 + 0.3 * 0.9, "red dress": 0.0, "nothing": 0.0})


def test_a_request_holds_all_judgements(files):
    judged = read_judgements("request.json")
    assert judged.frame.rows()[:3] == [("shoes", "a", 1), ("shoes", "b", 3), ("shoes", "c", 2)]
    found = evaluate(judged, read_rank_eval("response.json").run, MINE)
    ideal = 0.9 + 0.9 * 0.5 + 0.3 * 0.2
    np.testing.assert_allclose(found.filled[0, 0], [0, 0, (0.2 + 0.3 * 0.9) / ideal])


def test_the_servers_own_dcg_is_met(files):
    """Elasticsearch's dcg: 2^rating - 1 over log2(rank + 1), 0 for unrated hits; the mean over
    queries.
    """
    response, textbook = read_rank_eval("response.json"), DCG.standard(4, 10)
    found = evaluate(judgements_of_hits([response]), response.run, textbook, normalise=False)
    assert found.means[0, 0] == pytest.approx((1 + 7 / 2) / 3)


def test_the_command(dcglearn, files):
    status, out, err = dcglearn("evaluate", "--rank-eval", "response.json", "--metric", "dcg.json")
    assert (
        status == 0 and "0.1567" in out and "note: DCG, since a response does not hold all" in err
    )
    assert "ScaleWarning" not in err and "warning" not in err
    both = ("--rank-eval", "response.json", "--qrels", "request.json")
    status, out, err = dcglearn("evaluate", *both, "--metric", "dcg.json")
    assert status == 0 and "0.1111" in out and err == ""
    status, _, err = dcglearn(
        "evaluate", "--rank-eval", "response.json", "--metric", "exponential-log2@50"
    )
    assert (
        status == 0 and "at most 3 hits" not in err
    )  # a name's depth is not the metric's own wish
    DCG([0, 1, 2, 3], np.ones(20)).save("deep.json")
    status, _, err = dcglearn("evaluate", "--rank-eval", "response.json", "--metric", "deep.json")
    assert status == 0 and "at most 3 hits a query, while the metric counts 20 positions" in err


def test_two_responses_are_compared(dcglearn, files):
    other = json.loads(json.dumps(RESPONSE))
    other["details"]["shoes"]["hits"].reverse()
    (files / "new.json").write_text(json.dumps(other))
    both = ("--rank-eval", "response.json", "--rank-eval", "new.json", "--qrels", "request.json")
    status, out, _ = dcglearn("compare", *both, "--metric", "dcg.json", "--resamples", 100)
    assert status == 0 and "from response.json" in out and "new.json" in out


def test_what_differs_from_the_judgements_is_said(dcglearn, files):
    failing = {**RESPONSE, "failures": {"boots": {"error": {"reason": "no such index"}}}}
    (files / "failing.json").write_text(json.dumps(failing))
    (files / "qrels.txt").write_text("shoes 0 a 2\nshoes 0 b 3\n")
    both = ("--rank-eval", "failing.json", "--qrels", "qrels.txt")
    status, _, err = dcglearn("evaluate", *both, "--metric", "linear-log2@5")
    assert status == 0 and "1 rating unlike those of qrels.txt" in err
    assert "2 queries without a judgement, such as 'red dress', left out" in err
    assert "1 query failed there, such as 'boots' (no such index)" in err


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            {"took": 3, "hits": {"total": {"value": 1}, "hits": []}},
            "response of _search, not .* of _rank_eval",
        ),
        ({"responses": []}, "the response of _msearch"),
        (
            {"error": {"reason": "unknown index"}, "status": 404},
            "an error of the server.*unknown index",
        ),
        (REQUEST, "is the request of a _rank_eval.*--qrels"),
        ({"judgmentRatings": []}, "judgement lists"),
        ({"some": 1, "thing": 2}, "another JSON.*some, thing"),
        ([1], "holds a JSON list"),
        (
            {"metric_score": 1, "details": {"q": {"metric_score": 1}}},
            "query 'q' has no list of hits.*filter_path",
        ),
        (
            {"metric_score": 1, "details": {"q": {"hits": [{"rating": 1}]}}},
            "query 'q', hit 1 has no _id",
        ),
        (
            {"metric_score": 1, "details": {"q": {"hits": [item("a", 1.5)]}}},
            "hit 1: the rating 1.5 of document 'a' is",
        ),
        ({"metric_score": 1, "details": {"q": {"hits": [item("a", True)]}}}, "the rating True"),
        (
            {"metric_score": 1, "details": {"q": {"hits": [item("a", 1), item("a", 1, "other")]}}},
            "more than once",
        ),
        ({"metric_score": 0, "details": {"q": {"hits": []}}}, "no query has a hit"),
    ],
)
def test_other_files_are_refused(files, value, words):
    (files / "other.json").write_text(json.dumps(value))
    refused(rf"other\.json.*{words}", read_rank_eval, "other.json")


def test_settings_that_do_not_go_together(misuse, files):
    (files / "bare.json").write_text(
        json.dumps({**RESPONSE, "details": {"q": detail(("a", None))}})
    )
    for arguments, words in (
        (("--rank-eval", "response.json", "--metric", "AP"), "AP needs all judgements"),
        (("--rank-eval", "bare.json"), "no hit is rated"),
        (("qrels.txt", "run.txt", "--qrels", "other.txt"), "--qrels goes with --rank-eval"),
        (("qrels.txt", "--rank-eval", "response.json"), "leave out qrels.txt"),
        (("qrels.txt",), "JUDGEMENTS RUN"),
    ):
        misuse(words, "evaluate", *arguments)
