"""Which grades of documents people's verdicts on lists follow: `compare_graders`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, starmap
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from dcglearn.evaluation.paired_tests import corrected
from dcglearn.foundation.finding import Finding
from dcglearn.foundation.intervals import (
    Clusters,
    interval_text,
    p_text,
    student_interval,
    student_quantile,
)
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Floats, Indices, InputError, listed
from dcglearn.learning.options import DCGOptions
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import BASELINE, SCORING, MetricLike, read_metric
from dcglearn.reading.columns import OwnNames, SharedNames, own_names
from dcglearn.reading.contract import RATED_LIST
from dcglearn.reading.judgements import Judgements, read_judgements
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.ratings import pairs_of_ratings
from dcglearn.reading.read import read_preferences, rows_of
from dcglearn.reading.shapes import lists_of_documents, with_grades
from dcglearn.reading.tables import Table, table_of
from dcglearn.trust.ceiling import NoiseCeiling, ceiling_of
from dcglearn.trust.comparison import LEAD_LABELS
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import best_textbook
from dcglearn.trust.held_out_frame import HeldOut, held_out_frame
from dcglearn.trust.resampling import FEWEST_HELD_OUT, FEWEST_UNITS, folds, unit_of

GRADER = ("grader", "judge", "labeller", "labeler", "annotator", "model")
"""Columns that say whose grades the rows of one table are."""

WORSE_LEVEL = 0.05
"""A grader is worse than another if the difference has at most this p-value, by Holm's rule."""

MISSING = 0.05
"""A worse grader who lacks this much more of the labels may be worse for that reason."""

TELLING = 0.05
"""Difference of shares for which it is said how many verdicts would show it."""

UNRELATED, FEWEST_SHARED = 0.2, 30
"""Correlation with every other grader below which grades may belong to other documents, and the
fewest documents that two have in common for one."""

MOST_PAIRS = 10_000
"""Of twice as many pairs of rated lists, about this many stand for all."""


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of G graders' shares, of each less each, shape (G, G).

    `low` and `high` are the ends of intervals, NaN where nobody knows them, and `p_values` those of
    a test of no difference, by Holm's rule; on so many pairs two are `apart`, choosing different
    lists, and on `of_100` of 100 of these people side with the first.
    """

    points: Floats
    low: Floats
    high: Floats
    p_values: Floats
    apart: Floats
    of_100: Floats

    @classmethod
    def of(cls, frame: HeldOut, of_folds: Floats) -> Self:
        """Return the differences of graders whose metrics are the first G of a frame.

        The metrics of the folds differ, too: of all verdicts they respect `of_folds`, (folds, G).
        """
        gaps = frame.right[:, None] - frame.right
        points, errors, n_units = replace(frame, values=gaps).means_and_errors()
        errors = np.hypot(errors, (of_folds[..., None] - of_folds[:, None]).std(axis=0, ddof=1))
        low, high, p_alone = student_interval(points, errors, n_units)

        # a test of each two
        p_values = np.full(points.shape, np.nan)
        above = np.triu_indices(len(points), 1)
        tested = corrected(np.nan_to_num(p_alone[above], nan=1.0), "holm")
        p_values[above] = p_values.T[above] = tested

        # where two choose different lists
        apart, first = np.abs(gaps) == 1, gaps == 1
        sided = (first @ frame.weight) / np.maximum(apart @ frame.weight, 1e-300)
        return cls(points, low, high, p_values, apart.sum(axis=2), 100 * sided)

    def said(self, i: int, j: int) -> str:
        """Return the difference of two graders in percentage points, with its interval."""
        interval = interval_text(100 * self.low[i, j], 100 * self.high[i, j], "+z.0f")
        return f"{100 * self.points[i, j]:+z.0f} points, {interval}"


@dataclass(frozen=True, eq=False)
class GraderComparison(Finding):
    """How far people's verdicts follow the grades of several graders, on the same pairs of lists.

    `table` has a row for each grader: the ``share`` of verdicts that a metric of these grades
    respects which was learned from the verdicts of others, with its interval (``low``, ``high``);
    the share ``under_one_metric`` for all; the shares of documents that are ``labelled``, of pairs
    with ``both_labelled`` whole, and of pairs that are ``tied``. `differences` are those of their
    shares. `n_pairs` are compared, `by` is the unit of which there are `n_units`, and `metric` the
    name of the one metric. `ceiling` is what functions of all graders' grades can reach, None
    where too few lists recur, and `remarks` are on the grades.
    """

    table: pl.DataFrame = field(repr=False)
    differences: Differences = field(repr=False)
    n_pairs: int
    by: str
    n_units: int
    metric: str
    ceiling: NoiseCeiling | None = None
    remarks: tuple[str, ...] = ()

    _labels: ClassVar = LEAD_LABELS

    @property
    def sentence(self) -> str:
        """Whether people follow any grades, whose are worse, and what cannot be told."""
        rows = self.table.to_dicts()
        lows = [row["low"] for row in rows if row["low"] is not None]
        if max(lows, default=1) <= 0.5:
            shares = ", ".join(
                f"{row['grader']}'s {row['share']:.0%} "
                f"({interval_text(row['low'], row['high'], '.0%')})"
                for row in rows
            )
            return (
                f"no grades here are shown to follow these people: {shares}, and a coin 50%; the "
                "grades are the problem, or the verdicts, not the metric"
            )

        # all shares, then what is worse and what cannot be told apart
        order = sorted(range(len(rows)), key=lambda i: -rows[i]["share"])
        first, *others = (rows[i] for i in order)
        said = [f"people follow {first['grader']}'s grades in {first['share']:.0%} of pairs"]
        said += [f"{row['grader']}'s in {row['share']:.0%}" for row in others]
        clauses = [*self._clauses(order), "a coin follows 50%"]
        return f"{', '.join(said)}: {'; '.join(clauses)}"

    def _clauses(self, order: list[int]) -> list[str]:
        """Return who is worse than whom, for certain, and which neighbours nobody can tell apart.

        The difference is the one from the nearest who is better. Where the worse grader has
        labelled clearly fewer of the documents, that is said, since these count as the worst.
        """
        graders, labelled, differ = self.table["grader"], self.table["labelled"], self.differences
        worse, alike = [], []
        for above, i in pairwise(order):
            better = [j for j in order[: order.index(i)] if differ.p_values[i, j] <= WORSE_LEVEL]

            # who is worse than whom, and how much of the labels it lacks
            if better:
                names = " and ".join(graders[j] for j in better)
                names = names if len(better) <= 2 else f"the {len(better)} above"
                nearest = better[-1]
                said = differ.said(i, nearest)
                if labelled[i] < labelled[nearest] - MISSING:
                    said += f", of documents it labels {labelled[i]:.0%}"
                worse.append(f"{graders[i]} is worse than {names} ({said})")

            # neighbours
            if above not in better:
                said = differ.said(above, i)
                alike.append(f"{graders[above]} and {graders[i]} cannot be told apart ({said})")
        return [*worse, *alike]

    @property
    def notes(self) -> list[str]:
        """What was compared, how graders differ pair by pair, and what more verdicts would tell."""
        units = number_of(self.n_units, "queries" if self.by == "query" else f"{self.by}s", ",")
        notes = [
            f"of {self.n_pairs:,} pairs of lists with a verdict, the share that the grades' own "
            "metric orders as people did, learned from the verdicts on others; intervals are over "
            f"{units} (Student's t), and over the metrics that were learned",
            f"under one metric: the same by {self.metric} for all",
        ]

        # every two graders
        differ, graders = self.differences, self.table["grader"]
        for i, j in combinations(range(len(graders)), 2):
            notes.append(
                f"difference of {graders[i]} and {graders[j]}: {differ.said(i, j)}, "
                f"{p_text(differ.p_values[i, j])} by Holm's rule; where they choose different "
                f"lists, {differ.of_100[i, j]:.0f} of 100 verdicts side with {graders[i]} "
                f"({number_of(differ.apart[i, j], 'pairs', ',')})"
            )

        # what more verdicts would tell, and how far any metric of these grades can go
        if self.needed > self.n_pairs:
            notes.append(
                f"a difference of {100 * TELLING:.0f} points between any two would show in about "
                f"{self.needed:,} verdicts like these"
            )
        if self.ceiling is not None:
            notes.append(self.ceiling.sentence)
        return [*notes, *self.remarks]

    @property
    def needed(self) -> int:
        """Verdicts in which a difference of `TELLING` would show, in four of five such logs."""
        reach = np.nan_to_num(self.differences.high - self.differences.low).max() / 2
        if not reach:
            return 0
        times = (1 + 0.84 / student_quantile(self.n_units)) * reach / TELLING
        return round(self.n_pairs * float(times) ** 2)


def compare_graders(
    log: Any,
    graders: Any,
    metric: MetricLike = BASELINE,
    *,
    columns: Mapping[str, str] | str | None = None,
    random_state: int = 0,
) -> GraderComparison:
    """Compare graders of documents by how far people's verdicts on lists follow their grades.

    Each grader has the metric that is learned from the grades and the verdicts of other users, so
    that scales may differ; verdicts are predicted in folds of users (or queries, or lists), on the
    same pairs for all. Raises InputError if the log or grades cannot be read, fewer than two lists
    differ, or too few verdicts can be held out.

    Parameters
    ----------
    log : path, data frame or sequence
        Judgements of two lists, or rated lists (thumbs, stars), whose lists are names of documents,
        with a query on every row; see `with_grades`.
    graders : mapping, path or data frame
        Judgements by the name of the grader, in any form that `read_judgements` takes; or one
        table, of one grader, or with a column ``grader`` (or judge, labeller, annotator, model).
    metric : DCG, ListUtility, file or name
        The one metric that all are compared under, too.
    columns : mapping or str, optional
        Own columns of the log and of the judgements by the usual name; a table takes those that it
        has.
    random_state : int
        Seed of folds.

    See Also
    --------
    io.with_grades : The log with the grades of one grader.
    rater_agreement : How far people agree with each other.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> grades = rng.integers(0, 3, (40, 6))
    >>> rows = []
    >>> for i in range(400):
    ...     q, (a, b) = i % 40, rng.permutation(6).reshape(2, 3)
    ...     better = grades[q][a].sum() + rng.normal() > grades[q][b].sum()
    ...     lists = {"docs_a": [f"d{d}" for d in a], "docs_b": [f"d{d}" for d in b]}
    ...     rows.append({"query": f"q{q}", **lists, "winner": "ab"[int(not better)]})
    >>> noise = rng.integers(0, 3, (40, 6))
    >>> own, other = (
    ...     {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(row)} for q, row in enumerate(x)}
    ...     for x in (grades, noise)
    ... )
    >>> print(compare_graders(rows, {"careful": own, "careless": other}).sentence[:61])
    people follow careful's grades in 85% of pairs, careless's in
    """
    rows, own = table_of(log), SharedNames(own_names(columns))
    judged = graders_of(graders, own)
    rated = [_graded(rows, one, own) for one in judged.values()]
    logs = [x.changed(rated=None) for x in rated]  # a pair is a verdict
    own.check()

    # units to hold out, and for intervals; of rated lists without a user the lists
    by, clusters = _units(logs[0], FEWEST_UNITS)
    parts = folds(_units(logs[0], FEWEST_HELD_OUT)[1], random_state, fewest=30)

    # whether each verdict is as a metric of each grader's grades says, its own and the one
    usual = [x.verdicts(read_metric(metric, x.n_grades, x.depth, accept=SCORING)) for x in logs]
    shares_of_folds = []

    def values_without(train: Indices, test: Indices) -> Floats:
        """Return the values of a fold's pairs by each grader's own metric, and by the one."""
        own = [x.verdicts(_metric(x[train])) for x in logs]
        values = (np.array([own, usual]) + 1) / 2
        shares_of_folds.append(np.average(values[0], axis=1, weights=logs[0].weights))
        return values[..., test]

    frame = held_out_frame(logs[0], clusters, parts, starmap(values_without, parts), "held out")
    of_folds = np.array(shares_of_folds)

    # shares of the pairs that a fold held out, and what each has labelled
    shares, errors, n_units = frame.means_and_errors()
    errors = np.hypot(errors[0], of_folds.std(axis=0, ddof=1))
    low, high, _ = np.clip(student_interval(shares[0], errors, n_units), 0, 1)
    lists = [np.stack([x.preferred, x.other], axis=1)[frame.rows] for x in logs]

    # what recurs: lists with the grades of all graders, one behind the other
    both = np.concatenate(lists, axis=2)
    recurring = rated[0][frame.rows].changed(preferred=both[:, 0], other=both[:, 1])

    # a row for each grader
    whole = [(of_one != -1).all(axis=(1, 2)) for of_one in lists]
    all_labelled, tied = np.average([whole, frame.right == 0.5], axis=2, weights=frame.weight)
    table = {
        "grader": [*judged],
        "share": shares[0],
        "low": low,
        "high": high,
        "under_one_metric": shares[1],
        "labelled": [(of_one >= 0).sum() / (of_one > -2).sum() for of_one in lists],
        "both_labelled": all_labelled,
        "tied": tied,
    }
    ignored = getattr(logs[0].recognised, "ignored", ())
    unused = [f"columns that are not used: {listed(ignored)}"] * bool(ignored)
    return GraderComparison(
        pl.DataFrame(table).fill_nan(None),
        Differences.of(frame, of_folds),
        len(frame.rows),
        by,
        n_units,
        metric if isinstance(metric, str) else "the metric given",
        ceiling_of(recurring, random_state)[0],
        (*unused, *_remarks(judged)),
    )


def graders_of(graders: Any, own: OwnNames | None = None) -> dict[str, Judgements]:
    """Return the judgements of each grader, of a mapping or of one table with their names."""
    if not isinstance(graders, Mapping):
        table = table_of(graders)
        named = [column for column in table.frame.columns if column.lower() in GRADER][:1]
        key = named or pl.lit(Path(table.name).stem)
        parts = table.frame.group_by(key, maintain_order=True)
        graders = {str(name): part.drop(named) for (name,), part in parts}
    if not graders:
        raise InputError("no grader: give judgements by the name of the grader")
    return {name: read_judgements(one, columns=own) for name, one in graders.items()}


def _graded(log: Table, judged: Judgements, own: Any) -> Preferences:
    """Return the verdicts on lists with a grader's grades; all graders have the same rows."""
    query, lists = lists_of_documents(log, own)
    n_grades = max(judged.n_grades or 0, 2)  # a grader may give 0 to all
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # what is not labelled is counted
        frame = with_grades(log, judged, columns=own)
    if "docs" not in lists:
        rows = replace(log, frame=frame)  # messages name the file
        return read_preferences(rows, n_grades, as_is=True, columns=own).decided

    # all pairs of one user's lists, without what their grades were joined by
    rows = replace(log, frame=frame.drop("docs", query))
    rated = rows_of(rows, RATED_LIST, n_grades=n_grades, columns=own)
    pairs = pairs_of_ratings(rated.name, rated.values, rated.scale, by_row=True)
    return pairs.changed(recognised=rated.recognised).thinned(MOST_PAIRS)


def _units(log: Preferences, fewest: int) -> tuple[str, Clusters]:
    """Return the independent unit of verdicts, and the number of each pair's two units."""
    by = unit_of(log, fewest=fewest)
    if by in ("rater", "query"):
        return by, log.clusters(by)
    if log.units is None:
        return "pair", log.clusters(None)
    first, second = log.units.T.astype(int)
    return "list", (first, second)


def _metric(train: Preferences) -> DCG:
    """Return the metric of a grader's grades that verdicts teach, or else the best textbook's."""
    try:
        return fit_learner(train, DCGOptions()).dcg
    except InputError:  # as where all lists have equal grades
        return best_textbook(train)[1]


def _remarks(judged: Mapping[str, Judgements]) -> tuple[str, ...]:
    """Return which graders' grades are like nobody else's, as if of other documents."""
    names, frames = [*judged], [one.frame for one in judged.values()]
    alike = np.full((len(names), len(names)), -1.0)
    for i, j in combinations(range(len(names)), 2):
        both = frames[i].join(frames[j], on=["query", "document"])
        if len(both) < FEWEST_SHARED:
            return ()
        alike[i, j] = alike[j, i] = both.select(pl.corr("grade", "grade_right")).item()

    # those that are like nobody, unless all are or one never differs
    nearest = alike.max(axis=1)
    strange = np.flatnonzero(nearest < UNRELATED)
    if np.isnan(nearest).any() or len(strange) in (0, len(names)):
        return ()
    return (
        f"the grades of {listed(names[i] for i in strange)} go with nobody else's (correlation at "
        f"most {nearest[strange].max():.2f}): are the identifiers right?",
    )
