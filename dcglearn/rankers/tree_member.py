"""One member of a spread training of trees: its own process, whole queries, the same trees as all others."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import sys
import threading
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.threads import one_thread
from dcglearn.foundation.validation import InputError
from dcglearn.rankers.member_link import Link
from dcglearn.rankers.queries import Queries, group_labels
from dcglearn.rankers.ranker import as_eval_set, check_scale
from dcglearn.rankers.svmlight import read_queries
from dcglearn.rankers.trees import Growth, lightgbm_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dcglearn.foundation.arrays import Floats
    from dcglearn.rankers.trees import BoostedRanker


@dataclass(frozen=True)
class Seat:
    """Where a member sits: a worker, and ports that were free there."""

    worker: str
    host: str
    port: int
    link_port: int
    pid: int
    threads: int


@dataclass(frozen=True)
class Share:
    """The whole queries that a member holds: in memory, or the files that it reads itself."""

    queries: Queries | None = None
    weight: Floats | None = None
    by_document: Floats | None = None
    files: Sequence[str] = ()
    sparse: bool = False


@dataclass(frozen=True)
class Orders:
    """All that a member has to know beside its share; `ranker` is a copy with the settings that all must have."""

    token: str
    rank: int
    seats: tuple[Seat, ...]
    ranker: BoostedRanker
    every: int
    valid: Any = None
    time_out: int = 2
    resume: dict[str, Any] | None = None


@dataclass
class _Read:
    """A share as read: features are CSR until all members have agreed how many there are, where they are from files."""

    features: Any
    grades: Any
    sizes: Any
    names: list[Any] = field(default_factory=list)
    n_grades: int = 1

    def facts(self) -> dict[str, Any]:
        """Return what the others must know, as JSON holds it."""
        ends = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        low, high = (f.reduceat(self.grades, ends) for f in (np.minimum, np.maximum))
        return {
            "documents": len(self.grades),
            "features": int(self.features.shape[1]),
            "grades": int(self.n_grades),
            "orders": bool((low != high).any()),
            "queries": self.names,
        }

    def queries(self, d: int, n_grades: int, sparse: bool) -> Queries:
        """Return them with `d` features."""
        features = self.features
        if hasattr(features, "tocsr"):
            features.resize(features.shape[0], d)
            features = features if sparse else features.toarray()
        return Queries(features, self.grades, group_labels(self.sizes, len(self.grades)), n_grades)


def read_files(files: Sequence[str]) -> _Read:
    """Return learning-to-rank files as one, in order; a query is named by its qid, or by file and number.

    Raises
    ------
    InputError
        If one cannot be read; it names file and line.
    """
    from scipy.sparse import vstack

    found = [read_queries(file, sparse=True) for file in files]
    d = max(one.shape[1] for one in found)
    tables = [one.features.copy() for one in found]
    for table in tables:
        table.resize(table.shape[0], d)
    names = [name for file, one in zip(files, found, strict=True) for name in _names(file, one)]
    sizes = np.concatenate([one.sizes for one in found])
    grades = np.concatenate([one.grades for one in found])
    return _Read(vstack(tables, format="csr"), grades, sizes, names, max(one.n_grades or 1 for one in found))


def _names(file: str, queries: Queries) -> list[Any]:
    """Return each query's name and file; numbers that only count the queries of a file begin anew in the next one."""
    numbered = Path(f"{file.removesuffix('.gz').removesuffix('.xz').removesuffix('.zst')}.query").exists()
    return [[f"{file}:{name}" if numbered else name, file] for name in queries.names.tolist()]


class _Member(Growth):
    """Trees that grow on one's own queries, by sums over all members' and the judgement of rank 0."""

    def __init__(self, link: Link, say: Callable[..., None], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._link, self._tell = link, say
        self._mark = ""

    def _total(self, sums: Floats) -> Floats:
        return np.sum(self._link.gathered(sums.tolist()), axis=0)

    @property
    def fingerprint(self) -> str:
        """Say which training this is, by what all members hold."""
        if not self._mark:
            marks = self._link.gathered(super().fingerprint)
            self._mark = hashlib.sha256("".join(marks).encode()).hexdigest()
        return self._mark

    def _judge(self, booster: Any, tree: int) -> None:
        """Rank 0 judges, and the others take its word: equal to the last bit on unlike machines too."""
        before = len(self.history)
        super()._judge(booster, tree)
        told = self._link.gathered(self.history[before:])[0]
        self.history[before:] = told
        self._tell(trees=tree + 1, value=told[-1] if told else None)

    def _save(self, checkpoint: Any) -> None:
        self._tell(checkpoint=self.words)


def together(link: Link, work: Callable[[], Any]) -> list[Any]:
    """Return what each member made of its work; if one refuses its input, all do.

    Raises
    ------
    InputError
        Of the first who refuses.
    """
    try:
        mine = {"made": work()}
    except InputError as error:
        mine = {"refused": str(error)}
    found = link.gathered(mine)
    for one in found:
        if "refused" in one:
            raise InputError(one["refused"])
    return [one["made"] for one in found]


def train(orders: Orders, share: Share, say: Callable[..., None]) -> dict[str, Any]:
    """Grow the trees with all other members; return what the caller needs, and of rank 0 the model."""
    seats, rank = orders.seats, orders.rank
    link = Link(rank, len(seats), seats[0].host, seats[0].link_port, orders.token)
    with contextlib.closing(link):
        read: list[_Read] = []

        def facts() -> dict[str, Any]:
            read.append(read_files(share.files) if share.queries is None else _in_memory(share.queries))
            return read[0].facts()

        everything = together(link, facts)
        _agree(everything)
        growth: list[_Member] = []

        def ready() -> None:
            d, n_grades = (max(one[what] for one in everything) for what in ("features", "grades"))
            growth.append(_prepared(orders, share, read.pop().queries(d, n_grades, share.sparse), link, say))

        together(link, ready)
        member = growth[0]
        mark = member.fingerprint
        if orders.resume is not None:
            together(link, lambda: member.take_up(orders.resume or {}, "the checkpoint"))
        _join(orders)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always", UserWarning)
            member.grow("told" if rank == 0 else None, progress=False)
        text = member.booster.model_to_string(num_iteration=-1)
        marks = link.gathered(hashlib.sha256(text.encode()).hexdigest())
        if len(set(marks)) > 1:
            raise RuntimeError("the members' trees differ: is LightGBM the same on all workers?")
    found: dict[str, Any] = {"trees": member.n_grown, "history": member.history, "mark": mark}
    if rank == 0:
        found |= {"model": text, "metric": member.ranker.metric_.to_dict(), "held": everything}
        found["warnings"] = [str(one.message) for one in heard if "no leaf" in str(one.message)]
    return found


def _in_memory(queries: Queries) -> _Read:
    names = [[name, "the data"] for name in queries.names.tolist()]
    return _Read(queries.features, queries.grades, queries.sizes, names, queries.n_grades or 1)


def _agree(everything: list[dict[str, Any]]) -> None:
    """Refuse a query in two places, and queries in which there is nothing to learn."""
    places: dict[Any, str] = {}
    for name, place in (pair for one in everything for pair in one["queries"]):
        if name in places:
            first, second = sorted([places[name], place])
            raise InputError(
                f"query {name} is in {first} and in {second}: a query must not be split; keep its documents in "
                "one file, and number queries of different files differently"
            )
        places[name] = place
    if not any(one["orders"] for one in everything):
        raise InputError(
            "all documents of each query have the same grade, so no order can be learned; "
            "check that the labels are grades, and that qid names queries, not documents"
        )


def _prepared(orders: Orders, share: Share, queries: Queries, link: Link, say: Callable[..., None]) -> _Member:
    ranker = orders.ranker
    loss = ranker._settled(queries)
    valid = None
    if orders.valid is not None and orders.rank == 0:
        given = orders.valid
        if isinstance(given, (str, os.PathLike)):
            given = read_queries(given, n_features=queries.shape[1], sparse=share.sparse)
        valid = as_eval_set(given, queries.shape[1], ranker.metric_)
    check_scale(queries, ranker.metric_)
    ranker.n_features_in_ = queries.shape[1]
    quiet = say if orders.rank == 0 else _silent
    return _Member(
        link, quiet, ranker, lightgbm_itself(), queries, loss, valid, share.weight, share.by_document, orders.every
    )


def _silent(**_: Any) -> None:
    pass


def _join(orders: Orders) -> None:
    """Connect LightGBM's own sockets, of this thread alone; by hand, so that no port is written into the model."""
    import ctypes

    from lightgbm.basic import _LIB, _c_str, _safe_call

    machines = ",".join(f"{seat.host}:{seat.port}" for seat in orders.seats)
    mine = orders.seats[orders.rank]
    if len(orders.seats) > 1:
        sizes = (ctypes.c_int(number) for number in (mine.port, orders.time_out, len(orders.seats)))
        _safe_call(_LIB.LGBM_NetworkInit(_c_str(machines), *sizes))


def main() -> None:
    """Take orders and a share from standard input, say how it goes on standard output, one JSON object a line."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed, LightGBM's words included, is no message

    def say(**words: Any) -> None:
        out.write(json.dumps(words) + "\n")
        out.flush()

    # From the process that started this one, and nobody else.
    orders, share = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with one_thread() if orders.seats[orders.rank].threads == 1 else contextlib.nullcontext():
            found = train(orders, share, say)
        say(done=found)
    except InputError as error:
        say(refused=str(error))
    except Exception as error:
        traceback.print_exc()
        say(failed=f"{type(error).__name__}: {error}")
    finally:
        out.flush()
        os._exit(0)  # no farewell over sockets that may hang


def _end_with_parent() -> None:
    """End when the worker does: LightGBM waits for ever for a member that is gone."""
    sys.stdin.buffer.read(1)
    os._exit(1)
