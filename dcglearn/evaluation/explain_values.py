"""Values of a DCG from elsewhere beside ours, and the conventions that explain where they differ."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from dcglearn.evaluation.evaluate import as_metrics, evaluate, longest_list
from dcglearn.evaluation.ranked import TIES, in_order
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_judgements, read_runs
from dcglearn.evaluation.trec import Judgements, Run
from dcglearn.evaluation.values_elsewhere import read_values
from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.validation import Floats, InputError, errors_in
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import textbook_discounts, textbook_gains

MOST_SEARCHED = 100
"""Number of queries on which all conventions are tried."""

MOST_CONFIRMED = 5
"""Number of conventions, the best on those queries, that are tried on all."""

CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)
"""Cut-offs that are tried beside those next to the metric's own."""

WORDS: dict[str, dict[Any, str]] = {
    "gain": {
        **{"linear": "gain g (linear)", "exponential": "gain 2^g - 1 (exponential)", "2^g": "gain 2^g"},
        **{"binary1": "gain 1 from grade 1 on (binary1)", "binary2": "gain 1 from grade 2 on (binary2)"},
    },
    "discount": {
        **{"log2": "discount 1/log2(i + 1) (log2)", "off by one": "discount 1/log2(i + 2), off by one"},
        "letor": "discount 1/log2(i) from rank 2 on (letor)",
        **{"ln": "discount 1/ln(i + 1)", "log10": "discount 1/log10(i + 1)"},
        **{"reciprocal": "discount 1/i (reciprocal)", "sqrt": "discount 1/sqrt(i) (sqrt)", "flat": "no discount"},
    },
    "scale": {1: "shares", 100: "percentages"},
    "normalise": {True: "division by an ideal", False: "no division by an ideal (--raw)"},
    "ideal": {
        "judgements": "the ideal of all judged documents",
        "list": "the ideal of the run's own documents (--ideal list)",
        "top": "the ideal of the run's documents above the cut-off",
        "uncut": "an ideal that goes on below the cut-off",
    },
    "ties": {
        "docno-desc": "ties by descending names (--ties docno-desc)",
        "docno-asc": "ties by ascending names",
        "stable": "ties in the order of the file (--ties stable)",
        "reversed": "ties in the reverse order of the file",
        "average": "tied documents that share their gains",
        "file": "the order of the file, whatever the scores",
        "ascending": "the lowest score first",
    },
    "unjudged": {"worst": "unjudged documents as the worst", "drop": "unjudged documents left out (--unjudged drop)"},
    "empty": {0.0: "0 for a query without a relevant document", 1.0: "1 for a query without a relevant document"},
}
"""Conventions of each kind, and what they are called; those of `evaluate` first, as far as it has them."""

Definition = Mapping[str, Any]
"""How a (N)DCG is computed: a convention of each kind ("" for the metric's own gains or discounts), and the cut-off."""

Tried = list[tuple[Definition, Floats]]


@dataclass(frozen=True)
class ExplainedValues:
    """What `explain_values` found; prints as sentences.

    `n_agreeing` of the `n` values agree with ours. `explained` tells whether some convention agrees with all of them;
    `changes` say where such conventions or, if there is none, the nearest differ from ours, the best first. `notes` are
    on missing queries and on the mean.
    """

    n: int
    n_agreeing: int
    explained: bool
    changes: tuple[str, ...]
    notes: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


def explain_values(
    values: Any, runs: RunsLike, judgements: JudgementsLike, metric: Any = "nDCG@10", **settings: Any
) -> ExplainedValues:
    """Compare values of a (N)DCG from elsewhere with ours, and name the conventions that explain where they differ.

    Single changes of convention are tried first, then any two: gains, discounts (base of the logarithm, off by one),
    cut-off, the ideal ranking, order of ties, unjudged documents, queries without a relevant one.

    Parameters
    ----------
    values : path, data frame, or dict of query to value
        A table with columns of queries and values, and perhaps of runs and measures, under any of the usual names, or
        the output of ``trec_eval -q``, ir_measures or PyTerrier. A query "all" or "mean" is the mean.
    runs, judgements, metric, **settings
        As in `evaluate`, with one metric, a DCG.

    Raises
    ------
    InputError
        As in `evaluate`; if the metric is no DCG, or the values cannot be read or are of other queries, runs, measures.

    See Also
    --------
    evaluate : The values themselves.

    Examples
    --------
    >>> judged = {"q1": {"a": 3, "b": 1}, "q2": {"a": 2, "b": 1, "c": 0}}
    >>> run = {"mine": {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 3.0, "b": 2.0, "a": 1.0}}}
    >>> print(explain_values({"q1": 0.7098, "q2": 0.5869}, run, judged))
    0 of 2 values agree with nDCG@10 to 0.0001; furthest is q1: 0.7098 there, 0.7967 here
    explained: all agree with gain 2^g - 1 (exponential) in place of gain g (linear)
    """
    duplicates = settings.get("duplicates", "error")
    judged, systems = read_judgements(judgements, duplicates), read_runs(runs, duplicates)
    evaluation = evaluate(systems, judged, metric, **settings)
    own = next(iter(as_metrics(metric, judged, systems).values()))
    if len(evaluation.metrics) > 1 or not isinstance(own, DCG):
        raise InputError(f"values are explained for one DCG or NDCG, not for {', '.join(evaluation.metrics)}")
    theirs, tolerance, notes = read_values(values, evaluation.metrics[0], evaluation)
    n, present = int((~np.isnan(theirs)).sum()), np.flatnonzero(~np.isnan(theirs).all(axis=1))
    theirs, ours = theirs[present], np.nan_to_num(evaluation.values[present, 0])
    systems = [systems[r] for r in present]

    def fit(values: Floats, theirs: Floats = theirs) -> tuple[int, float]:
        """Return how many values agree, and minus the mean difference."""
        difference = np.abs(values - theirs)[~np.isnan(theirs)]
        return int((difference <= tolerance).sum()), -float(difference.mean())

    def furthest(values: Floats) -> str:
        r, q = np.unravel_index(np.nanargmax(np.abs(values - theirs)), theirs.shape)
        return one_line(f"; furthest is {evaluation.queries[q]}: {theirs[r, q]:.4f} there, {values[r, q]:.4f} here")

    base = definition_of(own, **settings)
    tried = [(base, ours)] if fit(ours)[0] == n else _tried(base, systems, judged, own, theirs, fit)
    nearest, n_ours = tried[0][1], fit(ours)[0]
    n_nearest = fit(nearest)[0]
    changes = tuple(filter(None, (differences(way, base) for way, values in tried if fit(values)[0] == n_nearest)))
    lines = [f"{n_ours} of {number_of(n, 'values')} agree with {evaluation.metrics[0]} to {tolerance:.1g}"]
    lines[0] += furthest(ours) if n_ours < n else ""
    if n_ours < n_nearest == n:
        lines.append("\nor with ".join([f"explained: all agree with {changes[0]}", *changes[1:]]))
    elif n_ours < n:
        lines.append("not explained by one or two changes of convention")
        lines += [f"nearest: {n_nearest} agree with {changes[0]}{furthest(nearest)}"] if n_ours < n_nearest else []
    text = "\n".join([*lines, *(f"note: {note}" for note in notes)])
    return ExplainedValues(n, n_ours, n_nearest == n, changes, notes, text)


def definition_of(own: DCG, **settings: Any) -> Definition:
    """Return the definition of a metric with settings of `evaluate`."""
    gain = next((x for x in WORDS["gain"] if np.array_equal(_gains(x, own.n_grades), own.gains)), "")
    discount = next((x for x in WORDS["discount"] if np.array_equal(_discounts(x, own.depth), own.discounts)), "")
    usual = {kind: next(iter(words)) for kind, words in WORDS.items()}
    known = {kind: value for kind, value in settings.items() if kind in WORDS}
    return {**usual, "cut-off": own.depth, "gain": gain, "discount": discount, **known}


def _gains(word: str, n_grades: int) -> Floats:
    grades = np.arange(n_grades, dtype=np.float64)
    return np.exp2(grades) if word == "2^g" else textbook_gains(word, grades)


def _discounts(word: str, depth: int) -> Floats:
    if word == "off by one":
        return textbook_discounts("log2", depth + 1)[1:]
    base = {"ln": np.e, "log10": 10}.get(word)
    return textbook_discounts("log2", depth) * np.log2(base) if base else textbook_discounts(word, depth)


def differences(way: Definition, base: Definition) -> str:
    """Return in words where a definition differs from another one."""

    def words(kind: str, value: Any) -> str:
        return WORDS.get(kind, {}).get(value) or (f"{kind} {value}" if value else f"the metric's own {kind}")

    kinds = [kind for kind in way if way[kind] != base[kind]]
    return ", and ".join(f"{words(kind, way[kind])} in place of {words(kind, base[kind])}" for kind in kinds)


def changes_of(base: Definition, longest: int) -> list[Definition]:
    """Return the single changes that make another definition."""
    cutoffs = sorted({*CUTOFFS, base["cut-off"] - 1, base["cut-off"] + 1, longest})
    words = {**WORDS, "cut-off": [cutoff for cutoff in cutoffs if 1 <= cutoff <= longest]}
    return [{kind: word} for kind in words for word in words[kind] if word != base[kind]]


def _tried(
    base: Definition,
    runs: Sequence[Run],
    judged: Judgements,
    own: DCG,
    theirs: Floats,
    fit: Callable[[Floats, Floats], tuple[int, float]],
) -> Tried:
    """Return definitions with their values, the best first: the base, single changes, pairs of them."""
    import polars as pl

    known = np.flatnonzero(~np.isnan(theirs).all(axis=0))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MOST_SEARCHED).astype(int))]
    queries = judged.frame["query"].unique().sort().gather(chosen)
    kept = pl.col("query").is_in(queries.implode())
    sample = [Run(run.frame.filter(kept), run.name) for run in runs], replace(judged, frame=judged.frame.filter(kept))
    changes = changes_of(base, max(own.depth, longest_list(judged, *runs)))
    pairs = [{**a, **b} for a, b in combinations(changes, 2) if a.keys() != b.keys()]
    best: list[Definition] = [base]
    for more in (changes, pairs):
        with errors_in("the queries of the values"):
            searched = valued([{**base, **change} for change in more], *sample, own)
        searched.sort(key=lambda way: fit(way[1], theirs[:, chosen]), reverse=True)
        best += [way for way, _ in searched[:MOST_CONFIRMED]]
        tried = sorted(valued(best, runs, judged, own), key=lambda way: fit(way[1], theirs), reverse=True)
        if fit(tried[0][1], theirs)[0] == (~np.isnan(theirs)).sum():
            break
    return tried


def valued(ways: Iterable[Definition], runs: Sequence[Run], judged: Judgements, own: DCG) -> Tried:
    """Return definitions, those without a meaning left out, with their values, shape (R, Q), 0 for missing queries."""
    longest = max(own.depth, longest_list(judged, *runs))
    alike: dict[tuple[Any, ...], list[Definition]] = {}
    for way in ways:
        cut = way["cut-off"] if way["ideal"] in ("top", "uncut") else None
        if way["ties"] != "average" or (cut is None and way["unjudged"] != "drop"):
            shared = (way[kind] for kind in ("normalise", "ideal", "ties", "unjudged", "empty"))
            alike.setdefault((*shared, cut), []).append(way)
    tried: Tried = []
    for (normalise, ideal, ties, unjudged, empty, cut), group in alike.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scales, as the metric's own evaluation has warned
            evaluation = evaluate(
                [_reordered(run, ties, cut) for run in runs],
                judged,
                {str(i): _metric(way, own, longest) for i, way in enumerate(group)},
                normalise=normalise,
                ties=ties if ties in TIES else "stable",
                unjudged=unjudged,
                ideal="list" if ideal in ("list", "top") else "judgements",
                empty=empty,
            )
        values = np.nan_to_num(evaluation.values)
        tried += [(way, values[:, m] * way["scale"]) for m, way in enumerate(group)]
    return tried


def _metric(way: Definition, own: DCG, longest: int) -> DCG:
    """Return the DCG of a definition; `own` has the gains and discounts without a name."""
    gains = _gains(way["gain"], own.n_grades) if way["gain"] else own.gains
    depth = longest if way["ideal"] == "uncut" else way["cut-off"]
    return DCG(gains, _discounts(way["discount"], depth) if way["discount"] else own.discounts[:depth])


def _reordered(run: Run, ties: str, cut: int | None) -> Run:
    """Return the run in an order of `WORDS`, for ``ties="stable"`` where that has no such order, down to a rank."""
    import polars as pl

    frame = {
        "docno-asc": lambda frame: frame.sort("document", maintain_order=True),
        "reversed": pl.DataFrame.reverse,
        "ascending": lambda frame: frame.with_columns(-pl.col("score")),
        "file": lambda frame: frame.with_columns(score=-pl.int_range(pl.len()).over("query").cast(pl.Float64)),
    }.get(ties, pl.DataFrame.clone)(run.frame)
    if cut is not None:
        frame = in_order(frame, ties).group_by("query", maintain_order=True).head(cut)
    return Run(frame, run.name)
