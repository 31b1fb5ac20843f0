"""Held-out pairs: comparisons, and the choice of C and of the prior's strength."""

import re

import numpy as np
import pytest

from dcglearn import DCG, Preferences, UtilityLearner, compare_learners
from dcglearn.simulate import preference_pairs
from dcglearn.trust.comparison import LEARNED, QP, Comparison, Row
from dcglearn.trust.cross_validation import C_GRID, choose_C
from dcglearn.trust.held_out import cross_fitted, rows_of
from dcglearn.trust.held_out_frame import HeldOut
from dcglearn.trust.resampling import folds
from tests.makers import random_log, rated_pairs, refused
from tests.tables import table


def test_a_better_metric_is_called_better_and_a_doubtful_one_doubtful():
    truth = DCG([0, 0.1, 1, 4, 4.2], 1 / np.arange(1.0, 11))
    log = preference_pairs(truth, 1500, lists="free", n_flips=100, random_state=0)
    comparison = compare_learners(*log.split(0.6, random_state=0), baseline="linear-log2")
    assert re.search(
        "linear-log2@10, the metric in use, [0-9.]+%, which is worse", comparison.sentence
    )
    assert comparison["learned DCG"].difference == 0
    row = comparison["linear-log2"]
    assert 0 < row.low < row.difference < row.high
    assert row.difference == pytest.approx(comparison["learned DCG"].share - row.share)
    same = compare_learners(*log.split(0.6, random_state=0), baseline=truth)
    assert re.search("in use, [0-9.]+%, (not clearly different|which is better)", same.sentence)
    table = comparison.table
    assert table["metric"].to_list() == [
        *("learned DCG", "QP utility", comparison.rows[2].name, "linear-log2@10")
    ]
    assert table["lead"].to_list()[1:] == [one.difference for one in comparison.rows[1:]]
    assert table.row(0) == ("learned DCG", comparison.rows[0].share, None, None, None)
    assert (
        "600 held-out pairs" in comparison.notes[0] and "no noise ceiling" in comparison.notes[-1]
    )
    assert comparison.to_dict()["rows"][0]["name"] == "learned DCG"
    with pytest.raises(KeyError):
        comparison["nothing"]


@table(("ahead", "behind"), [(30, 18), (3, 1), (0, 0)])
@table("weight", [1, 5])
def test_intervals_of_leads_are_those_of_agresti_and_min(ahead, behind, weight):
    # pairs that the first metric alone orders rightly, or the second alone
    n = 200
    respected = np.ones((2, n))
    respected[1, :ahead] = respected[0, ahead : ahead + behind] = 0
    lists = np.random.default_rng(0).integers(0, 5, (2, n, 10))
    log = Preferences(*lists, n_grades=5, weight=np.full(n, float(weight)))
    frame = HeldOut.of(log, log.clusters("pair"), np.arange(n), respected[None])
    own, row = rows_of(["first", "second"], frame)
    low, high = row.low, row.high
    assert own.low == own.high == own.difference == 0

    # one more pair that tells them apart, half on either side, and one that does not
    center = (ahead - behind) / (n + 2)
    error = np.sqrt(ahead + behind + 1 - (ahead - behind) ** 2 / (n + 2)) / (n + 2)
    reach = 1.6525 * error * np.sqrt(n / (n - 1))
    np.testing.assert_allclose([low, high], [center - reach, center + reach], rtol=0.01)
    assert low < 0 < high or ahead == 30


def verdict_of(textbook, *others):
    rows = (Row(LEARNED, 0.8, 0.0, 0.0, 0.0), *others)
    return Comparison(
        rows, "exponential-log2@5", textbook, 100, 50, "pair", "new pairs of lists"
    ).sentence


def test_where_all_are_below_a_coin_the_sentence_asks_what_was_exchanged():
    usual = Row("exponential-log2@5", 0.45, -0.1, -0.2, 0.1)
    below = Comparison(
        (Row(LEARNED, 0.35, 0.0, 0.0, 0.0), usual), usual.name, usual.name, 100, 50, "pair", "pairs"
    )
    asked = "; a coin orders 50%: are the winners, the runs or the grades exchanged?"
    assert below.sentence.endswith(asked) and asked not in verdict_of(usual.name, usual)


def test_a_textbook_dcg_that_is_as_good_is_named_first():
    def verdict(low, high, textbook="linear-log2@5"):
        best = Row(
            "linear-log2@5 (best textbook DCG in training)", 0.8, (low + high) / 2, low, high
        )
        worst, used = (
            Row("linear-log2@50", 0.1, 0.7, 0.6, 0.8),
            Row("exponential-log2@5", 0.7, 0.1, 0.05, 0.15),
        )
        return verdict_of(textbook, best, worst, used)

    head = "of 50 held-out pairs, the learned DCG orders 80.0% as people did; "
    usual = (
        "exponential-log2@5, the usual nDCG, 70.0%, which is worse "
        "(-10.0 percentage points, 90% interval -15.0 to -5.0); "
        "intervals are for new pairs of lists"
    )
    assert verdict(0.01, 0.03) == head + usual
    best = "linear-log2@5, the best textbook DCG in training, 80.0%, {} ({} percentage points"
    level = verdict(-0.01, 0.03)
    assert level.startswith(head + best.format("not clearly different", "-1.0"))
    assert level.endswith(f"); {usual}")
    assert verdict(-0.03, -0.01).startswith(head + best.format("which is better", "+2.0"))
    assert verdict(0.0, 0.0, textbook="exponential-log2@5") == head + usual


def test_the_qp_is_named_if_it_is_better():
    def verdict(high):
        usual = Row("exponential-log2@5", 0.7, 0.1, 0.05, 0.15)
        return verdict_of("exponential-log2@5", Row(QP, 0.83, -0.03, -0.05, high), usual)

    ahead = (
        "; QP utility 83.0%, which is better (+3.0 percentage points, 90% interval +1.0 to +5.0)"
    )
    can = "it weighs each grade at each place freely"
    assert f"{ahead}: {can}" in verdict(-0.01)
    assert "; exponential-log2@5, the usual nDCG, 70.0%" in verdict(-0.01)
    assert QP not in verdict(0.01)


def test_the_metric_used_now_is_a_name_or_a_file(tmp_path):
    DCG.standard(5, 3).save(tmp_path / "now.json")
    log = random_log(120, seed=2)
    by_file = compare_learners(
        *log.split(0.5, random_state=0), baseline=tmp_path / "now.json", C=1.0
    )
    by_name = compare_learners(
        *log.split(0.5, random_state=0), baseline="exponential-log2@3", C=1.0
    )
    assert by_file[by_file.baseline].share == by_name["exponential-log2@3"].share
    assert by_file.baseline == str(tmp_path / "now.json")
    assert by_name.baseline == "exponential-log2@3" and by_name.textbook.endswith("@10")


def test_a_metric_in_use_that_is_the_best_textbook_has_one_share():
    truth = DCG.standard(4, 5, "linear", "log2")
    how = {"lists": "free", "temperature": 0.4, "random_state": 0}
    log = preference_pairs(truth, 150, **how)
    for name in ("linear-log2", "nDCG"):
        found = cross_fitted(log, baseline=name)
        assert found.textbook == found.baseline == f"{name}@5" and len(found.rows) == 2
        assert found.sentence.count(f"{found[name].share:.1%}") == 1
    other = cross_fitted(log)
    assert other.textbook == "linear-log2@5" and "the best textbook DCG" in other.sentence


def test_logs_of_other_shapes_are_not_compared():
    refused(
        "same n_grades= and depth=",
        compare_learners,
        random_log(50),
        Preferences([[1, 0]], [[0, 1]]),
    )
    refused(
        "has 3 grades",
        compare_learners,
        random_log(50),
        random_log(50, seed=1),
        baseline=DCG.standard(3, 10),
    )


def test_the_chosen_c_is_small_under_noise_and_repeats():
    noisy = random_log(300, noise=0.35)
    chosen = choose_C(noisy, random_state=0)
    assert chosen.C == choose_C(noisy, random_state=0).C
    assert chosen.C < 1
    assert len(chosen.mean) == len(C_GRID) == 11
    assert chosen.mean.max() == chosen.mean[np.flatnonzero(chosen.grid == chosen.C)[0]]
    assert chosen.sentence.startswith(f"C={chosen.C:g} orders most") and "11" in chosen.sentence
    refused("by='side': give one of pair", choose_C, noisy, by="side")

    # five pairs show nothing
    refused("5 preferences between different lists, fewer than 20", choose_C, noisy[:5])


def test_shares_of_a_choice_are_of_all_held_out_preferences_with_errors_by_unit():
    rng = np.random.default_rng(3)
    log = random_log(90, "free", noise=0.2).changed(
        rater=rng.integers(0, 9, 90).astype(str),
        tie=rng.random(90) < 0.1,
        weight=rng.integers(1, 4, 90).astype(float),
    )
    chosen = choose_C(log, grid=[0.01, 1.0], by="rater")

    # the weight that a utility of the other folds respects, by rater
    respected, weight = np.zeros((2, 9)), np.zeros(9)
    for rows, rest in folds(log.clusters("rater"), 0):
        train, held_out = log[rows], log[rest]
        for i, C in enumerate(chosen.grid):
            utility = UtilityLearner(C=C).fit(train).utility_
            for rater in np.unique(held_out.rater).astype(int):
                found = held_out[held_out.rater == str(rater)].agreement(utility)
                respected[i, rater] = found.share * found.total
                weight[rater] = found.total

    # shares over all folds, and the error of raters who each err in their own way
    mean = respected.sum(axis=1) / weight.sum()
    error = np.sqrt(9 / 8 * ((respected - mean[:, None] * weight) ** 2).sum(axis=1)) / weight.sum()
    np.testing.assert_allclose(chosen.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(chosen.error, error, rtol=1e-6)


def test_of_equal_shares_the_smallest_c_is_chosen():
    best, good = np.full((60, 5), 4), np.arange(5) < np.arange(60)[:, None] % 5
    certain = Preferences(best, 4 * good)
    chosen = choose_C(certain, grid=[1.0, 0.1, 10.0], by=None)
    assert chosen.C == 0.1
    np.testing.assert_allclose(chosen.mean, 1)
    np.testing.assert_allclose(chosen.error, 0, atol=1e-12)


def test_a_held_out_part_without_a_winner_is_refused():
    log = random_log(60, "free")
    ties = log.changed(tie=np.ones(60, dtype=bool))
    refused("no held-out pair has a winner", compare_learners, log, ties)


def test_a_log_of_rated_lists_says_that_no_ideal_divides():
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (60, 3)).tolist()
    log = rated_pairs(lists, [sum(grades) for grades in lists], [i % 6 for i in range(60)])
    said = "DCGs are not divided by the ideal of a query, which a log does not hold"
    assert said in cross_fitted(log, baseline="nDCG@3").sentence
    assert said not in cross_fitted(random_log(60), baseline="nDCG@3").sentence
