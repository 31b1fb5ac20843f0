"""Exports of annotation tools with several annotations a record: Label Studio and Argilla."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeAlias

from dcglearn.readers.cell_values import answer_of
from dcglearn.readers.column_roles import Record, Roles
from dcglearn.readers.line_formats import Objects, Opener, Records, Source

Answers: TypeAlias = list[tuple[Record, Any]]
"""The answers of each annotation by question, and its rater."""


def is_export(names: Sequence[str]) -> bool:
    """Return whether these are the keys of a task of Label Studio or a record of Argilla."""
    return (
        {"annotations", "data"} <= {*names}
        or {"responses", "fields"} <= {*names}
        or any(map(_question, names))
    )


def _question(name: str) -> str | None:
    """Return the question whose answers stand in a column of Argilla's flat export."""
    return name.removesuffix(".responses") if name.endswith(".responses") else None


class Annotations(Records):
    """The annotations of a source's records, each with its record's data; open without a winner."""

    def __init__(self, source: Source) -> None:
        self._questions: dict[str, None] = {}
        self._annotations = [
            (number, flat) for number, item in source for flat in _flat(item, self._questions)
        ]

        # the only question asks for the winner
        roles = dict(source.roles)
        if "winner" in roles and len(self._questions) == 1:
            (question,) = self._questions
            roles["winner"] = replace(roles["winner"], names=(question.lower(),))
        super().__init__([], roles, f"{source.form} of annotations")
        self.unit = source.unit
        records = [flat for _, flat in self._annotations if isinstance(flat, Mapping)]
        self.names = list(dict.fromkeys(key for flat in records for key in self.keys(flat)))

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return iter(self._annotations)

    def record(self, item: Any) -> Record:
        """Return the values by role."""
        answered = not isinstance(item, Mapping) or self._questions.keys() & item.keys()
        if "winner" in self.roles and not answered:
            item = {**item, self.roles["winner"].names[0]: "open"}
        return super().record(item)


def annotated(open_with: Opener) -> Opener:
    """Return a function that opens the annotations of exports, and other sources as they are."""

    def opened(roles: Roles) -> Source:
        source = open_with(roles)
        has_annotations = isinstance(source, Objects) and is_export(source.names)
        return Annotations(source) if has_annotations else source

    return opened


def _flat(item: Any, questions: dict[str, None]) -> list[Any]:
    """Return a record for each annotation, and add its questions; others stay as they are."""
    try:
        record = json.loads(item) if isinstance(item, bytes) else item
        data, answered = (_label_studio if "annotations" in record else _argilla)(record)
        questions |= dict.fromkeys(question for answers, _ in answered for question in answers)
        return [{**data, **answers, "rater": rater} for answers, rater in answered] or [dict(data)]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return [item]


def _label_studio(task: Mapping[str, Any]) -> tuple[Record, Answers]:
    """Return the data of a task, and the answers of each annotation that was not cancelled."""
    answered: Answers = []
    for annotation in task["annotations"]:
        if annotation.get("was_cancelled"):
            continue

        # answers by the name of the question
        results = (x for x in annotation["result"] if x["type"] in ("pairwise", "choices"))
        answers = {result["from_name"]: answer_of(result["value"]) for result in results}

        # the rater, who may be an object
        rater = annotation.get("completed_by")
        if isinstance(rater, Mapping):
            rater = rater.get("email") or rater["id"]
        answered.append((answers, rater))
    return task["data"], answered


def _argilla(record: Mapping[str, Any]) -> tuple[Record, Answers]:
    """Return the data of a record, and the answers of each rater."""
    if "fields" in record:
        # responses by question
        data = {**record["fields"], **(record.get("metadata") or {})}
        responses = {
            question: [(x["value"], x.get("user_id"), x.get("status")) for x in all_given]
            for question, all_given in record["responses"].items()
        }
    else:
        # three columns for each question
        data = {name: value for name, value in record.items() if "." not in name}
        responses = {
            question: list(
                zip_longest(*(record.get(f"{name}{of}") or [] for of in ("", ".users", ".status")))
            )
            for name in record
            if (question := _question(name))
        }

    # submitted answers by rater
    by_rater: dict[Any, Record] = {}
    for question, all_given in responses.items():
        for value, rater, status in all_given:
            if status in (None, "submitted"):
                by_rater.setdefault(rater, {})[question] = answer_of(value)
    return data, [(answers, rater) for rater, answers in by_rater.items()]
