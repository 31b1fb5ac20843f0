"""One file of each kind that dcglearn writes and reads back: how it was written (`write`), and what
it says (`READ`).

``python -m tests.saved.kinds`` writes all of them anew, which is right only as long as no release
has written any.
"""

import json
from pathlib import Path

import numpy as np

import dcglearn as dl

FOLDER = Path(__file__).parent
COLUMNS = ("preferred", "other", "tie", "query", "rater", "strength", "margin", "weight")
DCG = dl.DCG(
    [0, 1, 3.5, 7],
    [1, 0.63092975, 0.5, 1 / 3],
    grade_names=("Bad", "Fair", "Good", "Best"),
    notes=("a", "b"),
)
UTILITY = dl.Utility(np.outer([1, 0.6, 0.5], [0, 1.5, 4]), grade_names=("Bad", "Fair", "Good"))
LIST_UTILITY = dl.evaluation.ListUtility([0, 0.4, 1], [1, 0.6, 0.5], stops=[0, 0.5, 1])


def log():
    return dl.read_preferences(FOLDER / "log.jsonl")


def part(name):
    return dl.read_queries(FOLDER / f"{name}.txt", n_grades=4)


def linear():
    return dl.LinearRanker(dl.losses.ApproxNDCG(DCG), n_restarts=2, max_iter=5, random_state=4).fit(
        part("train")
    )


def trees():
    settings = {"num_leaves": 3, "min_data_in_leaf": 3, "num_threads": 1}
    return dl.BoostedRanker(dl.losses.RegSHFSDCG(DCG), n_trees=3, random_state=5, **settings).fit(
        part("train")
    )


def write(folder=FOLDER):
    """Write every file but the texts, and what `READ` returns of each."""
    DCG.save(folder / "dcg.json")
    UTILITY.save(folder / "utility.json")
    LIST_UTILITY.save(folder / "list_utility.json")
    log().save(folder / "log.parquet")
    linear().save(folder / "linear.json")
    trees().save(folder / "trees.json")
    facts = {name: read(folder / name) for name, read in READ.items()}
    (folder / "expected.json").write_text(json.dumps(facts, indent=0) + "\n")


def of_metric(metric):
    lists = np.random.default_rng(0).integers(-1, 3, (6, 3))
    return {
        "scores": metric.score(lists).tolist(),
        "names": metric.grade_names,
        "notes": list(metric.notes),
    }


def of_log(path):
    columns = {name: getattr(dl.read_preferences(path), name) for name in COLUMNS}
    return {name: None if values is None else values.tolist() for name, values in columns.items()}


def of_model(path):
    ranker = dl.load_ranker(path)
    scores = np.linspace(-1, 1, part("test").shape[0])
    value, _ = ranker.loss(scores, part("test").grades, part("test").offsets)
    return {
        "kind": type(ranker).__name__,
        "scores": ranker.predict(part("test")).tolist(),
        "loss": value,
    }


READ = {
    "dcg.json": lambda path: of_metric(dl.DCG.load(path)),
    "utility.json": lambda path: of_metric(dl.Utility.load(path)),
    "list_utility.json": lambda path: of_metric(dl.evaluation.ListUtility.load(path)),
    "log.jsonl": of_log,
    "log.parquet": of_log,
    "linear.json": of_model,
    "trees.json": of_model,
}
"""What each file says."""

if __name__ == "__main__":
    write()
