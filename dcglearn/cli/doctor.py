"""``dcglearn doctor``: versions, kernels, extras, threads and permissions, for bug reports."""

import contextlib
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dcglearn.cli.command import examples
from dcglearn.cli.options import AsJson, print_result
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.inputs import available
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.threads import free_threads, threads
from dcglearn.foundation.validation import Fields, PolarsFrame
from dcglearn.foundation.version import __version__


@examples("dcglearn doctor", "dcglearn doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Print versions, kernels, extras, threads and write rights: paste it into a report of a bug.

    Nothing is sent or changed. Notes below the table say what to do about what is missing.
    """
    print_result(Installation(facts()), as_json)


@dataclass(frozen=True)
class Installation(Finding):
    """What is installed and what the machine offers, see `facts`."""

    facts: Fields = field(repr=False)

    @property
    def sentence(self) -> str:
        """Version, and how much is missing, in words."""
        name = f"version {self.facts['dcglearn']} of dcglearn"
        if not self.notes:
            return f"{name} is installed with all extras, and can write where it must"
        return (
            f"{name} is installed; {number_of(len(self.notes), 'things')} it may need are missing"
        )

    @property
    def table(self) -> PolarsFrame:
        """A row for each part of the package and of the machine."""
        values = self.facts
        omp = values["OMP_NUM_THREADS"] or "not set"
        free = f"{values['free_threads']} (OMP_NUM_THREADS {omp})"
        extras = {f"extra {name}": _of_all(found) for name, found in values["extras"].items()}
        folders = {
            name: f"{folder['path']} ({'can' if folder['writable'] else 'cannot'} be written)"
            for name, folder in values["folders"].items()
        }

        parts = {
            "dcglearn": f"{values['dcglearn']} in {values['folder']}",
            "python": f"{values['python']} on {values['system']}",
            "libraries": _of_all(values["libraries"]),
            "kernels": values["kernels"],
            **extras,
            "threads": f"{values['threads']}, for trees {free}",
            "memory": f"{values['memory'] / 1e9:.1f} GB can be used",
            **folders,
        }
        return table_of({"part": name, "value": value} for name, value in parts.items())

    @property
    def n_names(self) -> int:
        """Both columns are text, flush left, also where a value begins with a number."""
        return 2

    @property
    def notes(self) -> list[str]:
        """What is missing, with its remedy."""
        notes = []
        for name, libraries in self.facts["extras"].items():
            missing = [library for library, version in libraries.items() if version is None]
            if missing:
                notes.append(
                    f"extra {name} lacks {', '.join(missing)}: pip install 'dcglearn[{name}]'"
                )
        for name, folder in self.facts["folders"].items():
            if not folder["writable"]:
                notes.append(f"{folder['path']}, for {name}, cannot be written: change its rights")
        return notes

    @property
    def extra_values(self) -> Fields:
        """The facts by name."""
        return self.facts


def facts() -> Fields:
    """Return versions, extras and folders as plain values."""
    from dcglearn.kernels.library import about

    needed = libraries_by_extra()
    folders = {"working folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    return {
        "dcglearn": __version__,
        "folder": str(Path(__file__).parents[1]),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "kernels": about(),
        "libraries": _versions(needed.pop("")),
        "extras": {name: _versions(libraries) for name, libraries in needed.items()},
        # the machine
        "threads": threads(),
        "free_threads": free_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "memory": available(),
        "folders": {
            name: {"path": str(path), "writable": _writable(path)} for name, path in folders.items()
        },
    }


def libraries_by_extra() -> dict[str, list[str]]:
    """Return the libraries that this package needs, by extra; those of "" are always needed."""
    names: dict[str, list[str]] = {"": []}
    for name, inner, extra in _requirements("dcglearn"):
        libraries = names.setdefault(extra, [])
        libraries.append(name)

        # dask[distributed] needs distributed too
        for other, _, part in _requirements(name) if inner else ():
            if part in inner and other not in libraries:
                libraries.append(other)
    return names


def _requirements(project: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield what a project needs as its metadata say: name, extras of it, and extra of the project.

    A library that only other versions of Python need is left out unless it is there.
    """
    from importlib import metadata

    lines: list[str] = []
    with contextlib.suppress(metadata.PackageNotFoundError):
        lines = metadata.requires(project) or []
    pattern = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?(?:.*\bextra == ['\"]([\w-]+))?")
    for line in lines:
        name, inner, extra = pattern.match(line).groups("")  # type: ignore[union-attr]
        if "python_version" not in line or _version(name) is not None:
            yield name, inner.split(",") if inner else [], extra


def _versions(libraries: list[str]) -> dict[str, str | None]:
    return {name: _version(name) for name in libraries}


def _version(library: str) -> str | None:
    from importlib import metadata

    for name in (library, library.removesuffix("-base")):  # cvxpy holds all of cvxpy-base
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


def _writable(folder: Path) -> bool:
    """Return whether a file can be made in a folder, by making one."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _of_all(versions: dict[str, str | None]) -> str:
    """Return libraries with their versions, in words."""
    return ", ".join(f"{library} {version or 'missing'}" for library, version in versions.items())
