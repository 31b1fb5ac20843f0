"""Callables that carry a DCG into LightGBM, XGBoost, scikit-learn and ir_measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.evaluation.arrays import evaluate_arrays
from dcglearn.evaluation.run_values import evaluate
from dcglearn.exports.targets import carried
from dcglearn.foundation.validation import Floats, InputError, Integers, finite_array, one_of
from dcglearn.losses import ApproxNDCG, Objective
from dcglearn.losses.descent import descent
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.names import MetricName
from dcglearn.metrics.reading import MetricLike, metric_or_name

Callables = tuple[Callable[..., Any], Callable[..., Any]]


def lightgbm_callables(
    dcg: MetricLike, loss: Objective | None = None, *, ties: str = "stable", empty: float = 0.0
) -> Callables:
    """Return an objective and a metric for LightGBM.

    In ``lightgbm.train`` they are ``params["objective"]`` and ``feval``; in ``LGBMRanker`` they are
    ``objective=`` and, in ``fit``, ``eval_metric=``. The objective returns gradient and Hessian, as
    in `BoostedRanker`, and is minimised by LightGBM; the metric returns ``("NDCG", value, True)``.
    `dcg`, or its file, has any gains and discounts; `loss` is the objective to train against,
    ``ApproxNDCG(dcg)`` by default. Weights of documents have no effect. Raises InputError if the
    data have no groups; when LightGBM calls them.

    The metric has the value of `Queries.evaluate` with these `ties` and this `empty`. Documents of
    equal scores, which small trees have many of, keep their order, as in LightGBM's own ``ndcg``;
    "average" has them share their positions. A query without a relevant document counts as
    `empty`: LightGBM's own ``ndcg`` counts it as 1, so that ``ties="stable", empty=1`` gives
    LightGBM's value under ``exponential-log2``.

    See Also
    --------
    BoostedRanker : Training with all of it set up.

    Examples
    --------
    >>> objective, metric = dl.exports.lightgbm_callables(dl.DCG.standard(3, 5))
    >>> class Sets:                                   # what lightgbm.Dataset gives to its callables
    ...     get_label = staticmethod(lambda: np.array([2, 0, 1]))
    ...     get_group = staticmethod(lambda: np.array([3]))
    >>> [gradient.shape for gradient in objective(np.zeros(3), Sets)]
    [(3,), (3,)]
    """
    return _callables(carried(dcg, "LightGBM"), loss, ties, empty)


def xgboost_callables(
    dcg: MetricLike, loss: Objective | None = None, *, ties: str = "stable", empty: float = 0.0
) -> Callables:
    """Return ``obj`` and ``custom_metric`` for ``xgboost.train`` (with ``maximize=True``).

    Parameters and returns are as in `lightgbm_callables`; the data needs ``group`` or ``qid``.
    XGBoost's own ``ndcg`` has ``ties="stable", empty=1`` too.

    See Also
    --------
    exports.lightgbm_callables : The same for LightGBM.

    Examples
    --------
    >>> objective, metric = dl.exports.xgboost_callables(dl.DCG.standard(3, 5))
    >>> callable(objective), callable(metric)
    (True, True)
    """
    objective, metric = _callables(carried(dcg, "XGBoost"), loss, ties, empty)
    return objective, lambda scores, data: metric(scores, data)[:2]


def _callables(dcg: DCG, loss: Objective | None, ties: str, empty: float) -> Callables:
    """Return an objective, as gradient with curvature, and a metric, mean NDCG, for boosters."""
    trained = ApproxNDCG(dcg) if loss is None else loss
    one_of(ties, "ties", ("stable", "average"))

    # Four parameters: LGBMRanker passes groups to no other callable.
    def objective(
        first: Any, second: Any, _weight: Any = None, group: Any = None
    ) -> tuple[Floats, Floats]:
        scores, grades, sizes = _queries(first, second, group)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        values = np.asarray(scores, dtype=np.float64)
        return descent(trained, values, grades.astype(np.int64), offsets)

    def metric(
        first: Any, second: Any, _weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        scores, grades, sizes = _queries(first, second, group)
        query = np.repeat(np.arange(len(sizes)), sizes)
        ndcg: Any = evaluate_arrays(grades, scores, query, dcg, ties=ties, empty=empty)
        return "NDCG", float(ndcg.mean()), True

    return objective, metric


def _queries(first: Any, second: Any, group: Any) -> tuple[Floats, Floats, Integers]:
    """Return scores and grades of documents, and sizes of queries, from a booster's arguments.

    ``lightgbm.train`` and XGBoost pass scores and a Dataset or DMatrix; LGBMRanker passes labels,
    scores and groups.
    """
    scores, grades = second, first
    if hasattr(second, "get_label"):
        scores, grades = first, second.get_label()
        if hasattr(second, "get_uint_info"):
            group = np.diff(second.get_uint_info("group_ptr").astype(np.int64))
        else:
            group = second.get_group()

    if group is None or not len(group):
        raise InputError(
            "the data have no groups: give Dataset(..., group=), LGBMRanker.fit(..., group=) or "
            "DMatrix(..., qid=)"
        )
    return scores, grades, np.asarray(group)


def sklearn_scorer(dcg: MetricLike) -> Callable[..., float]:
    """Return a scorer for scikit-learn's ``scoring=``: the mean NDCG over queries.

    `dcg` is a DCG, its file or a textbook's name, such as ``nDCG@10``.
    ``scorer(estimator, X, y, qid=qid)`` takes grades ``y`` and scores ``estimator.predict(X)`` of
    documents, shape (n,), and the query of each. It requests `qid` by scikit-learn's metadata
    routing: after ``sklearn.set_config(enable_metadata_routing=True)``, ``cross_val_score(...,
    params={"qid": qid})`` hands each fold its part. Without `qid`, each row of ``y``, shape (Q, N),
    is a query, and so of the scores; a grade of -2 is no document. Documents of equal scores share
    their positions, as in its ``ndcg_score``. When scikit-learn calls it, it raises InputError if
    `y` has one dimension and there is no `qid`, or `qid` does not fit.

    See Also
    --------
    evaluate_arrays : Arrays of grades and scores.
    LinearRanker : Rankers with a `score` of their own.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, RegressorMixin
    >>> class Oracle(RegressorMixin, BaseEstimator):
    ...     def predict(self, X):
    ...         return X
    >>> scorer = dl.exports.sklearn_scorer(dl.DCG.standard(3, 5))
    >>> round(float(scorer(Oracle(), np.array([[0.9, 0.1, 0.5]]), np.array([[2, 0, 1]]))), 6)
    1.0
    """
    import sklearn
    from sklearn.metrics import make_scorer

    # a textbook's name is taken at the grades that are scored
    named = isinstance(metric_or_name(dcg), MetricName)
    metric = dcg if named else carried(dcg, "scikit-learn")

    def mean_ndcg(y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None = None) -> float:
        # a document a row, or else a query a row
        if qid is not None:
            y_true, y_score = finite_array(y_true, "y", 1), finite_array(y_score, "scores", 1)
        elif np.ndim(y_true) == 1:
            raise InputError(
                "y has a grade for each document, and nothing says which are of one query: "
                "give qid, by sklearn.set_config(enable_metadata_routing=True) and "
                'params={"qid": qid}; or a row of y for each query'
            )
        ndcg: Any = evaluate_arrays(y_true, y_score, qid, metric)
        return float(ndcg.mean())

    scorer = make_scorer(mean_ndcg)
    with sklearn.config_context(enable_metadata_routing=True):
        return scorer.set_score_request(qid=True)


def ir_measure(dcg: MetricLike, name: str = "DCGlearned", *, normalise: bool = True) -> Any:
    """Return a measure for ir_measures, and so for PyTerrier, by `ir_measures.define`.

    It serves ``ir_measures.calc_aggregate([measure, nDCG @ 10], qrels, run)`` and PyTerrier's
    ``eval_metrics``, as NDCG or, unless `normalise`, as DCG. Raises InputError if ir_measures is
    not installed, or has a measure of this name. A `ListUtility`, such as ERR, is held too.

    See Also
    --------
    evaluate : Evaluate without ir_measures.

    Examples
    --------
    >>> import ir_measures
    >>> measure = dl.exports.ir_measure(dl.DCG.standard(3, 5), "Example")
    >>> judged, run = {"q": {"a": 2, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    >>> ir_measures.calc_aggregate([measure], judged, run)[measure]
    1.0
    """
    try:
        import ir_measures
    except ImportError as error:
        raise InputError("ir_measures is not installed: pip install 'dcglearn[ir]'") from error
    if not name.isidentifier() or name in ir_measures.measures.registry:
        raise InputError(
            f"name={name!r} is not a plain name, or one that ir_measures has for another measure"
        )
    metric = carried(dcg, "ir-measures")

    def by_query(qrels: Any, run: Any) -> Iterator[tuple[str, float]]:
        found = evaluate(qrels, {"run": run}, {"": metric}, normalise=normalise)
        return zip(found.queries, found.filled[0, 0].tolist(), strict=True)

    return ir_measures.define(by_query, name, support_cutoff=False)
