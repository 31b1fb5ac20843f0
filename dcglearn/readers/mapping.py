"""How a log is read: columns, grades and winners of its own, as one frozen object that TOML files hold."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, TypedDict

from dcglearn.foundation.files import written_beside
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import MAX_GRADES, InputError, PathLike, errors_in, listed, scale_size, whole_number
from dcglearn.readers.cutoffs import Cutoffs, cut_points, level_names
from dcglearn.readers.line_formats import BLANK, NUMBER
from dcglearn.readers.roles import LONG, OUTCOMES, PREFERENCE, RATING, SYSTEMS, Role
from dcglearn.readers.winner_words import OwnWords

MappingLike: TypeAlias = "LogMapping | PathLike | None"

MAX_DEPTH = 9_999_999
"""Largest number of positions of a list."""


class ReadingOptions(TypedDict, total=False):
    """The options of `read_preferences` on columns, grades and winners, which other readers share."""

    depth: int | None
    pad: bool
    scale: Sequence[str] | None
    cutoffs: Cutoffs
    winner_words: Mapping[Any, str] | str | None
    positive: str | None
    encoding: str | None
    sheet: str | int | None
    middle: float | None
    best_grade: int | str | None
    sides: str | None
    leave_out: str | None
    as_is: bool
    mapping: MappingLike


class TableOptions(ReadingOptions, total=False):
    """The options of readers of inputs whose columns have names."""

    columns: Mapping[str, str]


@dataclass(frozen=True)
class LogMapping:
    """How a log is read; a wrong option, or two that contradict each other, raise InputError.

    Parameters
    ----------
    n_grades, depth, pad, scale, cutoffs, winner_words, positive, encoding, sheet, middle, best_grade, sides, leave_out
        As in `read_preferences`. A scale whose first name is the best grade is kept worst first; the scale of `cutoffs`
        names the levels.
    as_is : bool
        As in `read_preferences`.
    columns : mapping of str, optional
        The log's own names of columns, in any case, by the usual name: ``{"a": "Result A", "winner": "Verdict"}``. A
        list with a column for each position is named by what they have in common, ``{"a": "first"}`` for
        ``first_1 .. first_10``, or by a pattern, ``{"a": "Links {}"}``. An empty name, as in ``{"swapped": ""}``,
        stands for no column. Other columns keep their usual names.

    Examples
    --------
    >>> mapping = LogMapping(winner_words="Left is better=a,Same=tie", columns={"winner": "Verdict"})
    >>> print(mapping.to_toml())
    [winner_words]
    "left is better" = "a"
    "same" = "tie"
    <BLANKLINE>
    [columns]
    "winner" = "Verdict"
    <BLANKLINE>
    """

    n_grades: int | None = None
    depth: int | None = None
    pad: bool = False
    scale: Sequence[str] | None = None
    winner_words: Mapping[Any, str] | str | None = None
    positive: str | None = None
    encoding: str | None = None
    middle: float | None = None
    best_grade: int | str | None = None
    sides: str | None = None
    leave_out: str | None = None
    as_is: bool = False
    cutoffs: Cutoffs = None
    sheet: str | int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.depth is not None and whole_number(self.depth, "depth") > MAX_DEPTH:
            raise InputError(f"depth={self.depth}: give at most {MAX_DEPTH}")
        if self.n_grades is not None:
            scale_size(self.n_grades, 0)
        if self.positive not in (None, "a", "b"):
            raise InputError(f"positive={self.positive!r}: give a or b, the side that positive numbers prefer")
        if self.positive is not None and self.winner_words is not None:
            raise InputError("positive= is for numbers and winner_words= for words: give one of the two")
        if self.middle is not None and self.positive is None:
            raise InputError(f"middle={self.middle:g} needs the side that larger numbers prefer: positive='a' or 'b'")
        if self.sides not in (None, "shown", "listed"):
            raise InputError(f"sides={self.sides!r}: give shown or listed, what words such as left mean")
        if self.cutoffs is not None:
            self._check_cutoffs()
        if self.scale is not None:
            self._check_scale(self.scale)
        if self.best_grade is not None:
            self._check_best(str(self.best_grade).strip(BLANK))
        if self.sheet is not None:
            object.__setattr__(self, "sheet", sheet_name(self.sheet))
        self._check_columns()
        OwnWords.of(self.winner_words)

    def _check_columns(self) -> None:
        """Raise InputError for names of columns that cannot be."""
        known = {**SYSTEMS, **LONG, **PREFERENCE, **OUTCOMES, **RATING}
        for role, name in self.columns.items():
            if role not in known:
                raise InputError(f"columns: {role!r} is no column of a log; give {listed([*PREFERENCE, *RATING])}")
            if "{}" in name and not known[role].marks:
                raise InputError(f"columns: {role}={name}: braces stand for the position in a list, as in a=Links {{}}")
            if name == "?":
                raise InputError(f"columns: {role}=?: write the name of the column in place of the question mark")

    def _check_cutoffs(self) -> None:
        """Keep the cut-offs as text, and the names of their levels, where these are known, as the scale."""
        points = cut_points(self.cutoffs)
        names = points and level_names(points)
        if self.scale not in (None, names) or self.best_grade is not None:
            raise InputError("cutoffs= makes the scale: leave out scale= and best_grade=")
        if not isinstance(self.cutoffs, str):
            object.__setattr__(self, "cutoffs", ",".join(map(str, points or (self.cutoffs,))))
        object.__setattr__(self, "scale", names)

    @cached_property
    def points(self) -> tuple[float, ...]:
        """Where grades are cut; raise InputError if that depends on grades that are not known here."""
        points = cut_points(self.cutoffs)
        if points is None:
            raise InputError(f"cutoffs={self.cutoffs}: levels of equally many grades need the whole log; convert it")
        return points

    def _check_scale(self, scale: Sequence[str]) -> None:
        if isinstance(scale, str) or not all(isinstance(name, str) for name in scale):
            raise InputError(f"scale={scale!r} must be a list of grade names, worst first")
        if len({name.strip(BLANK).lower() for name in scale}) < max(len(scale), 1):
            raise InputError(f"scale={list(scale)} must name every grade, each by a different name")
        if self.n_grades not in (None, len(scale)):
            raise InputError(f"scale names {len(scale)} grades, but n_grades={self.n_grades}; give one of the two")
        scale_size(len(scale), 0, "the number of grades in scale")
        if 0 < sum(map(is_number, scale)) < len(scale):
            raise InputError(f"scale={list(scale)} mixes numbers with words; name all grades by one or the other")

    def _check_best(self, best: str) -> None:
        """Turn the scale round where its first grade is the best, or keep the number of the best grade, 0 or 1."""
        if self.scale is None and best not in ("0", "1"):
            raise InputError(f"best_grade={self.best_grade!r}: give 0 or 1; larger numbers are better without it")
        names = [name.strip(BLANK).lower() for name in self.scale or (best,)]
        if best.lower() not in (names[0], names[-1]):
            raise InputError(f"best_grade={self.best_grade!r} is not an end of the scale {', '.join(self.scale or ())}")
        if self.scale is not None:
            ordered = self.scale if best.lower() == names[-1] else self.scale[::-1]
            object.__setattr__(self, "scale", list(ordered))
        object.__setattr__(self, "best_grade", best if self.scale is None else None)

    @cached_property
    def numbered(self) -> bool:
        """Whether the names of the scale are numbers, so that numbers in the log are names."""
        return self.scale is not None and is_number(self.scale[0])

    @cached_property
    def grade_of_name(self) -> dict[str, int]:
        """The grades by their names in lower case."""
        return {name.strip(BLANK).lower(): grade for grade, name in enumerate(() if self.scale is None else self.scale)}

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
        """The number above the grades of the log: as an option says, or the most that is supported."""
        return MAX_GRADES if self.n_known is None else self.n_known + int(self.best_grade or 0)

    def roles(self, roles: Mapping[str, Role]) -> dict[str, Role]:
        """Return roles with the log's own names of columns, and a number as the winner where its sign says it."""
        mapped = dict(roles)
        for role in self.columns.keys() & roles.keys():
            name = self.columns[role].lower()
            mapped[role] = replace(roles[role], names=(name,), marks=(name,) if roles[role].marks else ())
        if self.positive is not None and "winner" in mapped:
            mapped["winner"] = replace(mapped["winner"], kind="number")
        return mapped

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        values = _set({option.name: getattr(self, option.name) for option in fields(self)})
        return {name: value for name, value in values.items() if value != {} and (name != "scale" or not self.cutoffs)}

    def updated(self, **options: Any) -> Self:
        """Return the mapping with the options that are given: neither None nor False."""
        return replace(self, **_set(options))

    @classmethod
    def of(cls, n_grades: int | None = None, *, mapping: MappingLike = None, **options: Any) -> Self:
        """Return a mapping, read from its file if it is a path, with the options that are given beside it."""
        read = mapping if isinstance(mapping, cls) else cls() if mapping is None else cls.load(mapping)  # type: ignore[arg-type]
        return read.updated(n_grades=n_grades, **options)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a mapping from a TOML file; raise InputError, naming the file, unless every key is known and right."""
        name, data = content(path, "a mapping in TOML, such as positive = 'a'")
        try:
            values = tomllib.loads(data.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"{name}: not valid TOML ({error})") from error
        unknown = [key for key in values if key not in KINDS]
        if unknown:
            raise InputError(f"{name}: unknown key {unknown[0]!r}; the keys of a mapping are {listed(list(KINDS))}")
        for key, value in values.items():
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            kinds = (int, float) if KINDS[key] is float else (KINDS[key],)
            if type(value) not in kinds or not all(isinstance(item, str) for item in items):
                raise InputError(f"{name}: {key} is {value!r}; expected {EXPECTED[KINDS[key]]}")
        with errors_in(name):
            return cls(**values)

    def save(self, path: PathLike, *, force: bool = True) -> None:
        """Write the mapping beside `path` and rename it."""
        with written_beside(path, force=force) as temporary:
            temporary.write_text(f"# How dcglearn reads a log.\n{self.to_toml()}", encoding="utf-8")

    def to_toml(self) -> str:
        """Return the options that differ from their defaults as TOML, tables last."""
        values = self.given
        tables = {"winner_words": self.own_words.meanings(), "columns": self.columns}
        lines = [f"{name} = {_toml(value)}" for name, value in values.items() if name not in tables]
        for name, table in tables.items():
            if table:
                lines += ["", f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in table.items())]
        return "\n".join(lines).lstrip("\n") + "\n"


KINDS = {
    **{"n_grades": int, "depth": int, "pad": bool, "scale": list, "positive": str, "middle": float},
    **{"best_grade": str, "cutoffs": str, "sides": str, "leave_out": str, "as_is": bool},
    **{"winner_words": dict, "columns": dict, "encoding": str, "sheet": str},
}
"""The keys of a mapping's file and the types of their values."""

EXPECTED: dict[type, str] = {
    **{int: "a whole number", float: "a number", bool: "true or false", str: "a text", dict: "a table of texts"},
    list: 'a list of texts, such as ["Bad", "Good"]',
}
"""What a message calls the types of values."""


def _set(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that say something."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def sheet_name(sheet: Any) -> str:
    """Return the name of a sheet, or its number from 1, as text; raise InputError if it is neither."""
    if not isinstance(sheet, str):
        return str(whole_number(sheet, "sheet"))
    if not sheet:
        raise InputError("sheet='': give the name of a sheet, or its number from 1")
    return sheet


def is_number(name: str) -> bool:
    """Return whether the name of a grade is a number."""
    return NUMBER.fullmatch(name.strip(BLANK)) is not None


def _toml(value: Any) -> str:
    """Return a text, a number, a truth value or a list of texts as TOML, whose strings are JSON's but for DEL."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007f")
