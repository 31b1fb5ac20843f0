"""What the package logs, shown on request: ``--verbose``."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

LOGGER = "dcglearn"
"""The logger above those of all modules."""


def show_log(asked: bool) -> None:
    """Show on standard error what is logged, if asked; a second time changes nothing."""
    logger = logging.getLogger(LOGGER)
    if not asked or any(isinstance(handler, _Shown) for handler in logger.handlers):
        return
    handler = _Shown(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


@contextlib.contextmanager
def quiet_afterwards() -> Iterator[None]:
    """Undo `show_log` at the end of the block."""
    logger = logging.getLogger(LOGGER)
    level = logger.level
    try:
        yield
    finally:
        for handler in [handler for handler in logger.handlers if isinstance(handler, _Shown)]:
            logger.removeHandler(handler)
        logger.setLevel(level)


class _Shown(logging.StreamHandler):
    """The handler of ``--verbose``."""
