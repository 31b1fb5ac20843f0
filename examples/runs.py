"""Print judgements of 30 topics (`runs.py qrels`), or a run of them (`runs.py old`, `runs.py new`).

The runs rank ten documents of five grades by noisy guesses of their grades; `new` guesses better.
"""

import sys

import numpy as np

ERRORS = {"old": 1.6, "new": 1.1}
"""Standard deviation of a guess, in grades."""

rng = np.random.default_rng(0)
grades = rng.choice(5, (30, 10), p=[0.4, 0.25, 0.15, 0.12, 0.08])
scores = {run: grades + error * rng.normal(size=grades.shape) for run, error in ERRORS.items()}

name = sys.argv[1] if len(sys.argv) > 1 else "qrels"
for topic, doc in np.ndindex(grades.shape):
    if name == "qrels":
        print(f"t{topic + 1} 0 d{doc + 1} {grades[topic, doc]}")
    else:
        rank = 1 + (scores[name][topic] > scores[name][topic, doc]).sum()
        print(f"t{topic + 1} Q0 d{doc + 1} {rank} {scores[name][topic, doc]:.3f} {name}")
