"""Clicks on interleaved rankings: credits, clicks without credit, bad lines, simulated users."""

import json

import numpy as np
import pytest

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.foundation.validation import InputError
from dcglearn.joins.interleaving import Impression, preferences_from_interleaving
from dcglearn.joins.ubi_events import preferences_from_ubi
from dcglearn.simulate.clicks import ClickModel, click_log
from tests.makers import refused, write_lines

A, B = ["d1", "d2", "d3", "d4"], ["d2", "d5", "d1", "d6"]
GRADES = {"q": {"d1": 2, "d2": 0, "d3": 1, "d4": 0, "d5": 2, "d6": 1}}


def impression(**values):
    return {
        "query": "q",
        "a": A,
        "b": B,
        "merged": ["d1", "d2", "d3", "d5"],
        "clicks": [1],
    } | values


def credits(method, **values):
    record = {"teams": None} | impression(**values)
    del record["query"]
    return Impression(**record).credits(method)


def test_team_drafting_credits_the_team_of_a_click():
    assert credits("team-draft", teams=["a", "b", "b", "a"], clicks=[1, 2, 3]) == (1, 2)
    # d1, then d2: a went first (had b, d2 would stand first); then d3 is a's and d5 is b's.
    assert credits("team-draft", clicks=[1, 3]) == (2, 0)
    assert credits("team-draft", clicks=[2, 4]) == (0, 2)


def test_documents_that_either_ranking_can_have_drafted_are_credited_to_neither():
    same = {"a": ["x", "y", "z"], "b": ["x", "y", "w"], "merged": ["x", "y", "w", "z"]}
    assert credits("team-draft", **same, clicks=[1, 2]) == (0, 0)
    assert credits("team-draft", **same, clicks=[1, 3]) == (0, 1)
    refused(
        "which team drafting of a and b cannot give",
        credits,
        "team-draft",
        merged=["d5", "d1"],
        clicks=[1],
    )


@pytest.mark.parametrize("depth", [7, 8])
def test_the_teams_of_simulated_drafts_are_found_where_the_list_tells_them(depth):
    impressions, _ = click_log(
        ClickModel(np.full(3, 0.5), np.ones(depth)), 200, n_documents=12, random_state=0
    )
    told = 0
    for record in impressions:
        lists = {name: record[name] for name in ("a", "b", "merged", "clicks")}
        teams = Impression(teams=None, **lists)._teams()
        told += sum(team is not None for team in teams)
        assert all(team in (None, true) for team, true in zip(teams, record["teams"], strict=True))
    assert told > 0.8 * depth * len(impressions)


def test_balanced_interleaving_compares_clicks_above_one_depth():
    # Joachims 2002, section 3: the lowest click is on d3, which a has third and b has not: the top
    # 3 of each.
    assert credits("balanced", merged=["d1", "d2", "d5", "d3"], clicks=[1, 4]) == (2, 1)
    assert credits("balanced", merged=["d1", "d2", "d5", "d3"], clicks=[2]) == (
        0,
        1,
    )  # d2: b's first
    refused("in neither a nor b", credits, "balanced", merged=["d9"], clicks=[1])
    refused("merged is missing", credits, "balanced", merged=None, teams=["a"], clicks=[1])


def test_impressions_become_preferences(tmp_path):
    lines = [impression(clicks=c) for c in ([1], [1], [1, 3], [2], [1, 2], [])]
    log = preferences_from_interleaving(write_lines(tmp_path / "clicks.jsonl", lines), GRADES)
    assert log.preferred.tolist() == [[2, 0, 1, 0], [2, 0, 1, 0], [0, 2, 2, 1], [2, 0, 1, 0]]
    assert log.weight.tolist() == [2, 1, 1, 1] and log.strength.tolist() == [1, 2, 1, 1]
    assert log.tie.tolist() == [False, False, False, True]
    assert log.dropped == {"impressions without a click": 1}
    assert log.counted == {"documents": 32, "documents without a judgement": 0}
    assert log.docs[2].tolist() == ["\t".join(B), "\t".join(A)]
    graded = [{"a": [2, 0], "b": [0, 2], "teams": ["a", "b"], "clicks": [2], "impressions": 5}]
    log = preferences_from_interleaving(graded, depth=3)
    assert (
        log.preferred.tolist() == [[0, 2, -2]] and log.weight.tolist() == [5] and log.query is None
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clicks": [5]}, "a click on position 5, but positions 1 to 4 were shown"),
        ({"clicks": [0]}, "a click on position 0, but"),
        ({"clicks": ["d1"]}, "a click on position 'd1', but"),
        ({"clicks": None}, "clicks is missing"),
        ({"clicks": 3}, "clicks is 3, not a list"),
        ({"merged": None}, "neither teams nor merged is there"),
        ({"teams": ["a", "c", "a", "b"]}, "teams holds 'c'; use a, b"),
        ({"teams": ["a"]}, "1 teams for 4 positions"),
        ({"weight": 0}, "weight is 0; it must be positive"),
    ],
)
def test_a_bad_impression_is_named(tmp_path, wrong, message):
    path = tmp_path / "clicks.jsonl"
    path.write_text(json.dumps(impression()) + "\n\n" + json.dumps(impression(**wrong)) + "\n")
    refused(f"clicks.jsonl, line 3: {message}", preferences_from_interleaving, path, GRADES)


def test_what_has_no_preference_is_refused(tmp_path):
    refused(
        "no impression has a click", preferences_from_interleaving, [impression(clicks=[])], GRADES
    )
    with pytest.raises(InputError, match="method='tdi': give one of team-draft, balanced"):
        preferences_from_interleaving([impression()], GRADES, method="tdi")
    no_grade = "a holds 'd1', which is no grade; for names of documents, give judgements"
    refused(f"records, record 1: {no_grade}", preferences_from_interleaving, [impression()])
    (tmp_path / "x.jsonl").write_text("{]\n")
    refused(r"x.jsonl, line 1: not valid JSON", preferences_from_interleaving, tmp_path / "x.jsonl")
    refused(
        "a value of type list is not a log: give a path, a data frame, or a list",
        preferences_from_interleaving,
        [1],
    )
    refused(
        "records, record 2: 1 is not an object",
        preferences_from_interleaving,
        [impression(), 1],
        GRADES,
    )


def test_expected_clicks_of_a_user_who_stops():
    user = ClickModel([0.2, 0.6], [1.0, 0.5], stop=0.5)
    # By hand: the first document is clicked with .6, then half stop; the second with .5 * .2 by
    # those who go on.
    assert user.expected_clicks([1, 0])[0] == pytest.approx(0.6 + (1 - 0.3) * 0.1)
    rng = np.random.default_rng(0)
    drawn = np.mean([len(user.clicks([1, 0], rng)) for _ in range(20_000)])
    assert drawn == pytest.approx(0.67, abs=0.015)
    refused(r"attraction holds 1\.5; give probabilities", ClickModel, [1.5], [1.0])


def test_the_top_of_a_known_dcg_is_learned_from_clicks():
    attraction, examination = np.array([0.05, 0.3, 0.9]), 1 / np.log2(np.arange(8) + 2)
    clicks = click_log(ClickModel(attraction, examination), 2500, spread=3.0, random_state=1)
    log = preferences_from_interleaving(*clicks, depth=4)
    dcg = DCGLearner(n_starts=1).fit(log).dcg_
    assert dcg.gains[1] == pytest.approx(0.25 / 0.85, abs=0.12)
    assert np.abs(dcg.discounts - examination[:4]).max() < 0.2


@pytest.mark.parametrize(
    ("cells", "options", "a"),
    [
        ("1 3 2,3 1 2", {"best_grade": 1}, [2, 0, 1]),
        ("Good Bad,Bad Good", {"scale": "Bad,Good"}, [1, 0]),
        (".1 .3 .9,.3 .1 .2", {"cutoffs": ".2,.5"}, [0, 1, 2]),
        (".1 .3 .9,.3 .1 .2", {"cutoffs": 2}, [0, 1, 1]),
    ],
)
def test_impressions_are_read_by_the_options(tmp_path, cells, options, a):
    path = tmp_path / "clicks.csv"
    path.write_text(f"Report of May\na,b,teams,clicks\n{cells},a b,1\n")
    log = preferences_from_interleaving(path, header=2, as_is=True, **options)
    assert log.preferred.tolist() == [a]


OWN = {"q": "q", "Links": ["d1", "d2"], "b": ["d2", "d1"], "teams": ["a", "b"], "Klicks": [1]}


def test_columns_of_impressions_may_have_own_names(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps(OWN) + "\n")
    columns = {"query": "q", "a": "Links", "clicks": "Klicks"}
    log = preferences_from_interleaving(path, {"q": {"d1": 2, "d2": 0}}, columns=columns)
    assert (log.preferred.tolist(), log.other.tolist()) == ([[2, 0]], [[0, 2]])
    with pytest.raises(InputError, match="names its fields: leave it out"):
        preferences_from_ubi(path, {}, columns=columns)


def test_a_refusal_proposes_columns_and_judgements_of_impressions(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**OWN, "a": OWN["Links"]}) + "\n")
    call = f"dl.io.preferences_from_interleaving({str(path)!r}, "
    with pytest.raises(InputError) as refusal:
        preferences_from_interleaving(path, {"q": {"d1": 2}})
    proposal = call + "judgements=judgements, columns={'clicks': 'Klicks'})"
    assert refusal.value.proposal == proposal
    with pytest.raises(InputError) as refusal:
        preferences_from_interleaving(path, columns={"clicks": "Klicks"})
    assert refusal.value.proposal == call + "columns={'clicks': 'Klicks'}, judgements='QRELS')"


def test_an_impression_without_a_click_is_a_pair_of_brackets(tmp_path):
    path = tmp_path / "clicks.csv"
    path.write_text("a,b,teams,clicks\n1 0,0 1,a b,1\n1 0,0 1,a b,\n")
    refused("line 3: clicks is missing; .* where nothing was", preferences_from_interleaving, path)
    path.write_text(path.read_text().replace("a b,\n", "a b,[]\n"))
    log = preferences_from_interleaving(path)
    assert log.dropped == {"impressions without a click": 1}


def test_grades_of_impressions_have_to_be_a_scale(tmp_path):
    path = tmp_path / "clicks.csv"
    path.write_text("a,b,teams,clicks\n.1 .3,.3 .1,a b,1\n")
    words = "line 2: a holds the grade 0.1.*--cutoffs .2,.5,.8. cuts"
    refused(words, preferences_from_interleaving, path)
    lines = "".join(f"{9 if i == 300 else i % 3} 1,1 0,a b,1\n" for i in range(400))
    path.write_text(f"a,b,teams,clicks\n{lines}")
    refused("line 302: the grade 9", preferences_from_interleaving, path)
