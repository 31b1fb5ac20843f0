"""Every objective against its slow twin, against finite differences, in its limits, and on bad
input.
"""

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import dcglearn as dl
from dcglearn.foundation import threads as chunks
from dcglearn.foundation.validation import InputError
from dcglearn.losses import rank_kernel
from dcglearn.metrics.dcg import DCG, textbook_dcgs
from tests.losses import twins
from tests.makers import refused
from tests.tables import table

LEARNED = DCG([0, 0.3, 0.2, 1.4], [1, 0.8, 0.8, 0.85, 0.3, 0.0])
LOG2 = DCG.standard(4, 5)

TWINS = {
    "ApproxNDCG": (dl.losses.ApproxNDCG(LEARNED, alpha=3.0), twins.approx_ndcg),
    "ApproxNDCG, all ranks": (dl.losses.ApproxNDCG(LOG2, alpha=2.0, depth=None), twins.approx_ndcg),
    "SDCG as printed": (
        dl.losses.SDCG(LOG2, alpha=2.0, depth=3, shift=0.0, normalise=False),
        twins.approx_ndcg,
    ),
    "ApproxAP": (dl.losses.ApproxAP(alpha=2.0, beta=3.0, min_grade=2), twins.approx_ap),
    "SHFSDCG": (
        dl.losses.SHFSDCG(LEARNED, alpha=2.0, annealed=False),
        lambda *x: twins.shf(*x)[:2],
    ),
    "SHFSDCG, annealed": (
        dl.losses.SHFSDCG(LOG2, alpha=2.0, beta=0.5),
        lambda *x: twins.shf(*x)[:2],
    ),
    "SHFSDCG, all ranks": (
        dl.losses.SHFSDCG(LOG2, alpha=2.0, depth=None),
        lambda *x: twins.shf(*x)[:2],
    ),
    "SmoothNDCG": (dl.losses.SmoothNDCG(LEARNED, sigma=0.5), twins.smooth_ndcg),
    "SmoothNDCG, all ranks": (dl.losses.SmoothNDCG(LOG2, sigma=0.5, depth=None), twins.smooth_ndcg),
    "SmoothAP": (dl.losses.SmoothAP(sigma=0.5), twins.smooth_ap),
    "SmoothAP, direct": (
        dl.losses.SmoothAP(sigma=0.5, form="direct", min_grade=2),
        twins.smooth_ap,
    ),
    "SoftRankNDCG": (dl.losses.SoftRankNDCG(LEARNED, sigma=0.4), twins.soft_rank_ndcg),
    "LambdaRank": (
        dl.losses.LambdaRank(LEARNED),
        lambda *x: twins.weighted_pairs(*x, twins.logistic),
    ),
    "LambdaRank, all ranks": (
        dl.losses.LambdaRank(LOG2, depth=None),
        lambda *x: twins.weighted_pairs(*x, twins.logistic),
    ),
    "RSRank": (
        dl.losses.RSRank(LEARNED, depth=3, normalise=False),
        lambda *x: twins.weighted_pairs(*x, twins.modified_huber),
    ),
    "RankHinge": (dl.losses.RankHinge(margin=0.7), lambda *x: twins.hinge(*x, False)),
    "GBRank": (dl.losses.GBRank(normalise=False), lambda *x: twins.hinge(*x, True)),
}
PLAIN = {
    "RegSHFSDCG": dl.losses.RegSHFSDCG(LEARNED, alpha=2.0, tau=0.3, annealed=False),
    "ListNet": dl.losses.ListNet(),
    "ListNet, gains": dl.losses.ListNet(LEARNED),
    "Regression": dl.losses.Regression(LEARNED),
}
LOSSES = {name: loss for name, (loss, _) in TWINS.items()} | PLAIN
METRICS = [
    dl.losses.ApproxNDCG,
    dl.losses.SDCG,
    dl.losses.SHFSDCG,
    dl.losses.RegSHFSDCG,
    dl.losses.SmoothNDCG,
    dl.losses.SoftRankNDCG,
    dl.losses.LambdaRank,
    dl.losses.RSRank,
]


def queries(sizes, seed=0, n_grades=4, scale=1.0):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    return rng.normal(0, scale, n), rng.integers(0, n_grades, n), np.r_[0, np.cumsum(sizes)]


def difference(loss, f, *rest, step=1e-4):
    """Return central differences of fourth order."""
    out = np.empty(len(f))
    for i in range(len(f)):
        e = np.zeros(len(f))
        e[i] = step
        near = loss(f + e, *rest)[0] - loss(f - e, *rest)[0]
        out[i] = (8 * near - loss(f + 2 * e, *rest)[0] + loss(f - 2 * e, *rest)[0]) / (12 * step)
    return out


def close(actual, wanted, rtol=1e-6):
    """Return whether differences are below `rtol` times the largest entry; 1e-15, rounding of a
    value of 1, is 0.
    """
    return np.abs(actual - wanted).max(initial=0) <= rtol * np.abs(wanted).max(initial=0) + 1e-15


def apart(f, least=3e-3):
    """Return scores no two of which are closer than differences reach, nor at the kink of a
    hinge."""
    order = np.argsort(f)
    out = f.copy()
    out[order] += least * np.arange(len(f))
    return out


@pytest.mark.parametrize("name", TWINS)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=4),
    st.integers(0, 2**32),
    st.sampled_from([1e-8, 0.1, 1, 30]),
)
def test_equals_the_twin(name, sizes, seed, scale):
    loss, twin = TWINS[name]
    f, y, offsets = queries(sizes, seed, scale=scale)
    weight = np.random.default_rng(seed).exponential(1, len(sizes))
    value, gradient = loss(f, y, offsets, weight)
    wanted, direction = twins.over_queries(twin, loss, f, y, offsets, weight)
    assert value == pytest.approx(wanted, rel=1e-11, abs=1e-11)
    assert close(gradient, direction, 1e-9)


@table("name", TWINS)
@table("gap", [0.0, 1e-8, 1e8])
def test_extreme_gaps_are_finite_and_equal_the_twin(name, gap):
    loss, twin = TWINS[name]
    f = gap * np.array([0.0, 3, 1, 2, 5, 8, 4, 7])
    y = np.array([3, 0, 1, 2, 0, 3, 1, 0])
    value, gradient = loss(f, y)
    wanted, direction = twin(loss, f, y)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert value == pytest.approx(wanted, rel=1e-10)
    np.testing.assert_allclose(
        gradient, direction, rtol=1e-9, atol=1e-9 * np.abs(direction).max() + 1e-300
    )


@table("name", [name for name in LOSSES if name != "SHFSDCG, annealed"])
@table("sizes", [[1], [2], [9, 1, 0, 7]])
def test_gradient_is_the_derivative(name, sizes):
    f, y, offsets = queries(sizes, seed=3, scale=0.5)
    f = apart(f)
    rest = (y, offsets, np.arange(1.0, len(sizes) + 1))
    assert close(LOSSES[name](f, *rest)[1], difference(LOSSES[name], f, *rest))


@table("name", LOSSES)
def test_gradient_without_a_relevant_document(name):
    f, y = apart(queries([6], seed=4)[0]), np.zeros(6, int)
    value, gradient = LOSSES[name](f, y)
    assert close(gradient, difference(LOSSES[name], f, y))
    if isinstance(LOSSES[name], tuple(METRICS)) and not isinstance(
        LOSSES[name], dl.losses.RegSHFSDCG
    ):
        assert value == 0
        assert not gradient.any()


@table("metric", METRICS)
@table("dcg", [*textbook_dcgs(4, 5).values(), DCG.standard(4, 5, discount="letor"), LEARNED])
def test_gradient_for_every_dcg(metric, dcg):
    f, y, _ = queries([9], seed=5)
    f, loss = (
        apart(f),
        metric(dcg) if metric is not dl.losses.SoftRankNDCG else metric(dcg, sigma=0.5),
    )
    if isinstance(loss, dl.losses.SHFSDCG):
        loss = replace(loss, annealed=False)  # a constant in the gradient, not in the value
    gradient = loss(f, y)[1]
    assert np.abs(gradient).max() > 1e-5
    assert close(gradient, difference(loss, f, y))


@table("metric", METRICS)
@table("kind", ["gains", "discounts"])
def test_ten_times_the_dcg_is_the_same_loss(metric, kind):
    f, y, offsets = queries([20, 12], seed=6)
    for dcg in (LEARNED, LOG2, DCG.standard(4, 7, "linear", "rbp0.8")):
        first = metric(dcg)(f, y, offsets)
        second = metric(replace(dcg, **{kind: 10 * getattr(dcg, kind)}))(f, y, offsets)
        assert second[0] == pytest.approx(first[0], rel=1e-12)
        assert close(second[1], first[1], 1e-11)


SHARP = {
    "ApproxNDCG": lambda dcg: dl.losses.ApproxNDCG(dcg, alpha=1e6, beta=1e4),
    "SmoothNDCG": lambda dcg: dl.losses.SmoothNDCG(dcg, sigma=1e-12),
    "SoftRankNDCG": lambda dcg: dl.losses.SoftRankNDCG(dcg, sigma=1e-6),
}


@table("name", SHARP)
@table("dcg", [*textbook_dcgs(4, 5).values(), DCG([0, 0.3, 0.2, 1.4], [1, 0.8, 0.75, 0.3])])
def test_sharpened_it_is_the_dcg(name, dcg):
    loss = SHARP[name](dcg)
    for seed in range(5):
        f, y, _ = queries([3 + 5 * seed], seed)
        ranked = y[np.argsort(-f)]
        tilt = 2e-3 if name == "ApproxNDCG" and "flat" in repr(dcg) else 1e-9
        smallest = (
            2e-3 if np.diff(dcg.discounts).max() == 0 else tilt
        )  # plateaus are tilted by 1e-3
        assert loss(f, y)[0] == pytest.approx(dcg.ndcg(ranked), abs=smallest)
        plain = replace(loss, normalise=False)(f, y)[0]
        assert plain == pytest.approx(dcg.score(ranked), abs=smallest * dcg.gains.max())


@table("name", ["SmoothNDCG", "SoftRankNDCG"])
def test_discounts_that_rise_or_are_negative_act_as_they_are(name):
    dcg = DCG([-0.5, 0.3, 0.2, 1.4], [0.5, 1, -0.2, 0.3, 0.1])
    for seed, size in enumerate([2, 3, 4, 5, 9, 20]):
        f, y, _ = queries([size], seed)
        assert SHARP[name](dcg)(f, y)[0] == pytest.approx(dcg.ndcg(y[np.argsort(-f)]), abs=1e-9)


def test_sharpened_hinge_ranks_are_the_dcg_only_in_order():
    f, y, _ = queries([12], seed=1)
    ordered = np.sort(f)[::-1]
    for annealed in (True, False):
        loss = dl.losses.SHFSDCG(LOG2, alpha=1e6, beta=1e4, annealed=annealed)
        assert loss(ordered, np.sort(y)[::-1])[0] == pytest.approx(1, abs=1e-9)
        assert abs(loss(f, y)[0] - LOG2.ndcg(y[np.argsort(-f)])) > 0.02
    spread = np.r_[
        ordered[:6], 0.5 * (ordered[5] + ordered[6]) + 0 * ordered[6:]
    ]  # grades 3 and 0, in order
    loss = dl.losses.SHFSDCG(LOG2, alpha=1e6, beta=1e4, depth=5, normalise=False)
    assert loss(spread, np.repeat([3, 0], 6))[0] == pytest.approx(
        7 * LOG2.discounts.sum(), abs=1e-9
    )


SHARP_AP = [
    dl.losses.SmoothAP(1e-10, "positions", 2),
    dl.losses.SmoothAP(1e-6, "direct", 2),
    dl.losses.ApproxAP(1e6, 1e4, 2),
]


@table("loss", SHARP_AP)
def test_sharpened_average_precision(loss):
    for seed in range(8):
        f, y, _ = queries([4 + seed], seed)
        rel = y[np.argsort(-f)] >= 2
        wanted = (np.cumsum(rel) / np.arange(1, len(f) + 1))[rel].mean() if rel.any() else 0.0
        assert loss(f, y)[0] == pytest.approx(wanted, abs=1e-9)
    assert loss([3.0, 2.0, 1.0], [2, 0, 0])[0] == pytest.approx(1)


@table("name", ["SmoothNDCG", "SmoothAP", "RankHinge", "GBRank"])
def test_at_ties_the_gradient_lies_between_the_one_sided_derivatives(name):
    loss = {"SmoothNDCG": dl.losses.SmoothNDCG(LOG2, 0.5)}.get(name, LOSSES.get(name))
    y = np.array([0, 3, 2, 1, 3, 0])
    for scores in ([0.0, 0, 1, 1, 2, 3], [1.0, 1, 1, 0.3, 1, 0.3]):
        f = np.array(scores) * (
            0.7 if name == "RankHinge" else 1
        )  # 0.7 is also where the hinge bends
        value, gradient = loss(f, y)
        for i in range(len(f)):
            e = np.zeros(len(f))
            e[i] = 1e-7
            sides = sorted([(loss(f + e, y)[0] - value) / 1e-7, (value - loss(f - e, y)[0]) / 1e-7])
            assert sides[0] - 1e-5 <= gradient[i] <= sides[1] + 1e-5


@table("name", [n for n in LOSSES if n not in ("Regression", "RegSHFSDCG")])
def test_only_differences_of_scores_matter(name):
    f, y, offsets = queries([30, 25], seed=7)
    gradient = LOSSES[name](f, y, offsets)[1]
    for start, stop in ((0, 30), (30, 55)):
        assert abs(gradient[start:stop].sum()) < 1e-12 * max(1, np.abs(gradient).max())
    assert close(LOSSES[name](f + 4, y, offsets)[1], gradient, 1e-11)


@table("name", LOSSES)
def test_documents_of_a_query_come_in_any_order(name):
    f, y, offsets = queries([30, 25], seed=8)
    turn = np.r_[
        np.random.default_rng(0).permutation(30), 30 + np.random.default_rng(1).permutation(25)
    ]
    first, second = LOSSES[name](f, y, offsets), LOSSES[name](f[turn], y[turn], offsets)
    assert second[0] == pytest.approx(first[0], rel=1e-12)
    assert close(second[1], first[1][turn], 1e-12)


OF_OWN_UNIT = (dl.losses.RegSHFSDCG, dl.losses.Regression, dl.losses.ListNet)
"""Losses whose scores have a unit of their own: that of gains, or of log probabilities."""


@table("name", [name for name, loss in LOSSES.items() if not isinstance(loss, OF_OWN_UNIT)])
def test_scaled_scores_and_sharpness_are_the_same_loss(name):
    loss = LOSSES[name]
    f, y, _ = queries([30], seed=9)
    there = loss.for_scale(7.0)(7.0 * f, y)
    here = loss(f, y)
    factor = {dl.losses.RankHinge: 7.0, dl.losses.GBRank: 49.0}.get(type(loss), 1.0)
    assert there[0] == pytest.approx(here[0] * factor, rel=1e-10)
    assert close(7 * there[1], factor * here[1], 1e-10)


@table("name", LOSSES)
def test_bytes_do_not_depend_on_threads(name, monkeypatch):
    monkeypatch.setattr(
        rank_kernel, "CHUNK_PAIRS", 200
    )  # so that the batch is cut, within queries too
    f, y, offsets = queries([100, 3, 0, 60], seed=10)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(chunks, "threads", lambda threads=threads: threads)
        value, gradient = LOSSES[name](f, y, offsets)
        results.append((value, gradient.tobytes()))
    assert results[0] == results[1] == results[2]
    monkeypatch.undo()
    value, gradient = LOSSES[name](f, y, offsets)
    assert value == pytest.approx(results[0][0], rel=1e-12)
    assert close(np.frombuffer(results[0][1]), gradient, 1e-11)


KINDS = [getattr(dl.losses, name) for name in dl.losses.__all__ if name != "Objective"]
KINDS = [kind for kind in KINDS if inspect.isclass(kind) and issubclass(kind, dl.losses.Objective)]


@table("kind", KINDS)
def test_every_parameter_but_the_dcg_has_a_default_and_parameters_make_the_same_objective_again(
    kind,
):
    takes = {field.name for field in fields(kind)}
    for dcg in (LOG2, "linear-log2@3"):
        loss = kind(dcg) if "dcg" in takes else kind()
        assert kind(**loss.get_params()) == loss == clone(loss) == replace(loss)
        assert loss.set_params(**loss.get_params()) is loss
        assert loss.at(1, 10).__class__ is kind
        assert loss.sharpness is None or loss.sharpness in takes
        refused("iteration=0", loss.at, 0, 10)


def test_a_change_of_parameters_forgets_what_was_computed_from_them_and_a_bad_one_changes_nothing():
    scores, grades = [0.3, 0.1, 0.2], [0, 2, 1]
    loss = dl.losses.ApproxNDCG(LEARNED)
    before = loss(scores, grades)[0]
    assert loss.set_params(dcg=LOG2, alpha=2.0) is loss
    value, gradient = dl.losses.ApproxNDCG(LOG2, alpha=2.0)(scores, grades)
    assert (loss(scores, grades)[0] == value) and value != before
    np.testing.assert_array_equal(loss(scores, grades)[1], gradient)
    refused("alpha", loss.set_params, alpha=-1.0)
    refused("no parameter 'sharpness', but dcg, alp", loss.set_params, sharpness=1.0)
    assert loss == dl.losses.ApproxNDCG(LOG2, alpha=2.0)


@table("name", LOSSES)
def test_hostile_input_is_named(name):
    loss = LOSSES[name]
    f, y = np.zeros(4), np.array([0, 1, 2, 3])
    for bad, message in [
        ((np.array([0, np.nan, 0, 0]), y), r"scores\[1\]: nan is not a finite"),
        ((np.zeros((2, 2)), y), "one score per document"),
        ((f, [0, 1, 2]), "one per document"),
        ((f, [0, 1, 0.5, 1]), r"grades\[2\]: 0.5 is not a grade: grades are integers"),
        ((f, [0, np.nan, 1, 1]), r"grades\[1\]: nan is not a grade"),
        ((f, [0, 1, -1, 1]), r"grades\[2\]: -1 is not a known grade"),
        ((f, [0, 1, 200, 1]), r"grades\[2\]: 200 is not a grade of"),
        ((f, [True] * 4), "expected integers"),
        ((f, y, [2, 2]), "look like group sizes"),
        ((f, y, [0, 3, 1, 4]), "must rise from 0"),
        ((f, y, [0, 5]), "must rise from 0"),
        ((f, y, [0.0, 4.0]), "expected integers"),
        ((f, y, [0, 2, 4], [1.0]), "one value per query"),
        ((f, y, [0, 2, 4], [1.0, -1.0]), r"weight\[1\]: -1"),
    ]:
        refused(message, loss, *bad)
    if "dcg" in {field.name for field in fields(loss)} and loss.dcg is not None:
        refused(r"grades\[0\]: 4 is not a grade of the DCG's scale, 0..3", loss, f, [4, 0, 0, 0])


@table("name", LOSSES)
def test_odd_but_good_input(name):
    loss = LOSSES[name]
    assert loss([], []) == (0.0, pytest.approx(np.zeros(0)))
    assert loss([], [], [0, 0, 0])[1].shape == (0,)
    plain = loss([0.1, 0.3], np.array([1.0, 0.0]))
    padded = loss(np.array([0.1, 0.3], np.float32).astype(float), [1, 0], [0, 0, 2, 2])
    assert padded[0] == pytest.approx(plain[0], rel=1e-6)
    equal = loss([0.1, 0.5, 0.2], [2, 2, 2])
    assert np.isfinite(equal[0])
    assert np.isfinite(equal[1]).all()
    f = np.array([0.1, 0.3])
    f.flags.writeable = False
    loss(f, [1, 0])


def test_an_empty_query_adds_nothing():
    loss = dl.losses.ApproxNDCG(LOG2)
    value, gradient = loss([1.0, 2.0, 1.0, 2.0], [0, 0, 1, 0], [0, 2, 2, 4])
    assert value == pytest.approx(loss([1.0, 2.0], [1, 0])[0])
    assert not gradient[:2].any()


@table(
    "make",
    [
        lambda: dl.losses.ApproxNDCG(LOG2, alpha=0),
        lambda: dl.losses.ApproxNDCG(LOG2, beta=-1.0),
        lambda: dl.losses.SDCG(LOG2, depth=0),
        lambda: dl.losses.SDCG(LOG2, depth="all"),
        lambda: dl.losses.SmoothNDCG(LOG2, sigma=np.inf),
        lambda: dl.losses.SmoothAP(form="other"),
        lambda: dl.losses.ApproxAP(min_grade=0),
        lambda: dl.losses.RegSHFSDCG(LOG2, tau=1.5),
        lambda: dl.losses.RankHinge(margin=0.0),
        lambda: dl.losses.soft_ranks([1.0], alpha=-1),
    ],
)
def test_parameters_are_checked(make):
    with pytest.raises(InputError):
        make()


def test_a_dcg_without_a_positive_discount_has_no_smooth_form():
    refused(
        "no discount is positive",
        dl.losses.ApproxNDCG(DCG([0, 1], [0.0, -1.0])),
        [1.0, 2.0],
        [0, 1],
    )


SCORES, GRADES, OFFSETS = [0.3, 0.1, 0.2, 0.5, -0.4], [0, 2, 1, 0, 1], [0, 3, 5]


@table("kind", [*METRICS, dl.losses.ListNet, dl.losses.Regression])
def test_a_loss_takes_a_name_and_a_file(kind, tmp_path):
    dcg = DCG.standard(3, 3, "exponential")
    dcg.save(tmp_path / "dcg.json")
    value, gradient = kind(dcg)(SCORES, GRADES, OFFSETS)
    for named in (
        "exponential-log2@3",
        "exponential-log2",
        tmp_path / "dcg.json",
        str(tmp_path / "dcg.json"),
    ):
        loss = kind(named)
        found, slope = loss(SCORES, GRADES, OFFSETS)
        assert found == value and np.array_equal(slope, gradient)
        assert np.array_equal(
            loss.lambdas(SCORES, GRADES, OFFSETS), kind(dcg).lambdas(SCORES, GRADES, OFFSETS)
        )
    refused("neither a file nor", kind, "AP")


def test_a_ranker_takes_names(tmp_path):
    queries = dl.simulate.letor_queries(20, random_state=0)
    longest, n_grades = int(queries.sizes.max()), queries.n_grades
    for name, depth in (("linear-log2", longest), ("nDCG@5", 5)):
        dcg = DCG.standard(n_grades, depth, "linear")
        by_name = dl.LinearRanker(dl.losses.ApproxNDCG(name), max_iter=3).fit(queries)
        by_dcg = dl.LinearRanker(dl.losses.ApproxNDCG(dcg), max_iter=3).fit(queries)
        assert by_name.metric_ == dcg and np.array_equal(by_name.coef_, by_dcg.coef_)
        assert np.array_equal(
            dl.rankers.RidgeRanker(name).fit(queries).coef_,
            dl.rankers.RidgeRanker(dcg).fit(queries).coef_,
        )
        assert np.array_equal(by_name.evaluate(queries, metric=name), by_dcg.evaluate(queries))
    by_name.save(tmp_path / "model")
    assert dl.load_ranker(tmp_path / "model").loss.dcg == "nDCG@5"


def test_arrays_and_exports_take_files(tmp_path):
    dcg, grades, scores = DCG.standard(3, 3, "linear"), [[2, 0, 1]], [[0.1, 0.9, 0.3]]
    dcg.save(tmp_path / "dcg.json")
    expected = dl.evaluate_arrays(grades, scores, metrics=dcg)
    for metric in (tmp_path / "dcg.json", "linear-log2", "nDCG@3"):
        assert dl.evaluate_arrays(grades, scores, metrics=metric) == expected
    several = dl.evaluate_arrays(
        grades, scores, metrics={"file": tmp_path / "dcg.json", "name": "linear-log2"}
    )
    assert several["file"] == several["name"]
    for export in (dl.exports.to_lightgbm, dl.exports.to_sql):
        assert export(tmp_path / "dcg.json") == export(dcg)
        refused("how many grades", export, "linear-log2@3")
