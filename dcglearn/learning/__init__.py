"""Fitting: judgements in; gains, discounts and the next questions out.

Read `dcg_learner.py` first, then `utility_learner.py`.
"""
