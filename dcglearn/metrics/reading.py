"""From a word, a file or an object to a metric: `metric`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import (
    Floats,
    InputError,
    InputTypeError,
    PathLike,
    errors_in,
    whole_number,
)
from dcglearn.metrics.dcg import DCG, Utility
from dcglearn.metrics.list_utility import ListUtility
from dcglearn.metrics.other_names import ALIASES, usual_name
from dcglearn.metrics.reader_names import ReaderName
from dcglearn.metrics.saved_metric import load_metric
from dcglearn.metrics.textbook import (
    DISCOUNTS,
    GAINS,
    NAMES,
    NamedMetric,
    is_metric_file,
    textbook_discounts,
    textbook_gains,
)
from dcglearn.metrics.textbook_lists import DEFINITIONS, LIST_NAMES, ListMetric, ListMetricName

AnyMetric: TypeAlias = DCG | ListUtility | Utility
"""A metric of any kind."""

MetricLike: TypeAlias = AnyMetric | PathLike
"""What stands for a metric: an object, a name or a file; see `metric`."""

MetricsLike: TypeAlias = "MetricLike | Mapping[str, MetricsLike] | Iterable[MetricsLike]"
"""What stands for one metric or several: one, a mapping from names, or a list of these."""

BASELINE = "exponential-log2"
"""The metric that most people use now."""

ONLY_DCG = (DCG,)
"""Metrics that are sums of gains times discounts."""

SCORING = (DCG, ListUtility)
"""Metrics with a value of every list that ranks documents of known grades, and an ideal value."""

METRICS = (DCG, ListUtility, Utility)
"""Metrics of all kinds, which files hold."""

ALL_NAMES = f"{NAMES}, nor {LIST_NAMES}"
"""For messages: names that stand for a metric of lists."""


@dataclass(frozen=True)
class MetricName(NamedMetric):
    """The name of a textbook DCG; ``nDCG@K`` is trec_eval's: linear gain, log2 discount."""

    word: str
    gain: str
    discount: str
    depth: int | None

    _pattern = r"(?:(?i:n?dcg)|([a-z0-9.]+)-([a-z0-9.]+))(?:@(\d+))?"

    @classmethod
    def of(cls, word: str, name: str = "metric") -> Self:
        """Return the metric of a word of this form; raise InputError, about `name`, for others."""
        match = re.fullmatch(cls._pattern, word)
        assert match is not None, word

        # the discounts of a larger K might not fit in memory
        digits, most = match[3] or "", "9999999"
        if len(digits) > len(most):
            raise InputError(f"{name} {word!r}: K has {len(digits)} digits; give at most {most}")

        # try the names of gain and discount
        gain, discount = match[1] or "linear", match[2] or "log2"
        try:
            textbook_gains(gain, np.zeros(1))
            textbook_discounts(discount, 1)
            depth = whole_number(int(digits), "depth") if digits else None
        except InputError as error:
            raise error.told(f"{name} {word!r}: there is no such file, and ") from None
        return cls(word, gain, discount, depth)

    def at(self, depth: int) -> str:
        """Return the name with its depth, ``GAIN-DISCOUNT@K``; `depth` where it has none."""
        return self.word if self.depth is not None else f"{self.word}@{depth}"

    def metric(self, n_grades: int, depth: int | None = None) -> DCG:
        """Return the DCG for L grades, K deep, or `depth` where the name has no K."""
        deep = self.deep(depth)
        with errors_in(f"metric {self.word!r}"):
            return DCG.standard(n_grades, deep, self.gain, self.discount)


FORMS = (ListMetricName, ReaderName, MetricName)
"""Forms of names."""


def metric(
    metric: MetricLike | NamedMetric,
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
        ``exponential-log2@10``; ``nDCG[@K]``, which is ``linear-log2[@K]``, as in trec_eval; one of
        `textbook_list_metrics`, such as ``ERR@5`` or ``RBP(p=0.8)@10``; ``reader:NAME[@K]``, what
        was learned from a real log, such as ``reader:news-feed``; the file of a saved metric,
        which a word is if it ends in ``.json``, contains a path separator, or names a file that
        exists; or a metric, which is returned as it is.
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
    evaluation.textbook_list_metrics : ERR, RBP and others.

    Examples
    --------
    >>> dl.metric("linear-log2@3", n_grades=3)
    DCG(gains=[0, 1, 2], discounts=[1, 0.63093, 0.5])
    >>> dl.metric("ERR@3", n_grades=3).score([0, 2, 1]).round(3)
    np.float64(0.396)
    """
    # objects and files have their own scale
    named = metric_or_name(metric, accept=accept, name=name)
    if not isinstance(named, NamedMetric):
        return named

    # names are taken at the scale of the data
    if n_grades is None and named.n_grades is None:
        word = named.at(10)
        raise InputError(
            f"{name}: nothing says how many grades {word} has; give dl.metric({word!r}, n_grades=5)"
        )
    return named.metric(n_grades, depth)


def metric_or_name(
    metric: Any, *, accept: Sequence[type] = METRICS, name: str = "metric"
) -> DCG | Any:
    """Return the metric of an object or a file, or a checked name (of class `NamedMetric`).

    Callers that learn the number of grades and the depth of a name later hand it to `metric` then.
    Raises InputError if it is of a kind that is not accepted, a file cannot be read, or no metric
    has the name.
    """
    # objects and files
    if isinstance(metric, (*accept, NamedMetric)):
        return metric
    if hasattr(metric, "dcg_"):
        raise InputTypeError(f"{name} is a learner; give the DCG that it learned, its dcg_")
    if not isinstance(metric, (str, os.PathLike)):
        _refuse(type(metric), accept, name)
    if is_metric_file(metric):
        return load_metric(metric, accept)

    # names, each of one kind of metric
    word = os.fspath(metric)
    for form in FORMS:
        if form.is_one(word):
            named = form.of(word, name)
            kind = named.metric_class if isinstance(named, ListMetricName) else DCG
            if not issubclass(kind, tuple(accept)):
                _refuse(kind, accept, f"{name} {word!r}")
            return named

    # none has this name
    takes_lists = ListUtility in accept
    known, kinds = (ALL_NAMES, DEFINITIONS) if takes_lists else (NAMES, ())
    names = [*(f"{gain}-{discount}" for gain in GAINS for discount in DISCOUNTS), "nDCG", *kinds]
    hint = nearest(word.partition("@")[0], names)

    # other tools have it
    usual = usual_name(word)
    if any(form.is_one(usual) for form in FORMS):
        hint = f"; here it is {usual}"
    elif usual.partition("@")[0] in {*ALIASES.values()} - {"nDCG", *kinds}:
        hint = f"; {usual} is a measure of ir_measures: evaluate and compare take it, nothing else"
    raise InputError(f"{name} {word!r} is neither a file nor {known}{hint}")


def is_metric_word(word: str) -> bool:
    """Return whether a word is the file of a metric, or has the form of a name."""
    return is_metric_file(word) or any(form.is_one(word) for form in FORMS)


def as_weights(metric: AnyMetric, name: str) -> Floats:
    """Return the weights of a metric, shape (K, L); raise InputError if it has none."""
    if isinstance(metric, DCG):
        return metric.utility.weights
    if isinstance(metric, Utility):
        return metric.weights
    raise InputTypeError(
        f"{name} is a list utility, whose values are no sums over positions: certificates, "
        "similarity and exact shares of disagreement are only true of a DCG (disagreement of two "
        "metrics is sampled)",
        see="only-a-dcg",
    )


def largest_value(metric: AnyMetric) -> float:
    """Return a bound of the size of a list's value under a metric."""
    weights = as_weights(metric.dcg if isinstance(metric, ListUtility) else metric, "metric")
    return float(np.abs(weights).max(axis=1).sum())


def _of_weights(metric: Any, name: str) -> Any:
    """Return a metric, or a checked name; an array, shape (K, L), holds the weights of one."""
    if isinstance(metric, (*METRICS, NamedMetric, str, os.PathLike)) or hasattr(metric, "dcg_"):
        return metric_or_name(metric)

    # an array may not be one of numbers
    try:
        return Utility(np.asarray(metric, dtype=np.float64))
    except (TypeError, ValueError) as error:
        problem = f"{name} is neither a DCG nor a utility of shape (K, L): {error}"
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(problem) from error


def resolved(
    metrics: Sequence[MetricLike | ArrayLike],
    names: Sequence[str],
    grades: ArrayLike | None = None,
    n_grades: int | None = None,
    depth: int | None = None,
) -> tuple[list[AnyMetric], list[str | None]]:
    """Return metrics, with files read and names resolved, and the names with their depths.

    `n_grades` and `depth` go before those of the other metrics, which go before the documents'.
    Raises InputError if no metric states them. `names` are for messages; the second list has None
    for a metric that is not a name.
    """
    read = [_of_weights(one, name) for one, name in zip(metrics, names, strict=True)]

    # sizes of metrics that have one
    depths = [one.depth for one in read if one.depth is not None]
    sizes = [one.n_grades for one in read if not isinstance(one, NamedMetric)]

    # else those of the documents
    if grades is not None:
        depths = depths or [np.size(grades)]
        sizes = sizes or [int(np.max(grades, initial=1)) + 1]

    # else those of readers
    own = [one.metric() for one in read if isinstance(one, ReaderName)]
    depths = depths or [one.depth for one in own]
    sizes = sizes or [one.n_grades for one in own]
    size = n_grades or max(sizes, default=None)
    deepest = depth or max(depths, default=None)

    # metrics of the names
    made: list[AnyMetric] = []
    labels: list[str | None] = []
    for one, name in zip(read, names, strict=True):
        by_name = isinstance(one, NamedMetric)
        made.append(metric(one, size, deepest, name=name))
        labels.append(one.at(one.deep(deepest)) if by_name else None)
    return made, labels


def labelled(metrics: MetricsLike) -> dict[Any, Any]:
    """Return one metric or several by name: words by themselves, objects by kind and number.

    Mappings name theirs; those within a mapping, such as the families of `textbook_list_metrics`,
    or within a list, do so too. Raises InputError if two metrics have one name.
    """
    # one, or several, with their names where they have any
    if isinstance(metrics, Mapping):
        pairs = [*metrics.items()]
    elif isinstance(metrics, (str, os.PathLike)) or not isinstance(metrics, Iterable):
        pairs = [(None, metrics)]
    else:
        pairs = [(None, metric) for metric in metrics]

    # collect them, each under a name of its own
    by_name: dict[Any, Any] = {}
    for label, metric in pairs:
        more = labelled(metric) if isinstance(metric, Mapping) else {label: metric}
        if label is None and not isinstance(metric, Mapping):
            more = {_label(metric, by_name): metric}
        for taken in more.keys() & by_name.keys():
            if more[taken] != by_name[taken]:
                raise InputError(f"two metrics have the name {taken!r}; give one another name")
        by_name |= more
    return by_name


def _label(metric: Any, taken: Mapping[Any, Any]) -> Any:
    """Return a word itself, or an object's kind, with a number where this is taken."""
    if isinstance(metric, (str, os.PathLike)):
        return metric
    if not isinstance(metric, METRICS):  # which is refused
        return str(metric)
    kind = "DCG" if isinstance(metric, DCG) else "utility"
    labels = (f"{kind} {number}" if number > 1 else kind for number in count(1))
    return next(label for label in labels if label not in taken)


read_metric = metric
"""`metric`, for modules in which a metric has that name."""


def _refuse(kind: type, accept: Sequence[type], name: str) -> NoReturn:
    """Raise InputError for a metric, or another object, of a kind that is not accepted."""
    given = f"{name} is {'an' if kind.__name__[0] in 'AEIaei' else 'a'} {kind.__name__}"
    if issubclass(kind, METRICS) and tuple(accept) == ONLY_DCG:
        raise InputTypeError(
            f"{given}, no sum of gains times discounts; what is asked for is "
            "only true of a DCG (the gains and discounts of a ListUtility alone are "
            "ListUtility.dcg)",
            see="only-a-dcg",
        )
    kinds = " or ".join(f"a {kind.__name__}" for kind in accept)
    raise InputTypeError(f"{given}; give {kinds}, its file, or a name such as exponential-log2@10")


def metric_in_use(baseline: MetricLike, n_grades: int, depth: int) -> tuple[str, ListMetric]:
    """Return the name of the metric used now, and the metric, for lists of this depth.

    Raises InputError if it has no values of lists, or fewer grades.
    """
    named = metric_or_name(baseline, accept=SCORING, name="baseline")
    if isinstance(named, NamedMetric):
        return named.at(depth), metric(named, n_grades, depth)
    if named.n_grades < n_grades:
        raise InputError(f"the metric used now has {named.n_grades} grades, the log {n_grades}")
    return "the metric used now", named
