"""Checks of the text of boosted trees, before LightGBM reads it.

LightGBM trusts the text: with a damaged one, which may carry the right checksum of somebody who
changed both, it reads other memory, ends the process, or never ends.
"""

import re
from typing import Any

import numpy as np

from dcglearn.foundation.validation import Floats, InputError


def check_trees(text: str, name: str) -> None:
    """Raise InputError unless the text of a file called `name` holds whole trees."""
    try:
        _check_model(text)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(
            f"{name} holds no whole LightGBM model ({reason}); it is damaged or was changed"
        ) from error


def _check_model(text: str) -> None:
    """Raise ValueError or KeyError for the first fault of a model."""
    if "\0" in text:
        raise ValueError("a NUL, which would end the text for LightGBM")

    # the head: one class, and names of all features
    head, _, rest = text.partition("\n\n")
    header = _fields(head)
    classes = {header["num_class"], header["num_tree_per_iteration"]}
    if not head.startswith("tree\n") or classes != {"1"}:
        raise ValueError("not one tree an iteration")
    n_features = int(header["max_feature_idx"]) + 1
    if {len(header[key].split()) for key in ("feature_names", "feature_infos")} != {n_features}:
        raise ValueError("max_feature_idx is not the number of features")

    # each tree, of the size that the head says
    data, start = rest.encode(), 0
    for number, size in enumerate(map(int, header["tree_sizes"].split())):
        tree = data[start : start + size].decode()
        is_tree = tree.startswith("Tree=") and size > 0
        if not is_tree or re.findall(r"Tree=(\d+)\n", tree) != [str(number)]:
            raise ValueError(f"tree_sizes do not say where tree {number} is")

        # LightGBM reads on into the next tree where no empty line stands before it
        if not tree.endswith("\n\n") or not all("=" in x for x in tree.rstrip("\n").split("\n")):
            raise ValueError(f"tree {number} does not end with an empty line")
        try:
            _check_tree(_fields(tree), n_features)
        except ValueError as error:
            raise ValueError(f"tree {number}: {error}") from error
        start += size

    tail = (
        r"end of trees\n\nfeature_importances:\n([^\r\n]+=\d+\n)*"
        r"(\nparameters:\n(\[\w+: [^\r\n]*\]\n)*\nend of parameters\n)?"
        r"(\npandas_categorical:(null|\[\])\n?)?"
    )
    if not re.fullmatch(tail, data[start:].decode()):
        raise ValueError(
            "what follows the trees is not whole: feature_importances, parameters, end of "
            "parameters"
        )


def _fields(block: str) -> dict[str, str]:
    """Return the lines ``key=value`` of a block; raise ValueError if a key occurs twice."""
    fields: dict[str, str] = {}
    for line in block.splitlines():
        key, equals, value = line.partition("=")
        if equals and key in fields:
            raise ValueError(f"{key} occurs twice")
        if equals:
            fields[key] = value
    return fields


def _check_tree(fields: dict[str, str], n_features: int) -> None:
    """Raise ValueError or KeyError for the first fault of a tree."""
    n_leaves = int(fields["num_leaves"])
    numbers = _numbers(fields, n_leaves)
    if not np.isfinite([*numbers["leaf_value"], float(fields["shrinkage"])]).all():
        raise ValueError("a value of a leaf is not finite")

    # nodes: features, children, thresholds
    if n_leaves > 1:
        _check_indices(numbers["split_feature"], n_features, "feature")
        _check_children(_whole(numbers["left_child"]), _whole(numbers["right_child"]), n_leaves)
        _check_splits(fields, numbers)

    # linear models in the leaves
    if int(fields.get("is_linear", "0")):
        used = np.array(fields["leaf_features"].split(), dtype=np.float64)
        _check_indices(used, n_features, "feature")
        n_used = {numbers["num_features"].sum(), len(fields["leaf_coeff"].split())}
        if n_used != {len(used)}:
            raise ValueError("num_features is not the number of features of the leaves")


def _numbers(fields: dict[str, str], n_leaves: int) -> dict[str, Floats]:
    """Return the numbers of each node and of each leaf; raise ValueError for a wrong count."""
    optional = "split_gain internal_value internal_weight internal_count leaf_weight leaf_count"
    nodes = f"split_feature threshold decision_type left_child right_child {optional}".split()
    leaves = ["leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features"]
    numbers = {}
    for key, text in fields.items():
        if key in (*nodes, *leaves):
            numbers[key] = np.array(text.split(), dtype=np.float64)
            n, wanted = len(numbers[key]), n_leaves - (key not in leaves)
            if n != wanted and (n or key not in optional.split()):
                raise ValueError(f"{key} has {n} numbers, not {wanted}")
    return numbers


def _check_children(left: Any, right: Any, n_leaves: int) -> None:
    """Raise ValueError unless the children make one tree: each has one parent, the root none."""
    children = np.concatenate([left, right])
    outside = (children < -n_leaves) | (children >= n_leaves - 1)
    if outside.any():
        raise ValueError(f"a child {children[outside][0]} of {n_leaves} leaves")
    if not children.all():
        raise ValueError("children make a circle")
    if len(np.unique(children)) < len(children):
        raise ValueError("children do not reach each leaf once")


def _check_splits(fields: dict[str, str], numbers: dict[str, Floats]) -> None:
    """Raise ValueError unless thresholds are numbers, or sets of categories that are there."""
    n_sets = int(fields["num_cat"])
    is_set = _whole(numbers["decision_type"]) & 1 > 0
    _check_indices(numbers["threshold"][is_set], n_sets, "split by a set")
    if np.isnan(numbers["threshold"]).any():
        raise ValueError("a threshold is not a number")

    # the sets, one behind another
    if n_sets:
        ends = [int(word) for word in fields["cat_boundaries"].split()]
        last = len(fields["cat_threshold"].split())
        if len(ends) != n_sets + 1 or ends != sorted(ends) or (ends[0], ends[-1]) != (0, last):
            raise ValueError("cat_boundaries do not divide cat_threshold")


def _check_indices(values: Floats, n: int, noun: str) -> None:
    """Raise ValueError unless the values are whole numbers from 0 to n - 1."""
    indices = _whole(values)
    if ((indices < 0) | (indices >= n)).any():
        raise ValueError(f"a {noun} outside 0..{n - 1}")


def _whole(values: Floats) -> Any:
    """Return whole numbers as integers; raise ValueError if there is a fraction."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        raise ValueError("a fraction where an index is expected")
    return values.astype(np.int64)
