"""Tables that tell the winner by columns: chosen and rejected, outcomes, votes, probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import Floats
from dcglearn.readers.column_roles import LOGPROBS, OUTCOMES, PROBABILITY, VOTES, Role, Roles
from dcglearn.readers.line_formats import Refusals, shown
from dcglearn.readers.rebuilt import Rebuilt, refuse
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    from dcglearn.readers.cells import RawCells

MARKS = {"1": 1, "true": 1, "0": 0, "false": 0, "": 0}
"""Cells of an outcome in lower case, and whether they mean that it occurred."""


def tables_without_winner(roles: Roles) -> Iterator[tuple[type[Rebuilt], Roles]]:
    """Yield shapes without a column `winner`, where the roles have one, and the roles of these."""
    if not {"a", "b", "winner"} <= roles.keys():
        return
    others = {role: about for role, about in roles.items() if role != "winner"}
    for names in ({}, {"a": "response_a", "b": "response_b"}):
        yield Outcomes, {**others, **_named(others, names), **OUTCOMES}
    yield Outcomes, {**others, **_named(others, {"a": "chosen", "b": "rejected"})}
    for weights in (VOTES, PROBABILITY, LOGPROBS):
        yield VoteShares, {**others, **weights}


def _named(roles: Roles, names: Mapping[str, str]) -> dict[str, Role]:
    return {
        role: replace(roles[role], names=(name,), marks=(name,)) for role, name in names.items()
    }


class Outcomes(Rebuilt):
    """Judgements whose winner is the outcome with a 1, or a, the chosen list, without outcomes."""

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements, one a row."""
        import polars as pl

        # the marks of each row, nan where a cell is none
        roles = [role for role in OUTCOMES if role in rows.columns]
        marks = np.ones((max(len(roles), 1), rows.n))
        for role, mark in zip(roles, marks, strict=False):
            values, index = rows.distinct(role, "label")
            words = ["" if value is None else word_of(value).lower() for value in values]
            mark[:] = np.array([MARKS.get(word, np.nan) for word in words])[index]

        def refusal(row: int) -> str:
            said = shown([rows.column(role, "label").at(row) for role in roles])
            return f"{', '.join(roles)} are {said}; one of them must be 1, the others 0"

        # the outcome that has a 1
        errors = dict(rows.errors)
        refuse(errors, marks.sum(axis=0) != 1, refusal)
        names = np.array([role.removeprefix("winner_") for role in roles or ["a"]])
        winner = pl.Series(names[np.argmax(marks == 1, axis=0)])
        return replace(rows, columns={**rows.columns, "winner": winner}, errors=errors)


class VoteShares(Rebuilt):
    """Judgements with a weight for each verdict on a line: votes, or a probability.

    A line with the probability p that a is preferred counts as a verdict for a of weight p and one
    for b of weight 1 - p, which is the cross-entropy of a likelihood.
    """

    def rebuilt(self, rows: RawCells) -> RawCells:
        """Return the cells of the judgements: one for each verdict of a row that has a weight."""
        import polars as pl

        from dcglearn.readers.kinds import KINDS

        # the weights of a, b and a tie; a bad row counts once, to be named
        errors = dict(rows.errors)
        of_rows = self._votes if "votes_a" in self.table_roles else self._shares
        weights = of_rows(rows, errors)
        weights[list(errors)] = [1, 0, 0]
        row, verdict = np.nonzero(weights)
        weight = weights[row, verdict]

        # times the weight of the row, which is refused if it is no number
        cells = replace(rows, errors=errors).taken(row)
        if "weight" in cells.columns:
            column = cells.column("weight", "number")
            own = KINDS["number"](column)
            weight = weight * own.values
            if own.errors:
                weight = weight.astype(object)
                weight[list(own.errors)] = [column.at(at) for at in own.errors]

        # as columns
        cells.columns["weight"] = pl.Series(weight) if weight.dtype == float else weight.tolist()
        cells.columns["winner"] = pl.Series(np.array(["a", "b", "tie"])[verdict])
        return cells

    def _votes(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return the votes of each row for a, b and a tie, and add what is wrong with them."""
        votes = np.column_stack([_numbers(rows, role, errors, 0.0) for role in VOTES])
        is_bad = (votes.min(axis=1) < 0) | ~votes.any(axis=1)
        refuse(
            errors,
            is_bad,
            lambda row: (
                f"the votes are {shown(votes[row].tolist())}; give numbers, one of them above 0"
            ),
        )
        return votes

    def _shares(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return how probable it is that a, b or neither is preferred, and add what is wrong."""
        if "probability" in self.table_roles:
            share = _numbers(rows, "probability", errors, np.nan)
            refuse(errors, np.isnan(share), lambda _: "probability is missing")
        else:
            share = self._of_logarithms(rows, errors)

        remedy = (
            "give a number from 0 to 1, that a is preferred, such as .7 for seven of ten raters, "
            "or name the column logprob_a if it holds logarithms"
        )
        is_bad = (share < 0) | (share > 1)
        refuse(errors, is_bad, lambda row: f"probability is {shown(float(share[row]))}; {remedy}")
        return np.column_stack([share, 1 - share, np.zeros(rows.n)])

    def _of_logarithms(self, rows: RawCells, errors: Refusals) -> Floats:
        """Return the probability of a by its logarithm, relative to that of b if a row has both."""
        of_a, of_b = (_numbers(rows, role, errors, np.nan) for role in LOGPROBS)
        refuse(errors, np.isnan(of_a), lambda _: "logprob_a is missing")

        # only an object may lack the key of b
        alone = np.isnan(of_b)
        if alone.any() and self._rows.has("logprob_b"):
            is_blank = [
                row not in errors and "logprob_b" in self._rows.record(item)
                for row, (_, item) in enumerate(self._rows)
            ]
            refuse(errors, alone & is_blank, lambda _: "logprob_b is missing")

        def refusal(row: int) -> str:
            logs = dict(zip(LOGPROBS, (float(of_a[row]), float(of_b[row])), strict=True))
            if alone[row]:
                del logs["logprob_b"]
            return (
                f"{', '.join(logs)}: {shown([*logs.values()])}; logarithms of probabilities are "
                "below 0"
            )

        larger = np.fmax(of_a, of_b)
        refuse(errors, larger > 0, refusal)

        # relative to the larger, so that neither overflows nor both are 0
        both = np.exp(of_a - larger) + np.exp(of_b - larger)
        return np.where(alone, np.exp(np.fmin(of_a, 0)), np.exp(of_a - larger) / both)


def _numbers(rows: RawCells, role: str, errors: Refusals, blank: float) -> Floats:
    """Return the numbers of a column, `blank` for other cells, and add what is wrong with these."""
    if role not in rows.columns:
        return np.full(rows.n, blank)
    numbers = rows.checked(role, "number", errors)
    is_number = ~numbers.absent
    is_number[list(numbers.errors)] = False
    return np.where(is_number, numbers.values, blank)
