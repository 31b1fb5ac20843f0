"""Damage to the bytes of good files: what editors, transfers, spreadsheets and attackers do to them."""

import re

import numpy as np

Random = np.random.Generator

TOKENS = [
    *(
        b" ",
        b"\t",
        b"\n",
        b"\r",
        b"\r\n",
        b"\v",
        b"\f",
        b"\0",
        b",",
        b";",
        b"|",
        b":",
        b'"',
        b"'",
        b"\\",
        b"#",
        b"-",
        b"+",
    ),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b"{}",
        b"[]",
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b"nan",
        b"-inf",
        b"1e308",
        b"-1e300",
    ),
    *(
        b"1e400",
        b"1e-400",
        b"79.5",
        b"1_0",
        b"0x10",
        b"007",
        b"-1",
        b"126",
        b"127",
        b"2147483648",
        b"9223372036854775808",
    ),
    *(
        b"9" * 400,
        b"x" * 300,
        b"[" * 2000,
        b'{"a":' * 2000,
        b"\xff",
        b"\xc3(",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\x1b[2J",
    ),
    *(
        "\u202e".encode(),
        "\u2028".encode(),
        "\u00a0".encode(),
        "\u0661".encode(),
        b"\\u0000",
        b"\\ud800",
        b"qid:1",
        b"qid:",
    ),
    *(b"1:1", b"0:1", b"50000000:1", b"Q0", b"a", b"b", b"tie", b"open", b"<script>", b"=cmd()", b"..", b"$\\frac$"),
]
"""Texts that mean something to one of the formats, or to nobody."""


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


def drop_cell(rng: Random, data: bytes) -> bytes:
    lines = _lines(data)
    at = int(rng.integers(len(lines)))
    cells = re.split(rb"([\s,]+)", lines[at])
    del cells[rng.integers(len(cells))]
    lines[at] = b"".join(cells)
    return b"\n".join(lines)


def double_cell(rng: Random, data: bytes) -> bytes:
    lines = _lines(data)
    at = int(rng.integers(len(lines)))
    cells = re.split(rb"([\s,]+)", lines[at])
    which = int(rng.integers(len(cells)))
    lines[at] = b"".join([*cells[: which + 1], b" ", *cells[which:]])
    return b"\n".join(lines)


def swap_cells(rng: Random, data: bytes) -> bytes:
    lines = _lines(data)
    at = int(rng.integers(len(lines)))
    cells = re.split(rb"([\s,]+)", lines[at])
    i, j = rng.integers(len(cells), size=2)
    cells[i], cells[j] = cells[j], cells[i]
    lines[at] = b"".join(cells)
    return b"\n".join(lines)


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


DAMAGES = [
    *(flip, overwrite, cut_out, truncate, repeat, insert, insert, zero_tail, append, replace_word, replace_word),
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
        damage = DAMAGES[rng.integers(len(DAMAGES))]
        data = damage(rng, data)
        names.append(damage.__name__)
    return data, "+".join(names)
