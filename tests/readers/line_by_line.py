"""The referee of `dcglearn.readers.cells`: a log read line by line, value by value."""

import json
import math
from array import array
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from dcglearn.foundation.files import refuse_existing, written_beside
from dcglearn.foundation.inputs import refuse_beyond_memory
from dcglearn.foundation.validation import EMPTY, LARGEST, UNKNOWN, InputError, PathLike, errors_in
from dcglearn.readers.cell_values import BLANK, NUMBER, SCORE, shown
from dcglearn.readers.column_roles import MAX_LABEL, PLACES, SWAPPED, Role, Table
from dcglearn.readers.cutoffs import CUT, level_of
from dcglearn.readers.grade_scale import FEW_LEVELS, scale_text
from dcglearn.readers.line_formats import FrameRows, Source, TextLines
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.rated_lists import parsed_counts
from dcglearn.readers.winner_words import MEANINGS, WINNERS, Winners, remedy_for_words, word_of

JUDGE_DOCUMENTS = (
    "for names of documents, give judgements (dl.io.join_judgements, --qrels); for names of "
    "grades, scale="
)
"""What to do where a grade looks like the name of a document."""

LEAST_BYTES = 4_000_000
"""Shorter logs are read carefully at once, where the first bad line is looked for."""

MOST_READ = 8
"""Blocks that are read carefully without finding a bad line, before the whole log is."""

RIGHT = {
    "true": 1.0,
    "yes": 1.0,
    "right": 1.0,
    "correct": 1.0,
    "false": 0.0,
    "no": 0.0,
    "wrong": 0.0,
    "incorrect": 0.0,
}
"""What words say of an answer, in lower case."""

UNKNOWN_GRADES = ("", "-1", "u", ".", "-", "null", "na", "n/a", "#n/a")
"""Texts that stand for an unknown grade, -1. A place without a result is -2, as those below a
shorter list are.
"""


def _grades(values: Any, role: str, mapping: LogMapping) -> bytes:
    """Return a non-empty list of grades as int8 bytes, cut to the depth; raise InputError for
    anything else.
    """
    if not isinstance(values, list):
        raise InputError(f"{role} is {shown(values)}, not a list of grades such as [3, 2, 0]")
    if not values:
        raise InputError(f"{role} is an empty list; leave the line out")
    if mapping.cutoffs is not None:
        values = [level_of(value, mapping.points, role) for value in values]
    top = 0 if mapping.numbered else mapping.top
    codes = [v if type(v) is int and EMPTY <= v < top else _grade(v, role, mapping) for v in values]
    if mapping.best_grade == "1" and 0 in codes:
        raise InputError(
            f"{role} holds the grade 0, better than best_grade=1; write -1 where it is unknown"
        )
    return array("b", codes[: mapping.depth]).tobytes()


def _grade(value: Any, role: str, mapping: LogMapping) -> int:
    """Return one grade, -1 where it is unknown, -2 where there is no result."""
    if value is None:
        return -1
    if mapping.numbered and isinstance(value, int | float) and value not in (UNKNOWN, EMPTY):
        value = word_of(value)
    if isinstance(value, str):
        return _named(value, role, mapping)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"{role} holds {shown(value)}, which is not a grade; grades are integers, 0 = worst"
        )
    if isinstance(value, float) and not value.is_integer():
        refusal = (
            f"{role} holds the grade {value}, which is not an integer; use null or -1 for no grade"
        )
        raise InputError(f"{refusal}; {CUT}", see="grades")
    if not EMPTY <= value < mapping.top:
        larger_scale = f"raise n_grades={mapping.top} (--grades) or correct the line"
        remedy = (
            larger_scale if mapping.n_known else f"at most 127 are supported; {JUDGE_DOCUMENTS}"
        )
        if mapping.scale is not None:
            remedy = (
                f"the scale is {', '.join(mapping.scale)}: name more (--scale) or correct the line"
            )
        raise InputError(
            f"{role} holds the grade {shown(value)}, outside {EMPTY}..{mapping.top - 1}; {remedy}",
            see="grades",
        )
    return int(value)


def _named(value: str, role: str, mapping: LogMapping) -> int:
    name = value.strip(BLANK).lower()
    grade = mapping.grade_of(name)
    if grade is not None:
        return grade
    if name in (*UNKNOWN_GRADES, str(EMPTY)):
        return EMPTY if name == str(EMPTY) else UNKNOWN
    if mapping.scale is not None:
        raise InputError(
            f"{role} holds {shown(value)}, not a grade of the scale {', '.join(mapping.scale)}"
        )
    if NUMBER.fullmatch(name):
        return _grade(float(name), role, mapping)
    if any(map(str.isdigit, name)) and any(map(str.isalpha, name)):
        raise InputError(f"{role} holds {shown(value)}, which is no grade; {JUDGE_DOCUMENTS}")
    if any(map(str.isdigit, name)):
        remedy = "separate the grades of a cell by spaces, commas or |"
        raise InputError(f"{role} holds {shown(value)}, which is no grade; {remedy}")
    remedy = "pass scale= with the names of all grades, worst first"
    named = f"{role} holds the grade name {shown(value)}"
    raise InputError(f"{named}; {remedy}", see="grades")


def read_carefully(
    name: str, source: Source, mapping: LogMapping, skip_bad: PathLike | None
) -> tuple[Table, dict[str, int]]:
    """Read line by line; return the columns by role, and the counts of the lines left out.

    Columns are ``grades``: int8 (n, K); ``winner``: `Winners`; numbers: float64 (n,); labels:
    object (n,). An optional column without a value on any line is left out. Bad lines are written
    to `skip_bad` once all lines are read, and counted as ``"bad lines"`` beside the first three
    reasons. Without `skip_bad` the first bad line raises InputError, as does a log without a good
    line. Messages call the file `name`.
    """
    if skip_bad is not None:
        refuse_existing(skip_bad, force=True)
    good = GoodLines(source, mapping)
    bad: list[bytes] = []
    reasons: list[str] = []
    merged = _merged_rows(source)
    for row, (number, item) in enumerate(source):
        try:
            values = source.values(item)
            if row in merged:
                raise merged[row]
            good.add(values, f"{source.unit} {number}")
        except InputError as error:
            if skip_bad is None:
                with errors_in(f"{name}, {source.unit} {number}"):
                    raise
            bad.append(source.raw(item))
            if len(reasons) < 3:
                reasons.append(f"{source.unit} {number}: {error.args[0]}")
    if not good.n:
        raise InputError(
            f"{name}: " + (f"no good line; {reasons[0]}" if bad else "nothing after the header")
        )
    if not bad or skip_bad is None:
        return good.table(), {}
    with written_beside(skip_bad) as temporary, temporary.open("wb") as file:
        file.writelines(line + b"\n" for line in ([source.header] if source.header else []) + bad)
    return good.table(), {"bad lines": len(bad), **dict.fromkeys(reasons, 1)}


def _merged_rows(source: Source) -> dict[int, InputError]:
    """Return the refusals of the rows of merged cells of text, by their places from 0."""
    refusals: dict[int, InputError] = {}
    for role in ("query", "rater", "segment"):
        if not isinstance(source, TextLines | FrameRows) or not source.has(role):
            continue
        names = []
        for _, item in source:
            try:
                name = source.values(item).get(role)
                empty = isinstance(source, FrameRows) and source.record(item)[role] is not None
                names.append(False if name is None and empty else name)
            except InputError:
                names.append(False)

        # names above a blank cell
        n_above = sum(name is not None and below is None for name, below in pairwise(names))
        n_named = sum(name is not None for name in names)
        if not n_above or names[0] is None or 2 * n_above < n_named:
            continue

        # the rows of each name
        name = None
        for row, (here, below) in enumerate(zip_longest(names, names[1:], fillvalue="")):
            name = here or name
            if here is None or below is None:
                refusals.setdefault(
                    row,
                    InputError(
                        f"the {role} {shown(str(name))} has blank cells below it, as where cells "
                        "are merged: write it in every row that it is for, and a word such as "
                        "unknown where there is none"
                    ),
                )
    return refusals


class WinnerCodes:
    """Codes of winners, one by one; all winners of the log are counted once one is not
    understood."""

    def __init__(self, own, count):
        self._codes, self._count = {**WINNERS, **own}, count

    def __call__(self, value):
        if not isinstance(value, str | int | float):
            raise InputError(
                f"winner is {shown(value)}, not a word or a number: write a, b or tie",
                see="winners",
            )
        word = word_of(value)
        if word.lower() not in self._codes:
            remedy = remedy_for_words(self._count(), self._codes)
            raise InputError(f"winner is {shown(value)}; {remedy}", see="winners")
        return self._codes[word.lower()]


class GoodLines:
    """The good lines so far, and the depth and columns that the first of them sets for all."""

    def __init__(self, source: Source, mapping: LogMapping) -> None:
        roles = source.roles
        self._roles, self._mapping, self._source = roles, mapping, source
        self._winner = WinnerCodes(mapping.own_words.codes, lambda: _word_counts(source, "winner"))
        self._said: list[Any] = []  # the winners, as the lines say them
        self._columns: dict[str, list[Any]] = {role: [] for role in roles}
        self._uniform = [role for role in roles if roles[role].uniform]
        self._required = {role for role in roles if roles[role].required}
        self._lists = [role for role in roles if roles[role].kind == "grades"]
        self._first: tuple[str, list[bool]] | None = None
        self._kinds: set[bool] = set()  # whether grades are names, numbers or both
        self.n = 0

    def add(self, record: Mapping[str, Any], place: str) -> None:
        """Check a line and keep it; a bad one raises InputError and leaves no trace."""
        values: dict[str, Any] = dict.fromkeys(self._roles)
        for role in self._roles:
            value = record.get(role)
            if value is not None or role in self._required:
                values[role] = self._checked(role, value)
        present = [values[role] is not None for role in self._uniform]
        if self._first and present != self._first[1]:
            role = next(
                r
                for r, now, then in zip(self._uniform, present, self._first[1], strict=True)
                if now != then
            )
            raise InputError(
                f"{role} {shown(record.get(role))}: "
                f"give it on every line or on none ({self._first[0]})"
            )
        self._first = self._first or (place, present)
        for role, value in values.items():
            self._columns[role].append(value)
        self._said.append(record.get("winner"))
        self.n += 1

    def _checked(self, role: str, value: Any) -> Any:
        about = self._roles[role]
        if value is None:
            raise InputError(f"{role} is missing; correct the line, or set it aside by skip_bad=")
        if about.kind == "grades":
            self._refuse_mixture(value, role)
            return _grades(value, role, self._mapping)
        if about.kind == "winner":
            return self._winner(value)
        if about.kind == "documents":
            return _documents(value, role, self._mapping.depth)
        if role == "strength" and isinstance(value, str):
            if value.lower() not in self._mapping.own_words.strengths:
                raise self._unknown_strength(value)
            value = self._mapping.own_words.strengths[value.lower()]
        return CHECKS.get(about.kind, _number)(value, role, about.kind)

    def _unknown_strength(self, value: str) -> InputError:
        """Return the refusal of a strength in a word, which asks for the strengths of all that
        occur."""
        words = [
            word for word in _word_counts(self._source, "strength") if not NUMBER.fullmatch(word)
        ]
        meanings = {
            word: ":?" for word in words if word.lower() not in self._mapping.own_words.strengths
        }
        example = ",".join(f"{word}={meaning}" for word, meaning in meanings.items())
        refusal = (
            f"strength is {shown(value)}: say how strong each word is, "
            f'winner_words="{example}", 1 or 2.5 for a ?'
        )
        return InputError(refusal, see="winners")

    def _refuse_mixture(self, value: Any, role: str) -> None:
        """Raise InputError if some grades of a scale in words are numbers: places in the scale, or
        other names.
        """
        if self._mapping.scale is None or self._mapping.numbered or not isinstance(value, list):
            return
        self._kinds |= {
            isinstance(x, str)
            for x in value
            if x not in (None, UNKNOWN, EMPTY, str(EMPTY), *UNKNOWN_GRADES)
        }
        if len(self._kinds) > 1:
            raise InputError(
                f"{role} is {shown(value)}: the log has grades by name and by number; "
                "write all one way"
            )

    def table(self) -> Table:
        """Return the columns as arrays."""
        arrays = {
            role: self._array(self._roles[role], values) for role, values in self._columns.items()
        }
        return {role: array for role, array in arrays.items() if array is not None}

    def _array(self, about: Role, values: list[Any]) -> Any:
        if about.kind == "grades":
            depth = self._mapping.depth or max(
                len(grades) for role in self._lists for grades in self._columns[role]
            )
            needed, log = (
                6.0 * len(values) * depth,
                f"the log of {len(values):,} lines, padded to {depth:,} grades,",
            )
            refuse_beyond_memory(needed, log, "give a smaller depth (depth=, convert --depth)")
            return np.frombuffer(
                b"".join(g.ljust(depth, bytes([256 + self._mapping.below])) for g in values),
                np.int8,
            ).reshape(-1, depth)
        if all(value is None for value in values):
            return None
        if about.kind == "winner":
            counts: Counter[str] = Counter()
            for said, n in Counter(self._said).items():
                counts[word_of(said)] += n
            codes = {word: self._winner(word) for word in counts}
            strengths = self._mapping.own_words.of_winners
            said = (
                (strengths.get(word_of(value).lower(), 1.0) for value in self._said)
                if strengths
                else None
            )
            words = {word: (MEANINGS[codes[word]], counts[word]) for word in sorted(counts)}
            strength = None if said is None else np.array(list(said))
            return Winners(np.array(values), words, strength)
        if about.kind in ("label", "name", "identity", "documents", "counts", "status", "scale"):
            return np.array(["" if value is None else value for value in values], dtype=object)
        return np.array([1.0 if value is None else value for value in values])


def few_grades(source: Source) -> set[str]:
    """Return the grades of a log in lower case, of many only a few."""
    texts: set[str] = set()
    for _, record in source.readable():
        lists = [x for x in map(record.get, source.lists) if isinstance(x, list)]
        grades = {
            word_of(grade).lower() for values in lists for grade in values if grade is not None
        }
        texts |= grades - {*UNKNOWN_GRADES, str(EMPTY)}
        if len(texts) > FEW_LEVELS:
            break
    return texts


def _word_counts(source: Source, role: str) -> Counter[str]:
    """Return how often each word for a winner, or a strength, occurs on the lines that can be
    read."""
    said = (record.get(role) for _, record in source.readable())
    return Counter(word_of(value) for value in said if isinstance(value, str | int | float))


def _label(value: Any, role: str, kind: str) -> str | None:
    if role == "tie_kind" and isinstance(value, bool):
        return None  # whether it is a tie, which the winner says
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"{role} is {shown(value)}; use text or an integer")
    try:
        text = str(value)
        text.encode()
    except ValueError as error:  # half a surrogate pair, or an integer too long to print
        raise InputError(f"{role} is {shown(value)}; use plain text") from error
    if text[:1] in ("\v", "\f") or text[-1:] in ("\v", "\f"):
        raise InputError(
            f"{role} is {shown(value)}; delete the form feed or vertical tab at its end"
        )
    if kind == "name" and not text:
        raise InputError(f"{role} is missing")
    if kind == "label" and len(text) > MAX_LABEL:
        raise InputError(
            f"{role} {shown(value)} is longer than {MAX_LABEL} characters; use a short identifier"
        )
    return text or None


def _swapped(value: Any, role: str, kind: str) -> float:
    """Return 1 if b was shown first."""
    words = PLACES if kind == "place" else SWAPPED
    code = words.get(word_of(value).lower()) if isinstance(value, str | int | float) else None
    if code is None and kind == "place":
        raise InputError(
            f"{role} is {shown(value)}; use left or right, 1 or 2, for the place of the list a"
        )
    if code is None:
        raise InputError(
            f"{role} is {shown(value)}; use true if b was shown first, else false, or name a or b"
        )
    return float(code)


def _documents(values: Any, role: str, depth: int | None) -> str:
    """Return the names of a list's documents, joined by tabs; an empty one where a position has
    none.
    """
    if not isinstance(values, list) or not values:
        raise InputError(
            f'{role} is {shown(values)}, not a list of names of documents such as ["d3", "d1"]'
        )
    names = ["" if value is None else value for value in values]
    wrong = [
        name
        for name in names
        if isinstance(name, bool) or not isinstance(name, str | int) or {*"\t\v\f"} & {*str(name)}
    ]
    if wrong:
        raise InputError(
            f"{role} holds {shown(wrong[0])}; name a document by a text without tabs, or an integer"
        )
    return "\t".join([str(name) for name in names][:depth])


def _counts(value: Any, role: str, _: str) -> str:
    """Return how often a list got each rating, as text."""
    if not isinstance(value, str):
        raise InputError(f"{role} is {shown(value)}, not a count of ratings such as '2:1 4:12'")
    with errors_in(role):
        parsed_counts(value)
    return value


def _number(value: Any, role: str, kind: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(
            f"{role} is {shown(value)}, which is not a finite number; leave it out where unknown"
        )
    if kind == "positive" and number > LARGEST:
        raise InputError(
            f"{role} is {number:g}, beyond {LARGEST:g}; divide every {role} by a common factor"
        )
    if kind == "positive" and number <= 0:
        raise InputError(
            f"{role} is {number:g}; it must be positive: leave the line out, or the {role}"
        )
    return number


def _share(value: Any, role: str, kind: str) -> float:
    """Return a number from 0 to 1, or that of a word for right or wrong."""
    number = RIGHT.get(word_of(value).lower(), value) if isinstance(value, str | bool) else value
    if isinstance(number, str | bool) or not 0 <= _number(number, role, kind) <= 1:
        raise InputError(
            f"{role} is {shown(value)}; use true or false, right or wrong, or a score from 0 to 1"
        )
    return float(number)


def checked_score(value: Any, role: str, _: str = "score") -> float:
    """Return a finite number, an infinity, or the number that a text holds."""
    is_text = isinstance(value, str) and SCORE.fullmatch(value.strip(BLANK))
    if not is_text and (
        isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number)
    ):
        raise InputError(f"{role} is {shown(value)}, which is not a number")
    try:
        number = float(value)
    except (OverflowError, TypeError) as error:
        raise InputError(
            f"{role} is {shown(value)}, which is not a number that can be used"
        ) from error
    if math.isnan(number):
        raise InputError(f"{role} is missing ({role} nan)")
    return number


CHECKS = {
    "label": _label,
    "name": _label,
    "identity": lambda value, *_: (
        value if isinstance(value, str) else json.dumps(value)
    ),  # any: equal ones are one
    "status": lambda value, *_: word_of(value),
    "side": _swapped,
    "place": _swapped,
    "counts": _counts,
    "scale": lambda value, role, _: scale_text(value, role),
    "score": checked_score,
    "share": _share,
    "text": _label,
    "number": _number,
    "positive": _number,
}
"""The functions that check one value, by the kind of its role; those of other kinds are numbers."""
