"""Values of one run by every usual definition of a (N)DCG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import ne
from typing import Any

import numpy as np

from dcglearn.evaluation.kernel import Lists, ranked
from dcglearn.evaluation.ranked import judged_documents, ranked_lists
from dcglearn.evaluation.run_values import longest_list
from dcglearn.foundation.validation import Floats
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run

MOST_CHANGES = 4
"""No more conventions than these differ at once."""

CUTOFFS = {1, 3, 5, 10, 20, 50, 100}
"""Cut-offs that are tried, beside those next to the metric's own, and none."""

NOWHERE = -2
"""Grade of a place that holds no document; -1 is a document that is not judged."""

OF_TOP = "the ideal of the run's documents above the cut-off"
DEEPER = "an ideal that continues below the cut-off"
NO_IDEAL = "no division by an ideal (--raw)"

EMPTY = {f"{x:g} for a query without a relevant document": x for x in (0.0, 1.0, np.nan)}
"""Values where the ideal is 0."""

FACTORS = {
    "no factor": 1.0,
    "percentages": 100.0,
    "natural logarithms, 1/ln(i + 1)": 1 / np.log(2),
    "decimal logarithms, 1/log10(i + 1)": 1 / np.log10(2),
}
"""Factors of all values."""


def defined_values(
    judged: Judgements, run: Run, own: DCG, most: int
) -> Iterator[tuple[Sequence[str], Sequence[str], Floats]]:
    """Yield definitions, where they differ from a metric's, and the values of judged queries.

    A definition has a convention of each kind, in words. Those that differ in the fewest come
    first; at most so many differ.
    """
    # gains of the grades that occur, which may be any numbers
    g = np.unique([0.0, *judged.frame["grade"]])
    own_gains = g if judged.n_grades is None else own.gains[g.astype(np.int64)]
    gains = _with_own(
        "gain",
        own_gains,
        {
            "gain g (linear)": g,
            "gain 2^g - 1 (exponential)": np.exp2(g) - 1,
            "gain 2^g": np.exp2(g),
            "gain 1 from grade 1 on (binary1)": g >= 1,
            "gain 1 from grade 2 on (binary2)": g >= 2,
        },
    )

    # discounts of ranks
    longest = longest_list(judged, run)
    i = np.arange(1.0, longest + 1)
    discounts = _with_own(
        "discount",
        own.discounts[:longest],
        {
            "discount 1/log2(i + 1) (log2)": 1 / np.log2(i + 1),
            "discount 1/log2(i + 2), off by one": 1 / np.log2(i + 2),
            "discount 1/log2(i) from rank 2 on (letor)": 1 / np.log2(np.maximum(i, 2)),
            "discount 1/i (reciprocal)": 1 / i,
            "discount 1/sqrt(i) (sqrt)": 1 / np.sqrt(i),
            "no discount": np.ones(longest),
        },
    )

    # cut-offs, that of the metric first
    near = sorted(CUTOFFS | {own.depth - 1, own.depth + 1})
    depths = {f"cut-off {k}": k for k in [own.depth, *near] if 0 < k <= longest or k == own.depth}
    depths["no cut-off"] = longest
    curves = [*product(gains, discounts, depths)]
    falls = np.array([its * (i <= k) for its in discounts.values() for k in depths.values()])

    def values(lists: Lists) -> dict[Any, Floats]:
        # an unjudged document has the gain of grade 0
        level = np.searchsorted(g, lists.grades)
        is_there = lists.grades > NOWHERE
        found = [lists.sums(its[level] * is_there, falls.T).T for its in gains.values()]
        return dict(zip(curves, np.concatenate(found), strict=True))

    # plain values of the run in every order
    shown = _orders(judged, run)
    orders = {name: values(lists) for name, lists in shown.items()}
    by_name, *_ = shown.values()

    # and of ideal rankings, one for each cut-off or one for all
    ideals = {name: values(lists) for name, lists in _ideals(judged, by_name).items()}
    tops = {}
    for depth, k in depths.items():
        top = np.where(by_name.rank < k, by_name.grades, NOWHERE)
        tops[depth] = values(ranked(by_name.offsets, top, top.take))
    ideals[OF_TOP] = {curve: tops[curve[2]][curve] for curve in curves}
    ideals[DEEPER] = {curve: ideals[DEEPER][*curve[:2], "no cut-off"] for curve in curves}
    ideals[NO_IDEAL] = dict.fromkeys(curves, np.ones(1))

    # definitions, whose values are divided by those of the ideal
    kinds = gains, discounts, depths, ideals, EMPTY, orders, FACTORS
    base = [next(iter(kind)) for kind in kinds]
    if own.plain:
        base[3] = NO_IDEAL
    for definition in sorted(product(*kinds), key=lambda its: sum(map(ne, its, base))):
        pairs = zip(definition, base, strict=True)
        changes = [f"{new} in place of {old}" for new, old in pairs if new != old]
        if len(changes) > min(most, MOST_CHANGES):
            return
        curve, (ideal, empty, order, factor) = definition[:3], definition[3:]
        value = normalised_values(orders[order][curve], ideals[ideal][curve], EMPTY[empty])
        yield definition, changes, FACTORS[factor] * value


def _with_own(kind: str, own: Floats, others: Mapping[str, Any]) -> dict[str, Floats]:
    """Return curves by name, that of the metric first, under the name of an equal one."""
    for name, its in others.items():
        if np.array_equal(its[: len(own)], own):
            return {name: its, **others}
    return {f"the metric's own {kind}": np.pad(own, (0, len(its) - len(own))), **others}


def _orders(judged: Judgements, run: Run) -> dict[str, Lists]:
    """Return a run's lists in all orders of documents."""
    by_name = ranked_lists(judged, run)
    stable = ranked_lists(judged, run, ties="stable")
    scores = run.frame["score"].to_numpy()[stable.rows]
    return {
        "ties by descending names (--ties docno-desc)": by_name,
        "ties in the order of the file (--ties stable)": stable,
        "unjudged documents left out (--unjudged drop)": by_name.judged,
        "the order of the file, regardless of scores": _by_falling(-stable.rows, stable),
        "the lowest score first": _by_falling(-scores, stable),
        "tied documents that share their gains (--ties average)": replace(by_name, ties="average"),
    }


def _ideals(judged: Judgements, shown: Lists) -> dict[str, Lists]:
    """Return rankings of the judged documents, and of those that a run shows."""
    _, offsets, grades = judged_documents(judged)
    pool = Lists(offsets, grades, np.arange(len(grades)), np.zeros(len(grades), bool))
    best = _by_falling(grades, pool)
    is_within = best.rank < np.diff(shown.offsets)[best.query]
    as_long = replace(best, grades=np.where(is_within, best.grades, NOWHERE))
    return {
        "the ideal of all judged documents": best,
        "the ideal of the run's own documents (--ideal list)": _by_falling(shown.grades, shown),
        "an ideal as long as the returned list": as_long,
        DEEPER: best,
        "an ideal with the worst documents first": _by_falling(-grades, pool),
        "an ideal that is not sorted": pool,
    }


def _by_falling(keys: Any, lists: Lists) -> Lists:
    return ranked(lists.offsets, keys, lists.grades.take)
