"""Residuals: what unjudged documents could still add."""

import json

import numpy as np
import pytest

from dcglearn.evaluation.evaluate import evaluate
from dcglearn.foundation.validation import InputError
from dcglearn.metric.dcg import DCG

JUDGED = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1}, "s": {"a": 2}}
RUN = {"q": {"x": 9.0, "a": 8.0, "y": 7.0, "b": 6.0}, "r": {"a": 3.0}}


def test_a_residual_is_the_discounts_of_the_unjudged_times_the_best_gain():
    dcg = DCG([0.0, 1, 4], [1, 0.5, 0.25])
    found = evaluate(RUN, JUDGED, {"mine": dcg}, normalise=False, residuals=True)
    np.testing.assert_allclose(found.residuals[0, 0], [4 * (1 + 0.25), 0, 0])
    np.testing.assert_allclose(found.mean_residuals, [[5 / 3]])
    normalised = evaluate(RUN, JUDGED, {"mine": dcg}, residuals=True)
    np.testing.assert_allclose(normalised.residuals[0, 0], [5 / (4 + 0.5), 0, 0])


@pytest.mark.parametrize("gains", [[0, 1, 4], [0.5, 1, 4], [-1, 0, 2]])
def test_any_grades_of_the_unjudged_lie_within_the_residual(gains):
    dcg, rng = DCG(gains, [1, 0.5, 0.25]), np.random.default_rng(0)
    found = evaluate(RUN, JUDGED, dcg, normalise=False, residuals=True)
    best = evaluate(RUN, JUDGED, dcg, normalise=False, unjudged="best").values
    np.testing.assert_allclose(found.values + found.residuals, best)
    for _ in range(5):
        later = {**JUDGED, "q": {**JUDGED["q"], "x": int(rng.integers(3)), "y": int(rng.integers(3))}}
        value = evaluate(RUN, later, dcg, normalise=False).values[0, 0, 0]
        low, added = found.values[0, 0, 0], found.residuals[0, 0, 0]
        assert low - 1e-12 <= value <= low + added + 1e-12


def test_how_residuals_are_shown():
    pytest.importorskip("ir_measures")
    found = evaluate(RUN, JUDGED, ["exponential-log2@3", "P@2"], residuals=True, missing="skip")
    head, row, *notes = str(found).splitlines()
    assert head.split() == ["run", "exponential-log2@3", "residual", "P@2", "residual"] and row.split()[-1] == "-"
    assert any("could still add" in note for note in notes)
    frame = found.frame()
    assert frame.columns == ["run", "query_id", "measure", "value", "residual"]
    assert frame.filter(measure="P@2")["residual"].null_count() == len(frame) // 2
    assert str(found.ordered()).splitlines()[0] == head
    with pytest.raises(InputError, match='residuals start from unjudged="worst"'):
        evaluate(RUN, JUDGED, residuals=True, unjudged="best")


def test_the_command(dcglearn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (("qrels", JUDGED), ("run", {"mine": RUN})):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    both = ("evaluate", "qrels.json", "run.json", "--metric", "linear-log2@3", "--residuals")
    status, out, _ = dcglearn(*both)
    assert status == 0 and out.split()[:3] == ["run", "linear-log2@3", "residual"]
    status, out, _ = dcglearn(*both, "--format", "jsonl", "-q")
    assert status == 0 and json.loads(out.splitlines()[0])["residual"] > 0
