"""Fits of learners to a depth of their own, and logs that contradict themselves."""

import numpy as np
import pytest

from dcglearn import DCG, DCGLearner, Preferences, bands
from dcglearn.learning.fit import fit_log
from dcglearn.learning.options import DCGOptions
from dcglearn.simulate import ground_truth, preference_pairs
from dcglearn.trust.deciding import what_if
from dcglearn.trust.fit_learner import fit_learner
from dcglearn.trust.llm import llm_report
from tests.makers import random_log, rated_pairs, refused, rich_log
from tests.tables import table

LOG = random_log(120, "unknown", noise=0.1)


def with_lists(log, change):
    """Return a log whose lists are changed."""
    return log.changed(preferred=change(log.preferred), other=change(log.other))


def cut(lists):
    return lists[:, :4].copy()


def filled(lists):
    return np.pad(lists, [(0, 0), (0, 2)], constant_values=-2)


def same(one, other):
    return np.array_equal(one.gains, other.gains) and np.array_equal(one.discounts, other.discounts)


@table(("depth", "change"), [(4, cut), (12, filled), (10, np.array)])
def test_longer_lists_are_cut_and_shorter_ones_filled(depth, change):
    changed = with_lists(LOG, change)
    learner = DCGLearner(depth=depth).fit(LOG)
    assert learner.dcg_.depth == depth == learner.dcg_.judges.depth or change is filled
    assert same(learner.dcg_, DCGLearner().fit(changed).dcg_)
    assert learner.score(LOG) == learner.score(changed)
    options = DCGOptions(depth=depth)
    assert same(fit_learner(LOG, options).dcg, learner.dcg_)
    assert same(fit_log(LOG, options).dcg, fit_log(changed, DCGOptions()).dcg)


def test_what_lies_below_the_depth_does_not_count():
    # lists that differ below alone teach nothing
    rng = np.random.default_rng(0)
    lists = np.repeat(rng.integers(0, 5, (80, 1, 10)), 2, axis=1)
    lists[:40, 0, :6], lists[40:, 0, 6:] = rng.integers(0, 5, (40, 6)), rng.integers(0, 5, (40, 4))
    log = Preferences(lists, n_grades=5)
    learner = DCGLearner(depth=6).fit(log, as_is=True)
    assert learner.dropped_ == {"pairs of equal lists": 40}


def test_positions_that_no_list_has_continue_the_curve():
    log = preference_pairs(ground_truth("D1", 5, 6), 300, lists="free", random_state=0)
    learner = DCGLearner(depth=8).fit(log)
    assert (np.diff(learner.dcg_.discounts) < 0).all() and learner.dcg_.discounts[7] > 0.1
    assert learner.dcg_.judges.depth == 6


def test_a_judge_and_metrics_have_the_depth_too():
    llm = random_log(200, "free", seed=4)
    learner = DCGLearner(depth=4, llm=llm, prior="linear-log2", start="linear-sqrt").fit(LOG)
    assert learner.fit_.llm == learner.members_[-1].dcg
    alone = DCGLearner(depth=4).fit(llm).dcg_
    np.testing.assert_allclose(learner.fit_.llm.discounts, alone.discounts, atol=1e-12)
    assert llm_report(LOG, learner).both == learner.dcg_
    refused(
        "prior has 5 grades and 10 positions, the log has 5 and 4",
        DCGLearner(depth=4, prior=DCG.standard(5, 10)).fit,
        LOG,
    )


def test_bands_and_questions_of_a_log_are_of_what_was_learned():
    learner = DCGLearner(depth=4).fit(rich_log(120))
    drawn = bands(rich_log(120), learner, n_resamples=4)
    assert drawn.discounts.shape[1] == 4 and same(drawn.dcg, learner.dcg_)
    words = f"discount at 3 < {learner.dcg_.discounts[2] + 0.003:.4f}"
    found = what_if(rich_log(120), learner, words)
    assert found.holds and found.n and len(found.rows) >= found.n
    refused("discount at 3, discount at 4$", what_if, LOG, learner, "discount at 7 < 1")


def test_ratings_of_lists_that_are_cut_are_preferences():
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 5, (60, 5))
    log = rated_pairs(lists, lists[:, 0])
    assert log.ratings is not None and log.rescaled(None, 3).ratings is None
    assert log.rescaled(None, 5) is log


@table("depth", [0, -1, 5001, 2.0, True])
def test_depths_without_a_meaning(depth):
    refused("depth=", DCGLearner(depth=depth).fit, LOG)


def test_preferences_that_are_all_contradicted_are_refused():
    log = random_log(40, weight=np.linspace(1, 2, 40))
    sides = [np.concatenate(x) for x in ((log.preferred, log.other), (log.other, log.preferred))]
    both = Preferences(*sides, n_grades=5, weight=np.tile(log.weight, 2))
    refused("every preference is contradicted as often as it is given", DCGLearner().fit, both)
    with pytest.warns(UserWarning, match="the LLM judge is left out.*contradicted as often"):
        assert DCGLearner(llm=both).fit(log).fit_.llm is None

    # one that is not is enough
    assert DCGLearner().fit(both[:79], as_is=True).dcg_.depth == 10
