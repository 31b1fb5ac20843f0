"""Measures that ir_measures computes: average precision, precision at k, reciprocal rank, and its others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dcglearn.evaluation.trec import Judgements, Run
    from dcglearn.foundation.arrays import Floats


OURS = "nDCG[@K] nor GAIN-DISCOUNT[@K]"


def measured(names: Sequence[str], runs: Sequence[Run], judgements: Judgements, queries: Sequence[str]) -> Floats:
    """Return measures by their ir_measures names (``AP``, ``P@10``, ``RR(rel=2)``), shape (R, M, Q).

    Parameters
    ----------
    names : sequence of str
        The measures.
    runs, judgements
        What is evaluated.
    queries : sequence of str
        The judged queries; NaN where a run does not have one.

    Raises
    ------
    InputError
        If ir_measures is not installed, or does not know a name.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise InputError(
            f"metric {names[0]!r} is neither a file nor {OURS}; for ir_measures' names: pip install 'dcglearn[ir]'"
        ) from error
    asked = []
    for name in names:
        try:
            asked.append(ir_measures.parse_measure(name))
        except (NameError, ValueError, KeyError, SyntaxError) as error:
            raise InputError(f"metric {name!r} is neither a file nor {OURS}, nor known to ir_measures") from error
    judged: dict[str, dict[str, int]] = {}
    for query, document, grade in judgements.frame.iter_rows():
        judged.setdefault(query, {})[document] = grade
    places = {query: q for q, query in enumerate(queries)}
    values = np.full((len(runs), len(asked), len(queries)), np.nan)
    # One measure at a call: versions up to 0.4.3 mix up nDCG with and without gains in one.
    evaluators = [ir_measures.evaluator([measure], judged) for measure in asked]
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
