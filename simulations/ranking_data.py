"""Queries to train rankers on: a synthetic set in the shape of LETOR, and optionally real queries.

The environment variable DCGLEARN_LAMBDARANK names a folder with training and test files, and
perhaps a validation file, in svmlight format: LightGBM's lambdarank example, or a fold of LETOR.
Each repeat splits its queries anew.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import dcglearn as dl

CONFLICT, NO_CONFLICT = "LETOR-shaped", "LETOR-shaped, no conflict"
REAL = "LightGBM example"
"""Names of the queries in tables and claims, synthetic and real."""

DATA = (CONFLICT, REAL)
"""Queries of programs that train on real ones too."""

SPELLED = {CONFLICT: "conflict=1", NO_CONFLICT: "conflict=0", REAL: "LightGBM"}
"""Names of the queries on pictures, by those in tables."""
EXPLAINED = {
    CONFLICT: "simulated queries on which metrics conflict",
    NO_CONFLICT: "simulated queries on which they agree",
    REAL: "its example's 251 queries, split anew",
}
"""What the names mean, as pictures say it."""
PARTS = ("train", "vali", "test")
RATIO = 0.2 / 0.6
"""Test queries for each training query of `split`."""


def lambdarank_folder():
    """Return the folder of real queries, or None if the environment names none."""
    return os.environ.get("DCGLEARN_LAMBDARANK")


def lambdarank_part(file):
    """Return the queries of a file with qid, or with their sizes in a file beside it."""
    beside = file.with_name(f"{file.name}.query")
    if not beside.exists():
        return dl.read_queries(file)
    features, grades = load_svmlight_file(str(file), zero_based=False)
    sizes = np.loadtxt(beside, dtype=int)
    return dl.Queries.from_groups(features.toarray(), grades, sizes)


@cache
def lambdarank():
    """Return all queries of the folder."""
    folder = Path(lambdarank_folder())
    names = sorted(path for path in folder.iterdir() if path.suffix != ".query")
    files = [path for part in PARTS for path in names if part in path.name]
    if not files:
        raise dl.InputError(
            f"{folder} holds no file with train, vali or test in its name (DCGLEARN_LAMBDARANK)"
        )
    parts = [lambdarank_part(file) for file in files]

    # as many features in every part
    width = max(part.shape[1] for part in parts)
    features = np.vstack(
        [np.pad(part.features, ((0, 0), (0, width - part.shape[1]))) for part in parts]
    )
    sizes = np.concatenate([part.sizes for part in parts])
    return dl.Queries.from_groups(features, np.concatenate([part.grades for part in parts]), sizes)


def available(quick):
    """Return the names of the available data sets; quick runs use the synthetic one alone."""
    return [CONFLICT, REAL] if lambdarank_folder() and not quick else [CONFLICT]


def split(rng, data, quick, **options):
    """Return training, validation and test queries.

    Options go to `dcglearn.simulate.letor_queries`.
    """
    if data != REAL:
        sizes, counts = ((10, 30), (20, 10, 20)) if quick else ((35, 120), (60, 20, 100))
        if data == NO_CONFLICT:
            options = {"conflict": 0.0, **options}
        queries = dl.simulate.letor_queries(
            sum(counts), **{"sizes": sizes, "random_state": rng, **options}
        )
        return queries[: counts[0]], queries[counts[0] : -counts[2]], queries[-counts[2] :]
    queries = lambdarank()
    order = rng.permutation(len(queries))
    ends = [int(0.6 * len(queries)), int(0.8 * len(queries))]
    return tuple(queries[np.sort(part)] for part in np.split(order, ends))


def overlap(data):
    """Return Nadeau and Bengio's ratio of test to training queries.

    It is the number of queries that a value is measured on for each other query, where repeats
    split the same queries. The ratio is 0 for synthetic queries, which each repeat draws.
    """
    return RATIO if data == REAL else 0.0


def leave_empty(ax, data):
    """Draw only a title where a data set is not available."""
    ax.set_axis_off()
    ax.set_title(f"{SPELLED.get(data, data)}: data not available")


def explain(names, axes):
    """Say below a picture what the names of its queries mean."""
    words = "; ".join(f"{SPELLED[name]}: {EXPLAINED[name]}" for name in EXPLAINED if name in names)
    np.ravel(axes)[0].figure.supxlabel(words, x=0.01, ha="left", fontsize=7, color="0.3")
