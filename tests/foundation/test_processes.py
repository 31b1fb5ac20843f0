"""Worker processes: results, errors, interrupts, and the end of the parent."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dcglearn.foundation.processes import in_processes

PARENT = """
import os, signal, sys, time
from contextlib import closing
from dcglearn.foundation.processes import in_processes

def task(item):
    size, seconds = item
    time.sleep(seconds)
    return os.getpid(), "x" * size

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print("started", flush=True)
        items = [(400_000, 0.01)] * 40 + [(1, 60.0)] * 2
        with closing(in_processes(task, items, 2)) as results:
            for process, _ in results:
                print(process, flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
"""

PROGRAMS = {
    "processes": """
from dcglearn.foundation.processes import in_processes

if __name__ == "__main__":
    print(list(in_processes(eval, ["__import__('sys').path"], 1)))
""",
    "cluster": """
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
""",
}
"""Each prints the import paths of the workers that it starts; a worker of Dask is also restarted.
"""


def slow_for_the_first(number: int) -> int:
    time.sleep(0.2 if number == 0 else 0)
    return -number


def faulty(number: int) -> int:
    if number == 1:
        raise ValueError("one is too much")
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def parent(folder: Path) -> subprocess.Popen:
    script = folder / "parent.py"
    script.write_text(PARENT)
    how = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True, "cwd": folder}
    return subprocess.Popen([sys.executable, script], **how)


def gone(process: int, seconds: float) -> bool:
    """Return whether a process that is no child of ours ends within some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":  # ended, and its new parent has not asked for its status
            return True
        time.sleep(0.05)
    return False


def test_results_come_in_order_or_as_they_are_done():
    assert list(in_processes(slow_for_the_first, range(7), 2)) == [-n for n in range(7)]
    as_done = list(in_processes(slow_for_the_first, iter(range(7)), 2, in_order=False))
    assert sorted(as_done) == sorted(-n for n in range(7))
    assert as_done[0] != 0
    assert list(in_processes(slow_for_the_first, [], 2)) == []


@pytest.mark.posix
def test_an_error_and_the_death_of_a_worker_reach_the_caller():
    with pytest.raises(ValueError, match="one is too much") as caught:
        list(in_processes(faulty, [0, 1], 1))
    assert "in faulty" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="ended by signal 9, as when memory runs out"):
        list(in_processes(faulty, [0, 2], 1))
    assert not multiprocessing.active_children()


def test_closing_ends_the_workers_at_once():
    with closing(in_processes(time.sleep, [0, 60, 60], 2)) as results:
        next(results)
        assert len(multiprocessing.active_children()) == 2
        before = time.monotonic()
    assert time.monotonic() - before < 20
    assert not multiprocessing.active_children()


@pytest.mark.posix
def test_an_interrupt_at_any_moment_ends_all_processes(tmp_path):
    # A stop while a worker writes a large result made the pool of Python's library wait without
    # end.
    rng = random.Random(0)
    for _ in range(5):
        running = parent(tmp_path)
        running.stdout.readline()
        time.sleep(rng.uniform(0, 0.8))
        os.killpg(running.pid, signal.SIGINT)
        try:
            shown, _ = running.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        assert running.returncode == 130
        assert all(gone(int(worker), 20) for worker in set(shown.split()))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.posix
def test_workers_end_when_their_parent_is_killed(tmp_path):
    running = parent(tmp_path)
    shown = [running.stdout.readline().strip() for _ in range(41)]
    running.kill()
    running.communicate()
    workers = {int(worker) for worker in shown[1:]}
    assert workers
    assert all(gone(worker, 20) for worker in workers)


@pytest.mark.parametrize("start", ["processes", "cluster"])
def test_a_module_in_the_working_folder_is_not_executed(tmp_path, start):
    for name in ("numpy", "pickle", "random", "tempfile"):
        (tmp_path / f"{name}.py").write_text(f"open('executed-{name}', 'w').close()")
    script = tmp_path / "bin" / "program.py"
    script.parent.mkdir()
    script.write_text(PROGRAMS[start])
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    call = [sys.executable, script]
    done = subprocess.run(
        call, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert not list(tmp_path.glob("executed-*"))
    paths = eval(done.stdout)
    assert len(paths) == 1 + (start == "cluster")
    assert all("" not in path and str(tmp_path) not in path for path in paths)
