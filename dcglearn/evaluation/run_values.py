"""Evaluate runs by judgements: DCG and NDCG of every query under any number of metrics."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from dcglearn.evaluation.other_measures import measured_elsewhere
from dcglearn.evaluation.ranked import (
    UNJUDGED,
    RankedGrades,
    check_list_settings,
    judged_counts,
    judged_ideal,
    ranked_grades,
    valued_grades,
)
from dcglearn.evaluation.shown_lists import ShownLists
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_both
from dcglearn.evaluation.unjudged import Unjudged
from dcglearn.foundation.finding import Cells, Finding, cells_of
from dcglearn.foundation.plain_text import nearest, number_of
from dcglearn.foundation.validation import (
    Fields,
    Flags,
    Floats,
    Indices,
    InputError,
    Integers,
    PathLike,
    PolarsFrame,
    listed,
    one_of,
    whole_number,
)
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.metrics.other_names import usual_name
from dcglearn.metrics.reader_names import ReaderName
from dcglearn.metrics.reading import SCORING, MetricsLike, labelled, metric_or_name, read_metric
from dcglearn.metrics.scales import grades_of, warn_of_scale
from dcglearn.metrics.textbook import NamedMetric, is_metric_file
from dcglearn.metrics.textbook_lists import ListMetric, ListMetricName
from dcglearn.reading.judgements import Duplicates, Judgements
from dcglearn.reading.runs import Run

Ideal = Literal["judgements", "list"]
Missing = Literal["zero", "skip"]

_LOG = logging.getLogger(__name__)

FEW = 0.05
"""Up to this share of the positions, tied scores and unjudged documents go without a note."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Finding):
    """Values of every query of every run under every metric; its table has the means.

    `values`, shape (R, M, Q), by run, metric and query, is NaN where the run does not have the
    query; with `missing` "zero" such a query counts as 0 in the mean, with "skip" it is left out.
    `unjudged`, shape (R, M), is the share of documents that are not judged, among those that the
    metric looks at. `residuals`, shape (R, M, Q), is what judging them could still add to a value,
    NaN for metrics of ir_measures; None unless asked for.
    `measured`, shape (R, M, Q), tells where a query has a judged document that the metric values
    differently from the worst grade, and the run ranks a judged document where the metric looks;
    None where nobody knows.
    `open` holds the documents without a judgement, of which `bounds` are; None unless asked for.
    `shown` has the lists for shares of people; None unless a metric knows its judges. `tied`, shape
    (R, M), is the share of documents whose names order them, since their scores are equal.
    `origins` say of learned metrics that their logs had other grades or fewer positions.
    """

    values: Floats = field(repr=False)
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    queries: tuple[str, ...] = field(repr=False)
    missing: str
    unjudged: Floats
    residuals: Floats | None = field(default=None, repr=False)
    measured: Flags | None = field(default=None, repr=False)
    open: Unjudged | None = field(default=None, repr=False)
    shown: ShownLists | None = field(default=None, repr=False)
    tied: Floats | None = field(default=None, repr=False)
    origins: tuple[str, ...] = field(default=(), repr=False)

    @property
    def filled(self) -> Floats:
        """Values with 0 for missing queries if these count as 0, shape (R, M, Q)."""
        return np.nan_to_num(self.values, nan=0.0) if self.missing == "zero" else self.values

    @property
    def means(self) -> Floats:
        """Mean over queries, shape (R, M)."""
        return np.nanmean(self.filled, axis=2)

    @property
    def mean_residuals(self) -> Floats:
        """Mean residual over the queries of `means`, shape (R, M); NaN where there is none."""
        assert self.residuals is not None, "evaluate(..., residuals=True) computes them"
        return _means(self.residuals, ~np.isnan(self.filled))

    @cached_property
    def bounds(self) -> Floats | None:
        """The least and the most that values can be once all documents are judged, (R, M, Q, 2).

        NaN for metrics of ir_measures; None unless asked for. A query that a run lacks stays as it
        is.
        """
        if self.open is None:
            return None
        every = range(len(self.metrics))
        ends = np.array([[self.open.values(r, m) for m in every] for r in range(len(self.runs))])
        lacking = np.isnan(self.values)[..., None] & ~np.isnan(ends)
        return np.where(lacking, 0.0 if self.missing == "zero" else np.nan, ends)

    @property
    def mean_bounds(self) -> Floats:
        """The least and the most that the means can be, (R, M, 2); NaN where nobody knows."""
        assert self.bounds is not None, "evaluate(..., bounds=True) computes them"
        return _means(self.bounds, ~np.isnan(self.bounds))

    @property
    def silent(self) -> tuple[str, ...]:
        """Why nothing can be said of people under metrics that know their judges."""
        return () if self.shown is None else self.shown.silent(self.metrics)

    @property
    def n_missing(self) -> Indices:
        """Number of judged queries that each run does not have, shape (R,)."""
        return np.isnan(self.values[:, 0]).sum(axis=1)

    def by_query(self) -> PolarsFrame:
        """Return columns ``run``, ``query_id``, ``measure``, ``value``; query ``all`` is the mean.

        Residuals and bounds, where asked for, are in the columns ``residual``, ``least`` and
        ``most``. Queries that are left out of the means have no row.
        """
        import polars as pl

        # values of the queries, and their means
        tables = {"value": (self.filled, self.means)}
        if self.residuals is not None:
            tables["residual"] = (self.residuals, self.mean_residuals)
        if self.bounds is not None:
            for i, name in enumerate(("least", "most")):
                tables[name] = (self.bounds[..., i], self.mean_bounds[..., i])
        columns = {
            name: np.concatenate([values, means[:, :, None]], axis=2).ravel()
            for name, (values, means) in tables.items()
        }

        # a row for each query that counts
        queries = (*self.queries, "all")
        frame = pl.DataFrame(
            {
                "run": np.repeat(self.runs, len(self.metrics) * len(queries)),
                "query_id": np.tile(queries, len(self.runs) * len(self.metrics)),
                "measure": np.tile(np.repeat(self.metrics, len(queries)), len(self.runs)),
                **columns,
            }
        )
        counted = frame.filter(pl.col("value").is_not_nan())
        return counted.with_columns(pl.col("^(residual|least|most)$").fill_nan(None))

    def ordered(self) -> Evaluation:
        """Return the same evaluation with runs sorted by the first metric's mean, best first."""
        best = np.argsort(-self.means[:, 0], kind="stable")
        rows: dict[str, Any] = {
            name: x[best] for name, x in vars(self).items() if isinstance(x, np.ndarray)
        }
        if self.shown is not None:
            rows["shown"] = self.shown.ordered(best)
        return replace(self, runs=tuple(self.runs[i] for i in best), **rows)

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
        """A row for each run: its mean under each metric; residuals and bounds if asked for."""
        import polars as pl

        # names of metrics are free, so one of them may be taken
        columns: Fields = {"run": self.runs}
        for m, name in enumerate(self.metrics):
            label = f"{name} (measure)" if name in columns else name
            columns[label] = self.means[:, m]
            if self.residuals is not None:
                columns[f"residual of {label}"] = self.mean_residuals[:, m]
            if self.bounds is not None:
                for i, end in enumerate(("least", "most")):
                    columns[f"{end} of {label}"] = self.mean_bounds[:, m, i]
                columns[f"judged of {label}"] = 1 - self.unjudged[:, m]
        return pl.DataFrame(columns, nan_to_null=True)

    @property
    def cells(self) -> Cells:
        """The table as text, under the metrics' very names."""
        table = self.table
        names = {f"column {i}": name for i, name in enumerate(table.columns)}
        return cells_of(table.rename(dict(zip(table.columns, names, strict=True))), {}, names)

    @property
    def notes(self) -> list[str]:
        """What is missing or not judged, and what residuals mean."""
        notes = []

        # what residuals mean
        if self.residuals is not None:
            notes.append(
                "residual: what unjudged documents could still add, if all had the best grade"
            )

        if self.open is not None:
            notes += self.open.notes

        # values and positions to be aware of
        if np.nanmin(self.values, initial=0.0) < 0:
            notes.append(
                "values below 0: what is harmful (gains below 0) outweighs the rest; "
                "the ideal leaves it out"
            )
        return notes + self.cautions(0.0)

    def cautions(self, least: float) -> list[str]:
        """Return notes on lacking queries, tied scores, and a share unjudged above `least`."""
        notes = [*self.origins]

        # missing queries
        numbers = zip(self.runs, self.n_missing, strict=True)
        lacking = [f"{n} of {run}" for run, n in numbers if n]
        if lacking:
            how = "count as 0" if self.missing == "zero" else "are left out"
            notes.append(f"judged queries that a run lacks {how}: {', '.join(lacking)}")

        if not self.metrics:  # preferences of runs alone
            return notes

        # ties, and unjudged documents
        tied = 0.0 if self.tied is None else np.max(self.tied, initial=0.0)
        if tied > FEW:
            notes.append(
                f"tied scores: names of documents order up to {tied:.1%} of the positions looked "
                'at; --ties average (ties="average") shares the gains of equal scores, --ties '
                "stable keeps the order of the file"
            )
        unjudged = np.nanmax(self.unjudged, initial=0.0)
        if unjudged > least:
            notes.append(f"not judged: up to {unjudged:.1%} of the positions looked at")
        return notes

    @property
    def pictures(self) -> list[Fields]:
        """Means, and the middle half of the queries."""
        ends = [*np.nanpercentile(self.filled[:, 0], [25, 75], axis=1)]
        if self.open is not None and 0 in self.open.metrics:
            ends += [*self.mean_bounds[:, 0].T]
        rows = zip(self.runs, *np.stack([self.means[:, 0], *ends]).tolist(), strict=True)
        title = f"mean {self.metrics[0]}, and the middle half of the queries"
        return [{"title": title, "rows": [*rows]}]


def _means(values: Floats, counted: Flags) -> Floats:
    """Return the means over queries, the third axis, of values that count; NaN where none does."""
    n = counted.sum(axis=2)
    return np.where(counted, values, 0.0).sum(axis=2) / np.where(n, n, np.nan)


class EvaluateOptions(TypedDict, total=False):
    """Keywords of `evaluate`, for functions that evaluate runs first."""

    normalise: bool
    ties: str
    unjudged: str | float
    missing: str
    ideal: str
    empty: float
    duplicates: Duplicates
    residuals: bool
    bounds: bool
    unseen: int


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
    residuals: bool = False,
    bounds: bool = False,
    unseen: int = 0,
) -> Evaluation:
    """Evaluate runs under any number of metrics, sorting once.

    Raises InputError if a file cannot be read, a grade is above a metric's, run and judgements
    share no query, a setting is unknown, or ties="average" or a gain of unjudged documents is asked
    of a metric that is no DCG. Warns with ScaleWarning if a DCG or a file has gains for more grades
    than the judgements (see `read_judgements`).

    Parameters
    ----------
    judgements, runs
        The grades and the ranked documents, in any form that `read_judgements` and `read_runs`
        accept.
    metrics : DCG, ListUtility, file or name, a mapping of names to metrics, or a list of these
        What `metric` reads, such as ``nDCG@10`` (linear gain, log2, as in trec_eval) or ``ERR@5``;
        without K, down to the last document ranked or judged. A name, its object and its file have
        the same values, and so has all that `textbook_list_metrics` returns. Other names (``AP``,
        ``P@10``) are computed by ir_measures. Those of trec_eval, ranx and MTEB mean the same
        (``ndcg_cut_10``, ``map``, ``recip_rank``, ``recall_at_100``).
    normalise : bool
        Divide by the best value that the query's documents allow (NDCG), so that every query counts
        the same; else plain. A metric with ``plain=True``, such as ERR and RBP, is never
        divided.
    ties : {"docno-desc", "stable", "average"}
        How documents with equal scores are ranked, see `ranked_grades`; with "average" they share
        the mean of their gains at all their positions, as in scikit-learn. Keep the default to
        agree with trec_eval; take "stable" if the file is in the order that users saw, "average" if
        the order of ties is chance.
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
    duplicates : {"error", "first", "last", "mean", "median", "majority"}
        What to do with a document that occurs twice for one query. "first" suits joined runs, if it
        is the one shown.
    residuals : bool
        Also compute what judging the unjudged documents could still add (C/W/L's residual): the sum
        over them of the discount times what the best grade gains over the worst, divided as the
        value is, by the ideal of the documents judged so far.
    bounds : bool
        Also find the least and the most that each value can be once all documents that the run
        shows are judged, exactly (`Evaluation.bounds`). Unlike residuals, they allow for the ideal,
        which good documents raise.
    unseen : int
        Number of documents of each query that no run shows and that may be judged too: bounds allow
        for what they could add to the ideal.

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
    _check_settings(unjudged, missing, ideal, ties, unseen, bounds=bounds)
    if residuals and unjudged != "worst":
        raise InputError(f'residuals start from unjudged="worst", not {unjudged!r}; leave it out')
    call = "evaluate(judgements, runs)"
    judged, systems = read_both(judgements, runs, call, duplicates=duplicates)

    # our metrics, and those of ir_measures
    by_name = as_metrics(metrics, judged, systems)
    dcgs = {m: metric for m, metric in enumerate(by_name.values()) if not isinstance(metric, str)}
    others = {m: name for m, name in enumerate(by_name.values()) if isinstance(name, str)}
    words = [*by_name]
    for m, metric in dcgs.items():
        check_list_settings(words[m], metric, unjudged, ties, residuals=residuals, bounds=bounds)

    # what values are divided by
    n_grades = _common_scale(by_name, judged)
    queries, counts = judged_counts(judged, n_grades)
    of_judged = ideal == "judgements"
    ideals = {
        m: judged_ideal(dcg, counts, unjudged) if of_judged else None
        for m, dcg in dcgs.items()
        if normalise and not dcg.plain
    }

    # how deep lists are looked at
    depth = max((dcg.depth for dcg in dcgs.values()), default=1)
    if depth > 10_000:  # no list is so long
        depth = min(depth, longest_list(*systems))
    to_the_end = unjudged == "drop" or ties == "average" or ideal == "list"

    # evaluate run by run
    valuation = _Valuation(
        [*by_name.values()], counts, ideals, unjudged, empty, to_the_end, residuals
    )
    whole = to_the_end or others or bounds
    lists: list[RankedGrades] = []
    shown, rows = ShownLists.of(dcgs, lists, judged.n_grades, unjudged), []
    for run in systems:
        ranked = ranked_grades(judged, run, None if whole else depth, ties)
        rows.append([valuation.of(ranked, m) for m in range(len(words))])
        if bounds or shown is not None:  # else they would fill the memory
            lists.append(ranked)
    values, added, measured, share_unjudged, share_tied = (
        np.array([[found[part] for found in row] for row in rows]) for part in range(5)
    )

    # measures of ir_measures
    if others:
        values[:, list(others)] = measured_elsewhere(
            {words[m]: name for m, name in others.items()}, judged, systems, queries
        )

    _LOG.info("evaluated %d runs on %d queries under %s", len(systems), len(queries), words)
    return Evaluation(
        values,
        tuple(run.name for run in systems),
        tuple(words),
        queries,
        missing,
        share_unjudged,
        added if residuals else None,
        measured,
        Unjudged.of(judged, lists, dcgs, set(ideals), empty, unseen) if bounds else None,
        shown,
        share_tied,
        tuple(_origins(by_name, judged.n_grades)),
    )


def _origins(metrics: Mapping[str, ListMetric | str], n_grades: int | None) -> Iterator[str]:
    """Yield where the log of a learned metric differs from what it is used on."""
    for name, metric in metrics.items():
        if isinstance(metric, DCG) and metric.learned_from is not None:
            caution = metric.learned_from.caution(metric.depth, n_grades or metric.n_grades)
            if caution:
                yield f"{name}: {caution}"


@dataclass(frozen=True)
class _Valuation:
    """How lists are valued under metrics, of which those of ir_measures are names.

    `counts`, shape (Q, L), are the numbers of judged documents by grade. Metrics in `ideals` are
    divided: by these, shape (Q,) each, or where they are None by each list's own.
    """

    metrics: Sequence[ListMetric | str]
    counts: Integers
    ideals: Mapping[int, Floats | None]
    unjudged: str | float
    empty: float
    to_the_end: bool
    residuals: bool

    def of(self, ranked: RankedGrades, m: int) -> tuple[Any, ...]:
        """Return a run's values and residuals under metric m, shape (Q,) each.

        Also whether a query is measured, shape (Q,), and the shares not judged, and tied.
        """
        metric: Any = self.metrics[m]
        ours = not isinstance(metric, str)
        depth = metric.depth if ours else None

        # queries with a document that the metric values, and a judged one where it looks
        telling = valued_grades(metric)[: self.counts.shape[1]] if ours else slice(1, None)
        judged = ranked.grades[:, : None if self.to_the_end else depth] >= 0
        measured = self.counts[:, telling].any(axis=1) & judged.any(axis=1)
        facts = measured, *ranked.shares(depth)
        if not ours:
            return *np.full((2, len(self.counts)), np.nan), *facts

        # values and residuals
        value = ranked.values(metric, self.unjudged)
        more = ranked.values(metric, "best") - value if self.residuals else value
        if m in self.ideals:
            top = self.ideals[m]
            if top is None:
                top = ranked.own_ideal(metric, self.unjudged)
            value = normalised_values(value, top, self.empty)
            more = normalised_values(more, top, 0.0)

        # a query that the run lacks has no value
        return np.where(ranked.lengths > 0, value, np.nan), more, *facts


def _common_scale(metrics: Mapping[str, ListMetric | str], judged: Judgements) -> int:
    """Return the metrics' number of grades, no fewer than the judgements'; warn if one has more."""
    sizes = {name: dcg.n_grades for name, dcg in metrics.items() if not isinstance(dcg, str)}
    for name, size in sizes.items():
        if judged.n_grades > size:
            raise InputError(
                f"{judged.name}: grade {judged.n_grades - 1} has no gain in {name}, a metric of "
                f"{grades_of(size)}; map the grades of the judgements to its own (DCG.map_grades)",
                see="scales",
            )

    # metrics by name have at least two grades
    own = {name: size for name, size in sizes.items() if size > max(judged.n_grades, 2)}
    warn_of_scale(own, judged.n_grades, judged.name, stacklevel=3)
    return min(sizes.values(), default=judged.n_grades)


def _check_settings(
    unjudged: str | float, missing: str, ideal: str, ties: str, unseen: int, *, bounds: bool
) -> None:
    # each by itself
    if unjudged not in UNJUDGED and (isinstance(unjudged, str) or not np.isfinite(unjudged)):
        near = nearest(unjudged, UNJUDGED) if isinstance(unjudged, str) else ""
        raise InputError(
            f"unjudged={unjudged!r}: give a finite gain, or one of {', '.join(UNJUDGED)}{near}"
        )
    one_of(missing, "missing", get_args(Missing))
    one_of(ideal, "ideal", get_args(Ideal))

    # settings that do not go together
    if whole_number(unseen, "unseen", 0, 100_000) and not bounds:
        raise InputError("unseen documents count in bounds alone: give bounds=True (--bounds) too")
    if bounds and (unjudged, ideal, ties == "average") != ("worst", "judgements", False):
        raise InputError(
            'bounds go with unjudged="worst", ideal="judgements" and one order of the documents '
            '(ties="docno-desc" or "stable"): leave these settings out'
        )
    if unjudged == "drop" and ties == "average":
        raise InputError(
            'unjudged="drop" and ties="average" do not go together: '
            "documents moving up leave their ties"
        )


def as_metrics(
    metrics: MetricsLike, judgements: Judgements, runs: Sequence[Run] = ()
) -> dict[str, ListMetric | str]:
    """Return metrics or names by name; names of other metrics stay strings, for ir_measures."""
    by_name: dict[str, ListMetric | str] = {}
    for name, metric in labelled(metrics).items():
        if isinstance(metric, (str, os.PathLike)):
            label, read = named(metric, judgements, runs)
            by_name[label if metric == name else name] = read
        else:
            by_name[name] = metric_or_name(metric, accept=SCORING, name=f"metric {name!r}")
    if not by_name:
        raise InputError("there is no metric to evaluate by")
    return by_name


def named(
    word: PathLike, judgements: Judgements, runs: Sequence[Run] = ()
) -> tuple[str, ListMetric | str]:
    """Return a name with a depth (the longest list's by default) and its metric, if it is ours."""
    name = os.fspath(word)
    # names of other tools
    forms = (ListMetricName, ReaderName)
    is_one = is_metric_file(word) or any(form.is_one(name) for form in forms)
    ours = is_one or re.match(r"[a-z0-9.]+-", name)
    if not ours and not re.fullmatch(r"n?dcg(@.*)?", name, re.IGNORECASE):
        usual = usual_name(name)
        return name, usual if usual == name else named(usual, judgements, runs)[1]

    # ours, and files
    parsed = metric_or_name(word, accept=SCORING)
    if not isinstance(parsed, NamedMetric):
        return name, parsed
    depth = parsed.depth or parsed.deep(longest_list(judgements, *runs))
    n_grades = max(judgements.n_grades, 2)
    return parsed.at(depth), read_metric(parsed, n_grades, depth, accept=SCORING)


def longest_list(*tables: Run | Judgements) -> int:
    """Return the largest number of documents of a query."""
    longest: list[Any] = [table.frame["query"].value_counts()["count"].max() for table in tables]
    return max(int(n or 1) for n in longest)
