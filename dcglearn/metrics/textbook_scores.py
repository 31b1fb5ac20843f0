"""All textbook DCGs, scored at once."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, frozen, graded_lists
from dcglearn.metrics.textbook import DISCOUNTS, GAINS, textbook_discounts, textbook_gains


@dataclass(frozen=True, eq=False)
class TextbookDCGs:
    """The textbook DCGs of `textbook_dcgs`, in their order, as one metric.

    It has M scores. `gains`, shape (G, L + 1), end with the gain of an unknown grade or no result,
    0; `discounts` have the shape (D, K), and M is G D.
    """

    gains: Floats
    discounts: Floats

    def score(self, lists: ArrayLike) -> Floats:
        """Return the score of each list, shape (n, K), under each DCG; shape (M, n)."""
        grades = graded_lists(lists, n_grades=self.gains.shape[1] - 1)
        scores = self.discounts @ self.gains[:, grades].swapaxes(1, 2)
        return scores.reshape(-1, len(grades))


@cache
def textbook_scores(n_grades: int, depth: int) -> TextbookDCGs:
    """Return the textbook DCGs for L grades and lists of K positions, to be scored at once."""
    gains = (textbook_gains(name, np.arange(float(n_grades))) for name in GAINS)
    rows = [np.append(of_grades, 0.0) for of_grades in gains if of_grades.any()]
    columns = [textbook_discounts(name, depth) for name in DISCOUNTS]
    return TextbookDCGs(frozen(np.array(rows)), frozen(np.array(columns)))
