"""Fits over a Dask cluster of real processes are those in memory, whatever happens to a worker."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

distributed = pytest.importorskip("distributed")

import dcglearn as dl  # noqa: E402
from dcglearn import distributed as module  # noqa: E402
from dcglearn.distributed import DaskPairs, client_of, spread  # noqa: E402
from dcglearn.learning.fit_qp import fit_qp  # noqa: E402
from dcglearn.learning.options import DCGOptions, QPOptions  # noqa: E402
from dcglearn.trust.fit_learner import fit_learner  # noqa: E402
from tests.makers import TRUTH, cluster_of, random_log, refused, rich_log  # noqa: E402
from tests.tables import table  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def few_pairs_are_many(monkeypatch):
    """Make parts of 500 pairs, and sums over the workers from 2,000 on."""
    monkeypatch.setattr(module, "PART", 500)
    monkeypatch.setattr(module, "SAMPLE", 1000)


def repeated(log, n, seed=0):
    """Return n pairs of a log in any order, most of them several times."""
    return log[np.random.default_rng(seed).integers(0, len(log), n)]


def assert_near(far, near, exact=1e-10):
    """Assert that two fits are the same up to rounding."""
    assert far.objective == pytest.approx(near.objective, rel=exact)
    assert far.dropped == near.dropped and far.visible.notes == near.visible.notes
    if isinstance(far.options, QPOptions):
        weights = near.utility.weights
        np.testing.assert_allclose(far.utility.weights, weights, atol=exact)
        return
    for name in ("gains", "discounts"):
        wanted = getattr(near.dcg, name)
        np.testing.assert_allclose(getattr(far.dcg, name), wanted, atol=exact)
    assert far.n_effective == pytest.approx(near.n_effective, rel=1e-14)
    assert far.raters == near.raters and far.model.n_levels == near.model.n_levels
    assert far.error_rate == pytest.approx(near.error_rate, abs=exact)


@table(
    "options",
    [
        QPOptions(),
        QPOptions(margin="hamming", tie_epsilon=0.1),
        QPOptions(margin=TRUTH, monotone=False, C=0.1),
        QPOptions(margin="log"),
    ],
)
def test_the_qp_is_that_in_memory(client, options):
    log = repeated(rich_log(1500), 4000)
    with spread(log, client) as far:
        assert_near(far.fit(options), fit_qp(log, options))


def test_the_reference_solver_gets_all_pairs(client):
    pytest.importorskip("cvxpy")
    log = random_log(1200, noise=0.1)
    with spread(log, client) as far:
        fit = far.fit(QPOptions(solver="cvxpy"))
    assert_near(fit, fit_qp(log, QPOptions()), exact=1e-6)


@pytest.mark.parametrize("n_parts", [1, 3, 70])
def test_sums_are_those_in_memory_for_any_number_of_parts(client, monkeypatch, n_parts):
    log = random_log(3000, noise=0.1)
    monkeypatch.setattr(module, "PART", -(-len(log) // n_parts))
    with spread(log, client) as far:
        assert len(far.pairs.parts) == n_parts and len(far.pairs) == 3000
        assert_near(far.fit(QPOptions()), fit_qp(log, QPOptions()))


def told_of(log):
    """Return a log of three raters, one of whom always names one side, with equal lists."""
    rng = np.random.default_rng(1)
    lists = log.other.copy()
    lists[:40] = log.preferred[:40]
    lists[40:90, 6:] = -2
    rater = rng.choice(["ann", "bob", "cy"], len(log))
    swapped = np.where(rater == "cy", True, rng.random(len(log)) < 0.5)
    return log.changed(other=lists, rater=rater, swapped=swapped)


OTHERS = pytest.param(DCGOptions(loss="logistic", zero="none"), marks=pytest.mark.long)


@pytest.mark.parametrize("options", [DCGOptions(), OTHERS], ids=["default", "others"])
def test_gains_and_discounts_are_those_in_memory(client, options):
    log = told_of(repeated(rich_log(1500).changed(margin=None), 2400))
    with spread(log, client) as far:
        assert far.one_sided.tolist() == ["cy"]
        fit = far.fit(options)
    near = fit_learner(log, options)
    assert_near(fit, near)
    assert len(fit.dropped) == 2
    weights = [member.weight for member in near.members]
    np.testing.assert_allclose([member.weight for member in fit.members], weights, atol=1e-8)

    # what it keeps is in memory, without a cluster
    assert 1000 <= len(fit.pairs) < 2000 and np.isfinite(fit.hessian).all()


def test_few_pairs_are_learned_in_memory(client, monkeypatch):
    log = random_log(900, noise=0.1)

    def no_sums(*_):
        raise AssertionError("few pairs are summed over the workers")

    monkeypatch.setattr(DaskPairs, "sums", no_sums)
    with spread(log, client) as far:
        assert_near(far.fit(DCGOptions()), fit_learner(log, DCGOptions()), exact=1e-12)


@pytest.mark.posix
@pytest.mark.parametrize("options", [QPOptions(), DCGOptions()], ids=["QP", "gains and discounts"])
def test_a_worker_killed_in_the_fit_changes_no_byte(cluster, client, monkeypatch, options):
    log = repeated(random_log(3000, noise=0.1), 4000)
    with spread(log, 1) as alone:
        wanted = alone.fit(options)
    total, passes = DaskPairs.total, []

    def killing(self, function):
        passes.append(function)
        if len(passes) == 8:
            os.kill(victim, signal.SIGKILL)
        return total(self, function)

    monkeypatch.setattr(DaskPairs, "total", killing)
    victim = next(iter(cluster.workers.values())).pid
    with spread(log, client) as far:
        fit = far.fit(options)
    assert len(passes) > 10
    assert victim not in {worker.pid for worker in cluster.workers.values()}

    # the same bytes as with one worker, and near to those in memory
    learned = "utility" if isinstance(options, QPOptions) else "theta"
    first, second = (getattr(x, learned) for x in (fit, wanted))
    if learned == "utility":
        first, second = first.weights, second.weights
    assert first.tobytes() == second.tobytes() and fit.objective == wanted.objective
    near = fit_qp if isinstance(options, QPOptions) else fit_learner
    assert_near(fit, near(log, options))


def test_files_and_frames_are_read_by_the_workers(client, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    log = rich_log(3000)
    for i in range(3):
        log[1000 * i : 1000 * (i + 1)].save(tmp_path / f"{i}.parquet")
    near = fit_qp(log, QPOptions())
    table = pd.DataFrame(log.to_polars().to_dict(as_series=False))
    frame = dataframe.from_pandas(table, npartitions=4)
    for given in (tmp_path, f"{tmp_path}/*.parquet", frame, table):
        with spread(given, client, n_grades=5) as far:
            assert len(far.pairs) == 3000
            assert_near(far.fit(QPOptions()), near)

    # by address, and without the partitions that hold nothing
    empty = frame[frame["weight"] < 0]
    with spread(dataframe.concat([empty, frame]), client.scheduler.address, n_grades=5) as far:
        assert_near(far.fit(QPOptions()), near)


def test_a_log_of_documents_is_learned(client):
    rng = np.random.default_rng(0)
    lists = [[rng.permutation(list("wxyz")).tolist() for _ in range(900)] for _ in range(2)]
    log = dl.Preferences.from_documents(*lists)
    with spread(log, client) as far:
        assert_near(far.fit(QPOptions()), fit_qp(log, QPOptions()))
        refused("a log of documents has no grades", far.fit, DCGOptions())


def test_a_log_of_ratings_is_learned(client):
    log = dl.read_ratings([{"list": [i % 4, i % 3], "rating": i % 5} for i in range(60)])
    with spread(log, client) as far:
        assert_near(far.fit(QPOptions()), fit_qp(log, QPOptions()))


def open_spread(*arguments, **shape):
    with spread(*arguments, **shape):
        pass


def test_logs_that_cannot_be_learned_are_refused(client, tmp_path):
    log = random_log(20)
    log.save(tmp_path / "a.parquet")
    log.changed(preferred=log.preferred[:, :8], other=log.other[:, :8]).save(tmp_path / "b.parquet")
    refused(
        r"parts differ: 10 positions, .*; 8 positions, .*give all", open_spread, tmp_path, client
    )
    log.changed(rater=np.repeat("ann", 20)).save(tmp_path / "b.parquet")
    refused(r"'rater'.*the same positions, grades", open_spread, tmp_path, client)
    refused(r"row 1: .*outside 0\.\.1", open_spread, tmp_path / "a.parquet", client, n_grades=2)

    # nothing to learn from
    for nothing in (dl.Preferences([[1, 0]], [[1, 0]]), log[:0]):
        with spread(nothing, client) as far:
            refused("nothing to learn from", far.fit, QPOptions())


def test_engines_that_are_none_are_refused():
    for engine, message in (
        (0, "no Dask scheduler answers at 0"),
        (2.5, "no Dask scheduler answers at 2.5"),
    ):
        refused(message, open_spread, random_log(10), engine)
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}):
        message = r"no Dask scheduler answers at 'tcp://127.0.0.1:1'"
        refused(message, open_spread, random_log(10), "tcp://127.0.0.1:1")


def test_a_worker_with_another_version_is_told():
    with cluster_of(1) as bare, distributed.Client(bare) as other:
        code = "import distributed.versions as v; v._version_cached = lambda name: '9.9'"
        other.run(exec, code)
        with (
            pytest.warns(UserWarning, match=r"Mismatched versions found[^$]*dcglearn .*9\.9"),
            client_of(other),
        ):
            pass


def test_a_lost_scheduler_is_an_error_in_one_sentence(monkeypatch):
    total, passes = DaskPairs.total, []

    def closing(self, function):
        passes.append(function)
        if len(passes) == 6:
            doomed.close()
        return total(self, function)

    monkeypatch.setattr(DaskPairs, "total", closing)
    log = random_log(3000, noise=0.1)
    with (
        cluster_of(1) as doomed,
        distributed.Client(doomed, timeout=2) as client,
        pytest.raises(
            RuntimeError, match=r"^the Dask scheduler was lost: start it, and fit again$"
        ),
        spread(log, client) as far,
    ):
        far.fit(QPOptions())


@pytest.mark.parametrize("learner", [dl.UtilityLearner(), dl.DCGLearner(depth=8)])
def test_learners_fit_over_an_engine(client, tmp_path, learner):
    log = told_of(random_log(2400, noise=0.1))
    with pytest.warns(UserWarning, match=r"of 1 rater \('cy'\) nearly every verdict names one"):
        near = clone(learner).fit(log)
    with pytest.warns(UserWarning, match=r"of 1 rater \('cy'\) nearly every verdict names one"):
        far = clone(learner).fit(log, engine=client)
    assert_near(far.fit_, near.fit_)

    # files, which the workers read
    for i in range(3):
        log[800 * i : 800 * (i + 1)].save(tmp_path / f"{i}.parquet")
    with pytest.warns(UserWarning, match=r"of 1 rater \('cy'\) nearly every verdict names one"):
        of_files = clone(learner).fit(tmp_path, engine=client)
    assert_near(of_files.fit_, near.fit_)
    assert pickle.loads(pickle.dumps(of_files)).score(log) == pytest.approx(near.score(log))
    if isinstance(learner, dl.DCGLearner):
        assert far.dcg_.learned_from == near.dcg_.learned_from
        assert near.dcg_.learned_from.digest and not of_files.dcg_.learned_from.digest
        learned_from = replace(near.dcg_.learned_from, digest="")
        assert of_files.dcg_.learned_from == learned_from


def test_learners_check_a_log_that_workers_read(client, tmp_path):
    log = random_log(300)
    log.changed(preferred=log.other, other=log.preferred).save(tmp_path / "log.parquet")
    for learner in (dl.UtilityLearner(), dl.DCGLearner()):
        refused("upside down", learner.fit, tmp_path, engine=client)
        assert learner.fit(tmp_path, as_is=True, engine=client).n_iter_ > 0
    again = dl.UtilityLearner().fit(tmp_path, as_is=True, engine=client)
    assert_near(again.fit_, dl.UtilityLearner().fit(tmp_path, as_is=True).fit_, exact=1e-7)


@pytest.fixture
def started(tmp_path):
    """Start a scheduler and two workers by Dask's own commands; yield address and scheduler."""
    file = tmp_path / "scheduler.json"
    scheduler = ["distributed.cli.dask_scheduler", "--port", "0", "--dashboard-address", ":0"]
    worker = ["distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]
    with ExitStack() as running:
        processes = []
        for command in (scheduler, worker, worker):
            call = [sys.executable, "-m", *command, "--scheduler-file", file]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            processes.append(subprocess.Popen(call, cwd=tmp_path, **quiet))
            running.callback(processes[-1].wait)
            running.callback(processes[-1].kill)
            while not file.exists():
                assert processes[0].poll() is None, "the scheduler did not start"
                time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=120)
        yield json.loads(file.read_text())["address"], processes[0]


@pytest.mark.long
def test_processes_started_by_hand_serve_until_their_scheduler_is_killed(started, monkeypatch):
    address, scheduler = started
    log = random_log(3000, noise=0.1)
    with spread(log, 1) as alone:
        wanted = alone.fit(QPOptions()).utility.weights
    found = dl.UtilityLearner().fit(log, engine=address).utility_.weights
    assert found.tobytes() == wanted.tobytes()
    total, passes = DaskPairs.total, []

    def killing(self, function):
        passes.append(function)
        if len(passes) == 6:
            scheduler.kill()
        return total(self, function)

    monkeypatch.setattr(DaskPairs, "total", killing)
    with pytest.raises(
        RuntimeError, match=r"^the Dask scheduler was lost: start it, and fit again$"
    ):
        dl.UtilityLearner().fit(log, engine=address)


def path_of_worker():
    return sys.path


def test_processes_started_here_talk_in_tls_on_this_machine_alone():
    before = dict(os.environ)
    with client_of(1) as client:
        assert client.scheduler_info()["address"].startswith("tls://127.0.0.1:")
        first = client.submit(path_of_worker, pure=False).result()
        client.restart()
        again = client.submit(path_of_worker, pure=False).result()
    assert "" not in first and "" not in again
    assert dict(os.environ) == before


PROGRAM = """
from dcglearn.distributed import client_of
if __name__ == "__main__":
    with client_of(1) as client:
        client.restart()
        print(client.submit(str, 7, pure=False).result())
"""


def test_a_module_in_the_working_folder_is_not_executed(tmp_path):
    for name in ("numpy", "pickle", "random", "tempfile"):
        (tmp_path / f"{name}.py").write_text(f"open('executed-{name}', 'w').close()")
    script = tmp_path / "bin" / "program.py"
    script.parent.mkdir()
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout == "7\n" and not list(tmp_path.glob("executed-*"))
