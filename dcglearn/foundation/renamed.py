"""Renamed values of parameters: the old word works for one release, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def current_word(value: Any, name: str, renamed: Mapping[str, str], stacklevel: int = 4) -> Any:
    """Return the value of the parameter `name`; replace an old word by the current one, with a DeprecationWarning.

    `renamed` maps each old word to the current one. The warning names the caller of the function that calls this one;
    add 1 to `stacklevel` for each function in between.
    """
    if not isinstance(value, str) or value not in renamed:
        return value
    warn_of_rename(f"{name}={value!r}", repr(renamed[value]), stacklevel=stacklevel)
    return renamed[value]


def warn_of_rename(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller of a function or attribute that its old name will go; see `warnings.warn`."""
    message = f"{old} is now called {new}; the old word will be removed in the next release"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
