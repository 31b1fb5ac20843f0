"""Write a spreadsheet of side-by-side verdicts on two runs of 30 topics.

``python examples/verdicts.py`` writes verdicts.csv into the current folder: of each topic, which
run was shown left and right, and which of the two a person preferred. The runs are those of
`runs.py`, old.txt and new.txt beside this file; the verdicts are simulated.
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def values(run: str) -> dict[str, float]:
    """Return what the first five documents of each topic are worth to the simulated people."""
    lines = [line.split() for line in (HERE / "qrels.txt").read_text().splitlines()]
    grades = {(topic, document): int(grade) for topic, _, document, grade in lines}
    total: dict[str, float] = {}
    for line in (HERE / f"{run}.txt").read_text().splitlines():
        topic, _, document, rank, *_ = line.split()
        if int(rank) <= 5:
            total[topic] = total.get(topic, 0) + grades[topic, document] / int(rank) ** 0.5
    return total


def main() -> None:
    """Draw two verdicts on each topic, and write them."""
    rng = np.random.default_rng(4)
    worth = {run: values(run) for run in ("old", "new")}
    with Path("verdicts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["query", "left", "right", "winner", "rater"])
        for topic in worth["old"]:
            for rater in rng.choice(6, 2, replace=False):
                left, right = rng.permutation(["old", "new"]).tolist()
                ahead = worth[left][topic] - worth[right][topic] + rng.logistic(0, 0.8) > 0
                rows.writerow([topic, left, right, left if ahead else right, f"rater {rater + 1}"])
    print("wrote: verdicts.csv")


if __name__ == "__main__":
    main()
