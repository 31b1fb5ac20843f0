"""Write a spreadsheet of side-by-side verdicts on two runs of 30 topics, and the log of them.

``python examples/verdicts.py`` writes into the current folder verdicts.csv, of each topic, which
run was shown left and right, and which of the two a person preferred, and verdicts.jsonl, the same
with the grades of the lists. The runs are those of `runs.py`, old.txt and new.txt beside this file;
the verdicts are simulated.
"""

import csv
from pathlib import Path

import numpy as np
import polars as pl

import dcglearn as dl

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


def sheet() -> None:
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


def log() -> dl.Preferences:
    """Return the verdicts with the grades of what was shown, the first five documents of a run."""
    runs = dl.read_runs([HERE / "old.txt", HERE / "new.txt"])
    docs = pl.col("document").sort_by("score", "document", descending=True).head(5)
    top = pl.concat(run.frame.group_by("query").agg(docs, run=pl.lit(run.name)) for run in runs)

    # which run each list is of
    rows = pl.read_csv("verdicts.csv")
    for side, column in {"a": "left", "b": "right"}.items():
        lists = top.rename({"run": column, "document": f"docs_{side}"})
        rows = rows.join(lists, on=["query", column], maintain_order="left")
    rows = rows.rename({"left": "system_a", "right": "system_b"})
    rows = rows.with_columns(swapped=False)  # list a was shown left
    return dl.read_preferences(dl.io.with_grades(rows, HERE / "qrels.txt"))


def main() -> None:
    """Write the spreadsheet and the log, and print what was read."""
    sheet()
    verdicts = log()
    print(verdicts.recognised)
    verdicts.save("verdicts.jsonl")
    print("wrote: verdicts.csv, verdicts.jsonl")


if __name__ == "__main__":
    main()
