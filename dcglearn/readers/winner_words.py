"""Parsing of the winner column: built-in words, user-defined words with strengths, numbers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import names_in, number_of
from dcglearn.foundation.validation import Floats, InputError, Integers, PolarsFrame
from dcglearn.readers.cell_values import BLANK, NUMBER, shown

MEANINGS = ("a", "b", "tie", "open", "left", "right")
"""Meanings of a winner, by code; readers turn left and right into a or b, see `with_lists`."""

TIES = tuple(
    names_in(
        "tie,tied,draw,equal,same,about the same,no preference,no pref,no difference,neither,"
        "neither better,neither is better,both good,both bad"
    )
)
"""Words for a tie, in lower case."""

WINNERS = {"a": 0, "model_a": 0, "b": 1, "model_b": 1, "open": 3}
WINNERS |= dict.fromkeys((*TIES, "tie (bothbad)"), 2)
WINNERS |= {"left": 4, "first": 4, "right": 5, "second": 5}
"""Words for a winner, in lower case, and their codes."""

WITH_ZEROS = re.compile(r"-?[0-9]+\.0+")
"""A whole number with a point, as spreadsheets and data frames write it."""

MOST_WORDS = 50
"""More different words than this are no words for a winner."""


@dataclass(frozen=True)
class Winners(Finding):
    """The winners of a log.

    `codes`, shape (n,), index `MEANINGS`; `words` has for each word its meaning and how often it
    occurs; `strength`, shape (n,), is the words' strength, None if none has any; `sides` says how
    left and right were understood, and `names` in which columns names of systems were looked up.
    """

    codes: Integers = field(repr=False)
    words: dict[str, tuple[str, int]]
    strength: Floats | None = field(default=None, repr=False)
    sides: str = ""
    names: str = ""

    def __getitem__(self, rows: Any) -> Self:
        """Return the winners of some rows, with the words of all."""
        strength = None if self.strength is None else self.strength[rows]
        return replace(self, codes=self.codes[rows], strength=strength)

    @property
    def sentence(self) -> str:
        """The words that occur, what each means, and how often it occurs."""
        if not self.words:
            return "no line has a winner: write a, b or tie there"
        counts = []
        for word, (meaning, n) in self.words.items():
            shown_word = word if word == meaning else f'"{word}" ({meaning})'
            counts.append(f"{shown_word} in {number_of(n, 'lines', ',')}")
        return f"the winner is {', '.join(counts)}"

    @property
    def table(self) -> PolarsFrame:
        """A row for each word, with its meaning."""
        return table_of(
            {"word": word, "meaning": meaning, "lines": n}
            for word, (meaning, n) in self.words.items()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Which columns hold names of systems, what left and right are, and what is not shown."""
        names = f"winners are {self.names}" if self.names else ""
        hidden = len(self.codes) - sum(n for _, n in self.words.values())
        between = f"winners in {number_of(hidden, 'lines', ',')} are numbers between these"
        return tuple(filter(None, (names, self.sides, between if hidden > 0 else "")))


@dataclass(frozen=True)
class OwnWords:
    """User-defined words in lower case: codes of winners, and strengths of these or of a column."""

    codes: dict[str, int]
    strengths: dict[str, float]

    @classmethod
    def of(cls, words: Mapping[Any, str] | str | None) -> Self:
        """Return the meanings in a mapping, or in text such as ``Left is better=a,slightly=:1``."""
        own = cls({}, {})
        for word, meaning in _pairs(words) if isinstance(words, str) else (words or {}).items():
            # a side, a strength, or both
            side, colon, strength = str(meaning).strip().lower().partition(":")
            code = WINNERS.get(side)
            number = float(strength) if NUMBER.fullmatch(strength) else 0.0

            # a tie has no strength
            no_side = code is None and (side or not colon)
            no_strength = colon and (number <= 0 or (side and code in (2, 3)))
            if no_side or no_strength:
                raise InputError(
                    f"winner_words: {word!r} means {meaning!r}; it can mean a, b, tie or open, "
                    "left or right; a:2 is a winner with its strength, and :2 a strength alone"
                )

            # the same word again
            key = word_of(word).lower()
            twice = key in own.codes or key in own.strengths
            if twice and (own.codes.get(key), own.strengths.get(key, 0.0)) != (code, number):
                raise InputError(f"winner_words: {word!r} has two meanings; give one")

            # keep both in lower case
            if code is not None:
                own.codes[key] = code
            if colon:
                own.strengths[key] = number

        # no word at all
        if words is not None and not own.codes and not own.strengths:
            raise InputError(
                "winner_words is empty; give each word its meaning, such as Left is better=a"
            )
        return own

    @property
    def of_winners(self) -> dict[str, float]:
        """The strengths of the words that name a winner."""
        return {word: strength for word, strength in self.strengths.items() if word in self.codes}

    def meanings(self) -> dict[str, str]:
        """Return the meanings as text, by word."""
        meanings = {word: MEANINGS[code] for word, code in self.codes.items()}
        for word, strength in self.strengths.items():
            meanings[word] = f"{meanings.get(word, '')}:{word_of(strength)}"
        return meanings


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words and meanings of ``word=meaning,word=meaning``; a word may contain commas."""
    word = ""
    for part in text.split(","):
        before, equals, meaning = part.rpartition("=")
        word += before if equals else f"{part},"
        if equals:
            yield word.strip(), meaning
            word = ""
    if word:
        raise InputError(
            f"winner_words {text!r}: {word.rstrip(',')!r} has no meaning; "
            "write word=a, word=b, word=tie"
        )


def word_of(value: Any) -> str:
    """Return the text of a value in counts and messages, whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = value.strip(BLANK) if isinstance(value, str) else str(value)
    return text.split(".")[0] if WITH_ZEROS.fullmatch(text) else text


def remedy_for_words(seen: Counter[str], known: Mapping[str, int]) -> str:
    """Return what to do in a log with the winners `seen`, not all known."""
    remedy = _remedy([word for word in seen if word.lower() not in known])
    return f"use a, b or tie{_understood(seen)}; {remedy}"


def _understood(seen: Counter[str]) -> str:
    """Return the words that are understood, and those that occur most often."""
    most = seen.most_common(8)
    words = ", ".join(f"{shown(word)} ({n:,})" for word, n in most)
    more = f" and {len(seen) - len(most)} more" if len(seen) > len(most) else ""
    return (
        f" (understood: a, left, first; b, right, second; {', '.join(TIES)}; open); "
        f"seen: {words}{more}"
    )


def _remedy(words: list[str]) -> str:
    """Return what makes unknown words understood."""
    # numbers whose sign tells the side
    numbers = sorted(map(float, words)) if all(map(NUMBER.fullmatch, words)) else []
    if numbers and numbers[0] < 0:
        return (
            "the sign of a number may mean either side: positive='a', or 'b', says which one "
            "positive numbers prefer; its size is the strength"
        )

    # numbers whose distance from a middle does, and that are no codes 0 to 3
    codes = len(numbers) <= 3 and all(number.is_integer() and number <= 3 for number in numbers)
    if numbers and not codes:
        return (
            f"no number is negative: say which one means no preference{_such_middle(numbers)}, and "
            "which side larger numbers prefer, positive='a' or 'b'; the distance is the strength"
        )

    # too many words for a column of winners
    if len(words) > MOST_WORDS:
        return (
            f"these are {len(words):,} different words: name the column of winners (--columns "
            "winner=)"
        )

    # words and codes
    meanings = {word: _guess(word) for word in words}
    example = ",".join(f"{word}={meaning}" for word, meaning in meanings.items())
    each = ", with a, b or tie for each ?" if "?" in meanings.values() else ""
    scale = ", or middle=2 with positive= if they are a scale" if numbers == [1, 2, 3] else ""
    name = "these codes" if numbers else "your words"
    return f'say what {name} mean: winner_words="{example}"{each}{scale}'


def _such_middle(numbers: Sequence[float]) -> str:
    """Return words for the middle of the scale of numbers, none if it is not sure."""
    middle = middle_of(numbers)
    return "" if middle is None else f", such as middle={middle:g}"


def middle_of(numbers: Sequence[float]) -> float | None:
    """Return the middle of the only usual scale that sorted numbers can be of; None if not sure.

    A scale of up to ten points is sure if both its ends and its middle occur, or no other whose
    middle occurs holds all numbers. Those of fractions and of percentages are, if there are numbers
    on both sides of the middle.
    """
    scales = ((0, 1), (0, 4), (1, 5), (0, 6), (1, 7), (1, 9), (0, 10), (0, 100))
    low, high = numbers[0], numbers[-1]
    fractions, percentages = high <= 1, high > 10
    middles = {(first + last) / 2 for first, last in scales if first <= low and high <= last}

    # numbers on both sides of the middle
    if fractions or percentages:
        middles = {0.5 if fractions else 50.0} & middles
        return next((middle for middle in middles if low < middle < high), None)

    # both ends and the middle, or the only middle that occurs
    if (low, high) in scales and (low + high) / 2 in numbers:
        return (low + high) / 2
    middles &= set(numbers)
    return middles.pop() if len(middles) == 1 else None


def _guess(word: str) -> str:
    """Return the meaning of a phrase with one known word, such as "Left is better", else "?"."""
    # words that may stand beside the side that wins
    beside = {"better", "best", "wins", "won", "preferred", "prefer", "much", "slightly", "clearly"}
    beside |= {"strongly", "is", "was", "are", "the", "on", "list", "system", "side", "option"}
    beside |= {"response", "result", "results", "model"}

    # one meaning, and no other word
    parts = re.findall(r"\w+", word.lower())
    meanings = {WINNERS[part] for part in parts if part in WINNERS}
    sure = len(meanings) == 1 and {*parts} <= beside | WINNERS.keys()
    return MEANINGS[meanings.pop()] if sure else "?"


def by_sign(values: Floats, positive: str, middle: float | None) -> tuple[Winners, Floats]:
    """Return the winners that numbers mean, and their strengths.

    They are sign and size of the distance to `middle`, by default 0.
    """
    if middle is None and values.min() >= 0:
        such = _such_middle(np.unique(values).tolist())
        raise InputError(
            f"positive={positive!r} needs numbers of both signs; these are {values.min():g} to "
            f"{values.max():g}: say which one means no preference{such}; middle=0 insists"
        )
    distance = values - (middle or 0.0)
    side = WINNERS[positive]
    codes = np.where(distance == 0, WINNERS["tie"], np.where(distance > 0, side, 1 - side))

    # the numbers as words, of many the ends
    distinct, first, counts = np.unique(values, return_index=True, return_counts=True)
    kept = range(len(distinct)) if len(distinct) <= MOST_WORDS else [0, len(distinct) - 1]
    words = {f"{distinct[i]:g}": (MEANINGS[codes[first[i]]], int(counts[i])) for i in kept}
    return Winners(codes, words), np.where(distance == 0, 1.0, np.abs(distance))
