"""Tables of cases that cost nothing: one test of all rows, which names those that fail."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

PARAM = type(pytest.param())
"""Class of the rows that `pytest.param` makes."""


def each(check: Callable[..., Any], rows: Iterable[Sequence[Any]]) -> None:
    """Call a check with each row, and raise what all failing rows raised.

    The number of rows is printed at the end. A table without rows fails.
    """
    __tracebackhide__ = True
    rows = list(rows)
    assert rows, "the table has no rows"

    failures = []
    for row in rows:
        try:
            check(*row)
        except (Exception, BaseExceptionGroup, pytest.fail.Exception) as failure:
            failure.add_note(f"in the row {row!r}")
            failures.append(failure)

    print(f"{len(rows)} rows")
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} rows fail", failures)


def table(
    names: str | Sequence[str], rows: Iterable[Any] | Callable[[], Iterable[Any]]
) -> Callable[..., Any]:
    """Return a decorator that makes one test of all rows of a table, by `each`.

    It is written as `pytest.mark.parametrize`, which makes a test of each row. The rows of a table
    share the test's fixtures, so that they must not disturb each other. Rows that take long to make
    are given as a function, which is called when the test runs.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    kept = rows if callable(rows) else [*rows]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def all_rows(*self: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True

            def check(*row: Any) -> None:
                test(*self, **fixtures, **dict(zip(columns, row, strict=True)))

            made = kept() if callable(kept) else kept
            each(check, [_cells(row, len(columns)) for row in made])

        signature = inspect.signature(test)
        others = [value for name, value in signature.parameters.items() if name not in columns]
        all_rows.__signature__ = signature.replace(parameters=others)
        return all_rows

    return decorate


def _cells(row: Any, n_columns: int) -> tuple[Any, ...]:
    """Return the cells of a row, which stands alone where there is one column."""
    if isinstance(row, PARAM):
        assert not row.marks, "a row with a mark needs `parametrize`"
        return tuple(row.values)
    return tuple(row) if n_columns > 1 else (row,)
