"""Runs: the documents that a system ranked for each query."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.sources import expand_paths, is_path
from dcglearn.foundation.validation import InputError, PolarsFrame, is_records
from dcglearn.reading.judgements import Duplicates, Judgements, JudgementsLike, read_judgements

if TYPE_CHECKING:
    from dcglearn.reading.columns import OwnNames

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


def read_runs(
    runs: RunsLike,
    *,
    duplicates: Duplicates = "error",
    columns: Mapping[str, str] | str | OwnNames | None = None,
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
        document rank score run``. Dictionaries are ``{query: {document: score}}``. Several systems
        are ``{name: run}``, each in any of these forms. Runs of one name in several files are told
        apart by the names of these.
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
    # a list of sources, or one
    own = columns or {}
    sources = runs if isinstance(runs, list | tuple) and not is_records(runs) else [runs]
    read: list[tuple[str, Run]] = []
    for i, source in enumerate(sources, 1):
        read += _systems(f"run {i}", source, own, duplicates)
    if not read:
        raise InputError("there is no run to evaluate")

    # runs of one name in several files have the names of these too
    counts = Counter(run.name for _, run in read)
    files = {file for file, run in read if counts[run.name] > 1}
    has_twins = len({Path(file).name for file in files}) < len(files)
    named = []
    for file, run in read:
        title = f"{file if has_twins else Path(file).name} {run.name}"
        clashes = counts[run.name] > 1 and all(map(is_path, sources))
        named.append(replace(run, name=title) if clashes else run)
    name, n = Counter(run.name for run in named).most_common(1)[0]
    if n > 1:
        raise InputError(f"several runs are called {name}: give each its own name")
    return named


def read_both(
    judgements: JudgementsLike,
    runs: RunsLike,
    *,
    duplicates: Duplicates = "error",
    columns: Mapping[str, str] | str | None = None,
    **scale: Any,
) -> tuple[Judgements, list[Run]]:
    """Return judgements and runs, reading them if paths are given.

    A column that is named is one of the judgements, of the runs or of both. Warns of queries whose
    names differ in capitals or Unicode's form alone, and of numbers that look exchanged. `scale`
    has `n_grades` and `scale` of the judgements.
    """
    from dcglearn.reading.columns import SharedNames, own_names
    from dcglearn.reading.documents import warn_of_twins
    from dcglearn.reading.trec import ORDER

    own = SharedNames(own_names(columns))
    judged = read_judgements(judgements, duplicates=duplicates, columns=own, **scale)
    read = read_runs(runs, duplicates=duplicates, columns=own)
    own.check()

    # names of queries in two forms, and scores in place of grades
    for run in read:
        warn_of_twins(f"{run.name}, {judged.name}", run.frame["query"], judged.frame["query"])
        is_whole = judged.n_grades is None and (run.frame["score"] % 1 == 0).all()
        if is_whole and run.frame.select("query", "score").is_duplicated().any():
            warnings.warn(
                f"{judged.name} has fractions, and {run.name} whole numbers that are often the "
                f"same: if they are exchanged, {ORDER}",
                stacklevel=2,
            )
    return judged, read


def _systems(
    name: str, source: Any, own: OwnNames, duplicates: Duplicates
) -> Iterator[tuple[str, Run]]:
    """Yield the runs in a source, each with the name of its file."""
    from dcglearn.reading.contract import RUN
    from dcglearn.reading.documents import documents_of, opened, scored, without_duplicates

    if isinstance(source, Run):
        yield name, source
    elif isinstance(source, list) and source and all(isinstance(one, Run) for one in source):
        yield from ((name, run) for run in source)
    elif is_path(source):
        for path in expand_paths(source):
            yield from _systems(*opened(path, RUN), own, duplicates)
    elif isinstance(source, Mapping) and any(map(_is_system, source.values())):
        for label, system in source.items():
            its = [*_systems(str(label), system, own, duplicates)]
            if len(its) != 1:
                raise InputError(f"{label}: {len(its)} runs under one name; give one")
            yield name, replace(its[0][1], name=str(label))
    else:
        table = scored(documents_of(name, source, RUN, own))
        keys = [role for role in ("run", "query", "document") if role in table.frame]
        frame = without_duplicates(table, duplicates, keys)

        # a table of several runs, or one
        parts, has_names = [frame], "run" in keys
        if has_names and (frame["run"] != frame["run"][0]).any():
            parts = frame.partition_by("run", maintain_order=True)
        for part in parts:
            label = str(part["run"][0]) if has_names else Path(name).name
            yield name, Run(part.drop("run", strict=False), label)


def _is_system(value: Any) -> bool:
    """Return whether a value of a dictionary is a whole run, and not the documents of a query."""
    if isinstance(value, Mapping):
        return any(isinstance(one, Mapping | list | tuple) for one in value.values())

    # a list of names is no run, nor are they documents with scores: the reader says what to write
    is_listed = isinstance(value, list | tuple) and not is_records(value)
    return not (is_listed and all(isinstance(one, str | int) for one in value))
