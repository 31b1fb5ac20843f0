"""``dcglearn doctor``: versions, extras, threads, caches and rights, which a report of a bug should tell."""

import contextlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from dcglearn.cli.command import examples, output_option
from dcglearn.cli.options import AsJson
from dcglearn.foundation.inputs import available
from dcglearn.foundation.threads import free_threads, threads
from dcglearn.foundation.version import __version__

LIBRARIES = (
    *("numpy", "scipy", "numba", "scikit-learn", "polars", "matplotlib", "threadpoolctl", "psutil", "tqdm"),
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


@examples("dcglearn doctor", "dcglearn doctor --json", "dcglearn doctor --compile")
def doctor(
    as_json: AsJson = False,
    compile_all: Annotated[
        bool, output_option("--compile", help="Compile ahead what is otherwise compiled at first use, for an image.")
    ] = False,
) -> None:
    """Print versions, extras, threads, cache folder and write rights: paste it into a report of a bug.

    Nothing is sent, or changed but by --compile. A line that begins with "missing" or "cannot" says what to do.
    """
    if compile_all:
        use_kernels()
    found = facts()
    if as_json:
        typer.echo(json.dumps(found))
        return
    lines = [f"dcglearn: {found['dcglearn']} in {found['folder']}", f"python: {found['python']} on {found['system']}"]
    lines.append("libraries: " + ", ".join(f"{name} {v or 'missing'}" for name, v in found["libraries"].items()))
    lines += [f"extra {name}: {_extra(name, versions)}" for name, versions in found["extras"].items()]
    omp = found["OMP_NUM_THREADS"] or "not set"
    lines.append(f"threads: {found['threads']}, for trees {found['free_threads']} (OMP_NUM_THREADS {omp})")
    lines.append(f"memory: {found['memory'] / 1e9:.1f} GB can be used")
    lines += [f"{name}: {_folder(folder)}" for name, folder in found["folders"].items()]
    typer.echo("\n".join(lines))


def use_kernels() -> None:
    """Use the functions that are compiled on small data, so that they are compiled and kept."""
    import numpy as np

    import dcglearn as dl

    log = dl.simulate.preference_pairs(dl.simulate.ground_truth("D1"), 60, n_raters=3, lists="free", seed=0)
    recurring = dl.Preferences(log.preferred, log.other, n_grades=5)[np.resize(np.arange(60), 5000)]
    forms = (("best", log), ("dcg", recurring), ("dcg", log))
    of_best, _, learner = (dl.DCGLearner(form=form, loss="robust").fit(judged) for form, judged in forms)
    dl.UtilityLearner().fit(dl.Preferences(log.preferred, log.other, 40))
    dl.rater_agreement(log, learner)
    dl.lack_of_fit(log, learner=learner)
    dl.suggest_pairs(log, log.preferred, 1, of_best)
    dl.RankSVMRanker().fit(dl.simulate.letor_queries(2, seed=0))
    metric, other = dl.DCG.standard(5, 5), dl.DCG.standard(5, 5, "linear")
    dl.disagreement(metric, other)
    rng = np.random.default_rng(0)
    scores, grades = rng.normal(0, 0.1, (4, 200)), rng.integers(0, 5, (4, 200))  # near, so that some are condensed
    dl.evaluate_arrays(grades, scores.round(1), metric)
    batch = scores.ravel(), grades.ravel(), np.arange(5) * 200, np.full(4, 0.25)
    smooth = dl.SDCG(metric), dl.SHFSDCG(metric), dl.SmoothNDCG(metric), dl.SoftRankNDCG(metric), dl.LambdaRank(metric)
    for loss in (*smooth, dl.RankHinge(), dl.ApproxAP(), dl.SmoothAP()):
        loss(*batch)
        loss.lambdas(*batch)


def facts() -> dict[str, Any]:
    """Return what `doctor` prints, as plain values."""
    from dcglearn.foundation.compiled import cache_folder

    cache = cache_folder()
    folders = {"working folder": Path.cwd(), "temporary files": Path(tempfile.gettempdir()), "compiled code": cache}
    return {
        "dcglearn": __version__,
        "folder": str(Path(__file__).parents[1]),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "extras": {name: {library: _version(library) for library in needed} for name, needed in EXTRAS.items()},
        "threads": threads(),
        "free_threads": free_threads(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        "memory": available(),
        "folders": {
            name: {"path": None if path is None else str(path), "writable": path is not None and _writable(path)}
            for name, path in folders.items()
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
    if folder["path"] is None:
        return "cannot be kept, so each process compiles anew; set NUMBA_CACHE_DIR to a folder that only you can write"
    return f"{folder['path']} ({'can' if folder['writable'] else 'cannot'} be written)"
