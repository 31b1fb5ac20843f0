"""Data of known truth: metrics, judges who err, logs and queries. Read `judges.py` first."""

from dcglearn.rankers.synthetic import letor_queries, nonlinear_queries
from dcglearn.simulate.clicks import ClickModel, click_log
from dcglearn.simulate.judges import (
    LIST_PAIRS,
    ground_truth,
    judge,
    machine_verdicts,
    preference_pairs,
    ungraded_pairs,
    write_log,
)
from dcglearn.simulate.lists import (
    PAPER_LIST,
    free_lists,
    noisy_grades,
    optimal_pairs,
    partial_overlap,
    permutations,
    permuted_documents,
)

__all__ = [
    "LIST_PAIRS",
    "PAPER_LIST",
    "ClickModel",
    "click_log",
    "free_lists",
    "ground_truth",
    "judge",
    "letor_queries",
    "machine_verdicts",
    "noisy_grades",
    "nonlinear_queries",
    "optimal_pairs",
    "partial_overlap",
    "permutations",
    "permuted_documents",
    "preference_pairs",
    "ungraded_pairs",
    "write_log",
]
