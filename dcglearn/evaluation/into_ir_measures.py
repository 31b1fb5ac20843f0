"""A DCG as a measure of ir_measures; imported only where that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import ir_measures
from ir_measures import Metric, measures, providers, util

from dcglearn.evaluation.evaluate import evaluate
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dcglearn.metric.dcg import DCG


class LearnedMeasure(measures.Measure):
    """A DCG or NDCG of one's own; each metric is a class of its own under its name."""

    SUPPORTED_PARAMS: ClassVar[dict[str, Any]] = {}
    dcg: ClassVar[DCG]
    normalise: ClassVar[bool]


class Evaluator(providers.Evaluator):
    """Evaluates runs, all queries in one call."""

    def __init__(self, asked: Iterable[LearnedMeasure], qrels: Any) -> None:
        self.judged: dict[str, dict[str, int]] = util.QrelsConverter(qrels).as_dict_of_dict()
        super().__init__(list(asked), self.judged.keys())

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        scores = util.RunConverter(run).as_dict_of_dict()
        for measure in self.measures:
            found = evaluate({"run": scores}, self.judged, {"": measure.dcg}, normalise=measure.normalise)
            for query, value in zip(found.queries, found.filled[0, 0], strict=True):
                yield Metric(query_id=query, measure=measure, value=float(value))


class Provider(providers.Provider):
    """Gives ir_measures the measures of this file."""

    NAME = "dcglearn"

    def supports(self, measure: Any) -> bool:
        """Say whether a measure is one of ours."""
        return isinstance(measure, LearnedMeasure)

    def _evaluator(self, asked: Iterable[Any], qrels: Any) -> Evaluator:
        return Evaluator(asked, qrels)


def measure_of(dcg: DCG, name: str, normalise: bool) -> LearnedMeasure:
    """Return a registered measure; for errors see `exports.ir_measure`."""
    known = measures.registry.get(name)
    if not name.isidentifier() or not (known is None or isinstance(known, LearnedMeasure)):
        raise InputError(f"name={name!r} is not a plain name, or one that ir_measures has for another measure")
    words = f"{'NDCG' if normalise else 'DCG'} with gains and discounts of one's own (dcglearn)."
    kind = type(
        name, (LearnedMeasure,), {"__name__": name, "NAME": name, "__doc__": words, "dcg": dcg, "normalise": normalise}
    )
    measure: LearnedMeasure = kind()
    measures.register(measure)
    if Provider.NAME not in providers.registry:
        provider = providers.register(Provider())
        ir_measures.DefaultPipeline.providers.insert(0, provider)
    return measure
