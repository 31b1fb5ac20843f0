"""Events of OpenSearch's User Behavior Insights (UBI) as impressions of two interleaved rankings.

Fields are those of the schema's version 1.3: https://docs.opensearch.org/latest/search-plugins/ubi/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Unpack

from dcglearn.evaluation.tables import JudgementsLike
from dcglearn.evaluation.trec import Duplicates
from dcglearn.foundation.plain_text import names_in
from dcglearn.foundation.signatures import spelled_out
from dcglearn.foundation.validation import InputError, PathLike, errors_in
from dcglearn.joins.interleaving import preferences_from_interleaving
from dcglearn.readers.cell_values import shown
from dcglearn.readers.column_roles import Record, Role, Roles
from dcglearn.readers.line_formats import Reshaped, Source
from dcglearn.readers.mapping import LogMapping, ReadingOptions
from dcglearn.readers.openers import opener_of
from dcglearn.readers.preferences import Preferences

OBJECT, POSITION = "event_attributes.object", "event_attributes.position"

PLACES = {
    "action": "action_name",
    "search": "query_id",
    "query": "user_query",
    "application": "application",
    "document": f"{OBJECT}.object_id",
    "position": f"{POSITION}.ordinal",
    "team": ",".join(
        f"{place}{name}"
        for name in ("search_config", "search_configuration", "_search_configuration")
        for place in (f"{OBJECT}.", "event_attributes.", "")
    ),
    "bulk": "index,create",
}
"""The fields of events and queries that are read; the team is the ranking of its document."""


def _fields(inside: str) -> Roles:
    """Return the roles of the fields, whose names begin with the path `inside`."""
    return {
        role: Role("identity", tuple(f"{inside}{name}" for name in names_in(names)))
        for role, names in PLACES.items()
    }


class Event(NamedTuple):
    """An impression of a document, or a click on it; `line` is where it stands, for messages."""

    line: str
    document: str
    position: int | None
    team: str | None


@dataclass
class Search:
    """A search (one `query_id`): its lines, the texts of its query, impressions and clicks."""

    numbers: list[Any] = field(default_factory=list)
    queries: dict[str, str] = field(default_factory=dict)
    applications: set[str] = field(default_factory=set)
    impressions: list[Event] = field(default_factory=list)
    clicks: list[Event] = field(default_factory=list)

    @property
    def teams(self) -> list[str]:
        """The names of its rankings, in alphabetical order."""
        return sorted({event.team for event in self.impressions + self.clicks if event.team})

    def impression(self, first: int) -> Record:
        """Return what was shown and clicked, with positions that count from `first` at the top.

        A document stands in its ranking's list where users saw it; all other positions of the list
        are empty. Raises InputError if the events contradict each other.
        """
        # every document has one position and one team
        places: dict[str, Event] = {}
        documents: dict[int | None, Event] = {}
        for event in self.impressions:
            earlier = places.setdefault(event.document, event)
            _refuse_another(earlier, event)
            above = documents.setdefault(event.position, event)
            if above.document != event.document:
                raise InputError(
                    f"position {event.position} holds {above.document!r} on {above.line} and "
                    f"{event.document!r} on {event.line}; give each search its own query_id"
                )

        # clicks on these documents
        clicked = []
        for click in self.clicks:
            if click.document not in places:
                raise InputError(
                    f"{click.line} is a click on {click.document!r}, which no impression of the "
                    "search shows; log an impression for each document shown, with its position "
                    "and its search_config"
                )
            _refuse_another(places[click.document], click)
            clicked.append(places[click.document])

        # two rankings, one text of the query
        if len(self.teams) > 2:
            names = ", ".join(map(repr, self.teams))
            raise InputError(f"the search shows {len(self.teams)} rankings, {names}; convert two")
        if len(self.queries) != 1:
            raise InputError(self._without_query())
        return self._lists(places, clicked, first)

    def _lists(self, places: dict[str, Event], clicked: list[Event], first: int) -> Record:
        """Return the impression of valid events."""
        positions = {name: (event.position or 0) - first for name, event in places.items()}
        n = max(positions.values()) + 1
        rankings = {team: [""] * n for team in self.teams}
        teams: list[str | None] = [None] * n
        for name, event in places.items():
            if event.team:
                rankings[event.team][positions[name]] = name
                teams[positions[name]] = "ab"[self.teams.index(event.team)]

        a, b = rankings.values()
        clicks = [positions[click.document] + 1 for click in clicked]
        (query,) = self.queries
        return {"query": query, "a": a, "b": b, "teams": teams, "clicks": clicks}

    def _without_query(self) -> str:
        if not self.queries:
            return (
                "no line has the user_query of this query_id; give the records of ubi_queries "
                "beside those of ubi_events (dcglearn convert --ubi events.ndjson queries.ndjson)"
            )
        (one, line), (other, another), *_ = self.queries.items()
        return (
            f"the query_id has the user_query {shown(one)} on {line} and {shown(other)} on "
            f"{another}; give each search its own query_id"
        )


def _refuse_another(impression: Event, event: Event) -> None:
    """Raise InputError if an event tells another team or position than an impression."""
    for name, said in (("team", "search_config"), ("position", "position.ordinal")):
        one, other = getattr(impression, name), getattr(event, name)
        if other not in (None, one):
            raise InputError(
                f"{event.document!r} has the {said} {shown(one)} on {impression.line} and "
                f"{shown(other)} on {event.line}; a document shown has one, so correct it, or "
                "give each search its own query_id"
            )


class Searches(Reshaped):
    """The interleaved searches in the events of UBI, as impressions; a bad line is one of its own.

    `left_out` counts what no test is made of.
    """

    def __init__(self, rows: Source, roles: Roles, action: str) -> None:
        super().__init__(rows, roles)
        self._kinds = {"impression": "impressions", action.lower(): "clicks"}
        self.left_out: Counter[str] = Counter()

    @cached_property
    def _searches(self) -> list[tuple[Any, Search | InputError]]:
        """Every interleaved search and every bad line, with its number."""
        searches: dict[str, Search] = {}
        bad: list[tuple[Any, Search | InputError]] = []
        self._from_zero: set[str] = set()
        n_events = 0
        for number, item in self._rows:
            try:
                record = self._rows.values(item)
                n_events += self._add(number, record, searches)
            except InputError as error:
                bad.append((number, error))

        # those that show two rankings, or clicks alone, which are refused
        tested: list[tuple[Any, Search | InputError]] = []
        n_alone = 0
        for search in searches.values():
            alone = bool(search.impressions) and len(search.teams) == 1
            if search.teams and not alone:
                tested.append((search.numbers[0], search))
            elif search.impressions or search.clicks:
                what = "that show one ranking alone" if alone else "that were not interleaved"
                self.left_out[f"searches {what}"] += 1
                n_alone += alone
        if not tested and not bad:
            raise InputError(_nothing(n_events, n_alone))
        return tested + bad

    def _add(self, number: Any, record: Record, searches: dict[str, Search]) -> bool:
        """Add a line to its search; return whether it is an event that counts."""
        # lines that are no event that counts
        action = record.get("action")
        if record.get("bulk") is not None and action is None:
            return False
        kind = self._kinds.get(str(action).lower())
        if action is not None and kind is None:
            self.left_out["events of other actions"] += 1
            return False
        texts = {role: "" if value is None else str(value) for role, value in record.items()}
        if not texts.get("search"):
            what = "lines that are no events" if action is None else "events without a query_id"
            self.left_out[what] += 1
            return False

        # the search
        line = f"{self.unit} {number}"
        search = searches.setdefault(texts["search"], Search())
        search.numbers.append(number)
        if texts.get("query"):
            search.queries.setdefault(texts["query"], line)
        if kind is None:
            return False

        # its impression or click
        document = texts.get("document", "")
        if not document and kind == "clicks":
            self.left_out["clicks without an object_id"] += 1
            return False
        if not document:
            raise InputError(f"an impression without {OBJECT}.object_id; name the document")
        position = _position(record.get("position"), kind)
        application = texts.get("application", "")
        search.applications.add(application)
        if position == 0:
            self._from_zero.add(application)
        getattr(search, kind).append(Event(line, document, position, texts.get("team") or None))
        return True

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((number, (number, search)) for number, search in self._searches)

    def record(self, item: tuple[Any, Search | InputError]) -> Record:
        """Return a search as an impression of two rankings."""
        search = item[1]
        if isinstance(search, InputError):
            raise search
        try:
            return search.impression(0 if search.applications & self._from_zero else 1)
        except InputError as error:
            raise error.told("in the search that begins here, ") from None

    def raw(self, item: tuple[Any, Search | InputError]) -> bytes:
        """Return the lines of a search."""
        number, search = item
        numbers = search.numbers if isinstance(search, Search) else [number]
        return b"\n".join(self._rows.raw(self._items[number]) for number in numbers)

    @cached_property
    def _items(self) -> dict[Any, Any]:
        return dict(iter(self._rows))

    def has(self, role: str) -> bool:
        """Return whether impressions have a role."""
        return role in ("query", "a", "b", "teams", "clicks")


def _position(value: Any, kind: str) -> int | None:
    """Return a place, None for a click without one; raise InputError for others."""
    if value is None and kind == "clicks":
        return None
    text, most = str(value), 10_000
    if not text.isdecimal() or int(text) > most:
        raise InputError(
            f"{POSITION}.ordinal is {shown(value)}; it counts the places of the list from its top, "
            f"0 or 1, up to {most:,}"
        )
    return int(text)


def _nothing(n_events: int, n_alone: int) -> str:
    """Return why events tell of no interleaved search."""
    names = f"{OBJECT}.search_config"
    if not n_events:
        return (
            "no line is an impression or a click of UBI (action_name, query_id, event_attributes); "
            "give the documents of ubi_events, one a line"
        )
    if n_alone:
        return f"no search shows two rankings; every event of a search has the same {names}"
    return (
        f"no event tells which ranking its document is from; write the name of the search "
        f"configuration into {names} of impressions and clicks"
    )


@spelled_out(ReadingOptions)
def preferences_from_ubi(
    events: Any,
    judgements: JudgementsLike,
    *,
    action: str = "click",
    unjudged: str | int = "worst",
    missing: str = "error",
    n_grades: int | None = None,
    duplicates: Duplicates = "error",
    skip_bad: PathLike | None = None,
    **options: Unpack[ReadingOptions],
) -> Preferences:
    """Turn UBI events of a team-draft test into preferences between its two rankings.

    OpenSearch stores an event for each document that a user sees (``"action_name": "impression"``)
    and for each click, in the index ``ubi_events``. In a test by team drafting, the events name the
    search configuration that a document is from, in ``event_attributes.object.search_config`` or
    ``search_configuration``. Each search (`query_id`) becomes one comparison, by the rules of
    `preferences_from_interleaving`; a is the configuration whose name comes first in the alphabet.

    The lists hold the grades of a ranking's documents at the positions where users saw them, and no
    result at the other ranking's positions, so that discounts are learned for positions of the
    screen. `dropped` counts searches without a click, or with one ranking, or of no test, and
    events of other actions or without a `query_id`. Raises InputError (it names line, value and
    remedy) for a click on a document without an impression, a document with two configurations or
    positions, a position with two documents, a search of three configurations or without the text
    of its query.

    Parameters
    ----------
    events : path, several paths, data frame or sequence of dict
        The documents of ``ubi_events``, one a line: plain, a file for the bulk API, or a dump with
        ``_source``. Where events lack `user_query`, give those of ``ubi_queries`` too, in the same
        file or another.
    judgements, duplicates
        As in `read_judgements`; queries are texts (`user_query`), documents the `object_id`.
    action : str
        The action that is credited, such as "add_to_cart".
    unjudged, missing, n_grades
        As in `join_judgements`.
    skip_bad, **options
        As in `preferences_from_interleaving`; all lines of a bad search are set aside.

    See Also
    --------
    io.preferences_from_interleaving : Impressions of other systems.

    Examples
    --------
    >>> def event(action, document, position, team):
    ...     shown = {"object_id": document, "search_config": team}
    ...     attributes = {"object": shown, "position": {"ordinal": position}}
    ...     search = {"query_id": "1", "user_query": "ink"}
    ...     return {"action_name": action, **search, "event_attributes": attributes}
    >>> places = (("d1", 0, "lexical"), ("d2", 1, "neural"), ("d3", 2, "neural"))
    >>> events = [event("impression", *place) for place in places]
    >>> events.append(event("click", "d3", 2, "neural"))
    >>> judgements = {"ink": {"d1": 0, "d2": 1, "d3": 2}}
    >>> log = dl.io.preferences_from_ubi(events, judgements)
    >>> log.preferred.tolist(), log.other.tolist()  # -2: no result
    ([[-2, 1, 2]], [[0, -2, -2]])
    """
    # events, those of a dump inside _source
    mapping = LogMapping.of(n_grades, **options)
    mapping.refuse(["columns"], "does not go with UBI, which names its fields: leave it out")
    name, open_with = opener_of(events, _fields(""), mapping)
    with errors_in(name):
        dumped = "_source" in open_with({}).names
        rows = open_with(_fields("_source." if dumped else ""))
    searches = Searches(rows, {}, action)

    def opened(roles: Roles) -> Source:
        searches.roles = roles
        return searches

    # as impressions, and what was left out
    log = preferences_from_interleaving(
        (name, opened),
        judgements,
        unjudged=unjudged,
        missing=missing,
        duplicates=duplicates,
        skip_bad=skip_bad,
        mapping=mapping,
    )
    own = {what.replace("impressions w", "searches w"): n for what, n in log.dropped.items()}
    return log.changed(dropped={**searches.left_out, **own})
