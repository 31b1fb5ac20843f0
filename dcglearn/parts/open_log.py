"""Open any supported input as a log."""

import contextlib
from collections.abc import Iterator
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from dcglearn.foundation.inputs import expand_paths, is_path
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.parts.dask_log import DaskLog
from dcglearn.parts.parquet_pieces import PARQUET, are_plain
from dcglearn.parts.parted_log import PartedLog
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_table import read_pairs
from dcglearn.reading.preferences import Preferences, as_preferences

Log: TypeAlias = Preferences | PartedLog | ArrayLike | PathLike


@contextlib.contextmanager
def opened_log(
    log: Any, n_grades: int | None = None, *, engine: Any = None, mapping: LogMapping | None = None
) -> Iterator[Preferences | PartedLog]:
    """Open any supported input as a log, and close afterwards what was opened here.

    `log` is a Preferences, an array of pairs, a data frame, records, a path or sequence of paths, a
    PartedLog or a Dask dataframe; the rest is as in `DaskLog`. Files of another shape than a
    judgement a row, such as a row for each document, are read whole before they are spread over a
    cluster. Raises InputError if the log is of another type, or the options do not fit it.
    """
    # a log in parts has its scale, and a fit on another one refuses it
    if isinstance(log, PartedLog):
        if engine is not None:
            raise InputError(f"the log is a {type(log).__name__} already: leave engine= out")
        yield log
        return

    # in memory
    is_dask, whole = hasattr(log, "to_delayed"), LogMapping.of(n_grades, mapping=mapping)
    if engine is None:
        if is_dask:
            raise InputError(
                "a Dask dataframe needs engine=: a client, a scheduler's address or a number of "
                "processes"
            )
        yield read_pairs(Preferences, log, whole) if is_path(log) else as_preferences(log, n_grades)
        return

    # over a cluster
    if is_path(log) and not are_plain(expand_paths(log, PARQUET), whole):
        log = read_pairs(Preferences, log, whole)
    spread = log if is_path(log) or is_dask else as_preferences(log)
    with DaskLog(spread, engine, n_grades=n_grades, mapping=mapping) as over_cluster:
        yield over_cluster
