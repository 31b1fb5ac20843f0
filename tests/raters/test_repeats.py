"""Units of agreement, and pairs shown both ways."""

import numpy as np

from dcglearn.raters.repeats import reconciled, shown_both_ways, units
from dcglearn.reading.preferences import Preferences
from tests.makers import refused

A, B, C = [2, 1, 0], [0, 1, 2], [1, 1, 1]


def log_of(*rows, **columns):
    """A log of rows (preferred, other, rater, swapped)."""
    preferred, other, rater, swapped = zip(*rows, strict=True)
    return Preferences(preferred, other, rater=rater, swapped=swapped, **columns)


def test_a_unit_has_no_orientation():
    of = units(
        log_of((A, B, "x", False), (B, A, "y", False), (A, C, "x", True), (C, A, "x", False))
    )
    assert of.number[0] == of.number[1] != of.number[2] == of.number[3]
    assert of.value[0] == -of.value[1] and of.value[2] == -of.value[3]
    assert of.way[0] == -of.way[1] and of.way[2] == of.way[3], "A was shown first, B, then C, C"


def test_queries_documents_and_strengths_tell_units_apart():
    lists = ([A] * 3, [B] * 3)
    assert units(Preferences(*lists, query=["q", "p", "q"])).number.tolist() == [1, 0, 1]
    docs = [[["1", "2", "3"], ["4", "5", "6"]]] * 2 + [[["1", "2", "3"], ["4", "5", "7"]]]
    of = units(Preferences(*lists, docs=docs, strength=[2, 1, 1], tie=[False, True, False]))
    assert of.number[0] == of.number[1] != of.number[2] and np.abs(of.value).tolist() == [2, 0, 1]
    same_grades = units(Preferences([A, A], [A, A], docs=[docs[0], docs[0][::-1]]))
    assert (
        same_grades.number.tolist() == [0, 0] and same_grades.value[0] == -same_grades.value[1] != 0
    )
    refused(r"docs has shape \(2,\)", Preferences, [A, A], [B, B], docs=["x", "y"])


def test_pairs_shown_both_ways_are_compared_for_each_rater():
    log = log_of(
        (A, B, "x", False), (A, B, "x", True),  # the same list both times
        (B, A, "y", False), (A, B, "y", False),  # the one shown first both times
        (A, C, "y", False), (A, C, "y", False),  # shown one way only
    )  # fmt: skip
    repeated = shown_both_ways(log)
    assert repeated.rater.tolist() == [0, 1] and repeated.same.tolist() == [True, False]
    assert repeated.member.tolist() == [0, 0, 1, 1, -1, -1]
    half = reconciled(log, "half")
    assert half.weight.tolist() == [1, 1, 0.5, 0.5, 1, 1] and half.tie is None
    assert reconciled(log, "tie").tie.tolist() == [False, False, True, True, False, False]
    assert reconciled(log, "keep").weight is None


def test_what_cannot_be_reconciled_is_refused():
    refused("give the column swapped", reconciled, Preferences([A], [B]), "half")
    refused(
        "give one of keep, half, tie", reconciled, Preferences([A], [B], swapped=[True]), "drop"
    )
    refused("swapped must be 1 booleans", Preferences, [A], [B], swapped=[2])
