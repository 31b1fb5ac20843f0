"""Any log in the form that every command reads: a line or row a judgement, with the columns of `read_preferences`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.validation import InputError
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.read_table import Recognised, read_columns
from dcglearn.readers.roles import PREFERENCE
from dcglearn.readers.winner_words import MEANINGS

if TYPE_CHECKING:
    import polars as pl

OTHER_FORMS = {".csv", ".tsv", ".gz", ".xz", ".zst"}
"""Suffixes of forms that are read and not written."""


def native_frame(
    log: Any, mapping: LogMapping, skip_bad: str | os.PathLike[str] | None = None
) -> tuple[pl.DataFrame, dict[str, int], Recognised]:
    """Return a log of preferences as a table, what was left out, and what was recognised; see `read_preferences`.

    `a` and `b` stay as they are, and so do open questions and superseded verdicts.
    """
    table, dropped, recognised = read_columns(log, PREFERENCE, mapping, skip_bad)
    winner = np.array(MEANINGS, dtype=object)[table["winner"].codes]
    return log_frame({**table, "winner": winner}), dropped, recognised


def log_frame(table: Mapping[str, Any]) -> pl.DataFrame:
    """Return the columns of a log by role as a table with the columns that `read_preferences` reads."""
    import polars as pl

    columns = {}
    for role in ("query", *(role for role in PREFERENCE if role != "query")):
        values, about = table.get(role), PREFERENCE[role]
        if values is None:
            continue
        if about.kind == "grades":
            values = pl.Series(values.tolist(), dtype=pl.List(pl.Int64))
        elif about.kind == "side":
            values = values > 0
        elif about.kind == "documents":
            values = pl.Series(values.tolist(), dtype=pl.String).str.split("\t")
        columns[about.names[0]] = values
    return pl.DataFrame(columns)


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Write a table as `Preferences.save` does; InputError for a suffix that readers would misread."""
    suffix = Path(path).suffix.lower()
    if suffix in OTHER_FORMS:
        raise InputError(f"{path}: logs are written as JSON lines or Parquet, not {suffix}; name it .jsonl or .parquet")
    with written_beside(path, force=force) as temporary:
        if Path(path).suffix == ".parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_ndjson(temporary)
