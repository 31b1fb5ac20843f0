"""Tests for cut-offs that are learned from judgements."""

import json
import math

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.learning.descriptions import DirectDescription
from dcglearn.learning.fit_dcg import fit_dcg
from tests.makers import refused

TRUE = (0.25, 0.5, 0.8)


def judged(n, seed, wrong=0.1):
    """Return records of lists of fractions, preferred by a DCG of the levels that `TRUE` cuts, some
    wrongly.
    """
    rng = np.random.default_rng(seed)
    grades = rng.random((2, n, 5)).round(4)
    truth = dl.DCG([0, 0.2, 0.5, 1], 1 / np.log2(np.arange(2, 7)))
    first, second = (
        truth.score(np.searchsorted(TRUE, lists, side="right").astype(np.int8)) for lists in grades
    )
    a, b = np.where(((first >= second) ^ (rng.random(n) < wrong))[:, None], grades, grades[::-1])
    return [{"a": x, "b": y, "winner": "a"} for x, y in zip(a.tolist(), b.tolist(), strict=True)]


@pytest.mark.parametrize(
    "cutoffs",
    [".1,.25,.4,.5,.8,.9", pytest.param([i / 20 for i in range(1, 20)], marks=pytest.mark.long)],
)
def test_the_cutoffs_of_the_judges_are_found_among_others(cutoffs):
    log = dl.read_preferences(judged(500, seed=1), cutoffs=cutoffs)
    assert dl.trust.learned_cutoffs(log, 4) == TRUE
    assert dl.trust.learned_cutoffs(log[::-1], 4) == TRUE


def test_levels_are_joined_whose_fit_has_the_best_objective():
    records = judged(150, seed=2)
    values = {}
    for cutoffs in ((0.2, 0.5), (0.2, 0.9), (0.5, 0.9)):
        log = dl.read_preferences(records, cutoffs=list(cutoffs))
        fit, _ = fit_dcg(log, DirectDescription(loss="robust", n_starts=1), independent=True)
        values[cutoffs] = fit.objective + math.log(2) * np.count_nonzero(~log.differing)
    assert dl.trust.learned_cutoffs(dl.read_preferences(records, cutoffs=".2,.5,.9"), 3) == min(
        values, key=values.get
    )


def test_a_log_without_more_levels_is_refused():
    for log in (
        dl.read_preferences(judged(30, 0), cutoffs=".2,.5"),
        dl.Preferences([[2, 1]], [[0, 1]]),
    ):
        refused("cutoffs=20", dl.trust.learned_cutoffs, log, 4)
    refused("n_levels", dl.trust.learned_cutoffs, dl.read_preferences(judged(30, 0), cutoffs=20), 1)


def test_convert_writes_levels_at_learned_cutoffs(tmp_path, dcglearn):
    path, out = tmp_path / "log.jsonl", tmp_path / "levels.jsonl"
    records = [
        {**x, **{side: [round(4 * grade) / 4 for grade in x[side]] for side in "ab"}}
        for x in judged(60, 3)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    status, _, err = dcglearn("convert", path, "--cutoffs", "learned:3", "-o", out)
    assert status == 0 and "grades: 0 = 0-" in err
    assert {grade for x in map(json.loads, out.open()) for grade in x["a"]} == {0, 1, 2}
    for wrong in ("learned:", "learned:x"):
        status, _, err = dcglearn("convert", path, "--cutoffs", wrong, "-o", tmp_path / "no.jsonl")
        assert status == 2 and "learned:4" in err
    status, _, err = dcglearn("convert", "-", "--cutoffs", "learned:3", "-o", tmp_path / "no.jsonl")
    assert status == 2 and "in a file" in err
