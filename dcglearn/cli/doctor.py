"""``dcglearn doctor``: versions, kernels, extras, threads and rights, which a report of a bug
should tell.
"""

import contextlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import typer

from dcglearn.cli.command import examples
from dcglearn.cli.options import AsJson
from dcglearn.foundation.inputs import available
from dcglearn.foundation.threads import free_threads, threads
from dcglearn.foundation.version import __version__

LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "polars", "matplotlib", "threadpoolctl", "psutil", "tqdm"),
    *("typer", "rich", "jinja2"),
)
EXTRAS = {
    "trees": ("lightgbm",),
    "scale": ("pyarrow",),
    "dask": ("dask", "distributed", "pandas", "pyarrow", "cryptography"),
    "ir": ("ir-measures",),
    "torch": ("torch",),
    "judge": ("starlette", "uvicorn"),
    "cvxpy": ("cvxpy-base", "clarabel"),
}
"""The extras of the package, and the libraries that each needs."""


@examples("dcglearn doctor", "dcglearn doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Print versions, kernels, extras, threads and write rights: paste it into a report of a bug.

    Nothing is sent or changed. A line that begins with "missing" or "cannot" says what to do.
    """
    found = facts()
    if as_json:
        typer.echo(json.dumps(found))
        return
    lines = [
        f"dcglearn: {found['dcglearn']} in {found['folder']}",
        f"python: {found['python']} on {found['system']}",
    ]
    lines.append(
        "libraries: "
        + ", ".join(f"{name} {v or 'missing'}" for name, v in found["libraries"].items())
    )
    lines.append(f"kernels: {found['kernels']}")
    lines += [
        f"extra {name}: {_extra(name, versions)}" for name, versions in found["extras"].items()
    ]
    omp = found["OMP_NUM_THREADS"] or "not set"
    lines.append(
        f"threads: {found['threads']}, for trees {found['free_threads']} (OMP_NUM_THREADS {omp})"
    )
    lines.append(f"memory: {found['memory'] / 1e9:.1f} GB can be used")
    lines += [f"{name}: {_folder(folder)}" for name, folder in found["folders"].items()]
    typer.echo("\n".join(lines))


def facts() -> dict[str, Any]:
    """Return what `doctor` prints, as plain values."""
    from dcglearn.kernels.library import about

    folders = {"working folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir())}
    return {
        "dcglearn": __version__,
        "folder": str(Path(__file__).parents[1]),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "kernels": about(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "extras": {
            name: {library: _version(library) for library in needed}
            for name, needed in EXTRAS.items()
        },
        "threads": threads(),
        "free_threads": free_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "memory": available(),
        "folders": {
            name: {"path": str(path), "writable": _writable(path)} for name, path in folders.items()
        },
    }


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


def _folder(folder: dict[str, Any]) -> str:
    return f"{folder['path']} ({'can' if folder['writable'] else 'cannot'} be written)"
