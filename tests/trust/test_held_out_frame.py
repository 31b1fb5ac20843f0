"""The frame of held-out values: means over folds, pairs without a value, leads with errors."""

import numpy as np

from dcglearn.trust.held_out_frame import held_out_frame, respected
from dcglearn.trust.resampling import reweighted
from tests.makers import random_log


def folds_of_values(log, values):
    """Return two folds that hold out the first and the last two thirds, and their values."""
    rows = np.arange(len(log))
    tests = rows[: 2 * len(rows) // 3], rows[len(rows) // 3 :]
    folds = [(np.setdiff1d(rows, test), test) for test in tests]
    return folds, [some[..., test] for some, test in zip(values, tests, strict=True)]


def test_a_pair_has_the_mean_of_its_folds_and_one_without_a_value_is_left_out():
    log = reweighted(random_log(9, "free"), np.arange(1.0, 10))
    values = np.random.default_rng(0).random((2, 1, 2, 9))
    values[0, :, :, 0] = np.nan  # the first pair has no value in its only fold
    values[1, :, :, 4] = np.nan  # another has one of two
    folds, of_folds = folds_of_values(log, values)
    frame = held_out_frame(log, "pair", folds, of_folds)
    np.testing.assert_array_equal(frame.rows, np.arange(1, 9))
    first, second = values
    both = (first + second) / 2
    both[..., 4] = first[..., 4]
    parts = first[..., 1:3], both[..., 3:6], second[..., 6:]
    expected = np.concatenate(parts, axis=-1)
    np.testing.assert_allclose(frame.values, expected)
    np.testing.assert_allclose(frame.means(), expected @ log.weight[1:] / log.weight[1:].sum())
    assert held_out_frame(log, "pair", folds, [None, None]) is None


def test_errors_are_by_unit_and_leads_are_paired():
    log = random_log(40, "free").changed(rater=np.arange(40) % 8 // 2)
    values = np.random.default_rng(1).random((1, 3, 40))
    folds = [(np.arange(0), np.arange(40))]
    frame = held_out_frame(log, "rater", folds, [values])
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
    twin = held_out_frame(log, "rater", folds, [values[:, [0, 0]] + [[[0.0], [0.25]]]])
    np.testing.assert_allclose(twin.leads()[0], [[0, 0.25]])
    np.testing.assert_allclose(twin.leads()[1], 0, atol=1e-12)


def test_ties_of_a_metric_respect_half_a_pair():
    log = random_log(30, "free")

    class Some:
        """A metric that sees one position alone, so that it ties some lists."""

        def score(self, lists):
            return lists[:, 0].astype(float)

    difference = log.preferred[:, 0].astype(int) - log.other[:, 0]
    np.testing.assert_array_equal(respected(log, Some()), (np.sign(difference) + 1) / 2)
    assert 0.5 in respected(log, Some())
