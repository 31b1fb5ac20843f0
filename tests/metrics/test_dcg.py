"""DCG and Utility: values by hand and by brute force, files strict both ways."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dcglearn as dl
from dcglearn import DCG, Preferences, Utility, textbook_dcgs
from dcglearn.io import encode
from dcglearn.metrics.dcg import normalised_values
from dcglearn.trust import identifiable_similarity, similarity
from tests.makers import TRUTH, refused
from tests.tables import table

floats = st.floats(-100, 100, allow_nan=False)
vectors = st.lists(floats, min_size=1, max_size=5)


def test_classic_value_by_hand():
    dcg = DCG.standard(n_grades=4, depth=3)
    assert dcg.score([3, 0, 2]) == pytest.approx(7 + 0 + 3 / 2)
    assert dcg.ideal([3, 0, 2]) == pytest.approx(7 + 3 / np.log2(3))
    assert dcg.ndcg([3, 0, 2]) == pytest.approx(8.5 / (7 + 3 / np.log2(3)))


@given(vectors, vectors, st.integers(0, 2**32), st.integers(1, 7))
def test_score_is_the_inner_product_with_the_encoding(gains, discounts, seed, length):
    dcg = DCG(gains, discounts)
    lists = np.random.default_rng(seed).integers(-2, len(gains), (4, length))
    padded = np.full((4, dcg.depth), -2)
    padded[:, : min(length, dcg.depth)] = lists[:, : dcg.depth]
    expected = (encode(padded, dcg.n_grades) * dcg.utility.weights).sum(axis=(1, 2))
    np.testing.assert_allclose(dcg.utility.score(lists), expected, atol=1e-9)
    expected += (padded == -1) @ dcg.discounts * min(dcg.gains[0], 0)
    np.testing.assert_allclose(dcg.score(lists), expected, atol=1e-9)


@given(vectors, st.lists(floats, min_size=1, max_size=4), st.integers(0, 2**32), st.integers(1, 6))
def test_ideal_is_the_best_of_all_rankings(gains, discounts, seed, n_documents):
    dcg = DCG(gains, discounts)
    documents = np.random.default_rng(seed).integers(0, len(gains), n_documents)
    padded = list(documents) + [-2] * dcg.depth  # any position may stay empty
    best = max(dcg.score(list(order)) for order in itertools.permutations(padded, dcg.depth))
    assert dcg.ideal(documents) == pytest.approx(best, abs=1e-9)


@pytest.mark.filterwarnings(
    "ignore::dcglearn.metrics.saved_metric.ScaleWarning"
)  # the top grade does not occur
def test_ndcg_where_nothing_is_relevant_is_what_was_asked():
    dcg = DCG.standard(3, 2)
    np.testing.assert_array_equal(dcg.ndcg([[0, 0], [1, 0]]), [0, 1])
    np.testing.assert_array_equal(dcg.ndcg([[0, 0], [1, 0]], empty=1.0), [1, 1])
    assert dcg.ndcg([1, 0], documents=[2, 1, 0]) == pytest.approx(1 / (3 + 1 / np.log2(3)))


def test_the_42_textbook_dcgs():
    found = textbook_dcgs(5, 10)
    assert len(found) == 42
    np.testing.assert_array_equal(found["exponential-log2"].gains, [0, 1, 3, 7, 15])
    np.testing.assert_array_equal(found["power3-flat"].gains, [0, 2, 8, 26, 80])
    np.testing.assert_array_equal(found["power5-flat"].gains, [0, 4, 24, 124, 624])
    np.testing.assert_array_equal(found["binary2-flat"].gains, [0, 0, 1, 1, 1])
    np.testing.assert_allclose(found["linear-rbp0.8"].discounts, 0.8 ** np.arange(1, 11))
    np.testing.assert_allclose(found["linear-linear"].discounts, np.arange(10, 0, -1) / 10)
    np.testing.assert_allclose(found["linear-sqrt"].discounts, np.arange(1, 11) ** -0.5)
    np.testing.assert_allclose(found["linear-reciprocal"].discounts, 1 / np.arange(1, 11))
    assert "binary2-log2" not in textbook_dcgs(2, 10)
    np.testing.assert_allclose(
        DCG.standard(3, 4, discount="letor").discounts, [1, 1, 1 / np.log2(3), 0.5]
    )


def test_metric_takes_a_file_or_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TRUTH.save("linear-log2")  # a file wins over a textbook metric of the same name
    (tmp_path / "linear-flat").mkdir()
    for word in (
        "linear-log2",
        "./linear-log2",
        str(tmp_path / "linear-log2"),
        Path("linear-log2"),
    ):
        assert dl.metric(word, 3, 4) == TRUTH
    assert dl.metric("linear-sqrt", 3, 4) == DCG.standard(3, 4, "linear", "sqrt")
    assert dl.metric("linear-sqrt@7", 3, 4) == DCG.standard(3, 7, "linear", "sqrt")
    assert dl.metric("nDCG@4", 3) == dl.metric("dcg", 3, 4) == DCG.standard(3, 4, "linear", "log2")
    assert dl.metric("linear-flat", 3, 4) == DCG.standard(
        3, 4, "linear", "flat"
    )  # a folder is not a file
    assert dl.metric("exponential-log2@7", 5) == DCG.standard(5, 7)
    assert dl.metric("linear-rbp0.65@2", 3).discounts[1] == pytest.approx(0.65**2)
    for name in ("exponential", "a-b", "linear-rbp1.2", "linear-rbp0", "power1-log2", "x.json"):
        refused(name.partition("-")[2] or name, dl.metric, name, 5)


NO_METRIC = (
    "",
    "-",
    "exponential",
    "AP@10",
    "linear-log2@",
    "linear-log2@-1",
    "linear-log2\n",
    "linear-log2\0",
    ".",
)


@table(
    ("word", "message"),
    [
        *(
            (word, "neither a file nor GAIN-DISCOUNT")
            for word in (*NO_METRIC, "linear-\ud800", "a" * 5000)
        ),
        (
            "linear-sqrt",
            "'linear-sqrt' has no depth, and nothing here says one: write linear-sqrt@10",
        ),
        ("nDCG", "write nDCG@10"),
        ("my-metric", "there is no such file, and gain 'my' is not one of linear"),
        ("linear-metric", "there is no such file, and discount 'metric' is not one of flat"),
        ("linear-rbp0.99999999999999999999", "there is no such file, and discount"),
        ("power9999-log2@10", "'power9999-log2': gains.*inf is not a finite number"),
        ("linear-log2@0", "depth=0: give 1 to 9999999"),
        ("linear-log2@99999999", "depth=99999999: give 1 to 9999999"),
        ("linear-log2@" + "9" * 5000, "neither a file nor GAIN"),
        ("linear-log2.json", r"linear-log2\.json does not exist; check the name"),
        ("no/linear-log2", "no/linear-log2 does not exist; check the name"),
        ("linear-log2/", "linear-log2/ does not exist; check the name"),
        (Path("linear-log2"), "linear-log2 does not exist; check the name"),
        ("/", "/ is a folder or a device; name a file"),
        ("../linear\0.json", "cannot be the name of a file"),
        ("\ud800.json", "cannot be the name of a file"),
        ("a" * 5000 + ".json", "cannot be read"),
    ],
)
def test_metric_refuses_other_words(word, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(message, dl.metric, word, 127)


def test_normalised_values_are_empty_where_the_ideal_is_not_positive():
    value, ideal = np.array([1.0, 2.0, 0.0, -1.0]), np.array([3.0, 0.0, 2.0, -2.0])
    np.testing.assert_array_equal(
        normalised_values(value, ideal, np.nan), [1 / 3, np.nan, 0, np.nan]
    )
    assert normalised_values(np.float64(1), np.float64(0), 0.25) == 0.25


@given(vectors, vectors)
def test_file_gives_back_the_same_floats(gains, discounts):
    dcg = DCG(gains, discounts, [f"grade {i}" for i in range(len(gains))], ["a note"])
    assert DCG.from_dict(json.loads(json.dumps(dcg.to_dict()))) == dcg


def test_save_and_load(tmp_path):
    for metric in (TRUTH, TRUTH.utility):
        path = tmp_path / "metric.json"
        metric.save(path)
        assert type(metric).load(path) == metric
    assert [item.name for item in tmp_path.iterdir()] == ["metric.json"]
    refused(r"nothing\.json does not exist; check the name", DCG.load, tmp_path / "nothing.json")


GOOD = TRUTH.to_dict()
DAMAGED = {
    "truncated": json.dumps(GOOD)[:40],
    "empty": "",
    "binary": "\xff\xfe\x00\x01",
    "array": "[1]",
    "nan": json.dumps(GOOD).replace("1.0", "NaN", 1),
    "infinite": json.dumps(GOOD).replace("1.0", "1e999", 1),
    "key twice": '{"format": 1, "format": 2}',
    "another kind": json.dumps(TRUTH.utility.to_dict()),
    "list for a kind": json.dumps({**GOOD, "format": [GOOD["format"]]}),
    "later version": json.dumps({**GOOD, "version": 4}),
    "no version": json.dumps({key: value for key, value in GOOD.items() if key != "version"}),
    "no gains": json.dumps({key: value for key, value in GOOD.items() if key != "gains"}),
    "unknown key": json.dumps({**GOOD, "gain": []}),
    "text for a number": json.dumps({**GOOD, "gains": ["1", 2]}),
    "boolean for a number": json.dumps({**GOOD, "gains": [True, 2]}),
    "no gains at all": json.dumps({**GOOD, "gains": []}),
    "nested gains": json.dumps({**GOOD, "gains": [[1, 2]]}),
    "names for other grades": json.dumps({**GOOD, "grade_names": ["one"]}),
    "names that are text": json.dumps({**GOOD, "grade_names": "abcde"}),
    "a number for notes": json.dumps({**GOOD, "notes": 5}),
}


@table("name", DAMAGED)
def test_damaged_files_are_refused_by_name(name, tmp_path):
    path = tmp_path / "damaged.json"
    path.write_text(DAMAGED[name], encoding="latin-1")
    reason = {"later version": "upgrade dcglearn", "binary": "not valid JSON .*utf-8"}.get(name, "")
    refused(rf"damaged\.json.*{reason}", DCG.load, path)


@table(
    ("lists", "words"),
    [
        ([[0, 5]], r"grade 5 lies outside -2..4"),
        ([[0, -3]], "grade -3 lies outside"),
        ([[0.5, 1]], "0.5 is not an integer"),
        ([[float("nan"), 1]], "nan is not an integer"),
        ([["a", "b"]], "grades are integers"),
        ([[True, False]], "grades are integers"),
        ([[1, 2], [1]], "different lengths"),
        ([[[1]]], r"expected \(n, K\)"),
        ([], r"expected \(n, K\)"),
    ],
)
def test_bad_lists_are_refused(lists, words):
    refused(words, TRUTH.score, lists)


@table("gains", [[], [np.nan], [np.inf], ["a"], [[1]], 3])
def test_bad_gains_are_refused(gains):
    refused("gains", DCG, gains, [1])


def test_metrics_cannot_be_changed():
    gains = np.arange(3.0)
    dcg = DCG(gains, [1, 0.5])
    gains[0] = 9
    assert dcg.gains[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        dcg.gains[0] = 9
    with pytest.raises(AttributeError):
        dcg.gains = gains


def test_they_read_well():
    assert repr(DCG([0, 1], [1])) == "DCG(gains=[0, 1], discounts=[1])"
    named = DCG([0, 1, 3], [1, 0.5], ["Bad", "Fair", "Good"])
    assert "2 Good  3.0000         1    1.0000" in str(named)
    assert "Good" in str(named.utility)
    assert len(str(DCG([0, 1], np.ones(4))).splitlines()) == 5


def test_tables_are_frames():
    named = DCG([0, 1, 3], [1, 0.5], ["Bad", "Fair", "Good"])
    assert named.table.rows() == [
        ("gain of Bad", 0.0),
        ("gain of Fair", 1.0),
        ("gain of Good", 3.0),
        ("discount at 1", 1.0),
        ("discount at 2", 0.5),
    ]
    assert named.utility.table.rows(named=True) == [
        {"position": 1, "Bad": 0.0, "Fair": 1.0, "Good": 3.0},
        {"position": 2, "Bad": 0.0, "Fair": 0.5, "Good": 1.5},
    ]
    assert DCG([0, 1], [1]).utility.table.columns == ["position", "grade 0", "grade 1"]


def test_normalised_orders_full_lists_alike():
    normal = TRUTH.normalised()
    assert (normal.gains[0], normal.gains[-1], normal.discounts[0]) == (0, 1, 1)
    lists = np.random.default_rng(0).integers(0, 5, (50, 10))
    np.testing.assert_array_equal(np.argsort(normal.score(lists)), np.argsort(TRUTH.score(lists)))
    refused("best grade gains more", DCG([1, 1], [1]).normalised)


@given(st.floats(0.01, 100), st.lists(floats, min_size=10, max_size=10))
def test_similarity_ignores_scale_and_row_offsets(scale, offsets):
    moved = Utility(scale * TRUTH.utility.weights + np.array(offsets)[:, None])
    assert similarity(TRUTH, moved) == pytest.approx(1)


def test_identifiable_similarity_ignores_what_the_log_cannot_see():
    rng = np.random.default_rng(0)
    lists = rng.permuted(np.tile(np.repeat(np.arange(5), 2), (400, 1)), axis=1)
    visible = Preferences(lists[:200], lists[200:]).visible()
    moved = Utility(3 * TRUTH.utility.weights + rng.normal(size=(10, 1)) + rng.normal(size=5))
    assert identifiable_similarity(TRUTH, moved, visible) == pytest.approx(1)
    assert similarity(TRUTH, moved) < 0.999


def test_weights_stand_for_a_utility():
    assert similarity(TRUTH.utility.weights, TRUTH) == pytest.approx(1)


def test_similarity_of_what_cannot_be_compared():
    refused("cannot be compared", similarity, DCG.standard(5, 10), DCG.standard(4, 10))
    refused("tells no two lists apart", similarity, DCG([1, 1], [1]), DCG([0, 1], [1]))


def test_a_sentence_names_each_gain_and_some_discounts():
    dcg = DCG([0, 0.5, 1], 1 / np.arange(1.0, 8), grade_names=["Bad", "Fair\n", "Good"])
    assert dcg.sentence == (
        r"what a result is worth (gain): Good: 1.00, Fair\n: 0.50, Bad: 0.00; times what its "
        "position counts (discount): position 1: 1.00, 2: 0.50, 3: 0.33, 5: 0.20, 7: 0.14"
    )
    assert "(gain): grade 2: 1.00, 1: 0.50, " in DCG([0, 0.5, 1], [1]).sentence
