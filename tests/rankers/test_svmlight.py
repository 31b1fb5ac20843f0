"""Learning-to-rank files: what is read, and how bad lines are named."""

import gzip
import re

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

    def test_utf_16_is_named(self, tmp_path):
        (tmp_path / "train.svm").write_bytes("1 qid:1 1:1\n".encode("utf-16"))
        refused("train.svm is UTF-16 text; save it as UTF-8", read_queries, tmp_path / "train.svm")

    def test_packed(self, tmp_path):
        plain = write(tmp_path, "train.svm", SVM)
        (tmp_path / "train.svm.gz").write_bytes(gzip.compress(plain.read_bytes()))
        (tmp_path / "train.svm.zst").write_bytes(zstd.compress(plain.read_bytes()))
        for name in ("train.svm", "train.svm.gz", "train.svm.zst"):
            assert read_queries(tmp_path / name).sizes.tolist() == [2, 1]

    def test_bad_lines_are_named(self, tmp_path):
        cases = [
            ("1 qid:1 1:2\n\n1.5 qid:1 1:2\n", {}, r"train.svm, line 3: .* 1.5 is not a grade"),
            ("-1 qid:1 1:2\n", {}, "line 1: .* -1 is not a known grade"),
            ("0 qid:1 1:1\n1 qid:1 2:inf\n", {}, r"line 2: features\[1, 1\] = inf"),
            ("1 qid:1 1:1\n0 qid:2 1:1\n# x\n0 qid:1 1:1\n", {}, "line 4: .* appears again"),
            ("1 qid:1 1:1\n0 1:1\n", {}, "1 of 2 lines have no qid"),
            ("# only a comment\n", {}, "0 of 0 lines have no qid"),
            ("1 qid:1 0:1\n", {}, "line 1: .* from 0 with zero_based=True"),
            ("query,grade,bm25\nq1,1,0.5\n", {}, r"line 1: .*a table is read by fit\(X, y, qid\)"),
            ("1 qid:1 1:1\n0 qid:1 5:1\n", {"n_features": 4}, "line 2: .* contains 5 features"),
            ("1 qid:1 1:1\n1 qid:1 1:1 1:2\n1 qid:1 1:1\n", {}, "line 2: .* sorted and unique"),
            ("1 qid:1 3:3 1:1\n", {}, "line 1: .*features in order"),
            ("1 qid:1 1:x\n", {}, "line 1: '1 qid:1 1:x' is not GRADE qid:NUMBER FEATURE:NUMBER"),
            ("1 qid:a 1:1\n", {}, "line 1: .*invalid literal"),
            ("good qid:1 1:1\n", {}, "line 1: .*convert string to float"),
            ("3 qid:1 1:1\n", {"n_grades": 3}, "line 1: .*: 3 is not a grade of the scale, 0..2"),
            ("", {}, "is empty"),
            ("1 qid:1 1:1\n0 qid:1 qid:2 1:0.1\n", {}, "line 2: "),
            ("1 qid:1 1:1 # docid = qid0\n0 qid0x1:1 1:1\n", {}, "line 2: .*queries as qid:NUMBER"),
            ("1 qid:1 1:1\n0 qid-inf:2\n", {}, "line 2: .*queries as qid:NUMBER"),
            ("1 qid:1 1:1\n0 qid:1 1:1 qid1:1\n", {}, "line 2: .*queries as qid:NUMBER"),
            ("1 qid:1 1:1 # a_b\n0 qid:1 1:1_0\n", {}, "line 2: .*as 10, not 1_0"),
            ("1 qid:1 1:1\n0 qid:1 1:0.1\u00a0\n", {}, "line 2: "),
            ("1 qid:1 1:1\n\u2028\n", {}, "line 2: "),
            ("1 qid:1 1:1\n0 qid:1 1:\u0661\n", {}, "line 2: "),
        ]
        wrong = []
        for text, options, message in cases:
            path = write(tmp_path, "train.svm", text)
            try:
                wrong.append((text, read_queries(path, **options)))
            except InputError as error:
                if not re.search(message, str(error)):
                    wrong.append((text, str(error)))
        assert wrong == []

    def test_damaged_and_missing_files(self, tmp_path):
        (tmp_path / "bad.gz").write_bytes(gzip.compress(SVM.encode())[:-20])
        for name, message in (
            ("bad.gz", "truncated or damaged"),
            ("none.svm", "none.svm does not exist; check the name"),
            ("", "is a folder or a device; name a file"),
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
        refused("3005 of 3005 lines have no qid", read_queries, plain)
        toy = shared / "tfranking_toy" / "train.txt"
        refused("line 1: .*sorted and unique", read_queries, toy)
