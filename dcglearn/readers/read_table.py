"""Judgements from any input as checked columns: files, data frames, records."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.inputs import is_path, refuse_beyond_memory
from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.sources import PARTS, contents, kind_of, parquet_rows
from dcglearn.foundation.validation import (
    Grades,
    InputError,
    PathLike,
    PolarsFrame,
    as_path,
    errors_in,
    is_frame,
    is_records,
)
from dcglearn.logs.preference_pairs import AnyLog, PreferencePairs
from dcglearn.logs.repeats import COUNTS, REASONS, reasons_of
from dcglearn.readers.annotations import annotated, is_export
from dcglearn.readers.cutoffs import cut_points
from dcglearn.readers.frames import PAIR_NAMES, RATING_NAMES, named, polars_frame
from dcglearn.readers.grade_checks import check_levels, proposing_scale
from dcglearn.readers.joined_files import Files, log_files, name_of
from dcglearn.readers.kept_lines import KeptLines, remarks_on
from dcglearn.readers.line_formats import (
    FrameRows,
    JsonLines,
    Opener,
    Records,
    Reshaped,
    Source,
    TextLines,
    is_spread,
)
from dcglearn.readers.long_tables import open_shaped
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.proposals import finding_columns, proposing
from dcglearn.readers.rated_lists import pairs_of_ratings
from dcglearn.readers.rating_texts import with_ratings
from dcglearn.readers.roles import PREFERENCE, RATING, ColumnsByRole, Role, Table, by_role, names_in
from dcglearn.readers.sense import (
    SAMPLE,
    Reversal,
    check_first,
    check_sense,
    exchanged,
    sampled,
    turned,
)
from dcglearn.readers.sides import names_of_lists, with_lists
from dcglearn.readers.stated_scale import agreed, with_stated
from dcglearn.readers.winner_words import WINNERS, Winners, by_sign

PARSED = {"json": 11.0, "text": 18.0, "array": 25.0}
"""Bytes of memory that reading takes for each byte of a file, at most, by its form: measured on
short lines.
"""

LONGEST_LINE = 1 << 22
"""Most bytes of a line: a judgement of thousands of positions is far shorter, and parsing takes 64
times as many.
"""


@dataclass(frozen=True)
class Recognised:
    """What a reader recognised: the form of the input, the columns by role, those without a role,
    and winners.

    `remarks` are on lines that count and are hardly meant to.
    """

    form: str
    columns: ColumnsByRole
    ignored: tuple[str, ...]
    mapping: LogMapping
    winners: Winners | None = None
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{name}: {one_line(text)}" for name, text in self.lines().items())

    def lines(self) -> dict[str, str]:
        """Return what was recognised, in words."""
        span = {
            role: x if isinstance(x, str) else f"{x[0]} .. {x[-1]}"
            for role, x in self.columns.items()
        }
        return {
            **({"remark": "; ".join(self.remarks)} if self.remarks else {}),
            "form": self.form,
            "columns": ", ".join(
                role if role == name else f"{role} = {name}" for role, name in span.items()
            ),
            **({"not used": ", ".join(self.ignored)} if self.ignored else {}),
            **({"winners": str(self.winners)} if self.winners is not None else {}),
        }


def read_columns(
    log: Any, roles: Mapping[str, Role], mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, dict[str, int], Recognised]:
    """Return the columns of a log by role (see `read_checked`), the counts of what was left out,
    and the form.
    """
    both = skip_bad is not None and is_path(log) and as_path(skip_bad).exists()
    there = [Path(path) for path in log_files(log) if Path(path).exists()] if both else []
    if skip_bad is not None and any(path.samefile(skip_bad) for path in there):
        raise InputError(
            f"{skip_bad}: the bad lines would replace the log itself; name another file"
        )
    name, open_with = opener_of(log, roles, mapping)
    with finding_columns(open_with, roles, mapping):
        with errors_in(name):
            source = open_shaped(open_with, roles, mapping)
        mapping = with_stated(name, source, mapping)
        with errors_in(name):
            if mapping.cutoffs is not None and mapping.scale is None:
                lists = [role for role, about in source.roles.items() if about.kind == "grades"]
                cells = (record.get(role) or () for record in source.readable() for role in lists)
                mapping = mapping.updated(
                    cutoffs=cut_points(mapping.cutoffs, chain.from_iterable(cells))
                )
        with proposing_scale(source, mapping):
            table, dropped, remarks = _columns_of(name, source, mapping, skip_bad)
        mapping = agreed(name, source, table, mapping)
        check_levels(name, source, table, mapping)
    return table, dropped, replace(_recognised(source, table, mapping), remarks=remarks)


def read_pairs(
    kind: type[AnyLog], log: Any, mapping: LogMapping, skip_bad: PathLike | None = None
) -> AnyLog:
    """Return a log of preferences of some kind, with the counts of what was left out, and the
    form.
    """
    with proposing("read_preferences", log, mapping, skip_bad=skip_bad):
        table, dropped, recognised = read_columns(log, PREFERENCE, mapping, skip_bad)
        mapping = recognised.mapping
        pairs = log_of_table(kind, table, dropped, mapping).changed(recognised=recognised)
        with errors_in(name_of(log) if is_path(log) else "the log"):
            check_table(table, mapping)
    return pairs


def check_table(table: Table, mapping: LogMapping, turn_grades: str = "") -> None:
    """Raise InputError if the log in a table seems upside down, and the mapping does not insist."""
    if mapping.as_is:
        return
    step = len(table["a"]) // SAMPLE + 1
    winners, swapped = table["winner"], table.get("swapped")
    winners = replace(winners, codes=winners.codes[::step])
    table = {
        **{role: values[::step] for role, values in table.items() if role != "winner"},
        "winner": winners,
    }
    log = log_of_table(PreferencePairs, table, {}, mapping)
    ways = [_grades_turned(log, mapping, turn_grades), _winners_exchanged(log, winners, mapping)]
    if swapped is None:
        check_sense(log, ways)
        return
    second = (table["swapped"] > 0) & (winners.codes < WINNERS["tie"])
    of_lists = replace(winners, codes=np.where(second, 1 - winners.codes, winners.codes))
    told = "listed" if winners.sides else "shown"
    other = log_of_table(PreferencePairs, {**table, "winner": of_lists}, {}, mapping)
    sides = Reversal(
        "With sides told the other way", other, f"sides={told!r} (--sides {told})", {"sides": told}
    )
    check_sense(log, [*ways, sides], (other.preferred != log.preferred).any(axis=1))
    if 0 < np.count_nonzero(swapped) < len(swapped):
        check_first(log.decided, translated=bool(winners.sides))


def _grades_turned(log: PreferencePairs, mapping: LogMapping, told: str = "") -> Reversal:
    """Return the reversal of the grades, and how it is told: by an option, or in other words."""
    if told:
        return Reversal("With the grades turned round", turned(log), told)
    lowest = min(int(grades[grades >= 0].min(initial=1)) for grades in (log.preferred, log.other))
    best = str(lowest) if mapping.scale is None else mapping.scale[0]
    told = (
        f"best_grade={best!r} (--best-grade {best})"
        if mapping.best_grade is None
        else "leave best_grade out"
    )
    cure = {"best_grade": best if mapping.best_grade is None else None}
    likely = mapping.best_grade is not None or best == "1"
    return Reversal("With the grades turned round", turned(log), told, cure, likely)


def _winners_exchanged(log: PreferencePairs, winners: Winners, mapping: LogMapping) -> Reversal:
    """Return the reversal of the winners, and how it is told."""
    cure: dict[str, Any]
    other = {"a": "b", "b": "a", "left": "right", "right": "left"}
    if mapping.positive is not None:
        side = other[mapping.positive]
        told, cure = f"positive={side!r} (--positive {side})", {"positive": side}
    else:
        strengths = {
            word: f":{strength:g}" for word, strength in mapping.own_words.strengths.items()
        }
        meanings = {
            word: other[meaning] for word, (meaning, _) in winners.words.items() if meaning in other
        }
        own = {
            word: f"{meaning}{strengths.get(word.lower(), '')}"
            for word, meaning in meanings.items()
        }
        words = ",".join(f"{word}={meaning}" for word, meaning in own.items())
        told, cure = f'winner_words="{words}" (--winner-words "{words}")', {"winner_words": own}
    likely = mapping.positive is not None or mapping.winner_words is not None
    return Reversal("With the winners exchanged", exchanged(log), told, cure, likely)


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
    given = {"skip_bad": skip_bad, "equal_groups": equal_groups or None}
    with proposing("read_ratings", log, mapping, **given):
        table, dropped, recognised = read_columns(log, RATING, mapping, skip_bad)
        mapping = recognised.mapping
        pairs = pairs_of_ratings(kind, name, table, mapping, equal_groups=equal_groups)
        with errors_in(name):
            _check_rated(pairs, mapping)
    return pairs.changed(
        dropped={**dropped, **pairs.dropped}, recognised=recognised, as_is=mapping.as_is
    )


def _check_rated(pairs: PreferencePairs, mapping: LogMapping) -> None:
    """Raise InputError if the pairs of a log of ratings seem upside down (and the mapping does not
    insist).
    """
    if not mapping.as_is:
        some, _ = sampled(pairs)
        negated = Reversal(
            "With the ratings turned round", exchanged(some), "negate them if small ones are good"
        )
        check_sense(some, [_grades_turned(some, mapping), negated])


def log_of_table(
    kind: type[AnyLog],
    table: Table,
    dropped: dict[str, int],
    mapping: LogMapping,
    reasons: Grades | None = None,
) -> AnyLog:
    """Return the log in columns by role, preferred lists first; what is left out is counted, by
    `reasons` if given.
    """
    table = dict(table)
    winner, a, b = table.pop("winner").codes, table.pop("a"), table.pop("b")
    swap, tie, is_open = (winner == WINNERS[word] for word in ("b", "tie", "open"))

    def by_preference(name: str) -> NDArray[Any] | None:
        first, second = (table.pop(f"{name}_{side}", None) for side in ("a", "b"))
        if first is None or second is None:
            return None
        return np.column_stack([np.where(swap, second, first), np.where(swap, first, second)])

    if ("ratings_a" in table) != ("ratings_b" in table):
        raise InputError("ratings_a and ratings_b go together: one of the two is missing")
    docs, ratings = by_preference("docs"), by_preference("ratings")
    table.pop("status", None)
    ids, supersedes = table.pop("id", None), table.pop("supersedes", None)
    if "swapped" in table:
        table["swapped"] = (table["swapped"] > 0) ^ swap
    log = kind(
        np.where(swap[:, None], b, a),
        np.where(swap[:, None], a, b),
        n_grades=mapping.n_grades,
        tie=tie if tie.any() else None,
        grade_names=mapping.scale,
        docs=docs,
        **table,
    )
    log = log.changed(as_is=mapping.as_is)
    if ratings is not None:
        log = with_ratings(log, ratings)
    if reasons is None and ids is not None:
        reasons = reasons_of(
            ids, np.full(len(ids), "") if supersedes is None else supersedes, is_open
        )
    counts = ~is_open
    if reasons is not None:
        counts &= reasons == COUNTS
        is_open &= reasons == COUNTS
        n_out = {reason: int((reasons == number).sum()) for number, reason in REASONS.items()}
        dropped = {**{reason: n for reason, n in n_out.items() if n}, **dropped}
    if is_open.any():
        dropped = {"open questions": int(is_open.sum()), **dropped}
    return (log if counts.all() else log[counts]).changed(dropped=dropped)


def columns_of(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[Table, dict[str, int]]:
    """Return the columns of a source by role, and the counts of what was left out; messages call it
    `name`.
    """
    table, dropped, _ = _columns_of(name, source, mapping, skip_bad)
    return table, dropped


def _columns_of(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None
) -> tuple[Table, dict[str, int], tuple[str, ...]]:
    """Return what `columns_of` does, and remarks on lines that are hardly meant to count."""
    from dcglearn.readers.cells import read_checked

    if mapping.positive is None and "winner" in source.roles:
        words = names_of_lists(source)
        if source.has("swapped"):
            words = (
                {} if {"1", "2"} & mapping.own_words.codes.keys() else {"1": "left", "2": "right"}
            )
        mapping = mapping.updated(winner_words={**words, **mapping.own_words.meanings()} or None)
    table, dropped = read_checked(name, source, mapping, skip_bad)
    if isinstance(source, KeptLines):
        dropped = {**source.left_out(), **dropped}
    remarks = remarks_on(table, source)
    if not source.has("supersedes"):
        table.pop("id", None)
    if mapping.best_grade is not None:
        _turn(table, source, int(mapping.best_grade), mapping.n_grades)
    if "winner" in table:
        _tell_winners(table, source, mapping)
    return table, dropped, remarks


def _tell_winners(table: Table, source: Source, mapping: LogMapping) -> None:
    """Make winners of numbers with a sign, and lists of sides of the screen; take strengths from
    numbers and words.
    """
    strength = None
    if mapping.positive is not None:
        table["winner"], strength = by_sign(table["winner"], mapping.positive, mapping.middle)
    else:
        table["winner"] = with_lists(table["winner"], table.get("swapped"), source, mapping.sides)
        table["winner"] = replace(table["winner"], names=source.said)
        strength = table["winner"].strength
    if strength is not None:
        if "strength" in table:
            problem = (
                "positive= takes the strength from the winner's number, winner_words= from its word"
            )
            raise InputError(f"{problem}: drop the column of strengths")
        table["strength"] = strength


def _turn(table: Table, source: Source, best: int, n_grades: int | None) -> None:
    """Turn the grades round, so that the worst is 0; raise InputError if one is better than the
    best.
    """
    lists = {role: table[role] for role, about in source.roles.items() if about.kind == "grades"}
    largest = max((int(grades.max(initial=0)) for grades in lists.values()), default=0)
    worst = largest if n_grades is None else best + n_grades - 1
    for role, grades in lists.items():
        if ((grades >= 0) & (grades < best)).any():
            raise InputError(
                f"{role} holds the grade 0, better than best_grade={best}; write -1 where it is unknown"
            )
        table[role] = np.where(grades < 0, grades, worst - grades).astype(np.int8)


def opener_of(
    log: Any, roles: Mapping[str, Role], mapping: LogMapping | None = None
) -> tuple[str, Opener]:
    """Return what messages call a path, data frame or sequence of records, and a function that
    opens it by roles.

    A pair of both is returned as it is.
    """
    mapping = mapping or LogMapping()
    if isinstance(log, tuple) and len(log) == 2 and callable(log[1]):
        return log
    if is_frame(log):
        return "data frame", annotated(_of_frame(polars_frame(log)))
    if is_records(log):
        return "records", annotated(
            partial(Records, named(log, PAIR_NAMES if "a" in roles else RATING_NAMES))
        )
    if not is_path(log):
        raise InputError(
            f"a {type(log).__name__} is not a log: give a path, a data frame, or a list of dicts "
            "(dl.Preferences.from_records takes tuples, dl.Preferences arrays of grades)"
        )
    files = dict(
        one
        for path in log_files(log)
        for one in contents(path, encoding=mapping.encoding, sheet=mapping.sheet)
    )
    if len(files) == 1:
        name, data = files.popitem()
        return name, annotated(opener_of_bytes(name, data, mapping))
    needed = sum(PARSED.get(_form_of(name, data), 0.0) * len(data) for name, data in files.items())
    refuse_beyond_memory(needed, f"{name_of(log)}: reading {len(files):,} files", PARTS)
    return name_of(log), Files(
        {name: annotated(opener_of_bytes(name, data, mapping)) for name, data in files.items()}
    )


def records_of(
    log: Any, roles: Mapping[str, Role], mapping: LogMapping | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place of each line, for messages, and its values by role, not yet checked."""
    name, open_with = opener_of(log, roles, mapping)
    with errors_in(name):
        source = open_with(roles)
    for number, item in source:
        with errors_in(place := f"{name}, {source.unit} {number}"):
            record = source.record(item)
        yield place, record


def opener_of_bytes(name: str, data: bytes, mapping: LogMapping | None = None) -> Opener:
    """Return a function that opens the bytes of a file by roles."""
    kind = kind_of(name, data)
    header = (mapping or LogMapping()).header
    if header is not None and kind != "text":
        raise InputError(f"{name}: header= (--header) is for text, such as CSV; leave it out")
    if kind == "parquet":
        return _of_frame(parquet_rows(name, data))
    form = _form_of(name, data)
    refuse_beyond_memory(
        PARSED[form] * len(data), f"{name}: reading its {len(data):,} bytes", PARTS
    )
    if form == "array":
        return partial(Records.of_array, data)
    _refuse_long_line(name, data)
    return (
        partial(JsonLines, data)
        if kind == "json"
        else partial(TextLines, data, header=None if header is None else str(header))
    )


def _form_of(name: str, data: bytes) -> str:
    """Return "array" for a JSON array and for objects over several lines, and the kind of other
    data.
    """
    kind = kind_of(name, data)
    return "array" if re.match(rb"\s*\[", data) or (kind == "json" and is_spread(data)) else kind


def _refuse_long_line(name: str, data: bytes) -> None:
    start = 0
    while len(data) - start > LONGEST_LINE:
        end = data.rfind(b"\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            number = data.count(b"\n", 0, start) + 1
            raise InputError(
                f"{name}, line {number}: more than {LONGEST_LINE >> 20} MB; give one judgement a line"
            )
        start = end + 1


def _of_frame(frame: PolarsFrame) -> Opener:
    return (
        partial(Records, frame.to_dicts())
        if is_export(frame.columns)
        else partial(FrameRows, frame)
    )


def frame_of(name: str, source: Source) -> PolarsFrame:
    """Return the columns of a source by role as a frame; those of lines that are not all alike are
    checked.
    """
    import polars as pl

    from dcglearn.readers.cells import read_checked
    from dcglearn.readers.plain_frames import plain_frame

    frame = plain_frame(source)
    return pl.DataFrame(read_checked(name, source, LogMapping())[0]) if frame is None else frame


def _recognised(source: Source, table: Table, mapping: LogMapping) -> Recognised:
    roles = source.table_roles if isinstance(source, Reshaped) else source.roles
    columns = by_role(source.names, roles) if source.names else {}
    used = names_in(columns)
    ignored, winners = tuple(name for name in source.names if name not in used), table.get("winner")
    return Recognised(
        source.form, columns, ignored, mapping, winners if isinstance(winners, Winners) else None
    )
