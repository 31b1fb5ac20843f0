"""Values of ranked lists beyond the sum: users who stop at a result, and the best result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.finding import table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import Floats, InputError, PolarsFrame, graded_lists
from dcglearn.metrics.dcg import parameter_names, short_row
from dcglearn.metrics.saved_metric import SavedMetric


@dataclass(frozen=True, eq=False, repr=False)
class ListUtility(SavedMetric):
    """A utility of lists in which a good result can lower the value of later results.

    With the grade ``l_k`` at position ``k``, and ``v_k = c_k g_{l_k} prod_{m<k} (1 - s_{l_m})``, a
    list has the value ``(1 - x) sum_k v_k + x max_k v_k``.

    After a result of grade ``l`` the user continues with probability ``1 - s_l``: ``s_l = g_l`` and
    ``c_k = 1/k`` is ERR (Chapelle et al. 2009). With ``x = 1`` the best result alone counts. Values
    are plain: `evaluate` returns them as they are, never divided by an ideal.

    Raises InputError if a number is out of its range, or shapes do not match.

    Parameters
    ----------
    gains, discounts : array_like, shapes (L,) and (K,)
        Gain of each grade, worst grade first, and discount of each position.
    stops : array_like, shape (L,), optional
        Stop probability ``s`` of each grade, from 0 to 1; 0 by default.
    best : float
        Share ``x`` of the best result, from 0 to 1.
    grade_names, notes
        As in `DCG`.

    See Also
    --------
    metric : ERR and the best grade by name.

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

    plain = True
    _kind = "list_utility"
    _arrays: ClassVar = {"gains": 1, "discounts": 1, "stops": 1, "best": 0}
    _by_grade = ("gains", "stops")

    def __post_init__(self) -> None:
        if self.stops is None:
            object.__setattr__(self, "stops", np.zeros(np.size(self.gains)))
        super().__post_init__()

        # shares
        if len(self.stops) != len(self.gains):
            raise InputError(
                f"{number_of(len(self.stops), 'stops')} for {number_of(self.n_grades, 'gains')}"
            )
        shares = np.append(self.stops, self.best)
        if shares.min() < 0 or shares.max() > 1:
            raise InputError(
                f"stops {short_row(self.stops)} and best {self.best:g} must lie between 0 and 1"
            )

    def score(self, lists: ArrayLike) -> Floats:
        """Score graded lists, shape (n, M) or (M,); see `Utility.score`.

        Unknown grades (-1) and positions without a result stop nobody.
        """
        seen = graded_lists(lists, n_grades=self.n_grades)[..., : self.depth]

        # what each result is worth to the users who have not stopped before it
        going_on = np.append(1 - self.stops, 1.0)[seen]
        survival = np.cumprod(np.insert(going_on, 0, 1.0, axis=-1), axis=-1)[..., :-1]
        worth = self.discounts[: seen.shape[-1]] * np.append(self.gains, 0.0)[seen] * survival

        total = worth.sum(axis=-1)
        return (total + self.best * (worth.max(axis=-1, initial=0.0) - total))[()]

    @property
    def table(self) -> PolarsFrame:
        """Gains, discounts, stop probabilities, and the share of the best result."""
        names = parameter_names(self.n_grades, self.depth, self.grade_names)
        stops = [name.replace("gain", "stop", 1) for name in names[: self.n_grades]]
        values = [*self.gains, *self.discounts, *self.stops, self.best]
        return table_of({"parameter": [*names, *stops, "share of the best"], "value": values})

    def __repr__(self) -> str:
        rows = (
            f"{name}={short_row(getattr(self, name))}" for name in ("gains", "discounts", "stops")
        )
        return f"ListUtility({', '.join(rows)}, best={self.best:.5g})"
