"""Tables whose columns tell the winner: a chosen and a rejected list, a column for each outcome, or
a probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, InputError
from dcglearn.readers.line_formats import shown
from dcglearn.readers.rebuilt import Rebuilt, taken
from dcglearn.readers.roles import LOGPROBS, OUTCOMES, PROBABILITY, VOTES, Role
from dcglearn.readers.winner_words import word_of

if TYPE_CHECKING:
    from dcglearn.readers.cells import RawCells

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


class Outcomes(Rebuilt):
    """Judgements whose winner is the outcome that has a 1; without such columns the list `a`, which
    was chosen.
    """

    def rebuilt(self, rows: RawCells) -> tuple[RawCells, NDArray[np.intp]]:
        """Return the cells of the judgements, one a row."""
        import polars as pl

        # what the outcomes of each row say, nan where a cell is no mark
        errors = dict(rows.errors)
        roles = [role for role in OUTCOMES if role in rows.columns]
        winner = pl.repeat("a", rows.n, eager=True)
        if roles:
            marks = np.empty((rows.n, len(roles)))
            for column, role in enumerate(roles):
                values, index = rows.distinct(role, "label")
                words = [word_of("" if value is None else value).lower() for value in values]
                marks[:, column] = np.array([MARKS.get(word, np.nan) for word in words])[index]
            names = np.array([role.removeprefix("winner_") for role in roles])
            winner = pl.Series(names[np.argmax(marks == 1, axis=1)])

            # rows without exactly one winner
            for row in np.flatnonzero(marks.sum(axis=1) != 1).tolist():
                said = shown([rows.column(role, "label").at(row) for role in roles])
                refusal = f"{', '.join(roles)} are {said}; one of them must be 1, the others 0"
                errors.setdefault(row, InputError(refusal))

        columns = {**rows.columns, "winner": winner}
        return replace(rows, columns=columns, errors=errors), np.arange(rows.n)


class Shares(Rebuilt):
    """Judgements with a weight for each verdict on a line: how many people gave it, or how probable
    it is.

    A line with the probability p that a is preferred counts as a verdict for a of weight p and one
    for b of weight 1 - p, which is the cross-entropy of a likelihood.
    """

    def rebuilt(self, rows: RawCells) -> tuple[RawCells, NDArray[np.intp]]:
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
        columns = {role: taken(cells, pl.Series(row)) for role, cells in rows.columns.items()}
        errors = {
            judgement: errors[of] for judgement, of in enumerate(row.tolist()) if of in errors
        }

        # times the weight of the row, which is refused if it is no number
        columns["winner"] = pl.Series(np.array(["a", "b", "tie"])[verdict])
        cells = replace(rows, n=len(row), columns=columns, errors=errors)
        if "weight" in columns:
            column = cells.column("weight", "number")
            own = KINDS["number"](column)
            weight = weight * own.values
            if own.errors:
                weight = weight.astype(object)
                weight[list(own.errors)] = [column.at(at) for at in own.errors]
        columns["weight"] = pl.Series(weight) if weight.dtype == float else weight.tolist()
        return cells, row

    def _votes(self, rows: RawCells, errors: dict[int, InputError]) -> Floats:
        """Return the votes of each row for a, b and a tie, and add what is wrong with them."""
        votes = np.column_stack([_numbers(rows, role, errors, 0.0) for role in VOTES])
        for row in np.flatnonzero((votes.min(axis=1) < 0) | ~votes.any(axis=1)).tolist():
            said = shown(votes[row].tolist())
            refusal = f"the votes are {said}; give numbers, one of them above 0"
            errors.setdefault(row, InputError(refusal))
        return votes

    def _shares(self, rows: RawCells, errors: dict[int, InputError]) -> Floats:
        """Return how probable it is that a, b or neither is preferred, and add what is wrong."""
        if "probability" in self.table_roles:
            share = _numbers(rows, "probability", errors, np.nan)
            _refuse_missing("probability", np.isnan(share), errors)
        else:
            share = self._of_logarithms(rows, errors)
        for row in np.flatnonzero((share < 0) | (share > 1)).tolist():
            problem = f"probability is {shown(float(share[row]))}; give a number from 0 to 1"
            such = "that a is preferred, such as .7 for seven of ten raters"
            remedy = "or name the column logprob_a if it holds logarithms"
            errors.setdefault(row, InputError(f"{problem}, {such}, {remedy}"))
        return np.column_stack([share, 1 - share, np.zeros(rows.n)])

    def _of_logarithms(self, rows: RawCells, errors: dict[int, InputError]) -> Floats:
        """Return how probable a is by the logarithm of its probability, relative to that of b where
        a row has both.
        """
        of_a, of_b = logs = [_numbers(rows, role, errors, np.nan) for role in LOGPROBS]
        _refuse_missing("logprob_a", np.isnan(of_a), errors)
        alone = np.isnan(of_b)
        if self._rows.has("logprob_b"):
            # an object may lack the key
            for row, (_, item) in enumerate(self._rows if alone.any() else ()):
                if alone[row] and row not in errors and "logprob_b" in self._rows.record(item):
                    _refuse_missing("logprob_b", alone & (np.arange(rows.n) == row), errors)

        larger = np.fmax(of_a, of_b)
        for row in np.flatnonzero(larger > 0).tolist():
            said = {
                role: float(values[row])
                for role, values in zip(LOGPROBS, logs, strict=True)
                if not np.isnan(values[row])
            }
            problem = f"{', '.join(said)}: {shown([*said.values()])}"
            errors.setdefault(
                row, InputError(f"{problem}; logarithms of probabilities are below 0")
            )

        # relative to the larger, so that neither overflows nor both are 0
        both = np.exp(of_a - larger) + np.exp(of_b - larger)
        return np.where(alone, np.exp(np.fmin(of_a, 0)), np.exp(of_a - larger) / both)


def _refuse_missing(
    role: str, is_missing: NDArray[np.bool_], errors: dict[int, InputError]
) -> None:
    for row in np.flatnonzero(is_missing).tolist():
        errors.setdefault(row, InputError(f"{role} is missing"))


def _numbers(rows: RawCells, role: str, errors: dict[int, InputError], blank: float) -> Floats:
    """Return the numbers of a column, and `blank` for blank cells; add what is wrong with them."""
    from dcglearn.readers.kinds import KINDS

    if role not in rows.columns:
        return np.full(rows.n, blank)
    numbers = KINDS["number"](rows.column(role, "number"))
    for row, error in numbers.errors.items():
        errors.setdefault(row, error)
    return np.where(numbers.absent, blank, numbers.values)
