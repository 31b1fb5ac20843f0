"""Measures that ir_measures computes."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dcglearn.foundation.plain_text import nearest
from dcglearn.foundation.validation import Floats, InputError
from dcglearn.metrics.names import NAMES
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
            f"metric {next(iter(names_of))!r} is neither a file nor {NAMES}; for measures of "
            f"ir_measures, as {names[0]} may be: pip install 'dcglearn[ir]'"
        ) from error

    # one measure per evaluator: versions up to 0.4.3 confuse nDCG with and without gains
    columns = judgements.frame["query", "document", "grade"].cast({"grade": int})
    judged = [ir_measures.Qrel(*row) for row in columns.iter_rows()]
    evaluators = []
    for name in names:
        measure = _parsed(name)
        with _errors_of(name):
            evaluators.append(ir_measures.evaluator([measure], judged))

    # values of the judged queries that a run has
    values = np.empty((len(runs), len(names), len(queries)))
    for r, run in enumerate(runs):
        ranked = [ir_measures.ScoredDoc(*row) for row in run.frame.iter_rows()]
        for m, evaluator in enumerate(evaluators):
            with _errors_of(names[m]):
                found = {one.query_id: one.value for one in evaluator.iter_calc(ranked)}
            values[r, m] = [found.get(query, np.nan) for query in queries]
        values[r][:, ~np.isin(queries, run.frame["query"])] = np.nan
    return values


def _parsed(name: str) -> Any:
    """Return a measure of ir_measures; raise InputError for unknown names and cut-offs below 1."""
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
    except Exception as error:  # the parser raises many kinds
        alike = nearest(re.split(r"[@(]", name)[0], ir_measures.measures.registry)
        raise InputError(
            f"metric {name!r} is neither a file nor {NAMES}, nor known to ir_measures{alike}"
        ) from error

    # trec_eval crashes on a cut-off of 0
    if not isinstance(measure, ir_measures.measures.Measure) or measure.params.get("cutoff", 1) < 1:
        raise InputError(f"metric {name!r}: the cut-off is a whole number of at least 1")
    if measure.params.get("dcg") == "exp-log2":
        raise InputError(
            f"metric {name!r}: ir_measures runs a Perl script for it, which fails on most names of "
            "queries; exponential-log2@10 is computed here, and a DCG may have any gains"
        )
    return measure


@contextlib.contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Raise InputError where ir_measures, or a package that it calls, cannot compute a measure."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split())
        reason = re.sub(r"invalid param (\w+)=<object.*", r"it needs \1=", text)
        raise InputError(f"ir_measures cannot compute {name}: {reason}") from error
