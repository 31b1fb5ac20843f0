"""Results about logs, and of reading them."""

import numpy as np

import dcglearn as dl
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
