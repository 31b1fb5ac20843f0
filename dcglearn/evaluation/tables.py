"""Runs and judgements from TREC files, JSON, Parquet, CSV, data frames and nested dictionaries."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import polars as pl

from dcglearn.evaluation.cutoffs import Cutoffs
from dcglearn.evaluation.tool_files import (
    grades_of_labels,
    opensearch_frame,
    quepid_table,
    rankings_of_lines,
    table_of_rows,
)
from dcglearn.evaluation.trec import (
    GRADE_NAMES,
    Duplicates,
    Judgements,
    Run,
    first_repeated,
    judged_lines,
    judgements_of,
    ranked_lines,
    runs_of,
    without_duplicates,
    without_ranks,
)
from dcglearn.foundation.inputs import is_path, refuse_constant
from dcglearn.foundation.sources import FORMATS, content, kind_of, suffix_of
from dcglearn.foundation.validation import (
    InputError,
    InputTypeError,
    PathLike,
    PolarsFrame,
    errors_in,
    is_frame,
    is_records,
)
from dcglearn.reading.columns import find
from dcglearn.reading.contract import JUDGED, KEYS, RUN, Contract, plain
from dcglearn.reading.scale import BAD, COMMAS, Scale
from dcglearn.reading.tables import Refusals, Table, files_of, table_of, table_of_bytes
from dcglearn.reading.texts import MISSING, text

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
        earlier ones, and one of the others where raters differ: means and medians are rounded to a
        grade, halves up; of several most frequent grades the worst counts.
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
    [3, 0]
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

    # the names of the grades
    if scale is not None and cutoffs is not None:
        raise InputError("cutoffs= makes the scale: leave out scale=")
    levels = Scale.of(scale, n_grades)

    # files, tables, nested dictionaries
    tables = _tables(judgements, "judgements", JUDGED, levels, cutoffs)
    one = tables[0] if len(tables) == 1 else _joined(f"{len(tables):,} files", tables)
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
    other way round. Dictionaries can be read either way: there, grades that are floats beside
    scores that are integers are refused. `call` and the places are for the message.
    """
    swapped = f"{first} holds runs, {second} judgements; give judgements first: {call}"
    sources = runs if isinstance(runs, (list, tuple)) else [runs]
    n_levels, grade = _first_number(judgements)
    scores = [_first_number(source) for source in sources]

    # grades are whole numbers, unless they are fractions that were to be cut
    if isinstance(grade, float) and any(isinstance(s, (int, np.integer)) for _, s in scores):
        raise InputError(
            f"{swapped}; or, if the order is right, dl.read_judgements(judgements, cutoffs=) cuts "
            "grades that are fractions"
        )

    # other sources are swapped if they can be read the other way round alone
    try:
        yield
    except InputError as error:
        alike = n_levels == 2 and all(n == 2 for n, _ in scores)
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


def _first_number(values: Any) -> tuple[int, Any]:
    """Return the levels of nested dictionaries, and their first number; 0 and None for others."""
    n_levels, number = 0, values
    while isinstance(number, Mapping):
        n_levels, number = n_levels + 1, next(iter(number.values()), None)
    return n_levels, number if n_levels else None


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
    for table in _tables(source, name, RUN):
        for run in runs_of(_by_rank(table.frame, table.name), table.name, duplicates):
            yield table.name, run


def _deduplicated(table: Given, duplicates: Duplicates) -> Given:
    """Return one row per query and document, if `duplicates` says which row to keep."""
    if duplicates == "error":  # refused where they were read
        return table
    return replace(table, frame=without_duplicates(table.name, table.frame, [*KEYS], duplicates))


def is_trec(path: PathLike) -> bool:
    """Return whether a file is TREC's by its name, whose suffix is that of no table format."""
    return suffix_of(path) not in FORMATS.keys() - {".txt"}


@dataclass(frozen=True)
class _Placed:
    """A table with columns by role, called `name`; `place` says where a row stands, for messages.

    `has_labels` tells that its grades may be ESCI's labels in OpenSearch.
    """

    name: str
    frame: PolarsFrame
    place: Callable[[int], str]
    has_labels: bool = False

    @classmethod
    def by_keys(cls, name: str, frame: PolarsFrame) -> Self:
        """Return a table whose rows are told by their query and document."""

        def place(row: int) -> str:
            query, document = (frame[key][row] for key in KEYS)
            return f"{name}, query {query!r}, document {document!r}"

        return cls(name, frame, place)


def _joined(name: str, tables: Sequence[_Placed]) -> _Placed:
    """Return the judgements in several tables as one, called `name`."""
    starts = np.cumsum([0, *(len(table.frame) for table in tables)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return tables[at].place(row - int(starts[at]))

    frames = [table.frame.select(*JUDGED) for table in tables]
    frame = pl.concat(frames, how="vertical_relaxed")
    return _Placed(name, frame, place, all(table.has_labels for table in tables))


def _tables(
    source: Any, name: str, contract: Contract, scale: Scale | None = None, cutoffs: Cutoffs = None
) -> list[_Placed]:
    """Return the table of each file that a source names, or of a dictionary, frame or records."""
    # files
    if is_path(source):
        expected = "one judgement a line" if contract is JUDGED else "one document of a run a line"
        files = [content(path, expected) for path in files_of(source)]
        return [_of_file(*file, contract, scale, cutoffs) for file in files]

    # nested dictionaries
    number = "grade" if contract is JUDGED else "score"
    if isinstance(source, Mapping):
        frame = nested_table(source, number)
        return [_by_columns(_Placed.by_keys(name, frame), contract, scale)]

    # tables in memory
    if not is_frame(source) and not is_records(source):
        raise InputTypeError(
            f"{name}: found {source!r}; give a path, a data frame, or a dictionary "
            f"{{query: {{document: {number}}}}}"
        )
    with errors_in(name):
        table = _placed(table_of(source))
    return [_by_columns(replace(table, name=name), contract, scale)]


def _placed(table: Table) -> _Placed:
    return _Placed(table.name, table.frame, table.place)


def _of_file(
    name: str, data: bytes, contract: Contract, scale: Scale | None, cutoffs: Cutoffs
) -> _Placed:
    """Return the table in a file, of TREC, of another tool, of nested JSON, or with columns."""
    kind, judged = kind_of(name, data), contract is JUDGED
    if kind != "parquet":
        _refuse_mark(name, data)
    if is_trec(name) or (kind == "text" and _begins_as_trec(data, judged=judged)):
        return _of_trec(name, data, scale, cutoffs) if judged else _run_of_trec(name, data)

    # files of other tools, and nested JSON
    frame = opensearch_frame(name, data) if judged else rankings_of_lines(name, data)
    has_labels = judged and frame is not None
    if frame is None and kind == "json":
        frame = nested_json(name, data, "grade" if judged else "score")
    if frame is not None:
        table = replace(_Placed.by_keys(name, frame), has_labels=has_labels)
        return _by_columns(table, contract, scale)

    # columns; those of MS MARCO have no names
    if not judged and kind == "text" and _begins_as_ranks(data):
        data = b"query\tdocument\trank\n" + data
    quepid = quepid_table(name, data) if judged and kind == "text" else None
    return _by_columns(_placed(quepid or table_of_bytes(name, data)), contract, scale)


def _run_of_trec(name: str, data: bytes) -> _Placed:
    return _Placed(name, ranked_lines(name, data), str)


def _of_trec(name: str, data: bytes, scale: Scale | None, cutoffs: Cutoffs) -> _Placed:
    """Return judgements of TREC, whose grades may be names or fractions."""
    is_named = scale is not None and scale.names is not None
    number: Any = "score" if cutoffs is not None else "name" if is_named else "grade"
    table = _Placed(name, *judged_lines(name, data, number))
    return _by_columns(table, JUDGED, scale) if is_named else table


def _begins_as_trec(data: bytes, *, judged: bool) -> bool:
    """Return whether the first line of text is TREC's, as in a file of MS MARCO, called .tsv."""
    first = data[: data.find(b"\n") + 1 or None]
    cells = first.decode("latin-1").split()
    n_columns, number = (4, 3) if judged else (6, 4)
    is_spaced = len(cells) == n_columns and b"," not in first
    return is_spaced and re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", cells[number]) is not None


def _begins_as_ranks(data: bytes) -> bool:
    """Return whether the first line of text is MS MARCO's: a query, a document and a rank."""
    first = data[: data.find(b"\n") + 1 or None].strip().split(b"\t")
    return len(first) == 3 and first[2].isdigit()


def _refuse_mark(name: str, data: bytes) -> None:
    """Raise InputError for a line that begins with a byte order mark, which is part of no name."""
    at = data.find(b"\n" + codecs.BOM_UTF8) + 1
    if at or data.startswith(codecs.BOM_UTF8):
        number = data.count(b"\n", 0, at) + 1
        raise InputError(
            f"{name}, line {number}: begins with a byte order mark, as "
            "where files were joined; delete it"
        )


def _by_columns(table: _Placed, contract: Contract, scale: Scale | None) -> _Placed:
    """Return the columns of a table by role: names as text, numbers, and grades on a scale."""
    # the columns; in files of BEIR a grade is a score, and runs have scores or ranks
    names = table.frame.columns
    if contract is JUDGED and any(plain(name) == "corpusid" for name in names):
        grade = JUDGED["grade"]
        contract = {**JUDGED, "grade": replace(grade, names=f"{grade.names} score")}
    with errors_in(table.name):
        found = find(names, contract)
        if contract is RUN and "rank" not in found:
            find(names, {**RUN, "score": replace(RUN["score"], required=True)})

    # their cells
    refusals = Refusals(table)
    columns: dict[str, Any] = {}
    for role, (column,) in found.items():
        cells = table.frame[column]
        if cells.dtype.is_nested() or cells.dtype in (pl.Boolean, pl.Binary):
            problem = f"{role} is of the type {cells.dtype}"
            refusals.add(np.ones(len(cells)), problem, "use text or a number")
        elif contract[role].kind == "label" or (role == "rank" and "score" in found):
            columns[role] = _names(role, cells, refusals)
        elif role == "grade" and scale is not None and scale.names is not None:
            columns[role] = _codes(text(cells), scale, refusals)
        else:
            columns[role] = _numbers(role, cells, refusals)
    refusals.check()
    return replace(table, frame=pl.DataFrame(columns))


def _names(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return names as text, which every row has."""
    texts = text(cells)
    refusals.add(texts == "", f"{role} is missing")
    has_lines = texts.str.contains("[\n\r]")
    refusals.add(has_lines, f"{role} holds a line end:", "is a quotation mark missing?", texts)
    return texts


def _numbers(role: str, cells: pl.Series, refusals: Refusals) -> pl.Series:
    """Return finite or infinite numbers, which every row has."""
    numbers, texts = cells, cells
    if not cells.dtype.is_numeric():
        texts = text(cells)
        numbers = texts.set(texts.str.to_lowercase().is_in(MISSING), None)
    is_missing = numbers.is_null() | (numbers.is_nan() if numbers.dtype.is_float() else False)
    numbers = numbers.cast(pl.Float64, strict=False).fill_nan(None)
    refusals.add(is_missing, f"{role} is missing")
    names = f"; {GRADE_NAMES}" if role == "grade" else ""
    remedy = f"write a number such as 0.5{names}; {COMMAS}"
    refusals.add(numbers.is_null() & ~is_missing, f"{role} is", remedy, texts)
    return numbers


def _codes(cells: pl.Series, scale: Scale, refusals: Refusals) -> pl.Series:
    """Return the grades of names on a scale, which every row has."""
    refusals.add(cells == "", "grade is missing")
    codes = scale.codes(cells)
    wrong = codes == BAD
    if wrong.any():
        refusals.add(wrong, f"grade holds {scale.problem(cells[int(wrong.argmax())])}")
    return pl.Series(codes).cast(pl.Float64)


def _by_rank(table: PolarsFrame, name: str) -> PolarsFrame:
    """Return runs with scores in place of ranks; raise InputError if documents share a rank."""
    if "rank" not in table.columns:
        return table
    if "score" in table.columns:
        return without_ranks(table, name, "exchange the names of the two columns")
    row = first_repeated(table, [column for column in table.columns if column != "document"])
    if row is not None:
        raise InputError(
            f"{name}: rank {row['rank']:g} of the query {row['query']!r} occurs twice; give scores "
            "too"
        )
    return table.with_columns(score=-pl.col("rank")).drop("rank")


class _Object(list[tuple[str, Any]]):
    """The pairs of a JSON object, in order; a key may occur several times."""


def nested_json(name: str, data: bytes, number: str) -> PolarsFrame | None:
    """Return the table in a JSON file of nested objects, or None if the file is lines of JSON."""
    first, _, rest = data.strip().partition(b"\n")
    if rest:
        # a first line that is no JSON is part of an object, or damaged
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(first)
            return None

    # read the whole object
    try:
        value = json.loads(data, object_pairs_hook=_Object, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        place = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{name}{place}: not valid JSON ({error})") from error
    parts = [part for _, part in value] if isinstance(value, _Object) else []
    if number == "score":
        parts = [_scored(part) for part in parts]
    if not any(isinstance(part, _Object) for part in parts):
        return None
    with errors_in(name):
        return nested_table(value, number)


def nested_table(values: Any, number: str) -> PolarsFrame:
    """Return the table of ``{query: {document: number}}`` or of runs, or raise InputError.

    A query of a run may hold its documents alone, the best first.
    """
    # the queries of each run; runs hold objects of objects, or of lists
    shape = f"{{query: {{document: {number}}}}}"
    outer = _items(values, shape)
    inside = [part for _, part in outer if isinstance(part, (Mapping, _Object))]
    in_runs = number == "score" and any(
        isinstance(value, (Mapping, list, tuple))
        for part in inside
        for _, value in _items(part, shape)
    )
    runs: list[Any] = [((), outer)]
    if in_runs:
        runs = [((run,), _items(part, shape)) for run, part in outer]

    # a row per document
    rows = [
        (*run, query, document, value)
        for run, queries in runs
        for query, documents in queries
        for document, value in _items(
            _scored(documents) if number == "score" else documents, shape, query
        )
    ]

    return table_of_rows(rows, *["run"] * in_runs, *KEYS, number)


def _scored(documents: Any) -> Any:
    """Return a list of documents, the best first, with scores; other values as they are."""
    is_list = isinstance(documents, (list, tuple)) and not isinstance(documents, _Object)
    if not is_list or not all(isinstance(document, str) for document in documents):
        return documents
    return _Object((document, -rank) for rank, document in enumerate(documents, start=1))


def _items(value: Any, shape: str, query: Any = None) -> Collection[tuple[Any, Any]]:
    if isinstance(value, _Object):
        return value
    if isinstance(value, Mapping):
        return value.items()
    where = "" if query is None else f" for the query {query!r}"
    raise InputError(f"expected {shape}; found {value!r}{where}")
