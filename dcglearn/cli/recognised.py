"""What a reader recognised, in words: columns, winners, grades with counts, and the first pairs drawn as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import typer

from dcglearn.foundation.plain_text import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dcglearn.readers.preferences import Preferences
    from dcglearn.readers.read_table import Recognised

FIRST = 3
"""Pairs that a dry run draws."""


def say_winners(recognised: Recognised | None) -> None:
    """Print what the winners' words were taken to mean, to standard error; a, b and tie mean themselves."""
    winners = None if recognised is None else recognised.winners
    if winners is not None and any(word.lower() != meaning for word, (meaning, _) in winners.words.items()):
        typer.echo(f"winners: {winners}", err=True)


def looked_up_lines(counts: Mapping[str, int]) -> list[str]:
    """Return what a join with judgements counted, in one line; no line for other logs."""
    return ["looked up: " + ", ".join(number_of(n, what, ",") for what, n in counts.items())] if counts else []


def recognised_lines(log: Preferences) -> list[str]:
    """Return what was recognised in a log, a line a fact, and its first pairs."""
    facts = {} if log.recognised is None else log.recognised.lines()
    return [*(f"{name}: {text}" for name, text in facts.items()), _grades(log), *_first_pairs(log)]


def _grades(log: Preferences) -> str:
    """Return the grades of the scale and how often each occurs in the two lists of a pair."""
    lists = np.concatenate([log.preferred, log.other]).astype(np.int64)
    counts = np.bincount(lists.ravel() + 1, minlength=log.n_grades + 1)
    names = log.grade_names or tuple(map(str, range(log.n_grades)))
    known = [f"{name} ({count:,})" for name, count in zip(names, counts[1:], strict=True)]
    return "grades: " + ", ".join([*known, *([f"unknown ({counts[0]:,})"] if counts[0] else [])])


def _first_pairs(log: Preferences) -> list[str]:
    names = log.grade_names or tuple(map(str, range(log.n_grades)))
    width = max(len(name) for name in names)
    lines = []
    for i in range(min(FIRST, len(log))):
        tied = log.tie is not None and log.tie[i]
        query = "" if log.query is None else f", query {log.query[i]}"
        lines.append(f"pair {i + 1}{query}:")
        words = ("tied", "and") if tied else ("preferred", "to")
        for word, grades in zip(words, (log.preferred[i], log.other[i]), strict=True):
            row = " ".join((names[grade] if grade >= 0 else "-").rjust(width) for grade in grades)
            lines.append(f"  {word:>9}  {row}")
    return lines
