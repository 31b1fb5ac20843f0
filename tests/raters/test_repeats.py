"""Units of agreement, and contradictory verdicts."""

import numpy as np

from dcglearn.raters.repeats import reconciled, units
from dcglearn.reading.preferences import Preferences
from tests.makers import refused

A, B, C = [2, 1, 0], [0, 1, 2], [1, 1, 1]


def log_of(*rows, **columns):
    """A log of rows (preferred, other, rater, swapped)."""
    preferred, other, rater, swapped = zip(*rows, strict=True)
    return Preferences(preferred, other, rater=rater, swapped=swapped, **columns)


def test_a_unit_has_no_orientation():
    unit, verdict, way = units(
        log_of((A, B, "x", False), (B, A, "y", False), (A, C, "x", True), (C, A, "x", False))
    )
    assert unit[0] == unit[1] != unit[2] == unit[3]
    assert verdict[0] == -verdict[1] and verdict[2] == -verdict[3] and verdict.all()
    assert way[0] == -way[1] and way[2] == way[3], "A was shown first, B, then C, C"


def test_queries_and_documents_tell_units_apart():
    lists = ([A] * 3, [B] * 3)
    assert units(Preferences(*lists, query=["q", "p", "q"]))[0].tolist() == [1, 0, 1]
    docs = [[["1", "2", "3"], ["4", "5", "6"]]] * 2 + [[["1", "2", "3"], ["4", "5", "7"]]]
    unit, verdict, _ = units(Preferences(*lists, docs=docs, tie=[False, True, False]))
    assert unit[0] == unit[1] != unit[2] and np.abs(verdict).tolist() == [1, 0, 1]
    unit, verdict, _ = units(Preferences([A, A], [A, A], docs=[docs[0], docs[0][::-1]]))
    assert unit.tolist() == [0, 0] and verdict[0] == -verdict[1] != 0
    refused(r"docs has shape \(2,\)", Preferences, [A, A], [B, B], docs=["x", "y"])


def test_contradictory_verdicts_of_a_rater_are_resolved():
    log = log_of(
        (A, B, "x", False), (A, B, "x", True),  # the same list both times
        (B, A, "y", False), (A, B, "y", False),  # the one shown first both times
        (A, C, "y", False), (C, A, "y", True),  # shown one way only
    )  # fmt: skip
    half = reconciled(log, "half")
    assert half.weight.tolist() == [1, 1, 0.5, 0.5, 1, 1] and half.tie is None
    assert reconciled(log, "tie").tie.tolist() == [False, False, True, True, False, False]

    # without names, all are one rater's
    nameless = reconciled(log.changed(rater=None), "half")
    assert nameless.weight.tolist() == [0.5, 0.5, 0.5, 0.5, 1, 1]


def test_what_cannot_be_reconciled_is_refused():
    refused("give the column swapped", reconciled, Preferences([A], [B]), "half")
    refused("give one of half, tie", reconciled, Preferences([A], [B], swapped=[True]), "drop")
    refused("swapped must be 1 booleans", Preferences, [A], [B], swapped=[2])
