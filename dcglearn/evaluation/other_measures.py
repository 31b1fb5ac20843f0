"""Measures that ir_measures computes."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import Floats, InputError, PolarsFrame
from dcglearn.metrics.other_names import ALIASES
from dcglearn.metrics.reading import ALL_NAMES
from dcglearn.reading.judgements import Judgements
from dcglearn.reading.runs import Run


def measured_elsewhere(
    names_of: Mapping[str, str], judgements: Judgements, runs: Sequence[Run], queries: Sequence[str]
) -> Floats:
    """Return ir_measures' values, (R, M, Q), NaN for missing queries, or raise InputError.

    `names_of` has the metrics as they were given, with ir_measures' names.
    """
    names = [*names_of.values()]
    try:
        import ir_measures
    except ImportError as error:
        raise InputError(
            f"metric {next(iter(names_of))!r} is neither a file nor {ALL_NAMES}; for measures of "
            f"ir_measures, as {names[0]} may be: pip install 'dcglearn[ir]'"
        ) from error

    # one measure per evaluator: versions up to 0.4.3 confuse nDCG with and without gains
    judged = _nested(judgements.frame.with_columns(judgements.frame["grade"].cast(int)))
    evaluators = []
    for name in names:
        measure = _parsed(name)
        with _errors_of(name):
            evaluators.append(ir_measures.evaluator([measure], judged))

    # values of the judged queries that a run has
    places = {query: q for q, query in enumerate(queries)}
    values = np.full((len(runs), len(names), len(queries)), np.nan)
    for r, run in enumerate(runs):
        scores = {q: documents for q, documents in _nested(run.frame).items() if q in places}
        for m, evaluator in enumerate(evaluators):
            with _errors_of(names[m]):
                for result in evaluator.iter_calc(scores):
                    if result.query_id in scores:
                        values[r, m, places[result.query_id]] = result.value
    return values


def _nested(frame: PolarsFrame) -> dict[str, dict[str, Any]]:
    """Return the numbers of a table by query and document."""
    nested: dict[str, dict[str, Any]] = {}
    for query, document, number in frame.iter_rows():
        nested.setdefault(query, {})[document] = number
    return nested


def _parsed(name: str) -> Any:
    """Return a measure of ir_measures; raise InputError for unknown names and cut-offs below 1."""
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
    except Exception as error:  # the parser raises many kinds
        names = [*ir_measures.measures.registry, *ALIASES]
        alike = nearest(re.split(r"[@(]", name)[0], names)
        raise InputError(
            f"metric {name!r} is neither a file nor {ALL_NAMES}, nor known to ir_measures{alike}"
        ) from error

    # trec_eval crashes on a cut-off of 0
    if not isinstance(measure, ir_measures.measures.Measure) or measure.params.get("cutoff", 1) < 1:
        raise InputError(f"metric {name!r}: the cut-off is a whole number of at least 1")
    return measure


@contextlib.contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Raise InputError where ir_measures, or a package that it calls, cannot compute a measure."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        reason = re.sub(r"invalid param (\w+)=<object.*", r"it needs \1=", text)
        raise InputError(f"ir_measures cannot compute {name}: {reason}") from error
