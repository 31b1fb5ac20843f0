"""Parameters of learners and rankers: every value of a wrong type ends in an InputError that names
it.
"""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.options import DCGOptions, QPOptions
from tests.makers import random_log, refused
from tests.rankers.makers import tiny
from tests.tables import each, table

LOG, QUERIES = random_log(30), tiny(6)

ESTIMATORS = [
    *(dl.DCGLearner, dl.UtilityLearner),
    *(dl.LinearRanker, dl.rankers.PairwiseRanker, dl.rankers.RankSVMRanker, dl.rankers.RidgeRanker),
    dl.BoostedRanker,
]

WRONG = {
    "None": None,
    "text": "x",
    "bytes": b"x",
    "nan": float("nan"),
    "inf": float("inf"),
    "negative": -1,
    "bool": True,
    "complex": 1j,
    "too large": 10**400,
    "array": np.array([1.0, 2.0]),
    "0-d array": np.array(1.0),
    "list": [1, 2],
    "dict": {},
    "class": int,
    "object": object(),
}
"""Values by what they are; most have no meaning for most parameters."""

COUNTS = {"max_iter", "n_restarts", "n_trees", "n_points", "n_rounds"}
COUNTS |= {"patience", "max_in_a_row", "random_state"}

OPTIONAL = {
    "prior",
    "llm",
    "n_grades",
    "depth",
    "tie_epsilon",
    "constraints",
    "loss",
    "annealing",
    "metric",
    "patience",
    "l1",
    "start",
}
OPTIONAL |= {"max_in_a_row", "learner"}


def meaningful(estimator, name: str) -> set[str]:
    """Return which of the values have a meaning for a parameter."""
    values = {"too large"} if name in COUNTS else set()
    values |= {"bool"} if name in ("monotone", "reweighted", "both_signs") else set()
    values |= {"array", "list"} if name == "annealing" else set()
    default = inspect.signature(estimator).parameters[name].default
    return values | ({"None"} if name in OPTIONAL and default in (None, "auto") else set())


def parameters(estimator) -> list[str]:
    kinds = inspect.signature(estimator).parameters.values()
    return [parameter.name for parameter in kinds if parameter.kind is not parameter.VAR_KEYWORD]


REMEDIES = (
    "give",
    "must be",
    "expected",
    "is not an integer",
    "is not a finite number",
    "neither a file nor",
    "check the name",
)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_value_of_the_wrong_type_is_refused_by_name(estimator):
    if issubclass(estimator, dl.BoostedRanker):
        pytest.importorskip("lightgbm")
    data = LOG if "Learner" in estimator.__name__ else QUERIES

    def check(name, kind):
        message = refused(rf"\b{name}\b", estimator(**{name: WRONG[kind]}).fit, data)
        assert any(remedy in message for remedy in REMEDIES), message

    cases = [
        (name, kind)
        for name in parameters(estimator)
        for kind in WRONG
        if kind not in meaningful(estimator, name)
    ]
    each(check, cases)


LOSSES = [
    getattr(dl.losses, name) for name in dl.losses.__all__ if is_dataclass(getattr(dl.losses, name))
]


@table("loss", LOSSES)
@table("kind", [kind for kind in WRONG if kind != "too large"])
def test_a_parameter_of_a_loss_is_refused_by_name(loss, kind):
    names = [entry.name for entry in fields(loss)]
    given = {"dcg": dl.DCG.standard(3, 5)} if "dcg" in names else {}
    for name in names:
        allowed = {"normalise": {"bool"}, "annealed": {"bool"}, "depth": {"None"}}.get(name, set())
        if kind in allowed or (loss is dl.losses.ListNet and kind == "None"):
            continue
        about = "metric" if name == "dcg" else rf"\b{name}\b"
        refused(
            about,
            lambda name=name: loss(**{**given, name: WRONG[kind]})([0.1, 0.2, 0.3], [0, 1, 2]),
        )


@table("description", [DCGOptions, QPOptions])
def test_descriptions_refuse_what_learners_do(description):
    for name in parameters(description):
        # metrics are read with the log's grades; constraints are refused below
        if name not in ("prior", "start", "llm", "constraints"):
            refused(rf"\b{name}\b", description, **{name: object()})
    if description is QPOptions:
        refused("give a function of W", description, constraints="x", solver="cvxpy")
        refused("give a function of W", description, constraints=list)


def test_numbers_of_numpy_are_numbers():
    learner = dl.UtilityLearner(
        C=np.float32(0.5), tie_epsilon=np.int64(1), monotone=np.True_, max_iter=np.int32(50)
    )
    assert learner.fit(LOG).score(LOG) > 0.9
    ranker = dl.rankers.RidgeRanker(l2=np.float32(0.5), reweighted=np.False_)
    assert np.isfinite(ranker.fit(QUERIES).coef_).all()
