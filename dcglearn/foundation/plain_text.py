"""Text to print: text from files with its control characters escaped, and nouns that agree with
their number.
"""

import re
from collections.abc import Iterable, Sequence

from dcglearn.foundation.validation import PolarsFrame

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE = re.compile(f"[{_CONTROL}]")
_UNSAFE_IN_LINE = re.compile(f"[{_CONTROL}\t\n]")
_PLURAL = re.compile(r"\b(?:(quer)ies|(\w+[a-rt-z])s)\b")


def escaped(text: str) -> str:
    r"""Return the text with its control characters (and surrogates) as ``\x1b``, but for tabs and
    line ends.
    """
    return _UNSAFE.sub(_shown, text)


def one_line(text: str) -> str:
    r"""Return the text with its control characters as ``\x1b``, tabs and line ends as ``\t`` and
    ``\n``.
    """
    return _UNSAFE_IN_LINE.sub(_shown, text)


def markdown(text: str) -> str:
    """Return text on one line for Markdown, in which names cannot become markup."""
    return "".join(f"\\{mark}" if mark in r"\`*_[]<>|#&~" else mark for mark in one_line(text))


def spreadsheet(frame: PolarsFrame, separator: str = ",") -> str:
    """Return a table as CSV or TSV in which no text is a formula: it gets an apostrophe, unless it
    is a number.
    """
    import polars as pl

    text = pl.col(pl.String)
    formula = text.str.contains(r"^[=+\-@\t\r]") & text.cast(pl.Float64, strict=False).is_null()
    harmless = pl.when(formula).then(text.str.replace("^", "'")).otherwise(text)
    return frame.with_columns(harmless).write_csv(separator=separator)


def number_of(n: int, things: str, form: str = "") -> str:
    """Return a number of things, which are named in the plural: "2 pairs of lists", but "1 pair of
    lists".
    """
    if n == 1:
        things = _PLURAL.sub(lambda noun: "query" if noun[1] else noun[2], things, count=1)
    return f"{n:{form}} {things}"


def aligned(rows: Sequence[Sequence[str]], n_left: int = 1, least: int = 0) -> list[str]:
    """Return a table's lines: its first `n_left` columns flush left, the others flush right and at
    least so wide.
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = [width if i < n_left else max(width, least) for i, width in enumerate(widths)]
    cells = (
        [(cell.ljust if i < n_left else cell.rjust)(widths[i]) for i, cell in enumerate(row)]
        for row in rows
    )
    return ["  ".join(row).rstrip() for row in cells]


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return "; the nearest is NAME" for messages, or nothing where no name is like this one."""
    import difflib

    close = difflib.get_close_matches(name, list(names), 1, cutoff)
    return f"; the nearest is {close[0]}" if close else ""


def _shown(match: re.Match[str]) -> str:
    return repr(match[0])[1:-1]
