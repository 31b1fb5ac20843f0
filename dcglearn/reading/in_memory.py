"""A log of any form as `Preferences`."""

from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from dcglearn.foundation.sources import is_path
from dcglearn.foundation.validation import InputError, PathLike, is_frame, is_records
from dcglearn.reading.preferences import Preferences

Log: TypeAlias = Preferences | ArrayLike | PathLike
"""What learners take; `ArrayLike` also stands for tables and records."""


def as_preferences(
    log: Any, n_grades: int | None = None, depth: int | None = None, *, as_is: bool = False
) -> Preferences:
    """Return a log, array (n, 2, K), table, records or files as a log on a scale of `n_grades`.

    Its lists have `depth` positions, see `Preferences.rescaled`; by default their own. What is read
    is refused if it seems to be upside down, unless it is taken `as_is`.
    """
    if hasattr(log, "to_delayed"):
        raise InputError(
            "a Dask dataframe is read by the workers of a learner's engine=; without one, give "
            "what its compute() returns"
        )
    if is_path(log) or is_frame(log) or is_records(log):
        from dcglearn.reading.read import read_preferences

        log = read_preferences(log, n_grades, as_is=as_is)
    elif not isinstance(log, Preferences):
        log = Preferences(log, n_grades=n_grades)
    return log.rescaled(n_grades, depth)
