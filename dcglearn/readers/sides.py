"""Which list was shown first: columns that tell it, and winners that name a side of the screen
rather than a list.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, listed
from dcglearn.logs.columns import COLUMNS
from dcglearn.readers.line_formats import NUMBER, Opener, Source
from dcglearn.readers.roles import PLACES, SWAPPED, Role, by_role, words_of
from dcglearn.readers.winner_words import WINNERS, Winners, word_of

ORDERS = {
    "order",
    "shown",
    "displayed",
    "presented",
    "presentation",
    "swapped",
    "swap",
    "flipped",
    "flip",
}
"""Words that name a column of orders of presentation, alone or beside `BESIDE`."""

BESIDE = {
    "is",
    "was",
    "left",
    "first",
    "a",
    "b",
    "list",
    "system",
    "side",
    "of",
    "on",
    "the",
    "display",
    "screen",
}
"""Words that may stand beside those of `ORDERS`."""


SWAPS = {"swapped", "swap", "flipped", "flip", "b"}
"""Words beside which true means that b was shown first."""

PLACE = {"position", "place", "slot"}
"""Words that name, beside a, a column of the place at which the list a was shown; so do left and
first.
"""


def looks_like_order(name: str) -> bool:
    """Return whether a column of this name may say which list was shown first."""
    words = {*words_of(name)}
    return is_place_of_a(name) or (bool(words & ORDERS) and words <= ORDERS | BESIDE)


def is_place_of_a(name: str) -> bool:
    """Return whether a column of this name, such as position_of_a, says where the list a was
    shown.
    """
    words = {*words_of(name)}
    named = PLACE | {"left", "first"}
    return "a" in words and bool(words & named) and words <= named | ORDERS | BESIDE - {"b"}


def unused_orders(names: Sequence[str], roles: Mapping[str, Role]) -> list[str]:
    """Return the columns that look like an order of presentation, where none is used, and none is
    named by hand.
    """
    known = {name for role in roles.values() for name in role.names}
    named = (
        len(roles["swapped"].names) < len(COLUMNS["swapped"].names) if "swapped" in roles else True
    )
    if "winner" not in roles or named or known_order(names, roles) is not None:
        return []
    return [name for name in names if name.lower() not in known and looks_like_order(name)]


def known_order(names: Sequence[str], roles: Mapping[str, Role]) -> str | None:
    """Return the column that says whether the pair was swapped."""
    return next(
        (name for name in names if "swapped" in roles and name.lower() in roles["swapped"].names),
        None,
    )


def refuse_orders(names: Sequence[str], roles: Mapping[str, Role]) -> None:
    """Raise InputError for columns of a log in parts that may say which list was shown first in
    words of their own.
    """
    used = known_order(names, roles)
    for name in (
        unused_orders(names, roles) if used is None else [used] if is_place_of_a(used) else []
    ):
        refuse_order(name)


def refuse_order(name: str, values: Sequence[str] = ()) -> None:
    """Raise InputError: a column may say which list was shown first, and its meaning is not
    sure.
    """
    holds = f" and holds {listed(map(repr, sorted(values)), 4)}" if values else ""
    raise InputError(
        f"the column {name!r} looks like the order in which the lists were shown{holds}: if true, 1, b or BA "
        f"says that b was shown first, --columns swapped={name} (columns={{'swapped': {name!r}}}) reads it; "
        "--columns swapped= leaves it out",
        see="sides",
    )


def with_order(source: Source, open_with: Opener) -> Source:
    """Return the source with the column that says which list was shown first; raise InputError
    where that is unsure.
    """
    roles, used = source.roles, known_order(source.names, source.roles)
    for name in [used] if used is not None else unused_orders(source.names, roles):
        words, of_a = {*words_of(name)}, is_place_of_a(name)
        if (
            used is not None
            and not of_a
            and (used.lower() == "swapped" or len(roles["swapped"].names) == 1)
        ):
            return source
        values = _values(open_with({**roles, "swapped": Role("label", (name.lower(),))}))
        if not values or (len(values) > 2 and all(map(NUMBER.fullmatch, values))):
            continue  # it is blank or holds lists or objects, or the lines are numbered

        # what its values say: the place of a, counted from 1 or from 0, or the list that was shown
        # first
        is_place = of_a and bool(values) and values <= PLACES.keys()
        from_0 = is_place and "0" in values and bool(words & PLACE)
        names_a_list = values <= SWAPPED.keys() - {"true", "false", "yes", "no", "0", "1"}
        says_swapped = used is None and bool(words & SWAPS) and values <= SWAPPED.keys()
        if not (is_place or names_a_list or says_swapped):
            if of_a and not words & (PLACE | ORDERS):
                continue  # a column of other contents
            refuse_order(name, tuple(values))
        if used is None or of_a:
            kind = "place" if is_place and not from_0 else "side"
            return open_with(
                {**roles, "swapped": replace(roles["swapped"], kind=kind, names=(name.lower(),))}
            )
    return source


def _values(source: Source) -> set[str]:
    values = set()
    for record in islice(source.readable(), 1_000):
        value = record.get("swapped")
        if value is not None and not isinstance(value, list | dict):
            values.add(word_of(value).lower())
    return values


def with_lists(
    winners: Winners, swapped: Floats | None, source: Source, sides: str | None
) -> Winners:
    """Return winners that name lists where they named sides of the screen.

    `swapped`, shape (n,), is 1 where b was shown first. `sides` says what words such as left mean:
    what was shown there, the list of that name, or, if it is None, the first where a column says
    what was shown. With "shown", a and b do too. Raise InputError if nothing says what was shown,
    or the lists are called left and right as well.
    """
    named = winners.codes >= WINNERS["left"]
    if sides == "shown":
        named |= winners.codes <= WINNERS["b"]
    if sides == "shown" and swapped is None:
        raise InputError(
            "sides='shown' needs a column that says which list was shown first: swapped, or shown_left"
        )
    if not named.any():
        return winners
    shown = swapped is not None and sides != "listed"
    if shown and sides is None and called_left(source):
        raise InputError(
            "left and right name columns of lists, and another column says which list was shown first: say whether the "
            "winner left is the list of that name, sides='listed', or what was shown there, sides='shown'",
            see="sides",
            cure={"sides": "?"},
        )
    second = winners.codes % 2 == 1
    exchanged = swapped > 0 if swapped is not None and shown else False
    codes = np.where(named, second ^ exchanged, winners.codes)
    if shown:
        return replace(winners, codes=codes.astype(np.int64), sides=SHOWN)
    meant = {"left": "a", "right": "b"}
    words = {word: (meant.get(meaning, meaning), n) for word, (meaning, n) in winners.words.items()}
    return replace(winners, codes=codes.astype(np.int64), words=words)


SHOWN = "sides are those on the screen"
"""What `Winners.sides` says where winners were translated."""


def names_of_lists(source: Source) -> dict[str, str]:
    """Return the names of the columns of both lists as words for winners; none that is a word for
    winners already.
    """
    lists = {
        role: replace(source.roles[role], required=False)
        for role in ("a", "b")
        if role in source.roles
    }
    named = {}
    for role, names in (by_role(source.names, lists) if source.names else {}).items():
        name = names if isinstance(names, str) else re.sub(r"[\W_]*[0-9]+[\W_]*", "", names[0])
        named[name.lower()] = role
    return named if len(named) == 2 and not named.keys() & WINNERS.keys() else {}


def called_left(source: Source) -> bool:
    """Return whether the columns of the lists are called left and right."""
    lists: Any = (
        by_role(source.names, {"a": replace(source.roles["a"], required=False)})
        if source.names
        else {}
    )
    names = lists.get("a", ())
    words = re.findall(r"[a-z]+", " ".join([names] if isinstance(names, str) else names).lower())
    return bool({"left", "l"} & set(words))
