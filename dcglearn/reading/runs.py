"""Runs: the documents that a system ranked for each query."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, PolarsFrame, is_frame, is_records
from dcglearn.reading.judgements import (
    Duplicates,
    Judgements,
    JudgementsLike,
    judged_by,
    without_duplicates,
)

if TYPE_CHECKING:
    from dcglearn.reading.document_rows import DocumentRows, OwnNames

RunsLike: TypeAlias = Any
"""A `Run`, a path, a data frame, a dict ``{query: {document: score}}``, or a list of runs."""


@dataclass(frozen=True, eq=False)
class Run:
    """The documents that a system ranked.

    `frame` has the columns ``query``, ``document`` (text) and ``score`` (float), in the order of
    the file; `name` is the system's.

    See Also
    --------
    read_runs : Read them from any supported form.

    Examples
    --------
    >>> [run] = dl.read_runs({"mine": {"q1": {"a": 1.5, "b": 2.5}}})
    >>> run.name, run.frame["document"].to_list()
    ('mine', ['a', 'b'])
    """

    frame: PolarsFrame
    name: str

    def __repr__(self) -> str:
        queries = number_of(self.frame["query"].n_unique(), "queries", ",")
        return f"Run({self.name!r}, {number_of(len(self.frame), 'documents', ',')}, {queries})"


def in_order(lines: PolarsFrame, ties: str = "docno-desc") -> PolarsFrame:
    """Return lines of ``query``, ``score`` and ``document`` by query and rank, as in trec_eval.

    Scores are compared as float32; equal ones keep their order unless `ties` is "docno-desc".
    """
    import polars as pl

    keys = ["query", pl.col("score").cast(pl.Float32), "document"]
    n_keys = 3 if ties == "docno-desc" else 2
    falls = [False, True, True]
    return lines.sort(keys[:n_keys], descending=falls[:n_keys], maintain_order=True)


def read_runs(
    runs: RunsLike,
    *,
    duplicates: Duplicates = "error",
    columns: Mapping[str, str] | str | None = None,
) -> list[Run]:
    """Return runs, reading them if paths are given.

    Warnings are those of `read_judgements`; another one names a run whose scores rise with its
    ranks. Raises InputError if there is no run, two have the same name, a column is missing, or a
    file cannot be read.

    Parameters
    ----------
    runs : Run, path, data frame, dict, or a list of runs
        As for `read_judgements`, with scores in place of grades, or ranks where no row has a score;
        a table of several runs also has a column of their names. TREC's lines are ``query Q0
        document rank score run``. Dictionaries are ``{query: {document: score}}``, with pairs or
        records of documents and scores, or documents alone, the best first, in place of the inner
        one. Several systems are ``{name: run}``, each in any of these forms. Runs of one name in
        several files are told apart by the names of these.
    duplicates : {"error", "first", "last"}
        What to do with a document ranked twice for one query.
    columns : mapping or str, optional
        The table's own columns by the usual name, as in `read_judgements`.

    See Also
    --------
    read_judgements : Read the grades.

    Examples
    --------
    >>> [run.name for run in dl.read_runs({"old": {"q": {"a": 1.0}}, "new": {"q": {"b": 1.0}}})]
    ['old', 'new']
    """
    from dcglearn.reading.columns import own_names
    from dcglearn.reading.document_rows import OwnNames

    return _runs_by(runs, OwnNames(own_names(columns)), duplicates)


def read_both(
    judgements: JudgementsLike,
    runs: RunsLike,
    *,
    duplicates: Duplicates = "error",
    columns: Mapping[str, str] | str | None = None,
    n_grades: int | None = None,
    scale: Sequence[Any] | str | None = None,
) -> tuple[Judgements, list[Run]]:
    """Return judgements and runs, reading them if paths are given.

    A column that is named is one of the judgements, of the runs or of both. Warns of queries whose
    names differ in capitals or Unicode's form alone, and of numbers that look exchanged.
    """
    from dcglearn.reading.columns import own_names
    from dcglearn.reading.document_rows import AFTER, OwnNames, warn_of_twins

    own = OwnNames(own_names(columns), is_shared=True)
    judged = judged_by(judgements, own, duplicates=duplicates, n_grades=n_grades, scale=scale)
    read = _runs_by(runs, own, duplicates)
    own.check()
    # names of queries in two forms, and scores in place of grades
    for run in read:
        warn_of_twins(f"{run.name} and {judged.name}", run.frame["query"], judged.frame["query"])
        is_whole = judged.n_grades is None and (run.frame["score"] % 1 == 0).all()
        if is_whole and run.frame.select("query", "score").is_duplicated().any():
            warnings.warn(
                f"{judged.name} has fractions, and {run.name} whole numbers that are often the "
                f"same: if they are exchanged, {AFTER}",
                stacklevel=2,
            )
    return judged, read


def _runs_by(runs: RunsLike, own: OwnNames, duplicates: Duplicates) -> list[Run]:
    """Return runs of different names, whose columns may have names of their own."""
    sources = runs if isinstance(runs, (list, tuple)) and not is_records(runs) else [runs]
    read = [
        (file, run)
        for i, source in enumerate(sources)
        for file, run in _systems(f"run {i + 1}", source, own, duplicates)
    ]
    if not read:
        raise InputError("there is no run to evaluate")

    # runs of one name in several files have the names of these, with their folders if need be
    counts = Counter(run.name for _, run in read)
    files = {file for file, run in read if counts[run.name] > 1}
    if all(map(is_path, sources)):
        has_twins = len({Path(file).name for file in files}) < len(files)
        for i, (file, run) in enumerate(read):
            if counts[run.name] > 1:
                title = file if has_twins else Path(file).name
                read[i] = (file, replace(run, name=f"{title} {run.name}"))

    for name, n in Counter(run.name for _, run in read).items():
        if n > 1:
            raise InputError(f"several runs are called {name}: give each its own name")
    return [run for _, run in read]


def _systems(
    name: str, source: Any, own: OwnNames, duplicates: Duplicates
) -> Iterator[tuple[str, Run]]:
    """Yield the runs in a source, each with the name of its file."""
    from dcglearn.reading.contract import RUN
    from dcglearn.reading.document_rows import opened, rows_of
    from dcglearn.reading.tables import files_of

    if isinstance(source, Run):
        from dcglearn.reading.document_rows import DocumentRows

        rows = DocumentRows(source.name, source.frame, str)
        kept = source.frame if duplicates == "error" else without_duplicates(rows, duplicates)
        yield name, replace(source, frame=kept)
    elif is_path(source):
        for path in files_of(source):
            file, value = opened(path, RUN, own)
            yield from ((file, run) for _, run in _systems(file, value, own, duplicates))
    elif isinstance(source, Mapping) and any(map(_is_system, source.values())):
        for label, system in source.items():
            its = [run for _, run in _systems(str(label), system, own, duplicates)]
            if len(its) != 1:
                raise InputError(f"{label}: {len(its)} runs under one name; give one")
            yield name, replace(its[0], name=str(label))
    else:
        rows = _scored(rows_of(name, source, RUN, own))
        yield from ((name, run) for run in _runs_in(rows, duplicates))


def _is_system(value: Any) -> bool:
    """Return whether a value of a dictionary is a whole run, and not the documents of a query."""
    if isinstance(value, Mapping):
        inner = value.values()
        return any(isinstance(part, Mapping | list | tuple) or is_frame(part) for part in inner)
    if is_frame(value) or (is_records(value) and isinstance(value[0], Mapping)):
        from dcglearn.reading.columns import find
        from dcglearn.reading.contract import KEYS
        from dcglearn.reading.tables import polars_frame

        names = polars_frame(value).columns if is_frame(value) else [*value[0]]
        return bool(find(names, {"query": replace(KEYS["query"], required=False)}))
    return isinstance(value, Run | str | os.PathLike)


def _scored(rows: DocumentRows) -> DocumentRows:
    """Return rows with scores, which ranks give where no row has one; warn if these contradict."""
    from dcglearn.reading.document_rows import numbers, warn_of_twins
    from dcglearn.reading.tables import Refusals

    refusals = Refusals(rows)
    roles = [role for role in ("score", "rank") if role in rows.frame]
    found = {role: numbers(role, rows, refusals) for role in roles}
    warn_of_twins(rows.name, rows.frame["query"])

    # ranks beside scores may be any text
    score, rank = found.get("score"), found.get("rank")
    if score is not None and not score.is_null().all():
        refusals.kinds = [kind for kind in refusals.kinds if kind[1].startswith("score")]
        refusals.check()
        remedy = "" if rank is None else "columns={'score': ''} takes the ranks"
        refusals.add(score.is_null(), "score is missing", remedy)
        refusals.check()
        frame = rows.frame.with_columns(score=score)
        if rank is not None:
            _check_ranks(rows.name, frame.with_columns(rank=rank))
        return replace(rows, frame=frame.drop("rank", strict=False))

    # ranks alone
    if rank is None:
        raise InputError(f"{rows.name} holds no score")
    refusals.check()
    refusals.add(rank.is_null(), "rank is missing")
    keys = [role for role in ("run", "query") if role in rows.frame]
    shared = rows.frame.select(*keys, rank.alias("rank")).is_duplicated()
    refusals.add(shared, "occurs twice in the query, and there are no scores: the rank", "", rank)
    refusals.check()
    return replace(rows, frame=rows.frame.with_columns(score=-rank).drop("rank"))


def _check_ranks(name: str, frame: PolarsFrame) -> None:
    """Raise InputError if ranks and scores are exchanged; warn if they rise together."""
    import polars as pl

    rank, score = frame["rank"], frame["score"]
    if rank.null_count():
        return
    if ((rank % 1 != 0) | (rank < 0)).any():  # these are no ranks
        if (rank % 1 != 0).any() and (score % 1 == 0).all():
            raise InputError(f"{name}: rank and score seem exchanged: the rank {rank[0]:g} is none")
        return

    # on the first lines, then on all
    keys = [role for role in ("run", "query") if role in frame]
    for lines in (frame[:1000], frame.sort(*keys, "rank")):
        same = pl.all_horizontal(pl.col(key) == pl.col(key).shift() for key in keys)
        steps = lines.select(pl.col("rank", "score").diff(), same=same).filter("same")
        few = 10  # which junk may take by chance
        if len(steps) < few or not ((steps["rank"] * steps["score"]) > 0).all():
            return
    warnings.warn(
        f"{name}: scores rise with the ranks in every query, so the document of rank 1 comes last: "
        "the highest score counts as the best; negate the scores if the lowest is",
        stacklevel=2,
    )


def _runs_in(rows: DocumentRows, duplicates: Duplicates) -> list[Run]:
    """Return the runs in a table, one per name in its column ``run``, or else one of its file."""
    keys = [role for role in ("run", "query", "document") if role in rows.frame]
    frame = without_duplicates(rows, duplicates, keys)
    if "run" not in keys:
        return [Run(frame, Path(rows.name).name)]
    parts = [frame]
    if (frame["run"] != frame["run"][0]).any():
        parts = frame.partition_by("run", maintain_order=True)
    return [Run(part.drop("run"), str(part["run"][0])) for part in parts]
