"""Boosted trees over a Dask cluster, on LightGBM's own Dask estimator (`DaskBoostedRanker`)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.cluster import CONNECT, connected, watched, workers_of
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import bar
from dcglearn.foundation.threads import one_thread
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.rankers.growth import Slopes, Task, booster_of, main_names, warn_of_too_few
from dcglearn.rankers.queries import Queries, balanced
from dcglearn.rankers.ranker import Training
from dcglearn.rankers.svmlight import read_query_files
from dcglearn.rankers.trees import BoostedRanker

if TYPE_CHECKING:
    from distributed import Client

SETTLED = {
    "machines",
    "num_machines",
    "machine_list_filename",
    "tree_learner",
    "pre_partition",
    "num_threads",
}
"""LightGBM's parameters that the cluster settles."""

_NETWORK = re.compile(r"^\[(machines|local_listen_port): .*\]\n", re.MULTILINE)
"""The lines of a model that name addresses and ports of the workers."""


class DaskBoostedRanker(BoostedRanker):
    """`BoostedRanker` over a Dask cluster, by `lightgbm.DaskLGBMRanker`.

    Every worker holds whole queries and computes their slopes, scaled by means over the documents
    of all workers; LightGBM adds up the workers' histograms. It finds the bins of a feature on one
    worker's documents, and estimates how many documents a leaf holds: where neither matters, the
    trees are those of `BoostedRanker`. The same data, seed and number of workers give the same
    bytes.

    Parameters
    ----------
    loss, n_trees, learning_rate, num_leaves, follow, curvature, metric, patience, seed, start
        As in `BoostedRanker`, but `patience` saves no time: the number of trees is chosen after all
        have grown. There are no checkpoints over a cluster.
    **lightgbm
        Other parameters of LightGBM, which finds free ports, or takes ``local_listen_port=P`` of
        each worker, where all are on different hosts.

    Attributes
    ----------
    booster_, metric_, n_trees_, base_, validation_
        As in `BoostedRanker`; `booster_` holds all trees.
    shares_ : list of list
        The names of the queries that each worker held, workers by address.

    See Also
    --------
    DaskLog : A log of preferences over a cluster.

    Examples
    --------
    >>> data = dl.simulate.letor_queries(40, seed=0)
    >>> ranker = DaskBoostedRanker(n_trees=30).fit(data[:30], engine=2)  # doctest: +SKIP
    """

    _options: ClassVar[tuple[str, ...]] = (
        "eval_set",
        "query_weight",
        "sample_weight",
        "engine",
        "sparse",
    )

    def _queries_of(
        self, X: Any, y: Any, qid: Any, options: dict[str, Any], n_features: int | None = None
    ) -> Queries:
        if not is_path(X):
            return super()._queries_of(X, y, qid, options)
        if y is not None or qid is not None:
            raise InputError("X names files, which have grades and qid: leave y and qid out")
        return read_query_files(
            X, n_features=n_features, sparse=options.get("sparse", False), missing=True
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in self._lightgbm:
            if main_names({name: None}).keys() & SETTLED:
                raise InputError(
                    f"{name}: DaskBoostedRanker settles that by the cluster; leave it out"
                )

    def _fit(self, training: Training) -> None:
        queries, task = training.queries, self._task(training)
        with contextlib.ExitStack() as closing:
            client = connected(training.options.get("engine", 2), closing, packages=("lightgbm",))
            workers = sorted(workers_of(client))
            if not workers:
                raise InputError("the cluster has no worker; start some")
            if len(queries) < len(workers):
                raise InputError(
                    f"{number_of(len(queries), 'queries')} for {len(workers)} workers: each needs a query"
                )
            rank = balanced(queries.sizes, len(workers))
            self.shares_ = [queries.names[rank == i].tolist() for i in range(len(workers))]
            own = closing.enter_context(_pinned_client(client, workers))
            # LightGBM's network is one a process, and a model whose training failed ends it when
            # Python collects it.
            client.run(gc.collect, workers=workers, on_error="ignore")
            shown = closing.enter_context(bar(self.n_trees, "trees"))
            own.subscribe_topic(f"{own.id}-trees", lambda event: shown.update(event[1] - shown.n))
            text = watched(client, own, workers, lambda: self._model(own, workers, task, rank))
        booster = booster_of(_NETWORK.sub("", text), "the workers' model")
        warn_of_too_few(booster.num_trees(), self.n_trees)
        self._keep(booster, task.values_of_prefixes(booster))

    def _model(self, own: Any, workers: list[str], task: Task, rank: NDArray[np.int64]) -> str:
        """Return the model that LightGBM trains on the workers, query q on worker ``rank[q]``, as
        text.
        """
        from lightgbm import DaskLGBMRanker

        sums = own.submit(Sums, len(workers), actor=True, workers=workers[:1])
        weights = [
            None if task.weight is None else task.weight[rank == i] for i in range(len(workers))
        ]
        ranker = DaskLGBMRanker(
            client=own,
            objective=WorkerObjective(
                Slopes(task), workers, weights, sums.result(), f"{own.id}-trees"
            ),
            n_estimators=self.n_trees,
            random_state=self.seed,
            **main_names(
                {"time_out": 2, **task.parameters}
            ),  # the time limit of a connection, in minutes
        )
        data = self._placed(own, task, [rank == i for i in range(len(workers))])
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
            return str(
                ranker.fit(**data, **task.columns).booster_.model_to_string(num_iteration=-1)
            )

    def _placed(self, own: Any, task: Task, mine: list[NDArray[np.bool_]]) -> dict[str, Any]:
        """Send each worker its queries; return what `DaskLGBMRanker.fit` takes."""
        parts = [task.training.queries[chosen] for chosen in mine]
        data = {"X": [part.features for part in parts], "y": [part.grades for part in parts]}
        data["group"] = [part.sizes for part in parts]
        if task.by_document is not None:
            sizes = task.training.queries.sizes
            data["sample_weight"] = [task.by_document[np.repeat(chosen, sizes)] for chosen in mine]
        if self.base_ is not None:
            data["init_score"] = [task.base_scores(part) for part in parts]
        return {name: own.placed(pieces) for name, pieces in data.items()}


class Sums:
    """A Dask actor that adds up what the workers give it, once a tree."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._parts: dict[int, Floats] = {}
        self._complete = asyncio.Event()

    async def total(self, rank: int, sums: Floats) -> Floats:
        """Return the sum over all workers, in the order of ranks, as soon as each has given its
        own.
        """
        parts, complete = self._parts, self._complete
        parts[rank] = sums
        if len(parts) == self.n_workers:
            self._parts, self._complete = {}, asyncio.Event()
            complete.set()
        await complete.wait()
        return np.sum([parts[rank] for rank in sorted(parts)], axis=0)


@dataclass
class WorkerObjective:
    """LightGBM's objective on each worker's queries: `slopes` in one unit, by the actor `sums`."""

    slopes: Slopes
    workers: list[str]
    weights: list[Floats | None]
    sums: Any
    topic: str

    def __call__(
        self, y: Floats, score: Floats, weight: Floats | None, group: Any
    ) -> tuple[Floats, Floats]:
        """Return slope and curvature of each document of this worker, shapes (n,)."""
        from distributed import get_worker

        worker = get_worker()
        rank = self.workers.index(worker.address)
        queries = y.astype(np.int64), np.concatenate([[0], np.cumsum(group)]), self.weights[rank]
        with one_thread() if worker.state.nthreads == 1 else contextlib.nullcontext():
            slope, curvature = self.slopes(
                score, *queries, lambda sums: self.sums.total(rank, sums).result()
            )
        if rank == 0:
            worker.log_event(self.topic, self.slopes.n_grown)
        return (slope, curvature) if weight is None else (slope * weight, curvature * weight)


def _pinned_client(client: Client, workers: list[str]) -> Any:
    """Return a client of the same scheduler that puts piece i of any data on worker i.

    LightGBM numbers its machines in the order in which `who_has` lists the pieces, and its bytes
    depend on that.
    """
    from dask import array as da
    from distributed import Client
    from scipy.sparse import csr_matrix

    class PinnedClient(Client):
        def placed(self, pieces: list[Any]) -> Any:
            """Return arrays or CSR matrices, one a worker, as one Dask array."""
            tables = [
                csr_matrix(one) if hasattr(one, "tocsr") else one for one in pieces
            ]  # it takes no csr_array
            homes = [
                self.scatter(one, workers=[w], hash=False)
                for w, one in zip(workers, tables, strict=True)
            ]
            pairs = zip(homes, tables, strict=True)
            return da.concatenate(
                [da.from_delayed(home, one.shape, one.dtype) for home, one in pairs]
            )

        def compute(self, collections: Any, **options: Any) -> Any:  # type: ignore[override]
            pairs = zip(collections, workers, strict=True)
            return [
                super(PinnedClient, self).compute(one, workers=[w], **options) for one, w in pairs
            ]

        def who_has(self, futures: Any = None, **options: Any) -> Any:
            return {future.key: [worker] for future, worker in zip(futures, workers, strict=True)}

    return PinnedClient(
        client.scheduler.address, security=client.security, set_as_default=False, timeout=CONNECT
    )
