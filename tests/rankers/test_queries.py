"""Queries, their evaluation, files of learning-to-rank data, and the LETOR-shaped generator."""

import gzip
import lzma
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.queries import Queries, group_labels, ndcg_by_query, precision_by_query
from dcglearn.rankers.svmlight import read_queries
from dcglearn.rankers.synthetic import letor_queries

SVM = "2 qid:10 1:0.5 3:1 # docid = A\n0 qid:10 2:0.25 # docid = B\n\n# a comment\n1 qid:7 1:-1e-1 # docid = C\n"


def write(folder, text, name="train.svm"):
    path = folder / name
    path.write_text(text)
    return path


class TestQueries:
    def test_rows_of_a_query_stay_together(self):
        queries = Queries([[0.0], [1.0], [2.0]], [0, 1, 0], qid=["b", "b", "a"])
        assert queries.offsets.tolist() == [0, 2, 3]
        assert queries.names.tolist() == ["b", "a"]
        assert queries[[1, 0]].qid.tolist() == ["a", "b", "b"]
        assert len(queries[np.array([True, False])]) == 1
        assert queries[:0].shape == (0, 1)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"qid": [2, 1]}, "look like group sizes"),
            ({"qid": [1, 2, 1]}, r"qid\[2\] = 1: this query appears again.*sort"),
            ({"qid": None}, "qid is missing"),
            ({"qid": [1.0, np.nan, 2.0]}, r"qid\[1\] is a missing value"),
            ({"grades": [0, 1.5, 0]}, r"grades\[1\] = 1.5 is not a grade: grades are integers"),
            ({"grades": [0, -1, 0]}, "leave unjudged documents out"),
            ({"grades": [0, 3, 0], "n_grades": 3}, r"not a grade of the scale, 0..2"),
            ({"grades": [0, 1]}, "expected one per document"),
            ({"features": [[0], [np.nan], [1]]}, r"features\[1, 0\] = nan is not a finite number"),
            ({"features": [[0], [np.inf], [1]]}, r"features\[1, 0\] = inf"),
            ({"features": csr_matrix([[0, 0], [0, np.inf], [1, 0]])}, r"features\[1, 1\] = inf"),
            ({"features": [0, 1, 2]}, "expected \\(documents, features\\)"),
            ({"features": [["x"], ["y"], ["z"]]}, "must be numbers"),
            ({"documents": ["A"]}, "1 document names for 3"),
        ],
    )
    def test_what_is_wrong_is_named(self, change, message):
        with pytest.raises(InputError, match=message):
            Queries(**{"features": [[0.0], [1.0], [2.0]], "grades": [0, 1, 0], "qid": [1, 1, 2], **change})

    @pytest.mark.parametrize(
        ("sizes", "message"),
        [
            ([1, 1, 2], "looks like the query of each document; give it as qid"),
            ([2, 2], "sum to 4, but there are 3"),
            ([3, 0], "group size 1 is 0; leave empty queries out"),
            ([1.5, 1.5], "whole numbers"),
        ],
    )
    def test_group_sizes(self, sizes, message):
        with pytest.raises(InputError, match=message):
            group_labels(sizes, 3)

    def test_a_split_is_of_queries(self):
        first, second = letor_queries(10, sizes=(3, 5), seed=0).split(0.7, seed=1)
        assert (len(first), len(second)) == (7, 3)
        assert not set(first.names) & set(second.names)
        with pytest.raises(InputError, match="leaves one side empty"):
            letor_queries(1, seed=0).split(0.5)


class TestEvaluation:
    @given(st.integers(0, 10_000))
    def test_as_one_list_at_a_time(self, seed):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(0, 8, 6)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        scores, grades = rng.normal(size=offsets[-1]), rng.integers(0, 3, offsets[-1])
        dcg = DCG(rng.normal(size=3), rng.normal(size=4))
        found = ndcg_by_query(dcg, scores, grades, offsets, empty=-7.0)
        for q, (start, stop) in enumerate(pairwise(offsets)):
            marks = grades[start:stop][np.argsort(-scores[start:stop])]
            wanted = dcg.ndcg(marks, empty=-7.0) if len(marks) else -7.0
            assert found[q] == pytest.approx(float(wanted), abs=1e-12)

    def test_many_sizes_share_little_memory(self, monkeypatch):
        queries = letor_queries(30, n_features=3, sizes=(1, 200), seed=0)
        scores = np.random.default_rng(0).normal(size=queries.shape[0])
        dcg = DCG.standard(3, 10)
        whole = queries.evaluate(scores, dcg)
        monkeypatch.setattr("dcglearn.rankers.queries._CELLS", 100)
        assert np.allclose(queries.evaluate(scores, dcg), whole, atol=1e-14, rtol=0)

    def test_ties(self):
        dcg = DCG([0, 1], [1.0, 0.5])
        assert ndcg_by_query(dcg, [0, 0], [1, 0], [0, 2])[0] == 1
        assert ndcg_by_query(dcg, [0, 0], [1, 0], [0, 2], ties="worst")[0] == 0.5
        with pytest.raises(InputError, match="ties='best'"):
            ndcg_by_query(dcg, [0, 0], [1, 0], [0, 2], ties="best")
        with pytest.warns(DeprecationWarning, match="ties='input' is now called 'stable'"):
            assert ndcg_by_query(dcg, [0, 0], [1, 0], [0, 2], ties="input")[0] == 1
        with pytest.warns(DeprecationWarning, match="'stable'"):
            precision_by_query([0, 0], [1, 0], [0, 2], ties="input")

    def test_nan_scores_and_foreign_grades(self):
        dcg = DCG([0, 1], [1.0])
        with pytest.raises(InputError, match=r"scores\[1\] is NaN"):
            ndcg_by_query(dcg, [0, np.nan], [1, 0], [0, 2])
        with pytest.raises(InputError, match=r"grades\[0\] = 2 is not a grade of the DCG's scale, 0..1"):
            ndcg_by_query(dcg, [0, 1], [2, 0], [0, 2])
        with pytest.raises(InputError, match="one score per document"):
            ndcg_by_query(dcg, [0], [1, 0], [0, 2])


class TestReading:
    def test_qid_and_names(self, tmp_path):
        queries = read_queries(write(tmp_path, SVM))
        assert queries.features.tolist() == [[0.5, 0, 1], [0, 0.25, 0], [-0.1, 0, 0]]
        assert queries.grades.tolist() == [2, 0, 1]
        assert queries.names.tolist() == [10, 7]
        assert queries.documents == ["A", "B", "C"]
        assert read_queries(write(tmp_path, SVM), sparse=True).features.nnz == 4

    def test_packed_and_group_sizes(self, tmp_path):
        plain = write(tmp_path, "2 1:0.5\n0 2:1\n1 1:3\n")
        with pytest.raises(InputError, match=r"has no qid, and no train.svm.query lies beside it"):
            read_queries(plain)
        write(tmp_path, "2\n1\n", "train.svm.query")
        (tmp_path / "train.svm.gz").write_bytes(gzip.compress(plain.read_bytes()))
        (tmp_path / "train.svm.xz").write_bytes(lzma.compress(plain.read_bytes()))
        for name in ("train.svm", "train.svm.gz", "train.svm.xz"):
            assert read_queries(tmp_path / name).sizes.tolist() == [2, 1]

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("1 qid:1 1:2\n\n1.5 qid:1 1:2\n", {}, r"train.svm, line 3: label 1.5 is not a grade"),
            ("-1 qid:1 1:2\n", {}, "line 1: label -1 is not a grade"),
            ("1 qid:1 1:nan\n", {}, "line 1: feature value nan is not a finite number"),
            ("0 qid:1 1:1\n1 qid:1 2:inf\n", {}, "line 2: feature value inf"),
            ("1 qid:1 1:1\n0 qid:2 1:1\n# x\n0 qid:1 1:1\n", {}, r"line 4: qid\[2\] = 1: this query appears again"),
            ("1 qid:1 1:1\n0 1:1\n", {}, "1 of 2 lines have no qid"),
            ("1 qid:1 0:1\n", {}, "line 1: feature 0, but features count from 1; say zero_based"),
            ("1 qid:1 1:1\n0 qid:1 5:1\n", {"n_features": 4}, "line 2: feature 5, but there are 4"),
            ("1 qid:1 1:1 1:2\n", {}, "line 1: feature 1 occurs twice"),
            ("1 qid:1 1:x\n", {}, "line 1: '1:x' is not FEATURE:NUMBER"),
            ("1 qid:a 1:1\n", {}, "line 1: 'qid:a': a qid must be a whole number"),
            ("good qid:1 1:1\n", {}, "line 1: label 'good' is not a number"),
            ("3 qid:1 1:1\n", {"n_grades": 3}, r"line 1: grades\[0\] = 3 is not a grade of the scale, 0..2"),
            ("", {}, "is empty"),
        ],
    )
    def test_bad_lines_are_named(self, tmp_path, text, options, message):
        with pytest.raises(InputError, match=message):
            read_queries(write(tmp_path, text), **options)

    def test_features_out_of_order_are_put_in_order(self, tmp_path):
        queries = read_queries(write(tmp_path, "1 qid:1 3:3 1:1\n"))
        assert queries.features.tolist() == [[1, 0, 3]]

    @pytest.mark.parametrize(
        ("sizes", "message"),
        [
            ("1\n1\n2\n", "looks like the query of each document"),
            ("2\n2\n", "sum to 4, but there are 3"),
            ("2\nx\n", "not a whole number a line"),
            ("3\n0\n", "leave empty queries out"),
        ],
    )
    def test_bad_group_sizes(self, tmp_path, sizes, message):
        path, beside = write(tmp_path, "2 1:1\n0 1:2\n1 1:3\n"), write(tmp_path, sizes, "sizes.txt")
        with pytest.raises(InputError, match=f"sizes.txt: .*{message}"):
            read_queries(path, beside)

    def test_group_sizes_beside_qid_are_too_much(self, tmp_path):
        with pytest.raises(InputError, match="has qid, so its queries are known"):
            read_queries(write(tmp_path, SVM), write(tmp_path, "2\n1\n", "sizes.txt"))

    def test_damaged_and_missing_files(self, tmp_path):
        (tmp_path / "bad.xz").write_bytes(lzma.compress(SVM.encode())[:-20])
        for name, message in (
            ("bad.xz", "truncated or damaged"),
            ("none.svm", "none.svm does not exist; check the name"),
            ("", "is a folder; name a file in it"),
        ):
            with pytest.raises(InputError, match=message):
                read_queries(tmp_path / name)

    @given(st.binary(max_size=60))
    def test_any_bytes_are_read_or_refused(self, data):
        import tempfile
        from pathlib import Path

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "any.svm"
            path.write_bytes(data)
            try:
                assert len(read_queries(path)) > 0
            except InputError as error:
                assert "any.svm" in str(error)

    def test_real_data(self, shared):
        queries = read_queries(shared / "lightgbm_lambdarank" / "rank.train.xz")
        assert (len(queries), *queries.shape) == (201, 3005, 300)
        with pytest.raises(InputError, match="line 1: feature 17 occurs twice"):
            read_queries(shared / "tfranking_toy" / "train.txt")


class TestLetorShaped:
    def test_shape_and_repeatability(self):
        queries = letor_queries(seed=3)
        assert (len(queries), queries.shape[1], queries.n_grades) == (106, 45, 3)
        assert queries.sizes.min() >= 35
        assert queries.sizes.max() <= 320
        assert np.bincount(queries.grades).argsort().tolist() == [2, 1, 0]
        assert np.array_equal(letor_queries(seed=3).features, queries.features)

    def test_which_metric_matters(self):
        from dcglearn.rankers.baselines import RidgeRanker

        queries = letor_queries(160, sizes=(30, 80), seed=0)
        train, test = queries[:80], queries[80:]
        top, any_grade = DCG([0, 0, 1], np.ones(5)), DCG([0, 1, 1], np.ones(5))
        rankers = {name: RidgeRanker(dcg).fit(train) for name, dcg in (("top", top), ("any", any_grade))}
        assert rankers["top"].evaluate(test, metric=top).mean() > rankers["any"].evaluate(test, metric=top).mean() + 0.1
        assert (
            rankers["any"].evaluate(test, metric=any_grade).mean()
            > rankers["top"].evaluate(test, metric=any_grade).mean() + 0.1
        )

    @pytest.mark.parametrize(
        "change", [{"n_redundant": 43}, {"n_grades": 1}, {"sizes": (5, 3)}, {"conflict": -1.0}, {"n_queries": 0}]
    )
    def test_impossible_numbers(self, change):
        with pytest.raises(InputError):
            letor_queries(**change)
