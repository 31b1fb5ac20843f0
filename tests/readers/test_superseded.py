"""Verdicts undone or read twice: in memory, in parts and over Dask."""

import json

import polars as pl
import pytest

from dcglearn.readers.read_log import read_preferences
from dcglearn.readers.superseded import reasons_of, reasons_of_parts
from tests.makers import rows, write


def line(name, winner="a", supersedes=None, a=(1, 0), b=(0, 1), **more):
    verdict = {
        "id": name,
        "query": "q",
        "a": list(a),
        "b": list(b),
        "winner": winner,
        "supersedes": supersedes,
    }
    return {"tie": None, "strength": None, **verdict, **more}


UNDONE = [
    line("v1"),
    line("v2", a=(2, 0)),
    line("u1", "open", supersedes="v1"),
    line("v3", "b", a=(2, 1)),
    line("v2", a=(2, 0)),
    line("v4", "tie", tie="both good", a=(2, 2)),
    line("v5", "tie", tie="both bad", a=(0, 0)),
    line("v6", "open"),
    line("v7", "b", supersedes="v3", a=(2, 2)),
]
STANDING = [((2, 0), (0, 1)), ((2, 2), (0, 1)), ((0, 0), (0, 1)), ((0, 1), (2, 2))]
LEFT_OUT = {
    "superseded verdicts": 2,
    "verdicts already read under the same id": 1,
    "lines withdrawing a verdict": 1,
    "open questions": 1,
}


def text(lines):
    return "".join(json.dumps(verdict) + "\n" for verdict in lines)


def parquet(folder, name, lines):
    path = folder / name
    pl.DataFrame(lines, infer_schema_length=None).write_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["json", "parquet", "csv"])
def test_an_undone_verdict_never_counts(tmp_path, kind):
    if kind == "json":
        path = write(tmp_path, "log.jsonl", text(UNDONE))
    elif kind == "parquet":
        path = parquet(tmp_path, "log.parquet", UNDONE)
    else:
        frame = pl.DataFrame(UNDONE, infer_schema_length=None)
        lists = [pl.col(side).cast(pl.List(pl.String)).list.join(" ") for side in "ab"]
        path = tmp_path / "log.csv"
        frame.with_columns(lists).write_csv(path)
    log = read_preferences(path)
    assert rows(log) == STANDING
    assert log.tie.tolist() == [False, True, True, False]
    assert log.dropped == LEFT_OUT


def test_the_kind_of_a_tie_may_stand_for_the_winner(tmp_path):
    lines = [line("v1", "both good"), line("v2", "Both Bad"), line("v3")]
    assert read_preferences(write(tmp_path, "log.jsonl", text(lines))).tie.tolist() == [
        True,
        True,
        False,
    ]


def test_an_id_means_nothing_without_a_column_supersedes(tmp_path):
    lines = [{"id": {"any": 1}, "a": [1, 0], "b": [0, 1], "winner": "a"}] * 2
    log = read_preferences(write(tmp_path, "log.jsonl", text(lines)))
    assert (len(log), log.dropped) == (2, {})
    numbered = [{**verdict, "id": 3} for verdict in lines]
    assert len(read_preferences(write(tmp_path, "numbered.jsonl", text(numbered)))) == 2
    assert len(read_preferences(parquet(tmp_path, "numbered.parquet", numbered))) == 2


def test_parts_decide_together(tmp_path, parted):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "log"
    folder.mkdir()
    for i, part in enumerate((UNDONE[:2], UNDONE[2:5], UNDONE[5:])):
        parquet(folder, f"{i}.parquet", part)
    with parted(folder) as log:
        parts = [row for part in log.parts.gathered(rows) for row in part]
        assert parts == STANDING
        assert log.dropped == LEFT_OUT
    whole = reasons_of(
        *([verdict[key] for verdict in UNDONE] for key in ("id", "supersedes")),
        [False] * len(UNDONE),
    )
    halves = (UNDONE[:4], UNDONE[4:])
    cut = reasons_of_parts(
        ([v["id"] for v in h], [v["supersedes"] for v in h], [False] * len(h)) for h in halves
    )
    assert [list(part) for part in cut] == [list(whole[:4]), list(whole[4:])]


def test_partitions_of_dask_decide_together():
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask.dataframe")
    from distributed import Client, LocalCluster

    from dcglearn.parts.dask_log import DaskLog

    frame = pl.DataFrame(UNDONE, infer_schema_length=None).to_pandas()
    cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    with (
        cluster,
        Client(cluster) as client,
        DaskLog(dask.from_pandas(frame, npartitions=3), client) as log,
    ):
        assert log.facts.n == len(STANDING)
        assert log.dropped == LEFT_OUT
