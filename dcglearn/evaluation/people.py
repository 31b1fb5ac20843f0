"""Shares of people: of 100 who see both lists of a query, how many take the new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar

import numpy as np

from dcglearn.evaluation.run_values import Evaluation
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import FEWEST_UNITS, percentile_interval
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, Floats, PolarsFrame, listed
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.judges import N_DRAWS, Judges

SHOWN = 3
"""Number of queries that are named as the most pleasing, or the most annoying."""

PARTS = ("take", "no_difference", "keep")
"""Columns of the three shares, in the order of a bar."""


def judges_of(metric: DCG) -> Judges:
    """Return the judges of a metric that knows them."""
    assert metric.judges is not None
    return metric.judges


def drawn_metrics(metric: DCG, most: int | None = None) -> list[DCG]:
    """Return the draws of a metric from what its log allows, or at most so many, evenly spaced."""
    draws = judges_of(metric).draws
    if draws is None:
        return []
    return [
        DCG(draws.gains[row], draws.discounts[row], power=draws.powers[row])
        for row in draws.rows(most or len(draws))
    ]


@dataclass(frozen=True, eq=False, repr=False)
class People(Finding):
    """Of 100 people who see the lists of two runs, how many prefer each.

    `table` has a row for each run and measure whose judges are known: ``run``, ``baseline``,
    ``measure``, and of 100 people those who ``take`` the list of the run, ``keep`` that of the
    baseline, or see ``no_difference``, each a mean over queries with the ends of its interval;
    ``decided`` is the number of 100 people who see a difference that take the run's, ``agree`` of
    100 pairs of people those who say the same. ``n_queries`` are counted, ``beyond`` of them lie
    beyond what the judges saw, and ``judged`` is the share of the documents shown that is judged.
    `by_query` has a row for each query: its ``query_id``, ``take``,
    ``keep``, ``no_difference`` and ``beyond``. `level` is that of intervals; `metrics`, by the
    name of the measure, know their judges.
    """

    table: PolarsFrame = field(repr=False)
    by_query: PolarsFrame = field(repr=False)
    level: float
    metrics: Mapping[str, DCG] = field(repr=False)

    _formats: ClassVar = {"judged": ".1%"} | {
        f"{name}{end}": ".1f"
        for name in (*PARTS, "decided", "agree")
        for end in ("", "_low", "_high")
    }
    _labels: ClassVar = {"baseline": "", "agree": "two agree", "n_queries": "queries"}

    @property
    def sentence(self) -> str:
        """How many of 100 people take the first run, and of those who see a difference."""
        # what people do
        row = self.table.row(0, named=True)
        metric = self.metrics[row["measure"]]
        chose = judges_of(metric).chose
        see = "see both lists" if chose else "rate both lists"
        take = f"would take {row['run']}" if chose else f"would rate {row['run']} higher"

        # shares with intervals; without ties, nobody sees no difference
        told = f"{_with_ends(row, 'take', take)}, {_with_ends(row, 'keep', row['baseline'])}"
        if (row["no_difference_high"] or row["no_difference"]) >= 0.5:
            same = _with_ends(row, "no_difference", "would see no difference")
            told += f", {same}; of 100 who see a difference, {_with_ends(row, 'decided', take)}"

        # how sure they are
        depth = number_of(metric.depth, "results")
        ends = f"no intervals of fewer than {FEWEST_UNITS} queries"
        if row["take_low"] is not None:
            ends = f"{percent(self.level)} intervals"
        sure = "" if chose else "; these are from ratings, which make shares too sure"
        return f"of 100 people who {see} of a query down to {depth}, {told} ({ends}){sure}"

    @property
    def notes(self) -> list[str]:
        """What the shares rest on, how far people agree, and the queries that move them most."""
        notes = []
        for row in self.table.iter_rows(named=True):
            names = f"{row['run']}, {row['measure']}: " if len(self.table) > 1 else ""
            notes += [f"{names}{note}" for note in self._of_row(row)]

        # what the shares rest on
        for measure, metric in self.metrics.items():
            which = f"{measure}: " if len(self.metrics) > 1 else ""
            notes += [f"{which}{note}" for note in _of_judges(judges_of(metric))]
        return notes

    def _of_row(self, row: Fields) -> Iterator[str]:
        """Yield notes on one comparison."""
        # queries that people would notice
        run, baseline = row["run"], row["baseline"]
        queries = self.by_query.filter(run=run, baseline=baseline, measure=row["measure"])
        for side, other, name in (("take", "keep", run), ("keep", "take", baseline)):
            most = queries.filter(queries[side] > queries[other]).sort(side, descending=True)
            examples = [
                f"{listed([query])} ({share:.0f} of 100)"
                for query, share in most.select("query_id", side).head(SHOWN).rows()
            ]
            if examples:
                yield f"queries where most would take {name}: {', '.join(examples)}"

        # the ceiling, and what is not judged
        yield f"two of these people would agree on {row['agree']:.0f} of 100 queries"
        if row["judged"] < 1:
            yield (
                f"{1 - row['judged']:.1%} of the documents shown are not judged: what they count "
                "as decides what people are said to take"
            )

        # what lies beyond the log
        if row["beyond"]:
            yield (
                f"beyond what was judged (a grade that never occurred, or a larger difference than "
                f"any): {row['beyond']} of {number_of(row['n_queries'], 'queries')}, whose shares "
                "are extrapolated"
            )

    @property
    def pictures(self) -> list[Fields]:
        """One bar of 100 people for each run."""
        bars = [
            (f"{row['run']}, {row['measure']}", *(row[name] for name in PARTS))
            for row in self.table.iter_rows(named=True)
        ]
        baseline = self.table["baseline"][0]
        legend = ["take it", "no difference", f"take {baseline}"]
        return [{"title": "of 100 people who see both lists", "hundred": bars, "legend": legend}]


def _of_judges(judges: Judges) -> Iterator[str]:
    """Yield what the shares of people rest on."""
    # what the log holds
    if not judges.chose:
        yield (
            "the log holds ratings: nobody chose between two lists, so the shares are of people "
            "who rate both, and a tie is an equal rating"
        )
    if judges.draws is None:
        yield (
            "the interval is by queries alone, since the metric holds no draws of what its log "
            "allows: `learn` and `bands` add them where the log is long enough"
        )

    # what held-out and simulated verdicts said
    if judges.slope_error:
        yield (
            f"calibrated: predicted log-odds are multiplied by {judges.slope:.2f} ± "
            f"{judges.slope_error:.2f}, by held-out verdicts and those of simulated logs"
        )
    if judges.unexplained:
        yield judges.unexplained


def shares_of_people(
    evaluation: Evaluation, pairs: Sequence[tuple[int, int]], level: float, random_state: int
) -> People | None:
    """Return the shares of people for pairs of a run and its baseline.

    None if no metric knows its judges, or no query counts.
    """
    import polars as pl

    # the metrics that have the judgements' scale of grades
    shown = evaluation.shown
    metrics = {m: one for m, one in shown.metrics.items() if one.n_grades == shown.n_grades}
    counted = [
        both
        for m, pair in product(metrics, pairs)
        for both in _shares(evaluation, m, pair, level, random_state)
    ]
    if not counted:
        return None
    rows, by_query = zip(*counted, strict=True)
    by_name = {evaluation.metrics[m]: metric for m, metric in metrics.items()}
    return People(table_of(rows).fill_nan(None), pl.concat(by_query), level, by_name)


def _shares(
    evaluation: Evaluation, m: int, pair: tuple[int, int], level: float, random_state: int
) -> Iterator[tuple[Fields, PolarsFrame]]:
    """Yield the row of a pair of runs under a metric and its shares by query, if any counts."""
    shown = evaluation.shown
    metric, lists = shown.metrics[m], [shown.ranked[run] for run in pair]
    judges = judges_of(metric)

    # queries that both runs have, with a judged document in either list
    kept = np.any([one.any(one.grades >= 0, metric.depth) for one in lists], axis=0)
    kept &= ~np.isnan(evaluation.filled[[*pair], 0]).any(axis=0)
    if not kept.any():
        return

    # by how much the lists differ under a metric
    def gap_under(metric: DCG) -> Floats:
        values, others = (one.values(metric, shown.unjudged) for one in lists)
        return (values - others)[kept]

    # the shares of each query, and which of them go beyond the log
    gap = gap_under(metric)
    shares = judges.chances(gap)
    known = [-1, *judges.grades]
    unseen = [one.any(~np.isin(one.grades, known), metric.depth)[kept] for one in lists]
    beyond = np.any(unseen, axis=0) | (np.abs(gap) > judges.largest * (1 + 1e-9))
    run, baseline = (evaluation.runs[r] for r in pair)
    labels: Fields = {"run": run, "baseline": baseline, "measure": evaluation.metrics[m]}
    columns = labels | {"query_id": np.array(evaluation.queries)[kept]}
    columns |= zip(PARTS, 100 * shares.T, strict=True)

    # their means, with intervals where there are queries enough
    drawn = map(gap_under, drawn_metrics(metric))
    samples = _samples(judges, drawn, shares, np.random.default_rng(random_state))
    enough = len(gap) >= FEWEST_UNITS
    row = labels | _in_hundred(shares, [*samples] if enough else [], level)
    row |= {"n_queries": len(gap), "beyond": int(beyond.sum())}
    row["judged"] = 1 - float(evaluation.unjudged[[*pair], m].mean())
    yield row, table_of(columns | {"beyond": beyond})


def _samples(
    judges: Judges, drawn: Iterator[Floats], shares: Floats, rng: np.random.Generator
) -> Iterator[Floats]:
    """Yield draws of the mean shares of queries to come, shape (3,), under each of the judges.

    A mean over n queries is off by Student's t with n - 1 degrees of freedom.
    """
    n = len(shares)
    n_draws = 1 if judges.draws is None else len(judges.draws)
    for one in [shares] if judges.draws is None else judges.drawn(drawn, rng):
        mean = one.mean(axis=0)
        parts = (one - mean) / np.sqrt(n * (n - 1))

        # between all draws of the judges, as many as a new file has
        for _ in range(-(-N_DRAWS // n_draws)):
            spread = np.sqrt((n - 1) / rng.chisquare(n - 1))
            yield np.clip(mean + spread * rng.standard_normal(n) @ parts, 0.0, 1.0)


def _with_ends(row: Fields, name: str, word: str) -> str:
    """Return a share of 100 people with its interval, if there is one, in words."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{row[name]:.0f} {word}" + ("" if low is None else f" ({low:.0f} to {high:.0f})")


def _in_hundred(shares: Floats, samples: Sequence[Floats], level: float) -> Fields:
    """Return the mean shares in 100, with the ends of their intervals.

    `shares`, shape (Q, 3), are by query, `samples`, each of shape (3,), draws of their means;
    without any, ends are NaN. An estimate beyond the samples, such as that of a blend, is the end
    of its interval.
    """
    # the estimate first, then the samples
    means = np.array([shares.mean(axis=0), *samples])
    decided = means[:, :1] / (means[:, :1] + means[:, 2:])
    columns = 100 * np.hstack([means, decided])

    # each with its ends
    ends = percentile_interval(columns[1:], level) if samples else np.full((2, 4), np.nan)
    low, high = np.minimum(ends[0], columns[0]), np.maximum(ends[1], columns[0])
    numbers: Fields = {}
    for i, name in enumerate((*PARTS, "decided")):
        numbers |= {name: columns[0, i], f"{name}_low": low[i], f"{name}_high": high[i]}
    return numbers | {"agree": 100 * float((shares**2).sum(axis=1).mean())}
