"""The same answer over a cluster, whatever the parts and whoever dies."""

import itertools
import logging
import os
import signal
import threading
import time

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.cluster import ClusterLost, check_versions
from dcglearn.reading.preferences import Preferences
from tests.makers import TRUTH, cluster_of, forked_workers, random_log, refused, rich_log

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def assert_same(one, other):
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    assert one.gap_ <= 1e-8
    np.testing.assert_allclose(one.utility_.weights, other.utility_.weights, atol=1e-6)
    assert one.visible_.notes == other.visible_.notes
    assert one.dropped_ == other.dropped_


def test_any_number_of_partitions_gives_the_local_answer(client):
    log = random_log(40_000, noise=0.1)
    local = dl.UtilityLearner().fit(log)
    with dl.io.DaskLog(log, client, partitions=7) as spread:
        assert_same(dl.UtilityLearner().fit(spread), local)
    for partitions in (1, 2, 65):  # sums of more than 64 parts are added on three levels
        shuffled = log[np.random.default_rng(partitions).permutation(len(log))]
        with dl.io.DaskLog(shuffled, client, partitions=partitions) as spread:
            assert_same(dl.UtilityLearner().fit(spread), local)


@pytest.mark.parametrize(
    "settings", [{"margin": "hamming"}, {"tie_epsilon": 0.1}, {"margin": TRUTH, "monotone": False}]
)
def test_every_variant_is_the_local_one(client, settings):
    log = rich_log(3000)
    local = dl.UtilityLearner(**settings).fit(log)
    with dl.io.DaskLog(log, client, partitions=5) as spread:
        assert_same(dl.UtilityLearner(**settings).fit(spread), local)


@pytest.mark.parametrize(("loss", "n"), [("robust", 33_000), ("logistic", 3000)])
def test_gains_and_discounts_are_the_local_ones(client, loss, n):
    log = rich_log(n)
    local = dl.DCGLearner(loss=loss).fit(log)
    with dl.io.DaskLog(log, client, partitions=4) as spread:
        far = dl.DCGLearner(loss=loss).fit(spread)
    assert far.objective_ == pytest.approx(local.objective_, rel=1e-9)
    assert far.n_effective_ == pytest.approx(
        local.n_effective_, rel=1e-14
    )  # a sum of weights, here over four parts
    assert far.dropped_ == local.dropped_
    assert list(far.rater_error_) == list(local.rater_error_)
    np.testing.assert_allclose(far.dcg_.gains, local.dcg_.gains, atol=1e-3)
    np.testing.assert_allclose(far.dcg_.discounts, local.dcg_.discounts, atol=1e-3)


def test_a_larger_scale_and_open_questions_reach_the_cluster(client, tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="dcglearn.parts.dask_log")
    log = random_log(50)
    with dl.io.DaskLog(log, client, n_grades=7) as spread:
        said = [record.getMessage() for record in caplog.records]
        assert said == [f"pairs: 50, parts: 1, on the cluster {client.scheduler.address}"]
        assert (spread.n_grades, dl.UtilityLearner().fit(spread).utility_.n_grades) == (7, 7)
    log.save(tmp_path / "a.parquet")
    log.to_polars().with_columns(winner=pl.lit("open")).write_parquet(tmp_path / "b.parquet")
    with dl.io.DaskLog(tmp_path, client, partitions=2) as spread:
        assert spread.dropped == {"open questions": 50}


def test_a_stated_scale_reaches_the_cluster_and_a_stray_grade_is_named(client, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    log = random_log(300).rescaled(6).changed(grade_names=tuple("uvwxyz"))
    log[:150].save(tmp_path / "a.parquet")
    log[150:].save(tmp_path / "b.parquet")
    table = pd.DataFrame(log.to_polars().to_dict(as_series=False))
    for given in (tmp_path, dataframe.from_pandas(table, npartitions=2)):
        with dl.io.DaskLog(given, client) as spread:
            assert (len(spread), spread.n_grades, spread.grade_names) == (300, 6, tuple("uvwxyz"))
    grades = log.preferred.copy()
    grades[200, 3] = 9
    frame = dl.Preferences(grades, log.other).to_polars().drop("scale")
    frame[:150].write_parquet(tmp_path / "a.parquet")
    frame[150:].write_parquet(tmp_path / "b.parquet")
    refused("^the grade 9 .1 of 6,000", dl.io.DaskLog, tmp_path, client)
    refused(
        "^the grade 9",
        dl.io.DaskLog,
        dataframe.from_pandas(frame.to_pandas(), npartitions=2),
        client,
    )


def test_the_bytes_do_not_depend_on_the_workers(client):
    log = random_log(30_000, noise=0.1)
    with dl.io.DaskLog(log, client, partitions=9) as spread:
        two = dl.UtilityLearner().fit(spread).utility_.weights.tobytes()
    with forked_workers(), dl.io.DaskLog(log, engine=1, partitions=9) as spread:
        one = dl.UtilityLearner().fit(spread).utility_.weights.tobytes()
    assert one == two


def watched(parts, on_pass):
    """Return the parts of a log that call `on_pass` before each sum over them."""

    class Watched(type(parts)):
        def mapped(self, function):
            return Watched(self.client, super().mapped(function).futures)

        def total(self, *arguments):
            on_pass()
            return super().total(*arguments)

    return Watched(parts.client, parts.futures)


@pytest.mark.posix
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, client):
    log = random_log(60_000, noise=0.1)
    with dl.io.DaskLog(log, client, partitions=20) as spread:
        before = dl.UtilityLearner().fit(spread).utility_.weights.tobytes()
        victim = next(iter(cluster.workers.values())).pid
        passes = []

        def kill() -> None:
            while len(passes) < 2:
                time.sleep(0.001)
            os.kill(victim, signal.SIGKILL)

        spread.parts = watched(spread.parts, lambda: passes.append(1))
        killer = threading.Thread(target=kill)
        killer.start()
        after = dl.UtilityLearner().fit(spread).utility_.weights.tobytes()
        killer.join()
        assert len(passes) > 4
    assert victim not in {worker.pid for worker in cluster.workers.values()}
    assert before == after


def test_parquet_and_tables_are_read_by_the_workers(client, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    log = rich_log(5000)
    for i in range(4):
        log[i * 1250 : (i + 1) * 1250].save(tmp_path / f"{i}.parquet")
    local = dl.UtilityLearner().fit(log)
    assert_same(dl.UtilityLearner().fit(tmp_path, engine=client), local)
    assert_same(
        dl.UtilityLearner().fit(f"{tmp_path}/*.parquet", engine=client.scheduler.address), local
    )
    table = dd.read_parquet(tmp_path)
    assert_same(dl.UtilityLearner().fit(table, engine=client), local)
    empty = table[table["weight"] > 1e9]
    with dl.io.DaskLog(dd.concat([empty, table]), client) as spread:  # some partitions hold nothing
        assert_same(dl.UtilityLearner().fit(spread), local)
    with dl.io.DaskLog(table.repartition(npartitions=1), client) as giant:
        assert_same(dl.UtilityLearner().fit(giant), local)


def save(folder, **logs):
    for name, log in logs.items():
        log.save(folder / f"{name}.parquet")


def test_partitions_that_do_not_go_together_are_named(client, tmp_path):
    ten, eight = random_log(10), random_log(10)
    save(tmp_path, a=ten, b=Preferences(eight.preferred[:, :8], eight.other[:, :8]))
    message = r"b\.parquet holds lists of 8 positions, .*a\.parquet of 10"
    refused(message, dl.io.DaskLog, tmp_path, client, partitions=2)
    refused(message, dl.UtilityLearner().fit, tmp_path, engine=client)
    message = r"a\.parquet, row 1: a holds the grade 4, outside 0\.\.2"
    refused(message, dl.UtilityLearner(n_grades=3).fit, tmp_path / "a.parquet", engine=client)


def test_a_damaged_file_is_named(client, tmp_path):
    save(tmp_path, good=random_log(1000), bad=random_log(1000, seed=1))
    content = bytearray((tmp_path / "bad.parquet").read_bytes())
    content[10 : len(content) // 2] = os.urandom(len(content) // 2 - 10)
    (tmp_path / "bad.parquet").write_bytes(content)
    refused(
        r"bad\.parquet: damaged in the rows from 1 on",
        dl.UtilityLearner().fit,
        tmp_path,
        engine=client,
    )
    (tmp_path / "bad.parquet").write_bytes(content[:-20])
    refused(
        r"bad\.parquet: not a Parquet file, or a truncated one",
        dl.UtilityLearner().fit,
        tmp_path,
        engine=client,
    )


def test_workers_without_the_package_or_with_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr("dcglearn.foundation.cluster.__version__", "0.0.1")
    refused(
        r"worker tcp://.* has dcglearn 0\.1\.0, this process 0\.0\.1: install the same",
        check_versions,
        client,
    )
    monkeypatch.undo()
    with cluster_of(1) as bare, distributed.Client(bare) as other:
        # What Python itself does when a module cannot be found.
        other.run(exec, "import sys; sys.modules['dcglearn'] = None")
        refused(
            r"lacks a package .*install dcglearn",
            dl.UtilityLearner().fit,
            random_log(10),
            engine=other,
        )


def test_engines_that_are_none_are_refused(monkeypatch):
    monkeypatch.setattr("dcglearn.foundation.cluster.CONNECT", 0.5)
    for engine in (0, True, 2.5):
        refused("is not a Dask client", dl.UtilityLearner().fit, random_log(10), engine=engine)
    refused(
        "no Dask scheduler", dl.UtilityLearner().fit, random_log(10), engine="tcp://127.0.0.1:1"
    )


def test_logs_that_cannot_be_spread_are_refused(client):
    log = Preferences.from_documents([["x", "y"]], [["y", "x"]])
    refused("leave engine= out", dl.UtilityLearner().fit, log, engine=client)
    refused(
        'solver="cvxpy" needs the whole log',
        dl.UtilityLearner(solver="cvxpy").fit,
        random_log(10),
        engine=client,
    )
    refused(
        "nothing to learn from",
        dl.UtilityLearner().fit,
        Preferences([[1, 0]], [[1, 0]]),
        engine=client,
    )
    strong = random_log(50, strength=np.arange(1.0, 51))
    refused("more than 7 distinct strengths", dl.DCGLearner().fit, strong, engine=client)


def test_a_cluster_without_workers_is_waited_for_and_then_given_up(monkeypatch):
    monkeypatch.setattr("dcglearn.foundation.cluster.PATIENCE", 0.5)
    with (
        cluster_of(0) as empty,
        distributed.Client(empty) as other,
        pytest.raises(ClusterLost, match=r"no worker is left, and none came"),
    ):
        dl.UtilityLearner().fit(random_log(10), engine=other)


def test_folds_are_the_local_ones(client):
    log = random_log(300, noise=0.1)
    near, far = (
        dl.trust.choose_C(log, grid=[0.01, 1.0], n_folds=3, random_state=0, engine=engine)
        for engine in (None, client)
    )
    np.testing.assert_array_equal(near.mean, far.mean)


def test_a_lost_scheduler_is_told():
    log = random_log(20_000, noise=0.1)
    with cluster_of(1) as cluster, distributed.Client(cluster, timeout=2) as doomed:
        spread, passes = dl.io.DaskLog(log, doomed, partitions=10), itertools.count(1)
        spread.parts = watched(spread.parts, lambda: cluster.close() if next(passes) == 4 else None)
        with pytest.raises(ClusterLost, match=r"was lost.*run this again"):
            dl.UtilityLearner().fit(spread)


def test_an_answer_without_workers_is_asked_for_again():
    """The client's own periodic call may come in between."""
    from dcglearn.foundation.cluster import scheduler_of, workers_of

    class Client:
        answers = [  # noqa: RUF012
            {"n_workers": 2, "workers": {}},
            {"n_workers": 2, "workers": {"a": 1, "b": 2}},
            {},
        ]

        def scheduler_info(self, n_workers):
            assert n_workers == -1
            return self.answers.pop(0)

    client = Client()
    assert len(scheduler_of(client)["workers"]) == 2
    assert scheduler_of(client) == {}
    Client.answers.append({})
    with pytest.raises(ClusterLost, match=r"the scheduler was lost: start it .* run this again"):
        workers_of(client)


def test_a_worker_that_dies_while_versions_are_asked_is_lost_and_lacks_no_package(monkeypatch):
    class Client:
        def scheduler_info(self, n_workers):
            return {"n_workers": 0, "workers": {}}

        def run(self, *_, on_error):
            return {"tcp://w": self.answer}

    for answer in (
        distributed.comm.CommClosedError("gone"),
        OSError("Timed out trying to connect"),
    ):
        Client.answer = answer
        with pytest.raises(ClusterLost, match="worker tcp://w was lost while"):
            check_versions(Client())
    monkeypatch.setattr(
        Client, "scheduler_info", lambda *_, **__: {"n_workers": 1, "workers": {"tcp://w": 1}}
    )
    Client.answer = OSError("libgomp.so.1: cannot open shared object file")
    refused("worker tcp://w cannot load a package: OSError.'libgomp", check_versions, Client())
