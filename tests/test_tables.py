"""A table of cases runs every row, fails with all rows that fail, and fails without rows."""

import pytest

from tests.tables import table


def test_every_row_runs_and_all_failures_are_told():
    ran = []

    @table(("number", "word"), [(1, "a"), (2, "b"), pytest.param(3, "c", id="three"), (4, "d")])
    def positive(number, word, there):
        ran.append((number, word, there))
        assert number % 2, word
        if number == 3:
            pytest.fail("no threes")

    with pytest.raises(BaseExceptionGroup, match="3 of 4 rows fail") as failed:
        positive(there=True)
    assert ran == [(1, "a", True), (2, "b", True), (3, "c", True), (4, "d", True)]
    notes = [failure.__notes__ for failure in failed.value.exceptions]
    assert notes == [["in the row (2, 'b')"], ["in the row (3, 'c')"], ["in the row (4, 'd')"]]


def test_a_table_without_rows_fails():
    @table("x", [])
    def nothing(x):
        pass

    with pytest.raises(AssertionError, match="no rows"):
        nothing()


@table("x", range(3))
@table("y", [1, 2])
def test_tables_take_fixtures_and_stand_on_each_other(tmp_path, x, y):
    assert tmp_path.is_dir() and x < 3 and y > 0
