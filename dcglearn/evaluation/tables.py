"""Runs and judgements from TREC files, JSON, Parquet, CSV, data frames and nested dictionaries."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from dcglearn.evaluation.tool_files import (
    grades_of_labels,
    rankings_of_lines,
    table_of_rows,
    table_of_tool,
)
from dcglearn.evaluation.trec import (
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
from dcglearn.readers.cell_values import NUMBER, shown
from dcglearn.readers.column_roles import Roles, first_names, named_role, recognised
from dcglearn.readers.cutoffs import Cutoffs
from dcglearn.readers.line_formats import FrameRows, Opener, Source
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import log_files, name_of, opener_of, opener_of_bytes

RunsLike: TypeAlias = Any
"""A `Run`, a path, a data frame, a dict ``{query: {document: score}}``, or a list of runs."""

JudgementsLike: TypeAlias = Any
"""`Judgements`, paths, a data frame, or a dictionary ``{query: {document: grade}}``."""

KEYS = {
    "query": named_role("name", "query_id,qid,q_id,query-id,query,topic,query text", required=True),
    "document": named_role(
        "name",
        "document,doc_id,docno,docid,doc,doc id,product_id,corpus-id,corpus_id",
        required=True,
    ),
}
JUDGEMENT = {
    **KEYS,
    "grade": named_role("score", "grade,relevance,rel,label,rating,esci_label", required=True),
}
RUN = {
    **KEYS,
    "score": named_role("score", "score,sim,pred,prediction", required=True),
    "run": named_role("name", "run,run_id,tag,system,snapshot name"),
}
"""The columns of judgements and of runs; of several with one role, the first of these names counts.

In PyTerrier's frames, `query` is the text of `qid`, and `docid` the number of `docno` in an index.
"""

BEIR = {"document": named_role("name", "corpus-id,corpus_id", required=True)}
"""The column by which judgements of BEIR are told."""

RANKED = {
    **KEYS,
    "rank": named_role("score", "rank,position,doc position", required=True),
    "run": RUN["run"],
}
"""The columns of runs without scores."""

Table = TypeVar("Table", Judgements, Run)


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
    mapping = LogMapping(n_grades, scale=scale, cutoffs=cutoffs)
    if isinstance(judgements, Judgements):
        for name, value in (("scale", scale), ("cutoffs", cutoffs)):
            if value is not None:
                raise InputError(
                    f"{judgements.name}: {name}={value!r} is for grades as they stand in a file, "
                    "but these judgements have been read; give it where they are"
                )
        read = _deduplicated(judgements, duplicates)
        return read if n_grades is None else replace(read, n_grades=n_grades)

    # files, tables, nested dictionaries
    try:
        tables = _tables(judgements, "judgements", JUDGEMENT, mapping)
        one = tables[0] if len(tables) == 1 else _joined(name_of(judgements), tables)
        frame = grades_of_labels(one.name, one.frame) if one.has_labels else one.frame
        return judgements_of(frame, one.name, duplicates, mapping, one.place)
    except InputError as error:
        if error.see != "grades":
            raise
        raise error.told(after="; in Python these are options of dl.read_judgements") from None


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
    for table in _tables(source, name, RUN, expected="one document of a run a line"):
        for run in runs_of(_by_rank(table.frame, table.name), table.name, duplicates):
            yield table.name, run


def _deduplicated(table: Table, duplicates: Duplicates) -> Table:
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


def _joined(name: str, tables: Sequence[_Placed]) -> _Placed:
    """Return the judgements in several tables as one, called `name`."""
    import polars as pl

    starts = np.cumsum([0, *(len(table.frame) for table in tables)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return tables[at].place(row - int(starts[at]))

    frames = [table.frame.select(*JUDGEMENT) for table in tables]
    frame = pl.concat(frames, how="vertical_relaxed")
    return _Placed(name, frame, place, all(table.has_labels for table in tables))


def _tables(
    source: Any,
    name: str,
    roles: Roles,
    mapping: LogMapping | None = None,
    expected: str = "one judgement a line",
) -> list[_Placed]:
    """Return the table of each file that a source names, or of a dictionary, frame or records."""
    mapping = mapping or LogMapping()

    # files
    if is_path(source):
        files = [content(path, expected) for path in log_files(source)]
        return [_of_file(*file, roles, mapping) for file in files]

    # nested dictionaries
    number = "grade" if "grade" in roles else "score"
    if isinstance(source, Mapping):
        frame = nested_table(source, number)
        return [_by_columns(name, partial(_Rows, frame), roles, mapping)]

    # tables in memory
    if not is_frame(source) and not is_records(source):
        shape = f"{{query: {{document: {number}}}}}"
        raise InputTypeError(
            f"{name}: found {shown(source)}; give a path, a data frame, or a dictionary {shape}"
        )
    with errors_in(name):
        open_with = opener_of(source, roles)[1]
    return [_by_columns(name, open_with, roles, mapping)]


def _of_file(name: str, data: bytes, roles: Roles, mapping: LogMapping) -> _Placed:
    """Return the table in a file, of TREC, of another tool, of nested JSON, or with columns."""
    kind = kind_of(name, data)
    if kind != "parquet":
        _refuse_mark(name, data)
    if is_trec(name) or (kind == "text" and _begins_as_trec(data, roles)):
        if "grade" not in roles:
            return _Placed(name, ranked_lines(name, data), str)
        lines, place = judged_lines(name, data, mapping)
        if mapping.scale is None or mapping.cutoffs is not None:
            return _Placed(name, lines, lambda row: f"{name}, {place(row)}")
        return _by_columns(name, partial(_Rows, lines, where=place), roles, mapping)

    # files of other tools and nested JSON
    if "grade" not in roles and kind == "text" and _begins_as_ranks(data):
        return _of_ranks(name, data)
    has_labels = False
    if "grade" in roles:
        frame, has_labels = table_of_tool(name, data)
    else:
        frame = rankings_of_lines(name, data)
    if frame is None and kind == "json":
        frame = nested_json(name, data, "grade" if "grade" in roles else "score")
    open_with = partial(_Rows, frame) if frame is not None else opener_of_bytes(name, data)
    table = _by_columns(name, open_with, roles, mapping)
    return replace(table, has_labels=has_labels and not mapping.given.keys() & {"scale", "cutoffs"})


def _begins_as_trec(data: bytes, roles: Roles) -> bool:
    """Return whether the first line of text is TREC's, as in a file of MS MARCO, called .tsv."""
    first = data[: data.find(b"\n") + 1 or None]
    cells = first.decode("latin-1").split()
    n_columns, number = (4, 3) if "grade" in roles else (6, 4)
    is_spaced = len(cells) == n_columns and b"," not in first
    return is_spaced and NUMBER.fullmatch(cells[number]) is not None


def _begins_as_ranks(data: bytes) -> bool:
    """Return whether the first line of text is MS MARCO's: a query, a document and a rank."""
    first = data[: data.find(b"\n") + 1 or None].strip().split(b"\t")
    return len(first) == 3 and first[2].isdigit()


def _of_ranks(name: str, data: bytes) -> _Placed:
    """Return a run of MS MARCO, whose columns have no names."""
    places = {role: str(place) for place, role in enumerate((*KEYS, "rank"), start=1)}
    roles = {role: replace(RANKED[role], names=(place,)) for role, place in places.items()}
    lines = opener_of_bytes(name, data, LogMapping(header=0))(roles)
    frame = _columns(name, lines, LogMapping())
    return _Placed(name, frame, lambda row: f"{name}, {lines.place(row)}")


def _refuse_mark(name: str, data: bytes) -> None:
    """Raise InputError for a line that begins with a byte order mark, which is part of no name."""
    at = data.find(b"\n" + codecs.BOM_UTF8) + 1
    if at or data.startswith(codecs.BOM_UTF8):
        number = data.count(b"\n", 0, at) + 1
        raise InputError(
            f"{name}, line {number}: begins with a byte order mark, as "
            "where files were joined; delete it"
        )


class _Rows(FrameRows):
    """The rows of a table made of something else, with where they stand there.

    By default that is their column `place`, or else their query and document.
    """

    def __init__(
        self, frame: PolarsFrame, roles: Roles, where: Callable[[int], str] | None = None
    ) -> None:
        super().__init__(frame, roles)
        self._where = where or self._by_keys

    def place(self, row: int) -> str:
        """Return where a row stands, for messages."""
        return self._where(row)

    def _by_keys(self, row: int) -> str:
        query, document = (shown(self.frame[key][row]) for key in KEYS)
        within = self.frame["place"][row] if "place" in self.names else f"query {query}"
        return f"{within}, document {document}"


def _by_columns(name: str, open_with: Opener, roles: Roles, mapping: LogMapping) -> _Placed:
    """Return the table of what is opened by roles; grades may be named on the mapping's scale."""
    with errors_in(name):
        names = open_with({}).names
        if "grade" in roles:
            roles = _judged(names, roles, mapping)
        else:
            roles = _scored_or_ranked(names, roles)
        lines = open_with(first_names(names, roles))
    return _Placed(name, _columns(name, lines, mapping), lambda row: f"{name}, {lines.place(row)}")


def _columns(name: str, lines: Source, mapping: LogMapping) -> PolarsFrame:
    """Return columns by role, names as text, scores as floats; raise InputError for a bad one."""
    import polars as pl

    from dcglearn.readers.cells import read_checked
    from dcglearn.readers.kinds import plain_labels, plain_numbers
    from dcglearn.readers.raw_cells import plain_frame
    from dcglearn.readers.raw_columns import RawColumn

    frame = plain_frame(lines)
    if frame is not None:
        if not len(frame):
            raise InputError(f"{name} is empty")

        # columns of which every cell is there and plain
        columns: dict[str, pl.Series | None] = {}
        conversions = {"name": plain_labels, "score": plain_numbers}
        for role in frame.columns:
            kind = lines.roles[role].kind
            column = RawColumn(role, kind, frame[role], lines.texts)
            columns[role] = conversions[kind](frame[role], column) if kind in conversions else None
        if not any(values is None or values.null_count() for values in columns.values()):
            return pl.DataFrame(columns)

    # others cell by cell
    return pl.DataFrame(read_checked(name, lines, mapping)[0])


def _judged(names: Sequence[str], roles: Roles, mapping: LogMapping) -> Roles:
    """Return the roles of judgements, whose grades are scores in files of BEIR."""
    grade = roles["grade"]
    if recognised([name.strip() for name in names], BEIR):
        grade = replace(grade, names=(*grade.names, "score"))
    if mapping.scale is not None and mapping.cutoffs is None:
        grade = replace(grade, kind="grade")
    return {**roles, "grade": grade}


def _scored_or_ranked(names: Sequence[str], roles: Roles) -> Roles:
    """Return the roles of runs with ranks if these are their columns, else the given ones."""
    scored, ranked = (recognised(names, first_names(names, kind)) for kind in (roles, RANKED))
    if not ranked:
        return roles
    beside = replace(RANKED["rank"], kind="identity", required=False)
    return {**RUN, "rank": beside} if scored else RANKED


def _by_rank(table: PolarsFrame, name: str) -> PolarsFrame:
    """Return runs with scores in place of ranks; raise InputError if documents share a rank."""
    import polars as pl

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
    where = "" if query is None else f" for the query {shown(query)}"
    raise InputError(f"expected {shape}; found {shown(value)}{where}")
