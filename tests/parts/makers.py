"""A log with every column that counts, for the tests of logs in parts."""

import numpy as np

from dcglearn.readers.preferences import Preferences
from tests.makers import random_log


def rich_log(n: int, seed: int = 0) -> Preferences:
    rng = np.random.default_rng(seed)
    columns = {
        "weight": rng.exponential(1, n),
        "tie": rng.random(n) < 0.1,
        "rater": rng.choice(["ann", "bob", "cy"], n),
        "strength": rng.integers(1, 4, n),
    }
    return random_log(n, "unknown", seed=seed, noise=0.15, **columns)
