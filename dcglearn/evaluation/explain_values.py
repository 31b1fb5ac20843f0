"""Values of a DCG from elsewhere beside ours, and the conventions that explain where they differ."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from dcglearn.evaluation.evaluate import as_metrics, evaluate, longest_list
from dcglearn.evaluation.ranked import TIES, in_order
from dcglearn.evaluation.tables import JudgementsLike, RunsLike, read_judgements, read_runs
from dcglearn.evaluation.trec import Judgements, Run
from dcglearn.evaluation.values_elsewhere import read_values
from dcglearn.foundation.plain_text import number_of, one_line
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import textbook_discounts, textbook_gains

MOST_SEARCHED = 100
"""Number of queries on which all conventions are tried."""

MOST_CONFIRMED = 5
"""Number of conventions, the best on those queries, that are tried on all."""

DEPTHS = (1, 3, 5, 10, 20, 50, 100, 1000)
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
    "ideal": {
        "judgements": "the ideal of all judged documents",
        "list": "the ideal of the run's own documents (--ideal list)",
        "top": "the ideal of the run's documents above the cut-off",
        "uncut": "an ideal that goes on below the cut-off",
        "best": "an ideal of nothing but the best grade",
        **{"none": "no division by an ideal (--raw)", "percent": "percentages"},
    },
    "order": {
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
"""Conventions of each kind, and what they are called; the metric's own gains and discounts have no name."""


@dataclass(frozen=True)
class NDCGDefinition:
    """How a (N)DCG is computed: a word of `WORDS` for each kind, "" for the metric's own, and the cut-off."""

    gain: str
    discount: str
    ideal: str
    order: str
    unjudged: str | float
    empty: float
    depth: int

    def neighbours(self, longest: int) -> list[dict[str, Any]]:
        """Return the single changes that make another convention, each as a keyword."""
        changes: list[dict[str, Any]] = [{kind: word} for kind, words in WORDS.items() for word in words]
        depths = sorted({*DEPTHS, self.depth - 1, self.depth + 1, longest}) if self.discount else []
        changes += [{"depth": depth} for depth in depths if 1 <= depth <= longest]
        return [change for change in changes if replace(self, **change) != self]

    @property
    def has_meaning(self) -> bool:
        """Whether its parts go together."""
        shared = self.order == "average" and (self.ideal in ("top", "uncut") or self.unjudged == "drop")
        return not shared and (self.ideal != "uncut" or bool(self.discount))

    def differences(self, base: NDCGDefinition) -> str:
        """Return in words where it differs from another one."""
        mine, other = asdict(self), asdict(base)

        def words(kind: str, value: Any) -> str:
            own = f"cut-off {value}" if kind == "depth" else f"{kind} {value}" if value else f"the metric's own {kind}"
            return WORDS.get(kind, {}).get(value, own)

        kinds = [kind for kind in mine if mine[kind] != other[kind]]
        return ", and ".join(f"{words(kind, mine[kind])} in place of {words(kind, other[kind])}" for kind in kinds)

    def metric(self, own: DCG, longest: int) -> DCG:
        """Return its DCG; `own` has the gains and discounts without a name."""
        grades, depth = np.arange(own.n_grades, dtype=np.float64), longest if self.ideal == "uncut" else self.depth
        gains, discounts = own.gains, own.discounts
        if self.gain:
            gains = np.exp2(grades) if self.gain == "2^g" else textbook_gains(self.gain, grades)
        if self.discount == "off by one":
            discounts = textbook_discounts("log2", depth + 1)[1:]
        elif self.discount in ("ln", "log10"):
            discounts = textbook_discounts("log2", depth) / np.log(2) * (1 if self.discount == "ln" else np.log(10))
        elif self.discount:
            discounts = textbook_discounts(self.discount, depth)
        if self.ideal == "best":
            gains, discounts = gains / (gains.max() or 1.0), discounts / discounts.sum()
        return DCG(gains, discounts)


@dataclass(frozen=True)
class ExplainedValues:
    """What `explain_values` found; prints as sentences.

    `n_agreeing` of the `n` values agree with ours. `explained` tells whether some convention agrees with all of them;
    `changes` says where that or, if there is none, the nearest differs from ours, and `also` where others do that agree
    with all. `notes` are on missing queries and on the mean.
    """

    n: int
    n_agreeing: int
    explained: bool
    changes: str
    also: tuple[str, ...]
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
    base = _definition_of(own, **settings)
    tried = _tried(base, systems, judged, own, theirs, tolerance)
    n = int((~np.isnan(theirs)).sum())
    nearest, changes = tried[0][1], tried[0][0].differences(base)
    ours = next(values for way, values in tried if way == base)
    count, n_ours = (_fit(values, theirs, tolerance)[0] for values in (nearest, ours))
    others = [way.differences(base) for way, values in tried[1:] if _fit(values, theirs, tolerance)[0] == n]

    def furthest(values: Floats) -> str:
        r, q = np.unravel_index(np.nanargmax(np.abs(values - theirs)), theirs.shape)
        return one_line(f"; furthest is {evaluation.queries[q]}: {theirs[r, q]:.4f} there, {values[r, q]:.4f} here")

    lines = [f"{n_ours} of {number_of(n, 'values')} agree with {evaluation.metrics[0]} to {tolerance:.1g}"]
    if n_ours == n:
        changes, others = "", []
    else:
        lines[0] += furthest(ours)
    if n_ours < count == n:
        lines += [f"explained: all agree with {changes}", *(f"or with {other}" for other in others)]
    elif count < n:
        lines.append("not explained by one or two changes of convention")
        lines += [f"nearest: {count} agree with {changes}{furthest(nearest)}"] if n_ours < count else []
    text = "\n".join([*lines, *(f"note: {note}" for note in notes)])
    return ExplainedValues(n, n_ours, count == n, changes, tuple(others), notes, text)


def _definition_of(own: DCG, normalise: bool = True, **settings: Any) -> NDCGDefinition:
    """Return the convention of a metric and of the settings of `evaluate`."""
    grades = np.arange(own.n_grades, dtype=np.float64)
    gains = {name: textbook_gains(name, grades) for name in WORDS["gain"] if name != "2^g"}
    discounts = {name: textbook_discounts(name, own.depth) for name in ("log2", "letor", "reciprocal", "sqrt", "flat")}
    return NDCGDefinition(
        gain=next((name for name, values in gains.items() if np.array_equal(values, own.gains)), ""),
        discount=next((name for name, values in discounts.items() if np.array_equal(values, own.discounts)), ""),
        ideal=settings.get("ideal", "judgements") if normalise else "none",
        order=settings.get("ties", "docno-desc"),
        unjudged=settings.get("unjudged", "worst"),
        empty=settings.get("empty", 0.0),
        depth=own.depth,
    )


Tried = list[tuple[NDCGDefinition, Floats]]


def _tried(
    base: NDCGDefinition, runs: Sequence[Run], judged: Judgements, own: DCG, theirs: Floats, tolerance: float
) -> Tried:
    """Return conventions with their values, shape (R, Q), the best first: the base, single changes, pairs of them."""
    longest = max(own.depth, longest_list(judged.frame), *(longest_list(run.frame) for run in runs))
    changes = base.neighbours(longest)

    def ordered(ways: Iterable[NDCGDefinition], runs: Sequence[Run], judged: Judgements, theirs: Floats) -> Tried:
        ways = [way for way in dict.fromkeys(ways) if way.has_meaning]
        tried = zip(ways, _values(ways, runs, judged, own, longest), strict=True)
        return sorted(tried, key=lambda way: _fit(way[1], theirs, tolerance), reverse=True)

    sample, best = _sampled(runs, judged, theirs), [base]
    singles = [replace(base, **change) for change in changes]
    pairs = [replace(base, **a, **b) for a, b in combinations(changes, 2) if a.keys() != b.keys()]
    for ways in (singles, pairs):
        best += [way for way, _ in ordered(ways, *sample)[:MOST_CONFIRMED]]
        tried = ordered(best, runs, judged, theirs)
        if _fit(tried[0][1], theirs, tolerance)[0] == (~np.isnan(theirs)).sum():
            break
    return tried


def _sampled(runs: Sequence[Run], judged: Judgements, theirs: Floats) -> tuple[list[Run], Judgements, Floats]:
    """Return runs, judgements and values of at most `MOST_SEARCHED` queries with values, evenly spread."""
    import polars as pl

    known = np.flatnonzero(~np.isnan(theirs).all(axis=0))
    chosen = known[np.unique(np.linspace(0, len(known) - 1, MOST_SEARCHED).astype(int))]
    kept = pl.col("query").is_in(judged.frame["query"].unique().sort().gather(chosen).implode())
    parts = [(r, Run(part, run.name)) for r, run in enumerate(runs) if len(part := run.frame.filter(kept))]
    if not parts:
        raise InputError(
            f"no run has a query of the values, such as {judged.frame['query'].unique().sort()[int(known[0])]}"
        )
    values = theirs[[r for r, _ in parts]][:, chosen]
    return [run for _, run in parts], replace(judged, frame=judged.frame.filter(kept)), values


def _fit(values: Floats, theirs: Floats, tolerance: float) -> tuple[int, float]:
    """Return how many values agree, and minus the mean difference."""
    difference = np.abs(values - theirs)[~np.isnan(theirs)]
    return int((difference <= tolerance).sum()), -float(difference.mean())


def _values(
    ways: Sequence[NDCGDefinition], runs: Sequence[Run], judged: Judgements, own: DCG, longest: int
) -> list[Floats]:
    """Return the values by each convention, shape (R, Q), 0 for missing queries; alike ones are evaluated at once."""
    alike: dict[tuple[Any, ...], list[int]] = {}
    for i, way in enumerate(ways):
        cut = way.depth if way.ideal in ("top", "uncut") else None
        alike.setdefault((way.order, way.ideal, way.unjudged, way.empty, cut), []).append(i)
    values: dict[int, Floats] = {}
    for (order, ideal, unjudged, empty, cut), numbers in alike.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scales, as the metric's own evaluation has warned
            found = evaluate(
                [_ordered(run, order, cut) for run in runs],
                judged,
                {str(i): ways[i].metric(own, longest) for i in numbers},
                normalise=ideal not in ("none", "best"),
                ties=order if order in TIES else "stable",
                unjudged=unjudged,
                ideal="list" if ideal in ("list", "top") else "judgements",
                empty=empty,
            )
        scale = 100 if ideal == "percent" else 1
        values |= {i: np.nan_to_num(found.values[:, m]) * scale for m, i in enumerate(numbers)}
    return [values[i] for i in range(len(ways))]


def _ordered(run: Run, order: str, cut: int | None) -> Run:
    """Return the run in an order of `WORDS`, for ``ties="stable"`` where that has no such order, down to a rank."""
    import polars as pl

    frame = run.frame
    if order == "docno-asc":
        frame = frame.sort("document", maintain_order=True)
    elif order == "reversed":
        frame = frame.reverse()
    elif order == "ascending":
        frame = frame.with_columns(-pl.col("score"))
    elif order == "file":
        frame = frame.with_columns(score=-pl.int_range(pl.len()).over("query").cast(pl.Float64))
    if cut is not None:
        ties = order if order in TIES else "stable"
        frame = in_order(frame, ties).group_by("query", maintain_order=True).head(cut)
    return Run(frame, run.name)
