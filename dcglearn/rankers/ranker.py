"""What every ranker shares: checked queries, scores, evaluation by a DCG, files; scaled features of linear ones."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG
from dcglearn.metric.reading import read_metric
from dcglearn.rankers.feature_columns import FeatureColumns, from_frame, is_table
from dcglearn.rankers.model_files import read_model, save_model
from dcglearn.rankers.queries import Queries, checked_features, fingerprint_of, has_missing

if TYPE_CHECKING:
    import os
    from typing import Self

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats, Integers
    from dcglearn.metric.dcg import DCGLike


class Ranker(BaseEstimator):
    """A model that scores documents; subclasses have `fit`, and a parameter `loss` or `metric` that holds the DCG."""

    metric_: DCG
    n_features_in_: int
    columns_: FeatureColumns | None = None
    """Names and categories of the features that the model was trained on, if they are known."""

    takes_missing = False
    """Whether the model takes NaN as a missing value, and categories."""
    _weights: tuple[str, ...] = ("coef_", "intercept_")
    """Fitted arrays that a saved model holds."""
    _data_file = "weights.npz"
    """Name of the file of a saved model that holds its numbers, without the checksum."""
    _also_reads: tuple[str, ...] = ()
    """Kinds of saved models, beside its own, that `load` reads as this class."""

    def predict(self, X: Any) -> Floats:
        """Return the score of each document, shape (n,); larger is better.

        Raises
        ------
        InputError
            If X has not the features that the model was trained on.
        """
        return self._scores(self._features_of(X))

    def score(self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None) -> float:
        """Return the mean normalised DCG over queries (0 for one without a relevant document).

        Parameters
        ----------
        X : array_like or CSR, shape (n, d), or Queries
            Features; `Queries` bring y and qid with them.
        y, qid : array_like, shape (n,)
            Grades and queries.

        Raises
        ------
        InputError
            If qid is missing, or a grade is not on the metric's scale.
        """
        return float(self.evaluate(X, y, qid).mean())

    def evaluate(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        metric: DCGLike | None = None,
        **options: Any,
    ) -> Floats:
        """Return the normalised DCG of each query, shape (m,), by `metric` or the model's own; see `ndcg_by_query`.

        A `metric` may be a DCG, a file, or a name.
        """
        check_is_fitted(self)
        queries = as_queries(X, y, qid, missing=self.takes_missing)
        dcg = self.metric_ if metric is None else read_metric(metric, *scale_of(queries))
        return queries.evaluate(self.predict(queries), dcg, **options)

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write the fitted model into a folder: parameters as JSON, arrays as npz; nothing is pickled.

        Raises
        ------
        InputError
            If the ranker is not fitted or is of a kind that has no file, or the folder cannot be written.
        """
        save_model(self, path, force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], metric: DCG | None = None) -> Self:
        """Read what `save` wrote; see `load_ranker`, which reads every kind of model."""
        return read_model(path, dict.fromkeys((cls.__name__, *cls._also_reads), cls), metric)

    def _numbers(self) -> tuple[bytes, dict[str, Any]]:
        """Return the fitted numbers as the content of `_data_file`, and further fields of ``model.json``."""
        arrays: dict[str, Any] = {name: np.asarray(getattr(self, name)) for name in self._weights}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        return buffer.getvalue(), {}

    def _set_numbers(self, content: bytes, fields: dict[str, Any]) -> None:
        """Set what `_numbers` returned; `fields` are those of ``model.json``."""
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            for name in self._weights:
                setattr(self, name, arrays[name] if arrays[name].ndim else float(arrays[name]))
        if self.coef_.shape != (self.n_features_in_,) or not np.isfinite(self.coef_).all():
            raise InputError("weights.npz does not belong to model.json, or is damaged")

    def _identity(self, loss: Any, queries: Queries, valid: Queries | None, **arrays: Floats | None) -> dict[str, str]:
        """Return what must be equal when a training is resumed: parameters, and fingerprints of data and arrays."""
        start = getattr(self, "start", None)
        start = (
            start if start is None or isinstance(start, str) else np.asarray(getattr(start, "coef_", start)).tolist()
        )
        texts = {name: _exact(value) for name, value in self.get_params(deep=False).items()}
        texts |= {"ranker": type(self).__name__, "loss": _exact(loss), "start": _exact(start)}
        texts |= {"data": queries.fingerprint(), "validation data": "none" if valid is None else valid.fingerprint()}
        return texts | {name: "none" if array is None else fingerprint_of(array) for name, array in arrays.items()}

    def _features_of(self, X: Any) -> Any:
        """Return the features in X, checked to be those of the training set."""
        check_is_fitted(self)
        if isinstance(X, Queries):
            features, columns = X.features, X.columns
        else:
            features, columns = from_frame(X) if is_table(X) else (X, None)
            features = checked_features(features, missing=self.takes_missing)
        if not self.takes_missing:
            refuse_what_trees_take(features, columns)
        elif self.columns_ is not None and columns is not None:
            features = self.columns_.aligned(features, columns)
        elif self.columns_ is not None and self.columns_.categories:
            name = next(iter(self.columns_.categories))
            raise InputError(f"the model was trained on categories of {name!r}: give X as a data frame")
        if features.shape[1] != self.n_features_in_:
            raise InputError(f"X has {features.shape[1]} features, but the model was trained on {self.n_features_in_}")
        return features

    def _scores(self, features: Any) -> Floats:
        """Return the scores of checked features; a linear model, unless a subclass overrides this."""
        return features @ self.coef_ + self.intercept_

    def _own_metric(self, queries: Queries) -> DCG:
        """Return the DCG that evaluates the model: `metric`, that of the loss, or the textbook's."""
        for dcg in (getattr(self, "metric", None), getattr(getattr(self, "loss", None), "dcg", None)):
            if dcg is not None:
                metric: DCG = read_metric(dcg, *scale_of(queries))
                check_scale(queries, metric)
                return metric
        return DCG.standard(queries.n_grades or 1, 10)


def scale_of(queries: Queries) -> tuple[int, int]:
    """Return the number of grades of queries, and the documents of the longest: what a metric's name is taken at."""
    return queries.n_grades or 1, int(queries.sizes.max(initial=1))


def on_lists(loss: Any, queries: Queries) -> Any:
    """Return a loss with its DCG, where it has the name of one."""
    return loss.for_lists(*scale_of(queries)) if hasattr(loss, "for_lists") else loss


_QID = (
    "qid is missing: give the query of each document, one label per row of X; a search such as GridSearchCV passes qid "
    "on if sklearn.set_config(enable_metadata_routing=True) is called and the ranker asks for it: "
    "ranker.set_fit_request(qid=True).set_score_request(qid=True)"
)


def as_queries(X: Any, y: ArrayLike | None, qid: ArrayLike | None, *, missing: bool = False) -> Queries:
    """Return X, y and qid as checked `Queries`; X itself if it is `Queries`.

    Missing values and categories are refused unless `missing`.
    """
    if isinstance(X, Queries):
        if y is not None or qid is not None:
            raise InputError("X is Queries, which have grades and qid: leave y and qid out")
        if not missing:
            refuse_what_trees_take(X.features, X.columns)
        return X
    if y is None:
        raise InputError("y is missing: give the grade of each document")
    if qid is None:
        raise InputError(_QID)
    queries = Queries(X, np.asarray(y), np.asarray(qid), missing=missing)
    return queries if missing else as_queries(queries, None, None)


def refuse_what_trees_take(features: Any, columns: FeatureColumns | None) -> None:
    """Raise InputError if a feature is missing or categorical."""
    if columns is not None and columns.categories:
        name = next(iter(columns.categories))
        raise InputError(f"column {name!r} is categorical: make it numbers, or train a BoostedRanker, which takes it")
    if has_missing(features):
        raise InputError("a feature is missing (NaN): fill it in, or train a BoostedRanker, which takes missing values")


def as_eval_set(eval_set: Any, n_features: int, dcg: DCG, *, missing: bool = False) -> Queries:
    """Return a validation set, `Queries` or (X, y, qid), as `Queries` with the training set's number of features."""
    if not isinstance(eval_set, Queries) and not (isinstance(eval_set, tuple) and len(eval_set) == 3):
        raise InputError("eval_set must be Queries or (X, y, qid)")
    parts = (eval_set, None, None) if isinstance(eval_set, Queries) else eval_set
    queries = as_queries(*parts, missing=missing)
    if queries.shape[1] != n_features:
        raise InputError(f"eval_set has {queries.shape[1]} features, the training set {n_features}")
    check_scale(queries, dcg, "eval_set")
    return queries


def check_scale(queries: Queries, dcg: DCG, name: str = "the data") -> None:
    """Raise InputError if the DCG has no gain for a grade of the queries."""
    top = int(queries.grades.max(initial=0))
    if top >= dcg.n_grades:
        raise InputError(
            f"{name} has grade {top}, but the DCG has gains for grades 0..{dcg.n_grades - 1}; give a DCG with "
            f"{top + 1} gains, or map the labels to its scale"
        )


def check_training(queries: Queries, dcg: DCG | None = None) -> None:
    """Raise InputError if no order can be learned: no document, or grades (or gains) that are equal in each query."""
    if not len(queries):
        raise InputError("there is no query to learn from")
    low, high = (f.reduceat(queries.grades, queries.offsets[:-1]) for f in (np.minimum, np.maximum))
    if (low == high).all():
        raise InputError(
            "all documents of each query have the same grade, so no order can be learned; "
            "check that the labels are grades, and that qid names queries, not documents"
        )
    if dcg is not None and not (dcg.gains[low] != dcg.gains[high]).any():
        raise InputError("the DCG's gains are the same for all grades within each query: it prefers no order here")


def coefficients_of(start: Any, n_features: int) -> Floats:
    """Return the coefficients of a start, a fitted linear ranker or an array, shape (d,)."""
    coefficients = np.asarray(getattr(start, "coef_", start), dtype=np.float64)
    if coefficients.shape != (n_features,) or not np.isfinite(coefficients).all():
        raise InputError(
            f"start has shape {coefficients.shape}; expected a finite coefficient a feature, ({n_features},)"
        )
    return coefficients


class Design:
    """Features of the training set scaled by their spread within queries, so that units of features change no model.

    A coefficient `v` of the scaled features scores ``(X - mean) @ (v / spread)``.
    """

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

    def set_model(self, ranker: Any, v: Floats, intercept: float = 0.0) -> None:
        """Set a ranker's model to scaled coefficients, in the units of its features."""
        ranker.coef_ = v / self.spread
        ranker.intercept_ = float(intercept - self.mean @ ranker.coef_)
        ranker.n_features_in_ = len(v)

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


def _exact(value: Any) -> str:
    """Return a parameter as text; texts of two losses or DCGs are equal if their numbers are, to the last bit."""
    if hasattr(value, "to_dict"):
        return repr(value.to_dict())
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: _exact(getattr(value, name)) for name in value.__dataclass_fields__}
        return f"{type(value).__name__}({fields})"
    return repr(value)
