"""Values of one run by every usual definition of a (N)DCG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from dcglearn.evaluation.run_values import evaluate, longest_list
from dcglearn.foundation.validation import Floats, PolarsFrame
from dcglearn.metrics.dcg import DCG, normalised_values
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run

Frames: TypeAlias = dict[str, PolarsFrame]
"""Ranked documents by what their order is called."""

MOST_CHANGES = 4
"""No more conventions than these differ at once."""

CUTOFFS = {1, 3, 5, 10, 20, 50, 100}
"""Cut-offs that are tried, beside those next to the metric's own, and none."""

GAINS: dict[str, Callable[[Any], Any]] = {
    "gain g (linear)": lambda g: g,
    "gain 2^g - 1 (exponential)": lambda g: np.exp2(g) - 1,
    "gain 2^g": np.exp2,
    "gain 1 from grade 1 on (binary1)": lambda g: g >= 1,
    "gain 1 from grade 2 on (binary2)": lambda g: g >= 2,
}
"""Gains of grades."""

DISCOUNTS: dict[str, Callable[[Any], Any]] = {
    "discount 1/log2(i + 1) (log2)": lambda i: 1 / np.log2(i + 1),
    "discount 1/log2(i + 2), off by one": lambda i: 1 / np.log2(i + 2),
    "discount 1/log2(i) from rank 2 on (letor)": lambda i: 1 / np.log2(np.maximum(i, 2)),
    "discount 1/i (reciprocal)": lambda i: 1 / i,
    "discount 1/sqrt(i) (sqrt)": lambda i: 1 / np.sqrt(i),
    "no discount": np.ones_like,
}
"""Discounts of ranks, which count from 1."""

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

    A definition has a convention of each kind, in words, of which at most so many differ.
    """
    # numbers of the grades that occur, which may be any numbers
    grades = judged.frame["grade"].to_numpy()
    levels = np.unique([0.0, *grades])
    own_gains = levels if judged.n_grades is None else own.gains[levels.astype(np.int64)]
    numbered = judged.frame.with_columns(grade=np.searchsorted(levels, grades))
    judged = Judgements(numbered, n_grades=len(levels))

    # curves and cut-offs, those of the metric first
    longest = max(own.depth, longest_list(judged, run))
    near = sorted(CUTOFFS | {own.depth - 1, own.depth + 1})
    depths = {f"cut-off {k}": k for k in [own.depth, *near] if 0 < k <= longest}
    depths["no cut-off"] = longest
    gains = _with_own(GAINS, levels, own_gains, "gain")
    discounts = _with_own(DISCOUNTS, np.arange(1.0, longest + 1), own.discounts, "discount")
    curves = {
        f"{gain} {discount} {depth}": DCG(gains[gain], discounts[discount][: depths[depth]])
        for gain, discount, depth in product(gains, discounts, depths)
    }

    # plain values of all rankings under all curves
    orders, ideals, tops = _rankings(judged, run, depths)
    runs = [Run(frame, name) for name, frame in (orders | ideals | tops).items()]
    found = evaluate(judged, runs, curves, normalise=False, ties="average")
    values = np.nan_to_num(found.values).reshape(-1, len(found.queries))
    plain = dict(zip(product(found.runs, curves), values, strict=True))

    # conventions of all kinds
    kinds = gains, discounts, depths, [*ideals, OF_TOP, NO_IDEAL], EMPTY, orders, FACTORS
    base = [next(iter(kind)) for kind in kinds]
    if own.plain:
        base[3] = NO_IDEAL

    for definition in product(*kinds):
        pairs = zip(definition, base, strict=True)
        changes = [f"{new} in place of {old}" for new, old in pairs if new != old]
        if len(changes) > min(most, MOST_CHANGES):
            continue

        # divided by the value of the ideal
        gain, discount, depth, ideal, empty, order, factor = definition
        value = FACTORS[factor] * plain[order, f"{gain} {discount} {depth}"]
        if ideal != NO_IDEAL:
            ranking = f"{ideal}, {depth}" if ideal == OF_TOP else ideal
            deep = "no cut-off" if ideal == DEEPER else depth
            best = plain[ranking, f"{gain} {discount} {deep}"]
            value = normalised_values(value, best, EMPTY[empty])
        yield definition, changes, value


def _with_own(
    curves: Mapping[str, Callable[[Any], Any]], places: Floats, own: Floats, kind: str
) -> dict[str, Floats]:
    """Return curves by name, that of the metric first, under the name of an equal one."""
    values = {word: np.array(curve(places), float) for word, curve in curves.items()}
    equal = (word for word, its in values.items() if np.array_equal(its[: len(own)], own))
    return {next(equal, f"the metric's own {kind}"): own} | values


def _rankings(
    judged: Judgements, run: Run, depths: Mapping[str, int]
) -> tuple[Frames, Frames, Frames]:
    """Return runs with the documents in all orders, and ideal ones, some for each cut-off."""
    import polars as pl

    def best_first(frame: PolarsFrame) -> PolarsFrame:
        return frame.sort("grade", descending=True, nulls_last=True)

    # documents in each order
    pool = judged.frame
    shown = run.frame.with_columns(pl.col("score").cast(pl.Float32))
    shown = shown.join(pool, on=["query", "document"], how="left", maintain_order="left")
    by_name = shown.sort("score", "document", descending=True)
    orders = {
        "ties by descending names (--ties docno-desc)": by_name,
        "ties in the order of the file (--ties stable)": shown.sort(
            -pl.col("score"), maintain_order=True
        ),
        "unjudged documents left out (--unjudged drop)": by_name.drop_nulls("grade"),
        "the order of the file, regardless of scores": shown,
        "the lowest score first": shown.sort("score", maintain_order=True),
    }

    # judged documents, and those of the run, the best first
    rank = pl.int_range(pl.len()).over("query")
    lengths = shown.group_by("query").len()
    ideals = {
        "the ideal of all judged documents": best_first(pool),
        "the ideal of the run's own documents (--ideal list)": best_first(shown),
        "an ideal as long as the returned list": best_first(pool.join(lengths, on="query")).filter(
            rank < pl.col("len")
        ),
        DEEPER: best_first(pool),
        "an ideal with the worst documents first": pool.sort("grade"),
        "an ideal that is not sorted": pool,
    }
    tops = {
        f"{OF_TOP}, {depth}": best_first(by_name.filter(rank < k)) for depth, k in depths.items()
    }

    # places as scores, but where scores tie
    score = -pl.int_range(pl.len()).cast(pl.Float64)
    for frames in (orders, ideals, tops):
        for name, frame in frames.items():
            frames[name] = frame.select("query", "document", score=score)
    orders["tied documents that share their gains (--ties average)"] = run.frame
    return orders, ideals, tops
