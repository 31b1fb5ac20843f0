"""What a refusal proposes works when it is pasted: the log is read rightly, or refused in words; no
circle.
"""

import shlex
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl
import pytest

import dcglearn as dl
from dcglearn.foundation.workbooks import ENGINES
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import OwnWords, middle_of
from tests.makers import refused, write
from tests.makers import rows as pairs_of
from tests.readers.test_file_shapes import (
    SHAPES,
    json_lines,
    judgements,
    named,
    table,
    truth,
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
    """A file as a tool writes it, the arguments of ``convert``, what the user would answer, and how
    it ends.
    """

    name: str
    content: Any
    arguments: tuple[str, ...] = ()
    answers: dict[str, Any] = field(default_factory=dict)
    ends: str = "read"
    proposed: str | None = None


SIDES = {"Links": "left", "Rechts": "right", "Gleich": "tie"}
POSITIVE_A = {"positive": "a"}
QUALTRICS = (
    'a;b;winner\n"The left list";"The right list";"Which is better?"\n'
    '{"ImportId":"QID1"};{"ImportId":"QID2"};{"ImportId":"QID3"}\n'
)

CASES = {
    # forms and crowds
    "Google Forms": Case(
        "form.csv",
        '"Timestamp","Results A","Results B","Which list is better, A or B?"\n'
        + "".join(
            f'2026/03/01 10:{i:02},"{", ".join(map(str, A[i]))}",'
            f'"{", ".join(map(str, B[i]))}",{said}\n'
            for i, said in enumerate(as_words("List A", "List B", "Undecided"))
        ),
        answers={"winner_words": {"Undecided": "tie"}},
        proposed="a=Results A,b=Results B,winner=Which list is better, A or B?",
    ),
    "Google Forms in German": Case(
        "form.csv",
        csv(
            as_words("Linke Liste", "Rechte Liste", "Beide gleich"),
            "Ergebnis links,Ergebnis rechts,Welche Liste ist besser?",
            Zeitstempel=N,
        ),
        answers={
            "winner_words": {"Linke Liste": "left", "Rechte Liste": "right", "Beide gleich": "tie"}
        },
    ),
    "MTurk": Case(
        "batch.csv",
        csv(
            as_words("left", "right", "same"),
            "Input.left,Input.right,Answer.choice",
            HITId=[f"3X{i}" for i in N],
            WorkerId=[f"A{i % 5}" for i in N],
        ),
    ),
    "MTurk, a column for each position": Case(
        "batch.csv",
        by_position(
            ["Input.left_{}", "Input.right_{}"],
            as_words("left", "right", "equal"),
            header="Answer.better",
        ),
    ),
    "MTurk, two questions": Case(
        "batch.csv",
        csv(as_words("left", "right", "same"), "a,b,Answer.better", clearer=["left"] * len(WINNER)),
        answers={"columns": {"winner": "Answer.better"}},
        proposed="winner=?",
    ),
    "SurveyMonkey": Case(
        "survey.csv",
        csv(
            as_words("Set A is better", "Set B is better", "They are equally good"),
            "Set A,Set B,Please choose",
            Respondent=[11800 + i for i in N],
        ),
        answers={
            "winner_words": {
                "Set A is better": "a",
                "Set B is better": "b",
                "They are equally good": "tie",
            }
        },
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
    ),
    **{
        f"no winner but {name}": Case(
            "x.csv",
            csv(values, f"a,b,{name}"),
            answers={"columns": {"winner": name}},
            ends="refused",
            proposed="--columns 'winner=?'",
        )
        for name, values in {
            "interface": ["grid", "list"] * 12,
            "seconds": [200 + 7 * i for i in N],
            "remark": [f"I liked {i}" for i in N],
        }.items()
    },
    "phrases that hold a side and mean none": Case(
        "x.csv",
        csv(as_words("A is better", "B is better", "It is a toss-up")),
        answers={"winner_words": {"It is a toss-up": "tie"}},
        proposed="It is a toss-up=?",
    ),
    # sliders, scales and probabilities
    "Qualtrics, three lines of header": Case(
        "q.csv", QUALTRICS + csv(SCORE).partition("\n")[2], ends="refused"
    ),
    "Qualtrics, slider": Case(
        "q.csv", csv(SCORE, "a,b,Q1_1"), answers=POSITIVE_A, proposed="--columns winner=Q1_1"
    ),
    "slider around 0": Case(
        "q.csv", csv([s - 50 for s in SCORE]), answers=POSITIVE_A, proposed="--positive '?'"
    ),
    "slider from 0 to 20": Case(
        "q.csv",
        csv([10 + round(3 * s) for s in SIGNED]),
        answers={**POSITIVE_A, "middle": 10},
        proposed="--middle",
    ),
    "probability, JSON": Case(
        "judge.jsonl",
        objects([s / 100 for s in SCORE], winner="p_a"),
        answers={**POSITIVE_A, "columns": {"winner": "p_a"}},
        proposed="winner=p_a",
    ),
    "Likert from 1 to 5": Case("x.csv", csv([3 - s for s in SIGNED]), answers={"positive": "b"}),
    "Likert from 1 to 7, ends unused": Case(
        "x.csv",
        csv([4 + s for s in SIGNED]),
        answers={**POSITIVE_A, "middle": 4},
        proposed="--middle '?'",
    ),
    "Likert from -2 to 2": Case("x.csv", csv(SIGNED), answers=POSITIVE_A),
    "codes": Case(
        "x.csv",
        csv(as_words(1, 2, 0)),
        answers={"winner_words": {"1": "a", "2": "b", "0": "tie"}},
        proposed="1=?",
    ),
    # names of systems
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
        answers={"winner_words": {"undecided": "tie"}},
        proposed="'undecided=?'",
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
        ("--columns", "system_a=one,system_b=other"),
    ),
    "lists in columns of systems": Case(
        "x.csv",
        by_position(["prod {}", "new {}"], as_words("prod", "new", "tie")),
        answers={"columns": {"a": "prod {}", "b": "new {}"}},
        proposed="'a=?,b=?'",
    ),
    "winners that are names of columns": Case(
        "x.csv",
        csv(as_words("Left_List", "Right_List", "Even"), "Left_List,Right_List,Preferred list"),
        answers={"winner_words": {"Even": "tie"}},
        proposed="--winner-words 'Even=?'",
    ),
    "list1 and list2": Case(
        "x.csv",
        csv(as_words(1, 2, "Tie"), "list1,list2,winner"),
        answers={"winner_words": {"1": "a", "2": "b"}},
        proposed="--columns a=list1,b=list2",
    ),
    # order of presentation
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
        ("--columns", "swapped=position_of_a"),
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
    ),
    # spreadsheets in other languages
    "German sheet": Case(
        "blatt.csv",
        by_position(
            ["Links {}", "Rechts {}"], as_words("Links", "Rechts", "Gleich"), ";", "Urteil", Nr=N
        ),
        answers={"winner_words": SIDES},
        proposed="a=Links {},b=Rechts {},winner=Urteil",
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
        answers={"winner_words": SIDES},
    ),
    "German workbook": Case(
        "blatt.xlsx",
        workbook(
            by_position(
                ["Links {}", "Rechts {}"], as_words("Links", "Rechts", "Gleich"), header="Urteil"
            )
        ),
        answers={"winner_words": SIDES},
    ),
    "French sheet, Windows-1252": Case(
        "feuille.csv",
        by_position(
            ["Gauche {}", "Droite {}"], as_words("À gauche", "À droite", "Égal"), ";", "Préférence"
        ).encode("cp1252"),
        answers={"winner_words": {"À gauche": "left", "À droite": "right", "Égal": "tie"}},
        proposed="--encoding cp1252",
    ),
    "German Unicode text": Case(
        "blatt.txt",
        by_position(["Links {}", "Rechts {}"], as_words("a", "b", "tie"), "\t", "Für wen?").encode(
            "utf-16"
        ),
        proposed="--encoding utf-16",
    ),
    # grades
    "names of grades": Case(
        "x.csv", csv(WINNER, lists=(named(A), named(B))), proposed="--scale Bad,Fair,Good"
    ),
    "other names of grades": Case(
        "x.csv",
        csv(
            WINNER, lists=[[[("no", "ok", "yes")[g] for g in x] for x in lists] for lists in (A, B)]
        ),
        ends="refused",
    ),
    "grades of 0, 50 and 100": Case("x.csv", csv(WINNER, lists=multiplied(50))),
    "grades as fractions": Case("x.csv", csv(WINNER, lists=multiplied(0.3))),
    "1 is the best grade": Case(
        "x.csv", csv(WINNER, lists=(turned(A, 3), turned(B, 3))), proposed="--best-grade 1"
    ),
    "names of documents": Case(
        "x.csv", csv(WINNER, lists=([["d1", "d2"]] * 24, [["d2", "d3"]] * 24)), ends="refused"
    ),
    # what was given before
    "options are kept": Case(
        "my log.csv",
        csv(as_words("x", "y", "z")),
        ("--pad", "--depth", "3", "-o", "mine.jsonl", "--force", "--winner-words", "x=a"),
        {"winner_words": {"y": "b", "z": "tie"}},
        proposed="convert 'my log.csv' --depth 3 --pad "
        "--winner-words 'x=a,y=?,z=?' --force -o mine.jsonl",
    ),
    "winners exchanged, words told": Case(
        "x.csv",
        csv(as_words("x", "y", "z")),
        ("--winner-words", "x=b,y=a,z=tie"),
        proposed="--winner-words",
    ),
    "numbers, wrong side told": Case(
        "x.csv", csv(SIGNED), ("--positive", "b"), proposed="--positive a"
    ),
    "a column that is not there": Case(
        "x.csv", csv(WINNER, "a,b,said"), ("--columns", "winner=Said it"), ends="refused"
    ),
    "pairs taken for ratings": Case(
        "x.csv", csv(WINNER), ("--ratings",), proposed="convert x.csv -o log.jsonl"
    ),
    "strengths in words": Case(
        "x.csv",
        csv(WINNER, strength=["much" if c == 2 else "slightly" for c in CLEAR]),
        answers={"winner_words": {"much": ":2", "slightly": ":1"}},
        proposed="'much=:?,slightly=:?'" if CLEAR[0] == 2 else "'slightly=:?,much=:?'",
    ),
    "orders in other words": Case(
        "x.csv", csv(WINNER, display_order=["new first"] * 24), ends="refused"
    ),
    "shown_left as a number": Case(
        "x.csv", csv(ON_SCREEN, shown_left=[int(s) for s in IS_SWAPPED]), ends="refused"
    ),
}


def arguments_of(options):
    """Return the options of ``convert`` that say what options of `read_preferences` say."""
    mapping = options.get("mapping")
    options = {**options, **({} if mapping is None else {"columns": mapping.columns})}
    names = {"n_grades": "grades"}
    words = []
    for name, value in options.items():
        if name != "mapping":
            text = (
                ",".join(f"{x}={y}" for x, y in value.items()) if isinstance(value, dict) else value
            )
            words += [
                f"--{names.get(name, name).replace('_', '-')}",
                ",".join(text) if isinstance(text, list) else text,
            ]
    return [str(word) for word in words]


TOLD = {
    "Links": "a",
    "Rechts": "b",
    "Gleich": "tie",
    "Left is better": "a",
    "Right wins": "b",
    "much": ":3",
    "slightly": ":1",
}
"""What the words of the shapes that are not explained mean."""

CODES = {
    "1 and 2, 0 a tie": {"1": "a", "2": "b", "0": "tie"},
    "1, 2 and 0, not explained": {"1": "a", "2": "b", "0": "tie"},
    "1, 2 and 0, order AB or BA": {"1": "left", "2": "right", "0": "tie"},
    "0, 1 and 2, 0 is left": {"0": "a", "2": "b", "1": "tie"},
    "0, 1 and 2 in JSON, not explained": {"0": "a", "2": "b", "1": "tie"},
    "1, 2 and 3, 3 a tie": {"1": "a", "2": "b", "3": "tie"},
    "1, 2 and 3, not explained": {"1": "a", "2": "b", "3": "tie"},
    "winners as fractions": {"1": "a", "2": "b", "0": "tie"},
    "winners as fractions, in a data frame": {"1": "a", "2": "b", "0": "tie"},
}
"""What the codes of a shape mean, by its name."""

POSITIVE = {
    "probabilities, not explained": "a",
    "-3 to 3, no side told": "a",
    "1 to 7, not explained": "a",
}
"""The side that larger numbers prefer, by the name of a shape that does not tell it."""

UNTOLD = ("winner_words", "positive", "middle", "mapping", "encoding", "scale")
"""Options without which a shape is refused, if it needs them."""


@pytest.mark.parametrize("told", [True, False], ids=["with its options", "without its options"])
@pytest.mark.parametrize("name", SHAPES)
def test_what_is_proposed_for_a_shape_reads_it_or_is_refused_in_words(dcglearn, here, name, told):
    shape = SHAPES[name]
    if shape.name.endswith(".xlsx") and not any(map(find_spec, ENGINES.values())):
        pytest.skip("workbooks are read where openpyxl or fastexcel is installed")
    if isinstance(shape.content, pl.DataFrame):
        shape.content.write_parquet(shape.name)
    else:
        write(here, shape.name, shape.content)
    options = shape.options if told else {x: y for x, y in shape.options.items() if x not in UNTOLD}
    own = OwnWords.of(shape.options.get("winner_words"))
    answers = {
        "winner_words": TOLD | CODES.get(name, {}) | own.meanings(),
        "positive": shape.options.get("positive", POSITIVE.get(name, "?")),
        "middle": shape.options.get("middle", "?"),
    }
    if shape.options.get("mapping") is not None:
        answers["columns"] = shape.options["mapping"].columns
    given = ["convert", shape.name, *arguments_of(options), "-o", "read.jsonl"]
    lines, refusal = pasted(dcglearn, given, answers, set())
    if refusal is None and lines:
        log = dl.read_preferences("read.jsonl", as_is=True)
        expected = truth()
        if name == "grades from 0 to 100":
            expected = expected.changed(
                preferred=np.array([[4, 3, 0], *expected.preferred[1:].tolist()])
            )
        assert judgements(log, ()) == judgements(expected, ()), lines


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


def options_of(line):
    """Return the options of a command line with their values, and its other words."""
    words = shlex.split(line)
    places = [i for i, word in enumerate(words) if word.startswith("-")]
    return {
        words[i]: words[i + 1] if i + 1 < len(words) and i + 1 not in places else "" for i in places
    }


def answered(line, answers):
    """Return a line with the user's answers in place of its question marks, None where there are
    none.
    """
    words = shlex.split(line)
    for i, word in enumerate(words[:-1]):
        role = word.removeprefix("--").replace("-", "_")
        value = words[i + 1]
        if word == "--columns" and "=?" in value:
            of_roles = dict(pair.split("=", 1) for pair in value.split(","))
            of_roles |= {
                name: answers.get(role, {}).get(name, "?")
                for name, to in of_roles.items()
                if to == "?"
            }
            words[i + 1] = ",".join(f"{name}={to}" for name, to in of_roles.items())
        elif word == "--winner-words" and "?" in value:
            meanings = OwnWords.of(value.replace(":?", ":99").replace("=?", "=open"))
            told = {name.lower(): to for name, to in answers.get(role, {}).items()}
            own = {
                name: told.get(name, "?" if to in ("open", ":99") else to)
                for name, to in meanings.meanings().items()
            }
            words[i + 1] = ",".join(f"{name}={to}" for name, to in own.items())
        elif value == "?":
            words[i + 1] = str(answers.get(role, "?"))
    unanswered = any("?" in words[i + 1] for i, word in enumerate(words) if word in QUESTIONS)
    return None if unanswered else words


QUESTIONS = ("--winner-words", "--positive", "--middle", "--sides")
PLACEHOLDERS = ("=?", " '?'", "=:?")


def pasted(dcglearn, line, answers, kept):
    """Run a command, then what its refusals propose, until one reads the log; return the lines and
    the last words.
    """
    words, lines = line, []
    while True:
        status, _, err = dcglearn(*words)
        if status == 0:
            return lines, None
        assert status == 2, err
        proposal = err.partition("; so: dcglearn ")[2].strip()
        if not proposal:
            return lines, err
        assert proposal not in lines, f"a circle: {proposal}"
        assert kept <= options_of(proposal).items(), "what was given before is lost"
        lines.append(proposal)
        words = shlex.split(proposal)
        if any(placeholder in proposal for placeholder in PLACEHOLDERS):
            status, _, err = dcglearn(*words)
            assert status == 2 and "; so: " not in err, (
                f"a question that is not answered is no option: {proposal}"
            )
            words = answered(proposal, answers)
            if words is None:
                return lines, err


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_a_tool_is_read_by_what_is_proposed(dcglearn, here, name):
    case = CASES[name]
    if case.name.endswith(".xlsx") and not any(map(find_spec, ENGINES.values())):
        pytest.skip("workbooks are read where openpyxl or fastexcel is installed")
    if isinstance(case.content, pl.DataFrame):
        case.content.write_parquet(case.name)
    else:
        write(here, case.name, case.content)
    given = ["convert", case.name, *case.arguments]
    changed = ("--winner-words", "--columns", "--positive", "--ratings")
    kept = {option for option in options_of(shlex.join(given)).items() if option[0] not in changed}
    lines, refusal = pasted(
        dcglearn, given if "-o" in given else [*given, "-o", "log.jsonl"], case.answers, kept
    )
    assert case.proposed is None or case.proposed in " ".join(lines), lines
    assert (refusal is None) == (case.ends == "read"), (lines, refusal)
    if refusal is None:
        log = dl.read_preferences("mine.jsonl" if "mine.jsonl" in given else "log.jsonl")
        assert judgements(log, ()) == judgements(judged(), ()), lines


def test_other_commands_propose_to_convert_with_their_own_options_of_reading(dcglearn, here):
    write(here, "my log.csv", csv(as_words("x", "y", "tie"), rater=["r"] * 24))
    write(here, "log.jsonl", "")
    told = "--grades 4 --as-is --winner-words 'x=?,y=?' -o converted.jsonl"
    line = f"; so: dcglearn convert 'my log.csv' {told}\n"
    options = ("--grades", 4, "--as-is")
    for command in (
        ("learn", "my log.csv", "-o", "dcg.json"),
        ("audit", "my log.csv"),
        ("ask", "--log", "my log.csv"),
    ):
        status, _, err = dcglearn(*command, *options)
        assert status == 2 and err.endswith(line), err
    words = shlex.split(line.partition("dcglearn ")[2].replace("x=?,y=?", "x=a,y=b"))
    assert dcglearn(*words)[0] == 0
    assert judgements(dl.read_preferences("converted.jsonl"), ()) == judgements(judged(), ())


def test_a_rated_list_in_numbered_columns_is_proposed(dcglearn, here):
    rows = [";".join(map(str, [*grades, sum(grades)])) for grades in A]
    write(here, "x.csv", "\n".join(["Note 1;Note 2;Note 3;Zufriedenheit", *rows]))
    lines, refusal = pasted(
        dcglearn, ["convert", "x.csv", "--ratings", "-o", "log.jsonl"], {}, {("--ratings", "")}
    )
    assert refusal is None and lines == [
        "convert x.csv --ratings --columns 'list=Note {},rating=Zufriedenheit' -o log.jsonl"
    ]
    log, expected = (
        dl.read_preferences("log.jsonl"),
        dl.read_ratings([(grades, sum(grades)) for grades in A]),
    )
    assert sorted(pairs_of(log)) == sorted(pairs_of(expected))


def test_a_rating_that_is_no_number_is_not_proposed():
    rated = [{"list": grades, "age": "young"} for grades in A]
    said = refused("no 'rating'", dl.read_ratings, rated)
    assert said.endswith("; so: dl.read_ratings(log, columns={'rating': '?'})")
    said = refused("no 'rating'", dl.read_ratings, [{**line, "stars": 4} for line in rated])
    assert said.endswith("; so: dl.read_ratings(log, columns={'rating': 'stars'})")


def test_the_usual_scale_is_proposed_if_no_other_name_occurs():
    for best, end in (
        ("Fair", "; so: dl.read_preferences(log, scale=['Bad', 'Fair', 'Good'])"),
        (
            "Superb",
            "put these in order: scale= (--scale bad,good,superb) (see docs/reference/"
            "errors.md#grades)",
        ),
    ):
        lines = [
            {"a": ["Good", "Bad", None], "b": ["Bad", "Good", "u"], "winner": "a"},
            {"a": [best], "b": ["Bad"], "winner": "a"},
        ]
        assert refused("a holds the grade name", dl.read_preferences, lines).endswith(end)


def test_in_python_the_proposal_is_the_whole_call(here):
    write(
        here,
        "x.csv",
        csv(as_words("List A", "List B", "Same"), "Results A,Results B,Verdict", note=["n"] * 24),
    )
    said = refused("Results A", dl.read_preferences, "x.csv", pad=True)
    call = said.partition("; so: ")[2]
    columns = {"a": "Results A", "b": "Results B"}
    assert call == f"dl.read_preferences('x.csv', pad=True, columns={columns})"
    call = refused("winner is 'List A'", eval, call, {"dl": dl}).partition("; so: ")[2]
    assert call.endswith(f"columns={columns}, winner_words={{'List A': 'a', 'List B': 'b'}})")
    assert judgements(eval(call), ()) == judgements(judged(), ())
    rated = [{"list": grades, "rating": i} for i, grades in enumerate(A)]
    assert refused("rated lists", dl.read_preferences, rated).endswith("; so: dl.read_ratings(log)")


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
def test_the_middle_of_a_scale_is_proposed_where_it_is_sure(numbers, middle):
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
