"""Run all benchmarks, keep their rows with versions and machine, and write the page with its tables and picture.

python benchmarks                       all, into benchmarks/results.jsonl; then docs/benchmarks.md and its picture
python benchmarks trees losses          these alone; rows of the others stay
python benchmarks --quick -o rows.jsonl small sizes, to see that they run; no page
python benchmarks --page                the page from the rows that are there
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
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from tqdm import tqdm

from dcglearn.foundation.files import written_beside

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS = (
    "margin_qp", "direct", "scaling", "out_of_core", "cluster", "losses", "trees", "coherence", "evaluate",
    "first_call",
)  # fmt: skip
PEERS = (
    "dcglearn", "numpy", "numba", "scipy", "lightgbm", "scikit-learn", "cvxpy", "piqp", "clarabel", "osqp",
    "pytrec-eval-terrier", "ir-measures", "ranx", "torch", "rax", "dask",
)  # fmt: skip
FASTER = ("times_faster", "times_ours")
"""Columns that say how many times as long another takes: what the picture shows."""

SIZES = ("n", "queries", "documents", "alpha", "depth")
"""Columns that the picture names a bar by, beside words."""

Row = Mapping[str, Any]


def machine() -> dict[str, Any]:
    """Return what was measured with and on."""
    versions = {}
    for name in PEERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}",
            "cores": cores, "versions": versions}  # fmt: skip


def rows_of(script: str, quick: bool) -> list[Row]:
    """Run a script and return its rows."""
    command = [sys.executable, str(HERE / f"{script}.py"), *(["--quick"] if quick else [])]
    if quick and script == "direct":
        command = [*command[:2], "--sizes", "300"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script}.py failed ({done.returncode})")
    stamp = machine()
    return [{"script": script, **json.loads(line), "machine": stamp} for line in done.stdout.splitlines()]


def read(path: Path) -> list[Row]:
    """Return the rows of a file, none if it is not there."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows in the order of the scripts."""
    ordered = sorted(rows, key=lambda row: SCRIPTS.index(row["script"]))
    with written_beside(path) as beside:
        beside.write_text("".join(json.dumps(row) + "\n" for row in ordered), encoding="utf-8")


def tables(rows: Sequence[Row]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each question and its rows, all of the same columns; seconds become multiples of the first row's."""
    kept = [{k: v for k, v in row.items() if k not in ("script", "machine", "versions")} for row in rows]
    alone = len({row.get("question") for row in kept}) == len(kept)  # a question a row: one table
    for question, group in groupby(kept, key=lambda row: "" if alone else str(row.get("question", ""))):
        part = list(group)
        names = list(dict.fromkeys(name for row in part for name in row if alone or name != "question"))
        if "seconds" in names and not any(name.startswith("times_") for name in names):
            first = part[0]["seconds"]
            part = [{**row, "time, first row = 1": row["seconds"] / first} for row in part]
            names.append("time, first row = 1")
        names = [name for name in names if "seconds" not in name and name != "scikit_learn"]
        yield question, [{name: row.get(name) for name in names} for row in part]


def shown(value: Any) -> str:
    """Return a cell."""
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
    known = {(name, version) for row in rows for name, version in row["machine"]["versions"].items()}
    versions = ", ".join(f"{name} {version}" for name, version in sorted(known, key=lambda one: PEERS.index(one[0])))
    text = [
        "# How fast, beside what",
        "",
        "Written by `python benchmarks` (`make bench`) from `benchmarks/results.jsonl`: ratios of times in one run,",
        "since seconds are this machine's. Peers that were not installed are left out.",
        "",
        f"Python {stamp['python']}, {stamp['system']}, {stamp['cores']} cores; {versions}.",
        "",
        "![How many times as long others take](benchmarks.png)",
    ]
    for script, group in groupby(rows, key=lambda row: row["script"]):
        words = ast.get_docstring(ast.parse((HERE / f"{script}.py").read_text(encoding="utf-8"))) or ""
        text += ["", f"## {words.splitlines()[0]}", "", f"`python benchmarks/{script}.py`"]
        for question, table in tables(list(group)):
            names = list(table[0])
            text += ["", f"*{question}*"] if question not in ("", script) else []
            text += ["", "| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
            text += ["| " + " | ".join("---" for _ in names) + " |"]
            text += ["| " + " | ".join(shown(row[name]) for name in names) + " |" for row in table]
    return "\n".join(text) + "\n"


def bars(rows: Sequence[Row]) -> dict[str, list[tuple[str, float]]]:
    """Return, by script, the labels and ratios of the rows in which another stands beside dcglearn."""
    found: dict[str, list[tuple[str, float]]] = {}
    for row in rows:
        ratio = next((row[name] for name in FASTER if name in row), None)
        words = [v for k, v in row.items() if isinstance(v, str) and k not in ("script", "question")]
        sizes = [f"{name} {row[name]:,.0f}" for name in SIZES if name in row]
        if ratio is not None and ratio != 1 and not any(word.startswith("dcglearn") for word in words):
            found.setdefault(row["script"], []).append((", ".join([*words, *sizes]) or row["question"], ratio))
    return found


def picture(rows: Sequence[Row]) -> Figure:
    """Draw how many times as long others take, a panel a script."""
    panels = bars(rows)
    with rc_context({"font.size": 8}):
        heights = [max(len(one), 2) for one in panels.values()]
        figure = Figure(figsize=(9, 0.24 * sum(heights) + 0.9 * len(panels)), layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
        for ax, (script, one) in zip(axes, panels.items(), strict=True):
            names, ratios = zip(*one, strict=True)
            ax.barh(range(len(one)), [max(r, 1e-3) - 1 for r in ratios], left=1, color="#4878a8", height=0.7)
            for i, ratio in enumerate(ratios):
                ax.annotate(f"{ratio:.3g}×", (ratio, i), xytext=(3 if ratio > 1 else -3, 0), textcoords="offset points",
                            ha="left" if ratio > 1 else "right", va="center", fontsize=7)  # fmt: skip
            ax.set_yticks(range(len(one)), names)
            ax.invert_yaxis()
            ax.set(title=f"{script}.py", xscale="log")
            ax.axvline(1, color="black", lw=0.8)
            ax.spines[["top", "right"]].set_visible(False)
        axes[-1].margins(x=0.15)
        axes[-1].set_xlabel("times as long as dcglearn, the same job in the same run")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", default=[], help=f"of {', '.join(SCRIPTS)}; all by default")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.jsonl")
    asked = parser.parse_args()
    unknown = sorted(set(asked.scripts) - set(SCRIPTS))
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(SCRIPTS)}")
    rows = read(asked.output)
    for script in tqdm([] if asked.page else asked.scripts or SCRIPTS, disable=not sys.stderr.isatty()):
        found = rows_of(script, asked.quick)
        print(*(json.dumps({k: v for k, v in row.items() if k != "machine"}) for row in found), sep="\n", flush=True)
        rows = [row for row in rows if row["script"] != script] + found
        write(asked.output, rows)
    if not asked.quick:
        rows = read(asked.output)
        (DOCS / "benchmarks.md").write_text(page(rows), encoding="utf-8")
        picture(rows).savefig(DOCS / "benchmarks.png", dpi=120, metadata={"Software": None})


if __name__ == "__main__":
    main()
