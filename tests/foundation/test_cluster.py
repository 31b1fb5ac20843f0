"""Workers that are started here: what lies in the working folder is not imported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import contextlib
from dcglearn.foundation.cluster import connected

def path():
    import sys
    return sys.path

if __name__ == "__main__":
    with contextlib.ExitStack() as closing:
        client = connected(1, closing)
        first = client.submit(path, pure=False).result()
        client.restart()
        print([first, client.submit(path, pure=False).result()])
"""
"""Prints the import paths of a worker, and of the same worker restarted."""


def test_a_module_in_the_working_folder_is_not_executed(tmp_path):
    pytest.importorskip("distributed")
    for name in ("numpy", "pickle", "random", "tempfile"):
        (tmp_path / f"{name}.py").write_text(f"open('executed-{name}', 'w').close()")
    script = tmp_path / "bin" / "program.py"
    script.parent.mkdir()
    script.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    call = [sys.executable, script]
    done = subprocess.run(
        call, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert not list(tmp_path.glob("executed-*"))
    paths = eval(done.stdout)
    assert len(paths) == 2
    assert all("" not in path and str(tmp_path) not in path for path in paths)
