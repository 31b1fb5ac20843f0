"""The fast pass over a log, with polars: for logs whose lines are all alike and all good."""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import EMPTY, LARGEST, UNKNOWN, Floats, Grades, InputError
from dcglearn.readers.frames import flattened
from dcglearn.readers.line_formats import BLANK, FrameRows, JsonLines, Source, TextLines
from dcglearn.readers.mapping import MAX_DEPTH, LogMapping
from dcglearn.readers.roles import MAX_LABEL, PLACES, SWAPPED, ColumnsByRole, Role, Table, by_role
from dcglearn.readers.stated_scale import scale_text
from dcglearn.readers.winner_words import MOST_WORDS, Winners, codes_of, winners_of, word_of

_GRADE = "(-[12]|[0-9]{1,3})"
_PLAIN_GRADE = rf"^{_GRADE}$"
_PLAIN_LISTS = rf"^({_GRADE}( {_GRADE})*|\[{_GRADE}(, {_GRADE})*\])$"
_NOT_A_NAME = r"^$|\t|^[\[{]|^-?[0-9]+[.eE]|^(true|false)$"
_PLAIN_COUNTS = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?:[1-9][0-9]{0,14}( -?[0-9]{1,15}(\.[0-9]{1,15})?:[1-9][0-9]{0,14})*$"
LONGEST = 8
"""Lists may be so many times longer than their mean."""

MOST_KEYS = 100
"""Keys of a JSON line that are counted, each in all bytes."""

_PLAIN_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"


def read_fast(source: Source, mapping: LogMapping) -> Table | None:
    """Return the columns by role if every line is plain and good, None if the careful pass must decide."""
    try:
        frame = plain_frame(source)
        return None if frame is None else _columns(frame, source.roles, mapping)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None


def plain_frame(source: Source) -> pl.DataFrame | None:
    """Return the columns by role, not yet checked, if every line has the same form; else None, or raise PolarsError."""
    if isinstance(source, JsonLines):
        return _plain_json(source)
    if isinstance(source, TextLines):
        return _plain_text(source)
    if isinstance(source, FrameRows):
        return _named_by_role(source.frame, source.columns)
    return None


def _plain_json(source: JsonLines) -> pl.DataFrame | None:
    """Read JSON lines that all have the keys of the first line, each once, with no null among the roles; else None.

    Polars ignores keys outside its schema, takes the first of two equal keys and makes text of any value, so characters
    or keys are counted in the bytes. If no value is null, no line lacks a key; the counts show that none has it twice.
    """
    keys = list(source.names)
    try:
        values = source.record(next(iter(source))[1])
    except InputError:
        return None  # the careful pass says what is wrong
    columns = by_role(keys, source.roles)
    if b"\\" in source.data or "supersedes" in columns:
        return None
    if "rater" not in columns:
        columns.pop("id", None)
    numbers = dict.fromkeys(("number", "positive", "score"), pl.Float64)
    types = {"grades": pl.List(pl.Int8), "documents": pl.List(pl.String), **numbers}
    schema: dict[str, Any] = {}
    for role, names in columns.items():
        by_type = {str: pl.String, bool: pl.Boolean, list: pl.List(pl.String)}
        label = by_type.get(type(values[role]), pl.Int64)
        dtype = types.get(source.roles[role].kind, label)
        schema |= {names: dtype} if isinstance(names, str) else dict.fromkeys(names, pl.Int64)
    frame = pl.read_ndjson(source.data, schema=schema)
    if any(frame[column].null_count() for column in schema):
        return None
    n = len(frame)
    whole = _characters_prove(source.data, keys, schema, n) or _keys_prove(source.data, keys, schema, n)
    return _named_by_role(frame, columns) if whole else None


def _characters_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of single characters show n lines of these keys, each once, and texts for texts only.

    If every key is used, and there are as many colons as keys, none occurs twice. If there are as many brackets and
    quotes as lists, keys and texts need, no text was made of another value.
    """
    types = list(schema.values())
    if len(keys) > len(schema) or pl.Boolean in types or pl.List(pl.String) in types:
        return False
    lists, texts = types.count(pl.List(pl.Int8)), types.count(pl.String)
    expected = {":": n * len(keys), "{": n, "[": n * lists, '"': 2 * n * (len(keys) + texts)}
    codes, block = np.frombuffer(data, np.uint8), 1 << 20
    blocks = [codes[start : start + block] for start in range(0, len(codes), block)]
    return all(sum(int(np.count_nonzero(b == ord(c))) for b in blocks) == number for c, number in expected.items())


def _keys_prove(data: bytes, keys: list[str], schema: Mapping[str, Any], n: int) -> bool:
    """Return whether counts of keys show n lines of these keys, each once, and texts and truth values where expected.

    If there is no blank between a quote and a colon, ``"key":`` is that key and nothing else. If each key occurs once a
    line on average, and no other quote is followed by a colon, there are no other keys.
    """
    if len(keys) > MOST_KEYS or any(mark in data for mark in (b'" :', b'"\t:', b'"\r:')):
        return False
    if data.count(b'":') != n * len(keys) or any(data.count(f'"{key}":'.encode()) != n for key in keys):
        return False
    begins = {pl.String: ('"',), pl.Boolean: ("true", "false")}  # Polars makes these of numbers, too
    for column, dtype in schema.items():
        places = [f'"{column}":{blank}{mark}'.encode() for blank in ("", " ") for mark in begins.get(dtype, ())]
        if places and sum(map(data.count, places)) != n:
            return False
    return True


def _plain_text(source: TextLines) -> pl.DataFrame | None:
    """Read CSV or TSV without quotes, blank or ragged lines, all values as text or null; else return None."""
    data, n_columns = source.data, len(source.names)
    if b'"' in data or data.count(b"\r") != data.count(b"\r\n") or n_columns == 1 or source.header_line > 1:
        return None
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    # Polars refuses a long line but fills a short one with nulls, so delimiters are counted to find short lines.
    if data.count(source.delimiter.encode()) != (n_columns - 1) * n_lines or n_lines == 1:
        return None
    index = {source.names[i].strip(BLANK): f"c{i}" for i in reversed(range(n_columns))}
    scores = {index[str(name)] for role, name in source.columns.items() if source.roles[role].kind == "score"}
    types = {f"c{i}": pl.Float64 if f"c{i}" in scores else pl.String for i in range(n_columns)}
    frame = pl.read_csv(data, has_header=False, skip_lines=1, separator=source.delimiter, quote_char=None, schema=types)
    if len(frame) != n_lines - 1:
        return None
    used = [name for names in source.columns.values() for name in ([names] if isinstance(names, str) else names)]
    if any(mark in data for mark in (b" ", b"\r", b"\t")):
        stripped = pl.exclude(scores).str.strip_chars(BLANK)
        frame = frame.with_columns(pl.when(stripped != "").then(stripped).name.keep())
    return _named_by_role(frame.select(pl.col(index[name]).alias(name) for name in used), source.columns)


def _named_by_role(frame: pl.DataFrame, columns: ColumnsByRole) -> pl.DataFrame | None:
    """Return the columns by role, those of a wide list as one; None unless its cells are plain grades."""
    named = []
    for role, names in columns.items():
        if isinstance(names, str):
            named.append(frame[names].alias(role))
            continue
        cells = [frame[name] for name in names]
        for cell in cells:
            text = cell.dtype == pl.String
            plain = cell.unique().str.contains(_PLAIN_GRADE).all() if text else cell.dtype.is_integer()
            if not plain or cell.null_count():
                return None
        grades = np.column_stack([cell.cast(pl.Int16).to_numpy() for cell in cells])
        named.append(pl.Series(role, grades).arr.to_list())
    return pl.DataFrame(named)


def _columns(frame: pl.DataFrame, roles: Mapping[str, Role], mapping: LogMapping) -> Table | None:
    """Return the columns of a frame as `read_carefully` does, or None if the careful pass must decide."""
    table: Table = {}
    for role, about in roles.items():
        if role not in frame.columns or (not about.required and frame[role].null_count() == len(frame)):
            continue
        if role == "id" and not {"supersedes", "rater"} & {*frame.columns}:
            continue
        column = frame[role]
        if column.null_count() and (about.required or about.uniform):
            return None
        convert = CONVERT.get(about.kind)
        values = convert(column, mapping) if convert else _numbers(column, positive=about.kind == "positive")
        if values is None:
            return None
        table[role] = values
    lists = [table[role] for role, about in roles.items() if about.kind == "grades"]
    if not lists:
        return table if len(frame) else None
    depth = max(grades.shape[1] for grades in lists)
    for role in (role for role, about in roles.items() if about.kind == "grades"):
        table[role] = np.pad(table[role], ((0, 0), (0, depth - table[role].shape[1])), constant_values=mapping.below)
    return table if len(lists[0]) else None


def _grades(column: pl.Series, mapping: LogMapping) -> Grades | None:
    """Return lists of integers, or plain text of such lists, shape (n, K)."""
    if mapping.numbered or mapping.cutoffs is not None:
        return None
    if column.dtype == pl.String:
        if mapping.scale is not None or not column.str.contains(_PLAIN_LISTS).all():
            return None
        text = column.str.strip_chars("[]").str.replace_all(", ", " ", literal=True)
        column = text.str.split(" ").cast(pl.List(pl.Int16))
    if not isinstance(column.dtype, pl.List) or not column.dtype.inner.is_integer() or not len(column):
        return None
    lengths = column.list.len()
    length, longest = int(lengths.min()), int(lengths.max())  # type: ignore[arg-type]
    if longest < (mapping.depth or 1) or length < 1:
        return None
    flat = flattened(column).fill_null(UNKNOWN)
    if flat.min() < EMPTY or flat.max() >= mapping.top:  # type: ignore[operator]
        return None
    grades = flat.cast(pl.Int8).to_numpy()
    if length == longest:
        return grades.reshape(-1, length)[:, : mapping.depth]
    if len(column) * longest > LONGEST * len(grades):
        return None  # which may need more memory than there is
    table = np.full((len(column), longest), mapping.below, np.int8)
    table[np.arange(longest) < lengths.to_numpy()[:, None]] = grades
    return table[:, : mapping.depth]


def _texts(column: pl.Series) -> NDArray[Any]:
    return column.cast(pl.String).fill_null("").to_numpy()


def _is_text(dtype: Any) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _winners(column: pl.Series, mapping: LogMapping) -> Winners | None:
    if not _is_text(column.dtype):
        return None
    counts = column.value_counts(name="n")
    if len(counts) > MOST_WORDS:
        return None
    number = {value: (word_of(value), n) for value, n in counts.select(column.name, "n").iter_rows()}
    count_of: Counter[str] = Counter()
    for word, n in number.values():
        count_of[word] += n
    code_of = codes_of(count_of, mapping.own_words.codes)
    if len(code_of) < len(count_of):
        return None
    codes = column.replace_strict({value: code_of[word] for value, (word, _) in number.items()}, return_dtype=pl.Int64)
    strengths = mapping.own_words.of_winners
    if not strengths:
        return winners_of(codes.to_numpy(), count_of, code_of)
    strength_of = {value: strengths.get(word.lower(), 1.0) for value, (word, _) in number.items()}
    strength = column.replace_strict(strength_of, return_dtype=pl.Float64).to_numpy()
    return winners_of(codes.to_numpy(), count_of, code_of, strength)


def _labels(column: pl.Series, _: LogMapping) -> NDArray[Any] | None:
    if not _is_text(column.dtype):
        return None
    text = column.cast(pl.String).fill_null("")
    if text.str.len_chars().max() > MAX_LABEL or (text == "").all():  # type: ignore[operator]
        return None
    return text.to_numpy()


def _swapped(column: pl.Series, _: LogMapping, words: Mapping[str, int] = SWAPPED) -> Floats | None:
    if not (_is_text(column.dtype) or column.dtype == pl.Boolean):
        return None
    codes = column.cast(pl.String).str.to_lowercase().replace_strict(words, default=None, return_dtype=pl.Float64)
    return None if codes.null_count() else codes.to_numpy()


def _documents(column: pl.Series, mapping: LogMapping) -> NDArray[Any] | None:
    """Return lists of names as texts joined by tabs, if none is missing, or may be polars' text of another value."""
    if not isinstance(column.dtype, pl.List) or not _is_text(column.dtype.inner):
        return None
    names = column.cast(pl.List(pl.String))
    flat = flattened(names)
    plain = flat.null_count() == 0 and not flat.str.contains(_NOT_A_NAME).any()
    return None if not plain else names.list.head(mapping.depth or MAX_DEPTH).list.join("\t").to_numpy()


def _counts(column: pl.Series, _: LogMapping) -> NDArray[Any] | None:
    plain = column.dtype == pl.String and column.unique().str.contains(_PLAIN_COUNTS).all()
    return column.to_numpy() if plain else None


def _scale(column: pl.Series, _: LogMapping) -> NDArray[Any] | None:
    """Return the scale as text on the lines that state it, if it is one."""
    values = column.drop_nulls().unique().to_list()
    if len(values) > 1:
        return None
    with contextlib.suppress(InputError):
        return np.where(column.is_null(), "", scale_text(values[0])).astype(object)
    return None


def _numbers(column: pl.Series, *, positive: bool) -> Floats | None:
    if column.dtype == pl.String and not column.drop_nulls().str.contains(_PLAIN_NUMBER).all():
        return None
    if column.dtype != pl.String and not (column.dtype.is_integer() or column.dtype.is_float()):
        return None
    values = column.cast(pl.Float64).fill_null(1.0).to_numpy()
    usable = np.isfinite(values).all() and not (positive and ((values <= 0) | (values > LARGEST)).any())
    return values if usable else None


CONVERT: dict[str, Callable[[pl.Series, LogMapping], Any]] = {
    "grades": _grades,
    "winner": _winners,
    "label": _labels,
    "identity": lambda column, _: _texts(column) if _is_text(column.dtype) else None,
    "status": lambda column, _: _texts(column) if _is_text(column.dtype) or column.dtype == pl.Boolean else None,
    "side": _swapped,
    "place": partial(_swapped, words=PLACES),
    "documents": _documents,
    "counts": _counts,
    "scale": _scale,
    "share": lambda *_: None,
}
"""The functions that convert columns, by the kind of their role; columns of other kinds are numbers."""
