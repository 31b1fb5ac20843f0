"""Damage to the bytes of good files: what editors, transfers, spreadsheets and attackers do to
them.
"""

import gzip
import json
import re
from collections.abc import Callable

import numpy as np

from dcglearn.foundation.sources import zstd

Random = np.random.Generator

_WORDS = (
    b"{} [] null true NaN Infinity nan -inf 1e308 -1e300 1e400 1e-400 79.5 1_0 0x10 007 -1 126 127 "
    b"2147483648 9223372036854775808"
)
_FIELDS = rb"\u0000 \ud800 qid:1 qid: 1:1 0:1 50000000:1 Q0 a b tie open <script> =cmd() .. $\frac$"
TOKENS = [
    *(bytes([mark]) for mark in b" \t\n\r"),
    b"\r\n",
    *(bytes([mark]) for mark in b"\v\f\0,;|:\"'\\#-+{}[]"),
    *_WORDS.split(),
    *(b"9" * 400, b"x" * 300, b"[" * 2000, b'{"a":' * 2000),
    *(b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b[2J"),
    *(mark.encode() for mark in "\u202e\u2028\u00a0\u0661"),
    *_FIELDS.split(),
]
"""Texts that mean something to one of the formats, or to nobody."""


ODD = [
    [],
    {},
    ["x"],
    {"x": 1},
    [[1]],
    3,
    -1.5,
    10**30,
    True,
    None,
    "",
    "x" * 3000,
    "\ud800",
    "tie",
    "a",
]
"""Values of other kinds than a field has."""


def _place(rng: Random, data: bytes) -> int:
    return int(rng.integers(0, len(data) + 1))


def _token(rng: Random) -> bytes:
    return TOKENS[rng.integers(len(TOKENS))]


def flip(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at + 4 :]


def cut_out(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + int(rng.integers(1, 40)) :]


def truncate(rng: Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def repeat(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    end = at + int(rng.integers(1, 60))
    return data[:end] + data[at:]


def insert(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + _token(rng) + data[at:]


def zero_tail(rng: Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + b"\0" * (len(data) - at)


def append(rng: Random, data: bytes) -> bytes:
    return data + _token(rng)


def replace_word(rng: Random, data: bytes) -> bytes:
    words = list(re.finditer(rb"[^\s,:\[\]{}\"|]+", data))
    if not words:
        return insert(rng, data)
    word = words[rng.integers(len(words))]
    return data[: word.start()] + _token(rng) + data[word.end() :]


def replace_blank(rng: Random, data: bytes) -> bytes:
    gaps = list(re.finditer(rb"[\s,:]", data))
    if not gaps:
        return insert(rng, data)
    gap = gaps[rng.integers(len(gaps))]
    return data[: gap.start()] + _token(rng) + data[gap.end() :]


def replace_everywhere(rng: Random, data: bytes) -> bytes:
    old = [b" ", b"\n", b"\t", b",", b'"', b":", b"0", b"."][rng.integers(8)]
    return data.replace(old, _token(rng)[:3])


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def _in_a_line(rng: Random, data: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    """Change the cells of a line, and the gaps between them."""
    lines = _lines(data)
    at = int(rng.integers(len(lines)))
    cells = re.split(rb"([\s,]+)", lines[at])
    change(cells)
    lines[at] = b"".join(cells)
    return b"\n".join(lines)


def drop_cell(rng: Random, data: bytes) -> bytes:
    return _in_a_line(rng, data, lambda cells: cells.pop(rng.integers(len(cells))))


def double_cell(rng: Random, data: bytes) -> bytes:
    def double(cells: list[bytes]) -> None:
        which = int(rng.integers(len(cells)))
        cells[which:which] = [cells[which], b" "]

    return _in_a_line(rng, data, double)


def swap_cells(rng: Random, data: bytes) -> bytes:
    def swap(cells: list[bytes]) -> None:
        i, j = rng.integers(len(cells), size=2)
        cells[i], cells[j] = cells[j], cells[i]

    return _in_a_line(rng, data, swap)


def repeat_line(rng: Random, data: bytes) -> bytes:
    lines = _lines(data)
    lines.insert(int(rng.integers(len(lines) + 1)), lines[rng.integers(len(lines))])
    return b"\n".join(lines)


def drop_line(rng: Random, data: bytes) -> bytes:
    lines = _lines(data)
    del lines[rng.integers(len(lines))]
    return b"\n".join(lines)


def join_lines(rng: Random, data: bytes) -> bytes:
    ends = [match.start() for match in re.finditer(b"\n", data)]
    if not ends:
        return data
    at = ends[rng.integers(len(ends))]
    return data[:at] + [b"", b" ", b"\t", b","][rng.integers(4)] + data[at + 1 :]


def recode(rng: Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(["utf-16", "utf-8-sig", "latin-1", "utf-32"][rng.integers(4)], "replace")


def drop_block(rng: Random, data: bytes) -> bytes:
    """Drop a paragraph, or all from it on: sections of the text of a model stand between blank
    lines.
    """
    blocks = data.split(b"\n\n")
    at = int(rng.integers(len(blocks)))
    return b"\n\n".join(blocks[:at] + (blocks[at + 1 :] if rng.random() < 0.7 else []))


def deepen(rng: Random, data: bytes) -> bytes:
    """Make a list of numbers hundreds or thousands of positions long."""
    lists = list(re.finditer(rb"\[[0-9][0-9, ]*\]|(?<=[,;\n])[0-9]( [0-9])+(?=[,;\n])", data))
    if not lists:
        return insert(rng, data)
    where, times = lists[rng.integers(len(lists))], int(rng.choice([200, 5_000, 400_000]))
    mark = b", " if where[0][:1] == b"[" else b" "
    long = mark.join([b"1"] * times)
    return (
        data[: where.start()]
        + (b"[" + long + b"]" if mark == b", " else long)
        + data[where.end() :]
    )


def odd_value(rng: Random, data: bytes) -> bytes:
    """Give a field of a JSON line a value of another kind."""
    lines = _lines(data)
    at = int(rng.integers(len(lines)))
    try:
        record = json.loads(lines[at])
        name = list(record)[rng.integers(len(record))]
    except (ValueError, TypeError, RecursionError):
        return insert(rng, data)
    record[name] = ODD[rng.integers(len(ODD))]
    lines[at] = json.dumps(record).encode()
    return b"\n".join(lines)


def bomb(rng: Random, data: bytes) -> bytes:
    """Put up to a million blanks or lines into a file, or up to a hundred million into a packed
    one."""
    pack = {b"\x1f\x8b": gzip, b"\x28\xb5": zstd}.get(data[:2])
    inside = data
    if pack is not None:
        try:
            inside = pack.decompress(data)
        except Exception:  # each raises errors of its own
            return flip(rng, data)
    at, size = (
        int(rng.integers(len(inside) + 1)),
        1 << int(rng.integers(16, 20) if pack is None else rng.integers(20, 28)),
    )
    mark = [b" ", b"\n", b"0,", b"[],"][rng.integers(4)]
    filling = mark * (size // len(mark))
    inside = inside[:at] + filling + inside[at:]
    return inside if pack is None else pack.compress(inside)


RARE = [drop_block, deepen, odd_value, bomb]
"""Damages that know the structure of a file, or take longer; one in eight."""

DAMAGES = [
    *(
        flip,
        overwrite,
        cut_out,
        truncate,
        repeat,
        insert,
        insert,
        zero_tail,
        append,
        replace_word,
        replace_word,
    ),
    *(
        replace_blank,
        replace_everywhere,
        drop_cell,
        double_cell,
        swap_cells,
        repeat_line,
        drop_line,
        join_lines,
        recode,
    ),
]


def damaged(rng: Random, data: bytes) -> tuple[bytes, str]:
    """Return the bytes after one to three damages, and their names."""
    names = []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))):
        if not data:
            break
        kinds = RARE if rng.random() < 1 / 8 else DAMAGES
        damage = kinds[rng.integers(len(kinds))]
        data = damage(rng, data)
        names.append(damage.__name__)
    return data, "+".join(names)
