"""Boosted trees over a Dask cluster: every worker keeps whole queries, and all grow the same trees."""

from __future__ import annotations

import contextlib
import glob
import heapq
import os
import re
import socket
import time
import uuid
import warnings
from asyncio import CancelledError
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from dcglearn.foundation.cluster import ClusterLost, cluster_errors, connected, scheduler_of
from dcglearn.foundation.renamed import current_word
from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.losses.boosting import RENAMED_DIRECTIONS
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.member_process import MemberFailed, end, member, news
from dcglearn.rankers.ranker import as_eval_set, as_queries, check_training
from dcglearn.rankers.tree_member import Orders, Seat, Share
from dcglearn.rankers.trees import (
    BoostedRanker,
    booster_of,
    checked_weights,
    checkpoint_words,
    lightgbm_itself,
    start_of,
    write_checkpoint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future as Asked

    from distributed import Client, Future
    from numpy.typing import ArrayLike, NDArray

    from dcglearn.rankers.queries import Queries

BEAT = 0.3
"""Seconds between two looks at the cluster."""

OURS = ("machines", "num_machines", "machine_list_filename", "tree_learner", "pre_partition")
"""LightGBM's parameters that the cluster settles."""

TRIES = 3
"""How often to look for ports: one that was free may be taken before a member has it."""

_TAKEN = re.compile("in use|[Bb]inding port|[Ss]ocket|connect")

_LIGHTGBM = "__import__('lightgbm').__version__"


class PortTaken(ClusterLost):
    """The members could not connect, and no tree was grown."""


class DaskBoostedRanker(BoostedRanker):
    """`BoostedRanker` over a Dask cluster: LightGBM's data-parallel trees against any loss of this package.

    Every worker holds whole queries and works out their slopes; LightGBM adds up the workers' histograms, so that all
    grow the same trees. Slopes and curvatures are brought to size by means over all documents, not each worker's.
    LightGBM finds bins of features on shares of the data, and estimates the documents in a leaf; where neither
    matters, the trees are the local ones, else as good. The same data, seed and number of workers give the same bytes.

    Parameters
    ----------
    loss, n_trees, learning_rate, num_leaves, follow, curvature, metric, patience, seed, start, **lightgbm
        As in `BoostedRanker`. ``local_listen_port=P`` asks for fixed ports (P, P + 1, ...: two a worker, for
        firewalls) in place of free ones, ``time_out`` is in minutes (2).

    Attributes
    ----------
    booster_, metric_, n_trees_, base_, validation_
        As in `BoostedRanker`.
    shares_ : list of list
        The names of the queries that each worker held, workers by address.
    trees_ : list of int
        How many trees each worker grew: the same number.

    Examples
    --------
    >>> from dcglearn import RegSHFSDCG, simulate
    >>> data = simulate.letor_queries(40, seed=0)
    >>> ranker = DaskBoostedRanker(n_trees=30).fit(data[:30], engine=2)  # doctest: +SKIP
    >>> ranker = DaskBoostedRanker(n_trees=300).fit("train/*.svm", engine="tcp://scheduler:8786")  # doctest: +SKIP
    """

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        eval_set: Any = None,
        query_weight: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 50,
        resume: bool = False,
        progress: bool | None = None,
        engine: Any = 2,
        sparse: bool = False,
    ) -> DaskBoostedRanker:
        """Grow the trees.

        Parameters
        ----------
        X : Queries, array_like or CSR of shape (n, d), or path, pattern, folder or sequence of paths
            Documents in memory, which are cut between queries and sent; or learning-to-rank files
            (see `read_queries`), which the workers read themselves, so that they must see them under the same name.
        y, qid, query_weight, sample_weight
            As in `BoostedRanker.fit`, for documents in memory.
        eval_set : Queries, (X, y, qid) or path, optional
            Validation set: the number of trees that is best on it is used. The first worker judges for all.
        checkpoint, checkpoint_every, resume, progress
            As in `BoostedRanker.fit`; the file is written here, not on a worker.
        engine : distributed.Client, str or int
            A client; the address of a scheduler; or with so many processes on this machine, started here.
        sparse : bool
            Keep features that are read from files as CSR.

        Raises
        ------
        InputError
            If an input or a setting cannot be used, a query is in two files, there are fewer queries or files than
            workers, or a worker lacks a package.
        ClusterLost
            If a worker dies, or the scheduler: what is in the checkpoint is kept.
        """
        current_word(self.follow, "follow", RENAMED_DIRECTIONS)
        self._check_settings(checkpoint_every)
        self._check_spread()
        words = checkpoint_words(checkpoint) if resume else None
        with contextlib.ExitStack() as closing:
            client = connected(engine, closing)
            _check_lightgbm(client)
            n = max(len(scheduler_of(client)["workers"]), 1)  # if there is none, `_seats` says so
            if isinstance(X, (str, os.PathLike)) or (isinstance(X, (list, tuple)) and _paths(X)):
                shares = self._of_files(X, n, sparse, [y, qid, query_weight, sample_weight])
            else:
                queries = as_queries(X, y, qid)
                shares = self._of_memory(queries, n, *checked_weights(queries, query_weight, sample_weight))
                eval_set = None if eval_set is None else _in_memory(eval_set, queries, self.metric_)
            self._take(self._found(client, shares, (checkpoint_every, eval_set, words), checkpoint, progress))
        return self

    def _found(
        self, client: Client, shares: list[Share], told: tuple[Any, ...], checkpoint: Any, progress: bool | None
    ) -> list[dict[str, Any]]:
        """Return what the members found; those who cannot sit down are given other seats."""
        for attempt in range(TRIES):
            seats = _seats(client, self._own("local_listen_port"))
            if len(seats) != len(shares):
                raise ClusterLost(
                    f"{len(seats)} workers are there, but {len(shares)} were at the beginning; train again"
                )
            try:
                return _Training(client, self._orders(seats, *told), shares, checkpoint).run(progress)
            except PortTaken:
                if attempt == TRIES - 1:
                    raise
        raise AssertionError

    def _take(self, found: list[dict[str, Any]]) -> None:
        """Keep what the members found; rank 0 tells the model."""
        first = found[0]
        for text in first["warnings"]:
            warnings.warn(text, UserWarning, stacklevel=3)
        self.booster_ = booster_of(lightgbm_itself(), first["model"], "the workers' model")
        self.metric_ = DCG.from_dict(first["metric"])
        self.validation_ = first["history"]
        self.n_trees_ = int(np.argmax(self.validation_)) + 1 if self.validation_ else self.booster_.num_trees()
        self.n_features_in_ = self.booster_.num_feature()
        self.trees_ = [one["trees"] for one in found]
        self.shares_ = [[name for name, _ in one["queries"]] for one in first["held"]]

    def _own(self, name: str) -> Any:
        """Return a LightGBM parameter that was given, under whatever name."""
        names = lightgbm_itself().basic._ConfigAliases.get(name)
        return next((value for key, value in self.lightgbm.items() if key in names), None)

    def _check_spread(self) -> None:
        for name in OURS:
            if self._own(name) is not None:
                raise InputError(f"{name}: DaskBoostedRanker settles that by the cluster; leave it out")
        for name in ("local_listen_port", "time_out"):
            if self._own(name) is not None:
                whole_number(self._own(name), name, 1)

    def _of_memory(self, queries: Queries, n: int, weight: Any, by_document: Any) -> list[Share]:
        if len(queries) < n:
            raise InputError(f"{len(queries)} queries for {n} workers: each needs one at least; use fewer workers")
        self._settled(queries)
        check_training(queries)
        self.base_ = None if self.start is None else start_of(self.start, queries, self.metric_)
        shares = []
        for index in balanced(queries.sizes, n):
            rows = np.concatenate([np.arange(queries.offsets[q], queries.offsets[q + 1]) for q in index])
            by_query = None if weight is None else weight[index]
            shares.append(Share(queries[index], by_query, None if by_document is None else by_document[rows]))
        return shares

    def _of_files(self, X: Any, n: int, sparse: bool, rest: list[Any]) -> list[Share]:
        if any(one is not None for one in rest):
            raise InputError("X names files, which have grades and qid: leave y, qid and weights out")
        if self.start is not None:
            raise InputError("start= needs the data in memory; leave it out, or give Queries")
        files = _files(X)
        if len(files) < n:
            raise InputError(f"{len(files)} files for {n} workers: each needs one at least; cut them, or use fewer")
        self.base_ = None
        sizes = np.array([Path(file).stat().st_size for file in files])
        return [Share(files=[files[i] for i in index], sparse=sparse) for index in balanced(sizes, n)]

    def _orders(self, seats: list[Seat], every: int, valid: Any, words: dict[str, Any] | None) -> list[Orders]:
        """Return each member's orders: the settings that must be equal everywhere, and its rank."""
        given = {**self.get_params(deep=False)}
        for name in ("local_listen_port", "time_out"):
            for alias in lightgbm_itself().basic._ConfigAliases.get(name):
                given.pop(alias, None)
        fixed: dict[str, Any] = {"deterministic": True, "num_machines": len(seats), "pre_partition": True}
        if self._own("force_col_wise") is None:
            fixed["force_row_wise"] = True  # else LightGBM chooses by the clock
        fixed["tree_learner"] = "data" if len(seats) > 1 else "serial"
        if self._own("num_threads") is None:
            fixed["num_threads"] = min(seat.threads for seat in seats)
        ranker = BoostedRanker(**{**given, **fixed})
        ranker.base_ = self.base_
        rest: dict[str, Any] = {
            "token": uuid.uuid4().hex,
            "seats": tuple(seats),
            "ranker": ranker,
            "every": every,
            "resume": words,
        }
        rest["time_out"] = self._own("time_out") or 2
        return [Orders(rank=rank, valid=valid if rank == 0 else None, **rest) for rank in range(len(seats))]


class _Training:
    """A training on a cluster, watched: whoever is lost, the others are ended, since they would wait for ever."""

    def __init__(self, client: Client, orders: list[Orders], shares: list[Share], checkpoint: Any) -> None:
        self.client, self.orders, self.shares, self.checkpoint = client, orders, shares, checkpoint
        self.token, self.seats = orders[0].token, orders[0].seats
        self.seen = 0
        self.trees = 0
        self._asking = ThreadPoolExecutor(1)
        self._asked: Asked[dict[str, Any]] = self._asking.submit(dict)

    def run(self, progress: bool | None) -> list[dict[str, Any]]:
        """Return what each member found, in the order of ranks."""
        hidden = None if progress is None else not progress
        total = self.orders[0].ranker.n_trees
        futures: list[Future] = []
        with cluster_errors(self.client), tqdm(total=total, desc="trees", disable=hidden) as bar:
            try:
                for orders, share in zip(self.orders, self.shares, strict=True):
                    futures.append(self._submitted(orders, share))
                while not all(future.done() for future in futures) and not self._failed(futures):
                    time.sleep(BEAT)
                    self._hear(bar)
                    self._look_for_the_lost(futures)
                self._refuse_or_fail(futures)
                found: list[dict[str, Any]] = self.client.gather(futures)
                bar.update(found[0]["trees"] - self.trees)
                return found
            finally:
                self._asking.shutdown(wait=False, cancel_futures=True)
                self._stop(futures)

    def _submitted(self, orders: Orders, share: Share) -> Future:
        worker = orders.seats[orders.rank].worker
        kept = self.client.scatter(share, workers=[worker], hash=False)
        return self.client.submit(member, orders, kept, workers=[worker], allow_other_workers=False, pure=False)

    def _hear(self, bar: Any) -> None:
        """Take up the news of rank 0, if there are some: for the bar, and the checkpoint."""
        if not self._asked.done():
            return
        found = self._asked.result()
        self._asked = self._asking.submit(self._ask)
        words = found.get(self.seats[0].worker)
        if not isinstance(words, dict) or not words:
            return
        bar.update(words["trees"] - self.trees)
        self.trees = words["trees"]
        if words["value"] is not None:
            bar.set_postfix_str(f"validation {words['value']:.4f}")
        if "checkpoint" in words:
            self.seen = words["checkpoints"]
            if self.checkpoint is not None:
                write_checkpoint(self.checkpoint, words["checkpoint"])

    def _ask(self) -> dict[str, Any]:
        """Ask for news, in a thread of its own: of a worker that has just died, the answer takes half a minute."""
        try:
            found = self.client.run(news, self.token, self.seen, workers=[self.seats[0].worker], on_error="return")
        except (Exception, CancelledError):
            return {}  # whether a worker or all is lost is found out elsewhere
        return found or {}

    def _look_for_the_lost(self, futures: list[Future]) -> None:
        there = scheduler_of(self.client).get("workers")
        if there is None:
            raise ClusterLost(self._lost("the scheduler was lost"))
        lost = [seat.worker for seat, future in zip(self.seats, futures, strict=True) if seat.worker not in there]
        if lost:
            raise ClusterLost(self._lost(f"worker {lost[0]} was lost"))

    def _lost(self, what: str) -> str:
        kept = "resume from the checkpoint" if self.seen and self.checkpoint is not None else "train again"
        return (
            f"{what} after {self.trees} trees; the other workers cannot go on without it and were stopped: "
            f"{kept} with as many workers (checkpoint=FILE, resume=True)"
        )

    @staticmethod
    def _failed(futures: list[Future]) -> bool:
        return any(future.status in ("error", "cancelled", "lost") for future in futures)

    def _refuse_or_fail(self, futures: list[Future]) -> None:
        """Raise the error that tells most: refused input first, then the first failure that is not another's echo."""
        if not self._failed(futures):
            return
        time.sleep(BEAT)  # others may be about to say why
        errors = [future.exception() for future in futures if future.status == "error"]
        for error in errors:
            if isinstance(error, InputError):
                raise error
        own = [error for error in errors if "ConnectionError" not in str(error)] or errors
        if own and not isinstance(own[0], MemberFailed):
            raise own[0]
        if own and self.trees == 0 and _TAKEN.search(str(own[0])):
            raise PortTaken(self._lost(str(own[0])))
        raise ClusterLost(self._lost(str(own[0]) if own else "a worker's task was cancelled"))

    def _stop(self, futures: list[Future]) -> None:
        """End members that are still there, quietly: there may be no cluster left."""
        if all(future.status == "finished" for future in futures) and len(futures) == len(self.seats):
            return
        with contextlib.suppress(Exception):
            self.client.cancel(futures, force=True)
            there = scheduler_of(self.client)["workers"]
            self.client.run(end, self.token, workers=[w.worker for w in self.seats if w.worker in there])


def balanced(sizes: NDArray[np.integer], n: int) -> list[list[int]]:
    """Return which items each of `n` holders gets, about as much each: the largest first, to whom has least."""
    held: list[list[int]] = [[] for _ in range(n)]
    load = [(0, i) for i in range(n)]
    for item in np.argsort(-sizes, kind="stable").tolist():
        weight, i = heapq.heappop(load)
        held[i].append(item)
        heapq.heappush(load, (weight + max(int(sizes[item]), 1), i))
    return [sorted(items) for items in held]


def _check_lightgbm(client: Client) -> None:
    """Refuse workers without LightGBM, or with another version: their trees would differ."""
    ours = lightgbm_itself().__version__
    with cluster_errors(client):
        found = client.run(eval, _LIGHTGBM, on_error="return")  # text, which every worker can unpickle
    for worker, theirs in sorted(found.items()):
        if isinstance(theirs, BaseException):
            raise InputError(
                f"worker {worker} cannot load LightGBM ({theirs}); install lightgbm {ours} on every worker"
            )
        if theirs != ours:
            raise InputError(f"worker {worker} has LightGBM {theirs}, this process {ours}: install the same on all")


def _seats(client: Client, base: int | None) -> list[Seat]:
    """Return where the members sit, workers by address, with ports that no two of them share."""
    for _ in range(20):
        with cluster_errors(client):
            found = client.run(_seat)
        seats = [found[worker] for worker in sorted(found)]
        if not seats:
            raise InputError("the cluster has no worker; start some")
        if base is not None:
            return [
                Seat(seat.worker, seat.host, base + 2 * rank, base + 2 * rank + 1, seat.pid, seat.threads)
                for rank, seat in enumerate(seats)
            ]
        ports = [(seat.host, port) for seat in seats for port in (seat.port, seat.link_port)]
        if len(set(ports)) == len(ports):
            return seats
    raise InputError("no free ports were found on the workers; give local_listen_port=")


def _seat(dask_worker: Any) -> Seat:
    from distributed.comm import get_address_host

    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("", 0))
        ports = first.getsockname()[1], second.getsockname()[1]
    host = socket.gethostbyname(get_address_host(dask_worker.address))
    return Seat(dask_worker.address, host, *ports, os.getpid(), dask_worker.state.nthreads)


def _paths(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(item, (str, os.PathLike)) for item in items)


def _files(given: Any) -> list[str]:
    """Return the files of a path, a folder, a pattern or several of these, in order, each once."""
    found: list[str] = []
    for one in [os.fspath(path) for path in ([given] if isinstance(given, (str, os.PathLike)) else given)]:
        if Path(one).is_dir():
            inside = sorted(str(path) for path in Path(one).iterdir() if path.is_file() and path.suffix != ".query")
        elif Path(one).exists():
            inside = [one]
        else:
            inside = sorted(glob.glob(one, recursive=True))  # noqa: PTH207 - patterns may be absolute
        if not inside:
            raise InputError(f"{one}: there is no such file, and none of a name like it; check the name")
        found += inside
    return list(dict.fromkeys(str(Path(one).absolute()) for one in found))


def _in_memory(eval_set: Any, queries: Queries, metric: DCG) -> Any:
    if isinstance(eval_set, (str, os.PathLike)):
        from dcglearn.rankers.svmlight import read_queries

        eval_set = read_queries(eval_set, n_features=queries.shape[1], sparse=hasattr(queries.features, "tocsr"))
    return as_eval_set(eval_set, queries.shape[1], metric)
