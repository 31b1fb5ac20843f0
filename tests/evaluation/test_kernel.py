"""The kernel against plain loops, and its values against those of other libraries."""

import itertools
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

import dcglearn as dl
from dcglearn import DCG, evaluate, evaluate_arrays
from dcglearn.evaluation import ListUtility
from dcglearn.evaluation.kernel import OfNumbers, ideals, ranked
from dcglearn.metrics.other_names import usual_name
from tests.makers import noisy_runs, refused
from tests.tables import table

LOG2 = 1 / np.log2(np.arange(2, 12))


@st.composite
def queries(draw):
    """Draw a few short queries with tied scores, unknown grades, and a DCG of any signs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(0, 6, draw(st.integers(1, 4)))
    n, n_grades = sizes.sum(), draw(st.integers(1, 4))
    kinds = np.arange(float(n_grades)), rng.integers(0, 3, n_grades), rng.normal(size=n_grades)
    gains, discounts = kinds[rng.integers(3)], rng.normal(size=draw(st.integers(1, 7)))
    if rng.integers(2):
        discounts = -np.sort(-abs(discounts))
    grades = rng.integers(-1, n_grades, n)
    scores = rng.integers(0, draw(st.integers(1, 5)), n) / 4
    return np.append(0, np.cumsum(sizes)), scores, grades, DCG(gains.astype(float), discounts)


def rows_of(offsets):
    return [range(*ends) for ends in itertools.pairwise(offsets)]


def value_of(gains, discounts):
    return sum(gain * discount for gain, discount in zip(gains, discounts, strict=False))


@given(queries(), st.integers(1, 7))
def test_positions_are_those_of_a_plain_sort(case, depth):
    offsets, scores, grades, _ = case
    names = np.random.default_rng(0).permutation(len(scores))
    for ties, key in (("stable", lambda row: row), ("docno-desc", lambda row: -names[row])):
        lists = ranked(offsets, scores, grades.take, depth, ties, names.take)
        for q, rows in enumerate(rows_of(offsets)):
            order = sorted(rows, key=lambda row: (-scores[row], key(row)))
            own = slice(*lists.offsets[q : q + 2])
            assert lists.rows[own].tolist()[:depth] == order[:depth]
            assert lists.rank[own].tolist() == [*range(len(lists.rows[own]))]
            np.testing.assert_array_equal(lists.grades[own], grades[lists.rows[own]])
        top = lists.rank < depth
        if top.any():
            unjudged, _ = lists.shares(depth)
            assert unjudged == pytest.approx(np.mean(lists.grades[top] < 0))


@given(queries(), st.sampled_from(["worst", "best", "drop", 0.3]))
def test_the_value_of_ties_is_the_mean_over_all_orders_of_the_tied(case, unjudged):
    offsets, scores, grades, dcg = case
    own = {"worst": dcg.gains[0], "best": dcg.gains[-1]}.get(unjudged, unjudged)
    gains = [own if grade < 0 else dcg.gains[grade] for grade in grades]
    ties = "stable" if unjudged == "drop" else "average"
    found = ranked(offsets, scores, grades.take, dcg.depth, ties)
    if unjudged == "drop":  # whole lists
        found = ranked(offsets, scores, grades.take, None, ties)
    values = found.values(dcg, unjudged)
    for q, rows in enumerate(rows_of(offsets)):
        orders = [sorted(rows, key=lambda row: -scores[row])]
        if ties == "average":
            orders = [
                order
                for order in itertools.permutations(rows)
                if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
            ]
        shown = [[gains[row] for row in order if gains[row] != "drop"] for order in orders]
        expected = np.mean([value_of(one, dcg.discounts) for one in shown])
        assert values[q] == pytest.approx(expected, abs=1e-12)


@given(queries(), st.sampled_from(["", "worst", 0.3]))
def test_the_ideal_is_the_best_of_all_rankings(case, filled):
    offsets, _, grades, dcg = case
    grades = np.maximum(grades, 0)
    filler = max({"": 0.0, "worst": dcg.gains[0]}.get(filled, 0.3), 0.0)
    found = ideals({0: dcg}, offsets, grades, filled or "worst", filled=bool(filled))[0]
    for q, rows in enumerate(rows_of(offsets)):
        gains = [*dcg.gains[grades[rows]]]
        gains += [filler] * max(dcg.depth - len(gains), 0) * bool(gains)
        best = sorted(gains, reverse=True)

        # positions may stay empty: the best and the worst of them stand at discounts of their sign
        up, down = (np.sort(np.maximum(sign * dcg.discounts, 0))[::-1] for sign in (1, -1))
        expected = value_of(np.maximum(best, 0), up) + value_of(
            np.maximum(-np.sort(gains), 0), down
        )
        assert found[q] == pytest.approx(expected, abs=1e-12)
        if not filled and len(rows) <= dcg.depth <= 5:
            places = itertools.permutations([*gains, *[0.0] * dcg.depth], dcg.depth)
            assert found[q] == pytest.approx(max(value_of(p, dcg.discounts) for p in places))


@given(st.integers(0, 2**32 - 1), st.sampled_from(["average", "docno-desc"]))
def test_the_order_of_the_documents_does_not_matter(seed, ties):
    rng = np.random.default_rng(seed)
    judged = {q: {f"d{i}": float(rng.random()) for i in range(6)} for q in "ab"}
    run = {q: {f"d{i}": float(rng.integers(3)) for i in rng.permutation(8)} for q in "ab"}
    mixed = {q: dict(sorted(run[q].items(), key=lambda _: rng.random())) for q in "ba"}
    one, other = (evaluate(judged, {"r": x}, ["nDCG@3", "nDCG"], ties=ties) for x in (run, mixed))
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    if ties == "average":
        grades, scores = rng.random((2, 7)), rng.integers(0, 3, (2, 7))
        order = rng.permutation(7)
        np.testing.assert_allclose(
            evaluate_arrays(grades, scores), evaluate_arrays(grades[:, order], scores[:, order])
        )


def test_values_have_a_run_a_metric_and_a_query():
    judged, runs = noisy_runs({"a": 2.0, "b": 1.0, "c": 0.5}, 7, 9)
    found = evaluate(judged, runs, ["nDCG@5", "ERR@5"], bounds=False)
    assert found.values.shape == found.measured.shape == (3, 2, 7)
    assert found.unjudged.shape == found.tied.shape == (3, 2)
    assert evaluate(judged, runs, ["nDCG@5", "RBP"], bounds=True).bounds.shape == (3, 2, 7, 2)


# Grades that are any numbers.


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 10]))
def test_fractions_have_the_values_of_scikit_learn(seed, depth):
    rng = np.random.default_rng(seed)
    grades, scores = rng.choice([0, 1 / 3, 0.5, 2.5, 300], (4, 9)), rng.integers(0, 4, (4, 9))
    found = evaluate_arrays(grades, scores, metrics=f"nDCG@{depth}")
    assert found.mean() == pytest.approx(ndcg_score(grades, scores, k=depth), abs=1e-12)
    judged, run = (
        {f"q{q}": {f"d{d}": float(x) for d, x in enumerate(row)} for q, row in enumerate(table)}
        for table in (grades, scores)
    )
    by_name = evaluate(judged, run, f"nDCG@{depth}", ties="average")
    np.testing.assert_allclose(by_name.values[0, 0], found, rtol=1e-12)
    assert f"numbers from {grades.min():g} to {grades.max():g}" in str(by_name)


def test_the_gain_is_the_number_or_its_place_among_words():
    run = {"r": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}}
    numbers = {"q": {"a": 0.5, "b": 0.0, "c": 1.0}}
    halves = dl.read_judgements(numbers, scale="0,.5,1")
    assert evaluate(halves, run).means == evaluate(numbers, run).means
    assert halves.n_grades == 3 and evaluate(halves, run, "exponential-log2@3").means[0, 0] == (
        pytest.approx((1 + 3 / 2) / (3 + 1 / np.log2(3)))
    )

    words = {"q": {"a": "Fair", "b": "Bad", "c": "Good"}}
    named = evaluate(dl.read_judgements(words, scale="Bad,Fair,Good"), run, ["nDCG@3", "ERR@3"])
    assert named.means[0, 0] == evaluate({"q": {"a": 1, "b": 0, "c": 2}}, run, "nDCG@3").means
    assert "nDCG@3 takes 0, 1, 2 for Bad, Fair, Good" in named.notes
    assert not evaluate(halves, run).notes


@table(
    ("metric", "words"),
    [
        ("exponential-log2@3", "exponential-log2@3: needs levels.*scale="),
        ("ERR@3", "ERR@3: needs levels.*scale="),
        (DCG([0, 1, 2], [1, 1]), "DCG: needs levels.*scale="),
        ("P@2", "P@2: ir_measures takes whole grades: scale="),
    ],
)
def test_metrics_that_need_levels_say_so_with_the_way(metric, words):
    judged, run = {"q": {"a": 0.5, "b": 2.5}}, {"r": {"q": {"a": 1.0}}}
    refused(words, evaluate, judged, run, metric)
    if metric != "P@2":
        refused("needs levels.*np.digitize", evaluate_arrays, [[0.5]], [[1]], metrics=metric)
    refused("bounds are over all grades of a scale", evaluate, judged, run, bounds=True)


def test_labels_above_127_are_gains():
    assert evaluate_arrays([[1330, 285]], [[1, 2]])[0] == pytest.approx(
        (285 + 1330 / np.log2(3)) / (1330 + 285 / np.log2(3))
    )
    refused("needs levels", evaluate_arrays, [[1330]], [[1]], metrics="exponential-log2@3")
    refused("np.digitize.*evaluate_arrays", dl.Queries, [[1.0], [2.0]], [0.3, 1.7], [1, 1])


def test_marks_below_0_in_arrays():
    one_three = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    known = (1 / np.log2(3) + 3 / 2) / (3 + 1 / np.log2(3))
    assert evaluate_arrays([[1, 3, -2]], [[3, 2, 9]])[0] == pytest.approx(one_three)
    assert evaluate_arrays([[-1, 1, 3]], [[3, 2, 1]])[0] == pytest.approx(known)
    junk = [[-2, 1, 3]], [[3, 2, 1]]
    assert evaluate_arrays(*junk, negative="zero")[0] == pytest.approx(known)
    assert evaluate({"q": {"a": -2, "b": 1, "c": 3}}, {"q": {"a": 3, "b": 2, "c": 1}}).means == (
        pytest.approx(known)
    )
    for grades, scores, qid in ((*junk, None), ([-2, 1, 3], [3, 2, 1], [1, 1, 1])):
        with pytest.warns(UserWarning, match='left out as no document; negative="zero"'):
            assert evaluate_arrays(grades, scores, qid)[0] == pytest.approx(one_three)
    refused('-3 is below 0, .*negative="zero"', evaluate_arrays, [[-3, 1]], [[1, 2]])
    refused("nan is not a grade; -1", evaluate_arrays, [[np.nan, 1]], [[1, 2]])
    refused("give one of error, zero", evaluate_arrays, [[1]], [[1]], negative="worst")


def test_click_rates_and_a_long_query_take_little_memory():
    rng = np.random.default_rng(0)
    n = 200_000
    judged = pl.DataFrame({"query": "long", "document": pl.arange(n, eager=True).cast(str)})
    judged = judged.with_columns(grade=pl.Series(rng.random(n)))
    short = pl.DataFrame({"query": [f"q{i}" for i in range(3000)], "document": "d", "grade": 0.5})
    judged = dl.evaluation.Judgements(pl.concat([judged, short]))
    run = judged.frame.rename({"grade": "score"})
    tracemalloc.start()
    found = evaluate(judged, dl.evaluation.Run(run, "r"), ["nDCG", "nDCG@10"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(found.values, 1.0)
    assert peak < 100 * n * 8


# Other libraries.


@pytest.mark.parametrize("least", [0, -1])
def test_all_measures_of_trec_eval_on_tied_and_partly_judged_runs(least):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    pytest.importorskip("ir_measures")
    rng = np.random.default_rng(3)
    judged = {f"q{q}": {f"d{i}": int(rng.integers(least, 4)) for i in range(30)} for q in range(9)}
    run = {q: {f"d{i}": float(rng.integers(9)) for i in rng.permutation(60)} for q in judged}
    run = {q: documents for q, documents in run.items() if q != "q5"} | {"other": {"d": 1.0}}
    theirs = pytrec_eval.RelevanceEvaluator(judged, pytrec_eval.supported_measures).evaluate(run)

    # of grades below 0, bpref and infAP say that such documents are not judged
    names = [name for name in theirs["q0"] if name == "ndcg" or usual_name(name) != name]
    names = [name for name in names if least == 0 or name not in ("bpref", "infAP")]
    assert len(names) > 50 and {"ndcg_cut_10", "P_5", "map"} < {*names}
    found = evaluate(judged, {"r": run}, names)
    for q, query in enumerate(found.queries):
        expected = [theirs.get(query, {}).get(name, np.nan) for name in names]
        np.testing.assert_allclose(found.values[0, :, q], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_stable_ties_and_1_for_empty_queries_give_the_trees_own_value(library):
    trees = pytest.importorskip(library)
    rng = np.random.default_rng(2)
    size, n = 30, 8
    features, grades = rng.normal(size=(size * n, 3)), rng.integers(0, 4, size * n)
    grades[:size] = 0  # a query without a relevant document
    dcg = dl.metric("exponential-log2@10", n_grades=4)
    sizes, history = [size] * n, {}
    if library == "lightgbm":
        _, metric = dl.exports.lightgbm_callables(dcg, ties="stable", empty=1)
        data = trees.Dataset(features, grades, group=sizes, free_raw_data=False)
        settings = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_leaves": 5}
        model = trees.train(
            settings | {"verbose": -1}, data, 3, valid_sets=[data], feval=metric,
            callbacks=[trees.record_evaluation(history)],
        )  # fmt: skip
        own, ours = history["training"]["ndcg@10"], history["training"]["NDCG"]
        scores = model.predict(features)
    else:
        _, metric = dl.exports.xgboost_callables(dcg, ties="stable", empty=1)
        data = trees.DMatrix(features, grades, group=sizes)
        settings = {"objective": "rank:ndcg", "eval_metric": "ndcg@10", "max_depth": 2}
        model = trees.train(
            settings, data, 3, evals=[(data, "train")], custom_metric=metric,
            evals_result=history, verbose_eval=False,
        )  # fmt: skip
        own, ours = history["train"]["ndcg@10"], history["train"]["NDCG"]
        scores = model.predict(data)
    np.testing.assert_allclose(ours, own, rtol=1e-5)
    queries = dl.Queries.from_groups(features, grades, sizes)
    assert queries.evaluate(scores, dcg, empty=1).mean() == pytest.approx(ours[-1], rel=1e-5)
    arrays = evaluate_arrays(grades, scores, queries.qid, dcg, ties="stable", empty=1)
    np.testing.assert_array_equal(arrays, queries.evaluate(scores, dcg, empty=1))


def test_a_metric_of_numbers_is_a_dcg_with_the_numbers_as_gains():
    metric = OfNumbers([0.0, 2.5], LOG2)
    lists = ranked(np.array([0, 3]), np.array([3.0, 2, 1]), np.array([0.5, -1, 2.5]).take)
    for unjudged, own in (("worst", 0.0), ("best", 2.5), (0.25, 0.25)):
        assert lists.values(metric, unjudged)[0] == pytest.approx(value_of([0.5, own, 2.5], LOG2))
    assert lists.values(metric, "drop")[0] == pytest.approx(value_of([0.5, 2.5], LOG2))


def test_lists_of_any_length_have_the_values_of_a_utility():
    rng, utility = np.random.default_rng(1), ListUtility([0, 1, 2], [1, 0.8, 0.1], best=0.5)
    sizes = rng.integers(1, 9, 30)
    grades, scores = rng.integers(0, 3, sizes.sum()), rng.normal(size=sizes.sum())
    queries = dl.Queries.from_groups(np.zeros((len(grades), 1)), grades, sizes)
    found = queries.evaluate(scores, utility)
    for q, rows in enumerate(rows_of(queries.offsets)):
        own = grades[rows][np.argsort(-scores[rows])]
        assert found[q] == pytest.approx(float(utility.score(own)))
