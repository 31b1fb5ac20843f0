"""Calls timed in turn in one process, so that what slows the machine slows all of them."""

import time
from collections.abc import Callable, Mapping
from typing import Any


def in_turn(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Return the processor seconds of each call in as many turns, after one that warms caches."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(repeats + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if turn:
                times[name].append(time.process_time() - start)
    return times
