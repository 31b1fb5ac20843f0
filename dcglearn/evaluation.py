"""Runs and judgements in, DCG and NDCG of every query under any number of metrics out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.dcg import DCG
from dcglearn.ranked import RankedGrades, judged_documents, ranked_grades
from dcglearn.trec import Judgements, Run, read_judgements, read_runs
from dcglearn.validation import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Metrics = Mapping[str, DCG] | Sequence[str] | DCG | str
    Runs = Iterable[Run] | Run | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

IDEALS = ("judgements", "list")
MISSING = ("zero", "skip")
UNJUDGED = ("worst", "best", "drop")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What every query of every run is worth under every metric; prints as a table of means.

    Attributes
    ----------
    values : ndarray, shape (R, M, Q)
        By run, metric and query; NaN where the run does not have the query.
    runs, metrics, queries : tuple of str
        What the axes are called.
    missing : {"zero", "skip"}
        Whether a query that a run does not have counts as 0 in its mean.
    unjudged : ndarray, shape (R,)
        Share of the positions looked at where the document is not judged.
    """

    values: Floats
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    queries: tuple[str, ...]
    missing: str
    unjudged: Floats

    @property
    def filled(self) -> Floats:
        """Values with 0 for missing queries, where they count as that, shape (R, M, Q)."""
        return np.nan_to_num(self.values, nan=0.0) if self.missing == "zero" else self.values

    @property
    def means(self) -> Floats:
        """Mean over queries, shape (R, M)."""
        found: Floats = np.nanmean(self.filled, axis=2)
        return found

    @property
    def n_missing(self) -> NDArray[np.intp]:
        """How many judged queries each run does not have, shape (R,)."""
        count: NDArray[np.intp] = np.isnan(self.values[:, 0]).sum(axis=1)
        return count

    def frame(self, *, by_query: bool = True) -> pl.DataFrame:
        """Return columns ``run``, ``query_id``, ``measure``, ``value``; rows of query ``all`` are means."""
        import polars as pl

        parts = [(*self.queries, "all")] if by_query else [("all",)]
        table = np.concatenate([self.filled, self.means[:, :, None]], axis=2) if by_query else self.means[:, :, None]
        n = len(parts[0])
        return pl.DataFrame(
            {
                "run": np.repeat(self.runs, len(self.metrics) * n),
                "query_id": np.tile(parts[0], len(self.runs) * len(self.metrics)),
                "measure": np.tile(np.repeat(self.metrics, n), len(self.runs)),
                "value": table.ravel(),
            }
        ).filter(pl.col("value").is_not_nan())

    def ordered(self) -> Evaluation:
        """Return the same with the runs in order of their means under the first metric, best first."""
        best = np.argsort(-self.means[:, 0], kind="stable")
        names = tuple(self.runs[i] for i in best)
        return replace(self, values=self.values[best], runs=names, unjudged=self.unjudged[best])

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.runs, "run"))
        columns = [max(len(name), 6) for name in self.metrics]
        head = f"{'run':<{width}}" + "".join(f"  {name:>{w}}" for name, w in zip(self.metrics, columns, strict=True))
        rows = [
            f"{run:<{width}}" + "".join(f"  {x:>{w}.4f}" for x, w in zip(row, columns, strict=True))
            for run, row in zip(self.runs, self.means, strict=True)
        ]
        how = "count as 0" if self.missing == "zero" else "are left out"
        lacking = [f"{run} {n}" for run, n in zip(self.runs, self.n_missing, strict=True) if n]
        notes = [f"queries that are missing {how}: {', '.join(lacking)}"] if lacking else []
        if self.unjudged.max() > 0:
            notes.append(f"not judged: up to {self.unjudged.max():.1%} of the positions looked at")
        return "\n".join([head, *rows, f"({len(self.queries)} queries)", *notes])


def evaluate(
    runs: Runs,
    judgements: Judgements | str | os.PathLike[str],
    metrics: Metrics = "nDCG@10",
    *,
    normalise: bool = True,
    ties: str = "docno-desc",
    unjudged: str | float = "worst",
    missing: str = "zero",
    ideal: str = "judgements",
    empty: float = 0.0,
) -> Evaluation:
    """Evaluate runs under any number of metrics, sorting once.

    Parameters
    ----------
    runs : Run, path, or several
        What systems ranked: of `read_runs`, or TREC files.
    judgements : Judgements or path
        The grades: of `read_judgements`, or a TREC file.
    metrics : mapping of str to DCG, DCG, or names
        ``nDCG@10`` (linear gain, log2, as trec_eval has it) or ``GAIN-DISCOUNT[@K]``; without K, down to the longest
        list.
    normalise : bool
        Divide by the best DCG that the query's documents allow (NDCG); else plain DCG.
    ties : {"docno-desc", "stable"}
        How documents of one score are ordered, see `ranked_grades`.
    unjudged : {"worst", "best", "drop"} or float
        What a document without a judgement counts as: the worst grade, the best, nothing (those below move up), or
        this gain. "worst" and "best" are the bounds of what judging everything could give.
    missing : {"zero", "skip"}
        Whether judged queries that a run does not have count as 0 in its mean.
    ideal : {"judgements", "list"}
        The documents that the best ranking is made of: all that are judged, or those in the run's own list.
    empty : float
        NDCG of a query whose best ranking is worth nothing.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If a file cannot be read, a grade is above a metric's, run and judgements share no query, or a setting is
        unknown.

    Examples
    --------
    >>> import polars as pl
    >>> judged = Judgements(pl.DataFrame({"query": ["q", "q"], "document": ["d", "e"], "grade": [3, 1]}))
    >>> run = Run(pl.DataFrame({"query": ["q", "q"], "document": ["e", "d"], "score": [2.0, 1.0]}), "mine")
    >>> print(evaluate(run, judged, ["nDCG@10", "exponential-log2@10"]))
    run   nDCG@10  exponential-log2@10
    mine   0.7967               0.7098
    (1 queries)
    """
    _check_settings(unjudged, missing, ideal)
    judged = judgements if isinstance(judgements, Judgements) else read_judgements(judgements)
    systems = as_runs(runs)
    dcgs = as_metrics(metrics, judged, systems)
    depth = max(dcg.depth for dcg in dcgs.values())
    n_grades = min(dcg.n_grades for dcg in dcgs.values())
    if judged.n_grades > n_grades:
        raise InputError(f"{judged.name}: grade {judged.n_grades - 1} has no gain in a metric of {n_grades} grades")
    queries, documents = judged_documents(judged, n_grades, depth)
    tops = [dcg.ideal(documents) for dcg in dcgs.values()]
    values = np.empty((len(systems), len(dcgs), len(queries)))
    share = np.empty(len(systems))
    for r, system in enumerate(systems):
        ranked = ranked_grades(system, judged, None if unjudged == "drop" else depth, ties)
        share[r] = 1 - float((ranked.grades >= 0).sum() / np.minimum(ranked.lengths, ranked.grades.shape[1]).sum())
        for m, dcg in enumerate(dcgs.values()):
            lists, extra = _lists(dcg, ranked, unjudged)
            value = dcg.score(lists) + extra
            if normalise:
                top = tops[m] if ideal == "judgements" else dcg.ideal(lists)
                value = np.where(top > 0, value / np.where(top > 0, top, 1.0), empty)
            values[r, m] = np.where(ranked.lengths > 0, value, np.nan)
    return Evaluation(values, tuple(run.name for run in systems), tuple(dcgs), queries, missing, share)


def _check_settings(unjudged: str | float, missing: str, ideal: str) -> None:
    if isinstance(unjudged, str) and unjudged not in UNJUDGED:
        raise InputError(f"unjudged={unjudged!r}: give a gain, or one of {', '.join(UNJUDGED)}")
    for name, value, known in (("missing", missing, MISSING), ("ideal", ideal, IDEALS)):
        if value not in known:
            raise InputError(f"{name}={value!r}: give one of {', '.join(known)}")


def _lists(dcg: DCG, ranked: RankedGrades, unjudged: str | float) -> tuple[NDArray[np.int8], Floats | float]:
    """Return the lists that a metric scores, and what unjudged documents add to that."""
    if unjudged == "drop":
        first = np.argsort(ranked.grades < 0, axis=1, kind="stable")[:, : dcg.depth]
        return np.take_along_axis(ranked.grades, first, axis=1), 0.0
    lists = ranked.grades[:, : dcg.depth]
    holes = ranked.ranked[:, : dcg.depth] & (lists < 0)
    if isinstance(unjudged, str):
        return np.where(holes, 0 if unjudged == "worst" else dcg.n_grades - 1, lists).astype(np.int8), 0.0
    return lists, unjudged * (holes @ dcg.discounts[: lists.shape[1]])


def as_runs(runs: Runs) -> list[Run]:
    """Return runs, read where paths are given.

    Raises
    ------
    InputError
        If there is none, or two have one name.
    """
    if isinstance(runs, Run):
        return [runs]
    if isinstance(runs, str) or not hasattr(runs, "__iter__"):
        return read_runs(runs)
    given: list[Any] = [*runs]  # type: ignore[misc]
    found: list[Run] = given if all(isinstance(run, Run) for run in given) else read_runs(given)
    if not found:
        raise InputError("there is no run to evaluate")
    repeated = {run.name for run in found if sum(other.name == run.name for other in found) > 1}
    if repeated:
        raise InputError(f"several runs are called {sorted(repeated)[0]}: give each its own name")
    return found


def as_metrics(metrics: Metrics, judgements: Judgements, runs: Sequence[Run] = ()) -> dict[str, DCG]:
    """Return metrics by name; names without a depth reach down to the longest list of the runs.

    Raises
    ------
    InputError
        If there is none, or a name is not one of `DCG.from_name` or ``nDCG[@K]``.
    """
    if isinstance(metrics, DCG):
        return {"DCG": metrics}
    if not isinstance(metrics, dict):
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        metrics = {name: metric_named(name, judgements.n_grades, runs) for name in names}
    if not metrics:
        raise InputError("there is no metric to evaluate by")
    return dict(metrics)


def metric_named(name: str, n_grades: int, runs: Sequence[Run] = ()) -> DCG:
    """Return the metric called ``nDCG[@K]``, as trec_eval has it, or ``GAIN-DISCOUNT[@K]``."""
    match = re.fullmatch(r"n?dcg(?:@(\d+))?", name, re.IGNORECASE)
    full = f"linear-log2@{match.group(1)}" if match and match.group(1) else "linear-log2" if match else name
    return DCG.from_name(full, max(n_grades, 2), max(1, *(_longest(run) for run in runs)) if runs else 1000)


def _longest(run: Run) -> int:
    return int(run.frame["query"].value_counts()["count"].max() or 1)  # type: ignore[arg-type]
