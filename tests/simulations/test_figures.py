"""Each simulation runs with --quick, shows its claims as orderings and ranges, and leaves no partial results."""

import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import simulations.__main__  # noqa: E402
from simulations import run  # noqa: E402
from tests.clusters import cluster_of  # noqa: E402

FIGURES = sorted(path.stem for path in (ROOT / "simulations").glob("figure_*.py"))
STUDIES = sorted(path.stem for path in (ROOT / "simulations").glob("study_*.py"))
THEORY = sorted(path.stem for path in (ROOT / "simulations").glob("theory_*.py"))
TRAINING = sorted(path.stem for path in (ROOT / "simulations").glob("train_*.py"))


def options(folder, *more):
    return run.parser("").parse_args(["--folder", str(folder), "--jobs", "1", *more])


@pytest.fixture(scope="module")
def figure_09(tmp_path_factory):
    """Return the program of figure 9, and a folder with its quick results of two repeats."""
    folder = tmp_path_factory.mktemp("figure_09")
    module = importlib.import_module("simulations.figure_09")
    run.produce(module, options(folder, "--quick", "--repeats", "2"))
    return module, folder


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """Return a function from a program's name to its quick table, made once."""
    folder = tmp_path_factory.mktemp("quick")

    def table(name):
        module = importlib.import_module(f"simulations.{name}")
        assert run.produce(module, options(folder, "--quick", "--repeats", "2"))
        for suffix, magic in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".csv", b"# seed=0")):
            assert (folder / f"{name}{suffix}").read_bytes().startswith(magic)
        return run.read(folder, name)

    return table


def mean(table, value, **where):
    return run.at(table, value, **where)[0]


@pytest.mark.parametrize("truth", run.TRUTHS)
class TestThePapersFigures:
    """The claims of Zhou et al. 2008."""

    def test_section_4(self, quick, truth):
        table = quick("figure_00_coherence")
        assert (table["same_best"] == 1).all()
        assert (table.filter(n_grades=2, discounts="same discounts")["different"] == 0).all()
        assert (table.filter(n_grades=4)["different"] > 0).all()

    def test_1_and_2(self, quick, truth):
        table = quick("figure_01_02")
        assert mean(table, "precision", truth=truth, n=20) < mean(table, "precision", truth=truth, n=200)
        assert 0.92 < mean(table, "precision", truth=truth, n=200) < 0.96
        assert mean(table, "similarity", truth=truth, n=200) < mean(table, "gauge_free", truth=truth, n=200)
        assert table["offset"].min() > 0.99

    def test_3_and_4(self, quick, truth):
        module = importlib.import_module("simulations.figure_03_04")
        table = quick("figure_03_04")
        correlations = module.correlations(table)
        for part in ("discount", "gain"):
            assert mean(correlations, "correlation", part=part, truth=truth) > 0.95
        assert module.errors(table)["relative"].min() >= 0

    def test_5_and_6(self, quick, truth):
        table = quick("figure_05_06")
        for measure in ("precision", "similarity"):
            assert mean(table, measure, truth=truth, n_flips=0) > mean(table, measure, truth=truth, n_flips=40)

    def test_7_and_8(self, quick, truth):
        table = quick("figure_07_08")
        for measure in ("precision", "similarity", "gauge_free"):
            assert mean(table, measure, truth=truth, n_documents=0) > mean(
                table, measure, truth=truth, n_documents=1000
            )

    def test_9_and_10(self, quick, truth):
        module = importlib.import_module("simulations.figure_09")
        optimal, mixed = quick("figure_09"), quick("figure_10")
        rows = optimal.filter(truth=truth, repeat=0)
        fitted = 100 * np.polyfit(rows["n"], rows["precision"], 1)[0]
        slopes = module.slopes(optimal).filter(truth=truth)
        assert slopes.filter(repeat=0)["slope"].item() == pytest.approx(fitted)
        assert abs(slopes["slope"].mean()) < 0.03
        ends = [mean(mixed, "precision", truth=truth, lists="optimal-free", n=n) for n in (20, 200)]
        assert ends[0] < ends[1] < mean(mixed, "precision", truth=truth, lists="permutations", n=200) - 0.05
        free = [
            mean(mixed, "precision_free", truth=truth, lists=kind, n=200) for kind in ("optimal-free", "permutations")
        ]
        assert free[0] > free[1]  # on free lists the order reverses

    def test_11_and_12(self, quick, truth):
        table = quick("figure_11_12")
        for n in (100, 200):
            unit, hamming = (mean(table, "precision", truth=truth, n=n, margin=m) for m in ("unit", "hamming"))
            assert abs(unit - hamming) < 0.02

    def test_13(self, quick, truth):
        table = quick("figure_13")
        assert mean(table, "relevance", truth=truth, n=1000) > 0.98
        curve = [mean(table, "precision", truth=truth, n=n) for n in (20, 200, 1000)]
        assert curve == sorted(curve)
        assert curve[-1] > 0.9


class TestTheStudies:
    """The claims of the studies beyond the paper."""

    def test_a_smaller_c_under_noise(self, quick):
        table = quick("study_a_chosen_c")
        assert mean(table, "log10_C", flip_rate=0.3) < mean(table, "log10_C", flip_rate=0.0)
        assert mean(table, "chosen", flip_rate=0.3) > mean(table, "C_1", flip_rate=0.3)

    def test_b_more_pairs_compensate_for_flips(self, quick):
        table = quick("study_b_flips_and_pairs")
        assert mean(table, "precision", n=200, flip_rate=0.0) > mean(table, "precision", n=200, flip_rate=0.4)
        assert mean(table, "gauge_free", n=1000, flip_rate=0.4) > mean(table, "gauge_free", n=200, flip_rate=0.4)

    def test_c_large_errors_cost_more(self, quick):
        table = quick("study_c_grade_errors")
        assert mean(table, "gauge_free", size=1, rate=0.3) > mean(table, "gauge_free", size=4, rate=0.3)
        assert mean(table, "precision", size=1, rate=0.0) > mean(table, "precision", size=1, rate=0.3)

    def test_d_more_positions_and_grades_are_harder(self, quick):
        table = quick("study_d_depth_and_grades")
        assert mean(table, "precision", depth=3, n_grades=5) > mean(table, "precision", depth=20, n_grades=5)
        assert mean(table, "precision", depth=10, n_grades=2) > mean(table, "precision", depth=10, n_grades=7)

    def test_e_more_directions_need_more_pairs(self, quick):
        table = quick("study_e_pairs_needed")
        assert mean(table, "log2_pairs", depth=3, n_grades=5) < mean(table, "log2_pairs", depth=10, n_grades=5)
        assert table["censored"].is_in([0, 1]).all()

    def test_f_why_the_papers_similarity_stalls(self, quick):
        table = quick("study_f_two_similarities")
        assert 0.85 < mean(table, "similarity", lists="permutations", n=5000) < 0.92
        assert mean(table, "gauge_free", lists="permutations", n=1000) > 0.99
        assert mean(table, "similarity", lists="free", n=5000) > 0.99

    def test_g_a_true_margin_helps(self, quick):
        table = quick("study_g_margins")
        assert mean(table, "precision", margin="true DCG", n=100) > mean(table, "precision", margin="unit", n=100)

    def test_h_the_direct_learner_needs_fewer_pairs(self, quick):
        table = quick("study_h_learners")
        for rate in (0.0, 0.2):
            direct, qp = (
                mean(table, "precision", learner=name, n=100, flip_rate=rate) for name in ("direct", "QP + SVD")
            )
            assert direct > qp + 0.02

    def test_i_actively_chosen_pairs_teach_more(self, quick):
        table = quick("study_i_active")
        active, random = (mean(table, "precision", how=how, n=40, flip_rate=0.0) for how in ("asked", "random"))
        assert active > random - 0.005
        assert table["estimated"].is_between(0, 0.5).all()
        needed = importlib.import_module("simulations.study_i_active").needed
        run_of = {"truth": "D1", "how": "asked", "flip_rate": 0.0}
        rising = [{**run_of, "repeat": 0, "n": n, "precision": p} for n, p in ((20, 0.9), (40, 0.93), (60, 0.97))]
        never = [{**run_of, "repeat": 1, "n": 20, "precision": 0.9}]
        assert needed(pl.DataFrame(rising + never))["needed"].to_list() == pytest.approx([50, float("inf")])
        assert active > 0.97

    def test_j_p_values_are_shares(self, quick):
        table = quick("study_j_position_test")
        assert table["p_value"].is_between(1 / 40, 1).all()
        assert ((table["p_value"] <= 0.05) == (table["rejected"] == 1)).all()

    def test_k_bands_are_not_empty(self, quick):
        table = quick("study_k_bands")
        of_stops = pl.col("parameter").str.starts_with("stop")  # may be 0 in every sample
        assert (table.filter(~of_stops)["width"] > 0).all() and (table["width"] >= 0).all()
        assert 0.3 < table["covered"].mean() <= 1

    def test_l_steps_are_learned(self, quick):
        table = quick("study_l_steps")
        for kind in ("binary2-log2", "any shape"):
            small, large = (mean(table, "share", kind=kind, learner="direct, ridge 2", n=n) for n in (30, 100))
            assert small < large + 0.02
            assert large > mean(table, "share", kind=kind, learner="QP + SVD, C = 0.1", n=100) - 0.02

    def test_m_the_true_ceiling_lies_between_the_values(self, quick):
        table = quick("study_m_noise_ceiling")
        assert (table["lower_error"] <= table["error"]).all() and (table["error"] <= table["upper_error"]).all()
        assert abs(table["error"].mean()) < 0.03 and table["covered"].mean() > 0.6
        assert mean(table, "width", kind="ratings", n=400) < mean(table, "width", kind="ratings", n=200)

    @pytest.mark.long
    def test_n_forms_gain_more_where_users_stop(self, quick):
        table = quick("study_n_forms")
        assert mean(table, "gain", truth="D1") < mean(table, "gain", truth="ERR") and (table["gain"] > -3).all()
        tested = table.drop_nulls("p_value")
        assert ((tested["p_value"] <= 0.05) == (tested["beyond"] == 1)).all()

    def test_o_segments_gain_only_in_two_populations(self, quick):
        table = quick("study_o_segments")
        assert mean(table, "gain", kind="one population", n=50) < mean(table, "gain", kind="two populations", n=50)

    def test_q_a_run_is_not_worse_and_not_worse_at_once(self, quick):
        table = quick("study_q_gate")
        assert (table["harm"] + table["non_inferior"] <= 1).all()
        assert (table["harm_far"] >= table["harm"]).all()
        assert (table["non_inferior_far"] >= table["non_inferior"]).all()

    def test_r_clicks_teach_gains_that_rise_and_discounts_that_fall(self, quick):
        table = quick("study_r_interleaving")
        gains = [mean(table, "value", setting="balanced", curve="gains", place=grade) for grade in (1, 2, 3)]
        discounts = [mean(table, "value", setting="balanced", curve="discounts", place=k) for k in (2, 5, 10)]
        assert 0 < gains[0] < gains[1] < gains[2] < 1 > discounts[0] > discounts[1] > discounts[2] > 0
        assert mean(table, "error", setting="balanced", curve="discounts", place=10) < 0

    def test_p_trees_are_compared_where_validation_stops_them(self, quick):
        pytest.importorskip("lightgbm")
        module = importlib.import_module("simulations.study_p_trees_against_lambdarank")
        table = quick("study_p_trees_against_lambdarank")
        assert set(table["method"].unique()) == {"lambdarank", *module.LOSSES}
        assert table["ndcg"].is_between(0.4, 1).all()
        stopped, whole = (table.filter(stop=stop)["trees"] for stop in ("validation", "all trees"))
        assert (whole == module.QUICK_TREES).all() and (stopped <= whole).all() and (stopped < whole).any()
        textbook = table.filter(metric="textbook")
        for name in ("own discounts, with a tail", "log2 alone"):  # three names of one loss: its discounts are log2's
            found, error = module.difference(textbook, name)
            assert (found, error) == pytest.approx(module.difference(textbook, module.DEFAULT), abs=1e-9)

    def test_the_training_metric_matters(self, quick):
        table = quick("train_metric_matrix")
        for name, other in (("binary1-log2", "true"), ("true", "binary1-log2")):
            assert mean(table, "ndcg", trained=name, judge=name) > mean(table, "ndcg", trained=other, judge=name)

    def test_trees_improve_their_training_metric(self, quick):
        pytest.importorskip("lightgbm")
        table = quick("train_trees")
        for shape in table["shape"].unique():
            where = {"shape": shape, "method": "REG-SHF-SDCG"}
            first = mean(table, "ndcg", trees=1, follow="exchange", **where)
            last = mean(table, "ndcg", trees=20, follow="exchange", **where)
            assert first < last < 1
            assert mean(table, "ndcg", trees=20, follow="gradient", **where) < last + 0.02

    def test_the_mixture_crosses_between_recorded_trees(self):
        module = importlib.import_module("simulations.train_transition")
        sizes = {(0, "gradient"): (0.01, 0.1, 10, 1), (1, "gradient"): (0.25, 0.5, 4, 8), (0, "exchange"): (2, 3, 4, 5)}
        rows = [
            {
                "loss": "REG-SHF-SDCG",
                "follow": follow,
                "repeat": repeat,
                "tree": tree,
                "regression": 1.0,
                "listwise": size,
            }
            for (repeat, follow), all_sizes in sizes.items()
            for tree, size in zip((1, 10, 20, 40), all_sizes, strict=True)
        ]
        crossed = module.crossings(pl.DataFrame(rows[::-1], strict=False)).sort("follow", "repeat")
        np.testing.assert_allclose(crossed["crossing"] * 40, [1, 15, 10 + 10 / 3])

    def test_the_mixture_moves_from_pointwise_to_listwise(self, quick):
        pytest.importorskip("lightgbm")
        table = quick("train_transition")
        for follow in ("gradient", "exchange"):
            of = {tree: {"loss": "REG-SHF-SDCG", "follow": follow, "tree": tree} for tree in (1, 10, 20)}
            assert mean(table, "listwise", **of[20]) > mean(table, "regression", **of[20])
            assert mean(table, "wrong", **of[20]) < mean(table, "wrong", **of[1])
            if follow == "gradient":
                np.testing.assert_allclose(mean(table, "weight", **of[1]), 0.999999)
                np.testing.assert_allclose(mean(table, "weight", **of[10]), 0.5)
                assert mean(table, "listwise", **of[1]) < mean(table, "regression", **of[1])


class TestTheRankersPapers:
    """The claims of Qin et al., Chapelle and Wu, Sun et al. and Wu et al. on their objectives."""

    def test_sharper_approximations_are_closer_and_within_their_bounds(self, quick):
        table = quick("theory_approximation")
        for what, name in (("NDCG@n", "alpha"), ("AP, beta = 10", "alpha"), ("AP, alpha = 100", "beta")):
            last = [
                mean(table, "error", what=what, line=f"{name} = {x}", x=30)
                for x in (1, 10, 100)
                if (x > 1) or name == "beta"
            ]
            assert last[0] > 2 * last[-1]
            assert last[-1] < 0.01
        bounds = quick("theory_bounds")
        for what in ("NDCG bounds", "AP bounds"):
            rows = bounds.filter(what=what)
            assert (rows["kept"] == 1).all()
            assert (rows["measured"] <= rows["printed"] + 1e-12).all()

    def test_annealing_improves_training_ndcg_while_the_objective_becomes_rough(self, quick):
        table = quick("theory_annealing")
        assert mean(table, "value", what="train", x=-10) > mean(table, "value", what="train", x=6) + 0.05
        peaks = [mean(table, "value", what="peaks", line=line) for line in ("sigma = 2^6", "sigma = 2^-8", "NDCG")]
        assert peaks[0] < 2 < peaks[1] < peaks[2]
        ends = [table.filter(what="line", line=line)["value"] for line in ("sigma = 2^-8", "NDCG")]
        assert abs(ends[0].max() - ends[1].max()) < 0.02  # a sharp objective equals the metric

    def test_sharp_objectives_need_restarts_and_the_best_objective_grows(self, quick):
        table = quick("theory_restarts")
        single, best_of_five = (mean(table, "objective", alpha=100, restarts=k) for k in (1, 5))
        assert single < best_of_five
        assert mean(table, "train", alpha=300, restarts=1) < mean(table, "train", alpha=10, restarts=1) - 0.05

    def test_the_lemma_the_limit_and_the_gap(self, quick):
        table = quick("theory_limits")
        far = [mean(table, "value", what="far", x=2.0**power) for power in (8, 14)]
        assert far[1] < 0.02
        assert far[0] > 10 * far[1]
        steps = table.filter(what="lemma", line="steps, sigma = 2^2")["value"]
        assert len(steps) == 10  # five factors, two repeats
        assert steps.max() < 1e-12
        gaps = [mean(table, "value", what="gap", line="n = 10", x=x) for x in (16.0, 2.0**-8)]
        assert gaps[0] < gaps[1]
        assert mean(table, "value", what="gap", line="n = 40", x=2.0**-8) < gaps[1]

    def test_the_depth_of_training_changes_the_fit(self, quick):
        table = quick("theory_truncation")
        assert table["ndcg"].is_between(0, 1).all()
        shallow, deep = (mean(table, "fitted", data="LETOR-shaped", judged=1, k=k) for k in (1, 50))
        assert abs(shallow - deep) < 0.3
        assert set(table["data"].unique()) == {"LETOR-shaped", "LETOR-shaped, no conflict"}

    def test_a_larger_penalty_leaves_fewer_features(self, quick):
        table = quick("theory_sparsity")
        path = run.summary(table.filter(what="path"), ["g"], ["features", "train"])
        assert path["features"].is_sorted(descending=True)
        assert path["features"][0] == 1
        assert path["features"][-1] < 0.2
        assert path["train"][0] > path["train"][-1]
        chosen = table.filter(what="chosen", k=10)
        assert (chosen["features"] <= 1).all()

    def test_hinge_ranks_equal_the_papers_and_correct_badly_ordered_pairs(self, quick):
        table = quick("theory_hinge_ranks")
        assert table.filter(what="function")["apart"].max() < 1e-12
        for gap in (0, 3):
            names = ("SDCG@10", "SHF-SDCG@10")
            ends = [mean(table, "value", what="way", line=line, gap=gap, x=200) for line in names]
            assert ends[0] < 0.7
            assert ends[1] > 0.99


def test_real_queries_come_from_the_folder_of_the_environment(tmp_path, monkeypatch):
    import dcglearn as dl

    data = importlib.import_module("simulations.ranking_data")
    data.lambdarank.cache_clear()
    monkeypatch.setenv("DCGLEARN_LAMBDARANK", str(tmp_path))
    with pytest.raises(dl.InputError, match="no file with train, vali or test"):
        data.lambdarank()
    for name, queries in (("train", (1, 2, 3)), ("vali", (4,)), ("test", (5,))):
        lines = [f"{i % 2} qid:{query} 1:0.{i} 2:0.5" for query in queries for i in (1, 2)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    assert data.available(False) == list(data.DATA)
    parts = data.split(np.random.default_rng(0), data.REAL, False)
    data.lambdarank.cache_clear()
    assert [len(part) for part in parts] == [3, 1, 1]
    assert [part.shape[1] for part in parts] == [2, 2, 2]


def test_real_logs_are_compared_and_missing_ones_named(tmp_path, capsys):
    real_logs = importlib.import_module("simulations.real_logs")
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (60, 4))
    ratings = (lists @ [4, 3, 2, 1]) // 3
    lines = [
        json.dumps({"list": row.tolist(), "rating": int(rating)}) for row, rating in zip(lists, ratings, strict=True)
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    out = tmp_path / "table.csv"
    real_logs.main([str(tmp_path / "mine.jsonl"), "nowhere.jsonl", "--splits", "2", "-o", str(out)])
    printed = capsys.readouterr()
    assert "nowhere.jsonl does not exist" in printed.err
    assert "direct (default)" in printed.out and "QP + SVD" in printed.out
    assert len(out.read_text().splitlines()) == 11
    real_logs.main(["nowhere.jsonl"])
    assert "nothing to compare" in capsys.readouterr().err


def test_forms_are_compared_on_judgements_held_out(tmp_path, capsys, monkeypatch):
    import dcglearn as dl

    def learners_of(train):
        dcg = dl.DCGLearner(n_starts=1).fit(train)
        best = dl.DCGLearner(form="best", n_starts=1).fit(train, start=dcg)
        return {"dcg": dcg, "best": best, "auto": best}

    real_forms, real_logs = (importlib.import_module(f"simulations.{name}") for name in ("real_forms", "real_logs"))
    monkeypatch.setattr(real_forms, "learners_of", learners_of)
    rng = np.random.default_rng(0)
    lists = rng.integers(0, 3, (80, 2, 3))
    lead = np.subtract(*lists.swapaxes(0, 1).max(axis=2))
    lines = [
        json.dumps({"query": str(i % 20), "a": a.tolist(), "b": b.tolist(), "winner": ("tie", "a", "b")[np.sign(x)]})
        for i, ((a, b), x) in enumerate(zip(lists, lead, strict=True))
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    out = tmp_path / "forms.csv"
    settings = ["--judgements", "--form-auto", "--splits", "2", "-o", str(out)]
    real_logs.main([str(tmp_path / "pairs.jsonl"), *settings])
    chosen, forms, probabilities = capsys.readouterr().out.split("\n\n")
    assert chosen.splitlines()[1].split()[:3] == ["pairs", "best", "2"]
    table = pl.read_csv(out)
    gains = table.filter(form="best")["gain"]
    assert f"{gains.min():.1f} to {gains.max():.1f}" in forms and table.filter(form="dcg")["gain"].to_list() == [0, 0]
    lead = table.filter(form="best")["share"] - table.filter(form="dcg")["share"]
    assert f"{lead.mean():+.4f} ± {lead.std() / 2**0.5:.4f}" in chosen
    assert len(probabilities.splitlines()) == 10 and "nan" not in probabilities


def test_probabilities_of_orders_are_those_of_the_judgements():
    import dcglearn as dl

    real_forms = importlib.import_module("simulations.real_forms")
    truth = dl.DCG([0, 0.5, 1], [1, 0.5])
    train, held_out = (dl.simulate.preference_pairs(truth, n, lists="free", temperature=0.3, seed=n) for n in (200, 90))
    weighted = held_out.reweighted(np.random.default_rng(0).random(90) + 0.5)
    learner = dl.DCGLearner().fit(train)
    measures = real_forms.measured(learner, weighted)
    chance, weight = learner.predict_proba(weighted)[:, 0], weighted.weight / weighted.weight.sum()
    assert measures["brier"] == pytest.approx(weight @ (1 - chance) ** 2)
    assert measures["log_likelihood"] == pytest.approx(weight @ np.log(chance))
    wide, right = ([measures[f"{name}_{i}"] for i in range(5)] for name in ("wide", "right"))
    assert sum(wide) == pytest.approx(1) and np.nansum(np.multiply(wide, right)) == pytest.approx(measures["share"])
    for i, low in enumerate((0.5, 0.6, 0.7, 0.8, 0.9)):
        assert not measures[f"wide_{i}"] or low <= measures[f"said_{i}"] <= low + 0.1 + 1e-12


def test_a_cluster_gives_the_same_bytes(tmp_path, monkeypatch, figure_09):
    from dcglearn import InputError

    pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    module, local = figure_09
    with cluster_of(1) as cluster:
        dask = ["--quick", "--repeats", "2", "--dask", cluster.scheduler_address]
        run.produce(module, options(tmp_path, *dask))
    assert (tmp_path / "figure_09.csv").read_bytes() == (local / "figure_09.csv").read_bytes()
    monkeypatch.setattr(run, "CONNECT", 0.5)
    with pytest.raises(InputError, match="no scheduler answers"):
        run.produce(module, options(tmp_path, "--quick", "--force", "--dask", "tcp://127.0.0.1:1"))


def test_every_program_is_tested_here():
    text = Path(__file__).read_text()
    assert all(f'"{name}"' in text for name in FIGURES + STUDIES + THEORY + TRAINING)


def test_same_seed_same_bytes_for_any_number_of_processes(tmp_path, figure_09):
    module, folder = figure_09
    before = [(folder / f"figure_09{suffix}").read_bytes() for suffix in run.SUFFIXES]
    for jobs in ("1", "2"):
        run.produce(module, options(tmp_path, "--quick", "--repeats", "2", "--jobs", jobs, "--force"))
        assert [(tmp_path / f"figure_09{suffix}").read_bytes() for suffix in run.SUFFIXES] == before


def test_an_interrupted_run_changes_nothing_and_missing_results_are_made_again(tmp_path, monkeypatch):
    module = importlib.import_module("simulations.figure_13")
    run.produce(module, options(tmp_path, "--quick", "--repeats", "2"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupted(**_):
        yield {"truth": "D1"}
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.produce(module, options(tmp_path, "--quick", "--repeats", "2", "--force"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    run.produce(module, options(tmp_path, "--quick", "--repeats", "2"))  # results exist: nothing runs
    (tmp_path / "figure_13.pdf").unlink()
    with pytest.raises(KeyboardInterrupt):
        run.produce(module, options(tmp_path, "--quick", "--repeats", "2"))


def test_pictures_are_drawn_again_from_the_table(tmp_path, monkeypatch, figure_09):
    import dcglearn as dl

    module, made = figure_09
    with pytest.raises(dl.InputError, match=r"figure_09\.csv does not exist; run without --redraw"):
        run.produce(module, options(tmp_path, "--redraw"))
    folder = shutil.copytree(made, tmp_path / "folder")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "figure_09.png").unlink()
    monkeypatch.setattr(module, "simulate", None)
    assert run.produce(module, options(folder, "--redraw")) == run.tested(module, made)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_results_of_other_options_are_kept_unless_forced(tmp_path, figure_09):
    import dcglearn as dl

    module, made = figure_09
    folder = shutil.copytree(made, tmp_path / "folder")
    other = ("--quick", "--repeats", "2", "--seed", "1")
    with pytest.raises(dl.InputError, match="other options"):
        run.produce(module, options(folder, *other))
    assert (folder / "figure_09.csv").read_bytes() == (made / "figure_09.csv").read_bytes()
    run.produce(module, options(folder, *other, "--force"))
    assert (folder / "figure_09.csv").read_text().startswith("# seed=1 repeats=2 quick=True\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure_09", "--repeats", "0"], "repeats=0: must be at least 2"),
        (["figure_09", "--seed", "-1"], "seed=-1: must be at least 0"),
        (["figure_09", "--jobs", "0"], "jobs=0: must be at least 1"),
        (["figure_09", "--folder", "/nowhere"], "does not exist"),
    ],
)
def test_bad_settings_end_with_status_2(arguments, message, tmp_path, monkeypatch, capsys):
    if "--folder" not in arguments:
        arguments = [*arguments, "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["simulations", *arguments])
    with pytest.raises(SystemExit) as end:
        simulations.__main__.main()
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_module_runs_as_a_program(tmp_path):
    call = [sys.executable, "-m", "simulations", "figure_9", "--folder", str(tmp_path)]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of all, figures, studies" in done.stderr and "Traceback" not in done.stderr


def test_the_kernels_of_linear_algebra_are_fixed_before_numpy_is_loaded():
    code = "import os, simulations, sys; print('numpy' in sys.modules, os.environ.get('OPENBLAS_CORETYPE'))"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    expected = "Haswell" if platform.machine() in ("x86_64", "AMD64") else None
    assert done.stdout.split() == ["False", str(expected)]


def test_impossible_experiments_are_refused():
    import dcglearn as dl

    truth = dl.simulate.ground_truth("D1")
    for call in (
        lambda: dl.simulate.preference_pairs(truth, 0),
        lambda: dl.simulate.preference_pairs(truth, 10, n_flips=11),
        lambda: dl.simulate.permutations(dl.simulate.PAPER_LIST, 5, depth=11),
    ):
        with pytest.raises(dl.InputError):
            call()


@pytest.mark.parametrize("name", FIGURES + STUDIES + THEORY + TRAINING)
def test_committed_tables_have_full_repeats(name):
    module = importlib.import_module(f"simulations.{name}")
    with (ROOT / "figures" / f"{name}.csv").open() as file:
        assert file.readline() == f"# seed=0 repeats={module.REPEATS} quick=False\n"
    assert (6 if name == "train_trees" else 20) <= module.REPEATS  # train_trees grows 78 ensembles per repeat
    table = run.read(ROOT / "figures", name)
    assert np.unique(table["repeat"]).size == module.REPEATS


def test_simulations_import_only_public_names():
    shared = "from dcglearn.foundation.processes import in_processes\n"  # worker processes, which know nothing of DCG
    for path in (ROOT / "simulations").glob("*.py"):
        text = path.read_text().replace(shared, "")
        assert "from dcglearn" not in text
        assert "import dcglearn." not in text
