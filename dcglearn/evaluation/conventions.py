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
from dcglearn.foundation.validation import EMPTY, Floats, Integers
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run

MOST_CHANGES = 3
"""No more conventions than these differ at once."""

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
"""Cut-offs that are tried, beside those next to the metric's own, and none."""

NO_IDEAL = "no division by an ideal (--raw)"

OF_EMPTY = {f"{x:g} for a query without a relevant document": x for x in (0.0, 1.0, np.nan)}
"""Values where the ideal is 0."""

FACTORS = {"shares": 1.0, "percentages": 100.0}
"""Factors of all values."""


def defined_values(
    judged: Judgements, run: Run, own: DCG
) -> Iterator[tuple[Sequence[str], Floats]]:
    """Yield changes of a metric's conventions, in words, and the values of judged queries.

    A definition has a convention of each kind. Those that differ in the fewest come first.
    """
    # gains of the grades that occur, which may be any numbers
    g = np.unique([0.0, *judged.frame["grade"]])
    own_gains = g if judged.n_grades is None else own.gains[g.astype(np.int64)]
    gains = _with_own(
        "gain", own_gains, {"gain g (linear)": g, "gain 2^g - 1 (exponential)": np.exp2(g) - 1}
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
        },
    )

    # cut-offs, that of the metric first
    others = (own.depth - 1, own.depth + 1, *CUTOFFS)
    depths = {f"cut-off {k}": k for k in (own.depth, *others) if 0 < k <= longest or k == own.depth}
    depths["no cut-off"] = longest

    # plain values of the run in every order, and of ideal rankings
    orders = _orders(judged, run)
    found: dict[tuple[str, ...], Floats] = {}
    for depth, k in depths.items():
        ideals = _ideals(judged, next(iter(orders.values())), k)
        falls = np.transpose([*discounts.values()])[:k]
        for (name, lists), (gain, its) in product((orders | ideals).items(), gains.items()):
            # an unjudged document has the gain of grade 0, and an empty place none
            of_documents = its[np.searchsorted(g, lists.grades)] * (lists.grades > EMPTY)
            sums = lists.sums(of_documents, falls).T
            found |= {(gain, by, depth, name): x for by, x in zip(discounts, sums, strict=True)}

    # definitions, whose values are divided by those of the ideal
    kinds = gains, discounts, depths, [*ideals, NO_IDEAL], OF_EMPTY, orders, FACTORS
    base = [next(iter(kind)) for kind in kinds]
    if own.plain:
        base[3] = NO_IDEAL

    # those with the fewest changes first
    for definition in sorted(product(*kinds), key=lambda its: sum(map(ne, its, base))):
        pairs = zip(definition, base, strict=True)
        changes = [f"{new} in place of {old}" for new, old in pairs if new != old]
        if len(changes) > MOST_CHANGES:
            return

        # the values over the ideal ones
        *curve, ideal, empty, order, factor = definition
        best = found.get((*curve, ideal), np.ones(1))
        value = normalised_values(found[*curve, order], best, OF_EMPTY[empty])
        yield changes, FACTORS[factor] * value


def _with_own(kind: str, own: Floats, others: Mapping[str, Any]) -> dict[str, Floats]:
    """Return curves by name, that of the metric first, under the name of an equal one."""
    for name, its in others.items():
        if np.array_equal(its[: len(own)], own):
            return {name: its, **others}
    return {f"the metric's own {kind}": np.pad(own, (0, len(its) - len(own))), **others}


def _orders(judged: Judgements, run: Run) -> dict[str, Lists]:
    """Return a run's lists in all orders of documents."""
    by_name = ranked_lists(judged, run)
    return {
        "ties by descending names (--ties docno-desc)": by_name,
        "ties in the order of the file (--ties stable)": ranked_lists(judged, run, ties="stable"),
        "tied documents that share their gains (--ties average)": replace(by_name, ties="average"),
        "unjudged documents left out (--unjudged drop)": by_name.judged,
    }


def _ideals(judged: Judgements, shown: Lists, k: int) -> dict[str, Lists]:
    """Return the best rankings of judged documents, and of those that a run shows."""
    best = _best(*judged_documents(judged)[1:])
    is_within = best.rank < np.diff(shown.offsets)[best.query]
    top = np.where(shown.rank < k, shown.grades, EMPTY)
    returned = np.where(is_within, best.grades, EMPTY)
    return {
        "the ideal of all judged documents": best,
        'the ideal of the run\'s own documents (ideal="list")': _best(shown.offsets, shown.grades),
        "the ideal of the run's documents above the cut-off": _best(shown.offsets, top),
        "an ideal as long as the returned list": replace(best, grades=returned),
    }


def _best(offsets: Integers, grades: Any) -> Lists:
    return ranked(offsets, grades, grades.take)
