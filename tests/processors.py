"""The tests of what computes, under other processors, threads, orders, homes and places.

``python -m tests.processors`` runs them under every setting, ``python -m tests.processors haswell
tokyo`` under those named, and ``--turn N`` under the one whose turn it is, such as by the week of
the year. The exit status is 1 if a test fails under any of them. `.ci/weekly processors` sets up
what is needed first.
"""

from __future__ import annotations

import argparse
import contextlib
import locale
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMPUTING = (
    *(
        "learning",
        "metrics",
        "logs",
        "reading",
        "losses",
        "rankers",
        "evaluation",
        "trust",
        "raters",
    ),
    *("estimators", "coherence", "simulations"),
)
"""Folders of the tests that compute."""

NO_HOME = "/dev/null/home"
"""A home that nobody can make."""


@dataclass(frozen=True)
class Setting:
    """What differs from the plain run: variables, words before the command, and options of
    pytest."""

    about: str
    variables: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    read_only: bool = False


def _kernels(core: str, threads: int) -> Setting:
    about = f"OpenBLAS's kernels for {core}, BLAS threads: {threads}"
    return Setting(about, {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(threads)})


def _order(seed: int) -> Setting:
    return Setting(
        f"random order of tests, seed {seed}",
        options=("--random-order", f"--random-order-seed={seed}"),
    )


SETTINGS = {
    "haswell": _kernels("Haswell", 1),
    "zen": _kernels("Zen", 2),
    "nehalem": _kernels("Nehalem", 1),
    "prescott": _kernels("Prescott", 2),
    "one-blas-thread": Setting("one BLAS thread", {"OPENBLAS_NUM_THREADS": "1"}),
    "two-blas-threads": Setting("two BLAS threads", {"OPENBLAS_NUM_THREADS": "2"}),
    "baseline": Setting("kernels for any processor", {"DCGLEARN_KERNELS": "baseline"}),
    "order-1": _order(1),
    "order-2": _order(2),
    "homeless": Setting(
        "neither home nor package can be written",
        {"HOME": NO_HOME, "XDG_CACHE_HOME": NO_HOME},
        read_only=True,
    ),
    "german": Setting("locale de_DE.UTF-8", {"LC_ALL": "de_DE.UTF-8"}),
    "tokyo": Setting("time zone of Tokyo", {"TZ": "Asia/Tokyo"}),
    "one-processor": Setting("one processor", before=("taskset", "--cpu-list", "0")),
}


def why_not(setting: Setting) -> str | None:
    """Return why a setting cannot be tried on this machine, if it cannot."""
    if setting.before and shutil.which(setting.before[0]) is None:
        return f"no {setting.before[0]} here"
    if (wanted := setting.variables.get("LC_ALL")) is not None:
        current = locale.setlocale(locale.LC_ALL)
        try:
            locale.setlocale(locale.LC_ALL, wanted)
        except locale.Error:
            return "no such locale here"
        finally:
            locale.setlocale(locale.LC_ALL, current)
    if setting.read_only and os.name != "posix":
        return "needs the permissions of Linux or macOS"
    return None


@contextlib.contextmanager
def read_only_copy() -> Iterator[Path]:
    """Yield a copy of the checkout that cannot be written, and remove it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "main"
        left_out = shutil.ignore_patterns(
            ".git", ".venv*", "build", "dist", "__pycache__", ".*_cache", ".hypothesis"
        )
        shutil.copytree(ROOT, copy, ignore=left_out)
        places = [copy, *(path for path in copy.rglob("*") if path.is_dir())]
        for place in places:
            place.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            yield copy
        finally:
            for place in places:
                place.chmod(stat.S_IRWXU)


def run(setting: Setting, paths: list[str]) -> int:
    """Run the tests under a setting and return pytest's exit status."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(read_only_copy()) if setting.read_only else ROOT
        before = setting.before
        if (
            setting.read_only and os.geteuid() == 0 and shutil.which("setpriv")
        ):  # root may write anywhere otherwise
            before = ("setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override")
        variables = {**os.environ, "PYTHONPATH": str(folder), **setting.variables}
        options = ("-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider", *setting.options)
        command = [*before, sys.executable, "-m", "pytest", *options, *paths]
        return subprocess.run(command, cwd=folder, env=variables, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETTINGS))
    parser.add_argument(
        "--turn", type=int, metavar="N", help="the setting whose turn it is: N counts on, and round"
    )
    parser.add_argument(
        "--tests", nargs="+", metavar="PATH", default=[f"tests/{name}" for name in COMPUTING]
    )
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - SETTINGS.keys():
        parser.error(f"no setting {', '.join(sorted(unknown))}; there are {', '.join(SETTINGS)}")
    names = chosen.names or list(SETTINGS)
    if chosen.turn is not None:
        can_run = [name for name in names if why_not(SETTINGS[name]) is None]
        names = [can_run[chosen.turn % len(can_run)]]
    failed = 0
    for name in names:
        setting, start = SETTINGS[name], time.monotonic()
        print(f"== {name}: {setting.about}", flush=True)
        if (reason := why_not(setting)) is not None:
            print(f"== {name}: left out, {reason}", flush=True)
            continue
        status = run(setting, chosen.tests)
        failed += status != 0
        took = time.monotonic() - start
        print(
            f"== {name}: {'passed' if status == 0 else f'failed, pytest {status}'}, {took:.0f} s",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
