"""Sessions: a study as it is published, small and simulated here, and the committed table."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from simulations import real_logs, sessions

ROOT = Path(__file__).parents[2]
AVERAGE = dl.DCG([0, 1, 2, 3], np.ones(10), power=1.0)
"""The DCG of the simulated users."""


@pytest.fixture
def study(tmp_path):
    """Write the files of a study: six queries of each of eight users, who average."""
    rng, rows, labels = np.random.default_rng(0), [], {}
    for user in range(8):
        for query in range(6):
            ranks = np.sort(rng.choice(10, rng.integers(1, 8), replace=False))
            grades = rng.integers(0, 4, len(ranks))
            said = 3 * grades.mean() + rng.normal(0, 0.1)
            for rank, grade in zip(ranks.tolist(), grades.tolist(), strict=True):
                key = f"{user}-{query}-{rank}"
                labels[key] = None if rank == 9 else grade
                where = {"user": user, "task_id": 0, "query_position": query, "rank": float(rank)}
                rows.append({"id": key, "query_sat_score": round(said), "grade": grade, **where})
    table = pl.DataFrame(rows).rename({"grade": "usefulness_score"})
    for path, write in (
        (sessions.TABLE, table.write_csv),
        (f"{sessions.LABELS}/model.json", lambda file: file.write_text(json.dumps(labels))),
    ):
        file = tmp_path / "study" / path
        file.parent.mkdir(parents=True)
        write(file)
    return tmp_path / "study"


@pytest.mark.filterwarnings("ignore")
def test_a_study_as_published_makes_table_and_picture(study, tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "GRADERS", {"user": "usefulness_score", "model": "model.json"})
    monkeypatch.setattr(sessions, "REPEATS", 1)
    monkeypatch.setattr(sessions, "FOLDS", 2)
    log, of_model = (sessions.read(study, grader) for grader in ("user", "model"))
    assert len(log) == len(of_model) and log.agreement(AVERAGE).share > 0.9
    assert (of_model.preferred[log.preferred[:, 9] >= 0, 9] == -1).all()  # not labelled

    out = tmp_path / "out"
    out.mkdir()
    real_logs.main([str(study), "--folder", str(out)])
    table = pl.read_csv(out / "sessions.csv")
    assert table["grader"].unique(maintain_order=True).to_list() == ["user", "model"]
    default = table.filter(grader="user", metric=sessions.DEFAULT)
    assert default["lead"].item() == 0 and default["share"].item() > 0.85
    assert (out / "sessions.png").stat().st_size > 1000


def test_the_page_has_the_numbers_of_the_table():
    page = (ROOT / "docs" / "does_it_help.md").read_text()
    for row in pl.read_csv(ROOT / "figures" / "sessions.csv").iter_rows(named=True):
        cell = f"{row['share']:.3f}"
        if row["metric"] != sessions.DEFAULT:
            cell += f" ({row['lead']:+.3f}: {row['low']:+.3f} to {row['high']:+.3f})"
        assert cell.replace("0.", ".") in page, row
