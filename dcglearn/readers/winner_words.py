"""Words for the winner of a pair: those always understood, numbers that can mean one thing only, words of one's own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.readers.line_formats import BLANK, NUMBER, shown

MEANINGS = ("a", "b", "tie", "open")
"""What a winner can be, by its code."""

WINNERS = {"a": 0, "left": 0, "b": 1, "right": 1, "open": 3}
WINNERS |= dict.fromkeys(("tie", "draw", "equal", "same", "both good", "both bad"), 2)
"""Words for a winner, in lower case, and their codes."""

NUMBERS = {"1": 0, "2": 1, "0": 2}
"""Codes of numbers, for logs whose winners are exactly 1 and 2, or 0, 1 and 2."""

WHOLE = re.compile(r"-?[0-9]+\.0+")
"""A whole number with a point, as spreadsheets and data frames write it."""

MOST_WORDS = 50
"""More different words than this are no words for a winner."""


@dataclass(frozen=True)
class Winners:
    """The winners of a log: codes, shape (n,), and for each word its meaning and how often it occurs."""

    codes: Integers
    words: dict[str, tuple[str, int]]

    def __str__(self) -> str:
        said = [word if word == meaning else f"{word} = {meaning}" for word, (meaning, _) in self.words.items()]
        return ", ".join(f"{text} ({n:,})" for text, (_, n) in zip(said, self.words.values(), strict=True))


def winners_of(codes: Integers, counts: Mapping[str, int], code_of: Mapping[str, int]) -> Winners:
    """Return winners with the meaning of every counted word."""
    return Winners(codes, {word: (MEANINGS[code_of[word]], counts[word]) for word in sorted(counts)})


def own_words(words: Mapping[Any, str] | str | None) -> dict[str, int]:
    """Return the codes of words of one's own, in lower case, from a mapping or text ``Left is better=a,Same=tie``.

    Raises InputError if the text has another form, a word occurs twice, or a meaning is none of a, b, tie and open.
    """
    if words is None:
        return {}
    codes: dict[str, int] = {}
    for word, meaning in _pairs(words) if isinstance(words, str) else words.items():
        code, key = WINNERS.get(str(meaning).strip().lower()), word_of(word).lower()
        if code is None:
            raise InputError(f"winner_words: {word!r} means {meaning!r}; it can mean a, b, tie or open")
        if codes.setdefault(key, code) != code:
            raise InputError(f"winner_words: {word!r} has two meanings; give one")
    if not codes:
        raise InputError("winner_words is empty; give each word its meaning, such as Left is better=a")
    return codes


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
            f"winner_words {text!r}: {word.rstrip(',')!r} has no meaning; write word=a, word=b or word=tie"
        )


def word_of(value: Any) -> str:
    """Return the text that stands for a value in counts and messages; whole numbers are written without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = value.strip(BLANK) if isinstance(value, str) else str(value)
    return text.split(".")[0] if WHOLE.fullmatch(text) else text


def codes_of(words: Iterable[str], own: Mapping[str, int]) -> dict[str, int]:
    """Return the codes of the words of a whole log; one that is not understood has none.

    Numbers are understood if they are all the winners, and exactly 1 and 2, or 0, 1 and 2: other numbers have no sure
    meaning.
    """
    lower = {word: word.lower() for word in words}
    known: Mapping[str, int] = {**WINNERS, **own}
    if not own and set(lower.values()) - {"open"} in ({"1", "2"}, {"0", "1", "2"}):
        known = {**NUMBERS, "open": WINNERS["open"]}
    return {word: known[text] for word, text in lower.items() if text in known}


class WinnerCodes:
    """Codes of winners, one by one; all winners of the log are counted once an unusual one is met."""

    def __init__(self, own: Mapping[str, int], count: Callable[[], Counter[str]]) -> None:
        self._own, self._count = own, count
        self._usual: dict[str, int] = {**WINNERS, **own}
        self._codes: dict[str, int] | None = None
        self._seen: Counter[str] = Counter()
        self._met: dict[str, int] = {}

    def __call__(self, value: Any) -> int:
        """Return the code of a winner; raise InputError for a word that is not understood."""
        if type(value) is str and value in self._met:
            return self._met[value]
        code = self._code(value)
        self._met[value if isinstance(value, str) else word_of(value)] = code
        return code

    def _code(self, value: Any) -> int:
        word = word_of(value) if isinstance(value, str | int | float) else ""
        if self._codes is None and word.lower() in self._usual:
            return self._usual[word.lower()]
        if self._codes is None:
            self._seen = self._count()
            self._codes = codes_of(self._seen, self._own)
        if word not in self._codes:
            remedy, option = _remedy(list(self._seen))
            refusal = f"winner is {shown(value)}; use a, b or tie{self._understood()}; {remedy}"
            raise InputError(refusal, see="winners", option=option)
        return self._codes[word]

    def _understood(self) -> str:
        seen = self._seen.most_common(8)
        shown_words = ", ".join(f"{shown(word)} ({n:,})" for word, n in seen)
        more = f" and {len(self._seen) - len(seen)} more" if len(self._seen) > len(seen) else ""
        return (
            " (understood: a, left; b, right; tie, draw, equal, same, both good, both bad; open; or numbers that are "
            "all 1 or 2, 0 for a tie); "
            f"seen: {shown_words}{more}"
        )


def _remedy(words: list[str]) -> tuple[str, str]:
    """Return what makes unknown words understood: a sentence, and the option of ``dcglearn convert``."""
    numbers = set(map(float, words)) if all(map(NUMBER.fullmatch, words)) else set()
    if numbers == {0.0, 1.0}:
        return '0 may be a side or a tie: say which, such as winner_words="0=a,1=b"', "--winner-words 0=a,1=b"
    if numbers and numbers <= {0.0, 1.0, 2.0}:
        example = "1=a,2=b,0=tie"
        return f'say what these alone mean, such as winner_words="{example}"', f"--winner-words {example}"
    if numbers:
        return (
            "the sign of a number may mean either side: positive='a', or 'b', says which one positive numbers prefer; "
            "its size is the strength",
            "--positive a",
        )
    unknown = [word for word in words if word.lower() not in WINNERS][:4]
    example = ",".join(f"{word}={_guess(word)}" for word in unknown)
    each = ", with a, b or tie for each ?" if "=?" in example else ""
    return f'say what your words mean: winner_words="{example}"{each}', f'--winner-words "{example}"'


def _guess(word: str) -> str:
    """Return the meaning of a phrase that holds one known word, such as "Left is better", else a question mark."""
    meanings = {WINNERS[part] for part in re.findall(r"\w+", word.lower()) if part in WINNERS}
    return MEANINGS[meanings.pop()] if len(meanings) == 1 else "?"


def by_sign(values: Floats, positive: str) -> tuple[Winners, Floats]:
    """Return the winners that numbers mean, and their strengths, shape (n,): sign and size.

    `positive` is the side that positive numbers prefer; 0 is a tie, of strength 1.
    """
    side = WINNERS[positive]
    codes = np.where(values == 0, WINNERS["tie"], np.where(values > 0, side, 1 - side))
    distinct, first, counts = np.unique(values, return_index=True, return_counts=True)
    kept = range(len(distinct)) if len(distinct) <= MOST_WORDS else [0, len(distinct) - 1]
    words = {f"{distinct[i]:g}": (MEANINGS[codes[first[i]]], int(counts[i])) for i in kept}
    return Winners(codes, words), np.where(values == 0, 1.0, np.abs(values))
