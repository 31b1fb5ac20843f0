"""Print the lists of 45 simulated experiments by user.

The better arm of 30 experiments is known; the other 15 are A/A tests. Users' satisfaction follows a
DCG with gains -0.3, 0.3 and 1 and discounts 1, 0.6, 0.4 and 0.3. A treatment changes how often each
grade stands at each position, for better or worse. Lists have two to four results.
"""

import numpy as np

WEIGHTS, USERS = np.outer([1.0, 0.6, 0.4, 0.3], [-0.3, 0.3, 1.0]), 50


def main() -> None:
    """Print a list a line, as CSV."""
    rng = np.random.default_rng(36)
    print("experiment,arm,user,list,outcome")
    for number in range(1, 46):
        odds = np.exp(
            [[0.4, 0.0, -0.4] + rng.normal(0, 0.2, (4, 3)) * (number <= 30) * arm for arm in (0, 4)]
        )
        shares = odds / odds.sum(axis=2, keepdims=True)
        change = np.vdot(WEIGHTS * np.array([1, 1, 2 / 3, 1 / 3])[:, None], shares[1] - shares[0])
        outcome = "A/A" if number > 30 else "better" if change > 0 else "worse"
        for arm, share in zip(("control", "treatment"), shares, strict=True):
            for user in range(1, USERS + 1):
                grades = [rng.choice(3, p=row) for row in share[: rng.integers(2, 5)]]
                print(f"e{number},{arm},{arm[0]}{user},{' '.join(map(str, grades))},{outcome}")


if __name__ == "__main__":
    main()
