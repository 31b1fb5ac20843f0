"""A DCG as a measure of ir_measures; imported only if ir_measures is installed."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import ir_measures
from ir_measures import Metric, providers, util

from dcglearn.evaluation.run_values import evaluate
from dcglearn.foundation.validation import Fields, InputError
from dcglearn.metrics.dcg import DCG


class LearnedMeasure(ir_measures.measures.Measure):
    """A learned DCG or NDCG; `measure_of` makes a subclass for each metric."""

    SUPPORTED_PARAMS: ClassVar[Fields] = {}
    dcg: ClassVar[DCG]
    normalise: ClassVar[bool]


class Evaluator(providers.Evaluator):
    """Evaluates all queries of a run in one call."""

    def __init__(self, measures: Iterable[LearnedMeasure], qrels: Any) -> None:
        self.judged: dict[str, dict[str, int]] = util.QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(list(measures), self.judged.keys())

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        scores = util.RunConverter(run).as_dict_of_dict()
        for measure in self.measures:
            evaluation = evaluate(
                self.judged, {"run": scores}, {"": measure.dcg}, normalise=measure.normalise
            )
            for query, value in zip(evaluation.queries, evaluation.filled[0, 0], strict=True):
                yield Metric(query_id=query, measure=measure, value=float(value))


class Provider(providers.Provider):
    """Provides ir_measures with the measures of this module."""

    NAME = "dcglearn"

    def supports(self, measure: Any) -> bool:
        """Return whether a measure is a `LearnedMeasure`."""
        return isinstance(measure, LearnedMeasure)

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> Evaluator:
        return Evaluator(measures, qrels)


def measure_of(dcg: DCG, name: str, normalise: bool) -> LearnedMeasure:
    """Register a DCG as a measure of ir_measures and return it.

    For errors see `exports.ir_measure`.
    """
    # a plain name that no other measure has
    registered = ir_measures.measures.registry.get(name)
    is_free = registered is None or isinstance(registered, LearnedMeasure)
    if not name.isidentifier() or not is_free:
        raise InputError(
            f"name={name!r} is not a plain name, or one that ir_measures has for another measure"
        )

    # a class of the metric's own
    normalise = normalise and not dcg.plain
    doc = f"{'NDCG' if normalise else 'DCG'} with learned gains and discounts (dcglearn)."
    attributes = {
        "__name__": name,
        "NAME": name,
        "__doc__": doc,
        "dcg": dcg,
        "normalise": normalise,
    }
    measure = type(name, (LearnedMeasure,), attributes)()

    # register it, in place of one of this name, and the provider once
    ir_measures.measures.registry[name] = measure
    if Provider.NAME not in providers.registry:
        provider = providers.register(Provider())
        ir_measures.DefaultPipeline.providers.insert(0, provider)
    return measure
