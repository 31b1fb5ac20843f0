"""Rows that may repeat."""

import numpy as np

from dcglearn.logs.unique_rows import hashed, unique_rows
from tests.tables import table


@table("n_grades", [2, 5])
def test_distinct_rows_are_numbered_in_order_and_counted(n_grades):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lists = rng.integers(-2, n_grades, (rng.integers(1, 60), 4)).astype(np.int8)
        level = rng.integers(0, 2, len(lists)).astype(np.int8)
        rows, first, number = unique_rows(np.column_stack([lists, level]).astype(np.int64))
        hashes = hashed(np.column_stack([lists, level]))
        assert len({*hashes}) == len(rows) == len({*map(tuple, rows)})
        assert (rows[number] == np.column_stack([lists, level])).all()
        assert (np.lexsort(rows.T[::-1]) == np.arange(len(rows))).all()
        assert all(number[: first[i]].tolist().count(i) == 0 for i in range(len(rows)))
        assert (number[first] == np.arange(len(rows))).all()
