"""Textbook metrics that have no gains and discounts by name: ERR, RBP, INST, BPM, best grade.

Grades become gains as each definition says, with L the number of grades: ``r = g / (L - 1)``, or
for ERR the chance ``(2^g - 1) / 2^(L - 1)`` that a document satisfies.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, InputError, graded_lists, whole_number
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.textbook import NamedMetric


@dataclass(frozen=True)
class AdaptiveMetric:
    """A metric of users who go on until their gains reach a target: INST or BPM.

    It is the expected gain per document that a user looks at (C/W/L, Moffat et al. 2017): with
    ``V_i`` the probability of reaching rank ``i``, the value is ``sum_i V_i r_i / sum_i V_i``. No
    document follows after rank K. `kind` says how users go on, see `textbook_list_metrics`;
    `target` is T, the gain that they want. Its values are plain: nobody divides them by the best
    that is possible.
    """

    kind: str
    n_grades: int
    depth: int
    target: float

    plain: ClassVar[bool] = True

    def score(self, lists: ArrayLike) -> Floats:
        """Return the values of graded lists, shape (n,), or a float for one; see `DCG.score`."""
        grades = graded_lists(lists, n_grades=self.n_grades)[..., : self.depth]
        gains = np.append(np.arange(self.n_grades) / max(self.n_grades - 1, 1), 0.0)[grades]
        if self.kind == "INST":
            return _inst(gains, self.target)[()]
        return _bpm(gains, self.target, self.depth)[()]


ListMetric: TypeAlias = DCG | ListUtility | AdaptiveMetric
"""A metric of graded lists."""


def _inst(gains: Floats, target: float) -> Floats:
    """Return INST, shape (n,), of gains, shape (n, M).

    Users go on with ``((i + T + T_i - 1) / (i + T + T_i))^2``, where ``T_i`` is T minus the gains
    down to rank i. Below the list no gain follows, so the sum of ``V_i`` there is closed.
    """
    from scipy.special import polygamma

    # probabilities of reaching each rank, and below the list
    ranks = np.arange(1.0, gains.shape[-1] + 1)
    place = ranks + 2 * target - np.cumsum(gains, axis=-1)
    reached = np.cumprod(((place - 1) / place) ** 2, axis=-1)
    first = np.concatenate([np.ones_like(reached[..., :1]), reached[..., :-1]], axis=-1)
    below = reached[..., -1] * place[..., -1] ** 2 * polygamma(1, place[..., -1])
    return (first * gains).sum(axis=-1) / (first.sum(axis=-1) + below)


def _bpm(gains: Floats, target: float, depth: int) -> Floats:
    """Return the static BPM, (n,), of gains, (n, M): users stop at a gain of T, or at rank K."""
    # ranks that users look at, below the list too
    before = np.cumsum(gains, axis=-1) - gains
    looked_at = before < target - 1e-12
    unsatisfied = looked_at[..., -1] & (gains.sum(axis=-1) < target - 1e-12)
    below = np.where(unsatisfied, depth - gains.shape[-1], 0)
    return (gains * looked_at).sum(axis=-1) / (looked_at.sum(axis=-1) + below)


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
    """How a metric is made of L, K and a parameter; the parameter's letter, default and range."""

    made: Callable[[int, int, float], ListMetric]
    letter: str = ""
    default: float = 0.0
    least: float = 0.0
    most: float = np.inf
    tried: tuple[float, ...] = ()
    """Values among which a training chooses."""


TARGETS = (0.5, 1, 1.5, 2, 3, 5)
"""Gains that users want, among which a training chooses."""

DEFINITIONS: dict[str, _Definition] = {
    "ERR": _Definition(_err),
    "RBP": _Definition(_rbp, "p", 0.8, 0.0, 1.0, tuple(round(0.05 * i, 2) for i in range(2, 20))),
    "INST": _Definition(partial(AdaptiveMetric, "INST"), "T", 1.0, 0.5, tried=TARGETS),
    "BPM": _Definition(partial(AdaptiveMetric, "BPM"), "T", 1.0, tried=TARGETS),
    "BestGrade": _Definition(lambda n, k, _: _best(n, k, 0.0)),
    "BestGradeRank": _Definition(lambda n, k, _: _best(n, k, 1.0)),
}
"""The metrics by name."""

LIST_NAMES = (
    "ERR, RBP(p=0.8) or RBP(p=0.8,rel=1), INST(T=1), BPM(T=1), BestGrade, BestGradeRank, "
    "with or without @K"
)
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
        letter, least, most = definition.letter, definition.least, definition.most
        settings = dict(re.findall(cls._setting, match[3] or ""))
        rel = settings.pop("rel", None) if kind == "RBP" else None
        if set(settings) - {letter}:
            has = f"the parameter {letter}" if letter else "no parameter"
            raise InputError(f"{name} {word!r}: {kind} has {has}")

        # BPM's T and RBP's p are open intervals; INST's T may be its least
        parameter = float(settings.get(letter, definition.default))
        if letter and not (least <= parameter < most and parameter > 0):
            raise InputError(f"{name} {word!r}: {letter} must lie between {least:g} and {most:g}")

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
    - ``INST``: users who want T go on from rank i with probability
      ``((i + T + T_i - 1) / (i + T + T_i))^2``, where ``T_i`` is what they still lack (Moffat,
      Bailey, Scholer and Thomas 2015, graded as in cwl_eval).
    - ``BPM``, the static Bejeweled player model: users stop once their gains reach T, or at rank K
      (Zhang, Liu, Li, Zhang, Xu and Ma 2017, as in cwl_eval: the gain per document looked at).
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
