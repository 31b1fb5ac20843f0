"""Paired tests of systems against a baseline, with intervals, under one metric or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from itertools import product
from typing import ClassVar, Unpack

import numpy as np

from dcglearn.evaluation.gate import UNMEASURED, Gate, gated
from dcglearn.evaluation.paired_tests import MAX_RESAMPLES, corrected, plain_tests, powered_tests
from dcglearn.evaluation.people import People, shares_of_people
from dcglearn.evaluation.rank_intervals import Ranks, ranks_of
from dcglearn.evaluation.run_values import EvaluateOptions, Evaluation, evaluate
from dcglearn.foundation.finding import Cells, Finding, cells_of, plain, table_of
from dcglearn.foundation.plain_text import number_of, percent
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    InputError,
    PolarsFrame,
    known,
    one_of,
    whole_number,
    within,
)
from dcglearn.metrics.reading import MetricsLike, labelled
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.runs import RunsLike, read_both

SHOWN = (
    *("run", "measure", "mean", "difference", "low", "high", "p_t", "p_permutation"),
    *("p_corrected", "lambda", "worth", "least", "most", "judged"),
)
"""Columns that are printed; the share judged beside bounds alone."""


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparison(Finding):
    """Differences between systems and a baseline, with intervals and p-values.

    `table` has a row for each run and measure:

    - ``run``, ``baseline``, ``measure``, ``mean``, and ``difference`` of the means;
    - ``low`` and ``high``, the ends of its Student's t interval of confidence `level`, and ``p_t``:
      null below three queries, and where all differences are equal;
    - ``p_permutation`` of the exact test of sign flips, ``p_corrected`` after `correction` for the
      number of rows;
    - with an LLM judge, whose tests are by t alone, its weight ``lambda``, and the number of
      queries judged by people that it replaces, ``worth``;
    - with ``bounds=True``, the ``least`` and the ``most`` that the difference can be once all is
      judged; ``judged``, the share of the positions looked at whose document is;
    - ``n_topics`` compared, those that both runs (``n_shared``), the run and the baseline have, and
      those in which something can differ (``n_measured``); ``spread``, the standard deviation of
      the differences;
    - the shares of `people`, where a metric knows its judges.

    `differences` holds those of each row by query, shape (n_topics,), None with an LLM judge.
    `evaluation` has the values; `over` says of which queries a difference is with an LLM judge.
    """

    table: PolarsFrame = field(repr=False)
    level: float
    correction: str
    over: str
    evaluation: Evaluation = field(repr=False)
    of_people: People | None = field(repr=False)
    differences: tuple[Floats | None, ...] = field(repr=False)
    ranked: Callable[[], Ranks] = field(repr=False)

    _formats: ClassVar = {
        **dict.fromkeys(("difference", "low", "least", "most"), "+.4f"),
        "judged": ".1%",
        "lambda": ".2f",
        "worth": ".0f",
    }
    _labels: ClassVar = {"p_t": "p (t)", "p_permutation": "p (permutation)"}

    @property
    def n_queries(self) -> int:
        """Number of judged queries."""
        return len(self.evaluation.queries)

    @property
    def people(self) -> People:
        """Of 100 people who see both lists of a query, how many take each run's.

        Raises InputError if no metric knows its judges, or no query counts.
        """
        if self.of_people is None:
            raise InputError(
                "; ".join(self.evaluation.silent)
                or "no shares of people: they need a metric that knows its judges, and a judged "
                "document in a list; learn a DCG from preferences"
            )
        return self.of_people

    @cached_property
    def ranks(self) -> Ranks:
        """The best and the worst rank of each system that the comparison leaves open at `level`.

        All at once they hold the true ranks under the sampling of queries, and where a metric holds
        draws of what its log allows, under nearly all of these. Raises InputError with an LLM
        judge.
        """
        if self.differences[0] is None:
            raise InputError("ranks rest on people's judgements alone: leave out llm (--llm-qrels)")
        return self.ranked()

    def gate(
        self, min_difference: float | None = None, rule: str = "harm", at_least: float | None = None
    ) -> Gate:
        """Decide whether the runs are good enough to replace the baseline: pass, fail or unknown.

        `min_difference` is the margin: the smallest difference from the baseline that is
        acceptable, such as -0.005. The rule "harm" (margin 0 by default) fails a run that is shown
        to be worse than that, and lets others pass. "non-inferior", whose margin must be given,
        lets a run pass that is shown not to be worse than that, fails one that is shown to be, and
        is else unknown. Both are unknown where fewer topics count than can decide (6 at the level
        .95: 2^-5 > .025), or the runs share no judged topic. With `at_least`, a run also passes
        only if at least so many of 100 people who see a difference take it, by the whole interval,
        under each metric that knows its judges; it fails if the interval lies below, and is
        unknown if it holds that number.

        What is shown is so by Student's t and by the exact test of sign flips, each one-sided: at
        a true difference of `min_difference` it is wrong with a probability of at most
        ``(1 - level) / 2``. Raises InputError if the rule is unknown, its margin is missing or not
        finite, or a run lacks most of the judged topics that the other has.
        """
        if at_least is not None:
            _ = self.people  # there must be some
        rows = self.table.rows(named=True)
        return gated(rows, self.differences, self.level, min_difference, rule, at_least)

    @property
    def sentence(self) -> str:
        """How many differences are beyond chance, and the clearest of them."""
        if not self.table["n_measured"].sum():
            return (
                "nothing was compared, since no query counts: check the grades of the judgements, "
                "and whether runs and judgements name the same documents"
            )
        import polars as pl

        # the clearest one
        table, most = self.table, 1 - self.level
        best = table.sort("p_corrected", -pl.col("difference").abs()).row(0, named=True)
        relation = "not shown to differ from"
        if best["p_corrected"] < most:
            relation = "better than" if best["difference"] > 0 else "worse than"
        over = f" over {self.over}" if self.over else ""
        interval = "no interval, since queries are few or their differences all equal"
        if best["low"] is not None:
            ends = f"{best['low']:+.4f} to {best['high']:+.4f}"
            interval = f"{percent(self.level)} interval {ends}"

        # and how many there are
        clearest = (
            f"under {best['measure']}, {best['run']} is {relation} {best['baseline']} (mean "
            f"difference {best['difference']:+.4f}{over}, {interval})"
        )
        if len(table) == 1:
            return clearest
        return (
            f"beyond chance: {(table['p_corrected'] < most).sum()} of {len(table)} differences "
            f"from {best['baseline']}; the clearest: {clearest}"
        )

    @property
    def notes(self) -> list[str]:
        """The number of queries, the correction of p-values, and runs that lack topics."""
        # the test
        how = "not corrected"
        if self.correction != "none":
            how = f"corrected ({self.correction}) for {number_of(len(self.table), 'rows')}"
        by_machine = "worth" in self.table.columns
        test = "t" if by_machine else "sign flip"
        notes = [
            f"{number_of(self.n_queries, 'queries')}; {percent(self.level)} intervals by Student's "
            f"t; {test} test {how}; a difference is beyond chance if this p is below "
            f"{1 - self.level:.2g}"
        ]

        # what people would take comes first
        if self.of_people is not None:
            notes = [self.of_people.sentence, *notes, *self.of_people.notes]

        # queries that do not count
        counted = self.table.filter(self.table["n_measured"] < self.table["n_topics"])
        if len(counted):
            at_least = "at least " * (len(self.table) > 1)
            notes.append(
                f"queries that count: {at_least}{min(counted['n_measured'])} of "
                f"{self.n_queries}; in the others {UNMEASURED}"
            )

        # what runs lack, what is not judged, and why nothing is said of people
        notes += [*self.evaluation.notes, *self.evaluation.silent]

        # what the machine adds
        if by_machine:
            notes.append(
                "lambda is the weight of the machine; without it, as many more queries judged by "
                "people as it is worth would make the difference as precise"
            )
        return notes

    @property
    def cells(self) -> Cells:
        """The columns that are printed, as text."""
        shown = SHOWN if self.evaluation.open is not None else SHOWN[:-1]
        table = self.table.select(name for name in shown if name in self.table.columns)
        return cells_of(table, self._formats, self._labels)

    @property
    def pictures(self) -> list[Fields]:
        """Differences with their intervals; also with what grades of the unjudged could make."""
        bounds = [name for name in ("least", "most") if name in self.table.columns]
        drawn = self.table.drop_nulls("low")
        numbers = drawn.select("run", "measure", "difference", "low", "high", *bounds).rows()
        rows = [
            (f"{run}, {measure}", *(end for end in ends if end is not None))
            for run, measure, *ends in numbers
        ]
        title = f"difference from {self.table['baseline'][0]}, {percent(self.level)} intervals"
        pictures = [{"title": title, "rows": rows}] if rows else []
        return pictures + ([] if self.of_people is None else self.of_people.pictures)

    def to_dict(self) -> Fields:
        """Return the result as plain values, with the number of queries and people's shares."""
        return super().to_dict() | {"n_queries": self.n_queries, "people": plain(self.of_people)}


@spelled_out(EvaluateOptions, evaluate)
def compare_systems(
    judgements: JudgementsLike,
    runs: RunsLike,
    metrics: MetricsLike = "nDCG@10",
    *,
    baseline: str | None = None,
    level: float = 0.95,
    correction: str = "holm",
    n_resamples: int = 10_000,
    random_state: int = 0,
    llm: JudgementsLike | None = None,
    topics: str = "all",
    **settings: Unpack[EvaluateOptions],
) -> SystemComparison:
    """Compare systems with a baseline by paired tests over queries.

    Raises InputError as in `evaluate`; if there are fewer than two systems or two queries, or the
    baseline is not one of the runs; if the machine lacks a query that people judged, or has none of
    its own.

    Parameters
    ----------
    judgements, runs, metrics, **settings
        See `evaluate`; two systems or more.
    baseline : str, optional
        The run with which the others are compared; the first by default. Name the system in use.
    level : float
        Confidence level of the intervals (Student's t over queries).
    correction : {"holm", "bh", "none"}
        Correction for multiple tests: Holm's (family-wise error rate) suits a decision, Benjamini
        and Hochberg's (false discovery rate) a search among many systems, "none" a single
        comparison planned beforehand.
    n_resamples, random_state : int
        Number of sign flips that are drawn where more than 15 queries differ, and their seed.
        10,000 give p-values down to 0.0001.
    llm : judgements, optional
        A machine's judgements of the same queries and of more. Differences then rest on both: PPI++
        corrects the machine by the queries that people judged, so that its errors widen the
        intervals and shift nothing.
    topics : {"all", "these"}
        With `llm`, what the mean difference is of: "all" queries there could be, of which those
        judged are a sample, or "these" that the machine judged, had people judged them all. The
        latter has narrower intervals and says nothing of other queries.

    See Also
    --------
    evaluate : The values alone.
    system_order : All systems under several metrics.

    Examples
    --------
    >>> judged = {f"q{i}": {"a": 1, "b": 0, "c": 2} for i in range(8)}
    >>> good = {f"q{i}": {"a": 2.0, "b": i % 3, "c": 4.0} for i in range(8)}
    >>> poor = {f"q{i}": {"a": 2.0, "b": 3.0, "c": i % 3} for i in range(8)}
    >>> comparison = compare_systems(judged, {"poor": poor, "good": good})
    >>> comparison.table["p_permutation"][0] < 0.05, comparison.gate().answer
    (True, 'pass')
    """
    import polars as pl

    known(settings, signature(compare_systems).parameters, "compare_systems", "option")
    one_of(correction, "correction", ("holm", "bh", "none"))
    within(level, "level", 1, exclusive=True)
    whole_number(n_resamples, "n_resamples", 100, MAX_RESAMPLES)
    whole_number(random_state, "random_state", 0)
    judged, systems = read_both(judgements, runs, duplicates=settings.get("duplicates", "error"))

    # by people's judgements, and by an LLM's
    if llm is not None and settings.get("bounds"):
        remedy = "leave out llm (--llm-qrels) or bounds (--unjudged bounds)"
        raise InputError(f"bounds are of people's judgements alone: {remedy}")
    metrics = labelled(metrics)
    evaluation = evaluate(judged, systems, metrics, **settings)
    machine = None if llm is None else evaluate(llm, systems, metrics, **settings)
    over = _compared_over(topics, machine)

    # the machine's values, those of queries that people judged first
    runs, b = evaluation.runs, _number_of_baseline(evaluation.runs, baseline)
    by_machine = None
    if machine is not None:
        by_machine = machine.filled[..., _people_first(evaluation.queries, machine.queries)]

    # test each measure and run
    others = [r for r in range(len(runs)) if r != b]
    rows, differences = [], []
    for m, r in product(range(len(evaluation.metrics)), others):
        values = _paired(evaluation.filled, m, r, b)
        kept = ~np.isnan(values[0])
        if not kept.any():
            raise InputError("no query to compare: the runs have none in common")
        names = {"run": runs[r], "baseline": runs[b], "measure": evaluation.metrics[m]}

        # its tests, and the numbers of queries
        if by_machine is None:
            tests = plain_tests(values, level, n_resamples, random_state)
        else:
            tests = powered_tests(values, _paired(by_machine, m, r, b), level, topics)
        tests["p_corrected"] = tests["p_permutation" if machine is None else "p_t"]
        rows.append(names | tests | _facts(evaluation, m, r, b, kept))
        differences.append(values[0, kept] if by_machine is None else None)

    # correct for the number of rows; tests that nobody has are null
    table = table_of(rows).cast({pl.Null: pl.Float64})
    p_values = corrected(table["p_corrected"].fill_null(1.0).to_numpy(), correction)
    table = table.with_columns(pl.Series("p_corrected", p_values))

    # of 100 people
    people = shares_of_people(evaluation, [(r, b) for r in others], level, random_state)
    if people is not None:
        keys = ["run", "baseline", "measure"]
        shares = pl.col("^(take|keep|no_difference|decided).*$").name.prefix("people_")
        table = table.join(people.table.select(*keys, shares), keys, "left", maintain_order="left")

    # ranks take longer, and are computed when they are asked for
    again = partial(evaluate, judged, systems, **settings)
    ranked = partial(ranks_of, evaluation, again, level, n_resamples, random_state)
    return SystemComparison(
        table, level, correction, over, evaluation, people, tuple(differences), ranked
    )


def _paired(values: Floats, m: int, run: int, baseline: int) -> Floats:
    """Return a run's differences from the baseline by query, and its values, shape (2, Q)."""
    return np.stack([values[run, m] - values[baseline, m], values[run, m]])


def _facts(evaluation: Evaluation, m: int, run: int, baseline: int, kept: Flags) -> Fields:
    """Return what grades could make of a difference, if asked for, and numbers of queries."""
    both, opened = [run, baseline], evaluation.open
    facts: Fields = {}
    if opened is not None:
        ends = [None, None]
        if m in opened.metrics:
            ends = opened.ends(m, run, baseline)[kept].mean(axis=0).tolist()
        facts = dict(zip(("least", "most"), ends, strict=True))

    # the share judged, and the queries that each has
    facts["judged"] = 1 - float(evaluation.unjudged[both, m].mean())
    has = ~np.isnan(evaluation.values[both, m])
    flags = {"n_topics": kept, "n_shared": has.all(axis=0), "n_run": has[0], "n_baseline": has[1]}
    flags["n_measured"] = evaluation.measured[both, m].any(axis=0) & kept
    return facts | {name: int(np.sum(flags_of)) for name, flags_of in flags.items()}


def _number_of_baseline(runs: Sequence[str], baseline: str | None) -> int:
    """Return which run the others are compared with; raise InputError if there are none."""
    if len(runs) < 2:
        raise InputError("a comparison needs two systems or more; give another run")
    if baseline is None:
        return 0
    one_of(baseline, "baseline", runs)
    return runs.index(baseline)


def _compared_over(topics: str, machine: Evaluation | None) -> str:
    """Return of which queries a difference is, in words; "" without a machine."""
    one_of(topics, "topics", ("all", "these"))
    if machine is not None:
        these = f"these {number_of(len(machine.queries), 'queries')}"
        return these if topics == "these" else "all queries there could be"
    if topics == "these":
        raise InputError(
            'topics="these" goes with judgements of a machine for all of them: give llm '
            "(--llm-qrels) too"
        )
    return ""


def _people_first(people: Sequence[str], machine: Sequence[str]) -> list[int]:
    """Return the numbers of the LLM judge's queries, those judged by people first, in order."""
    place = {query: q for q, query in enumerate(machine)}
    shared = [place.pop(query) for query in people if query in place]
    if len(shared) < len(people) or len(place) < 2:
        raise InputError(
            f"the machine has judged {len(shared)} of {number_of(len(people), 'queries')} that "
            f"people judged, and {number_of(len(place), 'others')}: it must judge all queries of "
            "people, which correct it, and two or more others, which it adds"
        )
    return [*shared, *place.values()]
