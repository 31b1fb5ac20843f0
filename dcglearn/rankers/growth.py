"""Growth of boosted trees for any objective on LightGBM."""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.progress import bar
from dcglearn.foundation.threads import at_most, free_threads
from dcglearn.foundation.validation import Fields, Floats, InputError, InputTypeError
from dcglearn.losses import Regression
from dcglearn.losses.boosting import descent
from dcglearn.losses.objective import Lambdas
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training


@dataclass(frozen=True)
class Task:
    """A checked training of trees.

    `weight`, shape (m,), and `by_document`, shape (n,), are weights of queries and documents.
    `parameters` are LightGBM's, except seed and objective.
    """

    training: Training
    ranker: Any
    weight: Floats | None
    by_document: Floats | None
    parameters: Fields

    @property
    def feature_names(self) -> Any:
        """Names of features, as LightGBM's data sets take them."""
        return "auto" if self.ranker.columns_ is None else self.ranker.columns_.for_lightgbm()

    def base_scores(self, queries: Queries) -> Floats:
        """Return the scores that the trees add to, shape (n,)."""
        base = self.ranker.base_
        return np.zeros(queries.shape[0]) if base is None else base_scores(queries.features, base)

    def is_stalled(self, history: list[float]) -> bool:
        """Return whether the last `patience` trees have not brought a better value."""
        patience = self.ranker.patience
        return bool(patience and history and len(history) - 1 - int(np.argmax(history)) >= patience)

    def validate(self, booster: Any, scores: Floats, history: list[float]) -> None:
        """Add the next tree to the scores of the validation set, and the value to the history."""
        if self.training.valid is not None:
            only = {"start_iteration": len(history), "num_iteration": 1}
            n_threads, features = threads_of(self.parameters), self.training.valid.features
            scores += booster.predict(features, num_threads=n_threads, **only)
            history.append(float(self.training.valid.evaluate(scores, self.ranker.metric_).mean()))


class Slopes:
    """Slopes and curvatures for each tree; the first tree fits the gains."""

    def __init__(self, task: Task) -> None:
        ranker = task.ranker
        self.objective, self.regression = task.training.loss, Regression(ranker.metric_)
        self.n_trees, self.follow = ranker.n_trees, ranker.follow
        self.curvature, self.n_grown = ranker.curvature, 0

    def __call__(self, scores: Floats, grades: Any, offsets: Any, weight: Floats | None) -> Lambdas:
        """Return slope and curvature of the next tree, shapes (n,); parameters as in `descent`."""
        self.n_grown += 1
        objective, follow = self.objective.at(self.n_grown, self.n_trees), self.follow
        if self.n_grown == 1:
            objective, follow = self.regression, "lambdas"
        return descent(objective, scores, grades, offsets, weight, follow, self.curvature)


def grow(task: Task) -> tuple[Any, list[float]]:
    """Grow all trees, or until patience ends; return the model, and the validation set's values."""
    lightgbm, n_trees = lightgbm_itself(), task.ranker.n_trees
    queries, valid, by_document = task.training.queries, task.training.valid, task.by_document
    slopes, n_threads = Slopes(task), threads_of(task.parameters)

    # scores that the trees add to
    base = task.base_scores(queries)
    valid_scores = np.zeros(0) if valid is None else task.base_scores(valid)
    history: list[float] = []

    def objective(grown_scores: Floats, _: Any) -> Lambdas:
        scores = grown_scores + base
        slope, curve = slopes(scores, queries.grades, queries.offsets, task.weight)
        if by_document is None:
            return slope, curve
        return slope * by_document, curve * by_document

    def after(env: Any) -> None:
        # the tree's value
        is_grown = env.model.num_trees() > env.iteration
        if is_grown:
            task.validate(env.model, valid_scores, history)
            shown.update()
        if history:
            shown.set_postfix_str(f"validation {history[-1]:.4f}")

        if task.is_stalled(history) or not is_grown:
            raise lightgbm.callback.EarlyStopException(env.iteration, [])

    # all trees
    parameters = dict(task.parameters)
    columns = {
        "feature_name": task.feature_names,
        "categorical_feature": parameters.pop("categorical_feature", "auto"),
    }
    data = lightgbm.Dataset(queries.features, queries.grades, params=parameters, **columns)
    own = {"seed": task.ranker.random_state, "num_threads": n_threads, "objective": objective}
    with bar(n_trees, "trees") as shown, at_most(n_threads):
        booster = lightgbm.train(
            {**parameters, **own}, data, num_boost_round=n_trees, callbacks=[after]
        )

    # say so where growth ended before
    n_grown = booster.num_trees()
    if n_grown < n_trees and not task.is_stalled(history):
        warnings.warn(
            f"no leaf can be split any further: {n_grown} of {n_trees} trees were grown; allow "
            "smaller leaves (min_data_in_leaf)",
            UserWarning,
            stacklevel=5,
        )
    return booster, history


def base_scores(features: Any, base: Floats) -> Any:
    """Return the scores of a linear model, coefficients and intercept in one array, shape (n,)."""
    return features @ base[:-1] + base[-1]


OWN_NAMES = {
    "num_iterations": "n_trees",
    "early_stopping_round": "patience",
    "seed": "random_state",
    "eval_at": "metric",
    "objective": "loss",
    "label_gain": "loss",
}
"""LightGBM's parameters that have another name here."""


_FORKED: list[int] = []
"""The processes that were forked since this module was imported, up to this one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKED.append(os.getpid()))


def threads_of(parameters: Fields) -> int:
    """Return LightGBM's threads: its parameter, or the free processors."""
    if _FORKED:
        return 1  # with more, GNU's OpenMP would hang
    return int(parameters.get("num_threads", 0)) or free_threads()


def lightgbm_itself() -> Any:
    """Return the module, or raise InputError that says how to install it."""
    try:
        import lightgbm
    except ImportError as error:
        raise InputError("LightGBM is not installed: pip install 'dcglearn[trees]'") from error
    return lightgbm


def check_names(parameters: Fields) -> None:
    """Raise InputError unless all are names of LightGBM's parameters; aliases are not taken."""
    if not parameters:
        return
    known = lightgbm_itself().basic._ConfigAliases._get_all_param_aliases()
    for name in parameters:
        if name in OWN_NAMES:
            raise InputError(f"{name}: give {OWN_NAMES[name]}= instead")
        if name not in known:
            raise InputTypeError(
                f"{name} is neither a parameter of BoostedRanker nor the main name of one of "
                f"LightGBM{nearest(name, [*OWN_NAMES.values(), *known])}"
            )


def booster_of(text: str, name: str) -> Any:
    """Return the model in the text of a file called `name`; raise InputError if it is damaged."""
    lightgbm = lightgbm_itself()
    try:
        return lightgbm.Booster(model_str=text)
    except (lightgbm.basic.LightGBMError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{name} holds no whole LightGBM model ({error})") from error
