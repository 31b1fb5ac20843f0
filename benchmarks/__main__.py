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

from tqdm import tqdm

from dcglearn.foundation.files import written_beside

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS = ("margin_qp", "direct", "losses", "trees", "evaluate", "reading", "first_call")
PEERS = (
    "dcglearn", "numpy", "numba", "scipy", "lightgbm", "scikit-learn", "cvxpy", "piqp", "clarabel",
    "osqp", "pytrec-eval-terrier", "ir-measures", "ranx", "torch", "rax",
)  # fmt: skip
NOTES = {
    "margin_qp": (
        "On a busy machine, in processor time and in turn with other commits "
        "(`benchmarks/against.py COMMIT`): the fit to 1,000,000 pairs takes .95 of the time at "
        "3320e74, before the solver became slower, and .57 of that at 7cd18d1, when it was "
        "slowest. The likelihood and its derivatives take 1.01 to 1.02 times as long as at "
        "c024d851, before position biases were estimated, at 500, 10,000 and 100,000 pairs."
    ),
    "evaluate": (
        "Most of the processor time of an evaluation is Polars reading the files. The rest is the "
        "search for several runs in a file and for repeated documents, the order of documents, and "
        "the look-up of their grades."
    ),
    "reading": (
        "Beside Polars, a CSV is read as text first: lines and cells that Polars would fill or "
        "guess are found, and the text of each list is checked and split. Parquet holds lists "
        "already, which are checked and made arrays."
    ),
    "losses": (
        "Of 100 lists of 100 documents, most time goes into sums over pairs, in float64 and one "
        "thread, then into sorting and discounts. rax computes in float32 on both processors."
    ),
    "trees": (
        "LightGBM's lambdarank leaves out pairs of documents that are both below rank 30. Over all "
        "pairs, as the losses here, it takes about half as long again as they do on 1,000,000 "
        "documents."
    ),
    "first_call": (
        "A learner is a scikit-learn estimator (`clone`, metadata routing, `check_estimator`), so "
        "its class needs `sklearn.base`, which imports `scipy.stats`. The command line goes "
        "without."
    ),
}
"""By script, what its table does not show."""

LABELS = {
    "extra_peak_mib": "extra peak MiB",
    "gap": "duality gap",
    "n": "pairs",
    "peer": "tool",
    "question": "task",
    "relative_objective": "relative difference in objective",
    "times_approx": "time / ApproxNDCG",
    "times_argsort": "time / np.argsort",
    "times_faster": "time / dcglearn",
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
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores,
        "versions": versions,
    }


def rows_of(script: str, quick: bool) -> list[Row]:
    """Run a script and return its rows."""
    command = [sys.executable, str(HERE / f"{script}.py"), *(["--quick"] if quick else [])]
    if quick and script == "direct":
        command = [*command[:2], "--sizes", "300"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script}.py failed ({done.returncode})")
    stamp = machine()
    return [
        {"script": script, **json.loads(line), "machine": stamp}
        for line in done.stdout.splitlines()
    ]


def read(path: Path) -> list[Row]:
    """Return the rows of a file, none if it does not exist."""
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.exists()
        else []
    )


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows in the order of the scripts."""
    ordered = sorted(rows, key=lambda row: SCRIPTS.index(row["script"]))
    with written_beside(path) as beside:
        beside.write_text("".join(json.dumps(row) + "\n" for row in ordered), encoding="utf-8")


def tables(rows: Sequence[Row]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each question and its rows with equal columns.

    Ratios replace seconds: the script's own, or else multiples of the first row's seconds.
    """
    kept = [
        {k: v for k, v in row.items() if k not in ("script", "machine", "versions")} for row in rows
    ]
    one_table = len({row.get("question") for row in kept}) == len(
        kept
    )  # each row has its own question
    for question, group in groupby(
        kept, key=lambda row: "" if one_table else str(row.get("question", ""))
    ):
        part = list(group)
        names = list(
            dict.fromkeys(name for row in part for name in row if one_table or name != "question")
        )
        if "seconds" in names and not any(name.startswith("times_") for name in names):
            first = part[0]["seconds"]
            part = [{**row, "time / first row": row["seconds"] / first} for row in part]
            names.append("time / first row")
        names = [name for name in names if "seconds" not in name and name != "scikit_learn"]
        yield question, [{name: row.get(name) for name in names} for row in part]


def heading(name: str) -> str:
    """Return the heading of a column."""
    return LABELS.get(name, name.replace("_", " "))


def cell(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2g}" if abs(value) < 10 else f"{value:,.0f}"
    return str(value)


def page(rows: Sequence[Row]) -> str:
    """Return docs/benchmarks.md."""
    stamp = rows[0]["machine"]
    known = {
        (name, version)
        for row in rows
        for name, version in row["machine"]["versions"].items()
        if name in PEERS
    }
    versions = ", ".join(
        f"{name} {version}"
        for name, version in sorted(known, key=lambda pair: (PEERS.index(pair[0]), pair[1]))
    )
    text = [
        "# Speed compared with other tools",
        "",
        (
            "Generated by `python benchmarks` (`make bench`) from `benchmarks/results.jsonl`; "
            "do not edit by hand. Times"
        ),
        (
            "are ratios within one run, because seconds depend on the machine. "
            "Tools that were not installed are left out."
        ),
        "",
        f"Python {stamp['python']}, {stamp['system']}, {stamp['cores']} cores; {versions}.",
    ]
    for script, group in groupby(rows, key=lambda row: row["script"]):
        text += ["", f"## {question_of(script)}", "", f"`python benchmarks/{script}.py`"]
        for question, table in tables(list(group)):
            names = list(table[0])
            text += ["", f"*{question}*"] if question not in ("", script) else []
            text += ["", "| " + " | ".join(heading(name) for name in names) + " |"]
            text += ["| " + " | ".join("---" for _ in names) + " |"]
            text += ["| " + " | ".join(cell(row[name]) for name in names) + " |" for row in table]
        if script in NOTES:
            text += ["", fill(NOTES[script], 118)]
    return "\n".join(text) + "\n"


def question_of(script: str) -> str:
    """Return what a script measures, from the first line of its docstring."""
    docstring = (
        ast.get_docstring(ast.parse((HERE / f"{script}.py").read_text(encoding="utf-8"))) or ""
    )
    return docstring.splitlines()[0].removesuffix(".")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "scripts", nargs="*", default=[], help=f"any of {', '.join(SCRIPTS)} (default: all)"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true", help="measure nothing, only write the page")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.jsonl")
    options = parser.parse_args()
    unknown = sorted(set(options.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(SCRIPTS)}")
    rows = read(options.output)
    for script in tqdm(
        [] if options.page else options.scripts or SCRIPTS, disable=not sys.stderr.isatty()
    ):
        new = rows_of(script, options.quick)
        print(
            *(json.dumps({k: v for k, v in row.items() if k != "machine"}) for row in new),
            sep="\n",
            flush=True,
        )
        rows = [row for row in rows if row["script"] != script] + new
        write(options.output, rows)
    if not options.quick:
        rows = read(options.output)
        (DOCS / "benchmarks.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
