"""A few kills and full disks with a fixed seed; ``make fuzz`` has many."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.posix
def test_what_a_stop_leaves_is_old_or_new_and_goes_on():
    call = [sys.executable, "-m", "tests.hostile.stops", "--kills", "8", "--full-disks", "4", "--only", "again"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["kills at an operation"] + counts["kills at a random moment"] == 8
    assert counts["failures"] == counts["tracebacks"] == counts["lost"] == counts["locked"] == 0
    assert counts["leftovers after a second run"] == 0
