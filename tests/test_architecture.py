"""The plan of the house: which wing may import which, and what an import may load."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

from dcglearn.reading.preferences import Preferences
from tests.makers import random_log
from tests.tables import table

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dcglearn"
DESIGN = ROOT / "docs" / "design.md"

# From the top floor down: a wing may import the wings named beside it, and no others.
# docs/design.md shows this table.
WINGS = {
    "cli": (
        "audits judge simulate plots rankers coherence exports estimators raters "
        "trust learning evaluation reading losses logs metrics kernels foundation"
    ),
    "audits": (
        "coherence exports raters trust learning evaluation reading logs metrics foundation"
    ),
    "judge": "evaluation reading logs metrics foundation",
    "simulate": "rankers reading logs metrics foundation",
    "plots": "coherence raters trust learning evaluation metrics foundation",
    "rankers": "losses evaluation metrics foundation",
    "coherence": "evaluation reading logs metrics kernels foundation",
    "exports": "torch_losses evaluation losses metrics foundation",
    "torch_losses": "losses metrics foundation",
    "estimators": "raters trust distributed learning reading logs metrics foundation",
    "raters": "trust learning reading logs metrics foundation",
    "trust": "learning evaluation reading logs metrics foundation",
    "distributed": "learning reading logs foundation",
    "learning": "logs metrics kernels foundation",
    "evaluation": "reading logs metrics kernels foundation",
    "reading": "logs metrics foundation",
    "losses": "metrics kernels foundation",
    "logs": "foundation",
    "metrics": "kernels foundation",
    "kernels": "foundation",
    "foundation": "",
}
FRONT = {"__init__", "__main__", "io"}
"""The public face, which may import everything."""


def wing_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def modules_named(path: Path) -> set[str]:
    """Return the modules of the package that a file names: in imports of any kind, and in strings
    that could be one.
    """
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{path.name}: write imports in full, so that they can be read here"
            )
            named |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and "\n" not in node.value
        ):
            named |= set(re.findall(r"dcglearn(?:\.\w+)+", node.value))
    return {name.removeprefix("dcglearn.") for name in named if name.startswith("dcglearn.")}


def wings_named(path: Path) -> set[str]:
    return {name.split(".")[0] for name in modules_named(path)} & WINGS.keys()


def in_order(graph: dict[str, set[str]]) -> list[str]:
    return list(TopologicalSorter(graph).static_order())


FILES = sorted(PACKAGE.rglob("*.py"))


def test_the_table_itself_only_goes_down() -> None:
    assert {wing_of(path) for path in FILES} - FRONT == WINGS.keys()
    floors = list(WINGS)
    for wing, below in WINGS.items():
        assert all(floors.index(other) > floors.index(wing) for other in below.split())


@table("path", FILES)
def test_a_file_imports_only_what_its_wing_may(path: Path) -> None:
    wing = wing_of(path)
    if wing not in FRONT:
        assert wings_named(path) <= {wing, *WINGS[wing].split()}


@table("wing", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()))
def test_no_cycle_inside_a_wing(wing: str) -> None:
    inside = {path.stem: path for path in (PACKAGE / wing).glob("*.py") if path.stem != "__init__"}
    graph = {
        stem: {
            name.split(".")[1]
            for name in modules_named(path)
            if name.startswith(f"{wing}.") and name.count(".") >= 1
        }
        & inside.keys() - {stem}
        for stem, path in inside.items()
    }
    assert set(in_order(graph)) == inside.keys()


def test_a_cycle_or_an_import_by_string_would_be_seen(tmp_path: Path) -> None:
    with pytest.raises(CycleError):
        in_order({"a": {"b"}, "b": {"a"}})
    file = tmp_path / "late.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from dcglearn.trust.band_draws import Bands\n"
        "def f(kind):\n    import_module(f'dcglearn.rankers.{kind}')\n"
    )
    assert wings_named(file) == {"trust", "rankers"}


def test_the_front_holds_few_modules() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 6
    assert not {"utils", "common", "helpers", "base", "types"} & {
        path.stem for path in PACKAGE.rglob("*")
    }


def first_line(wing: str) -> str:
    path = PACKAGE / wing / "__init__.py" if (PACKAGE / wing).is_dir() else PACKAGE / f"{wing}.py"
    summary, _, _ = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")
    return " ".join(summary.split())


def test_the_design_page_shows_this_table() -> None:
    rows = re.findall(
        r"^\| `(\w+)(?:/|\.py)` \| (.*?) \| (.*?) \|$", DESIGN.read_text(), re.MULTILINE
    )
    shown = {wing: (purpose, below) for wing, purpose, below in rows}
    assert list(shown) == list(WINGS)
    for wing, below in WINGS.items():
        assert shown[wing] == (first_line(wing), ", ".join(below.split()) or "nothing")


def test_the_design_pages_diagram_shows_no_other_import() -> None:
    drawn = re.findall(r"^ *(\w+) --> ([\w &]+)$", DESIGN.read_text(), re.MULTILINE)
    assert len(drawn) >= 10
    for wing, below in drawn:
        assert set(below.split(" & ")) <= set(WINGS[wing].split())


def test_every_file_that_the_design_page_names_is_there() -> None:
    named = re.findall(r"`([\w./*-]+/[\w./*-]*)`", DESIGN.read_text())
    assert len(named) > 20
    missing = [name for name in named if not any(list(base.glob(name)) for base in (ROOT, PACKAGE))]
    assert not missing


def loaded_after(code: str) -> set[str]:
    shown = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", shown], check=True, capture_output=True, text=True
        ).stdout.split()
    )


HEAVY = {
    "scipy",
    "sklearn",
    "polars",
    "cvxpy",
    "matplotlib",
    "pandas",
    "torch",
    "dask",
    "distributed",
}
HEAVY |= {"pyarrow", "lightgbm"}


CONTAINERS = (
    "import dcglearn as dl; "
    "dl.DCG.standard(5, 10).score([4, 0]); dl.Preferences([[1, 0]], [[0, 1]])[:1]"
)


@table(
    ("code", "more"),
    [
        ("import dcglearn", {"numpy"}),
        (CONTAINERS, set()),
        ("from dcglearn.cli.commands import app", {"rich", "tqdm", "importlib.metadata"}),
    ],
)
def test_nothing_heavy_is_loaded(code: str, more: set[str]) -> None:
    assert not loaded_after(code) & (HEAVY | more)


ON_REQUEST = ("sklearn", "pandas", "cvxpy", "matplotlib", "scipy.stats")
"""What no command loads unless it is asked for what needs it."""

SCIPY = ("scipy.special", "scipy.optimize", "scipy.linalg", "scipy.sparse")
"""What takes as long to import as most logs to learn from; `WITH_SCIPY` are the commands that need
it.
"""

WITH_SCIPY = ("learn", "learn with bands", "learn by the QP", "coherence")

COMMANDS = {
    "learn": "learn pairs.jsonl -o dcg.json --bands 0",
    "learn with bands": "learn log.jsonl -o dcg.json --bands 2 --force",
    "learn by the QP": "learn pairs.jsonl -o dcg.json --method qp --force",
    "show": "show exponential-log2@5",
    "export": "export exponential-log2@5 --to quepid",
    "evaluate": "evaluate qrels.txt a.txt b.txt --metric exponential-log2@5 --grades 3",
    "coherence": "coherence exponential-log2@5 linear-log2@5",
    "ask": "ask log.jsonl -n 2",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, log = tmp_path_factory.mktemp("inputs"), random_log(60, seed=0)
    rater, swapped = np.array(["ann", "bob"] * 30), np.arange(60) % 3 == 0
    Preferences(log.preferred, log.other, rater=rater, swapped=swapped).save(folder / "log.jsonl")
    log.save(folder / "pairs.jsonl")
    rows = [(f"q{q}", f"d{i}", (3 * i + q) % 5) for q in range(8) for i in range(5)]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {n % 3}\n" for q, d, n in rows))
    for run in "ab":
        lines = (f"{q} Q0 {d} 0 {n if run == 'a' else -n} {run}\n" for q, d, n in rows)
        (folder / f"{run}.txt").write_text("".join(lines))
    return folder


PROGRAM = """
import sys
from dcglearn.cli.app import main

for command in {commands}:
    sys.argv = ["dcglearn", *command.split()]
    try:
        main()
    except SystemExit as end:
        assert not end.code, command
    loaded = [name for name in {unwanted} if name in sys.modules]
    assert not loaded, (command, loaded)
print("all ran", file=sys.stderr)
"""


@table(
    ("unwanted", "names"),
    [(ON_REQUEST + SCIPY, {*COMMANDS} - {*WITH_SCIPY}), (ON_REQUEST, WITH_SCIPY)],
)
def test_commands_load_no_estimator_and_no_frame(unwanted, names, folder):
    commands = [command for name, command in COMMANDS.items() if name in names]
    code = PROGRAM.format(commands=commands, unwanted=unwanted)
    run = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=folder
    )
    assert run.returncode == 0 and run.stderr.endswith("all ran\n"), run.stderr
