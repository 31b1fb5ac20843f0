"""Objectives: smooth metrics and losses of scores.

The signature is ``objective(scores, grades, offsets, weight) -> (value, gradient)``.

Read `objective.py` first, for what all of them share, then `approx.py`: the DCG at soft ranks.
Objectives are classes with few lines; the sums over documents are C, behind the functions of the
``*_kernel.py`` files, each of which has a slow twin in the tests. `boosting.py` turns any objective
into the gradient and Hessian that a booster takes.
"""

from dcglearn.losses.approx import SDCG, SHFSDCG, ApproxAP, ApproxNDCG, RegSHFSDCG, soft_ranks
from dcglearn.losses.listwise import ListNet, Regression
from dcglearn.losses.objective import Objective
from dcglearn.losses.pairwise import GBRank, LambdaRank, RankHinge, RSRank
from dcglearn.losses.smooth import SmoothAP, SmoothNDCG, SoftRankNDCG

__all__ = [
    "SDCG", "SHFSDCG", "ApproxAP", "ApproxNDCG", "GBRank", "LambdaRank", "ListNet", "Objective",
    "RSRank", "RankHinge", "RegSHFSDCG", "Regression", "SmoothAP", "SmoothNDCG", "SoftRankNDCG",
    "soft_ranks",
]  # fmt: skip
