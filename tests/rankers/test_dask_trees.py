"""Trees over a cluster: as good as local ones, the same bytes twice, whole queries, and an end when a worker dies."""

import os
import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation.cluster import ClusterLost
from dcglearn.foundation.validation import InputError
from dcglearn.losses import ApproxNDCG, RegSHFSDCG
from dcglearn.losses.boosting import CURVATURES, DIRECTIONS, descent
from dcglearn.rankers import dask_trees, member_process
from dcglearn.rankers.dask_trees import balanced
from dcglearn.rankers.member_link import Link
from dcglearn.rankers.queries import Queries
from tests.rankers.test_trees import STEEP, TEST, TRAIN, bumpy

distributed = pytest.importorskip("distributed")
pytest.importorskip("lightgbm")
VALID = bumpy(n_queries=20, seed=2)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=60
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


def small(loss=None, **settings):
    return dl.DaskBoostedRanker(loss or RegSHFSDCG(STEEP), **{"n_trees": 40, "num_leaves": 7, **settings})


def text(ranker):
    return ranker.booster_.model_to_string()


def write(path: Path, queries: Queries, more: str = "") -> Path:
    rows = zip(queries.grades, queries.qid, queries.features, strict=True)
    lines = [f"{g} qid:{q} " + " ".join(f"{i}:{v!r}" for i, v in enumerate(x.tolist(), 1) if v) for g, q, x in rows]
    path.write_text("\n".join(lines) + "\n" + more)
    return path


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
    found = [descent(loss, mine, s.grades, s.offsets, *way, lambda _: sum(said)) for s, mine in shares]
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, rtol=1e-12)


def test_shares_are_balanced_and_nobody_is_left_out():
    rng = np.random.default_rng(0)
    for n, sizes in [(2, [5]), (3, [9, 1, 1]), (4, rng.integers(1, 200, 300)), (2, [0, 0, 0])]:
        held = balanced(np.array(sizes), n)
        assert sorted(item for items in held for item in items) == list(range(len(sizes)))
        if len(sizes) >= n:
            assert all(held)
        loads = [sum(sizes[i] for i in items) for items in held]
        assert max(loads) - min(loads) <= max(sizes)


def test_members_hear_everybody_in_order_and_strangers_are_sent_away():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    heard = {}

    def talk(rank):
        link = Link(rank, 3, "127.0.0.1", port, "right")
        heard[rank] = [link.gathered({"rank": rank, "round": i, "value": 0.1 * rank}) for i in range(3)]
        link.close()

    threads = [threading.Thread(target=talk, args=(rank,)) for rank in range(3)]
    threads[0].start()
    stranger = None
    while stranger is None:
        try:
            stranger = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.01)
    stranger.sendall(b"\0\0\0\0\0\0\0\x02[]")
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    stranger.close()
    wanted = [[{"rank": rank, "round": i, "value": 0.1 * rank} for rank in range(3)] for i in range(3)]
    assert heard == dict.fromkeys(range(3), wanted)


def test_as_good_as_local_the_same_bytes_twice_and_no_query_split(client, tmp_path):
    train = bumpy(n_queries=120)
    local = dl.BoostedRanker(RegSHFSDCG(STEEP), n_trees=80, num_leaves=7, num_threads=1).fit(train)
    far = small(n_trees=80, feature_fraction=0.8).fit(train, engine=client)
    assert abs(far.score(TEST) - local.score(TEST)) < 0.02
    assert far.trees_ == [80, 80]
    assert text(small(n_trees=80, feature_fraction=0.8).fit(train, engine=client)) == text(far)
    held = [set(names) for names in far.shares_]
    assert not held[0] & held[1] and held[0] | held[1] == set(train.names.tolist())
    sizes = dict(zip(train.names.tolist(), train.sizes.tolist(), strict=True))
    assert sum(sizes[name] for name in held[0]) == train.shape[0] / 2  # all queries have 20 documents
    far.save(tmp_path / "model")
    again = dl.DaskBoostedRanker.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(TEST), far.predict(TEST))
    assert again.get_params()["feature_fraction"] == 0.8


def test_validation_stops_all_at_the_same_tree(client):
    ranker = small(n_trees=300, patience=10, learning_rate=0.5).fit(TRAIN, eval_set=VALID, engine=client)
    assert ranker.n_trees_ == np.argmax(ranker.validation_) + 1
    assert ranker.trees_ == [ranker.n_trees_ + 10] * 2 == [ranker.booster_.num_trees()] * 2
    assert ranker.score(VALID) == pytest.approx(max(ranker.validation_), abs=1e-9)


def test_files_are_read_by_the_workers_and_give_the_same_bytes(client, tmp_path):
    X = TRAIN.features.copy()
    held = [share.queries.names for share in small()._of_memory(TRAIN, 2, None, None)]
    halves = [np.isin(TRAIN.names, names) for names in held]
    X[np.isin(TRAIN.qid, held[1]), 5] = 0  # a file that does not show the last feature
    data = Queries(X, TRAIN.grades, TRAIN.qid)
    memory = small(patience=20).fit(data, eval_set=VALID, engine=client)
    (tmp_path / "train").mkdir()
    write(tmp_path / "train" / "b.svm", data[halves[0]], "#" + "." * 100_000)  # the larger one is the first worker's
    write(tmp_path / "train" / "a.svm", data[halves[1]])
    valid = write(tmp_path / "valid.svm", VALID)
    files = small(patience=20).fit(tmp_path / "train", eval_set=valid, engine=client)
    assert files.shares_ == memory.shares_
    assert text(files) == text(memory)
    assert files.validation_ == memory.validation_


def test_weights_go_with_their_queries():
    by_query, by_document = np.arange(1.0, len(TRAIN) + 1), np.random.default_rng(0).random(TRAIN.shape[0])
    shares = small()._of_memory(TRAIN, 3, by_query, by_document)
    for share in shares:
        np.testing.assert_array_equal(share.weight, share.queries.names + 1)
        rows = np.isin(TRAIN.qid, share.queries.names)
        np.testing.assert_array_equal(share.by_document, by_document[rows])
        np.testing.assert_array_equal(share.queries.features, TRAIN.features[rows])


def test_with_the_same_bins_the_trees_are_the_local_ones_weights_and_start_included(client):
    """Features of few values have the same bins on every worker; then nothing depends on where a query is."""
    train = Queries(np.clip(np.round(4 * TRAIN.features), -6, 6), TRAIN.grades, TRAIN.qid)
    how = {"query_weight": np.linspace(1, 3, len(TRAIN)), "sample_weight": np.linspace(1, 2, TRAIN.shape[0])}
    # LightGBM estimates counts on a cluster, so min_data_in_leaf would choose other leaves.
    settings = {"start": dl.RidgeRanker(STEEP).fit(train), "min_data_in_bin": 1, "min_data_in_leaf": 1}
    local = dl.BoostedRanker(RegSHFSDCG(STEEP), n_trees=20, num_leaves=7, **settings).fit(train, **how)
    far = small(n_trees=20, **settings).fit(train, engine=client, **how)
    np.testing.assert_array_equal(far.base_, local.base_)
    np.testing.assert_allclose(far.predict(train), local.predict(train), rtol=1e-6)


def refused(match, ranker=None, **how):
    with pytest.raises(InputError, match=match):
        (ranker or small()).fit(**how)


def test_bad_input_is_refused_by_name(client, tmp_path, monkeypatch):
    refused("1 queries for 2 workers", X=TRAIN[:1], engine=client)
    refused("machines: DaskBoostedRanker settles", small(machines="a:1"), X=TRAIN, engine=client)
    refused("same grade", X=Queries([[0.1], [0.2]], [1, 1], [1, 2]), engine=client)
    a, b = write(tmp_path / "a.svm", TRAIN[:3]), write(tmp_path / "b.svm", TRAIN[2:5])
    refused(r"query 2 is in .*a.svm and in .*b.svm", X=[a, b], engine=client)
    refused("1 files for 2 workers", X=[a], engine=client)
    refused("no such file", X=str(tmp_path / "*.txt"), engine=client)
    refused("leave y, qid and weights out", X=[a, b], y=[1], engine=client)
    b.write_text("1 qid:9 1:0.5\nx qid:9 1:0.1\n")
    refused(r"b.svm, line 2: label 'x'", X=[a, b], engine=client)
    c = write(tmp_path / "c.svm", TRAIN[5:8])
    refused("eval_set has 2 features", X=[a, c], eval_set=Queries([[0.1, 0.2]], [0], [0]), engine=client)
    monkeypatch.setattr(dask_trees, "_LIGHTGBM", "__import__('nothing_of_this_name')")
    refused("worker .* cannot load LightGBM .*install lightgbm", X=TRAIN, engine=client)
    monkeypatch.setattr(dask_trees, "_LIGHTGBM", "'0.1'")
    refused("worker .* has LightGBM 0.1, this process", X=TRAIN, engine=client)


def test_a_port_that_was_taken_meanwhile_is_replaced(client, monkeypatch):
    found, asked = dask_trees._seats, []
    with socket.create_server(("", 0)) as taken:

        def seats(*arguments):
            asked.append(1)
            first, second = found(*arguments)
            if len(asked) == 1:
                second = replace(second, port=taken.getsockname()[1])
            return [first, second]

        monkeypatch.setattr(dask_trees, "_seats", seats)
        assert small(n_trees=3).fit(TRAIN, engine=client).trees_ == [3, 3]
    assert len(asked) == 2


class Slow(RegSHFSDCG):
    """A loss that leaves time for a murder, and is the same training."""

    def at(self, iteration, total):
        time.sleep(0.1)
        return super().at(iteration, total)

    def __repr__(self):
        return super().__repr__().replace("Slow", "RegSHFSDCG")


def members():
    return {int(key.split("/")[1]): (os.getpid(), one.pid) for key, one in member_process._RUNNING.items()}


def alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


HOW = {"eval_set": VALID, "checkpoint_every": 5}
LONG = {"n_trees": 60, "feature_fraction": 0.5}


def killed(client, checkpoint, rank, whom):
    """Kill a worker, or its member's process alone, at the first checkpoint; return when all was over."""
    pids = {}

    def kill() -> None:
        while not checkpoint.exists():
            time.sleep(0.01)
        for found in client.run(members).values():
            pids.update(found)
        os.kill(pids[rank][whom], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    began = time.monotonic()
    with pytest.raises(ClusterLost, match=r"after [0-9]+ trees.*resume from the checkpoint"):
        small(Slow(STEEP), **LONG).fit(TRAIN, checkpoint=checkpoint, engine=client, **HOW)
    killer.join()
    assert time.monotonic() - began < 20
    assert len(pids) == 2
    while any(alive(pid) for _, pid in pids.values()):  # nobody waits for ever
        assert time.monotonic() - began < 25
        time.sleep(0.05)


@pytest.mark.parametrize(("rank", "whom"), [(0, 0), (1, 0), (1, 1)])
def test_a_killed_worker_ends_the_training_and_the_checkpoint_goes_on_to_the_same_bytes(client, tmp_path, rank, whom):
    checkpoint = tmp_path / "trees.json"
    killed(client, checkpoint, rank, whom)
    if (rank, whom) != (1, 1):
        return
    resumed = small(**LONG).fit(TRAIN, checkpoint=checkpoint, resume=True, engine=client, **HOW)
    whole = small(**LONG).fit(TRAIN, engine=client, **HOW)
    assert text(resumed) == text(whole)
    assert resumed.validation_ == whole.validation_
    refused("of another training", small(**{**LONG, "seed": 1}), X=TRAIN, checkpoint=checkpoint, resume=True,
            engine=client, **HOW)  # fmt: skip
