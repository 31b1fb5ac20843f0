"""Nouns agree with their number."""

import pytest

from dcglearn.foundation.plain_text import number_of
from dcglearn.logs.repeats import REASONS


@pytest.mark.parametrize(
    ("n", "things", "text"),
    [
        (1, "ties", "1 tie"),
        (2, "ties", "2 ties"),
        (0, "queries", "0 queries"),
        (1, "queries of one run only", "1 query of one run only"),
        (1, "pairs of equal lists", "1 pair of equal lists"),
        (1, "bad lines", "1 bad line"),
    ],
)
def test_a_noun_agrees_with_its_number(n, things, text):
    assert number_of(n, things) == text
    assert number_of(12345, "lists", ",") == "12,345 lists"


def test_reasons_to_leave_lines_out_agree():
    assert [number_of(1, reason) for reason in REASONS.values()] == [
        "1 superseded verdict",
        "1 verdict already read under the same id",
        "1 line withdrawing a verdict",
    ]
