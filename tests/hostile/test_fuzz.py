"""Damaged files of a fixed seed: nothing but a refusal in words, or what a slow reader of the format says."""

import sys

import pytest

from tests.hostile import fuzz

FILES = 900
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
