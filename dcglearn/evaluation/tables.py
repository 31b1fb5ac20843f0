"""Runs and judgements from TREC files, JSON, Parquet, CSV, data frames and nested dictionaries."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from dcglearn.evaluation.cutoffs import Cutoffs
from dcglearn.evaluation.trec import judgements_of, runs_of, without_duplicates
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.validation import InputError
from dcglearn.reading.contract import JUDGED, KEYS, RUN
from dcglearn.reading.judgements import Duplicates, Judgements
from dcglearn.reading.runs import Run

RunsLike: TypeAlias = Any
"""A `Run`, a path, a data frame, a dict ``{query: {document: score}}``, or a list of runs."""

JudgementsLike: TypeAlias = Any
"""`Judgements`, paths, a data frame, or a dictionary ``{query: {document: grade}}``."""

Given = TypeVar("Given", Judgements, Run)


def read_judgements(
    judgements: JudgementsLike,
    *,
    duplicates: Duplicates = "error",
    n_grades: int | None = None,
    scale: Sequence[Any] | None = None,
    cutoffs: Cutoffs = None,
) -> Judgements:
    """Return judgements, reading them if a path is given.

    Raises InputError if a column is missing, a value has the wrong type, a grade is off the scale,
    the top grade is rare and stands apart from the others (`n_grades` insists on it), or a file is
    bad.

    Parameters
    ----------
    judgements : Judgements, path, several paths, data frame or dict
        Tables have columns for query, document and grade, under any of the usual names (``query_id,
        doc_id, relevance``; ``qid, docno, label``; ...); data frames may be polars', pandas', or
        any with ``columns``; dictionaries are ``{query: {document: grade}}``, as in pytrec_eval.
        Paths ending in .jsonl, .json, .csv, .tsv, .xlsx or .parquet are read as tables, all others
        as TREC files; exports of Quepid and OpenSearch are recognised. A list of paths, a folder
        or a pattern may hold several, which are read as one. OpenSearch's ratings of ESCI labels,
        100, 10, 1 and 0, become the grades 3, 2, 1 and 0 unless `scale` says otherwise.
    duplicates : {"error", "first", "last", "mean", "median", "majority"}
        What to do with a document judged twice for one query. Take "last" where later lines correct
        earlier ones, and one of the others where raters differ; of several most frequent grades the
        worst counts.
    n_grades : int, optional
        Number of grades of their scale; by default the largest grade plus 1. Give it if the top
        grade may not occur, or to insist on one that stands apart.
    scale : sequence or str, optional
        Their grades, worst first, as in `read_preferences`: ``"Bad,Fair,Good"`` or ``[0, 1, 10,
        100]``.
    cutoffs : str, sequence of float or int, optional
        For grades that are fractions from 0 to 1: where they are cut into levels, as in
        `read_preferences`.

    See Also
    --------
    read_runs : Read what systems ranked.

    Examples
    --------
    >>> dl.read_judgements({"q1": {"a": 2, "b": 0}}, n_grades=5).n_grades
    5
    >>> judged = dl.read_judgements({"q1": {"a": 100, "b": 0}}, scale=[0, 1, 10, 100])
    >>> judged.frame["grade"].to_list()
    [3.0, 0.0]
    """
    if isinstance(judgements, Judgements):
        for name, value in (("scale", scale), ("cutoffs", cutoffs)):
            if value is not None:
                raise InputError(
                    f"{judgements.name}: {name}={value!r} is for grades as they stand in a file, "
                    "but these judgements have been read; give it where they are"
                )
        read = _deduplicated(judgements, duplicates)
        return read if n_grades is None else replace(read, n_grades=n_grades)

    from dcglearn.evaluation.placed_tables import joined, placed_tables
    from dcglearn.evaluation.tool_files import grades_of_labels
    from dcglearn.reading.scale import Scale

    # the names of the grades
    if scale is not None and cutoffs is not None:
        raise InputError("cutoffs= makes the scale: leave out scale=")
    levels = Scale.of(scale, n_grades)

    # files, tables, nested dictionaries
    tables = placed_tables(judgements, "judgements", JUDGED, levels, cutoffs)
    one = tables[0] if len(tables) == 1 else joined(f"{len(tables):,} files", tables)
    frame = one.frame
    if one.has_labels and scale is None and cutoffs is None:
        frame = grades_of_labels(one.name, frame)
    return judgements_of(
        frame,
        one.name,
        one.place,
        duplicates,
        n_grades=n_grades,
        names=levels.names,
        cutoffs=cutoffs,
    )


def read_runs(runs: RunsLike, *, duplicates: Duplicates = "error") -> list[Run]:
    """Return runs, reading them if paths are given.

    Raises InputError if there is no run, two have the same name, a column is missing, or a file
    cannot be read.

    Parameters
    ----------
    runs : Run, path, data frame, dict, or a list of runs
        As for `read_judgements`, with scores or ranks instead of grades; a table of several runs
        also has a column of their names; dictionaries are ``{query: {document: score}}`` or ``{run:
        {query: {document: score}}}``, with lists of documents, the best first, in place of scores.
        Quepid's snapshots, runs of MS MARCO (query, document and rank without a header),
        predictions of sentence-transformers and files of ranx (.lz4 where lz4 is installed) are
        recognised. Runs of one name in several files are told apart by the names of these.
    duplicates : {"error", "first", "last"}
        What to do with a document ranked twice for one query.

    See Also
    --------
    read_judgements : Read the grades.

    Examples
    --------
    >>> [run.name for run in dl.read_runs({"old": {"q": {"a": 1.0}}, "new": {"q": {"b": 1.0}}})]
    ['old', 'new']
    """
    sources = runs if isinstance(runs, (list, tuple)) else [runs]
    read = [
        (file, run)
        for i, source in enumerate(sources)
        for file, run in _runs(source, f"run {i + 1}", duplicates)
    ]
    if not read:
        raise InputError("there is no run to evaluate")

    # name runs of several files by their files, with their folders if need be
    counts = Counter(run.name for _, run in read)
    if all(map(is_path, sources)):
        files = {file for file, run in read if counts[run.name] > 1}
        has_twins = len({Path(file).name for file in files}) < len(files)
        for i, (file, run) in enumerate(read):
            if counts[run.name] > 1:
                title = file if has_twins else Path(file).name
                read[i] = (file, replace(run, name=f"{title} {run.name}"))

    for name, n in Counter(run.name for _, run in read).items():
        if n > 1:
            raise InputError(f"several runs are called {name}: give each its own name")
    return [run for _, run in read]


@contextlib.contextmanager
def judgements_first(
    judgements: Any,
    runs: Any,
    call: str,
    first: str = "the first argument",
    second: str = "the second",
) -> Iterator[None]:
    """Raise InputError if runs stand where judgements belong, and judgements where runs do.

    Both are read within the context. Their order is wrong if the reading fails, and succeeds the
    other way round. `call` and the places are for the message.
    """
    swapped = f"{first} holds runs, {second} judgements; give judgements first: {call}"
    sources = runs if isinstance(runs, (list, tuple)) else [runs]
    n_levels = _n_levels(judgements)

    # other sources are swapped if they can be read the other way round alone
    try:
        yield
    except InputError as error:
        alike = n_levels == 2 and all(_n_levels(source) == 2 for source in sources)
        if alike or not (_is_read(judgements, read_runs) and any(map(_is_read, sources))):
            raise
        raise InputError(swapped) from error


def read_both(
    judgements: JudgementsLike,
    runs: RunsLike,
    call: str,
    *places: str,
    duplicates: Duplicates = "error",
    **_: Any,
) -> tuple[Judgements, list[Run]]:
    """Return judgements and runs, reading them if paths are given; see `judgements_first`.

    Of the settings of an evaluation, reading knows `duplicates` alone.
    """
    with judgements_first(judgements, runs, call, *places):
        read = read_judgements(judgements, duplicates=duplicates)
        return read, read_runs(runs, duplicates=duplicates)


def _n_levels(values: Any) -> int:
    """Return the levels of nested dictionaries; 0 for other values."""
    n_levels = 0
    while isinstance(values, Mapping):
        n_levels, values = n_levels + 1, next(iter(values.values()), None)
    return n_levels


def _is_read(source: Any, read: Callable[[Any], Any] = read_judgements) -> bool:
    """Return whether a function can read a source."""
    with contextlib.suppress(InputError):
        read(source)
        return True
    return False


def _runs(source: Any, name: str, duplicates: Duplicates) -> Iterator[tuple[str, Run]]:
    """Yield the runs in a source, each with the name of its file."""
    if isinstance(source, Run):
        yield name, _deduplicated(source, duplicates)
        return
    from dcglearn.evaluation.placed_tables import by_rank, placed_tables

    for table in placed_tables(source, name, RUN):
        for run in runs_of(by_rank(table.frame, table.name), table.name, duplicates):
            yield table.name, run


def _deduplicated(table: Given, duplicates: Duplicates) -> Given:
    """Return one row per query and document, if `duplicates` says which row to keep."""
    if duplicates == "error":  # refused where they were read
        return table
    return replace(table, frame=without_duplicates(table.name, table.frame, [*KEYS], duplicates))
