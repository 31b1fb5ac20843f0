"""Smooth metrics and other losses, ``loss(scores, grades, offsets=None, weight=None) -> (value, gradient)``."""

from dcglearn.losses.approx import SDCG, ApproxAP, ApproxNDCG, soft_ranks
from dcglearn.losses.listwise import ListNet, Regression
from dcglearn.losses.objective import Loss
from dcglearn.losses.pairwise import GBRank, LambdaRank, RankHinge, RSRank
from dcglearn.losses.shf import SHFSDCG, RegSHFSDCG
from dcglearn.losses.smooth import SmoothAP, SmoothNDCG
from dcglearn.losses.softrank import SoftRankNDCG

__all__ = [
    "SDCG",
    "SHFSDCG",
    "ApproxAP",
    "ApproxNDCG",
    "GBRank",
    "LambdaRank",
    "ListNet",
    "Loss",
    "RSRank",
    "RankHinge",
    "RegSHFSDCG",
    "Regression",
    "SmoothAP",
    "SmoothNDCG",
    "SoftRankNDCG",
    "soft_ranks",
]
