"""Logs of rated lists: of every two lists with different ratings, the higher rated is preferred."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.rated_lists import rated_pairs

if TYPE_CHECKING:
    import os

    from dcglearn.readers.mapping import ReadingOptions


def read_ratings(
    path: Any,
    n_grades: int | None = None,
    *,
    skip_bad: str | os.PathLike[str] | None = None,
    equal_groups: bool = False,
    **options: Unpack[ReadingOptions],
) -> Preferences:
    """Read a log of rated lists: of every two lists with different ratings, the higher rated is preferred.

    A line is ``{"list": [3, 0, 1], "rating": 4, "group": "user 7", "weight": 2}``, in any format that
    `read_preferences` reads. Lists are compared within their group, or all with all if no line has a group, and within
    their segment if there is such a column. A line of weight w counts as w lines. Columns may also be called list:
    grades, results; rating: satisfaction, score; group: user, session, rater; weight: count. A list may have a column
    for each position (``grade_1 .. grade_10``), or a row for each document: ``list_id, position, grade, rating``.

    Parameters
    ----------
    path, n_grades, skip_bad, **options
        As in `read_preferences` (`depth`, `pad`, `scale`, `mapping`); tuples are ``(list, rating)``.
    equal_groups : bool
        Scale the weights within each group to sum to 1, so that every user counts the same. Take it if few users gave
        most of the ratings.

    Returns
    -------
    Preferences
        Each distinct ordered pair once per group; its weight is the number of pairs of lines that imply it, its
        `rater` the group. Its `ratings` keep how often each list got each rating. Its `dropped` counts ``pairs of equal
        lists`` (rated differently), ``pairs rated equally``, ``pairs of different segments``, ``groups without a pair``
        and ``bad lines``, where there are any.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is bad (the message names file, line, value and remedy); if no two lists
        of a group are rated differently, or there are more than `rated_lists.MAX_PAIRS` pairs.

    See Also
    --------
    read_preferences : Side-by-side judgements.
    Preferences.from_ratings : Arrays.

    Examples
    --------
    >>> import dcglearn as dl
    >>> log = dl.read_ratings([([2, 0], 5), ([0, 2], 3), ([0, 0], 3)])
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 0], [2, 0]], [[0, 0], [0, 2]])
    """
    mapping = LogMapping.of(n_grades, **options)
    return rated_pairs(Preferences, path, mapping, skip_bad, equal_groups=equal_groups)
