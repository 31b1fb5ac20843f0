"""The program of calibration: its rows, its checks in their quick form, and the committed table."""

import argparse
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from simulations import calibration
from simulations.calibration import CELL, CHECKS, NOT_WORSE, Check, Promise, checked, keep, rows_of
from simulations.claims import FAILS, HOLDS, UNDECIDED, of_calibration
from simulations.draws_of_systems import board
from tests.makers import refused

ROOT = Path(__file__).parents[2]
SHORT = ("upside down", "alpha", "lead by raters", "noise ceiling", "ranks", "these topics")
"""Checks of each kind whose quick runs are short: tests, intervals, ranks, an LLM judge."""


def options(**changed):
    usual = {"quick": False, "repeats": None, "seed": 2027, "jobs": 1, "checks": []}
    return argparse.Namespace(**usual | changed)


@pytest.fixture
def table():
    return pl.read_csv(ROOT / "figures" / "calibration.csv")


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[] if x in SHORT else pytest.mark.long) for x in CHECKS]
)
@pytest.mark.filterwarnings("ignore:of 5 raters", "ignore:the log counts for")
def test_a_quick_run_gives_rows_of_the_committed_table(name, table):
    if name == "trees":
        pytest.importorskip("lightgbm")

    # cells that are drawn by chance have two logs of eight for sure
    is_drawn = name.startswith("upside down")
    rows = checked(name, options(quick=True, repeats=8 if is_drawn else None))
    assert len(rows) and (rows["repeats"] >= 2).all() and (is_drawn or rows["repeats"].max() == 2)
    columns = ("promise", "measure", "must_be")
    shown = table.filter(check=name).select(columns).unique()
    assert not len(rows.select(columns).unique().join(shown, on=columns, how="anti"))
    assert rows.select(pl.col("mean").is_between("low", "high").all()).item()


def test_rows_are_of_each_cell_and_of_cells_together():
    rng = np.random.default_rng(0)
    promises = [Promise("false", "errors", where={"truth": "a"}, level=0.05), Promise("x", "x")]
    check = Check(None, ("a", "b"), ("sure",), (10, 20), 1000, promises)
    records = [
        {**cell, "repeat": repeat, "false": int(rng.random() < 0.04), "x": rng.random()}
        for cell in check.settings()
        for repeat in range(1000)
    ]
    records = pl.DataFrame(records)
    rows = pl.DataFrame(list(rows_of("made up", check, records)))
    cells = [(row[:3], row[3]) for row in rows.select(*CELL, "measure").rows()]
    of_a = [("a", "sure", "10"), ("a", "sure", "20"), ("a", "sure", "all")]
    assert [cell for cell, measure in cells if measure == "errors"] == of_a
    assert len(cells) == 3 + 4 + 2 + 2 + 1

    # the exact interval, and the rule: two errors of .05 are .01 from 1,900 outcomes on
    first, _, both = rows.filter(measure="errors").to_dicts()
    hits = records.filter(truth="a", n=10)["false"].sum()
    exact = binomtest(hits, 1000).proportion_ci(0.95, "exact")
    assert (first["low"], first["high"]) == pytest.approx((exact.low, exact.high))
    assert (first["verdict"], both["verdict"], both["values"]) == (UNDECIDED, HOLDS, 2000)
    assert set(rows.filter(measure="x")["verdict"]) == {""}


def test_the_committed_table_has_all_cells_and_repeats(table):
    assert table["check"].unique(maintain_order=True).to_list() == list(CHECKS)
    for name, check in CHECKS.items():
        rows = table.filter(check=name)
        assert rows["promise"].n_unique() == len(check.promises)
        if not name.startswith("upside down"):  # whose cells are drawn
            later = [promise.words for promise in NOT_WORSE]  # of draws since it was asked
            whole = rows.filter(~pl.col("measure").is_in(later))
            assert (whole["repeats"] == check.repeats).all(), name
        assert rows["repeats"].max() <= check.repeats


def test_verdicts_of_the_committed_table_follow_from_its_intervals(table):
    number = r"-?[\d.]+"
    for row in table.filter(pl.col("must_be") != "").to_dicts():
        words, low, high = row["must_be"], -np.inf, np.inf
        if between := re.fullmatch(rf"({number}) to ({number})", words):
            low, high = map(float, between.groups())
        elif words[0] == "±":
            low, high = -float(words[1:]), float(words[1:])
        elif words[0] == ">":
            low = float(words[1:])
        else:
            high = float(words[1:])
        if words[0] == "≤":
            expected = {FAILS} if row["low"] > high else {HOLDS, UNDECIDED}
        elif row["low"] >= low and row["high"] <= high:
            expected = {HOLDS}
        else:
            expected = {FAILS} if row["high"] < low or row["low"] > high else {UNDECIDED}
        assert row["verdict"] in expected, row


def test_a_check_that_runs_again_replaces_its_rows_alone(table, tmp_path):
    keep(table, tmp_path)
    again = table.filter(check="alpha").with_columns(commit=pl.lit("new"))
    keep(again, tmp_path)
    both = pl.read_csv(tmp_path / "calibration.csv")
    assert both.drop("commit").equals(table.drop("commit"))
    assert set(both.filter(commit="new")["check"]) == {"alpha"}


def test_quick_runs_print_and_keep_nothing_and_unknown_checks_are_refused(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["calibration", "alpha", "--quick", "--folder", str(tmp_path)])
    calibration.main()
    assert "90% intervals cover" in capsys.readouterr().out and not list(tmp_path.iterdir())
    refused("'beta' is none of", calibration.run, options(checks=["beta"]))
    monkeypatch.setattr(sys, "argv", ["calibration", "beta"])
    with pytest.raises(SystemExit, match="2"):
        calibration.main()


def test_claims_have_a_row_for_each_promise(table):
    claims = of_calibration(ROOT / "figures" / "calibration.csv")
    promised = table.filter(pl.col("must_be") != "")
    assert len(claims) == len(promised.unique(["check", "promise"]))
    assert claims["claim"].is_duplicated().sum() < len(claims) / 3
    first = claims.row(0, named=True)
    assert first["claim"] == "90% bands cover: share of gains and discounts: 10% wrong"
    assert first["place"] == "bands" and first["program"] == "calibration"


def test_hundred_boards_are_covered_and_no_wider_than_by_holm():
    rng = np.random.default_rng(2026)
    found = [board(rng, "means that differ", "", 50, n_flips=2000) for _ in range(100)]
    covered, width, holm = (
        np.mean([one[name] for one in found]) for name in ("covered", "width", "width_holm")
    )
    assert covered >= 0.95 - 2 * (0.95 * 0.05 / 100) ** 0.5
    assert width < holm and width == pytest.approx(11.4, abs=0.5)


def test_equal_systems_are_told_apart_no_more_often_than_the_level_says():
    rng = np.random.default_rng(2026)
    found = [board(rng, "equal means", "", 10, n_flips=500)["covered"] for _ in range(300)]
    assert np.mean(found) >= 0.95 - 2.5 * (0.95 * 0.05 / 300) ** 0.5
