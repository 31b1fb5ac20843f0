"""Clicks on interleaved rankings as preferences between the two rankings."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcglearn.evaluation.tables import JudgementsLike, read_judgements
from dcglearn.evaluation.trec import Duplicates
from dcglearn.foundation.inputs import is_path
from dcglearn.foundation.sources import content
from dcglearn.foundation.validation import EMPTY, Grades, InputError, graded_lists, one_of
from dcglearn.joins.join_judgements import Joining, joined_lists
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.sense import check_sense

TEAMS = ("a", "b")


@dataclass(frozen=True)
class Impression:
    """One interleaved list that was shown: the two rankings, the list or its teams, and the positions clicked.

    `a` and `b` hold grades or names of documents, `merged` names, `teams` ``"a"``, ``"b"`` or None (neither) for each
    position shown, `clicks` positions from 1.
    """

    place: str
    a: list[Any]
    b: list[Any]
    merged: list[Any] | None
    teams: list[str | None] | None
    clicks: list[int]
    query: str
    weight: float

    def credits(self, method: str) -> tuple[int, int]:
        """Return the numbers of clicks credited to each ranking."""
        if method == "balanced":
            return self._credits_of_balanced()
        teams = self.teams if self.teams is not None else self._teams()
        clicked = [teams[position - 1] for position in self.clicks]
        return clicked.count("a"), clicked.count("b")

    def _teams(self) -> list[str | None]:
        """Return the team of each position of a merged list; None where either ranking can have drafted it."""
        merged = self._merged("teams or merged")
        teams: list[str | None] = []
        while len(teams) < len(merged):
            start = len(teams)
            first = {team: _next_of(getattr(self, team), merged[:start]) for team in TEAMS}
            after = {team: _next_of(getattr(self, team), merged[: start + 1]) for team in TEAMS}
            pair = merged[start : start + 2]
            possible = [
                (one, other)
                for one, other in (TEAMS, TEAMS[::-1])
                if first[one] == pair[0] and (len(pair) == 1 or after[other] in (pair[1], None))
            ]
            if not possible:
                raise InputError(
                    f"{self.place}: merged holds {merged[start:]!r} from position {start + 1} on, which team drafting "
                    "of a and b cannot give; give the teams, or the method that was used"
                )
            teams += (list(possible[0]) if len(possible) == 1 else [None, None])[: len(pair)]
        return teams

    def _credits_of_balanced(self) -> tuple[int, int]:
        """Return the clicks on the top k of each ranking, k the depth at which one of them has the lowest click."""
        merged = self._merged("merged")
        if not self.clicks:
            return 0, 0
        lowest = merged[max(self.clicks) - 1]
        depths = [ranking.index(lowest) + 1 for ranking in (self.a, self.b) if lowest in ranking]
        if not depths:
            raise InputError(f"{self.place}: merged has {lowest!r} at position {max(self.clicks)}, in neither a nor b")
        clicked = {merged[position - 1] for position in self.clicks}
        ahead, behind = (len(clicked & set(ranking[: min(depths)])) for ranking in (self.a, self.b))
        return ahead, behind

    def _merged(self, needed: str) -> list[Any]:
        if self.merged is None:
            raise InputError(f"{self.place}: {needed} is missing; without it no click can be credited")
        return self.merged


def _records(impressions: Any) -> Iterator[tuple[str, Any]]:
    """Yield the impressions in a file of JSON lines, or in a sequence of dictionaries, with their places."""
    if not is_path(impressions):
        yield from ((f"impression {number}", record) for number, record in enumerate(impressions, 1))
        return
    name, data = content(impressions, "one impression a line")
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                yield f"{name}, line {number}", json.loads(line)
            except ValueError as error:
                raise InputError(f"{name}, line {number}: not valid JSON ({error}); one object a line") from error


def _impression(place: str, record: Any) -> Impression:
    if not isinstance(record, dict):
        raise InputError(f"{place}: a {type(record).__name__}, expected an object with a, b, teams or merged, clicks")
    lists = {name: _list(place, record, name) for name in ("a", "b", "merged", "teams", "clicks")}
    for name in ("a", "b", "clicks"):
        if lists[name] is None:
            raise InputError(f"{place}: {name} is missing; an impression has a, b, teams or merged, and clicks")
    teams = lists["teams"]
    wrong = [team for team in teams or [] if team not in (*TEAMS, None)]
    if wrong:
        raise InputError(f"{place}: teams holds {wrong[0]!r}; use a, b, or null for a position of neither")
    shown = lists["merged"] if lists["merged"] is not None else teams
    if shown is None:
        raise InputError(f"{place}: neither teams nor merged is there; give each position's team, or the list shown")
    if teams is not None and len(teams) != len(shown):
        raise InputError(f"{place}: {len(teams)} teams for {len(shown)} positions of merged; give one for each")
    clicks = lists["clicks"] or []
    for click in clicks:
        if isinstance(click, bool) or not isinstance(click, int) or not 1 <= click <= len(shown):
            raise InputError(
                f"{place}: a click on position {click!r}, but positions 1 to {len(shown)} were shown; positions count "
                "from 1: correct the click or the list"
            )
    weight = record.get("weight", record.get("impressions", 1))
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
        raise InputError(f"{place}: weight is {weight!r}; give the number of impressions, above 0")
    query = str(record.get("query", ""))
    return Impression(
        place, lists["a"] or [], lists["b"] or [], lists["merged"], teams, sorted(set(clicks)), query, weight
    )


def _list(place: str, record: Mapping[str, Any], name: str) -> list[Any] | None:
    value = record.get(name)
    if value is not None and not isinstance(value, (list, tuple)):
        raise InputError(f"{place}: {name} is {value!r}, not a list")
    return None if value is None else list(value)


def _next_of(ranking: Sequence[Any], taken: Sequence[Any]) -> Any:
    return next((document for document in ranking if document not in taken), None)


def preferences_from_interleaving(
    impressions: Any,
    judgements: JudgementsLike = None,
    *,
    method: str = "team-draft",
    depth: int | None = None,
    unjudged: str | int = "worst",
    missing: str = "error",
    n_grades: int | None = None,
    duplicates: Duplicates = "error",
    as_is: bool = False,
) -> Preferences:
    """Turn clicks on interleaved rankings into preferences between the two rankings.

    An impression is ``{"query": "q1", "a": [...], "b": [...], "teams": ["a", "b", "b"], "clicks": [1, 3]}``: the two
    rankings, best first, as grades or (with `judgements`) as names of documents, the team of each position that was
    shown, and the positions clicked, from 1. With ``merged``, the names of the documents shown, the teams of team
    drafting can be left out, as far as the list tells them; balanced interleaving needs ``merged`` and no teams.
    ``weight`` (or ``impressions``) counts a line several times.

    The winner of each impression has more credited clicks, the strength is the difference, and equal numbers are a tie.
    Impressions of the same rankings with the same result are one pair; its weight is their number. `dropped` counts
    those without a click, and those whose clicks are all on positions that either ranking can have given. Raises
    InputError if an impression is bad (it names line, value and remedy), or no click can be credited.

    Parameters
    ----------
    impressions : path or sequence of dict
        JSON lines, an impression a line; or the dictionaries.
    judgements, duplicates
        As in `read_judgements`.
    method : {"team-draft", "balanced"}
        How the rankings were interleaved. A click on a position of team drafting is credited to its team (Radlinski et
        al. 2008); in balanced interleaving, the clicks on the top k of each ranking are compared, where k is the depth
        at which the first of them has the lowest click (Joachims 2002).
    depth, unjudged, missing, n_grades
        As in `join_judgements`.
    as_is
        As in `read_preferences`.

    See Also
    --------
    simulate.click_log : Impressions of simulated users.

    Examples
    --------
    >>> shown = {"a": [2, 0, 1], "b": [0, 1, 2], "teams": ["a", "b", "a"]}
    >>> log = preferences_from_interleaving([{**shown, "clicks": clicks} for clicks in ([1], [3, 1], [])])
    >>> log.preferred.tolist(), log.strength.tolist(), log.dropped
    ([[2, 0, 1], [2, 0, 1]], [1.0, 2.0], {'impressions without a click': 1})
    """
    joining = Joining(depth, unjudged, missing, n_grades)
    pairs, dropped = _credited(impressions, method)
    weight = np.array(list(pairs.values()))
    query = np.array([key[0] for key in pairs], dtype=object)
    difference = np.array([key[3] for key in pairs])
    kept, counted, docs = np.ones(len(pairs), bool), {}, None
    if judgements is None:
        a, b = (_grades(pairs, side, joining) for side in (1, 2))
    else:
        docs = np.array([["\t".join(map(str, key[side])) for side in (1, 2)] for key in pairs], dtype=object)
        judged = read_judgements(judgements, duplicates)
        joined = joined_lists(query, docs, judged, joining, lambda i: f"impressions of {query[i] or 'a query'}")
        (a, b), kept, n_grades, counted = joined.lists, joined.kept, joined.n_grades, joined.counted
        dropped |= joined.dropped
    difference, swap = difference[kept], (difference[kept] < 0)[:, None]
    log = Preferences(
        np.where(swap, b, a),
        np.where(swap, a, b),
        n_grades=n_grades,
        weight=None if (weight == 1).all() else weight[kept],
        tie=difference == 0 if (difference == 0).any() else None,
        strength=np.maximum(np.abs(difference), 1.0),
        query=query[kept] if query.any() else None,
        docs=None if docs is None else np.where(swap, docs[kept][:, ::-1], docs[kept]),
    )
    log = log.changed(dropped=dropped, counted=counted, as_is=as_is)
    if not as_is:
        check_sense(log)
    return log


def _credited(impressions: Any, method: str) -> tuple[dict[tuple[Any, ...], float], dict[str, int]]:
    """Return (query, a, b, difference of credited clicks) with their weights, and the weights of what is left out."""
    one_of(method, "method", ("team-draft", "balanced"))
    pairs: dict[tuple[Any, ...], float] = {}
    silent = uncredited = 0.0
    for place, record in _records(impressions):
        impression = _impression(place, record)
        ahead, behind = impression.credits(method)
        if not impression.clicks:
            silent += impression.weight
        elif not ahead + behind:
            uncredited += impression.weight
        else:
            key = (impression.query, tuple(impression.a), tuple(impression.b), ahead - behind)
            pairs[key] = pairs.get(key, 0.0) + impression.weight
    if not pairs:
        raise InputError("no impression has a click that can be credited to one ranking, so nothing is preferred")
    counts = {"impressions without a click": silent, "impressions whose clicks belong to either ranking": uncredited}
    return pairs, {reason: round(count) for reason, count in counts.items() if count}


def _grades(pairs: Mapping[tuple[Any, ...], float], side: int, joining: Joining) -> Grades:
    """Return the rankings of one side as grades, shape (n, K), shorter ones filled with -1."""
    rankings = [key[side] for key in pairs]
    named = next((grade for ranking in rankings for grade in ranking if isinstance(grade, str)), None)
    if named is not None:
        raise InputError(f"{' ab'[side]} holds {named!r}, which is no grade; give the documents' judgements (--qrels)")
    depth = joining.depth or max(len(key[i]) for key in pairs for i in (1, 2))
    lists = [[*ranking[:depth], *[EMPTY] * (depth - len(ranking))] for ranking in rankings]
    return graded_lists(lists, " ab"[side], empty=True)
