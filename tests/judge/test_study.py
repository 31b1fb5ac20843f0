"""What is asked of whom: leases, several raters, balanced queries, logs of another shape."""

import dataclasses
import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.foundation.intervals import wilson
from dcglearn.judge.candidates import Pair, distinct
from dcglearn.judge.learned import (
    MOST_CHANGE,
    LatestFit,
    Learned,
    Newest,
    beats_coin,
    expected_verdicts,
)
from dcglearn.judge.page_answers import Refused
from dcglearn.judge.progress import Progress, learning_curve, machine_curve, sentences, wins
from dcglearn.judge.study import Rules, Study
from dcglearn.judge.verdict_log import as_log
from dcglearn.metrics.dcg import DCG
from dcglearn.readers.preferences import Preferences
from dcglearn.readers.read_log import read_preferences
from tests.judge.makers import TRUTH, answer, candidates, lines, verdict
from tests.makers import refused

NO_BETTER = "So far no metric orders verdicts that it was not learned from better than a coin"


@pytest.fixture
def opened(tmp_path):
    studies = []

    def open_study(pairs=None, name="verdicts.jsonl", **rules):
        studies.append(Study(pairs or candidates(12), tmp_path / name, Rules(**rules)))
        return studies[-1]

    yield open_study
    for study in studies:
        study.close()


def judged(study, rater, n, tab="tab", choose=lambda pair: "left", **more):
    """Judge up to n pairs as a page does, and return their keys."""
    keys = []
    while len(keys) < n:
        pairs = study.next_pairs(rater, tab, [])
        if not pairs:
            break
        number = len(study.log.verdicts)
        study.save(rater, tab, [answer(pairs[0], choose(pairs[0]), number, **more)])
        keys.append(pairs[0]["pair"])
    return keys


def test_two_raters_are_not_asked_the_same(opened):
    study = opened()
    shown = [
        pair["pair"]
        for rater in ("ann", "bob", "cy")
        for pair in study.next_pairs(rater, "tab", [])
    ]
    assert len(set(shown)) == 9
    everything = judged(study, "ann", 99) + judged(study, "bob", 99) + judged(study, "cy", 99)
    assert Counter(everything) == dict.fromkeys(study.candidates.index, 1)


def test_each_pair_is_asked_of_as_many_raters_as_wanted(opened):
    study = opened(raters=("ann", "bob", "cy"), redundancy=2)
    everything = [judged(study, rater, 99) for rater in ("ann", "bob", "cy")]
    assert all(len(set(keys)) == len(keys) for keys in everything)
    assert Counter(key for keys in everything for key in keys) == dict.fromkeys(
        study.candidates.index, 2
    )
    refused("redundancy=3 for 2 raters", opened, raters=("ann", "bob"), redundancy=3)


def test_a_pair_that_was_begun_is_completed_first(opened):
    study = opened(redundancy=2)
    first = judged(study, "ann", 3)
    assert set(judged(study, "bob", 3)) == set(first)


def test_a_reload_shows_the_same_pairs_and_another_page_others(opened):
    study = opened()
    shown = study.next_pairs("ann", "one", [])
    assert study.next_pairs("ann", "one", []) == shown
    other = study.next_pairs("ann", "two", [])
    assert not {pair["pair"] for pair in shown} & {pair["pair"] for pair in other}
    assert study.next_pairs("ann", "one", [pair["pair"] for pair in shown]) == []


def test_one_rater_has_one_verdict_on_a_pair(opened):
    study = opened()
    pair = study.next_pairs("ann", "one", [])[0]
    first, second = answer(pair, "left", 1), answer(pair, "right", 2)
    undo = answer(pair, "undo", 3, supersedes=first["id"])
    assert study.save("ann", "one", [first])[0] == [first["id"]]
    for _ in range(2):
        saved, refused = study.save("ann", "two", [second, first])
        assert (saved, refused[0]["reason"]) == (
            [first["id"]],
            "you have judged this pair already, in another tab",
        )
    assert study.save("bob", "one", [answer(pair, "right", 4)])[0]
    assert study.save("ann", "one", [undo, second])[0] == [undo["id"], second["id"]]
    assert [v["id"] for v in study.standing] == ["verdict-000004", second["id"]]


@pytest.mark.parametrize("odd", [["verdict-000002"], {}, 12345678, None])
def test_an_answer_with_an_odd_id_spoils_no_other(opened, odd):
    study = opened()
    pairs = study.next_pairs("ann", "tab", [])
    saved, _ = study.save(
        "ann", "tab", [answer(pairs[0], "left", 1), answer(pairs[1], "left", 2, id=odd)]
    )
    assert "verdict-000001" in saved
    assert pairs[0]["pair"] not in study._leases["ann", "tab"]


def test_a_lease_runs_out(opened, monkeypatch):
    study = opened(candidates(2))
    assert len(study.next_pairs("ann", "tab", [])) == 2
    assert study.next_pairs("bob", "tab", []) == []
    assert "out with other raters" in study.nothing_left("bob")
    monkeypatch.setattr("dcglearn.judge.study.Study.lease", -1.0)
    for leases in study._leases.values():
        for lease in leases.values():
            lease.until = 0.0
    assert len(study.next_pairs("bob", "tab", [])) == 2


def test_a_skipped_pair_goes_to_others_but_not_back(opened):
    study = opened(candidates(2))
    skipped = judged(study, "ann", 99, choose=lambda pair: "skip")
    assert len(skipped) == 2
    assert set(judged(study, "bob", 99)) == set(skipped)
    assert "Every pair is judged" in study.nothing_left("bob")


def test_queries_are_balanced(opened):
    study = opened(candidates(30, n_queries=5), balanced=True)
    keys = judged(study, "ann", 10)
    pairs = study.candidates.pairs
    counts = Counter(pairs[study.candidates.index[key]].query for key in keys)
    assert set(counts.values()) == {2}


def test_names_of_raters_are_checked(opened):
    study = opened(raters=("ann", "bob"))
    assert study.rater(" ann ") == "ann"
    for name in ("eve", "", None, 3, "x" * 61, "a\nb"):
        with pytest.raises(Refused):
            study.rater(name)


def test_strengths_are_asked_and_kept(opened):
    study = opened(strengths=3)
    judged(study, "ann", 2, strength=3)
    judged(study, "ann", 1, choose=lambda pair: "both good")
    pair = study.next_pairs("ann", "tab", [])[0]
    for strength in (None, 0, 4, "2", True):
        _, refused = study.save("ann", "tab", [answer(pair, "left", 50, strength=strength)])
        assert "strength" in refused[0]["reason"]
    assert [line["strength"] for line in lines(study.log.path)] == [3, 3, None]
    log, live = read_preferences(study.log.path, n_grades=5), study.preferences()
    assert log.strength.tolist() == live.strength.tolist() == [3, 3, 1]


def test_one_rater_cannot_undo_anothers_verdict(opened):
    study = opened()
    pair = study.next_pairs("ann", "tab", [])[0]
    study.save("ann", "tab", [answer(pair, number=1)])
    undo = answer(pair, "undo", number=2, supersedes="verdict-000001")
    assert (
        study.save("bob", "tab", [undo])[1][0]["reason"] == "the verdict to undo is not in the log"
    )
    assert study.save("ann", "tab", [undo])[0] == [undo["id"]]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (verdict(a=(1, 0), b=(0, 1)), "where the candidates have 5 grades"),
        (verdict(a=(9, 0, 0, 0, 0)), r"grade 9, the candidates 0 to 4.*--grades 10"),
        (verdict(a=(1.5, 0, 0, 0, 0)), "where the candidates have 5 grades"),
        (verdict(winner="left"), "winner is 'left'"),
    ],
)
def test_a_log_of_another_shape_is_refused(opened, tmp_path, line, words):
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(line) + "\n")
    refused(words, opened)
    assert opened(name="other.jsonl").preferences() is None  # and the file was released


def test_one_pair_is_enough_to_ask_and_too_little_to_learn(opened, learning):
    study = opened(candidates(1))
    judged(study, "ann", 9)
    assert study.learned.wait()
    assert study.progress("ann")["goal"] is None
    assert "Every pair is judged" in study.nothing_left("ann")


def test_ties_alone_teach_nothing_yet(opened, learning):
    study = opened()
    judged(study, "ann", 3, choose=lambda pair: "both bad")
    assert study.learned.wait()
    assert (study.learned.latest.fit, study.learned.trouble) == (None, "")


def test_there_are_no_bands_of_a_few_verdicts(opened, learning):
    study = opened(candidates(30))
    judged(study, "ann", study.learned.bands_from - 1)
    assert study.learned.wait()
    assert (study.learned.latest.n, study.learned.latest.bands) == (23, None)
    judged(study, "ann", 1)
    assert study.learned.wait()
    assert study.learned.latest.n == 24 and study.learned.latest.bands is not None


@pytest.mark.filterwarnings("ignore:the log counts for")
def test_what_is_shown_is_what_the_learner_makes_of_the_log_alone(learning):
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, 5, (76, 2, 5))
    right = (TRUTH.score(pairs[:, 0]) > TRUTH.score(pairs[:, 1])) ^ (rng.random(76) < 0.15)
    pairs = np.where(right[:, None, None], pairs, pairs[:, ::-1])
    with closing(Learned(5, 5)) as learned:
        for n in (5, 20, 35, 50, 76):  # fits from the one before differ by up to .4 here
            log = Preferences(pairs[:n], n_grades=5)
            learned.give(log)
            shown, alone = learned.newest().dcg, DCGLearner(n_grades=5).fit(log).dcg_
            assert np.array_equal(shown.gains, alone.gains) and np.array_equal(
                shown.discounts, alone.discounts
            )


def test_candidates_that_end_before_the_goal_are_told(opened, learning):
    study = opened(candidates(10))
    assert study.short() == study.learned.bands_from - 10
    assert opened(candidates(10), "three.jsonl", redundancy=3).short() == 0  # 30 verdicts
    judged(study, "ann", 99)
    assert study.learned.wait()
    assert "before the goal, which is 14 verdicts away or more" in study.nothing_left("ann")
    study = opened(candidates(30), "narrow.jsonl", width=0.01)
    judged(study, "ann", 99, choose=right_side(study))
    assert study.learned.wait()
    assert study.short() == study.learned.latest.wanted(30)[0] - 30 > 0
    assert study.goal() == (30, 30)  # no more than the candidates allow
    report = Progress(study).report()
    assert report["short"] == study.short() and "The candidates end at least" in " ".join(
        report["sentences"]
    )


def test_the_command_names_a_scale_whose_top_grade_was_never_seen(opened):
    pairs = [Pair("q", (0, 1), (1, 0)), Pair("q", (4, 1), (1, 0))]
    study = opened(distinct(pairs, 5))
    while (pair := study.next_pairs("ann", "tab", [])[0])["pair"] != study.candidates.pairs[0].key:
        study.save("ann", "tab", [answer(pair, "skip", 7)])
    study.save("ann", "tab", [answer(pair, "left", 1)])
    assert study.next_command(Path("v.jsonl")) == "dcglearn learn v.jsonl --grades 5 -o dcg.json"


def test_the_same_grades_for_other_queries_are_other_candidates():
    pairs = [Pair(query, (2, 0), (0, 1)) for query in "xyx"] + [
        Pair("x", (0, 1), (2, 0)),
        Pair("x", (1, 1), (1, 1)),
    ]
    found = distinct(pairs)
    assert len(found) == 2
    assert found.dropped == {"pairs of equal grades": 1, "repeated pairs": 2}
    refused("no pair to judge", distinct, pairs[-1:])


def test_the_learning_curve_holds_out_the_same_pairs():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 5, (100, 2, 5))
    pairs = np.where(
        (TRUTH.score(pairs[:, 0]) < TRUTH.score(pairs[:, 1]))[:, None, None], pairs[:, ::-1], pairs
    )
    curve = learning_curve(Preferences(pairs, n_grades=5))
    assert [point["n"] for point in curve][:4] == [10, 20, 40, 80][: len(curve)]
    assert curve[-1]["share"] >= 0.8
    assert all(point["low"] <= point["share"] <= point["high"] for point in curve)
    assert learning_curve(Preferences(pairs[:3], n_grades=5)) == []


def test_the_machines_agreement_grows_over_the_decided_verdicts():
    rng = np.random.default_rng(0)
    pairs, tie = rng.integers(0, 5, (60, 2, 5)), np.arange(60) % 6 == 0
    log, machine = (
        Preferences(pairs, n_grades=5, tie=tie),
        DCG([0, 1, 2.1, 3.3, 5], [1, 0.71, 0.53, 0.37, 0.19]),
    )
    curve, alike = (
        machine_curve(log, machine),
        machine.score(pairs[~tie, 0]) > machine.score(pairs[~tie, 1]),
    )
    assert [(point["n"], point["share"]) for point in curve] == [
        (n, alike[:n].mean()) for n in (10, 20, 40, 50)
    ]
    assert [(point["low"], point["high"]) for point in curve] == [
        wilson(alike[:n].sum(), n, 0.95) for n in (10, 20, 40, 50)
    ]
    assert machine_curve(log[tie], machine) == []


def test_wins_are_counted_by_query():
    won = [
        ("q1", "a"),
        ("q1", "a"),
        ("q1", "b"),
        ("q2", "b"),
        ("q3", "b"),
        ("q4", "tie"),
        ("q5", "a"),
        ("q5", "b"),
    ]
    found = wins([verdict(query=query, winner=winner) for query, winner in won], ("old", "new"))
    assert (found["verdicts"], found["queries"], found["ties"], found["tied_queries"]) == (
        [3, 4],
        [1, 2],
        1,
        2,
    )
    assert found["share"][0] == pytest.approx(2 / 3)
    assert found["p_value"] == pytest.approx(1.0)
    all_new = [verdict(query=str(i), winner="b") for i in range(10)]
    assert wins(all_new, ("old", "new"))["p_value"] == pytest.approx(2 / 2**10)
    assert wins([], ("old", "new"))["p_value"] is None


def test_bands_are_drawn_by_a_unit_with_enough_members(learning):
    rng = np.random.default_rng(0)

    def unit(n_raters, n_queries):
        lists = rng.integers(0, 5, (60, 2, 5)).tolist()
        of = [{"rater": f"r{i % n_raters}", "query": f"q{i % n_queries}"} for i in range(60)]
        verdicts = [
            verdict(i, a, b, **labels)
            for i, ((a, b), labels) in enumerate(zip(lists, of, strict=True))
        ]
        with closing(Learned(5, 5)) as learned:
            learned.give(as_log(verdicts, 5))
            assert learned.wait()
            return learned.latest.bands.by

    assert [unit(*n) for n in ((2, 3), (2, 30), (25, 30))] == ["pair", "query", "rater"]


def right_side(study):
    """Return a function that chooses the side that the truth prefers."""

    def choose(shown):
        pair = study.candidates.pairs[study.candidates.index[shown["pair"]]]
        better = "a" if TRUTH.score(pair.a) > TRUTH.score(pair.b) else "b"
        return "left" if shown["shown_left"] == better else "right"

    return choose


@pytest.mark.long
@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_number_of_verdicts_wanted_moves_by_little(opened, learning, wrong):
    """Sixty verdicts after the first bands, of which the widest soon gets much narrower."""
    study, rng, goals, widths = (
        opened(candidates(200), width=0.1, seed=1),
        np.random.default_rng(1),
        [],
        [],
    )
    right = right_side(study)
    other = {"left": "right", "right": "left"}
    for _ in range(84):
        judged(
            study,
            "ann",
            1,
            choose=lambda pair: other[right(pair)] if rng.random() < wrong else right(pair),
        )
        assert study.learned.wait()
        latest = study.learned.latest
        if latest.wanted(latest.n) is not None:
            goals.append((latest.n, *study.goal()))
            widths.append(latest.widest)
    low, high = np.array([goal[1:] for goal in goals]).T
    n = np.array([goal[0] for goal in goals])
    assert len(n) > 40 and max(widths) > 2 * min(widths)
    for ends in (low, high):  # but for rounding to tens, and what is judged already
        assert (
            np.abs(np.diff(ends)) <= 10 + np.maximum((MOST_CHANGE - 1) * ends[:-1], np.diff(n))
        ).all()
    assert max(high) < 4 * min(high) and (n <= low).all() and (low <= high).all()


def test_the_expected_number_of_verdicts_follows_the_width_once_it_is_near():
    assert expected_verdicts(25, 0.9, 0.1, 6) < 100 < 25 * 9**2  # what wide bands say by themselves
    assert expected_verdicts(200, 0.12, 0.1, 6) == pytest.approx(288, rel=0.3)
    assert expected_verdicts(200, 0.05, 0.1, 6) == 200
    assert expected_verdicts(40, 0.05, 0.1, 6, before=100.0) == pytest.approx(100 / MOST_CHANGE)
    assert expected_verdicts(40, 0.9, 0.02, 20, before=50.0) == pytest.approx(50 * MOST_CHANGE)


def test_there_are_enough_verdicts_only_after_the_estimate_has_followed():
    narrow = {"gain_band": np.zeros((2, 5)), "discount_band": np.zeros((2, 5))}
    for expected, bands, enough in (
        (100.0, narrow, False),
        (41.0, narrow, True),
        (41.0, None, False),
    ):
        latest = LatestFit(
            TRUTH, 40, bands=bands and SimpleNamespace(**bands), expected=expected, beats_coin=True
        )
        assert latest.enough(0.1) == enough
    latest = LatestFit(TRUTH, 40, bands=SimpleNamespace(**narrow), expected=41.0)
    assert not latest.enough(0.1) and latest.wanted(40) is None


def test_verdicts_tell_more_than_a_coin_by_what_was_held_out():
    fit = SimpleNamespace(members=[SimpleNamespace(share=share) for share in (0.5, 0.75, np.nan)])
    assert (
        beats_coin(fit, 60, before=False)
        and not beats_coin(fit, 30, before=False)
        and beats_coin(fit, 30, before=True)
    )
    assert not beats_coin(SimpleNamespace(members=fit.members[2:]), 60, before=True)


@pytest.mark.parametrize("n", [60, *(pytest.param(n, marks=pytest.mark.long) for n in (30, 120))])
def test_nothing_is_said_to_be_found_in_the_tosses_of_a_coin(opened, learning, n):
    rng = np.random.default_rng(n)
    for seed in range(3):
        study = opened(candidates(130), f"{seed}.jsonl", seed=seed)
        with_pause(study)
        judged(study, "ann", n, choose=lambda _: rng.choice(["left", "right"]))
        report = report_of(study)
        words = " ".join(report["sentences"])
        assert report["learned_from"] == n and NO_BETTER in report["sentences"][0]
        for claim in ("widest", "enough", "wanted", "candidates end", "favours", "preferred"):
            assert claim not in words, claim
        assert study.progress("ann")["goal"] is None and not study.progress("ann")["enough"]


def with_pause(study):
    """Let the learner see the last log alone: the tests need no other."""
    give = study.learned.give
    study.learned.give = lambda _: None
    study.catch_up = lambda: give(study.preferences())


def report_of(study):
    """Return the report once everything is worked out."""
    study.catch_up()
    assert study.learned.wait()
    progress = Progress(study)
    progress.report()
    assert progress.wait()
    assert not progress.trouble and not study.learned.trouble
    return progress.report()


def test_what_is_found_is_said(opened, learning):
    study = opened(candidates(130), width=0.5, seed=0)
    with_pause(study)
    judged(study, "ann", 80, choose=right_side(study))
    judged(study, "bob", 45)
    words = " ".join(report_of(study)["sentences"])
    assert NO_BETTER not in words and "The widest 90% band is" in words
    assert "bob favours the left list" in words and "ann favours" not in words


SAID = {
    **{
        "verdicts": 50,
        "bands_from": 24,
        "learned_from": 50,
        "beats_coin": True,
        "widest": 0.4,
        "width": 0.1,
        "goal": (50, 310),
    },
    **{
        "enough": False,
        "short": 0,
        "raters": [{"name": "ann", "left": {"value": 0.6, "low": 0.45, "high": 0.7}}],
    },
    **{"alpha": {"value": 0.4, "low": 0.2, "high": 0.6}, "n_units": 9, "wins": None, "machine": []},
}
"""A report on a log that tells something."""

WON = {"systems": ["old", "new"], "share": [0.7, 0.55, 0.8], "p_value": 0.0001}


@pytest.mark.parametrize(
    ("sentence", "where", "where_not"),
    [
        ("Nothing is learned yet", {"learned_from": 0, "beats_coin": False}, {}),
        ("than a coin", {"beats_coin": False}, {}),
        ("Bands are shown from 24", {"verdicts": 23}, {}),
        ("widest 90% band is 0.40", {}, {"beats_coin": False}),
        ("About 50 to 310 verdicts in all", {}, {"beats_coin": False}),
        ("About 50 to 310 verdicts in all", {}, {"enough": True}),
        ("there are enough verdicts", {"enough": True}, {}),
        ("there are enough verdicts", {"enough": True}, {"enough": True, "beats_coin": False}),
        ("at least 7 verdicts", {"short": 7}, {}),
        (
            "favours the left",
            {"raters": [{"name": "ann", "left": {"value": 0.7, "low": 0.6, "high": 0.8}}]},
            {},
        ),
        (
            "favours the right",
            {"raters": [{"name": "ann", "left": {"value": 0.3, "low": 0.2, "high": 0.4}}]},
            {},
        ),
        (
            "favours",
            {"raters": [{"name": "ann", "left": {"value": 0.7, "low": 0.6, "high": 0.8}}]},
            {"raters": []},
        ),
        ("alpha 0.40", {}, {"n_units": 0}),
        (
            "alpha 0.10 (-0.20 to 0.40), which chance may",
            {"alpha": {"value": 0.1, "low": -0.2, "high": 0.4}},
            {},
        ),
        ("new is preferred", {"wins": WON}, {"wins": {**WON, "p_value": 0.01}}),
        ("old is preferred", {"wins": {**WON, "share": [0.3, 0.2, 0.45]}}, {"wins": WON}),
        ("Neither old nor new", {"wins": {**WON, "p_value": 0.01}}, {"wins": WON}),
        (
            "LLM judge orders 60.0%",
            {"machine": [{"n": 9, "share": 0.6, "low": 0.52, "high": 0.7}]},
            {},
        ),
        ("chance may explain", {"machine": [{"n": 9, "share": 0.6, "low": 0.4, "high": 0.7}]}, {}),
    ],
)
def test_each_sentence_is_said_where_it_holds_and_only_there(sentence, where, where_not):
    assert sentence in " ".join(sentences({**SAID, **where}))
    assert sentence not in " ".join(sentences({**SAID, **where_not}))


def test_skipped_queries_are_no_ties_of_systems(opened):
    pairs = candidates(4, n_queries=4)
    study = opened(dataclasses.replace(pairs, systems=("old", "new")))
    judged(study, "ann", 4, choose=lambda pair: "skip")
    assert Progress(study).report()["wins"]["tied_queries"] == 0


def test_practice_and_checks_have_answers_that_every_metric_gives(opened):
    study = opened(practice=True, checks=0.5, seed=3)
    for pair in study._known.values():
        assert all(
            sum(g >= t for g in pair.a[:k]) >= sum(g >= t for g in pair.b[:k])
            for k in range(6)
            for t in range(5)
        )
        assert sorted(pair.a) == sorted(pair.b) and pair.a != pair.b
        assert sorted(map(str, pair.items_a)) == sorted(map(str, pair.items_b))
    shown = study.next_pairs("ann", "tab", [])
    assert len({pair["pair"] for pair in shown}) == 3 and all("practice" in pair for pair in shown)
    elsewhere = {pair["pair"] for pair in study.next_pairs("ann", "other tab", [])}
    assert not elsewhere & {pair["pair"] for pair in shown}
    study.save(
        "ann", "tab", [answer(pair, pair["practice"], i) for i, pair in enumerate(shown[:2])]
    )
    wrong = {"left": "right", "right": "left"}[shown[2]["practice"]]
    study.save("ann", "tab", [answer(shown[2], wrong, 2)])
    nothing = {"judged": 0, "skipped": 0, "all": 0, "goal": None, "enough": False, "changes": 0}
    assert study.progress("ann") == nothing
    assert study.n_verdicts == 0 and Progress(study).report()["verdicts"] == 0
    assert study.preferences() is None
    keys = judged(study, "ann", 30)
    known = [key for key in keys if key in study._known]
    assert known and set(keys) - set(known) == set(study.candidates.index) - elsewhere
    assert not any("practice" in pair for pair in study.next_pairs("ann", "tab", []))
    (row,) = Progress(study).report()["raters"]
    assert row["checks"]["practice right"] == 2 and row["checks"]["practice wrong"] == 1
    assert row["checks"]["check right"] + row["checks"]["check wrong"] == len(known)
    n = len(keys) - len(known)
    assert (row["verdicts"], row["skipped"]) == (n, 0)
    log = read_preferences(study.log.path, n_grades=5)
    assert len(log) == n and log.dropped["open questions"] == 3 + len(known)
    study.close()
    again = opened(practice=True)
    assert len(again.standing) == n and len(again.checks) == 3 + len(known)
    refused("checks=0.7: give the share", opened, checks=0.7)


def test_practice_can_be_undone_and_is_offered_again(opened):
    study = opened(practice=True)
    first = study.next_pairs("ann", "tab", [])[0]
    study.save("ann", "tab", [answer(first, "left", 1)])
    study.save("ann", "tab", [answer(first, "undo", 2, supersedes="verdict-000001")])
    assert study.next_pairs("ann", "tab", [])[0]["pair"] == first["pair"]
    assert not study.checks


def test_the_newest_work_is_done_and_a_failure_is_told():
    done = []

    def work(number):
        if number == 2:
            raise ValueError("two")
        done.append(number)

    newest = Newest("test", work)
    for number in (1, 2):
        newest.give(number)
        assert newest.wait(5)
    assert newest.trouble == "ValueError: two"
    newest.give(3)
    assert newest.wait(5)
    assert (done, newest.trouble) == ([1, 3], "")
    newest.close()


def test_a_page_keeps_what_it_holds_when_the_server_is_started_again(opened):
    study = opened(redundancy=1)
    held = {
        rater: [pair["pair"] for pair in study.next_pairs(rater, rater, [])]
        for rater in ("ann", "bob")
    }
    judged(study, "cy", 1)
    study.close()
    study = opened(redundancy=1)
    assert study.leased_again("ann", "ann", held["ann"]) == []
    assert {key for _, key in study._held()} == set(held["ann"])
    assert study.leased_again("ann", "ann", held["ann"]) == []
    assert not set(held["ann"]) & set(judged(study, "cy", 99))
    # What others have judged meanwhile is dropped, but for the pair on the screen.
    assert study.leased_again("bob", "bob", held["bob"]) == held["bob"][1:]
    assert study.leased_again("bob", "bob", ["no pair", *held["bob"][1:]]) == held["bob"][1:]


def test_restarts_of_the_server_leave_no_pair_judged_too_often(opened, monkeypatch):
    clock = [1e6]
    monkeypatch.setattr("dcglearn.judge.study.time", SimpleNamespace(monotonic=lambda: clock[0]))
    pairs, raters = candidates(60), [f"rater {i}" for i in range(5)]
    study, restarts = opened(pairs, redundancy=2, seed=0), 0
    queues = {rater: [] for rater in raters}
    asked = True
    while asked:
        asked = False
        for rater in raters:
            clock[0] += 5
            queue = queues[rater]
            if queue:
                study.save(rater, rater, [answer(queue.pop(0), number=len(study.log.verdicts))])
            dropped = study.leased_again(rater, rater, [pair["pair"] for pair in queue])
            queue[:] = [pair for pair in queue if pair["pair"] not in dropped]
            queue += study.next_pairs(rater, rater, [pair["pair"] for pair in queue])
            asked |= bool(queue)
        if len(study.log.verdicts) // 30 > restarts:
            restarts += 1
            study.close()
            study = opened(pairs, redundancy=2, seed=0)
    assert restarts >= 3
    assert Counter(len(by) for by in study._raters_of.values()) == {2: 60}
