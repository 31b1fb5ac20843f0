"""Runs: the documents that a system ranked for each query."""

from __future__ import annotations

from dataclasses import dataclass

from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.validation import PolarsFrame


@dataclass(frozen=True, eq=False)
class Run:
    """The documents that a system ranked.

    `frame` has the columns ``query``, ``document`` (text) and ``score`` (float), in the order of
    the file; `name` is the system's.

    See Also
    --------
    read_runs : Read them from any supported form.

    Examples
    --------
    >>> [run] = dl.read_runs({"mine": {"q1": {"a": 1.5, "b": 2.5}}})
    >>> run.name, run.frame["document"].to_list()
    ('mine', ['a', 'b'])
    """

    frame: PolarsFrame
    name: str

    def __repr__(self) -> str:
        queries = number_of(self.frame["query"].n_unique(), "queries", ",")
        return f"Run({self.name!r}, {number_of(len(self.frame), 'documents', ',')}, {queries})"


def in_order(lines: PolarsFrame, ties: str = "docno-desc") -> PolarsFrame:
    """Return lines of ``query``, ``score`` and ``document`` by query and rank, as in trec_eval.

    Scores are compared as float32; equal ones keep their order unless `ties` is "docno-desc".
    """
    import polars as pl

    keys = ["query", pl.col("score").cast(pl.Float32), "document"]
    n_keys = 3 if ties == "docno-desc" else 2
    falls = [False, True, True]
    return lines.sort(keys[:n_keys], descending=falls[:n_keys], maintain_order=True)
