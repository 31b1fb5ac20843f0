"""The standard streams of a command: names from files cannot send control characters to the terminal."""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.plain_text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

_CURSOR = re.compile(r"(\n|\x1b\[A)*")


class Escaped:
    """A text stream that escapes control characters, and what its encoding lacks; see `escaped`.

    With `progress`, the moves of the cursor that tqdm writes pass: a carriage return that begins a write, and writes
    that only move between lines.
    """

    def __init__(self, stream: Any, *, progress: bool = False) -> None:
        self._stream, self._progress = stream, progress

    def write(self, text: str) -> int:
        """Write a text."""
        if self._progress and (text.startswith("\r") or _CURSOR.fullmatch(text)):
            start = len(text) if _CURSOR.fullmatch(text) else 1
            plain = text[:start] + escaped(text[start:])
        else:
            plain = escaped(text)
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

    @property
    def unescaped(self) -> Any:
        """The stream itself."""
        return self._stream


def console() -> Console:
    """Return what draws on standard output, past the escaping: text that is not ours has to be `escaped` before."""
    from rich.console import Console

    return Console(file=getattr(sys.stdout, "unescaped", sys.stdout), highlight=False)


@contextlib.contextmanager
def escaped_streams() -> Iterator[None]:
    """Escape what is written to the standard streams within the block."""
    out: Any = Escaped(sys.stdout)
    err: Any = Escaped(sys.stderr, progress=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield
