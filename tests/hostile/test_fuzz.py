"""Damaged files, kills and full disks of a fixed seed, of which ``make fuzz`` has many.

A damaged file is refused in words, or read as a slow reader of its format reads it.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import fuzz

FILES = 300
"""Files of each test run; ``make fuzz`` reads 20,000."""


@pytest.mark.skipif(sys.platform == "win32", reason="alarms and limits of memory are those of Unix")
def test_damaged_files_are_refused_or_read_right():
    pytest.importorskip("pyarrow")
    results = fuzz.attacks(0, FILES, seed=22)
    print(fuzz.table(results))
    faults = [result for result in results if result[2] in fuzz.FAULTS]
    assert not faults
    kinds = [kind for _, _, kind, _ in results]
    assert len(results) == FILES
    assert min(kinds.count("accepted"), kinds.count("refused")) > FILES / 10


def test_the_same_number_gives_the_same_file():
    assert fuzz.attacks(5, 8, seed=1) == fuzz.attacks(5, 8, seed=1)


@pytest.mark.long
@pytest.mark.posix
def test_what_a_stop_leaves_is_old_or_new_and_goes_on():
    call = [
        sys.executable,
        "-m",
        "tests.hostile.stops",
        "--kills",
        "6",
        "--full-disks",
        "2",
        "--only",
        "again",
    ]
    done = subprocess.run(
        call, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["kills at an operation"] + counts["kills at a random moment"] == 6
    assert counts["failures"] == counts["tracebacks"] == counts["lost"] == counts["locked"] == 0


def test_files_that_were_faults_once_are_none():
    kept = json.loads(fuzz.KEPT.read_text())
    assert not [
        result
        for seed, n in kept
        for result in fuzz.attacks(n, n + 1, seed)
        if result[2] in fuzz.FAULTS
    ]
