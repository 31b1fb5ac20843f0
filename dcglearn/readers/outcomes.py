"""Tables whose columns tell the winner: a chosen and a rejected list, or a column of 0 and 1 for each outcome."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.readers.line_formats import Reshaped, shown
from dcglearn.readers.roles import OUTCOMES, Role
from dcglearn.readers.winner_words import word_of

MARKS = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}
"""What the cell of an outcome says, in lower case: whether it is the one."""


def outcome_roles(roles: Mapping[str, Role]) -> Iterator[dict[str, Role]]:
    """Yield the roles of tables without a column `winner`, where the given roles have one."""
    if {"a", "b", "winner"} <= roles.keys():
        others = {role: about for role, about in roles.items() if role != "winner"}
        for names in ({}, {"a": "response_a", "b": "response_b"}):
            yield {**others, **_named(others, names), **OUTCOMES}
        yield {**others, **_named(others, {"a": "chosen", "b": "rejected"})}


def _named(roles: Mapping[str, Role], names: Mapping[str, str]) -> dict[str, Role]:
    return {role: replace(roles[role], names=(name,), marks=(name,)) for role, name in names.items()}


class Outcomes(Reshaped):
    """Judgements whose winner is the outcome that has a 1; without such columns the list `a`, which was chosen."""

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        record = self._rows.record(item)
        marks = {role: record.pop(role) for role in OUTCOMES if role in record}
        said = [MARKS.get(word_of("" if mark is None else mark).lower()) for mark in marks.values()]
        if marks and (None in said or sum(map(bool, said)) != 1):
            raise InputError(f"{', '.join(marks)} are {shown([*marks.values()])}; one of them must be 1, the others 0")
        winner = list(marks)[said.index(1)].removeprefix("winner_") if marks else "a"
        return {**record, "winner": winner}
