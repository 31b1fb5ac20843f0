"""Programs for Quepid, databases and services, run by their own engines against the values computed
here.
"""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dcglearn import exports
from dcglearn.evaluation.run_values import evaluate
from dcglearn.metrics.dcg import DCG
from tests.makers import refused
from tests.tables import table

METRICS = {
    "steep": DCG([0, 0.2, 0.5, 9], [1, 0.9, 0.8, 0.2]),
    "textbook": DCG.standard(4, 10),
    "shallow": DCG([0, 1, 2, 3], [1.0]),
    "above 0": DCG([1, 1.5, 3, 4], [1, 0.6, 0.5, 0.4, 0.1]),
    "below 0": DCG([-0.4, 0, 1, 2.5], [1, 0.7, 0.3, 0.25]),
    "rises and falls": DCG([0.1, 1.7, 0.3, 2], [0.5, 1, 0.25, 0.75, 0]),
    "deep": DCG([0, 1e-7, 1 / 3, 1], 0.93 ** np.arange(60)),
    "tiny": DCG([0, 3e-12, 4e-12, 9e-12], [1e-3, 1e-5]),
    "worst below others": DCG([0.5, -0.25, 0.1, 1], [1, 1, 1, 0.125]),
    "rising": DCG([0, 1, 2, 4], [0.2, 0.3, 0.5]),
}
QUERIES = 100


def rankings(seed):
    """Queries with ties, scores that only differ in 64 bits, unjudged documents, few or no results,
    grades below 0.
    """
    rng = np.random.default_rng(seed)
    judged, run = {}, {}
    for q in range(QUERIES):
        names = [f"d{i}" for i in rng.permutation(30)] + ["é", "Z z", "10", "9"]
        grades = rng.integers(-1, 4, len(names))
        known = rng.random(len(names)) < rng.choice([0.2, 0.8])
        judged[f"q{q}"] = {d: int(g) for d, g, k in zip(names, grades, known, strict=True) if k}
        judged[f"q{q}"]["d0"] = int(grades[0])
        scores = rng.integers(0, 6, len(names)) + rng.choice([0, 1e-9, -1e-9], len(names))
        shown = rng.random(len(names)) < rng.choice([0.0, 0.1, 0.9])
        run[f"q{q}"] = {d: float(s) for d, s, r in zip(names, scores, shown, strict=True) if r}
    return judged, {q: documents for q, documents in run.items() if documents}


@pytest.fixture(scope="module", params=list(METRICS))
def case(request):
    judged, run = rankings(list(METRICS).index(request.param))
    found = {}
    for measure, normalise in (("ndcg", True), ("dcg", False)):
        values = evaluate(judged, {"mine": run}, METRICS[request.param], normalise=normalise)
        found[measure] = dict(zip(values.queries, values.filled[0, 0], strict=True))
    assert 0 < sum(value > 0 for value in found["ndcg"].values()) < QUERIES
    return METRICS[request.param], judged, run, found


def by_rank(run, query):
    """The documents of a query in the documented order: by score in 32 bits, then by name, both
    descending.
    """
    documents = run.get(query, {})
    return sorted(documents, key=lambda d: (np.float32(documents[d]), d.encode()), reverse=True)


def scored_by_node(code, queries):
    call = f"console.log(JSON.stringify(scoreAll({json.dumps(code)}, {json.dumps(queries)})))"
    done = subprocess.run(["node", "-e", API + call], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def scored_by_duktape(code, queries):
    dukpy = pytest.importorskip("dukpy")
    try:
        return dukpy.evaljs(
            API + "scoreAll(dukpy.scorer, dukpy.queries)", scorer=code, queries=queries
        )
    except dukpy.JSRuntimeError as error:
        raise RuntimeError(str(error)) from error


API = (Path(__file__).parent / "quepid_api.js").read_text()
ENGINES = [scored_by_node] * bool(shutil.which("node")) + [scored_by_duktape]


@table("scored", ENGINES)
def test_quepid(case, scored):
    dcg, judged, run, expected = case
    queries = [
        {
            "docs": [judged[q].get(d) for d in by_rank(run, q)],
            "rated": sorted(judged[q].values(), reverse=True),
        }
        for q in expected["ndcg"]
    ]
    found = scored(exports.to_quepid(dcg, "dcg.json"), queries)
    np.testing.assert_allclose(found, list(expected["ndcg"].values()), rtol=0, atol=1e-12)


@table("scored", ENGINES)
def test_quepids_own_ways(scored):
    code = exports.to_quepid(DCG([0, 1, 3], [1, 0.5]), "two\nlines")
    assert code.splitlines()[0].startswith("// NDCG@2 of two") and "var k = 2; // @Rank" in code
    assert "for (" not in code and "while" not in code
    assert scored(code, [{"docs": ["1", None, 2], "rated": ["2", "1"]}]) == pytest.approx([1 / 3.5])
    for rating in (3, 0.5, "good"):
        with pytest.raises(RuntimeError, match="has no gain: the scale is 0,1,2"):
            scored(code, [{"docs": [rating], "rated": [rating]}])


def tables(judged, run, others=()):
    runs = [("mine", q, d, s) for q, documents in run.items() for d, s in documents.items()]
    return [*runs, *others], [
        (q, d, g) for q, documents in judged.items() for d, g in documents.items()
    ]


def in_duckdb(query, runs, qrels):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        database.execute(
            "CREATE TABLE runs (run VARCHAR, query_id VARCHAR, doc_id VARCHAR, score DOUBLE)"
        )
        database.execute("CREATE TABLE qrels (query_id VARCHAR, doc_id VARCHAR, grade INTEGER)")
        for name, rows in (("runs", runs), ("qrels", qrels)):
            columns = pl.DataFrame(rows, orient="row").to_dict(as_series=False)
            names = ", ".join("unnest(?)" for _ in columns)
            database.execute(f"INSERT INTO {name} SELECT {names}", list(columns.values()))
        return database.execute(query).fetchall()


def as_spark(query, runs, qrels):
    """The query read as Spark's SQL, which has to have no other meaning there, run by DuckDB."""
    sqlglot = pytest.importorskip("sqlglot")
    (translated,) = sqlglot.transpile(
        query, read="spark", write="duckdb", unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return in_duckdb(translated, runs, qrels)


def in_sqlite(query, runs, qrels):
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE runs (run TEXT, query_id TEXT, doc_id TEXT, score REAL)")
    database.execute("CREATE TABLE qrels (query_id TEXT, doc_id TEXT, grade INTEGER)")
    in_32_bits = [(*row[:3], float(np.float32(row[3]))) for row in runs]  # its REAL has 64
    database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?)", in_32_bits)
    database.executemany("INSERT INTO qrels VALUES (?, ?, ?)", qrels)
    rows = database.execute(query).fetchall()
    database.close()
    return rows


@table("database", [in_duckdb, in_sqlite, as_spark])
def test_sql(case, database):
    dcg, judged, run, expected = case
    query = exports.to_sql(dcg, "dcg.json")
    rows = [
        row
        for row in database(query, *tables(judged, run, [("other", "q0", "d0", 1.0)]))
        if row[0] == "mine"
    ]
    assert [row[1] for row in rows] == sorted(judged)
    for i, measure in ((2, "dcg"), (3, "ndcg")):
        values = [expected[measure][row[1]] for row in rows]
        np.testing.assert_allclose([row[i] for row in rows], values, rtol=0, atol=1e-12)


@table("database", [in_duckdb, in_sqlite, as_spark])
def test_a_grade_without_a_gain_gives_no_value(database):
    query = exports.to_sql(DCG([0, 1], [1, 0.5]))
    rows = database(
        query, *tables({"a": {"x": 5, "y": 1}, "b": {"x": 1}}, {"a": {"y": 1.0}, "b": {"x": 1.0}})
    )
    assert rows == [("mine", "a", None, None), ("mine", "b", 1.0, 1.0)]


def test_python(case):
    dcg, judged, run, expected = case
    program = exports.to_python(dcg, "dcg.json")
    assert len(program.splitlines()) <= 20
    names = {}
    exec(program, names)
    found = [names["ndcg"](run.get(q, {}), judged[q]) for q in expected["ndcg"]]
    np.testing.assert_allclose(found, list(expected["ndcg"].values()), rtol=0, atol=1e-12)
    found = [names["dcg"](judged[q].get(d) for d in by_rank(run, q)) for q in expected["dcg"]]
    np.testing.assert_allclose(found, list(expected["dcg"].values()), rtol=0, atol=1e-12)
    with pytest.raises(IndexError):
        names["dcg"]([7])


@table("to", [exports.to_quepid, exports.to_sql, exports.to_python])
def test_what_no_program_is_written_for(to):
    refused(r"best grade, 2, has the gain 0.*worst grade first", to, DCG([3, 1, 0], [1.0]))
    refused(r"rank 2 has the discount -0\.1", to, DCG([0, 1], [1, -0.1]))
    refused("no position counts", to, DCG([0, 1], [0.0, 0]))
