"""The shapes of files that people have: one truth, written out in each, is read field by field or
refused in words.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.workbooks import ENGINES
from dcglearn.readers.mapping import LogMapping
from tests.makers import refused, write

A = [[2, 1, 0], [1, 0, 0], [1, 1, 1]]
B = [[0, 1, 2], [1, 1, 0], [0, 2, 0]]
WINNER = ["a", "b", "tie"]
STRENGTH, RATER, QUERY = [3.0, 1.0, 1.0], ["ann", "bob", "ann"], ["q0", "q1", "q2"]
SHOWN_FIRST = ["b", "a", "b"]
UMLAUTS = ["Jürgen", "Zoë", "Jürgen"]
SCALE = ["Bad", "Fair", "Good"]
"""The truth: three judgements. A shape that carries no strengths, raters, queries or sides is
compared without.
"""

PREFERRED, OTHER = [A[0], B[1], A[2]], [B[0], A[1], B[2]]
SWAPPED = [True, True, True]  # whether the other list was shown first


@dataclass(frozen=True)
class Shape:
    """A file, the options that read it, and the columns beside its lists that it carries; or words
    that refuse it.
    """

    name: str
    content: Any
    options: dict[str, Any] = field(default_factory=dict)
    carries: tuple[str, ...] = ()
    refused: str = ""
    n_grades: int = 3
    read: Callable[..., dl.Preferences] = dl.read_preferences
    raters: list[str] | None = None


def table(winners, header="a,b,winner", separator=",", mark=" ", lists=(A, B), **columns):
    """Return a table with a list in a cell; `columns` are further ones."""
    head = separator.join([*header.split(","), *columns])
    rows = zip(*lists, winners, *columns.values(), strict=True)
    cells = (
        [mark.join(map(str, a)), mark.join(map(str, b)), *map(str, rest)] for a, b, *rest in rows
    )
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


def workbook(text):
    """Return an Excel workbook with the cells of a table, numbers as numbers, and two blank rows at
    its end.
    """
    rows = [line.split(",") for line in text.splitlines()]
    cells = "".join(
        f"<row>{''.join(map(cell, row))}</row>" for row in [*rows, [" "] * len(rows[0]), [" "]]
    )
    sheets = '<sheet name="Judgements" sheetId="1" r:id="rId1"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OPC}/content-types">'
        f'<Default Extension="rels" ContentType="{RELATIONS}"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{MAIN}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{MAIN}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}">'
        f"<sheets>{sheets}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}">'
        f"<sheetData>{cells}</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return file.getvalue()


OPC = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
MAIN = "application/vnd.openxmlformats-officedocument.spreadsheetml"
RELATIONS = "application/vnd.openxmlformats-package.relationships+xml"


def relation(kind, target):
    link = f'<Relationship Id="rId1" Type="{OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{OPC}/relationships">{link}</Relationships>'


def cell(text):
    return (
        f"<c><v>{text}</v></c>"
        if text.isdecimal()
        else f'<c t="inlineStr"><is><t>{text}</t></is></c>'
    )


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
    "Excel's sep=;": Shape(
        "x.csv", "sep=;\r\n" + table(WINNER, separator=";").replace("\n", "\r\n")
    ),
    "pipes": Shape("x.txt", table(WINNER, separator="|")),
    "tabs in .csv": Shape("x.csv", table(WINNER, separator="\t", mark="|")),
    "Windows line ends and byte-order mark": Shape(
        "x.csv", "\ufeff" + table(WINNER).replace("\n", "\r\n")
    ),
    "gzip": Shape("x.csv.gz", gzip.compress(table(WINNER).encode())),
    "Parquet": Shape("x.parquet", pl.DataFrame(OBJECTS)),
    "Parquet of text lists": Shape("x.parquet", pl.read_csv(table(WINNER).encode())),
    "left_1, right_1": Shape("x.csv", wide(["left_{}", "right_{}"])),
    "A1, semicolons, gzip": Shape(
        "x.csv.gz", gzip.compress(wide(["A{}", "B{}"], separator=";").encode())
    ),
    "Grade a 01": Shape("x.csv", wide(["Grade a 0{}", "Grade b 0{}"])),
    "positions from 0": Shape("x.csv", wide(["left.{}", "right.{}"], first=0)),
    "a row for each document": Shape("x.csv", long(), carries=("query",)),
    "a row for each document, positions from 0, in any order": Shape(
        "x.csv", long(0, seed=0), carries=("query",)
    ),
    "a row for each document, JSON array": Shape(
        "x.json", json.dumps(pl.read_csv(long().encode()).to_dicts())
    ),
}

WORDS = {
    "left, right, same": Shape("x.csv", table(["left", "right", "same"], "left,right,preferred")),
    "A, B, Tie": Shape("x.csv", table(["A", "B", "Tie"])),
    **{
        word: Shape("x.csv", table(["LEFT", "Right", word]))
        for word in ("draw", "No preference", "no pref", "Neither better", "neither", "Tied")
    },
    "own words": Shape(
        "x.tsv",
        table(["Left is better", "Right, clearly", "Same"], separator="\t"),
        {"winner_words": OWN},
    ),
    "own words, not explained": Shape(
        "x.tsv",
        table(["Left is better", "Right wins", "Same"], separator="\t"),
        refused="say what your words mean",
    ),
    "German words": Shape(
        "x.csv",
        table(["Links ist besser", "Rechts ist besser", "Gleich gut"]),
        {"winner_words": GERMAN},
    ),
    "German words, not explained": Shape(
        "x.csv",
        table(["Links", "Rechts", "Gleich"]),
        refused=r"winner_words=\"Links=\?,Rechts=\?,Gleich=\?\"",
    ),
}

SIDES = {
    "left and right, whatever was shown": Shape(
        "x.csv", table(["right", "right", "same"], shown_left=SHOWN_FIRST), carries=("swapped",)
    ),
    "first and second, true and false": Shape(
        "x.csv",
        table(["second", "second", "same"], swapped=["true", "false", "true"]),
        carries=("swapped",),
    ),
    "lists by system, order AB or BA": Shape(
        "x.csv", table(["second", "second", "tie"], order=["BA", "AB", "BA"]), carries=("swapped",)
    ),
    "1 and 2, order AB or BA": Shape(
        "x.csv",
        table(["2", "2", "tie"], presentation_order=["BA", "AB", "BA"]),
        carries=("swapped",),
    ),
    "1, 2 and 0, order AB or BA": Shape(
        "x.csv",
        table(["2", "2", "0"], order=["BA", "AB", "BA"]),
        refused="say what these codes mean",
    ),
    "lists by system, verdicts by system, shown_first": Shape(
        "x.csv", table(WINNER, shown_first=SHOWN_FIRST), carries=("swapped",)
    ),
    "own words for sides": Shape(
        "x.csv",
        table(["Rechts", "Rechts", "Gleich"], shown_left=SHOWN_FIRST),
        {"winner_words": "Links=left,Rechts=right,Gleich=tie"},
        ("swapped",),
    ),
    "own words for lists beside sides": Shape(
        "x.csv",
        table(["Alt", "Neu", "Gleich"], shown_left=SHOWN_FIRST),
        {"winner_words": "Alt=a,Neu=b,Gleich=tie"},
        ("swapped",),
    ),
    "a and b that mean what was shown": Shape(
        "x.csv", table(["b", "b", "tie"], shown_left=SHOWN_FIRST), {"sides": "shown"}, ("swapped",)
    ),
    "left and right that mean lists": Shape(
        "x.csv",
        table(["left", "right", "tie"], shown_left=SHOWN_FIRST),
        {"sides": "listed"},
        ("swapped",),
    ),
    "lists and winners called left and right, and sides": Shape(
        "x.csv",
        table(["left", "right", "same"], "left,right,preferred", swapped=[1, 0, 1]),
        refused="sides='listed'",
    ),
    "shown_left as a number": Shape(
        "x.csv",
        table(["right", "right", "same"], shown_left=[0, 1, 0]),
        refused="--columns swapped=shown_left",
    ),
    "an order in other words": Shape(
        "x.csv",
        table(WINNER, display_order=["new first", "old first", "new first"]),
        refused="'display_order' looks",
    ),
    "an order that does not count": Shape(
        "x.csv",
        table(WINNER, display_order=["new first", "old first", "new first"]),
        {"mapping": LogMapping(columns={"swapped": ""})},
    ),
    "an order of 0 and 1": Shape(
        "x.csv", table(WINNER, order=[1, 0, 1]), refused="'order' looks like the order"
    ),
    "an order of 0 and 1, named": Shape(
        "x.csv",
        table(WINNER, order=[1, 0, 1]),
        {"mapping": LogMapping(columns={"swapped": "order"})},
        ("swapped",),
    ),
    "an order that numbers the lines": Shape("x.csv", table(WINNER, order=[1, 2, 3])),
    "JSON lines with sides": Shape(
        "x.jsonl",
        json_lines(
            {**line, "winner": w}
            for line, w in zip(EVERYTHING, ["right", "right", "tie"], strict=True)
        ),
        carries=("strength", "rater", "query", "swapped"),
    ),
    "Parquet with sides": Shape(
        "x.parquet",
        pl.DataFrame(EVERYTHING).with_columns(winner=pl.Series(["right", "right", "tie"])),
    ),
}

STRENGTHS = {
    "strengths by word": Shape(
        "x.csv",
        table(["A much better", "B slightly better", "Same"]),
        {"winner_words": "A much better=a:3,B slightly better=b:1,Same=tie"},
        ("strength",),
    ),
    "strengths by word, JSON lines": Shape(
        "x.jsonl",
        json_lines(
            {**judged, "winner": w}
            for judged, w in zip(OBJECTS, ["A much better", "B better", "Same"], strict=True)
        ),
        {"winner_words": {"A much better": "a:3", "B better": "b", "same": "tie"}},
        ("strength",),
    ),
    "a column of strengths in words": Shape(
        "x.csv",
        table(WINNER, strength=["much", "slightly", ""]),
        {"winner_words": "much=:3,slightly=:1"},
        ("strength",),
    ),
    "a column of strengths in words, not explained": Shape(
        "x.csv",
        table(WINNER, strength=["much", "slightly", ""]),
        refused='winner_words="much=:[?],slightly=:[?]"',
    ),
}

NUMBERS = {
    "1 and 2, 0 a tie": Shape("x.csv", table(["1", "2", "0"]), {"winner_words": "1=a,2=b,0=tie"}),
    "1, 2 and 0, not explained": Shape(
        "x.csv", table(["1", "2", "0"]), refused="say what these codes mean"
    ),
    "1 and 2, not explained": Shape(
        "x.csv", table(["1", "2", "1"]), refused="say what these codes mean"
    ),
    "0, 1 and 2, 0 is left": Shape(
        "x.csv", table(["0", "2", "1"]), {"winner_words": "0=left,2=right,1=tie"}
    ),
    "0, 1 and 2 in JSON, not explained": Shape(
        "x.jsonl",
        json_lines({**judged, "winner": w} for judged, w in zip(OBJECTS, (0, 2, 1), strict=True)),
        refused="say what these codes mean",
    ),
    "1, 2 and 3, 3 a tie": Shape(
        "x.csv", table(["1", "2", "3"]), {"winner_words": "1=a,2=b,3=tie"}
    ),
    "1, 2 and 3, not explained": Shape(
        "x.csv", table(["1", "2", "3"]), refused="1=\\?,2=\\?,3=\\?.*or middle=2"
    ),
    "0 and 1": Shape("x.csv", table(["0", "1", "1"]), refused="say what these codes mean"),
    "-3 to 3, positive is a": Shape(
        "x.csv", table(["3", "-1", "0"]), {"positive": "a"}, ("strength",)
    ),
    "-3 to 3, positive is b": Shape(
        "x.csv", table(["-3", "1", "0"]), {"positive": "b"}, ("strength",)
    ),
    "-3 to 3, in JSON": Shape(
        "x.jsonl",
        json_lines({**judged, "winner": w} for judged, w in zip(OBJECTS, (3, -1, 0), strict=True)),
        {"positive": "a"},
        ("strength",),
    ),
    "-3 to 3, no side told": Shape(
        "x.csv", table(["3", "-1", "0"]), refused="positive='a', or 'b'"
    ),
    "1 to 7": Shape("x.csv", table(["7", "3", "4"]), {"positive": "a", "middle": 4}, ("strength",)),
    "1 to 7, 1 is a": Shape(
        "x.csv", table(["1", "5", "4"]), {"positive": "b", "middle": 4}, ("strength",)
    ),
    "1 to 7, not explained": Shape(
        "x.csv", table(["7", "3", "4"]), refused="middle=4, and which side"
    ),
    "1 to 7, as if 0 were the middle": Shape(
        "x.csv", table(["7", "3", "4"]), {"positive": "a"}, refused="middle=4"
    ),
    "1 to 5": Shape("x.csv", table(["1", "5", "3"]), {"positive": "b", "middle": 3}),
    "1 to 5, as if 0 were the middle": Shape(
        "x.csv", table(["1", "5", "3"]), {"positive": "b"}, refused="middle=3"
    ),
    "0 to 4": Shape("x.csv", table(["0", "4", "2"]), {"positive": "b", "middle": 2}),
    "0 to 4, as if 0 were the middle": Shape(
        "x.csv", table(["0", "4", "2"]), {"positive": "b"}, refused="middle=2"
    ),
    "probabilities": Shape("x.csv", table(["0.9", "0.2", "0.5"]), {"positive": "a", "middle": 0.5}),
    "probabilities, not explained": Shape(
        "x.csv", table(["0.9", "0.2", "0.5"]), refused="middle=0.5"
    ),
}


def raised(lists, by):
    return [[grade + by for grade in grades] for grades in lists]


def turned(lists, worst):
    return [[worst - grade for grade in grades] for grades in lists]


LETTERS = ["A", "B", "C"]

GRADES = {
    "names of grades": Shape("x.csv", table(WINNER, lists=(named(A), named(B))), {"scale": SCALE}),
    "names of grades, a column for each position": Shape(
        "x.csv", wide(["l{}", "r{}"], lists=(named(A), named(B))), {"scale": SCALE}
    ),
    "names of grades as JSON in CSV": Shape(
        "x.csv",
        table(
            WINNER,
            separator=";",
            lists=([[json.dumps(x)] for x in named(A)], [[json.dumps(x)] for x in named(B)]),
        )
        .replace('"', '""')
        .replace("[", '"[')
        .replace("]", ']"'),
        {"scale": SCALE},
    ),
    "names of grades, not explained": Shape(
        "x.csv", table(WINNER, lists=(named(A), named(B))), refused="pass scale="
    ),
    "names and numbers of grades": Shape(
        "x.csv",
        table(WINNER, lists=(named(A), B)),
        {"scale": SCALE},
        refused="by name and by number",
    ),
    "best grade first in the scale": Shape(
        "x.csv",
        table(WINNER, lists=(named(A), named(B))),
        {"scale": SCALE[::-1], "best_grade": "Good"},
    ),
    "numbers as names, 1 the best": Shape(
        "x.csv", table(WINNER, lists=(turned(A, 3), turned(B, 3))), {"scale": ["3", "2", "1"]}
    ),
    "numbers as names, JSON lines": Shape(
        "x.jsonl",
        json_lines(
            {"a": a, "b": b, "winner": w}
            for a, b, w in zip(turned(A, 3), turned(B, 3), WINNER, strict=True)
        ),
        {"scale": ["3", "2", "1"]},
    ),
    "numbers as names, one missing": Shape(
        "x.csv",
        table(WINNER, lists=(turned(A, 3), turned(B, 3))),
        {"scale": ["3", "1"]},
        refused="not a grade of the",
    ),
    "scale of numbers and words": Shape(
        "x.csv", table(WINNER), {"scale": ["Bad", "1", "2"]}, refused="mixes numbers with words"
    ),
    "1 is best": Shape(
        "x.csv", table(WINNER, lists=(turned(A, 3), turned(B, 3))), {"best_grade": 1}
    ),
    "0 is best": Shape(
        "x.parquet",
        pl.DataFrame({"a": turned(A, 2), "b": turned(B, 2), "winner": WINNER}),
        {"best_grade": "0"},
    ),
    "1 is best, of five grades": Shape(
        "x.csv",
        table(WINNER, lists=(turned(A, 5), turned(B, 5))),
        {"best_grade": 1, "n_grades": 5},
        n_grades=5,
    ),
    "0 where 1 is best": Shape(
        "x.csv",
        table(WINNER, lists=(turned(A, 2), turned(B, 2))),
        {"best_grade": 1},
        refused="better than best_grade=1",
    ),
    "99 as the code of missing": Shape(
        "x.csv", table(WINNER).replace("2 1 0", "2 1 99"), refused="99 .* far above the others.*-1"
    ),
    "grades from 0 to 100": Shape(
        "x.csv", table(WINNER).replace("2 1 0", "100 50 0"), refused="n_grades=101"
    ),
    "grades 0, 50 and 100, named": Shape(
        "x.csv",
        table(WINNER, lists=([[50 * g for g in x] for x in A], [[50 * g for g in x] for x in B])),
        {"scale": ["0", "50", "100"]},
    ),
    "grades from 0 to 100, insisted": Shape(
        "x.csv", table(["a", "b", "tie"]), {"n_grades": 101}, n_grades=101
    ),
    "numbers of documents as grades": Shape(
        "x.csv",
        table(
            WINNER,
            lists=([[17, 93, 4], [5, 6, 71], [8, 9, 10]], [[93, 4, 17], [6, 5, 71], [9, 8, 10]]),
        ),
        refused="numbers of documents, give judgements",
    ),
    "letters as grades, A the best": Shape(
        "x.csv",
        table(
            WINNER,
            lists=(
                [[LETTERS[2 - g] for g in x] for x in A],
                [[LETTERS[2 - g] for g in x] for x in B],
            ),
        ),
        {"scale": LETTERS, "best_grade": "A"},
    ),
}

OWN_COLUMNS = {"a": "Links {}", "b": "Rechts {}", "winner": "Urteil"}
OWN_TABLE = wide(["Links {}", "Rechts {}"], WINNER).replace("winner", "Urteil")
COMMENTS = ['"good\nboth, really"', '"said ""no"""', '"\n\n1 2 3"']

SPREADSHEETS = {
    "columns by pattern": Shape("x.csv", OWN_TABLE, {"mapping": LogMapping(columns=OWN_COLUMNS)}),
    "columns by pattern, number first": Shape(
        "x.csv",
        wide(["{}. Links", "{}. Rechts"]),
        {"mapping": LogMapping(columns={"a": "{}. Links", "b": "{}. Rechts"})},
    ),
    "columns not named": Shape("x.csv", OWN_TABLE, refused="no 'a' .*found Links 1"),
    "line breaks in quotes": Shape(
        "x.csv", table(WINNER, comment=COMMENTS, query=QUERY), carries=("query",)
    ),
    "line breaks in quotes, Windows": Shape(
        "x.csv", table(WINNER, comment=COMMENTS).replace("\n", "\r\n")
    ),
    "line breaks in the header": Shape(
        "x.csv",
        table(WINNER).replace("winner", '"Who\nwins?"'),
        {"mapping": LogMapping(columns={"winner": "Who wins?"})},
    ),
    "a stray quote": Shape(
        "x.csv", table(WINNER, query=['"q0', "q1", "q2"]), refused="line 2: not a line of CSV"
    ),
    "two stray quotes": Shape(
        "x.csv", table(WINNER, query=['"q0', "q1", 'q2"']), refused="line 2: not a line of CSV"
    ),
    "blank rows at the end": Shape("x.csv", table(WINNER) + ",,\r\n" * 3 + ", ,\n"),
    "grades joined by dashes": Shape(
        "x.csv",
        table(WINNER, mark="-"),
        refused="line 2: a holds '2-1-0', which is no grade; separate the grades of a cell by",
    ),
    "a blank row within": Shape(
        "x.csv", table(WINNER).replace("\n1 1 1", "\n,,\n1 1 1"), refused="line 4: a is missing"
    ),
    "grades in quotes": Shape(
        "x.jsonl",
        json_lines(
            {**x, "a": list(map(str, x["a"])), "b": list(map(str, x["b"]))} for x in OBJECTS
        ),
    ),
    "winners as fractions": Shape(
        "x.csv", table(["1.0", "2.0", "0.0"]), {"winner_words": "1=a,2=b,0=tie"}
    ),
    "winners as fractions, in a data frame": Shape(
        "x.parquet",
        pl.DataFrame(OBJECTS).with_columns(winner=pl.Series([1.0, 2.0, 0.0])),
        {"winner_words": "1=a,2=b,0=tie"},
    ),
    "Windows-1252": Shape(
        "x.csv",
        table(WINNER, rater=UMLAUTS).encode("cp1252"),
        {"encoding": "cp1252"},
        ("rater",),
        raters=UMLAUTS,
    ),
    "Windows-1252, not named": Shape(
        "x.csv", table(WINNER, rater=UMLAUTS).encode("cp1252"), refused="not UTF-8 text"
    ),
    "another encoding": Shape(
        "x.csv", table(WINNER), {"encoding": "utf-7bit"}, refused="'utf-7bit' is not known"
    ),
    "Unicode text of Excel": Shape(
        "x.txt",
        table(WINNER, separator="\t", rater=UMLAUTS).encode("utf-16"),
        {"encoding": "utf-16"},
        ("rater",),
        raters=UMLAUTS,
    ),
    "an Excel workbook": Shape("x.xlsx", workbook(wide(["left_{}", "right_{}"]))),
    "an Excel workbook, cells of the header merged": Shape(
        "x.xlsx",
        workbook("Production,,,Candidate,,,winner\n" + wide(["{}", "{}"]).replace("winner", "")),
        {"header": "1-2", "columns": {"a": "Production {}", "b": "Candidate {}"}},
    ),
    "an Excel workbook, a title above": Shape(
        "x.xlsx", workbook("A study\n" + wide(["left_{}", "right_{}"])), {"header": 2}
    ),
    "another zip file": Shape(
        "x.zip", b"PK\x03\x04" + b"0" * 40, refused="a zip file or workbook that is damaged"
    ),
}

SAID = ["left", "right", "Same"]
DATA = [{"query": q, "left": a, "right": b} for q, a, b in zip(QUERY, A, B, strict=True)]


MINIMAL = [
    {
        "id": 1,
        **data,
        "better": said,
        "annotator": rater,
        "annotation_id": 7,
        "created_at": "2026-01-01T00:00:00Z",
    }
    for data, rater, said in zip(DATA, RATER, SAID, strict=True)
]
MINIMAL_CSV = '"annotation_id","annotator","better","left","query","right"\n' + "".join(
    f'7,"{x["annotator"]}","{x["better"]}","{json.dumps(x["left"])}","{x["query"]}","{x["right"]}"\n'
    for x in MINIMAL
)
ARENA = {"model_a": ["old"] * 3, "model_b": ["new"] * 3}
HOT = {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0], "winner_tie": [0, 0, 1]}
HOT_REST = {name: marks for name, marks in HOT.items() if name != "winner_model_a"}
BETTER = {"mapping": LogMapping(columns={"winner": "better"})}

FOREIGN = {
    "Label Studio, JSON-min": Shape("x.json", json.dumps(MINIMAL), BETTER, ("rater", "query")),
    "Label Studio, CSV": Shape("x.csv", MINIMAL_CSV, BETTER, ("rater", "query")),
    "Arena, a column for each outcome": Shape(
        "x.csv",
        table(HOT["winner_model_a"], "response_a,response_b,winner_model_a", **HOT_REST, **ARENA),
    ),
    "a column for each outcome, JSON lines": Shape(
        "x.jsonl",
        json_lines(
            {**d, "winner_a": a == 0, "winner_b": a == 1, "winner_tie": a == 2}
            for a, d in enumerate(DATA)
        ),
    ),
    "two outcomes at once": Shape(
        "x.csv",
        table([1, 0, 1], "a,b,winner_model_a", **HOT_REST),
        refused="line 4: .*\\[.1., .0., .1.\\]; one of them must be 1",
    ),
    "chances of outcomes": Shape(
        "x.csv",
        table([0.4, 0, 1], "a,b,winner_model_a", **HOT_REST),
        refused="line 2: .*one of them must be 1",
    ),
    "Arena, words": Shape("x.csv", table(["model_a", "model_b", "tie (bothbad)"], **ARENA)),
}

SHAPES = {**FORMATS, **WORDS, **SIDES, **STRENGTHS, **NUMBERS, **GRADES, **SPREADSHEETS, **FOREIGN}
"""Every shape by name."""


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_read_or_refused(tmp_path, name):
    shape = SHAPES[name]
    if shape.name.endswith(".xlsx") and not any(map(find_spec, ENGINES.values())):
        pytest.skip("workbooks are read where openpyxl or fastexcel is installed")
    path = tmp_path / shape.name
    if isinstance(shape.content, pl.DataFrame):
        shape.content.write_parquet(path)
    else:
        write(tmp_path, shape.name, shape.content)
    if shape.refused:
        refused(shape.refused, shape.read, path, **shape.options)
        return
    log = shape.read(path, **shape.options)
    expected = truth() if shape.raters is None else truth().changed(rater=np.array(shape.raters))
    assert judgements(log, shape.carries) == judgements(expected, shape.carries)
    assert log.n_grades == shape.n_grades and len(log.recognised.winners.words) in (2, 3)


def truth():
    columns = {"strength": STRENGTH, "rater": RATER, "query": QUERY, "swapped": SWAPPED}
    return dl.Preferences(PREFERRED, OTHER, tie=[False, False, True], **columns)


def judgements(log, carries):
    """Return the judgements in a fixed order, each with its lists, whether it is a tie, and what
    the shape carries.
    """
    values = [getattr(log, name).tolist() for name in ("preferred", "other", "tie", *carries)]
    return sorted(zip(*values, strict=True), key=str)


def test_chosen_lists_are_preferred_to_rejected_ones(tmp_path):
    pairs = [
        {"prompt": "words", "chosen": a, "rejected": b}
        for a, b in zip(PREFERRED, OTHER, strict=True)
    ]
    csv = "\n".join(
        ["chosen;rejected", *(f"{a};{b}" for a, b in zip(PREFERRED, OTHER, strict=True))]
    )
    for path in (write(tmp_path, "x.jsonl", json_lines(pairs)), write(tmp_path, "x.csv", csv)):
        log = dl.read_preferences(path)
        assert (log.preferred.tolist(), log.other.tolist(), log.tie) == (PREFERRED, OTHER, None)
        assert log.recognised.winners.sentence == "the winner is a in 3 lines"
    texts = [{"prompt": "words", "chosen": "Yes, I think so", "rejected": "No"}]
    refused("record 1: a holds", dl.read_preferences, texts)


OWN_LISTS = [{"links": a, "rechts": b} for a, b in zip(PREFERRED, OTHER, strict=True)]


@pytest.mark.parametrize("named", [{}, {"winner": "urtiel"}, {"winner": "said.w"}])
def test_lists_of_own_names_without_a_winner_are_not_taken_for_chosen_ones(named):
    columns = {"a": "links", "b": "rechts", **named}
    others = [{**line, "urteil": "b"} for line in OWN_LISTS]
    refused("no 'winner'", dl.read_preferences, others, columns=columns)


def test_lists_of_own_names_are_read_with_votes_and_probabilities():
    columns = {"a": "links", "b": "rechts"}
    votes = [{**line, "ja": 1, "nein": 3} for line in OWN_LISTS]
    log = dl.read_preferences(votes, columns={**columns, "votes_a": "ja", "votes_b": "nein"})
    assert log.weight.tolist() == [1, 3] * len(OWN_LISTS)
    nested = [{**line, "model": {"p": 0.25}} for line in OWN_LISTS]
    log = dl.read_preferences(nested, columns={**columns, "probability": "model.p"})
    assert log.weight.tolist() == [0.25, 0.75] * len(OWN_LISTS)


def test_votes_beside_a_winner_are_said_not_to_count():
    lines = [{**line, "winner": "a", "votes_a": 1, "votes_b": 3} for line in OWN_LISTS]
    log = dl.read_preferences(lines, columns={"a": "links", "b": "rechts"})
    said = "not used, since there is a winner: votes_a, votes_b"
    assert (log.weight, said in log.recognised.notes) == (None, True)
