"""Boosted trees that climb any loss: functional gradient boosting on LightGBM (`BoostedRanker`)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from dcglearn.foundation.checkpoints import read_state, write_state
from dcglearn.foundation.renamed import current_word
from dcglearn.foundation.validation import InputError, pair_values, whole_number
from dcglearn.losses import Regression, RegSHFSDCG
from dcglearn.losses.boosting import CURVATURES, DIRECTIONS, RENAMED_DIRECTIONS, descent
from dcglearn.metric.dcg import DCG
from dcglearn.rankers.queries import fingerprint
from dcglearn.rankers.ranker import Ranker, as_eval_set, as_queries, check_scale, check_training

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from dcglearn.foundation.arrays import Floats
    from dcglearn.losses import Objective
    from dcglearn.rankers.queries import Queries


OURS = {
    "num_iterations": "n_trees",
    "early_stopping_round": "patience",
    "objective": "loss",
    "metric": "metric",
    "seed": "seed",
    "label_gain": "loss",
    "eval_at": "metric",
    "init_score": "loss",
}
"""LightGBM's parameters that have another name here."""

DEFAULTS = {"verbose": -1, "feature_pre_filter": False}
"""LightGBM's parameters that have another default here."""

FIXED = {"metric": "none", "boost_from_average": False}
"""LightGBM's parameters that every training has."""


class BoostedRanker(Ranker):
    """Rank by boosted trees that climb a smooth metric, or any loss of `dcglearn.losses`, on LightGBM.

    Parameters
    ----------
    loss : loss, optional
        Higher is better; ``RegSHFSDCG`` of the textbook DCG by default. Scheduled losses are told the tree and how many
        there will be.
    n_trees : int
        How many trees.
    learning_rate : float
        What each tree is multiplied by.
    num_leaves : int
        Leaves of a tree.
    follow : {"lambdas", "gradient"}
        What trees are fitted to: LambdaMART's lambdas, which weigh each pair of documents by the change of the DCG if
        the two are swapped (`Objective.lambdas`), or the loss's gradient. "exchange", the former word for "lambdas",
        is accepted for one release.
    curvature : {"diagonal", "constant"}
        What they are divided by in a leaf: each document's own curvature, or one number (Friedman 2001).
    metric : DCG, optional
        The judge in `score` and of the validation set; by default the DCG of the loss.
    patience : int, optional
        With a validation set: stop after so many trees without a better value. The best number of trees is kept.
    seed : int
        Same seed, same model.
    start : array_like, shape (d,), or fitted linear ranker, optional
        Coefficients whose scores the trees add to, after they are brought to the gains by least squares.
    **lightgbm
        LightGBM's own parameters by their names, such as ``min_data_in_leaf=50`` or ``feature_fraction=0.8``.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        The trees.
    metric_ : DCG
    n_trees_ : int
        How many trees are used: the best number on the validation set.
    base_ : ndarray, shape (d + 1,), or None
        Coefficients and intercept of the start, as the trees add to them.
    validation_ : list of float
        Normalised DCG on the validation set after each tree.

    Raises
    ------
    InputError
        If LightGBM is not installed, or does not know a parameter.

    Notes
    -----
    Wu et al. 2009. The first tree fits gains by least squares, since many losses are flat where all scores are equal.
    LightGBM's own ``ndcg`` and ``lambdarank`` are not used: their gains belong to the whole process,
    and their discounts are log2. Queries may have any number of documents.

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

    def __init__(
        self,
        loss: Any = None,
        n_trees: int = 300,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        follow: str = "lambdas",
        curvature: str = "diagonal",
        metric: DCG | None = None,
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
        self.lightgbm = lightgbm

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, LightGBM's included."""
        return {**super().get_params(deep), **self.lightgbm}

    def set_params(self, **params: Any) -> BoostedRanker:
        """Set parameters by name, LightGBM's included."""
        own = set(self._get_param_names())
        others = {name: value for name, value in params.items() if name not in own}
        self._check_names(others)
        super().set_params(**{name: value for name, value in params.items() if name in own})
        self.lightgbm = {**self.lightgbm, **others}
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
            How much each query counts in the loss, and each document in the trees.
        checkpoint : path, optional
            A file that is written every `checkpoint_every` trees, from which ``resume=True`` continues to the same
            model.
        checkpoint_every : int
            Random choices of LightGBM begin anew so often, with a seed of their own.
        resume : bool
            Continue from the checkpoint.
        progress : bool, optional
            Show a bar with the value on the validation set; by default if there is a terminal.

        Raises
        ------
        InputError
            If an input or a setting cannot be used, or the checkpoint is damaged or of another training.
        """
        task = self._task(as_queries(X, y, qid), eval_set, query_weight, sample_weight, checkpoint_every)
        growth = Growth(self, lightgbm_itself(), task, checkpoint_every)
        if resume:
            growth.resume(checkpoint)
        growth.grow(checkpoint, progress)
        self._keep(growth.booster, growth.history)
        return self

    def _parameters(self) -> dict[str, Any]:
        """Return LightGBM's parameters, except seed and objective."""
        shape = {"learning_rate": self.learning_rate, "num_leaves": self.num_leaves}
        return {**DEFAULTS, **shape, **self.lightgbm, **FIXED}

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
        """Return what to train on, checked; set `metric_`, `n_features_in_` and `base_`."""
        loss = self._settled(queries)
        check_training(queries)
        current_word(self.follow, "follow", RENAMED_DIRECTIONS)
        self._check_settings(checkpoint_every)
        valid = None if eval_set is None else as_eval_set(eval_set, queries.shape[1], self.metric_)
        weight, by_document = checked_weights(queries, query_weight, sample_weight)
        self.n_features_in_ = queries.shape[1]
        self.base_ = None if self.start is None else start_of(self.start, queries, self.metric_)
        return Task(queries, loss, valid, weight, by_document)

    def _settled(self, queries: Queries) -> Objective:
        """Return the loss to climb, and set the metric that judges."""
        loss = RegSHFSDCG(DCG.standard(max(queries.n_grades or 2, 2), 10)) if self.loss is None else self.loss
        self.metric_ = self.metric or getattr(loss, "dcg", None) or self._own_metric(queries)
        check_scale(queries, self.metric_)
        return loss

    @property
    def feature_importances_(self) -> Floats:
        """What each feature gained over the trees that are used, shape (d,)."""
        found: Floats = self.booster_.feature_importance("gain", iteration=self.n_trees_)
        return found

    def _scores(self, features: Any) -> Floats:
        found: Floats = self.booster_.predict(features, num_iteration=self.n_trees_)
        return found if self.base_ is None else found + base_scores(features, self.base_)

    @property
    def _follow(self) -> str:
        """`follow`, a former word replaced by the present one."""
        return RENAMED_DIRECTIONS.get(self.follow, self.follow)

    def _check_settings(self, checkpoint_every: int) -> None:
        whole_number(self.n_trees, "n_trees", 1)
        whole_number(checkpoint_every, "checkpoint_every", 1)
        if self.patience is not None:
            whole_number(self.patience, "patience", 1)
        for name, value, known in (("follow", self._follow, DIRECTIONS), ("curvature", self.curvature, CURVATURES)):
            if value not in known:
                raise InputError(f"{name}={value!r}: give one of {', '.join(known)}")

    @staticmethod
    def _check_names(given: dict[str, Any]) -> None:
        for name in given:
            ours = OURS.get(name) or OURS.get(next(iter(main_names({name: None}))))
            if ours:
                raise InputError(f"{name}: give {ours}= instead")

    def _write(self, folder: Path) -> dict[str, Any]:
        self.booster_.save_model(str(folder / "trees.txt"))
        return {"n_trees_used": self.n_trees_, "base": None if self.base_ is None else self.base_.tolist()}

    def _read(self, folder: Path, fields: dict[str, Any]) -> None:
        text = (folder / "trees.txt").read_text(encoding="utf-8")
        self.booster_ = booster_of(text, f"{folder}/trees.txt")
        self.n_trees_ = int(fields["n_trees_used"])
        self.follow = self._follow
        self.base_ = None if fields.get("base") is None else np.array(fields["base"], dtype=np.float64)
        if self.base_ is not None and self.base_.shape != (self.n_features_in_ + 1,):
            raise InputError("the start in model.json has not as many coefficients as there are features")
        if self.booster_.num_feature() != self.n_features_in_ or not 0 < self.n_trees_ <= self.booster_.num_trees():
            raise InputError("trees.txt does not belong to model.json, or is damaged")


@dataclass(frozen=True)
class Task:
    """What to train on: queries, loss, validation set, and the weights of queries and documents."""

    queries: Queries
    loss: Objective
    valid: Queries | None
    weight: Floats | None
    by_document: Floats | None


class Slopes:
    """The slopes and curvatures that each tree is fitted to, tree after tree.

    The first tree fits the gains by least squares, since many losses are flat where all scores are equal.

    Parameters
    ----------
    ranker : BoostedRanker
        With its `metric_`.
    loss : Objective
    n_grown : int
        Trees that exist already.
    """

    def __init__(self, ranker: BoostedRanker, loss: Objective, n_grown: int = 0) -> None:
        self.loss, self.regression = loss, Regression(ranker.metric_)
        self.n_trees, self.follow, self.curvature = ranker.n_trees, ranker._follow, ranker.curvature
        self.n_grown = n_grown

    def __call__(
        self,
        scores: Floats,
        grades: Any,
        offsets: Any,
        weight: Floats | None,
        total: Callable[[Floats], Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return slope and curvature of the next tree, shapes (n,); for the parameters see `descent`."""
        self.n_grown += 1
        loss, follow = self.loss.at(self.n_grown, self.n_trees), self.follow
        if self.n_grown == 1:
            loss, follow = self.regression, "lambdas"
        return descent(loss, scores, grades, offsets, weight, follow, self.curvature, total)


class Growth:
    """Trees under construction, in segments that a checkpoint can hold."""

    def __init__(self, ranker: BoostedRanker, lightgbm: Any, task: Task, every: int) -> None:
        self.ranker, self.lightgbm, self.every = ranker, lightgbm, every
        self.queries, self.loss, self.valid = task.queries, task.loss, task.valid
        self.weight, self.by_document = task.weight, task.by_document
        self.history: list[float] = []
        self.booster: Any = None
        self.base = self._base_of(self.queries)
        self.valid_scores = None if self.valid is None else self._base_of(self.valid)
        self.settings = ranker._parameters()
        self.data = lightgbm.Dataset(
            self.queries.features, self.queries.grades, params=self.settings, free_raw_data=False
        )

    def _base_of(self, queries: Queries) -> Floats:
        base = self.ranker.base_
        return np.zeros(queries.shape[0]) if base is None else base_scores(queries.features, base)

    @property
    def n_grown(self) -> int:
        """Trees so far."""
        return 0 if self.booster is None else int(self.booster.num_trees())

    def grow(self, checkpoint: Any, progress: bool | None) -> None:
        """Grow until there are enough trees, or the validation set says so."""
        hidden = None if progress is None else not progress
        with tqdm(total=self.ranker.n_trees, initial=self.n_grown, desc="trees", disable=hidden) as bar:
            while self.n_grown < self.ranker.n_trees and not self._tired():
                size = min(self.every - self.n_grown % self.every, self.ranker.n_trees - self.n_grown)
                before = self.n_grown
                self._segment(size, bar)
                if checkpoint is not None:
                    self._save(checkpoint)
                if self.n_grown == before:
                    break
        if not self._tired():
            warn_of_too_few(self.n_grown, self.ranker.n_trees)

    def _segment(self, size: int, bar: Any) -> None:
        first = self.n_grown
        settings = {
            **self.settings,
            "seed": self.ranker.seed + first // self.every,
            "objective": self._objective(first),
        }

        def after(env: Any) -> None:
            self._judge(env.model, env.iteration)  # which counts from the first tree of all
            bar.update()
            if self.history:
                bar.set_postfix_str(f"validation {self.history[-1]:.4f}")
            if self._tired():
                raise self.lightgbm.callback.EarlyStopException(env.iteration, [])

        self.booster = self.lightgbm.train(
            settings, self.data, num_boost_round=size, init_model=self.booster, callbacks=[after]
        )

    def _objective(self, first: int) -> Callable[[Floats, Any], tuple[Floats, Floats]]:
        slopes = Slopes(self.ranker, self.loss, first)

        def objective(grown_scores: Floats, _: Any) -> tuple[Floats, Floats]:
            queries = self.queries
            slope, curve = slopes(grown_scores + self.base, queries.grades, queries.offsets, self.weight)
            return (slope, curve) if self.by_document is None else (slope * self.by_document, curve * self.by_document)

        return objective

    def _judge(self, booster: Any, tree: int) -> None:
        if self.valid is None or self.valid_scores is None:
            return
        self.valid_scores += booster.predict(self.valid.features, start_iteration=tree, num_iteration=1)
        self.history.append(float(self.valid.evaluate(self.valid_scores, self.ranker.metric_).mean()))

    def _tired(self) -> bool:
        return is_tired(self.history, self.ranker.patience)

    @cached_property
    def identity(self) -> dict[str, str]:
        """What must be equal when a training is resumed: settings, and a fingerprint of the data."""
        ranker = self.ranker
        settings = {
            "loss": self.loss,
            "n_trees": ranker.n_trees,
            "follow": ranker._follow,
            "curvature": ranker.curvature,
            "seed": ranker.seed,
            "checkpoint_every": self.every,
            "start": None if ranker.base_ is None else ranker.base_.tolist(),
            **self.settings,
        }
        texts = {name: repr(value) for name, value in settings.items()}
        return {"ranker": "BoostedRanker", **texts, "data": fingerprint(self.queries)}

    def _save(self, checkpoint: Any) -> None:
        trees = self.booster.model_to_string(num_iteration=-1)
        write_state(checkpoint, self.identity, {"history": self.history, "trees": trees})

    def resume(self, checkpoint: Any) -> None:
        """Continue from a checkpoint; for errors see `BoostedRanker.fit`."""
        if checkpoint is None:
            raise InputError("resume=True needs a checkpoint to resume from: give checkpoint=FILE")
        state = read_state(checkpoint, self.identity)
        self.booster = booster_of(state["trees"], str(checkpoint))
        self.history = state["history"]
        if self.valid is not None and self.valid_scores is not None:
            for tree in range(self.n_grown):
                self.valid_scores += self.booster.predict(self.valid.features, start_iteration=tree, num_iteration=1)


def is_tired(history: list[float], patience: int | None) -> bool:
    """Return whether the last `patience` trees have not brought a better value."""
    return bool(patience and history and len(history) - 1 - int(np.argmax(history)) >= patience)


def values_of_prefixes(ranker: BoostedRanker, booster: Any, valid: Queries) -> list[float]:
    """Return the value of 1, 2, ... trees on the validation set, until the ranker's `patience` is exhausted."""
    scores = np.zeros(valid.shape[0]) if ranker.base_ is None else base_scores(valid.features, ranker.base_)
    history: list[float] = []
    while len(history) < booster.num_trees() and not is_tired(history, ranker.patience):
        scores += booster.predict(valid.features, start_iteration=len(history), num_iteration=1)
        history.append(float(valid.evaluate(scores, ranker.metric_).mean()))
    return history


def warn_of_too_few(n_grown: int, n_trees: int) -> None:
    """Warn that growth ended before `n_trees`, if it did."""
    if n_grown < n_trees:
        warnings.warn(
            f"no leaf can be split any further: {n_grown} of {n_trees} trees were grown; allow smaller leaves "
            "(min_data_in_leaf)",
            UserWarning,
            stacklevel=4,
        )


def checked_weights(
    queries: Queries, query_weight: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[Floats | None, Floats | None]:
    """Return the weights by query and by document, shapes (m,) and (n,), or None where they are."""
    by_query = None if query_weight is None else pair_values(query_weight, "query_weight", len(queries), positive=True)
    if sample_weight is None:
        return by_query, None
    return by_query, pair_values(sample_weight, "sample_weight", queries.shape[0], positive=True)


def start_of(start: Any, queries: Queries, dcg: DCG) -> Floats:
    """Return the coefficients and the intercept of a start, brought to the gains over the largest by least squares.

    Raises
    ------
    InputError
        If it has not a finite coefficient a feature.
    """
    coefficients = np.asarray(getattr(start, "coef_", start), dtype=np.float64)
    if coefficients.shape != (queries.shape[1],) or not np.isfinite(coefficients).all():
        raise InputError(
            f"start has shape {coefficients.shape}; expected a finite coefficient a feature, ({queries.shape[1]},)"
        )
    scores = queries.features @ coefficients
    target = dcg.gains[queries.grades] / (np.abs(dcg.gains).max() or 1.0)
    centred = scores - scores.mean()
    size = float(centred @ centred)
    slope = max(float(centred @ target) / size, 0.0) if size > 0 else 0.0
    return np.append(slope * coefficients, target.mean() - slope * scores.mean())


def base_scores(features: Any, base: Floats) -> Floats:
    """Return the scores of a start, shape (n,)."""
    found: Floats = features @ base[:-1] + base[-1]
    return found


def lightgbm_itself() -> Any:
    """Return the module, or say how to install it."""
    try:
        import lightgbm
    except ImportError as error:
        raise InputError("LightGBM is not installed: pip install 'dcglearn[trees]'") from error
    return lightgbm


def main_names(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return LightGBM's parameters under their main names; the last of several aliases counts.

    Raises
    ------
    InputError
        If LightGBM knows no such parameter.
    """
    aliases = lightgbm_itself().basic._ConfigAliases._get_all_param_aliases()
    main = {alias: name for name, others in aliases.items() for alias in (name, *others)}
    wrong = sorted(parameters.keys() - main.keys())
    if wrong:
        raise InputError(f"{wrong[0]} is neither a parameter of BoostedRanker nor of LightGBM")
    return {main[name]: value for name, value in parameters.items()}


def booster_of(text: str, name: str) -> Any:
    """Return the model in a text, called `name` where it is refused as damaged."""
    lightgbm = lightgbm_itself()
    try:
        return lightgbm.Booster(model_str=text)
    except (lightgbm.basic.LightGBMError, ValueError, TypeError) as error:
        raise InputError(f"{name} holds no whole LightGBM model ({error})") from error
