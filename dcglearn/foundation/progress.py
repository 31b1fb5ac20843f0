"""Progress bars of long work: on a terminal, none in a pipe, named by the stage around them."""

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, TypeVar

Item = TypeVar("Item")

_STAGE: ContextVar[str] = ContextVar("stage", default="")


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Write the stage's name before the names of the bars within the block."""
    token = _STAGE.set(name)
    try:
        yield
    finally:
        _STAGE.reset(token)


def counted(items: Any, name: str, total: int | None = None) -> Any:
    """Return items that a bar of tqdm counts where bars are shown; by default their number.

    Without items, the bar is a context whose `update` counts to `total`.
    """
    from tqdm import tqdm

    size = len(items) if total is None else total
    hidden = threading.current_thread() is not threading.main_thread()
    label = f"{_STAGE.get()}: {name}".removeprefix(": ")
    # None hides it where standard error is no terminal
    return tqdm(items, label, size, leave=False, disable=hidden or not size or None)
