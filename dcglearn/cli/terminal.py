"""The terminal: escaped streams, and the log of ``--verbose``."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from dcglearn.foundation.plain_text import escaped

_LOG = logging.getLogger("dcglearn")
"""The logger above those of all modules."""


class Escaped:
    """A text stream that escapes control characters, and what its encoding lacks; see `escaped`.

    With `progress`, the moves of the cursor that tqdm writes pass: an initial carriage return, and
    moves between lines.
    """

    def __init__(self, stream: Any, *, progress: bool = False) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str) -> int:
        """Write a text."""
        # moves of the cursor pass
        moves = re.fullmatch(r"(\n|\x1b\[A)*", text)
        if self._progress and (text.startswith("\r") or moves):
            start = len(text) if moves else 1
            plain = text[:start] + escaped(text[start:])
        else:
            plain = escaped(text)

        # what the encoding lacks is escaped too
        try:
            self._stream.write(plain)
        except UnicodeEncodeError:
            encoding = self._stream.encoding
            self._stream.write(plain.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def escaped_streams() -> Iterator[None]:
    """Escape what is written to the standard streams within the block."""
    out: Any = Escaped(sys.stdout)
    err: Any = Escaped(sys.stderr, progress=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield


def show_log(asked: bool) -> None:
    """Show on standard error what is logged, if asked; a second time changes nothing."""
    if not asked or log_is_shown():
        return
    handler = _Shown(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)


def log_is_shown() -> bool:
    """Return whether `show_log` was asked for."""
    return any(isinstance(handler, _Shown) for handler in _LOG.handlers)


@contextlib.contextmanager
def quiet_afterwards() -> Iterator[None]:
    """Undo `show_log` at the end of the block."""
    level, handlers = _LOG.level, [*_LOG.handlers]
    try:
        yield
    finally:
        _LOG.handlers[:] = handlers
        _LOG.setLevel(level)


class _Shown(logging.StreamHandler):
    """The handler of ``--verbose``."""
