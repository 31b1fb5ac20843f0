"""Learning-to-rank files: what is read, and how bad lines are named."""

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcglearn.foundation.sources import zstd
from dcglearn.foundation.validation import InputError
from dcglearn.rankers.svmlight import read_queries
from tests.makers import refused, unpacked, write

SVM = (
    "2 qid:10 1:0.5 3:1 # docid = A\n0 qid:10 2:0.25 # docid = B\n\n"
    "# a comment\n1 qid:7 1:-1e-1 # docid = C\n"
)


class TestReading:
    def test_qid_and_names(self, tmp_path):
        queries = read_queries(write(tmp_path, "train.svm", SVM))
        assert queries.features.tolist() == [[0.5, 0, 1], [0, 0.25, 0], [-0.1, 0, 0]]
        assert queries.grades.tolist() == [2, 0, 1]
        assert queries.names.tolist() == [10, 7]
        assert queries.documents == ["A", "B", "C"]
        assert read_queries(write(tmp_path, "train.svm", SVM), sparse=True).features.nnz == 4
        out_of_order = write(tmp_path, "train.svm", "1 qid:1 3:3 1:1\n")
        assert read_queries(out_of_order).features.tolist() == [[1, 0, 3]]

    def test_utf_16_is_named(self, tmp_path):
        (tmp_path / "train.svm").write_bytes("1 qid:1 1:1\n".encode("utf-16"))
        refused("train.svm is UTF-16 text; save it as UTF-8", read_queries, tmp_path / "train.svm")

    def test_packed_and_group_sizes(self, tmp_path):
        plain = write(tmp_path, "train.svm", "2 1:0.5\n0 2:1\n1 1:3\n")
        refused(r"no train.svm.query lies beside it; give groups \(--groups", read_queries, plain)
        write(tmp_path, "train.svm.query", "2\n1\n")
        (tmp_path / "train.svm.gz").write_bytes(gzip.compress(plain.read_bytes()))
        (tmp_path / "train.svm.zst").write_bytes(zstd.compress(plain.read_bytes()))
        for name in ("train.svm", "train.svm.gz", "train.svm.zst"):
            assert read_queries(tmp_path / name).sizes.tolist() == [2, 1]

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("1 qid:1 1:2\n\n1.5 qid:1 1:2\n", {}, r"train.svm, line 3: label 1.5 is not a grade"),
            ("-1 qid:1 1:2\n", {}, "line 1: label -1 is not a grade"),
            ("1 qid:1 1:nan\n", {}, "line 1: feature value nan is not a finite number"),
            ("0 qid:1 1:1\n1 qid:1 2:inf\n", {}, "line 2: feature value inf"),
            (
                "1 qid:1 1:1\n0 qid:2 1:1\n# x\n0 qid:1 1:1\n",
                {},
                r"line 4: qid\[2\] = 1: this query appears again",
            ),
            ("1 qid:1 1:1\n0 1:1\n", {}, "1 of 2 lines have no qid"),
            ("1 qid:1 0:1\n", {}, r"feature 0, but features count from 1.*\(--zero-based\)"),
            ("1,qid:1,1:1\n", {}, "is not a number; svmlight text is read"),
            ("1 qid:1 1:1\n0 qid:1 5:1\n", {"n_features": 4}, "line 2: feature 5, but there are 4"),
            ("1 qid:1 1:1 1:2\n", {}, "line 1: feature 1 occurs twice"),
            ("1 qid:1 1:x\n", {}, "line 1: '1:x' is not FEATURE:NUMBER"),
            ("1 qid:a 1:1\n", {}, "line 1: 'qid:a': a qid must be a whole number"),
            ("good qid:1 1:1\n", {}, "line 1: label 'good' is not a number"),
            (
                "3 qid:1 1:1\n",
                {"n_grades": 3},
                r"line 1: grades\[0\] = 3 is not a grade of the scale, 0..2",
            ),
            ("", {}, "is empty"),
            (
                "1 qid:1 1:1\n0 qid:1 qid:2 1:0.1\n",
                {},
                "line 2: qid:1 and qid:2: a document belongs to one query",
            ),
        ],
    )
    def test_bad_lines_are_named(self, tmp_path, text, options, message):
        refused(message, read_queries, write(tmp_path, "train.svm", text), **options)

    def test_a_table_is_refused_with_the_way_to_train_on_it(self, tmp_path):
        path = write(tmp_path, "train.csv", "query,grade,bm25\nq1,1,0.5\n")
        refused(r"svmlight text is read, and a table by fit\(X, y, qid\)", read_queries, path)

    @pytest.mark.parametrize(
        ("text", "sizes", "message"),
        [
            ("2 1:1\n0 1:2\n1 1:3\n", "2\n2\n", "sizes.txt: .*sum to 4, but there are 3"),
            ("2 1:1\n0 1:2\n1 1:3\n", "2\nx\n", "sizes.txt: .*not a whole number a line"),
            (SVM, "2\n1\n", "has qid, so its queries are known"),
        ],
    )
    def test_bad_group_sizes(self, tmp_path, text, sizes, message):
        refused(
            message,
            read_queries,
            write(tmp_path, "train.svm", text),
            write(tmp_path, "sizes.txt", sizes),
        )

    def test_damaged_and_missing_files(self, tmp_path):
        (tmp_path / "bad.gz").write_bytes(gzip.compress(SVM.encode())[:-20])
        for name, message in (
            ("bad.gz", "truncated or damaged"),
            ("none.svm", "none.svm does not exist; check the name"),
            ("", "is a folder; name a file in it"),
        ):
            refused(message, read_queries, tmp_path / name)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.binary(max_size=60))
    def test_any_bytes_are_read_or_refused(self, tmp_path, data):
        (tmp_path / "any.svm").write_bytes(data)
        try:
            assert len(read_queries(tmp_path / "any.svm")) > 0
        except InputError as error:
            assert "any.svm" in str(error)

    def test_real_data(self, shared, tmp_path):
        folder = shared / "lightgbm_lambdarank"
        plain = unpacked(folder / "rank.train.xz", tmp_path)
        queries = read_queries(plain, folder / "rank.train.query")
        assert (len(queries), *queries.shape) == (201, 3005, 300)
        refused(
            "line 1: feature 17 occurs twice", read_queries, shared / "tfranking_toy" / "train.txt"
        )

    @pytest.mark.parametrize("line", ["0 qid0x1:1 1:1", "0 qid-inf:2", "0 qid:1 1:1 qid1:1"])
    def test_words_that_only_begin_like_a_qid_are_refused(self, tmp_path, line):
        text = f"1 qid:1 1:0.5 # docid = qid0\n{line}\n"
        refused(
            r"line 2: 'qid.*: write qid:NUMBER", read_queries, write(tmp_path, "train.svm", text)
        )

    @pytest.mark.parametrize(
        "line",
        ["0 qid:1 1:0.1\u00a0", "0 qid:1 1:1_0", "0 qid:1 1_0:1", "\u2028", "0 qid:1 1:\u0661"],
    )
    def test_white_space_and_digits_are_those_of_ascii(self, tmp_path, line):
        refused("line 2", read_queries, write(tmp_path, "train.svm", f"1 qid:1 1:0.5\n{line}\n"))
