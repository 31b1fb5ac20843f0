"""A thread that works on the newest of the inputs it is handed."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Generic, TypeVar

Work = TypeVar("Work")


class Newest(Generic[Work]):
    """Calls a function, in a thread, with the newest input; inputs that come while it works replace each other.

    `trouble` holds the message of the last call if it failed, else the empty text.
    """

    def __init__(self, name: str, function: Callable[[Work], None]) -> None:
        self._function = function
        self._changed = threading.Condition()
        self._work: Work | None = None
        self._given = self._done = 0
        self._open = True
        self.trouble = ""
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def give(self, work: Work) -> None:
        """Hand over an input, and return at once."""
        with self._changed:
            self._work = work
            self._given += 1
            self._changed.notify_all()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the newest input is done with; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._done == self._given, seconds)

    def close(self) -> None:
        """Take no more inputs; the call at work is not waited for."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._done != self._given or not self._open)
                if not self._open:
                    return
                work, number = self._work, self._given
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a short log is no surprise while one judges
                try:
                    self._function(work)  # type: ignore[arg-type]
                    self.trouble = ""
                except Exception as error:  # the page shows it, and the next input is tried
                    self.trouble = f"{type(error).__name__}: {error}"
            with self._changed:
                self._done = number
                self._changed.notify_all()
