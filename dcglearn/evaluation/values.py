"""Values of the queries of runs: under a DCG, under metrics of lists, and under measures of ir_measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dcglearn.evaluation.ranked import RankedGrades, averaged
from dcglearn.foundation.validation import Floats, InputError, Integers
from dcglearn.metric.dcg import DCG
from dcglearn.metric.textbook import NAMES

if TYPE_CHECKING:
    from dcglearn.evaluation.trec import Judgements, Run
    from dcglearn.metric.list_utility import ListUtility
    from dcglearn.metric.textbook_lists import ListMetric

    Known: TypeAlias = "DCG | ListUtility | Plain"


@dataclass(frozen=True)
class Plain:
    """A textbook metric of lists, such as ERR or RBP, whose values nobody divides by the best that is possible."""

    metric: ListMetric

    @property
    def n_grades(self) -> int:
        """L, the number of grades."""
        return self.metric.n_grades

    @property
    def depth(self) -> int:
        """K, the number of positions that count."""
        return self.metric.depth


def check_list_settings(
    name: str, metric: ListUtility | Plain, unjudged: str | float, ties: str, *, residuals: bool
) -> None:
    """Raise InputError if a setting is defined only where values are sums over positions."""
    if residuals and not (isinstance(metric, Plain) and isinstance(metric.metric, DCG)):
        raise InputError(f"{name} is not a DCG: a better document may make those below it worth less, so no residual")
    if not isinstance(unjudged, str):
        raise InputError(f"{name} is not a DCG: documents without a judgement count as worst or best, or are dropped")
    if ties == "average":
        raise InputError(
            f'{name} is not a DCG, so documents with equal scores cannot share gains: give ties="docno-desc"'
        )


def values_of_queries(metric: Known, ranked: RankedGrades, unjudged: str | float) -> Floats:
    """Return the value of every query, shape (Q,)."""
    if not isinstance(metric, DCG):
        lists = metric.metric if isinstance(metric, Plain) else metric
        return np.atleast_1d(lists.score(ranked.judged_as(metric.n_grades, unjudged)))
    gain_of_grade = np.append(metric.gains, _gain_of_unjudged(metric, unjudged))
    if unjudged == "drop":
        gains = gain_of_grade[ranked.judged_as(metric.n_grades, "drop")]
    else:
        gains = np.where(ranked.ranked, gain_of_grade[ranked.grades], 0.0)
    if ranked.groups is not None:
        gains = averaged(gains, ranked.groups)
    width = min(metric.depth, gains.shape[1])
    return gains[:, :width] @ metric.discounts[:width]


def judged_ideal(metric: Known, counts: Integers, unjudged: str | float) -> Floats:
    """Return the largest value of the judged documents, followed by unjudged ones if these have a gain, shape (Q,)."""
    if isinstance(metric, Plain):
        return np.ones(len(counts))
    padded = np.pad(counts, ((0, 0), (0, metric.n_grades - counts.shape[1])))
    if isinstance(metric, DCG):
        filler = 0.0 if unjudged == "best" else max(_gain_of_unjudged(metric, unjudged), 0.0)
        return metric.ideal_of_counts(padded, filler)
    if unjudged == "worst" and metric.gains[0] > 0:
        padded[:, 0] += metric.depth
    return metric.ideal_of_counts(padded)


def own_ideal(metric: DCG | ListUtility, ranked: RankedGrades, unjudged: str | float) -> Floats:
    """Return the largest value of the documents in the run's own lists, shape (Q,)."""
    grades = ranked.grades if isinstance(metric, DCG) else ranked.judged_as(metric.n_grades, unjudged)
    counts = np.stack([(grades == grade).sum(axis=1) for grade in range(metric.n_grades)], axis=1)
    if not isinstance(metric, DCG) or unjudged == "drop":
        return metric.ideal_of_counts(counts)
    n_unjudged = (ranked.ranked & (ranked.grades < 0)).sum(axis=1)
    wider = DCG(np.append(metric.gains, _gain_of_unjudged(metric, unjudged)), metric.discounts)
    return wider.ideal_of_counts(np.column_stack([counts, n_unjudged]))


def _gain_of_unjudged(dcg: DCG, unjudged: str | float) -> float:
    own = {"worst": dcg.gains[0], "best": dcg.gains[-1], "drop": 0.0}
    return float(own[unjudged] if isinstance(unjudged, str) else unjudged)


def measured(names: Sequence[str], runs: Sequence[Run], judgements: Judgements, queries: Sequence[str]) -> Floats:
    """Return the values of measures with ir_measures' names (``AP``, ``P@10``, ``RR(rel=2)``), shape (R, M, Q).

    Values are NaN where a run does not have the query. Raises InputError without ir_measures, or for unknown names.
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
