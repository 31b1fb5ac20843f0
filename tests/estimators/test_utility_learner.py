"""UtilityLearner: what it recovers and refuses, and known limits; and scikit-learn's own checks of
both learners.
"""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from dcglearn import DCG, DCGLearner, Preferences, Utility, UtilityLearner
from dcglearn.learning.factoring import factor
from dcglearn.learning.fit_qp import fit_qp, qp_part
from dcglearn.learning.options import QPOptions
from dcglearn.trust import identifiable_similarity
from dcglearn.trust.cross_validation import C_GRID
from tests.makers import TRUTH, random_log, refused
from tests.tables import table


@table("kind", ["permutations", "free", "unknown"])
def test_noise_free_logs_give_the_truth_back(kind):
    learner = UtilityLearner(C=100.0).fit(random_log(20_000, kind))
    assert learner.gap_ <= 1e-8
    assert identifiable_similarity(learner.utility_, TRUTH, learner.visible_) > 0.999
    assert learner.score(random_log(5000, kind, seed=1)) > 0.99


@pytest.mark.parametrize("kind", ["permutations", "free", "unknown"])
@pytest.mark.parametrize("margin", ["unit", "hamming", "log", TRUTH])
@pytest.mark.parametrize("tie_epsilon", [None, 0.2])
def test_every_variant_has_cvxpys_optimum(kind, margin, tie_epsilon):
    rng = np.random.default_rng(0)
    columns = {
        "weight": rng.exponential(1, 80),
        "strength": rng.integers(1, 4, 80),
        "tie": rng.random(80) < 0.2,
    }
    log = random_log(80, kind, noise=0.1, **columns)
    newton = UtilityLearner(margin=margin, tie_epsilon=tie_epsilon).fit(log)
    cvxpy = UtilityLearner(margin=margin, tie_epsilon=tie_epsilon, solver="cvxpy").fit(log)
    assert newton.gap_ <= 1e-8
    assert newton.objective_ == pytest.approx(cvxpy.objective_, rel=1e-6)


def test_documents_need_no_grades():
    rng = np.random.default_rng(0)
    worth = np.arange(8.0)
    lists = np.array([rng.permutation(8) for _ in range(3000)])
    value = (worth[lists] / np.log(np.arange(8) + 2)).sum(axis=1)
    first, second = lists[:1500], lists[1500:]
    swap = (value[:1500] < value[1500:])[:, None]
    log = Preferences.from_documents(np.where(swap, second, first), np.where(swap, first, second))
    learner = UtilityLearner().fit(log[:1000])
    assert learner.score(log[1000:]) > 0.9
    assert (np.diff(learner.utility_.weights, axis=1) < 0).any()  # monotonicity is dropped
    newton, cvxpy = learner, UtilityLearner(solver="cvxpy").fit(log[:300])
    assert UtilityLearner().fit(log[:300]).objective_ == pytest.approx(cvxpy.objective_, rel=1e-6)
    order = np.argsort(newton.factor().dcg.gains)
    assert np.corrcoef(order, np.arange(8))[0, 1] > 0.95


def test_ties_pull_utilities_together():
    log = random_log(300)
    tie = np.abs(TRUTH.score(log.preferred) - TRUTH.score(log.other)) < 2
    with_ties = Preferences(log.preferred, log.other, 5, tie=tie)
    without = UtilityLearner().fit(with_ties)
    within = UtilityLearner(tie_epsilon=0.1).fit(with_ties)
    assert without.dropped_ == {"ties": int(tie.sum())}
    assert within.dropped_ == {}
    spread = [np.abs(model.decision_function(with_ties.ties)).mean() for model in (within, without)]
    assert spread[0] < spread[1]


def test_equal_lists_are_dropped_and_change_nothing():
    log = random_log(50)
    more = Preferences(
        np.vstack([log.preferred, log.other[:3]]), np.vstack([log.other, log.other[:3]]), 5
    )
    learner = UtilityLearner().fit(more)
    assert learner.dropped_ == {"pairs of equal lists": 3}
    np.testing.assert_array_equal(
        learner.utility_.weights, UtilityLearner().fit(log).utility_.weights
    )


@pytest.mark.parametrize("margin", ["unit", "hamming", "log", TRUTH])
@pytest.mark.parametrize("tie_epsilon", [None, 0.2])
def test_no_result_and_an_unknown_grade_are_the_same_to_the_qp(margin, tie_epsilon, tmp_path):
    rng = np.random.default_rng(0)
    lists = rng.integers(-2, 5, (2, 60, 3))
    lists[1, :5] = np.where(
        lists[0, :5] == -1, -2, np.where(lists[0, :5] == -2, -1, lists[0, :5])
    )  # unseen by any W
    columns = {
        "margin": rng.exponential(1, 60),
        "tie": rng.random(60) < 0.2,
        "weight": rng.exponential(1, 60),
    }
    fits = []
    for log in (
        Preferences(*lists, 5, **columns),
        Preferences(*np.maximum(lists, -1), 5, **columns),
    ):
        learner = UtilityLearner(margin=margin, tie_epsilon=tie_epsilon).fit(log, as_is=True)
        fits.append(
            (learner.objective_, learner.utility_.weights.tobytes(), sum(learner.dropped_.values()))
        )
        log.save(tmp_path / "log.parquet")
        in_parts = UtilityLearner(margin=margin, tie_epsilon=tie_epsilon, n_grades=5)
        in_parts.fit(tmp_path / "log.parquet", as_is=True)
        assert (
            in_parts.objective_ == pytest.approx(learner.objective_)
            and in_parts.dropped_ == learner.dropped_
        )
    assert fits[0] == fits[1]

    # the sum over pairs, written out
    W = learner.utility_.weights
    d = learner.decision_function(log)
    differ = (np.maximum(lists[0], -1) != np.maximum(lists[1], -1)).sum(axis=1)
    by_name = {"unit": np.ones(60), "hamming": differ, "log": log.margin}
    m = (
        np.abs(TRUTH.score(log.preferred) - TRUTH.score(log.other))
        if margin is TRUTH
        else by_name[margin]
    )
    short = np.where(log.tie, 0.0, np.maximum(0, m - d) ** 2)
    if tie_epsilon is not None:
        short = np.where(log.tie, np.maximum(0, np.abs(d) - tie_epsilon) ** 2, short)
    assert learner.objective_ == pytest.approx(
        (W**2).sum() + log.weight @ np.where(differ > 0, short, 0.0)
    )


def test_a_dcg_with_harmful_grades_tells_an_unknown_grade_from_no_result():
    harmful = DCG([-1.0, 0.0, 1.0], [1.0, 0.5])
    log = Preferences([[2, -2], [1, -2]], [[1, -1], [-1, 0]], 3)
    pairs, _ = qp_part(log, QPOptions(margin=harmful))
    assert pairs.margin.tolist() == [1.5, 1.5]


def test_a_log_whose_differences_no_utility_sees_is_refused():
    refused(
        "no pair asks for a difference",
        UtilityLearner().fit,
        Preferences([[1, -1]] * 3, [[1, -2]] * 3, 2),
    )


def test_predictions_change_sign_with_the_pair():
    log = random_log(60)
    learner = UtilityLearner().fit(log)
    swapped = Preferences(log.other, log.preferred, 5)
    np.testing.assert_array_equal(learner.predict(log), -learner.predict(swapped))
    assert learner.score(log) == pytest.approx(1 - learner.score(swapped))
    assert set(learner.predict(Preferences(log.other, log.other, 5))) == {0}
    assert learner.agreement(log).precision <= learner.score(log)


def test_a_fold_may_lack_the_top_grade():
    low = Preferences([[1, 0]], [[0, 1]])
    assert UtilityLearner(n_grades=5).fit(low).utility_.weights.shape == (2, 5)


def test_stopping_early_warns_with_the_next_step():
    with pytest.warns(ConvergenceWarning, match="raise max_iter, or lower C"):
        UtilityLearner(C=1e4, max_iter=1).fit(random_log(200))


@table(
    ("parameters", "message"),
    [
        ({"C": 0}, "C=0 must be a finite number above 0"),
        ({"C": -1.0}, "above 0"),
        ({"C": np.nan}, "above 0"),
        ({"C": "auto"}, "above 0"),
        ({"margin": "unti"}, "give one of unit, hamming, log, or a DCG"),
        ({"margin": "log"}, "margins or strengths"),
        ({"solver": "osqp"}, "give one of newton, cvxpy"),
        ({"tie_epsilon": -0.1}, "tie_epsilon"),
        ({"constraints": lambda W: []}, 'with solver="cvxpy"'),
    ],
)
def test_parameters_without_meaning_are_refused(parameters, message):
    refused(message, UtilityLearner(**parameters).fit, random_log(10))


def test_logs_without_information_are_refused():
    same = Preferences([[1, 0]] * 3, [[1, 0]] * 3)
    refused("3 pairs of equal lists", UtilityLearner().fit, same)
    ties = Preferences([[1, 0]], [[0, 1]], tie=[True])
    for epsilon in (None, 0.1):
        refused("nothing to learn from", UtilityLearner(tie_epsilon=epsilon).fit, ties)
    log = Preferences([[1, 0], [0, 1]], [[0, 1], [1, 0]])
    learner = UtilityLearner().fit(log)
    assert learner.score(log) == 0.5
    refused("tells no two lists apart", learner.factor)


def test_warm_starts_along_the_path_change_nothing():
    log, options = random_log(200, noise=0.1), QPOptions(tol=1e-12)
    start = UtilityLearner(C=0.01).fit(log).utility_
    warm, cold = fit_qp(log, options, start), fit_qp(log, options)
    np.testing.assert_allclose(warm.utility.weights, cold.utility.weights, atol=1e-9)


class TestFactoring:
    """Gains and discounts of utilities that are known."""

    def test_the_factored_weights_and_their_nearest_product_are_told_beside(self):
        lists = np.random.default_rng(0).choice([0, 2], (2, 200, 4))
        found = UtilityLearner().fit(Preferences(*lists, n_grades=4)).factor()
        seen = found.visible_weights[:, [0, 2]]
        assert np.isnan(found.visible_weights[:, [1, 3]]).all()
        assert np.linalg.matrix_rank(found.rank_one[:, [0, 2]], 1e-9) == 1
        share = (found.rank_one[:, [0, 2]] ** 2).sum() / (seen**2).sum()
        assert share == pytest.approx(found.explained)

    def test_a_rank_one_utility_comes_back_exactly(self):
        for kind in ("free", "unknown"):
            factoring = factor(TRUTH.utility, random_log(600, kind).visible())
            expected = TRUTH.gains - (TRUTH.gains[0] if kind == "free" else 0)
            np.testing.assert_allclose(factoring.dcg.gains, expected * TRUTH.discounts[0])
            np.testing.assert_allclose(
                factoring.dcg.discounts, TRUTH.discounts / TRUTH.discounts[0]
            )
            assert factoring.explained == pytest.approx(1)
            assert factoring.ratio < 1e-12
            assert factoring.notes == ()

    def test_offsets_the_log_cannot_see_do_not_matter(self):
        rng = np.random.default_rng(0)
        visible = random_log(600, "permutations").visible()
        moved = Utility(TRUTH.utility.weights + rng.normal(size=(10, 1)) + rng.normal(size=5))
        plain, factoring = factor(TRUTH.utility, visible), factor(moved, visible)
        np.testing.assert_allclose(factoring.dcg.gains, plain.dcg.gains)
        np.testing.assert_allclose(factoring.dcg.discounts, plain.dcg.discounts)
        assert "convention" in factoring.notes[0]
        assert factoring.dcg.discounts.min() == 0

    def test_levels_of_some_positions_give_the_gains_their_offset(self):
        rng = np.random.default_rng(0)
        lists = rng.integers(0, 5, (2, 600, 10))
        lists[:, :, 6:][rng.random((2, 600, 4)) < 0.3] = -1
        visible = Preferences(*lists).visible()
        moved = TRUTH.utility.weights + np.where(np.arange(10) < 6, rng.normal(size=10), 0)[:, None]
        np.testing.assert_allclose(
            factor(Utility(moved), visible).dcg.gains, TRUTH.gains * TRUTH.discounts[0]
        )

    def test_it_keeps_the_order_of_the_learned_utility(self):
        log, test = random_log(200, "permutations"), random_log(5000, "permutations", seed=1)
        learner = UtilityLearner().fit(log)
        factoring = learner.factor()
        assert test.agreement(factoring.dcg).share >= learner.score(test) - 0.005

    def test_grades_that_never_occur_lie_between_their_neighbours(self):
        rng = np.random.default_rng(0)
        log = Preferences(rng.choice([0, 2], (200, 4)), rng.choice([0, 2], (200, 4)), n_grades=4)
        gains = factor(Utility(np.outer([1, 0.5, 0.3, 0.2], [0, 9, 4, 0])), log.visible()).dcg.gains
        np.testing.assert_allclose(gains, [0, 2, 4, 4])

    @table(
        ("discounts", "gains", "notes"),
        [
            (
                [1, 0.5, 0.7, -0.2],
                [0, 1, 3, 2, 5],
                ["not increase", "rise at position 3, 5", "negative at position 4"],
            ),
            ([-0.5, 1, 1, 1], np.arange(5), ["scaled by the largest"]),
        ],
    )
    def test_odd_shapes_are_said(self, discounts, gains, notes):
        weights = np.outer([*discounts, *[0.1] * 6], gains)
        factoring = factor(Utility(weights), random_log(600, "free").visible())
        assert all(note in " ".join(factoring.notes) for note in notes)
        assert factoring.dcg.discounts.max() == pytest.approx(1)

    def test_notes_travel_with_the_metric_and_gains_can_be_normalised(self, tmp_path):
        learner = UtilityLearner().fit(random_log(300, "permutations"))
        assert learner.factor(normalise_gains=True).dcg.gains[-1] == 1
        factoring = learner.factor()
        factoring.dcg.save(tmp_path / "dcg.json")
        assert DCG.load(tmp_path / "dcg.json").notes == factoring.notes
        share = f"{factoring.explained:.1%} of these weights"
        assert f"gains times discounts reproduce {share}" in factoring.sentence


@pytest.mark.filterwarnings("error")
def test_no_warning_on_ordinary_logs():
    for C in C_GRID:
        UtilityLearner(C=C).fit(random_log(100, noise=0.1)).factor()


OF_TABLES = ("n_features_in_after_fitting", "n_features_in", "fit2d_1feature", "fit2d_predict1d")
OF_NUMBERS = ("complex_data", "dtype_object", "estimators_nan_inf")
OF_SPARSE = ("estimator_sparse_tag", "estimator_sparse_array", "estimator_sparse_matrix")
NO_TABLE = "X holds pairs of lists, shape (n, 2, K), so it has no columns of features to count"
NO_NUMBERS = "grades are whole numbers, and pairs that are none are refused in words of their own"
DO_NOT_APPLY = {
    f"check_{name}": NO_TABLE for name in (*OF_TABLES, "estimators_empty_data_messages")
}
DO_NOT_APPLY |= {f"check_{name}": NO_NUMBERS for name in (*OF_NUMBERS, *OF_SPARSE)}


def pairs_of(X):
    """Return a pair for each row of a table of numbers: its entries as grades, and the same shifted
    by a position.
    """
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiu" or X.shape[1] < 2:
        return X
    grades = (np.floor(3 * np.abs(X)) % 4).astype(np.int8)
    return np.stack([grades, np.roll(grades, 1, axis=1)], axis=1)


class OfTables:
    """A learner that takes tables."""

    def fit(self, X, y=None):
        return super().fit(pairs_of(X), y, as_is=True)  # no judge chose these

    def decision_function(self, X):
        return super().decision_function(pairs_of(X))

    def predict(self, X):
        return super().predict(pairs_of(X))

    def agreement(self, X):
        return super().agreement(pairs_of(X))


class DCGOfTables(OfTables, DCGLearner):
    __init__ = DCGLearner.__init__

    def predict_proba(self, X):
        return super().predict_proba(pairs_of(X))


class UtilityOfTables(OfTables, UtilityLearner):
    __init__ = UtilityLearner.__init__


@pytest.mark.filterwarnings("ignore")
@table("learner", [DCGOfTables(n_grades=4), UtilityOfTables(n_grades=4)])
def test_scikit_learns_checks(learner):
    checks = check_estimator(learner, expected_failed_checks=DO_NOT_APPLY, on_fail=None)
    failed = {
        check["check_name"]: str(check["exception"])
        for check in checks
        if check["status"] == "failed"
    }
    assert not failed
    assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(
        DO_NOT_APPLY
    )
    assert sum(check["status"] == "passed" for check in checks) >= 25
