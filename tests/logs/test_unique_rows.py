"""Rows that may repeat."""

import numpy as np
import pytest

from dcglearn.logs.unique_rows import may_repeat, unique_rows


@pytest.mark.parametrize("n_grades", [2, 5])
def test_rows_that_repeat_are_never_missed_and_others_hardly_ever_suspected(n_grades):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lists = rng.integers(-2, n_grades, (rng.integers(1, 60), 4)).astype(np.int8)
        level = rng.integers(0, 2, len(lists)).astype(np.int8)
        distinct = len(unique_rows(np.column_stack([lists, level]).astype(np.int64))[0])
        assert may_repeat(lists, level, np.ones(1)) == (distinct < len(lists))
