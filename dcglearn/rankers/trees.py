"""Boosted trees that maximise any loss: functional gradient boosting on LightGBM."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.validation import (
    Fields,
    Floats,
    InputError,
    pair_values,
    whole_number,
    within,
)
from dcglearn.losses import RegSHFSDCG
from dcglearn.losses.boosting import check_words
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.growth import Task, base_scores, booster_of, check_names, grow, threads_of
from dcglearn.rankers.linear_model import coefficients_of
from dcglearn.rankers.queries import Queries, has_missing
from dcglearn.rankers.ranker import Ranker, Training

_LOG = logging.getLogger(__name__)


class BoostedRanker(Ranker):
    """Rank by LightGBM trees that maximise a smooth metric, or any loss of `dcglearn.losses`.

    Source: Wu et al. 2009. The first tree fits gains by least squares, since many losses are flat
    where all scores are equal. LightGBM's own ``ndcg`` and ``lambdarank`` are not used: their
    discounts are log2. Raises InputError if LightGBM is not installed, or does not know a
    parameter.

    Parameters
    ----------
    loss : loss, optional
        ``RegSHFSDCG`` of the textbook DCG by default. The DCG matters more than which of the smooth
        losses it is.
    n_trees, learning_rate : int, float
        Number of trees, and factor of each; a smaller factor needs more trees. Give many, and
        `patience`.
    num_leaves : int
        Most leaves of a tree. Take 7 or so for some hundred queries.
    follow : {"lambdas", "gradient"}
        Target of the trees: LambdaMART's lambdas (`Objective.lambdas`), or the loss's gradient.
        Keep "lambdas", unless there are fewer than about a hundred queries, whose noise they learn.
    curvature : {"diagonal", "constant"}
        Divisor of the target in a leaf: each document's own curvature, or one number (Friedman
        2001), as in the papers.
    metric : DCG, file or name, optional
        The metric of `score` and of the validation set; by default the DCG of the loss.
    patience : int, optional
        With a validation set: stop after this many trees without a better value; by default all
        grow.
    random_state : int
        Same seed, same model, with any number of threads.
    start : array_like, shape (d,), or fitted linear ranker, optional
        Coefficients of a linear model, scaled to the gains by least squares. The trees add to its
        scores. Take one for fewer than about a hundred queries, where trees alone stay below a
        linear model.
    **lightgbm
        LightGBM's parameters by their main names, such as ``min_data_in_leaf=50`` or
        ``feature_fraction=0.8``. ``num_threads`` is by default the number of processors that are
        free, or ``OMP_NUM_THREADS``.

    Attributes
    ----------
    booster_, metric_ : lightgbm.Booster, DCG
    n_trees_ : int
        Number of trees that are used: the best number on the validation set, or all.
    base_ : ndarray, shape (d + 1,), or None
        Coefficients and intercept of the scaled start.
    feature_names_in_ : ndarray of str, shape (d,)
        Columns of the data frame that the trees were trained on; absent for other data.
    validation_ : list of float
        Normalised DCG on the validation set after each tree.

    See Also
    --------
    LinearRanker : For few queries.
    exports.lightgbm_callables : Train with LightGBM directly.

    Examples
    --------
    >>> data = dl.simulate.letor_queries(40, random_state=0)
    >>> mine = dl.DCG(gains=[0, 1, 4], discounts=[1, 0.7, 0.5, 0.3, 0.2])
    >>> ranker = BoostedRanker(dl.losses.RegSHFSDCG(mine), n_trees=30).fit(data[:30])
    >>> 0.3 < ranker.score(data[30:]) < 1
    True
    """

    takes_missing: ClassVar[bool] = True
    _default_loss: ClassVar[type[Any] | None] = RegSHFSDCG
    _data_file: ClassVar[str] = "trees.txt"

    def __init__(
        self,
        loss: Any = None,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        follow: str = "lambdas",
        curvature: str = "diagonal",
        metric: MetricLike | None = None,
        patience: int | None = None,
        random_state: int = 0,
        start: Any = None,
        **lightgbm: Any,
    ) -> None:
        self.loss = loss
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.follow = follow
        self.curvature = curvature
        self.metric = metric
        self.patience = patience
        self.random_state = random_state
        self.start = start
        check_names(lightgbm)
        self._lightgbm = lightgbm

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        eval_set: Any = None,
        *,
        query_weight: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from documents X with grades y of queries qid, or from `Queries`.

        Raises InputError as `RidgeRanker.fit`.

        Parameters
        ----------
        X, y, qid
            As in `RidgeRanker.fit`. NaN is a missing value.
        eval_set : Queries, or (X, y, qid), optional
            Validation set: the number of trees that is best on it is used.
        query_weight, sample_weight : array_like, shapes (m,) and (n,), optional
            Weight of each query's value in the mean that is maximised; and of each document's slope
            and curvature, as in LightGBM.
        """
        weights = {"query_weight": query_weight, "sample_weight": sample_weight}
        return self._train(X, y, qid, eval_set, **weights)

    def get_params(self, deep: bool = True) -> Fields:
        """Return the parameters by name, LightGBM's included."""
        return {**super().get_params(deep), **self._lightgbm}

    def set_params(self, **params: Any) -> BoostedRanker:
        """Set parameters by name, LightGBM's included."""
        own = set(self._get_param_names())
        others = {name: value for name, value in params.items() if name not in own}
        check_names(others)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self._lightgbm = {**self._lightgbm, **others}
        return self

    def _check_parameters(self) -> None:
        self._check_whole("n_trees", "patience")
        whole_number(self.random_state, "random_state", 0)
        whole_number(self.num_leaves, "num_leaves", 2, 1 << 17)  # as in LightGBM
        # with a larger rate, scores soon overflow
        within(self.learning_rate, "learning_rate", 1000.0, "0.1 is the default", above=True)
        check_words(self.follow, self.curvature)

    def _fit(self, training: Training) -> None:
        self.booster_, self.validation_ = booster, history = grow(self._task(training))

        # as many trees as are best on the validation set
        self.n_trees_ = int(np.argmax(history)) + 1 if history else booster.num_trees()
        _LOG.info("%d trees grown, %d of them used", booster.num_trees(), self.n_trees_)

    def _task(self, training: Training) -> Task:
        """Return the checked task of a training; set `base_`."""
        queries = training.queries
        weights: list[Floats | None] = [None, None]
        sizes = {"query_weight": len(queries), "sample_weight": queries.shape[0]}
        for i, (name, n) in enumerate(sizes.items()):
            if training.options.get(name) is not None:
                weights[i] = pair_values(training.options[name], name, n, positive=True)

        # the linear model that the trees add to
        self.base_ = None
        if self.start is not None:
            if has_missing(queries.features):
                raise InputError("start: a linear model takes no missing values; leave start out")
            self.base_ = start_of(self.start, queries, self.metric_)
        by_query, by_document = weights
        return Task(training, self, by_query, by_document, self._parameters())

    def _parameters(self) -> Fields:
        """Return LightGBM's parameters; the trees are the same with any number of threads."""
        # defaults that differ from LightGBM's
        defaults: Fields = {"verbosity": -1, "feature_pre_filter": False, "deterministic": True}
        defaults |= {"learning_rate": self.learning_rate, "num_leaves": self.num_leaves}
        if "force_row_wise" not in self._lightgbm:
            defaults["force_col_wise"] = True
        return {**defaults, **self._lightgbm, "metric": "none", "boost_from_average": False}

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of the splits on each feature, over the trees that are used, shape (d,)."""
        return np.asarray(self.booster_.feature_importance("gain", iteration=self.n_trees_))

    def important(self, n: int) -> list[tuple[str, float]]:
        """Return the names of up to `n` features with the largest gains, and their shares.

        Features without names are numbered from 1.
        """
        gains = self.feature_importances_
        total = gains.sum()
        names = range(1, len(gains) + 1) if self.columns_ is None else self.columns_.names
        first = np.argsort(-gains, kind="stable")[:n]
        return [(f"{names[i]}", float(gains[i] / total)) for i in first if gains[i] > 0]

    def _scores(self, features: Any) -> Floats:
        n_threads = threads_of(self._lightgbm) if features.size > 1 << 16 else 1
        options = {"num_iteration": self.n_trees_, "num_threads": n_threads}
        scores = self.booster_.predict(features, **options)
        return scores if self.base_ is None else scores + base_scores(features, self.base_)

    def _numbers(self) -> tuple[bytes, Fields]:
        base = None if self.base_ is None else self.base_.tolist()
        fields = {"n_trees_used": self.n_trees_, "base": base}
        return self.booster_.model_to_string().encode(), fields

    def _set_numbers(self, content: bytes, fields: Fields) -> None:
        self.booster_ = booster_of(content.decode(), "trees.txt")
        self.n_trees_, self.base_ = int(fields["n_trees_used"]), None
        if fields.get("base") is not None:
            self.base_ = np.array(fields["base"], dtype=np.float64)
            if self.base_.shape != (self.n_features_in_ + 1,):
                raise InputError("the start in model.json has not one coefficient of each feature")

        n_features, n_trees = self.booster_.num_feature(), self.booster_.num_trees()
        if n_features != self.n_features_in_ or not 0 < self.n_trees_ <= n_trees:
            raise InputError("trees.txt does not belong to model.json, or is damaged")


def start_of(start: Any, queries: Queries, dcg: DCG) -> Floats:
    """Return a start's coefficients and intercept, fitted to the gains over the largest one."""
    coefficients = coefficients_of(start, queries.shape[1])
    scores = queries.features @ coefficients
    target = dcg.gains[queries.grades] / (np.abs(dcg.gains).max() or 1.0)
    centred = scores - scores.mean()
    size = float(centred @ centred)
    slope = max(float(centred @ target) / size, 0.0) if size > 0 else 0.0
    return np.append(slope * coefficients, target.mean() - slope * scores.mean())
