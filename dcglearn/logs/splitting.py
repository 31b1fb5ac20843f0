"""Parts of a log: random splits and folds that keep clusters together, identical pairs merged, pairs reweighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dcglearn.foundation.validation import InputError, pair_values
from dcglearn.logs.columns import COLUMNS, Columns
from dcglearn.logs.unique_rows import list_numbers, packed, pair_numbers, unique_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dcglearn.foundation.arrays import Seed


AnyLog = TypeVar("AnyLog", bound=Columns)


def clusters(log: Columns, by: str | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the number of the cluster of each pair's first and second list, shape (n,) each.

    The two differ for ``by="list"`` only: clusters of pairs, raters and queries hold both lists of a pair. Raises
    InputError if `by` is unknown, or the log lacks the column.
    """
    if by in ("list", "pair"):
        first, second = list_numbers(log.preferred, log.other)
        if by == "list":
            return first, second
        numbers = pair_numbers(first, second)
    elif by in ("rater", "query"):
        labels = getattr(log, by)
        if labels is None:
            raise InputError(f"the log has no {by}; split it by pair, or read a log with that column")
        numbers = np.unique(labels, return_inverse=True)[1]
    elif by is None:
        numbers = np.arange(len(log))
    else:
        raise InputError(f"by={by!r} is not one of pair, rater, query, list, None")
    return numbers, numbers


def split(log: Columns, fraction: float, seed: Seed, by: str | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the pairs of either part of `Preferences.split`, as masks of shape (n,)."""
    if not 0 < fraction < 1:
        raise InputError(f"fraction={fraction} must lie between 0 and 1, both excluded")
    first, second = clusters(log, by)
    n = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    chosen = np.zeros(n, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(n)[: round(fraction * n)]] = True
    parts = chosen[first] & chosen[second], ~chosen[first] & ~chosen[second]
    if not all(part.any() for part in parts):
        raise InputError(f"a split of {n} {by or 'pair'}(s) at {fraction} leaves one side empty")
    return parts


def folds(log: Columns, n_folds: int, seed: Seed, by: str | None) -> NDArray[np.intp]:
    """Return the fold in which each pair is held out, shape (n,); see `Preferences.folds`."""
    if by == "list":
        raise InputError('folds by "list" would drop most pairs; use split(by="list")')
    numbers = clusters(log, by)[0]
    n = int(numbers.max(initial=-1)) + 1
    if not 2 <= n_folds <= n:
        raise InputError(f"{n_folds} folds of {n} {by or 'pair'}(s): ask for 2 to {n}")
    return np.random.default_rng(seed).permutation(n)[numbers] % n_folds


def merged(log: AnyLog) -> AnyLog:
    """Return the distinct pairs with their weights added; see `Preferences.merged`."""
    values = [x for x in (log.tie, log.strength, log.margin) if x is not None]
    keys = [packed(log.preferred), packed(log.other), *(x.astype(np.float64).view(np.int64) for x in values)]
    _, index, number = unique_rows(np.column_stack(keys))
    order = np.argsort(index)
    weight = np.bincount(number, log.weight)
    none = dict.fromkeys(COLUMNS.keys() - {"tie", "strength", "margin"})
    return log[index[order]].changed(**{**none, "weight": weight[order].astype(np.float64), "rated": None})


def reweighted(log: AnyLog, weight: ArrayLike) -> AnyLog:
    """Return the pairs of positive weight, with these weights; see `Preferences.reweighted`."""
    weights = pair_values(weight, "weight", len(log))
    if (weights < 0).any() or not weights.any():
        raise InputError("weights must be at least 0, and not all 0")
    kept = np.flatnonzero(weights)
    return log[kept].changed(weight=weights[kept])
