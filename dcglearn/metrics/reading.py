"""From a word, a file or an object to a metric: `metric`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import nearest, number_of
from dcglearn.foundation.validation import Floats, InputError, PathLike, errors_in
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.names import LIST_UTILITIES, NAMES, MetricName, is_metric_name, metric_name
from dcglearn.metrics.other_names import ALIASES, usual_name
from dcglearn.metrics.saved_metric import load_metric
from dcglearn.metrics.textbook import DISCOUNTS, GAINS, is_metric_file

AnyMetric: TypeAlias = DCG | ListUtility | Utility
"""A metric of any kind."""

MetricLike: TypeAlias = AnyMetric | PathLike
"""What stands for a metric: an object, a name or a file; see `metric`."""

MetricsLike: TypeAlias = "MetricLike | Mapping[str, MetricLike] | Iterable[MetricLike]"
"""What stands for one metric or several: one, a mapping from names, or a list."""

BASELINE = "exponential-log2"
"""The metric that most people use now."""

ONLY_DCG = (DCG,)
"""Metrics that are sums of gains times discounts."""

SCORING = (DCG, ListUtility)
"""Metrics with a value of every list that ranks documents of known grades, and an ideal value."""

METRICS = (DCG, ListUtility, Utility)
"""Metrics of all kinds, which files hold."""


def metric(
    metric: MetricLike | MetricName,
    n_grades: int | None = None,
    depth: int | None = None,
    *,
    accept: Sequence[type] = METRICS,
    name: str = "metric",
) -> DCG | Any:
    """Return the metric that a name, a file or an object stands for.

    Every function that takes a metric reads it in this way, so that a name, the object and its file
    have one value everywhere.

    Parameters
    ----------
    metric : str, path, DCG, ListUtility or Utility
        A textbook DCG, ``GAIN-DISCOUNT[@K]`` with a gain and a discount of `DCG.standard`, such as
        ``exponential-log2@10``; ``nDCG[@K]``, which is ``linear-log2[@K]``, as in trec_eval;
        ``ERR``, ``RBP(p=0.8)``, ``BestGrade`` and ``BestGradeRank``, with or without ``@K``; the
        file of a saved metric, which a word is if it ends in ``.json``, contains a path separator,
        or names a file that exists; ``reader:NAME``, a file of the package, what was learned from a
        real log, such as ``reader:news-feed``; or a metric, which is returned as it is.
    n_grades : int, optional
        Number of grades of a metric by name. Objects and files have their own.
    depth : int, optional
        K of a name without ``@K``.
    accept : sequence of type
        The kinds of metric that the caller can use; others are refused.
    name : str
        What messages call the metric.

    Returns
    -------
    DCG, ListUtility or Utility
        ``ERR``, ``BestGrade`` and ``BestGradeRank`` are list utilities; all other names are DCGs.

    Raises
    ------
    InputError
        If no metric has the name (the nearest is named), nothing says how many grades or positions
        it has, a file cannot be read, or the metric is of a kind that is not accepted.

    See Also
    --------
    DCG.standard : A textbook DCG by its gain and its discount.
    evaluation.ListUtility : A list utility of one's own.

    Examples
    --------
    >>> dl.metric("linear-log2@3", n_grades=3)
    DCG(gains=[0, 1, 2], discounts=[1, 0.63093, 0.5])
    >>> dl.metric("ERR@3", n_grades=3).score([0, 2, 1]).round(3)
    np.float64(0.396)
    """
    # objects and files have their own scale
    named = metric_or_name(metric, accept=accept, name=name)
    if not isinstance(named, MetricName):
        return named

    # names are taken at the scale of the data
    if n_grades is None:
        word = named.at(10)
        raise InputError(
            f"{name}: nothing says how many grades {word} has; give dl.metric({word!r}, n_grades=5)"
        )
    return named.metric(n_grades, depth)


def metric_or_name(
    metric: Any, *, accept: Sequence[type] = METRICS, name: str = "metric"
) -> DCG | Any:
    """Return the metric of an object or a file, or a checked name (of class `MetricName`).

    An array, shape (K, L), holds the weights of a utility.

    Callers that learn the number of grades and the depth of a name later hand it to `metric` then.
    Raises InputError if it is of a kind that is not accepted, a file cannot be read, or no metric
    has the name.
    """
    # metrics as they are
    if isinstance(metric, (*accept, MetricName)):
        return metric

    # of other objects, arrays alone are metrics
    if hasattr(metric, "dcg_"):
        raise InputError(f"{name} is a learner; give the DCG that it learned, its dcg_")
    if not isinstance(metric, (str, os.PathLike)):
        if Utility in accept and (isinstance(metric, Sequence) or hasattr(metric, "__array__")):
            with errors_in(name):
                return Utility(metric)
        _refuse(type(metric), accept, name)

    # files
    if is_metric_file(metric):
        return load_metric(metric, accept)

    # names, each of one kind of metric
    word = os.fspath(metric)
    if is_metric_name(word):
        named = metric_name(word, name)
        if not issubclass(named.kind, tuple(accept)):
            _refuse(named.kind, accept, f"{name} {word!r}")
        return named

    # none has this name; other tools may have it
    usual, others = usual_name(word), [*LIST_UTILITIES, "RBP", "nDCG"]
    if is_metric_name(usual):
        hint = f"; here it is {usual}"
    elif usual.partition("@")[0] in {*ALIASES.values()}.difference(others):
        hint = f"; {usual} is a measure of ir_measures: evaluate, compare and gate take it"
    else:
        textbooks = (f"{gain}-{discount}" for gain in GAINS for discount in DISCOUNTS)
        hint = nearest(word.partition("@")[0], [*textbooks, *others])
    raise InputError(f"{name} {word!r} is neither a file nor {NAMES}{hint}")


def is_metric_word(word: str) -> bool:
    """Return whether a word is the file of a metric, or has the form of a name."""
    return is_metric_file(word) or is_metric_name(word)


def as_weights(metric: AnyMetric, name: str) -> Floats:
    """Return the weights of a metric, shape (K, L); raise InputError if it has none."""
    if isinstance(metric, DCG):
        return metric.utility.weights
    if isinstance(metric, Utility):
        return metric.weights
    raise InputError(
        f"{name} is a list utility, whose values are no sums over positions: certificates and "
        "similarity are only true of a DCG (disagreement takes both)"
    )


def largest_value(metric: AnyMetric) -> float:
    """Return a bound of the size of a list's value under a metric."""
    if isinstance(metric, Utility):
        return float(np.abs(metric.weights).max(axis=1).sum())
    return float(np.abs(metric.discounts).sum() * np.abs(metric.gains).max())


def resolved(
    metrics: Sequence[MetricLike | ArrayLike],
    names: Sequence[str],
    grades: ArrayLike | None = None,
    n_grades: int | None = None,
    depth: int | None = None,
    usual: int | None = None,
) -> tuple[list[AnyMetric], list[str]]:
    """Return metrics, with files read and names resolved, and what to call them.

    `n_grades` and `depth` go before those of the other metrics, which go before the documents', or
    `usual` grades where these have fewer. Raises InputError if nothing states them. Called are
    names by themselves, with their depths, files by their paths, and others by `names`, which are
    for messages too.
    """
    read = [metric_or_name(one, name=name) for one, name in zip(metrics, names, strict=True)]

    # sizes of the metrics that have one, else of the documents
    sizes = [one.n_grades for one in read if not isinstance(one, MetricName)]
    depths = [one.depth for one in read if one.depth is not None]
    if grades is not None:
        documents = np.asarray(grades)
        sizes = sizes or [int(documents.max(initial=1)) + 1, usual or 0]
        depths = depths or [documents.size]
    size = n_grades or max(sizes, default=usual)
    deepest = depth or max(depths, default=None)

    # the metrics, and what to call them
    made, labels = [], []
    for one, given, name in zip(read, metrics, names, strict=True):
        made.append(metric(one, size, deepest, name=name))
        label = str(given) if isinstance(given, (str, os.PathLike)) else name
        labels.append(one.at(deepest) if isinstance(one, MetricName) else label)
    return made, labels


def labelled(metrics: MetricsLike) -> dict[Any, Any]:
    """Return one metric or several by name: words by themselves, objects by kind and number.

    A mapping names its own. Raises InputError if two metrics have one name.
    """
    if isinstance(metrics, Mapping):
        return dict(metrics)
    if isinstance(metrics, (str, os.PathLike)) or not isinstance(metrics, Iterable):
        metrics = [metrics]

    # words and paths are names of themselves
    by_name: dict[Any, Any] = {}
    for metric in metrics:
        name: Any = metric
        if isinstance(metric, METRICS):
            kind = "DCG" if isinstance(metric, DCG) else "utility"
            numbered = (f"{kind} {number}" if number > 1 else kind for number in count(1))
            name = next(one for one in numbered if one not in by_name)
        elif not isinstance(metric, (str, os.PathLike)):  # which is refused
            name = str(metric)

        # the same one twice counts once
        if by_name.setdefault(name, metric) != metric:
            raise InputError(f"two metrics have the name {name!r}; give one another name")
    return by_name


read_metric = metric
"""`metric`, for modules in which a metric has that name."""


def _refuse(kind: type, accept: Sequence[type], name: str) -> NoReturn:
    """Raise InputError for a metric, or another object, of a kind that is not accepted."""
    given = f"{name} is {'an' if kind.__name__[0] in 'AEIaei' else 'a'} {kind.__name__}"
    if issubclass(kind, METRICS) and tuple(accept) == ONLY_DCG:
        raise InputError(
            f"{given}, no sum of gains times discounts; what is asked for is only true of a DCG"
        )
    kinds = " or ".join(f"a {kind.__name__}" for kind in accept)
    raise InputError(f"{given}; give {kinds}, its file, or a name such as exponential-log2@10")


def metric_in_use(
    metric: MetricLike,
    n_grades: int,
    depth: int,
    *,
    accept: Sequence[type] = SCORING,
    name: str = "baseline",
) -> tuple[str, Any]:
    """Return the name of the metric used now, and the metric, for lists of this depth.

    A file is called by its path.

    Raises InputError if it is of a kind that is not accepted, or has fewer grades.
    """
    named = metric_or_name(metric, accept=accept, name=name)
    if isinstance(named, MetricName):
        return named.at(depth), named.metric(n_grades, depth)
    if named.n_grades < n_grades:
        raise InputError(
            f"the metric used now has {number_of(named.n_grades, 'grades')}, the log {n_grades}: "
            "map them (DCG.map_grades)"
        )
    is_file = isinstance(metric, (str, os.PathLike))
    return str(metric) if is_file else "the metric used now", named
