"""The checked columns of a log, made from its raw cells; `KINDS` says what these mean."""

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcglearn.foundation.files import refuse_existing, written_beside
from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import Counts, InputError, PathLike, errors_in
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import Role, Table
from dcglearn.readers.kinds import KINDS, WinnerCells
from dcglearn.readers.line_formats import Refusals, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.raw_cells import raw_cells
from dcglearn.readers.raw_columns import GradeLists, RawColumn, Values, notations

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Converted:
    """A role that occurs, its raw cells, and their values."""

    role: Role
    column: RawColumn
    values: Values


def read_checked(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, Counts]:
    """Return the columns of a source by role, and the counts of the lines left out.

    Columns are ``grades``: int8 (n, K); ``winner``: `Winners`; numbers: float64 (n,); others:
    object (n,). An optional column without a value on any line is left out. Bad lines are
    written to `skip_bad`, and counted as ``"bad lines"`` beside the first three reasons. Without
    `skip_bad` the first bad line raises InputError, as does a log without a good line. Messages
    call the file `name`.
    """
    if skip_bad is not None:
        refuse_existing(skip_bad, force=True)
    cells = raw_cells(source)
    slow = (
        f"with {len(cells.others) or cells.n:,} of {cells.n:,} lines one by one: they are unusual"
    )
    how = "in one pass" if cells.at_once else slow
    _LOG.info("%s: read as %s %s", name, source.form, how)

    # convert the columns
    converted = []
    for role, about in source.roles.items():
        if role in cells.columns:
            column = cells.column(role, about.kind)
            column = replace(column, mapping=mapping, may_be_empty=about.may_be_empty)
            # names that stand in objects may be missing where a list is none of objects
            role_of_column = replace(about, uniform=about.uniform and source.has(role))
            converted.append(_Converted(role_of_column, column, KINDS[about.kind](column)))
    errors = dict(cells.errors)
    _add_errors(errors, converted, source, cells.n)

    # raise the first error, or describe three
    if errors and skip_bad is None:
        source.cells = cells  # in which a scale is looked for
        first = min(errors)
        with errors_in(f"{name}, {source.place(first)}"):
            raise errors[first]
    reasons = [f"{source.place(row)}: {errors[row].args[0]}" for row in sorted(errors)[:3]]
    if len(errors) == cells.n:
        problem = f"no good line; {reasons[0]}" if errors else "nothing after the header"
        raise InputError(f"{name}: {problem}")

    # keep the good rows
    good = np.ones(cells.n, bool)
    good[list(errors)] = False
    table = _table(converted, mapping, good)
    if not errors or skip_bad is None:
        return table, {}

    # write the bad lines; one that makes several judgements is bad once
    rows = ((number, item) for row, (number, item) in enumerate(source) if row in errors)
    bad = dict.fromkeys((number, source.raw(item)) for number, item in rows)
    lines = [line for _, line in bad]
    if source.header:
        lines.insert(0, source.header)
    with written_beside(skip_bad) as temporary:
        temporary.write_bytes(b"".join(line + b"\n" for line in lines))
    return table, {"bad lines": len(bad), **dict.fromkeys(reasons, 1)}


def _add_errors(errors: Refusals, converted: list[_Converted], source: Source, n: int) -> None:
    """Add what is wrong with each bad row; of several faults, that of the first role."""
    # bad cells, and required ones that are missing
    for one in converted:
        errors.update({**one.values.errors, **errors})
        if one.role.required:
            for row in np.flatnonzero(one.values.absent).tolist():
                error = InputError(
                    f"{one.column.role} is missing; correct the line, or set it aside by skip_bad="
                )
                errors.setdefault(row, error)

    # grades by name and by number
    _add_mixtures(errors, converted)

    # rows that lack a value of a uniform column, or have one, unlike the first good row
    good = np.ones(n, bool)
    good[list(errors)] = False
    if not good.any():
        return
    first = int(good.argmax())
    for one in converted:
        absent, column = one.values.absent, one.column
        differs = good & (absent != absent[first]) & one.role.uniform
        for row in np.flatnonzero(differs).tolist():
            errors.setdefault(
                row,
                InputError(
                    f"{column.role} {shown(column.cell(row))}: give it on every line or on none "
                    f"({source.place(first)})"
                ),
            )


def _add_mixtures(errors: Refusals, converted: list[_Converted]) -> None:
    """Add the lists whose grades are names where earlier ones are numbers, or the reverse."""
    lists = [one for one in converted if one.role.kind == "grades"]
    if not any(one.values.values.named for one in lists):
        return

    # what the good rows have so far, list by list
    notation = np.column_stack([notations(one.column) for one in lists])
    notation[list(errors)] = 0
    so_far = np.bitwise_or.accumulate(notation.ravel()).reshape(notation.shape)

    # those that have both
    for row, side in np.argwhere((so_far == 1 | 2) & (notation > 0)).tolist():
        column = lists[side].column
        errors.setdefault(
            row,
            InputError(
                f"{column.role} is {shown(column.at(row))}: the log has grades by name and by "
                "number; write all one way"
            ),
        )


def _table(converted: list[_Converted], mapping: LogMapping, good: Any) -> Table:
    """Return the values of the good rows as arrays."""
    kept: Table = {}
    for one in converted:
        if one.role.required or not one.values.absent[good].all():
            values, absent = one.values.values, one.values.absent
            if isinstance(values, np.ndarray) and one.role.missing not in (None, "", 1):
                values = np.where(absent, one.role.missing, values)
            kept[one.column.role] = values if good.all() else values[good]

    # lists of one depth
    lists = {role: values for role, values in kept.items() if isinstance(values, GradeLists)}
    depth = mapping.depth or max((values.longest for values in lists.values()), default=0)
    for role, values in lists.items():
        n_lists = len(values.lengths)
        size = f"the log of {n_lists:,} lines, padded to {depth:,} grades,"
        remedy = "give a smaller depth (depth=, convert --depth)"
        refuse_beyond_memory(6.0 * n_lists * depth, size, remedy)
        kept[role] = values.table(depth, mapping.below)

    # winners with their strengths
    for role, values in kept.items():
        if isinstance(values, WinnerCells):
            kept[role] = values.winners(mapping.own_words.of_winners)
    return kept
