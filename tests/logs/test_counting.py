"""Contradictions, verdicts and the agreement of a metric with a log."""

import pytest

from dcglearn.metric.dcg import DCG
from dcglearn.readers.preferences import Preferences
from tests.makers import TRUTH, refused


def test_contradictions_are_counted_by_weight():
    a, b, c = [1, 0], [0, 1], [1, 1]
    log = Preferences([a, b, a, a], [b, a, c, b], weight=[3, 2, 1, 1])
    assert log.n_contradicted() == 2
    assert Preferences([a], [b]).n_contradicted() == 0


def test_agreement_counts_ties_apart():
    log = Preferences([[1, 0], [0, 1], [0, 0]], [[0, 0], [1, 0], [0, 0]], weight=[1, 2, 4])
    agreement = log.agreement(DCG([0, 1], [1, 0.5]))
    assert (agreement.respected, agreement.violated, agreement.tied) == (1, 2, 4)
    assert agreement.share == pytest.approx(3 / 7)
    assert agreement.precision == pytest.approx(1 / 7)
    assert str(agreement) == "0.4286 (1 of 7 respected, 4 tied)"


def test_verdicts_call_rounding_error_a_tie():
    metric = DCG([0, 0.1, 0.2, 0.3], [1, 1, 1])
    log = Preferences([[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[3, 0, 0], [1, 1, 0], [1, 0, 0]])
    assert metric.score([1, 2, 0]) != metric.score([3, 0, 0])  # .1 + .2 is not .3
    assert log.verdicts(metric).tolist() == [0, 1, -1]
    assert log[:0].verdicts(metric).tolist() == []


def test_agreement_leaves_out_the_logs_ties():
    log = Preferences([[1], [0]], [[0], [1]], tie=[False, True])
    assert log.agreement(DCG([0, 1], [1])).share == 1
    refused("no pair with a winner", log[[1]].agreement, TRUTH)
