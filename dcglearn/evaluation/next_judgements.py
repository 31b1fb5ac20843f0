"""Choice of the documents to judge next: those that narrow the bounds of a difference most."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Unpack

import numpy as np

from dcglearn.evaluation.run_values import EvaluateOptions, evaluate
from dcglearn.evaluation.system_tests import number_of_baseline
from dcglearn.evaluation.tables import JUDGEMENT, JudgementsLike, RunsLike, read_judgements
from dcglearn.evaluation.trec import Judgements, without_duplicates
from dcglearn.evaluation.unjudged import OpenQuery, Unjudged
from dcglearn.foundation.finding import Finding, table_of
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    MAX_GRADES,
    Fields,
    Floats,
    InputError,
    PolarsFrame,
    whole_number,
)
from dcglearn.metrics.reading import MetricsLike
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import Role
from dcglearn.readers.openers import records_of

OPEN = "open"
"""The grade of a document that waits for one."""

DIGITS = 12
"""Decimal places to which what a grade narrows is found, so that rounding decides no tie."""

Document = tuple[int, str]
"""The number of a query, and the name of a document."""


@dataclass(frozen=True, eq=False)
class OpenGrades(Finding):
    """Documents to judge next, those first that narrow the bounds of a mean difference most.

    `table` has a row for each: ``query_id``, ``doc_id``, ``grade``, which is ``open`` until
    somebody fills it in, and ``narrows``, by how much the bounds are expected to come closer. Saved
    as .csv, it is the file to fill in. `width` is the distance of the bounds today, the mean over
    the runs that are compared, `n_open` the number of documents without a judgement, and `n_grades`
    that of the metric's grades.
    """

    table: PolarsFrame = field(repr=False)
    measure: str
    width: float
    n_open: int
    n_grades: int

    _formats: ClassVar = {"narrows": ".5f"}

    @property
    def sentence(self) -> str:
        """How far the bounds lie apart, and how much closer these grades bring them."""
        closer = float(self.table["narrows"].sum())
        return (
            f"judging {number_of(len(self.table), 'documents')}, of {self.n_open:,} without a "
            f"judgement, brings the least and the most of the difference in {self.measure} about "
            f"{closer:.4f} closer; today they are {self.width:.4f} apart"
        )

    @property
    def notes(self) -> list[str]:
        """How to go on."""
        return [
            f"fill in grade, from 0 to {self.n_grades - 1}, and evaluate by --graded FILE "
            "(dl.evaluation.with_grades); lines that stay open do not count"
        ]


@spelled_out(EvaluateOptions, evaluate)
def suggest_judgements(
    judgements: JudgementsLike,
    runs: RunsLike,
    metric: MetricsLike = "nDCG@10",
    n: int = 20,
    *,
    baseline: str | None = None,
    **settings: Unpack[EvaluateOptions],
) -> OpenGrades:
    """Choose the documents whose grades would tell most about the difference of runs.

    A document counts by how much closer its grade brings the least and the most that the mean
    difference from the baseline can be (`compare_systems` with ``bounds=True``), the mean over
    grades as frequent as among the judgements. Each is chosen as if those before it had the most
    frequent one. Raises InputError as `compare_systems` does; if the metric is not one DCG; if
    nothing is left to judge.

    Parameters
    ----------
    judgements, runs, metric, **settings
        See `evaluate`; two runs or more, and one metric.
    n : int
        Number of documents.
    baseline : str, optional
        The run with which the others are compared; the first by default.

    See Also
    --------
    evaluation.with_grades : Add the grades once they are there.
    suggest_pairs : Which pairs of lists to judge.

    Examples
    --------
    >>> judged = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}
    >>> old = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 2.0, "x": 1.0}}
    >>> new = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"x": 2.0, "a": 1.0}}
    >>> asked = dl.evaluation.suggest_judgements(judged, {"old": old, "new": new}, "nDCG@2")
    >>> asked.table["doc_id"].to_list()
    ['x']
    """
    whole_number(n, "n", 1)
    settings["bounds"] = True
    evaluation = evaluate(judgements, runs, metric, **settings)
    left = evaluation.open
    if left is None or len(evaluation.metrics) > 1 or not left.metrics:
        raise InputError("the next judgements are those for one DCG: give one metric")
    b = number_of_baseline(evaluation.runs, baseline)

    # the documents of every difference
    differences = [Difference(left, r, b) for r in range(len(evaluation.runs)) if r != b]
    n_open = len({document for one in differences for document in one.narrowing})
    if not n_open:
        raise InputError(
            "nothing is left to judge: every document that these runs show has a judgement"
        )
    width = float(np.mean([one.width for one in differences]))

    # one after the other
    rows: list[Fields] = []
    while len(rows) < min(n, n_open):
        together: Counter[Document] = Counter()
        for one in differences:
            together.update(one.narrowing)
        document = max(together, key=lambda one: (together[one], one))
        query, narrows = evaluation.queries[document[0]], together[document] / len(differences)
        rows.append({"query_id": query, "doc_id": document[1], "grade": OPEN, "narrows": narrows})
        for one in differences:
            one.give(document)
    n_grades = left.metrics[0].n_grades
    return OpenGrades(table_of(rows), evaluation.metrics[0], width, n_open, n_grades)


class Difference:
    """The mean difference of runs r and b under the first metric, as its documents are graded.

    `narrowing` holds what the grade of each document is expected to bring the bounds of the mean
    closer.
    """

    def __init__(self, left: Unjudged, r: int, b: int) -> None:
        self._left = left
        self._queries, names = map(list, zip(*left.pairs(r, b, 0), strict=True))
        self._names: list[list[str]] = [column.to_list() for column in names]
        self._bounds = np.array([left.ends(query, 0) for query in self._queries])

        # how frequent grades are; none is impossible
        counts = left.counts[:, : left.metrics[0].n_grades].sum(axis=0) + 1
        self._shares = counts / counts.sum()
        self.narrowing: dict[Document, float] = {}
        for q in range(len(self._queries)):
            self._renew(q)

    @property
    def bounds(self) -> Floats:
        """The least and the most of the mean difference, shape (2,)."""
        return self._bounds.mean(axis=0)

    @property
    def width(self) -> float:
        """How far the bounds lie apart."""
        return float(np.ptp(self.bounds))

    def give(self, document: Document, grade: int | None = None) -> None:
        """Give a document its grade, by default the most frequent one."""
        grade = int(self._shares.argmax()) if grade is None else grade
        q, name = document
        i = self._names[q].index(name) if name in self._names[q] else None
        self._queries[q] = self._queries[q].graded(grade, i)
        if i is not None:
            del self._names[q][i], self.narrowing[document]
        self._bounds[q] = self._left.ends(self._queries[q], 0)
        self._renew(q)

    def _renew(self, q: int) -> None:
        """Find what each document of a query narrows; those of one weight narrow alike."""
        query, found = self._queries[q], dict[float, float]()
        for i, name in enumerate(self._names[q]):
            weight = float(query.weights[i])
            if weight not in found:
                expected = self._expected(query, i, self._bounds[q]) / len(self._queries)
                # equal ones stay equal on every processor
                found[weight] = round(expected, DIGITS)
            self.narrowing[q, name] = found[weight]

    def _expected(self, query: OpenQuery, i: int, bounds: Floats) -> float:
        """Return how much closer the grade of a document is expected to bring a query's bounds."""
        after = [self._left.ends(query.graded(grade, i), 0) for grade in range(len(self._shares))]
        return float(np.ptp(bounds) - self._shares @ np.ptp(after, axis=1))


def with_grades(judgements: JudgementsLike, graded: Any) -> Judgements:
    """Return judgements with the grades of a file of `suggest_judgements` that was filled in.

    `graded` is its path, or a frame or records of the same columns. Lines that are still open do
    not count; a warning counts them. Raises InputError if it cannot be read, a grade is none of the
    judgements' scale, or a document has a judgement already.

    See Also
    --------
    evaluation.suggest_judgements : Which documents to judge.

    Examples
    --------
    >>> filled_in = [{"query_id": "q1", "doc_id": "x", "grade": 1}]
    >>> judged = dl.evaluation.with_grades({"q1": {"a": 1, "b": 0}}, filled_in)
    >>> judged.frame["grade"].to_list()
    [1, 0, 1]
    """
    import polars as pl

    judged = read_judgements(judgements)
    questions = read_open_grades(graded, judged.n_grades)
    filled = questions.filter(pl.col("grade") != OPEN)
    n_open = len(questions) - len(filled)
    if n_open:
        warnings.warn(
            f"not graded yet: {number_of(n_open, 'lines')} of {len(questions):,}",
            UserWarning,
            stacklevel=2,
        )

    # beside the judgements so far
    more = filled.select(query="query_id", document="doc_id", grade=pl.col("grade").cast(pl.Int64))
    together = pl.concat([judged.frame.select(more.columns), more], how="vertical_relaxed")
    name = f"{judged.name} with further grades"
    once = without_duplicates(name, together, ["query", "document"], "error")
    return replace(judged, frame=once)


def read_open_grades(questions: Any, n_grades: int | None) -> PolarsFrame:
    """Return what `suggest_judgements` asks: ``query_id``, ``doc_id``, and ``grade`` as text.

    Empty grades are ``open``. Raises InputError if it cannot be read, is empty, or a grade is not
    below `n_grades`.
    """
    roles = {**JUDGEMENT, "grade": Role("text", JUDGEMENT["grade"].names)}
    rows: list[Fields] = []
    for place, record in records_of(questions, roles):
        # the grade, if it is filled in
        grade = str(record["grade"] if record.get("grade") is not None else OPEN).strip()
        if grade.lower() in (OPEN, ""):
            grade = OPEN
        elif not grade.isdecimal() or int(grade) >= (n_grades or MAX_GRADES):
            top = "" if n_grades is None else f" to {n_grades - 1}"
            raise InputError(
                f"{place}: grade is {shown(grade)}; give a whole number from 0{top}, or leave it "
                f"{OPEN} (--grades, or n_grades, widens the scale)"
            )

        # beside its document
        names = {"query_id": str(record["query"]), "doc_id": str(record["document"])}
        rows.append({**names, "grade": grade})
    if not rows:
        raise InputError("there are no questions: the file is empty")
    return table_of(rows)
