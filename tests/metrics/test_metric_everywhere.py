"""A word, an object and a file have one value wherever a metric is taken."""

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.coherence import is_compatible
from dcglearn.losses import ApproxNDCG
from dcglearn.rankers import RidgeRanker
from dcglearn.trust import similarity
from tests.makers import random_log, refused
from tests.tables import table

LOG = random_log(60)
SHAPE = LOG.n_grades, LOG.depth
OTHER = dl.DCG.standard(*SHAPE, "linear", "sqrt")
QUERIES = dl.simulate.letor_queries(12, random_state=0)
DOCUMENTS = np.arange(LOG.depth) % LOG.n_grades


def _row_in_use(metric):
    comparison = dl.compare_learners(LOG, LOG, dl.DCGLearner(loss="robust"), baseline=metric, C=1.0)
    return comparison[comparison.baseline].share


SUMS = {
    "regret": lambda m: dl.coherence(OTHER, m, DOCUMENTS).regret,
    "compatible": lambda m: is_compatible(OTHER, m),
    "similarity": lambda m: similarity(m, OTHER),
    "prior": lambda m: dl.DCGLearner(loss="robust", prior=m).fit(LOG).dcg_.gains,
    "start": lambda m: dl.DCGLearner(loss="robust", start=m).fit(LOG).dcg_.gains,
    "objective": lambda m: ApproxNDCG(m)(np.arange(LOG.depth) / 10, DOCUMENTS)[0],
    "curve": lambda m: dl.plots.dcg_figure([OTHER, m]).axes[1].lines[1].get_ydata(),
}
"""What only a sum of gains times discounts has."""

VALUES = {
    "agreement": lambda m: LOG.agreement(m).share,
    "disagreement": lambda m: dl.disagreement(m, OTHER, DOCUMENTS, n_pairs=5000).share,
    "margin": lambda m: dl.UtilityLearner(margin=m).fit(LOG).utility_,
    "beside a learner": _row_in_use,
}
"""What a value of each list is enough for."""


@pytest.mark.filterwarnings("ignore:no metric orders")
@table("function", [*SUMS, *VALUES])
@table("word", ["exponential-log2", "ERR", "BestGrade"])
def test_a_word_an_object_and_a_file_have_one_value(word, function, tmp_path):
    metric = dl.metric(word, *SHAPE)
    call = (SUMS | VALUES)[function]
    if function in SUMS and not isinstance(metric, dl.DCG):
        if function == "curve" and isinstance(metric, dl.evaluation.ListUtility):
            assert len(call(word)) == LOG.depth
            return
        for way in (word, metric):
            refused("ListUtility|list utility", call, way)
        return

    # all ways
    ways = [word, f"{word}@{LOG.depth}", metric]
    if hasattr(metric, "save"):
        metric.save(tmp_path / "metric.json")
        ways += [tmp_path / "metric.json", str(tmp_path / "metric.json")]
    expected = np.asarray(call(metric))
    for way in ways:
        np.testing.assert_array_equal(np.asarray(call(way)), expected)


def test_what_is_only_true_of_a_dcg_says_so():
    for function in ("compatible", "prior", "objective", "regret", "similarity"):
        for way in ("ERR@3", dl.metric("ERR@3", *SHAPE), "BestGrade@3"):
            with pytest.raises(dl.InputError, match="DCG"):
                SUMS[function](way)


@pytest.mark.parametrize("word", ["exponential-log2@5", "ERR@5", "RBP(p=0.5)@5"])
def test_a_ranker_is_evaluated_by_any_metric_with_an_ideal(word, tmp_path):
    metric = dl.metric(word, n_grades=QUERIES.n_grades)
    metric.save(tmp_path / "metric.json")
    ranker = RidgeRanker().fit(QUERIES)
    expected = ranker.evaluate(QUERIES, metric=metric)
    for way in (word, tmp_path / "metric.json"):
        np.testing.assert_array_equal(ranker.evaluate(QUERIES, metric=way), expected)

    # its own is a DCG, by a word too
    ranker = RidgeRanker(metric="linear-log2@5").fit(QUERIES)
    ranker.save(tmp_path / "model")
    assert dl.load_ranker(tmp_path / "model", "linear-log2").metric_ == ranker.metric_
    refused("trained for other", dl.load_ranker, tmp_path / "model", "linear-sqrt")
    refused("only true of a DCG", RidgeRanker(metric="ERR").fit, QUERIES)


@table("word", ["linear-log2@3", "ERR@3", "BestGradeRank@3"])
def test_a_truth_is_any_metric(word, tmp_path):
    truth = dl.metric(word, n_grades=4)
    log = dl.simulate.preference_pairs(truth, 40, lists="free", random_state=0)
    assert log.agreement(truth).share == 1.0
    if hasattr(truth, "save"):
        truth.save(tmp_path / "truth.json")
        again = dl.simulate.preference_pairs(
            tmp_path / "truth.json", 40, lists="free", random_state=0
        )
        np.testing.assert_array_equal(again.preferred, log.preferred)
    pairs = log.preferred[:5], log.other[:5]
    np.testing.assert_array_equal(
        dl.simulate.judge(word, *pairs, n_grades=4).preferred, log.preferred[:5]
    )
    refused("truth: nothing says how many grades", dl.simulate.preference_pairs, word, 10)


def test_a_margin_that_is_no_metric_is_answered_with_both():
    for word in ("hammin", "exponental"):
        refused("give one of unit, hamming, log, or a DCG", dl.UtilityLearner(margin=word).fit, LOG)
    refused("margin 'linear-log3'.*log2", dl.UtilityLearner(margin="linear-log3").fit, LOG)
