"""Functions that open a log by the roles of its columns: files, several as one, frames, records."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.inputs import Paths, is_path, refuse_beyond_memory
from dcglearn.foundation.sources import (
    PARTS,
    content,
    kind_of,
    parquet_rows,
    plain_types,
    refuse_unknown,
)
from dcglearn.foundation.validation import (
    Fields,
    InputError,
    InputTypeError,
    PathLike,
    PolarsFrame,
    as_path,
    errors_in,
    is_frame,
    is_records,
)
from dcglearn.readers.column_roles import Record, Roles
from dcglearn.readers.line_formats import (
    FrameRows,
    JsonLines,
    Opener,
    Records,
    Reshaped,
    Source,
    TextLines,
    as_plain,
    is_spread,
)
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.shown_order import called_left

if TYPE_CHECKING:
    import polars as pl


PAIR_NAMES = ("a", "b", "winner")
"""Names of the values of a tuple that is a judgement of two lists."""


def flattened(lists: pl.Series) -> pl.Series:
    """Return the items of all lists in a row; polars 1 has one null for an empty list."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In Polars 2.0, the default", DeprecationWarning)
        return lists.explode()


def named(records: Iterable[Any], names: Sequence[str]) -> list[Any]:
    """Return tuples as dictionaries by names, or raise InputError; of two lists the first wins."""
    dictionaries: list[Any] = []
    for number, record in enumerate(records, 1):
        # named tuples and objects have names
        values = record._asdict() if hasattr(record, "_asdict") else record
        if isinstance(values, list | tuple):
            # of two lists alone the first was preferred
            only_lists = len(values) == 2 and tuple(names) == PAIR_NAMES
            values = (*values, "a") if only_lists else values
            if len(values) != len(names):
                raise InputError(
                    f"record {number}: {len(values)} values for {', '.join(names)}; name them by "
                    "columns="
                )
            values = dict(zip(names, values, strict=True))
        dictionaries.append(values)
    return dictionaries


def from_arrays(columns: Mapping[str, Any]) -> list[Fields] | PolarsFrame:
    """Return columns of one length as a table, or as records where types are mixed."""
    import polars as pl

    arrays = {}
    for name, values in columns.items():
        is_array = isinstance(values, np.ndarray) and values.dtype != object
        if values is not None:
            arrays[name] = values if is_array else as_plain(values)
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1 or not all(lengths.values()):
        shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise InputError(f"{shown} entries; give one entry for each list, and at least two lists")

    # a table, whose arrays of two axes are lists
    try:
        table = pl.DataFrame(arrays)
        wide = [name for name, dtype in table.schema.items() if isinstance(dtype, pl.Array)]
        return table.with_columns(pl.col(name).arr.to_list() for name in wide)
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        return [dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)]


def polars_frame(frame: Any) -> PolarsFrame:
    """Return a table of any library as one of polars with plain types, or raise InputError."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()

    # names of pandas may be there twice
    pandas = hasattr(frame, "itertuples")
    for name, n in Counter(map(str, frame.columns)).items() if pandas else ():
        if n > 1:
            raise InputError(
                f"the data frame has two columns called {name}; rename or drop one of them"
            )

    # pandas converts to Arrow only where pyarrow is installed
    try:
        if pandas:
            table = pl.DataFrame({str(name): _column(frame[name]) for name in frame.columns})
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pl.DataFrame(frame)
        else:
            table = pl.from_dataframe(frame)

    # values of several types
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise InputError(
            f"the data frame cannot be read ({error}); give every column values of one type, "
            "lists as lists of integers"
        ) from error
    if not len(table):
        raise InputError("the data frame is empty; expected one judgement a row")
    return plain_types(table)


def _column(series: Any) -> list[Any]:
    """Return the values of a column of pandas in Python's types, None where one is missing."""
    missing = series.isna().tolist()
    return [
        None if absent else as_plain(value)
        for value, absent in zip(series.tolist(), missing, strict=True)
    ]


MOST_FILES = 10_000
"""Maximum number of files in a folder."""


def log_files(log: Paths) -> list[PathLike]:
    """Return the files of paths, folders and patterns, each once; a folder's in order of name.

    Raise InputError if a folder holds no file, too many, or one whose suffix belongs to no log;
    hidden ones are left out.
    """
    files: list[PathLike] = []
    for path in [log] if isinstance(log, str | os.PathLike) else log:
        name = str(as_path(path))
        # os.path answers False for names that are too long, where Path raises OSError.
        if os.path.isdir(name):  # noqa: PTH112
            files += _inside(Path(name))
        elif os.path.exists(name):  # noqa: PTH110
            files.append(path)
        else:
            files += sorted(glob.glob(name, recursive=True)) or [path]  # noqa: PTH207
    return list({str(Path(file)): file for file in files}.values())


def _is_hidden(name: str) -> bool:
    """Return whether a file is no data: it begins with a point, or a system keeps it."""
    of_system = r"__MACOSX(/|$)|_SUCCESS$|Thumbs\.db$|desktop\.ini$"
    return re.search(rf"(^|/)(\.|~\$|{of_system})", name, re.IGNORECASE) is not None


def _inside(folder: Path) -> list[PathLike]:
    """Return the files in a folder and in the folders below it, but not in those that are links."""
    entries = (entry for entry in folder.rglob("*") if entry.is_symlink() or not entry.is_dir())
    shown = (entry for entry in entries if not _is_hidden(entry.relative_to(folder).as_posix()))
    files = sorted(islice(shown, MOST_FILES + 1))
    if not files:
        raise InputError(f"{folder} is a folder without a file; check the name")
    if len(files) > MOST_FILES:
        raise InputError(
            f"{folder} holds more than {MOST_FILES:,} files; name a folder with fewer, or the files"
        )
    refuse_unknown(str(folder), (file.relative_to(folder).as_posix() for file in files))
    return list(files)


def name_of(log: Paths) -> str:
    """Return what messages call a path, or several."""
    return str(log) if isinstance(log, str | os.PathLike) else f"{len(log):,} files"


class Files:
    """Opens several files by roles, as one log."""

    def __init__(self, openers: Mapping[str, Opener]) -> None:
        self._openers = openers

    def __call__(self, roles: Roles) -> Source:
        """Open the files by roles."""
        return self.joined(lambda open_with: open_with(roles))

    def joined(self, opened: Callable[[Opener], Source]) -> Source:
        """Return the judgements that a function opens in the files; errors name the file."""
        sources = {}
        for name, open_with in self._openers.items():
            with errors_in(f"file {name}"):
                sources[name] = opened(open_with)
        return Joined(sources)


class Joined(Reshaped):
    """The judgements of several files in turn; the first tells their roles and columns."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        # all say in one way which list was shown first
        self.sources = sources
        first, *others = sources.values()
        for name, source in sources.items():
            if _order_of(source) != _order_of(first):
                raise InputError(
                    f"file {name} says in another way than the first file which list was shown "
                    "first; convert each alone (dcglearn convert), and read the results together"
                )

        super().__init__(first, first.roles)
        self.unit = "file"
        forms = dict.fromkeys(source.form for source in sources.values())
        self.form = f"{len(sources):,} files: {', '.join(forms)}"
        self._one_header = all(source.header == self.header for source in others)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for name, source in self.sources.items():
            for number, item in source:
                yield f"{name}, {source.unit} {number}", (source, item)

    def parts(self, size: int) -> Iterator[Source]:
        """Yield the parts of files of one kind."""
        if len({type(source) for source in self.sources.values()}) > 1:
            yield self
            return
        for source in self.sources.values():
            yield from source.parts(size)

    def record(self, item: tuple[Source, Any]) -> Record:
        """Return the values by role."""
        source, inside = item
        return source.values(inside)

    def raw(self, item: tuple[Source, Any]) -> bytes:
        """Return a line as it is; raise InputError if those of other files have other columns."""
        if not self._one_header:
            raise InputError(
                "the files have different headers, so bad lines of all have no one file: read "
                "each alone"
            )
        source, inside = item
        return source.raw(inside)

    def has(self, role: str) -> bool:
        """Return whether a file has a column for a role."""
        return any(source.has(role) for source in self.sources.values())


def _order_of(source: Source) -> tuple[str, bool]:
    """Return how a source says which list was shown first, and if lists are left and right."""
    if not source.has("swapped"):
        return "", False
    return source.roles["swapped"].kind, called_left(source)


PARSED = {"json": 11.0, "text": 18.0, "array": 25.0}
"""Largest ratio of the memory of reading to the bytes of a file with short lines, by its form."""


def opener_of(log: Any, roles: Roles, mapping: LogMapping | None = None) -> tuple[str, Opener]:
    """Return what messages call a path, data frame or records, and a function that opens it.

    A pair of both is returned as it is.
    """
    # what is in memory
    mapping = mapping or LogMapping()
    if isinstance(log, tuple) and len(log) == 2 and callable(log[1]):
        return log
    if is_frame(log):
        return "data frame", partial(FrameRows, polars_frame(log))
    if is_records(log):
        records = named(log, PAIR_NAMES if "a" in roles else ("list", "rating"))
        return "records", partial(Records, records)

    # files
    if not is_path(log):
        raise InputTypeError(
            f"a value of type {type(log).__name__} is not a log: give a path, a data frame, or a "
            "list of dicts (dl.Preferences.from_records takes tuples, dl.Preferences arrays of "
            "grades)"
        )
    files: dict[str, bytes] = {}
    for path in log_files(log):
        name, data = content(path, encoding=mapping.encoding, sheet=mapping.sheet)
        files[name] = data

    # one file, or several as one log
    if len(files) == 1:
        name, data = files.popitem()
        return name, opener_of_bytes(name, data, mapping)
    needed = sum(PARSED.get(_form_of(name, data), 0.0) * len(data) for name, data in files.items())
    refuse_beyond_memory(needed, f"{name_of(log)}: reading {len(files):,} files", PARTS)
    openers = {name: opener_of_bytes(name, data, mapping) for name, data in files.items()}
    return name_of(log), Files(openers)


def records_of(
    log: Any, roles: Roles, mapping: LogMapping | None = None
) -> Iterator[tuple[str, Record]]:
    """Yield the place of each line, for messages, and its values by role, not yet checked."""
    name, open_with = opener_of(log, roles, mapping)
    with errors_in(name):
        source = open_with(roles)
    for number, item in source:
        place = f"{name}, {source.unit} {number}"
        with errors_in(place):
            record = source.values(item)
        yield place, record


def opener_of_bytes(name: str, data: bytes, mapping: LogMapping | None = None) -> Opener:
    """Return a function that opens the bytes of a file by roles."""
    kind = kind_of(name, data)
    header = (mapping or LogMapping()).header
    if header is not None and kind != "text":
        raise InputError(f"{name}: header= (--header) is for text, such as CSV; leave it out")
    if kind == "parquet":
        return partial(FrameRows, parquet_rows(name, data))

    # JSON and text
    form = _form_of(name, data)
    size = f"{name}: reading its {len(data):,} bytes"
    refuse_beyond_memory(PARSED[form] * len(data), size, PARTS)
    if form == "array":
        return partial(Records.of_array, data)
    _refuse_long_line(name, data)
    if kind == "json":
        return partial(JsonLines, data)
    return partial(TextLines, data, header=None if header is None else str(header))


def _form_of(name: str, data: bytes) -> str:
    """Return "array" for JSON that is no object a line, and the kind of other data."""
    kind = kind_of(name, data)
    is_array = re.match(rb"\s*\[", data) or (kind == "json" and is_spread(data))
    return "array" if is_array else kind


def _refuse_long_line(name: str, data: bytes) -> None:
    """Raise InputError for a line far longer than a judgement of thousands of positions.

    Parsing a line takes 64 times its bytes.
    """
    longest_line, start = 1 << 22, 0
    while len(data) - start > longest_line:
        end = data.rfind(b"\n", start, start + longest_line + 1)
        if end < 0:
            number = data.count(b"\n", 0, start) + 1
            raise InputError(
                f"{name}, line {number}: more than {longest_line >> 20} MB; "
                "give one judgement a line"
            )
        start = end + 1
