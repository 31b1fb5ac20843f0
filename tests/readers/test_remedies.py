"""Files of tools are read rightly by options that their refusals name, or refused in words."""

import shlex
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.workbooks import ENGINES
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import middle_of
from tests.makers import refused, write
from tests.readers.test_file_shapes import (
    json_lines,
    judgements,
    named,
    table,
    turned,
    wide,
    workbook,
)

TRUE = dl.DCG([0, 1, 3], [1, 0.63, 0.5])
RNG = np.random.default_rng(5)
A, B = (RNG.integers(0, 3, (24, 3)).tolist() for _ in range(2))
DIFFERENCE = np.round(TRUE.score(np.array(A)) - TRUE.score(np.array(B)), 6)
WINNER = np.array(["b", "tie", "a"])[(np.sign(DIFFERENCE) + 1).astype(int)].tolist()
"""The truth of the tools' files: 24 judgements of every kind by one DCG."""

N = range(len(WINNER))
IS_SWAPPED = (RNG.random(len(WINNER)) < 0.5).tolist()
SYSTEMS = [("new", "prod") if swapped else ("prod", "new") for swapped in IS_SWAPPED]
ON_SCREEN = [
    w if w == "tie" else ("left", "right")[(w == "b") ^ s]
    for w, s in zip(WINNER, IS_SWAPPED, strict=True)
]
PLACE_OF_A = ["right" if swapped else "left" for swapped in IS_SWAPPED]


def as_words(a, b, tie, winners=WINNER):
    """Return the winners in other words."""
    return [{"a": a, "left": a, "b": b, "right": b, "tie": tie}[winner] for winner in winners]


def csv(winners, header="a,b,winner", lists=(A, B), **columns):
    return table(
        winners,
        header,
        ";",
        lists=lists,
        **{name: list(values) for name, values in columns.items()},
    )


def by_position(names, winners, separator=",", header="winner", lists=(A, B), **columns):
    lines = wide(names, winners, separator, lists).replace("winner", header, 1).splitlines()
    further = zip(lines, *([name, *values] for name, values in columns.items()), strict=True)
    return "\n".join(separator.join(map(str, cells)) for cells in further) + "\n"


def objects(winners=WINNER, a="a", b="b", winner="winner", **columns):
    rows = zip(A, B, winners, *columns.values(), strict=True)
    return json_lines(dict(zip((a, b, winner, *columns), row, strict=True)) for row in rows)


def name_of(winner, pair, tie="tie"):
    return tie if winner == "tie" else pair[winner == "b"]


def multiplied(by):
    return [[[by * grade for grade in grades] for grades in lists] for lists in (A, B)]


NAMES = [name_of(*judged) for judged in zip(WINNER, SYSTEMS, strict=True)]
LEFT_SYSTEM, RIGHT_SYSTEM = zip(*SYSTEMS, strict=True)
SCORE = [50 + round(12 * d) for d in DIFFERENCE]
CLEAR = 1 + (np.abs(DIFFERENCE) > 1)  # strength of a preference, 1 or 2
SIGNED = [int(np.sign(d) * c) for d, c in zip(DIFFERENCE, CLEAR, strict=True)]


@dataclass(frozen=True)
class Case:
    """A file as a tool writes it, options given at first, those that read it, and how it ends."""

    name: str
    content: Any
    given: str = ""
    options: str | None = None
    ends: str = "read"


QUALTRICS = (
    'a;b;winner\n"The left list";"The right list";"Which is better?"\n'
    '{"ImportId":"QID1"};{"ImportId":"QID2"};{"ImportId":"QID3"}\n'
)

CASES = {
    "Google Forms": Case(
        "form.csv",
        '"Timestamp","Results A","Results B","Which list is better, A or B?"\n'
        + "".join(
            f'2026/03/01 10:{i:02},"{", ".join(map(str, A[i]))}",'
            f'"{", ".join(map(str, B[i]))}",{said}\n'
            for i, said in enumerate(as_words("List A", "List B", "Undecided"))
        ),
        options="--columns 'a=Results A,b=Results B,winner=Which list is better, A or B?' "
        "--winner-words 'list a=a,list b=b,undecided=tie'",
    ),
    "Google Forms in German": Case(
        "form.csv",
        csv(
            as_words("Linke Liste", "Rechte Liste", "Beide gleich"),
            "Ergebnis links,Ergebnis rechts,Welche Liste ist besser?",
            Zeitstempel=N,
        ),
        options="--columns 'a=Ergebnis links,b=Ergebnis rechts,winner=Welche Liste ist besser?' "
        "--winner-words 'linke liste=left,rechte liste=right,beide gleich=tie'",
    ),
    "MTurk": Case(
        "batch.csv",
        csv(
            as_words("left", "right", "same"),
            "Input.left,Input.right,Answer.choice",
            HITId=[f"3X{i}" for i in N],
            WorkerId=[f"A{i % 5}" for i in N],
        ),
        options="--columns a=Input.left,b=Input.right,winner=Answer.choice",
    ),
    "MTurk, a column for each position": Case(
        "batch.csv",
        by_position(
            ["Input.left_{}", "Input.right_{}"],
            as_words("left", "right", "equal"),
            header="Answer.better",
        ),
        options="--columns 'a=Input.left_{},b=Input.right_{},winner=Answer.better'",
    ),
    "MTurk, two questions": Case(
        "batch.csv",
        csv(as_words("left", "right", "same"), "a,b,Answer.better", clearer=["left"] * len(WINNER)),
        options="--columns winner=Answer.better",
    ),
    "SurveyMonkey": Case(
        "survey.csv",
        csv(
            as_words("Set A is better", "Set B is better", "They are equally good"),
            "Set A,Set B,Please choose",
            Respondent=[11800 + i for i in N],
        ),
        options="--columns 'a=Set A,b=Set B,winner=Please choose' "
        "--winner-words 'set a is better=a,set b is better=b,they are equally good=tie'",
    ),
    "SurveyMonkey, remarks as winners": Case(
        "survey.csv",
        csv([f"I liked number {i} more" for i in range(60)], lists=(A[:1] * 60, B[:1] * 60)),
        ends="refused",
    ),
    "Label Studio, CSV of its own names": Case(
        "project.csv",
        csv(
            as_words("Left better", "Right better", "Same"), "left,right,sxs", annotator=["7"] * 24
        ),
        options="--columns winner=sxs --winner-words 'Left better=left,Right better=right'",
    ),
    "no winner but interface": Case(
        "x.csv", csv(["grid", "list"] * 12, "a,b,interface"), ends="refused"
    ),
    "no winner but seconds": Case(
        "x.csv", csv([200 + 7 * i for i in N], "a,b,seconds"), ends="refused"
    ),
    "no winner but remark": Case(
        "x.csv", csv([f"I liked {i}" for i in N], "a,b,remark"), ends="refused"
    ),
    "phrases that hold a side and mean none": Case(
        "x.csv",
        csv(as_words("A is better", "B is better", "It is a toss-up")),
        options="--winner-words 'a is better=a,b is better=b,it is a toss-up=tie'",
    ),
    "Qualtrics, three lines of header": Case(
        "q.csv", QUALTRICS + csv(SCORE).partition("\n")[2], ends="refused"
    ),
    "Qualtrics, slider": Case(
        "q.csv", csv(SCORE, "a,b,Q1_1"), options="--columns winner=Q1_1 --positive a --middle 50"
    ),
    "slider around 0": Case("q.csv", csv([s - 50 for s in SCORE]), options="--positive a"),
    "slider from 0 to 20": Case(
        "q.csv", csv([10 + round(3 * s) for s in SIGNED]), options="--positive a --middle 10"
    ),
    "probability, JSON": Case(
        "judge.jsonl",
        objects([s / 100 for s in SCORE], winner="p_a"),
        options="--columns winner=p_a --positive a --middle 0.5",
    ),
    "Likert from 1 to 5": Case(
        "x.csv", csv([3 - s for s in SIGNED]), options="--positive b --middle 3"
    ),
    "Likert from 1 to 7, ends unused": Case(
        "x.csv", csv([4 + s for s in SIGNED]), options="--positive a --middle 4"
    ),
    "Likert from -2 to 2": Case("x.csv", csv(SIGNED), options="--positive a"),
    "codes": Case("x.csv", csv(as_words(1, 2, 0)), options="--winner-words 1=a,2=b,0=tie"),
    "Chatbot Arena, model_a": Case(
        "arena.jsonl",
        objects(
            as_words("model_a", "model_b", "tie (bothbad)"),
            model_a=LEFT_SYSTEM,
            model_b=RIGHT_SYSTEM,
        ),
    ),
    "Chatbot Arena, names": Case(
        "arena.jsonl", objects(NAMES, model_a=LEFT_SYSTEM, model_b=RIGHT_SYSTEM)
    ),
    "left_system and right_system": Case(
        "x.csv", csv(NAMES, "left,right,winner", left_system=LEFT_SYSTEM, right_system=RIGHT_SYSTEM)
    ),
    "systems, a tie in words of its own": Case(
        "x.csv",
        csv(
            [name_of(*j, "undecided") for j in zip(WINNER, SYSTEMS, strict=True)],
            SystemA=LEFT_SYSTEM,
            SystemB=RIGHT_SYSTEM,
        ),
        options="--winner-words undecided=tie",
    ),
    "systems called A and B": Case(
        "x.csv",
        csv(
            ["tie" if x == "tie" else {"prod": "A", "new": "B"}[x] for x in NAMES],
            left_system=["A" if x == "prod" else "B" for x in LEFT_SYSTEM],
            right_system=["A" if x == "prod" else "B" for x in RIGHT_SYSTEM],
        ),
    ),
    "numbers of systems": Case(
        "x.parquet",
        pl.DataFrame(
            {
                **{
                    "a": A,
                    "b": B,
                    "winner": [{"tie": "tie", "prod": "17", "new": "18"}[x] for x in NAMES],
                },
                **{
                    f"{side}_run": [17 if x == "prod" else 18 for x in of]
                    for side, of in zip(("left", "right"), (LEFT_SYSTEM, RIGHT_SYSTEM), strict=True)
                },
            }
        ),
    ),
    "one system against itself": Case(
        "x.csv",
        csv(["prod"] * 24, left_system=["prod"] * 24, right_system=LEFT_SYSTEM),
        ends="refused",
    ),
    "systems named by hand": Case(
        "x.csv",
        csv(NAMES, one=LEFT_SYSTEM, other=RIGHT_SYSTEM),
        "--columns system_a=one,system_b=other",
    ),
    "lists in columns of systems": Case(
        "x.csv",
        by_position(["prod {}", "new {}"], as_words("prod", "new", "tie")),
        options="--columns 'a=prod {},b=new {}'",
    ),
    "winners that are names of columns": Case(
        "x.csv",
        csv(as_words("Left_List", "Right_List", "Even"), "Left_List,Right_List,Preferred list"),
        options="--columns 'a=Left_List,b=Right_List,winner=Preferred list' "
        "--winner-words even=tie",
    ),
    "list1 and list2": Case(
        "x.csv",
        csv(as_words(1, 2, "Tie"), "list1,list2,winner"),
        options="--columns a=list1,b=list2 --winner-words 1=a,2=b",
    ),
    "LLM judge, position_of_a": Case("judge.jsonl", objects(ON_SCREEN, position_of_a=PLACE_OF_A)),
    "LLM judge, position_of_a is 1 or 2": Case(
        "judge.jsonl",
        objects(as_words("1", "2", "tie", ON_SCREEN), position_of_a=[1 + s for s in IS_SWAPPED]),
    ),
    "LLM judge, position of a from 0": Case(
        "judge.jsonl",
        objects(
            as_words("first", "second", "tie", ON_SCREEN), a_position=[int(s) for s in IS_SWAPPED]
        ),
    ),
    "LLM judge, position_of_a named by hand": Case(
        "judge.csv",
        csv(ON_SCREEN, position_of_a=[1 + s for s in IS_SWAPPED]),
        "--columns swapped=position_of_a",
    ),
    "LLM judge, a shown left": Case(
        "judge.jsonl", objects(ON_SCREEN, a_shown_left=[not swapped for swapped in IS_SWAPPED])
    ),
    "LLM judge, position_of_a in other words": Case(
        "judge.jsonl", objects(ON_SCREEN, position_of_a=["x"] * 24), ends="refused"
    ),
    "LLM judge, first_shown as a truth value": Case(
        "judge.jsonl", objects(ON_SCREEN, left_shown=IS_SWAPPED), ends="refused"
    ),
    "LLM judge, response_1 and response_2": Case(
        "judge.jsonl",
        objects(as_words("response_1", "response_2", "tie"), "response_1", "response_2"),
        options="--columns a=response_1,b=response_2",
    ),
    "German sheet": Case(
        "blatt.csv",
        by_position(
            ["Links {}", "Rechts {}"], as_words("Links", "Rechts", "Gleich"), ";", "Urteil", Nr=N
        ),
        options="--columns 'a=Links {},b=Rechts {},winner=Urteil' --winner-words gleich=tie",
    ),
    "German sheet, right first": Case(
        "blatt.csv",
        by_position(
            ["Rechts {}", "Links {}"],
            as_words("Links", "Rechts", "Gleich"),
            ";",
            "Urteil",
            lists=(B, A),
        ),
        options="--columns 'a=Links {},b=Rechts {},winner=Urteil' --winner-words gleich=tie",
    ),
    "German workbook": Case(
        "blatt.xlsx",
        workbook(
            by_position(
                ["Links {}", "Rechts {}"], as_words("Links", "Rechts", "Gleich"), header="Urteil"
            )
        ),
        options="--columns 'a=Links {},b=Rechts {},winner=Urteil' --winner-words gleich=tie",
    ),
    "French sheet, Windows-1252": Case(
        "feuille.csv",
        by_position(
            ["Gauche {}", "Droite {}"], as_words("À gauche", "À droite", "Égal"), ";", "Préférence"
        ).encode("cp1252"),
        options="--encoding cp1252 --columns 'a=Gauche {},b=Droite {},winner=Préférence' "
        "--winner-words 'à gauche=left,à droite=right,égal=tie'",
    ),
    "German Unicode text": Case(
        "blatt.txt",
        by_position(["Links {}", "Rechts {}"], as_words("a", "b", "tie"), "\t", "Für wen?").encode(
            "utf-16"
        ),
        options="--encoding utf-16 --columns 'a=Links {},b=Rechts {},winner=Für wen?'",
    ),
    "names of grades": Case(
        "x.csv", csv(WINNER, lists=(named(A), named(B))), options="--scale Bad,Fair,Good"
    ),
    "other names of grades": Case(
        "x.csv",
        csv(
            WINNER, lists=[[[("no", "ok", "yes")[g] for g in x] for x in lists] for lists in (A, B)]
        ),
        ends="refused",
    ),
    "grades of 0, 50 and 100": Case(
        "x.csv", csv(WINNER, lists=multiplied(50)), options="--scale 0,50,100"
    ),
    "grades as fractions": Case(
        "x.csv", csv(WINNER, lists=multiplied(0.3)), options="--cutoffs .2,.5,.8"
    ),
    "1 is the best grade": Case(
        "x.csv", csv(WINNER, lists=(turned(A, 3), turned(B, 3))), options="--best-grade 1"
    ),
    "names of documents": Case(
        "x.csv", csv(WINNER, lists=([["d1", "d2"]] * 24, [["d2", "d3"]] * 24)), ends="refused"
    ),
    "winners exchanged, words told": Case(
        "x.csv",
        csv(as_words("x", "y", "z")),
        "--winner-words x=b,y=a,z=tie",
        options="--winner-words z=tie,x=a,y=b",
    ),
    "numbers, wrong side told": Case("x.csv", csv(SIGNED), "--positive b", options="--positive a"),
    "a column that is not there": Case(
        "x.csv", csv(WINNER, "a,b,said"), "--columns 'winner=Said it'", ends="refused"
    ),
    "pairs taken for ratings": Case("x.csv", csv(WINNER), "--ratings", options=""),
    "strengths in words": Case(
        "x.csv",
        csv(WINNER, strength=["much" if c == 2 else "slightly" for c in CLEAR]),
        options="--winner-words much=:2,slightly=:1",
    ),
    "orders in other words": Case(
        "x.csv", csv(WINNER, display_order=["new first"] * 24), ends="refused"
    ),
    "shown_left as a number": Case(
        "x.csv", csv(ON_SCREEN, shown_left=[int(s) for s in IS_SWAPPED]), ends="refused"
    ),
}


def judged():
    """Return the truth of the tools' files as a log."""
    first, second = (np.array(lists, np.int8) for lists in (A, B))
    swap = np.array(WINNER)[:, None] == "b"
    return dl.Preferences(
        np.where(swap, second, first),
        np.where(swap, first, second),
        3,
        tie=np.array(WINNER) == "tie",
    )


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_a_tool_is_read_by_options_that_its_refusal_names(dcglearn, here, name):
    case = CASES[name]
    if case.name.endswith(".xlsx") and not any(map(find_spec, ENGINES.values())):
        pytest.skip("workbooks are read where openpyxl or fastexcel is installed")
    if isinstance(case.content, pl.DataFrame):
        case.content.write_parquet(case.name)
    else:
        write(here, case.name, case.content)

    # refused at first, in words
    given = shlex.split(case.given)
    if case.options is not None or case.ends == "refused":
        status, _, err = dcglearn("convert", case.name, *given)
        assert status == 2 and f"convert {case.name}" not in err
        if case.ends == "refused":
            return
        first = case.options.split()[0].removeprefix("--") if case.options else "ratings"
        assert f"--{first}" in err or f"{first.replace('-', '_')}=" in err, err
        given = shlex.split(case.options)

    # and read by the options
    status, _, err = dcglearn("convert", case.name, *given, "-o", "log.jsonl")
    assert status == 0, err
    assert judgements(dl.read_preferences("log.jsonl"), ()) == judgements(judged(), ())


def test_names_of_grades_are_put_in_order_by_hand():
    for best, scale in (("Fair", "bad,fair,good"), ("Superb", "bad,good,superb")):
        lines = [
            {"a": ["Good", "Bad", None], "b": ["Bad", "Good", "u"], "winner": "a"},
            {"a": [best], "b": ["Bad"], "winner": "a"},
        ]
        end = f"put these in order: scale= (--scale {scale}) (see docs/reference/errors.md#grades)"
        assert refused("a holds the grade name", dl.read_preferences, lines).endswith(end)


@pytest.mark.parametrize(
    ("numbers", "middle"),
    [
        ([0.2, 0.5, 0.9], 0.5),
        ([0.6, 0.9], None),  # all on one side
        ([12, 49, 88], 50),
        ([3, 10, 18], None),  # of 20, perhaps
        ([0, 100], 50),
        ([1, 3, 5], 3),
        ([1, 4, 7], 4),
        ([3, 4, 7], 4),
        ([1, 2, 4, 5], None),  # of five without a tie, or of seven
        ([1, 2, 3, 4], None),  # a forced choice, or of five or seven
        ([1, 2, 3, 4, 5, 6], None),
        ([0, 2, 4], 2),
        ([20, 900], None),
        ([4], 4),
    ],
)
def test_the_middle_of_a_scale_is_named_where_it_is_sure(numbers, middle):
    assert middle_of([float(number) for number in numbers]) == middle


def test_names_of_systems_are_looked_up_line_by_line_and_said(dcglearn, here):
    write(
        here,
        "x.csv",
        csv(NAMES, "left,right,winner", left_system=LEFT_SYSTEM, right_system=RIGHT_SYSTEM),
    )
    status, _, err = dcglearn("convert", "x.csv", "-o", "log.jsonl")
    assert status == 0 and "; winners are names of left_system and right_system\n" in err
    assert judgements(dl.read_preferences("x.csv"), ()) == judgements(judged(), ())
    assert "names of left_system" in dcglearn("learn", "x.csv", "--dry-run")[1]
    told = dl.read_preferences("x.csv", winner_words={"prod": "a", "new": "b"})
    n = sum(swapped for name, swapped in zip(NAMES, IS_SWAPPED, strict=True) if name != "tie")
    (remark,) = told.recognised.remarks
    assert remark.startswith(f"winner_words= takes {n} winners") and 0 < n < 24
    both = csv(["prod"] * 24, left_system=["prod"] * 24, right_system=LEFT_SYSTEM)
    write(here, "both.csv", both)
    refused(
        "line .: winner is 'prod', which both left_system and right_system hold",
        dl.read_preferences,
        "both.csv",
    )
    refused(
        "line 2: winner is 'old'",
        dl.read_preferences,
        write(here, "y.csv", both.replace("0;prod", "0;old", 1)),
    )


def test_an_order_in_a_log_in_parts_is_refused_where_it_says_the_place_of_a(here, parted):
    frame = pl.DataFrame({"a": A, "b": B, "winner": ON_SCREEN, "position_of_a": PLACE_OF_A})
    frame.write_parquet("x.parquet")
    for columns in ({}, {"swapped": "position_of_a"}):
        refused(
            "'position_of_a' looks like the order",
            parted,
            "x.parquet",
            mapping=LogMapping(columns=columns),
        )


def test_rejected_and_repeated_lines_are_remarked_on_and_left_out(dcglearn, here, parted):
    head, *rows = csv(
        WINNER, id=N, rater=["w"] * 24, AssignmentStatus=["Rejected", "Approved"] * 12
    ).splitlines()
    write(here, "x.csv", "\n".join([head, *rows, *rows[:5]]) + "\n")
    status, _, err = dcglearn("convert", "x.csv", "-o", "log.jsonl")
    first, second, _ = err.splitlines()
    assert status == 0 and first.startswith(
        "remark: 15 of 29 lines have the AssignmentStatus Rejected; leave_out="
    )
    assert second.startswith(
        "remark: 5 of 29 lines repeat the id, rater, lists and verdict of an earlier line; leave"
    )
    for command in ("learn", "audit"):
        assert "remark: 15 of 29 lines" in dcglearn(command, "x.csv", "--as-is")[2]
    assert "\n- 15 of 29 lines" in dcglearn("learn", "x.csv", "--dry-run")[1]
    one = dl.read_preferences("x.csv", leave_out="rejected")
    both = dl.read_preferences("x.csv", leave_out="Rejected,duplicates")
    assert (len(one), one.dropped) == (14, {"lines of status Rejected": 15})
    assert both.dropped == {"lines of status Rejected": 15, "lines that repeat an earlier one": 2}
    assert judgements(both, ()) == judgements(judged()[1::2], ())
    assert both.recognised.remarks == () and len(one.recognised.remarks) == 1
    refused(
        "leave_out='x' needs a column of statuses",
        dl.read_preferences,
        [{"a": [1], "b": [0], "winner": "a"}],
        leave_out="x",
    )
    one.save("x.parquet")
    in_parts = LogMapping(leave_out="Rejected")
    refused("leave_out= needs the whole log in memory", parted, "x.parquet", mapping=in_parts)


def test_approved_as_a_truth_value_and_raters_who_agree_are_understood():
    lines = [
        {"a": a, "b": b, "winner": w, "id": "q", "rater": f"r{i}"}
        for i, (a, b, w) in enumerate(zip(A, B, WINNER, strict=True))
    ]
    assert dl.read_preferences(lines).recognised.remarks == ()
    (remark,) = dl.read_preferences(
        [{**line, "approved": i > 2} for i, line in enumerate(lines)]
    ).recognised.remarks
    assert remark.startswith("3 of 24 lines have the approved False; leave_out='False'")
    kept = dl.read_preferences(
        [{**line, "approved": i > 2} for i, line in enumerate(lines)], leave_out="False"
    )
    assert len(kept) == 21
