"""Logs that are upside down are stopped, with the reversal that makes sense of them; honest ones
are not.
"""

import re

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.metrics.textbook import textbook_scores
from dcglearn.reading.direction import agreement, check_sense
from tests.makers import SHARED, random_lists, random_log, rated_pairs, refused

D1 = dl.simulate.ground_truth("D1")


def judged(n=60, wrong=0.1, seed=0, **columns):
    return dl.simulate.preference_pairs(
        D1, n, lists="free", n_flips=round(wrong * n), random_state=seed, **columns
    )


def lines(log, winner="a", turned=False):
    lists = [4 - x if turned else x for x in (log.preferred, log.other)]
    return [
        {"a": a, "b": b, "winner": winner}
        for a, b in zip(*(x.tolist() for x in lists), strict=True)
    ]


def exchanged(log):
    return dl.Preferences(log.other, log.preferred, n_grades=log.n_grades)


@pytest.mark.parametrize("shape", [(5, 10), (2, 3), (3, 1)])
def test_textbooks_are_scored_at_once_as_one_by_one(shape):
    n_grades, depth = shape
    first, second = random_lists(40, "unknown", np.random.default_rng(0), depth, n_grades).reshape(
        2, 20, depth
    )
    log, textbooks = (
        dl.Preferences(first, second, n_grades=n_grades),
        dl.textbook_dcgs(n_grades, depth),
    )
    together = textbook_scores(n_grades, depth)
    np.testing.assert_allclose(
        together.score(first), [dcg.score(first) for dcg in textbooks.values()], rtol=1e-12
    )
    np.testing.assert_array_equal(
        log.verdicts(together), [log.verdicts(dcg) for dcg in textbooks.values()]
    )


def test_a_log_of_one_grade_is_read_and_left_to_learners():
    lines = [{"a": [0], "b": [0, 0], "winner": "a"}] * 30
    log = dl.read_preferences(lines)
    assert (len(log), log.n_grades) == (30, 1)
    refused("the log has one grade only", dl.DCGLearner().fit, log)


def test_a_reversed_log_is_stopped_with_what_makes_sense_of_it():
    log = judged()
    said = refused(
        "the log is upside down: none of the text.* of 60 preferences",
        dl.read_preferences,
        lines(log, "b"),
    )
    assert re.search(r"With the winners exchanged, 9\d\.\d%: winner_words={'b': 'a'}", said)
    assert len(dl.read_preferences(lines(log, "b"), winner_words="b=a")) == 60
    said = refused("the grades reversed, [89]", dl.read_preferences, lines(log, turned=True))
    scale = ["4", "3", "2", "1", "0"]
    assert f"scale={scale}" in said and said.index("the winners") < said.index("the grades")
    again = dl.read_preferences(lines(log, turned=True), scale=scale)
    np.testing.assert_array_equal(again.preferred, log.preferred)
    assert issubclass(dl.io.UpsideDownError, dl.InputError)


def test_of_systems_that_are_exchanged_these_are_named():
    named = [{**line, "system_a": "new", "system_b": "old"} for line in lines(judged(), "old")]
    refused(
        "the winners exchanged, 9.*: exchange the two systems, run_a= and run_b=.* With the grades",
        dl.read_preferences,
        named,
    )
    right = [{**line, "system_a": "old", "system_b": "new"} for line in named]
    assert len(dl.read_preferences(right)) == 60


def test_who_insists_learns_from_it():
    log = judged()
    assert len(dl.read_preferences(lines(log, "b"), as_is=True)) == 60
    for learner in (dl.DCGLearner(), dl.UtilityLearner()):
        refused(
            "the winners exchanged, 9.* give the preferred lists first", learner.fit, exchanged(log)
        )
        learner.fit(dl.read_preferences(lines(log, "b"), as_is=True))
        learner.fit(exchanged(log), as_is=True)


@pytest.mark.filterwarnings("ignore")
def test_a_start_that_cannot_be_made_is_left_out():
    one_sided = exchanged(judged(60, wrong=0, seed=1))
    refused("tells no two lists apart", dl.UtilityLearner(C=0.1).fit(one_sided, as_is=True).factor)
    assert dl.DCGLearner().fit(one_sided, as_is=True).n_iter_ > 0


def test_few_judgements_and_the_same_again_do_not_suffice():
    log = exchanged(judged(8, wrong=0))
    assert len(dl.read_preferences(lines(log))) == 8
    assert len(dl.read_preferences(lines(log) * 40)) == 320


def test_most_raters_and_ratings_count():
    parts = [judged(30, wrong=0, seed=seed) for seed in range(3)]
    good = judged(200, wrong=0, seed=9)
    all_lines = [
        {**line, "rater": f"r{i}"} for i, part in enumerate(parts) for line in lines(part, "b")
    ]
    mixed = [*all_lines, *({**line, "rater": "good"} for line in lines(good))]
    refused("3 of 4 raters are upside down", dl.read_preferences, mixed)
    assert len(dl.read_preferences([*all_lines[:30], *mixed[90:]])) == 230
    lists = random_lists(60, "free", np.random.default_rng(0))
    rated = [
        {"list": x, "rating": -v}
        for x, v in zip(lists.tolist(), D1.score(lists).round(2).tolist(), strict=True)
    ]
    refused("With the winners exchanged, .*: negate the ratings", dl.read_ratings, rated)


def test_sides_taken_for_lists_are_stopped():
    log, b_left = judged(100, wrong=0.05), np.random.default_rng(0).random(100) < 0.5
    said = [
        {**line, "winner": "right" if left else "left", "shown_left": "b" if left else "a"}
        for line, left in zip(lines(log), b_left, strict=True)
    ]
    assert dl.read_preferences(said).preferred.tolist() == log.preferred.tolist()
    message = refused(
        r"the \d+ pairs shown with b first are upside down",
        dl.read_preferences,
        said,
        sides="listed",
    )
    assert "With sides told the other way, 9" in message and "sides='shown'" in message


@pytest.mark.parametrize("learner", [dl.UtilityLearner(), dl.DCGLearner()])
def test_a_file_is_learned_as_it_is_where_a_fit_is_told_to(tmp_path, learner):
    log = exchanged(judged(80))
    log.to_polars().write_parquet(tmp_path / "log.parquet")
    refused("the log is upside down", learner.fit, tmp_path / "log.parquet")
    learned = learner.fit(tmp_path / "log.parquet", as_is=True).metric_
    assert learned.to_dict() == learner.fit(log, as_is=True).metric_.to_dict()


@pytest.mark.parametrize("name", ["fsd_train.txt", "qref_train.txt"])
def test_users_are_not_upside_down(shared, name):
    rows = [
        line.split("\t")
        for line in (SHARED / "tiangong_satisfaction" / name).read_text().splitlines()[:400]
    ]
    lists = [list(map(int, re.findall(r"\d+", row[2]))) for row in rows]
    assert len(rated_pairs(lists, [float(row[3]) for row in rows], pad=True)) > 1_000


def test_pairs_that_contradict_every_textbook_pass_where_some_monotone_utility_respects_them():
    truth = dl.DCG([0, 0.02, 0.1, 0.9, 1], [1, 0.98, 0.96, 0.3, 0.28, 0.26, 0.05, 0.04, 0.03, 0.02])
    log = dl.simulate.preference_pairs(truth, 20_000, lists="free", random_state=0)
    contrary = log[log.verdicts(textbook_scores(5, 10)).mean(axis=0) < -0.5][:200]
    shares, decided = agreement(contrary, contrary.verdicts(textbook_scores(5, 10)))
    assert np.nanmax(shares) < 0.5 < decided.min()
    check_sense(contrary)
    refused("the log is upside down", check_sense, exchanged(log[:200]))


def test_raters_who_always_name_what_was_shown_first_are_warned_of():
    lines = random_log(60, seed=3, noise=0.5).to_polars().to_dicts()
    for i, line in enumerate(lines):
        line["swapped"], line["winner"] = bool(i % 2), "ab"[i % 2]
    with pytest.warns(UserWarning, match="most raters always name one side: the list shown first"):
        dl.read_preferences(lines)
    for line in lines:
        line["winner"] = "left"
    with pytest.warns(UserWarning, match="sides='listed' takes them for lists a and b"):
        dl.read_preferences(lines)
