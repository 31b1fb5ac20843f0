"""The papers' theorems and printed values against measured errors, and counterexamples outside
their conditions.
"""

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from scipy.stats import binom, norm

import dcglearn as dl
from dcglearn.losses import soft_ranks
from dcglearn.metrics.dcg import DCG, textbook_dcgs
from tests.tables import table

TABLE_1 = np.array([4.20074, 3.12378, 4.40918, 1.55258, 4.13330])
N_LISTS = 3000


def lists_of_all_kinds(seed, n_grades=3):
    """3,000 lists of 2 to 20 documents: scores of many scales, then offsets and sizes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 21, N_LISTS)
    scale = np.exp(rng.uniform(-4, 2, N_LISTS))
    f = rng.normal(size=sizes.sum()) * np.repeat(scale, sizes)
    return f, rng.integers(0, n_grades, len(f)), np.r_[0, np.cumsum(sizes)], sizes


def hard_ranks(f, offsets):
    sizes = np.diff(offsets)
    order = np.lexsort((-f, np.repeat(np.arange(len(sizes)), sizes)))
    ranks = np.empty(len(f))
    ranks[order] = np.arange(len(f)) - np.repeat(offsets[:-1], sizes) + 1
    return ranks, order


def gaps(f, offsets):
    """Smallest difference of each document's score from another's in its query."""
    _, order = hard_ranks(f, offsets)
    s = f[order]
    step = np.r_[np.inf, s[:-1] - s[1:], np.inf]
    step[offsets] = np.inf
    out = np.empty(len(f))
    out[order] = np.minimum(step[:-1], step[1:])
    return out


def by_query(function, loss, f, y, offsets):
    return np.array([function(loss, f[a:b], y[a:b]) for a, b in pairwise(offsets)])


def values(loss, f, y, offsets):
    return by_query(lambda loss, f, y: loss(f, y)[0], loss, f, y, offsets)


def true_ndcg(dcg, f, y, offsets):
    return by_query(lambda _, f, y: dcg.ndcg(y[np.argsort(-f)]), None, f, y, offsets)


def largest(x, offsets):
    return np.maximum.reduceat(x, offsets[:-1])


# Qin, Liu and Li 2010


def test_positions_are_those_of_their_table():
    assert [f"{r:.5f}" for r in soft_ranks(TABLE_1, 100)] == [
        "2.00118",
        "4.00000",
        "1.00000",
        "5.00000",
        "2.99882",
    ]
    error = np.abs(soft_ranks(TABLE_1, 100) - [2, 4, 1, 5, 3]).max()
    assert f"{error:.5f}" == "0.00118"
    assert f"{4 / (np.exp(6.744) + 1):.5f}" == "0.00471"
    assert f"{999 / (np.exp(0.06744 * 200) + 1):.6f}" == "0.001386"
    long = soft_ranks(-0.06744 * np.arange(1000), 200)
    assert np.abs(long - np.arange(1, 1001)).max() < 0.001386


@table("alpha", [0.5, 10, 100])
def test_theorem_1_errors_of_positions(alpha):
    f, _, offsets, sizes = lists_of_all_kinds(1)
    error = np.abs(soft_ranks(f, alpha, offsets) - hard_ranks(f, offsets)[0])
    bound = (np.repeat(sizes, sizes) - 1) / (np.exp(np.minimum(alpha * gaps(f, offsets), 700)) + 1)
    assert (error <= bound + 1e-12).all()
    pairs = np.repeat(sizes, sizes) == 2
    np.testing.assert_allclose(error[pairs], bound[pairs], atol=1e-12)  # attained by two documents


def test_theorem_2_errors_of_average_precision():
    f, y, offsets, _ = lists_of_all_kinds(2)
    alpha, beta = 20.0, 30.0
    error = np.abs(
        values(dl.losses.ApproxAP(alpha, beta), f, y, offsets)
        - values(dl.losses.ApproxAP(1e9, 1e4), f, y, offsets)
    )
    eps = largest(np.abs(soft_ranks(f, alpha, offsets) - hard_ranks(f, offsets)[0]), offsets)
    n_relevant = np.add.reduceat((y > 0).astype(int), offsets[:-1])
    fair = (eps < 0.5) & (n_relevant > 0)
    assert fair.sum() > N_LISTS / 10
    for e, n, measured in zip(eps[fair], n_relevant[fair], error[fair], strict=True):
        i = np.arange(1, n + 1)
        bound = (1 / (i - e)).sum() / (1 + np.exp(min(beta * (1 - 2 * e), 700))) + (
            2 * e / (i * (i - e))
        ).sum()
        assert measured <= bound + 1e-12
    y5 = np.array([0, 0, 0, 0, 1])
    assert abs(dl.losses.ApproxAP(100, 100)(TABLE_1, y5)[0] - 1 / 3) < 0.0024


def test_theorem_3_errors_of_ndcg():
    f, y, offsets, _ = lists_of_all_kinds(3)
    dcg = DCG.standard(3, 20)
    for alpha in (1.0, 50.0):
        eps = largest(np.abs(soft_ranks(f, alpha, offsets) - hard_ranks(f, offsets)[0]), offsets)
        approximate = values(dl.losses.ApproxNDCG(dcg, alpha, depth=None), f, y, offsets)
        assert (
            np.abs(approximate - true_ndcg(dcg, f, y, offsets)) <= eps / (2 * np.log(2)) + 1e-12
        ).all()
    assert f"{0.00118 / (2 * np.log(2)):.5f}" == "0.00085"


# Chapelle and Wu 2010


def test_the_distance_to_ndcg_falls_as_exp_of_the_smallest_squared_gap():
    f, y, offsets, sizes = lists_of_all_kinds(4)
    dcg = DCG.standard(3, 20)
    true = true_ndcg(dcg, f, y, offsets)
    ideal = np.array([dcg.ideal(y[a:b]) for a, b in pairwise(offsets)])
    mu = largest(-gaps(f, offsets), offsets) ** 2
    for s in (0.01, 1.0):
        error = np.abs(values(dl.losses.SmoothNDCG(dcg, s), f, y, offsets) - true)
        some = ideal > 0
        weight = np.cumsum(dcg.discounts)[sizes - 1] * 3 * (sizes - 1) / np.where(some, ideal, 1)
        assert (error <= weight * np.exp(-mu / s) + 1e-12)[some].all()
        assert not error[~some].any()


def test_smoothed_without_end_it_forgets_the_scores():
    y = np.array([0, 3, 1, 2, 0])
    dcg = DCG.standard(4, 5)
    value, gradient = dl.losses.SmoothNDCG(dcg, 1e12)(TABLE_1, y)
    assert value == pytest.approx(
        dcg.gains[y].mean() * dcg.discounts.sum() / dcg.ideal(y), rel=1e-9
    )
    assert np.abs(gradient).max() < 1e-9


# Wu et al. 2009: two documents in the wrong order


@table("gap", [0.5, 3.0, 20.0])
def test_two_documents_in_the_wrong_order(gap):
    f, y, alpha, dcg = np.array([0.0, gap]), np.array([1, 0]), 2.0, DCG.standard(2, 2)
    soft = (
        np.array([soft_ranks(f + e, alpha) - soft_ranks(f - e, alpha) for e in np.eye(2) * 1e-6])
        / 2e-6
    )
    np.testing.assert_allclose(
        soft[:, 0], -soft[:, 1], atol=1e-9
    )  # equation 11: the ranks change oppositely
    slope = alpha / (2 + 2 * np.cosh(alpha * gap))
    np.testing.assert_allclose(
        np.abs(soft), slope, rtol=1e-4, atol=1e-9
    )  # and hardly at all when far apart
    loss = dl.losses.SHFSDCG(dcg, alpha=alpha)
    hinge = np.array([loss.ranks(f + e, y) - loss.ranks(f - e, y) for e in np.eye(2) * 1e-6]) / 2e-6
    np.testing.assert_allclose(np.abs(hinge), alpha / 4, rtol=1e-6)  # equation 16
    np.testing.assert_allclose(hinge[:, 0], hinge[:, 1], rtol=1e-6)
    pushed = {
        kind: kind(dcg, alpha=alpha, depth=None)(f, y)[1]
        for kind in (dl.losses.SDCG, dl.losses.SHFSDCG)
    }
    assert pushed[dl.losses.SHFSDCG][0] > 0 > pushed[dl.losses.SHFSDCG][1]
    assert pushed[dl.losses.SDCG][0] <= slope
    if gap > 10:
        assert pushed[dl.losses.SHFSDCG][0] > 1e10 * pushed[dl.losses.SDCG][0]


def test_hinge_ranks_meet_where_scores_tie():
    loss, y = dl.losses.SHFSDCG(DCG.standard(2, 2), alpha=3.0), [1, 0]
    np.testing.assert_allclose(loss.ranks([0.0, 0.0], y), [1.5, 2.5])
    before, after = loss.ranks([1e-9, 0.0], y), loss.ranks([-1e-9, 0.0], y)
    np.testing.assert_allclose(before, after, atol=1e-8)
    assert (loss.ranks([-9.0, 0.0], y) > 1).all()  # the printed sign would make it fall below 0


def test_the_width_follows_the_worst_of_the_best_and_ends_at_k():
    dcg, rng = DCG.standard(3, 3), np.random.default_rng(0)
    y = np.array([2, 2, 2, 1, 1, 0, 0, 0, 0, 0])
    f = rng.normal(size=10)
    loss = dl.losses.SHFSDCG(dcg, alpha=1e5, beta=1e4)
    for scores in (f, np.sort(f)[::-1]):
        ranks = loss.ranks(scores, y)
        widened = dl.losses.SHFSDCG(
            dcg, alpha=1e5, beta=1e4, annealed=False, depth=None, normalise=False
        )._discount(ranks)
        kept = ranks <= ranks[:3].max() + 0.5
        wanted = (dcg.gains[y] * widened)[kept].sum() / dcg.ideal(y)
        assert loss(scores, y)[0] == pytest.approx(wanted, rel=1e-9)


@table(("total", "gamma"), [(600, 0.046206), (250, 0.111415)])
def test_the_mix_with_regression_is_scheduled(total, gamma):
    loss = dl.losses.RegSHFSDCG(DCG.standard(3, 5))
    taus = np.array([loss.at(m, total).tau for m in range(1, total + 1)])
    assert taus[0] == pytest.approx(0.999999, abs=1e-12)
    assert taus[total // 2 - 1] == 0.5
    assert (np.diff(taus) < 0).all()
    slope = np.diff(np.log(1 / taus - 1))
    np.testing.assert_allclose(slope, gamma, atol=5e-7)
    assert [loss.at(1, 1).tau, loss.at(1, 2).tau, loss.at(2, 2).tau] == [0.999999, 0.999999, 0.0]


def test_the_mix_is_the_mix():
    dcg, f, y = DCG.standard(3, 5), TABLE_1, np.array([0, 1, 2, 0, 1])
    hinge, regression = dl.losses.SHFSDCG(dcg)(f, y), dl.losses.Regression(dcg)(f, y)
    value, gradient = dl.losses.RegSHFSDCG(dcg, tau=0.3)(f, y)
    assert value == pytest.approx(0.7 * hinge[0] + 0.3 * regression[0])
    np.testing.assert_allclose(gradient, 0.7 * hinge[1] + 0.3 * regression[1], atol=1e-15)
    assert regression[0] == pytest.approx(-((f - dcg.gains[y] / 3) ** 2).mean())


# SoftRank


def expected_discounts(dcg, f, sigma):
    """E D(r_i) of each document, as the value of a list in which it alone is relevant."""
    loss = dl.losses.SoftRankNDCG(DCG([0, 1], dcg.discounts), sigma, depth=None, normalise=False)
    return np.array([loss(f, relevant)[0] for relevant in np.eye(len(f), dtype=int)])


def test_where_all_scores_tie_ranks_are_binomial_and_should_be_uniform():
    dcg, n = DCG.standard(2, 9), 9
    discounts = expected_discounts(dcg, np.zeros(n), 0.5)
    np.testing.assert_allclose(
        discounts, binom.pmf(np.arange(n), n - 1, 0.5) @ dcg.discounts, rtol=1e-12
    )
    assert (discounts < dcg.discounts.mean() - 0.04).all()  # .404 where .473 is right


def test_jensen_holds_for_convex_discounts_only():
    rng, sigma = np.random.default_rng(5), 0.7
    for name, c, below in [("log2", None, True), ("concave", [1, 0.95, 0.8, 0.5, 0.1], False)]:
        dcg = DCG.standard(2, 5) if c is None else DCG([0, 1], c)
        smooth = dl.losses.ApproxNDCG(dcg)._discount
        worse = 0
        for _ in range(200):
            f = rng.normal(size=5)
            beaten = norm.cdf((f[None, :] - f[:, None]) / (np.sqrt(2) * sigma))
            mean_rank = 0.5 + beaten.sum(axis=1)
            worse += (expected_discounts(dcg, f, sigma) < smooth(mean_rank) - 1e-12).sum()
        assert (worse == 0) == below, name


# Sun et al. 2009: regret against weighted pairwise loss, by brute force


def weighted_loss(dcg, y, ranks, wrong):
    """Sum of |(G_i - G_j)(D_i - D_j)| over the pairs with y_i > y_j that are `wrong`, over the
    ideal.
    """
    g, d = dcg.gains[y], dcg.discounts[ranks]
    total = sum(
        abs((g[i] - g[j]) * (d[i] - d[j]))
        for i in range(len(y))
        for j in range(len(y))
        if y[i] > y[j] and wrong(i, j)
    )
    return total / dcg.ideal(y)


def regret_and_loss(dcg, y, order):
    y, ranks = np.array(y), np.argsort(order)
    loss = weighted_loss(dcg, y, ranks, lambda i, j: ranks[i] > ranks[j])
    return 1 - dcg.gains[y] @ dcg.discounts[ranks] / dcg.ideal(y), loss


@table("name", ["exponential-log2", "linear-reciprocal", "linear-rbp0.8", "binary1-flat"])
def test_regret_is_at_most_the_weighted_loss_for_permutations(name):
    dcg, attained = textbook_dcgs(3, 4)[name], 0
    for y in product(range(3), repeat=4):
        if any(y):
            for order in permutations(range(4)):
                regret, loss = regret_and_loss(dcg, y, order)
                assert regret <= loss + 1e-12
                attained += regret > 1e-9 and abs(regret - loss) < 1e-12
    assert attained > 0 or name == "binary1-flat"


def label_laws(n_laws, seed):
    """Random laws over a few label vectors of three documents."""
    rng = np.random.default_rng(seed)
    for _ in range(n_laws):
        labels = rng.integers(0, 3, (3, 3))
        labels[~labels.any(axis=1), 0] = 1
        yield labels, rng.dirichlet(np.ones(3))


def test_for_random_labels_expectations_obey_and_theorem_1_as_printed_does_not():
    dcg, broken = DCG.standard(3, 3), 0
    for labels, p in label_laws(300, seed=6):
        table = np.array(
            [[regret_and_loss(dcg, y, order) for y in labels] for order in permutations(range(3))]
        )
        regret, loss = table[..., 0] @ p, table[..., 1] @ p
        assert (regret <= loss + 1e-12).all()
        broken += (regret - regret.min() > loss - loss.min() + 1e-9).any()
    assert broken > 10


def test_a_cyclic_classifier_has_no_loss_and_a_regret():
    dcg, y = DCG.standard(3, 3), np.array([0, 1, 2])
    beats = np.array(
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    )  # 0 beats 1, 1 beats 2, 2 beats 0: each stands second
    position = beats.sum(axis=0)
    assert weighted_loss(dcg, y, position, lambda i, j: beats[j, i]) == 0
    order = np.argsort(position, kind="stable")
    assert regret_and_loss(dcg, y, order)[0] > 0.3


def test_discounts_that_rise_break_the_bound():
    dcg = DCG([0, 1, 3], [0.6, 1.0, 0.2])
    pairs = [
        regret_and_loss(dcg, y, order)
        for y in product(range(3), repeat=3)
        if any(y)
        for order in permutations(range(3))
    ]
    assert max(regret - loss for regret, loss in pairs) > 0.05


def test_rsrank_bounds_the_regret_on_random_lists():
    f, y, offsets, _ = lists_of_all_kinds(7)
    dcg = DCG.standard(3, 20)
    regret = 1 - true_ndcg(dcg, f, y, offsets)
    graded = np.maximum.reduceat(y, offsets[:-1]) > 0
    assert (regret[graded] <= -values(dl.losses.RSRank(dcg), f, y, offsets)[graded] + 1e-12).all()


def test_a_signed_weight_would_push_a_right_pair_the_wrong_way():
    f, y = np.array([0.4, 0.0]), np.array([1, 0])  # in order, inside the margin
    assert (
        dl.losses.RSRank(DCG.standard(2, 2))(f, y)[1][0] > 0
    )  # the absolute weight pulls the two further apart
    signed = (1 - 0) * (
        1 / np.log2(3) - 1
    )  # section 4's (a_i - a_j)(D(r_j) - D(r_i)) is negative here
    assert signed < 0
