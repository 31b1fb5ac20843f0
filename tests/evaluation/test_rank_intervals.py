"""Rank intervals: a slow twin, what is left open, draws of a metric, and their forms."""

import json
from itertools import combinations, product

import numpy as np

import dcglearn as dl
from dcglearn.evaluation.rank_intervals import certainly_better, open_ranks
from dcglearn.foundation.intervals import sign_flip_p
from dcglearn.metrics.judges import JudgeDraws
from tests.makers import noisy_runs, refused, write_trec
from tests.tables import table


def slow_twin(values, error):
    """Step down pair by pair: the largest |t| is certain if few patterns have a larger one."""
    gaps = {
        (i, j): np.nan_to_num(values[i] - values[j]) for i, j in combinations(range(len(values)), 2)
    }

    def size_of_t(gap):
        spread = np.sqrt((gap**2).sum())
        return abs(gap.sum()) / spread if spread else 0.0

    better = np.zeros((len(values), len(values)), dtype=bool)
    left = sorted(gaps, key=lambda pair: -size_of_t(gaps[pair]))
    patterns = [*product((1, -1), repeat=values.shape[1])]
    while left:
        largest = [
            max(size_of_t(np.array(signs) * gaps[pair]) for pair in left) for signs in patterns
        ]
        seen = size_of_t(gaps[left[0]])
        if np.mean(np.array(largest) >= seen - 1e-9) > error:
            break
        i, j = left.pop(0)
        i, j = (i, j) if gaps[i, j].sum() > 0 else (j, i)
        better[i, j] = True
    return better


@table("seed", range(4))
@table("missing", [0.0, 0.2])
def test_stepping_down_is_that_of_a_slow_twin(seed, missing):
    rng = np.random.default_rng([seed, int(10 * missing)])
    values = np.array([0, 0.3, 0.3, 1.5])[:, None] + 0.4 * rng.normal(size=(4, 8))
    values[rng.random(values.shape) < missing] = np.nan
    for error in (0.05, 0.2):
        np.testing.assert_array_equal(
            certainly_better(values, error, 100, 0), slow_twin(values, error)
        )


def test_the_ranks_of_two_systems_are_the_test_of_signs():
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.05, 0.1, 0.3):
        values = np.array([[shift], [0.0]]) + 0.1 * rng.normal(size=(2, 12))
        best, worst = open_ranks(values[None], 0.95)
        certain = sign_flip_p(values[0] - values[1]) <= 0.05
        assert ((worst - best) == (0 if certain else 1)).all()


def test_what_leaves_all_ranks_open():
    # all of n signs are alike in 2 of 2^n patterns
    ahead = np.array([[1.0], [0.0], [-1.0]]) * np.ones(6)
    assert (open_ranks(ahead[None], 0.95)[0] == [1, 2, 3]).all()
    everything = np.array([1, 1, 1]), np.array([3, 3, 3])
    for values, level in (
        (ahead[:, :5], 0.95),
        (ahead, 0.97),
        (np.ones((3, 40)), 0.95),
        (np.where([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], 1.0, np.nan), 0.5),
    ):
        np.testing.assert_array_equal(open_ranks(values[None], level), everything)

    # copies share their ranks
    rng = np.random.default_rng(0)
    noise = 0.1 * rng.normal(size=(2, 30))
    copies = np.stack([1 + noise[0], 1 + noise[0], noise[1]])
    np.testing.assert_array_equal(open_ranks(copies[None], 0.95), ([1, 1, 3], [2, 2, 3]))


def test_draws_of_a_metric_leave_ranks_open():
    ahead = np.array([[1.0], [0.0]]) * np.linspace(0.9, 1.1, 12)
    for n_other, certain in ((0, True), (2, True), (3, False), (50, False)):
        # under some draws the systems change places; 2.5% of 100 may be left out
        draws = np.stack([ahead] * (101 - n_other) + [ahead[::-1]] * n_other)
        best, worst = open_ranks(draws, 0.95)
        assert (best[1] == 2, worst[0] == 1) == (certain, certain)
    assert open_ranks(np.stack([ahead[:, :6]] * 2), 0.95)[1].tolist() == [2, 2]  # half of 5%


def boards(n_queries=30):
    return noisy_runs({"a": 2.0, "b": 2.0, "c": 0.3}, n_queries, 20)


def test_a_comparison_has_the_ranks_of_all_systems():
    judged, runs = boards()
    found = dl.compare_systems(judged, runs, ["nDCG@5", "ERR@5"], baseline="b")
    ranks = found.ranks
    assert ranks.table.columns == ["run", "measure", "mean", "rank", "best_rank", "worst_rank"]
    assert ranks.table["measure"].to_list() == ["nDCG@5"] * 3 + ["ERR@5"] * 3
    first = ranks.table.rows_by_key("run", named=True, unique=True)["c"]
    assert (first["rank"], first["best_rank"], first["worst_rank"]) == (1, 1, 1)
    values = found.evaluation.values[None, :, 0]
    best, worst = open_ranks(values, 0.95)
    for run, low, high in zip("abc", best, worst, strict=True):
        assert ranks.table.filter(run=run).select("best_rank", "worst_rank").row(0) == (low, high)

    # groups, and the sentence
    assert ranks.sentence == "under nDCG@5, the best of 3 systems is c"
    assert [row[:3] for row in ranks.cells[1:3]] == [
        ["1", "c", "nDCG@5"],
        ["2 to 3", ", ".join(ranks.table["run"][1:3]), "nDCG@5"],
    ]
    assert (
        "may be the best: "
        in dl.compare_systems(judged, {"a": runs["a"], "b": runs["a"]}).ranks.sentence
    )
    few = dl.compare_systems({q: judged[q] for q in sorted(judged)[:5]}, runs).ranks
    assert "5 queries cannot tell two systems apart at the level 95%: it takes 6" in few.notes


def test_ranks_under_a_learned_metric_allow_for_its_log():
    judged, runs = boards(60)
    rng = np.random.default_rng(0)
    n = 200
    gains = np.sort(np.hstack([rng.random((n, 2)), np.zeros((n, 1)), np.ones((n, 1))]))
    close = np.tile([0, 0.3, 0.6, 1.0], (n, 1))
    tables = []
    for drawn, discounts in ((close, [1, 0.5]), (gains, [1, 0.5]), (1 - close, [1, 0.5])):
        judge = (np.full(n, 4.0), *np.zeros((4, n)))
        draws = JudgeDraws(drawn, np.tile(discounts, (n, 1)), *judge)
        judges = dl.evaluation.Judges(4.0, largest=9, grades=(0, 1, 2, 3), draws=draws)
        metric = dl.DCG([0, 0.3, 0.6, 1.0], [1, 0.5], judges=judges)
        ranks = dl.compare_systems(judged, runs, {"mine": metric}).ranks
        assert ranks.n_draws == {"mine": 100}
        assert "hold under all but 2.5% of 100 metrics drawn from what its log allows" in str(ranks)
        tables.append(ranks.table)
    width = [(table["worst_rank"] - table["best_rank"]).sum() for table in tables]
    assert width[0] <= width[1] <= width[2] and width[2] > width[0]


def test_results_show_their_answer():
    judged, runs = boards()
    comparison = dl.compare_systems(judged, runs)
    for found in (comparison, comparison.gate(), comparison.evaluation, comparison.ranks):
        assert repr(found) == f"<{type(found).__name__}: {found.sentence}>"


def test_the_command_prints_ranks_below(dcglearn, here):
    judged, runs = boards()
    write_trec(here, judged, runs)
    files = ("compare", "qrels.txt", "a.txt", "b.txt", "c.txt")
    status, out, err = dcglearn(*files)
    assert (status, err) == (0, "") and "Under nDCG@10, the best of 3 systems is c." in out
    assert "\nranks   systems  measure" in out
    dcglearn(*files, "-o", "compared.json")
    rows = json.loads((here / "compared.json").read_text())["ranks"]["table"]
    ranks = [(row["run"], row["best_rank"], row["worst_rank"]) for row in rows]
    assert ranks == [("c", 1, 1), ("b", 2, 3), ("a", 2, 3)]
    assert "the best of" not in dcglearn("gate", *files[1:])[1]


def test_ranks_rest_on_people_alone():
    judged, runs = boards()
    people = {query: judged[query] for query in sorted(judged)[:20]}
    refused("leave out llm", lambda: dl.compare_systems(people, runs, llm=judged).ranks)
