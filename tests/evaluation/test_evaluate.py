"""Evaluation of tables, dictionaries, arrays; ties, policies, list utilities, peers' measures;
comparisons.
"""

import gzip
import json
from types import MappingProxyType

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import dcg_score, ndcg_score

import dcglearn as dl
from dcglearn import DCG, compare_systems, evaluate, evaluate_arrays, read_judgements, read_runs
from dcglearn.evaluation import ListUtility
from dcglearn.metrics.other_names import usual_name
from dcglearn.plots import forest_figure
from tests.makers import list_metrics, noisy_runs, refused, write_trec
from tests.tables import table

JUDGED = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"a": 2, "ü 1": 1}}
SCORES = {"q1": {"b": 2.5, "a": 1.5, "x": 0.5}, "q2": {"ü 1": 9.0, "a": 8.0}}


def rows(nested, number, names=("query_id", "doc_id")):
    return pl.DataFrame(
        [
            {names[0]: q, names[1]: d, number: v}
            for q, documents in nested.items()
            for d, v in documents.items()
        ]
    )


def expected():
    return evaluate(JUDGED, SCORES, ["nDCG@2", "exponential-log2@3"]).values


def test_every_kind_of_input_gives_the_same(tmp_path):
    judged, scores = rows(JUDGED, "relevance"), rows(SCORES, "score")
    judged.write_parquet(tmp_path / "qrels.parquet")
    judged.write_csv(tmp_path / "qrels.csv")
    scores.write_ndjson(tmp_path / "run.jsonl")
    (tmp_path / "run.json").write_text(json.dumps(SCORES))
    (tmp_path / "qrels.json.gz").write_bytes(gzip.compress(json.dumps(JUDGED).encode()))
    rows(SCORES, "score", ("qid", "docno")).write_csv(tmp_path / "run.tsv", separator="\t")
    for source in (
        judged,
        tmp_path / "qrels.parquet",
        tmp_path / "qrels.csv",
        str(tmp_path / "qrels.json.gz"),
    ):
        for run in (scores, tmp_path / "run.jsonl", tmp_path / "run.json", tmp_path / "run.tsv"):
            np.testing.assert_array_equal(
                evaluate(source, run, ["nDCG@2", "exponential-log2@3"]).values, expected()
            )
    two = pl.concat(
        [scores.with_columns(run=pl.lit("one")), scores.with_columns(run=pl.lit("two"))]
    )
    assert evaluate(judged, two).runs == ("one", "two")
    assert evaluate(JUDGED, {"one": SCORES, "two": SCORES}).runs == ("one", "two")


def test_the_wrong_order_of_judgements_and_runs_is_named(tmp_path, misuse, monkeypatch):
    grades, run = {"q1": {"a": 3, "b": 1}, "q2": {"a": 2}}, {"q1": SCORES["q1"], "q2": {"a": 8.5}}
    judged, scores = rows(grades, "relevance"), rows(run, "score")
    write_trec(tmp_path, grades, {"run": run, "new": run})
    words = "judgements come first, runs after them"
    for call in (evaluate, compare_systems, dl.system_order):
        more = ["nDCG@2"] if call is dl.system_order else []
        refused(words, call, scores, judged, *more)
        refused(words, call, tmp_path / "run.txt", tmp_path / "qrels.txt", *more)
    monkeypatch.chdir(tmp_path)
    for command in ("evaluate", "compare"):
        misuse(words, command, "run.txt", "qrels.txt", "new.txt")


def test_what_names_no_metric_and_no_judged_query_is_shown():
    refused("metric 'None' is a NoneType", evaluate, JUDGED, SCORES, None)
    refused("metric '10' is an int", evaluate, JUDGED, SCORES, 10)
    refused("nDCG@-1' is neither.*; the nearest is nDCG$", evaluate, JUDGED, SCORES, "nDCG@-1")
    upper = {"Q1": SCORES["q1"]}
    refused("do the names agree\\? Q1 is ranked, q1 judged", evaluate, JUDGED, upper)


def test_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    judged, scores = (
        pandas.DataFrame(rows(*part).to_dicts()) for part in ((JUDGED, "label"), (SCORES, "score"))
    )
    np.testing.assert_array_equal(
        evaluate(judged, scores, ["nDCG@2", "exponential-log2@3"]).values, expected()
    )


@table(
    ("source", "words"),
    [
        (pl.DataFrame({"query": ["q"], "document": ["d"]}), "no 'grade' .grade relevance"),
        (
            pl.DataFrame({"query": ["q"], "document": ["d"], "grade": ["high"]}),
            "row 1: grade is 'high'; write a number",
        ),
        (
            pl.DataFrame({"query": ["q", "q"], "document": ["d", "d"], "grade": [1, 1]}),
            "more than once",
        ),
        (pl.DataFrame({"query": [], "document": [], "grade": []}), "no row below a header"),
        ({"q": 1}, "expected"),
        (17, "judgements: a int is no table: give a path, a data frame or dictionaries"),
        (None, "judgements: a NoneType is no table"),
        ("nowhere.txt", "does not exist"),
    ],
)
def test_bad_judgements(source, words):
    refused(words, read_judgements, source)


def test_bad_tables_of_runs(tmp_path):
    (tmp_path / "run.jsonl").write_text('{"qid": "q", "docno": "d", "score": 1}\n{"qid": "q",\n')
    refused("line 2: not valid JSON", read_runs, tmp_path / "run.jsonl")
    refused("no 'score'.*found .*points; columns", read_runs, rows(SCORES, "points"))
    refused("holds no score", read_runs, {"q": {"d": float("nan")}})
    refused("no run", read_runs, [])
    named = read_runs([rows(SCORES, "score"), rows(SCORES, "score")])
    assert [run.name for run in named] == ["run 1", "run 2"]
    (run,) = read_runs(dl.evaluation.Run(rows(SCORES, "score", ("query", "document")), "mine"))
    assert run.name == "mine"


@st.composite
def tied(draw):
    rows, width, top = draw(st.integers(1, 4)), draw(st.integers(2, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = rng.integers(0, draw(st.integers(1, 8)), (rows, width)) - draw(
        st.sampled_from([0.0, 3.5])
    )
    return rng.integers(0, top + 1, (rows, width)), scores, draw(st.integers(1, 14)), top + 1


@given(tied())
def test_arrays_agree_with_scikit_learn_ties_and_all(case):
    grades, scores, depth, n_grades = case
    linear = DCG.standard(n_grades, depth, "linear")
    for normalise, peer in ((False, dcg_score), (True, ndcg_score)):
        value = evaluate_arrays(grades, scores, metrics=linear, normalise=normalise).mean()
        assert value == pytest.approx(peer(grades, scores, k=depth), abs=1e-12)


@given(tied(), st.randoms(use_true_random=False))
def test_both_ways_of_looking_at_arrays_agree(case, random):
    grades, scores, _, n_grades = case
    wide = np.tile(grades, 12), np.tile(scores, 12)
    gains, discounts = ([random.randint(-100, 200) / 100 for _ in range(n)] for n in (n_grades, 2))
    shallow = DCG(gains, discounts)
    deep = DCG(gains, [*discounts, *[0.0] * (wide[0].shape[1] - 2)])  # sorted whole
    for normalise in (False, True):
        found = [
            evaluate_arrays(*wide, metrics=dcg, normalise=normalise) for dcg in (shallow, deep)
        ]
        np.testing.assert_allclose(found[0], found[1], atol=1e-10)


def test_arrays_in_order_of_the_row_and_without_documents():
    grades, scores = (
        np.array([[0, 2, 1, -2], [1, 1, -2, -2]]),
        np.array([[1.0, 1, 1, 9], [2, 3, 4, 5]]),
    )
    dcg = DCG([0.0, 1, 3], [1, 0.5])
    np.testing.assert_allclose(
        evaluate_arrays(grades, scores, metrics=dcg, ties="stable", normalise=False), [1.5, 1.5]
    )
    np.testing.assert_allclose(
        evaluate_arrays(grades, scores, metrics=dcg, normalise=False), [4 / 3 * 1.5, 1.5]
    )
    several = evaluate_arrays(grades, scores, metrics=dl.textbook_dcgs(3, 5))
    assert len(several) == 42 and all(len(values) == 2 for values in several.values())
    zeros = np.array([[0.0, -0.0, 1.0]])
    assert (
        evaluate_arrays([[2, 0, 0]], zeros, metrics=DCG([0, 1, 1.0], [1, 1, 0.0]), normalise=False)[
            0
        ]
        == 0.5
    )


def test_forty_grades_a_thousand_positions_and_other_discounts():
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 40, (5, 1500)), rng.normal(size=(5, 1500))
    dcg = DCG(np.sort(rng.random(40)), np.sort(rng.random(1000))[::-1])
    order = np.argsort(-scores, axis=1)[:, :1000]
    slow = dcg.score(np.take_along_axis(grades, order, axis=1)) / dcg.ideal(grades)
    np.testing.assert_allclose(evaluate_arrays(grades, scores, metrics=dcg), slow, rtol=1e-12)
    judged, run = (
        {f"q{i}": dict(enumerate(row)) for i, row in enumerate(x.tolist())}
        for x in (grades, scores)
    )
    np.testing.assert_allclose(evaluate(judged, run, dcg).values[0, 0], slow, rtol=1e-12)
    fractional = DCG([0, 0.2, 0.5, 0.9], [1, 0.5])
    assert (
        evaluate({"q": {"a": 3, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, fractional).means[0, 0]
        == 1.0
    )


@table(
    ("arguments", "words"),
    [
        (([[1, 2]], [[1.0]], DCG([0, 1, 2], [1.0])), "one shape"),
        (([[1, 5]], [[1.0, 2]], DCG([0, 1, 2], [1.0])), "5"),
        (([[1, 2]], [[1.0, np.nan]], DCG([0, 1, 2], [1.0])), "finite"),
        (([[1, 2]], [[1.0, 2]], {}), "one metric or more"),
    ],
)
def test_bad_arrays(arguments, words):
    grades, scores, metrics = arguments
    refused(words, evaluate_arrays, grades, scores, metrics=metrics)
    refused(
        "give one of average, stable",
        evaluate_arrays,
        [[1]],
        [[1.0]],
        metrics=DCG([0, 1], [1.0]),
        ties="docno",
    )


def test_names_are_no_formulas_in_spreadsheets(dcglearn, here):
    names = ["=cmd()|A1", "+x", "-x", "@x", "-0.5", "+1e3", "x=1"]
    judged = {name: {"a": 1, "b": 0} for name in names}
    run = {name: {"a": float(i % 2), "b": 0.5} for i, name in enumerate(names)}
    write_trec(here, judged, {"one": run, "=two": run})
    files = ("qrels.txt", "=two.txt", "one.txt")
    lines = dcglearn("evaluate", *files, "-q")[1].splitlines()
    cells = [line.split("\t") for line in lines[1:]]
    escaped = {"'=cmd()|A1", "'+x", "'-x", "'@x"}
    assert {row[1] for row in cells} == {*escaped, "-0.5", "+1e3", "x=1", "all"}
    assert {row[0] for row in cells} == {"'=two", "one"}

    # in tables of comparisons too, whose numbers stay numbers
    write_trec(here, judged, {"worse": {name: {"b": 1.0} for name in names}})
    dcglearn("compare", *files, "worse.txt", "-o", "compared.csv")
    rows = pl.read_csv("compared.csv").rows(named=True)
    assert [(row["run"], row["baseline"]) for row in rows] == [("one", "'=two"), ("worse", "'=two")]
    assert rows[1]["difference"] < 0

    # JSON is no spreadsheet
    dcglearn("evaluate", *files, "-q", "-o", "values.jsonl")
    assert {*pl.read_ndjson("values.jsonl")["query_id"]} == {*names, "all"}


@pytest.mark.filterwarnings("error")
def test_infinite_scores_rank_first_last_and_tie():
    judged = {"q": {"a": 1, "b": 0, "c": 2}, "r": {"a": 1}}
    run = {"q": {"a": -np.inf, "c": np.inf, "b": np.inf}, "r": {"b": np.inf, "a": 1e300}}
    finite = {
        "q": {"a": 1.0, "c": 2.0, "b": 2.0},
        "r": {"b": 2.0, "a": 2.0},
    }  # as float32, 1e300 is infinite
    for ties in ("docno-desc", "stable", "average"):
        values = evaluate(judged, run, "exponential-log2@3", ties=ties).values
        np.testing.assert_array_equal(
            values, evaluate(judged, finite, "exponential-log2@3", ties=ties).values
        )


def test_ties_of_runs_are_averaged_over_all_that_are_tied():
    judged = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "x": 0.0}, "r": {"a": 2.0, "z": 2.0}}
    dcg = DCG([0.0, 1, 4], [1, 0.5])
    found = evaluate(judged, run, dcg, ties="average", normalise=False)
    np.testing.assert_allclose(found.values[0, 0], [5 / 3 * 1.5, 0.5 * 1.5])
    refused("do not go together", evaluate, judged, run, dcg, ties="average", unjudged="drop")


def test_ties_that_names_order_are_said_with_the_remedy(dcglearn, tmp_path, monkeypatch):
    judged = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(20)}
    own = {q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in judged}
    equal = {q: dict.fromkeys(scores, 1.0) for q, scores in own.items()}
    runs = {"own": own, "equal": equal}
    for found in (evaluate(judged, runs), compare_systems(judged, runs)):
        [said] = [note for note in found.notes if note.startswith("tied scores")]
        assert "up to 100.0%" in said and "--ties average" in said

    # not where the order was asked for, nothing is tied, or few are
    few = {q: equal[q] if q == "q0" else scores for q, scores in own.items()}
    for run, ties in (
        (equal, "stable"),
        (equal, "average"),
        *((x, "docno-desc") for x in (own, few)),
    ):
        assert not evaluate(judged, run, ties=ties).notes
    below = {q: scores | {"x": 1.0} for q, scores in own.items()}
    assert not evaluate(judged, below, "nDCG@2").notes
    np.testing.assert_allclose(evaluate(judged, below, ["nDCG@2", "nDCG@3"]).tied, [[0, 1 / 3]])

    # the remedy works
    monkeypatch.chdir(tmp_path)
    write_trec(tmp_path, judged, runs)
    arguments = ("compare", "qrels.txt", "own.txt", "equal.txt")
    assert "tied scores" in dcglearn(*arguments)[1].lower()
    assert "tied scores" not in dcglearn(*arguments, "--ties", "average")[1].lower()


def test_a_comparison_says_how_much_is_not_judged():
    judged = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(20)}
    whole = {q: {"a": 3.0, "b": 2.0, "c": 1.0} for q in judged}
    found = compare_systems(judged, {"whole": whole, "half": {q: {"a": 2, "x": 1} for q in judged}})
    assert "not judged: up to 50.0% of the positions looked at" in found.notes
    assert found.to_dict()["table"][0]["judged"] == 0.75 and "judged" not in found.cells[0]

    # a document of 60 is no news
    few = {q: {"a": 3, "b": 2, "x" if q == "q0" else "c": 1} for q in judged}
    assert "not judged" not in str(compare_systems(judged, {"whole": whole, "few": few}))


def test_measures_of_ir_measures():
    pytest.importorskip("ir_measures")
    found = evaluate(JUDGED, SCORES, ["nDCG@2", "P@2", "AP", "RR(rel=2)"])
    np.testing.assert_allclose(found.values[0, 1:], [[1, 1], [1, 1], [0.5, 0.5]])
    refused("nor known to ir_measures", evaluate, JUDGED, SCORES, ["XYZ@2"])


def test_names_of_trec_eval_are_taken():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    pytest.importorskip("ir_measures")
    names = (
        "ndcg_cut_5",
        "ndcg",
        "map",
        "map_cut_5",
        "recip_rank",
        "P_5",
        "recall_5",
        "Rprec",
        "bpref",
        "success_1",
    )
    names += (
        "set_P",
        "set_recall",
        "set_F",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "iprec_at_recall_0.20",
        "infAP",
    )
    judged, runs = systems(8)
    theirs = pytrec_eval.RelevanceEvaluator(judged, pytrec_eval.supported_measures).evaluate(
        runs["base"]
    )
    found = evaluate(judged, runs["base"], list(names))
    assert found.metrics == tuple("ndcg@20" if name == "ndcg" else name for name in names)
    for m, name in enumerate(names):
        np.testing.assert_allclose(
            found.values[0, m], [theirs[q][name] for q in found.queries], atol=1e-9
        )
    others = [
        usual_name(name)
        for name in ("ndcg_at_10", "MRR", "hit_rate@5", "ndcg_cut.10", "AP(rel=2)", "dcg.json")
    ]
    assert others == ["nDCG@10", "RR", "Success@5", "nDCG@10", "AP(rel=2)", "dcg.json"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SDCG@10", "ir_measures cannot compute SDCG@10: it needs max_rel="),
        ("IPrec@2", "ir_measures cannot compute IPrec@2: invalid param recall=2"),
        ("P@0", "the cut-off is a whole number of at least 1"),
        ("nDCG(dcg='exp-log2',gains={1:3})@10", "ir_measures runs a Perl script for it"),
        ("ERR-IA@10", "nor known to ir_measures; the nearest is ERR_IA"),
        ("Recal@10", "nor known to ir_measures; the nearest is Recall"),
    ],
)
def test_measures_that_cannot_be_computed_are_refused_in_words(name, words):
    pytest.importorskip("ir_measures")
    refused(words, evaluate, JUDGED, SCORES, name)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("nDCG(dcg='exp-log2')@10", "exponential-log2@10"), ('nDCG(dcg="log2")@2', "nDCG@2")],
)
def test_names_of_ir_measures_for_our_metrics_need_no_perl(theirs, ours, capfd):
    judged, run = {"a query": {"a": 1, "b": 2}}, {"m": {"a query": {"a": 2, "b": 1}}}
    found = evaluate(judged, run, [theirs, ours])
    assert found.metrics == (theirs, ours) and found.means[0, 0] == found.means[0, 1]
    assert capfd.readouterr().err == ""


def test_rbp_of_ir_measures_is_a_dcg():
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl.ruler.cwl_ruler", reason="ir_measures computes RBP by cwl-eval")
    judged, runs = systems(8)
    names = ("RBP(rel=1)", "RBP(p=0.5,rel=2)")
    found = evaluate(judged, runs["base"], [f"{name}@1000" for name in names], bounds=True)
    for m, name in enumerate(names):
        theirs = ir_measures.iter_calc([ir_measures.parse_measure(name)], judged, runs["base"])
        by_query = {value.query_id: value.value for value in theirs}
        np.testing.assert_allclose(
            found.values[0, m], [by_query[q] for q in found.queries], atol=1e-6
        )
    np.testing.assert_allclose(found.bounds[..., 0], found.values)  # all is judged
    shared, worst = (
        evaluate(JUDGED, SCORES, "RBP", unjudged=u, ties="average").values for u in (0.5, "worst")
    )
    assert (shared[0] > worst[0]).tolist() == [[True, False]]  # one of q1's documents is not judged
    refused("rel, a grade of at least 1", evaluate, JUDGED, SCORES, "RBP(rel=0)")


def test_peers_measures_need_ir_measures(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ir_measures", None)
    message = refused(r"pip install 'dcglearn\[ir\]'", evaluate, JUDGED, SCORES, ["MAP"])
    assert message.startswith("metric 'MAP' is neither") and "as AP may be" in message
    assert "RBP(p=0.8)" in message
    refused(r"pip install 'dcglearn\[ir\]'", lambda: dl.exports.ir_measure(DCG([0, 1], [1.0])))


def systems(n_queries=40):
    return noisy_runs({"base": 2.0, "same": 2.0, "better": 0.7}, n_queries, 20)


def test_comparisons():
    judged, runs = systems()
    found = compare_systems(judged, runs, ["nDCG@5", "exponential-log2@5"], random_state=1)
    assert found.table["run"].to_list() == ["same", "better"] * 2
    for row in found.table.iter_rows(named=True):
        assert row["low"] < row["difference"] < row["high"]
        assert row["p_corrected"] >= row["p_permutation"]
        assert (row["p_corrected"] < 0.01) == (row["run"] == "better")
        assert abs(row["p_t"] - row["p_permutation"]) < 0.05
    again = compare_systems(judged, runs, ["nDCG@5", "exponential-log2@5"], random_state=1)
    assert again.table.equals(found.table)
    turned = compare_systems(judged, runs, baseline="better")
    assert (turned.table["difference"] < 0).all()
    for text in (str(found), found.to_markdown()):
        assert "better" in text and "nDCG@5" in text
    assert found.to_markdown().count("\n| ") == 6
    assert found.sentence.startswith("beyond chance: 2 of 4 differences from base; the clearest")
    assert "better is better than base (mean difference +0." in found.sentence
    assert len(forest_figure(found).axes) == 1
    same = compare_systems(judged, {"a": runs["base"], "b": runs["base"]})
    assert same.table["p_permutation"][0] == 1.0 and same.table["difference"][0] == 0.0


def test_corrections_by_hand():
    from dcglearn.evaluation.paired_tests import corrected

    values = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(corrected(values, "holm"), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(corrected(values, "bh"), [0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5])
    np.testing.assert_array_equal(corrected(values, "none"), values)


def test_what_cannot_be_compared():
    judged, runs = systems(5)
    for settings, words in (
        ({"baseline": "nobody"}, "give one of base, same, better"),
        ({"correction": "all"}, "holm"),
        ({"level": 1.5}, "level"),
        ({"n_resamples": 3}, "n_resamples"),
    ):
        refused(words, compare_systems, judged, runs, **settings)
    refused("two systems", compare_systems, judged, {"base": runs["base"]})
    one = compare_systems({"q00": judged["q00"]}, runs)
    assert one.table["p_permutation"][0] == 1 and one.table["low"][0] is None
    assert one.gate().status == 3


class TestOnTheCommandLine:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        write_trec(tmp_path, *systems(12))
        DCG([0, 0.2, 0.5, 0.9], [1, 0.9, 0.3]).save(tmp_path / "dcg.json")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_evaluate(self, dcglearn, misuse, files):
        both = ("evaluate", "qrels.txt", "base.txt", "better.txt")
        status, out, err = dcglearn(*both, "--metric", "dcg.json", "--metric", "nDCG@10")
        assert (status, err) == (0, "")
        assert out.startswith("Over 12 queries, better has the highest mean dcg.json: 0.")
        assert out.splitlines()[2].split() == ["run", "dcg.json", "nDCG@10"]
        assert dcglearn(*both, "-q", "-o", "v.jsonl") == (0, "", "wrote: v.jsonl\n")
        values = pl.read_ndjson("v.jsonl").to_dicts()
        assert len(values) == 2 * 13 and set(values[0]) == {"run", "query_id", "measure", "value"}
        means = {row["run"]: row["value"] for row in values if row["query_id"] == "all"}
        own = [row["value"] for row in values if row["run"] == "base" and row["query_id"] != "all"]
        assert means["base"] == pytest.approx(np.mean(own)) and means["better"] > means["base"]
        assert dcglearn(*both, "-q", "--output", "v.tsv")[0] == 0
        assert pl.read_csv("v.tsv", separator="\t").to_dicts() == values
        misuse("v.tsv exists", *both, "-q", "--output", "v.tsv")
        settings = ((), ("--raw",), ("--unjudged", "0.1"))
        plain = [dcglearn(*both, *more)[1] for more in settings]
        assert plain[0] != plain[1] and plain[0] == plain[2]
        misuse("unjudged", *both, "--unjudged", "lost")
        misuse("does not exist", "evaluate", "qrels.txt", "nothing.txt")

    def test_compare(self, dcglearn, misuse, files):
        runs = ("base.txt", "same.txt", "better.txt")
        arguments = ("compare", "qrels.txt", *runs, "--metric", "dcg.json")
        status, out, err = dcglearn(*arguments, "--plot", "forest.png")
        assert status == 0 and "differences from base" in out and "wrote: forest.png" in err
        marks = {"csv": "p_corrected", "md": "| --- |", "json": '"baseline": "base"'}
        for suffix, mark in marks.items():
            dcglearn(*arguments, "-o", f"compared.{suffix}")
            assert mark in (files / f"compared.{suffix}").read_text()
        found = json.loads((files / "compared.json").read_text())
        assert [*found] == ["title", "comparison", "ranks"]
        assert [row["run"] for row in found["comparison"]["table"]] == ["same", "better"]
        misuse("give one of base, same, better", *arguments, "--baseline", "nobody")


@pytest.mark.filterwarnings(
    "ignore::dcglearn.metrics.saved_metric.ScaleWarning"
)  # the top grade does not occur
@table("ideal", ["judgements", "list"])
@table("unjudged", ["worst", 0.4])
def test_no_list_beats_the_ideal_where_the_worst_grade_has_a_gain(ideal, unjudged):
    dcg = DCG([1, 2, 5], [1, 0.6, 0.5])
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.0}}
    for judged in ({"a": 1}, {"a": 2, "b": 0}, {"b": 1, "c": 2, "d": 1, "e": 2}):
        value = dl.evaluate({"q": judged}, run, {"m": dcg}, ideal=ideal, unjudged=unjudged).values[
            0, 0, 0
        ]
        assert 0 < value <= 1 + 1e-12
    best = dl.evaluate({"q": {"a": 1}}, run, {"m": dcg}, ideal=ideal, unjudged="worst").values[
        0, 0, 0
    ]
    assert best == pytest.approx(1)


PARTLY = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1}, "s": {"a": 2}}
FOUND = {"q": {"x": 9.0, "a": 8.0, "y": 7.0, "b": 6.0}, "r": {"a": 3.0}}


@table("gains", [[0, 1, 4], [0.5, 1, 4], [-1, 0, 2]])
def test_the_most_less_the_value_is_the_residual_of_plain_values(gains):
    # the discounts of what is not judged, times what the best grade gains over the worst
    dcg = DCG(gains, [1, 0.5, 0.25])
    found = evaluate(PARTLY, FOUND, dcg, normalise=False, bounds=True)
    least, most = np.moveaxis(found.bounds[0, 0], -1, 0)
    np.testing.assert_allclose(least, found.filled[0, 0])
    np.testing.assert_allclose(most - least, [(gains[2] - gains[0]) * (1 + 0.25), 0, 0])
    best = evaluate(PARTLY, FOUND, dcg, normalise=False, unjudged="best").filled
    np.testing.assert_allclose(most, best[0, 0])


GRADED = {"q": {"a": 3, "b": 1, "c": 1, "d": 0}, "r": {"a": 1, "b": 0}}
RANKED = {"q": {"a": 9.0, "b": 8.0, "x": 7.0, "c": 6.0}, "r": {"b": 2.0, "a": 1.0}}
ENOUGH = ListUtility([0, 0.4, 0.9, 1], DCG.standard(4, 3).discounts, stops=[0, 0.3, 0.7, 0.8])


def values_of(metric, **settings):
    return evaluate(GRADED, {"mine": RANKED}, {"m": metric}, **settings).values[0, 0]


def test_a_list_utility_is_never_divided_by_an_ideal():
    own = ENOUGH.score([[3, 1, 0], [0, 1, 0]])
    for settings in ({}, {"normalise": False}, {"ideal": "list"}):
        np.testing.assert_allclose(values_of(ENOUGH, **settings), own, rtol=1e-12)


def test_without_stops_the_values_are_those_of_the_dcg():
    dcg = DCG.standard(4, 3)
    for policy in ({}, {"unjudged": "best"}, {"unjudged": "drop"}):
        settings = {"normalise": False, **policy}
        expected = values_of(dcg, **settings)
        np.testing.assert_allclose(
            values_of(ListUtility(dcg.gains, dcg.discounts), **settings), expected, rtol=1e-12
        )


def test_unjudged_documents_have_the_grade_that_is_asked():
    lists = {"worst": [3, 1, 0], "best": [3, 1, 3], "drop": [3, 1, 1]}
    best = ListUtility([0, 1, 2, 3], [1, 0.9, 0.8], best=0.5)
    for unjudged, grades in lists.items():
        assert values_of(best, unjudged=unjudged, normalise=False)[0] == best.score(grades)


def test_textbook_metrics_of_lists_are_plain():
    found = evaluate(GRADED, {"mine": RANKED}, ["ERR@3", "RBP(p=0.5)@2", "BestGrade@2"])
    assert found.metrics == ("ERR@3", "RBP(p=0.5)@2", "BestGrade@2")
    first = found.values[0, :, 0]
    np.testing.assert_allclose(
        first, [7 / 8 + 1 / 8 * 1 / 8 / 2, 0.5 * (1 + 0.5 / 3), 3], rtol=1e-12
    )
    assert evaluate(GRADED, {"mine": RANKED}, "RBP").metrics == ("RBP(p=0.8)@4",)


NAMED = list_metrics(4, 3)
NAMED |= {f"{name}@3": dcg for name, dcg in dl.textbook_dcgs(4, 3).items()}
POLICIES = [{}, {"normalise": False}, {"ideal": "list"}, {"unjudged": "best"}, {"unjudged": "drop"}]


@table(("name", "number"), [(name, number) for number, name in enumerate(NAMED)])
def test_the_object_of_a_textbook_metric_has_the_values_of_its_name(name, number, tmp_path):
    metric = NAMED[name]
    for settings in ({}, POLICIES[1 + number % 4]):
        values = values_of(metric, **settings)
        np.testing.assert_array_equal(values, values_of(name, **settings))
    np.testing.assert_array_equal(
        evaluate(GRADED, RANKED, metric).values, evaluate(GRADED, RANKED, [metric]).values
    )
    if hasattr(metric, "save"):
        metric.save(tmp_path / "metric.json")
        np.testing.assert_array_equal(values_of(tmp_path / "metric.json"), values_of(name))


@table("name", {type(metric): name for name, metric in NAMED.items()}.values())
def test_systems_are_compared_by_an_object_as_by_its_name(name):
    metric = NAMED[name]
    other = {
        query: {document: -score for document, score in part.items()}
        for query, part in RANKED.items()
    }
    by_object, by_name = (
        compare_systems(GRADED, {"x": RANKED, "y": other}, {"m": way}) for way in (metric, name)
    )
    assert by_object.table.equals(by_name.table)
    assert by_object.gate().to_dict() == by_name.gate().to_dict()


def test_objects_and_names_go_together():
    dcg, other = DCG.standard(4, 3), DCG.standard(4, 3, "linear", "sqrt")
    metrics = [dcg, "nDCG@10", other, ENOUGH, NAMED["ERR@3"]]
    found = evaluate(GRADED, RANKED, iter(metrics))
    assert found.metrics == ("DCG", "nDCG@10", "DCG 2", "utility", "utility 2")
    for value, metric in zip(found.values[0], metrics, strict=True):
        np.testing.assert_array_equal(value, values_of(metric))
    machine = GRADED | {"s": {"a": 1}, "t": {"a": 2}}
    pair = compare_systems(GRADED, {"x": RANKED, "y": RANKED}, iter([dcg, "ERR@3"]), llm=machine)
    assert pair.table["measure"].to_list() == ["DCG", "ERR@3"]
    arrays = evaluate_arrays([[3, 1, 0]], [[0.2, 0.9, 0.2]], metrics=[dcg, "nDCG@3"])
    assert list(arrays) == ["DCG", "nDCG@3"]
    found = evaluate(GRADED, RANKED, {"m": dcg, "n": dcg})
    assert found.metrics == ("m", "n")
    assert evaluate(GRADED, RANKED, ["nDCG@3", "nDCG@3"]).metrics == ("nDCG@3",)
    refused("is a dict", evaluate, GRADED, RANKED, [dcg, {"DCG": other}])


@hypothesis.settings(max_examples=20)
@given(st.sampled_from([*NAMED, "nDCG@2", "exponential-sqrt"]), st.integers(0, 2**32 - 1))
def test_a_metric_has_one_value_by_all_ways_of_giving_it(name, seed):
    # distinct scores, of three queries
    rng = np.random.default_rng(seed)
    grades, scores = rng.integers(0, 4, (3, 5)), rng.permuted(np.arange(15.0)).reshape(3, 5)
    grades[0, 0] = 3
    judged, run = (
        {f"q{q}": {f"d{d}": row[d] for d in range(5)} for q, row in enumerate(table.tolist())}
        for table in (grades, scores)
    )

    # alone, in a mapping, in a list, beside others
    metric = dl.metric(name, n_grades=4, depth=5)
    for normalise in (True, False):
        expected = evaluate(
            judgements=judged, runs={"r": run}, metrics=metric, normalise=normalise
        ).values[0, 0]
        for way in (name, [name], {"mine": name}, {"mine": metric}, [metric, "nDCG@3"]):
            values = evaluate(
                judgements=judged, runs={"r": run}, metrics=way, normalise=normalise
            ).values[0, 0]
            np.testing.assert_array_equal(values, expected)
            arrays = evaluate_arrays(grades, scores, metrics=way, normalise=normalise)
            first = next(iter(arrays.values())) if isinstance(arrays, dict) else arrays
            np.testing.assert_allclose(first, expected, rtol=1e-12)
        alone = evaluate_arrays(grades, scores, metrics=metric, normalise=normalise)
        np.testing.assert_allclose(alone, expected, rtol=1e-12)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from(["nDCG@10", *NAMED]))
def test_flat_arrays_have_the_values_of_runs(n_queries, seed, name):
    # grades and scores of queries of any size, in any order
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(n_queries), rng.integers(1, 9, n_queries)))
    grades, scores = rng.integers(0, 4, len(qid)), rng.permutation(len(qid)) / 7
    grades[0] = 3
    judged, run = {}, {}
    for document, query in enumerate(qid.tolist()):
        judged.setdefault(f"q{query}", {})[f"d{document}"] = int(grades[document])
        run.setdefault(f"q{query}", {})[f"d{document}"] = scores[document]

    # one table, and many
    found = evaluate(judged, run, [name, "nDCG"])
    appear = list(judged)
    expected = dict(zip(found.queries, found.values[0].T, strict=True))
    for cells in (1 << 22, 5):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dcglearn.evaluation.kernel.TABLE_CELLS", cells)
            several = evaluate_arrays(grades, scores, qid, [name, "nDCG"])
            single = evaluate_arrays(grades, scores, qid.astype(str).astype(object), name)
        np.testing.assert_allclose(
            np.stack([*several.values()], axis=1), [expected[query] for query in appear], rtol=1e-12
        )
        np.testing.assert_array_equal(single, several[name])


def test_flat_arrays_in_one_line():
    grades, scores, qid = [3, 1, 0, 0, 2], [0.2, 0.9, 0.2, 0.5, 0.5], [7, 7, 7, 3, 3]
    rows = [[3, 1, 0], [0, 2, -2]], [[0.2, 0.9, 0.2], [0.5, 0.5, 9]]
    for ties in ("average", "stable"):
        np.testing.assert_allclose(
            evaluate_arrays(grades, scores, qid, ties=ties), evaluate_arrays(*rows, ties=ties)
        )
    assert evaluate_arrays(grades, scores, qid)[1] == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert evaluate_arrays(grades, scores, qid, ties="stable")[1] == pytest.approx(1 / np.log2(3))


@table(
    ("change", "words"),
    [
        ({"qid": None}, "nothing says which are of one query: give qid"),
        ({"qid": "nDCG@10"}, "expected one label per document"),
        ({"qid": [2, 1]}, r"of group sizes give np.repeat"),
        ({"qid": [1, 1, np.nan]}, r"qid\[2\] is a missing value"),
        ({"qid": pl.Series(["x", None, "y"])}, r"qid\[1\] is a missing value"),
        ({"qid": np.array(["x", "y", np.nan], dtype=object)}, r"qid\[2\] is a missing value"),
        ({"grades": [[1, 0, 2]], "scores": [[1, 2, 3]]}, "give.* by name: metrics="),
        ({"scores": [1.0, 2.0]}, "one shape"),
        ({"scores": [1.0, 2.0, np.inf]}, r"scores\[2\]: inf"),
        ({"grades": [1, 0, 3], "metrics": DCG([0, 1, 2], [1])}, r"grades\[2\]: grade 3"),
        (
            {"metrics": "ERR@3", "scores": [1, 1, 3], "qid": ["x", "x", "y"]},
            "ERR@3: not a DCG.*some are tied",
        ),
    ],
)
def test_bad_flat_arrays(change, words):
    given = {"grades": [1, 0, 2], "scores": [3.0, 2.0, 1.0], "qid": [1, 1, 2]} | change
    refused(words, evaluate_arrays, **given)


def test_all_metrics_of_lists_are_evaluated_together():
    metrics = list_metrics(4, 3)
    found = evaluate(judgements=GRADED, runs=RANKED, metrics=metrics)
    assert list(found.metrics) == [*metrics]
    np.testing.assert_array_equal(
        found.values, evaluate(judgements=GRADED, runs=RANKED, metrics=[*metrics]).values
    )
    grades, scores = [[3, 0, 2], [1, 2, 0]], [[0.1, 0.9, 0.2], [3.0, 2.0, 1.0]]
    arrays = evaluate_arrays(grades, scores, metrics={"nDCG@3": "nDCG@3", **metrics})
    assert list(arrays) == ["nDCG@3", *metrics]
    two = {"x": RANKED, "y": RANKED}
    order = dl.system_order(judgements=GRADED, runs=two, metrics=metrics)
    assert list(order.evaluation.metrics) == [*metrics]
    mine = {"mine": metrics["ERR@3"], "nDCG": "nDCG@3"}
    pair = compare_systems(judgements=GRADED, runs=two, metrics=mine)
    assert pair.table["measure"].to_list() == ["mine", "nDCG"]


def test_arrays_refuse_ties_that_a_metric_cannot_share():
    grades, scores = [[3, 1, 0, -2], [2, 2, 0, 1]], [[2.0, 1.0, 0.0, 0.0], [1.0, 1.0, 3.0, 0.0]]
    expected = dl.metric("ERR@3", n_grades=4).score([[3, 1, 0], [0, 2, 2]])
    np.testing.assert_array_equal(evaluate_arrays(grades, scores, metrics="ERR@3"), expected)
    grades[1][1] = 1
    refused(
        'ERR@3: not a DCG, .*: give ties="stable"', evaluate_arrays, grades, scores, metrics="ERR@3"
    )
    stable = dl.metric("ERR@3", n_grades=4).score([[3, 1, 0], [0, 2, 1]])
    np.testing.assert_array_equal(
        evaluate_arrays(grades, scores, metrics="ERR@3", ties="stable"), stable
    )


def test_an_object_of_rbp_has_its_value_in_arrays_and_is_explained():
    rbp = NAMED["RBP(p=0.8)@3"]
    grades, scores = [[3, 1, 0]], [[3.0, 2.0, 1.0]]
    np.testing.assert_array_equal(evaluate_arrays(grades, scores, metrics=rbp), rbp.score(grades))
    values = dict(zip(GRADED, values_of(rbp), strict=True))
    assert "agrees with 2 of 2 values" in str(
        dl.evaluation.explain_values(values, GRADED, RANKED, rbp)
    )
    divided = dict(zip(GRADED, values_of(DCG(rbp.gains, rbp.discounts)), strict=True))
    assert "the ideal of all judged documents in place of no division" in str(
        dl.evaluation.explain_values(divided, GRADED, RANKED, rbp)
    )


def test_any_mapping_is_a_mapping():
    judged = MappingProxyType({query: MappingProxyType(part) for query, part in GRADED.items()})
    runs = MappingProxyType(
        {
            "mine": MappingProxyType(
                {query: MappingProxyType(part) for query, part in RANKED.items()}
            )
        }
    )
    found = evaluate(judged, runs, MappingProxyType({"m": ENOUGH}))
    assert found.runs == ("mine",) and found.metrics == ("m",)
    np.testing.assert_array_equal(found.values[0, 0], values_of(ENOUGH))


@table(
    ("settings", "message"),
    [({"unjudged": 0.5}, "worst or best"), ({"bounds": True}, "only a DCG has bounds")],
)
def test_what_is_only_defined_for_sums_is_refused(settings, message):
    refused(message, values_of, ENOUGH, **settings)


def test_gains_are_shared_by_sums_alone():
    np.testing.assert_array_equal(values_of(ENOUGH, ties="average"), values_of(ENOUGH))
    tied = {"mine": {"q": {"a": 1.0, "b": 1.0}}}
    refused("some are tied", evaluate, GRADED, tied, {"m": ENOUGH}, ties="average")


def test_systems_are_ordered_by_a_list_utility():
    other = {
        query: {name: -score for name, score in documents.items()}
        for query, documents in RANKED.items()
    }
    order = dl.system_order(GRADED, {"mine": RANKED, "other": other}, {"m": ENOUGH, "ERR": "ERR@3"})
    assert order.evaluation.means.shape == (2, 2)


def test_commands_read_the_file_of_a_list_utility(dcglearn, misuse, here):
    write_trec(here, GRADED, {"mine": RANKED})
    files, path = ("qrels.txt", "mine.txt"), "utility.json"
    ENOUGH.save(path)
    status, out, _ = dcglearn("evaluate", *files, "--metric", path, "--metric", "ERR@3")
    assert status == 0 and f"{values_of(ENOUGH).mean():.4f}" in out and "ERR@3" in out
    status, _, err = dcglearn("coherence", path, "exponential-log2", "-o", "often.json")
    assert status == 0 and "only true of a DCG" in err
    assert json.loads((here / "often.json").read_text())["exact"] is True
    misuse("can hold only a DCG", "export", path, "--to", "sql")


def test_an_unknown_option_is_answered_with_those_of_the_function():
    words = "compare_systems has no option 'levl', .*; the nearest is level"
    refused(words, compare_systems, GRADED, RANKED, levl=0.9)


def test_runs_of_one_mean_share_the_highest():
    judged = {"q": {"d1": 1, "d2": 0, "d3": 0}}
    runs = {
        "x": {"q": {"d1": 2.0, "d2": 1.0}},
        "y": {"q": {"d1": 2.0, "d3": 1.0}},
        "z": {"q": {"d2": 2.0, "d1": 1.0}},
    }
    both = dl.evaluate(judged, runs, ["nDCG@2", "linear-log2@2"])
    assert both.sentence == "over 1 query, x, y share the highest mean nDCG@2: 1.0000"
    del runs["y"]
    assert dl.evaluate(judged, runs, "nDCG@2").sentence.startswith("over 1 query, x has the high")


def test_a_metric_under_which_the_best_run_is_equalled_prefers_no_other():
    judged = {"q": {"d1": 2, "d2": 1, "d3": 0}}
    runs = {"x": {"q": {"d2": 2.0, "d3": 1.0}}, "y": {"q": {"d1": 2.0, "d3": 1.0}}}
    sentence = dl.evaluate(judged, runs, ["linear-log2@2", "binary1-log2@2"]).sentence
    assert sentence == "over 1 query, y has the highest mean linear-log2@2: 0.7602"
