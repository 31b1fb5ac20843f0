"""Gains, discounts and metrics of the textbooks by name: ``GAIN-DISCOUNT[@K]``, ``nDCG[@K]``."""

import os
import re
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import Floats, InputError, PathLike, frozen, graded_lists

READER = "reader:"
"""How the name of a file in the package begins that holds a DCG learned from a real log."""

GAIN_FORMULAS = {
    "linear": "grade",
    "exponential": "2^grade - 1",
    "power3": "3^grade - 1",
    "power5": "5^grade - 1",
    "binary1": "1 from grade 1 on",
    "binary2": "1 from grade 2 on",
}
DISCOUNT_FORMULAS = {
    "flat": "1",
    "log2": "1/log2(rank + 1)",
    "reciprocal": "1/rank",
    "sqrt": "1/sqrt(rank)",
    "rbp0.8": "0.8^rank",
    "rbp0.5": "0.5^rank",
    "linear": "(K + 1 - rank)/K",
}
"""Gains and discounts of the textbooks by name, with their formulas for people to read."""

GAINS, DISCOUNTS = tuple(GAIN_FORMULAS), tuple(DISCOUNT_FORMULAS)


def textbook_gains(name: str, grades: Floats) -> Floats:
    """Return the gains called `name` of the grades, shape (L,); see `DCG.standard`."""
    if name == "linear":
        return grades
    if name == "exponential":
        return np.exp2(grades) - 1

    # powers and steps by their number
    match = re.fullmatch(r"(power|binary)(\d+(?:\.\d+)?)", name)
    if match is None:
        raise InputError(f"gain {name!r} is not one of {', '.join(GAINS)}{nearest(name, GAINS)}")
    kind, number = match[1], float(match[2])
    if kind == "binary":
        return (grades >= number).astype(np.float64)
    if number <= 1:
        raise InputError(f"gain {name!r}: the base must be larger than 1")
    with np.errstate(over="ignore"):
        return number**grades - 1


def textbook_formula(name: str) -> str:
    """Return the formulas of ``GAIN-DISCOUNT``, one of `GAINS` and one of `DISCOUNTS`, in words."""
    gain, _, discount = name.partition("-")
    return f"gain {GAIN_FORMULAS[gain]}, discount {DISCOUNT_FORMULAS[discount]}"


def textbook_discounts(name: str, depth: int) -> Floats:
    """Return the discounts called `name` at ranks 1..K, shape (K,); see `DCG.standard`."""
    # discounts of one form
    ranks = np.arange(1.0, depth + 1)
    match name:
        case "flat":
            return np.ones(depth)
        case "log2":
            return 1 / np.log2(ranks + 1)
        case "reciprocal":
            return 1 / ranks

        # a root, a line, and LETOR's
        case "sqrt":
            return 1 / np.sqrt(ranks)
        case "linear":
            return (depth - ranks + 1) / depth
        case "letor":
            return 1 / np.log2(np.maximum(ranks, 2))

    # rank-biased precision
    patience = re.fullmatch(r"rbp(0?\.\d+)", name)
    if patience is None or not 0 < float(patience[1]) < 1:
        raise InputError(
            f"discount {name!r} is not one of {', '.join(DISCOUNTS)}, letor, or rbpP with 0 < P < 1"
            + nearest(name, (*DISCOUNTS, "letor"))
        )
    return float(patience[1]) ** ranks


def is_metric_file(file_or_name: PathLike) -> bool:
    """Return whether a word names a file with a metric, rather than a textbook metric.

    It does if it is a path object, a file of this name exists, or it ends in ``.json``, contains a
    path separator, or is a file of the package, ``reader:NAME``.
    """
    if isinstance(file_or_name, os.PathLike) or file_or_name.startswith(READER):
        return True
    if file_or_name.lower().endswith(".json"):
        return True
    # Path.is_file raises OSError for a name that is too long.
    return "/" in file_or_name or os.sep in file_or_name or os.path.isfile(file_or_name)  # noqa: PTH113


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
