"""Small candidates, and lines of logs."""

import json

import numpy as np

from dcglearn.judge.candidates import Pair, distinct
from dcglearn.metrics.dcg import DCG

TRUTH = DCG([0, 0.1, 0.3, 0.6, 1.0], [1, 0.7, 0.5, 0.35, 0.25])


def item(grade, position):
    return {
        "title": f"Title {position}",
        "snippet": f"Words of grade {grade}",
        "url": f"https://example.org/{grade}",
    }


def candidates(n=30, depth=5, n_grades=5, items=True):
    rng = np.random.default_rng(0)
    pairs = []
    for i in range(n):
        a, b = (tuple(rng.integers(0, n_grades, depth).tolist()) for _ in range(2))
        shown = [
            tuple(item(*graded) for graded in zip(grades, range(depth), strict=True))
            for grades in (a, b)
        ]
        shown = shown if items else [None, None]
        pairs.append(Pair(f"query {i % 6}", a, b, *shown))
    return distinct(pairs, n_grades)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]
