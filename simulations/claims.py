"""A claim, the differences that test it, and the one rule by which every verdict is reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

import dcglearn as dl

Rows = Mapping[str, Any]
"""Rows of a table: for each column the value wanted, or a tuple of values."""

HOLDS, CONDITION, FAILS, UNDECIDED = "holds", "holds with a condition", "does not hold", "undecided"
VERDICTS = (HOLDS, CONDITION, FAILS, UNDECIDED)

LEVEL = 0.95
"""Level of the intervals."""

CLOSE, NEGLIGIBLE = 0.02, 0.005
"""Largest distance of what is called close, and largest difference that is called none, in precision or NDCG."""

ROUNDING = 1e-12
"""Distance below which an interval's end counts as lying on the edge of the claim."""


@dataclass(frozen=True)
class Interval:
    """A mean over repeats and the ends of its interval at `LEVEL` by Student's t."""

    mean: float
    low: float
    high: float
    repeats: int

    def __str__(self) -> str:
        return f"{_digits(self.mean, self)} ({_digits(self.low, self)}, {_digits(self.high, self)})"


def interval(values: Any) -> Interval:
    """Return the mean of one value per repeat, with its interval.

    Raises
    ------
    InputError
        If there are fewer than two values, or one is not finite.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        raise dl.InputError(f"a claim needs a finite value in each of at least two repeats, not {values.tolist()}")
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    reach = float(student.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    mean = float(values.mean())
    return Interval(mean, mean - reach, mean + reach, len(values))


def verdict(measured: Interval, low: float = -np.inf, high: float = np.inf) -> str:
    """Return the verdict on the claim that the mean lies between `low` and `high`.

    It "holds" if the whole interval lies there, "does not hold" if the whole interval lies outside, on one side, and is
    "undecided" otherwise. An edge belongs to a claim with two edges, and not to a claim of one direction: no difference
    at all does not show a positive one.
    """
    edge = ROUNDING if np.isfinite(low) and np.isfinite(high) else -ROUNDING
    if measured.low >= low - edge and measured.high <= high + edge:
        return HOLDS
    if measured.high < low - edge or measured.low > high + edge:
        return FAILS
    return UNDECIDED


def conditional(where_met: str, elsewhere: str) -> str:
    """Return the verdict on a claim with a condition, from its verdicts where the condition is met and elsewhere.

    It "holds with a condition" only if it holds where the condition is met and does not hold elsewhere.
    """
    if where_met != HOLDS:
        return where_met
    return CONDITION if elsewhere == FAILS else elsewhere


@dataclass(frozen=True)
class Claim:
    """A claim about the mean of one value per repeat, stated before the value is looked at.

    The value of a repeat is the mean of a column over some of its rows, less the mean over the rows to compare with.
    Repeats of all settings share their random lists, so that such differences are paired.

    Parameters
    ----------
    table : DataFrame
        A program's table, or what the program derives from it: one row per setting and "repeat".
    paper, place : str
        Key of `simulations.claims_page.PAPERS`; the paper's figure, table or section, or the name of our study.
    text : str
        The claim in words: what is compared, and what is said of it.
    value : str
        Column of the values.
    rows, minus : mapping of str to object
        Rows whose mean is taken, and rows whose mean is subtracted, by the values (or tuples of values) of columns.
    low, high : float
        The mean lies between these if the claim is true.
    condition : str
        Words that complete the claim, "if ..."; they need `otherwise`.
    otherwise : pair of mappings, optional
        `rows` and `minus` where the condition is not met; the claim with a condition says that it fails there.
    """

    table: pl.DataFrame = field(repr=False, compare=False)
    paper: str
    place: str
    text: str
    value: str
    rows: Rows
    minus: Rows | None = None
    low: float = -np.inf
    high: float = np.inf
    condition: str = ""
    otherwise: tuple[Rows, Rows | None] | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) or np.isfinite(self.high)) or self.low > self.high:
            raise dl.InputError(f"{self.text}: no mean could contradict a claim between {self.low} and {self.high}")
        if bool(self.condition) != (self.otherwise is not None):
            raise dl.InputError(f"{self.text}: a condition needs words, and rows that do not meet it")

    @property
    def branches(self) -> list[tuple[Rows, Rows | None]]:
        """The rows to compare: where the condition is met, then elsewhere, or the only ones."""
        return [(self.rows, self.minus), *([self.otherwise] if self.otherwise else [])]

    def differences(self, branch: int = 0) -> np.ndarray:
        """Return the value of each repeat, shape (n_repeats,), in a branch of `branches`."""
        rows, minus = self.branches[branch]
        first = self._means(rows)
        if minus is None:
            return first["mean"].to_numpy()
        both = first.join(self._means(minus), on="repeat", suffix="_other").sort("repeat")
        return both["mean"].to_numpy() - both["mean_other"].to_numpy()

    def _means(self, rows: Rows) -> pl.DataFrame:
        """Return the mean of the value over these rows, for each repeat that has any."""
        chosen = select(self.table, rows).drop_nulls(self.value)
        return chosen.group_by("repeat").agg(mean=pl.col(self.value).cast(pl.Float64).mean()).sort("repeat")

    @cached_property
    def testable(self) -> bool:
        """Whether the table has the rows of every branch; tables of quick runs lack some."""
        return all(len(differences) > 1 for differences in self._all_differences)

    @cached_property
    def _all_differences(self) -> list[np.ndarray]:
        return [self.differences(branch) for branch in range(len(self.branches))]

    @cached_property
    def measured(self) -> list[Interval]:
        """The mean and interval of each branch's differences."""
        return [interval(differences) for differences in self._all_differences]

    @property
    def verdicts(self) -> list[str]:
        """The verdict of each branch by itself."""
        return [verdict(measured, self.low, self.high) for measured in self.measured]

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        return conditional(*self.verdicts) if self.condition else self.verdicts[0]

    @property
    def bounds(self) -> str:
        """What the mean must be for the claim to hold, in signs."""
        if np.isinf(self.high):
            return f">{self.low:.4g}"
        if np.isinf(self.low):
            return f"<{self.high:.4g}"
        if self.low == self.high:
            return f"={self.low:g}"
        return f"±{self.high:g}" if self.low == -self.high else f"{self.low:.4g} to {self.high:.4g}"

    def __str__(self) -> str:
        words = f", {self.condition}" if self.condition else ""
        numbers = "; elsewhere ".join(map(str, self.measured))
        return f"{self.place}: {self.text}{words}\n  {self.verdict.upper()}: {numbers}; {self.bounds}"


def select(table: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Return the rows of a table whose columns have these values, or one of a tuple of values."""
    wanted = ((pl.col(name), value) for name, value in rows.items())
    return table.filter(*(col.is_in(list(v)) if isinstance(v, tuple) else col == v for col, v in wanted))


def _digits(number: float, measured: Interval) -> str:
    """Return a number with as many digits as its interval's width warrants."""
    width = measured.high - measured.low
    if 0 < abs(number) < 1e-3 and width < 1e-4:
        return f"{number:.0e}"
    decimals = 3 if width == 0 else int(np.clip(1 - np.floor(np.log10(width)), 0, 4))
    return f"{number + 0.0:.{decimals}f}"


def in_every_cell(claims: Sequence[Claim]) -> Claim:
    """Return the claim that is nearest to failing, of one made of each of several cells: if it holds, all hold."""
    tested = [claim for claim in claims if claim.testable] or claims[:1]
    nearest = min(tested, key=lambda claim: _room(claim) if claim.testable else 0.0)
    return replace(nearest, text=f"{nearest.text}, the worst of {len(claims)} cells")


def _room(claim: Claim) -> float:
    """Return how far the interval lies within the claim's bounds; negative where it does not."""
    return min(claim.measured[0].low - claim.low, claim.high - claim.measured[0].high)
