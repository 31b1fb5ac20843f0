"""A claim, the differences that test it, the rule of its verdict, and the table of all claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta
from scipy.stats import t as student

import dcglearn as dl

Rows = Mapping[str, Any]
"""Rows of a table: for each column the value wanted, or a tuple of values."""

HOLDS, CONDITION, FAILS, UNDECIDED = "holds", "holds with a condition", "does not hold", "undecided"
VERDICTS = (HOLDS, CONDITION, FAILS, UNDECIDED)
PROVED, CONSTRUCTED = "proved", "by construction"
"""Verdicts on claims that cannot fail: theorems, and what the form of the experiment implies."""

PAPERS = {
    "zhou": "Zhou",
    "qin": "Qin",
    "chapelle-wu": "Chapelle and Wu",
    "sun": "Sun",
    "wu": "Wu",
    "ours": "",
}
"""Names of the papers in the table of claims, in its order."""

LEVEL = 0.95
"""Level of the intervals."""

CLOSE, NEGLIGIBLE = 0.02, 0.005
"""Largest distance of what is called close, and largest difference that is called none, in
precision or NDCG.
"""

PRECISE = 0.01
"""Two standard errors of a study that can say that a test, an interval or a gate has its level."""

ROUNDING = 1e-12
"""Distance below which an interval's end counts as lying on the edge of the claim."""


@dataclass(frozen=True)
class Interval:
    """A mean over repeats and the ends of its interval at `LEVEL`."""

    mean: float
    low: float
    high: float
    repeats: int

    def __str__(self) -> str:
        mean = _digits(self.mean, self)
        if self.high - self.low <= ROUNDING * abs(self.mean):
            return f"{mean} in all {self.repeats} repeats"
        return f"{mean} ({_digits(self.low, self)}, {_digits(self.high, self)})"


def interval(values: Any, overlap: float = 0.0) -> Interval:
    """Return the mean of one value per repeat, with its interval by Student's t.

    Parameters
    ----------
    values : array-like, shape (n_repeats,)
        One value per repeat.
    overlap : float
        If every repeat splits the same queries anew: the number of queries on which a value is
        measured, divided by the number of the others it depends on. The variance of the mean is
        then 1 / n_repeats + `overlap` times that of a repeat (Nadeau and Bengio 2003, Inference for
        the generalization error, section 3). 0 if repeats draw new data.

    Raises
    ------
    InputError
        If there are fewer than two values, or one is not finite.
    """
    values = _finite(values)
    error = float(values.std(ddof=1)) * np.sqrt(1 / len(values) + overlap)
    reach = float(student.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    mean = float(values.mean())
    return Interval(mean, mean - reach, mean + reach, len(values))


def share_interval(shares: Any, outcomes: float = 1) -> Interval:
    """Return the mean over repeats of shares of 0/1 outcomes, with an exact interval in [0, 1].

    The interval is Clopper and Pearson's for the number of outcomes that count as independent: the
    number whose binomial variance is the variance between repeats (Korn and Graubard 1998,
    Confidence intervals for proportions with small expected number of positive counts). That is at
    most all outcomes; and one of each repeat if all repeats agree, which shows no variance.

    Parameters
    ----------
    shares : array-like, shape (n_repeats,)
        Each repeat's share.
    outcomes : float
        Outcomes of a repeat, on average.

    Raises
    ------
    InputError
        If there are fewer than two shares, or one is not finite.
    """
    shares = _finite(shares)
    mean, repeats, upper = float(shares.mean()), len(shares), (1 + LEVEL) / 2
    between = float(shares.var(ddof=1)) / repeats
    count = float(repeats)
    if outcomes > 1 and between > 0:
        fewer = student.ppf(upper, repeats * outcomes - 1) / student.ppf(upper, repeats - 1)
        count = min(mean * (1 - mean) / between * fewer**2, repeats * outcomes)
    hits, misses = mean * count, (1 - mean) * count
    low = float(beta.ppf(1 - upper, hits, misses + 1)) if hits else 0.0
    high = float(beta.ppf(upper, hits + 1, misses)) if misses else 1.0
    return Interval(mean, low, high, repeats)


def measured(
    values: np.ndarray, column: pl.Series, each: float = 1, *, outcomes: int = 0, least: float = 0.0
) -> Interval:
    """Return the mean of one value per repeat, with its interval.

    The interval is exact for shares of 0/1 outcomes, and Student's t interval otherwise.

    Parameters
    ----------
    values : array, shape (n_repeats,)
        Means over rows of a column, or (with `least` -1) differences of two such means.
    column : Series
        All values of that column. If they are integers 0 and 1, their mean is a share; if they lie
        in [0, 1], no mean lies beyond it.
    each : float
        Rows of a repeat, on average.
    outcomes : int
        As of `Claim`.
    least : float
        Smallest mean of a column in [0, 1], or -1 for differences.
    """
    column = column.drop_nulls()
    unit = column.is_between(0, 1).all()
    if least == 0.0 and (outcomes or (unit and column.dtype.is_integer())):
        return share_interval(values, each * max(outcomes, 1))
    found = interval(values)
    return replace(found, low=max(found.low, least), high=min(found.high, 1.0)) if unit else found


def _finite(values: Any) -> np.ndarray:
    """Return values as an array; raise InputError unless there are two or more, all finite."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        raise dl.InputError(
            f"a claim needs a finite value in each of at least two repeats, not {values.tolist()}"
        )
    return values


def verdict(measured: Interval, low: float = -np.inf, high: float = np.inf) -> str:
    """Return the verdict on the claim that the mean lies between `low` and `high`.

    It "holds" if the whole interval lies there, "does not hold" if the whole interval lies outside,
    on one side, and is "undecided" otherwise. An edge belongs to a claim with two edges, and not to
    a claim of one direction: no difference at all does not show a positive one.
    """
    edge = ROUNDING if np.isfinite(low) and np.isfinite(high) else -ROUNDING
    if measured.low >= low - edge and measured.high <= high + edge:
        return HOLDS
    if measured.high < low - edge or measured.low > high + edge:
        return FAILS
    return UNDECIDED


def verdict_on_level(measured: Interval, level: float, outcomes: float) -> str:
    """Return the verdict on the claim that errors are at most as frequent as their level.

    It "does not hold" if the whole exact interval lies above the level, "holds" if it does not and
    two standard errors of so many outcomes are at most `PRECISE`, and is "undecided" otherwise.
    """
    if measured.low > level:
        return FAILS
    return HOLDS if 2 * (level * (1 - level) / outcomes) ** 0.5 <= PRECISE else UNDECIDED


def conditional(where_met: str, elsewhere: str) -> str:
    """Return the verdict on a claim with a condition, from its verdicts in both branches.

    The claim "holds with a condition" only if it holds where the condition is met and does not hold
    elsewhere.
    """
    if where_met != HOLDS:
        return where_met
    return CONDITION if elsewhere == FAILS else elsewhere


@dataclass(frozen=True)
class Claim:
    """A claim about the mean of one value per repeat, stated before the value is looked at.

    The value of a repeat is the mean of a column over some of its rows, less the mean over the rows
    to compare with. Repeats of all settings share their random lists, so that such differences are
    paired.

    Parameters
    ----------
    table : DataFrame
        A program's table, or what the program derives from it: one row per setting and "repeat".
    paper, place : str
        Key of `PAPERS`; the paper's figure, table or section, or the name of our study.
    text : str
        The claim in words: what is compared, and what is said of it.
    value : str
        Column of the values.
    rows, minus : mapping of str to object
        Rows whose mean is taken, and rows whose mean is subtracted, by the values (or tuples of
        values) of columns.
    low, high : float
        The mean lies between these if the claim is true.
    condition : str
        Words that complete the claim, "if ..."; they need `otherwise`.
    otherwise : pair of mappings, optional
        `rows` and `minus` where the condition is not met; the claim with a condition says that it
        fails there.
    outcomes : int
        Number of 0/1 outcomes of which a value is the share. Columns of integers 0 and 1 need not
        say so.
    level : float
        Level of a test, if the values say where it rejects a true hypothesis: then the claim is
        that it has its level (`verdict_on_level`).
    cannot_fail : str
        `PROVED` or `CONSTRUCTED` if the claim cannot fail; it is then shown, and not counted as
        tested.
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
    outcomes: int = 0
    level: float = 0.0
    cannot_fail: str = ""

    def __post_init__(self) -> None:
        if self.level:
            object.__setattr__(self, "high", self.level)
        if not (np.isfinite(self.low) or np.isfinite(self.high)) or self.low > self.high:
            raise dl.InputError(
                f"{self.text}: no mean could contradict a claim between {self.low} and {self.high}"
            )
        if bool(self.condition) != (self.otherwise is not None):
            raise dl.InputError(
                f"{self.text}: a condition needs words, and rows that do not meet it"
            )

    @property
    def branches(self) -> list[tuple[Rows, Rows | None]]:
        """The rows to compare: where the condition is met, then elsewhere, or the only ones."""
        return [(self.rows, self.minus), *([self.otherwise] if self.otherwise else [])]

    def differences(self, branch: int = 0) -> np.ndarray:
        """Return the value of each repeat, shape (n_repeats,), in a branch of `branches`."""
        rows, minus = self.branches[branch]
        first = means_of_repeats(select(self.table, rows), self.value)
        if minus is None:
            return first["mean"].to_numpy()
        other = means_of_repeats(select(self.table, minus), self.value)
        both = first.join(other, on="repeat", suffix="_other").sort("repeat")
        return both["mean"].to_numpy() - both["mean_other"].to_numpy()

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
        return [self._measured(branch) for branch in range(len(self.branches))]

    def _measured(self, branch: int) -> Interval:
        (rows, minus), values = self.branches[branch], self._all_differences[branch]
        if minus is not None:
            return measured(values, self.table[self.value], least=-1.0)
        each = select(self.table, rows)[self.value].drop_nulls().len() / len(values)
        return measured(values, self.table[self.value], each, outcomes=self.outcomes)

    @property
    def verdicts(self) -> list[str]:
        """The verdict of each branch by itself."""
        if self.level:
            n = select(self.table, self.rows)[self.value].drop_nulls().len()
            n *= max(self.outcomes, 1)
            return [verdict_on_level(self.measured[0], self.level, n)]
        return [verdict(measured, self.low, self.high) for measured in self.measured]

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`, or `cannot_fail` as long as the mean agrees."""
        mean = self.measured[0].mean
        if (
            self.cannot_fail
            and verdict(Interval(mean, mean, mean, 1), self.low, self.high) == HOLDS
        ):
            return self.cannot_fail
        return conditional(*self.verdicts) if self.condition else self.verdicts[0]

    @property
    def bounds(self) -> str:
        """What the mean must be for the claim to hold, in signs."""
        if self.level:
            return f"≤{self.level:g}"
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
        return (
            f"{self.place}: {self.text}{words}\n  {self.verdict.upper()}: {numbers}; {self.bounds}"
        )


def select(table: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    """Return the rows of a table whose columns have these values, or one of a tuple of values."""
    wanted = ((pl.col(name), value) for name, value in rows.items())
    return table.filter(
        *(col.is_in(list(v)) if isinstance(v, tuple) else col == v for col, v in wanted)
    )


def means_of_repeats(table: pl.DataFrame, value: str) -> pl.DataFrame:
    """Return the mean of a column over the rows of each repeat, ordered by repeat."""
    mean = pl.col(value).cast(pl.Float64).mean()
    return table.drop_nulls(value).group_by("repeat").agg(mean=mean).sort("repeat")


def _digits(number: float, measured: Interval) -> str:
    """Return a number with as many digits as its interval's width warrants."""
    width = measured.high - measured.low
    if 0 < abs(number) < 1e-3 and width < 1e-4:
        return f"{number:.0e}"
    decimals = 3 if width == 0 else int(np.clip(1 - np.floor(np.log10(width)), 0, 4))
    return f"{number + 0.0:.{decimals}f}"


def in_every_cell(claims: Sequence[Claim]) -> Claim:
    """Return the claim nearest to failing: if it holds, the claims of all settings hold.

    Its text says of how many claims it is the worst.
    """
    tested = [claim for claim in claims if claim.testable] or claims[:1]
    nearest = min(tested, key=lambda claim: _room(claim) if claim.testable else 0.0)
    return replace(nearest, text=f"{nearest.text}, worst of {len(claims)}")


def _room(claim: Claim) -> float:
    """Return how far the interval lies within the claim's bounds; negative where it does not."""
    if claim.level:
        return claim.level - claim.measured[0].low
    return min(claim.measured[0].low - claim.low, claim.high - claim.measured[0].high)


AGREES = (HOLDS, CONDITION, PROVED, CONSTRUCTED)
"""Verdicts of a claim that bear out what it says."""


def headline(
    claims: Sequence[Claim],
    finding: str,
    neutral: str,
    *rests_on: str,
    verdicts: Sequence[str] = AGREES,
) -> str:
    """Return a panel's title: a finding if the claims bear it out, and a neutral title otherwise.

    Parameters
    ----------
    claims : sequence of Claim
        The claims of the panel's program.
    finding, neutral : str
        The title that states what was found, and the one that only says what is shown.
    rests_on : str
        Parts of claims' texts. Each part must occur, and every claim in which it occurs must have
        one of `verdicts`.
    verdicts : sequence of str
        ``(FAILS,)`` for a finding that contradicts the claims.
    """
    for part in rests_on:
        named = [claim for claim in claims if part in claim.text]
        if not named or any(not c.testable or c.verdict not in verdicts for c in named):
            return neutral
    return finding


def summary_table(claims: Mapping[str, Sequence[Claim]]) -> pl.DataFrame:
    """Return one row for each claim and branch, with its mean, interval, bounds and verdict."""
    return pl.DataFrame(
        [
            {
                "paper": claim.paper,
                "place": claim.place,
                "program": stem,
                "claim": f"{claim.text}, {claim.condition}" if claim.condition else claim.text,
                "branch": "elsewhere" if branch else "",
                "must_be": claim.bounds,
                "mean": measured.mean,
                "low": measured.low,
                "high": measured.high,
                "repeats": measured.repeats,
                "verdict": claim.verdicts[1] if branch else claim.verdict,
            }
            for paper in PAPERS
            for stem, of in claims.items()
            for claim in of
            if claim.paper == paper
            for branch, measured in enumerate(claim.measured)
        ],
        infer_schema_length=None,
    )


def of_calibration(path: Path) -> pl.DataFrame:
    """Return the promises of the table of `simulations.calibration` as rows of `summary_table`.

    A promise's row is the last, which counts all its cells together.
    """
    table = pl.read_csv(path).filter(pl.col("must_be") != "")
    promises = table.group_by("check", "promise", maintain_order=True).last()
    cell = (pl.col(name).replace("all", None) for name in ("truth", "judge", "n"))
    where = pl.concat_str(*cell, separator="; ", ignore_nulls=True)
    return promises.select(
        paper=pl.lit("ours"),
        place="check",
        program=pl.lit(path.stem),
        claim=pl.concat_str("measure", where.replace("", None), separator=": ", ignore_nulls=True),
        branch=pl.lit(""),
        **{name: name for name in ("must_be", "mean", "low", "high", "repeats", "verdict")},
    )


def renewed(page: str, table: pl.DataFrame) -> str:
    """Return the page of claims with the rows of a table, and how many claims hold."""
    start, end = "<!-- claims -->\n", "<!-- end -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}{''.join(page_lines(table))}{end}{rest.partition(end)[2]}"


def page_lines(table: pl.DataFrame) -> Iterator[str]:
    """Yield how many claims hold, and a row for each claim of `summary_table`."""
    verdicts = table.filter(branch="")["verdict"].to_list()
    n_tested = sum(verdict in VERDICTS for verdict in verdicts)
    counted = ", ".join(f"{verdict} {verdicts.count(verdict)}" for verdict in VERDICTS)
    yield f"Of {n_tested} claims that a run can contradict: {counted}. "
    yield f"{len(verdicts) - n_tested} more cannot fail.\n\n"
    yield "| where | claim | must be | value (interval) | verdict |\n"
    yield f"|{' --- |' * 5}\n"
    rows = table.to_dicts()
    for row, following in zip(rows, [*rows[1:], {"branch": ""}], strict=True):
        if row["branch"]:
            continue
        place = f"{PAPERS[row['paper']]} {row['place']}".strip().replace("section ", "§")
        value = str(_interval_of(row))
        if following["branch"]:
            value += f"; elsewhere {_interval_of(following)}"
        shown = "csv" if row["program"] == "calibration" else "png"
        link = f"[{place}](../figures/{row['program']}.{shown})"
        cells = (link, row["claim"], row["must_be"], value, f"**{row['verdict']}**")
        yield f"| {' | '.join(cells)} |\n"


def _interval_of(row: Mapping[str, Any]) -> Interval:
    return Interval(*(row[name] for name in ("mean", "low", "high", "repeats")))
