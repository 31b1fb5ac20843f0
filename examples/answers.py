"""Print the answers of a simulated language model to 400 questions.

Each question is asked with two ways of retrieval: passages are cut at the third, or reach to the
fifth. Grades are 0 (a distractor), 1 (a part of the answer) and 2 (the answer). The model reads the
top with most care, and distractors mislead it: its DCG has the gains -1/3, 0.4 and 1.
"""

import json

import numpy as np

GAINS, DISCOUNTS = np.array([-1 / 3, 0.4, 1.0]), np.array([1.0, 0.6, 0.4, 0.3, 0.3])
CONFIGURATIONS = {"top 3": 3, "top 5": 5}


def main() -> None:
    """Print an answer a line, as JSON."""
    rng = np.random.default_rng(36)
    for number in range(1, 401):
        difficulty = rng.normal(-1, 1)
        for configuration, most in CONFIGURATIONS.items():
            grades = rng.choice(3, p=(0.5, 0.25, 0.25), size=rng.integers(1, most + 1))
            logit = 3 * (GAINS[grades] @ DISCOUNTS[: len(grades)]) + difficulty
            answer = {
                "question": f"q{number}",
                "configuration": configuration,
                "list": grades.tolist(),
            }
            print(json.dumps({**answer, "right": bool(rng.random() < 1 / (1 + np.exp(-logit)))}))


if __name__ == "__main__":
    main()
