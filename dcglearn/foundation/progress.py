"""Progress bars of long work: on a terminal, none in a pipe, named by the stage around them."""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")

_STAGE: ContextVar[str | None] = ContextVar("stage", default="")


@contextlib.contextmanager
def stage(name: str | None) -> Iterator[None]:
    """Write the stage's name before the names of the bars within the block; None shows no bars."""
    token = _STAGE.set(name)
    try:
        yield
    finally:
        _STAGE.reset(token)


def counted(items: Iterable[Item], total: int, name: str) -> Iterable[Item]:
    """Return the `total` items, counted by a progress bar where bars are shown."""
    return bar(total, name, iterable=items) if total else items


def bar(total: int, name: str, **options: Any) -> Any:
    """Return a bar of tqdm, with its `options`, which writes nothing where no bars are shown."""
    from tqdm import tqdm

    hidden = _STAGE.get() is None or threading.current_thread() is not threading.main_thread()
    label = f"{_STAGE.get() or ''}: {name}".removeprefix(": ")
    # None hides it where standard error is no terminal
    return tqdm(total=total, desc=label, disable=hidden or None, leave=False, **options)
