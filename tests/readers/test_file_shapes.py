"""The shapes of files that people have: one truth, written out in each, is read field by field or refused in words."""

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from tests.makers import refused, write

A = [[2, 1, 0], [1, 0, 0], [1, 1, 1]]
B = [[0, 1, 2], [1, 1, 0], [0, 2, 0]]
WINNER = ["a", "b", "tie"]
STRENGTH, RATER, QUERY = [3.0, 1.0, 1.0], ["ann", "bob", "ann"], ["q0", "q1", "q2"]
SHOWN_FIRST = ["b", "a", "b"]
SCALE = ["Bad", "Fair", "Good"]
"""The truth: three judgements. A shape that carries no strengths, raters, queries or sides is compared without."""

PREFERRED, OTHER = [A[0], B[1], A[2]], [B[0], A[1], B[2]]
SWAPPED = [True, True, True]  # whether the other list was shown first


@dataclass(frozen=True)
class Shape:
    """A file, the options that read it, and the columns beside its lists that it carries; or words that refuse it."""

    name: str
    content: Any
    options: dict[str, Any] = field(default_factory=dict)
    carries: tuple[str, ...] = ()
    refused: str = ""
    read: Callable[..., dl.Preferences] = dl.read_preferences


def table(winners, header="a,b,winner", separator=",", mark=" ", lists=(A, B), **columns):
    """Return a table with a list in a cell; `columns` are further ones."""
    head = separator.join([*header.split(","), *columns])
    rows = zip(*lists, winners, *columns.values(), strict=True)
    cells = ([mark.join(map(str, a)), mark.join(map(str, b)), *map(str, rest)] for a, b, *rest in rows)
    return "\n".join([head, *map(separator.join, cells)]) + "\n"


def wide(names, winners=("left", "right", "same"), separator=",", lists=(A, B), first=1):
    """Return a table with a column for each position."""
    header = [name.format(i + first) for name in names for i in range(3)]
    rows = [[*map(str, a), *map(str, b), w] for a, b, w in zip(*lists, winners, strict=True)]
    return "\n".join(separator.join(row) for row in [[*header, "winner"], *rows]) + "\n"


def long(start=1, seed=None):
    """Return a table with a row for each document."""
    lines = []
    for q, (a, b, w) in enumerate(zip(A, B, ("left", "right", "same"), strict=True)):
        for side, grades in (("left", a), ("right", b)):
            lines += [f"q{q},{side},{i + start},{grade},{w}" for i, grade in enumerate(grades)]
    if seed is not None:
        np.random.default_rng(seed).shuffle(lines)
    return "\n".join(["query,side,position,grade,winner", *lines]) + "\n"


def json_lines(objects):
    return "\n".join(map(json.dumps, objects))


def named(lists):
    return [[SCALE[grade] for grade in grades] for grades in lists]


OBJECTS = [{"a": a, "b": b, "winner": w} for a, b, w in zip(A, B, WINNER, strict=True)]
EVERYTHING = [
    {**judged, "strength": s, "rater": r, "query": q, "shown_left": first}
    for judged, s, r, q, first in zip(OBJECTS, STRENGTH, RATER, QUERY, SHOWN_FIRST, strict=True)
]
WIDE_OBJECTS = [
    {**{f"a{i}": g for i, g in enumerate(a)}, **{f"b{i}": g for i, g in enumerate(b)}, "winner": w}
    for a, b, w in zip(A, B, WINNER, strict=True)
]
OWN = "Left is better=a,Right, clearly=b,Same=tie"
GERMAN = "Links ist besser=a,Rechts ist besser=b,Gleich gut=tie"

FORMATS = {
    "JSON lines": Shape("x.jsonl", json_lines(OBJECTS)),
    "JSON lines with every column": Shape(
        "x.jsonl", json_lines(EVERYTHING), carries=("strength", "rater", "query", "swapped")
    ),
    "JSON array": Shape("x.json", json.dumps(OBJECTS, indent=1)),
    "JSON lines, a key for each position": Shape("x.jsonl", json_lines(WIDE_OBJECTS)),
    "CSV": Shape("x.csv", table(WINNER)),
    "CSV with raters, queries and strengths": Shape(
        "x.csv",
        table(WINNER, strength=STRENGTH, user=RATER, qid=QUERY),
        carries=("strength", "rater", "query"),
    ),
    "TSV": Shape("x.tsv", table(WINNER, separator="\t")),
    "semicolons": Shape("x.csv", table(WINNER, separator=";")),
    "semicolons, lists with commas": Shape("x.csv", table(WINNER, separator=";", mark=",")),
    "Excel's sep=;": Shape("x.csv", "sep=;\r\n" + table(WINNER, separator=";").replace("\n", "\r\n")),
    "pipes": Shape("x.txt", table(WINNER, separator="|")),
    "tabs in .csv": Shape("x.csv", table(WINNER, separator="\t", mark="|")),
    "Windows line ends and byte-order mark": Shape("x.csv", "\ufeff" + table(WINNER).replace("\n", "\r\n")),
    "gzip": Shape("x.csv.gz", gzip.compress(table(WINNER).encode())),
    "Parquet": Shape("x.parquet", pl.DataFrame(OBJECTS)),
    "Parquet of text lists": Shape("x.parquet", pl.read_csv(table(WINNER).encode())),
    "left_1, right_1": Shape("x.csv", wide(["left_{}", "right_{}"])),
    "A1, semicolons, gzip": Shape("x.csv.gz", gzip.compress(wide(["A{}", "B{}"], separator=";").encode())),
    "Grade a 01": Shape("x.csv", wide(["Grade a 0{}", "Grade b 0{}"])),
    "positions from 0": Shape("x.csv", wide(["left.{}", "right.{}"], first=0)),
    "a row for each document": Shape("x.csv", long(), carries=("query",)),
    "a row for each document, positions from 0, in any order": Shape("x.csv", long(0, seed=0), carries=("query",)),
    "a row for each document, JSON array": Shape("x.json", json.dumps(pl.read_csv(long().encode()).to_dicts())),
}

WORDS = {
    "left, right, same": Shape("x.csv", table(["left", "right", "same"], "left,right,preferred")),
    "A, B, Tie": Shape("x.csv", table(["A", "B", "Tie"])),
    "draw": Shape("x.csv", table(["LEFT", "Right", "draw"])),
    "own words": Shape(
        "x.tsv", table(["Left is better", "Right, clearly", "Same"], separator="\t"), {"winner_words": OWN}
    ),
    "own words, not explained": Shape(
        "x.tsv", table(["Left is better", "Right wins", "Same"], separator="\t"), refused="say what your words mean"
    ),
    "German words": Shape(
        "x.csv", table(["Links ist besser", "Rechts ist besser", "Gleich gut"]), {"winner_words": GERMAN}
    ),
    "German words, not explained": Shape(
        "x.csv", table(["Links", "Rechts", "Gleich"]), refused=r"winner_words=\"Links=\?,Rechts=\?,Gleich=\?\""
    ),
}

NUMBERS = {
    "1 and 2, 0 a tie": Shape("x.csv", table(["1", "2", "0"]), {"winner_words": "1=a,2=b,0=tie"}),
    "0 and 1": Shape("x.csv", table(["0", "1", "1"]), refused="0 may be a side or a tie"),
    "-3 to 3, positive is a": Shape("x.csv", table(["3", "-1", "0"]), {"positive": "a"}, ("strength",)),
    "-3 to 3, positive is b": Shape("x.csv", table(["-3", "1", "0"]), {"positive": "b"}, ("strength",)),
    "-2 to 2, in JSON": Shape(
        "x.jsonl",
        json_lines({**judged, "winner": w} for judged, w in zip(OBJECTS, (3, -1, 0), strict=True)),
        {"positive": "a"},
        ("strength",),
    ),
    "-3 to 3, no side told": Shape("x.csv", table(["3", "-1", "0"]), refused="positive='a', or 'b'"),
}

GRADES = {
    "names of grades": Shape("x.csv", table(WINNER, lists=(named(A), named(B))), {"scale": SCALE}),
    "names of grades, a column for each position": Shape(
        "x.csv", wide(["l{}", "r{}"], lists=(named(A), named(B))), {"scale": SCALE}
    ),
    "names of grades, not explained": Shape("x.csv", table(WINNER, lists=(named(A), named(B))), refused="pass scale="),
}

SHAPES = {**FORMATS, **WORDS, **NUMBERS, **GRADES}
"""Every shape by name."""


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_read_or_refused(tmp_path, name):
    shape = SHAPES[name]
    path = tmp_path / shape.name
    if isinstance(shape.content, pl.DataFrame):
        shape.content.write_parquet(path)
    else:
        write(tmp_path, shape.name, shape.content)
    if shape.refused:
        refused(shape.refused, shape.read, path, **shape.options)
        return
    log = shape.read(path, **shape.options)
    assert judgements(log, shape.carries) == judgements(truth(), shape.carries)
    assert (log.n_grades, len(log.recognised.winners.words)) == (3, 3)


def truth():
    columns = {"strength": STRENGTH, "rater": RATER, "query": QUERY, "swapped": SWAPPED}
    return dl.Preferences(PREFERRED, OTHER, tie=[False, False, True], **columns)


def judgements(log, carries):
    """Return the judgements in a fixed order, each with its lists, whether it is a tie, and what the shape carries."""
    values = [getattr(log, name).tolist() for name in ("preferred", "other", "tie", *carries)]
    return sorted(zip(*values, strict=True), key=str)
