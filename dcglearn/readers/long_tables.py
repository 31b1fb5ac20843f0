"""Tables with a row for each document, such as ``query, side, position, grade, winner``: their rows
as judgements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import InputError
from dcglearn.logs.unique_rows import unique_rows
from dcglearn.readers.joined_files import Files
from dcglearn.readers.kept_lines import with_kept
from dcglearn.readers.line_formats import INTEGER, Opener, Source, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.named_winners import with_names
from dcglearn.readers.outcomes import Outcomes, Shares, outcome_roles, shared_roles
from dcglearn.readers.rebuilt import Rebuilt, replaced, taken, words_by_row
from dcglearn.readers.roles import LONG, Role, recognised
from dcglearn.readers.sides import with_order

if TYPE_CHECKING:
    from dcglearn.readers.cells import RawCells

SIDES = {"a": 0, "left": 0, "l": 0, "1": 0, "b": 1, "right": 1, "r": 1, "2": 1}
"""Words for the side of a document, in lower case, and its number."""

KEYS = ("pair", "query", "rater", "list", "group", "question", "configuration")
"""The roles that tell the rows of a judgement from those of others."""


def open_shaped(open_with: Opener, roles: Mapping[str, Role], mapping: LogMapping) -> Source:
    """Return the judgements in what `open_with` opens: its lines, rows of single documents, or
    columns of outcomes.
    """
    if isinstance(open_with, Files):
        # each file has a shape of its own, but a line may repeat one of another file
        of_file = replace(mapping, leave_out=None)
        return with_kept(open_with.joined(lambda one: open_shaped(one, roles, of_file)), mapping)
    roles = mapping.roles(roles)
    source = _opened(open_with, roles, mapping)
    source = with_order(source, lambda others: _opened(open_with, others, mapping))
    return with_kept(with_names(source, open_with, mapping), mapping)


def _opened(open_with: Opener, roles: Mapping[str, Role], mapping: LogMapping) -> Source:
    """Return the source as it is if it has the columns of the roles, else in the first shape that
    does.
    """
    source: Source | InputError
    try:
        source = open_with(roles)
        if not source.names or recognised(source.names, roles):
            return source
    except InputError as error:
        source = error

    # the shapes, by the columns that they require
    of_outcomes = [(Outcomes, table) for table in outcome_roles(roles)]
    of_shares = [(Shares, table) for table in shared_roles(roles)]
    for kind, table in ((LongTable, rows_of(roles)), *of_outcomes, *of_shares):
        others = mapping.roles(table)
        with contextlib.suppress(InputError):
            rows = open_with(others)
            if recognised(rows.names, others):
                return kind(rows, roles)
    if isinstance(source, InputError):
        raise source
    return source


def rows_of(roles: Mapping[str, Role]) -> dict[str, Role]:
    """Return the roles of the columns of a long table whose judgements have the given roles."""
    others = {
        role: about for role, about in roles.items() if about.kind not in ("grades", "identity")
    }
    of_answers = ("position", "grade") if "question" in roles else ("list", "position", "grade")
    keys = ("side", "pair", "position", "grade") if "a" in roles else of_answers
    return {**{key: LONG[key] for key in keys}, **others}


@dataclass(frozen=True)
class Documents:
    """The rows of a long table, each a document in a list of a judgement.

    `judgement`, `side` (-1 where it is unknown) and `position` say where a row belongs, shape (m,).
    There are `n` judgements of `n_sides` lists; the lists of a judgement are numbered one after
    another.
    """

    judgement: NDArray[np.intp]
    side: NDArray[np.intp]
    position: NDArray[np.intp]
    n: int
    n_sides: int

    @cached_property
    def in_list(self) -> NDArray[np.intp]:
        """The number of each row's list, shape (m,)."""
        return self.judgement * self.n_sides + self.side

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows of known lists, ordered by list and position."""
        order = np.lexsort([self.position, self.in_list])
        return order[self.side[order] >= 0]

    @cached_property
    def ends(self) -> NDArray[np.intp]:
        """Where each list ends in `order`, shape (n n_sides,)."""
        return np.cumsum(np.bincount(self.in_list[self.order], minlength=self.n * self.n_sides))

    def earlier(self) -> NDArray[np.intp]:
        """Return an earlier row with the same list and position, else -1, shape (m,)."""
        order = self.order
        again = (np.diff(self.in_list[order]) == 0) & (np.diff(self.position[order]) == 0)
        earlier = np.full(len(self.judgement), -1)
        earlier[order[1:][again]] = order[:-1][again]
        return earlier

    def gaps(self) -> Iterator[tuple[int, int, int]]:
        """Yield each list that lacks a position before its last, this position and the last."""
        position, in_list = self.position[self.order], self.in_list[self.order]
        sizes = np.diff(self.ends, prepend=0)
        lowest = int(self.position.min(initial=1))
        expected = lowest + np.arange(len(position)) - np.repeat(self.ends - sizes, sizes)

        # the first row of a list that stands further down than it would without a gap
        late = np.flatnonzero(position != expected)
        lists, first = np.unique(in_list[late], return_index=True)
        last = position[self.ends[lists] - 1]
        yield from zip(lists.tolist(), expected[late[first]].tolist(), last.tolist(), strict=True)


class LongTable(Rebuilt):
    """Judgements whose documents have a row each, joined by pair, query and rater (by list and
    group for ratings).

    Positions count from 0 if any row of the table has position 0, otherwise from 1. The values of a
    judgement, such as its winner, stand on one of its rows or on several.
    """

    def __init__(self, rows: Source, roles: Mapping[str, Role]) -> None:
        super().__init__(rows, roles)
        self.form = f"{rows.form}, a row for each document"
        self._keys = [role for role in rows.roles if role in KEYS]
        self._lists = [role for role in roles if role in ("a", "b", "list")]

    @cached_property
    def _items(self) -> list[tuple[Any, Any]]:
        return list(self._rows)

    def raw(self, item: tuple[int, Any]) -> bytes:
        """Return the rows of a judgement."""
        rows = np.flatnonzero(self._judgement == item[0]).tolist()
        return b"\n".join(self._rows.raw(self._items[row][1]) for row in rows)

    def rebuilt(self, rows: RawCells) -> tuple[RawCells, NDArray[np.intp]]:
        """Return the cells of the judgements, and the first row of each."""
        # the judgement, list and position of each row
        unread = dict(rows.errors)
        position = _positions(rows, unread)
        self._judgement, first = _judgements(rows, self._keys, unread)
        side, systems = np.zeros(rows.n, np.intp), None
        if "a" in self._lists:
            side, systems = _sides(rows, self._judgement, first)
        documents = Documents(self._judgement, side, position, len(first), len(self._lists))

        # values, each from the first row of a judgement that has one
        columns = _graded(rows, documents, self._lists)
        against = {"position": documents.earlier()}
        for role in [role for role in self.roles if role in rows.columns.keys() - {*self._lists}]:
            values, index = rows.distinct(role, self.roles[role].kind)
            has_value = np.array([value is not None for value in values], bool)[index]
            told = _first_where(has_value, self._judgement, len(first))
            columns[role] = taken(rows.columns[role], told)

            # rows that tell another one
            code, told_here = _codes(values)[index], told[self._judgement]
            against[role] = np.where(has_value & (code != code[told_here]), told_here, -1)

        # what is wrong, and winners that are names
        errors = {int(self._judgement[row]): error for row, error in unread.items()}
        self._refuse_rows(errors, rows, documents, against)
        self._refuse_lists(errors, documents)
        cells = replace(rows, n=len(first), columns=columns, errors=errors)
        if systems is not None and "winner" in columns:
            said = words_by_row(cells, "winner", self.roles["winner"].kind)
            for letter, names in zip("ab", systems.T, strict=True):
                columns["winner"] = replaced(columns["winner"], said == names, letter)
        return cells, first

    def _refuse_rows(
        self,
        errors: dict[int, InputError],
        rows: RawCells,
        documents: Documents,
        against: Mapping[str, NDArray[np.intp]],
    ) -> None:
        """Add the first row of each judgement whose side is unknown, or which an earlier row is
        `against`.
        """
        is_bad = (documents.side < 0) | (np.max([*against.values()], axis=0) >= 0)
        worst = _first_where(is_bad, documents.judgement, documents.n)
        for judgement in np.flatnonzero(worst >= 0).tolist():
            row = int(worst[judgement])
            role = next((role for role, other in against.items() if other[row] >= 0), "side")
            if documents.side[row] < 0:
                refusal = self._unknown_side(rows, row)
            elif role == "position":
                refusal = self._repeated_position(documents, int(against[role][row]), row)
            else:
                refusal = self._two_values(rows, role, int(against[role][row]), row)
            errors.setdefault(judgement, InputError(refusal))

    def _refuse_lists(self, errors: dict[int, InputError], documents: Documents) -> None:
        """Add the lists without a row, or without the row of a position."""
        refusals = {}
        for number, missing, last in documents.gaps():
            problem = f"position {missing} of {{}} is missing, and position {last} is there"
            refusals[number] = f"{problem}; add its row, with -1 where the grade is unknown"
        empty = np.flatnonzero(np.diff(documents.ends, prepend=0) == 0).tolist()
        refusals |= dict.fromkeys(
            empty, "{} has no row; a judgement needs the documents of both sides"
        )
        for number, refusal in sorted(refusals.items()):
            judgement, side = divmod(number, documents.n_sides)
            errors.setdefault(judgement, InputError(refusal.format(self._lists[side])))

    def _place(self, row: int) -> str:
        return f"{self.unit} {self._items[row][0]}"

    def _unknown_side(self, rows: RawCells, row: int) -> str:
        value = shown(rows.column("side", "label").at(row))
        place = self._place(row)
        return f"side is {value} on {place}; use a or left, b or right, or the names of two systems"

    def _repeated_position(self, documents: Documents, first: int, row: int) -> str:
        key = " and ".join(name for name in self._keys if name not in ("pair", "list"))
        position, side = documents.position[row], self._lists[documents.side[row]]
        number = "pair" if "a" in self._lists else "list_id"
        rows = f"{self._place(first)} and {self._place(row)}"
        return (
            f"position {position} of {side} occurs on {rows}; where one {key} occurs in several "
            f"judgements, number them in a column {number}"
        )

    def _two_values(self, rows: RawCells, role: str, first: int, row: int) -> str:
        column = rows.column(role, self.roles[role].kind)
        said = [f"{shown(column.at(at))} on {self._place(at)}" for at in (first, row)]
        return f"{role} is {' and '.join(said)}; rows of one judgement have one {role}"


def _codes(values: Iterable[Any]) -> NDArray[np.intp]:
    """Return a number for each value, the same for equal ones, shape (n,)."""
    numbers: dict[Any, int] = {}
    keys = (value if isinstance(value, Hashable) else repr(value) for value in values)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.intp)


def _positions(rows: RawCells, unread: dict[int, InputError]) -> NDArray[np.intp]:
    """Return the position of each row, 1 where it has none, and add what is wrong with those."""
    values, index = rows.distinct("position", "label")
    positions = np.ones(len(values), np.intp)
    refusals: dict[int, InputError] = {}
    for at, value in enumerate(values):
        try:
            positions[at] = _position(value)
        except InputError as error:
            refusals[at] = error

    # from distinct values to rows
    for row in np.flatnonzero(np.isin(index, list(refusals))).tolist():
        unread.setdefault(row, refusals[index[row]])
    return positions[index]


def _position(value: Any) -> int:
    """Return a position, or raise InputError unless it is a whole number from 0."""
    is_whole = isinstance(value, float) and value.is_integer()
    if is_whole or (isinstance(value, str) and INTEGER.fullmatch(value)):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"position is {shown(value)}; positions count from 1 (or 0) at the top of the list"
        )
    return min(value, 10**18)  # an int64, and far beyond any list


def _judgements(
    rows: RawCells, keys: Iterable[str], unread: Iterable[int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of each row's judgement, and the first row of each judgement.

    Rows belong together if their keys are equal as texts; a row that cannot be read is alone.
    """
    alone = np.zeros(rows.n, np.intp)
    alone[list(unread)] = 1 + np.array(list(unread))
    columns = [alone]
    for role in keys:
        values, index = rows.distinct(role, "label")
        columns.append(_codes(map(str, values))[index])
    _, first, number = unique_rows(np.column_stack(columns))

    # in the order of their first rows
    order = np.argsort(first)
    return np.argsort(order)[number], first[order]


def _sides(
    rows: RawCells, judgement: NDArray[np.intp], first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the side of each row, and the names of the systems a and b, shape (n, 2).

    Of a judgement whose rows have two words that are no sides, they are names; the first is a.
    """
    values, index = rows.distinct("side", "label")
    words = np.array([str(value).strip().lower() for value in values], object)
    side = np.array([SIDES.get(word, -1) for word in words], np.intp)[index]

    # judgements with exactly two words, neither of which is a side
    word = _codes(words)[index]
    is_other = word != word[first][judgement]
    second = _first_where(is_other, judgement, len(first))
    is_third = is_other & (word != word[second][judgement])
    n_others = np.bincount(judgement, is_third | (side >= 0), len(first))
    by_name = (second >= 0) & (n_others == 0)

    systems = np.full((len(first), 2), np.nan, object)  # which equals no word
    systems[by_name] = words[index[np.column_stack([first, second])[by_name]]]
    return np.where(by_name[judgement], is_other, side), systems


def _first_where(holds: NDArray[np.bool_], judgement: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the first row of each judgement for which something holds, else -1, shape (n,)."""
    rows = np.flatnonzero(holds)[::-1]
    first = np.full(n, -1)
    first[judgement[rows]] = rows  # of several rows, the last one assigned stays
    return first


def _graded(rows: RawCells, documents: Documents, lists: Sequence[str]) -> dict[str, Any]:
    """Return the grades of each list in the order of their positions, by role."""
    import polars as pl

    # the grades of all lists, and of each
    values, index = rows.distinct("grade", "grade")
    grades = [values[code] for code in index[documents.order].tolist()]
    bounds = pairwise([0, *documents.ends.tolist()])
    cells = [grades[start:end] for start, end in bounds]
    sides = {role: cells[side :: len(lists)] for side, role in enumerate(lists)}

    # integers as a column of one type
    if not all(value is None or (type(value) is int and abs(value) < 1 << 31) for value in values):
        return dict(sides)
    return {role: pl.Series(side, dtype=pl.List(pl.Int64)) for role, side in sides.items()}
