"""Metrics by name, ``NAME[@K]``: textbook DCGs, ERR, RBP and the best grade.

With L the number of grades, they are defined thus:

- ``ERR``, expected reciprocal rank: ``sum_k R_k/k prod_{m<k} (1 - R_m)`` with the chance ``R =
  (2^g - 1) / 2^(L-1)`` that a document satisfies (Chapelle, Metzler, Zhang and Grinspan 2009).
- ``RBP``, rank-biased precision: ``(1 - p) sum_k p^(k-1) r_k`` with ``r = g / (L - 1)`` (Moffat and
  Zobel 2008).
- ``BestGrade``: the best grade in the list, wherever it stands; ``BestGradeRank``: the best grade
  and, among lists of one best grade, its first position.

RBP is a DCG, the others are list utilities. All are plain: `evaluate` returns their values as they
are defined, never divided by the ideal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from dcglearn.foundation.validation import InputError, errors_in, whole_number
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility

ListMetric: TypeAlias = DCG | ListUtility
"""A metric of graded lists."""

NAMES = (
    "GAIN-DISCOUNT[@K], such as exponential-log2@10, nor nDCG[@K], nor reader:NAME, nor ERR, "
    "RBP(p=0.8) or RBP(p=0.8,rel=1), BestGrade, BestGradeRank, with or without @K"
)
"""For messages: names that stand for a metric."""

MOST_POSITIONS = 9_999_999
"""The largest K: the discounts of a larger one might not fit in memory."""


def _err(n_grades: int, depth: int) -> ListUtility:
    chances = (np.exp2(np.arange(n_grades)) - 1) / np.exp2(n_grades - 1)
    return ListUtility(chances, 1 / np.arange(1.0, depth + 1), chances)


def _best(n_grades: int, depth: int, fall: float) -> ListUtility:
    discounts = 1 - fall * np.arange(depth) / (n_grades * depth)
    return ListUtility(np.arange(float(n_grades)), discounts, best=1.0)


def _rbp(n_grades: int, depth: int, p: float, rel: int | None) -> DCG:
    # with a least relevant grade, relevance is binary, as in ir_measures
    gains = np.arange(n_grades) / max(n_grades - 1, 1)
    if rel is not None:
        gains = (np.arange(n_grades) >= rel).astype(np.float64)
    return DCG(gains, (1 - p) * p ** np.arange(float(depth)), plain=True)


LIST_UTILITIES: dict[str, Callable[[int, int], ListUtility]] = {
    "ERR": _err,
    "BestGrade": partial(_best, fall=0.0),
    "BestGradeRank": partial(_best, fall=1.0),
}
"""Metrics by name that are no DCGs."""

_FORM = re.compile(
    rf"(?P<stem>(?P<own>{'|'.join(LIST_UTILITIES)})"
    r"|(?P<rbp>RBP(\((p=(?P<p>\d*\.?\d+))?(,? ?rel=(?P<rel>\d+))?\))?)"
    r"|(?i:n?dcg)|(?P<gain>[a-z0-9.]+)-(?P<discount>[a-z0-9.]+))(@(?P<depth>\d{1,9}))?"
)


@dataclass(frozen=True)
class MetricName:
    """The name of a metric, for any number of grades.

    `stem` is the name without K, `depth` is K, or None where it has none, and `made` returns the
    metric, of class `kind`, for L grades and K positions. A textbook DCG has its `gain` and
    `discount`.

    Examples
    --------
    >>> metric_name("RBP(p=0.5)@3").metric(n_grades=3).discounts
    array([0.5  , 0.25 , 0.125])
    >>> metric_name("ERR").at(5), metric_name("RBP(rel=2)@10").metric(4).gains.tolist()
    ('ERR@5', [0.0, 0.0, 1.0, 1.0])
    """

    stem: str
    depth: int | None
    made: Callable[[int, int], ListMetric]
    kind: type[Any] = DCG
    gain: str = ""
    discount: str = ""

    def deep(self, depth: int | None) -> int:
        """Return K, or `depth` where the name has none; raise InputError if both are None."""
        if self.depth is not None:
            return self.depth
        if depth is None:
            raise InputError(
                f"metric {self.stem!r} has no depth, and nothing here says one: "
                f"write {self.stem}@10"
            )
        return whole_number(depth, "depth")

    def at(self, depth: int | None) -> str:
        """Return the name with its depth; `depth` where it has none."""
        return f"{self.stem}@{self.deep(depth)}"

    def metric(self, n_grades: int, depth: int | None = None) -> Any:
        """Return the metric for L grades, K deep, or `depth` where the name has no K."""
        size = whole_number(n_grades, "n_grades")
        with errors_in(f"metric {self.stem!r}"):
            return self.made(size, self.deep(depth))


def is_metric_name(word: str) -> bool:
    """Return whether a word has the form of a metric's name."""
    return _FORM.fullmatch(word) is not None


def metric_name(word: str, name: str = "metric") -> MetricName:
    """Return the name that a word of such a form is; raise InputError, about `name`, if none."""
    match = _FORM.fullmatch(word)
    assert match is not None, word
    about, digits = f"{name} {word!r}", match["depth"]
    remedy = "K is the number of positions"
    depth = None
    if digits is not None:
        depth = whole_number(int(digits), f"{about}: depth", 1, MOST_POSITIONS, remedy)

    # what is not made of a gain and a discount
    if match["own"]:
        return MetricName(match["own"], depth, LIST_UTILITIES[match["own"]], ListUtility)
    if match["rbp"]:
        # patience p, and the least relevant grade
        p, rel = float(match["p"] or 0.8), None if match["rel"] is None else int(match["rel"])
        if not 0 < p < 1 or rel == 0:
            raise InputError(
                f"{about}: RBP has the parameters p, between 0 and 1, "
                "and rel, a grade of at least 1"
            )
        shown = f"p={p:g},rel={rel}" if rel else f"p={p:g}"
        return MetricName(f"RBP({shown})", depth, partial(_rbp, p=p, rel=rel))

    # textbook DCGs; nDCG is trec_eval's
    gain, discount = match["gain"] or "linear", match["discount"] or "log2"
    made = partial(DCG.standard, gain=gain, discount=discount)
    try:
        made(1, 1)
    except InputError as error:
        raise InputError(f"{about}: there is no such file, and {error}") from None
    return MetricName(match["stem"], depth, made, gain=gain, discount=discount)
