"""Words for the winner of a pair: those always understood, words of one's own with strengths, numbers on a scale."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dcglearn.foundation.plain_text import one_line
from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.readers.line_formats import BLANK, NUMBER, shown

MEANINGS = ("a", "b", "tie", "open", "left", "right")
"""What a winner can be, by its code; readers make a or b of left and right, see `with_lists`."""

WINNERS = {"a": 0, "b": 1, "open": 3, "left": 4, "first": 4, "right": 5, "second": 5}
WINNERS |= dict.fromkeys(("tie", "draw", "equal", "same", "both good", "both bad", "tie (bothbad)"), 2)
WINNERS |= {"model_a": 0, "model_b": 1}
"""Words for a winner, in lower case, and their codes."""

WHOLE = re.compile(r"-?[0-9]+\.0+")
"""A whole number with a point, as spreadsheets and data frames write it."""

MOST_WORDS = 50
"""More different words than this are no words for a winner."""


@dataclass(frozen=True)
class Winners:
    """The winners of a log.

    `codes`, shape (n,), index `MEANINGS`; `words` has for each word its meaning and how often it occurs; `strength`,
    shape (n,), is that of the words, None if none has any; `sides` says in words what left and right were taken for.
    """

    codes: Integers
    words: dict[str, tuple[str, int]]
    strength: Floats | None = None
    sides: str = ""

    def __str__(self) -> str:
        said = [word if word == meaning else f"{word} = {meaning}" for word, (meaning, _) in self.words.items()]
        counts = ", ".join(f"{text} ({n:,})" for text, (_, n) in zip(said, self.words.values(), strict=True))
        return one_line(f"{counts}; {self.sides}" if self.sides else counts)


def winners_of(
    codes: Integers, counts: Mapping[str, int], code_of: Mapping[str, int], strength: Floats | None = None
) -> Winners:
    """Return winners with the meaning of every counted word."""
    return Winners(codes, {word: (MEANINGS[code_of[word]], counts[word]) for word in sorted(counts)}, strength)


@dataclass(frozen=True)
class OwnWords:
    """The meanings of words of one's own, in lower case: codes of winners, and strengths of these or of a column."""

    codes: dict[str, int]
    strengths: dict[str, float]

    @classmethod
    def of(cls, words: Mapping[Any, str] | str | None) -> Self:
        """Return the meanings in a mapping or text ``Left is better=a,much better=a:2,slightly=:1``; see `_pairs`."""
        own = cls({}, {})
        for word, meaning in _pairs(words) if isinstance(words, str) else (words or {}).items():
            key = word_of(word).lower()
            side, colon, strength = str(meaning).strip().lower().partition(":")
            code, number = WINNERS.get(side), float(strength) if NUMBER.fullmatch(strength) else 0.0
            if ((side or not colon) and code is None) or (colon and (number <= 0 or (side and code in (2, 3)))):
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
            raise InputError("winner_words is empty; give each word its meaning, such as Left is better=a")
        return own

    @property
    def of_winners(self) -> dict[str, float]:
        """The strengths of the words that name a winner."""
        return {word: strength for word, strength in self.strengths.items() if word in self.codes}

    def meanings(self) -> dict[str, str]:
        """Return the meanings as text, by word."""
        sides = {word: MEANINGS[code] for word, code in self.codes.items()}
        strengths = {word: f"{sides.get(word, '')}:{strength:g}" for word, strength in self.strengths.items()}
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
        raise InputError(f"winner_words {text!r}: {word.rstrip(',')!r} has no meaning; write word=a, word=b, word=tie")


def word_of(value: Any) -> str:
    """Return the text that stands for a value in counts and messages; whole numbers are written without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = value.strip(BLANK) if isinstance(value, str) else str(value)
    return text.split(".")[0] if WHOLE.fullmatch(text) else text


def codes_of(words: Iterable[str], own: Mapping[str, int]) -> dict[str, int]:
    """Return the codes of the words of a whole log; one that is not understood has none, such as a number."""
    known = {**WINNERS, **own}
    return {word: known[word.lower()] for word in words if word.lower() in known}


class WinnerCodes:
    """Codes of winners, one by one; all winners of the log are counted once one is not understood."""

    def __init__(self, own: Mapping[str, int], count: Callable[[], Counter[str]]) -> None:
        self._codes, self._count = {**WINNERS, **own}, count
        self._met: dict[str, int] = {}

    def __call__(self, value: Any) -> int:
        """Return the code of a winner; raise InputError for a word that is not understood."""
        if type(value) is str and value in self._met:
            return self._met[value]
        word = word_of(value) if isinstance(value, str | int | float) else ""
        if word.lower() not in self._codes:
            seen = self._count()
            remedy, option = _remedy(list(seen))
            refusal = f"winner is {shown(value)}; use a, b or tie{_understood(seen)}; {remedy}"
            raise InputError(refusal, see="winners", option=option)
        code = self._codes[word.lower()]
        self._met[value if isinstance(value, str) else word] = code
        return code


def _understood(seen: Counter[str]) -> str:
    most = seen.most_common(8)
    shown_words = ", ".join(f"{shown(word)} ({n:,})" for word, n in most)
    more = f" and {len(seen) - len(most)} more" if len(seen) > len(most) else ""
    understood = "a, left, first; b, right, second; tie, draw, equal, same, both good, both bad; open"
    return f" (understood: {understood}); seen: {shown_words}{more}"


def _remedy(words: list[str]) -> tuple[str, str]:
    """Return what makes unknown words understood: a sentence, and the option of ``dcglearn convert``."""
    numbers = sorted(map(float, words)) if all(map(NUMBER.fullmatch, words)) else []
    if numbers and numbers[0] < 0:
        return (
            "the sign of a number may mean either side: positive='a', or 'b', says which one positive numbers prefer; "
            "its size is the strength",
            "--positive ?",
        )
    if numbers and numbers[-1] <= 3 and all(map(float.is_integer, numbers)) and len(numbers) <= 3:
        codes = [f"{number:g}" for number in numbers]
        example = ",".join(f"{code}=?" for code in codes)
        scale = ", or middle=2 with positive= if they are a scale" if codes == ["1", "2", "3"] else ""
        return (
            f'say what these codes mean: winner_words="{example}", with a, b or tie for each ?{scale}',
            f"--winner-words {example}",
        )
    if numbers:
        low = min(numbers[0], 1.0) if numbers[-1] > 1 else 0.0
        middle = (low + numbers[-1]) / 2
        return (
            f"no number is negative: say which one means no preference, such as middle={middle:g}, and which side "
            "larger numbers prefer, positive='a' or 'b'; the distance is the strength",
            f"--middle {middle:g} --positive ?",
        )
    unknown = [word for word in words if word.lower() not in WINNERS][:4]
    example = ",".join(f"{word}={_guess(word)}" for word in unknown)
    each = ", with a, b or tie for each ?" if "=?" in example else ""
    return f'say what your words mean: winner_words="{example}"{each}', f'--winner-words "{example}"'


def _guess(word: str) -> str:
    """Return the meaning of a phrase that holds one known word, such as "Left is better", else a question mark."""
    meanings = {WINNERS[part] for part in re.findall(r"\w+", word.lower()) if part in WINNERS}
    return MEANINGS[meanings.pop()] if len(meanings) == 1 else "?"


def by_sign(values: Floats, positive: str, middle: float | None) -> tuple[Winners, Floats]:
    """Return the winners that numbers mean, and their strengths: sign and size of the distance to `middle`."""
    if middle is None and values.min() >= 0:
        remedy, option = _remedy([f"{value:g}" for value in np.unique(values)])
        problem = f"positive={positive!r} needs numbers of both signs; these are {values.min():g} to {values.max():g}"
        raise InputError(f"{problem}: {remedy}; middle=0 insists", option=option)
    distance = values - (middle or 0.0)
    side = WINNERS[positive]
    codes = np.where(distance == 0, WINNERS["tie"], np.where(distance > 0, side, 1 - side))
    distinct, first, counts = np.unique(values, return_index=True, return_counts=True)
    kept = range(len(distinct)) if len(distinct) <= MOST_WORDS else [0, len(distinct) - 1]
    words = {f"{distinct[i]:g}": (MEANINGS[codes[first[i]]], int(counts[i])) for i in kept}
    return Winners(codes, words), np.where(distance == 0, 1.0, np.abs(distance))
