"""The order of presentation: columns that tell it, winners and raters that name a side."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dcglearn.foundation.validation import Floats, InputError, listed
from dcglearn.logs.columns import COLUMNS
from dcglearn.readers.cell_values import NUMBER
from dcglearn.readers.column_roles import PLACES, SWAPPED, Role, Roles, by_role, words_of
from dcglearn.readers.line_formats import Opener, Source
from dcglearn.readers.winner_words import WINNERS, Winners, word_of

ORDERS = {"order", "shown", "displayed", "presented", "presentation"}
ORDERS |= {"swapped", "swap", "flipped", "flip"}
"""Words that name a column of orders of presentation, alone or beside `BESIDE`."""

BESIDE = {"is", "was", "left", "first", "a", "b", "list", "system", "side"}
BESIDE |= {"of", "on", "the", "display", "screen"}
"""Words that may stand beside those of `ORDERS`."""

PLACE = {"position", "place", "slot"}
"""Words that name, beside a, a column of the place of the list a; so do left and first."""


def is_place_of_a(name: str) -> bool:
    """Return whether a column of this name, such as position_of_a, says where a was shown."""
    words = {*words_of(name)}
    named = PLACE | {"left", "first"}
    return "a" in words and bool(words & named) and words <= named | ORDERS | BESIDE - {"b"}


def _looks_like_order(name: str) -> bool:
    """Return whether a column of this name may say which list was shown first."""
    words = {*words_of(name)}
    return is_place_of_a(name) or (bool(words & ORDERS) and words <= ORDERS | BESIDE)


def _known_order(names: Sequence[str], roles: Roles) -> str | None:
    """Return the column that says whether the pair was swapped."""
    accepted = roles["swapped"].names if "swapped" in roles else ()
    return next((name for name in names if name.lower() in accepted), None)


def _unused_orders(names: Sequence[str], roles: Roles) -> list[str]:
    """Return the columns that look like an order of presentation, if none is used or named."""
    if not {"winner", "swapped"} <= roles.keys() or _known_order(names, roles) is not None:
        return []
    if len(roles["swapped"].names) < len(COLUMNS["swapped"].names):
        return []
    accepted = {name for role in roles.values() for name in role.names}
    return [name for name in names if name.lower() not in accepted and _looks_like_order(name)]


def refuse_orders(names: Sequence[str], roles: Roles) -> None:
    """Raise InputError for columns of a log in parts that may tell the order in own words."""
    used = _known_order(names, roles)
    for name in _unused_orders(names, roles) if used is None else [used]:
        if used is None or is_place_of_a(name):
            _refuse_order(name)


def _refuse_order(name: str, values: Sequence[str] = ()) -> None:
    """Raise InputError for a column that may say which list was shown first."""
    holds = f" and holds {listed(map(repr, sorted(values)), 4)}" if values else ""
    raise InputError(
        f"the column {name!r} looks like the order in which the lists were shown{holds}: "
        f"if true, 1, b or BA says that b was shown first, --columns swapped={name} "
        f"(columns={{'swapped': {name!r}}}) reads it; --columns swapped= leaves it out",
        see="sides",
    )


def with_order(source: Source, open_with: Opener) -> Source:
    """Return the source with the column that says which list was shown first.

    Raise InputError where that is unsure.
    """
    roles, used = source.roles, _known_order(source.names, source.roles)
    for name in [used] if used is not None else _unused_orders(source.names, roles):
        words, of_a = {*words_of(name)}, is_place_of_a(name)
        by_hand = used is not None and len(roles["swapped"].names) == 1
        if not of_a and (by_hand or (used or "").lower() == "swapped"):
            return source

        # leave out a blank column, lists or objects, and numbers of lines
        values = _values(open_with({**roles, "swapped": Role("label", (name.lower(),))}))
        if not values or (len(values) > 2 and all(map(NUMBER.fullmatch, values))):
            continue

        # its values: the place of a, from 1 or from 0, or the list that was shown first
        is_place = of_a and values <= PLACES.keys()
        from_0 = is_place and "0" in values and bool(words & PLACE)
        names_a_list = values <= SWAPPED.keys() - {"true", "false", "yes", "no", "0", "1"}
        swaps = bool(words & {"swapped", "swap", "flipped", "flip", "b"})
        says_swapped = used is None and swaps and values <= SWAPPED.keys()
        if not (is_place or names_a_list or says_swapped):
            if of_a and not words & (PLACE | ORDERS):
                continue  # a column of other contents
            _refuse_order(name, tuple(values))

        # a column of the usual name says whether b was shown first
        if used is None or of_a:
            kind = "place" if is_place and not from_0 else "side"
            swapped = replace(roles["swapped"], kind=kind, names=(name.lower(),))
            return open_with({**roles, "swapped": swapped})
    return source


def _values(source: Source) -> set[str]:
    """Return the values of the column in the first lines, in lower case."""
    cells = (record.get("swapped") for record in source.first_records())
    return {word_of(x).lower() for x in cells if x is not None and not isinstance(x, list | dict)}


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
            "sides='shown' needs a column that says which list was shown first: "
            "swapped, or shown_left"
        )
    if not named.any():
        return winners

    # whether sides are those of the screen
    shown = swapped is not None and sides != "listed"
    if shown and sides is None and called_left(source):
        raise InputError(
            "left and right name columns of lists, and another column says which list was shown "
            "first: say whether the winner left is the list of that name, sides='listed', "
            "or what was shown there, sides='shown'",
            see="sides",
        )

    # the lists that are meant
    second = winners.codes % 2 == 1
    exchanged = swapped > 0 if swapped is not None and shown else False
    codes = np.where(named, second ^ exchanged, winners.codes).astype(np.int64)
    if shown:
        return replace(winners, codes=codes, sides="sides are those on the screen")
    meant = {"left": "a", "right": "b"}
    words = {word: (meant.get(meaning, meaning), n) for word, (meaning, n) in winners.words.items()}
    return replace(winners, codes=codes, words=words)


def names_of_lists(source: Source) -> dict[str, str]:
    """Return the names of the columns of both lists as words for winners, unless they are such."""
    named = {}
    for role in ("a", "b"):
        names = _columns_of_list(source, role)
        if names:
            name = names if isinstance(names, str) else re.sub(r"[\W_]*[0-9]+[\W_]*", "", names[0])
            named[name.lower()] = role
    return named if len(named) == 2 and not named.keys() & WINNERS.keys() else {}


def called_left(source: Source) -> bool:
    """Return whether the columns of the lists are called left and right."""
    names = _columns_of_list(source, "a")
    words = re.findall(r"[a-z]+", (names if isinstance(names, str) else " ".join(names)).lower())
    return bool({"left", "l"} & set(words))


def _columns_of_list(source: Source, role: str) -> str | tuple[str, ...]:
    """Return the column of a list, or one for each position; an empty tuple if there is none."""
    if role not in source.roles or not source.names:
        return ()
    about = replace(source.roles[role], required=False)
    return by_role(source.names, {role: about}).get(role, ())
