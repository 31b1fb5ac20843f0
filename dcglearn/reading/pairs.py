"""Judgements of two lists and rated lists by column, from tables; logs of judgements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.files import refuse_existing
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Counts, Flags, Grades, InputError, PathLike, listed
from dcglearn.logs.sides import Sides
from dcglearn.reading.columns import own_names, refuse_unused_order, unused
from dcglearn.reading.contract import JUDGEMENT, Contract, plain
from dcglearn.reading.direction import check_direction
from dcglearn.reading.options import ListOptions
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.ratings import with_ratings
from dcglearn.reading.recognised import Recognised
from dcglearn.reading.scale import Scale, fitted
from dcglearn.reading.tables import BadRowsError, Refusals, Table, table_of, write_frame
from dcglearn.reading.texts import text
from dcglearn.reading.values import values_of
from dcglearn.reading.winners import OPEN, TIE, A, B, lists_meant, refuse_named_sides, winners_of

REJECTED = ("rejected", "discarded", "false", "no", "0")
"""Values of a status that say that a judgement was not accepted, in lower case."""

REASONS = (
    "open questions",
    "verdicts already read under the same id",
    "superseded verdicts",
    "lines withdrawing a verdict",
)
"""Reasons for rows that are left out."""

Read = TypeVar("Read")


@dataclass(frozen=True)
class PairColumns:
    """Judgements of two lists by column, before the preferred one stands first.

    `values` are those of each role but for winners, `winner`, shape (n,), the code of each, and
    `swapped`, shape (n,), whether b was shown first, None where no column says it; `sides` is the
    option of `read_preferences`.
    """

    values: dict[str, Any]
    winner: NDArray[np.int8]
    swapped: Flags | None
    scale: Scale
    recognised: Recognised
    sides: str | None


def readable(
    data: Any, read: Callable[[Table], Read], skip_bad: PathLike | None = None
) -> tuple[Read, Counts]:
    """Return what a function reads in a table, and what was left out.

    Bad rows are written to the file `skip_bad`, if one is given, and the others are read.
    """
    if skip_bad is not None:
        refuse_existing(skip_bad, force=True)
    table = table_of(data)
    try:
        return read(table), {}
    except BadRowsError as error:
        if skip_bad is None or len(error.rows) == table.frame.height:
            raise
        write_frame(table.frame[error.rows], skip_bad)
        return read(table.without(error.rows)), {"bad rows": len(error.rows), str(error.args[0]): 1}


def columns_of(
    table: Table,
    contract: Contract,
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Any = None,
    columns: Mapping[str, str] | str | None = None,
) -> tuple[dict[str, Any], Scale, Recognised, Refusals]:
    """Return a table's values by role, lists of one length, their scale, and what is wrong.

    Options are those of `read_preferences`.
    """
    found, values, levels, refusals = values_of(
        table, contract, own_names(columns), scale, n_grades
    )
    roles = [role for role in found if contract[role].kind == "grades"]
    lists = fitted([values[role] for role in roles], depth, pad=pad)
    values |= zip(roles, lists, strict=True)

    # what is remarked later stands in it, too
    ignored = unused(table.frame.columns, found)
    return values, levels, Recognised(found, ignored, remarks=refusals.remarks), refusals


def judgements_of(
    table: Table,
    n_grades: int | None = None,
    *,
    winner_words: Mapping[Any, str] | str | None = None,
    sides: str | None = None,
    **options: Unpack[ListOptions],
) -> PairColumns:
    """Return the judgements of a table; options are those of `read_preferences`."""
    values, scale, recognised, refusals = columns_of(table, JUDGEMENT, n_grades, **options)
    frame, found, own = table.frame, recognised.columns, own_names(options.get("columns"))
    if not {"swapped", "shown_first"} & {*found, *own}:
        refuse_unused_order(frame, found)

    # winners as lists
    swapped = _swapped(values)
    winner = frame[found["winner"][0]]
    systems = [frame[found[role][0]] for role in ("system_a", "system_b") if role in found]
    winners = winners_of(winner, systems, winner_words, refusals)
    called_left = plain(found["a"][0]).startswith("l")
    codes = lists_meant(winners, swapped, sides, refusals, called_left=called_left)

    # what would be misread, or should be known
    if not systems and "system_a" not in own:
        refuse_named_sides(frame, winner, recognised.ignored, codes)
    _remark_rejected(frame, recognised, refusals)
    if swapped is None and "rater" in values:
        _remark_one_sided(values["rater"], codes, refusals)
    refusals.check()

    # strengths by word
    if winners.strength is not None:
        if "strength" in values:
            raise InputError("winner_words have strengths, and so has a column; give one of both")
        values["strength"] = winners.strength
    recognised = replace(recognised, words=winners.words)
    return PairColumns(values, codes, swapped, scale, recognised, sides)


def checked_columns(
    table: Table, contract: Contract, n_grades: int | None = None, **options: Unpack[ListOptions]
) -> tuple[str, dict[str, Any], Scale, Recognised]:
    """Return the name of a table, its values by role, their scale, and what was recognised.

    Options and errors are those of `read_preferences`.
    """
    values, scale, recognised, refusals = columns_of(table, contract, n_grades, **options)
    refusals.check()
    _remark_rejected(table.frame, recognised, refusals)
    return table.name, values, scale, recognised


def _swapped(values: dict[str, Any]) -> Flags | None:
    """Take whether b was shown first, of the one column that tells it."""
    told = [values.pop(role) for role in ("swapped", "shown_first") if role in values]
    if len(told) > 1:
        raise InputError(
            "two columns tell what was shown first; columns={'shown_first': ''} ignores one"
        )
    return told[0] if told else None


def _remark_rejected(frame: pl.DataFrame, recognised: Recognised, refusals: Refusals) -> None:
    """Remark rows whose status says that they were not accepted."""
    for name in recognised.columns.get("status", ()):
        status = frame[name]
        rejected = text(status).str.to_lowercase().is_in(REJECTED)
        if rejected.any():
            refusals.remarks.append(
                f"{rejected.sum():,} rows count whose {name} is {status.filter(rejected)[0]!r}; "
                "see the recipe 'Rejected and repeated rows'"
            )


def _remark_one_sided(raters: NDArray[Any], codes: Grades, refusals: Refusals) -> None:
    """Remark raters who always name list a, or b, where no column tells the sides."""
    decided = np.isin(codes, (A, B)) & (raters != "")
    names = Sides.of(raters[decided], codes[decided] == B).always_one()
    if len(names):
        always = f"{number_of(len(names), 'raters')} ({listed(map(repr, map(str, names)), 3)})"
        refusals.remarks.append(
            f"of {always} nearly every winner is the same one of a and b, the others name both: do "
            "they always pick one side? A column shown_left (a or b, the list shown left) tells, "
            "and leaves their verdicts out if so"
        )


def log_of(
    judged: PairColumns, *, as_is: bool = False, reasons: Grades | None = None
) -> Preferences:
    """Return a log of judgements, preferred lists first.

    Open questions and superseded verdicts are left out and counted, by `reasons_of` or by the
    `reasons` given, shape (n,). Raise UpsideDownError if it seems reversed, unless it is taken
    `as_is`.
    """
    values, codes, swapped = dict(judged.values), judged.winner, judged.swapped
    b_wins, ties = codes == B, codes == TIE
    supersedes = values.pop("supersedes", None)

    # all rows, the preferred list with what belongs to it first
    ratings = _preferred_first(values, "ratings_", b_wins)
    docs = _preferred_first(values, "docs_", b_wins)
    lists = _preferred_first(values, "", b_wins)
    log = Preferences(
        lists[:, 0],
        lists[:, 1],
        n_grades=judged.scale.n_grades,
        grade_names=judged.scale.names,
        tie=ties if ties.any() else None,
        swapped=None if swapped is None else swapped ^ b_wins,
        docs=docs,
        **values,
    )
    if ratings is not None:
        log = with_ratings(log, ratings)

    # those that count
    if reasons is None:
        reasons = reasons_of(log.id, supersedes, codes == OPEN)
    counts = reasons == 0
    n_each = np.bincount(reasons, minlength=1 + len(REASONS))[1:].tolist()
    dropped = {reason: n for reason, n in zip(REASONS, n_each, strict=True) if n}
    log = log[counts] if dropped else log

    if not as_is:
        shown = None if swapped is None else swapped[counts]
        check_direction(log, judged.recognised.words or {}, shown, judged.sides)
    return log.changed(dropped=dropped, recognised=judged.recognised, as_is=as_is)


def _preferred_first(values: dict[str, Any], kind: str, b_wins: Flags) -> Any:
    """Take what both lists have of some kind, and return that of the preferred one first.

    Its shape is (n, 2), or (n, 2, K) for grades.
    """
    both = [values.pop(name) for name in (f"{kind}a", f"{kind}b") if name in values]
    if len(both) == 1:
        raise InputError(f"{kind}a and {kind}b go together: one of the two is missing")
    if not both:
        return None
    place = np.column_stack([b_wins, ~b_wins]).astype(np.intp)
    return np.stack(both, axis=1)[np.arange(len(place))[:, None], place]


def reasons_of(ids: Any, supersedes: Any, is_open: Flags) -> Grades:
    """Return why each row does not count, shape (n,): a number of `REASONS` from 1, else 0.

    Of rows with one id the first counts, unless another supersedes it. A row without a winner that
    supersedes another withdraws it.
    """
    reasons = is_open.astype(np.int8)
    if ids is None or supersedes is None:
        return reasons
    name, target = (pl.Series(x, dtype=pl.String).fill_null("") for x in (ids, supersedes))

    # the last reason that is written is the first
    reasons[((target != "") & pl.Series(is_open)).to_numpy()] = 4
    reasons[((name != "") & name.is_in(target.implode())).to_numpy()] = 3
    reasons[((name != "") & ~name.is_first_distinct()).to_numpy()] = 2
    return reasons
