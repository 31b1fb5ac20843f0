"""Winners of judgements: words for them, names of systems, and what left and right mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import Flags, Floats, InputError
from dcglearn.reading.scale import NUMBER
from dcglearn.reading.tables import Refusals
from dcglearn.reading.texts import by_text, text

A, B, TIE, OPEN, LEFT, RIGHT, BAD = range(7)

MEANINGS = ("a", "b", "tie", "open", "left", "right")
"""What a word for the winner can mean, in the order of the codes."""

CODES = {meaning: code for code, meaning in enumerate(MEANINGS)}

TIES = (
    "tie,tied,draw,equal,same,about the same,no preference,no pref,no difference,neither,"
    "neither better,neither is better,both good,both bad,tie (bothbad)"
)

WORDS = {meaning: meaning for meaning in MEANINGS}
WORDS |= dict.fromkeys(TIES.split(","), "tie")
WORDS |= {"model_a": "a", "model_b": "b", "first": "left", "second": "right"}
"""The meaning of each word that is understood, in lower case."""

WHOLE = r"^(-?[0-9]+)\.0+$"
"""A whole number with a point."""

FEW_WORDS = 50
"""More distinct words than this are not counted one by one."""

NAMED = "the system of that name"
"""What a winner means that is the name of a system of its row."""


@dataclass(frozen=True)
class Winners:
    """The code of each row's winner, its strength if words have strengths, and what words mean.

    `words` has for each word its meaning and the number of its rows; `by_name` marks the rows that
    name a system.
    """

    codes: NDArray[np.int8]
    strength: Floats | None
    words: dict[str, tuple[str, int]]
    by_name: Flags


def own_words(given: Mapping[Any, str] | str | None) -> dict[str, str]:
    """Return the meanings of the user's words, ``{"Left is better": "a:2"}``, in lower case.

    They may be a text, ``Left is better=a:2,Same=tie``.
    """
    if isinstance(given, str):  # words may hold commas, meanings do not
        pair = r"\s*([^=]*?)\s*=([^,=]*)(?:,|$)"
        given = {given: "?"} if re.sub(pair, "", given) else dict(re.findall(pair, given))

    # what each word means
    words = {}
    for word, meaning in (given or {}).items():
        said = str(meaning).replace(" ", "").removesuffix(":1")
        if not re.fullmatch(rf"({'|'.join(MEANINGS)})(:[0-9]*\.?[0-9]+(e[+-]?[0-9]+)?)?", said):
            raise InputError(
                f"winner_words: {word!r} means {meaning!r}; give a, b, tie or open, or left or "
                "right for what was shown there; a:2 has the strength 2; for a column of strengths "
                "see the recipe 'Numbers with commas, names with blanks'"
            )
        words[re.sub(WHOLE, r"\1", str(word).strip()).lower()] = said
    return words


def words_of_numbers(texts: pl.Series, middle: float) -> dict[str, str]:
    """Return what numbers among winners mean: larger than the middle is b, equal to it a tie.

    The strength of a preference is the distance from the middle.
    """
    distances = {word: float(word) - middle for word in texts.unique() if NUMBER.fullmatch(word)}
    return {
        word: f"{'b' if distance > 0 else 'a'}:{abs(distance):g}" if distance else "tie"
        for word, distance in distances.items()
    }


def winners_of(
    texts: pl.Series,
    systems: Sequence[pl.Series],
    given: Mapping[Any, str] | str | float | None,
    refusals: Refusals,
) -> Winners:
    """Return the winners that texts name; note the rows of other words.

    Given a number, winners are numbers, and it is their middle.

    Where a row names the systems of its lists, the name of one of the two is the winner, whatever
    else the word may mean.
    """
    if texts.unique().str.contains(WHOLE).any():
        texts = texts.str.replace(WHOLE, "${1}")
    own = own_words(words_of_numbers(texts, given) if isinstance(given, int | float) else given)
    known = WORDS | own
    sides = {word: CODES[meaning.partition(":")[0]] for word, meaning in known.items()}
    codes = by_text(texts, lambda word: sides.get(word.lower(), BAD)).astype(np.int8)

    # names of the systems of a row
    by_name = np.zeros(len(texts), bool)
    if len(systems) == 2:
        is_a, is_b = ((names == texts).to_numpy() for names in systems)
        by_name = (is_a != is_b) & ~texts.str.to_lowercase().is_in([*own, ""]).to_numpy()
        codes[by_name] = is_b[by_name]

    # words without a meaning
    unknown = codes == BAD
    counts = texts.filter(unknown).value_counts(sort=True).head(12).rows()
    # a blank is an open question; a shell would take =open for something else
    meanings = ", ".join(f"{word or ' '!r}: {'?' if word else 'open'!r}" for word, _ in counts)
    seen = ", ".join(f"{n:,} {word!r}" for word, n in counts)
    remedy = (
        f"winner_words={{{meanings}}} says what each word means, a, b, tie or open (seen: {seen}); "
        "numbers of a scale: convert --middle, or the recipe 'Likert numbers'; names of systems "
        "are looked up in the columns system_a and system_b"
    )
    problem = "winner is missing or unknown:"
    refusals.add(unknown, problem, remedy, texts)

    # what the commonest words were taken for
    cells = pl.DataFrame({"word": texts.set(pl.Series(by_name), NAMED)})
    cells = cells.group_by("word", maintain_order=True).len()
    cells = cells.sort("len", descending=True, maintain_order=True).head(FEW_WORDS)
    known[NAMED] = NAMED
    words = {word: (known[word.lower()], n) for word, n in cells.rows() if word.lower() in known}

    # strengths of words
    strength, amounts = None, {word: own[word].partition(":")[2] for word in own}
    if any(amounts.values()):
        strengths = {word: float(amount or 1) for word, amount in amounts.items()}
        strength = by_text(texts, lambda word: strengths.get(word.lower(), 1.0))
    return Winners(codes, strength, words, by_name)


def refuse_named_sides(
    frame: pl.DataFrame, texts: pl.Series, others: Sequence[str], codes: NDArray[np.int8]
) -> None:
    """Raise InputError if two unused columns hold the texts of winners, and tell another list.

    A sheet may say in two columns which system stood left and right, and name one as the winner;
    its systems may be called A and B.
    """
    holds = {name: (text(frame[name]) == texts) & (texts != "") for name in others}
    named = [name for name, is_it in holds.items() if is_it.any()]

    # two that hold it in turn, and mean other lists than were read
    read = pl.Series(codes)
    for first, second in combinations(named, 2):
        either = holds[first] != holds[second]
        other = either & (read != holds[second].cast(pl.Int8))
        undecided = (texts == "") | read.is_in([TIE, OPEN])
        if (either | undecided).all() and other.any():
            raise InputError(
                f"the columns {first!r} and {second!r} hold what winners are "
                f"({texts.filter(either)[0]!r}): columns={{'system_a': {first!r}, 'system_b': "
                f"{second!r}}} takes them for the systems of a and b; {{'system_a': ''}} ignores "
                "them"
            )


def lists_meant(
    winners: Winners,
    swapped: Flags | None,
    sides: str | None,
    refusals: Refusals,
    *,
    called_left: bool,
) -> NDArray[np.int8]:
    """Return the winners as lists: left is the list that was shown there, or else a.

    `sides` says it: with "shown", a and b too name what was shown there, and with "listed", left is
    the list a wherever it was shown. Where a column tells which list was shown first, lists of the
    name left are ambiguous without it.
    """
    if sides not in (None, "shown", "listed"):
        raise InputError(f"sides={sides!r}: give 'shown' or 'listed'")
    if sides == "shown" and swapped is None:
        raise InputError("sides='shown' needs a column that says what was shown first: swapped")
    named = np.isin(winners.codes, (LEFT, RIGHT))
    lists = np.where(named, winners.codes - LEFT, winners.codes)
    if swapped is None or sides == "listed":
        return lists

    # what was shown there
    if sides is None and called_left:
        problem = "the winner left may be the list of that name, or what was shown there"
        remedy = "sides='listed' means the list, sides='shown' what was shown there"
        refusals.add(named, problem, remedy)
    shown = named if sides is None else (lists <= B) & ~winners.by_name
    return np.where(shown, lists ^ swapped, lists)
