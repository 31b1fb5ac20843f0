"""Results about logs, of reading them, of rankers and of this machine."""

from dataclasses import replace

import numpy as np

import dcglearn as dl
from dcglearn.cli.rankers import TrainingReport
from tests.makers import random_log


def results():
    """Yield one instance of every result."""
    # what logs can tell, and one that leaves nothing open
    yield random_log(15, "permutations").visible()
    yield random_log(600, "unknown").visible()
    lists = np.random.default_rng(0).choice([0, 2], (2, 200, 4))
    yield dl.Preferences(*lists, n_grades=4).visible()

    # how logs were read: sides, names of systems, own words, ratings
    a, b = [2, 0], [0, 2]
    sides = [{"a": a, "b": b, "shown_first": "b", "verdict": side} for side in ("right", "same")]
    names = {"a": a, "b": b, "model_a": "old", "model_b": "new", "winner": "old", "more": "<b>"}
    for log, options in (
        (sides, {}),
        ([names], {}),
        ([{"a": a, "b": b, "winner": "x|y"}], {"winner_words": {"x|y": "a"}}),
    ):
        yield dl.read_preferences(log, as_is=True, **options).recognised
    yield dl.read_ratings([{"list": a, "rating": 3}, {"list": b, "rating": 1}]).recognised

    # points of the path of a sparse ranker, the last without a feature
    queries = dl.simulate.letor_queries(12, n_features=6, sizes=(5, 9), random_state=0)
    ranker = dl.rankers.SparseRanker(n_points=4, max_iter=20).fit(queries[:8], eval_set=queries[8:])
    yield ranker.chosen_
    yield replace(ranker.chosen_, n_features=0, valid=None, coef=np.zeros(6))

    # a training on the command line
    values = {"training": {"model": 0.8, "ridge": 0.7}, "validation": {"model": 0.75}}
    stage = {"restart": 0, "stage": 1, "iterations": 9, "objective": 0.5, "train": 0.8}
    yield TrainingReport("a|b", "approx-ndcg", values, [stage], ["3 of 4 trees are used"])
