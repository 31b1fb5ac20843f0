"""Objectives have scikit-learn's parameters: they are read, changed, copied, and checked when they change."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from dcglearn import DCG, losses
from dcglearn.losses.objective import Objective
from tests.makers import refused

MINE = DCG(gains=[0.0, 0.3, 1.0], discounts=[1.0, 0.5, 0.2])
CLASSES = [getattr(losses, name) for name in losses.__all__ if name != "Objective"]
CLASSES = [kind for kind in CLASSES if inspect.isclass(kind) and issubclass(kind, Objective)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_parameters_make_the_same_objective_again(kind):
    for dcg in (MINE, "linear-log2@3"):
        takes_dcg = "dcg" in inspect.signature(kind).parameters
        loss = kind(dcg) if takes_dcg else kind()
        assert kind(**loss.get_params()) == loss == clone(loss)
        assert loss.set_params(**loss.get_params()) is loss


def test_a_change_of_parameters_forgets_what_was_computed_from_them():
    scores, grades = [0.3, 0.1, 0.2], [0, 2, 1]
    loss = losses.ApproxNDCG(MINE)
    before = loss(scores, grades)[0]
    other = DCG(gains=[0.0, 0.9, 1.0], discounts=[1.0, 0.9, 0.8])
    assert loss.set_params(dcg=other, alpha=2.0) is loss
    value, gradient = losses.ApproxNDCG(other, alpha=2.0)(scores, grades)
    assert (loss(scores, grades)[0] == value) and value != before
    np.testing.assert_array_equal(loss(scores, grades)[1], gradient)


def test_a_bad_parameter_changes_nothing():
    loss = losses.ApproxNDCG(MINE)
    refused("alpha", loss.set_params, alpha=-1.0)
    refused("no parameter 'sharpness'; give one of dcg, alp", loss.set_params, sharpness=1.0)
    assert loss == losses.ApproxNDCG(MINE)
