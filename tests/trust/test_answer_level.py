"""The level of discounts: answers without any passage, and with the right one alone."""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.options import DCGOptions
from dcglearn.trust.answers import fit_answers
from tests.tables import table

FALLING, ENDS = np.array([1.0, 0.6, 0.4]), np.array([1.0, 0.3, 0.9])


def asked(n, discounts, *, closed=True, alone=True, seed=0, sharpness=3.0):
    """Return answers to n questions with one right passage at each place, and without others."""
    rng, depth, lines = np.random.default_rng(seed), len(discounts), []
    lists = np.eye(depth, dtype=int).tolist() + [[]] * closed + [[1]] * alone
    for question in range(n):
        difficulty = rng.normal(-1, 0.7)
        for grades in lists:
            logit = sharpness * float(discounts[: len(grades)] @ np.array(grades)) + difficulty
            right = bool(rng.random() < 1 / (1 + np.exp(-logit)))
            lines.append({"question": question, "list": grades, "right": right})
    return lines


def test_closed_book_answers_give_the_discounts_their_level():
    free = DCGOptions(loss="logistic", zero="none", discounts="free")
    told = fit_answers(dl.io.read_answers(asked(1500, ENDS)), free).dcg
    assert told.score(np.eye(3, dtype=np.int8)) == pytest.approx(ENDS, abs=0.1)
    assert told.discounts == pytest.approx(ENDS, abs=0.2)
    blind = dl.io.read_answers(asked(1500, ENDS, closed=False, alone=False))
    assert np.abs(fit_answers(blind, free).dcg.discounts - ENDS).max() > 0.3


@table(
    ("kinds", "words"),
    [
        ({"closed": False, "alone": False}, "a convention, since the answers tell places apart"),
        ({"closed": False}, "a convention, since the answers tell places apart"),
        ({"alone": False}, "a convention, since the answers tell places apart"),
        ({}, "learned from 60 answers without any passage"),
    ],
)
def test_the_level_is_a_convention_unless_lists_tell_it(kinds, words):
    fit = dl.trust.learn_from_answers(dl.io.read_answers(asked(60, FALLING, **kinds)))
    assert fit.facts["level of the discounts"].startswith(words)
    assert words.split(",")[0] in str(fit).replace("Level of the discounts: ", "")


def test_lists_with_different_grades_tell_the_level():
    lists = [[1, 0, 0], [0, 0, 1], [0, 1, 1]]
    lines = [
        {"question": q, "list": grades, "right": (q + i) % 4 < i + 1}
        for q in range(40)
        for i, grades in enumerate(lists)
    ]
    level = dl.trust.learn_from_answers(dl.io.read_answers(lines)).facts["level of the discounts"]
    assert level == "learned from lists that hold different grades"

    # distractors that cost nothing leave the closed-book answers to tell it
    answers = dl.io.read_answers(asked(60, FALLING, alone=False))
    level = dl.trust.learn_from_answers(answers, dl.DCGLearner(zero=0)).facts[
        "level of the discounts"
    ]
    assert level.startswith("learned from 60 answers without any passage")


def test_discounts_are_free_unless_told_otherwise():
    answers = dl.io.read_answers(asked(200, ENDS))
    assert (np.diff(dl.trust.learn_from_answers(answers).dcg.discounts) > 0).any()
    falling = dl.trust.learn_from_answers(answers, dl.DCGLearner(zero="none")).dcg.discounts
    assert (np.diff(falling) <= 0).all()


def test_held_out_comparisons_are_of_lists_with_passages():
    lines = asked(60, FALLING)
    with_level = dl.trust.learn_from_answers(dl.io.read_answers(lines))
    pairs = [line for line in lines if line["list"] in ([], [1])]
    assert dl.trust.learn_from_answers(dl.io.read_answers(pairs)).held_out == {}
    assert with_level.held_out
