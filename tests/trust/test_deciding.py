"""Verdicts that decide a conclusion: against exhaustive search, and what is said."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.foundation.validation import InputError
from dcglearn.learning.descriptions import DirectDescription, fit_of
from dcglearn.trust.conclusions import OfPeople, conclusion_of
from dcglearn.trust.deciding import deciding, what_if
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.held_out import cross_fitted
from tests.trust.test_left_out import noisy

SMALL = dl.simulate.ground_truth("D1", n_grades=3, depth=3)


def few(seed):
    """Return a log of 12 to 30 verdicts."""
    n = int(np.random.default_rng(seed).integers(12, 31))
    return dl.simulate.preference_pairs(SMALL, n, lists="free", temperature=0.5, random_state=seed)


def fewest(asked, n, most):
    """Return the size of the smallest set of verdicts without which a conclusion is false."""
    for size in range(1, most + 1):
        for rows in combinations(range(n), size):
            if asked.without(np.isin(np.arange(n), rows)).margin <= 0:
                return size
    return None


@pytest.mark.parametrize("loss", ["logistic", "robust"])
def test_few_verdicts_decide_as_exhaustive_search_finds(loss):
    found = []
    for seed in range(8):
        log = few(seed)
        fit = fit_learner(log, DirectDescription(loss=loss))
        gain, discount = fit.dcg.gains[1], fit.dcg.discounts[1]
        for words in (f"gain of 1 > {gain - 0.03:.4f}", f"discount at 2 < {discount + 0.03:.4f}"):
            asked = conclusion_of(words, log, fit)
            mine, most = deciding(asked), 3 if len(log) <= 16 else 2
            best = fewest(asked, len(log), most)
            if best is not None and mine.n is not None:
                assert mine.n >= best
            if mine.smallest:
                assert mine.n == best
            found.append((best, mine.n))
    exact = [best == n for best, n in found if best is not None]
    assert len(exact) >= 6 and np.mean(exact) >= 0.9


def test_one_verdict_decides_a_blend_where_exhaustive_search_finds_one():
    found = []
    for seed in (0, 2, 3, 7, 8, 10):
        log = few(seed)
        fit = fit_learner(log, DirectDescription())
        asked = conclusion_of(f"discount at 2 < {fit.dcg.discounts[1] + 0.005:.4f}", log, fit)
        mine = deciding(asked)
        found.append((fewest(asked, len(log), 1), mine.n))
        assert mine.smallest == (mine.n == 1)

    # the fit to the others may choose another textbook, and ask for more
    ones = [n for best, n in found if best == 1]
    assert len(ones) == 5 and ones.count(1) >= 4


def test_the_verdicts_named_are_those_that_decide():
    log = noisy(200).changed(query=np.repeat([f"q{i}" for i in range(40)], 5))
    learner = dl.DCGLearner(loss="logistic").fit(log)
    found = what_if(log, learner, f"gain of 2 > {learner.dcg_.gains[2] - 0.02:.4f}")
    assert 1 <= found.n == len(found.rows) == len(found.table) < 40
    assert found.holds and found.confirmed and found.n_total == 200
    assert found.share == pytest.approx(found.n / 200)

    # without them it is false, as said; without the same number of others it is true
    others = np.setdiff1d(np.arange(200), found.rows)
    without = dl.DCGLearner(loss="logistic").fit(log[others], start=learner).dcg_.gains[2]
    assert without <= learner.dcg_.gains[2] - 0.02
    assert found.sentence.endswith(f"without them, {without:.4g}")
    random = np.random.default_rng(0).permutation(200)[found.n :]
    assert dl.DCGLearner(loss="logistic").fit(log[random]).dcg_.gains[2] > without + 0.01

    # the table holds rows of the log
    row = found.table.to_dicts()[0]
    assert row["preferred"] == " ".join(map(str, log.preferred[row["row"]]))
    assert row["query"] == log.query[row["row"]] and row["influence"] < 0


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
    assert (found.n, found.n_total, found.smallest) == (1, 6, True)
    assert found.table.to_dicts()[0]["rater"] == "odd" and found.table["verdicts"][0] == 60
    assert found.sentence.startswith("1 of 6 raters decides that the gain of grade 2 is below ")
    assert found.share == pytest.approx(60 / 160)
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
    assert by_pair.share == pytest.approx(by_pair.n / 160)


def test_a_conclusion_that_is_false_now_is_said_to_be():
    log = noisy(60)
    found = what_if(log, None, "gain of 2 > 0.99")
    assert not found.holds and found.n is None and not found.confirmed and not len(found.rows)
    assert found.sentence.startswith(
        "it does not hold that the gain of grade 2 is above 0.99 (now 0."
    )


def test_what_no_removal_turns_is_said():
    log = noisy(60)
    learner = dl.DCGLearner(loss="logistic").fit(log)
    fixed = what_if(log, learner, "gain of 4 > 0.5")
    assert fixed.n is None and fixed.holds
    assert fixed.sentence == (
        "no verdicts were found that decide that the gain of grade 4 is above 0.5 (now 1): it held "
        "in every trial without up to 30 of 60"
    )
    far = what_if(log, learner, "gain of 1 > 0.00001")
    assert far.n is None and "without those that speak most for it, 0." in far.sentence


def test_names_of_grades_and_ways_to_write():
    log = noisy(60).changed(grade_names=("bad", "fair", "good", "very good", "perfect"))
    learner = dl.DCGLearner(loss="logistic").fit(log)
    one, two = (
        conclusion_of(words, log, fit_of(learner))
        for words in ("gain of Very Good<0.99", " the  gain of grade 3 < .99")
    )
    assert one.margin == two.margin
    assert one.claim == "the gain of very good is below 0.99"
    place = conclusion_of("Discount at position 3 > 0.1", log, fit_of(learner))
    assert place.margin == pytest.approx(learner.dcg_.discounts[2] - 0.1, abs=1e-5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("gian of 2 > 0.5", 'is no conclusion that verdicts decide: write "gain of 2 > 0.5"'),
        ("gain of 9 > 0.5", "there is no '9' in the log, but 0, 1, 2, 3, 4"),
        ("discount at 11 > 0.5", "there is no '11' in the log, but 1, 2"),
        ("gain of 2 > much", "'much' is no number"),
        ("gain of 2 > nan", "'nan' is no number"),
        ("followed rather than best", "neither a file nor GAIN-DISCOUNT"),
        ("new better than old", "give judgements= and runs="),
    ],
)
def test_words_that_are_no_conclusion(words, message):
    with pytest.raises(InputError) as raised:
        what_if(noisy(40), dl.DCGLearner(loss="logistic"), words)
    assert message in str(raised.value)


def test_other_learners_and_too_few_raters_are_refused():
    log = noisy(40)
    with pytest.raises(InputError, match="is no DCGLearner"):
        what_if(log, dl.UtilityLearner(), "gain of 2 > 0.1")
    with pytest.raises(InputError, match="by='ratter'"):
        what_if(log, None, "gain of 2 > 0.1", by="ratter")
    with pytest.raises(InputError, match="the log has no rater"):
        what_if(log, None, "gain of 2 > 0.1", by="rater")
    with pytest.raises(InputError, match="the log has 1 rater: leave out others"):
        what_if(log.changed(rater=np.full(40, "ann")), None, "gain of 2 > 0.1", by="rater")


@pytest.mark.filterwarnings("ignore:the log tells")
def test_a_log_with_one_verdict_that_tells_anything_is_too_small():
    lists = np.array([[1], [1], [1], [1]]), np.array([[0], [1], [1], [1]])
    log = dl.Preferences(*lists, n_grades=2)
    with pytest.raises(InputError, match="too small to leave verdicts out"):
        what_if(log, None, "gain of 1 > 0.5")


def people(seed=0, n=120, **columns):
    """Return the conclusion that people follow a steep DCG rather than a flat one, and the log."""
    steep = dl.DCG([0, 0.05, 0.2, 1], [1, 0.7, 0.45, 0.3])
    log = dl.simulate.preference_pairs(steep, n, lists="free", random_state=seed)
    log = log.changed(**columns)
    fit = fit_learner(log, DirectDescription(loss="robust"))
    other = dl.DCG([0, 0.8, 0.9, 1], [1, 0.9, 0.85, 0.8])
    return OfPeople.of(log, fit, other, cross_fitted(log, fit, baseline=other), 0), log


def test_whom_people_follow_is_decided_by_the_verdicts_that_tell_them_apart():
    asked, log = people()
    assert asked.margin > 0 and asked.shown(asked.margin) == "p = 0.001"
    found = deciding(asked)
    assert found.holds and found.confirmed and "rather than the metric used now" in found.claim
    assert (asked.signs[found.rows] > 0).all()

    # with predictions held, one more or one less positive sign makes the difference
    positive, n = np.flatnonzero(asked.signs > 0), 0
    while asked.without(np.isin(np.arange(len(log)), positive[:n])).margin > 0:
        n += 1
    assert n <= found.n


def test_raters_decide_whom_people_follow():
    asked, log = people(rater=np.array([f"r{i}" for i in range(12)])[np.arange(120) % 12])
    found = deciding(asked, "rater")
    assert found.n_total == 12 and (found.n is None or len(set(log.rater[found.rows])) == found.n)


def test_the_sum_of_signs_moves_as_its_influence_says():
    asked, log = people(n=400)
    rows = np.flatnonzero(asked.signs > 0)[:3]
    left_out = np.isin(np.arange(len(log)), rows)
    total, size = asked.signs.sum(), np.abs(asked.signs).sum()
    exact = (total - 3) / np.sqrt(size - 3) - total / np.sqrt(size)
    assert asked.influence()[rows].sum() == pytest.approx(exact, rel=0.05)
    assert asked.without(left_out).signs.sum() == total - 3


def test_means_of_runs():
    log = noisy(200)
    learner = dl.DCGLearner(loss="logistic").fit(log)
    rng = np.random.default_rng(0)
    judged = {f"q{i}": {f"d{j}": int(rng.integers(0, 5)) for j in range(8)} for i in range(30)}
    runs = {
        name: {
            query: {doc: grades[doc] + noise * rng.normal() for doc in grades}
            for query, grades in judged.items()
        }
        for name, noise in (("new", 1.5), ("old", 1.6), ("far", 9.0))
    }
    means = dl.evaluate(judged, runs, {"learned": learner.dcg_})
    by_name = dict(zip(means.runs, means.means[:, 0], strict=True))
    better, worse = sorted(("new", "old"), key=by_name.__getitem__, reverse=True)
    data = {"judgements": judged, "runs": runs}
    found = what_if(log, learner, f"{better} better than {worse}", **data)
    assert found.holds
    assert found.value == f"{by_name[better] - by_name[worse]:.4g}"
    assert not what_if(log, learner, f"{worse} is better than {better}", **data).holds
    clear = what_if(log, learner, "new better than far", **data)
    assert clear.n is None
    with pytest.raises(InputError, match="no run is named 'other': the runs are"):
        what_if(log, learner, "other better than old", **data)


def test_a_blend_is_told_with_its_weights_held_and_afresh():
    log = noisy(200, n_flips=10)
    learner = dl.DCGLearner().fit(log)
    found = what_if(log, learner, f"gain of 2 > {learner.dcg_.gains[2] - 0.0005:.6f}")
    assert found.n is not None
    others = np.setdiff1d(np.arange(200), found.rows)
    assert found.afresh == f"{dl.DCGLearner().fit(log[others]).dcg_.gains[2]:.4g}"
    assert found.confirmed == (float(found.afresh) <= learner.dcg_.gains[2] - 0.0005)
    assert ("where all is learned afresh" in found.sentence) != found.confirmed


def test_a_set_that_does_not_decide_afresh_is_not_said_to_decide():
    log = noisy(60)
    learner = dl.DCGLearner(loss="logistic").fit(log)
    found = what_if(log, learner, f"gain of 2 > {learner.dcg_.gains[2] - 0.02:.4f}")
    unsure = replace(found, n=3, without="0.2", confirmed=False, smallest=False, afresh="0.9")
    assert unsure.sentence == (
        f"no verdicts were found that decide that {found.claim} (now {found.value}): without "
        "3 of 60, 0.2, but 0.9 where all is learned afresh"
    )
    assert "there may be a smaller set: not all were tried" not in unsure.notes
