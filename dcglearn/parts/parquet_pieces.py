"""Parquet files of a log in pieces of bounded size, each read with its file's name in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dcglearn.foundation.validation import MAX_GRADES, Fields, Grades, InputError, PolarsFrame
from dcglearn.logs.columns import COLUMNS
from dcglearn.parts.parted_log import checked_scale, facts_of, joined
from dcglearn.reading.preferences import Preferences

PARQUET = "**/*.parquet"
"""The files of a folder that belong to a log."""

PIECE = 1 << 20
"""Largest number of pairs in a piece of a log."""

MARKS = ("id", "supersedes", "winner")
"""The columns that tell which rows of a log do not count."""


@dataclass(frozen=True)
class Piece:
    """Some rows of some files, `n` in all; each slice is a file, its first row, and a number.

    `reasons` says why rows of a log with superseded verdicts do not count, shape (n,).
    """

    slices: tuple[tuple[str, int, int], ...]
    n: int
    reasons: Grades | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """What messages call it: file and first row."""
        path, first, _ = self.slices[0]
        return path if not first else f"{path} from row {first + 1:,} on"


def refuse_options_of_whole(options: Mapping[str, Any]) -> None:
    """Raise InputError for options that need the whole log."""
    if options.get("pad") and options.get("depth") is None:
        raise InputError("pad of a log in many parts needs a depth (depth=) to fill the lists to")
    if options.get("skip_bad") is not None:
        raise InputError("skip_bad= needs the whole log in memory; dcglearn convert has it")


def pieces(files: Sequence[str], options: Fields, size: int = PIECE) -> list[Piece]:
    """Cut files into pieces of at most about `size` rows; raise InputError naming a bad file."""
    import polars as pl

    sizes = [scanned(path).select(pl.len()).collect().item() for path in files]
    n = sum(sizes)
    if not n:
        others = " and the others hold" if len(files) > 1 else " holds"
        raise InputError(f"{files[0]}{others} no row")

    # slices of files up to each end of a piece
    ends = np.linspace(0, n, -(-n // size) + 1).astype(int)[1:].tolist()
    cut: list[Piece] = []
    slices: list[tuple[str, int, int]] = []
    held = before = 0

    for path, rows in zip(files, sizes, strict=True):
        first = 0
        while first < rows:
            taken = min(rows - first, ends[len(cut)] - before)
            slices.append((path, first, taken))
            first, before, held = first + taken, before + taken, held + taken
            if before == ends[len(cut)]:
                cut.append(Piece(tuple(slices), held))
                slices, held = [], 0

    # rows that do not count
    frames = [scanned(path) for path in files]
    if supersede(frames, options):
        reasons = reasons_of_parts(roles_of(frame, MARKS, options) for frame in frames)
        starts = np.cumsum([0, *(piece.n for piece in cut)])
        for i, piece in enumerate(cut):
            cut[i] = replace(piece, reasons=reasons[starts[i] : starts[i + 1]])
    return cut


def scanned(path: str) -> Any:
    """Return a Parquet file as a lazy frame; raise InputError if it is none."""
    import polars as pl

    # the schema is read now, the rows later
    frame = pl.scan_parquet(path)
    try:
        frame.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        # another format, or a damaged file
        remedy = "restore it, or leave it out"
        if not path.endswith(".parquet"):
            remedy = (
                "only Parquet is read in parts, and dcglearn convert writes it; or give what "
                "read_preferences returns"
            )
        raise InputError(
            f"{path}: not a Parquet file, or a truncated one ({error}); {remedy}"
        ) from error
    return frame


def roles_of(frame: Any, roles: Sequence[str], options: Fields) -> PolarsFrame:
    """Return the columns that some roles have in a frame, by role."""
    import polars as pl

    from dcglearn.reading.columns import find, own_names
    from dcglearn.reading.contract import JUDGEMENT

    own = own_names(options.get("columns"))
    contract = {role: replace(JUDGEMENT[role], required=False) for role in roles}
    names = frame.lazy().collect_schema().names()
    found = find(names, contract, {role: own[role] for role in roles if role in own})
    columns = [pl.col(its[0]).alias(role) for role, its in found.items()]
    return frame.lazy().select(columns).collect()


def supersede(frames: Iterable[Any], options: Fields) -> bool:
    """Return whether a frame has a column of superseded verdicts."""
    return any(roles_of(frame.head(0), ["supersedes"], options).width for frame in frames)


def reasons_of_parts(parts: Iterable[PolarsFrame]) -> Grades:
    """Return why rows of a log in parts do not count, given their `MARKS`; see `reasons_of`."""
    import polars as pl

    from dcglearn.reading.read import reasons_of
    from dcglearn.reading.texts import text

    texts = [pl.DataFrame([text(column) for column in part]) for part in parts]
    whole = pl.concat(texts, how="diagonal")
    is_open = (whole["winner"].str.to_lowercase() == "open").to_numpy()
    return reasons_of(whole.to_dict().get("id"), whole["supersedes"], is_open)


def scale_of(frames: Sequence[Any], options: Fields) -> Any:
    """Return the scale that options give, or that columns `scale` state, one in all frames."""
    import polars as pl

    from dcglearn.reading.scale import Scale
    from dcglearn.reading.texts import text

    found = [roles_of(frame, ["scale"], options) for frame in frames]
    columns = [text(frame["scale"]).unique(maintain_order=True) for frame in found if frame.width]
    stated = pl.concat(columns) if columns else None
    return Scale.of(options.get("scale"), options.get("n_grades"), stated)


def read_piece(piece: Piece, options: Fields) -> Preferences:
    """Return the log in a piece."""
    import polars as pl

    from dcglearn.reading.tables import Table

    logs, before = [], 0
    for path, first, n in piece.slices:
        try:
            frame = scanned(path).slice(first, n).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(
                f"{path}: damaged in the rows from {first + 1:,} on ({error}); restore the file or "
                "leave it out"
            ) from error

        # rows have the numbers that they have in their files
        table = Table(frame, [(path, first + n)], np.arange(first, first + n))
        reasons = None if piece.reasons is None else piece.reasons[before : before + n]
        logs.append(preferences_of(table, options, reasons))
        before += n

    # as one log
    facts = [facts_of(log) for log in logs]
    held = [log for log in logs if len(log)] or logs[:1]
    log = held[0]
    if len(held) > 1:
        checked_scale(facts, [path for path, _, _ in piece.slices], None)
        log = joined(held, max(log.n_grades for log in held), log.grade_names)
    return log.changed(dropped=reduce(add, facts).dropped)


def preferences_of(table: Any, options: Fields, reasons: Grades | None = None) -> Preferences:
    """Return the log in a table, with the columns that learners use; see `log_of`."""
    from dcglearn.reading.read import judgements_of, log_of

    kept = {name: value for name, value in options.items() if name not in ("as_is", "skip_bad")}
    if kept.get("n_grades") is None:
        kept["n_grades"] = MAX_GRADES  # whether the grades are a scale, all parts together tell
    judged = judgements_of(table, **kept)
    log = log_of(judged, as_is=True, reasons=reasons)
    return log.changed(**{name: None for name, about in COLUMNS.items() if not about.learned})


def check_levels(grades: Any) -> None:
    """Raise InputError if the grades of a log, counted from 0, are no scale."""
    from dcglearn.reading.scale import stray_grade

    stray = stray_grade(grades)
    if stray is not None:
        _, problem, remedy = stray
        raise InputError(f"{problem}; {remedy}", see="grades")
