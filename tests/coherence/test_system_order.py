"""TREC files, evaluation and the order of systems: trec_eval's values, ties, swaps, dominance."""

import gzip
import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

from dcglearn import DCG, evaluate, read_judgements, read_runs, system_order
from dcglearn.coherence.order_of_systems import Swap, _mean_counts, _p_values, _swaps
from dcglearn.coherence.theorems import surpasses
from dcglearn.evaluation import Judgements, Run
from dcglearn.evaluation.kernel import Lists
from dcglearn.evaluation.ranked import ranked_lists
from dcglearn.evaluation.run_values import Evaluation
from dcglearn.foundation.sources import zstd
from tests.makers import noisy_runs, refused, unpacked
from tests.tables import table

QRELS = "q1 0 a 3\nq1 0 b 1\nq1 0 c 0\nq2 0 a 2\nq2 0 d -1\n"
RUN = (
    "q1 Q0 b 1 2.5 mine\nq1 Q0 a 2 1.5 mine\nq1 Q0 x 3 0.5 mine\n"
    "q2 Q0 d 1 9 mine\nq2 Q0 a 2 8 mine\n"
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path / "qrels.txt", tmp_path / "run.txt"


def made(n_systems=6, n_topics=30):
    judged, runs = noisy_runs({f"s{i}": 0.3 + 0.5 * i for i in range(n_systems)}, n_topics, 40)
    return read_judgements(judged), read_runs(runs)


def test_values_by_hand(files):
    found = evaluate(files[0], files[1], ["nDCG@10", "exponential-log2@1", "nDCG"])
    first = (1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3))
    second = (2 / np.log2(3)) / 2
    np.testing.assert_allclose(found.values[0], [[first, second], [1 / 7, 0], [first, second]])
    plain = evaluate(files[0], files[1], "nDCG@10", normalise=False).values[0, 0]
    np.testing.assert_allclose(plain, [1 + 3 / np.log2(3), 2 / np.log2(3)])
    frame = found.by_query()
    assert frame.columns == ["run", "query_id", "measure", "value"] and len(frame) == 9
    mean = frame.filter(query_id="all", measure="nDCG@10")["value"].item()
    assert mean == pytest.approx((first + second) / 2)
    assert "nDCG@10" in str(found) and "not judged: up to 20.0%" in found.notes[-1]


def test_trec_eval_and_we_agree_on_all_runs(shared, tmp_path):
    folder = shared / "trec_dl2021_passage"
    judged, runs = (
        read_judgements(folder / "qrels-pass.txt"),
        read_runs(unpacked(folder / "runs_judged53.txt.xz", tmp_path)),
    )
    assert (len(runs), judged.n_grades) == (63, 4)
    found = evaluate(judged, runs)
    summary = pl.read_csv(folder / "runs_summary.tsv", separator="\t")
    stated = dict(zip(summary["run"], summary["ndcg10_repo_treceval"], strict=True))
    for name, mean in zip(found.runs, found.means[:, 0], strict=True):
        assert abs(mean - stated[name]) < 6e-5
    order = system_order(judged, runs, ["nDCG@10", "exponential-log2@10"])
    assert order.evaluation.runs[0].startswith("pash_f")
    assert 0.9 < order.tau[0, 1] < 0.98 and order.share_decided == pytest.approx(0.672, abs=0.01)


def test_trec_eval_itself_agrees(shared, tmp_path):
    peer = pytest.importorskip("pytrec_eval")
    folder = shared / "trec_dl2021_passage"
    judged, runs = (
        read_judgements(folder / "qrels-pass.txt"),
        read_runs(unpacked(folder / "runs_judged53.txt.xz", tmp_path)),
    )

    def by_query(frame):
        return {
            query: dict(part.drop("query").rows()) for (query,), part in frame.group_by("query")
        }

    whole = judged.frame.with_columns(pl.col("grade").cast(int))
    evaluator = peer.RelevanceEvaluator(by_query(whole), {"ndcg_cut.10", "ndcg"})
    found = evaluate(judged, runs, ["nDCG@10", "nDCG"])
    for run, values in zip(runs, found.values, strict=True):
        theirs = evaluator.evaluate(by_query(run.frame))
        for i, query in enumerate(found.queries):
            assert values[0, i] == pytest.approx(theirs[query]["ndcg_cut_10"], abs=1e-12)
            assert values[1, i] == pytest.approx(theirs[query]["ndcg"], abs=1e-12)


def grades_by_rank(judged, run, depth=None, ties="docno-desc"):
    """Return the grades at the first positions, shape (Q, K), -1 where no judged document is."""
    lists = ranked_lists(judged, run, depth, ties)
    width = depth or lists.rank.max() + 1
    table, top = np.full((len(lists.offsets) - 1, width), -1), lists.rank < width
    table[lists.query[top], lists.rank[top]] = lists.grades[top]
    return table


def test_ties_are_broken_by_document_in_float32():
    judged = Judgements(
        pl.DataFrame({"query": ["q"] * 3, "document": ["a", "b", "c"], "grade": [0, 1, 2]})
    )
    scores = [1.0, 1.0 + 1e-12, 1.0]  # one value as float32
    run = Run(pl.DataFrame({"query": ["q"] * 3, "document": ["a", "b", "c"], "score": scores}), "r")
    np.testing.assert_array_equal(grades_by_rank(judged, run), [[2, 1, 0]])
    np.testing.assert_array_equal(grades_by_rank(judged, run, ties="stable"), [[0, 1, 2]])
    np.testing.assert_array_equal(grades_by_rank(judged, run, 2), [[2, 1]])
    refused("docno-desc", ranked_lists, judged, run, ties="random")


def test_the_order_of_lines_does_not_matter():
    judged, (run, *_) = made(1, 8)
    rng = np.random.default_rng(0)
    falling = Run(run.frame.sort("query", "score", descending=[True, True]), "falling")
    for frame in (run.frame, run.frame[rng.permutation(len(run.frame))]):
        found, expected = (grades_by_rank(judged, one) for one in (Run(frame, "any"), falling))
        np.testing.assert_array_equal(found, expected)
        for ties in ("docno-desc", "average"):
            found, expected = (
                evaluate(judged, one, "nDCG@5", ties=ties) for one in (Run(frame, "any"), falling)
            )
            np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


@table("lines", ["sorted", "sorted by score alone", "mixed"])
@table("ties", ["docno-desc", "stable"])
def test_the_first_ranks_do_not_depend_on_the_depth(lines, ties):
    rng = np.random.default_rng(6)
    n = 300
    frame = pl.DataFrame({
        "query": rng.choice(["a", "b", "c", "d", "not judged"], n),
        "document": [f"d{i}" for i in rng.permutation(n)],
        "score": rng.integers(0, 25, n).astype(float),
    })  # fmt: skip
    judged = Judgements(
        frame.filter(pl.col("query") != "not judged")
        .with_columns(grade=pl.int_range(pl.len()) % 4)
        .drop("score")
    )
    columns = {"sorted": ["query", "score"], "sorted by score alone": ["score"], "mixed": []}[lines]
    run = Run(
        frame.sort(columns, descending=[name == "score" for name in columns]) if columns else frame,
        "r",
    )
    deep = grades_by_rank(judged, run, ties=ties)
    for depth in (1, 2, 5, 40, 200):
        found = grades_by_rank(judged, run, depth, ties)
        np.testing.assert_array_equal(found[:, : deep.shape[1]], deep[:, :depth])


def test_grades_by_rank_are_those_of_a_plain_loop_where_queries_mix_and_some_are_not_judged():
    rng = np.random.default_rng(5)
    n = 400
    lines = pl.DataFrame({
        "query": rng.choice(["a", "b", "c", "not judged"], n),
        "document": [f"d{i}" for i in range(n)],
        "score": rng.integers(0, 30, n).astype(float),
    })  # fmt: skip
    grade_of = {
        row["document"]: int(rng.integers(0, 3))
        for row in lines.iter_rows(named=True)
        if rng.random() < 0.5
    }
    known = lines.filter(
        (pl.col("query") != "not judged") & pl.col("document").is_in(list(grade_of))
    )
    judged = Judgements(
        known.select("query", "document", grade=pl.col("document").replace_strict(grade_of))
    )
    found = grades_by_rank(judged, Run(lines, "r"), 50)
    for row, query in zip(found, ("a", "b", "c"), strict=True):
        names = sorted((-score, name) for q, name, score in lines.iter_rows() if q == query)
        ranked = sorted(
            sorted((name for _, name in names), reverse=True), key={n: s for s, n in names}.get
        )
        np.testing.assert_array_equal(row, [grade_of.get(name, -1) for name in ranked[:50]])


def test_policies(files):
    judged, (run,) = read_judgements(files[0]), read_runs(files[1])
    dcg = DCG([0.0, 1, 2, 5], [1.0, 0.5, 0.25])
    plain = {"m": dcg}
    value = {
        how: evaluate(judged, run, plain, normalise=False, unjudged=how).values[0, 0, 0]
        for how in ("worst", "best", "drop", 0.5)
    }
    assert value == {"worst": 3.5, "best": 3.5 + 5 / 4, "drop": 3.5, 0.5: 3.5 + 0.5 / 4}
    one = Run(run.frame.filter(query="q1"), "one")
    for missing, mean in (("zero", 0.5), ("skip", 1.0)):
        found = evaluate(judged, one, "nDCG@10", missing=missing)
        assert found.means[0, 0] == pytest.approx(mean * found.values[0, 0, 0])
        assert re.match("judged queries that a run lacks .*: 1 of one$", found.notes[0])
    own = evaluate(judged, Run(run.frame.filter(document="b"), "b"), "nDCG@10", ideal="list")
    assert own.values[0, 0, 0] == 1.0
    refused("unjudged", evaluate, judged, run, unjudged="lost")
    refused("ideal", evaluate, judged, run, ideal="best")


@pytest.mark.parametrize("name", ["tabs.txt", "spaces.txt.gz", "windows.txt", "comments.txt.zst"])
def test_files_as_people_have_them(tmp_path, name):
    text = {
        "tabs.txt": RUN.replace(" ", "\t"),
        "spaces.txt.gz": "\n  ".join(RUN.replace(" ", "  ").splitlines()) + "  \n\n",
        "windows.txt": RUN.replace("\n", "\r\n"),
        "comments.txt.zst": "# made by hand\n" + RUN,
    }[name]
    pack = {"gz": gzip.compress, "zst": zstd.compress}.get(name.rsplit(".", 1)[1], bytes)
    (tmp_path / name).write_bytes(pack(text.encode()))
    (run,) = read_runs(tmp_path / name)
    assert run.frame["query"].to_list() == ["q1", "q1", "q1", "q2", "q2"]
    assert run.frame["document"].to_list() == ["b", "a", "x", "d", "a"]
    assert run.frame["score"].to_list() == [2.5, 1.5, 0.5, 9.0, 8.0]
    assert run.name == "mine" and "5 documents" in repr(run)


@table(
    ("read", "text", "words"),
    [
        (read_runs, RUN + "q1 Q0 a 3\n", "row 6: 4 columns, expected 6"),
        (read_runs, RUN.replace("1.5", "high"), "row 2: score is 'high'"),
        (read_runs, RUN.replace("1.5", "nan"), "row 2: score is missing"),
        (read_runs, RUN + RUN[:19], "row 1: occurs more than once for its query: the document 'b'"),
        (read_runs, RUN + "q1 Q0 \xfc 9 0.1 mine\n", "line 6: the byte 0xfc is not UTF-8"),
        (read_runs, "", "empty"),
        (read_runs, "# nothing\n", "holds no line"),
        (read_judgements, QRELS.replace("b 1", "b good"), "row 2: grade is 'good'"),
    ],
)
def test_bad_files(tmp_path, read, text, words):
    (tmp_path / "trec.txt").write_text(text, encoding="latin-1")
    refused(words, read, tmp_path / "trec.txt")


def test_duplicates_by_choice_and_runs_of_one_name(tmp_path):
    (tmp_path / "one.txt").write_text(RUN + "q1 Q0 b 4 7.5 mine\n")
    (tmp_path / "two.txt").write_text(RUN)
    assert read_runs(tmp_path / "one.txt", duplicates="first")[0].frame["score"][0] == 2.5
    assert 7.5 in read_runs(tmp_path / "one.txt", duplicates="last")[0].frame["score"]
    names = [
        run.name
        for run in read_runs([tmp_path / "one.txt", tmp_path / "two.txt"], duplicates="last")
    ]
    assert names == ["one.txt mine", "two.txt mine"]
    refused("duplicates", read_runs, tmp_path / "two.txt", duplicates="both")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(RUN.encode() * 99)[:60])
    refused("truncated", read_runs, tmp_path / "cut.txt.gz")


def test_what_cannot_be_evaluated(files):
    judged, (run,) = read_judgements(files[0]), read_runs(files[1])
    other = Run(run.frame.with_columns(query=pl.lit("z") + pl.col("query")), "other")
    refused("no query of the 2 that are judged", evaluate, judged, other)
    refused("has no gain", evaluate, judged, run, {"m": DCG([0, 1], [1.0])})
    refused("neither a file", evaluate, judged, run, "nDCG@ten")
    for runs, words in (([], "no run"), ([run, run], "its own name")):
        refused(words, evaluate, judged, runs)
    refused("no metric", evaluate, judged, run, {})
    refused("two systems", system_order, judged, run, "nDCG@10")
    numbers = Judgements(judged.frame.with_columns(pl.col("grade") / 2))
    refused("needs levels.*scale=", system_order, numbers, [run, other], "nDCG@10")


def test_one_beats_another_exactly_if_it_does_under_every_dcg():
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, y = rng.integers(0, 4, (2, 1, 3))
        lists = (
            Lists(np.array([0, 3]), side[0], np.arange(3), np.zeros(3, bool)) for side in (x, y)
        )
        first, second = (_mean_counts(one, 4, 3) for one in lists)
        beats = surpasses(first - second)

        # the corners of the cone: one step of the gains, one of the discounts
        steps = [DCG(g, d) for g in np.tri(4, 3, -1).T for d in np.tri(3)]
        leads = np.array([float(dcg.score(x)[0] - dcg.score(y)[0]) for dcg in steps])
        assert beats == (leads.min() >= 0 < leads.max())


def test_the_order_of_systems():
    judged, runs = made()
    order = system_order(judged, runs, ["nDCG@10", "binary1-rbp0.8@10"])
    assert order.evaluation.runs[:3] == ("s0", "s1", "s2")
    means = order.evaluation.means
    gaps = means[:, None] - means[None, :]
    assert len(order.swaps) == (gaps[..., 0] * gaps[..., 1] < 0).sum() // 2
    for swap in order.swaps:
        assert (swap.metric, swap.other) == order.evaluation.metrics
        systems = swap.better_under_metric, swap.better_under_other
        one, two = (order.evaluation.runs.index(name) for name in systems)
        assert gaps[one, two, 0] > 0 > gaps[one, two, 1]
    assert order.beats[0].sum() >= 4 and not order.beats.diagonal().any()

    # one beats another if it has at least as many of the better grades down to every position
    lists = {run.name: grades_by_rank(judged, run, 10) for run in runs}
    for i, first in enumerate(order.evaluation.runs):
        for j, second in enumerate(order.evaluation.runs):
            leads = [
                (lists[first][:, :k] >= m).sum() - (lists[second][:, :k] >= m).sum()
                for k in range(1, 11)
                for m in range(1, 4)
            ]
            assert order.beats[i, j] == (min(leads) >= 0 < max(leads))
    assert "Kendall" in str(order) and "decided under every DCG" in str(order)
    for name, mean, rank in zip(order.evaluation.runs, means[:, 0], order.ranks[:, 0], strict=True):
        row = order.table.filter(run=name)
        assert row.select("mean nDCG@10", "rank nDCG@10").row(0) == (mean, rank)
    again = system_order(judged, runs, ["nDCG@10", "binary1-rbp0.8@10"])
    assert str(again) == str(order) and again.to_dict() == order.to_dict()


def test_swaps_that_are_more_than_chance_and_swaps_that_are_none():
    rng = np.random.default_rng(0)
    topics = [f"t{i:02}" for i in range(60)]

    def system(*scores):
        return {
            topic: dict(zip("abcd", scores + 0.05 * rng.normal(size=4), strict=True))
            for topic in topics
        }

    judged = {topic: {"a": 3, "b": 1, "c": 1, "d": 0} for topic in topics}
    top, broad = system(4, 1, 2, 3), system(1, 4, 3, 0)
    both = {"top": top, "broad": broad}
    metrics = {
        "steep": DCG([0, 0, 0, 1], [1, 0.9, 0.0]),
        "flat": DCG([0, 1, 1, 1.0], [1, 1.0, 0.0]),
    }
    solid = system_order(judged, both, metrics)
    assert solid.swaps == [Swap("steep", "flat", "top", "broad", True)]
    assert solid.notes[0].startswith(
        "steep and flat swap 1 of 1 pair of systems, 1 of them beyond chance"
    )
    assert not solid.beats.any() and solid.share_decided == 0
    assert (
        solid.sentence
        == "the order depends on the metric, which swaps 1 of 1 pair of systems beyond chance"
    )

    # each run is the better one of about half of the queries
    even = {q: (top if i % 2 else broad)[q] for i, q in enumerate(judged)}
    odd = {q: (broad if i % 2 else top)[q] for i, q in enumerate([*judged][:-1])}
    odd |= {q: top[q] for q in [*judged][-1:]}
    chance = system_order(judged, {"even": even, "odd": odd}, metrics).sentence
    unshown = "the order is not shown to depend on the metric, which swaps 1 of 1 pair"
    assert chance.startswith(unshown)

    # with 7 queries, 2 differences can be beyond chance; with 6 none
    for n in (7, 6):
        few = {q: judged[q] for q in topics[:n]}
        order = system_order(few, both, metrics)
        assert [swap.beyond_chance for swap in order.swaps] == [n == 7]
        assert order.notes[1].endswith("at least 7 queries")

    same = system_order(judged, {"top": top, "copy": top}, metrics)
    assert same.swaps == []
    assert same.sentence.endswith("the order is the same under these metrics")
    assert "one ties all systems" in str(same) and "nan" not in str(same)
    refused("level", system_order, judged, both, metrics, level=0.3)


def exchanged(evaluation, rng):
    """Return an evaluation whose runs are exchanged at random within each topic."""
    runs = np.indices(evaluation.values[:, 0].shape)[0]
    order = rng.permuted(runs, axis=0)[:, None, :]
    return replace(evaluation, values=np.take_along_axis(evaluation.values, order, axis=0))


def opposed(n_runs, n_topics, rng, spread=0.0):
    """Return values of runs under two metrics, which swap all runs if there is a spread.

    Without it, both are noise with many zeros, and heavy tails that differ by topic.
    """
    noise = rng.laplace(size=(n_runs, 2, n_topics)) * rng.exponential(size=n_topics)
    noise[rng.random(noise.shape) < 0.3] = 0
    worth = spread * np.linspace(-1, 1, n_runs)[:, None, None] * np.array([[1.0], [-1.0]])
    runs = tuple(f"run {i}" for i in range(n_runs))
    names, topics = ("recall", "precision"), tuple(f"t{i}" for i in range(n_topics))
    none = np.zeros((n_runs, 2))
    measured = np.ones(noise.shape, dtype=bool)
    return Evaluation(noise + worth, runs, names, topics, "zero", none, measured, none)


def n_solid(evaluation):
    return sum(swap.beyond_chance for swap in _swaps(evaluation, 0.95))


def share_solid(n_boards):
    """Return the share of boards of exchanged runs with a swap beyond chance, of two kinds."""
    rng = np.random.default_rng(0)
    judged, runs = made(8, 25)
    real = evaluate(judged, runs, ["nDCG@10", "binary1-rbp0.8@10", "exponential-log2@3"])
    boards = [exchanged(real, rng) for _ in range(n_boards)]
    boards += [opposed(2 + i % 10, 20, rng) for i in range(n_boards)]
    return np.mean([n_solid(board) > 0 for board in boards])


def test_systems_that_differ_by_chance_have_no_swap_beyond_chance():
    n = 60
    assert share_solid(n) <= 0.05 + 3 * (0.05 * 0.95 / (2 * n)) ** 0.5


@pytest.mark.long
def test_at_most_5_percent_of_orders_have_a_swap_beyond_chance_by_chance():
    n = 400
    assert share_solid(n) <= 0.05 + 2 * (0.05 * 0.95 / (2 * n)) ** 0.5


def test_a_system_that_is_level_under_one_metric_swaps_by_chance_in_5_percent():
    rng, n = np.random.default_rng(1), 600
    found = []
    for _ in range(n):
        board = opposed(2, 30, rng)
        board.values[0, 0] += 3
        found.append(n_solid(board) > 0)
    assert 0.005 < np.mean(found) <= 0.05 + 2 * (0.05 * 0.95 / n) ** 0.5


def test_real_swaps_are_beyond_chance():
    rng = np.random.default_rng(2)
    boards = [opposed(6, 50, rng, spread=2.5) for _ in range(20)]
    assert np.mean([n_solid(board) for board in boards]) > 9  # of 15
    few = opposed(6, 9, rng, spread=2.5)
    assert len(_swaps(few, 0.95)) > 9 and n_solid(few) == 0


def test_p_values_are_those_of_the_t_test_and_no_smaller_than_those_of_sign_flips():
    rng = np.random.default_rng(3)
    differences = rng.normal(0.3, 1, (20, 12))
    differences[:10, ::5] = np.nan
    means = np.nanmean(differences, axis=1)
    expected = ttest_1samp(differences, 0, axis=1, nan_policy="omit").pvalue
    np.testing.assert_allclose(_p_values(differences, means), expected, rtol=1e-12)
    np.testing.assert_array_equal(_p_values(differences, -means), 1)
    alike = np.array([[0.1] * 6, [-0.1] * 5 + [np.nan], [0.0] * 6, [1.0] + [np.nan] * 5])
    np.testing.assert_allclose(_p_values(alike, np.nan_to_num(alike[:, 0])), [1 / 32, 1 / 16, 1, 1])


class TestOnTheCommandLine:
    def test_coherence(self, dcglearn, misuse, tmp_path):
        picture = tmp_path / "witness.png"
        names = ("linear-log2", "exponential-log2")
        status, out, err = dcglearn(
            "coherence", *names, "--documents", "4,4,3,3,2,2,1,1,0,0", "--plot", picture
        )
        assert status == 0 and "33.7%" in out and "9.989%" in out and f"wrote: {picture}" in err
        assert picture.read_bytes()[:4] == b"\x89PNG"
        assert "@4 disagree: a list that" in dcglearn("coherence", *names, "--depth", 4)[1]
        assert "never disagree" in dcglearn("coherence", *names, "--documents", "4,3")[1]
        DCG([0, 3, 9], [2.0, 1]).save(tmp_path / "a.json")
        DCG([1, 2, 4], [1.0, 0.5]).save(tmp_path / "b.json")
        files = (tmp_path / "a.json", tmp_path / "b.json")
        status, out, err = dcglearn("coherence", *files, "--plot", tmp_path / "none.png")
        assert status == 0 and "never disagree" in out and "no disagreement to draw" in err
        words = ("coherence", "linear-log2@2", files[0], "-o", tmp_path / "verdict.json")
        assert dcglearn(*words)[0] == 0
        found = json.loads((tmp_path / "verdict.json").read_text())
        assert "coherent" in found["coherence"] and "exact" in found["disagreement"]
        for arguments, complaint in (
            ((*names, "--documents", "4,high"), "Invalid value for '--documents'"),
            (("linear-log2", "nothing"), "neither a file"),
        ):
            misuse(complaint, "coherence", *arguments)

    def test_compare_orders_systems_under_several_metrics(self, dcglearn, files, tmp_path):
        other = tmp_path / "other.txt"
        other.write_text(RUN.replace("mine", "yours").replace("2.5", "1.0"))
        DCG([0, 1, 2, 9], [1, 0.5]).save(tmp_path / "m.json")
        runs = (*files, other)
        metrics = ("--metric", "nDCG@10", "--metric", tmp_path / "m.json")
        status, out, _ = dcglearn("compare", *runs, *metrics)
        assert status == 0 and "swap 0 of 1 pair" in out and "rank nDCG@10" in out
        judged = (files[0], [files[1], other], ["nDCG@10", tmp_path / "m.json"])
        assert system_order(*judged).sentence.capitalize() in out
        assert "swap 0 of 1 pair" in str(system_order(*judged, ideal="list"))

        # in Markdown, not in tables for programs, nor under one metric
        for suffix in (".md", ".csv"):
            path = tmp_path / f"compared{suffix}"
            assert dcglearn("compare", *runs, *metrics, "-o", path)[0] == 0
            assert ("swap 0 of 1" in path.read_text()) is (suffix == ".md")
        assert "swap" not in dcglearn("compare", *runs, *metrics[:2])[1]
