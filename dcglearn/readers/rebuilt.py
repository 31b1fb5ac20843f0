"""Judgements made of all rows of a table at once: winners by columns and by names of systems."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Flags, Floats, Indices, InputError
from dcglearn.readers.cell_values import NUMBER, shown
from dcglearn.readers.column_roles import (
    LOGPROBS,
    OUTCOMES,
    PROBABILITY,
    SIDES,
    SYSTEMS,
    VOTES,
    Record,
    Role,
    Roles,
    by_role,
    position_of,
    side_of,
    words_of,
)
from dcglearn.readers.line_formats import Opener, Refusals, Reshaped, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import MEANINGS, WINNERS, word_of

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.readers.raw_cells import RawCells


class Rebuilt(Reshaped):
    """Judgements made by `rebuilt` from the raw cells of all rows; items are (number, row)."""

    @abstractmethod
    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements, which are in the order of their first rows."""

    @cached_property
    def cells(self) -> RawCells:
        """The raw cells of all judgements."""
        from dcglearn.readers.raw_cells import raw_cells

        cells = self.rebuilt(replace(raw_cells(self._rows).in_lists(), rows=None))
        return cells if cells.n else replace(cells, columns={})

    @cached_property
    def _items(self) -> list[tuple[Any, Any]]:
        return list(self._rows)

    def __iter__(self) -> Iterator[tuple[Any, tuple[int, Any]]]:
        """Yield each judgement with the number of its first row."""
        rows = range(self.cells.n) if self.cells.rows is None else self.cells.rows
        for judgement, row in enumerate(rows):
            number, item = self._items[row]
            yield number, (judgement, item)

    def record(self, item: tuple[int, Any]) -> Record:
        """Return the values of a judgement by role."""
        cells, judgement = self.cells, item[0]
        if judgement in cells.errors:
            raise cells.errors[judgement]
        return {
            role: cells.column(role, about.kind).at(judgement)
            for role, about in self.roles.items()
            if role in cells.columns
        }

    def raw(self, item: tuple[int, Any]) -> bytes:
        """Return the row of a judgement."""
        return self._rows.raw(item[1])


def refuse(errors: Refusals, is_bad: Flags, refusal: Callable[[int], str]) -> None:
    """Add the refusals of bad rows, except where something else is wrong with them."""
    for row in np.flatnonzero(is_bad).tolist():
        if row not in errors:
            errors[row] = InputError(refusal(row))


def replaced(cells: Any, rows: Indices, value: str) -> Any:
    """Return raw cells with a text in some rows."""
    import polars as pl

    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.clone().scatter(rows, value)
    cells = list(cells)
    for row in rows.tolist():
        cells[row] = value
    return cells


def word_in(value: Any) -> str | None:
    """Return a text or a number in lower case, None for another value."""
    return word_of(value).lower() if isinstance(value, str | int | float) else None


def words_by_row(cells: RawCells, role: str) -> NDArray[Any]:
    """Return the texts and numbers of a column in lower case, None for other values, shape (n,)."""
    values, index = cells.distinct(role, "label")
    return np.array(list(map(word_in, values)), object)[index]


def numbered(values: Iterable[Any], index: Indices) -> pl.Series:
    """Return a number for the value of each row, the same for equal ones, and null for None."""
    import polars as pl

    numbers: dict[Any, int] = {}
    codes = []
    for value in values:
        key = value if isinstance(value, Hashable) else repr(value)
        codes.append(None if value is None else numbers.setdefault(key, len(numbers)))
    return pl.Series(codes, dtype=pl.Int64).gather(index)


def tables_without_winner(
    roles: Roles, mapping: LogMapping
) -> Iterator[tuple[type[Rebuilt], Roles]]:
    """Yield shapes without a column `winner`, where the roles have one, and the roles of these.

    A column of winners that the mapping names must be there.
    """
    if "winner" not in roles or "winner" in mapping.columns:
        return
    others = {role: about for role, about in roles.items() if role != "winner"}
    yield Outcomes, mapping.roles({**others, **OUTCOMES})
    for weights in (VOTES, PROBABILITY, LOGPROBS):
        yield VoteShares, mapping.roles({**others, **weights})

    # lists under other names; names of the user do not say which list was chosen
    if {"a", "b"} <= roles.keys():
        responses = _named(others, a="response_a", b="response_b")
        yield Outcomes, mapping.roles({**others, **responses, **OUTCOMES})
        chosen = _named(others, a="chosen", b="rejected")
        yield Outcomes, {**mapping.roles(others), **chosen}


def _named(roles: Roles, **names: str) -> dict[str, Role]:
    return {
        role: replace(roles[role], names=(name,), marks=(name,)) for role, name in names.items()
    }


class Outcomes(Rebuilt):
    """Judgements whose winner is the outcome with a 1, or a, the chosen list, without outcomes."""

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements, one a row."""
        import polars as pl

        # the marks of each row, 1 where the outcome occurred, nan where a cell is none
        known = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}
        roles = [role for role in OUTCOMES if role in rows.columns]
        marks = np.ones((max(len(roles), 1), rows.n))
        for role, mark in zip(roles, marks, strict=False):
            values, index = rows.distinct(role, "label")
            words = ["" if value is None else word_of(value).lower() for value in values]
            mark[:] = np.array([known.get(word, np.nan) for word in words])[index]

        def refusal(row: int) -> str:
            said = shown([rows.column(role, "label").at(row) for role in roles])
            return f"{', '.join(roles)} are {said}; one of them must be 1, the others 0"

        # the outcome that has a 1
        errors = dict(rows.errors)
        refuse(errors, marks.sum(axis=0) != 1, refusal)
        names = np.array([role.removeprefix("winner_") for role in roles or ["a"]])
        winner = pl.Series(names[np.argmax(marks == 1, axis=0)])
        return replace(rows, columns={**rows.columns, "winner": winner}, errors=errors)


class VoteShares(Rebuilt):
    """Judgements with a weight for each verdict on a line: votes, or a probability.

    A line with the probability p that a is preferred counts as a verdict for a of weight p and one
    for b of weight 1 - p, which is the cross-entropy of a likelihood.
    """

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements: one for each verdict of a row that has a weight."""
        import polars as pl

        # the weights of a, b and a tie; a bad row counts once, to be named
        errors = dict(rows.errors)
        of_rows = self._votes if "votes_a" in self.table_roles else self._shares
        weights = of_rows(rows, errors)
        weights[list(errors)] = [1, 0, 0]
        row, verdict = np.nonzero(weights)
        weight = weights[row, verdict]

        # times the weight of the row, which is refused if it is no number
        cells = replace(rows, errors=errors).taken(row)
        if "weight" in cells.columns:
            own = cells.checked("weight", "number", {})
            weight = weight * own.values
            if own.errors:
                at = cells.column("weight", "number").at
                weight = weight.astype(object)
                weight[list(own.errors)] = list(map(at, own.errors))

        # as columns
        cells.columns["weight"] = pl.Series(weight) if weight.dtype == float else weight.tolist()
        cells.columns["winner"] = pl.Series(np.array(["a", "b", "tie"])[verdict])
        return cells

    def _votes(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return the votes of each row for a, b and a tie, and add what is wrong with them."""
        votes = np.column_stack([_numbers(rows, role, errors, blank=0.0) for role in VOTES])
        is_bad = (votes.min(axis=1) < 0) | ~votes.any(axis=1)
        refuse(
            errors,
            is_bad,
            lambda row: (
                f"the votes are {shown(votes[row].tolist())}; give numbers, one of them above 0"
            ),
        )
        return votes

    def _shares(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return how probable it is that a, b or neither is preferred, and add what is wrong."""
        if "probability" in self.table_roles:
            share = required_numbers(rows, "probability", errors)
        else:
            share = self._of_logarithms(rows, errors)

        remedy = (
            "give a number from 0 to 1, that a is preferred, such as .7 for seven of ten raters, "
            "or name the column logprob_a if it holds logarithms"
        )
        is_bad = (share < 0) | (share > 1)
        refuse(errors, is_bad, lambda row: f"probability is {shown(float(share[row]))}; {remedy}")
        return np.column_stack([share, 1 - share, np.zeros(rows.n)])

    def _of_logarithms(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return the probability of a by its logarithm, relative to that of b if a row has both."""
        of_a, of_b = (_numbers(rows, role, errors) for role in LOGPROBS)
        refuse(errors, np.isnan(of_a), lambda _: "logprob_a is missing")

        # only an object may lack the key of b
        alone = np.isnan(of_b)
        if alone.any() and self._rows.has("logprob_b"):
            is_blank = [
                row not in errors and "logprob_b" in self._rows.record(item)
                for row, (_, item) in enumerate(self._items)
            ]
            refuse(errors, alone & is_blank, lambda _: "logprob_b is missing")

        def refusal(row: int) -> str:
            logs = dict(zip(LOGPROBS, (float(of_a[row]), float(of_b[row])), strict=True))
            if alone[row]:
                del logs["logprob_b"]
            return (
                f"{', '.join(logs)}: {shown([*logs.values()])}; logarithms of probabilities are "
                "below 0"
            )

        larger = np.fmax(of_a, of_b)
        refuse(errors, larger > 0, refusal)

        # relative to the larger, so that neither overflows nor both are 0
        both = np.exp(of_a - larger) + np.exp(of_b - larger)
        return np.where(alone, np.exp(np.fmin(of_a, 0)), np.exp(of_a - larger) / both)


def required_numbers(rows: RawCells, role: str, errors: Refusals, kind: str = "number") -> Floats:
    """Return what `_numbers` does, and refuse cells without a value."""
    numbers = _numbers(rows, role, errors, kind)
    refuse(errors, np.isnan(numbers), lambda _: f"{role} is missing")
    return numbers


def _numbers(
    rows: RawCells, role: str, errors: Refusals, kind: str = "number", blank: float = np.nan
) -> Floats:
    """Return the numbers of a column, `blank` for other cells, and add what is wrong with these."""
    if role not in rows.columns:
        return np.full(rows.n, blank)
    numbers = rows.checked(role, kind, errors)
    is_number = ~numbers.absent
    is_number[list(numbers.errors)] = False
    return np.where(is_number, numbers.values, blank)


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
            for record in rows.first_records()
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
    marks = [about.marks for about in source.roles.values() if about.marks]
    pairs: dict[tuple[str, ...], dict[str, str]] = {}
    for name in source.names:
        side = side_of(name)
        is_taken = name.lower() in taken or any(position_of(name, mark) for mark in marks)
        if side is not None and not is_taken:
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
