"""Answers to questions with the grades of the lists that they were given from, and comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    EMPTY,
    Counts,
    Flags,
    Floats,
    Grades,
    Indices,
    InputError,
    PathLike,
)
from dcglearn.logs.unique_rows import numbered, packed, unique_rows
from dcglearn.reading.contract import ANSWER
from dcglearn.reading.options import ListOptions
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import read_table, rows_of
from dcglearn.reading.recognised import Recognised

AnswerPairs: TypeAlias = tuple[Indices, Indices, Floats]
"""Comparisons of answers: rows of the right and of the wrong ones, weights; shape (m,) each."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of a machine to questions, as `read_answers` reads them.

    `lists`, shape (n, K), holds the grades of the list that each was given from, with -2 after its
    end, `right`, (n,), how right it is, from 0 to 1, and `question`, (n,), what it answers; the
    others are as in `Preferences`.
    """

    lists: Grades
    right: Floats
    question: NDArray[np.str_]
    n_grades: int
    grade_names: tuple[str, ...] | None = None
    dropped: Counts = field(default_factory=dict)
    recognised: Recognised | None = None

    def __len__(self) -> int:
        return len(self.lists)

    def __getitem__(self, rows: Flags | Indices) -> Self:
        return replace(
            self, lists=self.lists[rows], right=self.right[rows], question=self.question[rows]
        )

    @property
    def depth(self) -> int:
        """K."""
        return int(self.lists.shape[1])

    @cached_property
    def number(self) -> Indices:
        """The number of each answer's question, from 0, shape (n,)."""
        return numbered(self.question)

    @cached_property
    def closed_book(self) -> Flags:
        """Whether an answer was given without any passage, shape (n,)."""
        return np.asarray((self.lists == EMPTY).all(axis=1))

    @cached_property
    def varied(self) -> Flags:
        """Whether the question of an answer was asked with lists that differ, shape (n,)."""
        numbers = np.column_stack([self.number, packed(self.lists)])
        n_lists = np.bincount(unique_rows(numbers)[0][:, 0])
        return n_lists[self.number] > 1

    @cached_property
    def within_questions(self) -> AnswerPairs:
        """The comparisons of two answers to one question that were given from different lists.

        Answers right by r and s compare as right and wrong with the weight ``r (1 - s)``, times 2 /
        m: a question with m answers counts as m - 1. How hard it is cancels (conditional logistic
        regression; Chamberlain 1980).
        """
        rows = pl.DataFrame({"question": self.number}).with_row_index("row")
        rows = rows.filter(pl.Series(self.varied))
        both = rows.join(rows, on="question", maintain_order="left_right")
        size = np.bincount(self.number)[both["question"].to_numpy()]
        return self._pairs(both["row"].to_numpy(), both["row_right"].to_numpy(), 2 / size)

    @cached_property
    def across_questions(self) -> AnswerPairs:
        """Comparisons between random questions asked with one list each; weights sum to these."""
        # an answer of each question, in random order
        order = np.random.default_rng(0).permutation(np.flatnonzero(~self.varied))
        order = order[np.sort(np.unique(self.number[order], return_index=True)[1])]

        # each with its four neighbours on both sides
        steps = [step for step in range(-4, 5) if step]
        partners = np.concatenate([np.roll(order, step) for step in steps])
        right, wrong, weight = self._pairs(np.tile(order, len(steps)), partners, 1.0)
        return right, wrong, weight * (len(order) / max(weight.sum(), 1e-300))

    def _pairs(self, right: Indices, wrong: Indices, weight: Floats | float) -> AnswerPairs:
        """Return the comparisons that have a weight, without those of equal lists."""
        weights = weight * self.right[right] * (1 - self.right[wrong])
        kept = (weights > 0) & (self.lists[right] != self.lists[wrong]).any(axis=1)
        return right[kept], wrong[kept], weights[kept]

    def preferences(self, *pairs: AnswerPairs) -> Preferences:
        """Return comparisons, by default those within questions, as preferences by question."""
        columns = pairs or [self.within_questions]
        right, wrong, weight = map(np.concatenate, zip(*columns, strict=True))
        log = Preferences(
            self.lists[right],
            self.lists[wrong],
            self.n_grades,
            grade_names=self.grade_names,
            weight=weight,
            query=self.question[right],
        )
        return log.changed(dropped=self.dropped, recognised=self.recognised)

    def __repr__(self) -> str:
        n_grades = number_of(self.n_grades, "grades")
        return f"Answers({number_of(len(self), 'answers')}, depth {self.depth}, {n_grades})"


@spelled_out(ListOptions)
def read_answers(
    log: Any,
    n_grades: int | None = None,
    *,
    skip_bad: PathLike | None = None,
    **options: Unpack[ListOptions],
) -> Answers:
    """Read answers that a machine gave to questions: the list of each, and whether it is right.

    A line is ``{"question": "q1", "list": [2, 0, 1], "right": true}``, in any format that
    `read_preferences` reads; lists may differ in length. An empty list, ``[]``, is a question asked
    without any passage (closed book): it counts where the question has other rows, and is left out
    and counted where it has none. Columns may also be called question: query, qid; list: grades,
    results; right: correct, score, outcome, holding true or false, right or wrong, or a score from
    0 to 1. Raises InputError if a row is bad (the message names file, row, value and remedy), all
    lists are empty, or all answers are equally right.

    Parameters
    ----------
    log, n_grades, depth, pad, scale, columns, skip_bad
        As in `read_preferences`.

    See Also
    --------
    trust.learn_from_answers : Learn a DCG.
    io.with_grades : Documents whose grades stand elsewhere.

    Examples
    --------
    >>> right = {"question": "q", "list": [2, 0], "right": True}
    >>> wrong = {"question": "q", "list": [0], "right": False}
    >>> answers = dl.io.read_answers([right, wrong])
    >>> answers
    Answers(2 answers, depth 2, 3 grades)
    >>> answers.preferences().preferred.tolist()
    [[2, 0]]
    """
    read = read_table(log, rows_of, skip_bad, contract=ANSWER, n_grades=n_grades, **options)
    values, scale, dropped = read.values, read.scale, {**read.dropped}

    # lists end with their last known grade, but for a first unknown one
    lists = values["list"]
    is_above = np.logical_or.accumulate(lists[:, ::-1] >= 0, axis=1)[:, ::-1]
    is_above[:, 0] = True
    lists = np.where(is_above, lists, np.int8(EMPTY))

    size = scale.n_grades or max(int(lists.max()) + 1, 2)
    right, question = values["right"], values["question"]
    answers = Answers(lists, right, question, size, scale.names, dropped, read.recognised)

    # answers without a passage compare with others to their question
    is_empty = answers.closed_book
    kept = ~is_empty | np.isin(question, question[~is_empty])
    if not kept.all():
        dropped["closed-book answers to questions without another line"] = int((~kept).sum())
    if not kept.any() or np.ptp(right[kept]) == 0:
        problem = "all are equally right" if kept.any() else "all lists are empty (closed book)"
        raise InputError(f"{read.name}: {problem}, so nothing tells lists apart; add other answers")
    return answers[kept]
