"""The forms in which people have judgements: each is read as the same log, or refused with what to do."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from tests.logs.log_files import columns, write

A = [[2, 1, 0], [1, 0, 0], [1, 1, 1]]
B = [[0, 1, 2], [1, 1, 0], [0, 2, 0]]
LOG = dl.Preferences([A[0], B[1], A[2]], [B[0], A[1], B[2]], tie=[False, False, True])
"""A log of three judgements: a, b, tie."""

SCALE = ["Bad", "Fair", "Good"]


def table(winners, header="a,b,winner", separator=",", mark=" "):
    rows = [[mark.join(map(str, a)), mark.join(map(str, b)), w] for a, b, w in zip(A, B, winners, strict=True)]
    return "\n".join([header.replace(",", separator), *(separator.join(row) for row in rows)]) + "\n"


def wide(names, winners=("left", "right", "same"), separator=",", lists=None):
    left, right = lists or (A, B)
    header = [name.format(i) for name in names for i in (1, 2, 3)]
    rows = [[*map(str, a), *map(str, b), w] for a, b, w in zip(left, right, winners, strict=True)]
    return "\n".join(separator.join(row) for row in [[*header, "winner"], *rows]) + "\n"


def long(start=1, rows=None):
    lines = ["query,side,position,grade,winner"]
    for q, (a, b, w) in enumerate(zip(A, B, ("left", "right", "same"), strict=True)):
        for side, grades in (("left", a), ("right", b)):
            lines += [f"q{q},{side},{i + start},{grade},{w}" for i, grade in enumerate(grades)]
    return "\n".join(lines if rows is None else [lines[0], *(lines[i] for i in rows)]) + "\n"


OBJECTS = [{"a": a, "b": b, "winner": w} for a, b, w in zip(A, B, ("a", "b", "tie"), strict=True)]
LIKERT = table(["3", "-1", "0"])
OWN = "Left is better=a,Right, clearly=b,Same=tie"

SHAPES = {
    "native JSON lines": ("x.jsonl", "\n".join(map(json.dumps, OBJECTS)), {}),
    "JSON array": ("x.json", json.dumps(OBJECTS, indent=1), {}),
    "left / right / same": ("x.csv", table(["left", "right", "same"], "left,right,preferred"), {}),
    "A / B / Tie": ("x.csv", table(["A", "B", "Tie"]), {}),
    "draw or equal": ("x.csv", table(["LEFT", "Right", "draw"]), {}),
    "exactly 1 and 2, 0 a tie": ("x.csv", table(["1", "2", "0"]), {}),
    "numbers in JSON": (
        "x.jsonl",
        "\n".join(json.dumps({**o, "winner": w}) for o, w in zip(OBJECTS, (1, 2, 0), strict=True)),
        {},
    ),
    "own words": ("x.tsv", table(["Left is better", "Right, clearly", "Same"], separator="\t"), {"winner_words": OWN}),
    "Likert -3..3": ("x.csv", LIKERT, {"positive": "a"}),
    "Likert, positive is b": ("x.csv", table(["-3", "1", "0"]), {"positive": "b"}),
    "semicolons": ("x.csv", table(["a", "b", "tie"], separator=";"), {}),
    "semicolons, lists with commas": ("x.csv", table(["a", "b", "tie"], separator=";", mark=","), {}),
    "Excel's sep=;": ("x.csv", "sep=;\r\n" + table(["a", "b", "tie"], separator=";").replace("\n", "\r\n"), {}),
    "pipes": ("x.txt", table(["a", "b", "tie"], separator="|"), {}),
    "tabs in .csv": ("x.csv", table(["a", "b", "tie"], separator="\t", mark="|"), {}),
    "wide left_1": ("x.csv", wide(["left_{}", "right_{}"]), {}),
    "wide A1, semicolons, gzip": ("x.csv.gz", gzip.compress(wide(["A{}", "B{}"], separator=";").encode()), {}),
    "wide Grade a 01": ("x.csv", wide(["Grade a 0{}", "Grade b 0{}"]), {}),
    "wide from 0": ("x.csv", wide(["left.{}", "right.{}"]).replace("1", "0", 1).replace("2", "1", 1), None),
    "wide words": (
        "x.csv",
        wide(["l{}", "r{}"], lists=[[[SCALE[g] for g in x] for x in side] for side in (A, B)]),
        {"scale": SCALE},
    ),
    "wide JSON lines": (
        "x.jsonl",
        "\n".join(
            json.dumps({**{f"a{i}": g for i, g in enumerate(a)}, **{f"b{i}": g for i, g in enumerate(b)}, "winner": w})
            for a, b, w in zip(A, B, ("a", "b", "tie"), strict=True)
        ),
        {},
    ),
    "long": ("x.csv", long(), {}),
    "long, positions from 0, rows in any order": ("x.csv", long(0, np.random.default_rng(0).permutation(18) + 1), None),
    "long JSON array": (
        "x.json",
        json.dumps(pl.read_csv(long().encode()).to_dicts()),
        {},
    ),
    "Windows line ends and byte-order mark": ("x.csv", "\ufeff" + table(["a", "b", "tie"]).replace("\n", "\r\n"), {}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_is_read(tmp_path, shape):
    name, text, options = SHAPES[shape]
    if shape == "wide from 0":
        header, _, rest = wide(["left.{}", "right.{}"]).partition("\n")
        text = "left.0,left.1,left.2,right.0,right.1,right.2,winner\n" + rest
        assert header != text.split("\n")[0]
    log = dl.read_preferences(write(tmp_path, name, text), **(options or {}))
    found = columns(log)
    if options and "positive" in options:
        assert found.pop("strength") == [3, 1, 1]
    if "query" in text.split("\n")[0] if isinstance(text, str) else False:
        assert sorted(found.pop("query")) == ["q0", "q1", "q2"]
    expected = columns(LOG)
    order = np.argsort([str(pair) for pair in zip(found["preferred"], found["other"], strict=True)])
    wanted = np.argsort([str(pair) for pair in zip(expected["preferred"], expected["other"], strict=True)])
    for column in ("preferred", "other", "tie"):
        assert [found[column][i] for i in order] == [expected[column][i] for i in wanted]
    assert log.n_grades == 3
    assert len(log.recognised.winners.words) == 3
