"""Weights, margins and sizes out of range: scaled inside, or refused in words before memory is
asked for.
"""

from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from dcglearn.estimators.learners import DCGLearner, UtilityLearner
from dcglearn.foundation.validation import InputError
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.trees import BoostedRanker
from dcglearn.reading.preferences import Preferences
from dcglearn.reading.read import read_preferences
from dcglearn.trust.next_pairs import suggest_pairs
from tests.makers import random_log, refused
from tests.tables import table


@table("column", ["weight", "strength", "margin"])
def test_numbers_that_swallow_others_are_refused(column, tmp_path):
    message = rf"{column}\[0\]: 1e\+300 .*is beyond 1e\+15; divide all"
    refused(message, Preferences, [[[1, 0], [0, 1]]], **{column: [1e300]})
    path = tmp_path / "log.jsonl"
    path.write_text(f'{{"a": [1, 0], "b": [0, 1], "winner": "a", "{column}": 1e300}}\n')
    refused(column, read_preferences, path)


def test_weights_of_any_usable_size_give_the_same_dcg():
    log = random_log(30, noise=0.2)
    pairs = np.stack([log.preferred, log.other], axis=1)
    logs = [Preferences(pairs, n_grades=5, weight=np.full(30, size)) for size in (1e3, 1e15)]
    learned = [DCGLearner().fit(weighted).dcg_ for weighted in logs]
    assert np.allclose(learned[0].gains, learned[1].gains, atol=1e-3)
    assert np.allclose(learned[0].discounts, learned[1].discounts, atol=1e-3)


def test_weights_that_count_for_nothing_are_refused():
    log = random_log(20, weight=np.full(20, 1e-5))
    refused(
        r"weights of the log sum to 0.0002, far less than one judgement: multiply",
        DCGLearner().fit,
        log,
    )


@table(("C", "weight"), [(1e16, 1.0), (1e300, 1.0), (1.0, 1e15)])
def test_qp_that_is_singular_in_floating_point_is_refused(C, weight):
    log = random_log(50, weight=np.full(50, weight))
    refused(
        r"too large together: the QP is singular .* lower C, or divide all weights",
        UtilityLearner(C=C).fit,
        log,
    )


def test_tiny_weights_of_shortfalls_keep_its_share_explained():
    assert 0 < UtilityLearner(C=1e-300).fit(random_log(50)).factor().explained <= 1


def test_qp_that_does_not_fit_is_refused_before_it_is_begun(monkeypatch):
    free = SimpleNamespace(available=1 << 22)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    lists = np.random.default_rng(0).integers(0, 40, (4, 2, 20))
    with pytest.raises(
        InputError, match=r"QP of 20 positions and 40 grades needs .* GB of memory, .*--depth"
    ):
        UtilityLearner().fit(Preferences(lists, n_grades=40))


def test_lists_too_deep_to_learn_are_refused_before_work():
    rows = [
        {"a": [1] * 5000, "b": [0] * 5000, "winner": "a"},
        {"a": [2, 1], "b": [0, 3], "winner": "a"},
    ]
    log = read_preferences(rows, pad=True, as_is=True)
    message = (
        "5,000 positions with 4 grades have 20,000 weights, and at most 5,000 .*convert --depth"
    )
    for use in (
        log.visible,
        lambda: UtilityLearner().fit(log),
        lambda: DCGLearner().fit(log),
        lambda: suggest_pairs(None, log),
    ):
        refused(message, use)


def test_gains_that_span_all_floats_still_choose_a_question():
    lists = np.array([[126, 5, 5], [126, 4, 4]])
    assert suggest_pairs(None, lists, 1).pairs.shape == (1, 2, 3)


@table("value", [1e308, -1e101])
def test_features_beyond_what_can_be_squared_are_refused(value):
    refused(
        r"features\[1, 0\] = .* is not a finite number up to 1e\+100",
        Queries,
        [[1.0], [value]],
        [0, 1],
        [1, 1],
    )


@pytest.mark.parametrize("rate", [np.nan, np.inf, 0.0, 1e300])
def test_learning_rates_without_meaning_are_refused(rate):
    pytest.importorskip("lightgbm")
    queries = Queries([[1.0], [2.0]], [0, 1], [1, 1])
    refused(
        r"learning_rate=.* must be a finite number above 0 and below 1000",
        BoostedRanker(learning_rate=rate).fit,
        queries,
    )


def test_whole_numbers_beyond_floats_are_refused():
    refused("gains must be numbers", DCG, [0, 10**400], [1.0])
