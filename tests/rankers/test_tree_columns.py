"""What trees take beside numbers: missing values, data frames, threads; and what they refuse."""

import numpy as np
import pytest

from dcglearn.foundation import threads
from dcglearn.losses import LambdaRank, RegSHFSDCG
from dcglearn.metrics.dcg import DCG
from dcglearn.rankers.feature_columns import from_frame
from dcglearn.rankers.growth import lightgbm_names, lightgbm_threads
from dcglearn.rankers.linear import LinearRanker
from dcglearn.rankers.linear_model import RidgeRanker
from dcglearn.rankers.model_files import load_ranker
from dcglearn.rankers.queries import Queries
from dcglearn.rankers.svmlight import read_queries
from dcglearn.rankers.trees import BoostedRanker
from tests.makers import refused
from tests.tables import table

pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
MINE = DCG([0, 1, 9], [1, 0.8, 0.5, 0.3])
SHAPE = {"n_trees": 15, "num_leaves": 6, "min_data_in_leaf": 5, "num_threads": 1}
WORTH = np.array([0.0, 2.0, 0.2, 1.8, 0.1, 1.9])  # no order of the codes is that of the worths


def made(n_queries=40, size=15, seed=0):
    """Return a frame with codes that matter, a column whose absence matters, and noise; grades;
    queries.
    """
    rng = np.random.default_rng(seed)
    n = n_queries * size
    city, price = rng.integers(0, 6, n), rng.normal(size=n)
    gone = rng.random(n) < 0.3
    worth = WORTH[city] + 1.5 * gone + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame(
        {"title, score": rng.normal(size=n), "price": np.where(gone, np.nan, price)}
    )
    frame["city"] = city
    return frame, np.digitize(worth, [1.5, 3.0]), np.repeat(np.arange(n_queries), size)


FRAME, GRADES, QID = made()
TEST = made(seed=1)


def fitted(**settings):
    return BoostedRanker(RegSHFSDCG(MINE), **SHAPE, **settings)


@pytest.fixture(scope="module")
def of_frame():
    return fitted().fit(FRAME, GRADES, QID, eval_set=TEST)


@pytest.mark.filterwarnings("ignore:no leaf can be split")
def test_a_missing_value_is_a_value_of_its_own(of_frame):
    some = np.random.default_rng(2).normal(size=len(GRADES))
    filled = [frame.assign(price=frame.price.fillna(pd.Series(some))) for frame in (FRAME, TEST[0])]
    without = fitted().fit(filled[0], GRADES, QID)
    assert of_frame.score(*TEST) > without.score(filled[1], *TEST[1:]) + 0.05
    array = fitted().fit(FRAME[["price"]].to_numpy(), GRADES, QID)
    np.testing.assert_array_equal(array.predict([[np.nan]] * 2), array.predict([[np.nan]] * 2))
    assert array.predict([[np.nan]])[0] > array.predict([[0.0]])[0]
    refused(r"features\[0, 0\] = inf is not a finite number", array.predict, [[np.inf]])


def test_names_are_kept_and_saved(of_frame, tmp_path):
    of_frame.save(tmp_path / "model.json")
    again = load_ranker(tmp_path / "model.json")
    assert (
        again.feature_names_in_.tolist()
        == of_frame.feature_names_in_.tolist()
        == ["title, score", "price", "city"]
    )
    assert again.booster_.feature_name() == ["title__score", "price", "city"]
    np.testing.assert_array_equal(again.predict(TEST[0]), of_frame.predict(TEST[0]))
    assert {name for name, _ in again.important(5)} == {"title, score", "price", "city"}


def test_a_frame_is_matched_by_name(of_frame):
    wanted = of_frame.predict(TEST[0])
    reordered = TEST[0][["city", "price", "title, score"]]
    for frame in (reordered, Queries(reordered, *TEST[1:])):
        np.testing.assert_array_equal(of_frame.predict(frame), wanted)
    moved = fitted().fit(FRAME, GRADES, QID, eval_set=(reordered, *TEST[1:]))
    assert moved.validation_ == of_frame.validation_


def test_codes_of_categories_are_split_by_sets_as_lightgbm_does(of_frame):
    ranker = fitted(categorical_feature=[2]).fit(FRAME, GRADES, QID)
    assert "num_cat=1" in ranker.booster_.model_to_string()
    assert "num_cat=1" not in of_frame.booster_.model_to_string()


def test_frames_of_polars(of_frame):
    pl = pytest.importorskip("polars")
    frames = [
        pl.DataFrame(
            {
                "title, score": frame["title, score"].to_numpy(),
                "price": pl.Series(frame.price.to_numpy()).fill_nan(None),
                "city": frame.city.to_numpy(),
            }
        )
        for frame in (FRAME, TEST[0])
    ]
    ranker = fitted().fit(frames[0], GRADES, QID, eval_set=TEST)
    np.testing.assert_array_equal(ranker.predict(frames[1]), of_frame.predict(TEST[0]))


@table(
    ("change", "message"),
    [
        (
            lambda f: f.drop(columns="price"),
            "X and the training set differ in column 'price'; the model was trained on",
        ),
        (lambda f: f.assign(more=1), "X and the training set differ in column 'more'"),
        (
            lambda f: f.assign(city=f.city.astype(str)),
            "column 'city' holds (str|object).*; features are numbers: leave it out",
        ),
        (
            lambda f: f.assign(price=pd.cut(f.price, 3)),
            "column 'price' holds category; features are numbers",
        ),
        (lambda f: f.set_axis(["a", "a", "city"], axis=1), "column 'a' occurs twice"),
    ],
)
def test_frames_that_do_not_fit(of_frame, change, message):
    refused(message, of_frame.predict, change(TEST[0]))


@table(
    ("settings", "message"),
    [
        ({"start": np.ones(3)}, "a linear model takes no missing .* BoostedRanker without a start"),
        (
            {"loss": MINE},
            r"loss=DCG\(.*is no loss; give one of dcglearn.losses, such as RegSHFSDCG\(dcg\)",
        ),
    ],
)
def test_settings_that_do_not_fit(settings, message):
    refused(message, BoostedRanker(**{"n_trees": 2, **settings}).fit, FRAME, GRADES, QID)


def test_linear_rankers_refuse_what_trees_take():
    numbers = FRAME[["title, score"]]
    assert LinearRanker(LambdaRank(MINE), max_iter=2).fit(numbers, GRADES, QID).coef_.shape == (1,)
    message = r"features\[.*, 0\] = nan is missing, and a linear model"
    refused(message, LinearRanker(LambdaRank(MINE)).fit, FRAME[["price"]], GRADES, QID)
    refused(message, RidgeRanker(MINE).fit, Queries(FRAME[["price"]], GRADES, QID))


def test_names_and_types_of_columns():
    assert lightgbm_names(("a b", "c")) == ["a_b", "c"]
    assert lightgbm_names(("a b", "a,b")) == lightgbm_names(None) == "auto"
    features, names = from_frame(
        pd.DataFrame({"x": pd.array([1, None], dtype="Int64"), "y": [True, False]})
    )
    np.testing.assert_array_equal(features, [[1, 1], [np.nan, 0]])
    assert names == ("x", "y")


def test_missing_values_in_svmlight(dcglearn, misuse, here):
    price, city = FRAME.price.to_numpy(), FRAME.city
    text = [
        f"{g} qid:{q} 1:{x:.3f} 2:{c}\n"
        for g, q, x, c in zip(GRADES, QID, price, city, strict=True)
    ]
    (here / "train.svm").write_text("".join(text[:450]))
    (here / "valid.svm").write_text("".join(text[450:]))
    queries = read_queries("train.svm")
    np.testing.assert_array_equal(np.isnan(queries.features[:, 0]), np.isnan(price[:450]))
    command = ("train", "train.svm", "--valid", "valid.svm", "--model", "trees")
    parameters = ("-p", "n_trees=80", "-p", "patience=50")
    status, out, _ = dcglearn(*command, *parameters, "-o", "model.json")
    assert status == 0 and "least squares" not in out
    model = load_ranker("model.json")
    assert model.patience == 50 and model.booster_.num_trees() == model.n_trees_ <= 80
    assert dcglearn("rank", "model.json", "valid.svm")[0] == 0
    assert dcglearn(*command, "-p", "n_trees=3", "-p", "patience=None", "-o", "all.json")[0] == 0
    assert load_ranker("all.json").patience is None
    message = "nan is missing, and a linear model takes no missing (NaN) values: fill it in"
    misuse(message, "train", "train.svm", "-o", "other.json")


def test_trees_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 40)), rng.integers(0, 3, 3000)
    several = [
        BoostedRanker(RegSHFSDCG(MINE), **{**SHAPE, "n_trees": 4, "num_threads": n}).fit(
            X, y, np.arange(3000) // 20
        )
        for n in (1, 2, 3)
    ]
    scores = [ranker.predict(X) for ranker in several]
    np.testing.assert_array_equal(scores, np.broadcast_to(scores[0], (3, 3000)))


def test_the_number_of_threads(monkeypatch):
    import joblib

    monkeypatch.setattr(joblib, "cpu_count", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert lightgbm_threads({}) == 3
    assert lightgbm_threads({"num_threads": 2}) == 2
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert lightgbm_threads({}) == 6  # what a container allows
    with threads.at_most(1), threads.at_most(4):
        assert threads.threads() == 1
