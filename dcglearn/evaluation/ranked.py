"""Runs joined with judgements: the grades of the documents that a run ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dcglearn.evaluation.kernel import TIES, Lists, ranked
from dcglearn.foundation.validation import InputError, Integers, PolarsFrame, listed, one_of
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run


def judged_documents(judgements: Judgements) -> tuple[tuple[str, ...], Integers, Any]:
    """Return the judged queries, in order, where each begins, and the grades of their documents."""
    queries = judgements.frame["query"].unique().sort()
    lines, offsets = _lines_of(judgements.frame["query"], queries)
    return tuple(queries), offsets, _grades(judgements.frame["grade"], judgements)[lines]


def ranked_lists(
    judgements: Judgements, run: Run, depth: int | None = None, ties: str = "docno-desc"
) -> Lists:
    """Return a run's lists for all judged queries, whole or down to a depth; see `ranked`.

    Scores are compared as float32, as in trec_eval. Raises InputError if run and judgements
    have no query in common.
    """
    import polars as pl

    one_of(ties, "ties", TIES)
    queries = judgements.frame["query"].unique().sort()
    lines, offsets = _lines_of(run.frame["query"], queries)
    if not len(lines):
        raise InputError(
            f"run {run.name} has no query of the {len(queries)} that are judged: do the names "
            f"agree? {listed(run.frame['query'][:1])} is ranked, {listed(queries[:1])} judged"
        )

    # rank, and look up the grades of the first documents only
    documents = run.frame.select("query", "document")
    scores = run.frame["score"].cast(pl.Float32).cast(pl.Float64).to_numpy()[lines]

    # with numbers in the order of the names
    lists = ranked(
        offsets,
        scores,
        lambda rows: _grades_of(documents[lines[rows]], judgements),
        depth,
        ties,
        lambda rows: documents["document"][lines[rows]].rank("dense").to_numpy() - 1,
    )
    return replace(lists, rows=lines[lists.rows])


def _lines_of(names: Any, queries: Any) -> tuple[Integers, Integers]:
    """Return the lines of all queries, those of each together, and where each query begins."""
    # a query's lines often adjoin, so look up the first of each run of lines
    adjoining = names.rle().struct
    numbers = adjoining.field("value").replace_strict(queries, np.arange(len(queries)), default=-1)
    query = np.repeat(numbers.to_numpy(), adjoining.field("len").to_numpy())

    # those that are judged
    lines = np.flatnonzero(query >= 0)
    query = query[lines]
    if (np.diff(query) < 0).any():
        lines = lines[np.argsort(query, kind="stable")]
    return lines, np.append(0, np.cumsum(np.bincount(query, minlength=len(queries))))


def _grades_of(documents: PolarsFrame, judgements: Judgements) -> Any:
    """Return the grades of documents, -1 for one that is not judged, shape (n,)."""
    graded = documents.join(
        judgements.frame, on=["query", "document"], how="left", maintain_order="left"
    )
    return _grades(graded["grade"].fill_null(-1), judgements)


def _grades(grade: Any, judgements: Judgements) -> Any:
    """Return grades as an array, of whole numbers if they are levels."""
    return grade.to_numpy().astype(np.int64 if judgements.n_grades else np.float64)
