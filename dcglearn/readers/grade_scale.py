"""Check that grades are a scale of a few levels, rather than codes or numbers of documents."""

from typing import Any

import numpy as np

from dcglearn.foundation.validation import MAX_GRADES, Grades, Indices, InputError, Integers

FEW_LEVELS = 7
"""A scale is proposed for up to this many grades, since more may be numbers of documents."""


def check_grades(first: Grades, second: Grades) -> None:
    """Raise InputError if the grades of lists are no scale of a few levels."""
    from dcglearn.logs.visibility import grade_counts

    check_scale(grade_counts(first, second)[:MAX_GRADES])


def is_stray(counts: Integers, largest_share: float = 0.005) -> bool:
    """Return whether the top grade of those counted from 0 is a slip.

    It is not next to another grade, and at most `largest_share` of the items have it.
    """
    top, below = _top_two(np.flatnonzero(counts))
    return top - below > 1 and bool(counts[top] <= largest_share * counts.sum())


def _top_two(occurring: Indices) -> tuple[int, int]:
    """Return the largest grade that occurs and the next, which is the same if there is none."""
    top = int(occurring.max(initial=0))
    return top, int(occurring[-2]) if len(occurring) > 1 else top


def check_scale(counts: Integers) -> None:
    """Raise InputError if the grades, counted from 0, are codes, or the top one is stray."""
    most_levels, hole = 20, 8  # a top grade from `hole` on may stand far above the others
    occurring = np.flatnonzero(counts)
    top, below = _top_two(occurring)
    stray, far_above = is_stray(counts), top - below > below + 1
    if not stray and (top < hole or (not far_above and top < most_levels)):
        return

    # propose a scale by number where grades below the top are missing, too
    cure: dict[str, Any]
    levels = ",".join(map(str, occurring))
    few = len(occurring) <= FEW_LEVELS
    by_number = f"; if the grades are {levels}: scale= (--scale {levels})" if few else ""
    cure = {"scale": levels.split(",")} if few and not stray and len(occurring) < below + 2 else {}

    # say what is wrong, and what to do
    if stray:
        problem = (
            f"the grade {top} ({counts[top]:,} of {counts.sum():,} items) stands apart from the "
            f"others, 0 to {below}"
        )
        remedy = f"correct it, or write -1 if it means no grade{by_number}"

    # a code such as 99
    elif far_above:
        problem = f"the grade {top} ({counts[top]:,}) stands far above the others, 0 to {below}"
        remedy = f"if it means no grade, write -1, or leave it blank{by_number}"

    # many grades
    elif len(occurring) <= most_levels:
        problem = f"{top} is the largest of {len(occurring)} grades"
        remedy = (
            f"name them by scale= (--scale {levels}) or, "
            "if they are numbers of documents, give judgements (--qrels)"
        )
    else:
        problem, cure = f"{len(occurring)} grades are many for a scale", {"qrels": "QRELS"}
        remedy = "give a few levels or, if they are numbers of documents, judgements (--qrels)"
    raise InputError(
        f"{problem}: {remedy}; n_grades={top + 1} (--grades {top + 1}) takes them as they are",
        see="grades",
        cure=cure,
    )
