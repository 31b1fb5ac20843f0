"""Values of a DCG from elsewhere beside ours, and the conventions that explain differences."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dcglearn.evaluation.conventions import defined_values
from dcglearn.evaluation.run_values import as_metrics, evaluate
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Fields, Flags, Floats, InputError, PolarsFrame, listed
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import metric_or_name
from dcglearn.reading.judgements import JudgementsLike
from dcglearn.reading.runs import RunsLike, read_both

N_LISTS, LONGEST = 300, 20
"""Number of lists that a function is tried on, and their length if the metric has no cut-off."""


@dataclass(frozen=True)
class ExplainedValues(Finding):
    """Values from elsewhere beside ours, and the conventions that explain the differences.

    `n_agreeing` of the `n` values agree with our values of `metric` to `tolerance`. `explained`
    tells whether some convention agrees with all values; `changes` say where such conventions or,
    if there is none, the nearest differ from ours. `table` has a row for ours and one for each
    change: how many values agree, and the value that differs most. `notes` are on queries that
    were left out. Queries of a function are the grades of its lists, and of all judged documents.
    """

    n: int
    n_agreeing: int
    explained: bool
    changes: tuple[str, ...]
    notes: tuple[str, ...] = field(repr=False)
    table: PolarsFrame = field(repr=False, compare=False)
    metric: str
    tolerance: float

    _labels: ClassVar = {"query": "furthest query"}

    @property
    def sentence(self) -> str:
        """How many values agree, and with which convention all do."""
        values = number_of(self.n, "values")
        agreeing = (
            f"{self.metric} agrees with {self.n_agreeing} of {values} to {self.tolerance:.1g}"
        )
        if self.n_agreeing == self.n:
            return agreeing
        if self.explained:
            return f"{agreeing}, but with all by {self.changes[0]}"
        return f"{agreeing}; no change of conventions that was tried explains the others"


def explain_values(
    values: Any,
    judgements: JudgementsLike | None = None,
    runs: RunsLike | None = None,
    metric: Any = "nDCG@10",
) -> ExplainedValues:
    """Compare values of a (N)DCG from elsewhere with ours, and name the conventions that differ.

    All changes of up to three conventions are tried: gains, discounts, cut-off, the ideal ranking,
    order of ties, unjudged documents, queries without a relevant one, percentages. Of the
    definitions that most values agree with, those with the fewest changes are named.

    Parameters
    ----------
    values : path, data frame, dict, or a function
        A table of queries and values, perhaps with a column of measures or a column of values for
        each; the output of ``trec_eval -q``; a dictionary ``{query: value}`` or pytrec_eval's
        ``{query: {measure: value}}``, also as JSON. Queries that are not judged, as "all" for
        the mean, are left out. Or a function that returns the value of a list, given the grades of
        its documents in the order of their ranks, the metric's cut-off if it takes a second
        argument, and the grades of all judged documents if it has an argument `judged`.
    judgements, runs, metric
        As in `evaluate`, with one run and one metric, a DCG. A function needs no judgements and no
        run.

    Raises
    ------
    InputError
        As in `evaluate`; if there are several runs or metrics, the metric is no DCG, or the values
        cannot be read or are of other queries, runs, measures.

    See Also
    --------
    evaluate : The values themselves.

    Examples
    --------
    >>> judged = {"q1": {"a": 3, "b": 1}, "q2": {"a": 2, "b": 1, "c": 0}}
    >>> run = {"mine": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 3.0, "b": 2.0, "a": 1.0}}}
    >>> found = explain_values({"q1": 0.7098, "q2": 0.5869}, judged, run)
    >>> found.n_agreeing, found.explained, found.changes
    (0, True, ('gain 2^g - 1 (exponential) in place of gain g (linear)',))
    """
    function = values if callable(values) else None
    if function:
        values, judgements, runs = _short_lists(function, metric)

    # our values
    judged, systems = read_both(judgements, runs)
    evaluation = evaluate(judged, systems, metric)
    metrics = as_metrics(metric, judged, systems)

    # one run and one DCG
    (name, own), *others = metrics.items()
    if others or systems[1:] or not isinstance(own, DCG):
        names = listed([*evaluation.runs, *metrics])
        raise InputError(f"values are explained for one run and one DCG, not for {names}")

    # theirs, of the queries that have one
    from dcglearn.evaluation.other_values import read_values

    found, notes = (values, []) if function else read_values(values, evaluation)
    queries = [query for query in evaluation.queries if query in found]
    rows = np.isin(evaluation.queries, queries)
    there = np.array([found[query] for query in queries])
    ours = np.nan_to_num(evaluation.values[0, 0, rows])

    # to half a unit of their last digit, but no closer than 1e-4
    digits = sum(bool(np.any(there.round(n) != there)) for n in range(4))
    close = max(1e-4, 0.5 * 10.0**-digits) + 1e-9

    def agrees(here: Floats) -> Flags:
        return np.isclose(here, there, rtol=0, atol=close, equal_nan=True)

    # definitions that most values agree with, and of these those with the fewest changes
    n_ours = int(agrees(ours).sum())
    best, nearest = (n_ours, 0), dict[str, Floats]()
    if n_ours < len(queries):
        for changes, here in defined_values(judged, systems[0], own):
            fit = int(agrees(here[rows]).sum()), -len(changes)
            if fit > best:
                best, nearest = fit, {}

            # of equal ones all are named
            if changes and fit == best:
                nearest[", and ".join(changes)] = here[rows]

    # the value that differs most from each
    table = []
    for words, here in {f"{name} as it is": ours, **nearest}.items():
        q = int(np.nan_to_num(abs(here - there)).argmax())
        furthest = {"query": queries[q], "there": there[q], "here": here[q]}
        table.append({"convention": words, "agreeing": int(agrees(here).sum()), **furthest})

    # whether any definition agrees with all
    return ExplainedValues(
        n=len(queries),
        n_agreeing=n_ours,
        explained=best[0] == len(queries),
        changes=tuple(nearest),
        notes=tuple(notes),
        table=table_of(table),
        metric=name,
        tolerance=close,
    )


def _short_lists(
    function: Callable[..., Any], metric: Any
) -> tuple[dict[str, float], Fields, Fields]:
    """Return a function's values of short lists, with their judgements and rankings."""
    depth = metric_or_name(metric).depth or LONGEST
    names = inspect.signature(function).parameters
    also = [3, 1] if "judged" in names else []
    values, judged, ranked = {}, {}, {}

    # lists of all lengths to beyond the cut-off, and judged documents that they lack
    rng = np.random.default_rng(0)
    for i in range(N_LISTS):
        grades = rng.integers(0, 4, 1 + i % (depth + 3)).tolist()
        every = [*grades, *also]
        name = f"first {len(grades)} of {' '.join(map(str, every))}"
        judged[name] = {str(place): grade for place, grade in enumerate(every)}
        ranked[name] = {str(place): -float(place) for place in range(len(grades))}

        # the function's own arguments
        by_name = {"judged": every} if also else {}
        by_place = [grades, depth][: len(names) - len(by_name)]
        values[name] = np.nan
        with contextlib.suppress(ZeroDivisionError), np.errstate(all="ignore"):
            values[name] = float(function(*by_place, **by_name))
    return values, judged, {"function": ranked}
