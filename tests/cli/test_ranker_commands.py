"""`dcglearn train` and `dcglearn rank`: models that load, runs that sort, and bad input in one
line.
"""

import numpy as np
import pytest

from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.model_files import load_ranker
from dcglearn.rankers.simulated_queries import letor_queries
from dcglearn.rankers.svmlight import read_queries
from tests.makers import write_svmlight


@pytest.fixture
def data(here):
    """A folder with train.svm, valid.svm and dcg.json, which is where the test runs."""
    queries = letor_queries(20, n_features=8, sizes=(8, 20), random_state=0)
    for name, part in (("train.svm", queries[:12]), ("valid.svm", queries[12:])):
        write_svmlight(here / name, part)
    DCG([0, 0.5, 6], [1, 0.9, 0.5]).save(here / "dcg.json")
    return here


def test_train_and_rank(dcglearn, data):
    status, out, err = dcglearn(
        "train", "train.svm", "--valid", "valid.svm", "--metric", "dcg.json", "-o", "model.json"
    )
    assert status == 0
    for words in ("12 queries", "on the validation data", "wrote: model.json"):
        assert words in out + err
    status, out, err = dcglearn("rank", "model.json", "valid.svm")
    assert status == 0
    queries = read_queries("valid.svm", n_features=8)
    ranker = load_ranker("model.json")
    assert np.array_equal([float(line) for line in out.splitlines()], ranker.predict(queries))
    assert f"normalised DCG: {ranker.score(queries):.4f}" in err


@pytest.mark.parametrize("objective", [None, "ridge", "sdcg"])
def test_train_says_its_objective_and_on_what_data_the_value_is(dcglearn, data, objective):
    words = ["train", "train.svm", "-o", "model.json", "--force"]
    if objective is not None:
        words += ["--objective", objective]
    out = dcglearn(*words)[1]
    assert f"objective: {objective or 'approx-ndcg'}, trained for exponential-log2@10, " in out
    assert "on the training data: " in out and "validation" not in out
    assert "on the validation data: " in dcglearn(*words, "--valid", "valid.svm")[1]


def test_a_trec_run(dcglearn, data):
    dcglearn("train", "train.svm", "--objective", "ridge", "-o", "model.json")
    status, out, err = dcglearn("rank", "model.json", "valid.svm", "-o", "mine.txt")
    assert (status, out) == (0, "")
    assert "wrote: mine.txt" in err
    rows = [line.split() for line in (data / "mine.txt").read_text().splitlines()]
    queries = read_queries("valid.svm", n_features=8)
    assert len(rows) == queries.shape[0]
    assert {(row[1], row[5]) for row in rows} == {("Q0", "mine")}
    for name in queries.names:
        mine = [row for row in rows if row[0] == str(name)]
        assert [int(row[3]) for row in mine] == list(range(1, len(mine) + 1))
        scores = [float(row[4]) for row in mine]
        assert scores == sorted(scores, reverse=True)
        assert len({row[2] for row in mine}) == len(mine)


@pytest.mark.parametrize("method", ["ranksvm", "rsrank", "ridge"])
def test_other_methods(dcglearn, data, method):
    status, out, _ = dcglearn(
        "train", "train.svm", "--valid", "valid.svm", "--objective", method, "-o", "model.json"
    )
    assert status == 0 and "validation" in out and "training" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "none.svm", "-o", "m.json"), "none.svm does not exist; check the name"),
        (("train", "train.svm", "-o", "a/b/m.json"), "a/b/m.json: the folder a/b does not exist"),
        (("train", "train.svm", "-o", "dcg.json"), "dcg.json exists; choose another name"),
        (
            ("train", "train.svm", "-o", "m.json", "--metric", "AP"),
            "metric 'AP' is neither a file nor GAIN-DISCOUNT",
        ),
        (
            ("train", "train.svm", "-o", "m.json", "--metric", "two.json"),
            "train.svm: the data have grade 2, but the metric has gains for",
        ),
        (
            ("train", "train.svm", "-o", "m.json", "--valid", "wide.svm"),
            "wide.svm, line 1: '1 qid:1 9:1' is not GRADE qid:NUMBER",
        ),
        (("train", "bare.svm", "-o", "m.json"), "bare.svm: 1 of 1 lines have no qid"),
        (("rank", "none", "train.svm"), "none does not exist; check the name"),
        (("rank", "dcg.json", "train.svm"), 'dcg.json: "format" is'),
    ],
)
def test_bad_input_is_one_line(misuse, data, arguments, message):
    DCG([0, 1], [1.0]).save("two.json")
    (data / "wide.svm").write_text("1 qid:1 9:1\n")
    (data / "bare.svm").write_text("1 1:1\n")
    misuse(f"dcglearn: {message}", *arguments)


def test_trees(dcglearn, misuse, data):
    pytest.importorskip("lightgbm")
    command = ("train", "train.svm", "--valid", "valid.svm", "--metric", "dcg.json")
    command += ("--model", "trees", "-p", "n_trees=20")
    assert dcglearn(*command, "-o", "model.json")[0] == 0
    assert load_ranker("model.json").n_trees_ <= 20
    rows = (data / "valid.svm").read_text().count("\n")
    assert dcglearn("rank", "model.json", "valid.svm", "-o", "r.run")[0] == 0
    assert (data / "r.run").read_text().count(" Q0 ") == rows
    misuse(
        "--objective='ridge': give one of approx-ndcg",
        *command,
        "--objective",
        "ridge",
        "-o",
        "other.json",
    )


def test_a_damaged_model_is_refused_and_is_no_metric(dcglearn, misuse, data):
    made = ("--metric", "dcg.json", "--objective", "ridge", "-o", "model.json")
    assert dcglearn("train", "train.svm", *made)[0] == 0
    misuse("'dcglearn.ranker', expected \"dcglearn.dcg\"", "show", "model.json")
    text = (data / "model.json").read_text()
    (data / "model.json").write_text(text.replace('"n_features": 8', '"n_features": 9'))
    misuse(
        "is damaged or was changed: it has another SHA-256; use a copy, or train again",
        "rank",
        "model.json",
        "valid.svm",
    )
    assert "neither a file nor" in dcglearn("show", "none")[2]
