"""A line on the terminal while numba compiles, since the first command after an installation waits for it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

LINE = "compiling, once after an installation: this takes some seconds ..."


@contextlib.contextmanager
def told_on_a_terminal() -> Iterator[None]:
    """Write `LINE` to standard error, if it is a terminal, when the first function is compiled in the block."""
    if not sys.stderr.isatty():
        yield
        return
    from numba.core import event

    class Teller(event.Listener):
        """Tells once."""

        told = False

        def on_start(self, _: Any) -> None:
            if not self.told:
                self.told = True
                print(LINE, file=sys.stderr, flush=True)

        def on_end(self, _: Any) -> None:
            pass

    with event.install_listener("numba:compile", Teller()):
        yield
