"""Values of a DCG from elsewhere beside ours, and the conventions that explain differences."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from dcglearn.evaluation.ranked import TIES, in_order
from dcglearn.evaluation.run_values import EvaluateOptions, as_metrics, evaluate, longest_list
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_both
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import Floats, InputError, PolarsFrame, errors_in, known
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.textbook import textbook_discounts, textbook_gains
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run

if TYPE_CHECKING:
    from dcglearn.evaluation.other_values import OtherValues

MOST_SEARCHED = 100
"""Number of queries on which all conventions are tried."""

WORDS: dict[str, dict[Any, str]] = {
    "gain": {
        "linear": "gain g (linear)",
        "exponential": "gain 2^g - 1 (exponential)",
        "2^g": "gain 2^g",
        "binary1": "gain 1 from grade 1 on (binary1)",
        "binary2": "gain 1 from grade 2 on (binary2)",
    },
    "discount": {
        "log2": "discount 1/log2(i + 1) (log2)",
        "off by one": "discount 1/log2(i + 2), off by one",
        "letor": "discount 1/log2(i) from rank 2 on (letor)",
        "ln": "discount 1/ln(i + 1)",
        "log10": "discount 1/log10(i + 1)",
        "reciprocal": "discount 1/i (reciprocal)",
        "sqrt": "discount 1/sqrt(i) (sqrt)",
        "flat": "no discount",
    },
    "scale": {1: "shares", 100: "percentages"},
    "normalise": {True: "division by an ideal", False: "no division by an ideal (--raw)"},
    "ideal": {
        "judgements": "the ideal of all judged documents",
        "list": "the ideal of the run's own documents (--ideal list)",
        "top": "the ideal of the run's documents above the cut-off",
        "uncut": "an ideal that continues below the cut-off",
    },
    "ties": {
        "docno-desc": "ties by descending names (--ties docno-desc)",
        "docno-asc": "ties by ascending names",
        "stable": "ties in the order of the file (--ties stable)",
        "reversed": "ties in the reverse order of the file",
        "average": "tied documents that share their gains",
        "file": "the order of the file, regardless of scores",
        "ascending": "the lowest score first",
    },
    "unjudged": {
        "worst": "unjudged documents as the worst",
        "drop": "unjudged documents left out (--unjudged drop)",
    },
    "empty": {
        0.0: "0 for a query without a relevant document",
        1.0: "1 for a query without a relevant document",
    },
}
"""Conventions of each kind in words, those of `evaluate` first."""

Definition = Mapping[str, Any]
"""Conventions of a (N)DCG, one of each kind ("" for the metric's own curves), and the cut-off."""

Tried = list[tuple[Definition, Floats]]
"""Definitions with their values, shape (R, Q)."""


@dataclass(frozen=True)
class ExplainedValues(Finding):
    """Values from elsewhere beside ours, and the conventions that explain the differences.

    `n_agreeing` of the `n` values agree with our values of `metric` to `tolerance`. `explained`
    tells whether some convention agrees with all values; `changes` say where such conventions or,
    if there is none, the nearest differ from ours, the best first. `table` has a row for ours and
    one for each change: how many values agree, and the value that differs most. `notes` are on
    missing queries and on the mean.
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
        agreeing = f"{self.n_agreeing} of {values} agree with {self.metric} to {self.tolerance:.1g}"
        if self.n_agreeing == self.n:
            return agreeing
        if self.explained:
            return f"{agreeing}, but all agree with {self.changes[0]}"
        return f"{agreeing}; one or two changes of convention do not explain the others"


@spelled_out(EvaluateOptions, evaluate)
def explain_values(
    values: Any,
    judgements: JudgementsLike,
    runs: RunsLike,
    metric: Any = "nDCG@10",
    **settings: Unpack[EvaluateOptions],
) -> ExplainedValues:
    """Compare values of a (N)DCG from elsewhere with ours, and name the conventions that differ.

    Single changes of convention are tried first, then any two: gains, discounts (base of the
    logarithm, off by one), cut-off, the ideal ranking, order of ties, unjudged documents, queries
    without a relevant one. Raises InputError as in `evaluate`; if the metric is no DCG, or the
    values cannot be read or are of other queries, runs, measures.

    Parameters
    ----------
    values : path, data frame, or dict of query to value
        A table with columns of queries and values, and perhaps of runs and measures, under any of
        the usual names, or the output of ``trec_eval -q``, ir_measures or PyTerrier. A query "all"
        or "mean" is the mean.
    judgements, runs, metric, **settings
        As in `evaluate`, with one metric, a DCG.

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
    known(settings, EvaluateOptions.__annotations__, "evaluate", "option")
    call, places = "explain_values(values, judgements, runs)", ("the second argument", "the third")
    judged, systems = read_both(judgements, runs, call, *places, **settings)
    evaluation = evaluate(judged, systems, metric, **settings)
    own = next(iter(as_metrics(metric, judged, systems).values()))
    if len(evaluation.metrics) > 1 or not isinstance(own, DCG):
        raise InputError(
            f"values are explained for one DCG or NDCG, not for {', '.join(evaluation.metrics)}"
        )

    # their values, and ours of the same runs
    from dcglearn.evaluation.other_values import read_values

    theirs, notes = read_values(values, evaluation.metrics[0], evaluation)
    present = np.flatnonzero(~np.isnan(theirs.values).all(axis=1))
    theirs = replace(theirs, values=theirs.values[present])
    ours = np.nan_to_num(evaluation.values[present, 0])
    n_ours = theirs.fit(ours)[0]

    # conventions that agree with most values
    base = definition_of(own, **settings)
    tried = [(base, ours)]
    if n_ours < theirs.n:
        tried = _tried(base, judged, [systems[r] for r in present], own, theirs)
    n_nearest = theirs.fit(tried[0][1])[0]

    # in words
    best = {
        change: values
        for definition, values in tried
        if theirs.fit(values)[0] == n_nearest and (change := differences(definition, base))
    }

    # in the table: ours, then all conventions that explain the values, or a nearer one
    rows = {f"{evaluation.metrics[0]} as it is": ours}
    if n_ours < n_nearest:
        rows |= dict([*best.items()][: None if n_nearest == theirs.n else 1])
    return ExplainedValues(
        n=theirs.n,
        n_agreeing=n_ours,
        explained=n_nearest == theirs.n,
        changes=tuple(best),
        notes=notes,
        table=table_of({"convention": name} | theirs.row(rows[name]) for name in rows),
        metric=evaluation.metrics[0],
        tolerance=theirs.close,
    )


def definition_of(own: DCG, **settings: Any) -> Definition:
    """Return the definition of a metric with settings of `evaluate`."""
    of_gain = {word: _gains(word, own.n_grades) for word in WORDS["gain"]}
    of_discount = {word: _discounts(word, own.depth) for word in WORDS["discount"]}
    definition = {kind: next(iter(words)) for kind, words in WORDS.items()}
    definition["cut-off"] = own.depth
    definition["gain"] = _first_equal(of_gain, own.gains)
    definition["discount"] = _first_equal(of_discount, own.discounts)
    definition |= {kind: value for kind, value in settings.items() if kind in WORDS}
    return definition | ({"normalise": False} if own.plain else {})


def _first_equal(by_word: Mapping[str, Floats], values: Floats) -> str:
    return next((word for word, its in by_word.items() if np.array_equal(its, values)), "")


def _gains(word: str, n_grades: int) -> Floats:
    grades = np.arange(n_grades, dtype=np.float64)
    return np.exp2(grades) if word == "2^g" else textbook_gains(word, grades)


def _discounts(word: str, depth: int) -> Floats:
    if word == "off by one":
        return textbook_discounts("log2", depth + 1)[1:]
    if word in ("ln", "log10"):
        base = np.e if word == "ln" else 10
        return textbook_discounts("log2", depth) * np.log2(base)
    return textbook_discounts(word, depth)


def differences(definition: Definition, base: Definition) -> str:
    """Return in words where a definition differs from another one."""

    def in_words(kind: str, value: Any) -> str:
        convention = WORDS.get(kind, {}).get(value)
        if convention is None:
            convention = f"{kind} {value}" if value else f"the metric's own {kind}"
        return convention

    return ", and ".join(
        f"{in_words(kind, definition[kind])} in place of {in_words(kind, base[kind])}"
        for kind in definition
        if definition[kind] != base[kind]
    )


def changes_of(base: Definition, longest: int) -> list[Definition]:
    """Return the single changes that make another definition."""
    depth = base["cut-off"]
    cutoffs = sorted({1, 3, 5, 10, 20, 50, 100, 1000, depth - 1, depth + 1, longest})
    words = {**WORDS, "cut-off": [cutoff for cutoff in cutoffs if 1 <= cutoff <= longest]}
    return [{kind: word} for kind in words for word in words[kind] if word != base[kind]]


def _tried(
    base: Definition, judged: Judgements, runs: Sequence[Run], own: DCG, theirs: OtherValues
) -> Tried:
    """Return definitions with values, best first: the base, single changes, pairs of changes."""
    import polars as pl

    # some of the queries that have values
    present = np.flatnonzero(~np.isnan(theirs.values).all(axis=0))
    chosen = present[np.unique(np.linspace(0, len(present) - 1, MOST_SEARCHED).astype(int))]
    kept = pl.col("query").is_in([theirs.queries[q] for q in chosen])
    of_chosen = replace(theirs, values=theirs.values[:, chosen])
    sample = (
        [Run(run.frame.filter(kept), run.name) for run in runs],
        replace(judged, frame=judged.frame.filter(kept)),
    )

    # try single changes, then pairs
    changes = changes_of(base, max(own.depth, longest_list(judged, *runs)))
    pairs = [{**a, **b} for a, b in combinations(changes, 2) if a.keys() != b.keys()]
    best = [base]
    for more in (changes, pairs):
        with errors_in("the queries of the values"):
            searched = valued([{**base, **change} for change in more], *sample, own)
        searched.sort(key=lambda tried: of_chosen.fit(tried[1]), reverse=True)
        best += [definition for definition, _ in searched[:5]]

        # the best of the sample
        tried = valued(best, runs, judged, own)
        tried.sort(key=lambda tried: theirs.fit(tried[1]), reverse=True)
        if theirs.fit(tried[0][1])[0] == theirs.n:
            break
    return tried


def valued(
    definitions: Iterable[Definition], runs: Sequence[Run], judged: Judgements, own: DCG
) -> Tried:
    """Return the definitions with a meaning and their values, (R, Q), 0 for missing queries."""
    longest = max(own.depth, longest_list(judged, *runs))

    # definitions that one evaluation gives
    alike: dict[tuple[Any, ...], list[Definition]] = {}
    for definition in definitions:
        cut = definition["cut-off"] if definition["ideal"] in ("top", "uncut") else None
        if definition["ties"] != "average" or (cut is None and definition["unjudged"] != "drop"):
            shared = (
                definition[kind] for kind in ("normalise", "ideal", "ties", "unjudged", "empty")
            )
            alike.setdefault((*shared, cut), []).append(definition)

    tried: Tried = []
    for (normalise, ideal, ties, unjudged, empty, cut), group in alike.items():
        with warnings.catch_warnings():
            # scales were warned of by the metric's own evaluation
            warnings.simplefilter("ignore")
            evaluation = evaluate(
                judged,
                [_reordered(run, ties, cut) for run in runs],
                {str(i): _metric(definition, own, longest) for i, definition in enumerate(group)},
                normalise=normalise,
                ties=ties if ties in TIES else "stable",
                unjudged=unjudged,
                ideal="list" if ideal in ("list", "top") else "judgements",
                empty=empty,
            )

        values = np.nan_to_num(evaluation.values)
        tried += [
            (definition, values[:, m] * definition["scale"]) for m, definition in enumerate(group)
        ]
    return tried


def _metric(definition: Definition, own: DCG, longest: int) -> DCG:
    """Return the DCG of a definition; `own` has the gains and discounts without a name."""
    gains = _gains(definition["gain"], own.n_grades) if definition["gain"] else own.gains
    depth = longest if definition["ideal"] == "uncut" else definition["cut-off"]
    word = definition["discount"]
    return DCG(gains, _discounts(word, depth) if word else own.discounts[:depth])


def _reordered(run: Run, ties: str, cut: int | None) -> Run:
    """Return the run in an order that ``ties="stable"`` lacks (see `WORDS`), down to a rank."""
    import polars as pl

    frame = run.frame
    if ties == "docno-asc":
        frame = frame.sort("document", maintain_order=True)
    elif ties == "reversed":
        frame = frame.reverse()
    elif ties == "ascending":
        frame = frame.with_columns(-pl.col("score"))
    # scores by the place in the file
    elif ties == "file":
        place = pl.int_range(pl.len()).over("query")
        frame = frame.with_columns(score=-place.cast(pl.Float64))
    if cut is not None:
        frame = in_order(frame, ties).group_by("query", maintain_order=True).head(cut)
    return Run(frame, run.name)
