"""Shares of disagreement: published values, brute force, weights, sampling, matrices."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from dcglearn import DCG, disagreement, textbook_dcgs
from dcglearn import metric as metric_of
from dcglearn.coherence import disagreement_matrix, disagreements
from dcglearn.coherence.disagreements import pair_counts
from dcglearn.evaluation import ListUtility
from dcglearn.plots import disagreement_figure
from tests.makers import PAPER_LIST, refused
from tests.tables import table


def standard(gain, discount, depth=10):
    return DCG.standard(5, depth, gain, discount)


@table(
    ("gain", "discount", "share"),
    [
        ("exponential", "log2", 0.09989),
        ("linear", "reciprocal", 0.01437),
        ("linear", "rbp0.8", 0.10923),
    ],
)
def test_published_shares(gain, discount, share):
    found = disagreement(standard("linear", "log2"), standard(gain, discount), PAPER_LIST)
    assert found.exact and found.n_pairs == 113_400 * 113_399 // 2
    assert round(found.share, 5) == share
    assert found.tie_a + found.tie_b + found.tie_both < 1.6e-4
    parts = found.share + found.agree + found.tie_a + found.tie_b + found.tie_both
    assert parts == pytest.approx(1, abs=1e-12)
    assert "exact" in found.notes[0] and f"{found.share:.3%}" in found.sentence
    assert found.table["share"].to_list() == [
        found.share,
        found.agree,
        found.tie_a,
        found.tie_b,
        found.tie_both,
    ]


def slow_counts(first, second, weight):
    counts = np.zeros(5)
    for i, j in itertools.combinations_with_replacement(range(len(first)), 2):
        pairs = weight[i] * (weight[i] - 1) / 2 if i == j else weight[i] * weight[j]
        a, b = np.sign(first[i] - first[j]), np.sign(second[i] - second[j])
        counts[4 if a == b == 0 else 2 if a == 0 else 3 if b == 0 else int(a == b)] += pairs
    return counts


@given(
    st.integers(1, 40).flatmap(
        lambda n: st.tuples(
            *(st.lists(st.integers(0, top), min_size=n, max_size=n) for top in (6, 6, 4))
        )
    )
)
def test_counts_of_pairs_agree_with_brute_force(case):
    first, second = (np.array(values) / 6 for values in case[:2])
    weight = np.array(case[2]) + 1.0
    np.testing.assert_allclose(
        pair_counts(first, second, weight), slow_counts(first, second, weight)
    )
    np.testing.assert_allclose(
        pair_counts(first, second), slow_counts(first, second, np.ones(len(first)))
    )


def test_counts_agree_with_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.integers(300, size=(2, 20_000)) / 300
    counts = pair_counts(first, second)
    tied = counts[2] + counts[4], counts[3] + counts[4]
    tau = (counts[1] - counts[0]) / np.sqrt((counts.sum() - tied[0]) * (counts.sum() - tied[1]))
    assert tau == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)


@table("documents", [None, [0, 1, 1, 2, 3], [4, 4, 0, 0, 1, 2]])
def test_free_lists_and_documents_below_the_last_position_count_as_rankings(documents):
    a, b = standard("linear", "log2", 3), standard("exponential", "reciprocal", 3)
    rankings = sorted(
        set(
            itertools.permutations(documents)
            if documents
            else itertools.product(range(5), repeat=3)
        )
    )
    values = [dcg.score([one[:3] for one in rankings]).round(12) for dcg in (a, b)]
    expected = slow_counts(*values, np.ones(len(rankings)))
    found = disagreement(a, b, documents)
    shares = [found.share, found.agree, found.tie_a, found.tie_b, found.tie_both]
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=1e-12)
    assert found.n_pairs == len(rankings) * (len(rankings) - 1) // 2


def test_equal_metrics():
    a = standard("linear", "log2", 4)
    assert disagreement(a, DCG(3 * a.gains + 1, a.discounts)).share == 0
    reverse = disagreement(a, DCG(-a.gains, a.discounts))
    assert reverse.agree == 0 and reverse.share + reverse.tie_both == pytest.approx(1)


def test_sampling_past_the_limit(monkeypatch):
    a, b = standard("linear", "log2", 6), standard("exponential", "log2", 6)
    exact = disagreement(a, b)
    monkeypatch.setattr(disagreements, "MAX_ENUMERATED", 100)
    inside = 0
    for seed in range(20):
        found = disagreement(a, b, n_pairs=5000, random_state=seed)
        assert not found.exact and 4990 < found.n_pairs <= 5000
        assert "95% interval" in found.sentence
        inside += found.interval[0] <= exact.share <= found.interval[1]
    assert inside >= 17
    assert disagreement(a, b, n_pairs=5000, random_state=3) == disagreement(
        a, b, n_pairs=5000, random_state=3
    )
    low, high = disagreement(a, DCG(3 * a.gains, a.discounts), n_pairs=100).interval
    assert low == pytest.approx(0) and 0.03 < high < 0.04


def test_a_matrix_of_the_textbook():
    documents = [4, 4, 3, 2, 2, 1, 0, 0]
    refused(
        "linear-flat orders no two .* leave it out",
        disagreement_matrix,
        textbook_dcgs(5, 8),
        documents,
    )
    own = {name: dcg for name, dcg in textbook_dcgs(5, 8).items() if "flat" not in name}
    found = disagreement_matrix(own, documents)
    assert found.exact and found.n_pairs == 5040 * 5039 // 2
    np.testing.assert_array_equal(found.share, found.share.T)
    i, j = found.names.index("linear-log2"), found.names.index("exponential-log2")
    pair = disagreement(
        standard("linear", "log2", 8), standard("exponential", "log2", 8), documents
    )
    assert found.share[i, j] == pair.share
    assert found.table["share"].is_sorted(descending=True)
    assert found.table.filter(metric="linear-log2", other="exponential-log2")["share"].item() == (
        pair.share
    )
    assert len(disagreement_figure(found).axes) == 2
    two = {"a": standard("linear", "log2", 6), "b": standard("exponential", "log2", 6)}
    sampled = disagreement_matrix(two, max_lists=100, random_state=1)
    assert not sampled.exact and abs(sampled.share[0, 1] - disagreement(*two.values()).share) < 0.01
    assert len(disagreement_figure(sampled).axes) == 2


def test_bad_input():
    refused("needs two", disagreement_matrix, {"a": standard("linear", "log2")})
    refused("needs two", disagreement_matrix, {})
    refused(
        "n_pairs", disagreement, standard("linear", "log2"), standard("linear", "rbp0.8"), n_pairs=0
    )
    refused(
        r"all worth the same",
        disagreement,
        standard("linear", "log2", 2),
        standard("linear", "rbp0.8", 2),
        [3, 3],
    )


def test_disagreement_with_a_list_utility():
    dcg = DCG.standard(4, 6)
    same = disagreement(ListUtility(dcg.gains, dcg.discounts), dcg)
    assert (same.share, same.exact) == (0, True)
    err = metric_of("ERR@6", n_grades=4)
    lists = np.random.default_rng(1).integers(0, 4, (2, 20_000, 6))
    ours, other = (
        np.sign(metric.score(lists[0]) - metric.score(lists[1])) for metric in (err, dcg)
    )
    found = disagreement(err, dcg)
    assert found.share == pytest.approx((ours * other == -1).mean(), abs=0.02)
