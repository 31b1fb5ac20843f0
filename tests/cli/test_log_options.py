"""``dcglearn learn`` on many files."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.makers import random_log

pytest.importorskip("pyarrow")


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    log = random_log(3000, noise=0.1)
    for i in range(3):
        log[1000 * i : 1000 * (i + 1)].save(folder / f"{i}.parquet")
    log.save(tmp_path / "all.jsonl")
    return folder


def test_many_files_give_what_one_gives(dcglearn, logs, tmp_path):
    qp = ("--method", "qp")
    wanted = json.loads(dcglearn("learn", tmp_path / "all.jsonl", *qp)[1])
    for options in (
        [logs],
        [f"{logs}/*.parquet"],
        sorted(logs.iterdir()),
        [logs / "0.parquet", logs / "1.parquet", logs / "2.parquet", "--grades", 5],
    ):
        status, out, err = dcglearn("learn", *options, *qp)
        assert status == 0 and "3,000 pairs" in err, err
        assert json.loads(out)["gains"] == pytest.approx(wanted["gains"], abs=1e-6)


def test_a_damaged_part_is_named(misuse, logs):
    (logs / "1.parquet").write_bytes(b"PAR1")
    misuse("1.parquet: not a Parquet file", "learn", logs)


def test_parquet_files_that_name_systems_are_read(dcglearn, tmp_path):
    systems = {"system_a": ["old"] * 40, "system_b": ["new"] * 40, "winner": ["old", "new"] * 20}
    table = {"a": [[2, 0], [0, 1]] * 20, "b": [[0, 1], [2, 0]] * 20, **systems}
    for name in ("1", "2"):
        pl.DataFrame(table).write_parquet(tmp_path / f"{name}.parquet")
    status, _, err = dcglearn("convert", tmp_path, "-o", tmp_path / "log.jsonl")
    assert status == 0 and "(80 lines, " in err, err


def test_several_files_of_other_formats_are_read_as_one_log(dcglearn, here):
    Path("logs").mkdir()
    whole = random_log(60, seed=1)
    whole[:40].save("logs/a.jsonl")
    whole[40:].save("logs/b.json")
    Path("logs/.hidden").touch()
    for paths in (["logs"], ["logs/a.jsonl", "logs/b.json"], ["logs/*.js*"]):
        assert dcglearn("convert", *paths, "-o", "all.jsonl", "--force")[0] == 0
        assert (
            Path("all.jsonl").read_bytes()
            == Path("logs/a.jsonl").read_bytes() + Path("logs/b.json").read_bytes()
        )
    assert dcglearn("audit", "logs", "--as-is", "-o", "audit.html")[0] == 0
    assert "dcglearn audit logs --as-is" in Path("audit.html").read_text(encoding="utf-8")
