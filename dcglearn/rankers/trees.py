"""Boosted trees that maximise any loss: functional gradient boosting on LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcglearn.foundation.validation import Fields, Floats, whole_number, within
from dcglearn.losses import RegSHFSDCG
from dcglearn.losses.descent import check_words
from dcglearn.metrics.dcg import DCG
from dcglearn.metrics.reading import MetricLike
from dcglearn.rankers.growth import check_names, grow, lightgbm_itself, lightgbm_threads
from dcglearn.rankers.linear_model import start_coefficients
from dcglearn.rankers.queries import Queries, refuse_missing
from dcglearn.rankers.ranker import Training, ValidatedRanker


class BoostedRanker(ValidatedRanker):
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
        Number of trees: the best number on the validation set, or all that were grown.
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

    takes_missing = True
    _default_loss = RegSHFSDCG

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
        check_names(lightgbm, self._get_param_names())
        self._lightgbm = lightgbm

    def get_params(self, deep: bool = True) -> Fields:
        """Return the parameters by name, LightGBM's included."""
        return {**super().get_params(deep), **self._lightgbm}

    def set_params(self, **params: Any) -> BoostedRanker:
        """Set parameters by name, LightGBM's included."""
        own = self._get_param_names()
        others = [name for name in params if name.partition("__")[0] not in own]
        check_names(others, own)
        self._lightgbm = self._lightgbm | {name: params.pop(name) for name in others}
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        self._check_whole("n_trees")
        if self.patience is not None:
            whole_number(self.patience, "patience")
        whole_number(self.random_state, "random_state", 0)
        whole_number(self.num_leaves, "num_leaves", 2, 1 << 17)  # as in LightGBM
        # with a larger rate, scores soon overflow
        within(self.learning_rate, "learning_rate", 1000.0, "0.1 is the default", exclusive=True)
        check_words(self.follow, self.curvature)

    def _fit(self, training: Training) -> None:
        # the linear model that the trees add to
        queries, self.base_ = training.queries, None
        if self.start is not None:
            refuse_missing(queries.features)
            self.base_ = scaled_start(self.start, queries, self.metric_)

        self.booster_, self.validation_ = grow(self, training)

    def lightgbm_parameters(self) -> Fields:
        """Return LightGBM's parameters; the trees are the same with any number of threads."""
        # defaults that differ from LightGBM's
        defaults: Fields = {"verbosity": -1, "feature_pre_filter": False, "deterministic": True}
        if "force_row_wise" not in self._lightgbm:
            defaults["force_col_wise"] = True

        return {
            **defaults,
            **self._lightgbm,
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "seed": self.random_state,
            "num_threads": lightgbm_threads(self._lightgbm),
            "metric": "none",
            "boost_from_average": False,
        }

    def start_scores(self, features: Any) -> Any:
        """Return the scores that the trees add to, shape (n,), or None."""
        return None if self.base_ is None else features @ self.base_[:-1] + self.base_[-1]

    @property
    def n_trees_(self) -> int:
        """Number of trees: the best number on the validation set, or all that were grown."""
        return int(self.booster_.num_trees())

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of the splits on each feature, shape (d,)."""
        return np.asarray(self.booster_.feature_importance("gain"))

    def important(self, n: int) -> list[tuple[str, float]]:
        """Return the names of up to `n` features with the largest gains, and their shares.

        Features without names are numbered from 1.
        """
        gains = self.feature_importances_
        total = gains.sum()
        names = self.columns_ or range(1, len(gains) + 1)
        first = np.argsort(-gains, kind="stable")[:n]
        return [(f"{names[i]}", float(gains[i] / total)) for i in first if gains[i] > 0]

    def _scores(self, features: Any) -> Floats:
        n_threads = lightgbm_threads(self._lightgbm) if features.size > 1 << 16 else 1
        scores = self.booster_.predict(features, num_threads=n_threads)
        return scores if self.base_ is None else scores + self.start_scores(features)

    def _numbers(self) -> Fields:
        base = None if self.base_ is None else self.base_.tolist()
        return {"base": base, "trees": self.booster_.model_to_string()}

    def _set_numbers(self, numbers: Fields) -> None:
        self.booster_ = lightgbm_itself().Booster(model_str=numbers["trees"])
        self.base_ = None if numbers["base"] is None else np.array(numbers["base"])


def scaled_start(start: Any, queries: Queries, dcg: DCG) -> Floats:
    """Return a start's coefficients and intercept, fitted to the gains over the largest one."""
    coefficients = start_coefficients(start, queries.shape[1])
    scores = queries.features @ coefficients
    target = dcg.gains[queries.grades] / (np.abs(dcg.gains).max() or 1.0)
    centred = scores - scores.mean()
    size = float(centred @ centred)
    slope = max(float(centred @ target) / size, 0.0) if size > 0 else 0.0
    return np.append(slope * coefficients, target.mean() - slope * scores.mean())
