"""Open any supported input as a log."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.files import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError
from dcglearn.parts.dask_log import DaskLog
from dcglearn.parts.parquet_log import ParquetLog
from dcglearn.parts.parts import PartedLog, differing_pairs
from dcglearn.readers.preferences import Preferences, as_preferences

if TYPE_CHECKING:
    from dcglearn.readers.mapping import MappingLike

    Log: TypeAlias = Preferences | PartedLog | ArrayLike | str | os.PathLike[str]


@contextlib.contextmanager
def opened_log(
    log: Any,
    n_grades: int | None = None,
    *,
    engine: Any = None,
    memory: str | int | None = None,
    mapping: MappingLike = None,
) -> Iterator[Preferences | PartedLog]:
    """Open any supported input as a log, and close afterwards what was opened here.

    `log` is a Preferences, an array of pairs, a data frame, records, a path or sequence of paths, a PartedLog or a
    Dask dataframe; the rest is as in `DaskLog` and `ParquetLog`. Raises InputError if the log is none of these, or
    they do not fit it.
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
        spread = log if files or hasattr(log, "to_delayed") else as_preferences(log)
        with DaskLog(spread, engine, n_grades=n_grades, mapping=mapping) as over_cluster:
            yield over_cluster
    elif files:
        with ParquetLog(log, memory=memory, n_grades=n_grades, mapping=mapping) as stored:
            yield stored
    else:
        yield as_preferences(log, n_grades)


def without_equal_lists(log: Preferences) -> tuple[Preferences, dict[str, int]]:
    """Return the pairs whose lists differ, and the number of the others; InputError if none with a winner is left."""
    differing = differing_pairs(log)
    n_equal = len(log) - len(differing)
    return differing, _equal_lists(n_equal, len(differing), len(differing) - len(differing.decided))


def dropped_of(log: PartedLog) -> dict[str, int]:
    """Return what learners leave out of a log in parts; raise InputError if no pair with a winner is left."""
    return _equal_lists(log.facts.n_equal, len(log), log.facts.n_ties)


def _equal_lists(n_equal: int, n_differing: int, n_ties: int) -> dict[str, int]:
    """Return the number of pairs of equal lists by its name; raise InputError if every other pair is a tie."""
    if n_ties == n_differing:
        raise InputError(
            f"no pair with a winner and two different lists is left ({number_of(n_equal, 'pairs of equal lists')}, "
            f"{number_of(n_ties, 'ties')}): there is nothing to learn from"
        )
    return {"pairs of equal lists": n_equal} if n_equal else {}


def log_fingerprint(log: Preferences | PartedLog) -> dict[str, Any]:
    """Return the size of a log and a checksum of its contents, by which checkpoints recognise it."""
    shape = {"pairs": len(log), "depth": log.depth, "grades": log.n_grades, "total weight": log.total_weight}
    parts = [checksum(log)] if isinstance(log, Preferences) else log.parts.gathered(checksum)
    return {**shape, "contents": f"{zlib.crc32(np.array(parts, dtype=np.uint32).tobytes()):08x}"}


def checksum(log: Preferences) -> int:
    """Return the CRC-32 of the columns that learners use."""
    crc = 0
    for column in (log.preferred, log.other, log.weight, log.tie, log.strength, log.margin):
        if column is not None:
            crc = zlib.crc32(np.ascontiguousarray(column).data, crc)
    return crc
