"""The frozen readings: inputs with the options that read them, and the pairs that come out.

`record` runs the tests of shapes and keeps each input that they read, so that the frozen cases
outlive these tests. `odd_files_again` reads the odd files, of which only a digest is kept.
"""

import base64
import contextlib
import hashlib
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
from unittest import mock

import numpy as np
import pytest

import dcglearn as dl

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("DCGLEARN_SHARED", ROOT.parent / "shared"))
"""The folder beside the checkout whose data are not part of the project."""

TESTS = ("test_file_shapes.py", "test_shapes.py", "test_more_shapes.py")
"""The tests in tests/readers whose inputs are recorded."""

MOST_BYTES = 6000
"""Larger inputs are not recorded."""

READERS: dict[str, Callable[..., Any]] = {
    "read_preferences": dl.read_preferences,
    "read_ratings": dl.read_ratings,
    "from_records": dl.Preferences.from_records,
    "from_ratings": dl.Preferences.from_ratings,
}
OPTIONAL = ("tie", "weight", "rater", "query", "strength", "margin", "swapped", "segment")
"""The columns of a canonical pair beside its lists, if the log has them."""

ENGLISH = "A much better=a:3,A better=a:2,A slightly better=a:1"
ODD_OPTIONS: dict[str, list[dict[str, Any]]] = {
    "01_german_utf8bom.csv": [
        {
            "columns": {"a": "Links {}", "b": "Rechts {}", "winner": "Urteil"},
            "winner_words": "Links=a,Rechts=b,Gleich=tie",
        }
    ],
    "05_much_better.csv": [
        {
            "winner_words": f"{ENGLISH},B much better=b:3,B better=b:2,B slightly better=b:1,"
            "About the same=tie"
        }
    ],
    "06_likert_1_7.csv": [{"positive": "b", "middle": 4}],
    "06b_likert_1_5.csv": [{"positive": "b", "middle": 3}],
    "06c_123.csv": [{"winner_words": "1=a,2=b,3=tie"}],
    "06d_likert_minus3.csv": [{"positive": "b"}, {"positive": "a"}],
    "06e_012.csv": [{"winner_words": "1=a,2=b,0=tie"}],
    "06f_minus1_0_1.csv": [{"positive": "b"}],
    "06g_1_2_dec.csv": [{"winner_words": "1=a,2=b,0=tie"}],
    "06h_0_1_2_left0.csv": [{"winner_words": "0=left,2=right,1=tie"}],
    "07_grade_words.csv": [{"scale": "Bad,Fair,Good,Excellent,Perfect"}],
    "10_two_row_header.csv": [{"header": "1-2"}],
    "12_system_names.csv": [
        {"columns": {"a": "prod_{}", "b": "new_{}"}, "winner_words": "prod=a,new=b,neither=tie"}
    ],
    "14_missing_cells.csv": [{"skip_bad": True}],
    "15_totals_row.csv": [{"skip_bad": True}],
    "15b_blank_rows.csv": [{"skip_bad": True}],
    "18_shown_left_words_left_right.csv": [{"sides": "listed"}, {"as_is": True}],
    "20_llm_both_orders.jsonl": [{"winner_words": "[[A]]=left,[[B]]=right,[[C]]=tie"}],
    "20c_llm_nested.jsonl": [{"columns": {"a": "a.grades", "b": "b.grades"}}],
    "24_fractional.jsonl": [{"cutoffs": "5"}],
    "24b_fractional.csv": [{"cutoffs": "5"}],
    "24c_quarters.jsonl": [{"scale": "0,0.25,0.5,0.75,1"}],
    "29_no_header.csv": [
        {
            "header": 0,
            "columns": {"query": "1", "rater": "2", "a": "3..7", "b": "8..12", "winner": "13"},
        }
    ],
    "30_preamble.csv": [{"header": 4}],
    "37_winner_sentences.csv": [
        {"winner_words": "Left is better=left,Right is better=right,Both are equal=tie"}
    ],
    "37c_strength_col.csv": [{"winner_words": "much=:3,better=:2,slightly=:1"}],
}
"""Options beyond none that odd files are read with."""


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


# replay


def read_again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a frozen entry with the pairs that its input gives today, or the error's class."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = dict(entry["options"])
        if options.get("skip_bad"):
            options["skip_bad"] = Path(folder, "bad" + Path(entry["files"][0][0]).suffix)
        try:
            log = READERS[entry["reader"]](*_inputs(entry, Path(folder)), **options)
        except dl.InputError as error:
            found: dict[str, Any] = {"raises": type(error).__name__}
        else:
            found = canonical(log)
    asked = {
        name: entry[name] for name in ("reader", "options", "files", "values") if name in entry
    }
    return asked | found


def unreadable_here(entry: dict[str, Any]) -> bool:
    """Tell whether an entry is a workbook, for which no library is installed."""
    engines = ("fastexcel", "openpyxl", "xlsx2csv")
    names = [name for name, *_ in entry.get("files", [])]
    return any(name.endswith(".xlsx") for name in names) and not any(map(find_spec, engines))


def _inputs(entry: dict[str, Any], folder: Path) -> list[Any]:
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


# record


class NotRecorded(Exception):
    """An input that JSON cannot hold, or that is large."""


def _encoded(value: Any) -> Any:
    """Return an argument as JSON holds it."""
    if isinstance(value, list) and value and all(type(row) is tuple for row in value):
        return {"tuples": [_encoded(list(row)) for row in value]}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError) as error:
        raise NotRecorded("not JSON") from error
    if not same or len(json.dumps(value)) > MOST_BYTES:
        raise NotRecorded("not the same in JSON, or large")
    return value


def _of_file(path: Path) -> list[str]:
    """Return the name, encoding and content of a file."""
    content = path.read_bytes()
    if len(content) > MOST_BYTES:
        raise NotRecorded("large")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return [path.name, "base64", base64.b64encode(content).decode()]
    if "\0" in text:
        return [path.name, "base64", base64.b64encode(content).decode()]
    return [path.name, "utf-8", text]


def _entry(reader: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return a call of a reader as JSON holds it, without its result."""
    kept = {name: value for name, value in options.items() if name not in ("mapping", "skip_bad")}
    if options.get("skip_bad") is not None:
        kept["skip_bad"] = True
    if (mapping := options.get("mapping")) is not None:
        if isinstance(mapping, (str, Path)):
            raise NotRecorded("a file of options")
        kept |= mapping.given
    entry: dict[str, Any] = {"reader": reader, "options": _encoded(kept)}

    # one path, several, or values
    source = arguments[0]
    sources = source if isinstance(source, list) and source else [source]
    if all(isinstance(path, (str, Path)) for path in sources):
        paths = [Path(path) for path in sources]
        if len(arguments) > 1 or not all(path.is_file() for path in paths):
            raise NotRecorded("no file")
        return entry | {"files": [_of_file(path) for path in paths]}
    return entry | {"values": [_encoded(value) for value in arguments]}


def record() -> tuple[dict[str, Any], list[str]]:
    """Run the tests of shapes; return each input that was read, and the calls left out."""
    found: dict[str, Any] = {}
    left_out: list[str] = []
    asked: set[str] = set()
    inside: list[str] = []

    def recording(name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").removeprefix("tests/readers/")
            if inside or not test.endswith("(call)"):
                return READERS[name](*arguments, **options)
            entry = None
            try:
                entry = _entry(name, arguments, options)
            except NotRecorded as reason:
                left_out.append(f"{test}: {name}, {reason}")
            inside.append(name)
            try:
                log = READERS[name](*arguments, **options)
            finally:
                inside.pop()

            # an input that is read, for the first time
            if entry is not None and (key := json.dumps(entry, sort_keys=True)) not in asked:
                asked.add(key)
                case = test.removesuffix(" (call)")
                number = sum(other.startswith(f"{case} #") for other in found) + 1
                if read_again(entry) == entry | canonical(log):
                    found[f"{case} #{number}"] = entry
                else:
                    left_out.append(f"{test}: {name}, read otherwise from JSON")
            return log

        return call

    from dcglearn.readers import read_log

    places = [
        (dl, "read_preferences"),
        (dl, "read_ratings"),
        (read_log, "read_preferences"),
        (dl.Preferences, "from_records"),
        (dl.Preferences, "from_ratings"),
    ]
    tests = [str(ROOT / "tests" / "readers" / name) for name in TESTS]
    patches = [mock.patch.object(place, name, recording(name)) for place, name in places]
    for patch in patches:
        patch.start()
    try:
        pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])
    finally:
        for patch in patches:
            patch.stop()
    return found, left_out


# odd files


def odd_cases(frozen: dict[str, Any]) -> dict[str, Any]:
    """Return the odd files by name, with no options, those above, and those of frozen entries."""
    found: dict[str, Any] = {}
    with _odd_files() as folder:
        for path in sorted(folder.iterdir()):
            if path.name == "truth.json":
                continue
            again = [entry["options"] for entry in frozen.values() if entry["file"] == path.name]
            for options in [{}, *ODD_OPTIONS.get(path.name, []), *again]:
                entry = {"file": path.name, "options": options}
                name = path.name + (f" {json.dumps(options)}" if options else "")
                found[name] = entry
    return found


def odd_files_again(entries: dict[str, Any]) -> dict[str, Any]:
    """Return frozen odd files with the number of pairs and their digest, or the error's class."""
    with _odd_files() as folder:
        return {
            name: {"file": entry["file"], "options": entry["options"]}
            | _digest(folder / entry["file"], entry["options"])
            for name, entry in entries.items()
        }


@contextlib.contextmanager
def _odd_files() -> Iterator[Path]:
    """Make the odd files in a folder that is removed afterwards."""
    make = SHARED / "odd_files" / "make.py"
    environment = {**os.environ, "PYTHONUTF8": "1"}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subprocess.run([sys.executable, str(make)], cwd=folder, env=environment, check=True)
        yield Path(folder)


def _read_odd(path: Path, options: dict[str, Any]) -> dl.Preferences:
    """Read an odd file; bad lines go to a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        if "skip_bad" in options:
            options = {**options, "skip_bad": Path(folder, f"bad{path.suffix}")}
        return dl.read_preferences(path, **options)


def _digest(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of an odd file."""
    try:
        log = _read_odd(path, options)
    except dl.InputError as error:
        return {"raises": type(error).__name__}
    text = json.dumps(canonical(log), sort_keys=True)
    return {"pairs": len(log), "sha256": hashlib.sha256(text.encode()).hexdigest()}
