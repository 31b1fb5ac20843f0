"""The terminal: escaped streams, warnings in a line, and the log of ``--verbose``."""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from dcglearn.cli.messages import as_options
from dcglearn.foundation.plain_text import escaped, one_line

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
def own_terminal(command: str = "") -> Iterator[None]:
    """Escape the standard streams and show warnings in a line within the block.

    A warning is its message alone, in the words of the command, without the line of the code that
    warns. At the end, what `show_log` did is undone.
    """

    def in_one_line(message: Any, *_: Any) -> str:
        return f"warning: {as_options(one_line(str(message)), command)}\n"

    # what is there before
    formatwarning, level, handlers = warnings.formatwarning, _LOG.level, [*_LOG.handlers]
    out: Any = Escaped(sys.stdout)
    err: Any = Escaped(sys.stderr, progress=True)
    warnings.formatwarning = in_one_line  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        warnings.formatwarning = formatwarning
        _LOG.handlers[:] = handlers
        _LOG.setLevel(level)


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


class _Shown(logging.StreamHandler):
    """The handler of ``--verbose``."""
