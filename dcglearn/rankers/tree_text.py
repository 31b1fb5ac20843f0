"""Check of the text of trees before LightGBM reads it, which trusts it: it may read other memory, or never end."""

from __future__ import annotations

import re

import numpy as np

from dcglearn.foundation.validation import InputError

_TREE = re.compile(r"Tree=(\d+)\n")
_NODES = ["split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"]
_NODES += ["internal_value", "internal_weight", "internal_count"]
_LEAVES = ["leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features"]
_OPTIONAL = ("split_gain", "internal_value", "internal_weight", "internal_count", "leaf_weight", "leaf_count")


def check_trees(text: str, name: str) -> None:
    """Raise InputError unless the text of a model, from a file called `name`, holds whole trees on its features."""
    try:
        _check_model(text)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{name} holds no whole LightGBM model ({reason}); it is damaged or was changed") from error


def _check_model(text: str) -> None:
    head, _, rest = text.partition("\n\n")
    header = _fields(head)
    if not head.startswith("tree\n") or header["num_class"] != "1" or header["num_tree_per_iteration"] != "1":
        raise ValueError("not one tree an iteration")
    n_features = int(header["max_feature_idx"]) + 1
    if n_features != len(header["feature_names"].split()) or n_features != len(header["feature_infos"].split()):
        raise ValueError("max_feature_idx is not the number of features")
    data = rest.encode()
    start = 0
    for number, size in enumerate(map(int, header["tree_sizes"].split())):
        tree = data[start : start + size].decode()
        title = _TREE.match(tree)
        if size <= 0 or title is None or int(title[1]) != number or len(_TREE.findall(tree)) != 1:
            raise ValueError(f"tree_sizes do not say where tree {number} is")
        try:
            _check_tree(_fields(tree), n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
        start += size
    if not data[start:].startswith(b"end of trees\n"):
        raise ValueError("the end of the trees is missing")


def _fields(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in block.splitlines():
        key, equals, value = line.partition("=")
        if equals and key in fields:
            raise ValueError(f"{key} occurs twice")
        if equals:
            fields[key] = value
    return fields


def _check_tree(fields: dict[str, str], n_features: int) -> None:
    n_leaves = int(fields["num_leaves"])
    numbers: dict[str, list[float]] = {}
    for names, length in ((_NODES, n_leaves - 1), (_LEAVES, n_leaves)):
        for key in names:
            if key not in fields:
                continue
            numbers[key] = [float(word) for word in fields[key].split()]
            if len(numbers[key]) != length and not (key in _OPTIONAL and not numbers[key]):
                raise ValueError(f"{key} has {len(numbers[key])} numbers, not {length}")
    if not np.isfinite(numbers["leaf_value"]).all() or not np.isfinite(float(fields["shrinkage"])):
        raise ValueError("a value of a leaf is not finite")
    if n_leaves > 1:
        _check_features(numbers["split_feature"], n_features)
        _check_children(_whole(numbers["left_child"]), _whole(numbers["right_child"]), n_leaves)
        _check_splits(fields, numbers)
    if int(fields.get("is_linear", "0")):
        used = [float(word) for word in fields["leaf_features"].split()]
        _check_features(used, n_features)
        if sum(numbers["num_features"]) != len(used) or len(fields["leaf_coeff"].split()) != len(used):
            raise ValueError("num_features is not the number of features of the leaves")


def _check_features(features: list[float], n_features: int) -> None:
    if any(not 0 <= feature < n_features for feature in _whole(features)):
        raise ValueError(f"a feature outside 0..{n_features - 1}")


def _check_children(left: list[int], right: list[int], n_leaves: int) -> None:
    """Raise ValueError unless the children make one tree: from the root, each node and leaf is reached once."""
    seen, left_to_visit = 0, [0]
    leaves = set()
    while left_to_visit:
        node = left_to_visit.pop()
        seen += 1
        if seen >= n_leaves:
            raise ValueError("children make a circle")
        for child in (left[node], right[node]):
            if not -n_leaves <= child < n_leaves - 1:
                raise ValueError(f"a child {child} of {n_leaves} leaves")
            if child < 0:
                leaves.add(child)
            else:
                left_to_visit.append(child)
    if seen != n_leaves - 1 or len(leaves) != n_leaves:
        raise ValueError("children do not reach each leaf once")


def _check_splits(fields: dict[str, str], numbers: dict[str, list[float]]) -> None:
    n_sets = int(fields["num_cat"])
    categorical = [bool(int(kind) & 1) for kind in _whole(numbers["decision_type"])]
    sets = [value for value, is_set in zip(numbers["threshold"], categorical, strict=True) if is_set]
    if any(not 0 <= number < n_sets for number in _whole(sets)):
        raise ValueError(f"a split by a set outside 0..{n_sets - 1}")
    if any(np.isnan(value) for value in numbers["threshold"]):
        raise ValueError("a threshold is not a number")
    if n_sets:
        ends = [int(word) for word in fields["cat_boundaries"].split()]
        words = fields["cat_threshold"].split()
        if len(ends) != n_sets + 1 or ends != sorted(ends) or ends[0] != 0 or ends[-1] != len(words):
            raise ValueError("cat_boundaries do not divide cat_threshold")


def _whole(values: list[float]) -> list[int]:
    if any(value != int(value) for value in values):
        raise ValueError("a fraction where an index is expected")
    return [int(value) for value in values]
