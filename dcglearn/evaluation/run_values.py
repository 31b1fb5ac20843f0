"""Evaluate runs by judgements: DCG and NDCG of every query under any number of metrics."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, TypedDict

import numpy as np

from dcglearn.evaluation.kernel import Grading, Lists, any_in, at_grades, gains_of, ideals
from dcglearn.evaluation.other_measures import measured_elsewhere
from dcglearn.evaluation.ranked import judged_documents, ranked_lists
from dcglearn.evaluation.unjudged import Unjudged
from dcglearn.foundation.finding import Cells, Finding, cells_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    InputError,
    PathLike,
    PolarsFrame,
    errors_in,
    listed,
    one_of,
)
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.metrics.names import ListMetric, MetricName, is_metric_name
from dcglearn.metrics.other_names import usual_name
from dcglearn.metrics.reading import SCORING, MetricsLike, labelled, metric_or_name
from dcglearn.metrics.saved_metric import grades_of, warn_of_scale
from dcglearn.metrics.textbook import is_metric_file
from dcglearn.reading.judgements import Duplicates, Judgements, JudgementsLike
from dcglearn.reading.runs import Run, RunsLike, read_both

_LOG = logging.getLogger(__name__)

UNJUDGED = ("worst", "best", "drop")
"""How a document without a judgement counts: as the worst grade, as the best, or not at all."""

LEVELS = "scale= (--scale 0,.5,1) names the grades, worst first"
"""Remedy for a metric that needs levels."""

FEW = 0.05
"""Up to this share of the positions, tied scores go without a note."""


@dataclass(frozen=True, eq=False)
class ShownLists:
    """What people would see: the lists of every run, and the metrics that know their judges.

    `metrics` are by their number in the evaluation. `ranked` has the lists of each run, `unjudged`
    says what a document without a judgement counts as, and `n_grades` is the number of grades of
    the judgements.
    """

    metrics: Mapping[int, DCG] = field(default_factory=dict)
    ranked: Sequence[Lists] = ()
    unjudged: str | float = "worst"
    n_grades: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Finding):
    """Values of every query of every run under every metric; its table has the means.

    `values`, shape (R, M, Q), by run, metric and query, is NaN where the run does not have the
    query; with `missing` "zero" such a query counts as 0 in the mean, with "skip" it is left out.
    `unjudged`, shape (R, M), is the share of documents that are not judged, among those that the
    metric looks at. `measured`, shape (R, M, Q), tells where a query has a judged document that the
    metric values differently from the worst grade, and the run ranks a judged document where the
    metric looks. `tied`, shape (R, M), is the share of documents whose names order them, since
    their scores are equal.
    `open` holds the documents without a judgement, if bounds are asked for, else None, and `shown`
    the lists for shares of people, if a metric knows its judges. `remarks` say what grades are
    taken for, and that the log of a learned metric had others, or fewer positions.
    """

    values: Floats = field(repr=False)
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    queries: tuple[str, ...] = field(repr=False)
    missing: str
    unjudged: Floats
    measured: Flags = field(repr=False)
    tied: Floats = field(repr=False)
    open: Unjudged | None = field(default=None, repr=False)
    shown: ShownLists = field(default_factory=ShownLists, repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def filled(self) -> Floats:
        """Values with 0 for missing queries if these count as 0, shape (R, M, Q)."""
        return np.nan_to_num(self.values, nan=0.0) if self.missing == "zero" else self.values

    @property
    def means(self) -> Floats:
        """Mean over queries, shape (R, M)."""
        return np.nanmean(self.filled, axis=2)

    @cached_property
    def bounds(self) -> Floats | None:
        """The least and the most that values can be once all documents are judged, (R, M, Q, 2).

        NaN for metrics of ir_measures; None unless they are asked for.
        """
        if self.open is None:
            return None
        ends = np.full((*self.values.shape, 2), np.nan)
        for r, m in product(range(len(self.runs)), self.open.metrics):
            ends[r, m] = self.open.ends(m, r)
            lacking = np.isnan(self.values[r, m])
            ends[r, m][lacking] = self.filled[r, m, lacking, None]
        return ends

    @property
    def mean_bounds(self) -> Floats:
        """The least and the most that the means can be, (R, M, 2); NaN where nobody knows."""
        assert self.bounds is not None, "evaluate(..., bounds=True) finds them"
        return np.ma.masked_invalid(self.bounds).mean(axis=2).filled(np.nan)

    @property
    def silent(self) -> tuple[str, ...]:
        """Why nothing can be said of people under metrics that know their judges."""
        own = self.shown.n_grades
        return tuple(
            f"no shares of people under {self.metrics[m]}: its judges know "
            f"{grades_of(one.n_grades)}, the judgements have {grades_of(own or 0)}; give --grades "
            f"{one.n_grades} if the scale is the same, or map the metric (DCG.map_grades)"
            for m, one in self.shown.metrics.items()
            if one.n_grades != own
        )

    def by_query(self) -> PolarsFrame:
        """Return columns ``run``, ``query_id``, ``measure``, ``value``; query ``all`` is the mean.

        Bounds, where asked for, are in the columns ``least`` and ``most``. Queries that are left
        out of the means have no row.
        """
        import polars as pl

        # values of the queries, and their means
        columns: Fields = {"value": np.dstack([self.filled, self.means])}
        if self.bounds is not None:
            both = np.concatenate([self.bounds, self.mean_bounds[:, :, None]], axis=2)
            columns |= {"least": both[..., 0], "most": both[..., 1]}

        # a row for each query that counts
        names = np.meshgrid(self.runs, self.metrics, (*self.queries, "all"), indexing="ij")
        columns |= zip(("run", "measure", "query_id"), names, strict=True)
        cells = {name: column.ravel() for name, column in columns.items()}
        counted = pl.DataFrame(cells, nan_to_null=True).drop_nulls("value")
        return counted.select("run", "query_id", "measure", "^(value|least|most)$")

    def ordered(self) -> Evaluation:
        """Return the values with runs sorted by the first metric's mean, best first."""
        best = np.argsort(-self.means[:, 0], kind="stable")
        ranked = [self.shown.ranked[i] for i in best if self.shown.ranked]
        return replace(
            self,
            values=self.values[best],
            runs=tuple(self.runs[i] for i in best),
            unjudged=self.unjudged[best],
            measured=self.measured[best],
            tied=self.tied[best],
            open=None,
            shown=replace(self.shown, ranked=ranked),
        )

    @property
    def sentence(self) -> str:
        """The mean under the first metric, or the best run and the metrics that prefer another."""
        means = self.means
        best = means[:, 0].argmax()
        first, *others = self.metrics
        n_queries = number_of(len(self.queries), "queries")
        value = f"{means[best, 0]:.4f}"
        if len(self.runs) == 1:
            return f"over {n_queries}, the mean {first} of {self.runs[0]} is {value}"

        # of several runs, the best, or those that share its mean
        equal = [self.runs[run] for run in np.flatnonzero(means[:, 0] == means[best, 0])]
        who = f"{self.runs[best]} has" if len(equal) < 2 else f"{listed(equal, 3)} share"
        best_run = f"over {n_queries}, {who} the highest mean {first}: {value}"
        is_beaten = means[best, 1:] < means[:, 1:].max(axis=0)
        differing = [name for name, beaten in zip(others, is_beaten, strict=True) if beaten]
        if differing:
            best_run += f"; another run is best under {listed(differing, 3)}"
        return best_run

    @property
    def table(self) -> PolarsFrame:
        """A row for each run: its mean under each metric, and bounds if asked for."""
        import polars as pl

        # names of metrics are free, so one of them may be taken
        columns: Fields = {"run": self.runs}
        for m, name in enumerate(self.metrics):
            label = f"{name} (measure)" if name in columns else name
            columns[label] = self.means[:, m]
            if self.bounds is not None:
                least, most = self.mean_bounds[:, m].T
                columns |= {f"least of {label}": least, f"most of {label}": most}
                columns[f"judged of {label}"] = 1 - self.unjudged[:, m]
        return pl.DataFrame(columns, nan_to_null=True)

    @property
    def cells(self) -> Cells:
        """The table as text, under the metrics' very names."""
        table = self.table
        return cells_of(table, {}, dict(zip(table.columns, table.columns, strict=True)))

    @property
    def notes(self) -> list[str]:
        """What bounds mean, what grades are taken for, and what is missing or not judged."""
        notes = [*self.remarks] if self.open is None else [*self.open.notes, *self.remarks]

        # values and queries to be aware of
        if np.nanmin(self.values, initial=0.0) < 0:
            notes.append(
                "values below 0: what is harmful (gains below 0) outweighs the rest; "
                "the ideal leaves it out"
            )
        numbers = zip(self.runs, np.isnan(self.values[:, 0]).sum(axis=1), strict=True)
        lacking = [f"{n} of {run}" for run, n in numbers if n]
        if lacking:
            how = "count as 0" if self.missing == "zero" else "are left out"
            notes.append(f"judged queries that a run lacks {how}: {', '.join(lacking)}")

        # ties, and unjudged documents
        tied, unjudged = np.nanmax(self.tied), np.nanmax(self.unjudged)
        if tied > FEW:
            notes.append(
                f"tied scores: names of documents order up to {tied:.1%} of the positions looked "
                'at; --ties average (ties="average") shares the gains of equal scores, --ties '
                "stable keeps the order of the file"
            )
        if unjudged > 0:
            notes.append(f"not judged: up to {unjudged:.1%} of the positions looked at")
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """Means, and the middle half of the queries."""
        ends = np.nanpercentile(self.filled[:, 0], [25, 75], axis=1)
        rows = zip(self.runs, self.means[:, 0].tolist(), *ends.tolist(), strict=True)
        title = f"mean {self.metrics[0]}, and the middle half of the queries"
        return [{"title": title, "rows": [*rows]}]


class EvaluateOptions(TypedDict, total=False):
    """Keywords of `evaluate`, for functions that evaluate runs first."""

    normalise: bool
    ties: str
    unjudged: str | float
    missing: str
    ideal: str
    empty: float
    duplicates: Duplicates
    bounds: bool


def evaluate(
    judgements: JudgementsLike,
    runs: RunsLike,
    metrics: MetricsLike = "nDCG@10",
    *,
    normalise: bool = True,
    ties: str = "docno-desc",
    unjudged: str | float = "worst",
    missing: str = "zero",
    ideal: str = "judgements",
    empty: float = 0.0,
    duplicates: Duplicates = "error",
    bounds: bool = False,
) -> Evaluation:
    """Evaluate runs under any number of metrics, sorting once.

    Raises InputError if a file cannot be read, a grade is above a metric's, run and judgements
    share no query, a setting is unknown, a metric needs levels where grades are fractions, or a
    metric that is no DCG is asked for what only sums have: a gain of unjudged documents, bounds, or
    shared gains where documents are tied. Warns with ScaleWarning if a DCG or a file has gains for
    more grades than the judgements (see `read_judgements`).

    Parameters
    ----------
    judgements, runs
        The grades and the ranked documents, in any form that `read_judgements` and `read_runs`
        accept.
    metrics : DCG, ListUtility, file or name, a mapping of names to metrics, or a list of these
        What `metric` reads, such as ``nDCG@10`` or ``ERR@5``; without K, down to the last document
        ranked or judged. ``nDCG`` is trec_eval's: its gain is the grade itself, any number, and its
        discount log2; metrics that are not linear need whole grades. A name, its object and its
        file have the same values, and so have ERR, RBP and the best grade. Other names
        (``AP``, ``P@10``) are computed by ir_measures. Those of trec_eval, ranx and MTEB mean the
        same (``ndcg_cut_10``, ``map``, ``recip_rank``, ``recall_at_100``).
    normalise : bool
        Divide by the best value that the query's documents allow (NDCG), so that every query counts
        the same; else plain. A metric with ``plain=True``, such as ERR and RBP, is never
        divided.
    ties : {"docno-desc", "stable", "average"}
        How documents with equal scores (as float32, as in trec_eval) are ranked: in descending
        order of their names, as in trec_eval, in the order of the file, or with one share of their
        positions each, as in scikit-learn. Take "stable" if the file is in the order that users
        saw, "average" if the order of ties is chance.
    unjudged : {"worst", "best", "drop"} or float
        How a document without a judgement counts: as the worst grade, as the best, with this gain,
        or not at all (documents below it move up). With ``normalise=False`` and gains that rise
        with the grade, "worst" and "best" bound the value that judging everything would give; NDCG
        may fall below both, since the ideal rises too. "drop" suits judgements that leave out much
        of what the runs find.
    missing : {"zero", "skip"}
        Whether judged queries that a run does not have count as 0 in its mean or are left out. Take
        "skip" for a run that was made for some of the queries only.
    ideal : {"judgements", "list"}
        Documents of the best ranking: all that are judged (followed by unjudged ones if these have
        a gain), or those in the run's own list, for rankers of the same candidates. With
        ``unjudged="best"`` a list may beat the former.
    empty : float
        NDCG of a query whose best ranking has value 0. Some libraries, such as LightGBM, take
        1.
    duplicates : {"error", "first", "last"}
        What to do with a document that occurs twice for one query. "first" suits joined runs, if it
        is the one shown.
    bounds : bool
        Also find the least and the most that each value can be once all documents that the run
        shows are judged, exactly (`Evaluation.bounds`), with the ideal, which good documents raise.
        For RBP, the most less the value is its residual.

    See Also
    --------
    compare_systems : Tests of the differences.
    evaluate_arrays : Arrays instead of runs.

    Examples
    --------
    >>> judged, run = {"q": {"d": 3, "e": 1}}, {"mine": {"q": {"e": 2.0, "d": 1.0}}}
    >>> print(evaluate(judged, run, ["nDCG@10", "exponential-log2@10"]))
    Over 1 query, the mean nDCG@10 of mine is 0.7967.
    <BLANKLINE>
    run   nDCG@10  exponential-log2@10
    mine   0.7967               0.7098
    """
    _check_settings(unjudged, missing, ideal, ties, bounds=bounds)
    judged, systems = read_both(judgements, runs, duplicates=duplicates)

    # our metrics by number, and those of ir_measures by name
    by_name = as_metrics(metrics, judged, systems)
    words = [*by_name]
    own = {m: metric for m, metric in enumerate(by_name.values()) if not isinstance(metric, str)}
    others = {name: metric for name, metric in by_name.items() if isinstance(metric, str)}

    # metrics of other scales
    n_grades = judged.n_grades or 0
    for m, metric in own.items():
        _check_metric(words[m], metric, unjudged, judged, bounds=bounds)
    sizes = {words[m]: metric.n_grades for m, metric in own.items() if n_grades}
    larger = {name: size for name, size in sizes.items() if size > max(n_grades, 2)}
    warn_of_scale(larger, n_grades, judged.name)

    # how deep lists are looked at
    depth = max((metric.depth for metric in own.values()), default=1)
    to_the_end = unjudged == "drop" or ties == "average" or ideal == "list"
    whole = to_the_end or others or bounds

    # what values are divided by
    queries, offsets, grades = judged_documents(judged)
    divided = {m: metric for m, metric in own.items() if normalise and not metric.plain}
    best = {}
    if ideal == "judgements":
        best = ideals(divided, offsets, grades, unjudged, filled=unjudged != "best")

    # which queries have something to measure
    valued = dict.fromkeys(range(len(words)), any_in(offsets, grades > 0))
    for m, metric in own.items():
        differs = gains_of(metric, grades) != metric.gains[0]
        valued[m] = any_in(offsets, differs & metric.discounts.any())

    # evaluate run by run
    lists: list[Lists] = []
    known = {m: one for m, one in own.items() if isinstance(one, DCG) and one.judges}
    values = np.full((len(systems), len(words), len(queries)), np.nan)
    measured, shares = np.zeros(values.shape, dtype=bool), np.zeros((2, *values.shape[:2]))
    for r, run in enumerate(systems):
        ranked = ranked_lists(judged, run, None if whole else depth, ties)
        has = np.diff(ranked.offsets) > 0
        if bounds or known:  # else they would fill the memory
            lists.append(ranked)

        # queries with something to measure, and shares of documents that are judged
        for m, of_queries in valued.items():
            looked_at = own[m].depth if m in own else None
            seen = ranked.any(ranked.grades >= 0, None if to_the_end else looked_at)
            measured[r, m], shares[:, r, m] = of_queries & seen, ranked.shares(looked_at)

        # values by our metrics
        tops = best or ranked.ideals(divided, unjudged)
        for m, metric in own.items():
            with errors_in(words[m]):
                value = ranked.values(metric, unjudged)
            if m in divided:
                value = normalised_values(value, tops[m], empty)
            values[r, m, has] = value[has]

    # measures of ir_measures
    if others:
        computed = measured_elsewhere(others, judged, systems, queries)
        values[:, [name in others for name in words]] = computed

    # what the documents without a judgement leave open
    left = None
    if bounds:
        left = Unjudged(systems, lists, offsets, grades, own, divided, empty)

    # values by run, metric and query, and what they rest on
    _LOG.info("evaluated %d runs on %d queries under %s", len(systems), len(queries), words)
    return Evaluation(
        values,
        tuple(run.name for run in systems),
        tuple(words),
        queries,
        missing,
        shares[0],
        measured,
        shares[1],
        left,
        ShownLists(known, lists, unjudged, judged.n_grades),
        tuple(_remarks(by_name, judged)),
    )


def _remarks(metrics: Mapping[str, ListMetric | str], judged: Judgements) -> Iterator[str]:
    """Yield what linear gains are without levels of numbers, and where a metric's log differs."""
    names, n_grades, linear = judged.grade_names or (), judged.n_grades, []
    for name, metric in metrics.items():
        if isinstance(metric, DCG):
            if metric.learned_from is not None:
                caution = metric.learned_from.caution(metric.depth, n_grades or metric.n_grades)
                if caution:
                    yield f"{name}: {caution}"
            linear += [name] * np.array_equal(metric.gains, np.arange(len(names)))

    # grades that are other numbers, or words on a scale
    if n_grades is None:
        low, high = np.percentile(judged.frame["grade"], [0, 100])
        yield f"grades are numbers from {low:g} to {high:g}; linear gains are these numbers"
    elif linear and judged.grade_numbers is None:
        taken = f"{', '.join(map(str, range(len(names))))} for {', '.join(names)}"
        yield f"{listed(linear, 3)} takes {taken}"


def _check_metric(
    name: str, metric: ListMetric, unjudged: str | float, judged: Judgements, *, bounds: bool
) -> None:
    """Raise InputError if a metric has no gains for the judgements, or for these settings."""
    # what only sums have
    if not isinstance(metric, DCG) and (bounds or not isinstance(unjudged, str)):
        raise InputError(
            f"{name} is not a DCG, and only a DCG has bounds, or a gain of documents without a "
            "judgement, which count as worst or best, or are dropped"
        )
    if bounds and isinstance(metric, DCG) and metric.power:
        raise InputError(f"{name} averages, and only a DCG that adds up has bounds")

    # a scale, and a gain of each of its grades
    if bounds and judged.n_grades is None:
        raise InputError(f"{name}: bounds are over all grades of a scale: {LEVELS}")
    if judged.n_grades is not None and judged.n_grades > metric.n_grades:
        raise InputError(
            f"{judged.name}: grade {judged.n_grades - 1} has no gain in {name}, a metric of "
            f"{grades_of(metric.n_grades)}; map the grades of the judgements to its own "
            "(DCG.map_grades)"
        )


def _check_settings(
    unjudged: str | float, missing: str, ideal: str, ties: str, *, bounds: bool
) -> None:
    # each by itself
    if isinstance(unjudged, str) or not np.isfinite(unjudged):
        one_of(unjudged, "unjudged", UNJUDGED, ", or a finite gain")
    one_of(missing, "missing", ("zero", "skip"))
    one_of(ideal, "ideal", ("judgements", "list"))

    # settings that do not go together
    if bounds and (unjudged, ideal, ties == "average") != ("worst", "judgements", False):
        raise InputError(
            'bounds go with unjudged="worst", ideal="judgements" and one order of the '
            'documents, ties="docno-desc" or "stable": leave these settings out'
        )
    if unjudged == "drop" and ties == "average":
        raise InputError(
            'unjudged="drop" and ties="average" do not go together: '
            "documents moving up leave their ties"
        )


def as_metrics(
    metrics: MetricsLike, judgements: Judgements, runs: Sequence[Run] = ()
) -> dict[str, ListMetric | str]:
    """Return metrics by name, names without a depth with that of the longest list.

    Names of other metrics stay strings, for ir_measures. Raises InputError if a metric needs levels
    of grades, and the judgements have none.
    """
    top = float(judgements.frame["grade"].max() or 0.0)  # type: ignore[arg-type]
    n_grades = judgements.n_grades and max(judgements.n_grades, 2)
    grading = Grading(n_grades, top, LEVELS, judgements.grade_numbers)
    by_name: dict[str, ListMetric | str] = {}
    for name, metric in labelled(metrics).items():
        # names of other tools
        word: Any = metric
        called = f"metric {name!r}"
        if isinstance(word, (str, os.PathLike)):
            called = "metric"
            word = word if _is_ours(word) else usual_name(os.fspath(word))
            if not _is_ours(word):
                by_name[name] = word
                continue

        # names of ours, files and objects
        parsed = metric_or_name(word, accept=SCORING, name=called)
        label, depth = name, 1
        if isinstance(parsed, MetricName):
            depth = parsed.depth or longest_list(judgements, *runs)
            label = parsed.at(depth) if name == metric == word else name
        with errors_in(label):
            by_name[label] = at_grades(parsed, grading, depth)

    # there must be one, and levels for those of ir_measures
    if not by_name:
        raise InputError("there is no metric to evaluate by")
    others = [name for name, metric in by_name.items() if isinstance(metric, str)]
    if others and n_grades is None:
        raise InputError(f"{others[0]}: ir_measures takes whole grades: {LEVELS}")
    return by_name


def _is_ours(word: PathLike) -> bool:
    """Return whether a word is a file, or has the form of one of our names."""
    name = os.fspath(word)
    is_ours = is_metric_name(name) or re.match(r"[a-z0-9.]+-|(?i:n?dcg)(@.*)?$", name)
    return bool(is_ours) or is_metric_file(word)


def longest_list(*tables: Run | Judgements) -> int:
    """Return the largest number of documents of a query."""
    longest: Any = [table.frame["query"].value_counts()["count"].max() or 1 for table in tables]
    return max(longest)
