"""Prompts that ask a language model for grades of single documents, and the grades it answers."""

import hashlib
import json
from pathlib import Path

from dcglearn.evaluation.next_judgements import OPEN, OpenGrades
from dcglearn.foundation.markup import rendered
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import InputError, PathLike, PolarsFrame
from dcglearn.judge.candidates import texts_of_documents, texts_of_queries
from dcglearn.judge.prompts import request, shown_texts, write_objects
from dcglearn.judge.replies import answers_in, grade_of, left_unread
from dcglearn.readers.cell_values import shown


def write_grade_prompts(
    asked: OpenGrades,
    path: Path,
    documents: PathLike,
    topics: PathLike | None,
    *,
    shape: str,
    model: str | None,
    force: bool,
) -> None:
    """Write a request for each document that waits for a grade.

    `documents` and `topics` are as in `candidates_from_runs`. Raises InputError if a document has
    no text.
    """
    names = asked.table.select("query_id", "doc_id").rows()
    texts = texts_of_documents(documents, {document for _, document in names})
    lacking = sorted({document for _, document in names} - texts.keys())
    if lacking:
        raise InputError(
            f"{documents}: {number_of(len(lacking), 'documents')} to grade have no text, as "
            f"{shown(lacking[0])}; a model cannot read them"
        )

    # a request each
    queries = texts_of_queries(topics)
    requests = []
    for query, document in names:
        prompt = rendered(
            "judge/templates/one-grade.txt",
            query=queries.get(query, query),
            document="\n".join(shown_texts(texts[document])),
            best=asked.n_grades - 1,
        )
        requests.append(request(_key(query, document), prompt, shape, model))
    write_objects(requests, path, force=force)


def filled_in(
    questions: PolarsFrame, replies: str, n_grades: int | None
) -> tuple[PolarsFrame, list[str]]:
    """Return the questions with the grades in a model's replies, and lines about what was read.

    Grades that are there already stay; questions without one readable grade stay open. Raises
    InputError if a reply answers none of the questions, or none can be read.
    """
    import polars as pl

    # what each question was answered
    names = questions.select("query_id", "doc_id").rows()
    found: dict[str, set[str]] = {_key(query, document): set() for query, document in names}
    unread: list[str] = []
    for place, key, text in answers_in(replies):
        if key not in found:
            raise InputError(f"{place}: this answers {shown(key)}, which is none of the questions")
        grade = grade_of(text)
        if grade is None or (n_grades is not None and grade >= n_grades):
            unread.append(f"{place}: {shown(text) if text else 'no text'}")
        else:
            found[key].add(str(grade))
    sure = [next(iter(grades)) if len(grades) == 1 else OPEN for grades in found.values()]
    if not any(found.values()):
        raise InputError("; ".join([f"{replies}: no grade can be read", *unread[:1]]))

    # beside the grades that are there
    is_open = pl.col("grade") == OPEN
    filled = questions.with_columns(grade=pl.when(is_open).then(pl.Series(sure)).otherwise("grade"))
    n_read = questions.filter(is_open).height - filled.filter(is_open).height
    lines = [f"answers: {number_of(n_read, 'grades')} of {number_of(len(questions), 'questions')}"]
    contradicting = sum(len(grades) > 1 for grades in found.values())
    if contradicting:
        lines.append(f"left open: {number_of(contradicting, 'questions')} with different answers")
    return filled, [*lines, *left_unread(unread)]


def _key(query: str, document: str) -> str:
    """Return the id of a request, which providers limit to 64 plain characters."""
    return "grade-" + hashlib.sha256(json.dumps([query, document]).encode()).hexdigest()[:20]
