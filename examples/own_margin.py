"""Learn with strengths of preference as margins, and with decreasing discounts.

A custom constraint makes the discounts decrease.

Run it with ``python examples/own_margin.py``.
"""

import numpy as np

import dcglearn as dl


def main() -> None:
    truth = dl.simulate.ground_truth("D2")
    pairs = dl.simulate.preference_pairs(truth, 300, lists="free", flip_rate=0.1, random_state=0)
    test = dl.simulate.preference_pairs(truth, 5000, lists="free", random_state=1)
    # The rater says "much better" (2) instead of "better" (1) if the difference is large.
    difference = np.abs(truth.score(pairs.preferred) - truth.score(pairs.other))
    strength = np.where(difference > np.median(difference), 2, 1)
    log = dl.Preferences(pairs.preferred, pairs.other, 5, strength=strength)

    learners = {
        "unit margin": dl.UtilityLearner(C=0.01),
        "strength as margin": dl.UtilityLearner(C=0.01, margin="log"),
        "decreasing discounts": dl.UtilityLearner(
            C=0.01,
            solver="cvxpy",
            constraints=lambda W: [W[:-1, 4] - W[:-1, 0] >= W[1:, 4] - W[1:, 0]],
        ),
    }
    for name, learner in learners.items():
        learner.fit(log)
        share = learner.score(test)
        print(f"{name:<22} {share:.3f} of held-out preferences respected, gap {learner.gap_:.0e}")


if __name__ == "__main__":
    main()
