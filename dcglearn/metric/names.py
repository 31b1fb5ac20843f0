"""Names of textbook metrics, ``GAIN-DISCOUNT[@K]`` and ``nDCG[@K]``, and the rule for a name without a depth."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dcglearn.foundation.validation import InputError, whole_number
from dcglearn.metric.textbook import textbook_discounts, textbook_gains

MAX_DEPTH = 9_999_999
"""Largest K of a name ``GAIN-DISCOUNT@K``; the discounts of a larger one might not fit in memory."""

NAMES = "GAIN-DISCOUNT[@K], such as exponential-log2@10, nor nDCG[@K]"
"""For messages: names that stand for a DCG."""


@dataclass(frozen=True)
class MetricName:
    """A textbook metric by name, which has no number of grades of its own.

    ``nDCG@K`` means what trec_eval means, linear gain and log2 discount. `depth` is K, or None where the name has none:
    then the metric is as deep as what it is applied to.

    Examples
    --------
    >>> MetricName.of("nDCG@5")
    MetricName(word='nDCG@5', gain='linear', discount='log2', depth=5)
    >>> MetricName.of("linear-log2").at(20)
    'linear-log2@20'
    """

    word: str
    gain: str
    discount: str
    depth: int | None

    @classmethod
    def of(cls, word: str) -> MetricName:
        """Return the metric that a word names.

        Raises
        ------
        InputError
            If it is of neither form, a gain or discount is unknown, or K is 0 or above `MAX_DEPTH`.
        """
        match = re.fullmatch(r"(?:(?i:n?dcg)|([a-z0-9.]+)-([a-z0-9.]+))(?:@(\d+))?", word)
        if match is None:
            raise InputError(f"metric {word!r} is neither a file nor {NAMES}")
        digits = match[3] or ""
        if len(digits) > len(str(MAX_DEPTH)):
            raise InputError(f"metric {word!r}: K has {len(digits)} digits; give at most {MAX_DEPTH}")
        gain, discount = match[1] or "linear", match[2] or "log2"
        try:
            textbook_gains(gain, np.zeros(1))
            textbook_discounts(discount, 1)
            depth = whole_number(int(digits), "depth") if digits else None
        except InputError as error:
            raise InputError(f"metric {word!r}: there is no such file, and {error}") from error
        return cls(word, gain, discount, depth)

    def at(self, depth: int) -> str:
        """Return the name with its depth, ``GAIN-DISCOUNT@K``; `depth` where it has none."""
        return self.word if self.depth is not None else f"{self.word}@{depth}"

    def deep(self, depth: int | None) -> int:
        """Return K, or `depth` where the name has none.

        Raises
        ------
        InputError
            If both are None.
        """
        if self.depth is not None:
            return self.depth
        if depth is None:
            raise InputError(f"metric {self.word!r} has no depth, and nothing here says one: write {self.word}@10")
        return depth
