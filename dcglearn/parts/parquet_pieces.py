"""Parquet files of a log in pieces of bounded size, each read with its file's name in messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.sources import plain_types
from dcglearn.foundation.validation import Grades, InputError, PolarsFrame, errors_in
from dcglearn.parts.parted_log import Facts, checked_scale, facts_of, joined
from dcglearn.readers.column_roles import PREFERENCE, ColumnsByRole, by_role
from dcglearn.readers.grade_scale import agreed, check_scale, is_stray, place_of, with_stated
from dcglearn.readers.line_formats import FrameRows
from dcglearn.readers.long_tables import open_shaped
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.openers import opener_of
from dcglearn.readers.read_table import columns_of, log_of_table
from dcglearn.readers.shown_order import refuse_orders
from dcglearn.readers.superseded import RowMarks, marks_of, reasons_of_parts
from dcglearn.reading.preferences import Preferences

if TYPE_CHECKING:
    import pyarrow.parquet as pq

PARQUET = "**/*.parquet"
"""The files of a folder that belong to a log."""

PIECE = 1 << 20
"""Approximate number of pairs in a piece of a log."""

BATCH = 1 << 16
"""Rows decoded at a time: lists of 64-bit integers take eight times the memory of their codes."""


@dataclass(frozen=True)
class Piece:
    """Some row groups of some files, `n` rows in all.

    Each slice is a file, numbers of row groups, and the number of rows before the first group.
    `reasons` says of the files of a log with superseded verdicts which rows do not count, shape
    (rows of the file,).
    """

    slices: tuple[tuple[str, list[int], int], ...]
    n: int
    reasons: dict[str, Grades] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it: file and first row."""
        path, _, before = self.slices[0]
        return path if not before else f"{path} from row {before + 1:,} on"


def are_plain(files: Sequence[str], mapping: LogMapping) -> bool:
    """Return whether the rows of the first file are judgements as they stand.

    Tables of other shapes, such as probabilities or winners by name, are read whole.
    """
    import polars as pl

    # a file that cannot be read is named where it is read
    roles = mapping.roles(PREFERENCE)
    with contextlib.suppress(pl.exceptions.PolarsError, OSError, InputError):
        frame = pl.read_parquet(files[0], n_rows=1_000)
        source = open_shaped(opener_of(frame, PREFERENCE)[1], PREFERENCE, mapping)
        as_stored = source.roles == roles and source.names == frame.columns
        return isinstance(source, FrameRows) and as_stored
    return True


def mapping_of_parts(n_grades: int | None, options: ReadingOptions) -> LogMapping:
    """Return the options of `read_preferences` for a log in parts.

    Raise InputError for those that need the whole log where nothing stands in for it.
    """
    mapping = LogMapping.of(n_grades, **options)
    if mapping.pad and mapping.depth is None:
        raise InputError("pad of a log in many parts needs a depth (depth=) to fill the lists to")

    if mapping.positive is not None and mapping.middle is None:
        raise InputError("positive of a log in parts needs the number that means a tie (middle=0)")

    if mapping.best_grade is not None and mapping.n_grades is None:
        raise InputError(
            "best_grade of a log in many parts needs the number of grades (n_grades=, --grades)"
        )
    return mapping


def pieces(files: Sequence[str], mapping: LogMapping, size: int = PIECE) -> list[Piece]:
    """Cut files into pieces of whole row groups, about `size` rows each.

    Raise InputError naming a bad file.
    """
    cut: list[Piece] = []
    slices: list[tuple[str, list[int], int]] = []
    held = 0
    for path in files:
        # rows of each row group
        with opened(path, mapping) as (file, _):
            groups = range(file.metadata.num_row_groups)
            sizes = [file.metadata.row_group(group).num_rows for group in groups]

        # begin a piece where the last is full, and a slice in each file
        before = 0
        for group, n in enumerate(sizes):
            if held and held + n > size:
                cut.append(Piece(tuple(slices), held))
                slices, held = [], 0
            if n:
                if not slices or slices[-1][0] != path:
                    slices.append((path, [], before))
                slices[-1][1].append(group)
            held += n
            before += n
    if held:
        cut.append(Piece(tuple(slices), held))

    if not cut:
        others = " and the others hold" if len(files) > 1 else " holds"
        raise InputError(f"{files[0]}{others} no row")

    # rows that do not count
    reasons = _reasons(files, mapping)
    if reasons:
        for i, piece in enumerate(cut):
            cut[i] = replace(piece, reasons={path: reasons[path] for path, _, _ in piece.slices})
    return cut


def _reasons(files: Sequence[str], mapping: LogMapping) -> dict[str, Grades]:
    """Return which rows of each file do not count; empty if no file has a column `supersedes`."""
    roles: dict[str, dict[str, str]] = {}
    for path in files:
        with opened(path, mapping) as (_, columns):
            roles[path] = {role: name for role, name in columns.items() if isinstance(name, str)}
    if not any("supersedes" in columns for columns in roles.values()):
        return {}
    marks = (_marks(path, columns, mapping) for path, columns in roles.items())
    return dict(zip(files, reasons_of_parts(marks), strict=True))


def _marks(path: str, columns: dict[str, str], mapping: LogMapping) -> RowMarks:
    """Return the ids of a file's rows, those that they supersede, and whether they are open."""
    import polars as pl

    with opened(path, mapping) as (file, _):
        return marks_of(lambda names: pl.DataFrame(file.read(columns=names)), columns)


@contextlib.contextmanager
def opened(path: str, mapping: LogMapping) -> Iterator[tuple[pq.ParquetFile, ColumnsByRole]]:
    """Open a Parquet file; yield it and its columns.

    Raise InputError unless it is a whole file of a log.
    """
    remedy = ""
    if not path.endswith(".parquet"):
        remedy = (
            "only Parquet is read in parts, and dcglearn convert writes it; or give what "
            "read_preferences returns"
        )
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        needs = "Parquet in parts needs pyarrow: pip install 'dcglearn[dask]'"
        raise InputError(f"{path}: {remedy or needs}") from error

    # the file
    try:
        file = pq.ParquetFile(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        reason = f"not a Parquet file, or a truncated one ({error})"
        raise InputError(f"{path}: {'; '.join(filter(None, [reason, remedy]))}") from error

    # its columns
    with file:
        with errors_in(path):
            roles = mapping.roles(PREFERENCE)
            columns = by_role(file.schema_arrow.names, roles)
            refuse_orders(file.schema_arrow.names, roles)
        yield file, columns


def batches(piece: Piece, mapping: LogMapping) -> Iterator[tuple[str, Preferences]]:
    """Yield the file's name and the log of up to `BATCH` rows at a time of a piece.

    An InputError names the file too.
    """
    import polars as pl
    import pyarrow as pa

    read = {role for role, about in PREFERENCE.items() if about.learned or about.required}
    for path, groups, before in piece.slices:
        with opened(path, mapping) as (file, roles):
            # the columns that learners use
            columns: list[str] = []
            for role, names in roles.items():
                if role in read:
                    columns += [names] if isinstance(names, str) else names

            # batches of rows, less those that do not count
            reasons = piece.reasons.get(path)
            row = before
            try:
                for batch in file.iter_batches(
                    BATCH, row_groups=groups, columns=columns, use_threads=False
                ):
                    # row groups may be empty
                    if batch.num_rows:
                        frame: Any = pl.from_arrow(batch)
                        of_rows = None if reasons is None else reasons[row : row + batch.num_rows]
                        yield path, preferences_of(frame, path, mapping, row + 1, of_rows)
                    row += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{path}: damaged in the rows from {row + 1:,} on ({error}); restore the file "
                    "or leave it out"
                ) from error


def read_piece(piece: Piece, mapping: LogMapping) -> Preferences:
    """Return the whole log in a piece; see `batches`."""
    names, logs = zip(*batches(piece, mapping), strict=True)
    facts = [facts_of(log) for log in logs]
    held = [log for log in logs if len(log)] or [logs[0]]
    log = held[0]
    if len(held) > 1:
        checked_scale(facts, names, None)
        log = joined(held, max(log.n_grades for log in held), mapping.scale)
    log.dropped = reduce(add, facts).dropped
    return log


def stated_in_files(files: Sequence[str], mapping: LogMapping) -> LogMapping:
    """Return the mapping with the scale that the first rows state.

    Raise InputError if two files differ.
    """
    for path in files:
        with opened(path, mapping) as (file, columns):
            if "scale" in columns:
                first = next(_sources(file, mapping, 1), None)
                mapping = mapping if first is None else with_stated(path, first, mapping)
    return mapping


def check_levels_of_files(facts: Facts, files: Sequence[str], mapping: LogMapping) -> None:
    """Raise InputError if the grades of a log are no scale, naming the row of a stray grade."""
    counts = facts.grades
    if files and is_stray(counts):
        with errors_in(_place(files, mapping, facts.top)):
            check_scale(counts)
    check_scale(counts)


def _place(files: Sequence[str], mapping: LogMapping, grade: int) -> str:
    """Return the first file and row that have a grade."""
    for path in files:
        with opened(path, mapping) as (file, _):
            for source in _sources(file, mapping):
                table, *_ = columns_of(path, source, mapping)
                lists = [table["a"], table["b"]]
                if any((grades == grade).any() for grades in lists):
                    return place_of(path, source, lists, grade)
    return files[0]


def _sources(file: pq.ParquetFile, mapping: LogMapping, size: int = BATCH) -> Iterator[FrameRows]:
    """Yield the rows of a file."""
    import polars as pl

    row = 1
    for batch in file.iter_batches(size, use_threads=False):
        frame: Any = pl.from_arrow(batch)
        yield FrameRows(plain_types(frame), mapping.roles(PREFERENCE), row)
        row += batch.num_rows


def preferences_of(
    frame: PolarsFrame,
    name: str,
    mapping: LogMapping,
    first_row: int = 1,
    reasons: Grades | None = None,
) -> Preferences:
    """Return the log in a table; messages count rows of `name` from `first_row`.

    `reasons` are as in `log_of_table`.
    """
    if mapping.leave_out is not None:
        raise InputError(
            "leave_out= needs the whole log in memory; dcglearn convert --leave-out makes a log "
            "without"
        )
    with errors_in(name):
        source = FrameRows(plain_types(frame), mapping.roles(PREFERENCE), first_row)
    mapping = with_stated(name, source, mapping)
    table, dropped, _ = columns_of(name, source, mapping)
    mapping = agreed(name, source, table, mapping)
    return log_of_table(Preferences, table, dropped, mapping, reasons)
