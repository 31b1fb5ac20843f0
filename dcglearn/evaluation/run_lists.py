"""Verdicts on two runs as judgements of the lists that the runs show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcglearn.evaluation.ranked import in_order
from dcglearn.evaluation.tables import RunsLike, read_runs
from dcglearn.evaluation.trec import Run
from dcglearn.foundation.validation import InputError, PolarsFrame, one_of, whole_number

LISTS = {
    "system_a": "system_a model_a left_system left_model left a",
    "system_b": "system_b model_b right_system right_model right b",
}
"""Names of the columns that say which run stood on each side."""


def with_runs(
    verdicts: Any,
    first: RunsLike,
    second: RunsLike,
    *,
    depth: int = 10,
    ties: str = "docno-desc",
    columns: Mapping[str, str] | str | None = None,
) -> PolarsFrame:
    """Return verdicts on the lists of two runs with these lists, as `with_grades` takes them.

    The list a is that of the first run. Or two columns, such as `left` and `right` or `system_a`
    and `system_b`, say in each row whose lists a and b are, by the name of the run, or A for the
    first and B for the second. A winner may be such a name, too. Raises InputError if a name is of
    neither run, or a query is not in both.

    Parameters
    ----------
    verdicts : path, data frame, sequence or mapping
        ``{query: winner}``, or a table as `read_preferences` reads it, without lists and with a
        query on every row.
    first, second : Run, path, data frame or dict
        The runs, as in `read_runs`; each holds one system.
    depth : int
        How many documents of each run count. Take as many as the judges saw.
    ties : {"docno-desc", "stable"}
        How documents with equal scores are ranked, as in `evaluate`.
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
    >>> log = dl.read_preferences(dl.io.with_grades(shown, judged))
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 1]], [[1, 0]])
    """
    import polars as pl

    from dcglearn.reading.columns import find, own_names
    from dcglearn.reading.contract import JUDGEMENT, Role
    from dcglearn.reading.tables import Refusals, table_of
    from dcglearn.reading.texts import text

    whole_number(depth, "depth")
    one_of(ties, "ties", ("docno-desc", "stable"))
    runs = [_one_run(first, "first"), _one_run(second, "second")]
    if isinstance(verdicts, Mapping):
        verdicts = [{"query": query, "winner": winner} for query, winner in verdicts.items()]

    # the columns of queries and winners, and of the two systems
    table, own = table_of(verdicts), own_names(columns)
    contract = {role: Role("label", names) for role, names in LISTS.items()}
    contract["query"] = Role("label", JUDGEMENT["query"].names, required=True)
    contract["winner"] = Role("label", JUDGEMENT["winner"].names, required=True)
    found = find(table.frame.columns, contract, {x: own[x] for x in own if x in contract})
    cells = {role: text(table.frame[names[0]]) for role, names in found.items()}

    # which run each name means
    labels = [run.name for run in runs]
    if labels[0].lower() == labels[1].lower():
        labels = ["a", "b"]
    names = {"a": 0, "b": 1} | {label.lower(): i for i, label in enumerate(labels)}
    refusals = Refusals(table)
    if not LISTS.keys() <= cells.keys():
        cells |= {role: pl.Series(["ab"[i]] * table.frame.height) for i, role in enumerate(LISTS)}
    number = {
        role: cells[role].str.to_lowercase().replace_strict(names, default=None) for role in LISTS
    }
    is_wrong = number["system_a"].is_null() | number["system_b"].is_null()
    is_wrong |= (number["system_a"] == number["system_b"]).fill_null(False)
    remedy = f"name the runs ({labels[0]} or A, {labels[1]} or B), or columns= others"
    refusals.add(is_wrong, "a and b are not the two runs:", remedy, cells["system_a"])

    # the lists of the runs, by query
    frame = table.frame.drop(name for names_ in found.values() for name in names_)
    frame = frame.with_columns(cells["query"].alias("query"))
    lists = [_lists(run, depth, ties) for run in runs]
    for i, run in enumerate(runs):
        lacking = ~cells["query"].is_in(lists[i]["query"].implode())
        problem = f"the run {run.name} has not the query"
        refusals.add(lacking, problem, "do the names agree?", cells["query"])
    refusals.check()
    both = pl.concat([its.with_columns(run=pl.lit(i)) for i, its in enumerate(lists)])
    for role, docs in (("system_a", "docs_a"), ("system_b", "docs_b")):
        frame = frame.with_columns(number[role].cast(pl.Int32).alias("run"))
        its = both.rename({"document": docs})
        frame = frame.join(its, on=["query", "run"], how="left", maintain_order="left").drop("run")

    # winners and systems by the names of the runs
    full = {name: labels[i] for name, i in names.items()}
    is_name = cells["winner"].str.to_lowercase().is_in(list(full))
    named = cells["winner"].str.to_lowercase().replace_strict(full, default=None)
    winner = pl.select(pl.when(is_name).then(named).otherwise(cells["winner"])).to_series()
    systems = [number[role].replace_strict(dict(enumerate(labels))).alias(role) for role in LISTS]
    return frame.with_columns(winner.alias("winner"), *systems)


def _one_run(run: RunsLike, side: str) -> Run:
    runs = read_runs(run)
    if len(runs) != 1:
        some = ", ".join(run.name for run in runs[:3])
        raise InputError(f"the {side} run holds {len(runs)} systems ({some}, ...); give one")
    return runs[0]


def _lists(run: Run, depth: int, ties: str) -> PolarsFrame:
    """Return the documents that a run ranks highest for each query, a list a query."""
    import polars as pl

    frame = run.frame.with_columns(pl.col("query").cast(pl.String))
    ranked = in_order(frame, ties).group_by("query", maintain_order=True)
    return ranked.agg(pl.col("document").head(depth))
