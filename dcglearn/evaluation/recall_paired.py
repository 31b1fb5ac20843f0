"""Two rankings of one query compared by the ranks of their relevant documents.

Recall-paired preference: F. Diaz and A. Ferraro, "Offline retrieval evaluation without evaluation
metrics", SIGIR 2022. Lexicographic precision and recall: F. Diaz, "Best-case retrieval evaluation:
improving the sensitivity of reciprocal rank with lexicographic precision", 2023; F. Diaz, M. D.
Ekstrand and B. Mitra, "Recall, robustness, and lexicographic evaluation", 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from dcglearn.evaluation.ranked import RankedGrades, judged_counts, ranked_grades
from dcglearn.evaluation.trec import Judgements, Run
from dcglearn.foundation.validation import Flags, Floats, InputError, Integers, one_of
from dcglearn.metrics.textbook import textbook_discounts

Ranks: TypeAlias = Sequence[float | None]
"""Ranks from 1, None for a document that is not ranked."""


def recall_paired_preference(x: Ranks, y: Ranks, weight: str = "uniform") -> float:
    """Return how far ranking x is preferred to ranking y, from -1 to 1 (Diaz and Ferraro 2022).

    The i-th relevant documents of the two rankings are paired, and each pair votes for the ranking
    that has it higher: ``sum_i w_i sign(y_i - x_i)``, with weights that sum to 1. Raises InputError
    if the numbers of documents differ, a rank is below 1 or NaN or occurs twice, or `weight` is
    unknown.

    Parameters
    ----------
    x, y : sequence of float
        The ranks, from 1, at which each ranking has its relevant documents, in any order; None or
        infinity for those that it does not have. Both have the same number of relevant documents.
    weight : {"uniform", "reciprocal", "log2"}
        Weight of the i-th pair: equal, ``1 / i``, or ``1 / log2(i + 1)``. Take "uniform" for users
        who want all relevant documents, one of the others for users who want the first few.

    See Also
    --------
    evaluation.lexi_precision : Compare at the first level that differs.
    compare_systems : Compare under metrics.

    Examples
    --------
    >>> ranks, weights = ((1, 5, None), (2, 3, 10)), ("uniform", "reciprocal", "log2")
    >>> [round(recall_paired_preference(*ranks, weight), 4) for weight in weights]
    [-0.3333, 0.0909, -0.0614]
    """
    one_of(weight, "weight", ("uniform", "reciprocal", "log2"))
    return _paired(*_both(x, y), weight)


def lexi_precision(x: Ranks, y: Ranks, form: str = "sign") -> float:
    """Return which ranking is better at the first level of recall where they differ.

    At level i, the ranks of the i-th relevant document of each ranking are compared. `form` is
    "sign", 1 or -1 for the better one, 0 if the ranks do not differ; or "reciprocal", the
    difference ``1 / x_i - 1 / y_i`` there. Take "sign" to count wins, "reciprocal" to weigh
    differences near the top more. For x, y and errors see `recall_paired_preference`.

    See Also
    --------
    evaluation.lexi_recall : The same from the last relevant document.
    compare_systems : Compare under metrics.

    Examples
    --------
    >>> x, y = (1, 5, None), (2, 3, 10)
    >>> lexi_precision(x, y), lexi_precision(x, y, form="reciprocal")
    (1.0, 0.5)
    """
    return _first_difference(*_both(x, y), form, first=True)


def lexi_recall(x: Ranks, y: Ranks, form: str = "sign") -> float:
    """Return which ranking is better at the last level of recall where they differ.

    Parameters, returns and errors are as in `lexi_precision`.

    See Also
    --------
    evaluation.recall_paired_preference : Compare at every level of recall.

    Examples
    --------
    >>> lexi_recall((1, 5, None), (2, 3, 10))
    -1.0
    """
    return _first_difference(*_both(x, y), form, first=False)


def _both(x: Ranks, y: Ranks) -> tuple[Floats, Floats]:
    """Return the ranks of both, ascending, with infinity for documents that are not ranked."""
    ranks = []
    for name, values in (("x", x), ("y", y)):
        numbers = [np.inf if value is None else value for value in values]
        ordered = np.sort(np.array(numbers, dtype=np.float64))

        # ranks are distinct numbers from 1
        refusal = ""
        if (np.diff(ordered[np.isfinite(ordered)]) == 0).any():
            refusal = "two documents have one rank; break the tie first"
        if not (ordered >= 1).all():
            refusal = "ranks are numbers from 1; None is a document not ranked"
        if refusal:
            raise InputError(f"{name}={list(values)!r}: {refusal}")
        ranks.append(ordered)

    if len(ranks[0]) != len(ranks[1]):
        raise InputError(
            f"x has {len(ranks[0])} relevant documents and y has {len(ranks[1])}; give both all "
            "that are relevant, None for those that it does not rank"
        )
    return ranks[0], ranks[1]


def _votes(x: Floats, y: Floats) -> Floats:
    """Return 1 where x ranks the i-th relevant document higher, -1 where y does, else 0."""
    return (x < y).astype(np.float64) - (y < x)


def _paired(x: Floats, y: Floats, weight: str) -> float:
    """Return the weighted mean of the votes of pairs."""
    if not len(x):
        return 0.0
    weights = textbook_discounts("flat" if weight == "uniform" else weight, len(x))
    return float(weights @ _votes(x, y) / weights.sum())


def _first_difference(x: Floats, y: Floats, form: str = "sign", *, first: bool) -> float:
    """Return the vote of the first or the last pair that differs, or its difference."""
    one_of(form, "form", ("sign", "reciprocal"))
    places = np.flatnonzero(x != y)
    if not len(places):
        return 0.0
    i = places[0 if first else -1]
    return float(_votes(x, y)[i] if form == "sign" else 1 / x[i] - 1 / y[i])


COMPANIONS: dict[str, Callable[[Floats, Floats], float]] = {
    "RPP": partial(_paired, weight="uniform"),
    "invRPP": partial(_paired, weight="reciprocal"),
    "dcgRPP": partial(_paired, weight="log2"),
    "lexi-precision": partial(_first_difference, first=True),
    "lexi-recall": partial(_first_difference, first=False),
}
"""Preferences between two runs, by the names that `compare_systems` takes.

Those named RPP are averaged over the grades, the others are of all relevant documents.
"""


def companion_of(word: Any) -> str | None:
    """Return the preference that a word names, whatever its case and hyphens; else None."""
    if not isinstance(word, str):
        return None
    plain = {name.lower().replace("-", ""): name for name in COMPANIONS}
    return plain.get(word.lower().replace("-", "").replace("_", ""))


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Runs whose rankings can be compared query by query, each with each.

    `ranked` holds the grades of each run by position, and `counts`, shape (Q, L), the judged
    documents by grade. Each grade stands for the documents of at least this grade, and their number
    is its weight.
    """

    names: tuple[str, ...]
    ranked: tuple[RankedGrades, ...]
    counts: Integers
    missing: str

    @classmethod
    def of(
        cls, names: Sequence[str], judged: Judgements, runs: Sequence[Run], ties: str, missing: str
    ) -> Self:
        """Join runs with judgements.

        Raise InputError if `ties` is "average", or a run has no judged query.
        """
        if ties == "average":
            raise InputError(f'{names[0]} compares ranks: give ties="docno-desc" or "stable"')
        ranked = tuple(ranked_grades(judged, run, None, ties) for run in runs)
        return cls(tuple(names), ranked, judged_counts(judged, judged.n_grades)[1], missing)

    @property
    def has(self) -> Flags:
        """Whether each run has each judged query, shape (R, Q)."""
        return np.stack([ranked.lengths > 0 for ranked in self.ranked])

    @property
    def measured(self) -> Flags:
        """Whether a query has a relevant document, and each run a judged one, shape (R, Q)."""
        seen = np.stack([(ranked.grades >= 0).any(axis=1) for ranked in self.ranked])
        return seen & self.counts[:, 1:].any(axis=1)

    def against(self, name: str, run: int, baseline: int) -> Floats:
        """Return preferences for a run over the baseline, shape (Q,); NaN for omitted queries."""
        ours, theirs = self.ranked[run], self.ranked[baseline]
        values = np.zeros(len(self.counts))
        for q, counts in enumerate(self.counts):
            values[q] = self._of_query(name, ours.grades[q], theirs.grades[q], counts)
        if self.missing == "skip":
            values[(ours.lengths == 0) | (theirs.lengths == 0)] = np.nan
        return values

    @staticmethod
    def _of_query(name: str, ours: Any, theirs: Any, counts: Integers) -> float:
        """Return a query's preference, by all relevant documents or by grade (`PairedRuns`)."""
        levels = [1]
        if name.endswith("RPP"):
            levels = [level for level in range(1, len(counts)) if counts[level]]
        total = weights = 0.0
        for level in levels:
            n = int(counts[level:].sum())
            total += n * COMPANIONS[name](_ranks(ours, level, n), _ranks(theirs, level, n))
            weights += n
        return total / weights if weights else 0.0


def _ranks(grades: Any, level: int, n: int) -> Floats:
    """Return the ranks of the n documents of at least a grade, infinity for unranked ones."""
    ranks = np.full(n, np.inf)
    places = np.flatnonzero(grades >= level) + 1
    ranks[: len(places)] = places
    return ranks
