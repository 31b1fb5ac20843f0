"""Growth of boosted trees for any objective on LightGBM."""

import os
import re
import warnings
from collections.abc import Callable, Collection
from itertools import count
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.progress import counted
from dcglearn.foundation.threads import at_most
from dcglearn.foundation.validation import Fields, Floats, InputError
from dcglearn.losses import Regression
from dcglearn.losses.descent import descent
from dcglearn.losses.objective import Lambdas
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.ranker import Training


def grow(ranker: Any, training: Training) -> tuple[Any, list[float]]:
    """Grow a ranker's trees; return the model, and the validation set's value after each tree.

    With a validation set, the model holds the trees up to the best value.
    """
    lightgbm = lightgbm_itself()
    queries, valid = training.queries, training.valid
    parameters = ranker.lightgbm_parameters()

    # data, with the scores that the trees add to
    def data_set(part: Queries, **options: Any) -> Any:
        options |= {"params": parameters, "init_score": ranker.start_scores(part.features)}
        return lightgbm.Dataset(part.features, part.grades, **options)

    categories = parameters.pop("categorical_feature", "auto")
    names = lightgbm_names(queries.columns)
    data = data_set(queries, feature_name=names, categorical_feature=categories)

    # the validation set
    values: dict[str, Any] = {}
    callbacks, valid_sets = [], []

    def evaluate(scores: Floats, _: Any) -> tuple[str, float, bool]:
        value = training.valid.evaluate(scores, ranker.metric_).mean()  # type: ignore[union-attr]
        return "value", float(value), True

    if valid is not None:
        valid_sets.append(data_set(valid, reference=data))
        patience = ranker.patience or ranker.n_trees
        stop = lightgbm.early_stopping(patience, verbose=False)
        callbacks = [lightgbm.record_evaluation(values), stop]

    def history() -> list[float]:
        return values["valid_0"]["value"] if values else []

    def after_tree(env: Any) -> None:
        if env.model.num_trees() == env.iteration:
            warnings.warn(
                f"no leaf can be split any further: {env.iteration} of {ranker.n_trees} trees were "
                "grown; allow smaller leaves (min_data_in_leaf)",
                UserWarning,
                stacklevel=7,
            )
            best = int(np.argmax(history())) if values else env.iteration - 1
            raise lightgbm.callback.EarlyStopException(best, [])
        shown.update()

    # all trees
    parameters["objective"] = tree_objective(ranker, training)
    with counted(None, "trees", ranker.n_trees) as shown, at_most(parameters["num_threads"]):
        booster = lightgbm.train(
            parameters,
            data,
            num_boost_round=ranker.n_trees,
            valid_sets=valid_sets,
            feval=evaluate,
            callbacks=[*callbacks, after_tree],
        )
    return booster, history()


def tree_objective(ranker: Any, training: Training) -> Callable[[Floats, Any], Lambdas]:
    """Return the slopes and curvatures of each tree as a function; the first fits the gains."""
    queries, trees = training.queries, count(1)

    def objective(scores: Floats, _: Any) -> Lambdas:
        tree = next(trees)
        loss, follow = training.loss.at(tree, ranker.n_trees), ranker.follow
        if tree == 1:
            loss, follow = Regression(ranker.metric_), "lambdas"
        documents = scores, queries.grades, queries.offsets
        return descent(loss, *documents, follow=follow, curvature=ranker.curvature)

    return objective


def lightgbm_names(columns: tuple[str, ...] | None) -> Any:
    """Return the names of features as LightGBM takes them: without marks, each once."""
    names = [re.sub(r"\W", "_", name) for name in columns or ()]
    usable = names and all(names) and len(set(names)) == len(names)
    return names if usable else "auto"


OWN_NAMES = ("num_iterations", "early_stopping_round", "seed", "eval_at", "objective", "label_gain")
"""LightGBM's parameters that are set by those of `BoostedRanker`."""

_FORKED: list[int] = []
"""The processes that were forked since this module was imported, up to this one."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _FORKED.append(os.getpid()))


def lightgbm_threads(parameters: Fields) -> int:
    """Return LightGBM's threads: its parameter, ``OMP_NUM_THREADS``, or one per processor."""
    if _FORKED:
        return 1  # with more, GNU's OpenMP would hang
    from joblib import cpu_count  # which knows the limits of a container

    of_openmp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    chosen = parameters.get("num_threads") or (of_openmp.isdigit() and int(of_openmp))
    return int(chosen or cpu_count())


def lightgbm_itself() -> Any:
    """Return the module, or raise InputError that says how to install it."""
    try:
        import lightgbm
    except ImportError as error:
        raise InputError("LightGBM is not installed: pip install 'dcglearn[trees]'") from error
    return lightgbm


def check_names(names: Collection[str], own: Collection[str]) -> None:
    """Raise InputError unless all are names of LightGBM's parameters; aliases are not taken.

    `own` are the ranker's, which an unknown name may be meant for.
    """
    if not names:
        return
    known = set(lightgbm_itself().basic._ConfigAliases._get_all_param_aliases()) - set(OWN_NAMES)
    for name in names:
        if name not in known:
            raise InputError(
                f"{name} is neither a parameter of BoostedRanker nor the main name of one that "
                f"LightGBM takes from it{nearest(name, sorted(known | {*own}))}"
            )
