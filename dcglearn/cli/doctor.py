"""``dcglearn doctor``: versions, kernels, extras, threads and permissions, for bug reports."""

import contextlib
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import typer

from dcglearn.cli.command import examples
from dcglearn.cli.options import AsJson, print_result
from dcglearn.foundation.inputs import available
from dcglearn.foundation.threads import free_threads, threads
from dcglearn.foundation.validation import Fields
from dcglearn.foundation.version import __version__


@examples("dcglearn doctor", "dcglearn doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Print versions, kernels, extras, threads and write rights: paste it into a report of a bug.

    Nothing is sent or changed. A line that begins with "missing" or "cannot" says what to do.
    """
    seen = facts()
    if as_json:
        print_result(seen, as_json)
        return

    # the package and its libraries
    libraries = [f"{name} {version or 'missing'}" for name, version in seen["libraries"].items()]
    lines = [
        f"dcglearn: {seen['dcglearn']} in {seen['folder']}",
        f"python: {seen['python']} on {seen['system']}",
        f"libraries: {', '.join(libraries)}",
        f"kernels: {seen['kernels']}",
    ]
    lines += [f"extra {name}: {_extra(name, found)}" for name, found in seen["extras"].items()]

    # the machine
    omp = seen["OMP_NUM_THREADS"] or "not set"
    for_trees = f"for trees {seen['free_threads']} (OMP_NUM_THREADS {omp})"
    lines.append(f"threads: {seen['threads']}, {for_trees}")
    lines.append(f"memory: {seen['memory'] / 1e9:.1f} GB can be used")
    for name, folder in seen["folders"].items():
        can = "can" if folder["writable"] else "cannot"
        lines.append(f"{name}: {folder['path']} ({can} be written)")
    typer.echo("\n".join(lines))


def facts() -> Fields:
    """Return what `doctor` prints, as plain values."""
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


def _extra(name: str, versions: dict[str, str | None]) -> str:
    missing = [library for library, version in versions.items() if version is None]
    if missing:
        return f"missing {', '.join(missing)} (pip install 'dcglearn[{name}]')"
    return ", ".join(f"{library} {version}" for library, version in versions.items())
