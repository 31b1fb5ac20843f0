"""Results about logs: what they can tell, how a metric agrees with them, how they were read."""

import numpy as np

import dcglearn as dl
from dcglearn.logs.preference_pairs import Agreement
from dcglearn.readers.winner_words import Winners
from tests.makers import random_log


def results():
    """Yield one instance of every result."""
    # what logs can tell, and one that leaves nothing open
    yield random_log(15, "permutations").visible()
    yield random_log(600, "unknown").visible()
    lists = np.random.default_rng(0).choice([0, 2], (2, 200, 4))
    yield dl.Preferences(*lists, n_grades=4).visible()

    # agreement with a metric, and with no preference
    yield random_log(60, "free").agreement(dl.DCG.standard(5, 10))
    yield Agreement(0.0, 0.0, 0.0)

    # how logs were read: sides, names of systems, numbers, ratings, nothing decided
    a, b = [2, 0], [0, 2]
    sides = [{"a": a, "b": b, "order": "BA", "verdict": side} for side in ("right", "same")]
    names = {"a": a, "b": b, "model_a": "old", "model_b": "new", "winner": "old", "more": "<b>"}
    numbers = [{"a": a, "b": b, "label": 3 - i} for i in range(60)]
    for log, options in (
        (sides, {}),
        ([names], {}),
        (numbers, {"positive": "a"}),
        ([{"a": a, "b": b, "winner": "x|y"}], {"winner_words": {"x|y": "a"}}),
    ):
        recognised = dl.read_preferences(log, as_is=True, **options).recognised
        yield recognised
        yield recognised.winners
    yield dl.read_ratings([{"list": a, "rating": 3}, {"list": b, "rating": 1}]).recognised
    yield Winners(np.zeros(0, int), {})
