"""Logs of answers to questions: the list that was retrieved, and how right the answer is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from dcglearn.evaluation.tables import JudgementsLike
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import EMPTY, InputError, PathLike
from dcglearn.joins.join_judgements import Joining, joined_lists, judgements_by
from dcglearn.readers.answers import Answers
from dcglearn.readers.column_roles import ANSWER
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.openers import name_of
from dcglearn.readers.read_table import read_columns


@spelled_out(ReadingOptions)
def read_answers(
    path: Any,
    n_grades: int | None = None,
    *,
    judgements: JudgementsLike | None = None,
    skip_bad: PathLike | None = None,
    **options: Unpack[ReadingOptions],
) -> Answers:
    """Read answers that a machine gave to questions: the list of each, and whether it is right.

    A line is ``{"question": "q1", "list": [2, 0, 1], "right": true, "configuration": "top 3"}``, in
    any format that `read_preferences` reads; lists may differ in length, and the configuration may
    be missing. An empty list, ``[]``, is a question asked without any passage (closed book): it
    counts where the question has other lines, and is left out and counted where it has none.
    Columns may also be called question: query, qid; list: grades, results; right: correct, score,
    outcome, holding true or false, right or wrong, or a score from 0 to 1; configuration: config,
    system, retriever. A document may have a row: ``question, configuration, position, grade,
    right``; an empty list then is one row with the grade -2. Raises InputError if a line is bad
    (the message names file, line, value and remedy), all lists are empty, or all answers are
    equally right.

    Parameters
    ----------
    path, n_grades, skip_bad, **options
        As in `read_preferences` (`depth`, `scale`, `cutoffs`, `best_grade`, `mapping`).
    judgements : Judgements, path, data frame or dict, optional
        The grades of the documents that lists name, by question, as in `read_judgements`; others
        have the worst grade.

    See Also
    --------
    learn_from_answers : Learn a DCG.

    Examples
    --------
    >>> right = {"question": "q", "list": [2, 0], "right": True}
    >>> wrong = {"question": "q", "list": [0], "right": False}
    >>> answers = dl.io.read_answers([right, wrong])
    >>> answers, answers.lists.tolist()
    (Answers(2 answers, depth 2, 3 grades), [[2, 0], [0, -2]])
    """
    mapping = LogMapping.of(n_grades, **options).updated(pad=True)
    roles = dict(ANSWER)
    if judgements is not None:
        roles["list"] = replace(ANSWER["list"], kind="documents", marks=())
    table, dropped, recognised = read_columns(path, roles, mapping, skip_bad)
    mapping = recognised.mapping
    n_configurations = len({*table.get("configuration", ())} - {""})
    counted = {"configurations": n_configurations} if n_configurations else {}

    # grades of the lists, or of their documents
    if judgements is None:
        lists = table["list"]
        n_grades = mapping.n_known or max(int(lists.max()) + 1, 2)
    else:
        # answers without a judged document stay
        joined = joined_lists(
            table["question"],
            table["list"][:, None],
            judgements_by(mapping, judgements),
            Joining(mapping.depth, n_grades=mapping.n_grades),
            lambda i: f"answer {i + 1}",
            "answers",
        )
        table = {role: values[joined.kept] for role, values in table.items()}
        lists, n_grades = joined.lists[0], joined.n_grades
        dropped, counted = {**joined.dropped, **dropped}, {**counted, **joined.counted}

    # nothing stands below the last known grade
    is_above = np.cumsum(lists[:, ::-1] >= 0, axis=1)[:, ::-1] > 0
    is_above[:, 0] = True  # a list of unknown grades is no empty one
    lists = np.where(is_above, lists, np.int8(EMPTY))

    # answers without a passage compare with others to their question
    name = name_of(path) if is_path(path) else "answers"
    empty, question = (lists == EMPTY).all(axis=1), table["question"].astype(str)
    kept = ~empty | np.isin(question, question[~empty])
    if not kept.any():
        raise InputError(
            f"{name}: all {len(lists):,} lists are empty (closed book), so nothing tells lists "
            "apart; add answers to the same questions with passages"
        )
    if not kept.all():
        dropped["closed-book answers to questions without another line"] = int((~kept).sum())
    lists, question, right = lists[kept], question[kept], table["right"][kept]

    if np.ptp(right) == 0:
        raise InputError(
            f"{name}: all {len(right):,} are equally right ({right[0]:g}), "
            "so nothing tells lists apart"
        )
    names = None if mapping.scale is None else tuple(mapping.scale)
    return Answers(lists, right, question, n_grades, names, dropped, counted)
