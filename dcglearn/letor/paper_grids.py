"""Grids and procedures as the papers state them, on raw scores and from their own starts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dcglearn import losses
from dcglearn.letor.candidates import Candidate, Setting
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.sparse import SparseRanker
from dcglearn.rankers.trees import BoostedRanker


def qin(setting: Setting) -> Iterator[Candidate]:
    """Yield ApproxNDCG by alpha and beta: stochastic gradients, ten random restarts (Qin et al. 2010, algorithm 1)."""
    options: dict[str, Any] = {"solver": "sgd", "start": "random", "annealing": None, "l2": 0.0, "tol": 1e-3}
    options |= {"n_restarts": 10, "max_iter": 30, "learning_rate": 0.01}
    for alpha, beta in product((50.0, 100.0, 150.0, 200.0, 250.0, 300.0), (1.0, 10.0, 20.0, 50.0, 100.0)):
        loss = losses.ApproxNDCG(setting.dcg, alpha=alpha, beta=beta)
        ranker = LinearRanker(loss, metric=setting.dcg, seed=setting.seed, **options)
        yield Candidate(f"alpha {alpha:g}, beta {beta:g}", ranker)


def chapelle(setting: Setting) -> Iterator[Candidate]:
    """Yield SmoothNDCG by lambda: from least squares, s halved from 2^6 to 2^-6 (Chapelle and Wu 2010, algorithm 1)."""
    sharpness = [float(s) ** -0.5 for s in 2.0 ** np.arange(6, -7, -1)]
    for power in range(-6, 4):
        loss = losses.SmoothNDCG(setting.dcg, k=50)
        ranker = LinearRanker(loss, annealing=sharpness, l2=10.0**power, metric=setting.dcg, max_iter=50)
        yield Candidate(f"lambda 1e{power}", ranker)


def wu(setting: Setting, loss: str) -> Iterator[Candidate]:
    """Yield 250 boosted trees, or fewer by validation, that add to no linear model (Wu et al. 2009)."""
    for leaves, rate in product((4, 8, 16), (0.05, 0.1)):
        ranker = BoostedRanker(
            getattr(losses, loss)(setting.dcg),
            n_trees=250,
            num_leaves=leaves,
            learning_rate=rate,
            metric=setting.dcg,
            seed=setting.seed,
            num_threads=1,
        )
        yield Candidate(f"{leaves} leaves, rate {rate:g}", ranker, True)


def sun(setting: Setting) -> Iterator[Candidate]:
    """Yield RSRank's path: its best point, and its smallest within 3.5% of that (Sun et al. 2009)."""
    for tolerance in (0.0, 0.035):
        yield Candidate(f"path, tolerance {tolerance:g}", SparseRanker(setting.dcg, tolerance=tolerance), True)
