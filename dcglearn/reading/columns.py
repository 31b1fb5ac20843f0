"""Where a table has the columns of a contract: by accepted names, or by those that a user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import InputError, listed
from dcglearn.reading.contract import OF_WINNERS, READERS, RECIPES, Contract, Found, Role, plain

ORDER = re.compile(
    "(is|was)?(flip|swap|reverse)(ped|d)?|(display|shown|presentation|presented)?order(shown)?"
    "|(position|place|slot)(of)?a|a(position|place|slot)"
)
"""Plain names of columns that may tell which list was shown first."""


def own_names(columns: Mapping[str, str] | str | None) -> dict[str, str]:
    """Return the columns that a user names, in a mapping or in ``a=Links {},winner=Urteil``."""
    if not isinstance(columns, str):
        return dict(columns or {})
    parts = re.split(r",(?=\s*\w+\s*=)", columns)  # the name of a column may hold commas
    pairs = [part.partition("=") for part in parts]
    named = {role.strip(): name.strip() for role, mark, name in pairs if mark}
    if len(named) < len(parts):
        raise InputError(
            f"columns={columns!r}: give each usual name once, such as a=Result A,winner=Verdict"
        )
    return named


@dataclass
class SharedNames:
    """The columns that a user names in judgements and, beside them, in a log or in runs.

    A table takes those that it has; `used` has the roles of these.
    """

    names: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def of_table(self, columns: Sequence[str], roles: Contract) -> dict[str, str]:
        """Return the names of roles for a table with these columns."""
        has, own = {*map(plain, columns)}, {}
        for word, name in self.names.items():
            role = role_called(word, roles)
            if role in roles and (not name or {*map(plain, name.split(".."))} <= has):
                if role in own:
                    raise InputError(f"columns= names two columns for one role: {role}")
                own[role] = name
                self.used.add(word)
        return own

    def check(self) -> None:
        """Raise InputError for a name that no table has."""
        for role, name in self.names.items():
            if role not in self.used:
                raise InputError(
                    f"columns={{{role!r}: {name!r}}} names no column of the judgements, and none "
                    "of the log or the runs"
                )


OwnNames: TypeAlias = Mapping[str, str] | str | SharedNames | None
"""How a user names columns: by role, in a text, or for several tables."""


def names_given(own: OwnNames, columns: Sequence[str], roles: Contract) -> dict[str, str]:
    """Return the names that a user gives, of shared ones those for a table with these columns."""
    return own.of_table(columns, roles) if isinstance(own, SharedNames) else own_names(own)


def find(names: Sequence[str], contract: Contract, columns: OwnNames = None) -> Found:
    """Return where a table with columns of these names has each role of a contract.

    `columns` names columns, ``{"a": "Links {}", "winner": "Urteil"}``, where braces stand for the
    position and ``first..last`` for columns that stand side by side; an empty name stands for no
    column; None stands for a reader that takes no such names. Raise InputError for a required
    column that is missing.
    """
    can_name, given = columns is not None, names_given(columns, names, contract)
    own: dict[str, str] = {}
    for word, name in given.items():
        role = role_called(word, contract)
        if role in own:
            raise InputError(f"columns= names two columns for one role: {role}")
        own[role] = name
    unknown = next((role for role in own if role not in contract), None)
    if unknown is not None:
        raise InputError(
            f"columns= names {unknown!r}{nearest(unknown, contract)}; give {listed(contract)}; "
            f"{_remedy([*names, *own], [unknown], can_name)}"
        )

    # a role has the column that the user names, others have one of an accepted name
    named = {role: _named(names, role, name, contract[role]) for role, name in own.items()}
    free, found, missing = unused(names, named), {}, []
    for role, about in contract.items():
        its = named[role] if role in named else _accepted(free, role, about)
        if its:
            found[role] = its
        elif about.required:
            missing.append(role)

    if missing:
        lacks = "; ".join(f"no {role!r} ({contract[role].names})" for role in missing)
        remedy = _remedy(names, missing, can_name)
        raise InputError(f"{lacks}; found {listed(names)}; {remedy}")
    _refuse_twins(names, found)
    return found


def unused(names: Sequence[str], found: Found) -> list[str]:
    """Return the columns that have no role."""
    used = {name for its in found.values() for name in its}
    return [name for name in names if name not in used]


def _refuse_twins(names: Sequence[str], found: Found) -> None:
    """Raise InputError if a column that is used has a twin of the same name, renamed by polars."""
    for name in names:
        original = re.sub(r"_duplicated_[0-9]+$", "", name)
        if original != name and original not in unused([original], found):
            raise InputError(f"two columns are called {original!r}; rename one")

    # a name above several columns, the others of which have none
    for its in found.values():
        beside = names[names.index(its[0]) + 1 :][:1]
        if len(its) == 1 and beside and re.fullmatch(r"(_duplicated_[0-9]+)?", beside[0]):
            raise InputError(
                f"the column beside {its[0]!r} has no name; see the recipe 'Two lines of names'"
            )


def _named(names: Sequence[str], role: str, name: str, about: Role) -> list[str]:
    """Return the column that the user names, or those of a pattern or of a range."""
    if not name:
        return []

    # a pattern, a range, or a name
    if "{}" in name:
        before, after = map(plain, name.split("{}", 1))
        its = _by_position(names, re.compile(f"{before}([0-9]+){after}"))
    elif ".." in name and name not in names:
        ends = [_matching(names, end) for end in name.split("..", 1)]
        inside = all(len(end) == 1 for end in ends)
        start, stop = (names.index(end[0]) for end in ends) if inside else (0, -1)
        its = list(names[start : stop + 1])
    else:
        its = _matching(names, name)
        if len(its) > 1:
            its = []

    if not its:
        raise InputError(
            f"columns={{{role!r}: {name!r}}} names no column, or several, of {listed(names)}"
            f"{nearest(name, names)}; give the name of one, a pattern such as 'Left {{}}', or a "
            f"range such as 'first..last'; {_unfilled([role])}see the recipes 'Values inside "
            "objects', 'Two lines of names' and 'No names, titles above, another encoding, "
            "another sheet'"
        )
    if its[1:] and about.kind != "grades":
        raise InputError(
            f"columns={{{role!r}: {name!r}}} names {listed(its)}; give one; see the recipes "
            "'A column for each rater' and 'Grades of several raters'"
        )
    return its


def _matching(names: Sequence[str], name: str) -> list[str]:
    """Return the columns of a name, or else those that differ in case, blanks and punctuation."""
    exact = [column for column in names if column.strip() == name.strip()]
    return exact or [column for column in names if plain(column) == plain(name)]


def role_called(word: str, contract: Contract) -> str:
    """Return the role that is called so, by its own name or by that of a column of it."""
    roles = [role for role, about in contract.items() if plain(word) in _names(about)]
    return roles[0] if word not in contract and len(roles) == 1 else word


def _names(about: Role) -> list[str]:
    """Return the accepted names of a role's column, in plain letters."""
    return [plain(name) for name in about.names.split()]


def _accepted(names: Sequence[str], role: str, about: Role) -> list[str]:
    """Return the column of an accepted name, or those of lists with a number for the position."""
    accepted = _names(about)
    its = [column for column in names if plain(column) in accepted]
    if about.first_counts:
        its = sorted(its, key=lambda column: accepted.index(plain(column)))[:1]
    if len(its) > 1:
        raise InputError(
            f"the columns {' and '.join(map(repr, its))} both may be {role!r}: "
            f"columns={{{role!r}: {its[0]!r}}} takes the first"
        )
    if its or about.kind != "grades":
        return its
    accepted += about.by_position.replace("_", "").split()
    return _by_position(names, re.compile(f"(?:{'|'.join(accepted)})([0-9]+)"))


def _by_position(names: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Return the columns of a pattern in the order of their numbers, which count from 0 or 1."""
    matches = ((pattern.fullmatch(plain(name)), name) for name in names)
    numbered = sorted((int(match[1]), name) for match, name in matches if match)
    numbers = [number for number, _ in numbered]
    at_most = numbers[-1] + 1 if numbers[1:] else 0
    if numbers and numbers != list(range(min(numbers[0], 1), at_most)):
        raise InputError(
            f"the columns {listed(name for _, name in numbered)} must be several that count "
            "positions from 1 (or 0), each once; add the column that is missing, or rename them; "
            f"if one holds whole lists, columns={{'...': {numbered[0][1]!r}}} says so"
        )
    return [name for _, name in numbered]


def _remedy(names: Sequence[str], missing: Sequence[str], can_name: bool) -> str:
    """Return how to name columns, or the recipe that their names call for."""
    # names that tell a table of another shape
    present = {plain(name) for name in names}
    for called, signs in {**READERS, **RECIPES}.items():
        if called in OF_WINNERS and {*missing} <= {"a", "b"}:
            continue
        if any(set(sign.split()) <= present for sign in signs):
            return f"read it with {called}" if called in READERS else f"see the recipe '{called}'"

    # names that are none, or cannot be given
    if not can_name:
        return "rename the columns that hold them"
    if len(names) < 3 or "" in names:
        return (
            "see the recipes 'Two lines of names' and 'No names, titles above, another encoding, "
            "another sheet'"
        )
    example = ", ".join(f"{role!r}: '...'" for role in missing)
    return (
        f"{_unfilled(missing)}name them by columns={{{example}}} ('Left {{}}' for a column a "
        "position), or see the recipes for tables of other shapes"
    )


def _unfilled(missing: Sequence[str]) -> str:
    """Return why a table may lack the winners."""
    reason = "where no task has an answer, an export has no column of answers; "
    return reason if "winner" in missing else ""


def refuse_unused_order(frame: pl.DataFrame, found: Found) -> None:
    """Raise InputError for a column that seems to tell which list was shown first."""
    for name in unused(frame.columns, found):
        if not ORDER.fullmatch(plain(name)):
            continue
        values = frame[name].drop_nulls().unique().sort()
        if 0 < len(values) <= 2:
            raise InputError(
                f"the column {name!r} ({listed(values.to_list())}) seems to tell which list was "
                f"shown first: columns={{'swapped': {name!r}}} reads true, 1, b and BA as b; for "
                "other words, replace them first (in polars, replace_strict); "
                "columns={'swapped': ''} ignores it"
            )
