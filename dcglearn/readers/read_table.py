"""Judgements from any input as checked columns: files, data frames, records."""

from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import (
    Counts,
    Fields,
    Flags,
    Floats,
    Grades,
    InputError,
    PathLike,
    PolarsFrame,
    as_path,
    errors_in,
)
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.readers.column_roles import (
    PREFERENCE,
    RATING,
    ColumnsByRole,
    Roles,
    Table,
    by_role,
    used_columns,
)
from dcglearn.readers.cutoffs import cut_points
from dcglearn.readers.grade_scale import agreed, check_levels, naming_scale, with_stated
from dcglearn.readers.line_formats import Source
from dcglearn.readers.long_tables import KeptLines, open_shaped, remarks_on
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import log_files, name_of, opener_of
from dcglearn.readers.rated_lists import pairs_of_ratings, with_ratings
from dcglearn.readers.shown_order import check_first, names_of_lists, remarks_on_letters, with_lists
from dcglearn.readers.superseded import COUNTS, REASONS, reasons_of
from dcglearn.readers.upside_down import (
    CHECKED_PAIRS,
    Reversal,
    check_sense,
    exchanged,
    sampled,
    turned,
)
from dcglearn.readers.winner_words import WINNERS, Winners, by_sign


@dataclass(frozen=True)
class Recognised(Finding):
    """What a reader recognised: the form of the input, columns with and without roles, winners.

    `remarks` are on lines that count and are hardly meant to.
    """

    form: str
    columns: ColumnsByRole
    ignored: tuple[str, ...]
    mapping: LogMapping = field(repr=False)
    winners: Winners | None = None
    remarks: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The form of the input, its columns, and the winners, in words."""
        columns = []
        for role, name in self._names.items():
            columns.append(name if role == name else f"{name} ({role})")
        parts = [f"the log holds {self.form}"]
        if columns:
            parts.append(f"the columns used are {', '.join(columns)}")
        if self.winners is not None:
            parts.append(self.winners.sentence)
        return "; ".join(parts)

    @property
    def table(self) -> PolarsFrame:
        """A row for each column and for each word of a winner, with what it was taken for."""
        rows: list[Fields] = []
        for role, name in self._names.items():
            rows.append({"in_the_log": f"column {name}", "read_as": role})
        rows += [{"in_the_log": f"column {name}", "read_as": "not used"} for name in self.ignored]

        # the words for winners
        words = {} if self.winners is None else self.winners.words
        for word, (meaning, n) in words.items():
            rows.append({"in_the_log": f"winner {word}", "read_as": meaning, "lines": n})
        return table_of(rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on lines, and what names and sides of winners were taken for."""
        return (*self.remarks, *(() if self.winners is None else self.winners.notes))

    @property
    def _names(self) -> dict[str, str]:
        """The column of each role; of several, the first and the last."""
        return {
            role: names if isinstance(names, str) else f"{names[0]} .. {names[-1]}"
            for role, names in self.columns.items()
        }


def read_columns(
    log: Any, roles: Roles, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, Counts, Recognised]:
    """Return the columns of a log by role, see `read_checked`, what was left out and recognised."""
    if skip_bad is not None and is_path(log) and as_path(skip_bad).exists():
        there = [Path(path) for path in log_files(log) if Path(path).exists()]
        if any(path.samefile(skip_bad) for path in there):
            raise InputError(
                f"{skip_bad}: the bad lines would replace the log itself; name another file"
            )

    # open the log, with the scale that it states
    name, open_with = opener_of(log, roles, mapping)
    with errors_in(name):
        source = open_shaped(open_with, roles, mapping)

    # its columns, whose grades have to be a scale
    mapping = with_stated(name, source, mapping)
    with errors_in(name):
        mapping = _with_cut_points(source, mapping)
    with naming_scale(source, mapping):
        table, dropped, remarks = columns_of(name, source, mapping, skip_bad)
    mapping = agreed(name, source, table, mapping)
    remarks = (*remarks, *check_levels(name, source, table, mapping))
    remarks += remarks_on_letters(table)
    return table, dropped, replace(_recognised(source, table, mapping), remarks=remarks)


def _with_cut_points(source: Source, mapping: LogMapping) -> LogMapping:
    """Return the mapping with the points at which the grades of a log are cut into levels."""
    if mapping.cutoffs is None or mapping.scale is not None:
        return mapping
    cells = (record.get(role) or () for _, record in source.readable() for role in source.lists)
    return mapping.updated(cutoffs=cut_points(mapping.cutoffs, chain.from_iterable(cells)))


def read_pairs(
    kind: type[AnyLog], log: Any, mapping: LogMapping, skip_bad: PathLike | None = None
) -> AnyLog:
    """Return a log of preferences of some kind, with what was left out and recognised."""
    table, dropped, recognised = preference_columns(log, mapping, skip_bad)
    pairs = log_of_table(kind, table, dropped, recognised.mapping)
    return pairs.changed(recognised=recognised)


def preference_columns(
    log: Any, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, Counts, Recognised]:
    """Return what `read_columns` does of a log of preferences that does not seem upside down."""
    table, dropped, recognised = read_columns(log, PREFERENCE, mapping, skip_bad)
    with errors_in(name_of(log) if is_path(log) else "the log"):
        check_table(table, recognised.mapping)
    return table, dropped, recognised


def check_table(table: Table, mapping: LogMapping, grades_remedy: str = "") -> None:
    """Raise UpsideDownError if winners or grades seem reversed, unless the mapping is `as_is`.

    `grades_remedy` says how to reverse the grades, where no option of the mapping does.
    """
    if mapping.as_is:
        return

    # a sample of the rows
    step = len(table["a"]) // CHECKED_PAIRS + 1
    table = {role: values[::step] for role, values in table.items()}
    log = log_of_table(PreferencePairs, table, {}, mapping)

    # the log with its grades reversed, and with its winners swapped
    winners, swapped = table["winner"], table.get("swapped")
    reversals = [
        _grades_turned(log, mapping, grades_remedy),
        _winners_exchanged(log, winners, mapping),
    ]
    if swapped is None:
        check_sense(log, reversals)
        return

    # and with the winner swapped where b was shown first
    b_first = (swapped > 0) & (winners.codes < WINNERS["tie"])
    flipped_winners = replace(winners, codes=np.where(b_first, 1 - winners.codes, winners.codes))
    flipped = log_of_table(PreferencePairs, {**table, "winner": flipped_winners}, {}, mapping)
    other_setting = "listed" if winners.sides else "shown"
    remedy = f"sides={other_setting!r} (dcglearn convert --sides {other_setting})"
    sides = Reversal("With sides told the other way", flipped, remedy)
    check_sense(log, [*reversals, sides], (flipped.preferred != log.preferred).any(axis=1))

    # warn of raters who always name one side
    if 0 < np.count_nonzero(swapped) < len(swapped):
        check_first(log.decided, translated=bool(winners.sides))


def _grades_turned(log: PreferencePairs, mapping: LogMapping, told: str = "") -> Reversal:
    """Return the reversal of the grades, and its remedy: an option, or other words."""
    name = "With the grades turned round"
    if told:
        return Reversal(name, turned(log), told)
    if mapping.best_grade is not None:
        return Reversal(name, turned(log), "leave best_grade out")

    # the grade that is the worst now
    lowest = min(int(grades[grades >= 0].min(initial=1)) for grades in (log.preferred, log.other))
    best = str(lowest) if mapping.scale is None else mapping.scale[0]
    told = f"best_grade={best!r} (dcglearn convert --best-grade {best})"
    return Reversal(name, turned(log), told)


def _winners_exchanged(log: PreferencePairs, winners: Winners, mapping: LogMapping) -> Reversal:
    """Return the reversal of the winners, and how it is told."""
    name = "With the winners exchanged"
    other = {"a": "b", "b": "a", "left": "right", "right": "left"}
    if mapping.positive is not None:
        side = other[mapping.positive]
        told = f"positive={side!r} (dcglearn convert --positive {side})"
        return Reversal(name, exchanged(log), told)

    # words with their strengths
    own = {}
    for word, (meaning, _) in winners.words.items():
        strength = mapping.own_words.strengths.get(word.lower())
        if meaning in other:
            own[word] = other[meaning] + ("" if strength is None else f":{strength:g}")
    words = ",".join(f"{word}={meaning}" for word, meaning in own.items())
    told = f'winner_words="{words}" (dcglearn convert --winner-words "{words}")'
    return Reversal(name, exchanged(log), told)


def read_rated(
    kind: type[AnyLog],
    log: Any,
    mapping: LogMapping,
    skip_bad: PathLike | None = None,
    *,
    equal_groups: bool = False,
) -> AnyLog:
    """Return the pairs that a log of ratings implies, as a log of some kind; see `read_ratings`."""
    name = name_of(log) if is_path(log) else "the ratings"
    table, dropped, recognised = read_columns(log, RATING, mapping, skip_bad)
    mapping = recognised.mapping
    pairs = pairs_of_ratings(kind, name, table, mapping, equal_groups=equal_groups)

    # refuse ratings or grades that seem reversed
    if not mapping.as_is:
        some, _ = sampled(pairs)
        remedy = "negate them if small ones are good"
        negated = Reversal("With the ratings turned round", exchanged(some), remedy)
        with errors_in(name):
            check_sense(some, [_grades_turned(some, mapping), negated])
    dropped = {**dropped, **pairs.dropped}
    return pairs.changed(dropped=dropped, recognised=recognised, as_is=mapping.as_is)


def log_of_table(
    kind: type[AnyLog],
    table: Table,
    dropped: Counts,
    mapping: LogMapping,
    reasons: Grades | None = None,
) -> AnyLog:
    """Return the log in columns by role, preferred lists first.

    What is left out is counted, by `reasons` if given.
    """
    # who wins
    table = dict(table)
    winner, a, b = table.pop("winner").codes, table.pop("a"), table.pop("b")
    swap, tie, is_open = (winner == WINNERS[word] for word in ("b", "tie", "open"))

    def by_preference(name: str) -> NDArray[Any] | None:
        first, second = (table.pop(f"{name}_{side}", None) for side in ("a", "b"))
        if first is None or second is None:
            return None
        return np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])

    # columns that the log holds in another way
    if ("ratings_a" in table) != ("ratings_b" in table):
        raise InputError("ratings_a and ratings_b go together: one of the two is missing")
    docs, ratings = by_preference("docs"), by_preference("ratings")
    ids, supersedes = table.get("id"), table.pop("supersedes", None)
    if "swapped" in table:
        table["swapped"] = (table["swapped"] > 0) ^ swap

    # the log of all lines, preferred lists first
    log = kind(
        _rows_where(swap, b, a),
        _rows_where(swap, a, b),
        n_grades=mapping.n_grades,
        tie=tie if tie.any() else None,
        grade_names=mapping.scale,
        docs=docs,
        **table,
    ).changed(as_is=mapping.as_is)
    if ratings is not None:
        log = with_ratings(log, ratings)

    # lines that are open, superseded or repeat an id
    if reasons is None and ids is not None and supersedes is not None:
        reasons = reasons_of(ids, supersedes, is_open)
    counts = ~is_open

    # count those that are left out
    if reasons is not None:
        counts &= reasons == COUNTS
        is_open &= reasons == COUNTS
        n_out = {reason: int((reasons == number).sum()) for number, reason in REASONS.items()}
        dropped = {**{reason: n for reason, n in n_out.items() if n}, **dropped}
    if is_open.any():
        dropped = {"open questions": int(is_open.sum()), **dropped}
    return (log if counts.all() else log[counts]).changed(dropped=dropped)


def _rows_where(chosen: Flags, first: Grades, second: Grades) -> Grades:
    """Return rows of `first` where chosen, else of `second`; each is copied as one item."""
    row = np.dtype((np.void, first.shape[1]))
    items = [np.ascontiguousarray(lists).view(row)[:, 0] for lists in (first, second)]
    return np.where(chosen, *items).view(np.int8).reshape(first.shape)


def columns_of(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, Counts, tuple[str, ...]]:
    """Return the columns of a source by role, the counts of what was left out, and remarks.

    The remarks are on lines that count but were probably not meant to.
    """
    from dcglearn.readers.cells import read_checked

    # names of the lists, and numbers of sides, are words for winners
    if mapping.positive is None and "winner" in source.roles:
        words = names_of_lists(source)
        if source.has("swapped"):
            told = {"1", "2"} & mapping.own_words.codes.keys()
            words = {} if told else {"1": "left", "2": "right"}
        mapping = mapping.updated(winner_words={**words, **mapping.own_words.meanings()} or None)
    table, dropped = read_checked(name, source, mapping, skip_bad)

    # what was left out, and what counts though it is hardly meant to
    if isinstance(source, KeptLines):
        dropped = {**source.left_out(), **dropped}
    remarks = remarks_on(table, source)
    if "id" in table and source.has("supersedes"):
        table.setdefault("supersedes", np.full(len(table["id"]), ""))

    # grades and winners as the log means them
    if mapping.best_grade is not None:
        _turn(table, source, int(mapping.best_grade), mapping.n_grades)
    if "winner" in table:
        _tell_winners(table, source, mapping)
    return table, dropped, remarks


def _tell_winners(table: Table, source: Source, mapping: LogMapping) -> None:
    """Make winners of numbers with a sign, and lists of sides of the screen; add the strengths."""
    # the lists that win
    strength: Floats | None
    if mapping.positive is not None:
        table["winner"], strength = by_sign(table["winner"], mapping.positive, mapping.middle)
    else:
        winners = with_lists(table["winner"], table.get("swapped"), source, mapping.sides)
        table["winner"] = replace(winners, names=source.said)
        strength = winners.strength

    # how strong the preferences are
    if strength is None:
        return
    if "strength" in table:
        raise InputError(
            "positive= takes the strength from the winner's number, winner_words= from its word: "
            "drop the column of strengths"
        )
    table["strength"] = strength


def _turn(table: Table, source: Source, best: int, n_grades: int | None) -> None:
    """Turn the grades round, so that the worst is 0."""
    lists = {role: table[role] for role in source.lists}
    largest = max((int(grades.max(initial=0)) for grades in lists.values()), default=0)
    worst = largest if n_grades is None else best + n_grades - 1
    for role, grades in lists.items():
        table[role] = np.where(grades < 0, grades, worst - grades).astype(np.int8)


def _recognised(source: Source, table: Table, mapping: LogMapping) -> Recognised:
    """Return what was recognised in a source."""
    # the columns that have roles
    columns = by_role(source.names, source.table_roles) if source.names else {}
    used = used_columns(columns)
    ignored = tuple(name for name in source.names if name not in used)

    # the winners, unless numbers stand for them
    winners = table.get("winner")
    if not isinstance(winners, Winners):
        winners = None
    return Recognised(source.form, columns, ignored, mapping, winners)
