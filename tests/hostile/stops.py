"""Commands that are killed at their file operations, or find the disk full: what is left is old or
new.

python -m tests.hostile.stops --kills 500 --full-disks 200

Each trial forks a process that runs a command of `dcglearn` in a folder of its own. It is killed
before its n-th operation on files, or at a random moment, or a limit of size
or a small disk stops its writes. Then every output must be absent or as before, or as after an
undisturbed run; and the same command must end with status 0 and the same outputs.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dcglearn as dl
from dcglearn.cli.app import main
from dcglearn.foundation import files
from tests.makers import write_svmlight, write_trec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STEPS = ((tempfile, "mkdtemp"), (shutil, "copymode"), (Path, "replace"), (shutil, "rmtree"))
"""Functions by which `files` makes, moves and removes files, at which a process is stopped."""

LONGEST = 120.0
"""Seconds after which a command counts as hanging."""

TRACE = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Target:
    """A command and its output."""

    name: str
    command: tuple[str, ...]
    output: str
    replaces: bool = False
    """Whether an older output is there before, and ``--force`` is given."""

    def again(self, folder: Path) -> tuple[str, ...]:
        """Return the command for a second run, as a person would give it."""
        forces = (
            (folder / self.output).is_file() or self.replaces
        ) and "--force" not in self.command
        return (*self.command, *(["--force"] if forces else []))


LEARN = ("learn", "log.jsonl", "-o", "dcg.json", "--bands", "0")
TRAIN = ("train", "train.svm", "--metric", "metric.json", "-o", "model.json")
TARGETS = (
    Target("learn", LEARN, "dcg.json"),
    Target("learn, again", LEARN, "dcg.json", replaces=True),
    Target("qp", (*LEARN, "--method", "qp"), "dcg.json"),
    Target("train", TRAIN, "model.json"),
    Target("train, again", (*TRAIN, "--objective", "ridge"), "model.json", replaces=True),
    Target("trees", (*TRAIN, "--model", "trees", "-p", "n_trees=120"), "model.json"),
    Target("ask", ("ask", "log.jsonl", "-o", "ask.jsonl"), "ask.jsonl", replaces=True),
    Target(
        "evaluate",
        ("evaluate", "qrels.txt", "run.txt", "--output", "means.txt"),
        "means.txt",
        replaces=True,
    ),
    Target("picture", ("show", "metric.json", "--plot", "metric.png"), "metric.png", replaces=True),
)


def make_inputs(folder: Path) -> None:
    """Write the files that the commands read."""
    truth = dl.simulate.ground_truth("D1")
    dl.simulate.preference_pairs(truth, 60, lists="free", n_flips=5, random_state=0).save(
        folder / "log.jsonl"
    )
    queries = dl.simulate.letor_queries(9, n_features=4, sizes=(5, 9), random_state=0)
    write_svmlight(folder / "train.svm", queries)
    dl.DCG([0, 0.5, 6], [1, 0.9, 0.5], grade_names=("a", "b", "c")).save(folder / "metric.json")
    run = {q: {f"D{d}": (q * d) % 7 for d in range(6)} for q in range(5)}
    write_trec(
        folder, {q: {f"D{d}": (q + d) % 3 for d in range(6)} for q in range(5)}, {"run": run}
    )


def forked(
    work: Callable[[], int | None], folder: Path, killed_after: float | None = None
) -> tuple[int, str]:
    """Do work in a process of its own, in a folder; return its status (minus the signal that ended
    it) and output.
    """
    source, sink = os.pipe()  # no file, since sizes of files may be limited
    process = os.fork()
    if process == 0:
        status = 99
        try:
            os.chdir(folder)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            status = work() or 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)
    os.close(sink)
    words, until = b"", time.monotonic() + min(killed_after or LONGEST, LONGEST)
    while True:
        ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.kill(process, signal.SIGKILL)
        piece = os.read(source, 1 << 16)
        words += piece
        if not piece:
            break
    os.close(source)
    _, ended = os.waitpid(process, 0)
    status = os.waitstatus_to_exitcode(ended)
    hangs = status == -signal.SIGKILL and killed_after is None and time.monotonic() > until
    return (-signal.SIGALRM if hangs else status), words.decode(errors="replace")


def command(
    arguments: tuple[str, ...], before: Callable[[], None] = lambda: None
) -> Callable[[], None]:

    def run() -> None:
        sys.argv = ["dcglearn", *arguments]
        before()
        main()

    return run


def stop_at(n: int, count: Path | None = None) -> None:
    """Kill this process before its n-th operation on the disk.

    The number of operations so far is written to the file `count`.
    """
    done = 0

    def counted(owner: object, name: str) -> Callable[..., object]:
        whole = getattr(owner, name)

        def step(*arguments: object, **options: object) -> object:
            nonlocal done
            done += 1
            if count is not None:
                count.write_text(str(done))
            if done == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments, **options)

        return step

    for owner, name in STEPS:
        setattr(owner, name, counted(owner, name))


class Harness:
    """The folders of all targets before and after an undisturbed run, and the counts of trials."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.seconds: dict[str, float] = {}
        self.n_steps: dict[str, int] = {}
        inputs = folder / "inputs"
        inputs.mkdir()
        self.must(lambda: make_inputs(inputs), folder)

    def prepare(self, target: Target) -> None:
        """Run a target undisturbed, once to know its outputs, once more for its time."""
        before, after = self.place(target, "before"), self.place(target, "after")
        shutil.copytree(self.folder / "inputs", before)
        if target.replaces:
            if target.output == "model":
                self.must(command((*TRAIN, "--objective", "ranksvm")), before)
            else:
                (before / target.output).write_text("the old output")
        shutil.copytree(before, after)
        trial = self.place(target, "counted")
        shutil.copytree(before, trial)
        steps = self.folder / "steps"
        self.must(command(self.first(target), lambda: stop_at(0, steps)), trial)
        self.n_steps[target.name] = int(steps.read_text())
        started = time.monotonic()
        self.must(command(self.first(target)), after)
        self.seconds[target.name] = time.monotonic() - started

    def must(self, work: Callable[[], None], folder: Path) -> None:
        status, words = forked(work, folder)
        if status:
            raise RuntimeError(f"status {status}: {words}")

    def place(self, target: Target, name: str) -> Path:
        return self.folder / f"{target.name} {name}"

    def first(self, target: Target) -> tuple[str, ...]:
        return (*target.command, "--force") if target.replaces else target.command

    def content(self, target: Target, folder: Path) -> dict[str, bytes]:
        output = folder / target.output
        return {output.name: output.read_bytes()} if output.exists() else {}

    def trial(
        self,
        target: Target,
        kind: str,
        expected: tuple[int, ...],
        before: Callable[[], None] = lambda: None,
        **how: Any,
    ) -> None:
        """Run a target once, disturbed by what is done before or in `how` it runs; check what is
        left; run it again.
        """
        place = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copytree(self.place(target, "before"), place, dirs_exist_ok=True)
        run = how.pop("run", forked)
        status, words = run(command(self.first(target), before), place, **how)
        self.counts[kind] += 1
        if status not in expected:
            self.fail(target, kind, f"status {status}: {words}")
        if TRACE in words:
            self.counts["tracebacks"] += 1
            self.fail(target, kind, words)
        self.check(target, kind, place)
        shutil.rmtree(place)

    def check(self, target: Target, kind: str, place: Path) -> None:
        """Check the outputs that a disturbed run left, and those of a second run."""
        before, after = (
            self.content(target, self.place(target, name)) for name in ("before", "after")
        )
        try:
            found = self.content(target, place)
        except (OSError, ValueError, KeyError) as error:
            found = {"": repr(error).encode()}
        if found not in (before, after):
            self.counts["lost"] += 1
            self.fail(target, kind, "the output is neither old nor new")
        self.counts["left new" if found == after else "left as before"] += 1
        again = target.again(place)
        status, words = forked(command(again), place)
        if status:
            self.counts["locked"] += 1
            self.fail(target, kind, f"{' '.join(again)} ends with {status}: {words}")
        elif self.content(target, place) != after:
            self.counts["lost"] += 1
            self.fail(target, kind, "the second run has another output")

    def fail(self, target: Target, kind: str, words: str) -> None:
        self.counts["failures"] += 1
        self.failures.append(f"{target.name}, {kind}: {words.strip()[-600:]}")

    def kill(self, target: Target, times: int) -> None:
        """Kill a target before its operations, all or some drawn at random, and then at random
        moments."""
        n_steps = self.n_steps[target.name]
        most = min(n_steps, -(-2 * times // 3))
        for n in sorted(self.rng.sample(range(1, n_steps + 1), most)):
            stop = functools.partial(stop_at, n)
            self.trial(target, "kills at an operation", (-signal.SIGKILL,), stop)
        for _ in range(times - most):
            after = max(1e-3, self.rng.uniform(0, 1.1 * self.seconds[target.name]))
            self.trial(target, "kills at a random moment", (-signal.SIGKILL, 0), killed_after=after)

    def limit_size(self, target: Target) -> None:
        """Run a target with a limit of the size of files; without the test before work, it is found
        in the middle.
        """
        limit = int(10 ** self.rng.uniform(0, 4.5))
        room = self.rng.choice([files.ROOM, 0])

        def limited() -> None:
            files.ROOM = room
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        self.trial(target, "limits of size", (0, 1, 2), limited)

    def fill_disk(self, target: Target) -> None:
        """Run a target on a small disk with little room."""
        room = self.rng.choice([files.ROOM, 0])

        def run(work: Callable[[], None], place: Path) -> tuple[int, str]:
            with small_disk(place, self.rng) as small:
                ended = forked(work, small)
                (small / "filling").unlink()
                shutil.copytree(small, place, dirs_exist_ok=True)
            return ended

        self.trial(target, "small disks", (0, 1, 2), lambda: setattr(files, "ROOM", room), run=run)


@contextlib.contextmanager
def small_disk(place: Path, rng: random.Random) -> Iterator[Path]:
    """Yield a disk in memory that holds a copy of a folder and little room beside it."""
    small = place / "small"
    small.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", small], check=True, capture_output=True
    )
    try:
        for entry in place.iterdir():
            if entry != small:
                copy = shutil.copytree if entry.is_dir() else shutil.copy
                copy(entry, small / entry.name)
        free = shutil.disk_usage(small).free
        (small / "filling").write_bytes(bytes(max(0, free - int(4096 * rng.randrange(0, 12)))))
        yield small
        for leftover in small.glob(f"{files.MARK}*"):
            shutil.rmtree(leftover)
    finally:
        subprocess.run(["umount", "-l", small], check=True, capture_output=True)
        small.rmdir()


def can_mount(folder: Path) -> bool:
    """Return whether this process may mount a small disk."""
    try:
        with small_disk(folder, random.Random(0)):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def warm_up() -> None:
    """Import what the commands need and load compiled code, once for all forks; no thread may be
    left.
    """
    for module in pkgutil.walk_packages(dl.__path__, "dcglearn."):
        if not module.name.endswith(("__main__", "torch_losses")):
            with contextlib.suppress(ImportError, dl.InputError):
                importlib.import_module(module.name)
    for name in (
        "matplotlib.backends.backend_agg",
        "lightgbm",
        "pyarrow.parquet",
        "scipy.optimize",
    ):
        importlib.import_module(name)
    log = dl.simulate.preference_pairs(
        dl.simulate.ground_truth("D1"), 60, lists="free", n_flips=5, random_state=0
    )
    for learner in (dl.DCGLearner(), dl.UtilityLearner()):
        learner.fit(log)
    dl.LinearRanker(max_iter=2).fit(
        dl.simulate.letor_queries(9, n_features=4, sizes=(5, 9), random_state=0)
    )


def run(kills: int, full_disks: int, seed: int, only: str = "") -> Harness:
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        harness = Harness(folder, seed)
        targets = [target for target in TARGETS if only in target.name]
        probe = folder / "probe"
        probe.mkdir()
        mounts = can_mount(probe)
        for target in targets:
            harness.prepare(target)
        for i, target in enumerate(targets):
            share = kills // len(targets) + (i < kills % len(targets))
            harness.kill(target, share)
            share = full_disks // len(targets) + (i < full_disks % len(targets))
            for trial in range(share):
                (harness.fill_disk if mounts and trial % 2 else harness.limit_size)(target)
    return harness


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--full-disks", type=int, default=200)
    options.add_argument(
        "--seed", type=int, default=int(time.strftime("%Y%m%d")), help="by default the date's"
    )
    options.add_argument("--only", default="", help="targets whose names hold this word")
    given = options.parse_args()
    result = run(given.kills, given.full_disks, given.seed, given.only)
    for line in result.failures[:20]:
        print(line, file=sys.stderr)
    zero = dict.fromkeys(("tracebacks", "lost", "locked", "failures"), 0)
    print(f"operations of each command: {json.dumps(result.n_steps)}")
    print(json.dumps(zero | dict(sorted(result.counts.items()))))
    sys.exit(bool(result.failures))
