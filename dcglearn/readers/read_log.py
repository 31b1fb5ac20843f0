"""Logs of preferences, and of rated lists, from files, data frames and records."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import Counts, Grades, PathLike, PolarsFrame
from dcglearn.readers.column_roles import PREFERENCE
from dcglearn.readers.mapping import LogMapping, TableOptions
from dcglearn.readers.preferences import Preferences, log_frame
from dcglearn.readers.read_table import (
    Recognised,
    preference_columns,
    read_columns,
    read_pairs,
    read_rated,
)
from dcglearn.readers.winner_words import MEANINGS


@spelled_out(TableOptions)
def read_preferences(
    path: Any,
    n_grades: int | None = None,
    *,
    skip_bad: PathLike | None = None,
    **options: Unpack[TableOptions],
) -> Preferences:
    """Read a log of side-by-side judgements: files, a data frame, dictionaries or tuples.

    A line of JSON is ``{"query": "q1", "a": [3, 2, 0], "b": [2, 3, 0], "winner": "a", "strength":
    2, "weight": 1.5, "margin": 0.3, "rater": "ann"}``; only `a`, `b` and `winner` are required. A
    JSON array of such objects will do, or objects over several lines. Text has a header, columns
    separated by tabs, commas, semicolons or ``|``, and lists as ``3 2 0``, ``3|2|0`` or ``[3, 2,
    0]`` (in quotes where commas separate); cells in quotes may hold line breaks. Parquet has list
    columns or such text. Of an Excel workbook (.xlsx) one sheet is read, where openpyxl or
    fastexcel is installed. Gzip, bzip2, xz and zstd are recognised by content. Several files, and
    the files in a folder, in the order of their names, are one log, in the same form or not; hidden
    ones are left out. Columns may also be called

    - a: left, list_a, grades_a; b: right, list_b, grades_b; weight: count;
    - winner: preferred, preference, label, choice, verdict, holding a or left or first, b or right
      or second; tie, draw, equal, same, no preference, neither, both good, both bad and the like,
      which are ties; open: a question that is not answered yet, left out and counted. Names of
      systems are looked up in two columns such as model_a and model_b, or left_system and
      right_system. Numbers and other words have to be named by `winner_words`;
    - query: query_id, qid, q_id; rater: user, judge, assessor, annotator;
    - swapped: whether b was shown first (on the left), true or false; or shown_left, holding a or
      b; or order, holding AB or BA; or position_of_a, holding left or right, or 1 or 2. Where there
      is such a column, left, first and 1 name the list that was shown there;
    - docs_a, docs_b: the names of the documents of both lists (`rater_agreement` tells by them what
      was judged);
    - segment: the kind of query or rater (`segment_test` compares them); time: when it was judged,
      or timestamp;
    - status: whether a judgement was accepted, or AssignmentStatus, or approved (see `leave_out`);
    - tie: the kind of a tie, such as "both good" or "both bad" (kept in the log, not used by
      learners);
    - scale: the names of the grades, worst first, or their number, the same on every line, as
      `Preferences.save` writes it; numbers in the lists are then grades, 0 = worst.

    The lists may be called chosen and rejected, without a winner; or the winner has a column of 0
    and 1 for each outcome, winner_model_a, winner_model_b and winner_tie.

    In a log with a column `supersedes`, as pages of ``dcglearn ask`` give it, a verdict whose `id`
    a line supersedes is left out, and an id counts once. Case does not matter, and other columns
    are ignored. A missing weight or strength is 1, a missing query or rater the empty text, unless
    a table seems to have merged cells; either every line has a margin or none.

    A list may have a column for each position: ``left_1 .. left_10, right_1 .. right_10``, ``a1,
    a2``, ``grade_a_01`` and so on; blank cells end a list, and NA is an unknown grade. Or each
    document has a row, ``query, side, position, grade, winner``, where rows of one query (and
    rater, and pair, where there are such columns) make a judgement.

    The log's `dropped` counts the bad lines, and gives the reasons of the first three; its
    `recognised` says which columns were used and what the winners' words were taken to mean. Raises
    InputError if the file cannot be read, or a line is bad (it names file, line, value and remedy);
    UpsideDownError if all textbook DCGs contradict most verdicts.

    Parameters
    ----------
    path : path, data frame or sequence
        A file, a folder or a sequence of both; ``-`` is standard input. Or a table of polars,
        pandas or any library with Arrow's interchange, or dictionaries, or tuples ``(a, b,
        winner)``; see `Preferences.from_frame` and `Preferences.from_records`.
    skip_bad : path, optional
        File for the bad lines, written as they are, instead of an error at the first; it can be
        corrected and read. It is not written if every line is good.
    n_grades : int, optional
        Number of grades; by default what a column `scale` says, else the largest seen plus 1. Give
        it where a log may lack the top grade, or to insist on one that stands far above the others
        and hardly occurs.
    depth : int, optional
        Cut lists to K positions. By default K is the length of the longest list. Cut where users
        stop reading: each position is a discount to learn. Shorter lists have no result (-2) below
        their last.
    pad : bool, optional
        Fill short lists with "grade unknown", not "no result". Take it where there were results
        that nobody has graded: these are -1, and no result is -2.
    scale : Sequence[Any], optional
        Grades, worst first: Bad,Fair,Good or 0,1,10,100. In Python a list or such a text, for logs
        that write "Good" rather than 2. Names may be numbers, such as 0, 1, 10 and 100.
    winner_words : Mapping[Any, str] or str, optional
        What winners mean: "Left is better=a,Left is much better=a:2,Same=tie". Or a mapping,
        ``{"Left is better": "a", "Same": "tie"}``. The meanings are a, b, tie and open, left and
        right. ``a:2`` is a winner with its strength, ``:2`` the strength of a word in the column of
        strengths.
    positive : one of ['a', 'b'], optional
        Winners are numbers as -3..3: positive ones prefer this side, the size is the strength. The
        size is the distance from the middle of the scale, which is a tie.
    middle : float, optional
        With positive: what is a tie, 4 on 1..7. By default it is 0.
    best_grade : int or str, optional
        Small grades are good: the best, or the scale's first name. Give 0 or 1 for numbers.
    sides : one of ['shown', 'listed'], optional
        Whether winners name what was shown there, or the lists a and b wherever shown. It applies
        to all words for winners, left and a alike.
    leave_out : Sequence[str] or str, optional
        Leave out lines of this status (Rejected), or duplicates. Several are a list or a text,
        "Rejected,false"; they are values of a column `status`, `AssignmentStatus` or `approved`.
        Duplicates repeat the id, rater, lists and verdict of an earlier line. Without it a remark
        in `recognised` counts such lines.
    as_is : bool, optional
        Keep a log that seems to be upside down.
    encoding : str, optional
        Encoding of text, if not UTF-8: cp1252.
    cutoffs : str or float or Sequence[float], optional
        Grades from 0 to 1: cut at .2,.5,.8, or into N levels. For grades that are fractions, as
        machines give them. A fraction of .2 is in the second level; N levels hold about equally
        many grades.
    columns : Mapping[str, str], optional
        The log's own columns: a=Result A,winner=Verdict; a=Links {}. In Python a mapping by the
        usual name, ``{"a": "Links {}", "winner": "Verdict"}``; the log may write its names in any
        case. A list with a column for each position is named by what they have in common, ``{"a":
        "first"}`` for ``first_1 .. first_10``, by a pattern, in which braces stand for the
        position, or by its ends, ``{"a": "1..10"}``. An empty name, as in ``{"swapped": ""}``,
        stands for no column. `system_a` and `system_b` hold the names that winners are.
    sheet : int or str, optional
        The sheet of a workbook, by its name or its number from 1. By default the first.
    header : int or str, optional
        Lines of the header of text: 0 for none, 3 for line 3, 1-2 for two lines. By default it is
        the first line. Without one, columns are called 1, 2, 3 and so on, ``columns={'a': '1..3',
        'b': '4..6', 'winner': '7'}``. Of two lines, such as left,,right and 1,2,1, the names are
        left_1, left_2, right_1. Lines before the header are left out.
    mapping : LogMapping, optional
        These options as one object, as commands have them. An option that is given beside it wins.

    See Also
    --------
    read_ratings : Rated lists instead of pairs.
    Preferences.from_frame : Data frames.
    io.join_judgements : Documents whose grades stand elsewhere.
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
    return read_pairs(Preferences, path, LogMapping.of(n_grades, **options), skip_bad)


@spelled_out(TableOptions)
def read_ratings(
    path: Any,
    n_grades: int | None = None,
    *,
    skip_bad: PathLike | None = None,
    equal_groups: bool = False,
    **options: Unpack[TableOptions],
) -> Preferences:
    """Read a log of rated lists: of two with different ratings, the higher rated is preferred.

    A line is ``{"list": [3, 0, 1], "rating": 4, "group": "user 7", "weight": 2}``, in any format
    that `read_preferences` reads. Lists are compared within their group, or all with all if no line
    has a group, and within their segment if there is such a column. A line of weight w counts as w
    lines. Columns may also be called list: grades, results; rating: satisfaction, score; group:
    user, session, rater; weight: count. A list may have a column for each position (``grade_1 ..
    grade_10``), or a row for each document: ``list_id, position, grade, rating``.

    The log has each distinct ordered pair once per group; its weight is the number of pairs of
    lines that imply it, its `rater` the group. `ratings` keep how often each list got each rating.
    `dropped` counts ``pairs of equal lists`` (rated differently), ``pairs rated equally``, ``pairs
    of different segments``, ``groups without a pair`` and ``bad lines``. Raises InputError if the
    file cannot be read, or a line is bad (it names file, line, value and remedy); if no two lists
    of a group are rated differently, or there are more than `rated_lists.MAX_PAIRS` pairs.

    Parameters
    ----------
    path, n_grades, skip_bad, **options
        As in `read_preferences` (`depth`, `pad`, `scale`, `mapping`); tuples are ``(list,
        rating)``.
    equal_groups : bool
        Scale the weights within each group to sum to 1, so that users count the same. Take it if
        few users gave most.

    See Also
    --------
    read_preferences : Side-by-side judgements.
    Preferences.from_ratings : Arrays.

    Examples
    --------
    >>> log = dl.read_ratings([([2, 0], 5), ([0, 2], 3), ([0, 0], 3)])
    >>> log.preferred.tolist(), log.other.tolist()
    ([[2, 0], [2, 0]], [[0, 0], [0, 2]])
    """
    mapping = LogMapping.of(n_grades, **options)
    return read_rated(Preferences, path, mapping, skip_bad, equal_groups=equal_groups)


@spelled_out(TableOptions)
def read_questions(
    path: Any, n_grades: int | None = None, **options: Unpack[TableOptions]
) -> Grades:
    """Read pairs of lists that could be judged, int8 of shape (n, 2, K), without their winners.

    Options are those of `read_preferences` (`depth`, `pad`, `scale`, `mapping`); only `a` and `b`
    are required. Raises InputError if the file cannot be read, or a line is bad; the message names
    file, line, value and remedy.

    See Also
    --------
    suggest_pairs : Choose the most informative pairs.
    read_preferences : Read answers.

    Examples
    --------
    >>> dl.read_questions([{"a": [2, 0], "b": [0, 1]}]).tolist()
    [[[2, 0], [0, 1]]]
    """
    lists = {role: PREFERENCE[role] for role in ("a", "b", "scale")}
    mapping = LogMapping.of(n_grades, **options)
    table, *_ = read_columns(path, lists, mapping)
    return np.stack([table["a"], table["b"]], axis=1)


def native_frame(
    log: Any, mapping: LogMapping, skip_bad: PathLike | None = None
) -> tuple[PolarsFrame, Counts, Recognised]:
    """Return a log as a table with open and superseded lines, what was left out and recognised."""
    table, dropped, recognised = preference_columns(log, mapping, skip_bad)
    winner = np.array(MEANINGS, dtype=object)[table["winner"].codes]
    scale = recognised.mapping.scale, recognised.mapping.n_known
    return log_frame({**table, "winner": winner}, *scale), dropped, recognised
