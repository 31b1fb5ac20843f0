"""Read damaged files with every reader and command, and count what happens: ``python -m
tests.hostile.fuzz``.

Every file follows from the seed and its number, so a finding can be repeated: ``--files 1 --first
N``. The files are read in child processes, which are started again where one is killed, so that
aborts are counted too.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dcglearn.foundation.validation import InputError
from tests.hostile.damage import damaged
from tests.hostile.referees import Refused
from tests.hostile.targets import COMMANDS, run_command, targets

COMMAND_SHARE = 0.15
"""Share of the files that a command reads rather than a reader."""

SECONDS = 30.0
"""Most processor time that reading a file may take, however busy the machine is."""

MOST_MEMORY = 1 << 30
"""Most bytes that reading may take beyond what the process has: no file here has a hundredth of
that.
"""

KEPT = Path(__file__).with_name("kept.json")
"""Seeds and numbers of files that were faults once; every run begins with them."""

FAULTS = ("traceback", "abort", "wrong", "hang", "memory")
OUTCOMES = ("accepted", "refused", "good refused", *FAULTS)


class Hang(BaseException):
    """A file took longer than `SECONDS`."""


def _alarm(*_: object) -> None:
    raise Hang


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    """Raise Hang after `SECONDS` of processor time."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def attack(number: int, seed: int, folder: Path, readers: dict) -> tuple[str, str, str]:
    """Damage a file, have it read; return the target, the outcome (one of `OUTCOMES`), and words
    about a fault.
    """
    rng = np.random.default_rng([seed, number])
    if rng.random() < COMMAND_SHARE:
        return _attack_command(rng, folder)
    name = list(readers)[rng.integers(len(readers))]
    target = readers[name]
    file = list(target.good)[rng.integers(len(target.good))]
    data, damage = damaged(rng, target.good[file])
    path = folder / "attacked" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if "/" in file:  # the other files of a folder
        for other, content in target.good.items():
            (folder / "attacked" / other).write_bytes(content)
    path.write_bytes(data)
    expected = None
    if target.referee is not None:
        try:
            with _limit():
                expected = (target.referee(data),)
        except Refused:
            expected = ()
        except (Hang, MemoryError):  # a referee has no bounds, so a bomb tells nothing here
            pass
    _peak()  # what the referee took does not count
    outcome, value = _outcome(lambda: target.read(path))
    if outcome == "refused" and expected:
        return name, "good refused", damage
    if outcome != "accepted":
        return name, outcome, f"{damage}: {value}"
    if expected is not None and repr(expected) != repr((value,)):  # NaN is not equal to itself
        return name, "wrong", f"{damage}: read {str(value)[:300]}, expected {str(expected)[:300]}"
    return name, "accepted", damage


def _outcome(read: Callable[[], Any]) -> tuple[str, Any]:
    """Return one of `OUTCOMES`, and what was read or words about a fault."""
    try:
        with _limit():
            return "accepted", read()
    except InputError:
        return "refused", ""
    except Hang:
        return "hang", ""
    except AssertionError as error:
        return "wrong", error
    except Exception:  # whatever else a reader raises is a fault of it
        return "traceback", traceback.format_exc(limit=-4)


def _attack_command(rng: np.random.Generator, folder: Path) -> tuple[str, str, str]:
    name = list(COMMANDS)[rng.integers(len(COMMANDS))]
    words, files = COMMANDS[name]
    victim = list(files)[rng.integers(len(files))]
    damage = ""
    for file, content in files.items():
        data, damage = damaged(rng, content) if file == victim else (content, damage)
        (folder / file).write_bytes(data)

    # a command says itself how it ended
    with contextlib.chdir(folder):
        outcome, value = _outcome(lambda: run_command(words))
    if outcome == "accepted":
        return f"dcglearn {name}", value, damage
    return f"dcglearn {name}", outcome, f"{damage}: {value}"


def attacks(
    first: int, stop: int, seed: int, report: Path | None = None
) -> list[tuple[int, str, str, str]]:
    """Attack with the files of these numbers; `report` gets a line before each file, and one after
    it.
    """
    warnings.simplefilter("ignore")
    results = []
    previous = signal.signal(signal.SIGPROF, _alarm)
    with tempfile.TemporaryDirectory() as place, open(report or os.devnull, "a") as log:  # noqa: PTH123
        readers = targets(Path(place))
        for number in range(first, stop):
            print(json.dumps([number]), file=log, flush=True)
            before = _peak()
            result = (number, *attack(number, seed, Path(place), readers))
            if (more := _peak(reset=False) - before) > MOST_MEMORY and result[2] not in FAULTS:
                result = (number, result[1], "memory", f"{result[3]}: {more / 1e9:.1f} GB")
            print(json.dumps(result), file=log, flush=True)
            results.append(result)
    signal.signal(signal.SIGPROF, previous)
    return results


def _peak(*, reset: bool = True) -> int:
    """Return the most bytes that this process has had since the last reset; 0 where Linux does not
    say.
    """
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
    except OSError:
        return 0


def _limited(first: int, stop: int, seed: int, report: Path) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    attacks(first, stop, seed, report)


def _in_children(
    first: int, stop: int, seed: int, processes: int
) -> list[tuple[int, str, str, str]]:
    """Attack in child processes; a child that dies counts as an abort, and another goes on after
    its file.
    """
    context = multiprocessing.get_context("spawn")
    ends = np.linspace(first, stop, processes + 1).astype(int)
    results: list[tuple[int, str, str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        ranges = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        while ranges:
            children = []
            for begin, end in ranges:
                report = Path(folder) / f"{begin}.jsonl"
                child = context.Process(target=_limited, args=(begin, end, seed, report))
                child.start()
                children.append((child, report, end))
            ranges = []
            for child, report, end in children:
                child.join()
                lines = (
                    [json.loads(line) for line in report.read_text().splitlines()]
                    if report.exists()
                    else []
                )
                results += [tuple(line) for line in lines if len(line) > 1]
                if child.exitcode != 0 and lines:
                    last = lines[-1][0]
                    if len(lines[-1]) == 1:
                        results.append(
                            (last, "?", "abort", f"the process ended with {child.exitcode}")
                        )
                    ranges.append((last + 1, end))
        return results


def table(results: list[tuple[int, str, str, str]]) -> str:
    """Return the counts by target and outcome, and what is known of each fault."""
    counts = Counter((name, kind) for _, name, kind, _ in results) + Counter(
        ("all", kind) for _, _, kind, _ in results
    )
    rows = [["", *OUTCOMES, "files"]]
    for name in [*sorted({name for _, name, _, _ in results}), "all"]:
        row = [counts[name, kind] for kind in OUTCOMES]
        rows.append([name, *map(str, row), str(sum(row))])
    first, *widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *cells in rows:
        lines.append(
            f"{name:<{first}}" + "".join(f"  {c:>{n}}" for c, n in zip(cells, widths, strict=True))
        )
    faults = [
        f"\nfile {n}, {name}, {kind}: {words}" for n, name, kind, words in results if kind in FAULTS
    ]
    return "\n".join([*lines, *faults])


def main() -> None:
    """Attack, print the counts, and end with status 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--seed", type=int, default=int(time.strftime("%Y%m%d")), help="by default the date's"
    )
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    began = time.perf_counter()
    again = [list(pair) for pair in json.loads(KEPT.read_text())]
    results = [
        result for seed, number in again for result in _in_children(number, number + 1, seed, 1)
    ]
    results += _in_children(
        options.first, options.first + options.files, options.seed, options.processes
    )
    seconds = time.perf_counter() - began
    print(
        table(results),
        f"\n{len(results):,} files, seed {options.seed}, {seconds:.0f} s",
        flush=True,
    )
    again += [[options.seed, number] for number, _, kind, _ in results if kind in FAULTS]
    KEPT.write_text(json.dumps(sorted(map(list, set(map(tuple, again))))) + "\n")
    sys.exit(any(kind in FAULTS for _, _, kind, _ in results))


if __name__ == "__main__":
    main()
