"""Shares of people: of 100 who see both lists of a query, how many take the new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dcglearn.evaluation.ranked import RankedGrades
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.intervals import FEWEST_UNITS, percentile_interval
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.validation import Fields, Flags, Floats, Integers, PolarsFrame, listed
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.judges import N_DRAWS, JudgeDraws, Judges
from dcglearn.metrics.scales import grades_of
from dcglearn.metrics.textbook_lists import ListMetric

SHOWN = 3
"""Number of queries that are named as the most pleasing, or the most annoying."""


@dataclass(frozen=True, eq=False)
class ShownLists:
    """What people would see: the lists of every run, and the metrics that know their judges.

    `metrics` are by their number in the evaluation; those of another scale of grades are `other`.
    `ranked` has the lists of each run, `unjudged` says what a document without a judgement counts
    as, and `n_grades` is the number of grades of the judgements.
    """

    metrics: Mapping[int, DCG]
    other: Mapping[int, DCG]
    ranked: Sequence[RankedGrades]
    unjudged: str | float
    n_grades: int

    @classmethod
    def of(
        cls,
        metrics: Mapping[int, ListMetric],
        ranked: Sequence[RankedGrades],
        n_grades: int,
        unjudged: str | float,
    ) -> ShownLists | None:
        """Return what is shown; None if no metric knows its judges."""
        known: dict[int, Any] = {
            m: metric for m, metric in metrics.items() if getattr(metric, "judges", None)
        }
        usable = {m: metric for m, metric in known.items() if metric.n_grades == n_grades}
        other = {m: metric for m, metric in known.items() if m not in usable}
        return cls(usable, other, ranked, unjudged, n_grades) if known else None

    def silent(self, measures: Sequence[str]) -> tuple[str, ...]:
        """Return why nothing is said of people under some of the measures."""
        return tuple(
            f"no shares of people under {measures[m]}: its judges know {grades_of(one.n_grades)}, "
            f"the judgements have {grades_of(self.n_grades)}; give --grades {one.n_grades} if the "
            "scale is the same, or map the metric (DCG.map_grades)"
            for m, one in self.other.items()
        )

    def share_judged(self, runs: Sequence[int], m: int) -> float:
        """Return the share of the documents shown where the metric looks that are judged.

        It is the mean over runs.
        """
        depth = self.metrics[m].depth
        return 1 - float(np.mean([self.ranked[run].shares(depth)[0] for run in runs]))

    def ordered(self, runs: Integers) -> ShownLists:
        """Return the lists of these runs, in this order."""
        return replace(self, ranked=[self.ranked[r] for r in runs])

    def judged(self, run: int, m: int) -> Flags:
        """Return whether a run shows a judged document where the metric looks, shape (Q,)."""
        return np.any(self.ranked[run].grades[:, : self.metrics[m].depth] >= 0, axis=1)

    def values(self, run: int, m: int) -> Floats:
        """Return the values of a run's lists, shape (Q,)."""
        return self.ranked[run].values(self.metrics[m], self.unjudged)

    def drawn_values(self, run: int, m: int) -> Iterator[Floats]:
        """Yield the values of a run's lists under each draw of the metric, shape (Q,)."""
        draws = judges_of(self.metrics[m]).draws
        for metric in [] if draws is None else metrics_of(draws):
            yield self.ranked[run].values(metric, self.unjudged)

    def beyond(self, run: int, m: int) -> Flags:
        """Return whether a list holds a grade that the judges never saw, shape (Q,)."""
        grades = self.ranked[run].grades[:, : self.metrics[m].depth]
        seen = [-1, *judges_of(self.metrics[m]).grades]
        return np.any(~np.isin(grades, seen), axis=1)


def judges_of(metric: DCG) -> Judges:
    """Return the judges of a metric that knows them."""
    assert metric.judges is not None
    return metric.judges


def metrics_of(draws: JudgeDraws) -> Iterator[DCG]:
    """Yield the metric of each draw."""
    for gains, discounts in zip(draws.gains, draws.discounts, strict=True):
        yield DCG(gains, discounts)


@dataclass(frozen=True, eq=False)
class People(Finding):
    """Of 100 people who see the lists of two runs, how many prefer each.

    `table` has a row for each run and measure whose judges are known: ``run``, ``baseline``,
    ``measure``, and of 100 people those who ``take`` the list of the run, ``keep`` that of the
    baseline, or see ``no_difference``, each a mean over queries with the ends of its interval;
    ``decided`` is the number of 100 people who see a difference that take the run's, ``agree`` of
    100 pairs of people those who say the same. ``n_queries`` are counted, ``beyond`` of them lie
    beyond what the judges saw, and ``judged`` is the share of the documents shown that is judged.
    `by_query` has a row for each query: its ``query_id``, ``take``,
    ``keep``, ``no_difference`` and ``beyond``. `level` is that of intervals; `judges` are those of
    each measure.
    """

    table: PolarsFrame = field(repr=False)
    by_query: PolarsFrame = field(repr=False)
    level: float
    depths: Mapping[str, int]
    judges: Mapping[str, Judges] = field(repr=False)

    _formats: ClassVar = {"judged": ".1%"} | {
        f"{name}{end}": ".1f"
        for name in ("take", "keep", "no_difference", "decided", "agree")
        for end in ("", "_low", "_high")
    }
    _labels: ClassVar = {"baseline": "", "agree": "two agree", "n_queries": "queries"}

    @property
    def sentence(self) -> str:
        """How many of 100 people take the first run, and of those who see a difference."""
        # what people do
        row = self.table.row(0, named=True)
        see, take = "see both lists", f"would take {row['run']}"
        if not self.judges[row["measure"]].chose:
            see, take = "rate both lists", f"would rate {row['run']} higher"

        # shares with intervals; without ties, nobody sees no difference
        words = {"take": take, "keep": row["baseline"], "decided": take}
        words["no_difference"] = "would see no difference"
        shares = {name: _with_ends(row, name, word) for name, word in words.items()}
        told = f"{shares['take']}, {shares['keep']}"
        if (row["no_difference_high"] or row["no_difference"]) >= 0.5:
            told += f", {shares['no_difference']}; of 100 who see a difference, {shares['decided']}"
        depth = number_of(self.depths[row["measure"]], "results")
        return (
            f"of 100 people who {see} of a query down to {depth}, {told} "
            f"({self._intervals}){_too_sure(self.judges[row['measure']])}"
        )

    @property
    def _intervals(self) -> str:
        """Which intervals are given, in words."""
        known = self.table["take_low"].null_count() < len(self.table)
        of_few = f"no intervals of fewer than {FEWEST_UNITS} queries"
        return f"{percent(self.level)} intervals" if known else of_few

    @property
    def notes(self) -> list[str]:
        """What the shares rest on, how far people agree, and the queries that move them most."""
        notes = []
        for row in self.table.iter_rows(named=True):
            names = f"{row['run']}, {row['measure']}: " if len(self.table) > 1 else ""
            notes += [f"{names}{note}" for note in self._of_row(row)]

        return [*notes, *self.of_judges]

    @property
    def of_judges(self) -> list[str]:
        """What the shares rest on, for each measure."""
        notes = []
        for measure, judges in self.judges.items():
            which = f"{measure}: " if len(self.judges) > 1 else ""
            notes += [f"{which}{note}" for note in _of_judges(judges)]
        return notes

    @property
    def in_brief(self) -> str:
        """How many of 100 people take the first run of each pair, in one sentence."""
        shares = [
            f"{_with_ends(row, 'take', 'would take ' + row['run'])} and {row['keep']:.0f} "
            f"{row['baseline']}"
            for row in self.table.iter_rows(named=True)
        ]
        return (
            f"of 100 people who see both lists of a query, {'; '.join(shares)} "
            f"({self._intervals})"
            f"{''.join({_too_sure(judges) for judges in self.judges.values()})}"
        )

    def _of_row(self, row: Fields) -> Iterator[str]:
        """Yield notes on one comparison."""
        queries = self.by_query.filter(
            run=row["run"], measure=row["measure"], baseline=row["baseline"]
        )
        moved = queries.with_columns(by=queries["take"] - queries["keep"]).sort("by")
        best, worst = moved.filter(moved["by"] > 0).reverse(), moved.filter(moved["by"] < 0)

        # queries that people would notice
        for part, words, name in ((best, "take", row["run"]), (worst, "keep", row["baseline"])):
            if len(part):
                top = part.head(SHOWN)
                pairs = zip(top["query_id"], top[words], strict=True)
                examples = ", ".join(
                    f"{listed([query])} ({share:.0f} of 100)" for query, share in pairs
                )
                yield f"queries where most would take {name}: {examples}"

        # the ceiling, and what lies beyond the log
        yield f"two of these people would agree on {row['agree']:.0f} of 100 queries"
        if row["judged"] < 1:
            yield (
                f"{1 - row['judged']:.1%} of the documents shown are not judged: what they count "
                "as decides what people are said to take"
            )
        if row["beyond"]:
            yield (
                f"{row['beyond']} of {number_of(row['n_queries'], 'queries')} lie beyond what was "
                "judged (a grade that never occurred, or a larger difference than any): there the "
                "shares are extrapolated"
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


PARTS = ("take", "no_difference", "keep")
"""Columns of the three shares, in the order of a bar."""


def _too_sure(judges: Judges) -> str:
    """Return what a sentence adds on shares from ratings; empty where people chose."""
    return "" if judges.chose else "; these are from ratings, which make shares too sure"


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


def people_of(
    shown: ShownLists,
    names: tuple[Sequence[str], Sequence[str], Sequence[str]],
    pairs: Sequence[tuple[int, int]],
    counted: Flags,
    level: float,
    random_state: int,
) -> People | None:
    """Return the shares of people for pairs of a run and its baseline; None if no query counts.

    `names` are those of runs, measures and queries, and `counted`, shape (R, Q), tells which
    queries of each run count.
    """
    runs, measures, queries = names
    rows, by_query = [], []
    for m, metric in shown.metrics.items():
        for r, baseline in pairs:
            # queries with a judged document in either list
            kept = counted[r] & counted[baseline]
            kept &= shown.judged(r, m) | shown.judged(baseline, m)
            if not kept.any():
                continue
            labels: Fields = {"run": runs[r], "baseline": runs[baseline], "measure": measures[m]}

            # the shares of each query, and which of them go beyond the log
            judges = judges_of(metric)
            gap = (shown.values(r, m) - shown.values(baseline, m))[kept]
            shares = 100 * judges.chances(gap)
            beyond = (shown.beyond(r, m) | shown.beyond(baseline, m))[kept]
            beyond |= np.abs(gap) > judges.largest * (1 + 1e-9)
            take, same, keep = shares.T
            of_queries = {"take": take, "keep": keep, "no_difference": same, "beyond": beyond}
            by_query.append(
                table_of(
                    {name: [label] * len(gap) for name, label in labels.items()}
                    | {"query_id": np.array(queries)[kept]}
                    | of_queries
                )
            )

            # means with intervals
            drawn = (
                values[kept] - others[kept]
                for values, others in zip(
                    shown.drawn_values(r, m), shown.drawn_values(baseline, m), strict=True
                )
            )
            rng = np.random.default_rng(random_state)
            samples = np.zeros((0, 3))
            if len(gap) >= FEWEST_UNITS:
                samples = np.array([*_samples(judges, drawn, shares / 100, rng)])
            numbers = {
                "n_queries": len(gap),
                "beyond": int(beyond.sum()),
                "judged": shown.share_judged((r, baseline), m),
            }
            rows.append(labels | _in_hundred(shares / 100, samples, level) | numbers)
    if not rows:
        return None

    import polars as pl

    of_measures = {measures[m]: metric for m, metric in shown.metrics.items()}
    return People(
        table_of(rows),
        pl.concat(by_query),
        level,
        {name: metric.depth for name, metric in of_measures.items()},
        {name: judges_of(metric) for name, metric in of_measures.items()},
    )


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


def _in_hundred(shares: Floats, samples: Floats, level: float) -> Fields:
    """Return the mean shares in 100, with the ends of their intervals.

    `shares`, shape (Q, 3), are by query, `samples`, shape (S, 3), draws of their means; without
    any, ends are None. An estimate beyond the samples, such as that of a blend, is the end of its
    interval.
    """
    # the estimate first, then the samples
    both = np.vstack([shares.mean(axis=0), samples])
    decided = both[:, 0] / (both[:, 0] + both[:, 2])
    columns = dict(zip(PARTS, both.T, strict=True)) | {"decided": decided}

    # each with its ends
    numbers: Fields = {}
    for name, (estimate, *drawn) in columns.items():
        numbers |= {name: 100 * float(estimate), f"{name}_low": None, f"{name}_high": None}
        if not drawn:
            continue
        low, high = percentile_interval(np.array(drawn), level)
        numbers[f"{name}_low"] = 100 * float(min(low, estimate))
        numbers[f"{name}_high"] = 100 * float(max(high, estimate))
    return numbers | {"agree": 100 * float((shares**2).sum(axis=1).mean())}
