"""Verdicts on two runs as judgements of the lists that the runs show."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError, PolarsFrame, listed, whole_number
from dcglearn.reading.contract import JUDGEMENT, LISTED, Contract, Found, Role, plain
from dcglearn.reading.runs import Run, RunsLike, read_runs

if TYPE_CHECKING:
    from dcglearn.reading.columns import OwnNames
    from dcglearn.reading.tables import Table

LISTS: Contract = {
    "system_a": Role("label", "system_a model_a left_system left_model left a"),
    "system_b": Role("label", "system_b model_b right_system right_model right b"),
}
"""The columns that say which run stood on each side."""

VERDICT: Contract = {
    **LISTS,
    "query": LISTED["query"],
    **{role: JUDGEMENT[role] for role in ("winner", "swapped")},
}
"""The columns of a verdict on two runs."""


def with_runs(
    verdicts: Any,
    first: RunsLike,
    second: RunsLike,
    *,
    depth: int = 10,
    columns: Mapping[str, str] | str | OwnNames | None = None,
) -> PolarsFrame:
    """Return verdicts on the lists of two runs with these lists, as `with_grades` takes them.

    The list a is that of the first run. Or two columns, such as `left` and `right` or `system_a`
    and `system_b`, say in each row whose lists a and b are, by the name of the run, or A for the
    first and B for the second. A winner may be such a name, too. Raises InputError if a name is of
    neither run, a query is not in both, or a winner may mean a list or a run.

    Parameters
    ----------
    verdicts : path, data frame, sequence or mapping
        ``{query: winner}``, or a table as `read_preferences` reads it, without lists and with a
        query on every row.
    first, second : Run, path, data frame or dict
        The runs, as in `read_runs`; each holds one system.
    depth : int
        How many documents of each run count, in the order of `evaluate`. Take as many as the judges
        saw.
    columns : mapping or str, optional
        The table's own columns by the usual name.

    See Also
    --------
    io.with_grades : Look up the grades of the documents.

    Examples
    --------
    >>> old, new = {"q": {"d1": 2.0, "d2": 1.0}}, {"q": {"d2": 2.0, "d3": 1.0}}
    >>> shown = dl.io.with_runs({"q": "a"}, old, new, depth=2)
    >>> judged = dl.read_judgements({"q": {"d1": 2, "d2": 1, "d3": 0}})
    >>> log = dl.read_preferences(dl.with_grades(shown, judged))
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 1]], [[1, 0]])
    """
    import polars as pl

    from dcglearn.reading.columns import find, names_given
    from dcglearn.reading.tables import Refusals, table_of
    from dcglearn.reading.texts import text

    whole_number(depth, "depth")
    runs = [_one_run(first, "first"), _one_run(second, "second")]
    if isinstance(verdicts, Mapping):
        verdicts = [{"query": query, "winner": winner} for query, winner in verdicts.items()]

    # the columns of queries and winners, and of the two systems
    table = table_of(verdicts)
    own = names_given(columns, table.frame.columns, VERDICT)
    found = find(table.frame.columns, VERDICT, {x: own[x] for x in own if x in VERDICT})
    told = found.pop("swapped", [])
    sides = [found[role][0] for role in LISTS if role in found]
    are_shown = bool(sides) and plain(sides[0]).startswith("l")

    # both sides are told, and once
    if len(sides) == 1:
        raise InputError(
            f"the column {sides[0]!r} says which run stood on one side; add that of the other, or "
            "columns={'system_a': '', 'system_b': ''} ignores it"
        )
    if told and are_shown:
        raise InputError(
            f"the columns {sides[0]!r} and {told[0]!r} both say what was shown left: "
            "columns={'swapped': ''} ignores the latter"
        )

    # columns by role, as text
    frame = _others(table, found)
    frame = frame.with_columns(text(table.frame[its[0]]).alias(x) for x, its in found.items())

    # which run each name means, A the first one
    labels, refusals = _labels(runs), Refusals(table)
    letters = dict(zip("ab", labels, strict=True))
    names = {label.lower(): label for label in labels}
    if not sides:
        frame = frame.with_columns(pl.lit("ab"[i]).alias(role) for i, role in enumerate(LISTS))
    lower = {role: frame[role].str.to_lowercase() for role in (*LISTS, "winner")}
    by_letter = all(lower[role].is_in([*letters]).all() for role in LISTS)
    systems = [lower[role].replace_strict(letters | names, default=None) for role in LISTS]
    is_wrong = (systems[0] == systems[1]).fill_null(True)
    remedy = f"name the runs ({labels[0]} or A, {labels[1]} or B), or columns= others"
    refusals.add(is_wrong, "a and b are not the two runs:", remedy, frame["system_a"])

    # a winner A is the first run only where A stands in a column of the two
    is_letter = lower["winner"].is_in([*letters]) & are_shown & (not by_letter)
    remedy = f"write left or right, or the name of a run, {labels[0]} or {labels[1]}"
    refusals.add(
        is_letter, "the list or the run may be meant by the winner", remedy, frame["winner"]
    )
    refusals.check()
    named = lower["winner"].replace_strict(letters | names if by_letter else names, default=None)
    frame = frame.with_columns(*systems, winner=pl.coalesce(named, "winner"))

    # the lists of the runs, by query
    pairs = zip(runs, labels, strict=True)
    lists = [_lists(run, depth).with_columns(run=pl.lit(label)) for run, label in pairs]
    for role in LISTS:
        docs = f"docs_{role[-1]}"
        its = pl.concat(lists).rename({"document": docs, "run": role})
        frame = frame.join(its, on=["query", role], how="left", maintain_order="left")
        lacking = frame[docs].is_null()
        problem = f"the run {frame[role][int(lacking.arg_max() or 0)]} has not the query"
        refusals.add(lacking, problem, "do the names agree?", frame["query"])
    refusals.check()
    return frame.with_columns(swapped=pl.lit(False)) if are_shown else frame


def _others(table: Table, found: Found) -> PolarsFrame:
    """Return the columns without a role; warn of those that have a name of a role that is found.

    These would be taken for it when the log is read.
    """
    from dcglearn.reading.columns import role_called

    frame = table.frame.drop(its[0] for its in found.values())
    twins = [name for name in frame.columns if role_called(name, VERDICT) in found]
    if twins:
        warnings.warn(f"{table.name}: columns that are not used: {listed(twins)}", stacklevel=3)
    return frame.drop(twins)


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return the names of two runs, a and b if they have one name."""
    labels = [run.name for run in runs]
    if labels[0].lower() == labels[1].lower():
        return ["a", "b"]
    if labels[0].lower() == "b" or labels[1].lower() == "a":
        raise InputError("the first run is called B, or the second A: exchange the two runs")
    return labels


def _one_run(run: RunsLike, side: str) -> Run:
    runs = read_runs(run)
    if len(runs) != 1:
        some = ", ".join(run.name for run in runs[:3])
        raise InputError(f"the {side} run holds {len(runs)} systems ({some}, ...); give one")
    return runs[0]


def _lists(run: Run, depth: int) -> PolarsFrame:
    """Return the documents that a run ranks highest for each query, a list a query.

    They are in trec_eval's order: by score as float32, and by name from the last where it is equal.
    """
    import polars as pl

    keys = [pl.col("score").cast(pl.Float32), "document"]
    ranked = run.frame.with_columns(pl.col("query").cast(pl.String)).sort(keys, descending=True)
    return ranked.group_by("query", maintain_order=True).agg(pl.col("document").head(depth))
