"""Keywords of the readers of logs, for type checkers and signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class ListOptions(TypedDict, total=False):
    """Keywords of every reader of graded lists; see `read_preferences`."""

    depth: int | None
    pad: bool
    scale: Sequence[Any] | str | None
    columns: Mapping[str, str] | str | None


class JudgementOptions(ListOptions, total=False):
    """Keywords that say what judgements mean."""

    winner_words: Mapping[Any, str] | str | float | None
    sides: Literal["shown", "listed"] | None
