"""Evaluate runs by measures of ir_measures: average precision, precision at k, reciprocal rank and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError
from dcglearn.metric.textbook import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.evaluation.trec import Judgements, Run
    from dcglearn.foundation.arrays import Floats


def measured(names: Sequence[str], runs: Sequence[Run], judgements: Judgements, queries: Sequence[str]) -> Floats:
    """Return the values of measures with ir_measures' names (``AP``, ``P@10``, ``RR(rel=2)``), shape (R, M, Q).

    Values are NaN where a run does not have one of the judged `queries`. Raises InputError if ir_measures is not
    installed, or does not know a name.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise InputError(
            f"metric {names[0]!r} is neither a file nor {NAMES}; for ir_measures' names: pip install 'dcglearn[ir]'"
        ) from error
    parsed = []
    for name in names:
        try:
            parsed.append(ir_measures.parse_measure(name))
        except (NameError, ValueError, KeyError, SyntaxError) as error:
            raise InputError(f"metric {name!r} is neither a file nor {NAMES}, nor known to ir_measures") from error
    judged: dict[str, dict[str, int]] = {}
    for query, document, grade in judgements.frame.iter_rows():
        judged.setdefault(query, {})[document] = grade
    places = {query: q for q, query in enumerate(queries)}
    values = np.full((len(runs), len(parsed), len(queries)), np.nan)
    # One measure per evaluator: in one call, versions up to 0.4.3 confuse nDCG with and without gains.
    evaluators = [ir_measures.evaluator([measure], judged) for measure in parsed]
    for r, run in enumerate(runs):
        scores: dict[str, dict[str, float]] = {}
        for query, document, score in run.frame.iter_rows():
            if query in places:
                scores.setdefault(query, {})[document] = score
        for m, evaluator in enumerate(evaluators):
            for metric in evaluator.iter_calc(scores):
                if metric.query_id in scores:
                    values[r, m, places[metric.query_id]] = metric.value
    return values
