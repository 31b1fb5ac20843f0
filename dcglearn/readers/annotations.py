"""Exports of annotation tools whose records hold several annotations: Label Studio's tasks and
Argilla's records.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, TypeAlias

from dcglearn.readers.column_roles import Role
from dcglearn.readers.line_formats import Objects, Opener, Records, Source, answer_of

Answers: TypeAlias = list[tuple[dict[str, Any], Any]]
"""The answers of each annotation by question, and its rater."""


def is_export(names: Sequence[str]) -> bool:
    """Return whether these are the keys of a task of Label Studio (JSON), or of a record of
    Argilla, flat or not.
    """
    return (
        {"annotations", "data"} <= {*names}
        or {"responses", "fields"} <= {*names}
        or any(map(_question, names))
    )


def _question(name: str) -> str | None:
    """Return the question whose answers stand in a column of Argilla's flat export."""
    return name.removesuffix(".responses") if name.endswith(".responses") else None


class Annotations(Records):
    """The annotations in the records of a source, each with its record's data; one without a winner
    is open.
    """

    def __init__(self, source: Source) -> None:
        questions: dict[str, None] = {}
        self._annotations = [
            (number, flat) for number, item in source for flat in _flat(item, questions)
        ]
        roles = dict(source.roles)
        if "winner" in roles and len(questions) == 1:
            roles["winner"] = replace(
                roles["winner"], names=tuple(name.lower() for name in questions)
            )
        super().__init__([], roles, f"{source.form} of annotations")
        self.unit, self._questions = source.unit, questions
        records = [flat for _, flat in self._annotations if isinstance(flat, Mapping)]
        self.names = list(dict.fromkeys(str(key) for flat in records for key in flat))

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return iter(self._annotations)

    def record(self, item: Any) -> dict[str, Any]:
        """Return the values by role."""
        if (
            "winner" in self.roles
            and isinstance(item, Mapping)
            and not self._questions.keys() & item.keys()
        ):
            item = {**item, self.roles["winner"].names[0]: "open"}
        return super().record(item)


def annotated(open_with: Opener) -> Opener:
    """Return a function that opens the annotations of exports, and other sources as they are."""

    def opened(roles: Mapping[str, Role]) -> Source:
        source = open_with(roles)
        return (
            Annotations(source)
            if isinstance(source, Objects) and is_export(source.names)
            else source
        )

    return opened


def _flat(item: Any, questions: dict[str, None]) -> list[Any]:
    """Return a record for each annotation of a record, and add its questions; one of another form
    stays as it is.
    """
    try:
        record = json.loads(item) if isinstance(item, bytes) else item
        data, answered = (_label_studio if "annotations" in record else _argilla)(record)
        questions |= dict.fromkeys(question for answers, _ in answered for question in answers)
        return [{**data, **answers, "rater": rater} for answers, rater in answered] or [dict(data)]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return [item]


def _label_studio(task: Mapping[str, Any]) -> tuple[dict[str, Any], Answers]:
    answered: Answers = []
    for annotation in task["annotations"]:
        if not annotation.get("was_cancelled"):
            choices = [
                result
                for result in annotation["result"]
                if result["type"] in ("pairwise", "choices")
            ]
            rater = annotation.get("completed_by")
            rater = rater.get("email") or rater["id"] if isinstance(rater, Mapping) else rater
            answered.append(
                ({choice["from_name"]: answer_of(choice["value"]) for choice in choices}, rater)
            )
    return task["data"], answered


def _argilla(record: Mapping[str, Any]) -> tuple[dict[str, Any], Answers]:
    by_rater: dict[Any, dict[str, Any]] = {}
    if "fields" in record:
        data = {**record["fields"], **(record.get("metadata") or {})}
        responses = {
            question: [
                (given["value"], given.get("user_id"), given.get("status")) for given in all_given
            ]
            for question, all_given in record["responses"].items()
        }
    else:
        data = {name: value for name, value in record.items() if "." not in name}
        columns = {
            name: [record.get(f"{name}{of}") or [] for of in ("", ".users", ".status")]
            for name in record
        }
        responses = {
            q: list(zip_longest(*columns[name])) for name in record if (q := _question(name))
        }
    for question, all_given in responses.items():
        for value, rater, status in all_given:
            if status in (None, "submitted"):
                by_rater.setdefault(rater, {})[question] = answer_of(value)
    return data, [(answers, rater) for rater, answers in by_rater.items()]
