"""Chosen pairs are informative, open, and different from each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcglearn import DCG, DCGLearner, Preferences, read_preferences, suggest_pairs
from dcglearn.io import encode, read_questions
from dcglearn.simulate import ground_truth, permutations, preference_pairs
from dcglearn.trust import next_pairs
from dcglearn.trust.next_pairs import most_informative
from tests.makers import PAPER_LIST, random_log, refused
from tests.tables import table


def answered(pairs, truth, wrong=False):
    ahead = (truth.score(pairs[:, 0]) >= truth.score(pairs[:, 1])) ^ wrong
    return np.where(ahead[:, None, None], pairs, pairs[:, ::-1])


def study(truth, seed, choose, n_flipped=0.0, sizes=(60, 100)):
    """Return the precision after each of `sizes` questions, chosen in batches of ten."""
    rng = np.random.default_rng(seed)
    test = preference_pairs(truth, 3000, random_state=10_000)
    pairs = answered(permutations(PAPER_LIST, 20, random_state=rng).reshape(10, 2, 10), truth)
    precisions = []
    while len(pairs) < max(sizes):
        pool = permutations(PAPER_LIST, 600, random_state=rng).reshape(300, 2, 10)
        pool = pool[truth.score(pool[:, 0]) != truth.score(pool[:, 1])]
        new = choose(Preferences(pairs, n_grades=5), pool)
        pairs = np.concatenate([pairs, answered(new, truth, rng.random(len(new)) < n_flipped)])
        if len(pairs) in sizes:
            precisions.append(
                test.agreement(DCGLearner().fit(Preferences(pairs, n_grades=5)).dcg_).precision
            )
    return precisions


@pytest.mark.long
def test_questions_teach_more_than_random_pairs():
    choices = ((lambda log, pool: suggest_pairs(log, pool, 10).pairs), (lambda _, pool: pool[:10]))
    truth = DCG(
        [0, 0.02, 0.1, 0.9, 1], [1, 0.98, 0.96, 0.3, 0.28, 0.26, 0.05, 0.04, 0.03, 0.02]
    )  # far from textbooks
    active, random = (np.mean([study(truth, seed, how) for seed in range(6)]) for how in choices)
    assert active > random + 0.01


@table("name", ["D1", "D2"])
def test_a_hundred_questions_teach_a_textbook(name):
    active = study(ground_truth(name), 0, lambda log, pool: suggest_pairs(log, pool, 10).pairs)
    assert active[0] >= 0.985 and active[1] >= 0.99  # goal: .95 and .985


def twin(pairs, log, dcg, n):
    """Choose n pairs as the module's docstring says, in float64, with a new inverse for each
    choice."""
    both = np.stack([encode(lists, dcg.n_grades) for lists in (pairs[:, 0], pairs[:, 1])]).astype(
        float
    )
    rows = (both[0] - both[1]).reshape(len(pairs), -1)
    judged = (encode(log.preferred, 5).astype(float) - encode(log.other, 5)).reshape(len(log), -1)
    information = 0.1 * np.eye(rows.shape[1]) + judged.T @ judged
    difference = np.abs(dcg.score(pairs[:, 0]) - dcg.score(pairs[:, 1]))
    near = difference + np.sqrt(np.mean(difference**2))
    chosen, values = [], []
    for _ in range(n):
        value = np.sqrt((rows * np.linalg.solve(information, rows.T).T).sum(axis=1)) / near
        value[chosen] = -1
        chosen.append(int(value.argmax()))
        values.append(value.max())
        information += np.outer(rows[chosen[-1]], rows[chosen[-1]])
    return pairs[chosen], values


@table("lists", ["free", "unknown"])
def test_the_choice_is_that_of_the_formula(lists):
    log = random_log(60, "free", seed=4, noise=0.1)
    learner = DCGLearner().fit(log)
    pool = (
        np.random.default_rng(5)
        .integers(-1 if lists == "unknown" else 0, 5, (3000, 2, 10))
        .astype(np.int8)
    )
    questions = suggest_pairs(log, pool, 20, learner)
    pairs, values = twin(pool, log, learner.dcg_, 20)
    np.testing.assert_array_equal(questions.pairs, pairs)
    np.testing.assert_allclose(questions.value, values, rtol=1e-4)
    _, numbers, _ = most_informative(log, pool, 20, learner, 5)
    np.testing.assert_array_equal(pool[numbers], pairs)


def test_a_fitted_learner_is_not_fitted_again(monkeypatch):
    log, pool = (
        random_log(60, "free", seed=4),
        np.random.default_rng(5).integers(0, 5, (300, 2, 10)),
    )
    expected = suggest_pairs(log, pool, 3)
    learner = DCGLearner().fit(log)
    monkeypatch.setattr(next_pairs, "fit_learner", None)
    np.testing.assert_array_equal(suggest_pairs(log, pool, 3, learner).pairs, expected.pairs)
    message = "the learner has 5 grades and 10 positions, log and candidates 7 and 10"
    refused(message, suggest_pairs, log, pool + 2, 3, learner)
    refused("log and candidates 5 and 4", suggest_pairs, None, pool[:, :, :4], 3, learner)


def test_a_batch_does_not_ask_the_same_thing_twice():
    log = random_log(20, "free")
    one = np.array([[[4, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0, 0, 0, 0, 0]]])
    near = np.repeat(one, 6, axis=0)
    near[np.arange(6), :, 4 + np.arange(6)] = (
        1  # the same question six times, with a different bystander
    )
    other = np.array([[[0, 0, 0, 0, 0, 0, 0, 0, 3, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 3]]])
    chosen = suggest_pairs(log, np.concatenate([near, other]), 2).pairs
    assert any((pair == other[0]).all() for pair in chosen)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_suggested_pairs_are_open_and_comes_from_the_candidates(seed, n):
    rng = np.random.default_rng(seed)
    log = random_log(12, "free", seed=seed % 1000)
    pool = np.concatenate(
        [rng.integers(0, 5, (20, 2, 10)), np.stack([log.other, log.preferred], axis=1)]
    )
    pool[0, 1] = pool[0, 0]
    questions = suggest_pairs(log, pool, n, DCGLearner(loss="robust"))
    assert len(questions) == n
    assert (np.diff(questions.value) <= 1e-5 * questions.value[:-1]).all()
    known = {
        tuple(map(tuple, pair)) for pair in np.stack([log.other, log.preferred], axis=1).tolist()
    }
    offered = {tuple(map(tuple, pair)) for pair in pool.tolist()}
    for pair in questions.pairs.tolist():
        key = tuple(map(tuple, pair))
        assert key in offered and key not in known and pair[0] != pair[1]


def test_without_a_log_and_with_a_prior():
    lists = permutations(PAPER_LIST, 30, random_state=0)
    first, other = (
        suggest_pairs(None, lists, 3, DCGLearner(prior=prior))
        for prior in (None, ground_truth("D1"))
    )
    assert len(first) == 3 and other.difference.tolist() != first.difference.tolist()
    assert suggest_pairs(None, lists, 3).difference.tolist() == first.difference.tolist()


def test_few_candidates_and_none():
    log = random_log(20, "free")
    with pytest.warns(UserWarning, match="only 1 pair left"):
        assert len(suggest_pairs(log, np.array([[0, 1] * 5, [1, 0] * 5]), 5)) == 1
    refused(
        "nothing is left to ask",
        suggest_pairs,
        log,
        np.stack([log.other, log.preferred], axis=1),
        5,
    )
    refused("3 positions, the log 10", suggest_pairs, log, [[0, 1, 2], [1, 0, 2]])
    refused("at least two lists", suggest_pairs, log, [[0] * 10])
    refused("n=0", suggest_pairs, log, [[0] * 10, [1] * 10], 0)


def test_the_file_of_questions_is_read_back(tmp_path):
    path = tmp_path / "questions.jsonl"
    questions = suggest_pairs(
        random_log(20, "free"), permutations(PAPER_LIST, 30, random_state=0), 3
    )
    questions.save(path)
    np.testing.assert_array_equal(read_questions(path), questions.pairs)
    assert read_preferences(path, 5).dropped == {"open questions": 3}
    refused("--force", questions.save, path)


def test_a_pair_of_short_lists_is_not_asked_twice_and_keeps_its_empty_places():
    short, other = [[2, -2, -2], [0, 1, 2]], [[2, -2, -2], [2, 1, -2]]
    log = Preferences([short], n_grades=3)
    assert suggest_pairs(log, np.array([short, other]), 1).pairs.tolist() == [other]
    refused("nothing is left to ask", suggest_pairs, log, np.array([short, short[::-1]]), 1)
    assert suggest_pairs(None, np.array([*short, other[1]]), 3, n_grades=3).pairs.min() == -2


def test_questions_print_themselves_and_are_saved_as_a_log_or_a_page(tmp_path):
    questions = suggest_pairs(None, np.array([[0, 2, -2], [1, 0, 2], [2, 1, 0]]), 2)
    assert str(questions).startswith("2 pairs of lists to judge next, the most informative first.")
    assert "0 2" in questions.table["a"].to_list() + questions.table["b"].to_list()
    questions.save(tmp_path / "asked.jsonl")
    np.testing.assert_array_equal(read_questions(tmp_path / "asked.jsonl"), questions.pairs)
    questions.save(tmp_path / "asked.html")
    assert "to judge next" in (tmp_path / "asked.html").read_text()
