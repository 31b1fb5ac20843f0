"""Words that were renamed: the old one works for one release, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def current_word(value: Any, name: str, renamed: Mapping[str, str]) -> Any:
    """Return the value of a parameter, an old word replaced by the present one, with a DeprecationWarning.

    Parameters
    ----------
    value : object
        The value given.
    name : str
        The parameter's name, for the warning.
    renamed : dict of str to str
        Old words and the present ones.
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
