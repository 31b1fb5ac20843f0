"""Write thumbs of 25 users on lists of results, and three models' labels of these results.

They are simulated, so that it is known how often each model errs: ``python examples/thumbs.py``
writes thumbs.csv, gpt.csv, claude.csv and llama.csv into the current folder.
"""

import csv
from pathlib import Path

import numpy as np

N_USERS, EACH, N_QUERIES, N_DOCUMENTS = 25, 8, 40, 12
ERRORS = {"gpt": 0.2, "claude": 0.2, "llama": 0.6}
"""Share of the results that a model grades at random."""


def main() -> None:
    """Draw true grades, labels and thumbs, and write them."""
    rng = np.random.default_rng(11)
    grades = rng.choice(4, (N_QUERIES, N_DOCUMENTS), p=[0.4, 0.3, 0.2, 0.1])

    # a thumb is up where the mean worth of a list is above what its user is used to
    rows = []
    for user in range(N_USERS):
        for query in rng.choice(N_QUERIES, EACH, replace=False).tolist():
            shown = rng.choice(N_DOCUMENTS, rng.integers(3, 9), replace=False)
            worth = (2.0 ** grades[query][shown] - 1).mean() + rng.logistic(0, 0.25)
            names = "|".join(f"d{query}-{document}" for document in shown)
            rows.append([f"user {user}", f"q{query}", names, "up" if worth > 1.4 else "down"])
    write("thumbs", ["user", "query", "docs", "thumb"], rows)

    # each model errs by itself
    for name, error in ERRORS.items():
        random = rng.random(grades.shape) < error
        labels = np.where(random, rng.integers(0, 4, grades.shape), grades)
        cells = np.ndenumerate(labels)
        rows = [[f"q{query}", f"d{query}-{document}", grade] for (query, document), grade in cells]
        write(name, ["query", "doc", "grade"], rows)


def write(name: str, head: list[str], rows: list[list[object]]) -> None:
    """Write a table as NAME.csv."""
    with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    print(f"wrote: {name}.csv")


if __name__ == "__main__":
    main()
