"""Logs in memory of any form."""

from typing import Any

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import InputTypeError, is_frame, is_records
from dcglearn.reading.preferences import Preferences


def as_preferences(log: Any, n_grades: int | None = None) -> Preferences:
    """Return a log, array (n, 2, K), table or records as a log on a scale of `n_grades`."""
    if isinstance(log, Preferences):
        return log if n_grades in (None, log.n_grades) else log.rescaled(n_grades)
    if is_frame(log) or is_records(log):
        from dcglearn.reading.read import read_preferences

        return read_preferences(log, n_grades)
    if is_path(log) or hasattr(log, "facts"):
        raise InputTypeError(
            "this needs the whole log in memory: give what read_preferences returns",
            see="whole-log",
        )
    return Preferences(log, n_grades=n_grades)
