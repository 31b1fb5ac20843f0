"""Results about logs: what they can tell, how a metric agrees with them, how they were read."""

import numpy as np

import dcglearn as dl
from dcglearn.logs.preference_pairs import Agreement
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
