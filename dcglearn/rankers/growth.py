"""Growth of boosted trees for any objective on LightGBM, in segments that a checkpoint can hold."""

import os
import warnings
from collections.abc import Callable, Iterable
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
from dcglearn.rankers.tree_text import check_trees


@dataclass(frozen=True)
class Task:
    """A checked training of trees.

    `weight`, shape (m,), and `by_document`, shape (n,), are weights of queries and documents.
    `parameters` are LightGBM's, except seed and objective, and `categorical` the indices of
    features that are split by sets of categories.
    """

    training: Training
    ranker: Any
    weight: Floats | None
    by_document: Floats | None
    parameters: Fields
    categorical: list[int]

    @property
    def columns(self) -> Fields:
        """Names and categorical features, as LightGBM's data sets take them."""
        names = "auto" if self.ranker.columns_ is None else self.ranker.columns_.for_lightgbm()
        return {"feature_name": names, "categorical_feature": self.categorical}

    def base_scores(self, queries: Queries) -> Floats:
        """Return the scores that the trees add to, shape (n,)."""
        base = self.ranker.base_
        return np.zeros(queries.shape[0]) if base is None else base_scores(queries.features, base)

    def is_stalled(self, history: list[float]) -> bool:
        """Return whether the last `patience` trees have not brought a better value."""
        patience = self.ranker.patience
        return bool(patience and history and len(history) - 1 - int(np.argmax(history)) >= patience)

    def values_of_prefixes(self, booster: Any) -> list[float]:
        """Return the validation set's value of 1, 2, ... trees, until `patience` is exhausted."""
        history: list[float] = []
        if self.training.valid is None:
            return history
        scores = self.base_scores(self.training.valid)
        while len(history) < booster.num_trees() and not self.is_stalled(history):
            self.validate(booster, scores, history)
        return history

    def add_tree(self, booster: Any, tree: int, scores: Floats) -> None:
        """Add the predictions of a tree to the scores of the validation set, if there is one."""
        if self.training.valid is not None:
            only = {"start_iteration": tree, "num_iteration": 1}
            n_threads, features = threads_of(self.parameters), self.training.valid.features
            scores += booster.predict(features, num_threads=n_threads, **only)

    def validate(self, booster: Any, scores: Floats, history: list[float]) -> None:
        """Add the next tree to the scores of the validation set, and the value to the history."""
        self.add_tree(booster, len(history), scores)
        if self.training.valid is not None:
            history.append(float(self.training.valid.evaluate(scores, self.ranker.metric_).mean()))


class Slopes:
    """Slopes and curvatures for each tree after `n_grown` ones; the first tree fits the gains."""

    def __init__(self, task: Task, n_grown: int = 0) -> None:
        ranker = task.ranker
        self.objective, self.regression = task.training.loss, Regression(ranker.metric_)
        self.n_trees, self.follow = ranker.n_trees, ranker.follow
        self.curvature, self.n_grown = ranker.curvature, n_grown

    def __call__(self, scores: Floats, grades: Any, offsets: Any, weight: Floats | None) -> Lambdas:
        """Return slope and curvature of the next tree, shapes (n,); parameters as in `descent`."""
        self.n_grown += 1
        objective, follow = self.objective.at(self.n_grown, self.n_trees), self.follow
        if self.n_grown == 1:
            objective, follow = self.regression, "lambdas"
        return descent(objective, scores, grades, offsets, weight, follow, self.curvature)


class Growth:
    """Trees under construction, in segments of `every`, each with a seed of its own."""

    def __init__(self, task: Task, every: int) -> None:
        self.task, self.every = task, every
        self.history: list[float] = []
        self.booster: Any = None

        # scores that the trees add to
        queries, valid = task.training.queries, task.training.valid
        self.base = task.base_scores(queries)
        self.valid_scores = np.zeros(0) if valid is None else task.base_scores(valid)

        options = {"params": task.parameters, "free_raw_data": False, **task.columns}
        self.data = lightgbm_itself().Dataset(queries.features, queries.grades, **options)

    @property
    def n_grown(self) -> int:
        """Number of trees so far."""
        return 0 if self.booster is None else int(self.booster.num_trees())

    def grow(self, save: Callable[[Fields], None] | None) -> None:
        """Grow all trees, or until patience ends; `save` the state after each segment."""
        n_trees = self.task.ranker.n_trees
        with bar(n_trees, "trees", initial=self.n_grown) as shown:
            while self.n_grown < n_trees and not self.task.is_stalled(self.history):
                before = self.n_grown
                self._segment(min(self.every - before % self.every, n_trees - before), shown)
                if save is not None:
                    trees = self.booster.model_to_string(num_iteration=-1)
                    save({"history": self.history, "trees": trees})
                if self.n_grown == before:
                    break  # no leaf can be split
        if not self.task.is_stalled(self.history):
            warn_of_too_few(self.n_grown, n_trees)

    def restore(self, state: Fields, name: str) -> None:
        """Continue from a saved state, whose file is called `name`."""
        self.booster, self.history = booster_of(state["trees"], name), list(state["history"])
        for tree in range(self.n_grown):
            self.task.add_tree(self.booster, tree, self.valid_scores)

    def _segment(self, size: int, shown: Any) -> None:
        """Grow up to `size` trees."""
        lightgbm, task, first = lightgbm_itself(), self.task, self.n_grown
        slopes, n_threads = Slopes(task, first), threads_of(task.parameters)
        queries, by_document = task.training.queries, task.by_document

        def objective(grown_scores: Floats, _: Any) -> Lambdas:
            scores = grown_scores + self.base
            slope, curve = slopes(scores, queries.grades, queries.offsets, task.weight)
            if by_document is None:
                return slope, curve
            return slope * by_document, curve * by_document

        def after(env: Any) -> None:
            task.validate(env.model, self.valid_scores, self.history)
            shown.update()
            if self.history:
                shown.set_postfix_str(f"validation {self.history[-1]:.4f}")
            if task.is_stalled(self.history):
                raise lightgbm.callback.EarlyStopException(env.iteration, [])

        # the segment's own seed, and its trees on top of the last ones
        own = {"seed": task.ranker.random_state + first // self.every, "num_threads": n_threads}
        parameters = {**task.parameters, **own, "objective": objective}
        options = {"num_boost_round": size, "init_model": self.booster, "callbacks": [after]}
        with at_most(n_threads):
            self.booster = lightgbm.train(parameters, self.data, **options)


def warn_of_too_few(n_grown: int, n_trees: int) -> None:
    """Warn that growth ended before `n_trees`, if it did."""
    if n_grown < n_trees:
        warnings.warn(
            f"no leaf can be split any further: {n_grown} of {n_trees} trees were grown; allow "
            "smaller leaves (min_data_in_leaf)",
            UserWarning,
            stacklevel=5,
        )


def base_scores(features: Any, base: Floats) -> Any:
    """Return the scores of a linear model, coefficients and intercept in one array, shape (n,)."""
    return features @ base[:-1] + base[-1]


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


def main_names(parameters: Fields, own: Iterable[str] = ()) -> Fields:
    """Return LightGBM's parameters under their main names; of several aliases the last counts.

    Raise InputError for an unknown one, with the nearest of LightGBM's names and `own`.
    """
    # main name of every alias
    aliases = lightgbm_itself().basic._ConfigAliases._get_all_param_aliases()
    main = {alias: name for name, others in aliases.items() for alias in (name, *others)}
    unknown = sorted(parameters.keys() - main.keys())
    if unknown:
        near = nearest(unknown[0], [*own, *main])
        raise InputTypeError(
            f"{unknown[0]} is neither a parameter of BoostedRanker nor of LightGBM{near}"
        )
    return {main[name]: value for name, value in parameters.items()}


def booster_of(text: str, name: str) -> Any:
    """Return the model in the text of a file called `name`; raise InputError if it is damaged."""
    lightgbm = lightgbm_itself()
    check_trees(text, name)
    try:
        return lightgbm.Booster(model_str=text)
    except (lightgbm.basic.LightGBMError, ValueError, TypeError, RecursionError) as error:
        raise InputError(f"{name} holds no whole LightGBM model ({error})") from error
