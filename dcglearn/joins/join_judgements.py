"""Logs of documents, or runs with verdicts by query, joined with judgements to logs of grades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, Unpack

import numpy as np
from numpy.typing import NDArray

from dcglearn.evaluation.ranked import UNJUDGED, as_judged, grades_of_documents, in_order
from dcglearn.evaluation.tables import (
    JudgementsLike,
    RunsLike,
    judgements_first,
    read_judgements,
    read_runs,
)
from dcglearn.evaluation.trec import Duplicates, Judgements, Run, grade_counts
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    UNKNOWN,
    Counts,
    Flags,
    Grades,
    InputError,
    PathLike,
    errors_in,
    one_of,
    scale_size,
    whole_number,
)
from dcglearn.logs.unique_rows import places
from dcglearn.readers.column_roles import PREFERENCE, Role, Table
from dcglearn.readers.grade_scale import check_scale
from dcglearn.readers.line_formats import Opener, Source
from dcglearn.readers.long_tables import open_shaped
from dcglearn.readers.mapping import LogMapping, TableOptions
from dcglearn.readers.openers import flattened, opener_of
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_table import check_table, columns_of, log_of_table

Texts: TypeAlias = NDArray[np.object_]
"""Queries, or names of documents joined by tabs, shape (n,) or (n, S)."""

OTHERS = {
    role: about
    for role, about in PREFERENCE.items()
    if role not in ("a", "b", "docs_a", "docs_b", "margin", "scale")
}
"""The columns of a log besides its lists."""

VERDICT = {**OTHERS, "query": Role("label", PREFERENCE["query"].names, required=True)}
"""The columns of a table of verdicts on two runs."""


@spelled_out(TableOptions)
def join_judgements(
    log: Any,
    judgements: JudgementsLike,
    *,
    unjudged: str | int = "worst",
    missing: str = "error",
    n_grades: int | None = None,
    duplicates: Duplicates = "error",
    skip_bad: PathLike | None = None,
    **options: Unpack[TableOptions],
) -> Preferences:
    """Read a log whose lists name documents, and look up their grades by query and document.

    The log's `dropped` counts pairs without a judged document, and pairs of queries without
    judgements; its `counted` the documents looked up, and those without a judgement; its `docs`
    holds the names of the documents. Raises InputError if a file is bad, a query has no judgements,
    or no document of the log is judged; it names the place.

    Parameters
    ----------
    log : path, data frame or sequence
        As `read_preferences` reads it, with names of documents in place of grades in `a` and `b`
        (or beside the grades, in `docs_a` and `docs_b`), and a query on every line.
    judgements : Judgements, path, data frame or dict
        The grades, as in `read_judgements`: TREC files, CSV ``query,docid,rating``, files of Quepid
        and OpenSearch.
    unjudged : {"worst", "best", "drop", "unknown"} or int
        What a document without a judgement counts as: the worst grade, the best, nothing at all
        (documents below it move up), a position without a known grade, or this grade. Keep "worst"
        if all documents that matter were judged; take "drop" if the judgements leave out much that
        was shown.
    missing : {"error", "skip"}
        Whether a query without judgements is an error, or its pairs are left out and counted.
    n_grades, duplicates, scale, cutoffs
        As in `read_judgements`.
    skip_bad, **options
        As in `read_preferences` (`depth`, `winner_words`, `positive`, `columns`, `mapping`).

    See Also
    --------
    io.preferences_from_runs : Two runs instead of lists.
    read_judgements : Read the grades.

    Examples
    --------
    >>> log = [{"query": "q", "a": ["d1", "d2"], "b": ["d2", "d9"], "winner": "a"}]
    >>> joined = join_judgements(log, {"q": {"d1": 2, "d2": 1}})
    >>> joined.preferred.tolist(), joined.other.tolist(), joined.counted
    ([[2, 1]], [[1, 0]], {'documents': 4, 'documents without a judgement': 1})
    """
    mapping = LogMapping.of(n_grades, **options)
    joining = Joining(mapping.depth, unjudged, missing, mapping.n_grades, mapping.pad)
    judged = judgements_by(mapping, judgements, duplicates)
    mapping = mapping.updated(depth=None, **NO_SCALE)

    # names of documents by line
    name, open_with = opener_of(log, PREFERENCE, mapping)
    with errors_in(name):
        source = open_shaped(open_with, _roles_of_documents(open_with, mapping), mapping)
    table, dropped, _ = columns_of(name, source, mapping, skip_bad)

    # a query for each pair of lists
    if "query" not in table:
        raise InputError(
            f"{name}: no line has a query (accepted names: {', '.join(VERDICT['query'].names)})"
        )

    place = partial(place_of, name, source, dropped)
    return log_of_documents(table, dropped, judged, joining, mapping, place)


NO_SCALE = dict.fromkeys(("n_grades", "scale", "cutoffs", "best_grade"))
"""Options of a mapping that say what grades mean, undone."""


def judgements_by(
    mapping: LogMapping, judgements: JudgementsLike, duplicates: Duplicates = "error"
) -> Judgements:
    """Return judgements, whose grades are on the scale of a mapping if it has one."""
    if mapping.best_grade is not None:
        reason = "is for grades in the log: turn those of the judgements round in their file"
        mapping.refuse(["best_grade"], reason)
    return read_judgements(
        judgements,
        duplicates=duplicates,
        n_grades=mapping.n_grades,
        scale=mapping.scale,
        cutoffs=mapping.cutoffs,
    )


def _roles_of_documents(open_with: Opener, mapping: LogMapping) -> dict[str, Role]:
    """Return the roles of a log of documents: `docs_a` and `docs_b`, else `a` and `b`."""
    names = {name.lower() for name in open_with({}).names}
    roles = mapping.roles(PREFERENCE)
    lists = {side: roles[side].names for side in ("a", "b")}
    docs = {side: roles[f"docs_{side}"].names for side in ("a", "b")}
    if all(names.intersection(of_side) for of_side in docs.values()):
        lists = docs
    documents = {side: Role("documents", names, required=True) for side, names in lists.items()}
    return {**documents, **OTHERS}


def place_of(name: str, source: Source, dropped: Counts, i: int) -> str:
    """Return where line `i` of a source called `name` stands; its number if lines are dropped."""
    return f"{name}, pair {i + 1}" if dropped else f"{name}, {source.place(i)}"


def log_of_documents(
    table: Table,
    dropped: Counts,
    judged: Judgements,
    joining: Joining,
    mapping: LogMapping,
    place: Callable[[int], str],
) -> Preferences:
    """Return a log of the columns by role, with grades in place of documents, if it makes sense."""
    docs = np.column_stack([table["a"], table["b"]])
    query = table.get("query", np.full(len(docs), "", dtype=object))
    joined = joined_lists(query, docs, judged, joining, place)

    # the pairs that are kept, with their lists
    table = {role: values[joined.kept] for role, values in table.items()}
    table |= {"docs_a": table["a"], "docs_b": table["b"]}
    table["a"], table["b"] = joined.lists

    names = judged.grade_names
    if names is None or len(names) < joined.n_grades:
        mapping = mapping.updated(**{**NO_SCALE, "n_grades": joined.n_grades})
    else:
        mapping = mapping.updated(**{**NO_SCALE, "scale": names})
    log = log_of_table(Preferences, table, dropped, mapping)
    check_table(table, mapping, "turn those of the judgements round in their file")
    return log.changed(dropped={**joined.dropped, **log.dropped}, counted=joined.counted)


@spelled_out(TableOptions)
def preferences_from_runs(
    judgements: JudgementsLike,
    first: RunsLike,
    second: RunsLike,
    verdicts: Any,
    *,
    unjudged: str | int = "worst",
    missing: str = "error",
    n_grades: int | None = None,
    ties: str = "docno-desc",
    duplicates: Duplicates = "error",
    **options: Unpack[TableOptions],
) -> Preferences:
    """Turn two runs with verdicts on their result lists into a log of preferences.

    Raises InputError if a file is bad, or a verdict is on a query that a run or the judgements do
    not have.

    Parameters
    ----------
    judgements : Judgements, path, data frame or dict
        The grades, as in `read_judgements`.
    first, second : Run, path, data frame or dict
        The runs, as in `read_runs`; each holds one system.
    verdicts : path, data frame, sequence or mapping
        Which run was better: ``{query: winner}``, or a table with columns `query` and `winner` and,
        if there are any, `rater`, `weight`, `strength` and `swapped`, a row a verdict. The winner
        is a word of `read_preferences` (a is the first run) or the name of a run.
    depth : int
        K: how many documents of each run count, by default 10. Take as many as the judges saw.
    unjudged, missing, n_grades, duplicates, scale, cutoffs
        As in `join_judgements`, as are `dropped` and `counted` of the log, which has a pair a
        verdict.
    ties : {"docno-desc", "stable"}
        How documents with equal scores are ranked, as in `evaluate`.
    **options
        As in `read_preferences`, for the table of verdicts.

    See Also
    --------
    io.join_judgements : Lists of documents instead of runs.

    Examples
    --------
    >>> old, new = {"q": {"d1": 2.0, "d2": 1.0}}, {"q": {"d2": 2.0, "d3": 1.0}}
    >>> judged = {"q": {"d1": 2, "d2": 1, "d3": 0}}
    >>> log = preferences_from_runs(judged, old, new, {"q": "a"}, depth=2)
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 1]], [[1, 0]])
    """
    mapping = LogMapping.of(n_grades, **options)
    depth = mapping.depth or 10
    joining = Joining(depth, unjudged, missing, mapping.n_grades, mapping.pad)
    one_of(ties, "ties", ("docno-desc", "stable"))
    call = "preferences_from_runs(judgements, first, second, verdicts)"
    with judgements_first(judgements, [first, second], call, second="another"):
        judged = judgements_by(mapping, judgements, duplicates)
        runs = [_one_run(first, "first", duplicates), _one_run(second, "second", duplicates)]

    # verdicts, in which a winner may be the name of a run
    names = dict(zip((run.name for run in runs), ("a", "b"), strict=True))
    mapping = mapping.updated(depth=None, **NO_SCALE)
    if len(names) == 2 and mapping.positive is None:
        mapping = mapping.updated(winner_words={**names, **mapping.own_words.meanings()})
    rows = verdicts
    if not is_path(verdicts) and hasattr(verdicts, "items") and not hasattr(verdicts, "columns"):
        rows = [{"query": query, "winner": winner} for query, winner in verdicts.items()]
    name, open_with = opener_of(rows, VERDICT, mapping)
    with errors_in(name):
        source = open_shaped(open_with, VERDICT, mapping)
    table, dropped, _ = columns_of(name, source, mapping)
    place = partial(place_of, name, source, dropped)

    # each on a query of both runs
    query = table["query"]
    for run in runs:
        lacking = np.flatnonzero(~_in_column(query, run.frame["query"]))
        if len(lacking):
            raise InputError(
                f"{place(lacking[0])}: the query {str(query[lacking[0]])!r} is not in the run "
                f"{run.name} ({len(lacking):,} such verdicts); do the names agree?",
                see="names",
            )

    # documents that are dropped let others move up
    most = None if unjudged == "drop" else depth
    table["a"], table["b"] = (_lists(run, query, most, ties) for run in runs)
    return log_of_documents(table, dropped, judged, joining, mapping, place)


def _in_column(query: Texts, queries: Any) -> Flags:
    """Return whether each query is in a column of a frame, shape (n,)."""
    return np.isin(query.astype(str), queries.unique().to_numpy().astype(str))


def _one_run(run: RunsLike, side: str, duplicates: Duplicates) -> Run:
    runs = read_runs(run, duplicates=duplicates)
    if len(runs) != 1:
        some = ", ".join(run.name for run in runs[:3])
        raise InputError(f"the {side} run holds {len(runs)} systems ({some}, ...); give one")
    return runs[0]


def _lists(run: Run, query: Texts, depth: int | None, ties: str) -> Texts:
    """Return the documents that a run ranks highest for each query, joined by tabs, shape (n,)."""
    import polars as pl

    queries = pl.Series(query.astype(str))
    named = run.frame.filter(pl.col("query").is_in(queries.unique().implode()))
    documents = pl.col("document").head(depth or pl.len()).str.join("\t")
    ranked = in_order(named, ties).group_by("query", maintain_order=True).agg(documents)
    lists: Texts = queries.replace_strict(*ranked.get_columns()).to_numpy()
    return lists


@dataclass(frozen=True)
class Joining:
    """How lists of documents become lists of grades; for the fields see `join_judgements`."""

    depth: int | None = None
    unjudged: str | int = "worst"
    missing: str = "error"
    n_grades: int | None = None
    pad: bool = False

    def __post_init__(self) -> None:
        if self.depth is not None:
            whole_number(self.depth, "depth")
        if self.n_grades is not None:
            scale_size(self.n_grades, 0)
        one_of(self.missing, "missing", ("error", "skip"))

        # what unjudged documents count as
        words = (*UNJUDGED, "unknown")
        if not isinstance(self.unjudged, str):
            about = "a log holds grades, not gains"
            whole_number(self.unjudged, "unjudged", 0, MAX_GRADES - 1, about)
        elif self.unjudged not in words:
            raise InputError(
                f"unjudged={self.unjudged!r}: give a grade, or one of {', '.join(words)}"
            )

    def scale(self, judged: Judgements) -> int:
        """Return the number of grades; raise InputError if any grade lies above the scale.

        Grades that no option insists on must be a scale.
        """
        counts = grade_counts(judged.frame)
        if self.n_grades is None and judged.grade_names is None and len(counts) == judged.n_grades:
            with errors_in(judged.name):
                check_scale(counts, of_lists=False)
        size = self.n_grades or max(judged.n_grades, 2)
        top = max(judged.n_grades - 1, self.unjudged if isinstance(self.unjudged, int) else 0)
        if top >= size:
            raise InputError(
                f"{judged.name}: grade {top} lies outside 0..{size - 1}; "
                f"raise n_grades={size} (--grades)"
            )
        return size

    def filled(self, grades: Grades, shown: Flags, n_grades: int) -> Grades:
        """Return grades by position, unjudged documents filled in as by `as_judged`; (n, K)."""
        grades = as_judged(grades, shown, n_grades, self.unjudged)
        depth = self.depth or int(np.flatnonzero((grades >= 0).any(axis=0)).max(initial=0)) + 1
        filled = np.full((len(grades), depth), EMPTY, dtype=np.int8)
        filled[:, : grades.shape[1]] = grades[:, :depth]
        return np.where(filled == EMPTY, np.int8(UNKNOWN), filled) if self.pad else filled


def looked_up(query: Texts, docs: Texts, judged: Judgements) -> tuple[Grades, Flags]:
    """Return the grades of documents, and flags of the places that hold one; (n, N) each.

    An entry of `docs` holds the documents of a list, joined by tabs. Unjudged ones have the grade
    -1.
    """
    import polars as pl

    # a row for each document
    lists = pl.Series(docs.astype(str)).str.split("\t")
    lengths = lists.list.len().to_numpy().astype(np.int64)
    row = np.repeat(np.arange(len(docs)), lengths)
    long = pl.DataFrame({"query": query[row].astype(str), "document": flattened(lists)})

    # back to a row for each list
    place = row, places(lengths)
    grades = np.full((len(docs), int(place[1].max(initial=0)) + 1), -1, dtype=np.int8)
    shown = np.zeros(grades.shape, dtype=bool)
    grades[place] = grades_of_documents(long, judged)
    shown[place] = (long["document"] != "").to_numpy()
    return grades, shown


@dataclass(frozen=True, eq=False)
class JoinedLists:
    """Lists of documents, S for each entry of a log, with their grades.

    `lists` holds grades by position, shape (S, m, K), `kept`, shape (n,), tells which of the
    entries these are. `dropped` counts those left out, by reason, and `counted` the documents
    looked up, and those without a judgement.
    """

    lists: Grades
    kept: Flags
    n_grades: int
    dropped: Counts
    counted: Counts


def joined_lists(
    query: Texts,
    docs: Texts,
    judged: Judgements,
    joining: Joining,
    place: Callable[[int], str],
    entries: str = "pairs",
) -> JoinedLists:
    """Return the grades of lists whose documents `docs`, (n, S), names, or raise InputError."""
    # entries whose query is judged
    is_judged = _in_column(query, judged.frame["query"])
    lacking = np.flatnonzero(~is_judged)
    if len(lacking) and (joining.missing == "error" or not is_judged.any()):
        # say how many queries lack judgements
        n_queries, n_lacking = (len(np.unique(x.astype(str))) for x in (query, query[lacking]))
        remedy = "do the names agree? Add judgements"
        if is_judged.any():
            remedy += f', or leave such {entries} out with missing="skip" (--missing skip)'
        raise InputError(
            f"{place(lacking[0])}: the query {str(query[lacking[0]])!r} has no judgement in "
            f"{judged.name} ({n_lacking:,} of {n_queries:,} queries have none); {remedy}",
            see="names",
        )

    # grades of their documents
    n, n_sides = int(is_judged.sum()), docs.shape[1]
    queries = np.tile(query[is_judged], n_sides)
    grades, shown = looked_up(queries, docs[is_judged].T.ravel(), judged)
    unjudged = shown & (grades < 0)
    if (grades < 0).all():
        first = int(is_judged.argmax())
        document = docs[first, 0].split("\t")[0]
        raise InputError(
            f"{place(first)}: no document has a judgement in {judged.name}, nor has {document!r} "
            f"for the query {str(query[first])!r}; do the names of the documents agree?",
            see="names",
        )

    # pairs without a judged document are of equal lists
    blank = (grades.reshape(n_sides, n, -1) < 0).all(axis=(0, 2)) & (n_sides > 1)
    kept = is_judged.copy()
    kept[is_judged] = ~blank
    n_grades = joining.scale(judged)
    lists = joining.filled(grades, shown, n_grades).reshape(n_sides, n, -1)

    # what is left out and why
    reasons = {
        f"{entries} of queries without judgements": len(lacking),
        f"{entries} without a judged document": int(blank.sum()),
    }
    return JoinedLists(
        lists[:, ~blank],
        kept,
        n_grades,
        {reason: count for reason, count in reasons.items() if count},
        {"documents": int(shown.sum()), "documents without a judgement": int(unjudged.sum())},
    )
