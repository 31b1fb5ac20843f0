"""Public names of a module: listed once, in its stub, and imported when they are first used."""

from __future__ import annotations

import ast
import importlib
import sys

TYPE_CHECKING = False  # typing and pathlib would take half of the time of `import dcglearn`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MODULES = (
    "io", "trust", "coherence", "evaluation", "losses", "rankers", "simulate", "exports", "plots",
)  # fmt: skip
"""The modules of the package that have public names, in the order in which a name is looked up."""


def public_names(
    module: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a module that has a stub beside it.

    The stub is what type checkers read: lines ``from MODULE import NAME as NAME``. `__getattr__`
    raises AttributeError for another name, with the place of that name or of the nearest.
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
            raise AttributeError(f"module {module!r} has no attribute {name!r}{_hint(name)}")

        # a module of the package, or what another module defines
        if source == module:
            return importlib.import_module(f"{module}.{name}")
        value = getattr(importlib.import_module(source), name)
        setattr(sys.modules[module], name, value)
        return value

    return attribute, lambda: sorted(sources), sorted(sources)


def _hint(name: str) -> str:
    """Return where a name is, or the nearest one; nothing where none is near."""
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches

    # the first place of each name, from the top down
    places: dict[str, str] = {}
    for module in ("dcglearn", *(f"dcglearn.{folder}" for folder in MODULES)):
        for public in importlib.import_module(module).__all__:
            places.setdefault(public, f"{module}.{public}")

    # the name itself, a name that is a part of it, or one spelled like it
    near = [name] if name in places else get_close_matches(name, places, 1)
    parts = [public for public in places if name.endswith(public)]
    near = near or sorted(parts, key=len)[-1:]
    return f"; did you mean {places[near[0]]}?" if near else ""
