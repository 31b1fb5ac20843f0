"""Boosted trees that maximise any loss: functional gradient boosting on LightGBM (`BoostedRanker`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dcglearn.foundation.checkpoints import read_state, write_state
from dcglearn.foundation.renamed import current_word
from dcglearn.foundation.validation import InputError, pair_values, whole_number
from dcglearn.losses import RegSHFSDCG
from dcglearn.losses.boosting import CURVATURES, DIRECTIONS, RENAMED_DIRECTIONS
from dcglearn.metric.dcg import DCG, as_dcg
from dcglearn.rankers.growth import Growth, Task, after_fork, base_scores, booster_of, main_names
from dcglearn.rankers.ranker import (
    Ranker,
    as_eval_set,
    as_queries,
    check_scale,
    check_training,
    coefficients_of,
    on_lists,
    scale_of,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats
    from dcglearn.metric.dcg import DCGLike
    from dcglearn.rankers.queries import Queries


OWN_NAMES = {
    "num_iterations": "n_trees",
    "early_stopping_round": "patience",
    "objective": "loss",
    "metric": "metric",
    "seed": "seed",
    "label_gain": "loss",
    "eval_at": "metric",
    "init_score": "loss",
}
"""LightGBM's parameters, and the names that they have here."""

MAX_LEARNING_RATE = 1000.0
"""Largest learning rate; with a larger one, scores soon overflow."""

DEFAULTS = {"verbose": -1, "feature_pre_filter": False}
"""LightGBM's parameters that have another default here."""
FIXED = {"metric": "none", "boost_from_average": False}
"""LightGBM's parameters that every training has."""


class BoostedRanker(Ranker):
    """Rank by boosted trees that maximise a smooth metric, or any loss of `dcglearn.losses`, on LightGBM.

    Parameters
    ----------
    loss : loss, optional
        Higher is better; ``RegSHFSDCG`` of the textbook DCG by default. The schedule of a loss, if any, is by tree.
    n_trees : int
        Number of trees.
    learning_rate : float
        Factor of each tree.
    num_leaves : int
        Most leaves of a tree.
    follow : {"lambdas", "gradient"}
        Target of the trees: LambdaMART's lambdas, which weigh each pair of documents by the change of the DCG if
        the two are swapped (`Objective.lambdas`), or the loss's gradient. "exchange", the former word for "lambdas",
        is accepted for one release.
    curvature : {"diagonal", "constant"}
        Divisor of the target in a leaf: each document's own curvature, or one number (Friedman 2001).
    metric : DCG, file or name, optional
        The metric of `score` and of the validation set; by default the DCG of the loss.
    patience : int, optional
        With a validation set: stop after this many trees without a better value.
    seed : int
        Same seed, same model.
    start : array_like, shape (d,), or fitted linear ranker, optional
        Coefficients of a linear model, scaled to the gains by least squares. The trees add to its scores.
    **lightgbm
        LightGBM's parameters by their names, such as ``min_data_in_leaf=50`` or ``feature_fraction=0.8``.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trees.
    metric_ : DCG
    n_trees_ : int
        Number of trees that are used: the best number on the validation set, or all.
    base_ : ndarray, shape (d + 1,), or None
        Coefficients and intercept of the scaled start.
    validation_ : list of float
        Normalised DCG on the validation set after each tree.

    Raises
    ------
    InputError
        If LightGBM is not installed, or does not know a parameter.

    Notes
    -----
    Wu et al. 2009. The first tree fits gains by least squares, since many losses are flat where all scores are equal.
    LightGBM's own ``ndcg`` and ``lambdarank`` are not used: their gains are global to the process, and their discounts
    are log2. Queries may have any number of documents.

    Examples
    --------
    >>> from dcglearn import DCG, RegSHFSDCG, simulate
    >>> data = simulate.letor_queries(40, seed=0)
    >>> mine = DCG(gains=[0, 1, 4], discounts=[1, 0.7, 0.5, 0.3, 0.2])
    >>> ranker = BoostedRanker(RegSHFSDCG(mine), n_trees=30).fit(data[:30])
    >>> 0.3 < ranker.score(data[30:]) < 1
    True
    """

    _also_reads = ("DaskBoostedRanker",)
    _data_file = "trees.txt"

    def __init__(
        self,
        loss: Any = None,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        follow: str = "lambdas",
        curvature: str = "diagonal",
        metric: DCGLike | None = None,
        patience: int | None = None,
        seed: int = 0,
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
        self.seed = seed
        self.start = start
        self._check_names(lightgbm)
        self._lightgbm = lightgbm

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, LightGBM's included."""
        return {**super().get_params(deep), **self._lightgbm}

    def set_params(self, **params: Any) -> BoostedRanker:
        """Set parameters by name, LightGBM's included."""
        own = set(self._get_param_names())
        others = {name: value for name, value in params.items() if name not in own}
        self._check_names(others)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self._lightgbm = {**self._lightgbm, **others}
        return self

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        eval_set: Any = None,
        query_weight: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 50,
        resume: bool = False,
        progress: bool | None = None,
    ) -> BoostedRanker:
        """Grow the trees.

        Parameters
        ----------
        X : array_like or CSR, shape (n, d), or Queries
            Features; `Queries` bring y and qid with them.
        y, qid : array_like, shape (n,)
            Grades and queries, the rows of a query together.
        eval_set : Queries, or (X, y, qid), optional
            Validation set: the number of trees that is best on it is used.
        query_weight, sample_weight : array_like, shapes (m,) and (n,), optional
            Weight of each query in the loss, and of each document in the trees.
        checkpoint : path, optional
            File to write the state to, every `checkpoint_every` trees.
        checkpoint_every : int
            Number of trees after which LightGBM's random choices begin anew, with a seed of their own.
        resume : bool
            Continue from `checkpoint`; the model is the same as without an interruption.
        progress : bool, optional
            Show a bar; by default on a terminal.

        Raises
        ------
        InputError
            If an input or a setting cannot be used, or the checkpoint is damaged or of another training.
        """
        task = self._task(as_queries(X, y, qid), eval_set, query_weight, sample_weight, checkpoint_every)
        growth = Growth(task, checkpoint_every)
        save = None
        if checkpoint is not None:
            weights = {"query_weight": task.weight, "sample_weight": task.by_document}
            identity = self._identity(task.objective, task.queries, task.valid, **weights)
            identity |= {"follow": task.follow, "checkpoint_every": str(checkpoint_every)}
            if resume:
                growth.restore(read_state(checkpoint, identity), str(checkpoint))
            save = partial(write_state, checkpoint, identity)
        elif resume:
            raise InputError("resume needs a checkpoint to resume from: give checkpoint=FILE")
        growth.grow(save, progress)
        self._keep(growth.booster, growth.history)
        return self

    def _keep(self, booster: Any, history: list[float]) -> None:
        """Keep the trees, as many as are best on the validation set."""
        self.booster_, self.validation_ = booster, history
        self.n_trees_ = int(np.argmax(history)) + 1 if history else booster.num_trees()

    def _task(
        self,
        queries: Queries,
        eval_set: Any,
        query_weight: ArrayLike | None,
        sample_weight: ArrayLike | None,
        checkpoint_every: int,
    ) -> Task:
        """Return the checked task of a training; set `metric_`, `n_features_in_` and `base_`."""
        loss = RegSHFSDCG(DCG.standard(max(queries.n_grades or 2, 2), 10)) if self.loss is None else self.loss
        loss = on_lists(loss, queries)
        metric = getattr(loss, "dcg", None) if self.metric is None else self.metric
        self.metric_ = self._own_metric(queries) if metric is None else as_dcg(metric, *scale_of(queries), "metric")
        check_scale(queries, self.metric_)
        check_training(queries)
        follow = current_word(self.follow, "follow", RENAMED_DIRECTIONS, stacklevel=5)
        whole_number(self.n_trees, "n_trees")
        if not 0 < self.learning_rate <= MAX_LEARNING_RATE:
            limits = f"above 0, at most {MAX_LEARNING_RATE:g}"
            raise InputError(f"learning_rate={self.learning_rate!r} must be a number {limits}; 0.1 is the default")
        whole_number(self.seed, "seed", 0)
        whole_number(checkpoint_every, "checkpoint_every")
        if self.patience is not None:
            whole_number(self.patience, "patience")
        for name, value, known in (("follow", follow, DIRECTIONS), ("curvature", self.curvature, CURVATURES)):
            if value not in known:
                raise InputError(f"{name}={value!r}: give one of {', '.join(known)}")
        valid = None if eval_set is None else as_eval_set(eval_set, queries.shape[1], self.metric_)
        by_query, by_document = (
            None if weight is None else pair_values(weight, name, n, positive=True)
            for name, weight, n in (
                ("query_weight", query_weight, len(queries)),
                ("sample_weight", sample_weight, queries.shape[0]),
            )
        )
        self.n_features_in_ = queries.shape[1]
        self.base_ = None if self.start is None else start_of(self.start, queries, self.metric_)
        shape = {"learning_rate": self.learning_rate, "num_leaves": self.num_leaves}
        return Task(
            queries,
            valid,
            loss,
            self.metric_,
            self.base_,
            by_query,
            by_document,
            n_trees=self.n_trees,
            patience=self.patience,
            seed=self.seed,
            follow=follow,
            curvature=self.curvature,
            parameters={**DEFAULTS, **shape, **self._lightgbm, **FIXED, **after_fork()},
        )

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of the splits on each feature, over the trees that are used, shape (d,)."""
        gains: Floats = self.booster_.feature_importance("gain", iteration=self.n_trees_)
        return gains

    def _scores(self, features: Any) -> Floats:
        scores: Floats = self.booster_.predict(features, num_iteration=self.n_trees_, **after_fork())
        return scores if self.base_ is None else scores + base_scores(features, self.base_)

    @staticmethod
    def _check_names(lightgbm: dict[str, Any]) -> None:
        """Raise InputError for a parameter that LightGBM does not know, or that has another name here."""
        for name in lightgbm:
            own_name = OWN_NAMES.get(name) or OWN_NAMES.get(next(iter(main_names({name: None}))))
            if own_name:
                raise InputError(f"{name}: give {own_name}= instead")

    def _numbers(self) -> tuple[bytes, dict[str, Any]]:
        base = None if self.base_ is None else self.base_.tolist()
        return self.booster_.model_to_string().encode(), {"n_trees_used": self.n_trees_, "base": base}

    def _set_numbers(self, content: bytes, fields: dict[str, Any]) -> None:
        self.booster_ = booster_of(content.decode(), "trees.txt")
        self.n_trees_ = int(fields["n_trees_used"])
        self.follow = RENAMED_DIRECTIONS.get(self.follow, self.follow)
        self.base_ = None if fields.get("base") is None else np.array(fields["base"], dtype=np.float64)
        if self.base_ is not None and self.base_.shape != (self.n_features_in_ + 1,):
            raise InputError("the start in model.json has not one coefficient of each feature")
        if self.booster_.num_feature() != self.n_features_in_ or not 0 < self.n_trees_ <= self.booster_.num_trees():
            raise InputError("trees.txt does not belong to model.json, or is damaged")


def start_of(start: Any, queries: Queries, dcg: DCG) -> Floats:
    """Return coefficients and intercept of a start, scaled by least squares to the gains divided by the largest."""
    coefficients = coefficients_of(start, queries.shape[1])
    scores = queries.features @ coefficients
    target = dcg.gains[queries.grades] / (np.abs(dcg.gains).max() or 1.0)
    centred = scores - scores.mean()
    size = float(centred @ centred)
    slope = max(float(centred @ target) / size, 0.0) if size > 0 else 0.0
    return np.append(slope * coefficients, target.mean() - slope * scores.mean())
