"""Results of trust, raters and factoring, from small logs."""

import warnings
from dataclasses import replace

import numpy as np
import polars as pl

import dcglearn as dl
from dcglearn.trust.comparison import Row
from tests.makers import random_log, rated_pairs

TAG = "<b>|x\n[y](z)"
"""A name that is markup in every form of a report."""

TRUTH = dl.DCG([0, 0.3, 1], [1, 0.4, 0.9])


def results():
    """Return one result of each class, and some of logs that cannot tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_of_logs()]


def _of_logs():
    log, rng = random_log(120, "free", seed=1, noise=0.1), np.random.default_rng(0)
    named = {"rater": np.tile(["ann", TAG], 60), "segment": np.repeat([TAG, ""], 60)}
    yield dl.bands(log, n_resamples=4)
    yield dl.trust.segment_test(log.changed(**named))

    # lists that recur have a ceiling
    lists = (rng.integers(0, 32, (400, 1)) >> np.arange(5)) & 1
    rated = rated_pairs(lists, lists.sum(axis=1) + rng.integers(-1, 2, 400))
    ceiling = dl.noise_ceiling(rated, min_times=2)
    yield ceiling
    comparison = dl.compare_learners(*log.split(0.5, random_state=0), C=1.0)
    yield comparison

    # a comparison below the ceiling
    learned = replace(comparison.rows[0], share=0.6)
    of_lists = Row("list values", ceiling.below, -0.1, -0.15, -0.05)
    yield replace(comparison, ceiling=ceiling, recurring=(learned, of_lists))

    # tests, and parameters by cross-validation
    small = dl.simulate.preference_pairs(TRUTH, 150, lists="free", temperature=0.1, random_state=1)
    yield dl.trust.position_dependence(small, n_resamples=2)
    yield dl.trust.choose_C(small, grid=[0.1, 1.0], random_state=0)
    yield dl.UtilityLearner().fit(small).factor()

    # graders of documents that were shown
    judged = [{"query": f"q{n}", "doc": "d", "grade": n % 2} for n in range(20)]
    shown = [
        {"query": row["query"], "user": f"u{n % 3}", "docs": ["d"], "rating": row["grade"]}
        for n, row in enumerate(judged)
    ]
    yield dl.compare_graders(shown, {"us": pl.DataFrame(judged), TAG: pl.DataFrame(judged[:15])})

    # what to judge next
    yield dl.suggest_pairs(None, small, 3)

    # what decides a conclusion: verdicts, raters, nothing, one that is false
    judged = small.changed(rater=np.tile(["ann", TAG, "cy"], 50))
    learner = dl.DCGLearner(loss="logistic").fit(judged)
    gain = learner.dcg_.gains[1]
    yield dl.trust.what_if(judged, learner, f"gain of 1 > {gain - 0.1}")
    yield dl.trust.what_if(judged, learner, f"gain of 1 < {gain + 0.01}", by="rater")
    yield dl.trust.what_if(judged, learner, "gain of 2 > 0.5")
    yield dl.trust.what_if(judged, learner, f"discount at 2 > {learner.dcg_.discounts[1] + 0.1}")

    # raters, and a machine beside people
    both = log.changed(rater=named["rater"], swapped=rng.random(120) < 0.5)
    yield dl.rater_agreement(both)
    yield dl.rater_agreement(both[:60].changed(rater=None), errors=False)
    twice = np.tile(np.arange(60), 2)
    again = log[twice].changed(rater=np.repeat(["ann", TAG], 60))
    yield dl.rater_agreement(again, errors=False)
    learner = dl.DCGLearner(llm=random_log(100, "free", seed=2)).fit(log[:40])
    yield dl.trust.llm_report(log[:40], learner)
    yield dl.trust.llm_report(log[:10], learner)
