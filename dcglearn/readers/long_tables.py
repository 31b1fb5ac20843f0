"""Tables with a row for each document, such as ``query, side, position, grade, winner``: their rows
as judgements.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import InputError
from dcglearn.readers.joined_files import Files
from dcglearn.readers.kept_lines import with_kept
from dcglearn.readers.line_formats import INTEGER, Opener, Source, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.named_winners import with_names
from dcglearn.readers.outcomes import Outcomes, Shares, outcome_roles, shared_roles
from dcglearn.readers.rebuilt import Rebuilt, replaced, words_by_row
from dcglearn.readers.roles import LONG, Role, recognised
from dcglearn.readers.sides import with_order

if TYPE_CHECKING:
    import polars as pl

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
        rows = (self._judgement == self._first[item[0]]).arg_true()
        return b"\n".join(self._rows.raw(self._items[row][1]) for row in rows)

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements."""
        import polars as pl

        # where each row belongs, and numbers of its values
        unread = dict(rows.errors)
        table = _placed(rows, self._keys, unread, paired="a" in self._lists)
        values = [role for role in self.roles if role in rows.columns.keys() - {*self._lists}]
        table = table.with_columns(
            _numbers(*rows.distinct(role, self.roles[role].kind)).alias(role) for role in values
        )

        # a row for each judgement, with its first row that has each value
        row = pl.col("row")
        told = {role: row.filter(pl.col(role).is_not_null()).first() for role in values}
        judgements = table.group_by("judgement", maintain_order=True).agg(**told)
        self._judgement, self._first = table["judgement"], judgements["judgement"]
        columns = {role: rows.gathered(role, judgements[role]) for role in values}
        if "winner" in columns:
            self._name_winners(columns, rows, table, judgements)

        # lists, and what is wrong
        grades, index = rows.distinct("grade", "grade")
        whole = all(x is None or (type(x) is int and abs(x) < 1 << 31) for x in grades)
        codes = pl.Series(grades if whole else range(len(grades)), dtype=pl.Int64)
        lists = self._listed(table, codes.gather(index))
        for role, of_side in zip(self._lists, lists, strict=True):
            columns[role] = of_side["grade"]
            if not whole:
                in_order = of_side["grade"].to_list()
                columns[role] = [codes and [grades[code] for code in codes] for codes in in_order]
        errors = {self._judgement[row]: error for row, error in unread.items()}
        for judgement, refusal in chain(self._faults(rows, table, told), self._gaps(lists)):
            errors.setdefault(judgement, InputError(refusal))
        number = {first: judgement for judgement, first in enumerate(self._first)}
        errors = {number[first]: error for first, error in errors.items()}
        first = self._first.to_numpy()
        return replace(rows, n=len(first), columns=columns, errors=errors, rows=first)

    def _name_winners(
        self, columns: dict[str, Any], rows: RawCells, table: pl.DataFrame, judgements: pl.DataFrame
    ) -> None:
        """Replace the names of systems among the winners by their sides."""
        import polars as pl

        # judgements of two systems, and the first row of each system
        first = {f"first {side}": pl.col("row").filter(side=side).first() for side in (0, 1)}
        systems = table.filter("by_name").group_by("judgement").agg(**first)
        systems = judgements.with_row_index("number").join(systems, on="judgement")
        systems = systems.filter(pl.col("winner").is_not_null())

        said = words_by_row(rows, "winner", self.roles["winner"].kind)[systems["winner"]]
        names, index = _side_words(rows)
        words = np.array(names, object)[index]
        for side, letter in enumerate("ab"):
            is_side = said == words[systems[f"first {side}"]]
            rows_of_side = systems["number"].filter(is_side).to_numpy()
            columns["winner"] = replaced(columns["winner"], rows_of_side, letter)

    def _faults(
        self, rows: RawCells, table: pl.DataFrame, told: Mapping[str, pl.Expr]
    ) -> Iterator[tuple[int, str]]:
        """Yield the judgements with a row of no side, or one that repeats a position or contradicts
        a value of an earlier row; and the refusal of their first such row.
        """
        import polars as pl

        # the earlier row, by what it contradicts
        place = pl.col("row").min().over("judgement", "side", "position")
        earlier = {"position": pl.when(pl.col("row") > place).then(place)}
        for role, first in told.items():
            value = pl.col(role).drop_nulls().first().over("judgement")
            earlier[role] = pl.when(pl.col(role) != value).then(first.over("judgement"))
        faults = table.select("row", "judgement", "side", at="position", **earlier).filter(
            (pl.col("side") < 0) | pl.any_horizontal(pl.col(*earlier).is_not_null())
        )

        for fault in faults.unique("judgement", keep="first").iter_rows(named=True):
            role = next((role for role in earlier if fault[role] is not None), "")
            pair = [fault["row"]] if fault["side"] < 0 else [fault[role], fault["row"]]
            yield fault["judgement"], self._refusal(rows, fault, role, pair)

    def _refusal(self, rows: RawCells, fault: Mapping[str, int], role: str, pair: list[int]) -> str:
        """Return what to say of a row, or of an earlier one and a row that contradicts it."""
        places = [f"{self.unit} {self._items[row][0]}" for row in pair]
        if len(pair) == 1:
            side = shown(rows.column("side", "label").at(pair[0]))
            remedy = "use a or left, b or right, or the names of two systems"
            return f"side is {side} on {places[0]}; {remedy}"
        if role == "position":
            key = " and ".join(name for name in self._keys if name not in ("pair", "list"))
            number = "pair" if "a" in self._lists else "list_id"
            remedy = (
                f"where one {key} occurs in several judgements, number them in a column {number}"
            )
            side = self._lists[fault["side"]]
            return f"position {fault['at']} of {side} occurs on {' and '.join(places)}; {remedy}"
        column = rows.column(role, self.roles[role].kind)
        said = [
            f"{shown(column.at(row))} on {place}" for row, place in zip(pair, places, strict=True)
        ]
        return f"{role} is {' and '.join(said)}; rows of one judgement have one {role}"

    def _listed(self, table: pl.DataFrame, grade: pl.Series) -> list[pl.DataFrame]:
        """Return for each side a row a judgement: the grades of its list by position, the last
        position, and the first that is missing.
        """
        import polars as pl

        position = pl.col("position")
        lowest = int(table["position"].to_numpy().min(initial=1))
        expected = pl.int_range(pl.len()) + lowest
        missing = expected.filter(position != expected).first()
        lists = (
            table.with_columns(grade=grade)
            .filter(pl.col("side") >= 0)
            .sort("judgement", "side", "position")
            .group_by("judgement", "side")
            .agg("grade", last=position.last(), missing=missing)
        )
        judgements = self._first.to_frame()
        return [
            judgements.join(
                lists.filter(side=side), on="judgement", how="left", maintain_order="left"
            )
            for side in range(len(self._lists))
        ]

    def _gaps(self, lists: Sequence[pl.DataFrame]) -> Iterator[tuple[int, str]]:
        """Yield the judgements whose lists lack a position or have none, and their refusals."""
        for role, of_side in zip(self._lists, lists, strict=True):
            columns = of_side.select("judgement", "last", "missing")
            for judgement, last, missing in columns.rows():
                if last is None:
                    yield (
                        judgement,
                        f"{role} has no row; a judgement needs the documents of both sides",
                    )
                elif missing is not None:
                    problem = (
                        f"position {missing} of {role} is missing, and position {last} is there"
                    )
                    yield judgement, f"{problem}; add its row, with -1 where the grade is unknown"


def _placed(
    rows: RawCells, keys: Sequence[str], unread: dict[int, InputError], *, paired: bool
) -> pl.DataFrame:
    """Return the row, judgement, side and position of each row, and whether sides are names; add
    what is wrong with positions to `unread`.

    A judgement is called by its first row. Rows belong to one if their keys are equal as texts; one
    that cannot be read is alone.
    """
    import polars as pl

    # rows with the same keys
    positions = _positions(rows, unread)
    alone = np.full(rows.n, -1)
    alone[list(unread)] = list(unread)
    columns = {"alone": pl.Series(alone), "position": pl.Series(positions)}
    for role in keys:
        values, index = rows.distinct(role, "label")
        columns[role] = _numbers(map(str, values), index)
    table = pl.DataFrame(columns).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    judgement = pl.col("row").min().over("alone", *keys)
    table = table.select("row", "position", judgement=judgement, side=0, by_name=False)
    if not paired:
        return table

    # sides, or two words that are no sides, of which the first is that of a
    words, index = _side_words(rows)
    sides = np.array([SIDES.get(word, -1) for word in words], np.intp)[index]
    word, side = pl.col("word"), pl.col("side")
    by_name = (side.max() < 0) & (word.n_unique() == 2)
    return (
        table.with_columns(side=pl.Series(sides), word=_numbers(words, index))
        .with_columns(by_name=by_name.over("judgement"))
        .with_columns(
            side=pl.when("by_name").then((word != word.first()).over("judgement")).otherwise(side)
        )
    )


def _side_words(rows: RawCells) -> tuple[list[str], NDArray[np.intp]]:
    """Return the words for sides, and the number of that of each row."""
    values, index = rows.distinct("side", "label")
    return [str(value).strip().lower() for value in values], index


def _numbers(values: Iterable[Any], index: NDArray[np.intp]) -> pl.Series:
    """Return a number for the value of each row, the same for equal ones, and null for None."""
    import polars as pl

    numbers: dict[Any, int] = {}
    codes = []
    for value in values:
        key = value if isinstance(value, Hashable) else repr(value)
        codes.append(None if value is None else numbers.setdefault(key, len(numbers)))
    return pl.Series(codes, dtype=pl.Int64).gather(index)


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
