"""Run the benchmarks, save their rows, and write the page with its tables.

Each row holds the versions of the libraries and the machine.

    python benchmarks                        all, into benchmarks/results.jsonl, then
                                             docs/benchmarks.md
    python benchmarks trees losses           only these; the rows of the others stay
    python benchmarks --quick -o rows.jsonl  small sizes, to check that they run; no page
    python benchmarks --page                 the page from the existing rows
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from dcglearn.foundation.files import written_beside

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS = ("fit", "losses", "trees", "evaluate", "imports")
PEERS = (
    "dcglearn", "numpy", "scipy", "lightgbm", "scikit-learn", "polars", "cvxpy", "piqp",
    "clarabel", "osqp", "pytrec-eval-terrier", "ir-measures", "ranx", "rax",
)  # fmt: skip
NOTES = {
    "fit": (
        "Not measured: what a fit with several raters, ties or strengths takes beside one without, "
        "and fits of lists of other lengths than ten."
    ),
    "evaluate": (
        "Nearly half of the processor time of an evaluation is Polars reading the files. The rest "
        "is the search for several runs in a file and for repeated documents, the order of "
        "documents, and the look-up of their grades. A CSV is read as text first: lines and cells "
        "that Polars would fill or guess are found, and the text of each list is checked and "
        "split. Parquet holds lists already, which are checked and made arrays."
    ),
    "losses": (
        "Of 100 lists of 100 documents, most time goes into sums over pairs, in float64 and one "
        "thread, then into sorting and discounts. rax computes in float32 on both processors. On "
        "processors with AVX-512, as here, np.argsort sorts by vectors. Not "
        "measured: losses on a GPU."
    ),
    "trees": (
        "LightGBM's lambdarank leaves out pairs of documents that are both below rank 30. Over all "
        "pairs, as the losses here, it takes about half as long again as they do on 1,000,000 "
        "documents."
    ),
    "imports": (
        "A learner is a scikit-learn estimator (`clone`, metadata routing, `check_estimator`), so "
        "its class needs `sklearn.base`, which imports `scipy.stats`. The command line goes "
        "without. Not measured: the commands beside `learn`."
    ),
}
"""By script, what its table does not show, and what is not measured."""

LABELS = {
    "extra_peak_mib": "extra peak MiB",
    "gap": "duality gap",
    "n": "pairs",
    "peer": "tool",
    "relative_objective": "relative difference in objective",
    "times_approx": "time / ApproxNDCG",
    "times_argsort": "time / np.argsort",
    "times_lambdarank": "time / lambdarank",
    "times_ours": "time / dcglearn",
    "times_reading": "processor time / Polars reading the same files",
    "times_the_qp": "time / QP",
    "what": "step",
}
"""Headings of columns, where they differ from the column's name."""

Row = Mapping[str, Any]


def machine() -> dict[str, Any]:
    """Return the versions and the machine of a measurement."""
    versions = {}
    for name in PEERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.machine()}"
    stamp = {"python": platform.python_version(), "system": system}
    return {**stamp, "cores": cores, "versions": versions}


def rows_of(script: str, quick: bool) -> list[Row]:
    """Run a script and return its rows."""
    command = [sys.executable, str(HERE / f"{script}.py"), *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script}.py failed ({done.returncode})")
    stamp = machine()
    rows = map(json.loads, done.stdout.splitlines())
    return [{"script": script, **row, "machine": stamp} for row in rows]


def read(path: Path) -> list[Row]:
    """Return the rows of a file, none if it does not exist."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows in the order of the scripts."""
    ordered = sorted(rows, key=lambda row: SCRIPTS.index(row["script"]))
    with written_beside(path) as beside:
        beside.write_text("".join(json.dumps(row) + "\n" for row in ordered), encoding="utf-8")


def columns_of(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """Return the columns that are shown of the rows of a question, by their headings.

    Ratios replace seconds: the script's own, or else multiples of the first row's seconds.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    left_out = {"script", "machine", "question", *(name for name in names if "seconds" in name)}
    columns = {
        LABELS.get(name, name.replace("_", " ")): [row.get(name) for row in rows]
        for name in names
        if name not in left_out
    }
    if not any(name.startswith("times_") for name in names):
        columns["time / first row"] = [row["seconds"] / rows[0]["seconds"] for row in rows]
    return columns


def cell(value: Any) -> str:
    """Return a value as text."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2g}" if abs(value) < 10 else f"{value:,.0f}"
    return str(value)


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table of a question."""
    columns = columns_of(rows)
    for line in (columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)):
        yield f"| {' | '.join(map(cell, line))} |"


def page(rows: Sequence[Row]) -> str:
    """Return docs/benchmarks.md."""
    known = {item for row in rows for item in row["machine"]["versions"].items()}
    versions = sorted(f"{name} {version}" for name, version in known if name in PEERS)
    stamp = rows[0]["machine"]
    text = [
        "# Speed compared with other tools",
        "",
        "Generated by `python benchmarks` (`make bench`) from `benchmarks/results.jsonl`; "
        "do not edit by hand. Times",
        "are ratios within one run, because seconds depend on the machine. "
        "Tools that were not installed are left out.",
        "",
        f"Python {stamp['python']}, {stamp['system']}, {stamp['cores']} cores; "
        f"{', '.join(versions)}.",
    ]

    # a section for each script
    for script, of_script in groupby(rows, key=lambda row: row["script"]):
        text += ["", f"## {title(script)}", "", f"`python benchmarks/{script}.py`"]
        for question, group in groupby(of_script, key=lambda row: row["question"]):
            text += ["", f"*{question}*", "", *table(list(group))]
        text += ["", fill(NOTES[script], 118)]
    return "\n".join(text) + "\n"


def title(script: str) -> str:
    """Return what a script measures, from the first line of its docstring."""
    tree = ast.parse((HERE / f"{script}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").splitlines()[0].removesuffix(".")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named = f"any of {', '.join(SCRIPTS)} (default: all)"
    parser.add_argument("scripts", nargs="*", default=[], help=named)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.jsonl")

    options = parser.parse_args()
    unknown = sorted(set(options.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(SCRIPTS)}")

    # measure, and keep the rows of other scripts
    rows = read(options.output)
    chosen = [] if options.page else options.scripts or SCRIPTS
    for script in chosen:
        new = rows_of(script, options.quick)
        for row in new:
            print({name: value for name, value in row.items() if name != "machine"}, flush=True)
        rows = [row for row in rows if row["script"] != script] + new
        write(options.output, rows)

    # the page
    if not options.quick:
        (DOCS / "benchmarks.md").write_text(page(read(options.output)), encoding="utf-8")


if __name__ == "__main__":
    main()
