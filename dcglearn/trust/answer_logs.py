"""Logs of answers as a fitted DCG would have them, for nested tests."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dcglearn.foundation.validation import UNKNOWN, Floats, Grades, filled
from dcglearn.learning.dcg_model import Model
from dcglearn.learning.fit_dcg import FittedDCG
from dcglearn.learning.pair_loss import JudgedPairs
from dcglearn.readers.answers import Answers


@dataclass(frozen=True)
class LogsOfAnswers:
    """Answers to the same questions from the same lists, right as a DCG would have it.

    How often a question is answered rightly stays as it is, since that tells how hard it is, and
    nothing of lists (conditional logistic regression). Which of its answers are right is drawn:
    rightness r goes to lists of utility u with a probability proportional to ``exp(sum r u)``.
    `answers` are sorted by question, `lists` those of a model.
    """

    share: ClassVar[float] = 1.0
    told: ClassVar[None] = None

    model: Model
    theta: Floats
    answers: Answers
    lists: Grades

    @classmethod
    def like(cls, answers: Answers, fitted: FittedDCG) -> Self:
        """Return logs like answers whose comparisons within questions were fitted."""
        rows = np.flatnonzero(answers.varied)
        answers = answers[rows[np.argsort(answers.number[rows], kind="stable")]]
        lists = filled(answers.lists, fitted.model.zero or UNKNOWN)
        return cls(fitted.model, fitted.theta, answers, lists)

    def draw(self, rng: np.random.Generator) -> JudgedPairs:
        """Return the comparisons within questions of one log."""
        # the utility of each list; the grade -1, the last entry, is worth nothing
        points = self.model.points(self.theta[None])
        value = np.append(points.gains[0], 0.0)[self.lists] @ points.discounts[0]

        # in random order at first
        number = self.answers.number
        right = self.answers.right[np.lexsort([rng.random(len(number)), number])]
        size = np.bincount(number)
        start = np.cumsum(size) - size
        # ten swaps for each answer to the question with most of them
        for _ in range(10 * int(size.max())):
            # two answers to each question
            one = (rng.random(len(size)) * size).astype(np.intp)
            step = 1 + (rng.random(len(size)) * (size - 1)).astype(np.intp)
            first, second = start + one, start + (one + step) % size

            # swap with the chance of the outcome after it
            lead = (value[first] - value[second]) * (right[second] - right[first])
            swapped = rng.logistic(size=len(size)) < lead
            ends = np.array([first, second])[:, swapped]
            right[ends] = right[ends[::-1]]
        return self._compared(right)

    def _compared(self, right: Floats) -> JudgedPairs:
        """Return the comparisons within questions of answers that are so right."""
        better, worse, weight = replace(self.answers, right=right).within_questions
        return JudgedPairs.plain(self.lists[better], self.lists[worse], weight).merged()
