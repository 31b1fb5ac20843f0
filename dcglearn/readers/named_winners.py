"""Winners that are names of systems, looked up line by line in the two columns that say whose lists
were compared.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import SIDES, SYSTEMS, Role, by_role, side_of, words_of
from dcglearn.readers.line_formats import NUMBER, Opener, Reshaped, Source, shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.winner_words import MEANINGS, WINNERS, word_of

LOOKED_AT = 1_000
"""Lines that tell whether winners are names of systems."""


class NamedWinners(Reshaped):
    """Judgements whose winner is the name of a system in `system_a` or `system_b`; other words stay
    as they are.
    """

    def __init__(
        self,
        rows: Source,
        roles: Mapping[str, Role],
        names: Sequence[str],
        known: Mapping[str, Any],
    ) -> None:
        super().__init__(rows, roles)
        self._names, self._known = names, known
        self.said = f"names of {names[0]} and {names[1]}"
        sides = [word for word in words_of(names[0]) if word in SIDES]
        self._meanings = ("a", "b") if "a" in sides else ("left", "right")

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        record = self._rows.record(item)
        systems = [record.pop(role, None) for role in SYSTEMS]
        word = _word(record.get("winner"))
        places = [
            i for i, name in enumerate(systems) if word in (_word(name), self._names[i].lower())
        ]
        if word is None or word in self._known or not places:
            return record
        if len(places) > 1:
            raise InputError(
                f"winner is {shown(record['winner'])}, which both {self._names[0]} and {self._names[1]} hold; write a, "
                "b or tie"
            )
        return {**record, "winner": self._meanings[places[0]]}


def with_names(source: Source, open_with: Opener, mapping: LogMapping) -> Source:
    """Return the source with winners looked up among the names of systems, where they are such
    names.
    """
    if "winner" not in source.roles or mapping.positive is not None or isinstance(source, Reshaped):
        return source
    best: tuple[int, Source] = (0, source)
    for names in _pairs_of_columns(source, mapping):
        systems = {
            role: Role("label", (name.lower(),)) for role, name in zip(SYSTEMS, names, strict=True)
        }
        rows = open_with({**source.roles, **systems})
        looked_up = NamedWinners(rows, source.roles, names, mapping.own_words.codes)
        contrary = _n_contrary(rows, mapping.own_words.codes)
        if contrary:
            source.doubt = (
                f"winner_words= takes {contrary:,} winners of the first {LOOKED_AT:,} lines for another side than "
                f"{names[0]} and {names[1]} say; without these words they are looked up there"
            )
        best = max(best, (_n_names(rows, names, mapping), looked_up), key=lambda found: found[0])
    return best[1]


def _pairs_of_columns(source: Source, mapping: LogMapping) -> list[tuple[str, str]]:
    """Return the pairs of columns without a role whose names differ in the side alone, or those
    that were told.
    """
    if SYSTEMS.keys() & mapping.columns.keys():
        told = by_role(source.names, mapping.roles(SYSTEMS))
        return [(str(told["system_a"]), str(told["system_b"]))]
    taken = {name for about in source.roles.values() for name in about.names}
    pairs: dict[tuple[str, ...], dict[str, str]] = {}
    for name in source.names:
        side = side_of(name)
        if side is not None and name.lower() not in taken:
            key = tuple("" if word in SIDES else word for word in words_of(name))
            pairs.setdefault(key, {})[side] = name
    return [(both["a"], both["b"]) for both in pairs.values() if len(both) == 2]


def _n_names(rows: Source, names: Sequence[str], mapping: LogMapping) -> int:
    """Return how many winners of the first lines are names of one system; 0 unless they are meant
    as such.

    Words that mean a side anyway, and numbers, are names only if all winners but ties are.
    """
    known = {**WINNERS, **mapping.own_words.codes}
    n_names, n_sides, unknown = 0, 0, False
    for record in islice(rows.readable(), LOOKED_AT):
        word = _word(record.get("winner"))
        if (
            word is None
            or word in mapping.own_words.codes
            or MEANINGS[known.get(word, 0)] in ("tie", "open")
        ):
            continue
        columns = [name.lower() for name in names if word not in known]
        is_name = word in (*columns, *(_word(record.get(role)) for role in SYSTEMS))
        n_names += is_name
        n_sides += 1
        unknown |= is_name and word not in known and not NUMBER.fullmatch(word)
    return n_names if unknown or n_names == n_sides else 0


def _n_contrary(rows: Source, told: Mapping[str, int]) -> int:
    """Return how many winners of the first lines are names of the system on the other side than was
    told.
    """
    contrary = 0
    for record in islice(rows.readable() if told else (), LOOKED_AT):
        word = _word(record.get("winner"))
        at_a, at_b = (word == _word(record.get(role)) for role in SYSTEMS)
        meaning = MEANINGS[told.get(word or "", WINNERS["tie"])]
        contrary += at_a != at_b and meaning in (("b", "right") if at_a else ("a", "left"))
    return contrary


def _word(value: Any) -> str | None:
    return word_of(value).lower() if isinstance(value, str | int | float) else None
