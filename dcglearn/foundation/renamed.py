"""Renamed values of parameters: the old word works for one release, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def current_word(value: Any, name: str, renamed: Mapping[str, str]) -> Any:
    """Return the value of a parameter; replace an old word by the current one, with a DeprecationWarning.

    Parameters
    ----------
    value : object
        The value that the caller passed.
    name : str
        The parameter's name, for the warning.
    renamed : dict of str to str
        The current word for each old one.
    """
    if not isinstance(value, str) or value not in renamed:
        return value
    new = renamed[value]
    warnings.warn(
        f"{name}={value!r} is now called {new!r}; the old word will be removed in the next release",
        DeprecationWarning,
        stacklevel=3,
    )
    return new
