"""Events of OpenSearch's UBI: searches of known clicks as preferences, faults, simulated users."""

import json

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.simulate.clicks import ClickModel, click_log
from tests.makers import refused, write_lines

RATINGS = {"ink": {"i1": 100, "i2": 10, "i3": 0}, "toner": {"t1": 0, "t2": 1, "t3": 100}}


def event(action, search, document, position, team, **others):
    """An event as Chorus, OpenSearch's demonstration, stores it."""
    thing = {"object_id": document, "object_id_field": "sku", "description": document}
    if team is not None:
        thing["search_config"] = team
    attributes = {"object": thing, "position": {"ordinal": position}}
    head = {"application": "shop", "action_name": action, "query_id": search, "client_id": "c"}
    return {**head, "timestamp": "2026-07-01T12:00:00Z", "event_attributes": attributes} | others


def impressions(search, *shown, first=0, **others):
    """Impressions of ``document/team`` from the top."""
    for place, words in enumerate(shown, first):
        document, _, team = words.partition("/")
        yield event("impression", search, document, place, team or None, **others)


def query(search, text):
    return {"application": "shop", "query_id": search, "user_query": text, "query_attributes": {}}


def workbench(ratings):
    """Judgements as the Search Relevance Workbench exports them."""
    lists = [
        {"query": text, "ratings": [{"docId": d, "rating": f"{r:.3f}"} for d, r in rated.items()]}
        for text, rated in ratings.items()
    ]
    return {"name": "by hand", "type": "IMPORT_JUDGMENT", "judgmentRatings": lists}


EVENTS = [
    query("s1", "ink"),
    *impressions("s1", "i1/lexical", "i2/neural", "i3/neural"),
    event("click", "s1", "i2", 1, "neural"),
    event("click", "s1", "i3", 2, "neural"),
    event("click", "s1", "i3", 2, "neural"),
    # a tie: one click each; the second impression of i1 is the same as the first
    query("s2", "ink"),
    *impressions("s2", "i2/neural", "i1/lexical"),
    event("impression", "s2", "i1", 1, "lexical"),
    event("click", "s2", "i2", 0, "neural"),
    event("click", "s2", "i1", 1, "lexical"),
    # a click without position and team; t2 is an advertisement, of neither ranking
    query("s3", "toner"),
    *impressions("s3", "t1/lexical", "t2", "t3/neural"),
    event("click", "s3", "t3", None, None),
    # nothing is clicked, or only what neither ranking gave
    query("s4", "toner"),
    *impressions("s4", "t1/lexical", "t3/neural"),
    query("s5", "toner"),
    *impressions("s5", "t1/lexical", "t2", "t3/neural"),
    event("click", "s5", "t2", 1, None),
    # no test
    *impressions("s6", "i1", "i2", user_query="ink"),
    *impressions("s7", "i1/lexical", "i2/lexical", user_query="ink"),
    event("click", None, "i1", 0, "lexical"),
    event("global_click", "s1", None, 0, None),
    event("click", "s1", None, 0, None),
    event("add_to_cart", "s1", "i1", 0, "lexical"),
]
"""Searches by hand."""

PREFERENCES = [
    # query, preferred, other, strength
    ("ink", [-2, 2, 0], [3, -2, -2], 2.0),
    ("ink", [-2, 3, -2], [2, -2, -2], 0.0),
    ("toner", [-2, -2, 3], [0, -2, -2], 1.0),
]
"""Their preferences, written down first: i1 is 3 (of 100), i2 2 (of 10), t2 1 and the rest 0."""

DROPPED = {
    "searches without a click": 1,
    "searches whose clicks belong to either ranking": 1,
    "searches that were not interleaved": 1,
    "searches that show one ranking alone": 1,
    "events without a query_id": 1,
    "clicks without an object_id": 1,
    "events of other actions": 2,
}


@pytest.fixture
def judgements(tmp_path):
    path = tmp_path / "judgments.json"
    path.write_text(json.dumps(workbench(RATINGS)))
    return path


def as_rows(log):
    strength = np.where(log.tie, 0, log.strength)
    rows = zip(log.query, log.preferred.tolist(), log.other.tolist(), strength, strict=True)
    return [(str(text), a, b, float(s)) for text, a, b, s in rows]


def bulk(record):
    index = "ubi_events" if "action_name" in record else "ubi_queries"
    return [{"index": {"_index": index, "_id": "x"}}, record]


FORMS = {
    "plain": lambda record: [record],
    "bulk": bulk,
    "dump": lambda record: [{"_index": "ubi_events", "_id": "x", "_source": record}],
}


@pytest.mark.parametrize("form", FORMS)
def test_searches_become_the_preferences_written_down(tmp_path, judgements, form):
    lines = [line for record in EVENTS for line in FORMS[form](record)]
    log = dl.io.preferences_from_ubi(write_lines(tmp_path / "events.ndjson", lines), judgements)
    assert as_rows(log) == PREFERENCES
    assert log.n_grades == 4 and log.dropped == DROPPED
    assert log.counted == {"documents": 7, "documents without a judgement": 0}
    assert log.docs[0].tolist() == ["\ti2\ti3", "i1\t\t"]


def test_convert_writes_them(dcglearn, here, judgements):
    queries = [record for record in EVENTS if "action_name" not in record]
    write_lines(here / "queries.ndjson", queries)
    write_lines(here / "events.ndjson", [one for one in EVENTS if one not in queries])
    files = ["events.ndjson", "queries.ndjson", "--qrels", str(judgements)]
    status, _, words = dcglearn("convert", "--ubi", *files, "-o", "log.jsonl")
    assert status == 0 and "left out: 1 search without a click" in words
    assert as_rows(dl.read_preferences(here / "log.jsonl")) == PREFERENCES
    cart = [*files, "--action", "add_to_cart", "-o", "cart.jsonl"]
    assert dcglearn("convert", "--ubi", *cart)[0] == 0
    log = dl.read_preferences(here / "cart.jsonl")
    assert log.preferred.tolist() == [[3, -2, -2]] and log.other.tolist() == [[-2, 2, 0]]


def test_a_table_of_events_and_positions_from_one(tmp_path, judgements):
    names = ["action_name,query_id,user_query,event_attributes.object.object_id"]
    names += ["event_attributes.position.ordinal,event_attributes.search_configuration"]
    lines = ["impression,9,ink,i3,1,u-2", "impression,9,ink,i1,2,u-1", "Click,9,ink,i1,2,u-1"]
    path = tmp_path / "events.csv"
    path.write_text("\n".join([",".join(names), *lines]))
    log = dl.io.preferences_from_ubi(path, judgements)
    assert as_rows(log) == [("ink", [-2, 3], [0, -2], 1.0)]


def test_each_application_counts_positions_in_its_own_way(judgements):
    one = impressions("o", "i1/x", "i2/y", first=1, application="new", user_query="ink")
    lines = [*EVENTS, *one, event("click", "o", "i1", 1, "x", application="new")]
    log = dl.io.preferences_from_ubi(lines, judgements)
    assert as_rows(log)[3] == ("ink", [3, -2, -2], [-2, 2, -2], 1.0)


SHOWN = [query("s", "ink"), *impressions("s", "i1/x", "i2/y", "i3/x")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            [event("click", "s", "i9", 1, "y")],
            "line 1: in the search that begins here, line 5 is a click on 'i9', which no impres",
        ),
        (
            [
                query("t", "ink"),
                event("click", "t", "i1", 0, "x"),
                event("click", "t", "i2", 1, "y"),
            ],
            "line 5: in the search that begins here, line 6 is a click on 'i1', which no ",
        ),
        (
            [query("t", "ink"), event("click", "t", "i1", 0, "x")],
            "line 5: in the search that begins here, line 6 is a click on 'i1', which no ",
        ),
        (
            [event("click", "s", "i1", 0, "y")],
            "'i1' has the search_config 'x' on line 2 and 'y' on",
        ),
        ([event("impression", "s", "i1", 0, "y")], "search_config 'x' on line 2 and 'y' on line 5"),
        ([event("impression", "s", "i1", 3, "x")], "position.ordinal 0 on line 2 and 3 on line 5"),
        ([event("impression", "s", "i4", 2, "x")], "position 2 holds 'i3' on line 4 and 'i4' on"),
        ([event("impression", "s", "i4", 3, "z")], "the search shows 3 rankings, 'x', 'y', 'z'"),
        ([event("impression", "s", "i4", -1, "x")], "line 5: .*ordinal is -1; it counts"),
        ([event("impression", "s", "i4", None, "x")], "line 5: .*ordinal is None; it counts"),
        ([event("impression", "s", "i4", 10**6, "x")], "ordinal is 1000000; it counts"),
        ([event("impression", "s", None, 3, "x")], "line 5: an impression without .*object_id"),
        ([event("impression", "s", "", 3, "x")], "line 5: an impression without .*object_id"),
        ([query("s", "paper")], "the user_query 'ink' on line 1 and 'paper' on line 5"),
        (
            list(impressions("t", "i1/x", "i2/y")),
            "line 5: in the search that begins here, no line has the user_query",
        ),
        (["{]"], "line 5: not valid JSON"),
    ],
)
def test_a_bad_search_is_named_or_set_aside(tmp_path, judgements, more, message):
    good = [*SHOWN, event("click", "s", "i1", 0, "x")]
    lines = SHOWN + more
    path = tmp_path / "events.ndjson"
    text = "".join((one if one == "{]" else json.dumps(one)) + "\n" for one in lines)
    path.write_text(text)
    refused(
        rf"events.ndjson, {message}" if message[:4] == "line" else message,
        dl.io.preferences_from_ubi,
        path,
        judgements,
    )

    # beside a good search
    other = [json.dumps(one).replace('"s"', '"good"') for one in good]
    path.write_text(text + "\n".join(other))
    aside = tmp_path / "bad.ndjson"
    log = dl.io.preferences_from_ubi(path, judgements, skip_bad=aside)
    assert as_rows(log)[-1] == ("ink", [3, -2, 0], [-2, 2, -2], 1.0)
    bad = aside.read_text().splitlines()
    assert log.dropped["bad lines"] == 1 and {*bad} <= {*text.splitlines()} and bad


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"a": 1}], "no line is an impression or a click of UBI"),
        (list(impressions("s", "i1", user_query="ink")), "no event tells which ranking"),
        (list(impressions("s", "i1/x", user_query="ink")), "no search shows two rankings"),
        (SHOWN, "no impression has a click"),
    ],
)
def test_events_of_no_test_are_refused(judgements, lines, message):
    refused(message, dl.io.preferences_from_ubi, lines, judgements)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ubi"], "--ubi needs --qrels FILE"),
        (["--ubi", "--qrels", "q.txt", "--interleaving", "balanced"], "--ubi needs --qrels FILE"),
        (["--action", "buy"], "--action buy goes with --ubi"),
        (["--ubi", "--ratings"], "--ubi is for pairs"),
    ],
)
def test_options_that_do_not_fit_are_refused(misuse, here, options, message):
    write_lines(here / "events.ndjson", EVENTS)
    (here / "q.txt").write_text("ink 0 i1 1\n")
    misuse(message, "convert", "events.ndjson", *options)


def ubi_lines(shown):
    """The events of simulated impressions."""
    for number, one in enumerate(shown):
        search = {"search": f"s{number}", "user_query": one["query"]}
        places = list(zip(one["merged"], range(99), one["teams"], strict=False))
        for document, place, team in places:
            yield event("impression", document=document, position=place, team=team, **search)
        for click in one["clicks"]:
            document, place, team = places[click - 1]
            yield event("click", document=document, position=place, team=team, **search)


def test_gains_and_discounts_of_known_users_are_learned_at_the_places_they_saw():
    attraction, examination = [0.1, 0.3, 0.6, 0.9], [1, 0.8, 0.7, 0.35, 0.3, 0.25, 0.2, 0.1]
    shown, judged = click_log(
        ClickModel(attraction, examination), 6_000, spread=3, n_documents=12, random_state=0
    )
    log = dl.io.preferences_from_ubi(list(ubi_lines(shown)), judged)
    full = dl.io.preferences_from_interleaving(shown, judged)
    assert log.dropped == {"searches without a click": full.dropped["impressions without a click"]}

    # the curve of the places, to the last one, where whole rankings make it too steep
    def error(preferences):
        learned = dl.DCGLearner(zero="none").fit(preferences).dcg_
        return np.abs(learned.discounts / learned.discounts[0] - examination).max()

    assert error(log) < 0.15
    assert error(full) > 2 * error(log)
