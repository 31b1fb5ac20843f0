"""What a reader recognised, in words: columns, winners, grades with counts, and the first pairs drawn as rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from dcglearn.foundation.plain_text import number_of
from dcglearn.readers.winner_words import WINNERS

if TYPE_CHECKING:
    from dcglearn.parts.parts import PartedLog
    from dcglearn.readers.mapping import LogMapping
    from dcglearn.readers.preferences import Preferences
    from dcglearn.readers.read_table import Recognised

FIRST = 3
"""Pairs that a dry run draws."""


def n_pairs(log: Preferences | PartedLog) -> int:
    """Return the number of pairs."""
    from dcglearn.parts.parts import PartedLog

    return log.facts.n if isinstance(log, PartedLog) else len(log)


def describe(log: Preferences | PartedLog, dropped: dict[str, int]) -> list[str]:
    """Return a line that counts what a log holds, and a line for each reason to leave something out."""
    from dcglearn.parts.parts import PartedLog

    if isinstance(log, PartedLog):
        facts = log.facts
        counts = [number_of(facts.n, "pairs"), *([number_of(facts.n_ties, "ties")] if facts.n_ties else [])]
        counts += [] if facts.raters is None else [number_of(len(facts.raters), "raters")]
    else:
        counts = [number_of(len(log), "pairs")]
        counts += [] if log.weight is None else [f"total weight {log.total_weight:,.0f}"]
        counts += [] if log.tie is None else [number_of(int(log.tie.sum()), "ties")]
        labels = {"raters": log.rater, "queries": log.query}
        counts += [number_of(len(np.unique(values)), name) for name, values in labels.items() if values is not None]
    read = f"read: {', '.join(counts)}; {number_of(log.depth, 'positions')}, {number_of(log.n_grades, 'grades')}"
    looked_up = [] if isinstance(log, PartedLog) else looked_up_lines(log.counted)
    return [read, *looked_up, *left_out(dropped)]


def left_out(dropped: dict[str, int]) -> list[str]:
    """Return a line for each reason to leave something out; what is wrong with one line is not counted."""
    counts = {reason: count for reason, count in dropped.items() if count}
    return [f"left out: {reason if ': ' in reason else number_of(n, reason, ',')}" for reason, n in counts.items()]


def recognised_mapping(mapping: LogMapping, recognised: Recognised | None) -> LogMapping:
    """Return a mapping with the columns and the words for winners that a reader recognised without being told."""
    if recognised is None or "position" in recognised.columns:  # a row for each document: its columns name no list
        return mapping
    columns = {role: name for role, name in recognised.columns.items() if isinstance(name, str) and name != role}
    own: Mapping[str, Any] | None = None
    if mapping.winner_words is None and mapping.positive is None and recognised.winners is not None:
        seen = recognised.winners.words
        own = {word: meaning for word, (meaning, _) in seen.items() if word.lower() not in WINNERS}
        own = own and {**own, "0": "tie"}  # these are 1 and 2, with or without 0
    return mapping.updated(columns={**columns, **mapping.columns} or None, winner_words=own or None)


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
