"""Progress bars of long work: shown where a caller asks for them, whatever functions lie in between."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Item = TypeVar("Item")

_STAGE: ContextVar[str | None] = ContextVar("stage", default=None)


@contextlib.contextmanager
def stage(name: str | None) -> Iterator[None]:
    """Show the bars of `counted` within the block, each with the stage's name; None shows none."""
    token = _STAGE.set(name)
    try:
        yield
    finally:
        _STAGE.reset(token)


def in_stage() -> bool:
    """Return whether bars are shown."""
    return _STAGE.get() is not None


def counted(items: Iterable[Item], total: int, name: str) -> Iterable[Item]:
    """Return the items, `total` of them, counted by a bar on standard error within a `stage`; none needs no bar."""
    current = _STAGE.get()
    if current is None or not total:
        return items
    from tqdm import tqdm

    bar: Iterable[Item] = tqdm(items, total=total, desc=f"{current}: {name}", leave=False)
    return bar
