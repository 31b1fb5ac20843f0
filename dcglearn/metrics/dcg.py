"""Values of ranked lists: DCG with any gains and discounts, and any K x L weights (`Utility`)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import cells_of, table_of
from dcglearn.foundation.plain_text import aligned, one_line, percent
from dcglearn.foundation.validation import (
    EMPTY,
    Fields,
    Floats,
    InputError,
    PolarsFrame,
    graded_lists,
    scale_size,
    whole_number,
    within,
)
from dcglearn.metrics.judges import Judges, LearnedFrom
from dcglearn.metrics.saved_metric import SavedMetric
from dcglearn.metrics.textbook import DISCOUNTS, GAINS, textbook_discounts, textbook_gains


@dataclass(frozen=True, eq=False, repr=False)
class Utility(SavedMetric):
    """A weight of every grade at every position; the value of a list is the sum over its positions.

    It is ``<W, s>`` with the K x L binary encoding ``s`` of the list (Zhou et al. 2008, section 5,
    case 2). Raises InputError if the weights are not a finite (K, L) array or the names do not
    match it.

    Parameters
    ----------
    weights : array_like, shape (K, L)
        ``weights[k, l]`` is the weight of grade ``l`` (0 = worst) at position ``k`` (0 = top).
    grade_names, notes : sequence of str, optional
        Names of the L grades, worst first, a list or "Bad,Fair,Good"; remarks that are saved with
        the utility, such as what was not learned.

    See Also
    --------
    DCG : Weights that are gains times discounts.
    UtilityLearner : Learn one.

    Examples
    --------
    >>> Utility([[0, 2], [0, 1]]).score([[1, 0], [0, 1], [1, 1]])
    array([2., 1., 3.])
    """

    weights: Floats
    grade_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    _kind = "utility"
    _arrays: ClassVar = {"weights": 2}
    _by_grade = ("weights",)
    _by_position = "weights"

    def score(self, lists: ArrayLike) -> Floats:
        """Return the values of graded lists, shape (n,), or a float for one list.

        `lists`, shape (n, M) or (M,), hold grades by position, -1 = a result of unknown grade, -2 =
        no result. Both count 0, as do those below K. Raises InputError if a grade is not an integer
        within -2..L-1.
        """
        return self._score(lists, np.zeros(self.depth))

    def _score(self, lists: ArrayLike, unknown: Floats) -> Floats:
        """Return the values of lists; `unknown`, shape (K,), holds an unknown grade's values."""
        grades = graded_lists(lists, n_grades=self.n_grades, empty=True)
        # the last columns are those of -2, -1
        table = np.column_stack([self.weights, np.zeros(self.depth), unknown])
        total = np.zeros(grades.shape[:-1])
        for k in range(min(self.depth, grades.shape[-1])):
            total += table[k][grades[..., k]]
        return total[()]

    @property
    def table(self) -> PolarsFrame:
        """The weights: a row for each position, a column for each grade."""
        positions = {"position": np.arange(1, self.depth + 1)}
        names = grade_labels(self.n_grades, self.grade_names)
        return table_of(positions | dict(zip(names, self.weights.T, strict=True)))

    def __repr__(self) -> str:
        return (
            f"Utility(depth={self.depth}, n_grades={self.n_grades}, "
            f"weights={short_row(self.weights.ravel())})"
        )


POWER = "power of the number of results"
"""What tables call p."""


@dataclass(frozen=True, eq=False, repr=False)
class DCG(SavedMetric):
    """Discounted cumulated gain with any gains and discounts, added up or averaged.

    A list with grade ``g_k`` at position ``k`` has the value ``sum_k discounts[k] * gains[g_k]``
    (Jarvelin and Kekalainen 2000). As a utility, ``W = discounts gains^T`` (Zhou et al. 2008,
    section 5, case 1). With a `power` p, the value is divided by ``n^p``, n the number of the first
    K positions that hold a result: p = 0 is the expected total of gain, p = 1 its expected rate
    (Moffat et al. 2017). Raises InputError if gains or discounts are not finite one-dimensional
    arrays, the power is not within 0 to 1, or the names do not match them.

    Parameters
    ----------
    gains, discounts : array_like, shapes (L,) and (K,)
        Gain of each grade, worst grade first, and discount of each position, top first. Any floats;
        discounts may rise.
    grade_names, notes
        As in `Utility`.
    plain : bool
        Whether values count as they are: `evaluate` never divides them by the ideal, despite its
        `normalise`. True for RBP by name.
    judges : Judges, optional
        The people it was learned from: how sharply they tell two lists apart. Learners know them.
    learned_from : LearnedFrom, optional
        The log it was learned from.
    power : float
        p, from 0 to 1. Lists of one length are ordered as with p = 0; a value with p > 0 is
        `plain`, since its ideal over lists of all lengths is the best document alone.

    See Also
    --------
    evaluation.ListUtility : Lists whose utility is no sum.
    DCGLearner : Learn gains and discounts.

    Examples
    --------
    >>> dcg = DCG(gains=[0, 0.5, 3], discounts=[1, 0.6])
    >>> dcg.score([[2, 1], [1, 2]])
    array([3.3, 2.3])
    >>> dcg.ndcg([1, 2]).round(4)
    np.float64(0.697)

    Half a good result more or less: two results average what one has.

    >>> DCG([0, 1], [1, 1], power=1.0).score([[1, -2], [1, 0], [1, 1]])
    array([1. , 0.5, 1. ])
    """

    gains: Floats
    discounts: Floats
    grade_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    plain: bool = False
    judges: Judges | None = None
    learned_from: LearnedFrom | None = None
    power: float = 0.0

    _kind = "dcg"
    _arrays: ClassVar = {"gains": 1, "discounts": 1}

    def __post_init__(self) -> None:
        super().__post_init__()
        within(self.power, "power", 1, remedy="0 adds up, 1 averages")
        object.__setattr__(self, "power", float(self.power))
        object.__setattr__(self, "plain", self.plain or self.power > 0)

    @classmethod
    def standard(
        cls, n_grades: int, depth: int, gain: str = "exponential", discount: str = "log2"
    ) -> DCG:
        """Return a textbook DCG.

        Raises InputError if a name is unknown, or a number is out of range.

        Parameters
        ----------
        n_grades, depth : int
            L and K.
        gain : {"linear", "exponential", "power3", "power5", "binary1", "binary2"}
            ``g``, ``2^g - 1``, ``3^g - 1``, ``5^g - 1``, ``g >= 1``, ``g >= 2``; any ``powerB`` and
            ``binaryM``.
        discount : {"flat", "log2", "reciprocal", "sqrt", "rbp0.8", "rbp0.5", "linear", "letor"}
            At rank ``r``: ``1``, ``1/log2(r+1)``, ``1/r``, ``1/sqrt(r)``, ``0.8^r``, ``0.5^r``,
            ``(K-r+1)/K``, and LETOR's ``1`` at ranks 1 and 2, then ``1/log2(r)``; any ``rbpP`` with
            0 < P < 1.

        See Also
        --------
        metric : The same by one word, ``GAIN-DISCOUNT@K``.

        Examples
        --------
        >>> DCG.standard(n_grades=3, depth=2)
        DCG(gains=[0, 1, 3], discounts=[1, 0.63093])
        """
        gains = textbook_gains(gain, np.arange(scale_size(n_grades, 0), dtype=np.float64))
        return cls(gains, textbook_discounts(discount, whole_number(depth, "depth")))

    @cached_property
    def utility(self) -> Utility:
        """The weights ``discounts gains^T``, shape (K, L): the metric, of lists of one length."""
        return Utility(np.outer(self.discounts, self.gains), self.grade_names, self.notes)

    def score(self, lists: ArrayLike) -> Floats:
        """Score graded lists, shape (n, M) or (M,); see `Utility.score`.

        Where the gain of the worst grade is negative, unknown grades (-1) count as the worst.
        """
        values = self.utility._score(lists, min(self.gains[0], 0.0) * self.discounts)
        return values if self.power == 0 else values * self.factors(lists)

    def factors(self, lists: ArrayLike) -> Floats:
        """Return ``n^-p`` of lists with n results among the first K positions, shape (n,)."""
        n = (np.asarray(lists)[..., : self.depth] > EMPTY).sum(axis=-1)
        return np.maximum(n, 1.0) ** -self.power

    def ndcg(
        self, lists: ArrayLike, documents: ArrayLike | None = None, empty: float = 0.0
    ) -> Floats:
        """Return the values divided by the ideal ones, shape (n,), or a float for one list.

        `lists`, shape (n, M) or (M,), are grades by position, `documents`, shape (n, M') or (M',),
        those of all that could have been ranked, by default those in the list. `empty` is the value
        where the ideal is not positive. Raises InputError with a power, unless all lists have one
        length, which cancels then.
        """
        if self.power:
            if len(np.unique(self.factors(graded_lists(lists, empty=True)))) > 1:
                raise InputError(
                    "a DCG that averages has no ideal among lists of different lengths: that is "
                    "the best document alone; use its plain values (score)"
                )
            return replace(self, power=0.0).ndcg(lists, documents, empty)

        # values over those of the best order
        pool = lists if documents is None else documents
        return normalised_values(self.score(lists), self.ideal(pool), empty)

    def ideal(self, documents: ArrayLike) -> Floats:
        """Return the largest DCG of a ranking of documents, shape (n,), or a float for one set.

        `documents`, shape (n, M) or (M,), are the grades of those that can be ranked, in any order;
        those below 0 are no documents. Gains and discounts are both sorted (rearrangement
        inequality), so neither needs to be monotone or positive. Positions may stay empty:
        documents that do harm are left out.
        """
        grades = graded_lists(documents, "documents", self.n_grades)
        return largest_sums(np.append(self.gains, 0.0)[grades], self.discounts)

    def normalised(self) -> DCG:
        """Return the same metric with gains from 0 to 1 and a first discount of 1, if it can be.

        Subtracting a gain from all grades changes no comparison of lists without unknown grades.
        """
        span, first = self.gains[-1] - self.gains[0], self.discounts[0]
        if span <= 0 or first <= 0:
            raise InputError(
                "only a DCG whose best grade gains more than its worst, "
                "at a first position that counts, has this form"
            )
        gains = (self.gains - self.gains[0]) / span
        curves = gains, self.discounts / first
        return DCG(*curves, self.grade_names, self.notes, power=self.power)

    @property
    def table(self) -> PolarsFrame:
        """The gain of each grade, the discount of each position, and the power, if any."""
        names = parameter_names(self.n_grades, self.depth, self.grade_names)
        powers = {POWER: self.power} if self.power else {}
        values = [*self.gains, *self.discounts, *powers.values()]
        return table_of({"parameter": [*names, *powers], "value": values})

    @property
    def sentence(self) -> str:
        """The gains of all grades, the discounts of some positions, and how lengths count."""
        names = self.grade_names or range(self.n_grades)
        gains = [f"{name}: {gain:.2f}" for name, gain in zip(names, self.gains, strict=True)]
        kind = "" if self.grade_names else "grade "

        # of long lists, some positions tell the shape
        places = [k for k in (1, 2, 3, 5, 10, 20, 50, 100) if k < self.depth] + [self.depth]
        discounts = [f"{k}: {self.discounts[k - 1]:.2f}" for k in places]
        by = "" if self.power == 1 else f" to the power {self.power:.2f}"
        divided = f"; divided by the number of results{by}" if self.power else ""
        return one_line(
            f"what a result is worth (gain): {kind}{', '.join(gains[::-1])}; times what its "
            f"position counts (discount): position {', '.join(discounts)}{divided}"
        )

    @property
    def side_by_side(self) -> list[Fields]:
        """Rows of the gains, the best grade first, with the discounts beside them."""
        names = self.grade_names or [""] * self.n_grades
        columns: dict[str, Sequence[Any]] = {
            "grade": [f"{grade} {name}".rstrip() for grade, name in enumerate(names)][::-1],
            "gain": self.gains[::-1].tolist(),
            "position": range(1, self.depth + 1),
            "discount": self.discounts.tolist(),
        }
        rows = itertools.zip_longest(*columns.values())
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def __str__(self) -> str:
        power = [f"{POWER}  {self.power:.4f}"] if self.power else []
        return "\n".join([*aligned(cells_of(table_of(self.side_by_side))), *power])

    @property
    def pictures(self) -> list[Fields]:
        """Gains and discounts as curves."""
        return as_curves({"DCG": self})

    def __repr__(self) -> str:
        # a power makes it plain
        more = ", plain=True" * self.plain
        if self.power:
            more = f", power={self.power:.5g}"
        return f"DCG(gains={short_row(self.gains)}, discounts={short_row(self.discounts)}{more})"


def grade_labels(n_grades: int, names: Sequence[str] | None = None) -> Sequence[str]:
    """Return the names of grades, or else "grade 0" and so on."""
    return names or [f"grade {grade}" for grade in range(n_grades)]


def parameter_names(n_grades: int, depth: int, grades: Sequence[str] | None = None) -> list[str]:
    """Return what gains and discounts are called, where grades may have names."""
    gains = [f"gain of {grade}" for grade in grade_labels(n_grades, grades)]
    return gains + [f"discount at {k}" for k in range(1, depth + 1)]


def as_curves(dcgs: Mapping[str, DCG], bands: Any = None) -> list[Fields]:
    """Return gains and discounts as curves, with the bands of the first DCG; see `Shown`."""
    # the names of grades and positions
    first = next(iter(dcgs.values()))
    grades = first.grade_names or [str(grade) for grade in range(first.n_grades)]
    positions = [str(k + 1) for k in range(first.depth)]

    # bands, the widest first
    parts = {}
    if bands:
        kind = f"{percent(bands.level)} bands by {bands.by}"
        parts[f"{kind}, all at once (outer)"] = bands.simultaneous
        parts[f"{kind}, each alone (inner)"] = bands

    # a picture of gains, and one of discounts
    pictures = []
    units = {"grade, worst to best": grades, "position": positions}
    for side, (unit, ticks) in zip(("gain", "discount"), units.items(), strict=True):
        lines = {name: getattr(dcg, f"{side}s").tolist() for name, dcg in dcgs.items()}
        ends = {name: getattr(part, f"{side}_band").tolist() for name, part in parts.items()}
        picture = {"title": f"{side}s", "ticks": ticks, "unit": unit}
        pictures.append(picture | {"lines": lines, "bands": ends})
    return pictures


def largest_sums(gains: Floats, discounts: Floats) -> Floats:
    """Return the largest sums of gains times discounts over the orders of each row, shape (n,).

    Gains and discounts of one sign are both sorted (rearrangement inequality).
    """
    total = np.zeros(gains.shape[:-1])
    for sign in (1.0, -1.0):
        falls = np.sort(np.minimum(-sign * discounts, 0.0))
        if falls[0] < 0:
            best = np.sort(np.minimum(-sign * gains, 0.0), axis=-1)[..., : len(falls)]
            total = total + best @ falls[: best.shape[-1]]
    return total


def normalised_values(value: Floats, ideal: Floats, empty: float) -> Floats:
    """Return ``value / ideal``, and `empty` where the ideal is not positive, all of one shape."""
    positive = ideal > 0
    return np.where(positive, value / np.where(positive, ideal, 1.0), empty)[()]


def textbook_dcgs(n_grades: int, depth: int) -> dict[str, DCG]:
    """Return the textbook DCGs by name, ``GAIN-DISCOUNT``: 6 gains x 7 discounts.

    A gain that is zero for every grade (``binary2`` on two grades) orders nothing and is left out.

    See Also
    --------
    DCG.standard : One of them.

    Examples
    --------
    >>> len(textbook_dcgs(n_grades=5, depth=10)), len(textbook_dcgs(n_grades=2, depth=10))
    (42, 35)
    """
    dcgs = {}
    for gain, discount in itertools.product(GAINS, DISCOUNTS):
        dcg = DCG.standard(n_grades, depth, gain, discount)
        if dcg.gains.any():
            dcgs[f"{gain}-{discount}"] = dcg
    return dcgs


def short_row(values: Floats) -> str:
    """Return the numbers as text, the middle of a long row left out."""
    shown = [f"{x:.5g}" for x in values]
    if len(shown) > 12:
        shown = [*shown[:6], "...", *shown[-3:]]
    return "[" + ", ".join(shown) + "]"
