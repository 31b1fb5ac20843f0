"""Winners that are names of systems, looked up in the two columns of their names."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dcglearn.readers.column_roles import SIDES, SYSTEMS, Role, Roles, by_role, side_of, words_of
from dcglearn.readers.line_formats import NUMBER, Opener, Reshaped, Source, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.rebuilt import Rebuilt, refuse, replaced, word_in, words_by_row
from dcglearn.readers.winner_words import MEANINGS, WINNERS

if TYPE_CHECKING:
    from dcglearn.readers.cells import RawCells

Looked: TypeAlias = "list[tuple[str | None, list[str | None]]]"
"""The winner of each of the first lines, and the names of the systems a and b."""


class NamedWinners(Rebuilt):
    """Judgements whose winners are names in `system_a` or `system_b`, or other words."""

    def __init__(
        self, rows: Source, roles: Roles, names: Sequence[str], told: Mapping[str, Any]
    ) -> None:
        super().__init__(rows, roles)
        self._names, self._told = names, told
        self.said = f"names of {names[0]} and {names[1]}"
        sides = [word for word in words_of(names[0]) if word in SIDES]
        self._meanings = ("a", "b") if "a" in sides else ("left", "right")

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements, one a row."""
        return with_sides(rows, self._meanings, self._names, self._told)


def with_sides(
    rows: RawCells,
    sides: Sequence[str] = ("a", "b"),
    names: Sequence[str | None] = (None, None),
    told: Container[str] = (),
) -> RawCells:
    """Return cells with a side in place of a winner that names its system or its column.

    Winners that the options define keep their meaning.
    """
    # the side that has the name of the winner, or whose column has
    values, index = rows.distinct("winner", "winner")
    words = list(map(word_in, values))
    may_be = np.array([word is not None and word not in told for word in words], bool)[index]
    winner = np.array(words, object)[index]
    is_side = [
        may_be & ((winner == words_by_row(rows, role)) | (winner == (name and name.lower())))
        for role, name in zip(SYSTEMS, names, strict=True)
    ]

    def refusal(row: int) -> str:
        said = shown(rows.column("winner", "winner").at(row))
        return f"winner is {said}, which both {names[0]} and {names[1]} hold; write a, b or tie"

    # a side in place of the name of one
    errors = dict(rows.errors)
    refuse(errors, is_side[0] & is_side[1], refusal)
    columns = dict(rows.columns)
    for side, of_side in zip(sides, is_side, strict=True):
        if of_side.any():
            columns["winner"] = replaced(columns["winner"], np.flatnonzero(of_side), side)
    return replace(rows, columns=columns, errors=errors)


def with_names(source: Source, open_with: Opener, mapping: LogMapping) -> Source:
    """Return the source with winners looked up among systems, where they are such names."""
    if "winner" not in source.roles or mapping.positive is not None or isinstance(source, Reshaped):
        return source
    told = mapping.own_words.codes
    most, best = 0, source
    for names in _pairs_of_columns(source, mapping):
        # the first lines with two columns as names
        systems = {
            role: Role("label", (name.lower(),)) for role, name in zip(SYSTEMS, names, strict=True)
        }
        rows = open_with({**source.roles, **systems})
        lines = [
            (word_in(record.get("winner")), [word_in(record.get(role)) for role in SYSTEMS])
            for _, record in islice(rows.readable(), 1_000)
        ]

        # given words that mean another side there
        contrary = _n_contrary(lines, told)
        if contrary:
            source.doubt = (
                f"winner_words= takes {contrary:,} winners of the first 1,000 lines for another "
                f"side than {' and '.join(names)} say; without these words they are looked up there"
            )

        # the columns with most winners
        n_names = _n_names(lines, names, told)
        if n_names > most:
            most, best = n_names, NamedWinners(rows, source.roles, names, told)
    return best


def _pairs_of_columns(source: Source, mapping: LogMapping) -> list[tuple[str, str]]:
    """Return the given columns, or pairs whose names differ in the side alone."""
    if SYSTEMS.keys() & mapping.columns.keys():
        told = by_role(source.names, mapping.roles(SYSTEMS))
        return [(str(told["system_a"]), str(told["system_b"]))]
    taken = {name for about in source.roles.values() for name in about.names}
    pairs: dict[tuple[str, ...], dict[str, str]] = {}
    for name in source.names:
        side = side_of(name)
        if side is not None and name.lower() not in taken:
            key = tuple("" if word in SIDES else word for word in words_of(name))
            pairs.setdefault(key, {})[side] = name
    return [(both["a"], both["b"]) for both in pairs.values() if len(both) == 2]


def _n_names(lines: Looked, names: Sequence[str], told: Mapping[str, int]) -> int:
    """Return how many winners are names of one system; 0 unless they are meant as such.

    Words that mean a side anyway, and numbers, are names only if all winners but ties are.
    """
    meanings = {**WINNERS, **told}
    n_names, n_sides, unknown = 0, 0, False
    for word, systems in lines:
        if word is None or word in told or MEANINGS[meanings.get(word, 0)] in ("tie", "open"):
            continue
        columns = [name.lower() for name in names if word not in meanings]
        is_name = word in (*columns, *systems)
        n_names += is_name
        n_sides += 1
        unknown |= is_name and word not in meanings and not NUMBER.fullmatch(word)
    return n_names if unknown or n_names == n_sides else 0


def _n_contrary(lines: Looked, told: Mapping[str, int]) -> int:
    """Return how many winners name the system on the side opposite to the given one."""
    contrary = 0
    for word, systems in lines if told else ():
        at_a, at_b = (word == name for name in systems)
        meaning = MEANINGS[told.get(word or "", WINNERS["tie"])]
        contrary += at_a != at_b and meaning in (("b", "right") if at_a else ("a", "left"))
    return contrary
