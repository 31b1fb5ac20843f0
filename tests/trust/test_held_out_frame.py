"""The frame of held-out values: a fold's pairs, chances of verdicts, leads with errors."""

import numpy as np
from scipy.special import expit

from dcglearn.evaluation import Judges
from dcglearn.trust.held_out_frame import held_out_frame, values_of
from tests.makers import random_log


def test_pairs_stand_in_the_order_of_the_log_and_one_without_a_value_is_left_out():
    log = random_log(9, "free").changed(weight=np.arange(1.0, 10))
    values = np.random.default_rng(0).random((2, 3, 9))
    values[:, :, 4] = np.nan
    tests = np.array([0, 3, 7]), np.array([8, 6, 1, 4]), np.array([2, 5])
    folds = [(np.setdiff1d(np.arange(9), test), test) for test in tests]
    frame = held_out_frame(
        log, log.clusters("pair"), folds, (values[..., test] for test in tests), ""
    )
    rest = [0, 1, 2, 3, 5, 6, 7, 8]
    np.testing.assert_array_equal(frame.rows, rest)
    np.testing.assert_array_equal(frame.values, values[..., rest])
    np.testing.assert_array_equal(frame.weight, log.weight[rest])


def test_errors_are_by_unit_and_leads_are_paired():
    log = random_log(40, "free").changed(rater=np.arange(40) % 8 // 2)
    values = np.random.default_rng(1).random((1, 3, 40))
    folds = [(np.arange(0), np.arange(40))]
    frame = held_out_frame(log, log.clusters("rater"), folds, [values], "")
    means, errors, n_units = frame.means_and_errors()

    # the error of the mean of four raters' sums
    off = (values - values.mean(axis=-1, keepdims=True)).reshape(1, 3, 5, 4, 2)
    by_rater = off.sum(axis=(2, 4)) / 40
    np.testing.assert_allclose(means, values.mean(axis=-1))
    np.testing.assert_allclose(errors, np.sqrt(4 / 3 * (by_rater**2).sum(axis=-1)))
    assert n_units == 4

    # a metric's lead over itself is none
    leads, lead_errors, _ = frame.leads()
    np.testing.assert_allclose(leads, means - means[:, :1])
    assert lead_errors[0, 0] == 0 and (lead_errors[0, 1:] > 0).all()
    twin = held_out_frame(
        log, log.clusters("rater"), folds, [values[:, [0, 0]] + [[[0.0], [0.25]]]], ""
    )
    np.testing.assert_allclose(twin.leads()[0], [[0, 0.25]])
    np.testing.assert_allclose(twin.leads()[1], 0, atol=1e-12)


def test_values_are_right_or_wrong_with_the_chance_of_the_verdict():
    log = random_log(30, "free").changed(tie=np.arange(30) == 7)
    judges = Judges(2.0, tie_threshold=0.5, error_rate=0.1)

    class Some:
        """A metric that sees one position alone, so that it ties some lists."""

        def __init__(self, judges=None):
            self.judges = judges

        def score(self, lists):
            return lists[:, 0].astype(float)

    # a tie of the metric is half, one of the log has no value
    difference = log.preferred[:, 0].astype(float) - log.other[:, 0]
    right = (np.sign(difference) + 1) / 2
    right[7] = np.nan
    known, unknown = values_of(Some(judges), log), values_of(Some(), log)
    np.testing.assert_array_equal(known[0], right)
    np.testing.assert_array_equal(unknown[0], right)
    assert 0.5 in right and np.isnan(unknown[1]).all()

    # of those who prefer, how many do as the pair says
    better, worse = expit(2 * difference - 0.5), expit(-2 * difference - 0.5)
    chance = (0.9 * better + 0.1 * worse) / (better + worse)
    chance[7] = np.nan
    np.testing.assert_allclose(known[1], np.log(chance))
