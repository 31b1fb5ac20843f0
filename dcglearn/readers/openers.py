"""Functions that open a log by the roles of its columns: files, data frames, records."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from dcglearn.foundation.inputs import is_path, refuse_beyond_memory
from dcglearn.foundation.sources import PARTS, contents, kind_of, parquet_rows
from dcglearn.foundation.validation import (
    InputError,
    InputTypeError,
    PolarsFrame,
    errors_in,
    is_frame,
    is_records,
)
from dcglearn.readers.annotations import annotated, is_export
from dcglearn.readers.column_roles import Record, Roles
from dcglearn.readers.frames import PAIR_NAMES, RATING_NAMES, named, polars_frame
from dcglearn.readers.joined_files import Files, log_files, name_of
from dcglearn.readers.line_formats import (
    FrameRows,
    JsonLines,
    Opener,
    Records,
    TextLines,
    is_spread,
)
from dcglearn.readers.mapping import LogMapping

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
        return "data frame", annotated(_of_frame(polars_frame(log)))
    if is_records(log):
        records = named(log, PAIR_NAMES if "a" in roles else RATING_NAMES)
        return "records", annotated(partial(Records, records))

    # files
    if not is_path(log):
        raise InputTypeError(
            f"a {type(log).__name__} is not a log: give a path, a data frame, or a list of dicts "
            "(dl.Preferences.from_records takes tuples, dl.Preferences arrays of grades)"
        )
    files: dict[str, bytes] = {}
    for path in log_files(log):
        files |= dict(contents(path, encoding=mapping.encoding, sheet=mapping.sheet))

    # one file, or several as one log
    if len(files) == 1:
        name, data = files.popitem()
        return name, annotated(opener_of_bytes(name, data, mapping))
    needed = sum(PARSED.get(_form_of(name, data), 0.0) * len(data) for name, data in files.items())
    refuse_beyond_memory(needed, f"{name_of(log)}: reading {len(files):,} files", PARTS)
    openers = {name: opener_of_bytes(name, data, mapping) for name, data in files.items()}
    return name_of(log), Files({name: annotated(one) for name, one in openers.items()})


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
        return _of_frame(parquet_rows(name, data))

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


def _of_frame(frame: PolarsFrame) -> Opener:
    if is_export(frame.columns):
        return partial(Records, frame.to_dicts())
    return partial(FrameRows, frame)
