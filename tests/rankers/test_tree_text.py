"""Damaged text of trees is refused before LightGBM reads it."""

import contextlib
import random

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from dcglearn.foundation.validation import InputError
from dcglearn.rankers.growth import booster_of
from dcglearn.rankers.tree_text import check_trees
from dcglearn.rankers.trees import BoostedRanker
from tests.makers import refused
from tests.rankers.makers import small


@pytest.fixture(scope="module")
def text() -> str:
    ranker = BoostedRanker(n_trees=4, num_leaves=6, min_data_in_leaf=3, num_threads=1).fit(small())
    return ranker.booster_.model_to_string()


def line(text: str, key: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{key}="))


@pytest.mark.parametrize(
    ("key", "place", "value", "message"),
    [
        ("left_child", 0, "0", "children make a circle"),
        ("left_child", 0, "99", "a child 99"),
        ("right_child", -1, "-99", "a child -99"),
        ("right_child", -1, "-1", "do not reach each leaf once"),
        ("split_feature", 0, "77777", "a feature outside 0.."),
        ("split_feature", 0, "-1", "a feature outside 0.."),
        ("leaf_value", 0, "nan", "not finite"),
        ("leaf_value", 0, "", "leaf_value has 5 numbers, not 6"),
        ("threshold", 0, "nan", "a threshold is not a number"),
        ("decision_type", 0, "1", "a fraction where an index is expected"),
        ("num_leaves", 0, "2000000000", "numbers, not 1999999999"),
        ("num_leaves", 0, "0", "numbers, not"),
        ("tree_sizes", 0, "1", "do not say where tree 0 is"),
        ("tree_sizes", 1, "100000000", "do not say where tree 1 is"),
        ("max_feature_idx", 0, "1000", "not the number of features"),
        ("num_class", 0, "3", "not one tree an iteration"),
    ],
)
def test_a_wrong_number_is_named(text, key, place, value, message):
    right = line(text, key)
    numbers = right.removeprefix(f"{key}=").split()
    numbers[place] = value
    wrong = f"{key}={' '.join(numbers)}"
    damaged = text.replace(right, wrong, 1)
    if key not in (
        "tree_sizes",
        "max_feature_idx",
        "num_class",
    ):  # keep the sizes right, so that the tree is read
        sizes = line(text, "tree_sizes")
        first, *others = map(int, sizes.removeprefix("tree_sizes=").split())
        number = damaged[: damaged.index(wrong)].count("\nTree=") - 1
        all_sizes = [first, *others]
        all_sizes[number] += len(wrong) - len(right)
        damaged = damaged.replace(sizes, "tree_sizes=" + " ".join(map(str, all_sizes)), 1)
    refused(f"model holds no whole LightGBM model .*{message}", booster_of, damaged, "model")


def test_any_changed_character_is_refused_or_harmless(text):
    # What passes the check is read by LightGBM: it must neither end the process nor hang.
    rng = random.Random(0)
    features, passed = np.random.default_rng(0).normal(size=(5, small().shape[1])), 0
    for _ in range(300):
        place = rng.randrange(len(text))
        damaged = text[:place] + rng.choice("0123456789-.eE =\n\r\0[]:") + text[place + 1 :]
        try:
            booster = booster_of(damaged, "model")
        except InputError:
            continue
        passed += 1
        assert booster.predict(features).shape == (5,)
    assert passed > 20


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("end of parameters\n", ""),
        ("[seed: 0]", "[seed]"),
        ("[data: ]", "[data: \rx]"),
        ("[data: ]", "[data: \0]"),
        ("pandas_categorical:null", "pandas_categorical:" + "[" * 100_000),
        ("feature_importances:\n", ""),
    ],
)
def test_what_follows_the_trees_is_whole(text, right, wrong):
    # LightGBM ends the process on most of these.
    assert right in text
    refused("model holds no whole LightGBM model", booster_of, text.replace(right, wrong), "model")


def test_a_parameter_that_is_nested_too_deep_is_refused_or_changes_nothing(text):
    features, damaged = (
        small().features,
        text.replace("[categorical_feature: ]", f"[categorical_feature: {'[' * 100_000}]"),
    )
    with contextlib.suppress(InputError):  # LightGBM parses it from 4.7
        assert np.array_equal(
            booster_of(damaged, "model").predict(features),
            booster_of(text, "model").predict(features),
        )


def test_a_text_that_is_cut_short_after_its_trees_is_refused(text):
    end = text.index("end of trees")
    for place in range(end, text.index("pandas_categorical"), 41):
        refused("model holds no whole LightGBM model", check_trees, text[:place], "model")


def test_a_tree_of_one_leaf_and_splits_by_sets_are_whole():
    import lightgbm

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(8, size=400), rng.normal(size=400)]).astype(float)
    y = (X[:, 0] % 3) + 0.1 * X[:, 1]
    for target, more in ((y, {}), (y, {"linear_tree": True}), (np.zeros(400), {})):
        data = lightgbm.Dataset(
            X, target, categorical_feature=[] if more else [0], free_raw_data=False
        )
        booster = lightgbm.train(
            {"verbosity": -1, "num_threads": 1, **more}, data, num_boost_round=3
        )
        check_trees(booster.model_to_string(), "model")


def test_an_empty_line_ends_a_tree(text):
    size = int(line(text, "tree_sizes").removeprefix("tree_sizes=").split()[0])
    start = text.index("Tree=0")
    tree = text[start : start + size]
    joined = tree.rstrip("\n").ljust(size - 1) + "\n"  # of the same length
    refused("tree 0 does not end with an empty line", check_trees, text.replace(tree, joined), "m")
