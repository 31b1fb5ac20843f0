"""Smooth metrics and other losses, ``loss(scores, grades, offsets=None, weight=None) -> (value, gradient)``."""

from dcglearn.losses.approx import SDCG, ApproxAP, ApproxNDCG
from dcglearn.losses.contract import Loss

__all__ = ["SDCG", "ApproxAP", "ApproxNDCG", "Loss"]
