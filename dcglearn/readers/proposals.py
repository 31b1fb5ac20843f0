"""Proposals of a refusal: options that would read a log, columns found in it, and a call."""

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dcglearn.foundation.inputs import Paths, is_path
from dcglearn.foundation.validation import Fields, InputError, is_frame, is_records
from dcglearn.readers.cell_values import NUMBER, value_of
from dcglearn.readers.column_roles import SIDES, Role, Roles, recognised, side_of, words_of
from dcglearn.readers.line_formats import Opener
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import WINNERS, middle_of, word_of

Values = dict[str, list[Any]]


@contextlib.contextmanager
def proposing(function: str, log: Any, mapping: LogMapping, **given: Any) -> Iterator[None]:
    """Add to the refusal of a log the call of a function that would read it, with all options."""
    try:
        yield
    except InputError as error:
        # words and columns beside the given ones
        cure = error.cure
        if "winner_words" in cure:
            told = {word.lower() for word in cure["winner_words"]}
            own = mapping.own_words.meanings().items()
            others = {word: meaning for word, meaning in own if word not in told}
            cure["winner_words"] = others | cure["winner_words"]
        if "columns" in cure:
            cure["columns"] = {**mapping.columns, **cure["columns"]}

        # the call
        if cure and (is_path(log) or is_frame(log) or is_records(log)):
            error.log = _plain(log) if is_path(log) and function != "read_questions" else None
            options = {**mapping.given, **given, **cure}
            error.proposal = _call(function, _written("log", log), options)
        raise


def _call(function: str, log: str, options: Fields) -> str:
    """Return the call of a reader in Python; none where a log is read on the command line alone."""
    options = {name: value for name, value in options.items() if value is not None}
    if "prompts" in options or (function == "read_questions" and "skip_bad" in options):
        return ""

    # another function, in its own options
    if "ratings" in options:
        function = "read_ratings" if options.pop("ratings") else "read_preferences"
    if "qrels" in options:
        options["judgements"] = options.pop("qrels")
        function = function if function.startswith("io.") else "io.join_judgements"
    if function == "io.join_judgements" and "best_grade" in options:
        return ""
    arguments = [log, *(f"{name}={_written(name, value)}" for name, value in options.items())]
    return f"dl.{function}({', '.join(arguments)})"


def _plain(paths: Paths) -> str | list[str]:
    """Return a path, or each of several, as text."""
    return str(paths) if isinstance(paths, str | os.PathLike) else [str(path) for path in paths]


def _written(name: str, value: Any) -> str:
    """Return an argument as a call has it; a log and judgements in memory by their names."""
    if is_path(value):
        return repr(_plain(value))
    return name if name in ("log", "judgements") else repr(value)


@contextlib.contextmanager
def finding_columns(open_with: Opener, roles: Roles, mapping: LogMapping) -> Iterator[None]:
    """Find the columns that a refusal asks for, unless one was told and is not there."""
    try:
        yield
    except InputError as error:
        wanted = error.cure.get("columns", {})
        own = {role: about for role, about in roles.items() if role in wanted}
        if wanted.keys() & mapping.columns.keys():
            error.cure = {}
        elif wanted and own.keys() == wanted.keys() and not recognised(open_with({}).names, own):
            # a line of another shape may lack columns without a role
            with contextlib.suppress(InputError):
                wanted |= _columns(open_with, mapping.roles(roles), wanted)
        else:
            error.cure.pop("columns", None)  # some lines lack what others have
        raise


def _columns(open_with: Opener, roles: Roles, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of the wanted roles that names and values tell for sure."""
    taken = {name for role, about in roles.items() if role not in wanted for name in about.names}
    values = _values(open_with, taken)
    columns: dict[str, str] = {}

    # lists: columns that end in numbers, or whose cells hold several grades
    in_cells = [name for name, cells in values.items() if cells and all(map(_is_list, cells))]
    patterns = _patterns(name for name in values if name not in in_cells)
    lists = [*patterns, *in_cells]
    if "list" in wanted and len(lists) == 1:
        columns["list"] = lists[0]
    for role in wanted.keys() & {"a", "b"}:
        of_side = [name for name in lists if side_of(name.replace("{}", "")) == role]
        if len(of_side) == 1:
            columns[role] = of_side[0]

    # the other column: the only one whose cells would be read
    others = set(wanted) - {"a", "b", "list"}
    if len(others) == 1:
        role = others.pop()
        used = {*in_cells, *(name for names in patterns.values() for name in names)}
        cells_of = {name: cells for name, cells in values.items() if name not in used and cells}
        left = [name for name, cells in cells_of.items() if _is_read(role, roles[role].kind, cells)]
        if roles[role].kind == "winner" and not left:
            left = [name for name, cells in cells_of.items() if _may_be_winners(cells)]
        if len(left) == 1:
            columns[role] = left[0]
    return columns


def _values(open_with: Opener, taken: set[str]) -> Values:
    """Return the values of the named columns without a role, by name, of the first lines."""
    names = [name for name in open_with({}).names if name and name.lower() not in taken]
    roles = {name: Role("label", (name.lower(),)) for name in names}
    values: Values = {name: [] for name in names}
    for record in open_with(roles).first_records():
        for name in names:
            if record.get(name) is not None:
                values[name].append(record[name])
    return values


def _patterns(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns whose names differ in their last number alone, by pattern.

    The numbers count from 0 or 1.
    """
    families: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)([0-9]{1,3})([^0-9]*)", name)
        if match:
            families.setdefault(f"{match[1]}{{}}{match[3]}", {})[int(match[2])] = name

    # those without a gap
    patterns = {}
    for pattern, columns in families.items():
        first, last = min(columns), max(columns)
        if first <= 1 and last > first and last - first == len(columns) - 1:
            patterns[pattern] = list(columns.values())
    return patterns


def _is_list(cell: Any) -> bool:
    grades = value_of(cell, "grades", texts=True)
    are_several = isinstance(grades, list) and len(grades) > 1
    return are_several and all(isinstance(grade, int | float) for grade in grades)


def _is_read(role: str, kind: str, cells: list[Any]) -> bool:
    """Return whether all cells are good ones of a kind."""
    from dcglearn.readers.kinds import KINDS  # they load polars
    from dcglearn.readers.raw_columns import RawColumn

    return not KINDS[kind](RawColumn(role, kind, cells, texts=True)).errors


def _may_be_winners(cells: list[Any]) -> bool:
    """Return whether cells hold words for sides, a few numbers, or numbers around a middle."""
    most_words = 7  # a column with more is hardly one of winners
    answers = [value_of(cell, "winner", texts=True) for cell in cells]
    words = {word_of(answer) for answer in answers}
    few = 2 <= len(words) <= most_words
    if all(map(NUMBER.fullmatch, words)):
        numbers = sorted(map(float, words))
        return few or middle_of(numbers) is not None
    named = SIDES.keys() | WINNERS.keys()
    return few and any(part in named for word in words for part in words_of(word))
