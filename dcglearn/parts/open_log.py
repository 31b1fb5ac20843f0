"""Open any supported input as a log."""

import contextlib
from collections.abc import Iterator
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.parts.dask_log import DaskLog
from dcglearn.parts.parted_log import PartedLog
from dcglearn.reading.in_memory import as_preferences
from dcglearn.reading.preferences import Preferences

Log: TypeAlias = Preferences | PartedLog | ArrayLike | PathLike


@contextlib.contextmanager
def opened_log(
    log: Any, n_grades: int | None = None, *, engine: Any = None, **options: Any
) -> Iterator[Preferences | PartedLog]:
    """Open any supported input as a log, and close afterwards what was opened here.

    `log` is a Preferences, an array of pairs, a data frame, records, a path or sequence of paths, a
    PartedLog or a Dask dataframe; the rest is as in `DaskLog`. Raises InputError if the log is of
    another type, or the options do not fit it.
    """
    # a log in parts has its scale, and a fit on another one refuses it
    if isinstance(log, PartedLog):
        if engine is not None:
            raise InputError(f"the log is a {type(log).__name__} already: leave engine= out")
        yield log
        return

    # in memory
    is_dask = hasattr(log, "to_delayed")
    if engine is None:
        if is_dask:
            raise InputError(
                "a Dask dataframe needs engine=: a client, a scheduler's address or a number of "
                "processes"
            )
        if is_path(log):
            from dcglearn.reading.read import read_preferences

            yield read_preferences(log, n_grades, **options)
        else:
            yield as_preferences(log, n_grades)
        return

    # over a cluster
    spread = log if is_path(log) or is_dask else as_preferences(log)
    with DaskLog(spread, engine, n_grades=n_grades, **options) as over_cluster:
        yield over_cluster
