"""Clicks on interleaved rankings as preferences between the two rankings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from dcglearn.evaluation.tables import JudgementsLike
from dcglearn.evaluation.trec import Duplicates
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import Counts, InputError, Integers, PathLike, errors_in, one_of
from dcglearn.joins.join_judgements import (
    NO_SCALE,
    Joining,
    judgements_by,
    log_of_documents,
    place_of,
)
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import (
    IMPRESSION,
    PREFERENCE,
    Record,
    Role,
    Roles,
    Table,
    named_role,
)
from dcglearn.readers.line_formats import Reshaped, Source
from dcglearn.readers.mapping import LogMapping, TableOptions
from dcglearn.readers.openers import opener_of
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.proposals import finding_columns, proposing
from dcglearn.readers.read_table import columns_on_scale, log_of_table
from dcglearn.readers.upside_down import check_sense
from dcglearn.readers.winner_words import by_sign

TEAMS = ("a", "b")
"""The two rankings."""

CREDITED = {
    "query": IMPRESSION["query"],
    "weight": IMPRESSION["weight"],
    "difference": named_role("number", "difference", required=True),
    "left out": Role("label", ()),
}
"""The columns of credited impressions besides the rankings.

``difference`` is a's number of clicks minus b's, ``left out`` the reason to leave out a line.
"""


@dataclass(frozen=True)
class Impression:
    """One interleaved list as shown: both rankings, the list or its teams, and clicked positions.

    `a` and `b` hold grades or names of documents, `merged` names, `teams` ``"a"``, ``"b"`` or None
    (neither) for each position shown, `clicks` positions from 1. Raises InputError if they
    contradict each other.
    """

    a: list[Any]
    b: list[Any]
    merged: list[Any] | None
    teams: list[str | None] | None
    clicks: list[int]

    def __post_init__(self) -> None:
        # each is a list, if it is there
        for name, value in vars(self).items():
            if value is None and name in ("a", "b", "clicks"):
                raise InputError(
                    f"{name} is missing; an impression has a, b, teams or merged, and clicks, [] "
                    "where nothing was clicked"
                )
            if value is not None and not isinstance(value, list):
                raise InputError(f"{name} is {shown(value)}, not a list")

        # a team for each position
        wrong = [team for team in self.teams or [] if team not in (*TEAMS, "", None)]
        if wrong:
            raise InputError(
                f"teams holds {shown(wrong[0])}; use a, b, or null for a position of neither"
            )
        positions = self.teams if self.merged is None else self.merged
        if positions is None:
            raise InputError(
                "neither teams nor merged is there; give each position's team, or the list shown"
            )

        # as many teams as positions
        n = len(positions)
        if self.teams is not None and len(self.teams) != n:
            raise InputError(
                f"{len(self.teams)} teams for {n} positions of merged; give one for each"
            )

        # clicks on these positions
        for click in self.clicks:
            if type(click) is not int or not 1 <= click <= n:
                raise InputError(
                    f"a click on position {shown(click)}, but positions 1 to {n} were shown; "
                    "positions count from 1: correct the click or the list"
                )

    def credits(self, method: str) -> tuple[int, int]:
        """Return the numbers of clicks credited to each ranking."""
        if method == "balanced":
            return self._credits_of_balanced()
        teams = self._teams() if self.teams is None else self.teams
        clicked = [teams[position - 1] for position in {*self.clicks}]
        return clicked.count("a"), clicked.count("b")

    def _teams(self) -> list[str | None]:
        """Return the team of each position; None where either ranking can have drafted it."""
        merged = self.merged or []
        teams: list[str | None] = []
        while len(teams) < len(merged):
            # the two orders of drafting, as far as the next two positions allow them
            start = len(teams)
            first = {team: _next_of(getattr(self, team), merged[:start]) for team in TEAMS}
            after = {team: _next_of(getattr(self, team), merged[: start + 1]) for team in TEAMS}

            # an order is possible if its documents come next
            pair = merged[start : start + 2]
            possible = [
                (one, other)
                for one, other in (TEAMS, TEAMS[::-1])
                if first[one] == pair[0] and (len(pair) == 1 or after[other] in (pair[1], None))
            ]
            if not possible:
                raise InputError(
                    f"merged holds {merged[start:]!r} from position {start + 1} on, which team "
                    "drafting of a and b cannot give; give the teams, or the method that was used"
                )

            # either team where both orders are possible
            drafted = possible[0] if len(possible) == 1 else (None, None)
            teams += drafted[: len(pair)]
        return teams

    def _credits_of_balanced(self) -> tuple[int, int]:
        """Return clicks on the top k of each ranking (Joachims 2002).

        k is the depth at which one ranking has the lowest click.
        """
        merged = self.merged
        if merged is None:
            raise InputError("merged is missing; without it no click can be credited")
        if not self.clicks:
            return 0, 0

        # the depth of the lowest click
        lowest = merged[max(self.clicks) - 1]
        depths = [ranking.index(lowest) + 1 for ranking in (self.a, self.b) if lowest in ranking]
        if not depths:
            raise InputError(
                f"merged has {lowest!r} at position {max(self.clicks)}, in neither a nor b"
            )

        # clicks above it
        clicked = {merged[position - 1] for position in self.clicks}
        ahead, behind = (len(clicked & set(ranking[: min(depths)])) for ranking in (self.a, self.b))
        return ahead, behind


def _next_of(ranking: Sequence[Any], taken: Sequence[Any]) -> Any:
    return next((document for document in ranking if document not in taken), None)


class Credited(Reshaped):
    """Impressions as lines of `CREDITED`, their clicks credited by a method."""

    def __init__(self, rows: Source, roles: Roles, method: str) -> None:
        super().__init__(rows, roles)
        self._method = method

    def record(self, item: Any) -> Record:
        """Return the rankings of an impression, and the difference of their credited clicks."""
        record = self._rows.values(item)
        cells: Any = map(record.get, ("a", "b", "merged", "teams", "clicks"))
        impression = Impression(*cells)
        ahead, behind = impression.credits(self._method)

        reason = None
        if not ahead + behind:
            reason = "impressions without a click"
            if impression.clicks:
                reason = "impressions whose clicks belong to either ranking"
        return {**record, "difference": ahead - behind, "left out": reason}


@spelled_out(TableOptions)
def preferences_from_interleaving(
    impressions: Any,
    judgements: JudgementsLike = None,
    *,
    method: str = "team-draft",
    unjudged: str | int = "worst",
    missing: str = "error",
    n_grades: int | None = None,
    duplicates: Duplicates = "error",
    skip_bad: PathLike | None = None,
    **options: Unpack[TableOptions],
) -> Preferences:
    """Turn clicks on interleaved rankings into preferences between the two rankings.

    An impression is ``{"query": "q1", "a": [...], "b": [...], "teams": ["a", "b", "b"], "clicks":
    [1, 3]}``: the two rankings, best first, as grades or (with `judgements`) as names of documents,
    the team of each position that was shown, and the positions clicked, from 1. With ``merged``,
    the names of the documents shown, the teams of team drafting can be left out, as far as the list
    tells them; balanced interleaving needs ``merged`` and no teams. ``weight`` (or ``impressions``)
    counts a line several times.

    The winner of each impression has more credited clicks, the strength is the difference, and
    equal numbers are a tie. Impressions of the same rankings with the same result are one pair; its
    weight is their number. `dropped` counts those without a click, and those whose clicks are all
    on positions that either ranking can have given. Raises InputError if an impression is bad (it
    names line, value and remedy), or no click can be credited.

    Parameters
    ----------
    impressions : path, data frame or sequence of dict
        An impression a line, in any format that `read_preferences` reads; or the dictionaries.
    judgements, duplicates
        As in `read_judgements`.
    method : {"team-draft", "balanced"}
        How the rankings were interleaved. A click on a position of team drafting is credited to its
        team (Radlinski et al. 2008); in balanced interleaving, the clicks on the top k of each
        ranking are compared, where k is the depth at which the first of them has the lowest click
        (Joachims 2002).
    unjudged, missing, n_grades
        As in `join_judgements`.
    skip_bad, **options
        As in `read_preferences`, without those for winners.

    See Also
    --------
    io.preferences_from_ubi : The events of OpenSearch.
    simulate.click_log : Impressions of simulated users.

    Examples
    --------
    >>> shown = {"a": [2, 0, 1], "b": [0, 1, 2], "teams": ["a", "b", "a"]}
    >>> impressions = [{**shown, "clicks": clicks} for clicks in ([1], [3, 1], [])]
    >>> log = preferences_from_interleaving(impressions)
    >>> log.preferred.tolist(), log.strength.tolist(), log.dropped
    ([[2, 0, 1], [2, 0, 1]], [1.0, 2.0], {'impressions without a click': 1})
    """
    one_of(method, "method", ("team-draft", "balanced"))
    mapping = LogMapping.of(n_grades, **options)
    of_winners = ("winner_words", "positive", "middle", "sides", "leave_out")
    mapping.refuse(of_winners, "does not go with clicks: leave it out")
    given, mapping = mapping, mapping.updated(as_is=True)  # checked below, without words
    joining = Joining(mapping.depth, unjudged, missing, mapping.n_grades, mapping.pad)
    graded = judgements is None
    if not graded:
        judged = judgements_by(mapping, judgements, duplicates)
        mapping = mapping.updated(depth=None, **NO_SCALE)

    # impressions, each pair of rankings once for each result
    kind = "grades" if graded else "documents"
    rankings = {team: replace(PREFERENCE[team], kind=kind) for team in TEAMS}
    name, open_with = opener_of(impressions, IMPRESSION, mapping)
    roles = {**rankings, **IMPRESSION}
    with (
        proposing("io.preferences_from_interleaving", impressions, given, judgements=judgements),
        finding_columns(open_with, roles, mapping),
    ):
        with errors_in(name):
            source = open_with(mapping.roles(roles))
        credited = Credited(source, {**rankings, **CREDITED}, method)
        table, bad, recognised = columns_on_scale(name, credited, mapping, skip_bad)
    table, rows, dropped = _distinct(table)
    dropped |= bad
    table["winner"], table["strength"] = by_sign(table.pop("difference"), "a", 0.0)

    # grades of the documents
    if graded:
        log = log_of_table(Preferences, table, dropped, recognised.mapping)
    else:
        # named by the first line of each pair of rankings
        log = log_of_documents(
            table,
            dropped,
            judged,
            joining,
            mapping,
            lambda i: place_of(name, source, bad, i if bad else rows[i]),
        )
    if not given.as_is:
        check_sense(log)
    return log.changed(as_is=given.as_is)


def _distinct(table: Table) -> tuple[Table, Integers, Counts]:
    """Return the distinct comparisons, the first row of each, and the counts left out by reason.

    A comparison is a pair of rankings with one result; its weight is the sum over its rows. Raise
    InputError if none is left.
    """
    n = len(table["difference"])
    weights = table.pop("weight", np.ones(n))
    reasons = table.pop("left out", np.full(n, ""))

    # first row and weight of each pair
    keys = zip(*(map(str, values.tolist()) for values in table.values()), strict=True)
    first: dict[tuple[str, ...], int] = {}
    weight, dropped = Counter[Any](), Counter[str]()
    for i, key in enumerate(keys):
        if reasons[i]:
            dropped[reasons[i]] += weights[i]
        else:
            weight[first.setdefault(key, i)] += weights[i]

    # as columns
    if not first:
        raise InputError(
            "no impression has a click that can be credited to one ranking, so nothing is preferred"
        )

    rows = np.array([*first.values()])
    distinct = {role: values[rows] for role, values in table.items()}
    if {*weight.values()} != {1}:
        distinct["weight"] = np.array([float(weight[row]) for row in rows])
    return distinct, rows, {reason: round(count) for reason, count in dropped.items()}
