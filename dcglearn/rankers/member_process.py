"""A worker of a cluster starts a member of a training as a process of its own, which can be ended from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from dcglearn.rankers.tree_member import Orders, Share

_RUNNING: dict[str, MemberProcess] = {}
_ENDED: set[str] = set()


class MemberFailed(RuntimeError):
    """A member stopped before the end, or was stopped since another one did."""


class MemberProcess:
    """A member's process and what it has told so far.

    A thread that waits in LightGBM for a member that is gone waits for ever, and no thread can be ended; a process can.
    """

    def __init__(self, orders: Orders, share: Share) -> None:
        import cloudpickle

        self.name = f"member {orders.rank} ({orders.seats[orders.rank].worker})"
        self.told: dict[str, Any] = {"trees": 0, "value": None}
        self.checkpoints = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `result`
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from dcglearn.rankers.tree_member import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},  # noqa: PTH109
        )
        self.pid = self._process.pid
        self._what = cloudpickle.dumps((orders, share), protocol=5)

    def result(self) -> dict[str, Any]:
        """Return what the member found, when it has.

        Raises
        ------
        InputError
            If it refuses its input.
        MemberFailed
            If it fails, or somebody ended it.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._errors, self._process:
            try:
                self._process.stdin.write(self._what)
                self._process.stdin.flush()
            except BrokenPipeError:
                pass  # it is gone; why, is found below
            del self._what
            words: dict[str, Any] = {}
            for line in self._process.stdout:
                words = json.loads(line)
                self._hear(words)
            self._process.wait()
            if "refused" in words:
                raise InputError(words["refused"])
            if "done" in words:
                found: dict[str, Any] = words["done"]
                return found
            self._errors.seek(0)
            tail = self._errors.read().decode("utf-8", "replace")[-2000:].strip()
            why = words.get("failed") or f"its process ended with status {self._process.returncode}"
            raise MemberFailed(f"{self.name}: {why}" + (f"\n{tail}" if tail else ""))

    def _hear(self, words: dict[str, Any]) -> None:
        if "checkpoint" in words:
            self.checkpoints += 1
        self.told.update(words)

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()


def member(orders: Orders, share: Share) -> dict[str, Any]:
    """Run a member on this worker, as a task, to its end; for errors see `MemberProcess.result`."""
    seat = orders.seats[orders.rank]
    if seat.pid != os.getpid() or orders.token in _ENDED:
        raise MemberFailed(f"member {orders.rank} ({seat.worker}): the worker was lost or the training ended before")
    _RUNNING[_key(orders.token, orders.rank)] = running = MemberProcess(orders, share)
    if orders.token in _ENDED:
        running.end()
    try:
        return running.result()
    finally:
        del _RUNNING[_key(orders.token, orders.rank)]


def news(token: str, seen: int) -> dict[str, Any]:
    """Return what rank 0 told, if it is on this worker; its checkpoint only if there are more than `seen`."""
    running = _RUNNING.get(_key(token, 0))
    if running is None:
        return {}
    found = {"trees": running.told["trees"], "value": running.told["value"]}
    if running.checkpoints > seen:
        found |= {"checkpoint": running.told["checkpoint"], "checkpoints": running.checkpoints}
    return found


def end(token: str) -> None:
    """End this worker's member, and let none begin."""
    _ENDED.add(token)
    for key in [key for key in _RUNNING if key.startswith(token)]:
        _RUNNING[key].end()


def _key(token: str, rank: int) -> str:
    return f"{token}/{rank}"
