"""Rated lists: the pairs that they imply, and the counts of their ratings."""

from typing import Any

import numpy as np
import polars as pl

from dcglearn.foundation.validation import Counts, Fields, Floats, Indices, InputError
from dcglearn.logs.preference_pairs import RatingCounts
from dcglearn.logs.unique_rows import numbered, packed, size_of, unique_rows
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.scale import Scale

MAX_PAIRS = 100_000_000
"""Maximum number of distinct pairs of a log of ratings.

Each takes 2 K + 24 bytes, and up to 130 while reading.
"""

WITHIN = {"group": "rater", "segment": "segment"}
"""Columns within which lists are compared, and the columns of the log that keep them."""


def pairs_of_ratings(
    name: str, table: Fields, scale: Scale, *, equal_groups: bool = False, by_row: bool = False
) -> Preferences:
    """Return the pairs that rated lists imply, as a log; messages call it `name`.

    `table` has columns by role: list, rating and, if there are any, group, segment and weight. Each
    distinct list of a group is a unit, or each row if `by_row`.
    """
    if equal_groups and "group" not in table:
        raise InputError(
            f"{name}: equal_groups needs a group on every line; add the column, or leave "
            "equal_groups out"
        )

    # compare the lists of each block, a group or a segment of one
    numbers = {role: numbered(table[role]) for role in WITHIN if role in table}
    group = numbers.get("group", np.zeros(len(table["list"]), dtype=np.intp))
    block = unique_rows(np.column_stack([group, *numbers.values()]))[2]
    counts, line = _counts(table, block, by_row=by_row)
    preferred, other, weight = _compared(name, counts)
    if not len(weight):
        raise InputError(
            f"{name}: no two different lists of one group have different ratings, so no list is "
            "preferred to another"
        )

    # the weight of a pair, or its share of the weight of its group
    first, second = line[preferred], line[other]
    of_pair = group[first]
    if equal_groups:
        weight = weight / np.bincount(of_pair, weight)[of_pair]

    # the log
    lists = table["list"]
    pairs = Preferences(
        lists[first],
        lists[second],
        n_grades=scale.n_grades or size_of(lists),
        grade_names=scale.names,
        weight=weight,
        **{WITHIN[role]: table[role][first] for role in numbers},
    )

    # what was left out
    dropped = _left_out(counts, group[line[counts.unit]])
    dropped["groups without a pair"] = size_of(group) - len(np.unique(of_pair))
    dropped = {reason: n for reason, n in dropped.items() if n}
    return pairs.changed(rated=counts, units=np.column_stack([preferred, other]), dropped=dropped)


def _counts(table: Fields, block: Indices, *, by_row: bool) -> tuple[RatingCounts, Indices]:
    """Return how often each list, or row, got each rating, and the first line of each unit.

    The counts are ordered by block, list and rating.
    """
    _, of_list, number = unique_rows(packed(table["list"]))
    keys = [np.arange(len(block))] if by_row else [block, number]
    _, line, unit = unique_rows(np.column_stack(keys))
    ratings, rank = np.unique(table["rating"], return_inverse=True)
    cells, _, cell = unique_rows(np.column_stack([unit, rank]))
    weight = np.bincount(cell, table.get("weight")).astype(np.float64)

    unit, rank = cells.T
    row, lists = line[unit], table["list"][of_list]
    return RatingCounts(lists, block[row], number[row], unit, ratings[rank], weight), line


def _compared(name: str, counts: RatingCounts) -> tuple[Indices, Indices, Floats]:
    """Return each two units of a block whose first is rated higher, in order, and how often."""
    # as many pairs as fit into memory
    block, unit = counts.group, counts.unit
    n_cells, n_units = np.bincount(block), np.bincount(block[np.diff(unit, prepend=-1) > 0])
    total = int(np.minimum(n_cells * (n_cells - 1) // 2, n_units * (n_units - 1)).sum())
    if total > MAX_PAIRS:
        raise InputError(
            f"{name}: up to {total:,} distinct pairs, more than {MAX_PAIRS:,}; compare within "
            "groups (a group column), cut the lists (depth), or read a sample of the lines"
        )

    # each rating with all of its block, never all at once
    columns = {"block": block, "unit": unit, "rating": counts.rating, "weight": counts.weight}
    cells = pl.LazyFrame(columns, schema_overrides={"unit": pl.UInt32})
    both = cells.join(cells, on="block").remove(pl.col("unit") == pl.col("unit_right"))
    higher = both.filter(pl.col("rating") > pl.col("rating_right"))
    weight = (pl.col("weight") * pl.col("weight_right")).sum()
    pairs = higher.group_by("unit", "unit_right").agg(weight).collect(engine="streaming")
    first, second, weights = pairs.sort("unit", "unit_right")
    return first.to_numpy(), second.to_numpy(), weights.to_numpy()


def _left_out(counts: RatingCounts, group: Indices) -> Counts:
    """Return the numbers of pairs of lines, in one group, that are no preference."""

    def n_pairs(*keys: Any) -> float:
        """Return how many pairs of lines have equal keys."""
        n = np.bincount(unique_rows(np.column_stack(keys))[2], counts.weight)
        return float((n * (n - 1)).sum()) / 2

    block, unit, rating = counts.group, counts.unit, counts.rating
    return {
        "pairs of different segments": round(n_pairs(group) - n_pairs(block)),
        "pairs of equal lists": round(n_pairs(unit) - n_pairs(unit, rating)),
        "pairs rated equally": max(round(n_pairs(block, rating)), 0),
    }
