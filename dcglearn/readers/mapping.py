"""Options of reading a log: a row each in `LogMapping`."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self, TypedDict, get_args, get_origin

import numpy as np

from dcglearn.foundation.plain_text import names_in, nearest
from dcglearn.foundation.validation import (
    EMPTY,
    MAX_GRADES,
    UNKNOWN,
    Fields,
    InputError,
    InputTypeError,
    known,
    listed,
    scale_size,
    whole_number,
)
from dcglearn.readers.cell_values import BLANK, NUMBER
from dcglearn.readers.column_roles import NAMED, PREFERENCE, RATING, Role, Roles
from dcglearn.readers.cutoffs import Cutoffs, cut_points, level_names, text_of
from dcglearn.readers.winner_words import OwnWords, word_of

TYPES: dict[Any, Any] = {
    bool: (bool, np.bool_),
    int: Integral,
    float: Real,
    Sequence: (Sequence, np.ndarray),
    Mapping: (Mapping, str),
}
"""Other types of values in Python; text is as on the command line."""


class Option(NamedTuple):
    """An option of reading.

    `kinds` are the types of its values, other than None. The summary is the help on the command
    line and stands in the table of docs/logs.md; in docstrings the details follow it. `convert`
    returns a value as a mapping holds it. An option that is not given is `default`.
    """

    name: str
    kinds: tuple[Any, ...]
    summary: str
    details: str
    metavar: str | None = None
    convert: Any = None
    default: Any = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it may be; none of an option that is free text or another type."""
        return get_args(self.kinds[0]) if get_origin(self.kinds[0]) is Literal else ()

    @property
    def written(self) -> str:
        """The type in docstrings and messages."""
        text = " or ".join(map(inspect.formatannotation, self.kinds))
        return re.sub(r"[a-z.]+\.", "", text).replace("Literal", "one of ")

    def kept(self, value: Any) -> Any:
        """Return a value as a mapping holds it; raise InputError for a wrong one."""
        if value is None:
            return self.default
        if not any(_is_of(value, kind) for kind in self.kinds):
            near = nearest(value, self.words) if isinstance(value, str) else ""
            fact = f"{self.name} is {value!r}; expected {self.written}{near}. {self.summary}"
            raise (InputError if self.words else InputTypeError)(fact)
        return self.convert(value) if self.convert else value


def option(summary: str, details: str = "", **about: Any) -> Any:
    """Return the field of an option, which is None where it is not given."""
    return field(default=None, metadata={"summary": summary, "details": details, **about})


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):  # True is an integer in Python
        return kind is bool
    origin = get_origin(kind) or kind
    if origin is Literal:
        return str(value) in get_args(kind)
    if not isinstance(value, TYPES.get(origin, origin)):
        return False
    return kind is not float or abs(value) < np.inf


def names_of_grades(names: Any) -> list[str]:
    """Return the names of a scale, a list or a text; numbers are names as `word_of` writes them."""
    return [
        name.strip(BLANK) if isinstance(name, str) else word_of(name) for name in names_in(names)
    ]


def names_of_columns(columns: Any) -> dict[str, str]:
    """Return the columns of a mapping or a text, ``a=Result A,winner=Verdict``."""
    if not isinstance(columns, str):
        return {role: str(name) for role, name in columns.items()}
    parts = re.split(r",(?=\s*\w+\s*=)", columns)  # the name of a column may hold commas
    named = dict(part.split("=", 1) for part in parts if "=" in part)
    if len(named) < len(parts):
        raise InputError(
            f"--columns {columns}: give each usual name once, such as a=Result A,winner=Verdict"
        )
    return {role.strip(): name.strip() for role, name in named.items()}


MAX_DEPTH = 9_999_999
"""Largest number of positions of a list."""


class ReadingOptions(TypedDict, total=False):
    """The options of `LogMapping`, but for columns, as keywords of readers, for type checkers."""

    depth: int | None
    pad: bool
    scale: Sequence[Any] | None
    cutoffs: Cutoffs
    winner_words: Mapping[Any, str] | str | None
    positive: Literal["a", "b"] | None
    encoding: str | None
    middle: float | None
    best_grade: int | str | None
    sides: Literal["shown", "listed"] | None
    leave_out: Sequence[str] | str | None
    as_is: bool
    sheet: int | str | None
    header: int | str | None
    mapping: "LogMapping | None"


class TableOptions(ReadingOptions, total=False):
    """The options of readers of inputs whose columns have names."""

    columns: Mapping[str, str]


def sheet_name(sheet: Any) -> str:
    """Return the name of a sheet, or its number from 1, as text."""
    if not isinstance(sheet, str):
        return str(whole_number(sheet, "sheet"))
    if not sheet:
        raise InputError("sheet='': give the name of a sheet, or its number from 1")
    return sheet


def header_lines(header: Any) -> str:
    """Return the first and the last line of a header as text, 0 where there is none."""
    lines = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", str(header).strip())
    if lines is None or int(lines[2] or lines[1]) < int(lines[1]):
        raise InputError(
            f"header={header!r}: give 0 for none, the number of its line, "
            "or the first and last as 1-2"
        )
    return lines[0]


@dataclass(frozen=True)
class LogMapping:
    """How a log is read; a wrong option, or two that contradict each other, raise InputError.

    Its fields are the table of the options of reading: keywords of readers, options of ``dcglearn
    convert`` and their documentation follow from it. `given` holds the
    options that differ from their defaults, as they were given. A scale whose first name is the
    best grade is kept worst first, and the scale of `cutoffs` names the levels.

    Parameters
    ----------
    **options
        As in `read_preferences`.

    Examples
    --------
    >>> words = "Left is better=a,Same=tie"
    >>> LogMapping(winner_words=words, columns={"winner": "Verdict"}).given
    {'winner_words': {'left is better': 'a', 'same': 'tie'}, 'columns': {'winner': 'Verdict'}}
    """

    n_grades: int | None = option(
        "Number of grades; by default what a column `scale` says, else the largest seen plus 1.",
        "Give it where a log may lack the top grade, or to insist on one that stands far above the "
        "others and hardly occurs.",
        metavar="L",
    )
    depth: int | None = option(
        "Cut lists to K positions.",
        "By default K is the length of the longest list. Cut where users stop reading: each "
        "position is a discount to learn. Shorter lists have no result (-2) below their last.",
        metavar="K",
    )
    pad: bool = option(
        'Fill short lists with "grade unknown", not "no result".',
        "Take it where there were results that nobody has graded: these are -1, and no result is "
        "-2.",
        default=False,
    )
    scale: Sequence[Any] | None = option(
        "Grades, worst first: Bad,Fair,Good or 0,1,10,100.",
        'In Python a list or such a text, for logs that write "Good" rather than 2. Names may be '
        "numbers, such as 0, 1, 10 and 100.",
        metavar="NAMES",
        convert=names_of_grades,
    )
    winner_words: Mapping[Any, str] | str | None = option(
        'What winners mean: "Left is better=a,Left is much better=a:2,Same=tie".',
        'Or a mapping, ``{"Left is better": "a", "Same": "tie"}``. The meanings are a, b, tie and '
        "open, left and right. ``a:2`` is a winner with its strength, ``:2`` the strength of a "
        "word in the column of strengths.",
        metavar="WORD=a,...",
        convert=lambda words: OwnWords.of(words).meanings(),
    )
    positive: Literal["a", "b"] | None = option(
        "Winners are numbers as -3..3: positive ones prefer this side, the size is the strength.",
        "The size is the distance from the middle of the scale, which is a tie.",
    )
    middle: float | None = option("With positive: what is a tie, 4 on 1..7.", "By default it is 0.")
    best_grade: int | str | None = option(
        "Small grades are good: the best, or the scale's first name.",
        "Give 0 or 1 for numbers.",
        metavar="0|1|NAME",
    )
    sides: Literal["shown", "listed"] | None = option(
        "Whether winners name what was shown there, or the lists a and b wherever shown.",
        "It applies to all words for winners, left and a alike.",
    )
    leave_out: Sequence[str] | str | None = option(
        "Leave out lines of this status (Rejected), or duplicates.",
        'Several are a list or a text, "Rejected,false"; they are values of a column `status`, '
        "`AssignmentStatus` or `approved`. Duplicates repeat the id, rater, lists and verdict of "
        "an earlier line. Without it a remark in `recognised` counts such lines.",
        metavar="STATUS,...",
        convert=text_of,
    )
    as_is: bool = option("Keep a log that seems to be upside down.", default=False)
    encoding: str | None = option("Encoding of text, if not UTF-8: cp1252.")
    cutoffs: Cutoffs = option(
        "Grades from 0 to 1: cut at .2,.5,.8, or into N levels.",
        "For grades that are fractions, as machines give them. A fraction of .2 is in the second "
        "level; N levels hold about equally many grades.",
        metavar="X,X|N",
        convert=text_of,
    )
    columns: Mapping[str, str] = option(
        "The log's own columns: a=Result A,winner=Verdict; a=Links {}.",
        'In Python a mapping by the usual name, ``{"a": "Links {}", "winner": "Verdict"}``; the '
        "log may write its names in any case. A list with a column for each position is named by "
        'what they have in common, ``{"a": "first"}`` for ``first_1 .. first_10``, by a pattern, '
        'in which braces stand for the position, or by its ends, ``{"a": "1..10"}``. An empty '
        'name, as in ``{"swapped": ""}``, stands for no column. `system_a` and `system_b` hold the '
        "names that winners are.",
        metavar="NAME=COLUMN,...",
        convert=names_of_columns,
        default={},
    )
    sheet: int | str | None = option(
        "The sheet of a workbook, by its name or its number from 1.",
        "By default the first.",
        convert=sheet_name,
    )
    header: int | str | None = option(
        "Lines of the header of text: 0 for none, 3 for line 3, 1-2 for two lines.",
        "By default it is the first line. Without one, columns are called 1, 2, 3 and so on, "
        "``columns={'a': '1..3', 'b': '4..6', 'winner': '7'}``. Of two lines, such as left,,right "
        "and 1,2,1, the names are left_1, left_2, right_1. Lines before the header are left out.",
        metavar="0|N|N-M",
        convert=header_lines,
    )
    given: Fields = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kept = {name: row.kept(getattr(self, name)) for name, row in OPTIONS.items()}
        given = {name: value for name, value in kept.items() if value != OPTIONS[name].default}
        vars(self).update(kept, given=given)  # the class is frozen

        # options alone
        if self.depth is not None:
            whole_number(self.depth, "depth", 1, MAX_DEPTH)
        scale_size(self.n_grades, 0)
        self._check_columns()

        # options that others rule out
        if self.positive is not None and self.winner_words is not None:
            raise InputError(
                "positive= is for numbers and winner_words= for words: give one of the two"
            )
        if self.middle is not None and self.positive is None:
            raise InputError(
                f"middle={self.middle:g} needs the side that larger numbers prefer: "
                "positive='a' or 'b'"
            )

        # the scale, which cut-offs make where their levels are known
        if self.cutoffs is not None:
            points = cut_points(self.cutoffs)
            names = points and level_names(points)
            if self.scale not in (None, names) or self.best_grade is not None:
                raise InputError("cutoffs= makes the scale: leave out scale= and best_grade=")
            vars(self)["scale"] = names
        if self.scale is not None:
            self._check_scale(self.scale)
        if self.best_grade is not None:
            self._check_best(str(self.best_grade).strip(BLANK).lower())

    def _check_columns(self) -> None:
        """Raise InputError for names of columns that cannot be."""
        for role, name in self.columns.items():
            if role not in NAMED:
                near, roles = nearest(role, NAMED), listed([*PREFERENCE, *RATING])
                raise InputError(f"columns: {role!r} is no column of a log; give {roles}{near}")

            # braces and question marks
            if "{}" in name and not NAMED[role].marks:
                raise InputError(
                    f"columns: {role}={name}: braces stand for the position in a list, "
                    "as in a=Links {}"
                )
            if name == "?":
                raise InputError(
                    f"columns: {role}=?: write the name of the column in place of the question mark"
                )

    @cached_property
    def points(self) -> tuple[float, ...]:
        """Where grades are cut; raises InputError if that depends on grades not known here."""
        points = cut_points(self.cutoffs)
        if points is None:
            raise InputError(
                f"cutoffs={self.cutoffs}: levels of equally many grades need the whole log; "
                "convert it"
            )
        return points

    def _check_scale(self, scale: Sequence[str]) -> None:
        """Raise InputError for names of grades that cannot be."""
        # a name for each grade
        if len({*map(_key, scale)}) < max(len(scale), 1):
            raise InputError(f"scale={scale} must name every grade, each by a different name")
        if self.n_grades not in (None, len(scale)):
            raise InputError(
                f"scale names {len(scale)} grades, but n_grades={self.n_grades}; "
                "give one of the two"
            )
        scale_size(len(scale), 0, "the number of grades in scale")

        # numbers that mean no grade, and numbers among words
        no_grades = {UNKNOWN: "an unknown grade", EMPTY: "no result"}
        for name in scale:
            if is_number(name) and float(name) in no_grades:
                raise InputError(
                    f"scale={scale} names {name}, which means {no_grades[int(float(name))]} in a "
                    "log: write other numbers, or names, for the grades there and here"
                )
        if 0 < sum(map(is_number, scale)) < len(scale):
            raise InputError(
                f"scale={scale} mixes numbers with words; name all grades by one or the other"
            )

    def _check_best(self, best: str) -> None:
        """Turn a scale round whose first grade is the best, or keep the best grade, 0 or 1."""
        # an end of a scale of names
        if self.scale is not None:
            first, last = self.scale[0].lower(), self.scale[-1].lower()
            if best not in (first, last):
                raise InputError(
                    f"best_grade={self.best_grade!r} is not an end of the scale "
                    f"{', '.join(self.scale)}"
                )
            scale = self.scale if best == last else self.scale[::-1]
            vars(self).update(best_grade=None, scale=scale)

        # a number
        elif best in ("0", "1"):
            vars(self)["best_grade"] = best
        else:
            raise InputError(
                f"best_grade={self.best_grade!r}: give 0 or 1; larger numbers are better without it"
            )

    @cached_property
    def numbered(self) -> bool:
        """Whether the names of the scale are numbers, so that numbers in the log are names."""
        return self.scale is not None and is_number(self.scale[0])

    def grade_of(self, name: str) -> int | None:
        """Return the grade of a name in any case, or of a number in any spelling, else None."""
        return self._grade_of_key.get(_key(name))

    @cached_property
    def _grade_of_key(self) -> dict[str, int]:
        return {_key(name): grade for grade, name in enumerate(self.scale or ())}

    @cached_property
    def own_words(self) -> OwnWords:
        """The log's own words for a winner."""
        return OwnWords.of(self.winner_words)

    @property
    def n_known(self) -> int | None:
        """The number of grades, None if no option says."""
        return self.n_grades if self.scale is None else len(self.scale)

    @property
    def below(self) -> int:
        """What stands below a list that is shorter than others: an unknown grade, or no result."""
        return -1 if self.pad else -2

    @property
    def top(self) -> int:
        """The number above the grades of the log: as an option says, or the most supported."""
        return MAX_GRADES if self.n_known is None else self.n_known + int(self.best_grade or 0)

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Raise InputError if one of these options is given."""
        for name in names:
            if name in self.given:
                raise InputError(f"{name}= (--{name.replace('_', '-')}) {reason}", option=name)

    def roles(self, roles: Roles) -> dict[str, Role]:
        """Return roles with the log's own names of columns.

        The winner is a number where its sign says it.
        """
        mapped = dict(roles)
        for role, name in self.columns.items():
            if role in roles:
                names = (name.lower(),)
                marks = names if roles[role].marks else ()
                mapped[role] = replace(roles[role], names=names, marks=marks)
        if self.positive is not None and "winner" in mapped:
            mapped["winner"] = replace(mapped["winner"], kind="number")
        return mapped

    def updated(self, **options: Any) -> Self:
        """Return the mapping with other values of some options; None and False undo an option."""
        return type(self)(**{**self.given, **options})

    @classmethod
    def of(
        cls, n_grades: int | None = None, *, mapping: Self | None = None, **options: Any
    ) -> Self:
        """Return a mapping, or the one given with the options beside it, None included."""
        if n_grades is not None:
            options["n_grades"] = n_grades
        known(options, OPTIONS, "a reader", "option")
        return cls(**options) if mapping is None else mapping.updated(**options)


OPTIONS = {
    row.name: Option(row.name, get_args(row.type | None)[:-1], **row.metadata)  # type: ignore[operator]
    for row in fields(LogMapping)
    if row.init
}
"""The rows of the options, by their names."""


def is_number(name: str) -> bool:
    """Return whether the name of a grade is a number."""
    return NUMBER.fullmatch(name) is not None


def _key(name: str) -> str:
    """Return the name of a grade in lower case; of 1, 1.0 and 01 the first."""
    text = name.strip(BLANK).lower()
    return word_of(float(text)) if is_number(text) else text
