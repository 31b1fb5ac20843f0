"""Rated lists: the pairs that they imply, and the counts of their ratings as text, ``2:1 4:12``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.validation import Counts, Fields, Floats, Indices, InputError, Integers
from dcglearn.logs.columns import Columns
from dcglearn.logs.preference_pairs import AnyLog
from dcglearn.logs.rating_counts import RatingCounts
from dcglearn.logs.unique_rows import numbered, packed, places, size_of, unique_rows


def texts_of_counts(counts: RatingCounts, log: Columns) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the counts of both lists of each pair as texts such as ``2:1 4:12``, (n,) each."""
    first, second, own = counts.rows_of(log)
    n = size_of(first, second, own)
    texts: NDArray[Any] = np.full(n, "", dtype=object)
    cells = own.tolist(), counts.rating.tolist(), counts.weight.tolist()
    for row, rating, weight in zip(*cells, strict=True):
        texts[row] += f"{' ' if texts[row] else ''}{rating:.17g}:{weight:.17g}"
    return texts[first], texts[second]


def with_ratings(log: AnyLog, texts: NDArray[Any]) -> AnyLog:
    """Return a log with counts in texts, shape (n, 2), within its raters and segments.

    Raise InputError if the counts of one list differ.
    """
    # the distinct texts of each list, within its group
    names, text = np.unique(texts.T.ravel().astype(str), return_inverse=True)
    both = np.concatenate([log.preferred, log.other])
    _, first, number = unique_rows(packed(both))
    lists, group = both[first], _groups(log)
    keys = unique_rows(np.column_stack([np.tile(group, 2), number, text]).astype(np.int64))[0]

    # a list with two texts
    twice = np.flatnonzero((np.diff(keys[:, :2], axis=0) == 0).all(axis=1))
    if len(twice):
        bad = lists[keys[twice[0], 1]].tolist()
        one, other = (str(names[keys[row, 2]]) for row in (twice[0], twice[0] + 1))
        raise InputError(
            f"the list {bad} has the ratings {one!r} on one line and {other!r} on another; one log "
            "was joined to another: read the ratings of both together"
        )

    # a row for each rating of each list
    counts = [parsed_counts(name) for name in names.tolist()]
    size = np.array([len(values) for values in counts])[keys[:, 2]]
    rating, weight = np.array([pair for row in keys[:, 2] for pair in counts[row]]).reshape(-1, 2).T
    groups, numbers = np.repeat(keys[:, 0], size), np.repeat(keys[:, 1], size)
    return log.changed(rated=RatingCounts(lists, groups, numbers, rating, weight), group=group)


def _groups(log: Columns) -> Indices:
    """Return a number for each distinct rater and segment, shape (n,)."""
    number = np.zeros(len(log), dtype=np.intp)
    for labels in (log.rater, log.segment):
        if labels is not None:
            number = number * (len(log) + 1) + numbered(labels)
    return numbered(number)


def parsed_counts(text: str) -> list[tuple[float, float]]:
    """Return the ratings and numbers in a text such as ``2:1 4:12``, or raise InputError."""
    try:
        counts = [tuple(map(float, part.split(":"))) for part in text.split()]
        numbers = [(rating, number) for rating, number in counts]
    except ValueError:
        numbers = []
    if not numbers or not np.isfinite(numbers).all() or min(number for _, number in numbers) <= 0:
        raise InputError(f"{text!r} is no count of ratings such as '2:1 4:12' (rating:number)")
    return numbers


MAX_PAIRS = 100_000_000
"""Maximum number of distinct pairs of a log of ratings.

Each takes 2 K + 16 bytes, and as much again while reading.
"""

COMPARED = 1 << 22
"""Pairs compared at a time."""


def pairs_of_ratings(
    kind: type[AnyLog],
    name: str,
    table: Fields,
    grade_names: tuple[str, ...] | None,
    n_grades: int | None,
    *,
    equal_groups: bool = False,
) -> AnyLog:
    """Return the pairs that rated lists imply, as a log; messages call it `name`.

    `table` has columns by role: list, rating and, if there are any, group, segment and weight.
    """
    grouped = "group" in table
    if equal_groups and not grouped:
        raise InputError(
            f"{name}: equal_groups needs a group on every line; add the column, or leave "
            "equal_groups out"
        )

    # compare lists of different ratings
    cells = _Cells(table)
    pairs, counts = cells.pairs(name)
    if not len(pairs):
        reason = _why_no_pair(len(cells.lists), table["rating"])
        raise InputError(f"{name}: {reason}, so no list is preferred to another")

    # the weight of a pair, or its share of the weight of its group
    group, preferred, other = pairs[:, :3].T
    weight = pairs[:, 3].view(np.float64)
    outer = cells.outer[group]
    if equal_groups:
        weight = weight / np.bincount(outer, weight)[outer]

    # the log
    pairs_of_lists = kind(
        cells.lists[preferred],
        cells.lists[other],
        n_grades=n_grades or int(max(cells.lists.max(), 0)) + 1,
        weight=weight,
        rater=cells.groups[group, 0] if grouped else None,
        grade_names=grade_names,
        segment=cells.groups[group, 1] if "segment" in table else None,
    )

    # what was left out
    if grouped:
        counts["groups without a pair"] = len(np.unique(cells.outer)) - len(np.unique(outer))
    dropped = {reason: n for reason, n in counts.items() if n}
    return pairs_of_lists.changed(rated=cells.counts(), group=group, dropped=dropped)


class _Cells:
    """The distinct (group, list, rating) with their weights, ordered by group, then rating.

    Lists are compared within a block, a group and a segment: `groups` holds both labels of each
    block, `outer` the number of its group alone, and `group` the block of each cell.
    """

    def __init__(self, table: Fields) -> None:
        # number groups and segments
        n = len(table["list"])
        labels = [
            table[role].astype(str) if role in table else np.full(n, "")
            for role in ("group", "segment")
        ]
        group_labels, group = np.unique(labels[0], return_inverse=True)
        segment_labels, segment = np.unique(labels[1], return_inverse=True)

        # number the (group, segment) blocks
        n_segments = len(segment_labels)
        codes, block = np.unique(group * n_segments + segment, return_inverse=True)
        self.outer = codes // n_segments
        names = group_labels[self.outer], segment_labels[codes % n_segments]
        self.groups = np.column_stack(names)

        # merge equal (block, rating, list) rows into cells
        _, first, number = unique_rows(packed(table["list"]))
        self.lists = table["list"][first]
        self.ratings, rank = np.unique(table["rating"], return_inverse=True)
        keys, _, cell = unique_rows(np.column_stack([block, rank, number]).astype(np.int64))
        self.group, self.rank, self.list = keys.T
        self.weight = np.bincount(cell, table.get("weight", np.ones(n))).astype(np.float64)

        # first cell and number of cells of each block
        self.start = np.flatnonzero(np.diff(self.group, prepend=-1))
        self.size = np.diff(self.start, append=len(keys))

    def counts(self) -> RatingCounts:
        """Return how often each list got each rating, in each group."""
        order = np.lexsort([self.rank, self.list, self.group])
        group, lists, rank = self.group[order], self.list[order], self.rank[order]
        return RatingCounts(self.lists, group, lists, self.ratings[rank], self.weight[order])

    def pairs(self, name: str) -> tuple[Integers, Counts]:
        """Return ordered rows (group, preferred, other, bits of weight), and counts left out."""
        compared = self.size * (self.size - 1) // 2
        distinct = np.bincount(unique_rows(np.column_stack([self.group, self.list]))[0][:, 0])
        total = int(np.minimum(compared, distinct * (distinct - 1)).sum())
        if total > MAX_PAIRS:
            raise InputError(
                f"{name}: up to {total:,} distinct pairs, more than {MAX_PAIRS:,}; compare within "
                "groups (a group column), cut the lists (depth), or read a sample of the lines"
            )

        # large groups alone, small ones together, in order, up to about twice the limit
        large = np.flatnonzero(compared > COMPARED)
        parts = [self._level_by_level(g) for g in large]
        small = np.flatnonzero(compared <= COMPARED)
        block = np.cumsum(compared[small]) // COMPARED
        blocks = np.split(small, np.flatnonzero(np.diff(block)) + 1)
        parts += [self._all_at_once(groups) for groups in blocks if len(groups)]
        pairs = np.concatenate(parts) if parts else np.empty((0, 4), dtype=np.int64)
        return pairs[np.lexsort(pairs[:, :3].T[::-1])], self._left_out()

    def _all_at_once(self, groups: Indices) -> Integers:
        """Compare each cell of some groups with the cells of its group up to its rating."""
        # each cell as often as there are cells before it, and these
        size, start = self.size[groups], self.start[groups]
        place = places(size)
        cell = np.repeat(start, size) + place
        upper = np.repeat(cell, place)
        lower = np.repeat(cell - place, place) + places(place)

        # a pair of two lists with different ratings, once in each group
        kept = (self.rank[upper] > self.rank[lower]) & (self.list[upper] != self.list[lower])
        upper, lower = upper[kept], lower[kept]
        n = int(self.list.max()) + 1
        lists = self.list[upper] * n + self.list[lower]
        keys, _, pair = unique_rows(np.column_stack([self.group[upper], lists]))
        weight = np.bincount(pair, self.weight[upper] * self.weight[lower], minlength=len(keys))
        return np.column_stack([keys[:, 0], keys[:, 1] // n, keys[:, 1] % n, weight.view(np.int64)])

    def _level_by_level(self, g: np.intp) -> Integers:
        """Compare the lists of one large group, rating by rating, in a table of lists x lists."""
        here = slice(self.start[g], self.start[g] + self.size[g])
        lists, row = np.unique(self.list[here], return_inverse=True)
        levels = np.flatnonzero(np.diff(self.rank[here])) + 1
        of_levels = np.split(row, levels), np.split(self.weight[here], levels)

        # the lists of a rating win against the weight of each list so far
        wins = np.zeros((len(lists), len(lists)))
        lower = np.zeros(len(lists))
        for rows, weight in zip(*of_levels, strict=True):
            wins[rows] += weight[:, None] * lower
            lower[rows] += weight
        np.fill_diagonal(wins, 0)

        better, worse = np.nonzero(wins)
        group = np.full(len(better), self.group[here.start])
        bits = wins[better, worse].view(np.int64)
        return np.column_stack([group, lists[better], lists[worse], bits])

    def _left_out(self) -> Counts:
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
