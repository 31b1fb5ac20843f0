"""Readers of logs: preferences, rated lists, and pairs that could be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dcglearn.foundation.files import refuse_unwritable
from dcglearn.foundation.intervals import binomial_tail
from dcglearn.foundation.plain_text import number_of
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import (
    Counts,
    Flags,
    Grades,
    InputError,
    PathLike,
    errors_in,
    listed,
)
from dcglearn.logs.sides import Sides
from dcglearn.reading.columns import find, names_given, refuse_unused_order, unused
from dcglearn.reading.contract import JUDGEMENT, QUESTION, RATED_LIST, Contract, plain
from dcglearn.reading.direction import check_direction
from dcglearn.reading.options import JudgementOptions, ListOptions
from dcglearn.reading.preferences import Preferences, log_frame
from dcglearn.reading.ratings import pairs_of_ratings
from dcglearn.reading.recognised import Recognised
from dcglearn.reading.scale import Scale, check_levels, fitted, grades_of
from dcglearn.reading.tables import BadRowsError, Refusals, Table, table_of, write_frame
from dcglearn.reading.texts import text
from dcglearn.reading.values import EVERY_ROW, READERS
from dcglearn.reading.winners import (
    MEANINGS,
    OPEN,
    TIE,
    A,
    B,
    lists_meant,
    refuse_named_sides,
    winners_of,
)

REASONS = (
    "open questions",
    "verdicts already read under the same id",
    "superseded verdicts",
    "lines withdrawing a verdict",
)
"""Reasons for rows that are left out."""


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
    winner_words : mapping, str or number, optional
        What winners mean: ``{"Left is better": "a", "Left is much better": "a:2", "Same": "tie"}``.
        The meanings are a, b, tie, open, left and right; ``a:2`` is a winner with its strength. Or
        the middle of winners that are numbers: larger ones prefer b, as clearly as they are far.
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
    judged = read_table(log, judgements_of, skip_bad, n_grades=n_grades, **options)
    return log_of(judged, as_is=as_is, sides=options.get("sides"))


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
    rated = read_table(log, rows_of, skip_bad, contract=RATED_LIST, n_grades=n_grades, **options)
    return log_of_ratings(rated, as_is=as_is, equal_groups=equal_groups)


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
    >>> dl.io.read_questions([{"a": [2, 0], "b": [0, 1]}]).tolist()
    [[[2, 0], [0, 1]]]
    """
    values = rows_of(table_of(log), QUESTION, n_grades=n_grades, **options).values
    return np.stack([values["a"], values["b"]], axis=1)


def native_frame(
    log: Any,
    n_grades: int | None = None,
    *,
    ratings: bool = False,
    as_is: bool = False,
    **options: Unpack[JudgementOptions],
) -> tuple[pl.DataFrame, Read]:
    """Return a log row for row as a table, with open and superseded rows, and what was read.

    Options and errors are those of `read_preferences`, or of `read_ratings` for rated lists.
    """
    table = table_of(log)
    if ratings:
        read = rows_of(table, RATED_LIST, n_grades=n_grades, **options)
        log_of_ratings(read, as_is=as_is)
    else:
        read = judgements_of(table, n_grades, **options)
        log_of(read, as_is=as_is, sides=options.get("sides"))

    # codes of winners as words
    scale, values = read.scale, dict(read.values)
    if not ratings:
        values["winner"] = np.array(MEANINGS, dtype=object)[values["winner"]]
    contract = RATED_LIST if ratings else JUDGEMENT
    return log_frame(values, scale.names, scale.n_grades, contract), read


@dataclass(frozen=True)
class Read:
    """What was read in a table called `name`: values by role, their scale, and what is wrong.

    `dropped` counts the bad rows that were left out.
    """

    name: str
    values: dict[str, Any]
    scale: Scale
    recognised: Recognised
    refusals: Refusals
    dropped: Counts = field(default_factory=dict)


def read_table(
    data: Any, read: Callable[..., Read], skip_bad: PathLike | None = None, **options: Any
) -> Read:
    """Return what a function reads in a table, with options.

    Bad rows are written to the file `skip_bad`, if one is given, and the others are read.
    """
    if skip_bad is not None:
        refuse_unwritable(skip_bad)
    table = table_of(data)
    try:
        return read(table, **options)
    except BadRowsError as error:
        if skip_bad is None or len(error.rows) == table.frame.height:
            raise
        write_frame(table.frame[error.rows], skip_bad)
        left_out = {"bad rows": len(error.rows), str(error.args[0]): 1}
        return replace(read(table.without(error.rows), **options), dropped=left_out)


def columns_of(
    table: Table, contract: Contract, n_grades: int | None = None, **options: Unpack[ListOptions]
) -> Read:
    """Return the values of a table, with lists of one length; options as in `read_preferences`.

    Columns without a value are left out.
    """
    refusals = Refusals(table)

    # where the columns are, and which grades they may hold
    with errors_in(table.name):
        found = find(table.frame.columns, contract, options.get("columns") or {})
    stated = found.get("scale")
    column = table.frame[stated[0]] if stated else None
    levels = Scale.of(options.get("scale"), n_grades, column)

    # the cells of each column; a required one is filled
    values, lists = {}, {}
    for role, names in found.items():
        about, series = contract[role], [table.frame[name] for name in names]
        if about.kind == "grades":
            lists[role] = grades_of(role, series, levels, refusals)
        elif about.kind in READERS:
            value = READERS[about.kind](role, series[0], refusals)
            if value is not None:
                values[role] = value
            elif about.required:
                refusals.add(series[0].len() * [True], f"{role} is missing", EVERY_ROW)

    # lists of one length
    if levels.n_grades is None:
        check_levels([*lists.values()], refusals)
    whole = fitted([*lists.values()], options.get("depth"), pad=options.get("pad", False))
    values |= zip(lists, whole, strict=True)

    # what was recognised; remarks that are added later stand in it, too
    ignored = unused(table.frame.columns, found)
    recognised = Recognised(found, ignored, notes=refusals.remarks)
    return Read(table.name, values, levels, recognised, refusals)


def rows_of(table: Table, contract: Contract, **options: Any) -> Read:
    """Return the values of a table without bad rows; options are those of `columns_of`."""
    read = columns_of(table, contract, **options)
    read.refusals.check()
    return read


def judgements_of(
    table: Table,
    n_grades: int | None = None,
    *,
    winner_words: Mapping[Any, str] | str | float | None = None,
    sides: str | None = None,
    **options: Unpack[ListOptions],
) -> Read:
    """Return the judgements of a table; options are those of `read_preferences`.

    The values of `winner` are its codes, of `swapped` whether b was shown first, if that is told.
    """
    read = columns_of(table, JUDGEMENT, n_grades, **options)
    frame, found = table.frame, read.recognised.columns
    values, refusals = read.values, read.refusals
    own = names_given(options.get("columns"), frame.columns, JUDGEMENT)
    if "swapped" not in {*found, *own}:
        refuse_unused_order(frame, found)

    # winners as lists
    swapped = values.get("swapped")
    winner = text(frame[found["winner"][0]])
    roles = ("system_a", "system_b")
    systems = [text(frame[found[role][0]]) for role in roles if role in found]
    winners = winners_of(winner, systems, winner_words, refusals)
    called_left = plain(found["a"][0]).startswith("l")
    codes = lists_meant(winners, swapped, sides, refusals, called_left=called_left)

    # what would be misread, or should be known
    if not systems and "system_a" not in own:
        lists = [found[side][0] for side in ("a", "b") if read.scale.names and not found[side][1:]]
        refuse_named_sides(frame, winner, [*read.recognised.ignored, *lists], codes)
    if swapped is None and "rater" in values:
        _remark_one_sided(values["rater"], codes, refusals)
    if len(systems) == 2:
        _remark_systems([names.to_numpy() for names in systems], codes, refusals)
    refusals.check()

    # winners, and strengths by word
    if winners.strength is not None:
        if "strength" in values:
            raise InputError("winner_words have strengths, and so has a column; give one of both")
        values["strength"] = winners.strength
    values["winner"] = codes
    return replace(read, recognised=replace(read.recognised, words=winners.words))


def _remark_one_sided(raters: NDArray[Any], codes: Grades, refusals: Refusals) -> None:
    """Remark raters who always name list a, or b, where no column tells the sides."""
    decided = np.isin(codes, (A, B)) & (raters != "")
    names = Sides.of(raters[decided], codes[decided] == B).always_one()
    if len(names):
        always = f"{number_of(len(names), 'raters')} ({listed(map(repr, map(str, names)), 3)})"
        refusals.remarks.append(
            f"of {always} nearly every winner is the same one of a and b, the others name both: do "
            "they always pick one side? A column shown_left (a or b, the list shown left) tells, "
            "and leaves their verdicts out if so"
        )


def _remark_systems(systems: Sequence[Any], codes: Grades, refusals: Refusals) -> None:
    """Remark how many verdicts each of two systems won, with a sign test of single verdicts."""
    decided = np.isin(codes, (A, B)) & (systems[0] != systems[1])
    names = np.unique([one[decided] for one in systems])
    if len(names) != 2:
        return
    won = np.where(codes == A, *systems)[decided]
    counts = Counter({name: np.count_nonzero(won == name) for name in names})
    (first, most), (second, least) = counts.most_common()
    p_value = min(1.0, 2 * float(binomial_tail(most, len(won))))
    refusals.remarks.append(
        f"{first} won {most:,} of {number_of(len(won), 'verdicts', ',')}, {second} {least:,} "
        f"(p = {p_value:.2g}, a sign test that takes verdicts as independent)"
    )


def log_of_ratings(rated: Read, *, as_is: bool, equal_groups: bool = False) -> Preferences:
    """Return the log of rated lists; see `read_ratings`."""
    pairs = pairs_of_ratings(rated.name, rated.values, rated.scale, equal_groups=equal_groups)
    if not as_is:
        check_direction(pairs, {})
    return pairs.changed(
        recognised=rated.recognised, as_is=as_is, dropped=rated.dropped | pairs.dropped
    )


def log_of(judged: Read, *, as_is: bool = False, sides: str | None = None) -> Preferences:
    """Return a log of judgements, preferred lists first.

    Open questions and superseded verdicts are left out and counted. Raise UpsideDownError if it
    seems reversed, unless it is taken `as_is`; `sides` is the option of `read_preferences`.
    """
    values, recognised = dict(judged.values), judged.recognised
    codes, swapped = values.pop("winner"), values.pop("swapped", None)
    b_wins, ties = codes == B, codes == TIE
    supersedes = values.pop("supersedes", None)

    # the preferred list with what belongs to it comes first
    a, b = values.pop("a"), values.pop("b")
    exchange = (a ^ b) * b_wins[:, None]
    docs = [values.pop(role) for role in ("docs_a", "docs_b") if role in values]
    if len(docs) == 1:
        raise InputError("docs_a and docs_b go together: one of the two is missing")
    if docs:
        values["docs"] = np.column_stack(docs)
        values["docs"][b_wins] = values["docs"][b_wins, ::-1]

    # all rows as a log
    log = Preferences(
        a ^ exchange,
        b ^ exchange,
        n_grades=judged.scale.n_grades,
        grade_names=judged.scale.names,
        tie=ties if ties.any() else None,
        swapped=None if swapped is None else swapped ^ b_wins,
        **values,
    )

    # those that count
    reasons = reasons_of(log.id, supersedes, codes == OPEN)
    counts = reasons == 0
    n_each = enumerate(np.bincount(reasons).tolist())
    dropped = {REASONS[reason - 1]: n for reason, n in n_each if reason and n}
    log = log[counts] if dropped else log
    dropped = judged.dropped | dropped

    if not as_is:
        shown = None if swapped is None else swapped[counts]
        check_direction(log, recognised.words or {}, shown, sides)
    return log.changed(dropped=dropped, recognised=recognised, as_is=as_is)


def reasons_of(ids: Any, supersedes: Any, is_open: Flags) -> Grades:
    """Return why each row does not count, shape (n,): a number of `REASONS` from 1, else 0.

    Of rows with one id the first counts, unless another supersedes it. A row without a winner that
    supersedes another withdraws it.
    """
    reasons = is_open.astype(np.int8)
    if ids is None or supersedes is None:
        return reasons
    is_first = pl.Series(ids, dtype=pl.String).is_first_distinct().to_numpy()

    # the last reason that is written is the first
    reasons[(supersedes != "") & is_open] = 4
    reasons[(ids != "") & np.isin(ids, supersedes)] = 3
    reasons[(ids != "") & ~is_first] = 2
    return reasons
