"""Imports only go down: each file may import from lower floors, never sideways or up."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "dcglearn"

# docs/design.md shows the same table with what lives in each file.
FLOORS = [
    {"validation", "chunks"},
    {"files", "sources", "lists", "textbook", "pair_sums", "pair_loss", "document_pairs", "queries", "top_kernel"},
    {"gauge", "smooth_discount"},
    {"dcg", "preferences", "margin_qp", "direct", "plots", "line_errors", "letor_shaped", "svmlight", "trec"},
    {"readers", "simulate", "factoring", "losses", "rankings", "cone", "ranked", "run_input", "ir_peers"}
    | {"checkpoint", "log_parts", "letor_folders", "letor_measures", "published_letor"},
    {"parquet_pieces"},
    {"parquet_log", "distributed"},
    {"large_log"},
    {"learn", "verdicts", "resampling", "regret", "compatible", "evaluation", "array_evaluation", "torch_losses"},
    {
        "dcg_learner",
        "ranges",
        "position_test",
        "rankers",
        "certificates",
        "disagreements",
        "robustness",
        "comparison",
        "ir_bridge",
    },
    {"inference", "compare", "active", "systems", "exports", "letor_trial", "cli_logs"},
    {"report", "letor_results", "cli_evaluate", "cli_metrics", "cli_rankers"},
    {"letor"},
    {"cli_letor"},
    {"cli"},
    {"__main__"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}

# A folder stands on one floor of the house and has floors of its own, written the same way.
FOLDERS = {
    "rankers": [
        {"model_files", "member_link"},
        {"ranker"},
        {"baselines"},
        {"linear", "sparse", "reduction", "trees", "adarank", "candidates"},
        {"paper_grids", "tree_member"},
        {"member_process"},
        {"dask_trees"},
        {"methods"},
    ],
    "losses": [
        {"gain_kernel", "rank_kernel", "class_kernel", "ap_kernel", "squared_kernel"},
        {"shf_kernel", "smooth_kernel", "softrank_kernel", "pair_kernel", "exchange_kernel"},
        {"contract"},
        {"exchange", "descent"},
        {"approx", "shf", "smooth", "softrank", "pairwise", "listwise"},
    ],
}


def imports_of(path: Path, package: str = "dcglearn") -> set[str]:
    """Return what a file imports of `package` at run time; names for type checkers alone do not count."""
    tree = ast.parse(path.read_text())
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: write imports in full, so that they can be read here"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
        else:
            continue
        inside = (name.removeprefix(f"{package}.") for name in names if name.startswith(f"{package}."))
        found |= {name.split(".")[0] for name in inside}
    return {name for name in found if not name.startswith("__")}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_imports_go_down(path: Path) -> None:
    if path.stem == "__init__":
        pytest.skip("public names, imported lazily from everywhere")
    assert path.stem in FLOOR, f"give {path.name} a floor here and in docs/design.md"
    above = {name for name in imports_of(path) if FLOOR[name] >= FLOOR[path.stem]}
    assert not above


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_imports_go_down_inside_folders(path: Path) -> None:
    folder = path.parent.name
    below = imports_of(path) - {folder}
    assert not {name for name in below if FLOOR[name] >= FLOOR[folder]}
    if path.stem == "__init__":
        pytest.skip("public names of the folder, imported from all of its files")
    floor = {name: number for number, names in enumerate(FOLDERS[folder]) for name in names}
    assert path.stem in floor, f"give {folder}/{path.name} a floor here and in docs/design.md"
    inside = imports_of(path, f"dcglearn.{folder}")
    assert not {name for name in inside if floor[name] >= floor[path.stem]}


def test_no_drawer_for_odds_and_ends() -> None:
    assert not {"utils", "common", "helpers", "base", "types"} & {path.stem for path in PACKAGE.rglob("*")}


def loaded_after(code: str) -> set[str]:
    shown = f"{code}\nimport sys\nprint(*sorted(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", shown], check=True, capture_output=True, text=True).stdout.split())


HEAVY = {
    "numba",
    "scipy",
    "sklearn",
    "polars",
    "cvxpy",
    "matplotlib",
    "pandas",
    "torch",
    "dask",
    "distributed",
    "pyarrow",
    "lightgbm",
}


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_after("import dcglearn") & (HEAVY | {"numpy"})


def test_containers_load_neither_solver_nor_estimator() -> None:
    code = "import dcglearn as dl; dl.DCG.standard(5, 10).score([4, 0]); dl.Preferences([[1, 0]], [[0, 1]])[:1]"
    assert not loaded_after(code) & HEAVY


def test_every_public_name_is_there_and_listed() -> None:
    import dcglearn

    assert set(dcglearn.__all__) <= set(dir(dcglearn))
    for name in dcglearn.__all__:
        assert getattr(dcglearn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        dcglearn.nothing  # noqa: B018
