"""Real logs: files as they are published, small and simulated here, and the committed table."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from simulations import real_logs

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "figures" / "real_logs.csv"
FLAT = dl.DCG(np.arange(5.0), np.ones(5))
"""The DCG of the simulated feed's readers."""


@pytest.fixture
def feed(tmp_path):
    """Write the files of a feed of five items, eight lists of each of twelve people."""
    rng = np.random.default_rng(0)
    shown, tasks = ["userid,taskid,imp_position,post_pref"], ["userid,taskid,satisfaction"]
    for person in range(12):
        for task in range(8):
            grades = rng.integers(0, 5, 5)
            tasks.append(f"{person},{task},{round(FLAT.score(grades) + rng.normal())}")
            rows = [f"{person},{task},{k},{grade + 1}.0" for k, grade in enumerate(grades, 1)]
            shown += rows[::-1]
    shown[1] = "0,0,5,"
    folder = tmp_path / "feed"
    folder.mkdir()
    (folder / "logs.csv").write_text("\n".join(shown))
    (folder / "tasks.csv").write_text("\n".join(tasks))
    return folder


@pytest.fixture
def music(tmp_path):
    """Write pairs of lists of twenty queries, judged by the best grade."""
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (240, 2, 3))
    lead = np.sign(np.subtract(*lists.swapaxes(0, 1).max(axis=2)))
    lines = [
        {"query": str(i % 20), "a": a, "b": b, "winner": ("tie", "a", "b")[x]}
        for i, ((a, b), x) in enumerate(zip(lists.tolist(), lead.tolist(), strict=True))
    ]
    folder = tmp_path / "music"
    folder.mkdir()
    (folder / "side_by_side.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def test_published_files_are_read(tmp_path, feed):
    log = real_logs.of_feed(feed / "logs.csv")
    assert log.depth == 5 and len(np.unique(log.rater)) == 12
    assert (log.ratings.lists == -1).sum() == 1
    rated = tmp_path / "fsd_train.txt"
    rated.write_text("a\t[1, 0]\t[4, 0, 1]\t5\nb\t[0]\t[0, 0, 1]\t2\n")
    log = real_logs.of_satisfaction(rated, 5)
    assert len(log) == 1 and log.preferred[0, :3].tolist() == [4, 0, 1]
    shuffled = tmp_path / "derived_lists_core18grades.tsv"
    head = "user\ttopic\tgrades_by_displayed_rank\tfeedback_1to6"
    shuffled.write_text(f"{head}\nu1\tt1\t2,u,.\t6\nu1\tt1\t0,1,.\t1\nu2\tt1\t1,1,1\t3\n")
    log = real_logs.of_shuffled(shuffled)
    assert len(log) == 1 and log.preferred[0, :3].tolist() == [2, -1, -2]


@pytest.mark.filterwarnings("ignore")
def test_logs_are_compared_on_what_is_held_out_and_missing_ones_named(tmp_path, music, capsys):
    out = tmp_path / "out"
    out.mkdir()
    real_logs.main([str(music), "--splits", "2", "--folder", str(out)])
    assert "left out: web-search-fsd, web-search-qref" in capsys.readouterr().out
    table = pl.read_csv(out / "real_logs.csv", infer_schema_length=None)
    shares = table.filter(part="share")
    assert shares["metric"].unique(maintain_order=True).to_list() == [
        *("default", "best textbook in training", real_logs.USUAL, "QP + SVD")
    ]
    assert shares["value"].is_between(0, 1).all() and len(shares) == 8
    curve = table.filter(part="curve")
    assert (curve["low"] <= curve["value"]).all() and (curve["value"] <= curve["high"]).all()
    assert curve.filter(curve="share")["value"].sum() == pytest.approx(1, abs=1e-4)
    assert (out / "real_logs.png").stat().st_size > 1000
    lead = real_logs.held_out(table).filter(metric=real_logs.USUAL)["lead"].item()
    own, usual = (shares.filter(metric=name)["value"] for name in ("default", real_logs.USUAL))
    assert lead == pytest.approx((own - usual).mean())
    with pytest.raises(SystemExit):
        real_logs.main([str(out)])


@pytest.mark.filterwarnings("ignore")
def test_shares_of_people_are_held_against_verdicts_on_other_queries(music, tmp_path, monkeypatch):
    monkeypatch.setattr(real_logs, "SIZES", (80,))
    monkeypatch.setattr(real_logs, "SPLITS", 2)
    real_logs.main([str(music), "--people", str(tmp_path / "people.png")])
    assert (tmp_path / "people.png").stat().st_size > 1000
    log = dl.read_preferences(music / "side_by_side.jsonl")
    said = real_logs.people(log, 80, 0)
    assert sum(said[f"true_{part}"] for part in ("take", "no_difference", "keep")) == (
        pytest.approx(100)
    )


def test_the_names_and_the_page_have_the_numbers_of_the_table():
    table = pl.read_csv(TABLE, infer_schema_length=None)
    for name in real_logs.SOURCES:
        gains = table.filter(part="curve", reader=name, curve="gain")["value"].to_numpy()
        np.testing.assert_allclose(gains, dl.metric(f"reader:{name}").gains, atol=1e-4)
    page = (ROOT / "docs" / "does_it_help.md").read_text()
    for row in real_logs.held_out(table).iter_rows(named=True):
        cell = f"{row['share']:.3f}"
        if row["metric"] != "default":
            cell += f" ({row['lead']:+.3f}: {row['low']:+.3f} to {row['high']:+.3f})"
        assert cell.replace("0.", ".") in page, row
