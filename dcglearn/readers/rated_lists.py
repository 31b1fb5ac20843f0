"""The pairs that rated lists imply: of every two lists with different ratings, the higher rated is
preferred.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import packed, unique_rows
from dcglearn.readers.column_roles import Table
from dcglearn.readers.mapping import LogMapping

MAX_PAIRS = 100_000_000
"""Maximum number of distinct pairs of a log of ratings; each takes 2 K + 16 bytes, and as much
again while reading.
"""

BLOCK = 1 << 22
"""Pairs compared at a time."""


def pairs_of_ratings(
    kind: type[AnyLog], name: str, table: Table, mapping: LogMapping, *, equal_groups: bool = False
) -> AnyLog:
    """Return the pairs that the columns of a log of ratings imply, as a log of some kind; messages
    call it `name`.
    """
    grouped = "group" in table
    if equal_groups and not grouped:
        raise InputError(
            f"{name}: equal_groups needs a group on every line; add the column, or leave equal_groups out"
        )
    cells = _Cells(table)
    pairs, counts = cells.pairs(name)
    if not len(pairs):
        reason = _why_no_pair(len(cells.lists), table["rating"])
        raise InputError(f"{name}: {reason}, so no list is preferred to another")
    group, preferred, other = pairs[:, :3].T
    weight = pairs[:, 3].view(np.float64)
    pairs_of_lists = kind(
        cells.lists[preferred],
        cells.lists[other],
        n_grades=mapping.n_known or int(max(cells.lists.max(), 0)) + 1,
        weight=weight / np.bincount(cells.outer[group], weight)[cells.outer[group]]
        if equal_groups
        else weight,
        rater=cells.groups[group, 0] if grouped else None,
        grade_names=mapping.scale,
        segment=cells.groups[group, 1] if "segment" in table else None,
    )
    if grouped:
        counts["groups without a pair"] = len(np.unique(cells.outer)) - len(
            np.unique(cells.outer[group])
        )
    dropped = {reason: n for reason, n in counts.items() if n}
    return pairs_of_lists.changed(rated=cells.counts(), group=group, dropped=dropped)


class _Cells:
    """The distinct (group, list, rating) of a log with their weights, ordered by group, then
    rating.

    Lists are compared within a group and a segment: `groups` holds both labels, `outer` the number
    of the group alone.
    """

    def __init__(self, table: Table) -> None:
        n = len(table["list"])
        labels = [
            table[role].astype(str) if role in table else np.full(n, "")
            for role in ("group", "segment")
        ]
        (outer, group), (inner, segment) = (
            np.unique(names, return_inverse=True) for names in labels
        )
        codes, group = np.unique(group * len(inner) + segment, return_inverse=True)
        self.outer = codes // len(inner)
        self.groups = np.column_stack([outer[self.outer], inner[codes % len(inner)]])
        _, first, number = unique_rows(packed(table["list"]))
        self.lists = table["list"][first]
        self.ratings, rank = np.unique(table["rating"], return_inverse=True)
        keys, _, cell = unique_rows(np.column_stack([group, rank, number]).astype(np.int64))
        self.group, self.rank, self.list = keys.T
        self.weight = np.bincount(cell, table.get("weight", np.ones(n))).astype(np.float64)
        self.start = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.size = np.diff(self.start, append=len(keys))

    def counts(self) -> RatingCounts:
        """Return how often each list got each rating, in each group."""
        order = np.lexsort([self.rank, self.list, self.group])
        group, lists, rank = self.group[order], self.list[order], self.rank[order]
        return RatingCounts(self.lists, group, lists, self.ratings[rank], self.weight[order])

    def pairs(self, name: str) -> tuple[Integers, dict[str, int]]:
        """Return rows (group, preferred, other, bits of the weight), ordered, and the numbers of
        pairs left out.
        """
        compared = self.size * (self.size - 1) // 2
        distinct = np.bincount(unique_rows(np.column_stack([self.group, self.list]))[0][:, 0])
        total = int(np.minimum(compared, distinct * (distinct - 1)).sum())
        if total > MAX_PAIRS:
            raise InputError(
                f"{name}: up to {total:,} distinct pairs, more than {MAX_PAIRS:,}; compare within groups (a group "
                "column), cut the lists (depth), or read a sample of the lines"
            )
        large = np.flatnonzero(compared > BLOCK)
        parts = [self._level_by_level(g) for g in large]
        small = np.flatnonzero(
            compared <= BLOCK
        )  # joined, in order, until they compare at most about two BLOCK pairs
        block = np.cumsum(compared[small]) // BLOCK
        blocks = np.split(small, np.flatnonzero(np.diff(block)) + 1)
        parts += [self._all_at_once(groups) for groups in blocks if len(groups)]
        pairs = np.concatenate(parts) if parts else np.empty((0, 4), dtype=np.int64)
        return pairs[np.lexsort(pairs[:, :3].T[::-1])], self._left_out()

    def _all_at_once(self, groups: NDArray[np.intp]) -> Integers:
        """Compare each cell of some groups with those before it in its group, whose ratings are not
        higher.
        """
        size, start = self.size[groups], self.start[groups]
        place = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        cell = np.repeat(start, size) + place
        upper = np.repeat(cell, place)
        lower = (
            np.repeat(cell - place, place)
            + np.arange(len(upper))
            - np.repeat(np.cumsum(place) - place, place)
        )
        kept = (self.rank[upper] > self.rank[lower]) & (self.list[upper] != self.list[lower])
        upper, lower = upper[kept], lower[kept]
        n = int(self.list.max()) + 1
        keys, _, pair = unique_rows(
            np.column_stack([self.group[upper], self.list[upper] * n + self.list[lower]])
        )
        weight = np.bincount(pair, self.weight[upper] * self.weight[lower], minlength=len(keys))
        return np.column_stack([keys[:, 0], keys[:, 1] // n, keys[:, 1] % n, weight.view(np.int64)])

    def _level_by_level(self, g: np.intp) -> Integers:
        """Compare the lists of one large group, rating by rating, in a table of lists x lists."""
        here = slice(self.start[g], self.start[g] + self.size[g])
        lists, row = np.unique(self.list[here], return_inverse=True)
        wins, lower = (
            np.zeros((len(lists), len(lists))),
            np.zeros(len(lists)),
        )  # lower: weight of each list so far
        levels = np.flatnonzero(np.diff(self.rank[here])) + 1
        for rows, weight in zip(
            np.split(row, levels), np.split(self.weight[here], levels), strict=True
        ):
            wins[rows] += weight[:, None] * lower
            lower[rows] += weight
        np.fill_diagonal(wins, 0)
        better, worse = np.nonzero(wins)
        group = np.full(len(better), self.group[here.start])
        return np.column_stack(
            [group, lists[better], lists[worse], wins[better, worse].view(np.int64)]
        )

    def _left_out(self) -> dict[str, int]:
        """Return the numbers of pairs of lines, in one group, that are no preference."""
        rated = _sums(self.weight, self.group, self.rank)
        lists = _sums(self.weight, self.group, self.list)
        cells = _sums(self.weight**2, self.group, self.list)
        within = np.bincount(self.outer, np.bincount(self.group, self.weight) ** 2)
        whole = np.bincount(self.outer[self.group], self.weight) ** 2
        return {
            "pairs of different segments": round(((whole - within) / 2).sum()),
            "pairs of equal lists": round(((lists**2 - cells) / 2).sum()),
            "pairs rated equally": round(np.maximum(rated * (rated - 1) / 2, 0).sum()),
        }


def _sums(weight: Any, *keys: Integers) -> Any:
    """Return the total weight of each distinct combination of keys."""
    return np.bincount(unique_rows(np.column_stack(keys))[2], weight)


def _why_no_pair(n_lists: int, rating: Floats) -> str:
    if n_lists == 1:
        return "every line has the same list"
    if (rating == rating[0]).all():
        return f"every rating is {rating[0]:g}"
    return "no two different lists of one group have different ratings"
