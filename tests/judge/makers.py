"""Small studies, and answers to their pairs."""

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


def candidates(n=30, depth=5, n_grades=5, seed=0, n_queries=6, items=True):
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(n):
        a, b = (tuple(rng.integers(0, n_grades, depth).tolist()) for _ in range(2))
        shown = [
            tuple(item(*graded) for graded in zip(grades, range(depth), strict=True))
            for grades in (a, b)
        ]
        shown = shown if items else [None, None]
        pairs.append(Pair(f"query {i % n_queries}", a, b, *shown))
    return distinct(pairs, n_grades)


def answer(pair, choice="left", number=0, **more):
    fields = {
        "id": f"verdict-{number:06}",
        "pair": pair["pair"],
        "choice": choice,
        "shown_left": pair["shown_left"],
    }
    return {**fields, "seconds": 1.5, **more}


def verdict(number=0, a=(4, 0, 0, 0, 0), b=(0, 0, 0, 0, 1), winner="a", **more):
    line = {
        "id": f"verdict-{number:06}",
        "query": "q",
        "a": list(a),
        "b": list(b),
        "winner": winner,
        "rater": "ann",
    }
    return {
        **line,
        "items_a": None,
        "items_b": None,
        "supersedes": None,
        "strength": None,
        "shown_left": "a",
        **more,
    }


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]
