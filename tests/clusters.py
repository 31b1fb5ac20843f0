"""Clusters of local processes whose workers start fast, as forks of one process that has imported what they need."""

import contextlib
import multiprocessing
import sys

import pytest

IMPORTED = ("dcglearn.estimators.utility_learner", "dcglearn.estimators.dcg_learner", "dcglearn.rankers.dask_trees")
"""What the workers need beyond Dask."""


@contextlib.contextmanager
def forked_workers():
    """Within it, workers that are started here are forks, which saves each its imports; Windows has no forks."""
    import dask
    from distributed.utils import get_mp_context

    if sys.platform == "win32":
        yield
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # sets Dask's own list of what is imported
        multiprocessing.set_forkserver_preload(["distributed", "pandas", "lightgbm", "scipy.optimize", *IMPORTED])
        yield


@contextlib.contextmanager
def cluster_of(n_workers):
    distributed = pytest.importorskip("distributed")
    with (
        forked_workers(),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=60
        ) as cluster,
    ):
        yield cluster
