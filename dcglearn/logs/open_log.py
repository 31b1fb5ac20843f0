"""What a learner is given to learn from, whatever and wherever it is, as one log."""

from __future__ import annotations

import contextlib
import os
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.logs.dask_log import DaskLog
from dcglearn.logs.parquet_log import ParquetLog
from dcglearn.logs.parts import PartedLog
from dcglearn.logs.preferences import Preferences, as_preferences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    Log: TypeAlias = Preferences | PartedLog | ArrayLike | str | os.PathLike[str]


@contextlib.contextmanager
def opened_log(
    log: Any, n_grades: int | None = None, *, engine: Any = None, memory: str | int | None = None
) -> Iterator[Preferences | PartedLog]:
    """Yield a log: preferences in memory, or in parts on disk or a cluster; what is opened here is closed.

    Parameters
    ----------
    log : Preferences, array_like, path, sequence of paths, PartedLog, Dask dataframe
        The log.
    n_grades : int, optional
        L.
    engine : distributed.Client, str or int, optional
        Where to spread it; see `DaskLog`.
    memory : str or int, optional
        See `ParquetLog`.

    Raises
    ------
    InputError
        If the log is none of these, or `engine` and `memory` do not fit it.
    """
    files = is_path(log)
    if memory is not None and (engine is not None or not files):
        raise InputError("memory= bounds the reading of Parquet files on this machine: leave it out")
    if isinstance(log, PartedLog):
        if engine is not None:
            raise InputError(f"the log is a {type(log).__name__} already: leave engine= out")
        if n_grades not in (None, log.n_grades):
            raise InputError(f"n_grades={n_grades}, but the log was opened with {log.n_grades}: open it with that")
        yield log
    elif engine is not None or hasattr(log, "to_delayed"):
        if engine is None:
            raise InputError("a Dask dataframe needs engine=: a client, a scheduler's address or a number of processes")
        spread = log if isinstance(log, Preferences) or files or hasattr(log, "to_delayed") else Preferences(log)
        with DaskLog(spread, engine, n_grades=n_grades) as found:
            yield found
    elif files:
        with ParquetLog(log, memory=memory, n_grades=n_grades) as stored:
            yield stored
    else:
        yield as_preferences(log, n_grades)


def is_path(log: Any) -> bool:
    """Whether a log is a path or several."""
    several = isinstance(log, (list, tuple)) and len(log) > 0 and all(isinstance(x, (str, os.PathLike)) for x in log)
    return isinstance(log, (str, os.PathLike)) or several


def without_equal_lists(log: Preferences) -> tuple[Preferences, dict[str, int]]:
    """Return the pairs whose lists differ, and how many others there were.

    Raises
    ------
    InputError
        If no pair with a winner is left.
    """
    equal = len(log) - int(log.differing.sum())
    log = log[log.differing] if equal else log
    if not len(log.decided):
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({equal} pairs of equal lists, {len(log)} ties): there is nothing to learn from"
        )
    return log, {"pairs of equal lists": equal} if equal else {}


def dropped_of(log: PartedLog) -> dict[str, int]:
    """Return what learners leave out of a log in parts.

    Raises
    ------
    InputError
        If no pair with a winner is left.
    """
    facts = log.facts
    if not log.has_winner:
        raise InputError(
            "no pair with a winner and two different lists is left "
            f"({facts.n_equal} pairs of equal lists, {facts.n_ties} ties): there is nothing to learn from"
        )
    return {"pairs of equal lists": facts.n_equal} if facts.n_equal else {}


def log_identity(log: Preferences | PartedLog) -> dict[str, Any]:
    """Return what tells one log from another, for checkpoints."""
    shape = {"pairs": len(log), "depth": log.depth, "grades": log.n_grades, "total weight": log.total_weight}
    parts = [digest(log)] if isinstance(log, Preferences) else log.parts.gathered(digest)
    return {**shape, "contents": f"{zlib.crc32(np.array(parts, dtype=np.uint32).tobytes()):08x}"}


def digest(log: Preferences) -> int:
    """Return a checksum of the columns that learners use."""
    found = 0
    for column in (log.preferred, log.other, log.weight, log.tie, log.strength, log.margin):
        if column is not None:
            found = zlib.crc32(np.ascontiguousarray(column).data, found)
    return found
