"""Textbook metrics that have no gains and discounts by name: ERR, RBP, best grade.

Grades become gains as each definition says, with L the number of grades: ``r = g / (L - 1)``, or
for ERR the chance ``(2^g - 1) / 2^(L - 1)`` that a document satisfies.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np

from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.textbook import NamedMetric

ListMetric: TypeAlias = DCG | ListUtility
"""A metric of graded lists."""


def _err(n_grades: int, depth: int, _: float) -> ListUtility:
    chances = (np.exp2(np.arange(n_grades)) - 1) / np.exp2(n_grades - 1)
    return ListUtility(chances, 1 / np.arange(1.0, depth + 1), chances, plain=True)


def _rbp(n_grades: int, depth: int, p: float) -> DCG:
    gains = np.arange(n_grades) / max(n_grades - 1, 1)
    return DCG(gains, (1 - p) * p ** np.arange(float(depth)), plain=True)


def _best(n_grades: int, depth: int, fall: float) -> ListUtility:
    discounts = 1 - fall * np.arange(depth) / (n_grades * depth)
    return ListUtility(np.arange(float(n_grades)), discounts, best=1.0, plain=True)


@dataclass(frozen=True)
class _Definition:
    """How a metric is made of L, K and a parameter between 0 and 1; its letter and default."""

    made: Callable[[int, int, float], ListMetric]
    letter: str = ""
    default: float = 0.0
    tried: tuple[float, ...] = ()
    """Values among which a training chooses."""


DEFINITIONS: dict[str, _Definition] = {
    "ERR": _Definition(_err),
    "RBP": _Definition(_rbp, "p", 0.8, tuple(round(0.05 * i, 2) for i in range(2, 20))),
    "BestGrade": _Definition(lambda n, k, _: _best(n, k, 0.0)),
    "BestGradeRank": _Definition(lambda n, k, _: _best(n, k, 1.0)),
}
"""The metrics by name."""

LIST_NAMES = "ERR, RBP(p=0.8) or RBP(p=0.8,rel=1), BestGrade, BestGradeRank, with or without @K"
"""For messages: names that stand for one of these metrics."""


@dataclass(frozen=True)
class ListMetricName(NamedMetric):
    """The name of one of these metrics.

    Examples
    --------
    >>> ListMetricName.of("RBP(p=0.8)@10").metric(n_grades=3).discounts[:3].round(3)
    array([0.2  , 0.16 , 0.128])
    >>> ListMetricName.of("RBP@10(p=.8)").at(5), ListMetricName.of("ERR").at(5)
    ('RBP(p=0.8)@10', 'ERR@5')
    >>> ListMetricName.of("RBP(rel=2)@10").metric(n_grades=4).gains
    array([0., 0., 1., 1.])
    """

    kind: str
    parameter: float
    depth: int | None
    rel: int | None = None
    """In RBP the least relevant grade, where relevance is binary, as in ir_measures."""

    _setting: ClassVar[str] = r"(\w|rel)=(\d*\.?\d+)"
    _k: ClassVar[str] = r"(?:@(\d{1,7}))?"
    _pattern: ClassVar[str] = (
        rf"({'|'.join(DEFINITIONS)}){_k}(\({_setting}(?:, ?{_setting})?\))?{_k}"
    )

    @classmethod
    def of(cls, word: str, name: str = "metric") -> Self:
        """Return a word's metric, K before or after the parameter, or raise InputError."""
        match = re.fullmatch(cls._pattern, word)
        if match is None or (match[2] and match[8]):
            raise InputError(f"{name} {word!r} is not one of {LIST_NAMES}")

        # its settings by name
        kind, definition = match[1], DEFINITIONS[match[1]]
        letter = definition.letter
        settings = dict(re.findall(cls._setting, match[3] or ""))
        rel = settings.pop("rel", None) if kind == "RBP" else None
        if set(settings) - {letter}:
            has = f"the parameter {letter}" if letter else "no parameter"
            raise InputError(f"{name} {word!r}: {kind} has {has}")

        # the parameter
        parameter = float(settings.get(letter, definition.default))
        if letter and not 0 < parameter < 1:
            raise InputError(f"{name} {word!r}: {letter} must lie between 0 and 1")

        # K, on either side
        digits = match[2] or match[8]
        depth = whole_number(int(digits), "depth") if digits else None
        if rel is not None and not (rel.isdecimal() and int(rel) > 0):
            raise InputError(f"{name} {word!r}: rel must be a grade of at least 1")
        return cls(kind, parameter, depth, None if rel is None else int(rel))

    def at(self, depth: int) -> str:
        """Return the name with its depth; `depth` where it has none."""
        letter = DEFINITIONS[self.kind].letter
        rel = "" if self.rel is None else f",rel={self.rel}"
        parameter = f"({letter}={self.parameter:g}{rel})" if letter else ""
        return f"{self.kind}{parameter}@{self.depth or depth}"

    @property
    def metric_class(self) -> type[ListMetric]:
        """The class of the metric."""
        return type(DEFINITIONS[self.kind].made(2, 1, self.parameter))

    def metric(self, n_grades: int, depth: int | None = None) -> ListMetric:
        """Return the metric for L grades, K deep, or `depth` where the name has no K."""
        # RBP with a `rel` has binary gains
        made = DEFINITIONS[self.kind].made
        metric = made(whole_number(n_grades, "n_grades"), self.deep(depth), self.parameter)
        if self.rel and isinstance(metric, DCG):
            return replace(metric, gains=(np.arange(n_grades) >= self.rel).astype(np.float64))
        return metric


def textbook_list_metrics(n_grades: int, depth: int) -> dict[str, dict[str, ListMetric]]:
    """Return textbook metrics that are not among `textbook_dcgs`, by family, then by name.

    Families of one metric each, or of several values of a parameter that can be chosen in training:

    - ``ERR``, expected reciprocal rank: ``sum_k R_k/k prod_{m<k} (1 - R_m)`` with
      ``R = (2^g - 1) / 2^(L-1)`` (Chapelle, Metzler, Zhang and Grinspan 2009), a `ListUtility`.
    - ``RBP``, rank-biased precision: ``(1 - p) sum_k p^(k-1) r_k`` (Moffat and Zobel 2008), a
      `DCG`.
    - ``BestGrade``: the best grade in the list, wherever it stands; ``BestGradeRank``: the best
      grade and, among lists of one best grade, its first position.

    All are plain: `evaluate` returns their values as they are defined, never divided by the ideal,
    as for their names.

    See Also
    --------
    ListUtility : One of one's own.

    Examples
    --------
    >>> families = textbook_list_metrics(n_grades=4, depth=10)
    >>> families["ERR"]["ERR@10"].score([3, 0, 2]).round(4)
    np.float64(0.8906)
    """
    families: dict[str, dict[str, ListMetric]] = {}
    for kind, definition in DEFINITIONS.items():
        parameters = definition.tried or (definition.default,)
        names = [ListMetricName(kind, parameter, depth) for parameter in parameters]
        families[kind] = {name.at(depth): name.metric(n_grades) for name in names}
    return families
