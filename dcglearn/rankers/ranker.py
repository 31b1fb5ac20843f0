"""Base of every ranker: `fit` on checked queries, scores, evaluation by a DCG, files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcglearn.foundation.files import write_json
from dcglearn.foundation.validation import (
    Fields,
    Floats,
    InputError,
    PathLike,
    errors_in,
    whole_number,
)
from dcglearn.losses import Objective
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import ONLY_DCG, MetricLike, read_metric
from dcglearn.rankers.feature_columns import in_order
from dcglearn.rankers.model_files import saved_fields
from dcglearn.rankers.queries import Queries, checked_features, refuse_missing


@dataclass(frozen=True)
class Training:
    """Checked data, and the objective if there is one."""

    queries: Queries
    valid: Queries | None
    loss: Any


class Ranker(BaseEstimator):
    """A model that scores documents.

    Subclasses have `_fit`, `_numbers` and `_set_numbers`, which return and set what a file holds,
    and a parameter `loss` or `metric` that holds the DCG.
    """

    metric_: DCG
    n_features_in_: int
    columns_: tuple[str, ...] | None = None
    """Names of the features that the model was trained on, if they are known."""

    takes_missing = False
    """True if the model takes NaN as a missing value."""
    _default_loss: ClassVar[Any] = None
    """The class of the objective, with the textbook DCG, where the parameter `loss` is None."""

    # Pipeline.score routes a sample_weight of None to its last step, whatever that takes.
    __metadata_request__fit: ClassVar[Fields] = {"qid": True}
    __metadata_request__score: ClassVar[Fields] = {"qid": True, "sample_weight": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.allow_nan = True, self.takes_missing
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None) -> Self:
        """Learn from documents X with grades y of queries qid, or from `Queries`.

        Raises InputError if a parameter or an input cannot be used, or nothing can be learned from
        the data.

        Parameters
        ----------
        X : array_like, CSR or data frame, shape (n, d), or Queries
            Features; `Queries` bring y and qid with them. Names of a data frame's columns are kept.
            Trees take NaN as a missing value.
        y, qid : array_like, shape (n,)
            Grades (0 = worst), and the query of each document, the rows of a query together.
        """
        return self._train(X, y, qid)

    def _train(self, X: Any, y: Any, qid: Any, eval_set: Any = None) -> Self:
        """Learn as `fit` does, with a validation set if the ranker takes one."""
        # check data, parameters, metric and objective
        queries = as_queries(X, y, qid)
        if not self.takes_missing:
            refuse_missing(queries.features)
        self._check_parameters()
        self.metric_ = self._own_metric(queries)
        loss = self._objective(queries)
        check_training(queries, getattr(loss, "dcg", None))

        self.n_features_in_ = queries.shape[1]
        self.columns_ = queries.columns
        valid = None if eval_set is None else self._validation_set(eval_set)
        self._fit(Training(queries, valid, loss))
        return self

    def _check_parameters(self) -> None:
        """Raise InputError unless the parameters can be used."""

    def _objective(self, queries: Queries) -> Any:
        """Return the objective, or None without one; a name of a DCG is taken at the queries."""
        if self._default_loss is None:
            return None
        loss: Any = self.loss
        if loss is None:
            loss = self._default_loss(DCG.standard(queries.n_grades or 1, 10))
        if not isinstance(loss, Objective):
            raise InputError(
                f"loss={loss!r} is no loss; give one of dcglearn.losses, such as "
                f"{self._default_loss.__name__}(dcg)"
            )
        loss = loss.for_lists(*queries.scale)
        if getattr(loss, "dcg", None) is not None:
            queries.check_scale(loss.dcg)
        return loss

    def _fit(self, training: Training) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    def _check_whole(self, *names: str) -> None:
        """Raise InputError unless the parameters are positive integers."""
        for name in names:
            whole_number(getattr(self, name), name)

    def predict(self, X: Any) -> Floats:
        """Return the score of each document, shape (n,).

        Raise InputError if X has not the features of the training.
        """
        return self._scores(self._checked_features(X))

    def score(self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None) -> float:
        """Return the mean normalised DCG over queries; see `fit` for X, y, qid.

        It is 0 for a query without a relevant document. Raise InputError if qid is missing, or a
        grade is not on the metric's scale.
        """
        return float(self.evaluate(X, y, qid).mean())

    def evaluate(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        metric: MetricLike | None = None,
    ) -> Floats:
        """Return the normalised value of each query, shape (m,), by `metric` or the model's own.

        A query without a relevant document counts 0.
        """
        check_is_fitted(self)
        queries = as_queries(X, y, qid)
        own = self.metric_ if metric is None else metric
        return queries.evaluate(self.predict(queries), own)

    def save(self, path: PathLike) -> None:
        """Write the fitted model into a JSON file, with a checksum; nothing is pickled.

        Raise NotFittedError if the ranker is not fitted; InputError if it is of a kind that has no
        file, or the file cannot be written.
        """
        check_is_fitted(self)
        write_json(path, saved_fields(self))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features in training, shape (d,); there is none for other data."""
        if self.columns_ is None:
            raise AttributeError("the ranker was not trained on features with names")
        return np.array(self.columns_, dtype=object)

    def _checked_features(self, X: Any) -> Any:
        """Return the features in X, checked to be those of the training set."""
        check_is_fitted(self)
        if isinstance(X, Queries):
            features, columns = X.features, X.columns
        else:
            features, columns = checked_features(X)
        if not self.takes_missing:
            refuse_missing(features)

        # columns in the order of the training set
        if self.columns_ is not None and columns is not None:
            features = in_order(features, columns, self.columns_)
        if features.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {features.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return features

    def _scores(self, features: Any) -> Floats:
        """Return the scores of checked features."""
        raise NotImplementedError

    def _own_metric(self, queries: Queries) -> DCG:
        """Return the DCG that evaluates the model: `metric`, the loss's, or the textbook's."""
        own = getattr(self, "metric", None)
        if own is None:
            own = getattr(getattr(self, "loss", None), "dcg", None)
        if own is None:
            return DCG.standard(queries.n_grades or 1, 10)
        metric = read_metric(own, *queries.scale, accept=ONLY_DCG)
        queries.check_scale(metric)
        return metric

    def _validation_set(self, eval_set: Any) -> Queries:
        """Return `Queries` or (X, y, qid) as `Queries` with the features of the training set."""
        parts = eval_set if isinstance(eval_set, tuple) else (eval_set, None, None)
        if len(parts) != 3 or (parts[1] is None and not isinstance(parts[0], Queries)):
            raise InputError("eval_set must be Queries or (X, y, qid)")

        # the same features and grades as in training
        with errors_in("eval_set"):
            valid = as_queries(*parts)
            valid.check_scale(self.metric_)
            return replace(valid, features=self._checked_features(valid), columns=self.columns_)


class ValidatedRanker(Ranker):
    """A ranker that chooses what it keeps by a validation set, if it is given one."""

    def fit(
        self, X: Any, y: ArrayLike | None = None, qid: ArrayLike | None = None, eval_set: Any = None
    ) -> Self:
        """Learn from documents X with grades y of queries qid, or from `Queries`.

        Raises InputError as `RidgeRanker.fit`.

        Parameters
        ----------
        X, y, qid
            As in `RidgeRanker.fit`.
        eval_set : Queries, or (X, y, qid), optional
            Validation set: the stage, the number of trees or the point of a path that is best on it
            is used.
        """
        return self._train(X, y, qid, eval_set)


def as_queries(X: Any, y: ArrayLike | None, qid: ArrayLike | None) -> Queries:
    """Return X, y and qid, or `Queries` X, as `Queries`."""
    if isinstance(X, Queries):
        if y is not None or qid is not None:
            raise InputError("X is Queries, which have grades and qid: leave y and qid out")
        return X

    # arrays need y and qid
    if y is None:
        raise InputError(
            "a ranker requires y to be passed, but the target y is None: give the grade of each "
            "document"
        )
    if qid is None:
        raise InputError(
            "qid is missing: give the query of each document, one label per row of X; "
            "a Pipeline or a search such as GridSearchCV passes qid on if "
            "sklearn.set_config(enable_metadata_routing=True) is called: "
            "search.fit(X, y, qid=qid, groups=qid) with cv=GroupKFold()"
        )
    return Queries(X, np.asarray(y), np.asarray(qid))


def check_training(queries: Queries, dcg: DCG | None = None) -> None:
    """Raise InputError if no order can be learned.

    That is so without documents, or if grades (or gains) are equal in each query.
    """
    n = queries.shape[0]
    if n < 2:
        raise InputError(f"there are n_samples={n} documents to learn from, and no order of them")

    low, high = (f.reduceat(queries.grades, queries.offsets[:-1]) for f in (np.minimum, np.maximum))
    if (low == high).all():
        fact = "all documents of each query have the same grade, so no order can be learned"
        raise InputError(
            f"{fact}; check that the labels are grades, and that qid names queries, not documents"
        )
    if dcg is not None and (dcg.gains[low] == dcg.gains[high]).all():
        fact = "the DCG's gains are the same for all grades within each query"
        raise InputError(f"{fact}: it prefers no order here")
