"""Winners of judgements: words for them, names of systems, and what left and right mean."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.validation import Flags, Floats, InputError
from dcglearn.reading.tables import Refusals
from dcglearn.reading.texts import text

A, B, TIE, OPEN, LEFT, RIGHT, BAD = range(7)

MEANINGS = ("a", "b", "tie", "open", "left", "right")
"""What a word for the winner can mean, in the order of the codes."""

TIES = (
    "tie,tied,draw,equal,same,about the same,no preference,no pref,no difference,neither,"
    "neither better,neither is better,both good,both bad,tie (bothbad)"
)

WORDS = {"a": A, "model_a": A, "b": B, "model_b": B, "open": OPEN}
WORDS |= dict.fromkeys(TIES.split(","), TIE)
WORDS |= {"left": LEFT, "first": LEFT, "right": RIGHT, "second": RIGHT}
"""The code of each word that is understood, in lower case."""

FEW_WORDS = 50
"""More distinct words than this are not counted one by one."""


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


def own_words(given: Mapping[Any, str] | str | None) -> dict[str, tuple[int, float]]:
    """Return the code and the strength of the user's words, ``{"Left is better": "a:2"}``.

    They may be a text, ``Left is better=a:2,Same=tie``.
    """
    if isinstance(given, str):  # words may hold commas, meanings do not
        pair = r"\s*([^=]*?)\s*=([^,=]*)(?:,|$)"
        given = {given: "?"} if re.sub(pair, "", given) else dict(re.findall(pair, given))

    # what each word means
    words = {}
    for word, meaning in (given or {}).items():
        side, _, strength = str(meaning).partition(":")
        try:
            code, amount = MEANINGS.index(side.strip()), float(strength or 1)
        except ValueError as error:
            raise InputError(
                f"winner_words: {word!r} means {meaning!r}; give a, b, tie or open, or left or "
                "right for what was shown there; a:2 has the strength 2; for a column of strengths "
                "see the recipe 'Numbers with commas, names with blanks'"
            ) from error
        whole = re.sub(r"^(-?[0-9]+)\.0+$", r"\1", str(word).strip())
        words[whole.lower()] = code, amount
    return words


def words_of_numbers(texts: pl.Series, middle: float) -> dict[str, str]:
    """Return what numbers among winners mean: larger than the middle is b, equal to it a tie.

    The strength of a preference is the distance from the middle.
    """
    words = {}
    for word in texts.unique():
        with contextlib.suppress(ValueError):
            distance = float(word) - middle
            side = "b" if distance > 0 else "a"
            words[word] = f"{side}:{abs(distance):g}" if distance else "tie"
    return words


def winners_of(
    column: pl.Series,
    systems: Sequence[pl.Series],
    given: Mapping[Any, str] | str | float | None,
    refusals: Refusals,
) -> Winners:
    """Return the winners of a column; note the rows of other words.

    Given a number, winners are numbers, and it is their middle.

    Where a row names the systems of its lists, the name of one of the two is the winner, whatever
    else the word may mean.
    """
    texts = text(column).str.replace(r"^(-?[0-9]+)\.0+$", "${1}")
    own = own_words(words_of_numbers(texts, given) if isinstance(given, int | float) else given)
    known = {word: (code, 1.0) for word, code in WORDS.items()} | own
    lower = texts.str.to_lowercase()
    code_of = {word: code for word, (code, _) in known.items()}
    codes = lower.replace_strict(code_of, default=BAD, return_dtype=pl.Int8).to_numpy()

    # names of the systems of a row
    by_name = np.zeros(len(codes), bool)
    if len(systems) == 2:
        is_a, is_b = ((text(system) == texts).to_numpy() for system in systems)
        by_name = (is_a != is_b) & ~lower.is_in([*own, ""]).to_numpy()
        codes = np.where(by_name, np.where(is_a, A, B), codes).astype(np.int8)

    # words without a meaning
    missing = (texts == "").to_numpy() & (codes == BAD)
    remedy = "winner_words={'': 'open'} takes such rows for open questions"
    refusals.add(missing, "winner is missing", remedy, see="winners")
    unknown = (codes == BAD) & ~missing
    if unknown.any():
        remedy = _remedy(texts.filter(pl.Series(unknown)).value_counts(sort=True).head(12).rows())
        refusals.add(unknown, "winner is", remedy, texts, see="winners")

    # strengths of words
    strengths = {word: amount for word, (_, amount) in own.items()}
    strength = None
    if set(strengths.values()) - {1.0}:
        strength = lower.replace_strict(strengths, default=1.0).to_numpy()

    # what the commonest words were taken for
    in_columns = f"the system of that name in {' or '.join(repr(one.name) for one in systems)}"
    rows = pl.DataFrame({"by_name": by_name, "word": texts})
    counts = rows.group_by(pl.all(), maintain_order=True).len()
    counts = counts.sort("by_name", "len", descending=[False, True], maintain_order=True)
    words = {}
    for named, word, n in counts.head(FEW_WORDS).iter_rows():
        code, amount = known.get(word.lower(), (BAD, 1.0))
        if named or code != BAD:
            meaning = f"{MEANINGS[code]}:{amount:g}".removesuffix(":1") if not named else in_columns
            words[word] = (meaning, n)
    return Winners(codes, strength, words, by_name)


def _remedy(counts: list[tuple[str, int]]) -> str:
    """Return the option that says what unknown words mean, which are given with their counts."""
    meanings = ", ".join(f"{word!r}: '?'" for word, _ in counts)
    seen = ", ".join(f"{n:,} {word!r}" for word, n in counts)
    remedy = f"winner_words={{{meanings}}} says what each word means, a, b or tie (seen: {seen})"
    if all(word.lstrip("+-").replace(".", "", 1).isdecimal() for word, _ in counts):
        return f"{remedy}; numbers of a scale: convert --middle, or the recipe 'Likert numbers'"
    return f"{remedy}; names of systems are looked up in the columns system_a and system_b"


def refuse_named_sides(
    frame: pl.DataFrame, winner: pl.Series, others: Sequence[str], codes: NDArray[np.int8]
) -> None:
    """Raise InputError if two unused columns hold what winners are, and tell another list.

    A sheet may say in two columns which system stood left and right, and name one as the winner;
    its systems may be called A and B.
    """
    # which columns hold the winner, and where
    texts = text(winner)
    decided = texts != ""
    cells = {name: text(frame[name]) for name in others}
    is_winner = {name: texts == column for name, column in cells.items()}
    named = [name for name, is_it in is_winner.items() if (is_it & decided).sum() > 0]

    # two that hold it in turn, and mean other lists than were read
    is_tie = pl.Series(np.isin(codes, (TIE, OPEN)))
    for first, second in combinations(named, 2):
        either = is_winner[first] != is_winner[second]
        by_column = np.where(is_winner[first].to_numpy(), A, B)
        same = (by_column == codes) | ~either.to_numpy()
        if (either | is_tie | ~decided).all() and not same.all():
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
    if called_left and sides is None:
        problem = "the winner left may be the list of that name, or what was shown there"
        remedy = "sides='listed' means the list, sides='shown' what was shown there"
        refusals.add(named, problem, remedy, see="sides")
    named |= (sides == "shown") & (lists <= B) & ~winners.by_name
    return np.where(named, lists ^ swapped, lists)
