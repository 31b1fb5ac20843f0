"""The test of falling discounts: it finds readers of both ends, and not those who read from the
top.
"""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.dcg_model import LEAST_FALL
from dcglearn.trust.falling_test import _made_falling
from tests.makers import refused

FALLING = np.array([1, 0.6, 0.4])


@pytest.mark.parametrize(("discounts", "rejected"), [(FALLING, False), ([1, 0.4, 0.9], True)])
def test_only_readers_of_both_ends_speak_against_falling_discounts(discounts, rejected):
    truth = dl.DCG([0, 0.3, 1], discounts)
    result = dl.trust.rising_discounts(
        dl.simulate.preference_pairs(truth, 150, lists="free", temperature=0.1, random_state=1)
    )
    assert (result.p_value <= 0.05) is rejected
    assert ("speaks against" in result.sentence) is rejected
    assert ('learn with discounts="free"' in result.notes) is rejected
    assert result.table["free"].to_list() == result.free.discounts.tolist()
    assert (np.diff(result.falling.discounts) <= 0).all()
    assert (result.free.discounts[2] > result.free.discounts[1]) is np.bool_(rejected)


def test_logs_are_simulated_from_the_nearest_discounts_that_do_not_rise():
    delta = -np.diff(np.log([1, 0.5, 0.2, 0.6, 0.3]))
    np.testing.assert_allclose(
        np.exp(-np.cumsum(np.exp(_made_falling(delta)))), [0.5, 0.4, 0.4, 0.3], rtol=1e-3
    )
    np.testing.assert_allclose(
        np.exp(_made_falling(np.array([0.0, 0.7, 0.1]))), [LEAST_FALL, 0.7, 0.1]
    )
    assert np.isfinite(_made_falling(np.full(100, 20.0))).all()


def test_a_few_preferences_test_nothing():
    log = dl.simulate.preference_pairs(dl.DCG([0, 0.3, 1], FALLING), 19, lists="free")
    few = "the log holds 19 preferences between different lists, fewer than 20"
    refused(few, dl.trust.rising_discounts, log)
    refused(few, dl.trust.position_dependence, log)


def test_a_single_position_is_refused():
    refused("a single position", dl.trust.rising_discounts, [[[1], [0]], [[2], [1]]])
