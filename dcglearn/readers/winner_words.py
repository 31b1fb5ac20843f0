"""Words for the winner of a pair: those always understood, words of one's own with strengths,
numbers on a scale.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.readers.line_formats import BLANK, NUMBER, shown

MEANINGS = ("a", "b", "tie", "open", "left", "right")
"""What a winner can be, by its code; readers make a or b of left and right, see `with_lists`."""

WINNERS = {"a": 0, "b": 1, "open": 3, "left": 4, "first": 4, "right": 5, "second": 5}
WINNERS |= dict.fromkeys(
    ("tie", "draw", "equal", "same", "both good", "both bad", "tie (bothbad)"), 2
)
WINNERS |= {"model_a": 0, "model_b": 1}
"""Words for a winner, in lower case, and their codes."""

WHOLE = re.compile(r"-?[0-9]+\.0+")
"""A whole number with a point, as spreadsheets and data frames write it."""

MOST_WORDS = 50
"""More different words than this are no words for a winner."""


@dataclass(frozen=True)
class Winners:
    """The winners of a log.

    `codes`, shape (n,), index `MEANINGS`; `words` has for each word its meaning and how often it
    occurs; `strength`, shape (n,), is that of the words, None if none has any; `sides` says in
    words what left and right were taken for, and `names` in which columns names of systems were
    looked up.
    """

    codes: Integers
    words: dict[str, tuple[str, int]]
    strength: Floats | None = None
    sides: str = ""
    names: str = ""

    def __getitem__(self, rows: Any) -> Self:
        """Return the winners of some rows, with the words of all."""
        strength = None if self.strength is None else self.strength[rows]
        return replace(self, codes=self.codes[rows], strength=strength)

    def __str__(self) -> str:
        said = [
            word if word == meaning else f"{word} = {meaning}"
            for word, (meaning, _) in self.words.items()
        ]
        counts = ", ".join(
            f"{text} ({n:,})" for text, (_, n) in zip(said, self.words.values(), strict=True)
        )
        return one_line("; ".join(filter(None, (counts, self.names, self.sides))))


def winners_of(
    codes: Integers,
    counts: Mapping[str, int],
    code_of: Mapping[str, int],
    strength: Floats | None = None,
) -> Winners:
    """Return winners with the meaning of every counted word."""
    return Winners(
        codes, {word: (MEANINGS[code_of[word]], counts[word]) for word in sorted(counts)}, strength
    )


@dataclass(frozen=True)
class OwnWords:
    """The meanings of words of one's own, in lower case: codes of winners, and strengths of these
    or of a column.
    """

    codes: dict[str, int]
    strengths: dict[str, float]

    @classmethod
    def of(cls, words: Mapping[Any, str] | str | None) -> Self:
        """Return the meanings in a mapping or text ``Left is better=a,much
        better=a:2,slightly=:1``; see `_pairs`.
        """
        own = cls({}, {})
        for word, meaning in _pairs(words) if isinstance(words, str) else (words or {}).items():
            key = word_of(word).lower()
            side, colon, strength = str(meaning).strip().lower().partition(":")
            code, number = WINNERS.get(side), float(strength) if NUMBER.fullmatch(strength) else 0.0
            if ((side or not colon) and code is None) or (
                colon and (number <= 0 or (side and code in (2, 3)))
            ):
                raise InputError(
                    f"winner_words: {word!r} means {meaning!r}; it can mean a, b, tie or open, left or right; a:2 is a "
                    "winner with its strength, and :2 a strength alone"
                )
            twice = key in own.codes or key in own.strengths
            if twice and (own.codes.get(key), own.strengths.get(key, 0.0)) != (code, number):
                raise InputError(f"winner_words: {word!r} has two meanings; give one")
            own.codes.update({} if code is None else {key: code})
            own.strengths.update({key: number} if colon else {})
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
        sides = {word: MEANINGS[code] for word, code in self.codes.items()}
        strengths = {
            word: f"{sides.get(word, '')}:{word_of(strength)}"
            for word, strength in self.strengths.items()
        }
        return {**sides, **strengths}


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
            f"winner_words {text!r}: {word.rstrip(',')!r} has no meaning; write word=a, word=b, word=tie"
        )


def word_of(value: Any) -> str:
    """Return the text that stands for a value in counts and messages; whole numbers are written
    without a point.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = value.strip(BLANK) if isinstance(value, str) else str(value)
    return text.split(".")[0] if WHOLE.fullmatch(text) else text


def refused_word(value: Any, seen: Counter[str], known: Mapping[str, int]) -> InputError:
    """Return the refusal of a winner that is not understood, in a log with the winners `seen`."""
    remedy, cure = _remedy([word for word in seen if word.lower() not in known])
    refusal = f"winner is {shown(value)}; use a, b or tie{_understood(seen)}; {remedy}"
    return InputError(refusal, see="winners", cure=cure)


def _understood(seen: Counter[str]) -> str:
    most = seen.most_common(8)
    shown_words = ", ".join(f"{shown(word)} ({n:,})" for word, n in most)
    more = f" and {len(seen) - len(most)} more" if len(seen) > len(most) else ""
    understood = (
        "a, left, first; b, right, second; tie, draw, equal, same, both good, both bad; open"
    )
    return f" (understood: {understood}); seen: {shown_words}{more}"


def _remedy(words: list[str]) -> tuple[str, dict[str, Any]]:
    """Return what makes unknown words understood: a sentence, and the options of
    `read_preferences`.
    """
    # numbers whose sign or distance from a middle tells the side
    numbers = sorted(map(float, words)) if all(map(NUMBER.fullmatch, words)) else []
    if numbers and numbers[0] < 0:
        return (
            "the sign of a number may mean either side: positive='a', or 'b', says which one positive numbers prefer; "
            "its size is the strength",
            {"positive": "?"},
        )
    codes = len(numbers) <= 3 and all(number.is_integer() and number <= 3 for number in numbers)
    if numbers and not codes:
        middle = middle_of(numbers)
        such = "" if middle is None else f", such as middle={middle:g}"
        return (
            f"no number is negative: say which one means no preference{such}, and which side larger numbers prefer, "
            "positive='a' or 'b'; the distance is the strength",
            {"positive": "?", "middle": "?" if middle is None else middle},
        )

    # too many words for a column of winners
    if len(words) > MOST_WORDS:
        return (
            f"these are {len(words):,} different words: name the column of winners (--columns winner=)",
            {},
        )

    # words and codes
    meanings = {word: _guess(word) for word in words}
    example = ",".join(f"{word}={meaning}" for word, meaning in meanings.items())
    each = ", with a, b or tie for each ?" if "?" in meanings.values() else ""
    scale = ", or middle=2 with positive= if they are a scale" if numbers == [1, 2, 3] else ""
    what = "these codes" if numbers else "your words"
    return f'say what {what} mean: winner_words="{example}"{each}{scale}', {
        "winner_words": meanings
    }


SCALES = (
    (0.0, 1.0),
    (0.0, 4.0),
    (1.0, 5.0),
    (0.0, 6.0),
    (1.0, 7.0),
    (1.0, 9.0),
    (0.0, 10.0),
    (0.0, 100.0),
)
"""The ends of the usual scales of preference, whose middle means none."""


def middle_of(numbers: Sequence[float]) -> float | None:
    """Return the middle of the only usual scale that numbers, in order, can be of; None where this
    is not sure.

    A scale of up to ten points is sure if both its ends and its middle occur, or no other whose
    middle occurs holds all numbers. Those of fractions and of percentages are, if there are numbers
    on both sides of the middle.
    """
    low, high = numbers[0], numbers[-1]
    fractions, percentages = high <= 1, high > 10
    middles = {(first + last) / 2 for first, last in SCALES if first <= low and high <= last}
    if fractions or percentages:
        middles = {0.5 if fractions else 50.0} & middles
        return next((middle for middle in middles if low < middle < high), None)
    if (low, high) in SCALES and (low + high) / 2 in numbers:
        return (low + high) / 2
    middles &= set(numbers)
    return middles.pop() if len(middles) == 1 else None


COMPARED = {
    "better",
    "best",
    "wins",
    "won",
    "preferred",
    "prefer",
    "much",
    "slightly",
    "clearly",
    "strongly",
    "is",
}
COMPARED |= {
    "was",
    "are",
    "the",
    "on",
    "list",
    "system",
    "side",
    "option",
    "response",
    "result",
    "results",
    "model",
}
"""Words that stand beside the side that wins in a phrase such as "A is much better"; any other
makes it unsure.
"""


def _guess(word: str) -> str:
    """Return the meaning of a phrase that holds one known word, such as "Left is better", else a
    question mark.
    """
    parts = re.findall(r"\w+", word.lower())
    meanings = {WINNERS[part] for part in parts if part in WINNERS}
    sure = len(meanings) == 1 and {*parts} <= COMPARED | WINNERS.keys()
    return MEANINGS[meanings.pop()] if sure else "?"


def by_sign(values: Floats, positive: str, middle: float | None) -> tuple[Winners, Floats]:
    """Return the winners that numbers mean, and their strengths: sign and size of the distance to
    `middle`.
    """
    if middle is None and values.min() >= 0:
        middle = middle_of(np.unique(values).tolist())
        such = "" if middle is None else f", such as middle={middle:g}"
        raise InputError(
            f"positive={positive!r} needs numbers of both signs; these are {values.min():g} to {values.max():g}: say "
            f"which one means no preference{such}; middle=0 insists",
            cure={"middle": "?" if middle is None else middle},
        )
    distance = values - (middle or 0.0)
    side = WINNERS[positive]
    codes = np.where(distance == 0, WINNERS["tie"], np.where(distance > 0, side, 1 - side))
    distinct, first, counts = np.unique(values, return_index=True, return_counts=True)
    kept = range(len(distinct)) if len(distinct) <= MOST_WORDS else [0, len(distinct) - 1]
    words = {f"{distinct[i]:g}": (MEANINGS[codes[first[i]]], int(counts[i])) for i in kept}
    return Winners(codes, words), np.where(distance == 0, 1.0, np.abs(distance))
