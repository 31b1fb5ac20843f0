"""Tables with a row for each document, such as ``query, side, position, grade, winner``: their rows
as judgements.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import LONG, Role, recognised
from dcglearn.readers.joined_files import Files
from dcglearn.readers.kept_lines import with_kept
from dcglearn.readers.line_formats import INTEGER, Opener, Reshaped, Source, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.named_winners import with_names
from dcglearn.readers.outcomes import Outcomes, Shares, outcome_roles, shared_roles
from dcglearn.readers.shown_order import with_order
from dcglearn.readers.winner_words import word_of

SIDES = {"a": "a", "left": "a", "l": "a", "1": "a", "b": "b", "right": "b", "r": "b", "2": "b"}
"""Words for the side of a document, in lower case."""


KEYS = ("pair", "query", "rater", "list", "group", "question", "configuration")
"""The roles that tell the rows of a judgement from those of others."""


@dataclass
class Rows:
    """The rows of one judgement: their items, their numbers and values; or the `error` of a row
    that cannot be read.
    """

    items: list[Any] = field(default_factory=list)
    records: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    error: InputError | None = None


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
    source: Source | InputError
    try:
        source = open_with(roles)
        if not source.names or recognised(source.names, roles):
            return source
    except InputError as error:
        source = error
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


class LongTable(Reshaped):
    """Judgements whose documents have a row each, joined by pair, query and rater (by list and
    group for ratings).

    Positions count from 0 if any row of the table has position 0, otherwise from 1. The values of a
    judgement, such as its winner, stand on one of its rows or on several.
    """

    def __init__(self, rows: Source, roles: Mapping[str, Role]) -> None:
        super().__init__(rows, roles)
        self.form = f"{rows.form}, a row for each document"
        self._keys = [role for role in rows.roles if role in KEYS]
        self._start = 1

    def __iter__(self) -> Iterator[tuple[int, Rows]]:
        """Yield each judgement with the number of its first row."""
        judgements: dict[Any, tuple[int, Rows]] = {}
        for number, item in self._rows:
            try:
                record = self._rows.record(item)
                place = _position(record.get("position"))
            except InputError as error:
                judgements[number] = (number, Rows([item], error=error))
                continue
            self._start = min(self._start, place)
            key = tuple(str(record.get(role)) for role in self._keys)
            rows = judgements.setdefault(key, (number, Rows()))[1]
            rows.items.append(item)
            rows.records.append((number, {**record, "position": place}))
        yield from judgements.values()

    def raw(self, item: Rows) -> bytes:
        """Return the rows of a judgement."""
        return b"\n".join(self._rows.raw(row) for row in item.items)

    def record(self, item: Rows) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        if item.error is not None:
            raise item.error
        lists: dict[str, dict[int, tuple[int, Any]]] = {
            role: {} for role in self.roles if role in ("a", "b", "list")
        }
        values: dict[str, tuple[int, Any]] = {}
        systems = self._systems(item)
        for number, row in item.records:
            side = (
                "list"
                if "list" in lists
                else _side(row.get("side"), f"{self.unit} {number}", systems)
            )
            at = row["position"]
            if at in lists[side]:
                key = " and ".join(name for name in self._keys if name not in ("pair", "list"))
                raise InputError(
                    f"position {at} of {side} occurs on {self.unit} {lists[side][at][0]} and {self.unit} {number}; "
                    f"where one {key} occurs in several judgements, number them in a column "
                    f"{'pair' if 'a' in lists else 'list_id'}"
                )
            lists[side][at] = (number, row.get("grade"))
            for role in self.roles.keys() - lists.keys():
                value = row.get(role)
                if value is not None and values.setdefault(role, (number, value))[1] != value:
                    raise InputError(
                        f"{role} is {shown(values[role][1])} on {self.unit} {values[role][0]} and {shown(value)} on "
                        f"{self.unit} {number}; rows of one judgement have one {role}"
                    )
        grades = {side: self._in_order(side, rows) for side, rows in lists.items()}
        of_pair = {role: value for role, (_, value) in values.items()}
        named = word_of(of_pair.get("winner", "")).lower()
        return {**grades, **of_pair, **({"winner": systems[named]} if named in systems else {})}

    def _systems(self, item: Rows) -> dict[str, str]:
        """Return the sides of the two systems that the rows of a judgement name, the first that
        stands there as a.
        """
        names = dict.fromkeys(str(row.get("side")).strip().lower() for _, row in item.records)
        if len(names) != 2 or names.keys() & SIDES.keys():
            return {}
        return dict(zip(names, "ab", strict=True))

    def _in_order(self, side: str, rows: dict[int, tuple[int, Any]]) -> list[Any]:
        """Return the grades by position; raise InputError for a position that is missing."""
        if not rows:
            raise InputError(f"{side} has no row; a judgement needs the documents of both sides")
        missing = next(
            (at for at in range(self._start, self._start + len(rows)) if at not in rows), None
        )
        if missing is not None:
            raise InputError(
                f"position {missing} of {side} is missing, and position {max(rows)} is there; add its row, with -1 "
                "where the grade is unknown"
            )
        return [rows[at][1] for at in sorted(rows)]


def _position(value: Any) -> int:
    """Return a position, or raise InputError unless it is a whole number from 0."""
    if (isinstance(value, float) and value.is_integer()) or (
        isinstance(value, str) and INTEGER.fullmatch(value)
    ):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"position is {shown(value)}; positions count from 1 (or 0) at the top of the list"
        )
    return value


def _side(value: Any, place: str, systems: Mapping[str, str]) -> str:
    word = str(value).strip().lower()
    side = SIDES.get(word, systems.get(word))
    if side is None:
        raise InputError(
            f"side is {shown(value)} on {place}; use a or left, b or right, or the names of two systems"
        )
    return side
