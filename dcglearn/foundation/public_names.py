"""Public names of a module: listed once, in its stub, and imported when they are first used."""

from __future__ import annotations

import ast
import importlib
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
        stub = ast.parse(opened.read())
    sources: dict[str, str | None] = {}
    for node in stub.body:
        # names of other modules; a type checker's own have one underscore
        if isinstance(node, ast.ImportFrom):
            names = [alias.asname for alias in node.names if alias.asname]
            sources |= {name: node.module for name in names if name[:1] != "_" or name[:2] == "__"}

        # a module that is more than type checkers know of modules
        elif isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name):
            sources[ast.unparse(node.target)] = module

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
