"""LETOR's five-fold protocol: methods and their grids, runs that are resumed, several processes,
the command.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulations.__main__
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.synthetic import letor_queries
from simulations.letor.folds import find_folds, letor_folds, read_fold
from simulations.letor.measures import MEASURES, Convention
from simulations.letor.methods import METHODS, Setting, method_named
from simulations.letor.protocol import letor_experiment, within_error
from tests.makers import refused
from tests.rankers.makers import letor_like

ROOT = Path(__file__).parents[3]
QUICK = ["ridge", "RankSVM", "AdaRank.MAP"]


def without_times(folder):
    """Return the saved trials without their seconds, and without the checksum, which covers
    these."""
    return {
        (path.name, path.parent.name): {
            name: value
            for name, value in json.loads(path.read_text()).items()
            if name not in ("seconds", "sha256")
        }
        for path in sorted(folder.glob("Fold*/[!.]*.json"))
    }


def resigned(values):
    """Return the values of a trial with the checksum that they should have."""
    rest = {name: value for name, value in values.items() if name != "sha256"}
    return {**rest, "sha256": hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


def started(*arguments):
    """Start the command in a group of processes of its own, which an interrupt reaches."""
    code = "import sys, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from simulations.__main__ import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True, cwd=ROOT)


def trials_of(folder, least=0, running=None):
    """Return the files of trials in a folder, once there are so many or the process has ended."""
    until = time.monotonic() + 60
    while len(files := list(folder.glob("Fold*/[!.]*.json"))) < least and time.monotonic() < until:
        if running.poll() is not None:
            break
        time.sleep(0.01)
    return files


class TestRuns:
    def test_a_run_is_complete_and_its_table_adds_up(self, folder, tmp_path):
        result = letor_experiment(folder, QUICK, grid="quick", output=tmp_path / "out")
        assert result.methods == tuple(QUICK)
        assert len(result.trials) == 15
        table = pl.read_csv(tmp_path / "out" / "letor.csv")
        own = table.filter(pl.col("method") == "ridge", pl.col("measure") == "NDCG@3")
        by_fold = own.filter(pl.col("fold") != "mean")["value"].to_numpy()
        assert result.mean("ridge", "NDCG@3") == pytest.approx(by_fold.mean())
        saved = json.loads((tmp_path / "out" / "letor.json").read_text())
        assert saved["methods"]["RankSVM"]["MAP"] == result.mean("RankSVM", "MAP")
        assert saved["n_queries"] == 20
        assert "| published | 0.4958 |" in (tmp_path / "out" / "letor.md").read_text()

    def test_the_best_is_what_its_label_says(self, folder):
        result = letor_experiment(folder, ["RankSVM"], grid="quick", choice="best")
        trial, fold = result.trials[0], letor_folds(letor_like())[0]
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
        assert np.array_equal(
            trial.measures["best"],
            convention.measures(fold.test, rankers[label].predict(fold.test)),
        )

    @pytest.mark.posix
    def test_an_interrupted_run_goes_on_to_the_same_results(self, folder, tmp_path):
        whole, part = tmp_path / "whole", tmp_path / "part"
        letor_experiment(folder, QUICK, grid="quick", output=whole)
        methods = [f"--ranker={method}" for method in QUICK]
        running = started(
            "letor", folder, "--grid", "quick", "--jobs", 1, "--folder", part, *methods
        )
        assert trials_of(part, 2, running)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        kept = {path: path.stat().st_mtime_ns for path in trials_of(part)}
        letor_experiment(folder, QUICK, grid="quick", output=part, resume=True)
        assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
        assert without_times(part) == without_times(whole)
        assert (part / "letor.csv").read_bytes() == (whole / "letor.csv").read_bytes()

    @pytest.mark.posix
    def test_an_interrupt_stops_all_processes(self, folder, tmp_path):
        running = started(
            "letor",
            folder,
            "--jobs",
            2,
            "--folder",
            tmp_path / "out",
            "--ranker=ridge",
            "--ranker=SmoothAP",
        )
        trials_of(tmp_path / "out", 1, running)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) == 130
        trials = [json.loads(path.read_text()) for path in trials_of(tmp_path / "out")]
        assert trials

    def test_processes_change_nothing(self, folder, tmp_path):
        letor_experiment(folder, ["ridge", "RankSVM"], grid="quick", output=tmp_path / "one")
        letor_experiment(
            folder, ["ridge", "RankSVM"], grid="quick", output=tmp_path / "two", jobs=2
        )
        assert without_times(tmp_path / "one") == without_times(tmp_path / "two")

    def test_a_changed_result_is_refused(self, folder, tmp_path):
        letor_experiment(folder, ["ridge"], grid="quick", output=tmp_path / "out")
        file = tmp_path / "out" / "Fold1" / "ridge.json"
        values = json.loads(file.read_text())
        for change, message in (
            ({"best": [[1.0279] * 21] * len(values["queries"])}, "it has another SHA-256"),
            ({"sha256": ""}, "it has another SHA-256"),
            (
                resigned({**values, "best": [[1.0279] * 21] * len(values["queries"])}),
                r"a measure outside 0\.\.1",
            ),
            ({"version": 2}, r'not a result of this version, which reads 1 .*"version" 2'),
        ):
            file.write_text(json.dumps(values | change))
            again = {"grid": "quick", "output": tmp_path / "out", "resume": True}
            refused(
                rf"ridge.json: .*{message}.*; remove it",
                letor_experiment,
                folder,
                ["ridge"],
                **again,
            )

    def test_results_of_other_data_are_refused(self, folder, tmp_path):
        out = tmp_path / "out"
        run = partial(letor_experiment, folder, ["ridge"], grid="quick", output=out)
        run()
        refused("holds 5 results; keep them with --resume", run)
        for changed in ({"metric": "standard"}, {"seed": 1}, {"grid": "default"}):
            refused("is of other data or settings", run, **changed, resume=True)
        (out / "Fold1" / "ridge.json").write_text('{"format": "dcglearn.letor"}')
        refused(r"ridge.json: .*remove it to train again", run, resume=True)

    def test_a_query_without_relevant_documents_counts_as_the_convention_says(self, folder):
        place = folder / "Fold1" / "test.txt"
        lines = place.read_text().splitlines(keepends=True)
        first = lines[0].split()[1]
        place.write_text(
            "".join("0" + line[1:] if line.split()[1] == first else line for line in lines)
        )
        letor = letor_experiment(folder, ["ridge", "RankSVM"], grid="quick")
        other = letor_experiment(folder, ["ridge", "RankSVM"], grid="quick", metric="standard")
        assert letor.trials[0].measures["best"][0].max() == 0
        assert np.isnan(other.trials[0].measures["best"][0]).all()
        assert "(1 test queries without a relevant document are left out)" in str(other)
        assert "left out" not in str(letor)
        assert other.tests("ridge").table["difference"].is_finite().all()
        json.dumps(other.to_dict(), allow_nan=False)

    def test_paired_tests(self, folder):
        result = letor_experiment(folder, QUICK, grid="quick")
        frame = result.tests("RankSVM", ["NDCG@10", "MAP"]).table
        assert set(frame["run"]) == {"ridge", "AdaRank.MAP"}
        each = np.concatenate(
            [trial.measures["blend"] for trial in result.trials if trial.method == "ridge"]
        )
        base = np.concatenate(
            [trial.measures["blend"] for trial in result.trials if trial.method == "RankSVM"]
        )
        row = frame.filter(pl.col("run") == "ridge", pl.col("measure") == "MAP")
        assert row["difference"][0] == pytest.approx((each - base)[:, -1].mean())


class TestCommand:
    def test_table_and_files(self, dcglearn, folder, tmp_path):
        arguments = [
            "letor",
            folder,
            "--grid",
            "quick",
            "--ranker",
            "ridge",
            "--ranker",
            "ranksvm",
            "--jobs",
            1,
        ]
        status, out, err = dcglearn(*arguments, "--folder", tmp_path / "out")
        assert status == 0
        assert "mean of NDCG" in out and "published" in out and "differ from ridge" in out
        assert f"wrote: {tmp_path / 'out'}" in err
        as_json = ("--resume", "--format", "json", "--baseline", "RankSVM")
        status, out, err = dcglearn(*arguments, "--folder", tmp_path / "out", *as_json)
        assert json.loads(out)["methods"]["ridge"]["NDCG@1"] > 0
        for form, head in (
            ("csv", "method,fold,measure,value\n"),
            ("markdown", "| method | NDCG@1 |"),
        ):
            assert dcglearn(*arguments, "--folder", tmp_path / "out", "--resume", "--format", form)[
                1
            ].startswith(head)

    def test_dry_run(self, dcglearn, folder, tmp_path):
        status, out, err = dcglearn("letor", folder, "--dry-run", "--folder", tmp_path / "out")
        assert (status, err) == (0, "")
        assert "Fold5: " in out
        assert "ApproxNDCG 26" in out
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nowhere"], "is not a folder"),
            (["data", "--ranker", "magic"], "is none of ApproxNDCG"),
            (["data", "--metric", "magic"], "give letor, standard"),
            (["x" * 300], "x" * 40),
            (["data", "--resume"], "name the output folder"),
            (["data", "--folder", "no/where"], "does not exist"),
            (["data", "--ranker", "ridge", "--baseline", "RankSVM"], "is not among the methods"),
        ],
    )
    def test_bad_input_is_one_line(self, misuse, folder, monkeypatch, arguments, message):
        monkeypatch.chdir(folder.parent)
        assert misuse(message, "letor", *arguments).count("\n") == 1

    def test_a_seed_below_0_is_refused(self, misuse, folder):
        misuse("--seed", "letor", folder, "--seed", "-1")

    def test_the_program_names_the_commands_and_their_examples(self, dcglearn, monkeypatch):
        for command in ("letor", "folds"):
            page = dcglearn(command, "--help")[1]
            assert f"Usage: python -m simulations {command} [OPTIONS]" in page
            assert f"\n  python -m simulations {command} " in page
        monkeypatch.setattr(sys, "argv", ["simulations", "letor", "nowhere"])
        with pytest.raises(SystemExit) as end:
            simulations.__main__.main()
        assert end.value.code == 2

    def test_folds_of_a_file_and_synthetic_ones(self, dcglearn, misuse, tmp_path, folder):
        status, out, err = dcglearn(
            "folds", folder / "Fold1" / "train.txt", "--folder", tmp_path / "split", "--folds", 4
        )
        assert (status, out) == (0, "")
        assert "4 folds of Queries(12 queries" in err
        assert [len(read_fold(one).test) for one in find_folds(tmp_path / "split")] == [3, 3, 3, 3]
        status, out, err = dcglearn(
            "folds", "--folder", tmp_path / "made", "--queries", 5, "--seed", 3
        )
        made, mine = (
            read_fold(find_folds(tmp_path / "made")[1]),
            letor_folds(letor_queries(5, random_state=3))[1],
        )
        assert np.array_equal(made.test.features, mine.test.features)
        for arguments, message in (
            (["--folder", tmp_path / "made"], "exists and is not empty"),
            (["--folder", tmp_path / "no" / "where"], "does not exist"),
            (
                [folder / "Fold1" / "test.txt", "--folder", tmp_path / "x"],
                "4 queries cannot make 5 folds",
            ),
        ):
            misuse(message, "folds", *arguments)


def test_what_is_blended_by_hand():
    values = np.array([[0.4, 0.8, 0.6, np.nan], [0.5, 0.6, 0.6, np.nan], [0.4, 0.7, 0.5, np.nan]])
    means, used = within_error(
        values
    )  # differences of the second: -.1, .2, 0, of mean 1/30 and error .0882
    assert means == pytest.approx([0.6, 17 / 30, 16 / 30])
    assert used.tolist() == [
        True,
        True,
        False,
    ]  # those of the third: 0, .1, .1, of mean .0667 and error .0333
    assert within_error(values[:, :1])[1].tolist() == [False, True, False]
    assert within_error(values[:, 3:])[1].all()


OWN_GRIDS = ["ApproxNDCG", "SmoothNDCG", "SHF-SDCG", "RSRank"]
"""Methods of which the first candidate of their paper's grid is trained too."""


class TestMethods:
    @pytest.mark.parametrize(
        ("name", "grid", "most"),
        [
            *((name, "quick", None) for name in METHODS),
            *((name, "papers", 1) for name in OWN_GRIDS),
        ],
    )
    def test_every_method_learns(self, name, grid, most):
        if METHODS[name].model == "trees":
            pytest.importorskip("lightgbm")
        data = letor_queries(40, n_features=9, sizes=(20, 40), conflict=0.0, random_state=1)
        train, vali = data[:20], data[20:]
        setting = Setting(train, DCG.standard(3, 10, "exponential", "letor"), grid)
        for candidate in islice(METHODS[name].candidates(setting), most):
            ranker = candidate.fit(train, vali)
            scores = np.random.default_rng(0).normal(size=vali.shape[0])
            assert ranker.score(vali) > vali.evaluate(scores, ranker.metric_).mean() + 0.1, (
                candidate.label
            )

    def test_labels_tell_candidates_apart(self):
        setting = Setting(letor_like(), DCG.standard(3, 10))
        for method in METHODS.values():
            if method.model == "trees":
                pytest.importorskip("lightgbm")
            for grid in ("default", "quick", "papers"):
                labels = [
                    candidate.label for candidate in method.candidates(replace(setting, grid=grid))
                ]
                assert len(set(labels)) == len(labels) > 0, method.name

    def test_names(self):
        assert method_named("reg_shf_sdcg") is METHODS["REG-SHF-SDCG"]
        refused("'RankNet' is none of ApproxNDCG", method_named, "RankNet")
