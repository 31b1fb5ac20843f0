"""Values of ranked lists beyond the sum: users who stop at a result, and the best result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import table_of
from dcglearn.foundation.validation import (
    Floats,
    InputError,
    PolarsFrame,
    finite_array,
    graded_lists,
)
from dcglearn.metrics.dcg import DCG, NormalisedMetric, short_row


@dataclass(frozen=True, eq=False, repr=False)
class ListUtility(NormalisedMetric):
    """A utility that contains DCG, in which a good result can lower the value of later results.

    With the grade ``l_k`` at position ``k``, a list has one of these values:

    - saturation: ``sum_k c_k g_{l_k} prod_{m<k} (1 - s_{l_m})``. After a result of grade ``l`` the
      user continues with probability ``1 - s_l``. ``s = 0`` is DCG; ``s_l = g_l`` and ``c_k = 1/k``
      is ERR (Chapelle et al. 2009); one ``s`` for all grades and positions is RBP's persistence
      (Moffat and Zobel 2008).
    - best result: ``(1 - x) sum_k c_k g_{l_k} + x max_k c_k g_{l_k}``. ``x = 0`` is DCG, ``x = 1``
      the best alone.

    Raises InputError if a number is out of its range, shapes do not match, or both `stops` and
    `best` are given.

    Parameters
    ----------
    gains, discounts : array_like, shapes (L,) and (K,)
        Gain of each grade, at least 0, worst grade first, and discount of each position, at least
        0, never rising.
    stops : array_like, shape (L,), optional
        Stop probability ``s`` of each grade, from 0 to 1; 0 by default. They suit users who stop at
        a good result, `best` those to whom the best one counts most.
    best : float
        Share ``x`` of the best result, from 0 to 1. It is 0 where `stops` are given.
    grade_names, notes, plain
        As in `DCG`; ERR and others of `textbook_list_metrics` are plain.

    See Also
    --------
    evaluation.textbook_list_metrics : ERR, RBP and others.

    Examples
    --------
    After a result of grade 2 or 3, nothing else counts, so that one good answer is enough:

    >>> enough = ListUtility(gains=[0, 0.4, 0.9, 1], discounts=[1, 0.631, 0.5], stops=[0, 0, 1, 1])
    >>> enough.score([[3, 1, 1], [3, 3, 3], [1, 1, 3]]).round(4)
    array([1.    , 1.    , 1.1524])
    """

    gains: Floats
    discounts: Floats
    stops: Floats = None  # type: ignore[assignment]  # then no grade stops
    best: float = 0.0
    grade_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    plain: bool = False

    _kind = "list_utility"
    _name = "the utility"
    _arrays = ("gains", "discounts", "stops", "best")
    _by_grade = ("gains", "stops")

    def __post_init__(self) -> None:
        gains = finite_array(self.gains, "gains", 1)
        discounts = finite_array(self.discounts, "discounts", 1)
        stops = finite_array(np.zeros(len(gains)) if self.stops is None else self.stops, "stops", 1)
        best = np.float64(finite_array(self.best, "best", 0))

        # gains and discounts
        if gains.min() < 0:
            raise InputError(f"gains {short_row(gains)} must be at least 0 in a list utility")
        if discounts.min() < 0 or (np.diff(discounts) > 0).any():
            raise InputError(
                f"discounts {short_row(discounts)} must be at least 0 and never rise in a list "
                "utility"
            )

        # stops, or a share of the best
        if len(stops) != len(gains):
            raise InputError(f"{len(stops)} stops for {len(gains)} gains")
        if stops.min() < 0 or stops.max() > 1 or not 0 <= best <= 1:
            raise InputError(f"stops {short_row(stops)} and best {best:g} must lie between 0 and 1")
        if stops.any() and best:
            raise InputError("give stops (saturation) or best (the best result's share), not both")

        self.__dict__.update(gains=gains, discounts=discounts, stops=stops, best=best)
        self._set_texts()

    @property
    def form(self) -> str:
        """The form: "dcg", "saturation" or "best"."""
        if self.best:
            return "best"
        return "saturation" if self.stops.any() else "dcg"

    @property
    def dcg(self) -> DCG:
        """The DCG with the same gains and discounts, without stops or a share of the best."""
        return DCG(self.gains, self.discounts, self.grade_names, self.notes, self.plain)

    def score(self, lists: ArrayLike) -> Floats:
        """Score graded lists, shape (n, M) or (M,); see `Utility.score`.

        Unknown grades (-1) and positions without a result stop nobody.
        """
        grades = graded_lists(lists, n_grades=self.n_grades)
        gains, going_on = np.append(self.gains, 0.0), np.append(1 - self.stops, 1.0)
        total, highest = np.zeros(grades.shape[:-1]), np.zeros(grades.shape[:-1])
        survival = np.ones(grades.shape[:-1])

        # add up what users see before they stop
        for k in range(min(self.depth, grades.shape[-1])):
            worth = self.discounts[k] * gains[grades[..., k]] * survival
            total = total + worth
            highest = np.maximum(highest, worth)
            survival = survival * going_on[grades[..., k]]

        if self.best:
            total = total + self.best * (highest - total)
        return total[()]

    def ideal_of_counts(self, counts: ArrayLike) -> Floats:
        """Return the largest value of documents whose grades are counted, shape (n,).

        It is that of the order by gain, as for ERR, RBP and the best result. Raises InputError if
        another order may be better. `counts`, shape (n, L), holds the number of documents of each
        grade; with fewer than positions, the last stay empty.
        """
        table = np.atleast_2d(np.asarray(counts)).astype(np.int64)
        if not self._ordered_by_gain:
            raise InputError(
                "with these stops the best order is not that by gain, so the ideal value is not "
                "known: do not normalise"
            )

        # lists in the order by gain, equal gains by stops
        order = np.lexsort((self.stops, -self.gains))
        ends = np.cumsum(table[:, order], axis=1)
        place = (np.arange(self.depth)[None, :, None] >= ends[:, None, :]).sum(axis=2)
        return self.score(np.append(order, -1)[place].astype(np.int8))

    @cached_property
    def _ordered_by_gain(self) -> bool:
        """Whether no swap of neighbours in the order by gain (equal gains by stops) adds value.

        Swapping b, then a at positions k and k + 1 for a, then b adds, before survival,
        ``(c_k - c_{k+1}) (g_a - g_b) - c_{k+1} (s_a g_b - s_b g_a)``; documents left out stand at
        positions whose discount is 0.
        """
        # neighbours in that order
        order = np.lexsort((self.stops, -self.gains))
        g, s = self.gains[order], self.stops[order]
        falls, later = -np.diff(self.discounts, append=0.0), np.append(self.discounts[1:], 0.0)
        lead, lost = g[:, None] - g, s[:, None] * g - s * g[:, None]

        # what each swap adds, at each position
        added = falls[:, None, None] * lead - later[:, None, None] * lost
        return bool((added[:, *np.triu_indices(len(g), 1)] >= 0).all())

    @property
    def table(self) -> PolarsFrame:
        """The DCG's gains and discounts, and stop probabilities or the share of the best result."""
        rows = self.dcg.table.rows()
        if self.form == "best":
            more = [("share of the best result", self.best)]
        else:
            names = [name.replace("gain", "stop", 1) for name, _ in rows]
            more = [*zip(names, self.stops, strict=False)]
        parameters, values = zip(*rows, *more, strict=True)
        return table_of({"parameter": parameters, "value": np.array(values)})

    @property
    def _of_grades(self) -> dict[str, Floats]:
        stops = {} if self.form == "best" else {"stop": self.stops}
        return super()._of_grades | stops

    def __str__(self) -> str:
        more = f"\nshare of the best result  {self.best:.4f}" if self.form == "best" else ""
        return super().__str__() + more

    def __repr__(self) -> str:
        parts = [f"gains={short_row(self.gains)}", f"discounts={short_row(self.discounts)}"]
        is_best = self.form == "best"
        parts.append(f"best={self.best:.5g}" if is_best else f"stops={short_row(self.stops)}")
        return f"ListUtility({', '.join(parts)}{', plain=True' if self.plain else ''})"
