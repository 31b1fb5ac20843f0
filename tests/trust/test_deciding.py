"""Verdicts that decide a conclusion: against exhaustive search, and what is said."""

from itertools import product

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation.validation import InputError
from dcglearn.learning.fit import fit_log
from dcglearn.learning.weighing import weighed
from dcglearn.trust.deciding import conclusion_in, what_if
from dcglearn.trust.influence import influence, numbers_of, refitted
from tests.tables import table
from tests.trust.test_influence import fitted, noisy

SMALL = dl.simulate.ground_truth("D1", n_grades=3, depth=3)
FREE = [1.0, *np.zeros(42)]
"""Weights of free curves alone."""


def few(seed):
    """Return a log of 12 to 30 verdicts."""
    n = int(np.random.default_rng(seed).integers(12, 31))
    return dl.simulate.preference_pairs(SMALL, n, lists="free", temperature=0.5, random_state=seed)


@table("loss", ["logistic", "robust"])
def test_one_verdict_decides_where_exhaustive_search_finds_one(loss):
    found = []
    for seed in range(5):
        log = few(seed)
        n = len(log)
        fit = fitted(log, loss, FREE)
        alone = [refitted(log[np.arange(n) != row], fit).dcg for row in range(n)]
        moved = np.array([numbers_of(dcg) for dcg in alone])
        for (name, place), sign in product((("gain of 1", 1), ("discount at 2", 4)), (1, -1)):
            limit = float(f"{numbers_of(fit.dcg)[place] + 0.03 * sign:.6f}")
            mine = what_if(log, fit, f"{name} {'<' if sign > 0 else '>'} {limit}")
            decides = sign * (moved[:, place] - limit) >= 0
            found.append((decides.any(), mine.n == 1))
            if mine.n == 1:
                assert decides[mine.rows[0]]
                assert mine.without == pytest.approx(moved[mine.rows[0], place], abs=1e-9)

    # where one verdict is enough, it is nearly always the most influential one
    ones = [one for any_decides, one in found if any_decides]
    assert len(ones) >= 6 and np.mean(ones) >= 0.85


def test_the_verdicts_named_are_those_that_decide():
    log = noisy(200).changed(query=np.repeat([f"q{i}" for i in range(40)], 5))
    learner = dl.DCGLearner(loss="logistic").fit(log)
    limit = learner.dcg_.gains[2] - 0.06
    found = what_if(log, learner, f"gain of 2 > {limit:.6f}")
    assert 1 < found.n == len(found.rows) == len(found.table) < 40
    assert found.holds and found.n_total == 200

    # without them it is false, as said; without the same number of others it is true
    rest = np.setdiff1d(np.arange(200), found.rows)
    weights = [member.weight for member in learner.members_]
    fit = weighed(fit_log(log[rest], learner.options), held=weights)
    assert found.without == pytest.approx(fit.dcg.gains[2], abs=1e-5) and found.without <= limit
    assert found.sentence.endswith(f"without them, {found.without:.4g}")
    random = np.random.default_rng(0).permutation(200)[found.n :]
    assert dl.DCGLearner(loss="logistic").fit(log[random]).dcg_.gains[2] > limit

    # the table holds rows of the log, the most influential first
    row = found.table.to_dicts()[0]
    assert row["preferred"] == " ".join(map(str, log.preferred[row["row"]]))
    assert row["query"] == log.query[row["row"]] and row["influence"] < 0
    assert (np.diff(found.table["influence"]) >= 0).all()


def test_raters_queries_and_pairs_of_lists_are_left_out_whole():
    log = noisy(100)
    steep = dl.DCG([0, 0.02, 0.1, 0.3, 1], 1 / np.arange(1.0, 11))
    wrong = dl.simulate.preference_pairs(steep, 60, lists="free", random_state=2)
    sides = [
        np.concatenate([log.preferred, wrong.preferred]),
        np.concatenate([log.other, wrong.other]),
    ]
    rater = np.array(["ann", "bob", "cy", "di", "ed", "odd", "odd", "odd"])[np.arange(160) // 20]
    both = dl.Preferences(*sides, n_grades=5, rater=rater, query=np.arange(160) // 4)
    learner = dl.DCGLearner(loss="logistic").fit(both)
    words = f"gain of 2 < {learner.dcg_.gains[2] + 0.05:.4f}"
    found = what_if(both, learner, words, by="rater")
    assert (found.n, found.n_total) == (1, 6)
    assert found.table.to_dicts()[0]["rater"] == "odd" and found.table["verdicts"][0] == 60
    assert found.sentence.startswith("1 of 6 raters decides that the gain of grade 2 is below ")
    assert np.array_equal(found.rows, np.flatnonzero(rater == "odd"))
    by_query = what_if(both, learner, words, by="query")
    assert by_query.n_total == 40 and len(by_query.rows) == 4 * by_query.n

    # both verdicts on two lists, whichever of them is preferred
    twice = [np.concatenate([one, other]) for one, other in (sides, sides[::-1])]
    opposed = dl.Preferences(*twice, n_grades=5, weight=np.repeat([3.0, 1.0], 160))
    learner = dl.DCGLearner(loss="logistic").fit(opposed)
    words = f"gain of 2 < {learner.dcg_.gains[2] + 0.02:.4f}"
    by_pair = what_if(opposed, learner, words, by="pair")
    assert by_pair.n_total == 160 and set(by_pair.table["verdicts"]) == {2}
    assert len(by_pair.rows) == 2 * by_pair.n


def test_the_influence_of_a_rater_is_the_sum_over_the_verdicts():
    log = noisy(120).changed(rater=np.tile(["ann", "bob", "cy", "di"], 30))
    learner = dl.DCGLearner(loss="logistic").fit(log)
    words = f"discount at 4 > {learner.dcg_.discounts[3] - 1e-6:.9f}"
    rater = what_if(log, learner, words, by="rater").table.row(0, named=True)
    changes = influence(log, learner.fit_, 5 + 3)
    assert rater["influence"] == pytest.approx(changes[log.rater == rater["rater"]].sum())


def test_a_conclusion_that_is_false_now_is_said_to_be():
    log = noisy(60)
    found = what_if(log, None, "gain of 2 > 0.99")
    assert not found.holds and found.n is None and not len(found.rows)
    assert found.sentence.startswith(
        "it does not hold that the gain of grade 2 is above 0.99 (now 0."
    )


def test_what_no_removal_turns_is_said():
    log = noisy(60)
    fixed = what_if(log, dl.DCGLearner(loss="logistic").fit(log), "gain of 4 > 0.5")
    assert fixed.n is None and fixed.holds and fixed.without is None and not len(fixed.table)
    assert fixed.sentence == (
        "no set of up to 30 of 60 verdicts was found that decides that the gain of grade 4 is "
        "above 0.5 (now 1)"
    )


def test_no_fewer_of_the_most_influential_are_enough():
    log = noisy(120)
    fit = fitted(log, "logistic", FREE)
    for change in (0.02, 0.06, 0.15):
        limit = fit.dcg.gains[2] + change
        found = what_if(log, fit, f"gain of 2 < {limit:.6f}")
        order = found.table["row"].to_list()
        gains = [
            refitted(log[~np.isin(np.arange(120), order[:n])], fit).dcg.gains[2]
            for n in range(found.n + 1)
        ]
        assert [gain >= limit for gain in gains] == [False] * found.n + [True]
        assert found.without == pytest.approx(gains[-1], abs=1e-9)


def test_a_set_without_which_nothing_is_left_to_learn_from_does_not_decide():
    lists = np.array([[2, 1], [1, 1], [2, 0]]), np.array([[1, 2], [1, 1], [2, 0]])
    log = dl.Preferences(*lists, n_grades=3)
    fit = fitted(log, "robust", FREE)
    found = what_if(log, fit, "gain of 1 > 0.0001")
    assert found.holds and found.n_total == 3 and found.n is None


def test_names_of_grades_and_ways_to_write():
    log = noisy(60).changed(grade_names=("bad", "fair", "good", "very good", "perfect"))
    for words in ("gain of Very Good<.99", " the  gain of grade 3 < 0.99", "gain of 3 <0.99"):
        name, place, sign, limit = conclusion_in(words, log)
        assert (name, place) == ("gain of very good", 3)
        assert (sign, limit) == (-1, 0.99)
    assert conclusion_in("Discount at position 3 > -1", log) == ("discount at 3", 7, 1, -1)


@table(
    "words",
    [
        "gian of 2 > 0.5",
        "gain of 9 > 0.5",
        "discount at 11 > 0.5",
        "gain of 2 > much",
        "gain of 2 > nan",
        "gain of 2",
        "new better than old",
        3,
    ],
)
def test_words_that_are_no_conclusion(words):
    with pytest.raises(InputError, match=r'write "gain of 2 > 0\.5" .* discount at'):
        what_if(noisy(40), dl.DCGLearner(loss="logistic"), words)


def test_other_learners_and_units_are_refused():
    log = noisy(40)
    with pytest.raises(InputError, match="is no DCGLearner"):
        what_if(log, dl.UtilityLearner(), "gain of 2 > 0.1")
    with pytest.raises(InputError, match="by='ratter'"):
        what_if(log, None, "gain of 2 > 0.1", by="ratter")
    with pytest.raises(InputError, match="the log has no rater"):
        what_if(log, None, "gain of 2 > 0.1", by="rater")
