"""A scheduler and workers that are started by hand, as processes of their own, serve the command
line.
"""

import subprocess
import sys
import time
from contextlib import ExitStack

import pytest

pytest.importorskip("pyarrow")
distributed = pytest.importorskip("distributed")

from dcglearn.simulate import ground_truth, write_log  # noqa: E402

pytestmark = pytest.mark.long


@pytest.fixture
def address(tmp_path):
    """Start a scheduler and two workers with Dask's own commands; return the scheduler's
    address."""
    file = tmp_path / "scheduler.json"
    scheduler = ["distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0"]
    worker = [
        "distributed.cli.dask_worker",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--memory-limit",
        "0",
    ]
    with ExitStack() as running:
        for command in (scheduler, worker, worker):
            started = subprocess.Popen(
                [sys.executable, "-m", *command, "--scheduler-file", str(file)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=tmp_path,
            )
            running.callback(started.wait)
            running.callback(started.terminate)
            while not file.exists():
                assert started.poll() is None, "the scheduler did not start"
                time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
            assert len({info["id"] for info in client.scheduler_info()["workers"].values()}) == 2
            yield client.scheduler.address


def test_a_fit_over_separate_processes_has_the_bytes_of_a_local_one(address, tmp_path, dcglearn):
    for i in range(3):
        write_log(
            tmp_path / f"part{i}.parquet",
            ground_truth("D1"),
            2000,
            lists="free",
            flip_rate=0.1,
            random_state=i,
        )
    learn = ("learn", tmp_path / "part*.parquet", "--method", "qp")
    for name, more in (("near.json", ("--workers", 2)), ("far.json", ("--workers", address))):
        status, _, said = dcglearn(*learn, *more, "-o", tmp_path / name)
        assert status == 0, said
    assert (tmp_path / "near.json").read_bytes() == (tmp_path / "far.json").read_bytes()
