"""What linear rankers share: coefficients of features that are scaled by their spread within queries, and a file."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np

from dcglearn.foundation.threads import one_blas_thread
from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Ranker, Training, coefficients_in


class LinearModel(Ranker):
    """A weighted sum of features; subclasses have `_solve`."""

    coef_: Floats
    intercept_: float

    def _fit(self, training: Training) -> None:
        with one_blas_thread():
            design = Design(training.queries)
            v, intercept = self._solve(design, training)
        self.coef_ = v / design.spread
        self.intercept_ = float(intercept - design.mean @ self.coef_)

    def _solve(self, design: Design, training: Training) -> tuple[Floats, float]:
        """Return the coefficients of the scaled features, shape (d,), and the intercept."""
        raise NotImplementedError

    def _mean_ndcg(self, design: Design, queries: Queries, v: Floats) -> float:
        """Return the mean normalised DCG over queries that are ranked by scaled coefficients."""
        return float(queries.evaluate(queries.features @ (v / design.spread), self.metric_).mean())

    def _scores(self, features: Any) -> Any:
        return features @ self.coef_ + self.intercept_

    def _numbers(self) -> tuple[bytes, dict[str, Any]]:
        buffer = io.BytesIO()
        np.savez(buffer, coef_=self.coef_, intercept_=np.asarray(self.intercept_))
        return buffer.getvalue(), {}

    def _set_numbers(self, content: bytes, fields: dict[str, Any]) -> None:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            self.coef_, self.intercept_ = arrays["coef_"], float(arrays["intercept_"])
        if self.coef_.shape != (self.n_features_in_,) or not np.isfinite(self.coef_).all():
            raise InputError("weights.npz does not belong to model.json, or is damaged")


def coefficients_of(start: Any, n_features: int) -> Floats:
    """Return the coefficients of a start, a fitted linear ranker or an array, shape (d,)."""
    coefficients = np.asarray(coefficients_in(start), dtype=np.float64)
    if coefficients.shape != (n_features,) or not np.isfinite(coefficients).all():
        raise InputError(
            f"start has shape {coefficients.shape}; expected a finite coefficient a feature, ({n_features},)"
        )
    return coefficients


class Design:
    """Features scaled by their spread within queries: coefficients v of these score ``(X - mean) @ (v / spread)``."""

    def __init__(self, queries: Queries) -> None:
        X, self.offsets = queries.features, queries.offsets
        self.features = X
        self.mean = np.asarray(X.mean(axis=0)).ravel()
        self.spread = _spread_within(X, queries.offsets)
        self._rows = X.T.tocsr() if hasattr(X, "tocsr") else X.T

    def scores(self, v: Floats) -> Floats:
        """Return the scores of all documents, shape (n,)."""
        w = v / self.spread
        return self.features @ w - self.mean @ w

    def vjp(self, slope: Floats) -> Floats:
        """Return the gradient by scaled coefficient, shape (d,), of a gradient by score, shape (n,)."""
        return (self._rows @ slope - self.mean * slope.sum()) / self.spread

    def scaled(self) -> Any:
        """Return the features divided by their spread (a copy)."""
        if hasattr(self.features, "tocsr"):
            from scipy.sparse import diags

            return (self.features @ diags(1 / self.spread)).tocsr()
        return (self.features - self.mean) / self.spread

    def spread_of(self, v: Floats) -> float:
        """Return the spread of the scores of `v`, which is the unit of sharpness."""
        return spread_of_scores(self.scores(v), self.offsets)


def spread_of_scores(scores: Floats, offsets: Integers) -> float:
    """Return the root mean square of scores about the mean of their query."""
    sizes = np.diff(offsets)
    centred = scores - np.repeat(np.add.reduceat(scores, offsets[:-1]) / sizes, sizes)
    return float(np.sqrt(np.mean(centred**2)))


def _spread_within(X: Any, offsets: Integers) -> Floats:
    """Return each feature's standard deviation within queries, 1 where it is constant in every query."""
    sizes = np.diff(offsets)
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_array

        member = csr_array((np.ones(X.shape[0]), np.arange(X.shape[0]), offsets), shape=(len(sizes), X.shape[0]))
        sums = member @ X
        total = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        between = np.asarray(sums.multiply(sums).multiply(1 / sizes[:, None]).sum(axis=0)).ravel()
        squares = np.where(total - between > 1e-12 * total, total - between, 0.0)
    else:
        squares, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for start, stop in pairwise(offsets):
            block = X[start:stop]
            squares += ((block - block.mean(axis=0)) ** 2).sum(axis=0)
            total += (block**2).sum(axis=0)
        squares = np.where(squares > 1e-24 * total, squares, 0.0)
    return np.where(squares > 0, np.sqrt(squares / X.shape[0]), 1.0)


def least_squares(design: Design, queries: Queries, dcg: DCG | None, l2: float, reweighted: bool) -> Floats:
    """Return intercept and scaled coefficients of the ridge regression on gains, or on grades without a DCG."""
    from sklearn.linear_model import Ridge

    grades = queries.grades
    target = grades.astype(np.float64) if dcg is None else dcg.gains[grades]
    unit = float(np.ptp(target))
    if unit == 0:
        raise InputError("the DCG's gains are the same for all grades in the data: it prefers no order")
    weight = np.full(len(grades), 1.0 / len(grades))
    if reweighted:
        relevant = grades > 0
        share = relevant.mean()
        if 0 < share < 1:
            weight = np.where(relevant, 0.5 / share, 0.5 / (1 - share)) / len(grades)
    ridge = Ridge(alpha=l2, tol=1e-10).fit(design.scaled(), target / unit, sample_weight=weight)
    offset = ridge.intercept_
    if hasattr(design.features, "tocsr"):  # sparse features are scaled, but not centred
        offset += design.mean / design.spread @ ridge.coef_
    return np.concatenate([[offset], ridge.coef_]) * unit
