"""The frozen readings: inputs with the options that read them, and the pairs that came out.

They were recorded from the tests of the readers before there was one table for all logs. The odd
files are made again by a program beside the checkout; of them a digest is kept.
``tests/reading/test_recipes_of_frozen.py`` reads them all again.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

import dcglearn as dl

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("DCGLEARN_SHARED", ROOT.parent / "shared"))
"""The folder beside the checkout whose data are not part of the project."""


def read_tuples(records: list[Any], names: Any = ("a", "b", "winner"), **options: Any) -> Any:
    """Read tuples, as a data frame takes them; of two values, the first list is preferred."""
    if records and isinstance(records[0], dict):
        return dl.read_preferences(records, **options)
    frame = pl.DataFrame(records, schema=list(names)[: len(records[0])], orient="row")
    if len(records[0]) == 2:
        frame = frame.with_columns(winner=pl.lit("a"))
    return dl.read_preferences(frame, **options)


def read_arrays(
    lists: Any, ratings: Any, group: Any = None, weight: Any = None, **options: Any
) -> dl.Preferences:
    """Read rated lists in arrays."""
    table = {"list": lists, "rating": ratings, "group": group, "weight": weight}
    given = {name: values for name, values in table.items() if values is not None}
    return dl.read_ratings(pl.DataFrame(given, strict=False), **options)


READERS: dict[str, Callable[..., Any]] = {
    "read_preferences": dl.read_preferences,
    "read_ratings": dl.read_ratings,
    "from_records": read_tuples,
    "from_ratings": read_arrays,
}
OPTIONAL = ("tie", "weight", "rater", "query", "strength", "margin", "swapped", "segment")
"""The columns of a canonical pair beside its lists, if the log has them."""


def canonical(log: dl.Preferences) -> dict[str, Any]:
    """Return a log as sorted pairs; of two tied lists, the smaller stands first."""
    present = [name for name in OPTIONAL if getattr(log, name) is not None]
    columns = {name: getattr(log, name).tolist() for name in present}
    rows = []
    lists = zip(log.preferred.tolist(), log.other.tolist(), strict=True)
    for i, (preferred, other) in enumerate(lists):
        rest = {name: columns[name][i] for name in present}
        if rest.get("tie") and preferred > other:
            preferred, other = other, preferred  # noqa: PLW2901
            if "swapped" in rest:
                rest["swapped"] = not rest["swapped"]
        rows.append([preferred, other, *rest.values()])
    return {
        "n_grades": log.n_grades,
        "grade_names": None if log.grade_names is None else list(log.grade_names),
        "columns": ["preferred", "other", *present],
        "pairs": sorted(rows, key=json.dumps),
    }


def unreadable_here(entry: dict[str, Any]) -> bool:
    """Tell whether an entry is a workbook, for which no library is installed."""
    engines = ("fastexcel", "openpyxl", "xlsx2csv")
    names = [name for name, *_ in entry.get("files", [])]
    return any(name.endswith(".xlsx") for name in names) and not any(map(find_spec, engines))


def inputs(entry: dict[str, Any], folder: Path) -> list[Any]:
    """Return the positional arguments of a reader, files written to a folder."""
    if "values" in entry:
        return [_decoded(value) for value in entry["values"]]
    paths = []
    for name, encoding, text in entry["files"]:
        content = base64.b64decode(text) if encoding == "base64" else text.encode()
        paths.append(folder / name)
        paths[-1].write_bytes(content)
    return paths if len(paths) == 1 else [paths]


def _decoded(value: Any) -> Any:
    """Return a stored argument; a list that was one of tuples is again."""
    if isinstance(value, dict) and value.keys() == {"tuples"}:
        return [tuple(row) for row in value["tuples"]]
    return value


@contextlib.contextmanager
def odd_files() -> Iterator[Path]:
    """Make the odd files in a folder that is removed afterwards."""
    make = SHARED / "odd_files" / "make.py"
    environment = {**os.environ, "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subprocess.run([sys.executable, str(make)], cwd=folder, env=environment, check=True)
        yield Path(folder)
