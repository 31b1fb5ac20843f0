"""Slow readers of every text format, written apart from the package: they say what a file holds, or
refuse it.

A referee returns plain Python values, or raises `Refused`. It defines what the package promises of
a format.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable
from typing import Any

from dcglearn.reading.contract import JUDGED, plain

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
NO_GRADE = ("", "u", ".", "-", "null", "na", "n/a", "#n/a", "nan", "none")
METRIC_KEYS = ("gains", "discounts", "grade_names", "notes", "plain", "judges")
WHITE = " \t\r\v\f"
BLANK = " \t\n\r"


class Refused(Exception):
    """The file is not to be read."""


def text_of(data: bytes) -> bytes:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Refused
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip() or re.search(rb"(?m)^\xef\xbb\xbf", data):
        raise Refused
    return data


def inflated(data: bytes, magic: bytes, member_of: Callable[[], Any]) -> bytes:
    """Return what a compressed file holds, no more than 4 MB or 200 times its bytes; nothing but
    zeros and members, which `member_of` opens, may follow the first.
    """
    inside = b""
    most = max(200 * len(data), 1 << 22)
    while data:
        member = member_of()
        if not data.startswith(magic):
            raise Refused
        inside += member.decompress(data)
        data = member.unused_data.lstrip(b"\0")
        if not member.eof or len(inside) > most:
            raise Refused
    return inside


def decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused from error


def number(text: str) -> float:
    if not (NUMBER.fullmatch(text) or INFINITE.fullmatch(text)):
        raise Refused
    return float(text)


def once(rows: list) -> list:
    keys = [row[:-1] for row in rows]
    if len(set(keys)) < len(keys) or not rows:
        raise Refused
    return rows


def grade(value: float) -> int:
    if not (math.isfinite(value) and value == math.floor(value) and -(2.0**63) < value < 127):
        raise Refused
    return int(value)


def judged(rows: list) -> list:
    """Return rows with their grades as numbers of at least 0, without those that have none."""
    found = []
    for *names, value in rows:
        is_text = isinstance(value, str)
        if value is None or (is_text and value.strip(BLANK).lower() in NO_GRADE):
            continue
        read = amount(value)
        if not math.isfinite(read):
            raise Refused
        found.append((*names, max(read, 0.0)))
    return once(found)


def trec(data: bytes, n_columns: int) -> list[list[str]]:
    lines = []
    for line in text_of(data).split(b"\n"):
        if line.startswith(b"#"):
            continue
        cells = [cell for cell in re.split(f"[{WHITE}]", decoded(line)) if cell]
        tabbed = decoded(line).rstrip(WHITE).split("\t")
        if (
            n_columns == 6
            and len(tabbed) == 6
            and not any(set(cell) & set(WHITE) or not cell for cell in tabbed[:5])
        ):
            words = re.split("[ ]", tabbed[5])
            cells = (
                [*tabbed[:5], words[0]] if words[0] and not set(words[0]) & set(WHITE) else cells
            )
        if cells:
            lines.append(cells)
    if n_columns == 4 and lines and len(lines[0]) == 3:
        lines = [[cells[0], "", *cells[1:]] for cells in lines]
    if not lines or any(len(cells) != n_columns for cells in lines):
        raise Refused
    return lines


def qrels(data: bytes) -> list:
    return judged([(query, document, value) for query, _, document, value in trec(data, 4)])


def run(data: bytes) -> list:
    return once(
        [
            (tag, query, document, number(score))
            for query, _, document, _, score, tag in trec(data, 6)
        ]
    )


def cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise Refused
    try:
        str(value).encode()
    except ValueError as error:
        raise Refused from error
    if re.search(r"[\r\n]", str(value)):
        raise Refused
    return str(value).strip(BLANK)


def amount(value: object) -> float:
    if isinstance(value, str):
        return number(value.strip(BLANK))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused
    try:
        return float(value)
    except OverflowError as error:
        raise Refused from error


def column_names(names: list[str], role: str) -> str | None:
    aliases = map(plain, JUDGED[role].names.split())
    its = next((its for alias in aliases if (its := [x for x in names if plain(x) == alias])), [])
    if len(its) > 1:
        raise Refused
    return its[0] if its else None


def rows_of(records: list[dict], names: list[str]) -> list:
    roles = {role: column_names(names, role) for role in ("query", "document", "grade")}
    if None in roles.values():
        raise Refused
    rows = []
    for record in records:
        values = {role: record.get(name) for role, name in roles.items()}
        if any(values[role] in (None, "") for role in ("query", "document")):
            raise Refused
        rows.append((cell(values["query"]), cell(values["document"]), values["grade"]))
    return judged(rows)


def csv_table(data: bytes) -> list:
    # a carriage return behind a closing quotation mark is a blank
    text = re.sub(r'"\r(?=[,;|\t])', '"', decoded(text_of(data)))
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t|", key=head.count)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        parsed = [fields for fields in rows if "".join(fields).strip()]
    except csv.Error as error:
        raise Refused from error
    names = [name.strip(BLANK + "\v\f") for name in parsed[0]]

    # rows of blank cells at the end, as spreadsheets write them, are left out
    while len(parsed) > 1 and not "".join(parsed[-1]).strip(BLANK):
        parsed.pop()

    # polars sees no cell behind a separator that is the last byte
    if text.endswith(delimiter) and len(parsed[-1]) == len(names) + 1:
        parsed[-1].pop()
    if any(len(fields) != len(names) for fields in parsed[1:]):
        raise Refused
    records = [
        dict(zip(names, (f.strip(BLANK) for f in fields), strict=True)) for fields in parsed[1:]
    ]
    return rows_of(records, names)


def no_constant(name: str) -> float:
    raise Refused


def from_json(text: str, **how: object) -> object:
    try:
        return json.loads(text, parse_constant=no_constant, **how)
    except (ValueError, RecursionError) as error:
        raise Refused from error


def json_table(data: bytes) -> list:
    lines = [decoded(line) for line in text_of(data).split(b"\n") if line.strip()]
    records, first = [], None
    for line in lines:
        pairs = from_json(line, object_pairs_hook=Pairs)
        if not isinstance(pairs, Pairs):
            raise Refused
        keys = [key for key, _ in pairs]
        first = [*dict.fromkeys([*(first or []), *keys])]
        used = {column_names(first, role) for role in ("query", "document", "grade")}
        if any(keys.count(key) > 1 for key in used):
            raise Refused
        records.append(dict(pairs))
    return rows_of(records, first or [])


class Pairs(list):
    """The pairs of a JSON object."""


def truth(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


def nested_json(data: bytes) -> list:
    value = from_json(decoded(text_of(data)), object_pairs_hook=Pairs)
    if not isinstance(value, Pairs) or not all(
        isinstance(documents, Pairs) for _, documents in value
    ):
        raise Refused

    # names are stripped as in tables
    if len({query for query, _ in value}) < len(value):
        raise Refused
    rows = [
        (
            cell(query.strip(BLANK)),
            cell(document.strip(BLANK)),
            int(number) if isinstance(number, bool) else number,
        )
        for query, documents in value
        for document, number in documents
    ]
    if not all(query and document for query, document, _ in rows):
        raise Refused
    if len({row[:2] for row in rows}) < len(rows):
        raise Refused
    return judged(rows)


def svmlight(data: bytes) -> list:
    """Return (label, qid, {feature: value}) of each line."""
    rows = []
    for raw in text_of(data).split(b"\n"):
        words = raw.split(b"#")[0].split()
        if not words:
            continue
        label, *fields = [decoded(word) for word in words]
        if not NUMBER.fullmatch(label) or not fields:
            raise Refused
        queries = [field for field in fields if re.fullmatch(r"qid:-?[0-9]{1,18}", field)]
        if len(queries) != 1 or fields[0] != queries[0]:
            raise Refused
        values: dict[int, float] = {}
        for field in fields:
            if field == queries[0]:
                continue
            match = re.fullmatch(r"([0-9]{1,9}):(\S+)", field)
            if (
                not match
                or not (NUMBER.fullmatch(match[2]) or match[2] == "nan")  # a missing value
                or int(match[1]) <= max(values, default=0)
            ):
                raise Refused
            values[int(match[1])] = float(match[2])
            if abs(values[int(match[1])]) > 1e100:
                raise Refused
        rows.append(
            (
                grade(float(label)),
                int(queries[0][4:]),
                {i: value for i, value in values.items() if value},
            )
        )
        if rows[-1][0] < 0:
            raise Refused
    qids = [qid for _, qid, _ in rows]
    starts = [qid for i, qid in enumerate(qids) if i == 0 or qids[i - 1] != qid]
    if not rows or len(set(starts)) < len(starts):
        raise Refused
    return rows


def metric(data: bytes) -> tuple:
    """Return gains and discounts."""
    value = from_json(decoded(data))
    if not isinstance(value, dict) or value.get("format") != "dcglearn.dcg":
        raise Refused
    lists = [value.get("gains"), value.get("discounts")]
    names = value.get("grade_names")
    if names is not None and not (isinstance(names, list) and {*map(type, names)} <= {str}):
        raise Refused
    if not value.keys() <= {"format", "version", *METRIC_KEYS}:
        raise Refused
    for numbers in lists:
        if (
            not isinstance(numbers, list)
            or not numbers
            or any(type(x) not in (int, float) for x in numbers)
        ):
            raise Refused
    try:
        return tuple(tuple(map(float, numbers)) for numbers in lists)
    except OverflowError as error:  # an integer beyond the range of floats
        raise Refused from error
