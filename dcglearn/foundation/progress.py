"""Progress bars of long work: on a terminal, none in a pipe, named by the stage around them."""

import contextlib
import multiprocessing
import sys
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
    return bar(total, name, iterable=items) if total and _shown() else items


def bar(total: int, name: str, **options: Any) -> Any:
    """Return a bar of tqdm, with its `options`, which writes nothing where no bars are shown."""
    from tqdm import tqdm

    label = f"{_STAGE.get() or ''}: {name}".removeprefix(": ")
    return tqdm(total=total, desc=label, disable=not _shown(), leave=False, **options)


def _shown() -> bool:
    """Return whether this is the main thread of a program on a terminal."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    first = in_main_thread and multiprocessing.parent_process() is None
    return first and _STAGE.get() is not None and sys.stderr is not None and sys.stderr.isatty()
