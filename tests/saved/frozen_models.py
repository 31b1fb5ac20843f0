"""The frozen models: coefficients of linear rankers, with every loss and solver."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import dcglearn as dl
from tests.saved import kinds

STEEP = dl.DCG([0, 1, 3, 7], [1, 0.6, 0.4, 0.2])


@cache
def drawn_queries() -> dl.Queries:
    """Return 20 queries of 6 to 14 documents, whose grades follow 5 features with noise."""
    rng = np.random.default_rng((2026, 1))
    sizes = rng.integers(6, 15, 20)
    n = int(sizes.sum())
    features = rng.normal(size=(n, 5)).round(4)
    slope = np.array([1.0, -0.5, 0.25, 0.0, 0.8])
    value = features @ slope + 0.7 * features[:, 0] ** 2 + rng.normal(size=n)
    grades = np.digitize(value, [0.0, 1.0, 2.2])
    return dl.Queries.from_groups(features, grades, sizes, n_grades=4)


def saved_queries() -> dl.Queries:
    """Return the saved training set."""
    return kinds.part("train")


def linear(loss: Any, **options: Any) -> Any:
    """Return a linear ranker that takes few steps."""
    return dl.LinearRanker(loss, **{"max_iter": 8, "random_state": 1, **options})


def sparse(l1: float | str, **options: Any) -> Any:
    """Return a linear ranker of few features, RSRank."""
    return dl.LinearRanker(
        dl.losses.RSRank(STEEP, depth=None), l1=l1, max_iter=40, tol=1e-4, **options
    )


LOSSES: dict[str, Callable[[], Any]] = {
    "ApproxNDCG": partial(dl.losses.ApproxNDCG, STEEP),
    "SDCG": partial(dl.losses.SDCG, STEEP),
    "SHFSDCG": partial(dl.losses.SHFSDCG, STEEP),
    "RegSHFSDCG": partial(dl.losses.RegSHFSDCG, STEEP),
    "SmoothNDCG": partial(dl.losses.SmoothNDCG, STEEP),
    "SoftRankNDCG": partial(dl.losses.SoftRankNDCG, STEEP, sigma=0.5),
    "LambdaRank": partial(dl.losses.LambdaRank, STEEP),
    "RSRank": partial(dl.losses.RSRank, STEEP),
    "RankHinge": dl.losses.RankHinge,
    "GBRank": dl.losses.GBRank,
    "ListNet": dl.losses.ListNet,
    "ListNet of gains": partial(dl.losses.ListNet, STEEP),
    "Regression": partial(dl.losses.Regression, STEEP),
    "ApproxAP": dl.losses.ApproxAP,
    "SmoothAP": dl.losses.SmoothAP,
}
"""The losses by name, with the metric of these files."""

RANKERS: dict[str, Callable[[], Any]] = {
    # every loss, then solvers, starts and schedules
    **{f"linear, {name}": partial(lambda of: linear(of()), of) for name, of in LOSSES.items()},
    "linear, lbfgs": lambda: linear(LOSSES["ApproxNDCG"](), solver="lbfgs"),
    "linear, sgd": lambda: linear(LOSSES["ApproxNDCG"](), solver="sgd"),
    "linear, lbfgs, ListNet": lambda: linear(LOSSES["ListNet"](), solver="lbfgs", l2=1.0),
    "linear, restarts": lambda: linear(LOSSES["SmoothNDCG"](), start="random", n_restarts=3),
    "linear, no annealing": lambda: linear(LOSSES["SDCG"](), annealing=None, l2=0.0),
    # other linear models
    "ridge": lambda: dl.rankers.RidgeRanker(STEEP),
    "ridge, strong": lambda: dl.rankers.RidgeRanker(STEEP, l2=10.0, reweighted=False),
    "RankSVM": lambda: dl.rankers.RankSVMRanker(metric=STEEP),
    "RankSVM, small C": lambda: dl.rankers.RankSVMRanker(metric=STEEP, C=0.1),
    "sparse": lambda: sparse("path", n_points=5),
    "sparse, l1": lambda: sparse(1.0),
    "pairwise": lambda: dl.rankers.PairwiseRanker(metric=STEEP, n_rounds=1),
}
"""The rankers by name."""


def models() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return by name what fits a ranker and says its coefficients."""
    found = {}
    for data, queries in (("drawn", drawn_queries), ("saved", saved_queries)):
        for name, ranker in RANKERS.items():
            found[f"{name} ({data})"] = partial(_fitted, ranker, queries)
    return found


def _fitted(ranker: Callable[[], Any], queries: Callable[[], dl.Queries]) -> dict[str, Any]:
    """Return coefficients and scores of a fitted ranker."""
    data = queries()
    fitted = ranker().fit(data)
    values = {"scores": np.asarray(fitted.predict(data))[:12].tolist()}
    if hasattr(fitted, "coef_"):
        values["coefficients"] = np.asarray(fitted.coef_).ravel().tolist()
    return values
