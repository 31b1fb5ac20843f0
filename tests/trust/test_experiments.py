"""Experiments of a simulated system: how they are read, the DCG learned, and what is said of unseen
ones.
"""

import json
import re

import numpy as np
import pytest
from scipy.optimize import minimize

import dcglearn as dl
from dcglearn.learning.dcg_model import DirectObjective, Model, empty_gain, log_curves
from dcglearn.learning.mean_encodings import MeanEncodings
from tests.makers import call, write_lines

WEIGHTS = np.outer([1.0, 0.6, 0.3], [-0.3, 0.3, 1.0])


def encodings(n, seed=0, users=2000, aa=0.3, weights=WEIGHTS):
    """Return lines of mean encodings of experiments of which the true mean differences are
    known."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        shift = (rng.random() >= aa) * rng.normal(0, 0.15, (3, 3))
        shares, covariance = [], np.zeros((9, 9))
        for arm in (0, 1):
            odds = np.exp(np.array([0.3, 0.0, -0.3]) + arm * shift)
            p = odds / (odds.sum(axis=1, keepdims=True) + 2.0)  # the rest of the places are empty
            means = [rng.multinomial(users, [*row, 1 - row.sum()])[:3] / users for row in p]
            for k, row in enumerate(means):
                covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += (
                    np.diag(row) - np.outer(row, row)
                ) / users
            shares.append((p, np.array(means)))
        better = np.vdot(weights, shares[1][0] - shares[0][0])
        outcome = "A/A" if not shift.any() else "better" if better > 0 else "worse"
        arms = {"control": shares[0][1].tolist(), "treatment": shares[1][1].tolist()}
        lines.append(
            {
                "experiment": str(number),
                "outcome": outcome,
                **arms,
                "covariance": covariance.tolist(),
            }
        )
    return lines


def test_lists_by_unit_have_the_mean_encodings_and_covariance_of_units():
    rng = np.random.default_rng(0)
    rows = [
        {
            "experiment": "e",
            "arm": arm,
            "user": f"{arm}{rng.integers(5)}",
            "list": rng.integers(0, 3, 2).tolist(),
        }
        for arm in ("control", "treatment")
        for _ in range(30)
    ]
    experiments = dl.io.read_experiments([{**row, "outcome": "worse"} for row in rows])
    difference, covariance = np.zeros((2, 3)), np.zeros((6, 6))
    for arm, sign in (("control", -1), ("treatment", 1)):
        users = sorted({row["user"] for row in rows if row["arm"] == arm})
        means = [
            dl.io.encode([row["list"] for row in rows if row["user"] == user], 3).mean(axis=0)
            for user in users
        ]
        difference += sign * np.mean(means, axis=0)
        covariance += np.cov(np.reshape(means, (len(users), 6)).T) / len(users)
    assert experiments.difference[0] == pytest.approx(difference)
    assert experiments.covariance[0] == pytest.approx(
        covariance
    ) and experiments.outcome.tolist() == [-1]


def test_z_scores_and_the_objective_agree_with_brute_force():
    experiments = dl.io.read_experiments(encodings(12))
    d, s = experiments.difference, experiments.covariance
    w = WEIGHTS.ravel()
    expected = [x.ravel() @ w / np.sqrt(w @ c @ w) for x, c in zip(d, s, strict=True)]
    assert experiments.z_scores(WEIGHTS) == pytest.approx(expected)
    objective = DirectObjective(Model(3, 3, zero=3), MeanEncodings(d, s), 1.0)
    theta = np.array([0.3, -0.2, 0.1, 0.4, 5.0, -1.0, 0.2])
    gradient = objective.with_gradient(theta)[1]
    for i in range(len(theta)):
        step = 1e-6 * (np.arange(len(theta)) == i)
        up, down = (
            objective.with_gradient(theta + step)[0],
            objective.with_gradient(theta - step)[0],
        )
        assert gradient[i] == pytest.approx((up - down) / 2e-6, abs=1e-4)


def test_the_qp_on_mean_encodings_agrees_with_cvxpy():
    cp = pytest.importorskip("cvxpy")
    experiments = dl.io.read_experiments(encodings(15, aa=0))
    d = experiments.difference * experiments.outcome[:, None, None]
    W = cp.Variable((3, 3))
    scaled = [x / np.sqrt(np.trace(s)) for x, s in zip(d, experiments.covariance, strict=True)]
    short = cp.hstack([cp.pos(1 - cp.sum(cp.multiply(x, W))) for x in scaled])
    cp.Problem(
        cp.Minimize(cp.sum_squares(W) + cp.sum_squares(short)), [cp.diff(W, axis=1) >= 0]
    ).solve(cp.CLARABEL)
    assert MeanEncodings(d, experiments.covariance).qp(1.0).weights == pytest.approx(
        W.value, abs=1e-5
    )


def test_no_start_leads_to_a_lower_objective():
    experiments = dl.io.read_experiments(encodings(40, seed=3, aa=0))
    encoded = MeanEncodings(
        experiments.difference * experiments.outcome[:, None, None], experiments.covariance
    )
    model = Model(3, 3, ridge=2.0, zero=3)
    objective, learned = DirectObjective(model, encoded, 1.0), encoded.dcg(2.0)
    empty = empty_gain(learned.gains)
    best = model.starts(
        np.concatenate(log_curves(learned.gains, learned.discounts))[None], empty=empty
    )[0]
    best[model.places.sharpness] = model.centre
    rng, bounds = np.random.default_rng(0), np.column_stack(model.bounds)
    errors = np.tile(best, (400, 1))
    errors[:, model.places.error] = np.linspace(-9, -0.02, 400)[:, None]
    lowest = objective.values(errors).min()
    for _ in range(8):
        start = np.clip(best + rng.normal(0, 1, len(best)), *model.bounds)
        end = minimize(objective.with_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds)
        assert end.fun > lowest - 1e-3


def test_wrong_outcomes_do_not_make_the_dcg_insensitive():
    experiments = dl.io.read_experiments(encodings(150, seed=1, aa=0))
    flip = np.where(np.random.default_rng(0).random(150) < 0.1, -1, 1)
    learned = MeanEncodings(
        experiments.difference * (experiments.outcome * flip)[:, None, None], experiments.covariance
    )
    new = dl.io.read_experiments(encodings(200, seed=2, aa=0))
    mean, true = (
        (new.z_scores(w) * new.outcome).mean() for w in (learned.dcg(2.0).utility.weights, WEIGHTS)
    )
    assert mean > 0.9 * true


def test_what_distractors_cost_is_learned_and_more_experiments_are_decided():
    fit = dl.learn_from_experiments(dl.io.read_experiments(encodings(150)))
    assert fit.dcg.gains == pytest.approx([-0.3, 0.3, 1.0], abs=0.3) and fit.dcg.gains[0] < 0
    learned, _, usual = fit.held_out["held-out known outcomes that are significant"]
    assert (
        usual.name == "exponential-log2"
        and learned.share > usual.share
        and json.dumps(fit.to_dict())
    )
    assert usual.difference == pytest.approx(learned.share - usual.share)
    assert fit.held_out["held-out A/A tests that are significant"][0].share < 0.2
    users = fit.facts["users that an experiment needs, as a share of those with exponential-log2"]
    assert float(users.split()[0]) < 1
    assert fit.table["metric"].to_list()[:3] == ["learned DCG", "learned utility", usual.name]
    assert f"makes {learned.share:.1%} of the known outcomes" in fit.sentence


def test_a_dcg_whose_gains_rise_loses_where_the_better_grade_does_harm():
    true = dl.DCG([0.0, 1.0, -0.5], [1.0, 0.6, 0.3])
    lines = encodings(100, aa=0, weights=true.utility.weights)
    fit = dl.learn_from_experiments(dl.io.read_experiments(lines), baseline=true)
    assert fit.held_out["held-out known outcomes that are significant"][2].high < 0
    assert (
        float(
            fit.facts[
                "users that an experiment needs, as a share of those with the metric in use"
            ].split()[0]
        )
        > 1
    )
    with pytest.raises(dl.InputError, match=r"baseline is of shape \(5, 3\)"):
        dl.learn_from_experiments(dl.io.read_experiments(lines), baseline="linear-log2@5")


def test_ndcg_has_the_ideal_of_the_query_where_there_is_one():
    rows = [
        {
            "experiment": "e",
            "arm": arm,
            "unit": f"{arm}{i}",
            "list": [first, i % 2],
            "outcome": "better",
            "query": "q",
        }
        for arm, first in (("control", 0), ("treatment", 1))
        for i in range(6)
    ]
    usual = dl.DCG.standard(2, 2)
    values = {
        arm: usual.score([row["list"] for row in rows if row["arm"] == arm])
        for arm in ("control", "treatment")
    }
    spread = np.sqrt(sum(np.var(x, ddof=1) / 6 for x in values.values()))
    expected = (
        values["treatment"].mean() - values["control"].mean()
    ) / spread  # the query's ideal is that of [1, 1]
    assert dl.io.read_experiments(rows).ndcg == pytest.approx(expected)
    alone = dl.io.read_experiments([{**row, "query": i} for i, row in enumerate(rows)]).ndcg
    assert alone == pytest.approx(
        dl.io.read_experiments([{k: row[k] for k in row if k != "query"} for row in rows]).ndcg
    )
    assert alone != pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"covariance": (1.5 * np.eye(9) - 0.5).tolist()},
            "record 3: the covariance is not positive semidefinite",
        ),
        (
            {"covariance": (-np.eye(9)).tolist()},
            "record 3: the covariance is not symmetric with variances of shares",
        ),
        (
            {"covariance": np.triu(np.ones((9, 9))).tolist()},
            "record 3: the covariance is not symmetric",
        ),
        (
            {"treatment": [[30.0, 20.0, 10.0]] * 3},
            "record 3: a row of control or treatment is not of shares",
        ),
        ({"experiment": "1"}, "record 3: experiment '1' is there twice"),
        (
            {"control": [[1.0, 0.0]]},
            "covariance have the shapes (1, 2), (3, 3), (9, 9); give (K, L)",
        ),
        ({"outcome": "maybe"}, "record 3: outcome is 'maybe'; give one of better, worse"),
        ({"covariance": "x"}, "record 3: covariance must be numbers"),
    ],
)
def test_bad_encodings_are_named(change, words):
    lines = encodings(3)
    with pytest.raises(dl.InputError, match=re.escape(words)):
        dl.io.read_experiments([*lines[:2], {**lines[2], **change}])


def test_experiments_with_one_unit_are_left_out_and_unknown_outcomes_teach_nothing():
    def rows(name, users, outcome):
        arms = [("control", 0), ("treatment", 1)]
        units = [(arm, grade, user) for arm, grade in arms for user in range(users)]
        common = {"experiment": name, "outcome": outcome}
        return [
            {**common, "arm": arm, "unit": f"{arm}{user}", "list": [grade, user % 2]}
            for arm, grade, user in units
        ]

    still = [{**row, "list": [1]} for row in rows("still", 3, "worse")]
    crossed = [{**row, "arm": "control"} for row in rows("three", 3, "A/A")[3:4]]
    experiments = dl.io.read_experiments(
        [*rows("one", 1, "better"), *rows("three", 3, "A/A"), *still, *crossed]
    )
    assert experiments.dropped == {
        "experiments with fewer than two units in an arm": 1,
        "experiments whose lists do not vary": 1,
        "units in both arms of an experiment": 1,
    }
    with pytest.raises(dl.InputError, match="no experiment has a known outcome"):
        dl.learn_from_experiments(experiments)
    with pytest.raises(
        dl.InputError, match="no experiment can be used; experiments with fewer than two"
    ):
        dl.io.read_experiments(rows("one", 1, "better"))
    with pytest.raises(dl.InputError, match="experiment e: arm is 'new'; give one of control"):
        dl.io.read_experiments([{**row, "arm": "new"} for row in rows("e", 2, "better")])
    with pytest.raises(dl.InputError, match="too large for 600 positions, 2 grades"):
        dl.io.read_experiments(
            [{**row, "list": [row["list"][0]] * 600} for row in rows("e", 2, "better")]
        )
    with pytest.raises(dl.InputError, match="experiment e: it has several outcomes"):
        dl.io.read_experiments([*rows("e", 2, "better"), *rows("e", 2, "worse")])


def test_the_command_learns_from_experiments(tmp_path, monkeypatch, capsys):
    path = write_lines(tmp_path / "tests.jsonl", encodings(12))
    status, out, _ = call(
        monkeypatch,
        capsys,
        "learn-experiments",
        path,
        "-o",
        tmp_path / "dcg.json",
        "--report-out",
        tmp_path / "report.html",
    )
    assert "with a known outcome" in (tmp_path / "report.html").read_text()
    assert (
        status == 0
        and "with a known outcome" in out
        and dl.DCG.load(tmp_path / "dcg.json").gains[0] < 0.5
    )
    for option in (["--holdout", 0.3], ["--zero", "none"], ["--loss", "sigmoid"]):
        status, _, err = call(monkeypatch, capsys, "learn-experiments", path, *option)
        assert status == 2 and f"No such option: {option[0]}" in err
