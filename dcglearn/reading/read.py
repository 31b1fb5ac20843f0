"""Public readers of logs: preferences, rated lists, and pairs that could be judged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Counts,
    Grades,
    InputTypeError,
    PathLike,
    PolarsFrame,
    is_frame,
    is_records,
)
from dcglearn.reading.contract import QUESTION, RATED_LIST
from dcglearn.reading.options import JudgementOptions, ListOptions
from dcglearn.reading.preferences import Preferences, log_frame

if TYPE_CHECKING:
    from dcglearn.reading.recognised import Recognised


@spelled_out(JudgementOptions)
def read_preferences(
    log: Any,
    n_grades: int | None = None,
    *,
    as_is: bool = False,
    skip_bad: PathLike | None = None,
    **options: Unpack[JudgementOptions],
) -> Preferences:
    """Read a log of side-by-side judgements, a row each: files, a data frame or dictionaries.

    A line of JSON is ``{"query": "q1", "a": [3, 2, 0], "b": [2, 3, 0], "winner": "a", "strength":
    2, "weight": 1.5, "margin": 0.3, "rater": "ann"}``; only `a`, `b` and `winner` are required.
    Files are Parquet, JSON lines, a JSON array, delimited text with a header, or the first sheet of
    an Excel workbook, also in gzip or zstd; their first bytes tell. Lists in text are written ``3 2
    0``, ``3|2|0`` or ``[3, 2, 0]``, or have a column for each position, ``left_1 .. left_10``, in
    which blank cells end a list. Several files, and those in a folder, are one log. Columns may
    also be called

    - a: left, list_a, grades_a; b: right, list_b, grades_b; weight: count;
    - winner: preferred, preference, label, choice, verdict, holding a or left or first, b or right
      or second; tie, draw, equal, same, no preference, neither and the like; open: a question that
      is not answered yet, left out and counted. The name of one of the systems in the columns
      system_a (model_a) and system_b stands for its list. `winner_words` names other words;
    - query: query_id, qid, question_id, topic; rater: rater_id, user, judge, assessor, annotator,
      worker_id;
    - swapped: whether b was shown first (on the left), true or false; or shown_left, holding a or
      b. Where there is such a column, left and first name the list that was shown there;
    - docs_a, docs_b: the names of the documents of both lists;
    - segment: the kind of query or rater; time: when it was judged; status: whether it was
      accepted; tie: the kind of a tie, such as "both good";
    - scale: the names of the grades, worst first, or their number, the same on every row, as
      `Preferences.save` writes it; numbers in the lists are then grades, 0 = worst.

    Case, blanks and punctuation of names do not matter. Tables of other shapes become such a table
    by a recipe of the documentation. In a log with a column `supersedes`, as pages of ``dcglearn
    ask`` give it, a verdict whose `id` a row supersedes is left out, and an id counts once. A
    missing weight or strength is 1; every row has a margin or none.

    The log's `recognised` says which columns were used and which not, and what the winners' words
    were taken to mean; `dropped` counts what was left out. Raises InputError if the input cannot be
    read, and for bad rows (it names file, row, value and remedy); UpsideDownError if all textbook
    DCGs contradict most verdicts.

    Parameters
    ----------
    log : path, data frame or sequence
        A file, a folder or a sequence of both; ``-`` is standard input. Or a table of polars,
        pandas or Arrow, or dictionaries.
    n_grades : int, optional
        Number of grades; by default what a column `scale` says, else the largest seen plus 1. Give
        it where a log may lack the top grade, or to insist on one that stands far above the others.
    depth : int, optional
        Cut lists to K positions, by default those of the longest list. Shorter lists have no result
        (-2) below their last.
    pad : bool
        Fill short lists with "grade unknown" (-1), not "no result" (-2).
    scale : sequence or str, optional
        Grades, worst first: ``["Bad", "Fair", "Good"]`` or ``"0,1,10,100"``.
    columns : mapping or str, optional
        The log's own columns by the usual name, ``{"a": "Links {}", "winner": "Urteil"}``. Braces
        stand for the position of a list with a column for each, ``first..last`` for columns side by
        side, and an empty name for no column.
    winner_words : mapping or str, optional
        What winners mean: ``{"Left is better": "a", "Left is much better": "a:2", "Same": "tie"}``.
        The meanings are a, b, tie, open, left and right; ``a:2`` is a winner with its strength.
    sides : {"shown", "listed"}, optional
        Whether winners name what was shown there, a and b too, or the lists wherever shown.
    as_is : bool
        Keep a log that seems to be upside down.
    skip_bad : path, optional
        File for the bad rows (.jsonl or .parquet), instead of an error; the others are read.

    See Also
    --------
    read_ratings : Rated lists instead of pairs.
    io.with_grades : Documents whose grades stand elsewhere.
    io.from_long : Tables with a row a document.
    DCGLearner : Learn from it.

    Examples
    --------
    >>> first = {"a": [2, 0], "b": [0, 1], "winner": "a"}
    >>> second = {"a": [1, 0], "b": [0, 2], "winner": "b"}
    >>> log = dl.read_preferences([first, second])  # or a path, or a data frame
    >>> log
    Preferences(2 pairs, depth 2, 3 grades)
    >>> log.preferred.tolist()
    [[2, 0], [0, 2]]
    """
    from dcglearn.reading.pairs import judgements_of, log_of, readable

    judged, dropped = readable(log, partial(judgements_of, n_grades=n_grades, **options), skip_bad)
    pairs = log_of(judged, as_is=as_is)
    return pairs.changed(dropped={**dropped, **pairs.dropped})


@spelled_out(ListOptions)
def read_ratings(
    log: Any,
    n_grades: int | None = None,
    *,
    as_is: bool = False,
    skip_bad: PathLike | None = None,
    equal_groups: bool = False,
    **options: Unpack[ListOptions],
) -> Preferences:
    """Read a log of rated lists: of two with different ratings, the higher rated is preferred.

    A line is ``{"list": [3, 0, 1], "rating": 4, "group": "user 7", "weight": 2}``, in any format
    that `read_preferences` reads. Ratings are numbers, up and down, true and false, thumbs or
    stars. Lists are compared within their group, or all with all if no row has a group, and within
    their segment if there is such a column. A row of weight w counts as w rows. Columns may also be
    called list: grades, results; rating: satisfaction, score, feedback; group: user, session,
    rater; weight: count.

    The log has each distinct ordered pair once per group; its weight is the number of pairs of rows
    that imply it, its `rater` the group. `ratings` keep how often each list got each rating.
    `dropped` counts ``pairs of equal lists`` (rated differently), ``pairs rated equally``, ``pairs
    of different segments`` and ``groups without a pair``. Raises InputError if the input cannot be
    read, for bad rows, and if no two lists of a group are rated differently.

    Parameters
    ----------
    log, n_grades, depth, pad, scale, columns, as_is, skip_bad
        As in `read_preferences`.
    equal_groups : bool
        Scale the weights within each group to sum to 1, so that users count the same. Take it if
        few users gave most.

    See Also
    --------
    read_preferences : Side-by-side judgements.
    io.with_grades : Documents whose grades stand elsewhere.

    Examples
    --------
    >>> rows = [{"list": [2, 0], "rating": "up"}, {"list": [0, 2], "rating": "down"}]
    >>> log = dl.read_ratings(rows)
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 0]], [[0, 2]])
    """
    from dcglearn.reading.direction import check_direction
    from dcglearn.reading.pairs import checked_columns, readable
    from dcglearn.reading.ratings import pairs_of_ratings

    read = partial(checked_columns, contract=RATED_LIST, n_grades=n_grades, **options)
    (name, values, scale, recognised), dropped = readable(log, read, skip_bad)
    pairs = pairs_of_ratings(name, values, scale, equal_groups=equal_groups)
    if not as_is:
        check_direction(pairs, {})
    dropped |= pairs.dropped
    return pairs.changed(recognised=recognised, as_is=as_is, dropped=dropped)


@spelled_out(ListOptions)
def read_questions(log: Any, n_grades: int | None = None, **options: Unpack[ListOptions]) -> Grades:
    """Read pairs of lists that could be judged, int8 of shape (n, 2, K), without their winners.

    Only `a` and `b` are required. Raises InputError if the input cannot be read, or a row is bad.

    Parameters
    ----------
    log, n_grades, depth, pad, scale, columns
        As in `read_preferences`.

    See Also
    --------
    suggest_pairs : Choose the most informative pairs.
    read_preferences : Read answers.

    Examples
    --------
    >>> dl.read_questions([{"a": [2, 0], "b": [0, 1]}]).tolist()
    [[[2, 0], [0, 1]]]
    """
    from dcglearn.reading.pairs import checked_columns
    from dcglearn.reading.tables import table_of

    _, values, *_ = checked_columns(table_of(log), QUESTION, n_grades, **options)
    return np.stack([values["a"], values["b"]], axis=1)


def native_frame(
    log: Any,
    n_grades: int | None = None,
    *,
    as_is: bool = False,
    skip_bad: PathLike | None = None,
    **options: Unpack[JudgementOptions],
) -> tuple[PolarsFrame, Counts, Recognised, Sequence[str] | None]:
    """Return a log as a table with open and superseded rows, what was left out and recognised.

    Last stand the names of its grades.

    Options and errors are those of `read_preferences`.
    """
    from dcglearn.reading.pairs import judgements_of, log_of, readable
    from dcglearn.reading.winners import MEANINGS

    judged, dropped = readable(log, partial(judgements_of, n_grades=n_grades, **options), skip_bad)
    if not as_is:
        log_of(judged)
    winner = np.array(MEANINGS, dtype=object)[judged.winner]
    columns = {**judged.values, "winner": winner, "swapped": judged.swapped}
    names = judged.scale.names
    frame = log_frame(columns, names, judged.scale.n_grades)
    return frame, dropped, judged.recognised, names


def as_preferences(log: Any, n_grades: int | None = None) -> Preferences:
    """Return a log, array (n, 2, K), table or records as a log on a scale of `n_grades`."""
    if isinstance(log, Preferences):
        return log if n_grades in (None, log.n_grades) else log.rescaled(n_grades)
    if is_frame(log) or is_records(log):
        return read_preferences(log, n_grades)
    if is_path(log) or hasattr(log, "facts"):
        raise InputTypeError(
            "this needs the whole log in memory: give what read_preferences returns",
            see="whole-log",
        )
    return Preferences(log, n_grades=n_grades)
