"""Each simulation runs with --quick, agrees with its claims, and leaves no partial results."""

import importlib
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import simulations.__main__
from simulations import results, run
from simulations.claims import HOLDS
from tests.makers import refused
from tests.tables import table

ROOT = Path(__file__).parents[2]
KINDS = ("figure", "study", "theory", "train")
PROGRAMS = sorted(
    path.stem for kind in KINDS for path in (ROOT / "simulations").glob(f"{kind}_*.py")
)
OF_TREES = {"train_trees"}
FINE = {"figure_09", "study_e_pairs_needed", "study_s_proxy", "train_trees"}
"""Programs whose claims are of rates and narrow ranges, which two quick repeats cannot show."""
ROWS = {
    "study_e_pairs_needed": pl.col("censored").is_in([0, 1]),
    "study_s_proxy": pl.all_horizontal(
        pl.col("people", "machine", "both").fill_null(1).is_between(0.3, 1)
    ),
    "theory_schedules": pl.all_horizontal(pl.col("train", "test").is_between(0, 1)),
}
"""What is true of every row of a program's table, however few its repeats, beside its claims."""


def this_round(name):
    """Return whether a committed table has this round's seed; the others are replaced when their
    programs run again.
    """
    return results.options_of(ROOT / "figures" / f"{name}.csv").startswith(f"# seed={run.SEED} ")


def options(folder, *more):
    return simulations.__main__.parser("").parse_args(
        ["--folder", str(folder), "--jobs", "1", *more]
    )


@pytest.fixture(scope="module")
def figure_09(tmp_path_factory):
    """Return the program of figure 9, and a folder with its quick results of two repeats."""
    folder = tmp_path_factory.mktemp("figure_09")
    module = importlib.import_module("simulations.figure_09")
    results.produce(module, options(folder, "--quick", "--repeats", "2"))
    return module, folder


@pytest.fixture
def copied(figure_09, tmp_path):
    """Return the program of figure 9, and a folder of the test's own with those results."""
    return figure_09[0], shutil.copytree(figure_09[1], tmp_path / "copied")


LONG = ("study_", "theory_", "train_")
"""What the names of programs begin with whose quick runs `make test` leaves out: all but the
figures of the paper.
"""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name.startswith(LONG) else [])
        for name in PROGRAMS
    ],
)
@pytest.mark.filterwarnings("ignore:the log counts for", "ignore:No artists with labels")
def test_quick_results_agree_with_what_holds(tmp_path, name):
    """Of the claims that hold on the committed table, half and all exact ones hold for means of a
    quick run.
    """
    if name in OF_TREES:
        pytest.importorskip("lightgbm")
    module = importlib.import_module(f"simulations.{name}")
    claims, table = (
        results.produce(module, options(tmp_path, "--quick", "--repeats", "2")),
        results.read(tmp_path, name),
    )
    for suffix, magic in ((".png", b"\x89PNG"), (".csv", f"# seed={run.SEED} ".encode())):
        assert (tmp_path / f"{name}{suffix}").read_bytes().startswith(magic)
    if this_round(name):
        assert table.columns == results.read(ROOT / "figures", name).columns
    committed = results.tested(module, ROOT / "figures")
    hold = {claim.text for claim in committed if claim.verdicts[0] == HOLDS}
    assert claims
    means = [(claim, claim.measured[0].mean) for claim in claims if claim.text in hold]
    agreeing = [claim for claim, value in means if claim.low - 1e-12 <= value <= claim.high + 1e-12]
    assert name in FINE or 2 * len(agreeing) >= len(means)
    assert all(claim in agreeing for claim, _ in means if claim.low == claim.high)
    assert table.select(ROWS.get(name, pl.lit(True)).all()).item()
    if name in DERIVED:
        DERIVED[name](module, table)


def of_optimal_lists(module, table):
    for truth in run.TRUTHS:
        rows = table.filter(truth=truth, repeat=0)
        fitted = 100 * np.polyfit(rows["n"], rows["precision"], 1)[0]
        assert module.slopes(table).filter(truth=truth, repeat=0)["slope"].item() == pytest.approx(
            fitted
        )


DERIVED = {"figure_09": of_optimal_lists}
"""What programs derive from their tables, against the same by hand."""


def test_same_seed_same_bytes_for_any_number_of_processes(tmp_path, figure_09):
    module, folder = figure_09
    results.produce(module, options(tmp_path, "--quick", "--repeats", "2", "--jobs", "2"))
    for file in folder.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()


def test_an_interrupted_run_changes_nothing_and_missing_results_are_made_again(monkeypatch, copied):
    module, folder = copied
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        results.produce(module, options(folder, "--quick", "--repeats", "2", "--force"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    results.produce(
        module, options(folder, "--quick", "--repeats", "2")
    )  # results exist: nothing runs
    (folder / "figure_09.csv").unlink()
    with pytest.raises(KeyboardInterrupt):
        results.produce(module, options(folder, "--quick", "--repeats", "2"))


def test_results_that_are_kept_are_named(copied, capsys):
    module, folder = copied
    results.produce(module, options(folder, "--quick", "--repeats", "2"))
    assert f"kept: {folder / 'figure_09'}.csv" in capsys.readouterr().err


def test_a_claim_whose_rows_no_table_has_fails(monkeypatch, copied):
    module, folder = copied
    claims = results.tested(module, folder)
    lost = replace(claims[0], rows={"truth": "D3"})
    monkeypatch.setattr(module, "claims", lambda table: iter([lost, *claims]))
    assert results.tested(module, folder) == claims  # quick runs leave some out, but not all
    monkeypatch.setattr(module, "claims", lambda table: iter([lost]))
    refused(r"no two repeats of rows \{'truth': 'D3'\}", results.tested, module, folder)
    monkeypatch.setattr(module, "claims", lambda table: iter([lost, *claims]))
    table = folder / "figure_09.csv"
    table.write_text(table.read_text().replace("quick=True", "quick=False"))
    refused("correct the claim's rows", results.tested, module, folder)


def test_a_missing_picture_is_drawn_from_the_table(monkeypatch, copied):
    module, folder = copied
    before, claims = (
        {path.name: path.read_bytes() for path in folder.iterdir()},
        results.tested(module, folder),
    )
    (folder / "figure_09.png").unlink()
    monkeypatch.setattr(module, "trial", None)
    again = options(folder, "--quick", "--repeats", "2")
    assert results.produce(module, again) == claims
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_results_of_other_options_are_kept_unless_forced(copied):
    module, folder = copied
    before = (folder / "figure_09.csv").read_bytes()
    other = ("--quick", "--repeats", "2", "--seed", "1")
    refused("other options", results.produce, module, options(folder, *other))
    assert (folder / "figure_09.csv").read_bytes() == before
    results.produce(module, options(folder, *other, "--force"))
    assert (
        (folder / "figure_09.csv").read_text().startswith("# seed=1 repeats=2 quick=True commit=")
    )


@table(
    ("arguments", "message"),
    [
        (["figure_09", "--repeats", "0"], "repeats=0: must be at least 2"),
        (["figure_09", "--seed", "-1"], "seed=-1: must be at least 0"),
        (["figure_09", "--jobs", "0"], "jobs=0: must be at least 1"),
        (["figure_09", "--folder", "/nowhere"], "does not exist"),
    ],
)
def test_bad_settings_end_with_status_2(arguments, message, tmp_path, monkeypatch, capsys):
    if "--folder" not in arguments:
        arguments = [*arguments, "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["simulations", *arguments])
    with pytest.raises(SystemExit) as end:
        simulations.__main__.main()
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_module_runs_as_a_program(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["simulations", "figure_9", "--folder", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "simulations.__main__")
    with pytest.raises(SystemExit) as end:
        runpy.run_module("simulations", run_name="__main__")
    printed, words = capsys.readouterr()
    assert (end.value.code, printed) == (2, "")
    assert "the beginning of none of figure_00" in words and "Traceback" not in words


def test_the_kernels_of_linear_algebra_are_fixed_before_numpy_is_loaded():
    code = (
        "import os, simulations, sys; "
        "print('numpy' in sys.modules, os.environ.get('OPENBLAS_CORETYPE'))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    call = [sys.executable, "-c", code]
    done = subprocess.run(
        call, capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    expected = "Haswell" if platform.machine() in ("x86_64", "AMD64") else None
    assert done.stdout.split() == ["False", str(expected)]


FEWER = {"train_trees": 6}
"""Fewest repeats of long programs: a repeat grows 78 ensembles."""


@table("name", PROGRAMS)
def test_committed_tables_have_full_repeats(name):
    module = importlib.import_module(f"simulations.{name}")
    assert FEWER.get(name, 20) <= module.REPEATS
    head = results.options_of(ROOT / "figures" / f"{name}.csv")
    if this_round(name):
        assert head == f"# seed={run.SEED} repeats={module.REPEATS} quick=False"
    repeats = int(re.fullmatch(r"# seed=\d+ repeats=(\d+) quick=False", head)[1])
    assert np.unique(results.read(ROOT / "figures", name)["repeat"]).size == repeats


def test_simulations_import_only_public_names():
    # what `learn` says of its judges, which no public function returns
    judged = {
        "from dcglearn.trust.calibration import Calibration, shrunk\n",
        "from dcglearn.trust.held_out import cross_fitted\n",
        # ranks of thousands of boards, which are arrays of differences
        "from dcglearn.evaluation.paired_tests import corrected\n",
        "from dcglearn.evaluation.rank_intervals import open_ranks\n",
    }
    of_program = {"draws_of_logs": judged, "draws_of_systems": judged}
    for path in (ROOT / "simulations").glob("*.py"):
        text = path.read_text()
        for line in of_program.get(path.stem, set()):
            text = text.replace(line, "")
        assert "from dcglearn" not in text
        assert "import dcglearn." not in text
