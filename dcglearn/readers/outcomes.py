"""Tables whose columns tell the winner: a chosen and a rejected list, a column for each outcome, or
a probability.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dcglearn.foundation.validation import InputError
from dcglearn.readers.column_roles import LOGPROBS, OUTCOMES, PROBABILITY, VOTES, Role
from dcglearn.readers.line_formats import Reshaped, shown
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


def shared_roles(roles: Mapping[str, Role]) -> Iterator[dict[str, Role]]:
    """Yield the roles of tables that say how many people gave each verdict, or how probable one
    is.
    """
    if {"a", "b", "winner"} <= roles.keys():
        others = {role: about for role, about in roles.items() if role != "winner"}
        yield from ({**others, **weights} for weights in (VOTES, PROBABILITY, LOGPROBS))


def _named(roles: Mapping[str, Role], names: Mapping[str, str]) -> dict[str, Role]:
    return {
        role: replace(roles[role], names=(name,), marks=(name,)) for role, name in names.items()
    }


class Outcomes(Reshaped):
    """Judgements whose winner is the outcome that has a 1; without such columns the list `a`, which
    was chosen.
    """

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        record = self._rows.record(item)
        marks = {role: record.pop(role) for role in OUTCOMES if role in record}
        said = [MARKS.get(word_of("" if mark is None else mark).lower()) for mark in marks.values()]
        if marks and (None in said or sum(map(bool, said)) != 1):
            raise InputError(
                f"{', '.join(marks)} are {shown([*marks.values()])}; one of them must be 1, the others 0"
            )
        winner = list(marks)[said.index(1)].removeprefix("winner_") if marks else "a"
        return {**record, "winner": winner}


WEIGHTS = {*VOTES, *PROBABILITY, *LOGPROBS}
"""The columns that a verdict and its weight stand for."""


class Shares(Reshaped):
    """Judgements with a weight for each verdict on a line: how many people gave it, or how probable
    it is.

    A line with the probability p that a is preferred counts as a verdict for a of weight p and one
    for b of weight 1 - p, which is the cross-entropy of a likelihood.
    """

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield each line once for each verdict with a weight, or once with what is wrong with
        it.
        """
        for number, item in self._rows:
            try:
                record = self._rows.record(item)
                weights = _weights(record)
            except InputError as error:
                yield number, (item, error)
                continue

            others = {role: value for role, value in record.items() if role not in WEIGHTS}
            for winner, weight in weights.items():
                yield (
                    number,
                    (
                        item,
                        {
                            **others,
                            "winner": winner,
                            "weight": _times(weight, others.get("weight")),
                        },
                    ),
                )

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values of a judgement by role."""
        _, record = item
        if isinstance(record, InputError):
            raise record
        return dict(record)

    def raw(self, item: Any) -> bytes:
        """Return the line of a judgement."""
        line, _ = item
        return self._rows.raw(line)


def _times(weight: float, own: Any) -> Any:
    """Return the weight of a verdict times that of its line; a weight that is no number stays, to
    be refused.
    """
    if own is None:
        return weight
    is_number = isinstance(own, int | float) and not isinstance(own, bool)
    return weight * own if is_number else own


def _weights(record: Mapping[str, Any]) -> dict[str, float]:
    """Return the weight of each verdict of a line that has one."""
    if VOTES.keys() & record.keys():
        weights = {role.removeprefix("votes_"): _number(record.get(role), role) for role in VOTES}
        if min(weights.values()) < 0 or not any(weights.values()):
            raise InputError(
                f"the votes are {shown([*weights.values()])}; give numbers, one of them above 0"
            )
    else:
        share = _share_of_a(record)
        weights = {"a": share, "b": 1 - share}
    return {winner: weight for winner, weight in weights.items() if weight}


def _share_of_a(record: Mapping[str, Any]) -> float:
    """Return how probable it is that a is preferred."""
    if "probability" in record:
        share = _number(record["probability"], "probability", blank=None)
    else:
        logs = {
            role: _number(record.get(role), role, blank=None) for role in LOGPROBS if role in record
        }
        if max(logs.values()) > 0:
            raise InputError(
                f"{', '.join(logs)}: {shown([*logs.values()])}; logarithms of probabilities are below 0"
            )
        share = math.exp(logs["logprob_a"])
        if "logprob_b" in logs:
            # relative to the larger, so that neither overflows nor both are 0
            of_a, of_b = (math.exp(value - max(logs.values())) for value in logs.values())
            share = of_a / (of_a + of_b)
    if not 0 <= share <= 1:
        raise InputError(
            f"probability is {shown(share)}; give a number from 0 to 1, that a is preferred, such as .7 for seven of "
            "ten raters, or name the column logprob_a if it holds logarithms"
        )
    return share


def _number(value: Any, role: str, blank: float | None = 0.0) -> float:
    """Return a finite number, and `blank` for a blank cell."""
    value = blank if value is None else value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(
            f"{role} is {'missing' if value is None else f'{shown(value)}, which is not a number'}"
        )
    return float(value)
