"""Text to print: escaped control characters, aligned tables, nouns that agree with a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"


def escaped(text: str) -> str:
    r"""Return the text with control characters as ``\x1b``; tabs and line ends stay."""
    return re.sub(f"[{_CONTROL}]", _shown, text)


def one_line(text: str) -> str:
    r"""Return the text with control characters, tabs and line ends escaped, as ``\x1b``, ``\t``."""
    return re.sub(f"[{_CONTROL}\t\n]", _shown, text)


def markdown(text: str) -> str:
    """Return text on one line for Markdown, in which names cannot become markup."""
    return "".join(f"\\{mark}" if mark in r"\`*_[]<>|#&~" else mark for mark in one_line(text))


def markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines in Markdown; the first row holds the names of the columns."""
    head, *others = rows
    table = [head, ["---"] * len(head), *others]
    return [f"| {' | '.join(map(markdown, row))} |" for row in table]


def spreadsheet(frame: pl.DataFrame, separator: str = ",") -> str:
    """Return a table as CSV or TSV in which a text that looks like a formula gets an apostrophe."""
    import polars as pl

    text = pl.col(pl.String)
    formula = text.str.contains(r"^[=+\-@\t\r]") & text.cast(pl.Float64, strict=False).is_null()
    harmless = pl.when(formula).then(text.str.replace("^", "'")).otherwise(text)
    return frame.with_columns(harmless).write_csv(separator=separator)


def ends(text: str, most: int) -> str:
    """Return a text of at most `most` characters, without its middle where it is longer."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[-half:]}"


def whole(words: str) -> str:
    """Return words as a sentence: a capital where the first word is plain, and a full stop."""
    first = words.split(maxsplit=1)[0] if words.strip() else ""
    if first.rstrip(",;:").isalpha():
        words = words[0].upper() + words[1:]
    return words if words.endswith((".", "!", "?", "…")) or not words else f"{words}."


def _singular(noun: re.Match[str]) -> str:
    """Return the singular of a noun in the plural."""
    return "query" if noun[1] else noun[2] or noun[3]


def number_of(n: float, things: str, form: str = "") -> str:
    """Return a number with a noun given in the plural: "2 pairs" of 2, and "1 pair" of 1."""
    if n == 1:
        plural = r"\b(?:(quer)ies|(\w+ch)es|(\w+[a-rt-z])s)\b"
        things = re.sub(plural, _singular, things, count=1)
    return f"{n:{form}} {things}"


def percent(share: float) -> str:
    """Return a share as a percentage, with the digits that it has: "90%" of .9, "97.5%" of .975."""
    return f"{100 * share:.6g}%"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines: names flush left; the first later column of numbers, and on, right.

    The first row holds the names of the columns.
    """
    columns = [[one_line(cell) for cell in column] for column in zip(*rows, strict=True)]
    flush: list[list[str]] = []
    side = str.ljust
    for column in columns:
        if flush and any(re.match(r"[-+]?\d", cell) for cell in column[1:]):
            side = str.rjust
        width = max(map(len, column))
        flush.append([side(cell, width) for cell in column])
    return ["  ".join(row).rstrip() for row in zip(*flush, strict=True)]


def names_in(names: Any) -> list[Any]:
    """Return names: those of a list, or those that a text separates by commas."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def nearest(name: str, names: Iterable[str]) -> str:
    """Return "; the nearest is NAME" for messages, or nothing where no name is like this one."""
    import difflib

    close = difflib.get_close_matches(name, names, 1)
    return f"; the nearest is {close[0]}" if close else ""


def _shown(match: re.Match[str]) -> str:
    return repr(match[0])[1:-1]


def left_out(dropped: Mapping[str, int]) -> list[str]:
    """Return a line for each reason to leave something out, with a count unless it names a line."""
    return [
        f"left out: {reason if ': ' in reason else number_of(n, reason, ',')}"
        for reason, n in dropped.items()
        if n
    ]
