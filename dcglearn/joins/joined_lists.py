"""Lists of documents as lists of grades: the join with judgements, and what unjudged documents count as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dcglearn.evaluation.ranked import as_judged
from dcglearn.foundation.validation import MAX_GRADES, Grades, InputError, scale_size, whole_number
from dcglearn.readers.frames import flattened

if TYPE_CHECKING:
    from dcglearn.evaluation.trec import Judgements

UNJUDGED = ("worst", "best", "drop", "unknown")
"""What a document without a judgement counts as; or a grade."""

MISSING = ("error", "skip")
"""What to do with queries without judgements."""


@dataclass(frozen=True)
class Joining:
    """How lists of documents become lists of grades; for `depth`, `unjudged` and the others see `join_judgements`."""

    depth: int | None = None
    unjudged: str | int = "worst"
    missing: str = "error"
    n_grades: int | None = None

    def __post_init__(self) -> None:
        if self.depth is not None:
            whole_number(self.depth, "depth")
        if self.n_grades is not None:
            scale_size(self.n_grades, 0)
        if self.missing not in MISSING:
            raise InputError(f"missing={self.missing!r}: give one of {', '.join(MISSING)}")
        if isinstance(self.unjudged, str) and self.unjudged not in UNJUDGED:
            raise InputError(f"unjudged={self.unjudged!r}: give a grade, or one of {', '.join(UNJUDGED)}")
        if not isinstance(self.unjudged, str):
            whole_number(self.unjudged, "unjudged", 0, MAX_GRADES - 1, "a log holds grades, not gains")

    def scale(self, judged: Judgements) -> int:
        """Return the number of grades; raise InputError if a grade of the judgements or of unjudged lies above it."""
        size = self.n_grades or max(judged.n_grades, 2)
        top = max(judged.n_grades - 1, self.unjudged if isinstance(self.unjudged, int) else 0)
        if top >= size:
            raise InputError(f"{judged.name}: grade {top} lies outside 0..{size - 1}; raise n_grades={size} (--grades)")
        return size

    def filled(self, grades: Grades, shown: NDArray[np.bool_], n_grades: int) -> Grades:
        """Return grades by position with those of unjudged documents, shape (n, K), as `as_judged`."""
        grades = as_judged(grades, shown, n_grades, self.unjudged)
        depth = self.depth or int(np.flatnonzero((grades >= 0).any(axis=0)).max(initial=0)) + 1
        padded = np.full((len(grades), max(depth - grades.shape[1], 0)), -1, dtype=np.int8)
        return np.ascontiguousarray(np.hstack([grades, padded])[:, :depth].astype(np.int8))


def looked_up(
    query: NDArray[np.object_], docs: NDArray[np.object_], judged: Judgements
) -> tuple[Grades, NDArray[np.bool_]]:
    """Return the grades of lists of documents, -1 for unjudged ones, and where there is a document; shape (n, N) each.

    `query` names the query of each list, and `docs` its documents, joined by tabs, shape (n,) each.
    """
    import polars as pl

    lists = pl.Series(docs.astype(str)).str.split("\t")
    row = np.repeat(np.arange(len(docs)), lists.list.len().to_numpy())
    long = pl.DataFrame({"query": query[row].astype(str), "document": flattened(lists)})
    rank = np.arange(len(long)) - np.searchsorted(row, row)
    grade = long.join(judged.frame, on=["query", "document"], how="left", maintain_order="left")["grade"]
    place = row, rank
    grades = np.full((len(docs), int(rank.max(initial=0)) + 1), -1, dtype=np.int8)
    shown = np.zeros(grades.shape, dtype=bool)
    grades[place] = grade.clip(0).fill_null(-1).to_numpy()
    shown[place] = (long["document"] != "").to_numpy()
    return grades, shown


@dataclass(frozen=True, eq=False)
class JoinedPairs:
    """Pairs of lists of documents with their grades.

    `a` and `b` hold grades by position, shape (m, K), `kept`, shape (n,), tells which of the pairs these are. `dropped`
    counts the pairs left out, by reason, and `counted` the documents looked up, and those without a judgement.
    """

    a: Grades
    b: Grades
    kept: NDArray[np.bool_]
    n_grades: int
    dropped: dict[str, int]
    counted: dict[str, int]


def joined_pairs(
    query: NDArray[np.object_],
    docs: NDArray[np.object_],
    judged: Judgements,
    joining: Joining,
    place: Callable[[int], str],
) -> JoinedPairs:
    """Return the grades of both lists of every pair, whose documents `docs`, shape (n, 2), names, joined by tabs.

    `place` says where a pair stands. Raises InputError if a query has no judgement (unless these are skipped), or no
    document has one.
    """
    has_judgements = np.isin(query.astype(str), judged.frame["query"].unique().to_numpy().astype(str))
    if (not has_judgements.all() and joining.missing == "error") or not has_judgements.any():
        first, lacking = int(np.flatnonzero(~has_judgements)[0]), len(np.unique(query[~has_judgements].astype(str)))
        raise InputError(
            f"{place(first)}: the query {query[first]!r} has no judgement in {judged.name} ({lacking:,} of "
            f"{len(np.unique(query.astype(str))):,} queries have none); do the names agree? Add judgements"
            + (', or leave such pairs out with missing="skip" (--missing skip)' if has_judgements.any() else ""),
            see="names",
        )
    n = int(has_judgements.sum())
    grades, shown = looked_up(
        np.tile(query[has_judgements], 2), np.concatenate([docs[has_judgements, 0], docs[has_judgements, 1]]), judged
    )
    unjudged = shown & (grades < 0)
    if (grades < 0).all():
        document = docs[has_judgements][0, 0].split("\t")[0]
        raise InputError(
            f"{place(int(np.flatnonzero(has_judgements)[0]))}: no document has a judgement in {judged.name}, nor has "
            f"{document!r} for the query {query[has_judgements][0]!r}; do the names of the documents agree?",
            see="names",
        )
    blank = (grades.reshape(2, n, -1) < 0).all(axis=(0, 2))
    n_grades = joining.scale(judged)
    a, b = joining.filled(grades, shown, n_grades).reshape(2, n, -1)
    kept = has_judgements.copy()
    kept[has_judgements] = ~blank
    reasons = {
        "pairs of queries without judgements": int((~has_judgements).sum()),
        "pairs without a judged document": int(blank.sum()),
    }
    return JoinedPairs(
        a[~blank],
        b[~blank],
        kept,
        n_grades,
        {reason: count for reason, count in reasons.items() if count},
        {"documents": int(shown.sum()), "documents without a judgement": int(unjudged.sum())},
    )
