"""Experiments: how the lists of two arms differ in their mean encodings, and which arm was known to
be better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, Grades, InputError, errors_in, finite_array
from dcglearn.metric.dcg import DCG
from dcglearn.readers.column_roles import ENCODED, EXPERIMENT, Table
from dcglearn.readers.line_formats import Opener, shown
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.openers import opener_of, records_of
from dcglearn.readers.read_table import read_columns

OUTCOMES, ARMS = (
    {"better": 1, "worse": -1, "a/a": 0, "aa": 0},
    {"control": -1, "treatment": 1, "a": -1, "b": 1},
)
"""What is known of the treatment, and the names of arms: of a and b, b is the treatment."""

MOST_SHARES, MOST_NUMBERS = 1000, 10**8
"""Positions times grades at most, and numbers in the covariances of all experiments."""

NEAR = 1e-6
"""Rounding that is allowed in sums of shares and, relative to its trace, in a covariance. Its trace
times the square of this is added to a covariance's diagonal: no difference is infinitely many
standard errors."""


@dataclass(frozen=True, eq=False, repr=False)
class Experiments:
    """Experiments, as `read_experiments` reads them.

    `difference`, shape (n, K, L), is the mean encoding of the treatment's lists minus that of the
    control's, `covariance`, (n, K L, K L), that of this difference, and `outcome`, (n,), 1 where
    the treatment is known to be better, -1 worse, 0 for A/A tests. `ndcg`, (n,), are the z-scores
    of nDCG, NaN where lists are not known.
    """

    difference: Floats
    covariance: Floats
    outcome: NDArray[np.int64]
    ndcg: Floats
    grade_names: tuple[str, ...] | None
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(self.difference)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Experiments:
        values = self.difference[rows], self.covariance[rows], self.outcome[rows], self.ndcg[rows]
        return Experiments(*values, self.grade_names, self.dropped)

    def z_scores(self, weights: Floats) -> Floats:
        """Return the difference of mean values under a utility W, shape (K, L), in standard errors,
        shape (n,).
        """
        w = weights.ravel()
        return np.tensordot(self.difference, weights) / np.sqrt(self.covariance @ w @ w)


def read_experiments(
    path: Any, n_grades: int | None = None, **options: Unpack[ReadingOptions]
) -> Experiments:
    """Read experiments whose outcome is known: the lists by arm and randomised unit, or the arms'
    mean encodings.

    A line is ``{"experiment": "e1", "arm": "treatment", "unit": "user 7", "list": [2, 0, 1],
    "outcome": "better"}``, in any format that `read_preferences` reads; a unit may have several
    lists. The outcome is what is known of the treatment by another measure: better, worse or A/A.
    With a column `query`, the ideal of nDCG is that of the query's lists, else that of each list's
    own grades. Or a line of JSON has, in place of arm, unit and list, `control` and `treatment`,
    the mean encodings, K rows of L shares, and the `covariance` of their difference, K L rows.

    Units in both arms of an experiment, and experiments with fewer than two units in an arm or
    whose lists do not vary, are left out and counted. The options are those of `read_preferences`.

    Raises InputError if a line is bad, a covariance is not positive semidefinite, or no experiment
    is left.

    See Also
    --------
    learn_from_experiments : Learn a DCG.

    Examples
    --------
    >>> line = {"experiment": "e", "outcome": "better", "control": [[0.5, 0.5]], "treatment": [[0.4, 0.6]]}
    >>> dl.read_experiments([{**line, "covariance": [[0.01, -0.01], [-0.01, 0.01]]}]).difference.round(2).tolist()
    [[[-0.1, 0.1]]]
    """
    mapping, dropped = LogMapping.of(n_grades, **options), Counter[str]()
    name, open_with = opened = opener_of(path, EXPERIMENT, mapping)
    with errors_in(name):
        encoded = "covariance" in open_with({}).names
    if encoded:
        rows = list(_encoded(opened, mapping))
    else:
        table, left_out, recognised = read_columns(opened, EXPERIMENT, mapping)
        mapping = recognised.mapping
        rows = list(_by_unit(name, table, mapping, dropped))
        dropped.update(left_out)
    if not rows:
        reasons = "".join(f"; {reason}: {n:,}" for reason, n in (+dropped).items())
        raise InputError(f"{name}: no experiment can be used{reasons}")
    names = None if mapping.scale is None else tuple(mapping.scale)
    difference, covariance, outcome, ndcg = map(np.array, zip(*rows, strict=True))
    covariance += (
        NEAR**2
        * np.trace(covariance, axis1=1, axis2=2)[:, None, None]
        * np.eye(covariance.shape[1])
    )
    return Experiments(difference, covariance, outcome, ndcg, names, dict(+dropped))


def _by_unit(
    name: str, table: Table, mapping: LogMapping, dropped: Counter[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield the difference, covariance, outcome and z-score of nDCG of each experiment in a table
    of lists.
    """
    lists, labels = table["list"], ("experiment", "arm", "outcome", "unit")
    experiment, arm, outcome, unit = (table[role].astype(str) for role in labels)
    n_grades = mapping.n_known or max(int(lists.max()) + 1, 2)
    ndcg = _ndcg(lists, n_grades, table.get("query"))
    experiments, number = np.unique(experiment, return_inverse=True)
    if (width := lists.shape[1] * n_grades) > MOST_SHARES or len(
        experiments
    ) * width**2 > MOST_NUMBERS:
        size = (
            f"{lists.shape[1]:,} positions, {n_grades} grades (experiments: {len(experiments):,})"
        )
        raise InputError(f"{name}: covariances are too large for {size}; cut the lists (depth=)")
    order = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    for one, here in zip(experiments, order, strict=True):
        with errors_in(f"{name}: experiment {one}"):
            known = {_meaning(word, "outcome", OUTCOMES) for word in outcome[here]}
            if len(known) > 1:
                raise InputError("it has several outcomes; give one on all of its lines")
            side = np.array([_meaning(word, "arm", ARMS) for word in arm[here]])
        _, of_unit = np.unique(unit[here], return_inverse=True)
        crossed = (np.bincount(of_unit, side > 0) > 0) & (np.bincount(of_unit, side < 0) > 0)
        dropped["units in both arms of an experiment"] += int(crossed.sum())
        sides = [here[(side == way) & ~crossed[of_unit]] for way in (1, -1)]
        if min(len(np.unique(unit[rows])) for rows in sides) < 2:
            dropped["experiments with fewer than two units in an arm"] += 1
            continue
        (mean, cov), (other, other_cov) = (
            _of_units(lists[x], ndcg[x], unit[x], n_grades) for x in sides
        )
        difference, covariance = mean - other, cov + other_cov
        if not np.trace(covariance[:-1, :-1]) > 0:
            dropped["experiments whose lists do not vary"] += 1
            continue
        z = difference[-1] / max(covariance[-1, -1], 1e-300) ** 0.5
        yield difference[:-1].reshape(-1, n_grades), covariance[:-1, :-1], known.pop(), float(z)


def _ndcg(lists: Grades, n_grades: int, query: Any) -> Floats:
    """Return the nDCG of each list."""
    usual = DCG.standard(n_grades, lists.shape[1])
    ideal = usual.ideal(lists)
    if query is not None:
        _, number = np.unique(query.astype(str), return_inverse=True)
        best = np.zeros(number.max() + 1)
        np.maximum.at(best, number, ideal)
        ideal = best[number]
    return usual.score(lists) / np.where(ideal > 0, ideal, 1)


def _of_units(lists: Grades, ndcg: Floats, unit: Any, n_grades: int) -> tuple[Floats, Floats]:
    """Return the mean over an arm's units of the encodings and nDCG of their lists, and the mean's
    covariance.
    """
    _, number, n_lists = np.unique(unit, return_inverse=True, return_counts=True)
    n, width = len(n_lists), lists.shape[1] * n_grades
    cells = number[:, None] * width + np.arange(0, width, n_grades) + lists
    sums = np.bincount(cells[lists >= 0], minlength=n * width).reshape(n, width)
    means = np.column_stack([sums, np.bincount(number, ndcg)]) / n_lists[:, None]
    return means.mean(axis=0), np.cov(means.T) / n


def _encoded(opened: tuple[str, Opener], mapping: LogMapping) -> Iterator[tuple[Any, ...]]:
    """Yield the difference, covariance and outcome of each line of mean encodings, and no
    z-score.
    """
    if mapping.given.keys() - {"n_grades", "scale", "encoding", "sheet"}:
        raise InputError(
            f"{opened[0]}: mean encodings are read as they are: leave out options but the number of grades"
        )
    arrays, shape, seen = ("control", "treatment", "covariance"), None, set()
    for place, record in records_of(opened, ENCODED):
        with errors_in(place):
            control, treatment, covariance = means = [
                finite_array(record.get(name, ""), name, 2) for name in arrays
            ]
            shapes, shape = [x.shape for x in means], shape or control.shape
            if shapes != [shape, shape, (control.size,) * 2] or shape[1] != (
                mapping.n_known or max(shape[1], 2)
            ):
                raise InputError(
                    f"{', '.join(arrays)} have the shapes {', '.join(map(str, shapes))}; give (K, L), (K, L) and "
                    "(K L, K L) for K positions and L grades, worst first, the same on all lines"
                )
            if (
                min(control.min(), treatment.min()) < 0
                or max(x.sum(axis=1).max() for x in means[:2]) > 1 + NEAR
            ):
                raise InputError(
                    "a row of control or treatment is not of shares, at least 0 and in all at most 1"
                )
            trace = np.trace(covariance)
            if (
                not 0 < trace <= len(covariance)
                or np.abs(covariance - covariance.T).max() > NEAR * trace
            ):
                raise InputError(
                    "the covariance is not symmetric with variances of shares, above 0 and at most 1"
                )
            if (least := np.linalg.eigvalsh(covariance).min()) < -NEAR * trace:
                raise InputError(
                    f"the covariance is not positive semidefinite: its least eigenvalue is {least:g}"
                )
            if (name := str(record.get("experiment"))) in seen:
                raise InputError(
                    f"experiment {shown(name)} is there twice; give each a name of its own"
                )
            seen.add(name)
            outcome = _meaning(record.get("outcome"), "outcome", OUTCOMES)
        yield treatment - control, covariance, outcome, np.nan


def _meaning(word: Any, role: str, meanings: dict[str, int]) -> int:
    """Return what a word means, or raise InputError."""
    if (meaning := meanings.get(str(word).strip().lower())) is None:
        raise InputError(f"{role} is {shown(str(word))}; give one of {', '.join(meanings)}")
    return meaning
