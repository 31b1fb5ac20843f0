"""Results in notebooks: pictures and their printed table, escaped and without scripts."""

import html

import numpy as np
import pytest

from dcglearn.coherence.verdict import coherence
from dcglearn.estimators.learners import DCGLearner
from dcglearn.evaluation.run_values import evaluate
from dcglearn.evaluation.system_tests import compare_systems
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.trust.band_draws import Bands
from tests.audits.makers import FLAT, STEEP, judged
from tests.audits.test_audit import Page
from tests.makers import noisy_runs

TAG = "<script>alert(1)</script>"
NAMED = DCG([0, 0.5, 1], [1, 0.5], grade_names=["bad", TAG, "good"])


def results():
    judgements, runs = noisy_runs({TAG: 0.5, "b": 2.0}, 8, 6)
    comparison = compare_systems(judgements, runs, n_resamples=100)
    draws = {
        "gains": np.array([[0, 0.4, 1], [0, 0.6, 1]]),
        "discounts": np.array([[1, 0.4], [1, 0.6]]),
    }
    yield NAMED, str(NAMED), 2
    yield Utility([[0, 1], [0, 0.5]], grade_names=[TAG, "good"]), "0.5", 0
    yield Bands(NAMED, level=0.9, by="pair", n_units=30, **draws), "discount at 2", 2
    yield evaluate(judgements, runs), "nDCG@10", 1
    yield comparison, "is worse than", 1
    yield comparison.gate(), "Fail: ", 1
    yield coherence(STEEP, FLAT, names=(TAG, "flat")), "disagree", 0


@pytest.mark.parametrize(
    ("result", "text", "n_pictures"), [*results()], ids=lambda x: type(x).__name__
)
def test_a_result_shows_itself(result, text, n_pictures):
    shown = result._repr_html_()
    page = Page(shown)
    assert page.open == [] and page.tags.count("svg") == n_pictures
    assert not {"script", "style", "img"} & {*page.tags} and page.handlers == []
    assert html.escape(text) in shown


def shown_in_a_notebook(result):
    formatters = pytest.importorskip("IPython.core.formatters")
    return formatters.DisplayFormatter().format(result)[0]


def test_a_learner_shows_its_metric_once_it_is_fitted():
    learner = DCGLearner()
    assert "DCGLearner" in learner._repr_html_()
    assert "DCGLearner" in shown_in_a_notebook(learner)["text/html"]
    learner.fit(judged(30))
    bundle = shown_in_a_notebook(learner)
    assert bundle["text/plain"] == repr(learner) == "DCGLearner()"
    assert bundle["text/html"] == learner._repr_html_() == learner.dcg_._repr_html_()


def test_long_names_lose_their_middle_and_grades_become_numbers():
    names = [f"a grade with a name of some length, number {grade}" for grade in range(3)]
    shown = DCG([0, 0.5, 1], [1, 0.5], grade_names=names)._repr_html_()
    for grade, name in enumerate(names):
        short = f"{grade}: a grade with a nam…ome length, number {grade}"
        assert f"<title>{grade}: {name}</title>{short}</text>" in shown
    assert "<strong>gains</strong>" in shown

    # runs that differ at their ends are told apart
    run = "bm25_and_a_large_reranker_of_the_first_thousand_results_v"
    shown = evaluate(*noisy_runs({f"{run}1": 0.5, f"{run}2": 2.0}, 8, 6))._repr_html_()
    for one in (f"{run}1", f"{run}2"):
        assert f"<title>{one}</title>{one[:21]}…{one[-20:]}</text>" in shown
