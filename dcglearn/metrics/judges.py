"""Judges of a learned metric, how sharply they tell lists apart and how often they err; its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import plain
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, Floats, Indices, InputError, finite_array, within
from dcglearn.metrics.file_fields import check_numbers, fields_of

N_DRAWS = 1000
"""Number of draws that a metric's file holds."""


@dataclass(frozen=True, eq=False)
class JudgeDraws:
    """Draws of a metric and its judges from what a log allows, B of each.

    `gains`, shape (B, L), and `discounts`, shape (B, K), are the metric. `scale`, `tie_threshold`,
    `error_rate` and `bias`, shape (B,), are as in `Judges`, `powers`, (B,), the power of lengths.
    """

    gains: Floats
    discounts: Floats
    scale: Floats
    tie_threshold: Floats
    error_rate: Floats
    bias: Floats
    powers: Floats

    def __len__(self) -> int:
        return len(self.scale)

    def rows(self, n: int) -> Indices:
        """Return the numbers of at most n of the draws, at even steps."""
        return np.unique(np.linspace(0, len(self) - 1, n).round().astype(int))

    def few(self) -> JudgeDraws:
        """Return at most `N_DRAWS` of the draws, at even steps, to three significant digits.

        Rounding moves the ends of intervals a hundred times less than another seed does.
        """
        rounded = np.vectorize(lambda number: float(f"{number:.3g}"), otypes=[float])
        rows = self.rows(N_DRAWS)
        return JudgeDraws(**{name: rounded(array[rows]) for name, array in vars(self).items()})

    def to_dict(self) -> Fields:
        """Return the arrays as lists, without powers if they are all 0."""
        arrays = {name: array.tolist() for name, array in vars(self).items()}
        if not self.powers.any():
            del arrays["powers"]
        return arrays

    @classmethod
    def from_dict(cls, values: Any, shape: tuple[int, int]) -> Self:
        """Build draws of a metric with L grades and K positions from what `to_dict` returns."""
        names = [one.name for one in fields(cls)]
        own = fields_of(values, cls, '"draws" of the judges', names[:-1])

        # arrays with a row for each draw
        widths = {"gains": shape[:1], "discounts": shape[1:]}
        arrays = {
            name: finite_array(value, f'"{name}" of the draws', 2 if name in widths else 1)
            for name, value in own.items()
        }
        n = len(arrays["scale"])
        for name, array in arrays.items():
            if array.shape != (n, *widths.get(name, ())):
                raise InputError(f'"{name}" of the draws has shape {array.shape}')
        return cls(**{"powers": np.zeros(n), **arrays})


@dataclass(frozen=True, eq=False)
class Judges:
    """Judges of a learned metric: what is known of how they choose between two lists.

    Source: Rao and Kupper 1967. With ``z = scale * (value of one list - value of the other)``, they
    prefer the one with the probability ``(1 - error_rate) sigma(z - tie_threshold) + error_rate
    sigma(-z - tie_threshold)``, see no difference where they prefer neither, and z is larger by
    `bias` for the list shown first. Raises InputError if a number is out of its range.

    Parameters
    ----------
    scale : float
        Size of a difference of 1 in the metric, in units of the judges' noise.
    tie_threshold : float
        Difference up to which ties are likely, in these units; 0 where the log has no ties.
    error_rate : float
        How often they name the worse list though the other is far better.
    bias : float
        By how much the list shown first is preferred, in units of the noise.
    chose : bool
        Whether people chose between two lists; else they rated lists one by one.
    n_judgements : int
        Number of judgements that they were learned from.
    largest : float
        Largest difference in the metric between two lists of the log.
    grades, depth : tuple of int, int
        Grades that occur in the log; the last position that held a result.
    slope, slope_error : float
        Factor on the log-odds that the judges predict, and its standard error; below 1 where they
        would be too sure.
    unexplained : str
        What grades do not explain of the verdicts, in words; empty if nothing is known of it.
    draws : JudgeDraws, optional
        Draws of metric and judges, for intervals.

    See Also
    --------
    compare_systems : Of 100 people, how many would take the new list.

    Examples
    --------
    >>> judges = dl.evaluation.Judges(scale=2.0, tie_threshold=1.0)
    >>> judges.chances([0.0, 1.0]).round(2)
    array([[0.27, 0.46, 0.27],
           [0.73, 0.22, 0.05]])
    """

    scale: float
    tie_threshold: float = 0.0
    error_rate: float = 0.0
    bias: float = 0.0
    chose: bool = True
    n_judgements: int = 0
    largest: float = 0.0
    grades: tuple[int, ...] = ()
    depth: int = 0
    slope: float = 1.0
    slope_error: float = 0.0
    unexplained: str = ""
    draws: JudgeDraws | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # numbers, all of which but the bias are at least 0
        names = "scale tie_threshold error_rate n_judgements largest depth slope slope_error"
        for name in names.split():
            most = 1.0 if name == "error_rate" else np.inf
            within(getattr(self, name), f'"{name}" of the judges', most)
        check_numbers(self.bias, "bias")
        finite_array(self.bias, '"bias" of the judges', 0)

    def chances(self, difference: ArrayLike) -> Floats:
        """Return the chances of the first list, a tie, and the second list; shape (..., 3).

        `difference`, shape (...,), is the value of the first list minus that of the second. Each
        list is shown first as often as the other.
        """
        judges = self.scale, self.tie_threshold, self.error_rate, self.bias
        return _chances(np.asarray(difference), *judges, self.slope)

    def drawn(self, differences: Iterable[Floats], rng: np.random.Generator) -> Iterator[Floats]:
        """Yield the chances, shape (n, 3), by the judges of each draw.

        `differences` are those under the metric of each draw, shape (n,).
        """
        assert self.draws is not None
        draws = self.draws
        judges = zip(draws.scale, draws.tie_threshold, draws.error_rate, draws.bias, strict=True)
        for difference, one in zip(differences, judges, strict=True):
            slope = max(self.slope + self.slope_error * rng.standard_normal(), 0.0)
            yield _chances(difference, *one, slope)

    def of_grades(self, grades: Indices) -> Judges:
        """Return the judges where the grade g of the data is the metric's ``grades[g]``."""
        own = tuple(g for g, grade in enumerate(grades) if grade in self.grades)
        draws = self.draws and replace(self.draws, gains=self.draws.gains[:, grades])
        return replace(self, grades=own, draws=draws)

    def to_dict(self) -> Fields:
        """Return plain Python values, as a metric's file holds them."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_dict(cls, values: Any, shape: tuple[int, int]) -> Self:
        """Build the judges of a metric with L grades and K positions, as `to_dict` returns them.

        Raises InputError if a field is missing or unknown, or has another type.
        """
        own = fields_of(values, cls, '"judges"')

        # grades of the metric
        grades = own["grades"]
        known = range(shape[0])
        if not isinstance(grades, list) or any(grade not in known for grade in grades):
            raise InputError(f'"grades" of "judges" is {grades!r}')
        own["grades"] = tuple(grades)
        if own["draws"] is not None:
            own["draws"] = JudgeDraws.from_dict(own["draws"], shape)
        return cls(**own)


def _chances(
    difference: Floats, scale: float, threshold: float, error: float, bias: float, slope: float
) -> Floats:
    """Return the chances of the first list, a tie and the second list, shape (..., 3)."""
    from scipy.special import expit, logit

    # the list that is ahead, or behind, is shown first or second
    z = scale * difference
    ahead, behind = (
        (expit(side + bias - threshold) + expit(side - bias - threshold)) / 2 for side in (z, -z)
    )
    first, second = (1 - error) * ahead + error * behind, (1 - error) * behind + error * ahead

    # among those who decide, by the slope of held-out verdicts
    decided = first + second
    share = first / decided
    if slope != 1:
        share = expit(slope * logit(share))
    tie = np.maximum(1 - decided, 0.0)
    return np.stack([decided * share, tie, decided * (1 - share)], axis=-1)


@dataclass(frozen=True)
class LearnedFrom:
    """The log that a metric was learned from.

    Parameters
    ----------
    n_judgements, n_raters : int
        Number of its judgements, and of its raters; 0 where it does not name them.
    depth, n_grades : int
        The last position that held a result, and the number of grades.
    digest : str
        SHA-256 of its lists, the preferred one first, weights and raters.
    until : str
        The time of the last judgement, where the log tells it; so equal logs give equal files.
    grader : str
        Who graded the documents; no log tells it, so that it can be added.

    See Also
    --------
    DCG : A metric, which holds it.

    Examples
    --------
    >>> print(dl.evaluation.LearnedFrom(n_judgements=500, depth=10, n_grades=5, n_raters=12))
    500 judgements by 12 raters of lists down to position 10, on 5 grades
    """

    n_judgements: int
    depth: int
    n_grades: int
    n_raters: int = 0
    digest: str = ""
    until: str = ""
    grader: str = ""

    def caution(self, depth: int, n_grades: int) -> str:
        """Return what differs where values count so many positions, of so many grades."""
        differences = []
        if n_grades != self.n_grades:
            differences.append(number_of(n_grades, "grades"))
        if depth > self.depth:
            differences.append(number_of(depth, "positions"))
        if not differences:
            return ""
        return f"learned from {self}, but used on {' and '.join(differences)}"

    def __str__(self) -> str:
        raters = f" by {number_of(self.n_raters, 'raters', ',')}" if self.n_raters else ""
        until = f" until {self.until}" if self.until else ""
        grader = f" by {self.grader}" if self.grader else ""
        log = f" (log {self.digest[:8]})" if self.digest else ""
        return (
            f"{number_of(self.n_judgements, 'judgements', ',')}{raters}{until}{log} of lists down "
            f"to position {self.depth}, on {number_of(self.n_grades, 'grades')}{grader}"
        )
