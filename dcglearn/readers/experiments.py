"""Experiments of known outcome: the difference between the mean encodings of two arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Counts,
    Flags,
    Floats,
    Grades,
    Indices,
    InputError,
    errors_in,
    finite_array,
)
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import ENCODED, EXPERIMENT, Table
from dcglearn.readers.line_formats import Opener
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.openers import opener_of, records_of
from dcglearn.readers.read_table import read_columns

WORDS = {
    "outcome": {"better": 1, "worse": -1, "a/a": 0, "aa": 0},
    "arm": {"control": -1, "treatment": 1, "a": -1, "b": 1},
}
"""Words for the known outcome of the treatment, and for arms: of a and b, b is the treatment."""

ROUNDING = 1e-6
"""Rounding that is allowed in sums of shares and, relative to its trace, in a covariance."""


@dataclass(frozen=True, eq=False, repr=False)
class Experiments:
    """Experiments, as `read_experiments` reads them.

    `difference`, shape (n, K, L), is the mean encoding of the treatment's lists minus the
    control's, `covariance`, (n, K L, K L), the covariance of `difference`, and `outcome`, (n,), 1
    where the treatment is known to be better, -1 worse, 0 for A/A tests. `ndcg`, (n,), are the
    z-scores of nDCG, NaN where lists are not known.
    """

    difference: Floats
    covariance: Floats
    outcome: NDArray[np.int64]
    ndcg: Floats
    grade_names: tuple[str, ...] | None
    dropped: Counts

    def __len__(self) -> int:
        return len(self.difference)

    def __getitem__(self, rows: Flags | Indices) -> Experiments:
        values = self.difference[rows], self.covariance[rows], self.outcome[rows], self.ndcg[rows]
        return Experiments(*values, self.grade_names, self.dropped)

    def z_scores(self, weights: Floats) -> Floats:
        """Return the difference of mean values under a utility, in standard errors, shape (n,)."""
        w = weights.ravel()
        return np.tensordot(self.difference, weights) / np.sqrt(self.covariance @ w @ w)


@spelled_out(ReadingOptions)
def read_experiments(
    path: Any, n_grades: int | None = None, **options: Unpack[ReadingOptions]
) -> Experiments:
    """Read experiments of known outcome: lists by arm and unit, or the arms' mean encodings.

    A line is ``{"experiment": "e1", "arm": "treatment", "unit": "user 7", "list": [2, 0, 1],
    "outcome": "better"}``, in any format that `read_preferences` reads; a unit may have several
    lists. The outcome is what is known of the treatment by another measure: better, worse or A/A.
    With a column `query`, the ideal of nDCG comes from the query's lists, else from each list's
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
    >>> arms = {"control": [[0.5, 0.5]], "treatment": [[0.4, 0.6]]}
    >>> line = {"experiment": "e", "outcome": "better", **arms}
    >>> line["covariance"] = [[0.01, -0.01], [-0.01, 0.01]]
    >>> dl.io.read_experiments([line]).difference.round(2).tolist()
    [[[-0.1, 0.1]]]
    """
    mapping, dropped = LogMapping.of(n_grades, **options), Counter[str]()
    name, open_with = opened = opener_of(path, EXPERIMENT, mapping)
    with errors_in(name):
        encoded = "covariance" in open_with({}).names

    # mean encodings as they are, or lists by unit
    if encoded:
        rows = list(_encoded(opened, mapping))
    else:
        table, left_out, recognised = read_columns(opened, EXPERIMENT, mapping)
        mapping = recognised.mapping
        rows = list(_by_unit(name, table, mapping, dropped))
        dropped.update(left_out)

    # why none is left
    if not rows:
        reasons = "".join(f"; {reason}: {n:,}" for reason, n in (+dropped).items())
        raise InputError(f"{name}: no experiment can be used{reasons}")
    difference, covariance, outcome, ndcg = map(np.array, zip(*rows, strict=True))

    # a small ridge, so that no difference is infinitely many standard errors
    trace = np.trace(covariance, axis1=1, axis2=2)[:, None, None]
    covariance += ROUNDING**2 * trace * np.eye(covariance.shape[1])
    names = None if mapping.scale is None else tuple(mapping.scale)
    return Experiments(difference, covariance, outcome, ndcg, names, dict(+dropped))


def _by_unit(
    name: str, table: Table, mapping: LogMapping, dropped: Counter[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield difference, covariance, outcome and z-score of nDCG of each experiment of lists."""
    lists, labels = table["list"], ("experiment", "arm", "outcome", "unit")
    experiment, arm, outcome, unit = (table[role].astype(str) for role in labels)
    n_grades = mapping.n_known or max(int(lists.max()) + 1, 2)
    ndcg = _ndcg(lists, n_grades, table.get("query"))
    experiments, number = np.unique(experiment, return_inverse=True)
    _refuse_large(name, len(experiments), lists.shape[1], n_grades)

    order = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    for one, here in zip(experiments, order, strict=True):
        # its outcome, and the arm of each list
        with errors_in(f"{name}: experiment {one}"):
            outcomes = {_meaning(word, "outcome") for word in outcome[here]}
            if len(outcomes) > 1:
                raise InputError("it has several outcomes; give one on all of its lines")
            side = np.array([_meaning(word, "arm") for word in arm[here]])

        # without units that saw both arms
        _, of_unit = np.unique(unit[here], return_inverse=True)
        crossed = (np.bincount(of_unit, side > 0) > 0) & (np.bincount(of_unit, side < 0) > 0)
        dropped["units in both arms of an experiment"] += int(crossed.sum())
        sides = [here[(side == way) & ~crossed[of_unit]] for way in (1, -1)]
        if min(len(np.unique(unit[rows])) for rows in sides) < 2:
            dropped["experiments with fewer than two units in an arm"] += 1
            continue

        # the difference of the arms' means; independent, so covariances add up
        (mean, cov), (other, other_cov) = (
            _of_units(lists[x], ndcg[x], unit[x], n_grades) for x in sides
        )
        difference, covariance = mean - other, cov + other_cov
        if not np.trace(covariance[:-1, :-1]) > 0:
            dropped["experiments whose lists do not vary"] += 1
            continue
        z = difference[-1] / max(covariance[-1, -1], 1e-300) ** 0.5
        encodings = difference[:-1].reshape(-1, n_grades)
        yield encodings, covariance[:-1, :-1], outcomes.pop(), float(z)


def _refuse_large(name: str, n: int, depth: int, n_grades: int) -> None:
    """Raise InputError if the covariances of n experiments take too much memory.

    The limits are 1,000 positions times grades, and 10^8 numbers in all.
    """
    width = depth * n_grades
    if width > 1000 or n * width**2 > 10**8:
        raise InputError(
            f"{name}: covariances are too large for {depth:,} positions, {n_grades} grades "
            f"(experiments: {n:,}); cut the lists (depth=)"
        )


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
    """Return the mean of units' encodings and nDCG in an arm, and the mean's covariance."""
    _, number, n_lists = np.unique(unit, return_inverse=True, return_counts=True)
    n, width = len(n_lists), lists.shape[1] * n_grades
    cells = number[:, None] * width + np.arange(0, width, n_grades) + lists
    sums = np.bincount(cells[lists >= 0], minlength=n * width).reshape(n, width)
    means = np.column_stack([sums, np.bincount(number, ndcg)]) / n_lists[:, None]
    return means.mean(axis=0), np.cov(means.T) / n


def _encoded(opened: tuple[str, Opener], mapping: LogMapping) -> Iterator[tuple[Any, ...]]:
    """Yield difference, covariance and outcome of each line of encodings, and no z-score."""
    if mapping.given.keys() - {"n_grades", "scale", "encoding", "sheet"}:
        raise InputError(
            f"{opened[0]}: mean encodings are read as they are: leave out options but the number "
            "of grades"
        )

    # each line
    shape, seen = None, set()
    for place, record in records_of(opened, ENCODED):
        with errors_in(place):
            names = ("control", "treatment", "covariance")
            arrays = {name: finite_array(record.get(name, ""), name, 2) for name in names}
            control, treatment, covariance = arrays.values()

            # shapes, shares and variances
            shape = shape or control.shape
            _refuse_shapes(arrays, shape, mapping.n_known)
            _refuse_no_shares(np.concatenate([control, treatment]), covariance)

            # a name of its own, and an outcome
            experiment = str(record.get("experiment"))
            if experiment in seen:
                raise InputError(
                    f"experiment {shown(experiment)} is there twice; give each a name of its own"
                )
            seen.add(experiment)
            outcome = _meaning(record.get("outcome"), "outcome")
        yield treatment - control, covariance, outcome, np.nan


def _refuse_shapes(
    arrays: Mapping[str, Floats], shape: tuple[int, ...], n_grades: int | None
) -> None:
    """Raise InputError unless encodings have the shape of the first line, one column a grade."""
    shapes = [array.shape for array in arrays.values()]
    width = shape[0] * shape[1]
    if shapes != [shape, shape, (width, width)] or shape[1] != (n_grades or max(shape[1], 2)):
        raise InputError(
            f"{', '.join(arrays)} have the shapes {', '.join(map(str, shapes))}; give (K, L), "
            "(K, L) and (K L, K L) for K positions and L grades, worst first, the same on all lines"
        )


def _refuse_no_shares(both: Floats, covariance: Floats) -> None:
    """Raise InputError unless rows are shares, of 1 or less in all, and have this covariance."""
    if both.min() < 0 or both.sum(axis=1).max() > 1 + ROUNDING:
        raise InputError(
            "a row of control or treatment is not of shares, at least 0 and in all at most 1"
        )

    # variances of shares
    trace = np.trace(covariance)
    asymmetry = np.abs(covariance - covariance.T).max()
    if not 0 < trace <= len(covariance) or asymmetry > ROUNDING * trace:
        problem = "the covariance is not symmetric with variances of shares"
        raise InputError(f"{problem}, above 0 and at most 1")
    least = np.linalg.eigvalsh(covariance).min()
    if least < -ROUNDING * trace:
        problem = "the covariance is not positive semidefinite"
        raise InputError(f"{problem}: its least eigenvalue is {least:g}")


def _meaning(word: Any, role: str) -> int:
    """Return what a word means, or raise InputError."""
    meaning = WORDS[role].get(str(word).strip().lower())
    if meaning is None:
        raise InputError(f"{role} is {shown(str(word))}; give one of {', '.join(WORDS[role])}")
    return meaning
