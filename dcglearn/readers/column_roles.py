"""Roles of a log's columns, and how columns are recognised by their names."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import Fields, InputError, listed
from dcglearn.logs.columns import COLUMNS

ColumnsByRole: TypeAlias = dict[str, str | tuple[str, ...]]
Table: TypeAlias = Fields
Record: TypeAlias = Fields
"""The cells or the values of a line by role, or an object by key."""


@dataclass(frozen=True)
class Role:
    """The meaning of a column: kind of its values, accepted names, and whether lines may lack it.

    `kind` is one of grades, grade, winner, label, name (a label of any length), identity, number,
    positive, share (0 to 1), score (a number, or infinite), side, place, documents, counts, status,
    scale; a `uniform` column has a value on every line or on none. `marks` are the words that name
    the columns of a list with a column for each position. Logs in parts read only columns that are
    `learned` or required. Lists may be empty where this is `may_be_empty`. A line that lacks an
    optional number has `missing`.
    """

    kind: str
    names: tuple[str, ...]
    required: bool = False
    uniform: bool = False
    marks: tuple[str, ...] = ()
    learned: bool = False
    may_be_empty: bool = False
    missing: Any = 1.0


Roles: TypeAlias = Mapping[str, Role]


def named_role(kind: str, names: str, marks: str | None = None, **about: bool) -> Role:
    """Return a role whose names, and marks, a text separates by commas."""
    return Role(
        kind, tuple(names_in(names)), marks=() if marks is None else tuple(names_in(marks)), **about
    )


def _roles_of_columns() -> Iterator[tuple[str, Role]]:
    """Yield the roles of the columns that files have for a pair beside its lists and its winner."""
    for name, column in COLUMNS.items():
        about = {key: getattr(column, key) for key in ("uniform", "learned", "missing")}
        for side in ("_a", "_b") if column.kind == "documents" else ("",):
            names = tuple(f"{word}{side}" for word in column.names)
            if names:
                yield f"{name}{side}", Role(column.kind, names, **about)


PREFERENCE = {
    "a": named_role("grades", "a,left,list_a,grades_a", required=True, marks="a,left,l"),
    "b": named_role("grades", "b,right,list_b,grades_b", required=True, marks="b,right,r"),
    "winner": named_role(
        "winner", "winner,preferred,preference,label,choice,verdict", required=True
    ),
    "supersedes": named_role("identity", "supersedes"),
    **dict(_roles_of_columns()),
    "ratings_a": named_role("counts", "ratings_a", uniform=True),
    "ratings_b": named_role("counts", "ratings_b", uniform=True),
    "scale": named_role("scale", "scale", learned=True),
}
"""The columns of a log of preferences."""

OUTCOMES = {
    "winner_a": named_role("label", "winner_model_a,winner_a", required=True),
    "winner_b": named_role("label", "winner_model_b,winner_b", required=True),
    "winner_tie": named_role("label", "winner_tie,winner_model_tie"),
}
"""The columns that stand for `winner` where each outcome has one, which holds 0 or 1."""

VOTES = {
    f"votes_{side}": Role(
        "number", (f"votes_{side}", f"{side}_votes", f"n_{side}"), required=side != "tie"
    )
    for side in ("a", "b", "tie")
}
"""The columns that stand for `winner` where each line counts how many people gave each verdict."""

PROBABILITY = {
    "probability": named_role("number", "probability,prob_a,probability_a", required=True)
}
"""The column that stands for `winner` where each line has the probability of a preference for a."""

LOGPROBS = {
    "logprob_a": named_role("number", "logprob_a,logprob,log_probability", required=True),
    "logprob_b": named_role("number", "logprob_b"),
}
"""The same as logarithms, for a model's two answers; probability left for others does not count."""

RATING = {
    "list": named_role("grades", "list,grades,results", required=True, marks=""),
    "rating": named_role("number", "rating,satisfaction,score", required=True),
    "group": named_role("label", "group,user,session,rater", uniform=True),
    "segment": named_role("label", "segment"),
    "weight": named_role("positive", "weight,count"),
    "status": PREFERENCE["status"],
}
"""The columns of a log of ratings."""

ANSWER = {
    "question": named_role("label", "question,question_id,query,query_id,qid", required=True),
    "list": replace(RATING["list"], may_be_empty=True),
    "right": named_role("share", "right,correct,score,outcome", required=True),
    "configuration": named_role("label", "configuration,config,system,retriever"),
}
"""The columns of a log of answers."""

SYSTEMS = {name: Role("label", (), required=True) for name in ("system_a", "system_b")}
"""The columns that name the systems whose lists were compared, where winners are such names."""

LONG = {
    "side": named_role("label", "side,list,panel,which,system", required=True),
    "pair": named_role("label", "pair,pair_id,task,task_id,comparison,comparison_id,judgement_id"),
    "list": named_role(
        "label", "list_id,query,query_id,qid,impression,impression_id", required=True
    ),
    "position": named_role("label", "position,pos,rank", required=True),
    "grade": named_role("grade", "grade,relevance,rel,relevance_grade", required=True),
}
"""The columns of tables with a row for each document; pairs have `side` and `pair`."""


NAMED = {**SYSTEMS, **LONG, **ANSWER, **PREFERENCE, **OUTCOMES, **VOTES}
NAMED |= {**PROBABILITY, **LOGPROBS, **RATING}
"""The columns that a log may name in its own way."""

MAX_LABEL = 200
"""Longest query or rater label: numpy keeps every label as wide as the longest."""

SWAPPED = dict.fromkeys(("false", "no", "0", "a", "ab", "a b", "a,b", "a-b", "a/b", "a first"), 0)
SWAPPED |= dict.fromkeys(("true", "yes", "1", "b", "ba", "b a", "b,a", "b-a", "b/a", "b first"), 1)
"""Words for whether b was shown first, in lower case; a and b name the list shown first."""

PLACES = dict.fromkeys(("left", "first", "top", "1", "true", "yes"), 0)
PLACES |= dict.fromkeys(("right", "second", "bottom", "2", "false", "no", "0"), 1)
"""Words for the place at which a was shown, in lower case, with 1 where b was shown first."""

FILLERS = {"list", "side", "system", "ranking", "grade", "grades", "rel", "relevance"}
FILLERS |= {"judgement", "judgment", "result", "results", "item", "rank", "pos", "position", "at"}
"""Words that may stand beside a side's word and the number in the name of a position's column."""


def refuse_columns(n: int, most: int = 20_000) -> None:
    """Raise InputError for too many columns of a log, or keys of an object."""
    if n > most:
        raise InputError(
            f"{n:,} columns, and at most {most:,} are read; drop those that are no use"
        )


def by_role(names: Sequence[str], roles: Roles, *, of_objects: bool = False) -> ColumnsByRole:
    """Return the column of each role, or the columns of its positions.

    Raise InputError if a required one is missing, or one is there twice. The names may be keys of
    objects.
    """
    refuse_columns(len(names))
    columns: ColumnsByRole = {}
    missing = []
    for role, about in roles.items():
        matches = [name for name in names if name.lower() in about.names]
        if len(matches) > 1 and about.kind != "status":
            raise InputError(
                f"{' and '.join(matches)} both give the {role!r} of a line; "
                "rename or drop one of them"
            )

        # one column, or one for each position
        cells = wide_columns(names, about.marks) if about.marks and not matches else ()
        if matches or cells:
            columns[role] = matches[0] if matches else cells
        elif about.required:
            missing.append(role)

    # a column of two lists, whose ranges overlap
    of_lists = [cells for cells in columns.values() if not isinstance(cells, str)]
    for name, n in Counter(chain.from_iterable(of_lists)).items():
        if n > 1:
            raise InputError(f"the column {name!r} is in two lists; correct the columns= of one")

    # those that are missing
    if not missing:
        return columns
    hint = _hint(names, roles, missing, of_objects=of_objects)
    accepted = {role: ", ".join(roles[role].names) for role in missing}
    lacks = ", ".join(f"no {role!r} (accepted names: {them})" for role, them in accepted.items())
    raise InputError(f"{lacks}; found {listed(names) or '-'}{hint}", see="columns")


def used_columns(columns: ColumnsByRole) -> list[str]:
    """Return the names of all columns with a role."""
    return [
        name
        for names in columns.values()
        for name in ([names] if isinstance(names, str) else names)
    ]


def first_names(names: Sequence[str], roles: Roles) -> dict[str, Role]:
    """Return roles that accept only the first of their names that a table has, if it has any."""
    lower = {name.strip().lower() for name in names}
    firsts = {}
    for role, about in roles.items():
        present = tuple(name for name in about.names if name in lower)
        firsts[role] = replace(about, names=present[:1] or about.names)
    return firsts


def recognised(names: Sequence[str], roles: Roles) -> bool:
    """Return whether every required role has its column."""
    try:
        return bool(by_role(names, roles))
    except InputError:
        return False


def _hint(names: Sequence[str], roles: Roles, missing: Sequence[str], *, of_objects: bool) -> str:
    """Return what a table that lacks columns may be instead, or the option that names them."""
    lower = {name.lower() for name in names}

    def has(kind: Roles) -> bool:
        return all(
            lower & set(role.names) or wide_columns(names, role.marks)
            for role in kind.values()
            if role.required
        )

    # a log of another kind
    if "a" in roles and has(RATING):
        return "; these are rated lists: read them with dl.read_ratings (--ratings)"
    if "rating" in roles and has(PREFERENCE):
        return "; these are pairs with a winner: leave --ratings out (dl.read_preferences)"
    if ("a" in roles or "rating" in roles) and has(ANSWER):
        return "; these are answers: dcglearn learn-answers (dl.io.read_answers)"
    if "custom_id" in lower and "custom_id" not in roles:
        return "; answers of a model are read with the prompts (--prompts)"

    # too few names: another separator, a title above them, or an object around all lines
    if len(names) < len(missing) and not any(lower & set(role.names) for role in roles.values()):
        if of_objects:
            inside = f"; give what {names[0]!r} holds" if names else ""
            return f"{inside}; one object a line, or an array of them, has the keys"
        header = (
            "if a title stands above the names, say in which line they are: header= (--header 2)"
        )
        if len(names) == 1:
            return f"; separate the columns by commas, semicolons or tabs or, {header}"
        return f"; {header}"

    # a title above the names, or names in two lines, the first of merged cells
    if {"a", "b", "list"} & {*missing} and "" in names:
        blank = list(names).index("")
        if blank == 1 or any(names[blank:]):
            where = "header= (--header) says in which line the names are, 2 below a title, or 1-2"
            return f"; some columns have no name: {where} if they take two lines"

    # columns under names of their own
    named = ",".join(f"{role}=NAME" for role in missing)
    return f"; columns= (--columns {named}) tells what they are called"


def wide_columns(names: Sequence[str], marks: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of one list in order of position, empty if there are none.

    Names consist of one of the `marks`, one number, and words of `FILLERS`, in any order, joined in
    any way: ``left_1``, ``a1``, ``Left grade 1``, ``grade_a_01``, ``right[3]``. The mark "" stands
    for no word beside fillers; ``first..last`` for the columns from one to another. Raises
    InputError if positions do not count from 0 or 1 without a gap, one occurs twice, or names
    differ in pattern.
    """
    if is_range(marks):
        lower = [name.strip().lower() for name in names]
        first, last = (end.strip() for end in marks[0].split(".."))
        ends = [lower.index(end) for end in (first, last) if end in lower]
        within = tuple(names[ends[0] : ends[1] + 1]) if len(ends) == 2 else ()
        for name in within:
            if within.count(name) > 1:
                raise InputError(f"{name!r} is the name of two columns of {marks[0]}; rename one")
        return within

    # the columns of each pattern by number
    patterns: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for name in names:
        position = position_of(name, marks)
        if position:
            pattern, number = position
            patterns.setdefault(pattern, {}).setdefault(number, []).append(name)
    if not patterns:
        return ()

    # one pattern is meant
    if len(patterns) > 1:
        shown = " and ".join(next(iter(numbers.values()))[0] for numbers in patterns.values())
        raise InputError(
            f"{shown} both look like positions of one list; rename or drop one set of columns"
        )

    # each number once
    (numbers,) = patterns.values()
    order = sorted(numbers)
    for number in order:
        if len(numbers[number]) > 1:
            raise InputError(f"{' and '.join(numbers[number])} give one position twice; keep one")

    # positions from 0 or 1
    columns = tuple(numbers[number][0] for number in order)
    for number in range(min(order[0], 1), order[-1]):
        if number not in numbers:
            raise InputError(
                f"position {number} is missing among the columns {', '.join(columns)}; "
                "add it, or drop those beyond it"
            )
    return columns


def is_range(marks: Sequence[str]) -> bool:
    """Return whether marks name the first and the last column of a list, as in 1..10."""
    return len(marks) == 1 and marks[0].count("..") == 1


def position_of(name: str, marks: Sequence[str]) -> tuple[tuple[str, ...], int] | None:
    """Return the words and the number in the name of a position's column, else None.

    In a mark, ``{}`` stands for the number; spaces and underscores are alike.
    """
    if "{}" in "".join(marks):
        mark, plain = (re.sub(r"[\s_]+", " ", text) for text in (marks[0], name.lower()))
        before, _, after = mark.partition("{}")
        match = re.fullmatch(rf"{re.escape(before)}([0-9]{{1,3}}){re.escape(after)}", plain)
        return match and ((marks[0],), int(match[1]))

    # one number, one mark, and words beside them
    tokens = re.findall(r"[^\W\d_]+|[0-9]+", name.lower())
    numbers = [token for token in tokens if token.isdecimal()]
    words = tuple(token for token in tokens if not token.isdecimal())
    if len(numbers) != 1 or len(numbers[0]) > 3 or not words:
        return None
    others = [word for word in words if word not in marks]
    whole = len(others) == len(words) - ("" not in marks)
    return (words, int(numbers[0])) if whole and FILLERS.issuperset(others) else None


SIDES = {"a": "a", "b": "b"}
SIDES |= dict.fromkeys(("left", "l", "first", "links", "linke", "gauche", "1"), "left")
SIDES |= dict.fromkeys(("right", "r", "second", "rechts", "rechte", "droite", "2"), "right")
"""The sides that words in the name of a column stand for, in lower case."""


def words_of(name: str) -> list[str]:
    """Return the words and numbers in the name of a column, such as AnswerLeft_1, in lower case."""
    return re.findall(r"[^\W\d_]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def side_of(name: str) -> str | None:
    """Return a or b, the list of which a column's name speaks, None for no side or both."""
    sides = {SIDES[word] in ("b", "right") for word in words_of(name) if word in SIDES}
    if len(sides) != 1:
        return None
    return "b" if sides.pop() else "a"


def as_list(values: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return a list's values up to the last that is not blank; raise InputError for gaps.

    A text such as NA is not blank, but an unknown grade.
    """
    cells = list(values)
    while cells and cells[-1] is None:
        cells.pop()
    if None in cells:
        raise InputError(
            f"{names[cells.index(None)]} is blank and {names[len(cells) - 1]} is not; "
            "write -1 where a grade is unknown"
        )
    return cells
