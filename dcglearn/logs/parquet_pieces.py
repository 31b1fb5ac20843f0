"""Parquet files of a log, cut into pieces of bounded size, and read with the name of the file in each message."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError
from dcglearn.logs.careful_pass import Rules
from dcglearn.logs.line_formats import by_role, errors_in
from dcglearn.logs.parts import checked_scale, facts_of, joined
from dcglearn.logs.readers import PREFERENCE, preferences_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.parquet as pq

    from dcglearn.logs.preferences import Preferences

PARQUET = "**/*.parquet"
"""The files of a folder that belong to a log."""

PIECE = 1 << 20
"""Pairs, about, of a piece of a log."""

BATCH = 1 << 16
"""Rows decoded at a time: Parquet's lists of 64-bit integers take eight times the memory of their codes."""


@dataclass(frozen=True)
class Piece:
    """Some row groups of some files, `n` rows in all.

    Each slice is a file, numbers of row groups, and the number of rows before the first of them.
    """

    slices: tuple[tuple[str, list[int], int], ...]
    n: int

    @property
    def name(self) -> str:
        """What messages call it: file and first row."""
        path, _, before = self.slices[0]
        return path if not before else f"{path} from row {before + 1:,} on"


def rules_of_parts(n_grades: int | None, depth: int | None, pad: bool, scale: Sequence[str] | None) -> Rules:
    """Return the options of `read_preferences` for a log in parts; raise InputError for `pad` without `depth`."""
    if pad and depth is None:
        raise InputError("pad of a log in many parts needs a depth (depth=, --depth) to fill the lists to")
    return Rules(n_grades, depth, pad, scale)


def pieces(files: Sequence[str], size: int = PIECE) -> list[Piece]:
    """Cut files into pieces of whole row groups, about `size` rows each; small files go together.

    Raises InputError if a file is not Parquet, damaged, or lacks a column that a log needs, naming it.
    """
    cut: list[Piece] = []
    slices: list[tuple[str, list[int], int]] = []
    held = 0
    for path in files:
        with opened(path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        before = 0
        for group, n in enumerate(sizes):
            if held and held + n > size:
                cut.append(Piece(tuple(slices), held))
                slices, held = [], 0
            if n:
                if not slices or slices[-1][0] != path:
                    slices.append((path, [], before))
                slices[-1][1].append(group)
            held, before = held + n, before + n
    if held:
        cut.append(Piece(tuple(slices), held))
    if not cut:
        raise InputError(f"{files[0]}{' and the others hold' if len(files) > 1 else ' holds'} no row")
    return cut


def opened(path: str) -> pq.ParquetFile:
    """Open a Parquet file; raise InputError unless pyarrow is installed and it is a whole file of a log."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise InputError(
            "a log of many Parquet files needs pyarrow: pip install 'dcglearn[scale]'; one file alone does not"
        ) from error
    try:
        file = pq.ParquetFile(path, memory_map=False)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file, or a truncated one ({error})") from error
    with errors_in(path):
        by_role(file.schema_arrow.names, PREFERENCE)
    return file


def batches(piece: Piece, rules: Rules) -> Iterator[tuple[str, Preferences]]:
    """Yield the log in a piece, up to `BATCH` rows at a time, each batch after the name of its file.

    Raises InputError naming the file and, where a row is bad, the row.
    """
    import polars as pl
    import pyarrow as pa

    for path, groups, before in piece.slices:
        with opened(path) as file:
            columns = list(by_role(file.schema_arrow.names, PREFERENCE).values())
            row = before
            try:
                for batch in file.iter_batches(BATCH, row_groups=groups, columns=columns, use_threads=False):
                    if batch.num_rows:
                        frame: Any = pl.from_arrow(batch)
                        yield path, preferences_of(frame, path, rules, row + 1)
                    row += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{path}: damaged in the rows from {row + 1:,} on ({error}); restore the file or leave it out"
                ) from error


def read_piece(piece: Piece, rules: Rules) -> Preferences:
    """Return the whole log in a piece; see `batches`."""
    names, logs = zip(*batches(piece, rules), strict=True)
    facts = [facts_of(log) for log in logs]
    held = [log for log in logs if len(log)] or [logs[0]]
    if len(held) > 1:
        checked_scale(facts, names, None)
    log = held[0] if len(held) == 1 else joined(held, max(log.n_grades for log in held), rules.scale)
    log.dropped = reduce(add, facts).dropped
    return log
