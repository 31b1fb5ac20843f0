"""Messages lead to headings of the page of errors that exist."""

import pickle
import re
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

import dcglearn as dl
from dcglearn.foundation import validation

ROOT = Path(__file__).parents[2]
OF_CLASSES = {"input-error"}
"""Anchors of classes, whose messages are complete."""


def test_every_anchor_that_a_message_names_stands_before_a_heading_and_no_other_does():
    page = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    anchors = re.findall(r"^\(([a-z-]+)\)=\n##+ \S", page, flags=re.MULTILINE)
    assert len(set(anchors)) == len(anchors)
    text = "".join(file.read_text("utf-8") for file in (ROOT / "dcglearn").rglob("*.py"))
    named = set(re.findall(r"""(?:see=|pointer\()["']([a-z-]+)["']""", text))
    assert named == set(anchors) - OF_CLASSES


def test_a_message_ends_with_where_to_read_more():
    with pytest.raises(dl.InputError) as caught:
        dl.Preferences([[0, 1], [1]], [[1, 0], [0, 1]])
    assert str(caught.value).endswith("(see docs/reference/errors.md#lengths)")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.see) == (str(caught.value), "lengths")
    assert str(dl.InputError("no more to say")) == "no more to say"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("Source, https://example.org/code", "docs/reference/errors.md"),
        (
            "Documentation, https://example.org/site/",
            "https://example.org/site/reference/errors.html",
        ),
    ],
)
def test_the_address_is_that_of_the_package(monkeypatch, url, address):
    fields = Message()
    fields["Project-URL"] = url
    monkeypatch.setattr(metadata, "metadata", lambda _: fields)
    monkeypatch.setattr(validation, "_errors_page", validation._errors_page.__wrapped__)
    assert validation.pointer("names") == f"(see {address}#names)"


def test_the_command_line_keeps_to_one_line_and_reasons_of_skipped_lines_stay_short(
    misuse, tmp_path
):
    log, rest = tmp_path / "log.jsonl", tmp_path / "rest.jsonl"
    log.write_text(
        '{"a": [0, 1], "b": [1, 0], "winner": "a"}\n{"a": [0, 1], "b": [1, 0], "winner": "huh"}\n',
        "utf-8",
    )
    assert misuse("(see docs/reference/errors.md#winners)", "learn", log).count("\n") == 1
    with pytest.warns(UserWarning, match="errors.md#too-few"):
        skipped = dl.read_preferences(log, skip_bad=rest).dropped
        dl.DCGLearner().fit(dl.read_preferences(log, skip_bad=rest))
    assert not any("see docs" in reason for reason in skipped)
