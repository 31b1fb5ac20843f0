"""Logs of judgements and of rated lists, of any kind of container, from tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.files import refuse_existing
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Counts, Flags, Grades, InputError, PathLike, listed
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.sides import Sides
from dcglearn.reading.columns import own_names, refuse_unused_order, unused
from dcglearn.reading.contract import JUDGEMENT, QUESTION, RATED_LIST, Contract, Found, plain
from dcglearn.reading.direction import check_direction
from dcglearn.reading.ratings import pairs_of_ratings, with_ratings
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
class Judgements:
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


def read_pairs(
    kind: type[AnyLog],
    data: Any,
    n_grades: int | None = None,
    *,
    as_is: bool = False,
    skip_bad: PathLike | None = None,
    **options: Any,
) -> AnyLog:
    """Return a log of judgements of some kind; options are those of `read_preferences`."""
    judged, dropped = readable(
        data, lambda table: judgements_of(table, n_grades, **options), skip_bad
    )
    log = log_of(kind, judged, as_is=as_is)
    return log.changed(dropped={**dropped, **log.dropped})


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


def judgements_of(
    table: Table,
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[Any] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    winner_words: Mapping[Any, str] | str | None = None,
    sides: str | None = None,
) -> Judgements:
    """Return the judgements of a table; options are those of `read_preferences`."""
    own = own_names(columns)
    found, values, levels, refusals = values_of(table, JUDGEMENT, own, scale, n_grades)
    if not {"swapped", "shown_first"} & {*found, *own}:
        refuse_unused_order(table.frame, found)

    # winners as lists
    swapped = _swapped(values)
    winner = table.frame[found["winner"][0]]
    systems = [table.frame[found[role][0]] for role in ("system_a", "system_b") if role in found]
    winners = winners_of(winner, systems, winner_words, refusals)
    called_left = plain(found["a"][0]).startswith("l")
    codes = lists_meant(winners, swapped, sides, refusals, called_left=called_left)

    # what would be misread, or should be known
    if not systems and "system_a" not in own:
        refuse_named_sides(table.frame, winner, unused(table.frame.columns, found), codes)
    if "status" in found:
        _remark_rejected(table.frame[found["status"][0]], refusals)
    if swapped is None and "rater" in values:
        _remark_one_sided(values["rater"], codes, refusals)
    refusals.check()

    # strengths by word, and lists of one length
    if winners.strength is not None:
        if "strength" in values:
            raise InputError("winner_words have strengths, and so has a column; give one of both")
        values["strength"] = winners.strength
    values["a"], values["b"] = fitted([values["a"], values["b"]], depth, pad=pad)
    recognised = recognised_in(table, found, refusals, winners.words)
    return Judgements(values, codes, swapped, levels, recognised, sides)


def read_lists(
    data: Any,
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[Any] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    contract: Contract = QUESTION,
) -> tuple[dict[str, Any], Scale, Recognised]:
    """Return the values of pairs of lists that could be judged, by role, and their scale."""
    table = table_of(data)
    found, values, levels, refusals = values_of(
        table, contract, own_names(columns), scale, n_grades
    )
    refusals.check()
    values["a"], values["b"] = fitted([values["a"], values["b"]], depth, pad=pad)
    return values, levels, recognised_in(table, found, refusals)


def read_rated(
    kind: type[AnyLog],
    data: Any,
    n_grades: int | None = None,
    *,
    depth: int | None = None,
    pad: bool = False,
    scale: Sequence[Any] | str | None = None,
    columns: Mapping[str, str] | str | None = None,
    as_is: bool = False,
    skip_bad: PathLike | None = None,
    equal_groups: bool = False,
) -> AnyLog:
    """Return the pairs that a log of rated lists implies; options are those of `read_ratings`."""

    def read(table: Table) -> tuple[str, dict[str, Any], Scale, Recognised]:
        found, values, levels, refusals = values_of(
            table, RATED_LIST, own_names(columns), scale, n_grades
        )
        refusals.check()
        if "status" in found:
            _remark_rejected(table.frame[found["status"][0]], refusals)
        return table.name, values, levels, recognised_in(table, found, refusals)

    # pairs of lists of different ratings
    (name, values, levels, recognised), dropped = readable(data, read, skip_bad)
    values["list"] = fitted([values["list"]], depth, pad=pad)[0]
    pairs = pairs_of_ratings(
        kind, name, values, levels.names, levels.n_grades, equal_groups=equal_groups
    )
    if not as_is:
        check_direction(pairs, {})
    dropped |= pairs.dropped
    return pairs.changed(recognised=recognised, as_is=as_is, dropped=dropped)


def recognised_in(
    table: Table,
    found: Found,
    refusals: Refusals,
    words: Mapping[str, tuple[str, int]] | None = None,
) -> Recognised:
    """Return which columns of a table were used, what words for winners mean, and remarks."""
    return Recognised(found, unused(table.frame.columns, found), words, refusals.remarks)


def _swapped(values: dict[str, Any]) -> Flags | None:
    """Take whether b was shown first, of the one column that tells it."""
    told = [values.pop(role) for role in ("swapped", "shown_first") if role in values]
    if len(told) > 1:
        raise InputError(
            "two columns tell what was shown first; columns={'shown_first': ''} ignores one"
        )
    return told[0] if told else None


def _remark_rejected(status: pl.Series, refusals: Refusals) -> None:
    """Remark rows whose status says that they were not accepted."""
    rejected = text(status).str.to_lowercase().is_in(REJECTED)
    if rejected.any():
        refusals.remarks.append(
            f"{rejected.sum():,} rows count whose {status.name} is "
            f"{status.filter(rejected)[0]!r}; see the recipe 'Rejected and repeated rows'"
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
    kind: type[AnyLog], judged: Judgements, *, as_is: bool = False, reasons: Grades | None = None
) -> AnyLog:
    """Return a log of judgements, preferred lists first, as a container of some kind.

    Open questions and superseded verdicts are left out and counted, by `reasons_of` or by the
    `reasons` given, shape (n,). Raise UpsideDownError if it seems reversed, unless it is taken
    `as_is`.
    """
    values, codes, swapped = dict(judged.values), judged.winner, judged.swapped
    b_wins, ties = codes == B, codes == TIE
    supersedes = values.pop("supersedes", None)

    # what stands beside the lists, the preferred ones first
    if ("ratings_a" in values) != ("ratings_b" in values):
        raise InputError("ratings_a and ratings_b go together: one of the two is missing")
    ratings = _both(values, "ratings_a", "ratings_b", b_wins)
    docs = _both(values, "docs_a", "docs_b", b_wins)

    # all rows
    a, b, flip = values.pop("a"), values.pop("b"), b_wins[:, None]
    log = kind(
        np.where(flip, b, a),
        np.where(flip, a, b),
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
    left_out = {reason: int((reasons == code).sum()) for code, reason in enumerate(REASONS, 1)}
    dropped = {reason: n for reason, n in left_out.items() if n}
    log = log if counts.all() else log[counts]

    if not as_is:
        shown = None if swapped is None else swapped[counts]
        check_direction(log, judged.recognised.words or {}, shown, judged.sides)
    return log.changed(dropped=dropped, recognised=judged.recognised, as_is=as_is)


def _both(values: dict[str, Any], a: str, b: str, b_wins: Flags) -> Any:
    """Take a text of both lists, and return that of the preferred one first, shape (n, 2)."""
    first, second = values.pop(a, None), values.pop(b, None)
    if first is None or second is None:
        return None
    return np.column_stack([np.where(b_wins, second, first), np.where(b_wins, first, second)])


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
