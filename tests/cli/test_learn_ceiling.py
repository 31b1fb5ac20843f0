"""The noise ceiling in ``dcglearn learn --holdout``."""

import itertools
import json

import numpy as np
import pytest

POOL = np.array(list(itertools.product(range(2), repeat=5)))


@pytest.fixture
def ratings(tmp_path):
    """A file of 400 ratings of lists in which one relevant document is better than several."""
    rng = np.random.default_rng(0)
    lists = POOL[rng.choice(32, 400)]
    values = 6 * lists.any(axis=1) + 2 * lists[:, 0] - lists[:, 1:].sum(axis=1) // 2 + rng.integers(0, 3, 400)
    path = tmp_path / "ratings.jsonl"
    rows = zip(lists.tolist(), values.tolist(), strict=True)
    path.write_text("".join(json.dumps({"list": grades, "rating": value}) + "\n" for grades, value in rows))
    return path


def test_learn_compares_the_dcg_with_the_noise_ceiling(dcglearn, ratings, tmp_path, monkeypatch):
    monkeypatch.setattr("dcglearn.trust.lack_of_fit.N_PARTITIONS", 1)
    options = ("--ratings", ratings, "--holdout", 0.5, "-o", tmp_path / "dcg.json", "--plot", tmp_path / "dcg.png")
    status, report, out = dcglearn("learn", *options, "--json")
    assert "is a DCG enough?" in out and "(--form saturation)" in out
    assert status == 0 and "noise ceiling, on the 100% of the pairs between the" in out
    assert "any function of the grades, at most" in out and "the learned DCG respects" in out
    held_out = json.loads(report)["held_out"]
    ceiling = held_out["ceiling"]
    lack = held_out["lack_of_fit"]
    assert lack["form"] == "saturation" and len(lack["parts"]) == 4 and lack["by"] == "list"
    dcg, *others = lack["parts"]
    assert all(part["share"] == pytest.approx(dcg["share"] + part["ahead"]) for part in others)
    low, high = ceiling["interval"]
    assert low < ceiling["share"] < high and ceiling["lower"] <= ceiling["share"] <= ceiling["upper"]
    assert ceiling["unit"] == "rating" and held_out["reached"] < 1 and not held_out["no_ceiling"]


def test_learn_says_why_there_is_no_ceiling(dcglearn, tmp_path):
    log = tmp_path / "log.jsonl"
    dcglearn("simulate", "--pairs", 100, "--lists", "free", "-o", log)
    status, out, _ = dcglearn("learn", log, "--holdout", 0.3, "-o", tmp_path / "dcg.json")
    assert status == 0 and "no noise ceiling: it takes lists with several judgements" in out
