"""Public names of a module: listed once, in its stub, and imported when they are first used."""

from __future__ import annotations

import importlib
import re
import sys

TYPE_CHECKING = False  # typing and pathlib would take half of the time of `import dcglearn`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def public_names(
    module: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module that has a stub beside it.

    The stub is what type checkers read: lines ``from MODULE import NAME as NAME``. `lazy_loader`
    reads stubs too, but no names that stand outside of the module's own folder.
    """
    with open(f"{file}i", encoding="utf-8") as opened:  # noqa: PTH123
        stub = opened.read()
    # `name: _Type` is a module that is more than type checkers know of modules
    lines = re.findall(r"(?m)^(?:from (\S+) import )?(\w+)(?: as \2|: _\w+)$", stub)
    sources = {name: source or module for source, name in lines}

    def attribute(name: str) -> Any:
        source = sources.get(name)
        if source is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")

        # a module of the package, or what another module defines
        if source == module:
            return importlib.import_module(f"{module}.{name}")
        value = getattr(importlib.import_module(source), name)
        setattr(sys.modules[module], name, value)
        return value

    return attribute, lambda: sorted(sources), sorted(sources)
