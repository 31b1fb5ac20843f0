"""A log of Parquet files of any size, stored as a byte a grade in memory or on disk."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import repeat
from operator import add
from typing import Any, TypeAlias, Unpack

import numpy as np
import psutil

from dcglearn.foundation.inputs import Paths, expand_paths
from dcglearn.foundation.progress import bar
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import InputError, PathLike
from dcglearn.logs.columns import COLUMNS
from dcglearn.parts.parquet_pieces import (
    PARQUET,
    PIECE,
    Piece,
    batches,
    check_levels_of_files,
    mapping_of_parts,
    opened,
    pieces,
    stated_in_files,
)
from dcglearn.parts.parted_log import (
    Facts,
    OfPart,
    PartedLog,
    checked_scale,
    differing_pairs,
    facts_of,
)
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.preferences import Preferences

_LOG = logging.getLogger(__name__)

CHUNK = PIECE
"""Pairs of a chunk."""


class MemoryColumn:
    """A column in memory, of a capacity known before; pages are taken as they are filled."""

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any) -> None:
        self._values = np.empty((capacity, *shape), dtype)
        self._n = 0

    def append(self, values: Any) -> None:
        """Put values at the end."""
        self._values[self._n : self._n + len(values)] = values
        self._n += len(values)

    def read(self, start: int, stop: int) -> Any:
        """Return some of the values."""
        return self._values[start:stop]

    def close(self) -> None:
        """Release the memory."""
        self._values = self._values[:0].copy()


class FileColumn:
    """A column in a file that ends with this process; mapped pages would count as memory."""

    def __init__(self, folder: str, shape: tuple[int, ...], dtype: Any) -> None:
        # Closed by close.
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._folder = folder
        self._dtype, self._shape = np.dtype(dtype), shape
        self._width = self._dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self._buffer = np.empty((0, *shape), self._dtype)

    def append(self, values: Any) -> None:
        """Put values at the end; raise InputError if the disk is full."""
        rest = np.ascontiguousarray(values, self._dtype).data.cast("B")
        try:
            while len(rest):
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise InputError(
                f"{self._folder}: no room for the codes ({error.strerror}); name a larger disk "
                "(folder=, or the environment's TMPDIR), or allow more memory (memory=, --memory)"
            ) from error

    def read(self, start: int, stop: int) -> Any:
        """Return some of the values, valid until the next read."""
        if len(self._buffer) < stop - start:
            self._buffer = np.empty((stop - start, *self._shape), self._dtype)
        values = self._buffer[: stop - start]
        rest = values.data.cast("B")
        self._file.seek(start * self._width)
        while len(rest):
            n = self._file.readinto(rest)
            if not n:
                raise RuntimeError("the codes on disk were cut short by another process")
            rest = rest[n:]
        return values

    def close(self) -> None:
        """Close the file, and so delete it."""
        self._file.close()


Column: TypeAlias = MemoryColumn | FileColumn


class StoredParts:
    """The chunks of a store, each a log, with functions applied to them as they are read."""

    def __init__(self, store: CodeStore, functions: tuple[OfPart, ...] = ()) -> None:
        self._store, self._functions = store, functions

    def __iter__(self) -> Iterator[Any]:
        for chunk in self._store:
            yield reduce(lambda part, function: function(part), self._functions, chunk)

    def mapped(self, function: OfPart) -> StoredParts:
        """Return ``function(part)`` of every part, computed at each reading."""
        return StoredParts(self._store, (*self._functions, function))

    def gathered(
        self, function: OfPart, *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return `Parts.gathered`; the function must copy what it keeps of a part."""
        more = repeat(()) if each is None else zip(each, strict=True)
        return [function(part, *arguments, *last) for part, last in zip(self, more, strict=False)]

    def total(self, function: OfPart, *arguments: Any) -> Any:
        """Return the sum over the parts, added in order."""
        return reduce(add, (function(part, *arguments) for part in self))


KINDS = {"flag": bool, "side": bool, "positive": float, "number": float, "label": np.int32}
"""The types in which columns are stored, by their kind; labels are numbered."""

TYPES = {name: KINDS[column.kind] for name, column in COLUMNS.items() if column.learned}
"""The columns that are stored beside the lists, and their types."""


class CodeStore:
    """Pairs whose lists differ, as columns that `new_column` makes of a shape and a dtype."""

    def __init__(self, new_column: Callable[[tuple[int, ...], Any], Column]) -> None:
        self._new_column = new_column
        self._columns: dict[str, Column] = {}
        self.raters: dict[str, int] = {}  # their numbers
        self.n = 0
        self.n_grades = 1

    def append(self, log: Preferences, name: str) -> None:
        """Append a log's pairs of different lists.

        Raise InputError if there is no room, or only some have a margin.
        """
        log = differing_pairs(log)
        if not len(log):
            return

        # lists
        if self.n and ("margin" in self._columns) != (log.margin is not None):
            raise InputError(f"{name}: give a margin on every line of all files, or on none")
        for side in ("preferred", "other"):
            if side not in self._columns:
                self._columns[side] = self._new_column((log.depth,), np.int8)
            self._columns[side].append(getattr(log, side))

        # columns, where any part has them
        for column, dtype in TYPES.items():
            values = getattr(log, column)
            if values is None:
                if column in self._columns:
                    self._fill(column, len(log))
                continue

            # earlier pairs lack it
            if column not in self._columns:
                self._columns[column] = self._new_column((), dtype)
                self._fill(column, self.n)
            if column == "rater":
                names, number = np.unique(values, return_inverse=True)
                values = np.array([self._number(name) for name in names], np.int32)[number]
            self._columns[column].append(values)
        self.n += len(log)

    def __iter__(self) -> Iterator[Preferences]:
        """Yield the pairs in chunks whose arrays are valid until the next; raters are numbers."""
        for start in range(0, self.n, CHUNK):
            stop = min(start + CHUNK, self.n)
            columns = {name: column.read(start, stop) for name, column in self._columns.items()}
            yield Preferences.unchecked(n_grades=self.n_grades, all_differ=True, **columns)

    def close(self) -> None:
        """Release memory and files."""
        for column in self._columns.values():
            column.close()
        self._columns, self.n = {}, 0

    def _fill(self, column: str, n: int) -> None:
        """Append the value of n pairs that lack a column."""
        missing = COLUMNS[column].missing
        value = self._number(missing) if column == "rater" else missing
        for start in range(0, n, CHUNK):
            self._columns[column].append(np.full(min(CHUNK, n - start), value, TYPES[column]))

    def _number(self, rater: Any) -> int:
        return self.raters.setdefault(str(rater), len(self.raters))


class ParquetLog(PartedLog):
    """A log of preferences in Parquet files of any size, for `UtilityLearner` and `DCGLearner`.

    Each file is read once, into one byte a grade and eight a weight, strength or margin, kept in
    memory if they fit; `on_disk` tells if they do not. Raises InputError if a file is bad (it names
    the file and the row), or if there is no room.

    Parameters
    ----------
    log : path or sequence of paths
        Files, folders or patterns.
    memory : str or int, optional
        Memory limit of this process, in bytes or as ``"2GB"`` (of 2^30 bytes); by default three
        quarters of the free memory. Give less where other programs need the machine.
    folder : path, optional
        Where codes are stored that do not fit; by default the system's folder for temporary files.
    n_grades, **options
        As in `read_preferences`.

    See Also
    --------
    io.DaskLog : Parts over a cluster.
    Preferences : A log in memory.

    Examples
    --------
    >>> import tempfile, dcglearn as dl
    >>> folder = tempfile.mkdtemp()
    >>> truth = dl.simulate.ground_truth("D1")
    >>> dl.simulate.write_log(f"{folder}/log.parquet", truth, 1000, random_state=0)
    >>> with dl.io.ParquetLog(folder) as log:
    ...     log, dl.UtilityLearner().fit(log).gap_ < 1e-8
    (ParquetLog(1,000 pairs, depth 10, 5 grades), True)
    """

    @spelled_out(ReadingOptions)
    def __init__(
        self,
        log: Paths,
        *,
        memory: str | int | None = None,
        n_grades: int | None = None,
        folder: PathLike | None = None,
        **options: Unpack[ReadingOptions],
    ) -> None:
        # what there is to read
        mapping = mapping_of_parts(n_grades, options)
        files = expand_paths(log, PARQUET)
        mapping = stated_in_files(files, mapping)
        todo = pieces(files, mapping)
        n = sum(piece.n for piece in todo)

        # where it fits
        place = tempfile.gettempdir() if folder is None else os.fspath(folder)
        needed = n * bytes_per_pair(todo[0], mapping, files)
        limit = psutil.virtual_memory().available * 3 // 4 if memory is None else n_bytes(memory)
        # beside the codes: interpreter and libraries, the batch being decoded, a chunk
        self.on_disk = needed + (700 << 20) > limit
        new_column: Callable[[tuple[int, ...], Any], Column] = partial(MemoryColumn, n)
        if self.on_disk:
            refuse_full(place, needed)
            new_column = partial(FileColumn, place)

        # read it
        self._store = CodeStore(new_column)
        try:
            facts, size = self._filled(todo, mapping)
            if mapping.n_known is None:
                check_levels_of_files(facts, files, mapping)
        except BaseException:
            self._store.close()
            raise

        self._store.n_grades = size
        self.as_is = mapping.as_is
        parts, raters = StoredParts(self._store), list(self._store.raters)
        super().__init__(parts, facts, size, mapping.scale, raters)
        where = f"on disk in {place}" if self.on_disk else "in memory"
        _LOG.info("Parquet files: %d, pairs: %d, kept %s", len(files), len(self), where)

    def _filled(self, todo: Sequence[Piece], mapping: LogMapping) -> tuple[Facts, int]:
        """Read all pieces into the store; return the facts of the log and its number of grades."""
        whole, size, n = None, 1, sum(piece.n for piece in todo)
        with bar(n, "reading", unit="pair", unit_scale=True) as reading:
            for piece in todo:
                for name, log in batches(piece, mapping):
                    reading.update(len(log))

                    # check the batch beside all before it
                    facts, names = [facts_of(log)], [name]
                    if whole is not None:
                        facts, names = [whole, *facts], ["the part before", name]
                    if any(part.n for part in facts):
                        whole, size = checked_scale(facts, names, mapping.n_known)
                    else:
                        whole = reduce(add, facts)

                    self._store.append(log, name)
        if whole is None or not whole.n:
            raise InputError(f"{todo[0].name}: no judgement in {n:,} rows")
        return whole, size

    def close(self) -> None:
        """Release memory and files."""
        self._store.close()


def bytes_per_pair(first: Piece, mapping: LogMapping, files: Sequence[str]) -> int:
    """Return the bytes of a pair's codes: one a grade, and those of the columns of any file."""
    depth = next(batches(first, mapping))[1].depth
    present = {"tie"}
    for path in files:
        with opened(path, mapping) as (_, columns):
            present |= set(columns)
    sizes = (np.dtype(dtype).itemsize for name, dtype in TYPES.items() if name in present)
    return 2 * depth + sum(sizes)


def n_bytes(memory: str | int) -> int:
    """Return the bytes that a number or text such as ``2GB``, ``512MB`` or ``1.5 GiB`` means.

    Raise InputError if it means none.
    """
    text = str(memory).strip().upper().removesuffix("B").removesuffix("I").strip()
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    unit = text[-1:] if text[-1:] in units else ""
    try:
        size = float(text.removesuffix(unit)) * units[unit]
    except ValueError:
        size = 0.0
    if not 1 <= size < float("inf"):
        raise InputError(
            f"memory {memory!r}: give bytes, or a number with a unit, such as 2GB or 512MB"
        )
    return int(size)


def refuse_full(folder: str, needed: int) -> None:
    """Raise InputError if there is no such folder, or its disk lacks the bytes needed."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise InputError(
            f"{folder}: no place for the codes ({error.strerror}); name a folder (folder=)"
        ) from error
    if free < needed:
        raise InputError(
            f"{folder}: the codes take {needed / 1e9:.2g} GB and {free / 1e9:.2g} GB are free; "
            "name a larger disk (folder=, or the environment's TMPDIR), or allow more memory "
            "(memory=, --memory)"
        )
