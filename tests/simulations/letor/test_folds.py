"""Folders of folds: names of files, what is written and read, bad folders."""

import gzip
import lzma

import numpy as np
import pytest

from dcglearn.foundation.sources import zstd
from dcglearn.rankers.synthetic import letor_queries
from simulations.letor.folds import find_folds, letor_folds, read_fold, write_folds
from simulations.letor.protocol import Plan
from tests.makers import refused
from tests.rankers.makers import letor_like


class TestFolders:
    @pytest.mark.parametrize(
        ("names", "pack"),
        [
            (("train.txt", "vali.txt", "test.txt"), bytes),
            (("trainingset.txt", "validationset.txt", "testset.txt"), bytes),
            (("train.txt.gz", "vali.txt.gz", "test.txt.gz"), gzip.compress),
            (("Train.xz", "valid.dat.xz", "TEST.svm.xz"), lzma.compress),
        ],
    )
    def test_names(self, folder, names, pack):
        inner = folder.rename(folder.parent / "QueryLevelNorm")
        for fold in inner.iterdir():
            for old, new in zip(("train.txt", "vali.txt", "test.txt"), names, strict=True):
                text = (fold / old).read_bytes()
                (fold / old).unlink()
                (fold / new).write_bytes(pack(text))
        folds = find_folds(inner.parent)
        assert [one.name for one in folds] == [f"Fold{i}" for i in range(1, 6)]
        assert len(read_fold(folds[0]).train) == 12

    def test_zstandard(self, folder):
        text = (folder / "Fold1" / "train.txt").read_bytes()
        (folder / "Fold1" / "train.txt.zst").write_bytes(zstd.compress(text))
        (folder / "Fold1" / "train.txt").rename(folder / "kept")
        packed = read_fold(find_folds(folder)[0])
        (folder / "Fold1" / "train.txt.zst").unlink()
        (folder / "kept").rename(folder / "Fold1" / "train.txt")
        plain = read_fold(find_folds(folder)[0])
        assert np.array_equal(packed.train.features, plain.train.features)

    def test_lines_of_letor_keep_their_documents(self, tmp_path):
        line = "{} qid:{} 1:0.2 2:1 #docid = {} inc = 1 prob = 0.1\n"
        for part, qid in (("train", 1), ("vali", 2), ("test", 3)):
            (tmp_path / "Fold1").mkdir(exist_ok=True)
            text = line.format(2, qid, "GX1") + line.format(0, qid, "244338")
            (tmp_path / "Fold1" / f"{part}.txt").write_text(text)
        fold = read_fold(find_folds(tmp_path)[0])
        assert list(fold.test.documents) == ["GX1", "244338"]
        write_folds([fold], tmp_path / "again")
        assert list(read_fold(find_folds(tmp_path / "again")[0]).test.documents) == [
            "GX1",
            "244338",
        ]

    def test_what_is_written_is_what_is_read(self, folder):
        fold, again = letor_folds(letor_like())[2], read_fold(find_folds(folder)[2])
        for part in ("train", "vali", "test"):
            mine, read = getattr(fold, part), getattr(again, part)
            assert np.array_equal(mine.features, read.features)
            assert np.array_equal(mine.grades, read.grades)
            assert mine.names.tolist() == read.names.tolist()

    def test_each_query_is_tested_once_and_never_seen_before(self):
        folds = letor_folds(letor_like(23))
        assert sorted(np.concatenate([fold.test.names for fold in folds])) == list(range(1, 24))
        for fold in folds:
            assert len({*fold.train.names, *fold.vali.names, *fold.test.names}) == 23

    def test_no_folds(self, tmp_path):
        (tmp_path / "train.txt").write_text("1 qid:1 1:1\n")
        refused(r"has no folds: expected folders Fold1.*it holds train.txt", find_folds, tmp_path)
        refused("is not a folder", find_folds, tmp_path / "nothing")

    def test_missing_doubled_and_ambiguous(self, folder):
        (folder / "Fold2" / "vali.txt").rename(folder / "Fold2" / "held.txt")
        refused(r"Fold2: no vali file \(vali.txt.*it holds held.txt", find_folds, folder)
        (folder / "Fold2" / "held.txt").rename(folder / "Fold2" / "vali.txt")
        (folder / "Fold3" / "testset.txt").write_text("")
        refused(r"both test.txt and testset.txt could be the test file", find_folds, folder)
        write_folds(letor_folds(letor_like()), folder.parent / "other")
        refused(r"folds in several folders \(data, other\)", find_folds, folder.parent)

    def test_shared_queries_are_named(self, folder):
        place = folder / "Fold1"
        lines = (place / "train.txt").read_text().splitlines(keepends=True)
        (place / "test.txt").write_text(
            "".join(line for line in lines if " qid:3 " in line or " qid:5 " in line)
        )
        refused(r"train.txt and .*test.txt share 2 queries \(3, 5\)", Plan.of, folder)

    def test_other_features(self, folder):
        write_folds(
            letor_folds(letor_queries(20, n_features=7, sizes=(8, 20), random_state=0)),
            folder.parent / "wide",
        )
        (folder.parent / "wide" / "Fold2" / "test.txt").replace(folder / "Fold2" / "test.txt")
        refused(
            r"Fold2/test.txt has 7 features, but .*train.txt has 6.*--features 7", Plan.of, folder
        )
        assert Plan.of(folder, n_features=7).folds[1].test.shape[1] == 7
        for part in ("train", "vali"):
            (folder.parent / "wide" / "Fold2" / f"{part}.txt").replace(
                folder / "Fold2" / f"{part}.txt"
            )
        refused(r"Fold2/train.txt has 7 features, but .*Fold1/train.txt has 6", Plan.of, folder)
