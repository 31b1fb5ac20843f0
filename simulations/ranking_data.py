"""Synthetic queries to train rankers on, in the shape of LETOR: metrics conflict, or agree."""

import numpy as np

import dcglearn as dl

CONFLICT, NO_CONFLICT = "LETOR-shaped", "LETOR-shaped, no conflict"
"""Names of the queries in tables and claims."""

SPELLED = {CONFLICT: "conflict=1", NO_CONFLICT: "conflict=0"}
"""Names of the queries on pictures, by those in tables."""

EXPLAINED = {
    CONFLICT: "simulated queries on which metrics conflict",
    NO_CONFLICT: "simulated queries on which they agree",
}
"""What the names mean, as pictures say it."""


def split(rng, data, quick, **options):
    """Return training, validation and test queries.

    Options go to `dcglearn.simulate.letor_queries`.
    """
    sizes, counts = ((10, 30), (20, 10, 20)) if quick else ((35, 120), (60, 20, 100))
    if data == NO_CONFLICT:
        options = {"conflict": 0.0, **options}
    queries = dl.simulate.letor_queries(sum(counts), sizes=sizes, random_state=rng, **options)
    return queries[: counts[0]], queries[counts[0] : -counts[2]], queries[-counts[2] :]


def explain(names, axes):
    """Say below a picture what the names of its queries mean."""
    words = "; ".join(f"{SPELLED[name]}: {EXPLAINED[name]}" for name in EXPLAINED if name in names)
    np.ravel(axes)[0].figure.supxlabel(words, x=0.01, ha="left", fontsize=7, color="0.3")
