"""Sums over parts of a log, which add field by field."""

from dataclasses import fields
from typing import Any, Self


class AddedByField:
    """Mixin of frozen dataclasses whose fields all add with ``+``."""

    def __add__(self, other: Self) -> Self:
        sums: Any = self
        return type(self)(*(getattr(self, x.name) + getattr(other, x.name) for x in fields(sums)))
