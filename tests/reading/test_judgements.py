"""Judgements and runs from any input: what counts as a grade, and what is left out with a word."""

import numpy as np
import polars as pl
import pytest

from dcglearn.foundation.validation import InputError
from dcglearn.reading.judgements import Judgements


def frame_of(*grades):
    return pl.DataFrame(
        {"query": "q", "document": [f"d{i}" for i in range(len(grades))]}
    ).with_columns(grade=pl.Series(grades, strict=False))


@pytest.mark.parametrize(
    ("grades", "read", "n_grades"),
    [
        ((2, 0), [2, 0], 3),
        ((2.0, -1.0, 1.0), [2, 0, 1], 3),
        ((0.5, 3.0), [0.5, 3], None),
        ((200, 0), [200, 0], None),
        ((100, 1), [100, 1], 101),
        ((None, 1), [1], 2),
        ((np.nan, 1.0), [1], 2),
    ],
)
def test_grades_are_any_numbers_and_levels_where_they_are_whole(grades, read, n_grades):
    judged = Judgements(frame_of(*grades))
    assert (judged.frame["grade"].to_list(), judged.n_grades) == (read, n_grades)
    assert judged.frame["grade"].dtype == pl.Float64


def test_a_grade_above_the_scale_is_refused():
    assert Judgements(frame_of(0.5, 1.0), n_grades=3).n_grades is None
    with pytest.raises(InputError, match="grade 3 lies outside"):
        Judgements(frame_of(3, 1), n_grades=3)
