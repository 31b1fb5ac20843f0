"""What the benchmarks share: rows of JSON, calls timed in turn, and a process of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

QUICK = "--quick" in sys.argv
"""Whether small sizes are asked for, to check that a benchmark runs."""


def show(question: str, **columns: Any) -> None:
    """Print a row of a table: the question that it answers, and its columns."""
    print(json.dumps({"question": question, **columns}), flush=True)


def in_turn(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Return the processor seconds of each call in as many turns, after one that warms caches.

    The calls are timed in turn, so that what slows the machine slows all of them.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn:
                times[name].append(time.process_time() - start)
    return times


def least(calls: Mapping[str, Callable[[], Any]], repeats: int) -> list[float]:
    """Return the least processor seconds of each call in as many turns."""
    return [min(seconds) for seconds in in_turn(calls, repeats).values()]


def process_seconds(code: str, arguments: Sequence[str] = (), repeats: int = 5) -> float:
    """Return the least processor seconds of Python code in a process of its own."""
    seconds = []
    for _ in range(repeats):
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"{code}: ended with status {status}")
        seconds.append(usage.ru_utime + usage.ru_stime)
    return min(seconds)
