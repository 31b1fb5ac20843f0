"""All textbook DCGs, and further ones, scored at once."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import Floats, frozen, graded_lists
from dcglearn.metrics.dcg import DCG, textbook_dcgs


@dataclass(frozen=True, eq=False)
class TextbookDCGs:
    """The textbook DCGs of `textbook_dcgs`, in their order, and further ones, as one metric.

    It has M scores. `gains`, shape (G, L + 1), end with the gain of an unknown grade, 0;
    `discounts` have the shape (D, K), and M is G D, and one more for each further DCG.
    """

    names: tuple[str, ...]
    dcgs: tuple[DCG, ...]
    gains: Floats
    discounts: Floats

    def score(self, lists: ArrayLike) -> Floats:
        """Return the score of each list, shape (n, K), under each DCG; shape (M, n)."""
        grades = graded_lists(lists, n_grades=self.gains.shape[1] - 1)
        scores = self.discounts @ self.gains[:, grades].swapaxes(1, 2)
        scores = scores.reshape(-1, len(grades))
        further = [dcg.score(grades) for dcg in self.dcgs[len(scores) :]]
        return np.vstack([scores, *further])


@cache
def textbook_scores(
    n_grades: int, depth: int, further: tuple[tuple[str, DCG], ...] = ()
) -> TextbookDCGs:
    """Return the textbook DCGs for L grades and lists of K positions, to be scored at once.

    `further` are other DCGs of this size with their names.
    """
    dcgs = textbook_dcgs(n_grades, depth)
    gains = {name.partition("-")[0]: np.append(dcg.gains, 0.0) for name, dcg in dcgs.items()}
    discounts = {name.partition("-")[2]: dcg.discounts for name, dcg in dcgs.items()}
    rows, columns = (frozen(np.array([*values.values()])) for values in (gains, discounts))
    names, every = zip(*dcgs.items(), *further, strict=True)
    return TextbookDCGs(names, every, rows, columns)
