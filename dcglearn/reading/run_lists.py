"""Verdicts on two runs as judgements of the lists that the runs show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dcglearn.foundation.validation import InputError, PolarsFrame, one_of, whole_number
from dcglearn.reading.contract import JUDGEMENT, Contract, Role, plain
from dcglearn.reading.runs import Run, RunsLike, in_order, read_runs

if TYPE_CHECKING:
    from dcglearn.reading.tables import Refusals

LISTS: Contract = {
    "system_a": Role("label", "system_a model_a left_system left_model left a"),
    "system_b": Role("label", "system_b model_b right_system right_model right b"),
}
"""The columns that say which run stood on each side."""


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
    neither run, a query is not in both, or a winner may mean a list or a run.

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
    from dcglearn.reading.tables import Refusals, table_of
    from dcglearn.reading.texts import text

    whole_number(depth, "depth")
    one_of(ties, "ties", ("docno-desc", "stable"))
    runs = [_one_run(first, "first"), _one_run(second, "second")]
    if isinstance(verdicts, Mapping):
        verdicts = [{"query": query, "winner": winner} for query, winner in verdicts.items()]

    # the columns of queries and winners, and of the two systems
    table, own = table_of(verdicts), own_names(columns)
    required = {
        role: Role("label", JUDGEMENT[role].names, required=True) for role in ("query", "winner")
    }
    order = {role: JUDGEMENT[role] for role in ("swapped", "shown_first")}
    roles = {**LISTS, **required, **order}
    found = find(table.frame.columns, roles, {x: own[x] for x in own if x in roles})
    told = [found.pop(role)[0] for role in order if role in found]
    cells = {role: text(table.frame[names[0]]) for role, names in found.items()}
    sides = [found[role][0] for role in LISTS if role in found]
    are_shown = bool(sides) and plain(sides[0]).startswith("l")
    _refuse_sides(sides, told if are_shown else [])

    # which run each name means
    labels = _labels(runs)
    names = {"a": 0, "b": 1} | {label.lower(): i for i, label in enumerate(labels)}
    refusals = Refusals(table)
    by_letter = all(
        cells[role].str.to_lowercase().is_in(["a", "b"]).all() for role in LISTS if sides
    )
    if not sides:
        cells |= {role: pl.Series(["ab"[i]] * table.frame.height) for i, role in enumerate(LISTS)}
    number = {
        role: cells[role].str.to_lowercase().replace_strict(names, default=None) for role in LISTS
    }
    is_wrong = number["system_a"].is_null() | number["system_b"].is_null()
    is_wrong |= (number["system_a"] == number["system_b"]).fill_null(False)
    remedy = f"name the runs ({labels[0]} or A, {labels[1]} or B), or columns= others"
    refusals.add(is_wrong, "a and b are not the two runs:", remedy, cells["system_a"])

    # a winner A is the first run only where A stands in a column of the two
    if not by_letter:
        names = {label.lower(): i for i, label in enumerate(labels)}
        is_letter = cells["winner"].str.to_lowercase().is_in(["a", "b"]) & are_shown
        remedy = f"write left or right, or the name of a run, {labels[0]} or {labels[1]}"
        refusals.add(
            is_letter, "the list or the run may be meant by the winner", remedy, cells["winner"]
        )

    # the lists of the runs, by query
    frame = table.frame.drop(name for names_ in found.values() for name in names_)
    frame = frame.with_columns(cells["query"].alias("query"))
    frame = _with_lists(frame, runs, number, [_lists(run, depth, ties) for run in runs], refusals)

    # winners and systems by the names of the runs
    full = {name: labels[i] for name, i in names.items()}
    is_name = cells["winner"].str.to_lowercase().is_in(list(full))
    named = cells["winner"].str.to_lowercase().replace_strict(full, default=None)
    winner = pl.select(pl.when(is_name).then(named).otherwise(cells["winner"])).to_series()
    systems = [number[role].replace_strict(dict(enumerate(labels))).alias(role) for role in LISTS]
    shown = [pl.lit(False).alias("swapped")] if are_shown else []
    return frame.with_columns(winner.alias("winner"), *systems, *shown)


def _with_lists(
    frame: PolarsFrame,
    runs: Sequence[Run],
    number: Mapping[str, Any],
    lists: Sequence[PolarsFrame],
    refusals: Refusals,
) -> PolarsFrame:
    """Return a table with the documents of the runs that stand as a and b, by query."""
    import polars as pl

    for run, its in zip(runs, lists, strict=True):
        lacking = ~frame["query"].is_in(its["query"].implode())
        problem = f"the run {run.name} has not the query"
        refusals.add(lacking, problem, "do the names agree?", frame["query"])
    refusals.check()

    both = pl.concat([its.with_columns(run=pl.lit(i)) for i, its in enumerate(lists)])
    for role, docs in (("system_a", "docs_a"), ("system_b", "docs_b")):
        frame = frame.with_columns(number[role].cast(pl.Int32).alias("run"))
        its = both.rename({"document": docs})
        frame = frame.join(its, on=["query", "run"], how="left", maintain_order="left").drop("run")
    return frame


def _refuse_sides(sides: Sequence[str], told: Sequence[str]) -> None:
    """Raise InputError for one column of sides without the other, or beside one of the order."""
    if len(sides) == 1:
        raise InputError(
            f"the column {sides[0]!r} says which run stood on one side; add that of the other, or "
            "columns={'system_a': '', 'system_b': ''} ignores it"
        )
    if told:
        raise InputError(
            f"the columns {sides[0]!r} and {told[0]!r} both say what was shown left: "
            f"columns={{{'swapped'!r}: ''}} ignores the latter"
        )


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


def _lists(run: Run, depth: int, ties: str) -> PolarsFrame:
    """Return the documents that a run ranks highest for each query, a list a query."""
    import polars as pl

    frame = run.frame.with_columns(pl.col("query").cast(pl.String))
    ranked = in_order(frame, ties).group_by("query", maintain_order=True)
    return ranked.agg(pl.col("document").head(depth))
