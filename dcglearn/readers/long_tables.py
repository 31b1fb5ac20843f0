"""Judgements from tables with a row for each document, choice between shapes, lines left out."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.validation import Counts, InputError, listed
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import (
    LOGPROBS,
    LONG,
    PROBABILITY,
    SYSTEMS,
    VOTES,
    Role,
    Roles,
    Table,
    by_role,
    recognised,
)
from dcglearn.readers.line_formats import Opener, Refusals, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import Files
from dcglearn.readers.rebuilt import (
    Rebuilt,
    numbered,
    required_numbers,
    tables_without_winner,
    with_names,
    with_sides,
)
from dcglearn.readers.shown_order import with_order
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    import polars as pl

    from dcglearn.readers.raw_cells import RawCells


DUPLICATES = "duplicates"
"""The word that leaves out lines that repeat an earlier one."""


class KeptLines(Rebuilt):
    """Judgements without the lines that `leave_out` names, by status or as duplicates."""

    def __init__(self, rows: Source, mapping: LogMapping) -> None:
        super().__init__(rows, rows.roles)
        self.words = {word.lower() for word in names_in(mapping.leave_out)}
        self._reasons: dict[Any, str] = {}

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the lines that are kept; those that cannot be read are."""
        import polars as pl

        # lines of a status
        values, index = rows.distinct("status", "status")
        statuses = ["" if value is None else word_of(value) for value in values]
        words = self.words - {DUPLICATES}
        is_left = np.array([status.lower() in words for status in statuses], bool)[index]
        is_left[list(rows.errors)] = False
        left = np.flatnonzero(is_left).tolist()
        reasons = {row: f"lines of status {statuses[index[row]]}" for row in left}

        # other lines that repeat one, by their ids and raters
        if DUPLICATES in self.words:
            is_left[list(rows.errors)] = True
            kinds = {"id": "identity", "rater": "label", "winner": "winner"}
            kinds |= {"a": "grades", "b": "grades"}
            columns = {}
            for role, kind in kinds.items():
                values, index = rows.distinct(role, kind)
                columns[role] = numbered((value or None for value in values), index)
            columns["id"] = columns["id"].set(pl.Series(is_left), None)
            reasons |= dict.fromkeys(_repeats(columns), "lines that repeat an earlier one")

        # reasons by the numbers of lines
        self._reasons = {self._items[row][0]: reason for row, reason in reasons.items()}
        return rows.taken(np.delete(np.arange(rows.n), list(reasons)))

    def left_out(self) -> Counts:
        """Return the numbers of lines that were left out, by reason."""
        return dict(Counter(self._reasons.values()))


def with_kept(source: Source, mapping: LogMapping) -> Source:
    """Return the source without the lines that a mapping leaves out."""
    if mapping.leave_out is None or "status" not in source.roles:
        return source
    kept = KeptLines(source, mapping)
    if not source.has("status") and kept.words != {DUPLICATES}:
        raise InputError(
            f"leave_out={mapping.leave_out!r} needs a column of statuses (accepted names: "
            f"{', '.join(source.roles['status'].names)})"
        )
    return kept


def remarks_on(table: Table, source: Source) -> tuple[str, ...]:
    """Return remarks on lines that count though rejected or repeated, and on winners."""
    # lines of a rejected status
    remarks = {}
    if "status" in table:
        role = {"status": source.roles["status"]}
        name = str(by_role(source.names, role).get("status", "status"))
        rejected = "rejected reject declined invalid discarded cancelled canceled draft failed no"
        marks = [*rejected.split(), "false", *(["0"] if name.lower() == "approved" else [])]
        counts = Counter(word for word in table["status"].tolist() if word.lower() in marks)
        words = sorted(counts)
        problem = f"have the {name} {', '.join(words)}"
        remarks[",".join(words)] = counts.total(), problem

    # lines that repeat others
    if {"id", "rater", "winner"} <= table.keys() and not source.has("supersedes"):
        import polars as pl

        texts = {role: pl.Series(table[role], dtype=pl.String) for role in ("id", "rater")}
        columns: Table = {role: values.replace("", None) for role, values in texts.items()}
        columns |= {side: table[side] for side in ("a", "b") if side in table}
        columns["winner"] = getattr(table["winner"], "codes", table["winner"])
        problem = "repeat the id, rater, lists and verdict of an earlier line"
        remarks[DUPLICATES] = len(_repeats(columns)), problem

    # what else would say who won
    said = [source.doubt] if source.doubt else []
    if "winner" in source.table_roles:
        for others in (VOTES, PROBABILITY, LOGPROBS):
            if recognised(source.names, others):
                names = listed(map(str, by_role(source.names, others).values()))
                said.append(f"not used, since there is a winner: {names}")

    # in words, with what leaves them out
    total = len(next((table[role] for role in ("a", "list") if role in table), ()))
    for word, (n, problem) in remarks.items():
        if n:
            said.append(
                f"{n:,} of {total:,} lines {problem}; leave_out={word!r} (dcglearn convert "
                f"--leave-out {word}) leaves them out"
            )
    return tuple(said)


def _repeats(columns: Mapping[str, Any]) -> list[int]:
    """Return the rows that equal an earlier one with an id and a rater."""
    import polars as pl

    lines = pl.DataFrame(columns).with_row_index("row").drop_nulls(["id", "rater"])
    lines = lines.filter(pl.struct("id", "rater").is_duplicated())
    return lines.filter(~pl.struct(*columns).is_first_distinct())["row"].to_list()


def open_shaped(open_with: Opener, roles: Roles, mapping: LogMapping) -> Source:
    """Return the judgements in what `open_with` opens, whichever shape its columns have."""
    if isinstance(open_with, Files):
        # each file has a shape of its own, but a line may repeat one of another file
        of_file = replace(mapping, leave_out=None)
        return with_kept(open_with.joined(lambda one: open_shaped(one, roles, of_file)), mapping)
    roles = mapping.roles(roles)
    source = _opened(open_with, roles, mapping)
    source = with_order(source, lambda others: _opened(open_with, others, mapping))
    return with_kept(with_names(source, open_with, mapping), mapping)


def _opened(open_with: Opener, roles: Roles, mapping: LogMapping) -> Source:
    """Return the source itself if it has the columns of the roles, else as the first shape."""
    source: Source | InputError
    try:
        source = open_with(roles)
        if not source.names or recognised(source.names, roles):
            return source
    except InputError as error:
        source = error

    # the first shape that has its columns; verdicts may stand beside a row for each document
    shapes: list[tuple[type[Rebuilt], Roles]] = [(LongTable, mapping.roles(rows_of(roles)))]
    for shape, others in (*shapes, *tables_without_winner(roles, mapping)):
        may_be_long = shape is not LongTable and bool(others.keys() - roles.keys())
        with contextlib.suppress(InputError):
            rows = _opened(open_with, others, mapping) if may_be_long else open_with(others)
            if recognised(rows.names, rows.table_roles):
                return shape(rows, roles)

    # no shape has, so the lines themselves are wrong
    if isinstance(source, InputError):
        raise source
    return source


def rows_of(roles: Roles) -> dict[str, Role]:
    """Return the roles of the columns of a long table whose judgements have the given roles."""
    others = {
        role: about for role, about in roles.items() if about.kind not in ("grades", "identity")
    }
    of_answers = ("position", "grade") if "question" in roles else ("list", "position", "grade")
    keys = ("side", "pair", "position", "grade") if "a" in roles else of_answers
    return {**{key: LONG[key] for key in keys}, **others}


class LongTable(Rebuilt):
    """Judgements with a row per document, joined by pair, query and rater (ratings: list, group).

    Positions count from 0 if any row of the table has position 0, otherwise from 1. The values of a
    judgement, such as its winner, stand on one of its rows or on several.
    """

    def __init__(self, rows: Source, roles: Roles) -> None:
        super().__init__(rows, roles)
        self.form, self.documents = f"{rows.form}, a row for each document", rows
        keys = ("pair", "query", "rater", "list", "group", "question", "configuration")
        self._keys = [role for role in rows.roles if role in keys]
        self._lists = [role for role in roles if role in ("a", "b", "list")]

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
        numbers = {role: numbered(*rows.distinct(role, self.roles[role].kind)) for role in values}

        # grades, or numbers of those that are no integers
        grades, index = rows.distinct("grade", "grade")
        whole = all(x is None or (type(x) is int and abs(x) < 1 << 31) for x in grades)
        codes = pl.Series(grades if whole else range(len(grades)), dtype=pl.Int64)
        table = table.with_columns(grade=codes.gather(index), **numbers)

        # a row for each judgement: its lists, and the first row of each value and each system
        row = pl.col("row")
        told = {role: row.filter(pl.col(role).is_not_null()).min() for role in values}
        systems = {
            role: row.filter("by_name", side=side).min() for side, role in enumerate(SYSTEMS)
        }
        lists = self._by_position(int(table["position"].to_numpy().min(initial=1)))
        by_judgement = table.sort("position", maintain_order=True).group_by("judgement")
        judgements = by_judgement.agg(**told, **systems, **lists).sort("judgement")
        self._judgement, self._first = table["judgement"], judgements["judgement"]

        # cells
        columns = {role: rows.gathered(role, judgements[role]) for role in values}
        for role in SYSTEMS if "side" in rows.columns else ():
            columns[role] = rows.gathered("side", judgements[role])
        for role in self._lists:
            columns[role] = judgements[role]
            if not whole:
                by_position = judgements[role].to_list()
                columns[role] = [[grades[code] for code in codes] for codes in by_position]

        # what is wrong
        errors = {self._judgement[row]: error for row, error in unread.items()}
        for judgement, refusal in chain(self._faults(rows, table, told), self._gaps(judgements)):
            errors.setdefault(judgement, InputError(refusal))
        first = self._first.to_numpy()
        errors = {at: errors[row] for at, row in enumerate(first.tolist()) if row in errors}
        cells = replace(rows, n=len(first), columns=columns, errors=errors, rows=first)
        return with_sides(cells) if "winner" in columns else cells

    def _by_position(self, lowest: int) -> dict[str, pl.Expr]:
        """Return each list's grades, last position and first missing one, for rows in order."""
        import polars as pl

        lists = {}
        for side, role in enumerate(self._lists):
            own = pl.col("position").filter(side=side)
            expected = pl.int_range(own.len()) + lowest
            lists[role] = pl.col("grade").filter(side=side)
            lists[f"last of {role}"] = own.last()
            lists[f"missing in {role}"] = expected.filter(own != expected).first()
        return lists

    def _faults(
        self, rows: RawCells, table: pl.DataFrame, told: Mapping[str, pl.Expr]
    ) -> Iterator[tuple[int, str]]:
        """Yield faulty judgements, each with the refusal of its first faulty row.

        A row is faulty if it has no side, repeats a position, or contradicts an earlier row.
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

        # the first of each judgement
        for fault in faults.unique("judgement", keep="first").iter_rows(named=True):
            role = next((role for role in earlier if fault[role] is not None), "side")
            if fault["side"] < 0:
                refusal = self._unknown_side(rows, fault["row"])
            elif role == "position":
                refusal = self._repeated_position(fault)
            else:
                refusal = self._two_values(rows, role, fault[role], fault["row"])
            yield fault["judgement"], refusal

    def _place(self, row: int) -> str:
        return f"{self.unit} {self._items[row][0]}"

    def _unknown_side(self, rows: RawCells, row: int) -> str:
        side = shown(rows.column("side", "label").at(row))
        return (
            f"side is {side} on {self._place(row)}; use a or left, b or right, or the names of "
            "two systems"
        )

    def _repeated_position(self, fault: Mapping[str, int]) -> str:
        position = f"position {fault['at']} of {self._lists[fault['side']]}"
        rows = f"{self._place(fault['position'])} and {self._place(fault['row'])}"
        key = " and ".join(name for name in self._keys if name not in ("pair", "list"))
        number = "pair" if "a" in self._lists else "list_id"
        return (
            f"{position} occurs on {rows}; where one {key} occurs in several judgements, number "
            f"them in a column {number}"
        )

    def _two_values(self, rows: RawCells, role: str, first: int, row: int) -> str:
        column = rows.column(role, self.roles[role].kind)
        said = [f"{shown(column.at(at))} on {self._place(at)}" for at in (first, row)]
        return f"{role} is {' and '.join(said)}; rows of one judgement have one {role}"

    def _gaps(self, judgements: pl.DataFrame) -> Iterator[tuple[int, str]]:
        """Yield the judgements whose lists lack a position or have none, and their refusals."""
        for role in self._lists:
            names = "judgement", f"last of {role}", f"missing in {role}"
            for judgement, last, missing in judgements.select(names).rows():
                if last is None:
                    yield (
                        judgement,
                        f"{role} has no row; a judgement needs the documents of both sides",
                    )
                elif missing is not None:
                    yield (
                        judgement,
                        f"position {missing} of {role} is missing, and position {last} is there; "
                        "add its row, with -1 where the grade is unknown",
                    )


def _placed(rows: RawCells, keys: Sequence[str], unread: Refusals, *, paired: bool) -> pl.DataFrame:
    """Return the row number, judgement, side and position of each row.

    A judgement is called by its first row. Rows belong to one if their keys are equal as texts; one
    that cannot be read is alone. Of pairs, `by_name` tells whether the sides are names. Positions
    that cannot be read are added to `unread`.
    """
    import polars as pl

    # numbers of keys, and of rows that cannot be read
    numbers = required_numbers(rows, "position", unread, "position")
    positions = np.nan_to_num(numbers, nan=1).astype(np.intp)
    alone = np.full(rows.n, -1)
    alone[list(unread)] = list(unread)
    columns = {"alone": pl.Series(alone), "position": pl.Series(positions)}
    for role in keys:
        values, index = rows.distinct(role, "label")
        columns[role] = numbered(map(str, values), index)

    # the first row with the same ones
    table = pl.DataFrame(columns).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    judgement = pl.col("row").min().over("alone", *keys)
    table = table.select("row", "position", judgement=judgement, side=0, by_name=False)
    if not paired:
        return table

    # sides, or two other words, the first of which names a
    values, index = rows.distinct("side", "label")
    words = [str(value).strip().lower() for value in values]
    known = {"a": 0, "left": 0, "l": 0, "1": 0, "b": 1, "right": 1, "r": 1, "2": 1}
    sides = np.array([known.get(word, -1) for word in words], np.intp)[index]
    word, side = pl.col("word"), pl.col("side")
    by_name = (side.max() < 0) & (word.n_unique() == 2)
    second = (word != word.first()).over("judgement")
    table = table.with_columns(side=pl.Series(sides), word=numbered(words, index))
    table = table.with_columns(by_name=by_name.over("judgement"))
    return table.with_columns(side=pl.when("by_name").then(second).otherwise(side))
