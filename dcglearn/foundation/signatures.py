"""Signatures that show the keywords which a function takes as ``**options``."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def spelled_out(options: type, source: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Show the keys of a TypedDict in a function's signature, in place of its ``**options``.

    Type checkers read them from ``Unpack``; `help` and notebooks read the signature. Defaults are
    those of `source`, which takes the same keywords; without one, None.
    """
    defaults: dict[str, Any] = getattr(source, "__kwdefaults__", {})

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        shown = [one for one in own.parameters.values() if one.kind != one.VAR_KEYWORD]

        # keywords that it does not name itself, in the order of the keys
        for name in options.__annotations__:
            if name not in own.parameters:
                kind, default = inspect.Parameter.KEYWORD_ONLY, defaults.get(name)
                shown.append(inspect.Parameter(name, kind, default=default))
        function.__signature__ = own.replace(parameters=shown)  # type: ignore[attr-defined]
        return function

    return decorate
