"""Signatures that show the keywords which a function takes as ``**options``."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def spelled_out(options: type, source: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Show the keys of a TypedDict in a function's signature, in place of its ``**options``.

    Type checkers read them from ``Unpack``; `help` and notebooks read the signature. Defaults are
    those of `source`, which takes the same keywords; without one, False for flags, else None.
    """
    defaults = inspect.signature(source).parameters if source else {}

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        fixed = [entry for entry in own.parameters.values() if entry.kind != entry.VAR_KEYWORD]
        taken = {entry.name for entry in fixed}
        shown = [entry for entry in _keywords(options, defaults) if entry.name not in taken]
        function.__signature__ = own.replace(parameters=[*fixed, *shown])  # type: ignore[attr-defined]
        return function

    return decorate


def _keywords(
    options: type, defaults: Mapping[str, inspect.Parameter]
) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each key, with its type without the names of modules."""
    for name, kind in options.__annotations__.items():
        default = False if kind is bool or getattr(kind, "__forward_arg__", "") == "bool" else None
        if name in defaults:
            default = defaults[name].default
        written = getattr(kind, "__forward_arg__", "") or inspect.formatannotation(kind)
        written = re.sub(r"\b(?:\w+\.)+", "", written)
        yield inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=written
        )
