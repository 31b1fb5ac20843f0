"""Bars of long work."""

from dcglearn.estimators.dcg_learner import DCGLearner
from dcglearn.foundation.progress import counted, in_stage, stage
from tests.makers import random_log


def test_bars_are_shown_within_a_stage_alone(capsys):
    assert list(counted("ab", 2, "letters")) == ["a", "b"] and not in_stage()
    with stage("learning"):
        assert list(counted("ab", 2, "letters")) == ["a", "b"] and in_stage()
        with stage(None):
            assert list(counted("ab", 2, "others")) == ["a", "b"]
    err = capsys.readouterr().err
    assert "learning: letters" in err and "0/2" in err and "others" not in err


def test_a_fit_of_a_long_log_counts_its_samples(capsys):
    with stage("held out"):
        DCGLearner().fit(random_log(80, seed=1))
        assert capsys.readouterr().err == ""
        DCGLearner().fit(random_log(8200, seed=1))
    assert "held out: larger samples" in capsys.readouterr().err
