"""LETOR's five-fold protocol: measures by hand, folders as they are found, runs that go on, bad input."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.letor.candidates import Setting
from dcglearn.letor.folds import find_folds, letor_folds, read_fold, write_folds
from dcglearn.letor.measures import MEASURES, Convention
from dcglearn.letor.methods import METHODS, method_named
from dcglearn.letor.protocol import Plan, letor_experiment
from dcglearn.letor.trial import within_error
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.synthetic import letor_queries

QUICK = ["ridge", "RankSVM", "AdaRank.MAP"]


def small(n=20, **options):
    return letor_queries(n, n_features=6, sizes=(8, 20), seed=0, **options)


@pytest.fixture
def folder(tmp_path):
    write_folds(letor_folds(small()), tmp_path / "data")
    return tmp_path / "data"


def measured(convention, grades, scores=None, n_grades=3):
    queries = Queries([[0.0]] * len(grades), grades, [1] * len(grades), n_grades)
    values = Convention.named(convention, n_grades).measures(queries, scores or -np.arange(len(grades)))
    return dict(zip(MEASURES, values[0], strict=True))


class TestMeasures:
    def test_letor_by_hand(self):
        found = measured("letor", [1, 0, 2, 1])
        log3, log4 = 1 / np.log2(3), 0.5
        best = [3, 4, 4 + log3, 4 + log3]
        reached = [1, 1, 1 + 3 * log3, 1 + 3 * log3 + log4]
        for k in range(4):
            assert found[f"NDCG@{k + 1}"] == pytest.approx(reached[k] / best[k], rel=1e-14)
        assert found["NDCG@10"] == found["NDCG@4"]
        assert [found[f"P@{k}"] for k in (1, 2, 3, 4, 10)] == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 10], rel=1e-14)
        assert found["MAP"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3, rel=1e-14)

    def test_standard_discounts_rank_two(self):
        found = measured("standard", [0, 2])
        assert found["NDCG@2"] == pytest.approx(1 / np.log2(3), rel=1e-14)
        assert measured("letor", [0, 2])["NDCG@2"] == 1.0

    def test_a_query_without_relevant_documents(self):
        assert set(measured("letor", [0, 0]).values()) == {0.0}
        assert np.isnan(list(measured("standard", [0, 0]).values())).all()
        convention = Convention.named("standard", 3)
        assert convention.means(np.array([[np.nan] * 21, [0.5] * 21]))[0] == 0.5
        assert Convention.named("letor", 3).means(np.array([[0.0] * 21, [0.5] * 21]))[0] == 0.25

    def test_equal_scores_keep_the_order_of_the_file(self):
        assert measured("letor", [0, 2, 1], [1, 1, 1])["NDCG@1"] == 0
        assert measured("letor", [2, 0, 1], [1, 1, 1])["NDCG@1"] == 1

    def test_any_dcg(self, tmp_path):
        DCG([0, 1, 1], [1.0, 0.5]).save(tmp_path / "mine.json")
        found = measured(str(tmp_path / "mine.json"), [0, 2, 1])
        assert found["NDCG@2"] == found["NDCG@10"] == pytest.approx(0.5 / 1.5)
        assert measured("linear-log2@3", [0, 2, 1])["NDCG@10"] == measured("linear-log2", [0, 2, 1])["NDCG@3"]
        for name, words in (("letter", "give letor, standard"), (str(tmp_path / "mine.json"), "gains for grades 0..2")):
            with pytest.raises(InputError, match=words):
                Convention.named(name, 4)

    def test_many_queries_agree_with_one_at_a_time(self):
        queries, convention = small(), Convention.named("letor", 3)
        scores = np.random.default_rng(0).integers(0, 5, queries.shape[0]).astype(float)
        together = convention.measures(queries, scores)
        for q in range(len(queries)):
            own = slice(queries.offsets[q], queries.offsets[q + 1])
            assert convention.measures(queries[q], scores[own])[0] == pytest.approx(together[q], abs=1e-12)


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
        found = find_folds(inner.parent)
        assert [one.name for one in found] == [f"Fold{i}" for i in range(1, 6)]
        assert len(read_fold(found[0]).train) == 12

    def test_zstandard(self, folder):
        text = (folder / "Fold1" / "train.txt").read_text().rstrip("\n").split("\n")
        pl.DataFrame({"line": text}).write_csv(
            folder / "Fold1" / "train.txt.zst",
            include_header=False,
            separator="\x01",
            quote_style="never",
            compression="zstd",
        )
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
        assert list(read_fold(find_folds(tmp_path / "again")[0]).test.documents) == ["GX1", "244338"]

    def test_what_is_written_is_what_is_read(self, folder):
        fold, again = letor_folds(small())[2], read_fold(find_folds(folder)[2])
        for part in ("train", "vali", "test"):
            mine, read = getattr(fold, part), getattr(again, part)
            assert np.array_equal(mine.features, read.features)
            assert np.array_equal(mine.grades, read.grades)
            assert mine.names.tolist() == read.names.tolist()

    def test_each_query_is_tested_once_and_never_seen_before(self):
        folds = letor_folds(small(23))
        assert sorted(np.concatenate([fold.test.names for fold in folds])) == list(range(1, 24))
        for fold in folds:
            assert len({*fold.train.names, *fold.vali.names, *fold.test.names}) == 23

    def test_no_folds(self, tmp_path):
        (tmp_path / "train.txt").write_text("1 qid:1 1:1\n")
        with pytest.raises(InputError, match=r"has no folds: expected folders Fold1.*it holds train.txt"):
            find_folds(tmp_path)
        with pytest.raises(InputError, match="is not a folder"):
            find_folds(tmp_path / "nothing")

    def test_missing_doubled_and_ambiguous(self, folder):
        (folder / "Fold2" / "vali.txt").rename(folder / "Fold2" / "held.txt")
        with pytest.raises(InputError, match=r"Fold2: no vali file \(vali.txt.*it holds held.txt"):
            find_folds(folder)
        (folder / "Fold2" / "held.txt").rename(folder / "Fold2" / "vali.txt")
        (folder / "Fold3" / "testset.txt").write_text("")
        with pytest.raises(InputError, match=r"both test.txt and testset.txt could be the test file"):
            find_folds(folder)
        write_folds(letor_folds(small()), folder.parent / "other")
        with pytest.raises(InputError, match=r"folds in several folders \(data, other\)"):
            find_folds(folder.parent)

    def test_shared_queries_are_named(self, folder):
        place = folder / "Fold1"
        lines = (place / "train.txt").read_text().splitlines(keepends=True)
        (place / "test.txt").write_text("".join(line for line in lines if " qid:3 " in line or " qid:5 " in line))
        with pytest.raises(InputError, match=r"train.txt and .*test.txt share 2 queries \(3, 5\)"):
            Plan.of(folder)

    def test_other_features(self, folder):
        write_folds(letor_folds(letor_queries(20, n_features=7, sizes=(8, 20), seed=0)), folder.parent / "wide")
        (folder.parent / "wide" / "Fold2" / "test.txt").replace(folder / "Fold2" / "test.txt")
        with pytest.raises(InputError, match=r"Fold2/test.txt has 7 features, but .*train.txt has 6.*--features 7"):
            Plan.of(folder)
        assert Plan.of(folder, n_features=7).folds[1].test.shape[1] == 7
        for part in ("train", "vali"):
            (folder.parent / "wide" / "Fold2" / f"{part}.txt").replace(folder / "Fold2" / f"{part}.txt")
        with pytest.raises(InputError, match=r"Fold2/train.txt has 7 features, but .*Fold1/train.txt has 6"):
            Plan.of(folder)


def without_times(folder):
    found = {}
    for path in sorted(folder.glob("Fold*/[!.]*.json")):
        found[path.name, path.parent.name] = {k: v for k, v in json.loads(path.read_text()).items() if k != "seconds"}
    return found


class TestRuns:
    def test_a_run_is_complete_and_its_table_adds_up(self, folder, tmp_path):
        found = letor_experiment(folder, QUICK, grid="quick", output=tmp_path / "out")
        assert found.methods == tuple(QUICK)
        assert len(found.trials) == 15
        table = pl.read_csv(tmp_path / "out" / "letor.csv")
        own = table.filter(pl.col("method") == "ridge", pl.col("measure") == "NDCG@3")
        by_fold = own.filter(pl.col("fold") != "mean")["value"].to_numpy()
        assert found.mean("ridge", "NDCG@3") == pytest.approx(by_fold.mean())
        words = json.loads((tmp_path / "out" / "letor.json").read_text())
        assert words["methods"]["RankSVM"]["MAP"] == found.mean("RankSVM", "MAP")
        assert words["n_queries"] == 20
        assert "| published | 0.4958 |" in (tmp_path / "out" / "letor.md").read_text()

    def test_the_best_is_what_its_label_says(self, folder):
        found = letor_experiment(folder, ["RankSVM"], grid="quick", choice="best")
        trial, fold = found.trials[0], letor_folds(small())[0]
        convention = Convention.named("letor", 3)
        rankers = {
            c.label: c.fit(fold.train, fold.vali)
            for c in METHODS["RankSVM"].candidates(Setting(fold.train, convention.dcg, "quick"))
        }
        values = {
            label: convention.means(convention.measures(fold.vali, ranker.predict(fold.vali)))[
                MEASURES.index("NDCG@10")
            ]
            for label, ranker in rankers.items()
        }
        assert {label: value for label, value, _ in trial.candidates} == pytest.approx(values)
        label = max(values, key=values.get)
        assert trial.candidates[0][0] == label
        assert np.array_equal(trial.measures["best"], convention.measures(fold.test, rankers[label].predict(fold.test)))

    def test_an_interrupted_run_goes_on_to_the_same_results(self, folder, tmp_path):
        whole, part = tmp_path / "whole", tmp_path / "part"
        letor_experiment(folder, QUICK, grid="quick", output=whole)
        command = ["letor", str(folder), "--quick", "--jobs", "1", "-o", str(part), *(f"--method={m}" for m in QUICK)]
        code = "import sys; from dcglearn.cli import main; sys.argv = ['dcglearn', *sys.argv[1:]]; main()"
        running = subprocess.Popen([sys.executable, "-c", code, *command], stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while time.monotonic() < until and len(list(part.glob("Fold*/[!.]*.json"))) < 2 and running.poll() is None:
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        assert list(part.glob("Fold*/[!.]*.json"))
        kept = {path: path.stat().st_mtime_ns for path in part.glob("Fold*/[!.]*.json")}
        letor_experiment(folder, QUICK, grid="quick", output=part, resume=True)
        assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
        assert without_times(part) == without_times(whole)
        assert (part / "letor.csv").read_bytes() == (whole / "letor.csv").read_bytes()

    def test_an_interrupt_stops_all_processes(self, folder, tmp_path):
        command = [
            "letor",
            str(folder),
            "--jobs",
            "2",
            "-o",
            str(tmp_path / "out"),
            "--method=ridge",
            "--method=SmoothAP",
        ]
        code = "import sys, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        code += "from dcglearn.cli import main; sys.argv = ['dcglearn', *sys.argv[1:]]; main()"
        running = subprocess.Popen(
            [sys.executable, "-c", code, *command], stderr=subprocess.DEVNULL, start_new_session=True
        )
        until = time.monotonic() + 60
        while time.monotonic() < until and not list((tmp_path / "out").glob("Fold*/[!.]*.json")):
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) == 130
        for path in (tmp_path / "out").glob("Fold*/[!.]*.json"):
            json.loads(path.read_text())

    def test_processes_change_nothing(self, folder, tmp_path):
        letor_experiment(folder, ["ridge", "RankSVM"], grid="quick", output=tmp_path / "one")
        letor_experiment(folder, ["ridge", "RankSVM"], grid="quick", output=tmp_path / "two", jobs=2)
        assert without_times(tmp_path / "one") == without_times(tmp_path / "two")

    def test_results_of_other_data_are_refused(self, folder, tmp_path):
        out = tmp_path / "out"
        letor_experiment(folder, ["ridge"], grid="quick", output=out)
        with pytest.raises(InputError, match="holds 5 results; keep them with --resume"):
            letor_experiment(folder, ["ridge"], grid="quick", output=out)
        for changed in ({"metric": "standard"}, {"seed": 1}, {"grid": "default"}):
            with pytest.raises(InputError, match="is of other data or settings"):
                letor_experiment(folder, ["ridge"], **{"grid": "quick", **changed}, output=out, resume=True)
        (out / "Fold1" / "ridge.json").write_text('{"format": "dcglearn.letor"}')
        with pytest.raises(InputError, match=r"ridge.json: .*remove it to train anew"):
            letor_experiment(folder, ["ridge"], grid="quick", output=out, resume=True)

    def test_a_query_without_relevant_documents_counts_as_the_convention_says(self, folder):
        place = folder / "Fold1" / "test.txt"
        lines = place.read_text().splitlines(keepends=True)
        first = lines[0].split()[1]
        place.write_text("".join("0" + line[1:] if line.split()[1] == first else line for line in lines))
        letor = letor_experiment(folder, ["ridge", "RankSVM"], grid="quick")
        other = letor_experiment(folder, ["ridge", "RankSVM"], grid="quick", metric="standard")
        assert letor.trials[0].measures["best"][0].max() == 0
        assert np.isnan(other.trials[0].measures["best"][0]).all()
        assert "(1 test queries without a relevant document are left out)" in str(other)
        assert "left out" not in str(letor)
        assert other.tests("ridge").frame["difference"].is_finite().all()
        json.dumps(other.to_dict(), allow_nan=False)

    def test_paired_tests(self, folder):
        found = letor_experiment(folder, QUICK, grid="quick")
        frame = found.tests("RankSVM", ["NDCG@10", "MAP"]).frame
        assert set(frame["run"]) == {"ridge", "AdaRank.MAP"}
        each = np.concatenate([trial.measures["blend"] for trial in found.trials if trial.method == "ridge"])
        base = np.concatenate([trial.measures["blend"] for trial in found.trials if trial.method == "RankSVM"])
        row = frame.filter(pl.col("run") == "ridge", pl.col("measure") == "MAP")
        assert row["difference"][0] == pytest.approx((each - base)[:, -1].mean())


def test_what_is_blended_by_hand():
    values = np.array([[0.4, 0.8, 0.6, np.nan], [0.5, 0.6, 0.6, np.nan], [0.4, 0.7, 0.5, np.nan]])
    means, used = within_error(values)  # differences of the second: -.1, .2, 0, of mean 1/30 and error .0882
    assert means == pytest.approx([0.6, 17 / 30, 16 / 30])
    assert used.tolist() == [True, True, False]  # those of the third: 0, .1, .1, of mean .0667 and error .0333
    assert within_error(values[:, :1])[1].tolist() == [False, True, False]
    assert within_error(values[:, 3:])[1].all()


class TestMethods:
    @pytest.mark.parametrize("name", METHODS)
    def test_every_method_learns(self, name):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, seed=1)
        train, vali = data[:20], data[20:]
        for candidate in METHODS[name].candidates(Setting(train, DCG.standard(3, 10, "exponential", "letor"), "quick")):
            ranker = candidate.fit(train, vali)
            scores = np.random.default_rng(0).normal(size=vali.shape[0])
            assert ranker.score(vali) > vali.evaluate(scores, ranker.metric_).mean() + 0.1, candidate.label

    def test_labels_tell_candidates_apart(self):
        setting = Setting(small(), DCG.standard(3, 10))
        for method in METHODS.values():
            if method.model == "trees":
                pytest.importorskip("lightgbm")
            for grid in ("default", "quick", "papers"):
                labels = [candidate.label for candidate in method.candidates(replace(setting, grid=grid))]
                assert len(set(labels)) == len(labels) > 0, method.name

    @pytest.mark.parametrize("name", ["ApproxNDCG", "SmoothNDCG", "SHF-SDCG", "RSRank"])
    def test_the_papers_own_grids_learn(self, name):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, seed=1)
        setting = Setting(data[:20], DCG.standard(3, 10, "exponential", "letor"), "papers")
        candidate = next(METHODS[name].candidates(setting))
        guess = data[20:].evaluate(np.random.default_rng(0).normal(size=data[20:].shape[0]), setting.dcg).mean()
        assert candidate.fit(data[:20], data[20:]).score(data[20:]) > guess + 0.1

    def test_names(self):
        assert method_named("reg_shf_sdcg") is METHODS["REG-SHF-SDCG"]
        with pytest.raises(InputError, match="'RankNet' is none of ApproxNDCG"):
            method_named("RankNet")


class TestCommand:
    def test_table_and_files(self, dcglearn, folder, tmp_path):
        arguments = ["letor", folder, "--quick", "--method", "ridge", "--method", "ranksvm", "--jobs", 1]
        status, out, err = dcglearn(*arguments, "-o", tmp_path / "out")
        assert status == 0
        assert "mean of NDCG" in out and "published" in out and "minus ridge" in out
        assert f"wrote: {tmp_path / 'out'}" in err
        status, out, err = dcglearn(*arguments, "-o", tmp_path / "out", "--resume", "--json", "--baseline", "RankSVM")
        assert json.loads(out)["methods"]["ridge"]["NDCG@1"] > 0
        status, out, err = dcglearn(*arguments, "-o", tmp_path / "out", "--resume", "--format", "csv")
        assert out.startswith("method,fold,measure,value\n")
        status, out, err = dcglearn(*arguments, "-o", tmp_path / "out", "--resume", "--format", "markdown")
        assert out.startswith("| method | NDCG@1 |")

    def test_dry_run(self, dcglearn, folder, tmp_path):
        status, out, err = dcglearn("letor", folder, "--dry-run", "-o", tmp_path / "out")
        assert (status, err) == (0, "")
        assert "Fold5: " in out
        assert "ApproxNDCG 26" in out
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nowhere"], "is not a folder"),
            (["data", "--method", "magic"], "is none of ApproxNDCG"),
            (["data", "--metric", "magic"], "give letor, standard"),
            (["data", "--resume"], "name the output folder"),
            (["data", "-o", "no/where"], "does not exist"),
            (["data", "--method", "ridge", "--baseline", "RankSVM"], "is not among the methods"),
        ],
    )
    def test_bad_input_is_one_line(self, dcglearn, folder, monkeypatch, arguments, message):
        monkeypatch.chdir(folder.parent)
        status, out, err = dcglearn("letor", *arguments)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1

    def test_folds_of_a_file_and_synthetic_ones(self, dcglearn, tmp_path, folder):
        status, out, err = dcglearn("folds", folder / "Fold1" / "train.txt", "-o", tmp_path / "split", "--folds", 4)
        assert (status, out) == (0, "")
        assert "4 folds of Queries(12 queries" in err
        assert [len(read_fold(one).test) for one in find_folds(tmp_path / "split")] == [3, 3, 3, 3]
        status, out, err = dcglearn("folds", "-o", tmp_path / "made", "--queries", 5, "--seed", 3)
        made, mine = read_fold(find_folds(tmp_path / "made")[1]), letor_folds(letor_queries(5, seed=3))[1]
        assert np.array_equal(made.test.features, mine.test.features)
        for arguments, message in (
            (["-o", tmp_path / "made"], "exists and is not empty"),
            (["-o", tmp_path / "no" / "where"], "does not exist"),
            ([folder / "Fold1" / "test.txt", "-o", tmp_path / "x"], "4 queries cannot make 5 folds"),
        ):
            status, out, err = dcglearn("folds", *arguments)
            assert status == 2
            assert message in err
