"""Trees over a cluster: the local ones or as good, the same bytes twice, whole queries, and an end
when one is lost.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import dcglearn as dl
from dcglearn.foundation.cluster import ClusterLost
from dcglearn.losses import (
    SDCG,
    SHFSDCG,
    ApproxNDCG,
    GBRank,
    LambdaRank,
    ListNet,
    Regression,
    RegSHFSDCG,
    SmoothNDCG,
)
from dcglearn.losses.boosting import CURVATURES, DIRECTIONS, descent
from dcglearn.rankers import dask_trees
from dcglearn.rankers.queries import Queries, balanced
from tests.makers import cluster_of, forked_workers, refused, write_svmlight
from tests.rankers.test_trees import STEEP, TEST, TRAIN, bumpy

distributed = pytest.importorskip("distributed")
lightgbm = pytest.importorskip("lightgbm")
VALID = bumpy(n_queries=20, seed=2)


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        yield client


def small(loss=None, **settings):
    return dl.rankers.DaskBoostedRanker(
        loss or RegSHFSDCG(STEEP), **{"n_trees": 40, "num_leaves": 7, **settings}
    )


def text(ranker):
    return ranker.booster_.model_to_string()


@pytest.mark.parametrize("follow", DIRECTIONS)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_slopes_of_shares_are_those_of_the_whole(follow, curvature):
    scores = np.random.default_rng(0).normal(size=TRAIN.shape[0])
    loss, way = ApproxNDCG(STEEP), (None, follow, curvature)
    whole = descent(loss, scores, TRAIN.grades, TRAIN.offsets, *way)
    shares = [(TRAIN[:7], scores[: TRAIN.offsets[7]]), (TRAIN[7:], scores[TRAIN.offsets[7] :])]
    said = []

    def total(sums):
        said.append(sums)
        return sums

    for share, mine in shares:
        descent(loss, mine, share.grades, share.offsets, *way, total)
    found = [
        descent(loss, mine, s.grades, s.offsets, *way, lambda _: sum(said)) for s, mine in shares
    ]
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, rtol=1e-12)


def test_shares_are_balanced_and_nobody_is_left_out():
    rng = np.random.default_rng(0)
    for n, sizes in [(2, [5]), (3, [9, 1, 1]), (4, rng.integers(1, 200, 300)), (2, [0, 0, 0])]:
        share = balanced(np.array(sizes), n)
        loads = np.bincount(share, weights=sizes, minlength=n)
        assert loads.max() - loads.min() <= max(sizes)
        if len(sizes) >= n:
            assert set(share) == set(range(n))


def test_as_good_as_local_the_same_bytes_twice_and_no_query_split(client, tmp_path):
    train = bumpy(n_queries=120)
    local = dl.BoostedRanker(RegSHFSDCG(STEEP), n_trees=80, num_leaves=7, num_threads=1).fit(train)
    far = small(n_trees=80, feature_fraction=0.8).fit(train, engine=client)
    assert abs(far.score(TEST) - local.score(TEST)) < 0.02
    assert far.booster_.num_trees() == 80
    assert text(small(n_trees=80, feature_fraction=0.8).fit(train, engine=client)) == text(far)
    held = [set(names) for names in far.shares_]
    assert not held[0] & held[1] and held[0] | held[1] == set(train.names.tolist())
    sizes = dict(zip(train.names.tolist(), train.sizes.tolist(), strict=True))
    assert (
        sum(sizes[name] for name in held[0]) == train.shape[0] / 2
    )  # all queries have 20 documents
    far.save(tmp_path / "model")
    again = dl.rankers.DaskBoostedRanker.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(TEST), far.predict(TEST))
    assert again.get_params()["feature_fraction"] == 0.8


def test_the_number_of_trees_is_the_one_that_patience_would_have_chosen(client):
    ranker = small(n_trees=80, patience=10, learning_rate=0.5).fit(
        TRAIN, eval_set=VALID, engine=client
    )
    assert ranker.n_trees_ == np.argmax(ranker.validation_) + 1
    assert len(ranker.validation_) == ranker.n_trees_ + 10 < ranker.booster_.num_trees() == 80
    assert ranker.score(VALID) == pytest.approx(max(ranker.validation_), abs=1e-9)


def test_files_give_the_same_bytes(client, tmp_path):
    X = TRAIN.features.copy()
    X[TRAIN.qid >= 30, 5] = 0  # a file that does not show the last feature
    data = Queries(X, TRAIN.grades, TRAIN.qid)
    memory = small(n_trees=10, patience=20).fit(data, eval_set=VALID, engine=client)
    (tmp_path / "train").mkdir()
    write_svmlight(tmp_path / "train" / "a.svm", data[:30])
    write_svmlight(tmp_path / "train" / "b.svm", data[30:])
    valid = write_svmlight(tmp_path / "valid.svm", VALID)
    files = small(n_trees=10, patience=20).fit(tmp_path / "train", eval_set=valid, engine=client)
    assert files.shares_ == memory.shares_
    assert text(files) == text(memory)
    assert files.validation_ == memory.validation_


FEW = Queries(np.clip(np.round(4 * TRAIN.features), -6, 6), TRAIN.grades, TRAIN.qid)
"""Features of few values have the same bins on every worker; then nothing depends on where a query
is.
"""


def same_as_local(client, loss, how, train=FEW, **settings):
    # LightGBM estimates counts on a cluster, so min_data_in_leaf would choose other leaves.
    settings = {
        "n_trees": 12,
        "num_leaves": 7,
        "min_data_in_bin": 1,
        "min_data_in_leaf": 1,
        **settings,
    }
    local = dl.BoostedRanker(loss, **settings).fit(train, **how)
    far = dl.rankers.DaskBoostedRanker(loss, **settings).fit(train, engine=client, **how)
    np.testing.assert_array_equal(far.base_, local.base_)
    np.testing.assert_allclose(far.predict(FEW), local.predict(FEW), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("follow", DIRECTIONS)
@pytest.mark.parametrize("curvature", CURVATURES)
def test_with_shares_of_9_to_1_the_trees_are_the_local_ones(client, monkeypatch, follow, curvature):
    """The grades of the small share are low, so that means over it would be others."""
    low_first = np.argsort(np.add.reduceat(FEW.grades, FEW.offsets[:-1]), kind="stable")
    monkeypatch.setattr(
        dask_trees, "balanced", lambda sizes, n: np.isin(np.arange(len(sizes)), low_first[:6]) + 0
    )
    rng = np.random.default_rng(0)
    how = {
        "query_weight": np.linspace(1, 3, len(FEW)),
        "sample_weight": rng.choice([1, 1.25], FEW.shape[0]),
    }
    start = dl.rankers.RidgeRanker(STEEP).fit(FEW)
    # One document, of weight 7 to 13, may count as none in LightGBM's estimate: leaves hold more.
    least = {"min_sum_hessian_in_leaf": 30} if curvature == "constant" else {}
    same_as_local(
        client, RegSHFSDCG(STEEP), how, start=start, follow=follow, curvature=curvature, **least
    )


def test_every_loss_grows_the_local_trees(client):
    for loss in (
        SDCG(STEEP),
        SHFSDCG(STEEP),
        ApproxNDCG(STEEP),
        SmoothNDCG(STEEP),
        LambdaRank(STEEP),
    ):
        same_as_local(client, loss, {}, n_trees=4)
    sparse = Queries(csr_array(FEW.features), FEW.grades, FEW.qid)
    same_as_local(client, SDCG(STEEP), {}, sparse, n_trees=4)
    for loss in (GBRank(), ListNet()):
        same_as_local(client, loss, {}, n_trees=4, metric=STEEP)


def fit_refused(match, ranker=None, **how):
    refused(match, (ranker or small()).fit, **how)


def test_bad_input_is_refused_by_name(client, tmp_path, monkeypatch):
    fit_refused("1 query for 2 workers", X=TRAIN[:1], engine=client)
    fit_refused(
        "machines: DaskBoostedRanker settles", small(machines="a:1"), X=TRAIN, engine=client
    )
    fit_refused("n_jobs: DaskBoostedRanker settles", small(n_jobs=2), X=TRAIN, engine=client)
    for name, value in (("checkpoint", tmp_path / "trees.json"), ("resume", True)):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            small().fit(TRAIN, engine=client, **{name: value})
    fit_refused("same grade", X=Queries([[0.1], [0.2]], [1, 1], [1, 2]), engine=client)
    a, b = (
        write_svmlight(tmp_path / "a.svm", TRAIN[:3]),
        write_svmlight(tmp_path / "b.svm", TRAIN[2:5]),
    )
    fit_refused(r"query 2 is in .*a.svm and in .*b.svm", X=[a, b], engine=client)
    fit_refused(r"\*\.txt", X=str(tmp_path / "*.txt"), engine=client)
    fit_refused("leave y and qid out", X=[a, b], y=[1], engine=client)
    b.write_text("1 qid:9 1:0.5\nx qid:9 1:0.1\n")
    fit_refused(r"b.svm, line 2: label 'x'", X=[a, b], engine=client)
    c = write_svmlight(tmp_path / "c.svm", TRAIN[5:8])
    fit_refused(
        "eval_set has 2 features", X=[a, c], eval_set=Queries([[0.1, 0.2]], [0], [0]), engine=client
    )
    monkeypatch.setattr(lightgbm, "__version__", "0.1")
    fit_refused(r"worker .* has lightgbm \d.*, this process 0\.1", X=TRAIN, engine=client)
    monkeypatch.undo()
    client.run(
        exec,
        "import sys; sys.modules['aside'] = __import__('lightgbm'); sys.modules['lightgbm'] = None",
    )
    fit_refused(
        "worker .* lacks a package .*lightgbm.*install dcglearn .*, lightgbm",
        X=TRAIN,
        engine=client,
    )
    client.run(exec, "import sys; sys.modules['lightgbm'] = sys.modules.pop('aside')")


@dataclass(frozen=True)
class Doomed(Regression):
    """A loss that fails at tree 10 on one worker, or kills a process (0: its own) there, `delay`
    seconds later.
    """

    victim: str | int = ""
    kills: int | None = None
    delay: float = 0.0
    mark: str = ""

    def at(self, iteration, total):
        worker = distributed.get_worker()
        if iteration == 10 and self.victim in (worker.address, worker.name):
            if self.kills is None:
                raise ArithmeticError("this loss fails")
            Path(self.mark).touch()
            threading.Timer(
                self.delay, os.kill, (self.kills or os.getpid(), signal.SIGKILL)
            ).start()
        return super().at(iteration, total)


@dataclass(frozen=True)
class Collecting(Regression):
    """A loss during which Python collects what it no longer needs, such as the model of a training
    that failed.
    """

    def at(self, iteration, total):
        gc.collect()
        return super().at(iteration, total)


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr("dcglearn.foundation.cluster.GRACE", 0.5)


def ends(folder, match, engine, train=TRAIN, **how):
    mark = folder / "killed"
    with pytest.raises(ClusterLost, match=match):
        small(Doomed(STEEP, mark=str(mark), **how), n_trees=100_000).fit(train, engine=engine)
    assert time.time() - mark.stat().st_mtime < 60


@pytest.mark.posix
def test_a_worker_killed_in_lightgbm_ends_the_training_and_the_other_does_not_wait_for_ever(
    tmp_path, short_grace
):
    wide = Queries(
        np.tile(TRAIN.features, (1, 200)), TRAIN.grades, TRAIN.qid
    )  # most time goes into trees
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        victim = sorted(client.scheduler_info(n_workers=-1)["workers"])[1]
        # LightGBM may end the other at once, which can be noticed first.
        message = "worker tcp://[^ ]* was lost.*restarted: run this again"
        ends(tmp_path, message, client, wide, victim=victim, kills=0, delay=0.2)
        client.wait_for_workers(1, timeout=30)
        assert client.submit(abs, -3).result(timeout=30) == 3


@pytest.mark.posix
def test_a_worker_killed_while_slopes_are_computed_ends_the_training(tmp_path, short_grace):
    with forked_workers():
        ends(tmp_path, "worker .* was lost", 2, victim=0, kills=0)


@pytest.mark.posix
def test_a_lost_scheduler_ends_the_training(tmp_path, short_grace):
    def dask(*words):
        words = [
            sys.executable,
            "-m",
            *words,
            "--host",
            "127.0.0.1",
            "--no-dashboard",
            "--scheduler-file",
            file,
        ]
        return subprocess.Popen(words, stderr=subprocess.DEVNULL)

    file = tmp_path / "scheduler.json"
    with (
        dask("distributed.cli.dask_scheduler", "--port", "0") as scheduler,
        dask("distributed.cli.dask_worker", "--no-nanny") as worker,
    ):
        try:
            with distributed.Client(scheduler_file=str(file), timeout=2) as client:
                client.wait_for_workers(1, timeout=30)
                (victim,) = client.scheduler_info()["workers"]
                ends(tmp_path, "the scheduler was lost", client, victim=victim, kills=scheduler.pid)
        finally:  # nothing waits for a process that does not end
            worker.kill()
            scheduler.kill()


def test_an_error_on_one_worker_reaches_the_caller_and_the_other_worker_works_again(
    client, short_grace
):
    client.run(gc.disable)
    with pytest.raises(ArithmeticError, match="this loss fails"):
        small(Doomed(STEEP, victim=1), n_trees=100_000).fit(TRAIN, engine=client)
    client.wait_for_workers(2, timeout=30)
    assert small(Collecting(STEEP), n_trees=3).fit(TRAIN, engine=client).booster_.num_trees() == 3
    client.run(gc.enable)
