"""From an object, a file or a name to a metric: `read_metric`."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dcglearn.foundation.validation import InputError, InputTypeError
from dcglearn.metrics.dcg import DCG, DCGLike, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.saved_metric import SavedMetric, load_metric
from dcglearn.metrics.textbook import NAMES, MetricName, NamedMetric, is_metric_file
from dcglearn.metrics.textbook_lists import LIST_NAMES, AdaptiveMetric, ListMetricName

BASELINE = "exponential-log2"
"""The metric that most people use now."""

SCORING = (DCG, ListUtility)
"""Metrics with an ideal value, by which lists can be normalised."""

EVALUATED = (DCG, ListUtility, AdaptiveMetric)
"""Metrics with a value of every list, among them those of `textbook_list_metrics` by name."""

SAVED = (DCG, ListUtility, Utility)
"""Metrics that files hold."""


def read_metric(
    metric: Any,
    n_grades: int | None = None,
    depth: int | None = None,
    *,
    accept: Sequence[type] = (DCG,),
    name: str = "metric",
) -> Any:
    """Return the metric that an object, a file or a name stands for.

    `metric` is one; its file; a textbook name ``GAIN-DISCOUNT[@K]`` or ``nDCG[@K]``; where
    `accept`, the kinds that the caller can use, has `AdaptiveMetric`, the name of one of
    `textbook_list_metrics`; or what `metric_or_name` returned. `n_grades` and `depth` are L and K
    of a name, K where it has none; objects and files have their own. `name` is what messages call
    it. Raises InputError as `metric_or_name` does; for a name whose L or K nothing says.
    """
    # objects and files have their own scale
    metric = metric_or_name(metric, accept=accept, name=name)
    if not isinstance(metric, (MetricName, ListMetricName)):
        return metric

    # names are taken at the scale of the data
    if n_grades is None:
        word = metric.at(10)
        remedy = f"give DCG.parse({word!r}, n_grades=5)"
        raise InputError(f"{name}: nothing says how many grades {word} has; {remedy}")
    if isinstance(metric, ListMetricName):
        return metric.metric(n_grades, depth)
    return DCG.from_name(metric.word, n_grades, depth)


def metric_or_name(metric: Any, *, accept: Sequence[type] = (DCG,), name: str = "metric") -> Any:
    """Return the metric of an object or a file, or a checked name (of class `NamedMetric`).

    Callers that learn the number of grades and the depth of a name later hand it to `read_metric`
    then. Raises InputError if it is of a kind that is not accepted, a file cannot be read, or no
    metric has the name.
    """
    # objects and files
    if isinstance(metric, (*accept, NamedMetric)):
        return metric
    if not isinstance(metric, (str, os.PathLike)):
        _refuse(metric, accept, name)
    if is_metric_file(metric):
        return load_metric(metric, [kind for kind in accept if issubclass(kind, SavedMetric)])

    # names
    word = os.fspath(metric)
    if not ListMetricName.is_one(word):
        return MetricName.of(word, name)
    if AdaptiveMetric not in accept:
        fact = f"{name} {word!r} is no DCG, but one of {LIST_NAMES}"
        raise InputError(f"{fact}; here it is neither a file nor {NAMES}")
    return ListMetricName.of(word)


def labelled(metrics: Any) -> Mapping[Any, Any]:
    """Return one metric or several by name: words by themselves, objects by kind and number."""
    if isinstance(metrics, Mapping):
        return metrics

    several = isinstance(metrics, Iterable) and not isinstance(metrics, (str, os.PathLike))
    by_name: dict[Any, Any] = {}
    kinds: Counter[str] = Counter()
    for metric in metrics if several else [metrics]:
        # an object by its kind, and a number where there are several
        label = metric
        if not isinstance(metric, (str, os.PathLike)):
            label = "DCG" if isinstance(metric, DCG) else getattr(metric, "kind", "utility")
            kinds[label] += 1
            label = f"{label} {kinds[label]}" if kinds[label] > 1 else label
        by_name[label] = metric
    return by_name


def _refuse(metric: Any, accept: Sequence[type], name: str) -> None:
    """Raise InputError for an object that is not accepted."""
    kind = type(metric).__name__
    if isinstance(metric, SavedMetric) and list(accept) == [DCG]:
        raise InputTypeError(
            f"{name} is a {kind}, no sum of gains times discounts; what is asked for is only true "
            "of a DCG (the gains and discounts of a ListUtility alone are ListUtility.dcg)",
            see="only-a-dcg",
        )
    kinds = " or ".join(f"a {kind.__name__}" for kind in accept if issubclass(kind, SavedMetric))
    forms = f"{kinds}, its file, or a name such as exponential-log2@10"
    raise InputTypeError(f"{name} is a {kind}; give {forms}")


def metric_in_use(baseline: DCGLike, n_grades: int, depth: int) -> tuple[str, DCG]:
    """Return the name of the metric used now, and the metric, for lists of this depth.

    Raises InputError if it is no DCG, or has fewer grades.
    """
    metric = metric_or_name(baseline, name="baseline")
    if isinstance(metric, MetricName):
        return metric.at(depth), read_metric(metric, n_grades, depth)
    if metric.n_grades < n_grades:
        raise InputError(f"the metric used now has {metric.n_grades} grades, the log {n_grades}")
    return "the metric used now", metric
