"""Boosted trees over a Dask cluster, on LightGBM's own Dask estimator (`DaskBoostedRanker`)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.cluster import CONNECT, connected, watched, workers_of
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.progress import bar
from dcglearn.foundation.threads import one_thread
from dcglearn.foundation.validation import Fields, Flags, Floats, InputError
from dcglearn.losses.objective import Lambdas
from dcglearn.rankers.growth import Slopes, Task, booster_of, main_names, warn_of_too_few
from dcglearn.rankers.queries import Queries, balanced
from dcglearn.rankers.ranker import Training
from dcglearn.rankers.svmlight import read_query_files
from dcglearn.rankers.trees import BoostedRanker, main_name

if TYPE_CHECKING:
    from distributed import Client


class DaskBoostedRanker(BoostedRanker):
    """`BoostedRanker` over a Dask cluster, by `lightgbm.DaskLGBMRanker`.

    Every worker holds whole queries and computes their slopes, scaled by means over the documents
    of all workers; LightGBM adds up the workers' histograms. It finds the bins of a feature on one
    worker's documents, and estimates how many documents a leaf holds: where neither matters, the
    trees are those of `BoostedRanker`. The same data, seed and number of workers give the same
    bytes.

    Parameters
    ----------
    loss, n_trees, learning_rate, num_leaves, follow, curvature, metric, patience, start
        As in `BoostedRanker`, and so is `random_state`, but `patience` saves no time: the number of
        trees is chosen after all have grown. There are no checkpoints over a cluster.
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
    io.DaskLog : A log of preferences over a cluster.

    Examples
    --------
    >>> data = dl.simulate.letor_queries(40, random_state=0)
    >>> ranker = DaskBoostedRanker(n_trees=30).fit(data[:30], engine=2)  # doctest: +SKIP
    """

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        eval_set: Any = None,
        *,
        query_weight: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        engine: Client | str | int = 2,
        sparse: bool = False,
    ) -> Self:
        """Learn from documents X with grades y of queries qid, from `Queries`, or from files.

        Raises InputError as `RidgeRanker.fit`; ClusterLost if a worker or the scheduler is lost.

        Parameters
        ----------
        X, y, qid
            As in `BoostedRanker.fit`; X and `eval_set` may also name learning-to-rank files: a
            path, a pattern, a folder, or several.
        eval_set : Queries, or (X, y, qid), optional
            Validation set: the number of trees that is best on it is used.
        query_weight, sample_weight : array_like, shapes (m,) and (n,), optional
            Weight of each query's value in the mean that is maximised; and of each document's slope
            and curvature, as in LightGBM.
        engine : distributed.Client, str or int
            The client, the address of a scheduler, or the number of local processes to start.
        sparse : bool
            Whether features of files stay sparse, as CSR.
        """
        weights = {"query_weight": query_weight, "sample_weight": sample_weight}
        return self._train(X, y, qid, eval_set, **weights, engine=engine, sparse=sparse)

    def _queries_of(
        self, X: Any, y: Any, qid: Any, options: Fields, n_features: int | None = None
    ) -> Queries:
        if not is_path(X):
            return super()._queries_of(X, y, qid, options)
        if y is not None or qid is not None:
            raise InputError("X names files, which have grades and qid: leave y and qid out")
        return read_query_files(X, n_features=n_features, sparse=options["sparse"])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        settled = {"machines", "num_machines", "machine_list_filename"}
        settled |= {"tree_learner", "pre_partition", "num_threads"}
        for name in self._lightgbm:
            if main_name(name) in settled:
                raise InputError(
                    f"{name}: DaskBoostedRanker settles that by the cluster; leave it out"
                )

    def _fit(self, training: Training) -> None:
        queries, task = training.queries, self._task(training)
        with contextlib.ExitStack() as closing:
            client = connected(training.options["engine"], closing, packages=("lightgbm",))
            workers = sorted(workers_of(client))
            if not workers:
                raise InputError("the cluster has no worker; start some")
            if len(queries) < len(workers):
                raise InputError(
                    f"{number_of(len(queries), 'queries')} for {len(workers)} workers: each needs "
                    "a query"
                )

            # share the queries among the workers
            rank = balanced(queries.sizes, len(workers))
            mine = [rank == i for i in range(len(workers))]
            self.shares_ = [queries.names[chosen].tolist() for chosen in mine]

            # LightGBM's network is one a process, and a model whose training failed ends it when
            # Python collects it.
            own = closing.enter_context(_pinned_client(client, workers))
            client.run(gc.collect, workers=workers, on_error="ignore")

            # grow the trees, and show how many there are
            shown = closing.enter_context(bar(self.n_trees, "trees"))
            own.subscribe_topic(f"{own.id}-trees", lambda event: shown.update(event[1] - shown.n))
            text = watched(client, own, workers, lambda: self._model(own, workers, task, mine))

        # leave out the lines that name addresses and ports of the workers
        network = r"^\[(machines|local_listen_port): .*\]\n"
        text = re.sub(network, "", text, flags=re.MULTILINE)
        booster = booster_of(text, "the workers' model")
        warn_of_too_few(booster.num_trees(), self.n_trees)
        self._keep(booster, task.values_of_prefixes(booster))

    def _model(self, own: Any, workers: list[str], task: Task, mine: list[Flags]) -> str:
        """Return the text of the model that LightGBM trains; worker i has the queries mine[i]."""
        from lightgbm import DaskLGBMRanker

        # the objective on each worker, whose sums an actor adds up while its future is held
        future = own.submit(Sums, len(workers), actor=True, workers=workers[:1])
        sums = future.result()
        weights = [None if task.weight is None else task.weight[chosen] for chosen in mine]
        objective = WorkerObjective(Slopes(task), workers, weights, sums, f"{own.id}-trees")

        # the time limit of a connection is in minutes
        ranker = DaskLGBMRanker(
            client=own,
            objective=objective,
            n_estimators=self.n_trees,
            random_state=self.random_state,
            **main_names({"time_out": 2, **task.parameters}),
        )

        data = self._placed(own, task, mine)
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
            fitted = ranker.fit(**data, **task.columns)
        return str(fitted.booster_.model_to_string(num_iteration=-1))

    def _placed(self, own: Any, task: Task, mine: list[Flags]) -> Fields:
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
        """Return the sum over all workers, in the order of ranks, once each has given its own."""
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

    def __call__(self, y: Floats, score: Floats, weight: Floats | None, group: Any) -> Lambdas:
        """Return slope and curvature of each document of this worker, shapes (n,)."""
        from distributed import get_worker

        # this worker's queries
        worker = get_worker()
        rank = self.workers.index(worker.address)
        queries = y.astype(np.int64), np.concatenate([[0], np.cumsum(group)]), self.weights[rank]

        def total(sums: Floats) -> Any:
            return self.sums.total(rank, sums).result()

        # their slopes; the first worker reports the progress
        with one_thread() if worker.state.nthreads == 1 else contextlib.nullcontext():
            slope, curvature = self.slopes(score, *queries, total)
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
            arrays = []
            for worker, piece in zip(workers, pieces, strict=True):
                # Dask takes no csr_array
                table = csr_matrix(piece) if hasattr(piece, "tocsr") else piece
                home = self.scatter(table, workers=[worker], hash=False)
                arrays.append(da.from_delayed(home, table.shape, table.dtype))
            return da.concatenate(arrays)

        def compute(self, collections: Any, **options: Any) -> Any:  # type: ignore[override]
            compute, pairs = super().compute, zip(collections, workers, strict=True)
            return [compute(one, workers=[worker], **options) for one, worker in pairs]

        def who_has(self, futures: Any = None, **options: Any) -> Any:
            return {future.key: [worker] for future, worker in zip(futures, workers, strict=True)}

    options = {"security": client.security, "set_as_default": False, "timeout": CONNECT}
    return PinnedClient(client.scheduler.address, **options)
